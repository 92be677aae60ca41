/* link_proxy.c -- stands between data nodes, and cuts, stalls or delays their links, each way by
 * itself. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * link_proxy CONNECTOR-ACCEPTOR=HOST:PORT/HOST:PORT ...
 *
 * One argument per link: where it listens for the connector, and where the acceptor is. Commands
 * come on the standard input, each is answered by one line; the end of the input is the end.
 *   pass FROM TO       what FROM sends goes to TO, also what was held back
 *   stall FROM TO      it is held back, the connection stays: as a network that loses everything
 *   cut FROM TO        it is thrown away; with both ways cut the connections are reset. No new
 *                      connections while one way is cut
 *   delay FROM TO MS   it comes that much later
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define ROUTES_MAX 64u
#define CHUNK      65536u
#define HELD_MAX   262144u /* Bytes with which the sender has to wait: its socket fills up. */
#define TICK_MS    2u
#define BACKLOG    16

enum mode { PASS, STALL, CUT, DELAY };

struct chunk {
    struct chunk *next;
    uv_write_t write;
    uint64_t due_ms;
    uint32_t size;
    char bytes[];
};

struct way { /* What is read at one end and written at the other. */
    struct chunk *first;
    struct chunk **last;
    uint32_t held;
    bool reading;
    bool ended; /* Nothing more comes; the other end is told when nothing is held any more. */
    bool told;
};

struct pair { /* Two connections: end 0 is the connector's, end 1 the acceptor's. */
    struct pair *next;
    struct route *route;
    uv_tcp_t end[2];
    struct way way[2]; /* 0: from the connector to the acceptor. */
    uv_connect_t connect;
    uint32_t open; /* Ends that are not closed. */
    bool connected;
    bool closing;
};

struct route {
    uint32_t node[2];
    enum mode mode[2];
    uint32_t delay_ms[2];
    struct sockaddr_in target;
    uv_tcp_t server;
    struct pair *pairs;
};

static struct {
    uv_loop_t loop;
    uv_timer_t tick;
    uv_pipe_t input;
    struct route routes[ROUTES_MAX];
    uint32_t count;
    char line[256];
    uint32_t line_size;
} proxy;

static void pump(struct pair *pair, uint32_t no);

/* ---- The end of a pair. ---- */

static void clear_way(struct way *way)
{
    while (way->first != NULL) {
        struct chunk *chunk = way->first;
        way->first = chunk->next;
        free(chunk);
    }
    way->last = &way->first;
    way->held = 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct pair *pair = handle->data;
    if (--pair->open > 0) return;
    struct pair **at = &pair->route->pairs;
    while (*at != pair)
        at = &(*at)->next;
    *at = pair->next;
    clear_way(&pair->way[0]);
    clear_way(&pair->way[1]);
    free(pair);
}

static void close_pair(struct pair *pair)
{
    if (pair->closing) return;
    pair->closing = true;
    for (uint32_t no = 0; no < 2; no++) {
        if (uv_tcp_close_reset(&pair->end[no], on_closed) != 0) /* It has been shut down. */
            uv_close((uv_handle_t *)&pair->end[no], on_closed);
    }
}

/* ---- Bytes. ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[CHUNK]; /* One reader at a time: what is read is copied at once. */
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void hold(struct pair *pair, uint32_t no, const char *bytes, uint32_t size)
{
    struct way *way = &pair->way[no];
    const struct route *route = pair->route;
    if (route->mode[no] == CUT) return;
    struct chunk *chunk = malloc(sizeof *chunk + size);
    if (chunk == NULL) abort();
    chunk->next = NULL;
    chunk->size = size;
    chunk->due_ms = uv_now(&proxy.loop) + (route->mode[no] == DELAY ? route->delay_ms[no] : 0);
    memcpy(chunk->bytes, bytes, size);
    *way->last = chunk;
    way->last = &chunk->next;
    way->held += size;
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct pair *pair = stream->data;
    uint32_t no = stream == (uv_stream_t *)&pair->end[1];
    struct way *way = &pair->way[no];
    if (size > 0) hold(pair, no, buffer->base, (uint32_t)size);
    if (size < 0) way->ended = true;
    if (size < 0 || way->held > HELD_MAX) {
        uv_read_stop(stream);
        way->reading = false;
    }
    pump(pair, no);
}

static void on_written(uv_write_t *write, int status)
{
    struct chunk *chunk = write->data;
    struct pair *pair = write->handle->data;
    free(chunk);
    if (status != 0) close_pair(pair);
}

static void on_shut(uv_shutdown_t *shutdown, int status)
{
    (void)status;
    free(shutdown);
}

static void tell_end(struct pair *pair, uint32_t no)
{
    pair->way[no].told = true;
    uv_shutdown_t *shutdown = malloc(sizeof *shutdown);
    if (shutdown == NULL) abort();
    if (uv_shutdown(shutdown, (uv_stream_t *)&pair->end[1 - no], on_shut) != 0) free(shutdown);
    if (pair->way[1 - no].told) close_pair(pair);
}

/* Passes on what may go now. */
static void pump(struct pair *pair, uint32_t no)
{
    struct way *way = &pair->way[no];
    enum mode mode = pair->route->mode[no];
    if (pair->closing || !pair->connected || mode == STALL) return;
    while (way->first != NULL && way->first->due_ms <= uv_now(&proxy.loop)) {
        struct chunk *chunk = way->first;
        way->first = chunk->next;
        if (way->first == NULL) way->last = &way->first;
        way->held -= chunk->size;
        uv_buf_t buffer = uv_buf_init(chunk->bytes, chunk->size);
        chunk->write.data = chunk;
        if (uv_write(&chunk->write, (uv_stream_t *)&pair->end[1 - no], &buffer, 1, on_written) !=
            0) {
            free(chunk);
            close_pair(pair);
            return;
        }
    }
    if (way->ended && way->first == NULL && !way->told) tell_end(pair, no);
    if (pair->closing || way->reading || way->ended || way->held > HELD_MAX) return;
    way->reading = uv_read_start((uv_stream_t *)&pair->end[no], on_alloc, on_read) == 0;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    for (uint32_t i = 0; i < proxy.count; i++) {
        for (struct pair *pair = proxy.routes[i].pairs; pair != NULL; pair = pair->next) {
            pump(pair, 0);
            pump(pair, 1);
        }
    }
}

/* ---- Connections. ---- */

static void on_connected(uv_connect_t *connect, int status)
{
    struct pair *pair = connect->data;
    if (pair->closing) return;
    if (status != 0) {
        close_pair(pair);
        return;
    }
    pair->connected = true;
    uv_tcp_nodelay(&pair->end[1], 1);
    pump(pair, 0);
    pump(pair, 1);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct route *route = server->data;
    if (status != 0) return;
    struct pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL) abort();
    pair->route = route;
    pair->next = route->pairs;
    route->pairs = pair;
    pair->open = 2;
    for (uint32_t no = 0; no < 2; no++) {
        pair->way[no].last = &pair->way[no].first;
        uv_tcp_init(&proxy.loop, &pair->end[no]);
        pair->end[no].data = pair;
    }
    pair->connect.data = pair;
    if (uv_accept(server, (uv_stream_t *)&pair->end[0]) != 0 || route->mode[0] == CUT ||
        route->mode[1] == CUT ||
        uv_tcp_connect(&pair->connect, &pair->end[1], (const struct sockaddr *)&route->target,
                       on_connected) != 0) {
        close_pair(pair);
        return;
    }
    uv_tcp_nodelay(&pair->end[0], 1);
}

/* ---- Orders. ---- */

static void set_mode(struct route *route, uint32_t no, enum mode mode, uint32_t delay_ms)
{
    struct pair *next;
    route->mode[no] = mode;
    route->delay_ms[no] = delay_ms;
    for (struct pair *pair = route->pairs; pair != NULL; pair = next) {
        next = pair->next;
        if (mode == CUT) {
            clear_way(&pair->way[no]);
            if (route->mode[1 - no] == CUT) close_pair(pair);
        }
        pump(pair, no);
    }
}

static bool obey(const char *line)
{
    static const char *const names[] = {"pass", "stall", "cut", "delay"};
    char word[16];
    uint32_t from;
    uint32_t to;
    uint32_t delay_ms = 0;
    uint32_t mode = 0;
    int fields = sscanf(line, "%15s %u %u %u", word, &from, &to, &delay_ms);
    if (fields < 3) return false;
    while (mode < 4 && strcmp(names[mode], word) != 0)
        mode++;
    if (mode == 4 || (mode == DELAY && fields < 4)) return false;
    for (uint32_t i = 0; i < proxy.count; i++) {
        struct route *route = &proxy.routes[i];
        for (uint32_t no = 0; no < 2; no++) {
            if (route->node[no] != from || route->node[1 - no] != to) continue;
            set_mode(route, no, (enum mode)mode, delay_ms);
            return true;
        }
    }
    return false;
}

static void on_input(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    if (size < 0) {
        uv_stop(stream->loop);
        return;
    }
    for (ssize_t i = 0; i < size; i++) {
        char c = buffer->base[i];
        if (c != '\n') {
            if (proxy.line_size < sizeof proxy.line - 1) proxy.line[proxy.line_size++] = c;
            continue;
        }
        proxy.line[proxy.line_size] = '\0';
        proxy.line_size = 0;
        printf("%s: %s\n", obey(proxy.line) ? "ok" : "wrong", proxy.line);
        fflush(stdout);
    }
}

static bool add_route(const char *text)
{
    struct route *route = &proxy.routes[proxy.count];
    struct sockaddr_in address;
    char host[2][64];
    int port[2];
    if (proxy.count == ROUTES_MAX ||
        sscanf(text, "%u-%u=%63[^:]:%d/%63[^:]:%d", &route->node[0], &route->node[1], host[0],
               &port[0], host[1], &port[1]) != 6)
        return false;
    proxy.count++;
    route->server.data = route;
    return uv_ip4_addr(host[0], port[0], &address) == 0 &&
           uv_ip4_addr(host[1], port[1], &route->target) == 0 &&
           uv_tcp_init(&proxy.loop, &route->server) == 0 &&
           uv_tcp_bind(&route->server, (const struct sockaddr *)&address, 0) == 0 &&
           uv_listen((uv_stream_t *)&route->server, BACKLOG, on_connection) == 0;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&proxy.loop);
    for (int i = 1; i < argc; i++) {
        if (add_route(argv[i])) continue;
        fprintf(stderr, "link_proxy: %s: no such link, or nowhere to listen\n", argv[i]);
        return 1;
    }
    uv_pipe_init(&proxy.loop, &proxy.input, 0);
    uv_pipe_open(&proxy.input, 0);
    uv_read_start((uv_stream_t *)&proxy.input, on_alloc, on_input);
    uv_timer_init(&proxy.loop, &proxy.tick);
    uv_timer_start(&proxy.tick, on_tick, TICK_MS, TICK_MS);
    printf("ready: %u links\n", proxy.count);
    fflush(stdout);
    uv_run(&proxy.loop, UV_RUN_DEFAULT);
    return 0; /* The system closes what is open. */
}
