/* mc_connection.c -- one client, from its first byte to its last: it is opened, looked after at the
 * end of each round, and closed. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   mc_connection_read.c:  socket --> in --parser--> jobs --> engine, or mc_connection_answer.c
 *   mc_connection_write.c: completed jobs, perhaps later --printer--> out --> socket
 *
 * A client that does not read its replies, or asks for more than the database takes, is not read
 * any more until that has changed: its requests wait in the socket. At the end of each round of the
 * worker's loop all replies that are there leave in one write.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "servers/memcached/mc_connection_private.h"

static void poll_for(struct mc_connection *connection);

/* ---- The end of a round. ---- */

void mc_connection_mark(struct mc_connection *connection)
{
    if (connection->dirty) return;
    connection->dirty = true;
    connection->next_dirty = connection->worker->dirty;
    connection->worker->dirty = connection;
}

static void datagram_done(struct mc_connection *connection)
{
    if (connection->jobs > 0) return;
    mc_udp_send(connection->datagram, connection->out.bytes, connection->out.size);
    connection->datagram = NULL;
    connection->ended = true;
}

/* The socket does not tell of what TLS has read and decoded already. */
static bool has_decoded(const struct mc_connection *connection)
{
    return connection->tls != NULL && !connection->stalled && !connection->quitting &&
           SSL_pending(connection->tls) > 0;
}

/* Replies that are there leave, and what had to wait is begun, until nothing changes. */
static void go_on(struct mc_connection *connection)
{
    uint32_t need;
    do {
        mc_connection_print(connection);
        if (connection->fd >= 0 && !connection->ended) mc_connection_write(connection);
        mc_connection_begin_held(connection);
        if (connection->stalled && mc_connection_may_begin(connection))
            mc_connection_begin(connection, &need);
        if (!connection->ended && has_decoded(connection)) mc_connection_read(connection);
    } while (!connection->ended && mc_connection_may_print(connection));
    if (connection->fd < 0) datagram_done(connection);
    if (connection->quitting && connection->jobs == 0 && connection->out.size == 0)
        connection->ended = true;
}

void mc_connections_flush(struct mc_worker *worker)
{
    while (worker->dirty != NULL) {
        struct mc_connection *connection = worker->dirty;
        worker->dirty = connection->next_dirty;
        connection->dirty = false;
        if (!connection->ended) go_on(connection);
        if (connection->dirty) continue; /* Begun anew, and completed at once. */
        if (connection->ended) {
            mc_connection_close(connection);
        } else {
            mc_connection_give_in(connection);
            mc_connection_give_out(connection);
            poll_for(connection);
        }
    }
}

void mc_connections_resume(struct mc_worker *worker)
{
    worker->stalled = false;
    for (struct mc_connection *connection = worker->connections; connection != NULL;
         connection = connection->next)
        if (connection->stalled) mc_connection_mark(connection);
}

/* ---- Beginning and end. ---- */

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct mc_connection *connection = poll->data;
    if (status < 0) connection->ended = true;
    bool readable = (events & (UV_READABLE | UV_DISCONNECT)) != 0;
    if (!connection->ended && (readable || connection->tls != NULL)) mc_connection_read(connection);
    mc_connection_give_in(connection);
    mc_connection_mark(connection);
}

static void poll_for(struct mc_connection *connection)
{
    int events = 0;
    if (connection->fd < 0) return;
    if (!connection->stalled && !connection->quitting) events |= UV_READABLE;
    if (connection->out.size > connection->out_at || connection->tls_wants_write)
        events |= UV_WRITABLE;
    if (events == connection->events) return;
    connection->events = events;
    if (events == 0)
        uv_poll_stop(&connection->poll);
    else
        uv_poll_start(&connection->poll, events, on_ready);
}

static struct mc_connection *connection_create(struct mc_worker *worker, int fd)
{
    struct mc_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) return NULL;
    connection->worker = worker;
    connection->fd = fd;
    connection->parser.value_max = worker->server->options.value_max;
    connection->authenticated = !mc_auth_needed(worker->server);
    connection->next = worker->connections;
    if (connection->next != NULL) connection->next->prev = connection;
    worker->connections = connection;
    return connection;
}

struct mc_connection *mc_connection_open(struct mc_worker *worker, int fd)
{
    struct mc_server *server = worker->server;
    struct mc_connection *connection = connection_create(worker, fd);
    if (connection == NULL) return NULL;
    atomic_fetch_add(&worker->figures.connections, 1);
    if (server->tls != NULL) {
        connection->tls = SSL_new(server->tls);
        if (connection->tls == NULL || SSL_set_fd(connection->tls, fd) != 1) goto out;
        SSL_set_accept_state(connection->tls);
    }
    if (uv_poll_init(&worker->loop, &connection->poll, fd) != 0) goto out;
    connection->poll.data = connection;
    connection->client.fd = fd;
    atomic_store(&connection->client.last_request, mc_worker_now(server));
    mc_client_enter(server, &connection->client);
    poll_for(connection);
    return connection;
out:
    atomic_fetch_sub(&worker->figures.connections, 1);
    SSL_free(connection->tls);
    worker->connections = connection->next;
    if (connection->next != NULL) connection->next->prev = NULL;
    free(connection);
    return NULL;
}

void mc_connection_datagram(struct mc_worker *worker, struct mc_datagram *datagram,
                            const char *bytes, uint32_t size)
{
    uint32_t need;
    struct mc_connection *connection = connection_create(worker, -1);
    if (connection == NULL || !mc_connection_make_room(connection, size)) {
        mc_udp_send(datagram, NULL, 0);
        if (connection != NULL) {
            connection->ended = true;
            mc_connection_mark(connection);
        }
        return;
    }
    connection->datagram = datagram;
    memcpy(connection->in.bytes, bytes, size);
    connection->in.size = size;
    mc_connection_begin(connection, &need);
    mc_connection_mark(connection);
}

static void on_closed(uv_handle_t *handle)
{
    struct mc_connection *connection = handle->data;
    close(connection->fd); /* Only now: until then its number must not be another one's. */
    free(connection);
}

static void drop_jobs(struct mc_connection *connection)
{
    while (connection->first != NULL) {
        struct mc_job *job = connection->first;
        connection->first = job->next;
        job->connection = NULL;
        job->next = NULL;
        job->ordered = false;
        if (job->completed || job == connection->held) mc_job_give(connection->worker, job);
    }
}

void mc_connection_close(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    struct mc_server *server = worker->server;
    if (connection->next != NULL) connection->next->prev = connection->prev;
    if (connection->prev != NULL)
        connection->prev->next = connection->next;
    else
        worker->connections = connection->next;
    drop_jobs(connection);
    mc_order_drop(connection);
    mc_request_clear(&connection->parser.line);
    free(connection->in.bytes);
    mc_output_free(&connection->out);
    if (connection->datagram != NULL) mc_udp_send(connection->datagram, NULL, 0);
    if (connection->fd < 0) {
        free(connection);
        return;
    }
    SSL_free(connection->tls);
    atomic_fetch_sub(&worker->figures.connections, 1);
    if (mc_log_tells(server, MC_TELL_CONNECTIONS)) mc_log("connection %d has gone", connection->fd);
    mc_client_leave(server, &connection->client);
    uv_poll_stop(&connection->poll);
    uv_close((uv_handle_t *)&connection->poll, on_closed);
    if (atomic_fetch_sub(&server->connections, 1) >= server->options.connections)
        mc_listen_again(server);
}
