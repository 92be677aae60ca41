/* tcp_transporter.c -- the registry of peers: who may connect, send, and when it ends. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "transporters/tcp/tcp_state.h"

#define FOLD_MS     60000u /* The same text is logged at most so often. */
#define LOG_INFO    2u     /* enum log_level of the host. */
#define LOG_WARNING 3u

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
    return value != 0 ? value : fallback;
}

/* --- Log. --- */

void transporter_log(struct transporter *t, uint32_t level, struct fold *fold, const char *text)
{
    uint64_t now = uv_now(t->options.loop);
    if (t->options.calls->log == NULL) return;
    if (fold->text[0] != '\0' && now - fold->since_ms < FOLD_MS &&
        strncmp(fold->text, text, sizeof fold->text - 1) == 0) {
        fold->repeats++;
        return;
    }
    char line[4 * LINK_REASON_SIZE];
    if (fold->repeats > 0) {
        snprintf(line, sizeof line, "%s (and %llu more times)", fold->text,
                 (unsigned long long)fold->repeats);
        t->options.calls->log(t->options.context, level, line);
    }
    snprintf(fold->text, sizeof fold->text, "%s", text);
    fold->since_ms = now;
    fold->repeats = 0;
    t->options.calls->log(t->options.context, level, text);
}

/* --- What links call. --- */

/* What stays free above FULL. Protocols between data nodes end by themselves; a client that reads
 * too little is cut. */
static uint32_t reserve_of(const struct transporter *t, const struct peer *peer)
{
    if (t->options.own_role != LINK_ROLE_DATA || peer->config.role != LINK_ROLE_DATA) return 0;
    uint64_t reserve =
        3 * (uint64_t)or_default(peer->config.send_buffer_bytes, LINK_SEND_BUFFER_BYTES);
    return reserve > UINT32_MAX ? UINT32_MAX : (uint32_t)reserve;
}

static void set_limits(const struct transporter *t, const struct peer *peer, struct link *link)
{
    link_limit_send(link, peer->config.send_buffer_bytes, peer->config.overload_bytes,
                    reserve_of(t, peer));
}

static enum link_refusal on_check(void *context, struct link *link, const struct link_peer *who,
                                  uint32_t *epoch_last)
{
    struct connection *connection = context;
    struct transporter *t = connection->t;
    struct peer *peer = &t->peer[who->node];
    if (t->stopping) return LINK_REFUSED_STOPPING;
    if (!peer->known) return LINK_REFUSED_UNKNOWN;
    if (peer->config.role != LINK_ROLE_ANY && peer->config.role != who->role)
        return LINK_REFUSED_ROLE;
    if (peer->live != NULL) return LINK_REFUSED_CONNECTED;
    if (!peer->allowed) return LINK_REFUSED_NOT_ALLOWED;
    *epoch_last = peer->epoch_last;
    /* Used up now, so that two handshakes at once never get the same one. */
    peer->epoch_last = who->epoch > peer->epoch_last ? who->epoch : peer->epoch_last + 1;
    set_limits(t, peer, link);
    return LINK_ACCEPTED;
}

static void on_up(void *context, struct link *link, const struct link_peer *who)
{
    struct connection *connection = context;
    struct transporter *t = connection->t;
    struct peer *peer = &t->peer[who->node];
    if (peer->live != NULL || !peer->allowed || t->stopping) {
        link_close(link, peer->live != NULL ? "this node id is connected already"
                                            : "this node may not connect now");
        return;
    }
    if (connection->outgoing) set_limits(t, peer, link);
    connection->peer = who->node;
    connection->epoch = who->epoch;
    if (t->options.writer != NULL && !outlet_open(connection)) {
        link_close(link, "the socket cannot be given to its send thread");
        return;
    }
    if (!connection->outgoing) t->unnamed--;
    if (peer->attempt == connection) peer->attempt = NULL;
    connection->up = true;
    connection->up_ms = uv_now(t->options.loop);
    peer->live = connection;
    peer->attempts = 0;
    if (who->epoch > peer->epoch_last) peer->epoch_last = who->epoch;
    peer->fold = (struct fold){.since_ms = 0};
    t->options.calls->link_up(t->options.context, who->node, who->role, who->epoch);
}

static bool on_signals(void *context, struct link *link, const uint32_t *words, uint32_t count)
{
    (void)link;
    struct connection *connection = context;
    const struct transporter_options *options = &connection->t->options;
    if (!connection->up) return false;
    return options->calls->signals(options->context, connection->peer, connection->epoch, words,
                                   count);
}

static void on_level(void *context, struct link *link, enum link_level level)
{
    (void)link;
    struct connection *connection = context;
    const struct transporter_options *options = &connection->t->options;
    if (options->calls->level != NULL && connection->up) {
        options->calls->level(options->context, connection->peer, level);
    }
}

const struct link_callbacks transporter_link_calls = {
    .check = on_check,
    .up = on_up,
    .signals = on_signals,
    .level = on_level,
};

/* --- Time and ends. --- */

void transporter_reap(struct transporter *t)
{
    while (t->reap) {
        t->reap = false;
        for (struct connection *at = t->connections; at != NULL; at = at->next) {
            if (!at->ended && link_state(at->link) == LINK_CLOSING) connection_end(at);
        }
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct transporter *t = timer->data;
    uint64_t now = uv_now(t->options.loop);
    connect_due_peers(t);
    for (struct connection *at = t->connections; at != NULL; at = at->next) {
        if (at->ended || at->up) continue;
        link_tick(at->link, now);
        if (!at->connected && now - at->started_ms >= t->options.handshake_ms) {
            link_broken(at->link, "no answer from the host");
        }
        if (link_state(at->link) == LINK_CLOSING) t->reap = true;
    }
    transporter_reap(t);
    transporter_arm(t);
}

void transporter_end_soon(struct transporter *t)
{
    t->reap = true;
    if (t->timer_open) uv_timer_start(&t->timer, on_timer, 0, 0);
}

/* The timer always runs to the next thing that is due, and not at all when nothing is. */
void transporter_arm(struct transporter *t)
{
    uint64_t now = uv_now(t->options.loop);
    uint64_t next = UINT64_MAX;
    if (!t->timer_open) return;
    for (uint32_t id = 1; id <= NODE_ID_MAX; id++) {
        const struct peer *peer = &t->peer[id];
        if (connect_wanted(peer) && peer->next_attempt_ms < next) next = peer->next_attempt_ms;
    }
    for (const struct connection *at = t->connections; at != NULL; at = at->next) {
        uint64_t deadline = at->started_ms + t->options.handshake_ms;
        if (!at->ended && !at->up && deadline < next) next = deadline;
    }
    if (t->reap) next = now;
    if (next == UINT64_MAX) {
        uv_timer_stop(&t->timer);
    } else {
        uv_timer_start(&t->timer, on_timer, next > now ? next - now : 0, 0);
    }
}

/* --- Making and ending. --- */

static void on_orphan_closed(uv_handle_t *handle)
{
    free(handle->data);
}

struct transporter *transporter_create(const struct transporter_options *options)
{
    struct transporter *t = calloc(1, sizeof *t);
    if (t == NULL) return NULL;
    t->options = *options;
    t->options.unnamed_max = or_default(options->unnamed_max, 64);
    t->options.handshake_ms = or_default(options->handshake_ms, LINK_HANDSHAKE_MS);
    t->options.reconnect_ms = or_default(options->reconnect_ms, 10);
    t->options.reconnect_max_ms = or_default(options->reconnect_max_ms, 1500);
    rng_seed(&t->rng, options->incarnation ^ options->own_node);
    if (uv_timer_init(options->loop, &t->timer) != 0) {
        free(t);
        return NULL;
    }
    t->timer.data = t;
    t->timer_open = true;
    t->handles = 1;
    if (mail_open(t) != 0) {
        uv_close((uv_handle_t *)&t->timer, on_orphan_closed);
        return NULL;
    }
    return t;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct transporter *t = handle->data;
    t->handles--;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    listener->t->handles--;
    free(listener);
}

void transporter_stop(struct transporter *t)
{
    if (t->stopping) return;
    t->stopping = true;
    while (t->listeners != NULL) {
        struct listener *listener = t->listeners;
        t->listeners = listener->next;
        uv_close((uv_handle_t *)&listener->tcp, on_listener_closed);
    }
    for (uint32_t id = 1; id <= NODE_ID_MAX; id++) {
        if (t->peer[id].resolving) uv_cancel((uv_req_t *)&t->peer[id].resolve);
    }
    for (struct connection *at = t->connections; at != NULL; at = at->next) {
        if (!at->ended) link_close(at->link, "the node is stopping");
    }
    t->reap = true;
    transporter_reap(t);
    t->timer_open = false;
    uv_close((uv_handle_t *)&t->timer, on_timer_closed);
    mail_close(t);
}

bool transporter_stopped(const struct transporter *t)
{
    return t->stopping && t->handles == 0 && t->connections == NULL && t->resolving == 0;
}

void transporter_destroy(struct transporter *t)
{
    if (t != NULL && t->has_mail) pthread_mutex_destroy(&t->mail_lock);
    free(t);
}

/* --- Listening. --- */

/*
 * When too many have not told their names, the one that had the longest time for it must go: a node
 * needs a few milliseconds, so strangers who only wait cannot keep it out.
 */
static void push_out_oldest(struct transporter *t)
{
    struct connection *oldest = NULL;
    for (struct connection *at = t->connections; at != NULL; at = at->next) {
        if (!at->ended && !at->up && !at->outgoing) oldest = at; /* New ones stand in front. */
    }
    if (oldest == NULL) return;
    link_broken(oldest->link, "too many connections at once have not told their names");
    connection_end(oldest);
}

/* A new incoming connection; NULL when stopping or without memory. */
static struct connection *new_incoming(struct transporter *t)
{
    if (t->stopping) return NULL;
    if (t->unnamed >= t->options.unnamed_max) push_out_oldest(t);
    return connection_create(t, 0, false);
}

static void on_refused_closed(uv_handle_t *handle)
{
    free(handle);
}

/* Takes the connection from the queue and closes it, so that it does not wait there for ever. */
static void turn_away(struct transporter *t, uv_stream_t *server)
{
    uv_tcp_t *tcp = malloc(sizeof *tcp);
    if (tcp == NULL || uv_tcp_init(t->options.loop, tcp) != 0) {
        free(tcp);
        return;
    }
    (void)uv_accept(server, (uv_stream_t *)tcp);
    uv_close((uv_handle_t *)tcp, on_refused_closed);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct listener *listener = server->data;
    struct transporter *t = listener->t;
    if (status != 0) {
        transporter_log(t, LOG_WARNING, &t->fold, uv_strerror(status));
        return;
    }
    struct connection *connection = new_incoming(t);
    if (connection == NULL) {
        turn_away(t, server);
        return;
    }
    int error = uv_accept(server, (uv_stream_t *)&connection->tcp);
    if (error != 0) {
        link_broken(connection->link, uv_strerror(error));
        connection_end(connection);
        return;
    }
    connection->naming = t->options.owner != NULL;
    connection_start(connection, NULL, 0);
}

static int listen_on(struct listener *listener, const char *address, uint16_t port)
{
    struct sockaddr_storage local;
    int error = uv_ip4_addr(address, port, (struct sockaddr_in *)&local);
    if (error != 0) error = uv_ip6_addr(address, port, (struct sockaddr_in6 *)&local);
    if (error == 0) error = uv_tcp_bind(&listener->tcp, (const struct sockaddr *)&local, 0);
    if (error == 0) error = uv_listen((uv_stream_t *)&listener->tcp, 128, on_connection);
    if (error != 0) return error;
    int size = sizeof local;
    error = uv_tcp_getsockname(&listener->tcp, (struct sockaddr *)&local, &size);
    if (error != 0) return error;
    return local.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&local)->sin6_port)
                                       : ntohs(((struct sockaddr_in *)&local)->sin_port);
}

int transporter_listen(struct transporter *t, const char *address, uint16_t port)
{
    if (address == NULL) {
        int bound = transporter_listen(t, "::", port);
        return bound > 0 ? bound : transporter_listen(t, "0.0.0.0", port);
    }
    struct listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL) return UV_ENOMEM;
    int error = uv_tcp_init(t->options.loop, &listener->tcp);
    if (error != 0) {
        free(listener);
        return error;
    }
    listener->t = t;
    listener->tcp.data = listener;
    t->handles++;
    int bound = listen_on(listener, address, port);
    if (bound < 0) {
        uv_close((uv_handle_t *)&listener->tcp, on_listener_closed);
        return bound;
    }
    listener->next = t->listeners;
    t->listeners = listener;
    return bound;
}

static void close_socket(struct transporter *t, uv_os_sock_t descriptor)
{
    uv_tcp_t *tcp = malloc(sizeof *tcp);
    if (tcp == NULL || uv_tcp_init(t->options.loop, tcp) != 0) {
        free(tcp);
        return;
    }
    (void)uv_tcp_open(tcp, descriptor);
    uv_close((uv_handle_t *)tcp, on_refused_closed);
}

int transporter_adopt(struct transporter *t, uv_os_sock_t descriptor, const void *bytes,
                      uint32_t size)
{
    struct connection *connection = new_incoming(t);
    if (connection == NULL) {
        close_socket(t, descriptor);
        return UV_ECONNREFUSED;
    }
    int error = uv_tcp_open(&connection->tcp, descriptor);
    if (error != 0) {
        close_socket(t, descriptor);
        link_broken(connection->link, uv_strerror(error));
        connection_end(connection);
        return error;
    }
    connection_start(connection, bytes, size);
    return 0;
}

bool transporter_is_hello(const void *bytes, uint32_t size)
{
    return link_is_hello(bytes, size);
}

/* --- Peers. --- */

static void close_link(struct transporter *t, struct connection *connection, const char *reason)
{
    if (connection == NULL || connection->ended) return;
    link_close(connection->link, reason);
    transporter_end_soon(t);
}

int transporter_set_peer(struct transporter *t, const struct transporter_peer *config)
{
    if (config->node == 0 || config->node > NODE_ID_MAX || config->node == t->options.own_node)
        return UV_EINVAL;
    if (config->connect && config->host == NULL) return UV_EINVAL;
    if (config->host != NULL && strlen(config->host) >= HOST_SIZE) return UV_ENAMETOOLONG;
    if (config->bind_address != NULL && strlen(config->bind_address) >= ADDRESS_SIZE)
        return UV_ENAMETOOLONG;
    struct peer *peer = &t->peer[config->node];
    const char *host = config->host != NULL ? config->host : "";
    if (peer->attempt != NULL &&
        (strcmp(host, peer->host) != 0 || config->port != peer->config.port)) {
        close_link(t, peer->attempt, "the node has another address now");
    }
    peer->t = t;
    peer->config = *config;
    if (host != peer->host) snprintf(peer->host, sizeof peer->host, "%s", host);
    snprintf(peer->bind_address, sizeof peer->bind_address, "%s",
             config->bind_address != NULL ? config->bind_address : "");
    peer->config.host = peer->host;
    peer->config.bind_address = peer->bind_address;
    if (!peer->known) peer->allowed = config->allowed;
    peer->known = true;
    connect_now(peer);
    return 0;
}

void transporter_set_cluster(struct transporter *t, uint64_t cluster_id)
{
    if (t->options.cluster_id == cluster_id) return;
    t->options.cluster_id = cluster_id;
    for (uint32_t id = 1; id <= NODE_ID_MAX; id++) {
        close_link(t, t->peer[id].attempt, "this process is of another cluster now");
        close_link(t, t->peer[id].live, "this process is of another cluster now");
    }
}

void transporter_allow(struct transporter *t, uint32_t id, bool allowed)
{
    if (id == 0 || id > NODE_ID_MAX || !t->peer[id].known) return;
    struct peer *peer = &t->peer[id];
    if (allowed && !peer->allowed) {
        peer->allowed = true;
        connect_now(peer);
    } else if (!allowed) {
        peer->allowed = false;
        close_link(t, peer->attempt, "the link is not allowed any more");
        close_link(t, peer->live, "the link is not allowed any more");
    }
}

void transporter_close(struct transporter *t, uint32_t id, uint32_t epoch, const char *reason)
{
    if (id == 0 || id > NODE_ID_MAX) return;
    struct connection *live = t->peer[id].live;
    if (live == NULL || (epoch != 0 && live->epoch != epoch) ||
        link_state(live->link) == LINK_CLOSING)
        return;
    char text[2 * LINK_REASON_SIZE];
    snprintf(text, sizeof text, "link to node %u is closed: %s", id, reason);
    transporter_log(t, LOG_INFO, &t->peer[id].fold, text);
    close_link(t, live, reason);
}

/* --- Sending. --- */

void transporter_send(struct transporter *t, uint32_t id, uint32_t epoch, const uint32_t *words,
                      uint32_t count)
{
    if (id > NODE_ID_MAX) return;
    struct connection *live = t->peer[id].live;
    if (live == NULL || live->epoch != epoch) return;
    switch (link_send(live->link, words, count)) {
    case LINK_SENT:
        t->dirty[id / 64] |= 1ULL << id % 64;
        break;
    case LINK_SEND_NO_ROOM:
        transporter_close(t, id, epoch, "its send buffer is full, it reads too slowly");
        break;
    case LINK_SEND_NOT_OPEN:
        transporter_end_soon(t);
        break;
    }
}

void transporter_flush(struct transporter *t)
{
    connection_block_sigpipe();
    if (t->reap) transporter_reap(t);
    for (uint32_t i = 0; i < sizeof t->dirty / sizeof t->dirty[0]; i++) {
        uint64_t waiting = t->dirty[i];
        t->dirty[i] = 0;
        while (waiting != 0) {
            uint32_t id = 64 * i + (uint32_t)__builtin_ctzll(waiting);
            waiting &= waiting - 1;
            if (t->peer[id].live != NULL) connection_flush(t->peer[id].live);
        }
    }
}

/* --- Back-pressure. --- */

bool peer_paused(const struct peer *peer)
{
    if (peer->paused) return true;
    return peer->t->clients_paused &&
           (peer->config.role == LINK_ROLE_API || peer->config.role == LINK_ROLE_MGM);
}

void transporter_pause_clients(struct transporter *t, bool paused)
{
    if (t->clients_paused == paused) return;
    t->clients_paused = paused;
    for (uint32_t id = 1; id <= NODE_ID_MAX; id++) {
        if (t->peer[id].live != NULL) connection_set_reading(t->peer[id].live);
    }
}

void transporter_pause(struct transporter *t, uint32_t id, bool paused)
{
    if (id == 0 || id > NODE_ID_MAX || !t->peer[id].known) return;
    t->peer[id].paused = paused;
    if (t->peer[id].live != NULL) connection_set_reading(t->peer[id].live);
}

/* --- Asking. --- */

uint32_t transporter_epoch(const struct transporter *t, uint32_t id)
{
    return id <= NODE_ID_MAX && t->peer[id].live != NULL ? t->peer[id].live->epoch : 0;
}

enum link_level transporter_level(const struct transporter *t, uint32_t id)
{
    if (id > NODE_ID_MAX || t->peer[id].live == NULL) return LINK_NORMAL;
    const struct connection *live = t->peer[id].live;
    return live->outlet != NULL ? outlet_level(live->outlet) : link_send_level(live->link);
}

/* What the writer counts of a link that it writes. */
static void add_outlet(struct link_statistics *to, const struct outlet *outlet)
{
    const struct outlet_counters *from = &outlet->counters;
    to->bytes_sent += atomic_load_explicit(&from->bytes, memory_order_relaxed);
    to->words_sent += atomic_load_explicit(&from->words, memory_order_relaxed);
    to->frames_sent = atomic_load_explicit(&from->frames, memory_order_relaxed);
    to->overload_count = atomic_load_explicit(&from->overloads, memory_order_relaxed);
    to->send_bytes = atomic_load_explicit(&from->waiting, memory_order_relaxed);
    to->send_bytes_max = atomic_load_explicit(&from->waiting_max, memory_order_relaxed);
}

bool transporter_statistics(const struct transporter *t, uint32_t id,
                            struct link_statistics *statistics, char *address, uint32_t size)
{
    if (id > NODE_ID_MAX || t->peer[id].live == NULL) return false;
    const struct connection *live = t->peer[id].live;
    link_statistics(live->link, statistics);
    if (live->outlet != NULL) add_outlet(statistics, live->outlet);
    if (address != NULL && size > 0) snprintf(address, size, "%s", t->peer[id].live->address);
    return true;
}
