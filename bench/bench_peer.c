/* bench_peer.c -- the peers' side: Redis, memcached and PostgreSQL over TCP with epoll, every
 * answer verified. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "bench/bench_common.h"

/*
 * Each connection keeps `pipeline` requests under way: a full batch is sent, all its answers are
 * read and compared, then the next is sent. Modes: load, read, write. With --wait each batch of
 * writes to Redis ends in WAIT 1 0, so it counts when one replica has it. PostgreSQL is only
 * written: a prepared UPDATE of table kv (k, v), one transaction each.
 */
enum { CONNECTIONS_MAX = 256, PIPELINE_MAX = 4096, REQUEST_MAX = 1280, ANSWER_MAX = 1280 };
enum { KEY_SIZE = 16, VALUE_MAX = 1024 };

struct peer {
    const char *protocol; /* redis, memcached, postgres */
    const char *mode;
    uint32_t port;
    uint32_t connections;
    uint32_t pipeline;
    uint32_t rows;
    uint32_t value; /* Bytes of a value. */
    bool wait;
    bool multi; /* memcached: all keys of a batch in one get. */
    bool noise;
    uint32_t window_ms; /* 0, or one line for each such time. */
    uint32_t rate;      /* Batches per second of all connections; 0: as many as it can. */
    double seconds;
};

struct connection {
    int socket;
    uint64_t random;
    uint32_t next_key; /* Loading. */
    char (*keys)[16];
    uint32_t expected; /* Answers of the batch under way. */
    char *out;
    size_t out_size;
    size_t out_sent;
    char *in;
    size_t in_size;
    double sent_at;
    double due; /* When the next batch begins, with a rate and if `idle`. */
    bool idle;
};

static uint64_t operations;
static uint64_t *latencies_ns;
static uint64_t latency_count;
#define LATENCIES_MAX 2000000u

static void die(const char *what)
{
    fprintf(stderr, "bench_peer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void make_value(const struct peer *peer, char *value, const char *key)
{
    memcpy(value, key, KEY_SIZE);
    if (peer->noise) {
        make_noise(value + 16, peer->value - 16, key_seed(key));
        return;
    }
    for (uint32_t i = 16; i < peer->value; i++)
        value[i] = (char)('a' + (i - 16) % 26);
}

static bool is_write(const struct peer *peer)
{
    return strcmp(peer->mode, "read") != 0;
}

/* ---- PostgreSQL's messages: a letter, the length of what follows with itself, the content. ----
 */

static size_t put_word(char *to, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        to[i] = (char)(value >> 8 * (bytes - 1 - i));
    return bytes;
}

static size_t put_bytes(char *to, const void *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return size;
}

/* Bind to the statement "w", execute, sync. */
static size_t put_pg_update(const struct peer *peer, char *to, const char *key, const char *value)
{
    static const char execute[] = "E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    size_t at = 0;
    to[at++] = 'B';
    at += put_word(to + at, 4 + 1 + 2 + 2 + 2 + 4 + KEY_SIZE + 4 + peer->value + 2, 4);
    at += put_bytes(to + at, "\0w\0\0\0\0\x02", 7);
    at += put_word(to + at, KEY_SIZE, 4);
    at += put_bytes(to + at, key, KEY_SIZE);
    at += put_word(to + at, peer->value, 4);
    at += put_bytes(to + at, value, peer->value);
    at += put_word(to + at, 0, 2);
    at += put_bytes(to + at, execute, sizeof execute - 1);
    return at;
}

/* BindComplete, CommandComplete of one row, ReadyForQuery outside of a transaction. */
static size_t put_pg_updated(char *to)
{
    static const char answer[] = "2\0\0\0\x04"
                                 "C\0\0\0\x0DUPDATE 1\0"
                                 "Z\0\0\0\x05I";
    return put_bytes(to, answer, sizeof answer - 1);
}

/* Reads until ReadyForQuery; an error ends the program. */
static void pg_wait_ready(int socket)
{
    uint8_t head[5];
    char content[8192];
    for (;;) {
        if (recv(socket, head, 5, MSG_WAITALL) != 5) die("PostgreSQL's answer");
        uint32_t size =
            (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 | head[4];
        if (size < 4 || size - 4 > sizeof content) die("PostgreSQL's message");
        size -= 4;
        if (size > 0 && recv(socket, content, size, MSG_WAITALL) != (ssize_t)size)
            die("PostgreSQL's message");
        if (head[0] == 'E') {
            fprintf(stderr, "bench_peer: PostgreSQL: %.200s\n", content + 1);
            exit(1);
        }
        if (head[0] == 'Z') return;
    }
}

static void pg_send(int socket, const char *message, size_t size)
{
    if (write(socket, message, size) != (ssize_t)size) die("write");
    pg_wait_ready(socket);
}

/* Log in (the server trusts local users), prepare the statement. */
static void pg_open(int socket)
{
    static const char who[] = "\0\x03\0\0user\0postgres\0database\0postgres\0";
    static const char prepare[] = "w\0UPDATE kv SET v = $2 WHERE k = $1\0\0";
    char message[256];
    size_t size = put_word(message, 4 + sizeof who, 4);
    size += put_bytes(message + size, who, sizeof who);
    pg_send(socket, message, size);
    message[0] = 'P';
    size = 1 + put_word(message + 1, 4 + sizeof prepare, 4);
    size += put_bytes(message + size, prepare, sizeof prepare);
    size += put_bytes(message + size, "S\0\0\0\x04", 5);
    pg_send(socket, message, size);
}

/* ---- Requests and answers. ---- */

/* One of a batch's keys: of a get of many, only the first one has the command, the last one the
 * end. */
struct place {
    bool first, last;
};

static size_t put_key(char *to, const char *key, struct place place)
{
    return (size_t)sprintf(to, "%s %.16s%s", place.first ? "get" : "", key,
                           place.last ? "\r\n" : "");
}

static size_t put_request(const struct peer *peer, char *to, const char *key, struct place place)
{
    char value[VALUE_MAX];
    int size = (int)peer->value;
    make_value(peer, value, key);
    bool redis = strcmp(peer->protocol, "redis") == 0;
    if (strcmp(peer->protocol, "postgres") == 0) return put_pg_update(peer, to, key, value);
    if (redis && is_write(peer))
        return (size_t)sprintf(to, "*3\r\n$3\r\nSET\r\n$16\r\n%.16s\r\n$%d\r\n%.*s\r\n", key, size,
                               size, value);
    if (redis) return (size_t)sprintf(to, "*2\r\n$3\r\nGET\r\n$16\r\n%.16s\r\n", key);
    if (is_write(peer))
        return (size_t)sprintf(to, "set %.16s 0 0 %d\r\n%.*s\r\n", key, size, size, value);
    return put_key(to, key, place);
}

/* The exact bytes that a right answer has. */
static size_t put_answer(const struct peer *peer, char *to, const char *key, bool last)
{
    char value[VALUE_MAX];
    int size = (int)peer->value;
    make_value(peer, value, key);
    bool redis = strcmp(peer->protocol, "redis") == 0;
    if (strcmp(peer->protocol, "postgres") == 0) return put_pg_updated(to);
    if (is_write(peer)) return (size_t)sprintf(to, redis ? "+OK\r\n" : "STORED\r\n");
    if (redis) return (size_t)sprintf(to, "$%d\r\n%.*s\r\n", size, size, value);
    return (size_t)sprintf(to, "VALUE %.16s 0 %d\r\n%.*s\r\n%s", key, size, size, value,
                           last ? "END\r\n" : "");
}

static void make_batch(const struct peer *peer, struct connection *connection)
{
    uint32_t count = peer->pipeline;
    bool load = strcmp(peer->mode, "load") == 0;
    connection->out_size = connection->out_sent = connection->in_size = 0;
    connection->expected = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number;
        if (load) {
            if (connection->next_key >= peer->rows) break;
            number = connection->next_key;
            connection->next_key += peer->connections;
        } else {
            number = (uint32_t)(mix(&connection->random) % peer->rows);
        }
        make_key(connection->keys[i], number);
        const struct place place = {.first = !peer->multi || i == 0,
                                    .last = !peer->multi || i == count - 1};
        connection->out_size +=
            put_request(peer, connection->out + connection->out_size, connection->keys[i], place);
        connection->expected++;
    }
    if (peer->wait && connection->expected > 0)
        connection->out_size += (size_t)sprintf(connection->out + connection->out_size,
                                                "*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n");
    connection->sent_at = now_s();
}

static void flush_out(struct connection *connection)
{
    while (connection->out_sent < connection->out_size) {
        ssize_t sent = write(connection->socket, connection->out + connection->out_sent,
                             connection->out_size - connection->out_sent);
        if (sent < 0 && errno == EAGAIN) return;
        if (sent <= 0) die("write");
        connection->out_sent += (size_t)sent;
    }
}

/* True when the batch's answers are all there; compares them. */
static bool batch_answered(const struct peer *peer, struct connection *connection)
{
    char answer[ANSWER_MAX];
    size_t at = 0;
    for (uint32_t i = 0; i < connection->expected; i++) {
        bool last = !peer->multi || i == connection->expected - 1;
        size_t size = put_answer(peer, answer, connection->keys[i], last);
        if (connection->in_size - at < size) return false;
        if (memcmp(connection->in + at, answer, size) != 0) {
            fprintf(stderr, "bench_peer: wrong answer for %.16s: %.60s\n", connection->keys[i],
                    connection->in + at);
            exit(1);
        }
        at += size;
    }
    if (!peer->wait) return true;
    if (connection->in_size - at < 4) return false;
    if (memcmp(connection->in + at, ":1\r\n", 4) == 0) return true;
    fprintf(stderr, "bench_peer: WAIT was not confirmed by the replica: %.20s\n",
            connection->in + at);
    exit(1);
}

/* Reads what is there. False when a loading connection has nothing more to do. */
static bool serve(const struct peer *peer, struct connection *connection)
{
    flush_out(connection);
    ssize_t got = read(connection->socket, connection->in + connection->in_size,
                       (size_t)PIPELINE_MAX * ANSWER_MAX - connection->in_size);
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) die("read");
    connection->in_size += (size_t)got;
    /* Only a read that could complete the batch is worth comparing. */
    char answer[ANSWER_MAX];
    size_t needed = put_answer(peer, answer, connection->keys[0], true) + (peer->wait ? 4 : 0);
    if (connection->expected > 1)
        needed += (connection->expected - 1) *
                  put_answer(peer, answer, connection->keys[0], !peer->multi);
    if (connection->in_size < needed || !batch_answered(peer, connection)) return true;
    operations += connection->expected;
    if (latency_count < LATENCIES_MAX)
        latencies_ns[latency_count++] = (uint64_t)((now_s() - connection->sent_at) * 1e9);
    if (peer->rate != 0) {
        connection->idle = true;
        return true;
    }
    make_batch(peer, connection);
    if (connection->expected == 0) return false;
    flush_out(connection);
    return true;
}

/* With a rate: begins the batches that are due. What was missed is not made up for. Returns when
 * the next one is due. */
static double begin_due(const struct peer *peer, struct connection *connections)
{
    double now = now_s();
    double next = now + 1;
    for (uint32_t i = 0; peer->rate != 0 && i < peer->connections; i++) {
        struct connection *connection = &connections[i];
        if (connection->idle && connection->due <= now) {
            connection->idle = false;
            connection->due += (double)peer->connections / peer->rate;
            if (connection->due < now) connection->due = now;
            make_batch(peer, connection);
            flush_out(connection);
        } else if (connection->idle && connection->due < next) {
            next = connection->due;
        }
    }
    return next;
}

static void open_connection(const struct peer *peer, struct connection *connection, uint32_t no,
                            int epoll)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)peer->port)};
    int yes = 1;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (strcmp(peer->protocol, "postgres") == 0) pg_open(connection->socket);
    fcntl(connection->socket, F_SETFL, O_NONBLOCK);
    connection->random = 0xABCDEF01u + no * 7919u;
    connection->next_key = no;
    connection->keys = calloc(peer->pipeline, 16);
    connection->out = malloc((size_t)PIPELINE_MAX * REQUEST_MAX);
    connection->in = malloc((size_t)PIPELINE_MAX * ANSWER_MAX);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(epoll, EPOLL_CTL_ADD, connection->socket, &event);
}

/* Says what was done in each window that is over. */
static void note_windows(const struct peer *peer, double begin)
{
    static uint64_t last;
    static uint32_t windows = 1;
    if (peer->window_ms == 0 || now_s() - begin < windows * peer->window_ms / 1e3) return;
    for (; now_s() - begin >= windows * peer->window_ms / 1e3; windows++) {
        bench_print_window(operations - last);
        last = operations;
    }
}

static void read_options(struct peer *peer, int argc, char **argv)
{
    const struct bench_option options[] = {
        {"port", 'p', "N", "port", .number = &peer->port, .min = 1, .max = 65535},
        {"connections", 'c', "N", "connections (1)", .number = &peer->connections, .min = 1,
         .max = CONNECTIONS_MAX},
        {"pipeline", 'P', "N", "requests under way per connection (1)", .number = &peer->pipeline,
         .min = 1, .max = PIPELINE_MAX},
        {"rows", 'r', "N", "rows (100000)", .number = &peer->rows, .min = 1, .max = 1u << 30},
        {"seconds", 's', "S", "length (2)", .seconds = &peer->seconds},
        {"value", 'v', "N", "bytes of a value (32)", .number = &peer->value, .min = 16,
         .max = VALUE_MAX},
        {"wait", 'w', NULL, "WAIT 1 after each batch", .flag = &peer->wait},
        {"multi", 'm', NULL, "memcached: the keys of a batch in one get", .flag = &peer->multi},
        {"noise", 'n', NULL, "values that do not compress", .flag = &peer->noise},
        {"window", 'W', "MS", "what was done in each such time; SIGTERM ends the run",
         .number = &peer->window_ms, .max = 60000},
        {"rate", 'R', "N", "batches per second of all connections (as many as it can)",
         .number = &peer->rate, .max = 1u << 30},
        {.name = NULL},
    };
    const char *arguments[] = {peer->protocol, peer->mode};
    bench_parse(argc, argv, options, "redis|memcached load|read|write, or postgres write",
                arguments, 2);
    peer->protocol = arguments[0];
    peer->mode = arguments[1];
}

/* Until the time is over, or all is loaded. */
static void serve_all(const struct peer *peer, struct connection *connections, int epoll,
                      uint32_t active, double begin)
{
    bool load = strcmp(peer->mode, "load") == 0;
    while (active > 0 && !bench_enough() && (load || now_s() - begin < peer->seconds)) {
        struct epoll_event events[CONNECTIONS_MAX];
        double pause = begin_due(peer, connections) - now_s();
        if (peer->window_ms != 0 && pause > 0.005) pause = 0.005;
        struct timespec wait = {0, 0};
        if (pause > 0) wait.tv_nsec = pause < 1 ? (long)(pause * 1e9) : 999999999;
        int count = epoll_pwait2(epoll, events, CONNECTIONS_MAX, &wait, NULL);
        note_windows(peer, begin);
        for (int i = 0; i < count; i++) {
            if (!serve(peer, events[i].data.ptr)) active--;
        }
    }
}

int main(int argc, char **argv)
{
    static struct connection connections[CONNECTIONS_MAX];
    struct peer peer = {.protocol = "redis",
                        .mode = "read",
                        .connections = 1,
                        .pipeline = 1,
                        .rows = 100000,
                        .value = 32,
                        .seconds = 2};
    read_options(&peer, argc, argv);
    latencies_ns = malloc(LATENCIES_MAX * sizeof *latencies_ns);
    int epoll = epoll_create1(0);
    for (uint32_t i = 0; i < peer.connections; i++)
        open_connection(&peer, &connections[i], i, epoll);
    bench_end_by_signal();
    double begin = now_s();
    uint32_t active = 0;
    for (uint32_t i = 0; i < peer.connections; i++) {
        make_batch(&peer, &connections[i]);
        if (connections[i].expected > 0) active++;
        flush_out(&connections[i]);
    }
    serve_all(&peer, connections, epoll, active, begin);
    printf("ops_per_s %.0f\n", (double)operations / (now_s() - begin));
    bench_print_latency(latencies_ns, latency_count);
    return 0;
}
