/* mc_connection_write.c -- from completed jobs to the socket: replies are printed in the order of
 * their requests, and sent. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include "servers/memcached/mc_connection_private.h"

uint32_t mc_connection_unsent(const struct mc_connection *connection)
{
    return connection->out.size - connection->out_at;
}

/* A get of several keys ends with its first error: no further values, and no END. */
static bool is_cut_off(struct mc_connection *connection, const struct mc_request *request)
{
    if (request->form.protocol != MC_TEXT) return false;
    bool cut_off = connection->line_failed;
    if (request->command == MC_NOOP) connection->line_failed = false;
    if (request->command != MC_GET || request->form.touch_only) {
        return cut_off && request->command == MC_NOOP;
    }
    enum mc_status status = request->result.status;
    connection->line_failed |= status != MC_OK && status != MC_NOT_FOUND;
    return cut_off;
}

static void print(struct mc_connection *connection, struct mc_request *request, uint32_t now)
{
    if (is_cut_off(connection, request)) return;
    if (request->command == MC_STATS && request->result.status == MC_OK) {
        if (mc_stats(connection->worker, request, &connection->out)) return;
        request->command = MC_BAD;
        request->result.status = MC_NOT_FOUND;
        request->result.message = "ERROR";
    }
    mc_reply(request, now, &connection->out);
}

bool mc_connection_may_print(const struct mc_connection *connection)
{
    return connection->first != NULL && connection->first->completed &&
           (connection->fd < 0 || mc_connection_unsent(connection) < OUT_MAX);
}

void mc_connection_print(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    uint32_t now = atomic_load_explicit(&worker->server->now, memory_order_relaxed);
    if (connection->out.bytes == NULL) {
        connection->out = worker->spare_out;
        connection->out.size = 0;
        worker->spare_out = (struct mc_output){0};
    }
    while (mc_connection_may_print(connection)) {
        struct mc_job *job = connection->first;
        connection->first = job->next;
        if (connection->first == NULL) connection->last = NULL;
        connection->jobs--;
        connection->reply_bytes -= mc_job_value_bytes(job);
        print(connection, &job->request, now);
        mc_job_give(worker, job);
    }
    if (connection->out.failed) connection->ended = true;
}

void mc_connection_write(struct mc_connection *connection)
{
    struct mc_output *out = &connection->out;
    while (connection->out_at < out->size) {
        ssize_t sent = mc_socket_write(connection, out->bytes + connection->out_at,
                                       out->size - connection->out_at);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (sent <= 0) {
            connection->ended = true;
            return;
        }
        connection->out_at += (uint32_t)sent;
        atomic_fetch_add_explicit(&connection->worker->figures.bytes_written, (uint64_t)sent,
                                  memory_order_relaxed);
    }
    connection->out_at = 0;
    out->size = 0;
}

void mc_connection_give_out(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    if (connection->out.bytes == NULL || connection->out.size > 0) return;
    if (worker->spare_out.bytes == NULL && connection->out.room <= KEPT_MAX)
        worker->spare_out = connection->out;
    else
        mc_output_free(&connection->out);
    connection->out = (struct mc_output){0};
}
