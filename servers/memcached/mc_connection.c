/* mc_connection.c -- one client: its requests are begun as they come, and answered in their order.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   readable --> in --parser--> jobs --engine, perhaps later--> completed --printer--> out -->
 * socket
 *
 * A client that does not read its replies, or asks for more than the database takes, is not read
 * any more until that has changed: its requests wait in the socket. At the end of each round of the
 * worker's loop all replies that are there leave in one write.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "servers/memcached/mc_server.h"

#define READ_BYTES  (64u * 1024u)
#define TURN_BYTES  (1024u * 1024u) /* Bytes after which the others have their turn. */
#define OUT_MAX     (1024u * 1024u) /* Unsent bytes with which no more requests are begun. */
#define KEPT_MAX    (256u * 1024u)  /* A buffer that a worker keeps for the next one. */
#define JOBS_MAX    1024u           /* Jobs of one connection that are under way. */
#define BINARY_BYTE 0x80

static void poll_for(struct mc_connection *connection);

/* ---- Jobs. ---- */

static struct mc_job *job_take(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    struct mc_job *job = worker->free_jobs;
    if (job == NULL) return calloc(1, sizeof *job);
    worker->free_jobs = job->next;
    memset(job, 0, offsetof(struct mc_job, request) + offsetof(struct mc_request, key));
    return job;
}

static void job_give(struct mc_worker *worker, struct mc_job *job)
{
    mc_config_release(job->config); /* The reply names columns of it. */
    job->config = NULL;
    mc_request_release(&job->request);
    job->next = worker->free_jobs;
    worker->free_jobs = job;
}

static void mark_dirty(struct mc_connection *connection)
{
    if (connection->dirty) return;
    connection->dirty = true;
    connection->next_dirty = connection->worker->dirty;
    connection->worker->dirty = connection;
}

static uint32_t value_bytes(const struct mc_job *job)
{
    return job->request.result.value == NULL ? 0 : job->request.result.value->size;
}

void mc_job_completed(struct mc_job *job)
{
    job->completed = true;
    if (job->connection == NULL) {
        job_give(job->worker, job);
        return;
    }
    job->connection->reply_bytes += value_bytes(job);
    if (job->ordered) mc_order_leave(job->connection, job);
    mark_dirty(job->connection);
}

static void job_queue(struct mc_connection *connection, struct mc_job *job)
{
    job->connection = connection;
    job->worker = connection->worker;
    if (connection->last == NULL)
        connection->first = job;
    else
        connection->last->next = job;
    connection->last = job;
    connection->jobs++;
}

/* ---- What is no business of the engine. ---- */

static void answer_auth(struct mc_connection *connection, struct mc_request *request)
{
    const struct mc_server *server = connection->worker->server;
    bool text = request->form.protocol != MC_BINARY;
    bool plain = request->key_size == 5 && memcmp(request->key, "PLAIN", 5) == 0;
    bool good = text ? mc_auth_text(server, request->value)
                     : plain && mc_auth_plain(server, request->value);
    atomic_fetch_add(&connection->worker->figures.auth_commands, 1);
    if (!good) atomic_fetch_add(&connection->worker->figures.auth_errors, 1);
    connection->authenticated = good;
    connection->parser.authenticating = text && !good;
    request->result.status = good ? MC_OK : MC_AUTH_ERROR;
}

/* Who could not store a larger value does not want to read the old one. Who sends binary requests
   that are none is not heard any more: nothing says that what follows is a request. */
static void answer_bad(struct mc_connection *connection, struct mc_job *job)
{
    const struct mc_request *request = &job->request;
    if (request->result.status == MC_TOO_LARGE && request->key_size > 0)
        mc_engine_forget(connection->worker, job);
    if (request->result.status == MC_INVALID && request->form.protocol == MC_BINARY)
        connection->quitting = true;
}

/* Without SASL there is nothing to prove, and who tries is not made a stranger. */
static bool offers_auth(const struct mc_server *server, const struct mc_request *request)
{
    return server->options.sasl || request->form.protocol != MC_BINARY;
}

static void shut_down(struct mc_connection *connection, struct mc_request *request)
{
    struct mc_server *server = connection->worker->server;
    bool allowed = server->options.shutdown_allowed;
    if (!allowed || request->delta != 0) {
        request->command = MC_BAD;
        request->result.message =
            allowed ? "CLIENT_ERROR invalid shutdown mode" : "SERVER_ERROR: shutdown not enabled";
        return;
    }
    atomic_store(&server->stopping, true);
    uv_async_send(&server->wake);
    connection->quitting = true;
}

static void answer_here(struct mc_connection *connection, struct mc_job *job)
{
    struct mc_request *request = &job->request;
    struct mc_server *server = connection->worker->server;
    if (request->command != MC_BAD) request->result.status = MC_OK; /* Else the parser's. */
    switch ((uint32_t)request->command) {
    case MC_VERSION:
        request->result.message = MC_VERSION_TEXT;
        break;
    case MC_VERBOSITY:
        atomic_store(&server->verbosity, request->delta < MC_VERBOSITY_MAX
                                             ? (uint32_t)request->delta
                                             : MC_VERBOSITY_MAX);
        break;
    case MC_AUTH: /* Who need not prove anything stays who he is. */
        if (offers_auth(server, request))
            answer_auth(connection, request);
        else
            request->result.status = MC_NOT_SUPPORTED;
        break;
    case MC_AUTH_LIST:
        if (offers_auth(server, request))
            request->result.message = "PLAIN";
        else
            request->result.status = MC_NOT_SUPPORTED;
        break;
    case MC_QUIT:
        connection->quitting = true;
        break;
    case MC_BAD:
        answer_bad(connection, job);
        break;
    case MC_SHUTDOWN:
        shut_down(connection, request);
        break;
    default:
        break;
    }
    mc_job_completed(job);
}

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
    job_queue(connection, job);
    if (!may_ask(connection, request)) {
        request->result.status = MC_AUTH_ERROR;
        mc_job_completed(job);
    } else if (request->command == MC_FLUSH_ALL &&
               connection->worker->server->options.flush_disabled) {
        refuse_flush(job);
    } else if (request->command < MC_ENGINE_COMMANDS) {
        ask_engine(connection, job);
    } else {
        answer_here(connection, job);
    }
}

/* ---- Reading. ---- */

static uint32_t unsent(const struct mc_connection *connection)
{
    return connection->out.size - connection->out_at;
}

static bool may_begin(const struct mc_connection *connection)
{
    return !connection->ended && !connection->quitting && connection->held == NULL &&
           connection->jobs < JOBS_MAX && unsent(connection) + connection->reply_bytes < OUT_MAX &&
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

/* Room for what is missing of a large request, and for the next read in any case. */
static bool make_room(struct mc_connection *connection, uint32_t need)
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

/* Begins what stands in the buffer. *need: see mc_text_parse(). */
static void begin_all(struct mc_connection *connection, uint32_t *need)
{
    *need = 0;
    connection->stalled = false;
    while (connection->in.at < connection->in.size) {
        uint32_t used = 0;
        if (!may_begin(connection)) {
            connection->stalled = true;
            connection->worker->stalled |= mc_engine_full(connection->worker);
            return;
        }
        struct mc_job *job = job_take(connection);
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
        job_give(connection->worker, job);
        if (parsed == MC_PARSED_CLOSE) {
            connection->quitting = true; /* What came before counts. */
            if (mc_log_tells(connection->worker->server, MC_TELL_CONNECTIONS))
                mc_log("connection %d: what it sends is none of the protocols", connection->fd);
        }
        if (parsed != MC_PARSED_NOTHING) return;
    }
}

static void read_some(struct mc_connection *connection)
{
    uint32_t turn = 0;
    uint32_t need = 0;
    while (turn < TURN_BYTES && !connection->ended && !connection->stalled) {
        struct mc_buffer *in = &connection->in;
        if (!make_room(connection, need)) {
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
        begin_all(connection, &need);
        if ((uint32_t)got < room && connection->tls == NULL) return; /* The socket is empty. */
    }
}

/* ---- Replies. ---- */

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

/* The next reply is there, and there is room for it. A datagram's is one. */
static bool may_print(const struct mc_connection *connection)
{
    return connection->first != NULL && connection->first->completed &&
           (connection->fd < 0 || unsent(connection) < OUT_MAX);
}

static void print_completed(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    uint32_t now = atomic_load_explicit(&worker->server->now, memory_order_relaxed);
    if (connection->out.bytes == NULL) {
        connection->out = worker->spare_out;
        connection->out.size = 0;
        worker->spare_out = (struct mc_output){0};
    }
    while (may_print(connection)) {
        struct mc_job *job = connection->first;
        connection->first = job->next;
        if (connection->first == NULL) connection->last = NULL;
        connection->jobs--;
        connection->reply_bytes -= value_bytes(job);
        print(connection, &job->request, now);
        job_give(worker, job);
    }
    if (connection->out.failed) connection->ended = true;
}

static void write_some(struct mc_connection *connection)
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

/* A client that waits keeps no buffers; the worker has one of each for whoever comes next. */
static void give_in(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    if (connection->in.bytes == NULL || connection->in.at < connection->in.size) return;
    if (worker->spare_in.bytes == NULL && connection->in.room <= KEPT_MAX)
        worker->spare_in = connection->in;
    else
        free(connection->in.bytes);
    connection->in = (struct mc_buffer){0};
}

static void give_out(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    if (connection->out.bytes == NULL || connection->out.size > 0) return;
    if (worker->spare_out.bytes == NULL && connection->out.room <= KEPT_MAX)
        worker->spare_out = connection->out;
    else
        mc_output_free(&connection->out);
    connection->out = (struct mc_output){0};
}

static void datagram_done(struct mc_connection *connection)
{
    if (connection->jobs > 0) return;
    mc_udp_send(connection->datagram, connection->out.bytes, connection->out.size);
    connection->datagram = NULL;
    connection->ended = true;
}

static void begin_held(struct mc_connection *connection)
{
    struct mc_job *job = connection->held;
    connection->held = NULL;
    if (job != NULL) ask_engine(connection, job);
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
        print_completed(connection);
        if (connection->fd >= 0 && !connection->ended) write_some(connection);
        begin_held(connection);
        if (connection->stalled && may_begin(connection)) begin_all(connection, &need);
        if (!connection->ended && has_decoded(connection)) read_some(connection);
    } while (!connection->ended && may_print(connection));
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
            give_in(connection);
            give_out(connection);
            poll_for(connection);
        }
    }
}

void mc_connections_resume(struct mc_worker *worker)
{
    worker->stalled = false;
    for (struct mc_connection *connection = worker->connections; connection != NULL;
         connection = connection->next)
        if (connection->stalled) mark_dirty(connection);
}

/* ---- Beginning and end. ---- */

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct mc_connection *connection = poll->data;
    if (status < 0) connection->ended = true;
    bool readable = (events & (UV_READABLE | UV_DISCONNECT)) != 0;
    if (!connection->ended && (readable || connection->tls != NULL)) read_some(connection);
    give_in(connection);
    mark_dirty(connection);
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
    if (connection == NULL || !make_room(connection, size)) {
        mc_udp_send(datagram, NULL, 0);
        if (connection != NULL) {
            connection->ended = true;
            mark_dirty(connection);
        }
        return;
    }
    connection->datagram = datagram;
    memcpy(connection->in.bytes, bytes, size);
    connection->in.size = size;
    begin_all(connection, &need);
    mark_dirty(connection);
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
        if (job->completed || job == connection->held) job_give(connection->worker, job);
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
