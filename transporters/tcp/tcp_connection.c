/* tcp_connection.c -- one socket: moves bytes between it and its link. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "transporters/tcp/tcp_state.h"

#define TRY_PIECES 64u /* Frames per system call: 2 MB of full ones. */
#define QUEUE_PIECES                                                                               \
    8u /* Frames handed to the loop at once: the level falls in steps of 256 KB.                   \
        */

struct connection *connection_create(struct transporter *t, uint32_t peer_id, bool outgoing)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) return NULL;
    const struct peer *peer = &t->peer[peer_id];
    struct link_options options = {
        .calls = &transporter_link_calls,
        .context = connection,
        .own_node = t->options.own_node,
        .own_role = t->options.own_role,
        .cluster_id = t->options.cluster_id,
        .incarnation = t->options.incarnation,
        .connect = outgoing,
        .peer = outgoing ? peer_id : 0,
        .peer_role = outgoing ? peer->config.role : LINK_ROLE_ANY,
        .epoch_last = outgoing ? peer->epoch_last : 0,
        .handshake_ms = t->options.handshake_ms,
    };
    connection->link = link_create(&options);
    if (connection->link == NULL || uv_tcp_init(t->options.loop, &connection->tcp) != 0) {
        link_destroy(connection->link);
        free(connection);
        return NULL;
    }
    connection->t = t;
    connection->peer = outgoing ? peer_id : 0;
    connection->outgoing = outgoing;
    connection->started_ms = uv_now(t->options.loop);
    connection->tcp.data = connection;
    connection->next = t->connections;
    if (t->connections != NULL) t->connections->previous = connection;
    t->connections = connection;
    if (!outgoing) t->unnamed++;
    return connection;
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct transporter *t = connection->t;
    if (connection->previous != NULL) {
        connection->previous->next = connection->next;
    } else {
        t->connections = connection->next;
    }
    if (connection->next != NULL) connection->next->previous = connection->previous;
    link_destroy(connection->link);
    free(connection);
    mail_close(t);
}

static uint32_t get_pieces(struct connection *connection, uv_buf_t *bufs, uint32_t max,
                           size_t *total)
{
    struct link_bytes pieces[TRY_PIECES];
    uint32_t count = link_output(connection->link, pieces, max);
    *total = 0;
    for (uint32_t i = 0; i < count; i++) {
        bufs[i] = uv_buf_init((char *)(uintptr_t)pieces[i].at, (unsigned int)pieces[i].size);
        *total += pieces[i].size;
    }
    return count;
}

static void break_link(struct connection *connection, int error)
{
    link_broken(connection->link, error == UV_EOF ? NULL : uv_strerror(error));
    transporter_end_soon(connection->t);
}

static void on_written(uv_write_t *request, int status)
{
    struct connection *connection = request->data;
    size_t size = connection->writing;
    connection->writing = 0;
    if (connection->ended) return;
    if (status < 0) {
        break_link(connection, status);
        return;
    }
    link_sent(connection->link, size);
    connection_flush(connection);
}

static void queue_write(struct connection *connection)
{
    uv_buf_t bufs[QUEUE_PIECES];
    size_t total;
    uint32_t count = get_pieces(connection, bufs, QUEUE_PIECES, &total);
    connection->write.data = connection;
    connection->writing = total;
    int error =
        uv_write(&connection->write, (uv_stream_t *)&connection->tcp, bufs, count, on_written);
    if (error != 0) {
        connection->writing = 0;
        break_link(connection, error);
    }
}

/*
 * libuv writes without MSG_NOSIGNAL: a peer that is gone would end the process. Blocking the signal
 * in each thread that writes (a client's threads take turns with the loop) leaves the rest of the
 * process as it is.
 */
void connection_block_sigpipe(void)
{
    static _Thread_local bool blocked;
    sigset_t set;
    if (blocked) return;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    blocked = pthread_sigmask(SIG_BLOCK, &set, NULL) == 0;
}

void connection_flush(struct connection *connection)
{
    if (connection->ended || connection->writing != 0 || !connection->connected) return;
    connection_block_sigpipe();
    uint32_t count = TRY_PIECES;
    while (count == TRY_PIECES) {
        uv_buf_t bufs[TRY_PIECES];
        size_t total;
        count = get_pieces(connection, bufs, TRY_PIECES, &total);
        if (count == 0) return;
        int written = uv_try_write((uv_stream_t *)&connection->tcp, bufs, count);
        if (written < 0 && written != UV_EAGAIN) {
            break_link(connection, written);
            return;
        }
        if (written > 0) link_sent(connection->link, (size_t)written);
        if (written < 0 || (size_t)written < total) {
            queue_write(connection);
            return;
        }
    }
}

static void on_space(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct connection *connection = handle->data;
    uint32_t size;
    if (connection->naming) {
        *buf = uv_buf_init((char *)connection->hello + connection->hello_size,
                           LINK_HELLO_BYTES - connection->hello_size);
        return;
    }
    void *space = link_receive_space(connection->link, &size);
    *buf = uv_buf_init(space, size);
}

/* After bytes were handled: answers of the handshake leave at once, those to signals with the
 * round's flush. */
static void after_receiving(struct connection *connection, bool was_up)
{
    struct link *link = connection->link;
    if (link_state(link) == LINK_CLOSING) {
        connection_end(connection);
        return;
    }
    if (!was_up) connection_flush(connection);
    connection_set_reading(connection);
}

/* An incoming stream's first bytes: whose it is decides which thread reads it. */
static void take_hello(struct connection *connection, uint32_t size)
{
    connection->hello_size += size;
    if (link_is_hello(connection->hello, connection->hello_size)) {
        if (connection->hello_size < LINK_HELLO_BYTES) return;
        if (connection_hand_over(connection)) return;
    }
    connection->naming = false;
    (void)link_receive(connection->link, connection->hello, connection->hello_size);
    after_receiving(connection, false);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    (void)buf;
    struct connection *connection = stream->data;
    bool was_up = connection->up;
    if (size == 0) return; /* Nothing to read after all. */
    if (connection->naming && size > 0) {
        take_hello(connection, (uint32_t)size);
        return;
    }
    if (size < 0) {
        link_broken(connection->link, size == UV_EOF ? NULL : uv_strerror((int)size));
    } else {
        (void)link_received(connection->link, (uint32_t)size);
    }
    after_receiving(connection, was_up);
}

void connection_set_reading(struct connection *connection)
{
    if (connection->ended || !connection->connected) return;
    const struct peer *peer = &connection->t->peer[connection->peer];
    bool reading = !(connection->up && peer_paused(peer));
    if (reading == connection->reading) return;
    connection->reading = reading;
    if (!reading) {
        uv_read_stop((uv_stream_t *)&connection->tcp);
        return;
    }
    int error = uv_read_start((uv_stream_t *)&connection->tcp, on_space, on_read);
    if (error != 0) break_link(connection, error);
}

static void note_address(struct connection *connection)
{
    struct sockaddr_storage address;
    int size = sizeof address;
    char name[ADDRESS_SIZE - 10] = "?";
    uint32_t port = 0;
    if (uv_tcp_getpeername(&connection->tcp, (struct sockaddr *)&address, &size) == 0) {
        if (address.ss_family == AF_INET6) {
            const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address;
            uv_ip6_name(in6, name, sizeof name);
            port = ntohs(in6->sin6_port);
        } else {
            const struct sockaddr_in *in = (const struct sockaddr_in *)&address;
            uv_ip4_name(in, name, sizeof name);
            port = ntohs(in->sin_port);
        }
    }
    snprintf(connection->address, sizeof connection->address, "%s:%u", name, port);
}

void connection_start(struct connection *connection, const void *bytes, uint32_t size)
{
    connection->connected = true;
    connection->started_ms = uv_now(connection->t->options.loop);
    uv_tcp_nodelay(&connection->tcp, 1);
    note_address(connection);
    link_start(connection->link, connection->started_ms);
    if (size > 0) (void)link_receive(connection->link, bytes, size);
    after_receiving(connection, false);
    transporter_arm(connection->t);
}

/* What is left to say: one attempt without waiting. */
static void say_last_words(struct connection *connection)
{
    uv_buf_t bufs[TRY_PIECES];
    size_t total;
    if (connection->writing != 0 || !connection->connected) return;
    connection_block_sigpipe();
    uint32_t count = get_pieces(connection, bufs, TRY_PIECES, &total);
    if (count > 0) (void)uv_try_write((uv_stream_t *)&connection->tcp, bufs, count);
}

static void report_attempt(struct connection *connection)
{
    struct transporter *t = connection->t;
    struct peer *peer = &t->peer[connection->peer];
    const char *reason = link_reason(connection->link);
    char text[2 * LINK_REASON_SIZE];
    snprintf(text, sizeof text, "no link to node %u yet: %s", connection->peer, reason);
    transporter_log(t, 2, &peer->fold, text);
    if (t->options.calls->refused != NULL) {
        t->options.calls->refused(t->options.context, connection->peer,
                                  link_refused(connection->link),
                                  link_foreign_cluster(connection->link), reason);
    }
}

static void report_stranger(struct connection *connection)
{
    struct transporter *t = connection->t;
    const struct link_peer *who = link_peer_of(connection->link);
    char from[32] = "a stranger";
    char text[3 * LINK_REASON_SIZE];
    if (who->node != 0) snprintf(from, sizeof from, "node %u", who->node);
    /* Without the port, which differs each time, so that repeats are folded. */
    int host = (int)strcspn(connection->address, ":");
    const char *colon = strrchr(connection->address, ':');
    if (colon != NULL) host = (int)(colon - connection->address);
    snprintf(text, sizeof text, "connection of %s from %.*s was not accepted: %s", from, host,
             connection->address, link_reason(connection->link));
    transporter_log(t, 3, who->node != 0 ? &t->peer[who->node].fold : &t->fold, text);
}

void connection_end(struct connection *connection)
{
    if (connection->ended) return;
    struct peer *peer = &connection->t->peer[connection->peer];
    if (connection->outlet == NULL) say_last_words(connection);
    connection->ended = true;
    if (!connection->outgoing && !connection->up) connection->t->unnamed--;
    if (peer->attempt == connection) peer->attempt = NULL;
    if (connection->outlet == NULL) {
        connection_gone(connection);
        return;
    }
    uv_read_stop((uv_stream_t *)&connection->tcp);
    outlet_close(connection->outlet, link_farewell(connection->link));
}

static void report_end(struct connection *connection, enum link_level level)
{
    struct transporter *t = connection->t;
    uint64_t lived = uv_now(t->options.loop) - connection->up_ms;
    struct peer *peer = &t->peer[connection->peer];
    peer->live = NULL;
    if (peer->config.once) peer->allowed = false;
    if (t->options.calls->level != NULL && level != LINK_NORMAL)
        t->options.calls->level(t->options.context, connection->peer, LINK_NORMAL);
    connect_again_later(peer, lived >= 1000);
    if (t->options.calls->dismissed != NULL && link_dismissed(connection->link))
        t->options.calls->dismissed(t->options.context, connection->peer, connection->epoch);
    t->options.calls->link_down(t->options.context, connection->peer, connection->epoch,
                                link_reason(connection->link));
}

void connection_gone(struct connection *connection)
{
    struct transporter *t = connection->t;
    enum link_level level = link_send_level(connection->link);
    if (connection->outlet != NULL) level = outlet_level(connection->outlet);
    free(connection->outlet);
    connection->outlet = NULL;
    uv_close((uv_handle_t *)&connection->tcp, on_closed);
    if (connection->up) {
        report_end(connection, level);
    } else if (connection->outgoing) {
        connect_again_later(&t->peer[connection->peer], false);
        if (!t->stopping) report_attempt(connection);
    } else if (!t->stopping && !connection->moved) {
        report_stranger(connection);
    }
    transporter_arm(t);
}
