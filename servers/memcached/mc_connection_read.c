/* mc_connection_read.c -- from the socket to the engine: a client's bytes are read, and the
 * requests among them begun, as long as there is room for their replies. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_connection_private.h"
#include "servers/memcached/mc_engine.h"

#define READ_BYTES  (64u * 1024u)
#define TURN_BYTES  (1024u * 1024u) /* Bytes after which the others have their turn. */
#define JOBS_MAX    1024u           /* Jobs of one connection that are under way. */
#define BINARY_BYTE 0x80

/* ---- Beginning one request. ---- */

static bool may_ask(const struct mc_connection *connection, const struct mc_request *request)
{
    if (connection->authenticated || request->form.protocol != MC_BINARY) return true;
    return request->command == MC_AUTH || request->command == MC_AUTH_LIST ||
           request->command == MC_VERSION || request->command == MC_QUIT ||
           request->command == MC_BAD;
}

static void ask_engine(struct mc_connection *connection, struct mc_job *job)
{
    mc_engine_look(connection->worker, job);
    if (!mc_order_may_begin(connection, job)) {
        connection->held = job;
        return;
    }
    mc_order_enter(connection, job);
    mc_engine_start(connection->worker, job);
}

void mc_connection_begin_held(struct mc_connection *connection)
{
    struct mc_job *job = connection->held;
    connection->held = NULL;
    if (job != NULL) ask_engine(connection, job);
}

/* -F */
static void refuse_flush(struct mc_job *job)
{
    struct mc_request *request = &job->request;
    request->result.status = MC_AUTH_ERROR; /* As memcached says in binary. */
    if (request->form.protocol != MC_BINARY) {
        request->command = MC_BAD;
        request->result.message = "CLIENT_ERROR flush_all not allowed";
    }
    mc_job_completed(job);
}

static void job_begin(struct mc_connection *connection, struct mc_job *job)
{
    struct mc_request *request = &job->request;
    atomic_fetch_add_explicit(&connection->worker->figures.requests, 1, memory_order_relaxed);
    atomic_store_explicit(&connection->client.last_request,
                          mc_worker_now(connection->worker->server), memory_order_relaxed);
    mc_job_queue(connection, job);
    if (!may_ask(connection, request)) {
        request->result.status = MC_AUTH_ERROR;
        mc_job_completed(job);
    } else if (request->command == MC_FLUSH_ALL &&
               connection->worker->server->options.flush_disabled) {
        refuse_flush(job);
    } else if (request->command < MC_ENGINE_COMMANDS) {
        ask_engine(connection, job);
    } else {
        mc_connection_answer(connection, job);
    }
}

/* ---- Beginning what stands in the buffer. ---- */

bool mc_connection_may_begin(const struct mc_connection *connection)
{
    return !connection->ended && !connection->quitting && connection->held == NULL &&
           connection->jobs < JOBS_MAX &&
           mc_connection_unsent(connection) + connection->reply_bytes < OUT_MAX &&
           !mc_engine_full(connection->worker);
}

static enum mc_parsed parse(struct mc_connection *connection, struct mc_request *request,
                            uint32_t *used, uint32_t *need)
{
    const char *bytes = connection->in.bytes + connection->in.at;
    uint32_t size = connection->in.size - connection->in.at;
    uint32_t now = atomic_load_explicit(&connection->worker->server->now, memory_order_relaxed);
    enum mc_protocol only = connection->worker->server->options.only;
    if (!connection->known) {
        bool binary = (unsigned char)bytes[0] == BINARY_BYTE;
        connection->known = true;
        connection->protocol = binary ? MC_BINARY : MC_TEXT;
        if (only != MC_META && only != connection->protocol) return MC_PARSED_CLOSE;
        connection->parser.authenticating = !binary && !connection->authenticated;
    }
    return connection->protocol == MC_BINARY
               ? mc_binary_parse(&connection->parser, bytes, size, now, request, used, need)
               : mc_text_parse(&connection->parser, bytes, size, now, request, used, need);
}

void mc_connection_begin(struct mc_connection *connection, uint32_t *need)
{
    *need = 0;
    connection->stalled = false;
    while (connection->in.at < connection->in.size) {
        uint32_t used = 0;
        if (!mc_connection_may_begin(connection)) {
            connection->stalled = true;
            connection->worker->stalled |= mc_engine_full(connection->worker);
            return;
        }
        struct mc_job *job = mc_job_take(connection);
        if (job == NULL) {
            connection->ended = true;
            return;
        }
        enum mc_parsed parsed = parse(connection, &job->request, &used, need);
        connection->in.at += used;
        if (parsed == MC_PARSED_REQUEST) {
            job_begin(connection, job);
            continue;
        }
        mc_job_give(connection->worker, job);
        if (parsed == MC_PARSED_CLOSE) {
            connection->quitting = true; /* What came before counts. */
            if (mc_log_tells(connection->worker->server, MC_TELL_CONNECTIONS))
                mc_log("connection %d: what it sends is none of the protocols", connection->fd);
        }
        if (parsed != MC_PARSED_NOTHING) return;
    }
}

/* ---- Reading. ---- */

bool mc_connection_make_room(struct mc_connection *connection, uint32_t need)
{
    struct mc_buffer *in = &connection->in;
    if (in->bytes == NULL) {
        *in = connection->worker->spare_in;
        in->at = in->size = 0;
        connection->worker->spare_in = (struct mc_buffer){0};
    }
    uint32_t rest = in->size - in->at;
    if (in->at > 0 && rest > 0) memmove(in->bytes, in->bytes + in->at, rest);
    in->at = 0;
    in->size = rest;
    uint32_t want = rest + READ_BYTES > need ? rest + READ_BYTES : need;
    if (want <= in->room) return true;
    char *grown = realloc(in->bytes, want);
    if (grown == NULL) return false;
    in->bytes = grown;
    in->room = want;
    return true;
}

void mc_connection_read(struct mc_connection *connection)
{
    uint32_t turn = 0;
    uint32_t need = 0;
    while (turn < TURN_BYTES && !connection->ended && !connection->stalled) {
        struct mc_buffer *in = &connection->in;
        if (!mc_connection_make_room(connection, need)) {
            connection->ended = true;
            return;
        }
        uint32_t room = in->room - in->size;
        ssize_t got = mc_socket_read(connection, in->bytes + in->size, room);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) { /* What was asked before is not answered any more: nobody is there. */
            connection->ended = true;
            return;
        }
        in->size += (uint32_t)got;
        turn += (uint32_t)got;
        atomic_fetch_add_explicit(&connection->worker->figures.bytes_read, (uint64_t)got,
                                  memory_order_relaxed);
        mc_connection_begin(connection, &need);
        if ((uint32_t)got < room && connection->tls == NULL) return; /* The socket is empty. */
    }
}

/* A client that waits keeps no buffers; the worker has one of each for whoever comes next. */
void mc_connection_give_in(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    if (connection->in.bytes == NULL || connection->in.at < connection->in.size) return;
    if (worker->spare_in.bytes == NULL && connection->in.room <= KEPT_MAX)
        worker->spare_in = connection->in;
    else
        free(connection->in.bytes);
    connection->in = (struct mc_buffer){0};
}
