/* mc_hostile.c -- damaged requests in pipelines over many connections of a running ndb_memcached:
 * each connection is answered or closed, nothing is left behind. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mc_hostile PORT PID text|meta|binary REQUESTS SEED [GROWTH_MB]
 *
 * What a session (one connection) sends depends on its seed alone: SEED plus its number. Each of
 * its pipelines, cut at random, ends with a marker. The server's own parser, over the whole of it,
 * says what has to happen then:
 *   answered   the marker's reply comes; more pipelines may follow
 *   closed     the server closes: it was asked to, or what came is none of the protocol
 *   waiting    a value or a line is not whole; when our side of the connection ends, it closes
 * At the end the server has as many connections as before, and not much more memory than after a
 * quarter of it all.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "servers/memcached/mc_binary_private.h"
#include "servers/memcached/mc_parse.h"
#include "tests/cluster/mc_hostile_gen.h"

#define SESSIONS      32u
#define REQUESTS_MOST 16u  /* Requests of a pipeline, at most. */
#define PIPELINES     12u  /* Pipelines of a session. */
#define MARKER_LINES  14u  /* Each of two kinds: hardly one pipeline's marker is another one's. */
#define MARKER_TRIES  3u   /* The end of a pipeline may swallow some. */
#define DEADLINE_S    120u /* Seconds without anything happening. */
#define QUIET_S       0.005
#define TAIL_BYTES    1024u
#define VALUE_MOST    (1024u * 1024u) /* The server's -I. */
#define SHOWN_BYTES   600u

enum outcome { ANSWERED, CLOSED, WAITING, OUTCOMES };
static const char *const outcome_names[] = {"answered", "closed", "waiting"};

struct session {
    uint64_t seed;
    struct rng rng;
    struct rng cuts;
    int fd; /* -1: none */
    struct mc_parser parser;
    bool known;
    enum mc_protocol spoken;
    struct mc_bytes out; /* One pipeline. */
    uint32_t out_at;
    struct mc_bytes marker; /* The reply to it. */
    enum outcome outcome;
    uint32_t pipelines;
    bool abrupt;      /* It goes without reading. */
    bool half_closed; /* Our side has ended. */
    double moved;     /* When something has come or gone. */
    uint8_t tail[TAIL_BYTES];
    uint32_t tail_size;
};

static struct {
    uint16_t port;
    long pid;
    enum mc_hostile_protocol protocol;
    const char *name;
    uint64_t requests;
    uint64_t seed;
    uint64_t growth_kb;
    uint64_t sent, parsed, started;
    uint64_t outcomes[OUTCOMES];
    uint64_t abrupt;
    char version[100];
    struct session sessions[SESSIONS];
} run;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what, const char *why)
{
    printf("mc_hostile: %s: %s\n", what, why);
    exit(1);
}

static void show(const char *what, const uint8_t *bytes, uint32_t size)
{
    uint32_t from = size > SHOWN_BYTES ? size - SHOWN_BYTES : 0;
    printf("%s, %u bytes%s:\n", what, size, from > 0 ? ", the last ones" : "");
    for (uint32_t i = from; i < size; i++) {
        if (bytes[i] >= ' ' && bytes[i] < 0x7f && bytes[i] != '\\')
            (void)putchar(bytes[i]);
        else
            printf("\\x%02x%s", bytes[i], bytes[i] == '\n' ? "\n" : "");
    }
    (void)putchar('\n');
}

static _Noreturn void wrong(const struct session *session, const char *what)
{
    printf("mc_hostile: %s; %s, the session of seed %llu, pipeline %u, sent %u of %u bytes, has to "
           "be %s\n",
           what, run.name, (unsigned long long)session->seed, session->pipelines, session->out_at,
           session->out.size, outcome_names[session->outcome]);
    show("sent", session->out.bytes, session->out.size);
    show("received", session->tail, session->tail_size);
    exit(1);
}

static int open_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(run.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct linger reset = {.l_onoff = 1}; /* No port is kept for a while. */
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        die("connect", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return fd;
}

/* ---- A client that behaves: what the server says of itself. ---- */

static void ask(FILE *in, int fd, const char *request, char *line, int size)
{
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) die("send", strerror(errno));
    if (fgets(line, size, in) == NULL) die(request, "no answer");
}

/* The first line is the version's; of `stats` the line of the connections. */
static uint32_t connections(void)
{
    char line[300];
    unsigned found = 0;
    int fd = open_port();
    FILE *in = fdopen(fd, "r");
    if (in == NULL) die("fdopen", strerror(errno));
    const struct timeval patience = {.tv_sec = DEADLINE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ask(in, fd, "version\r\n", run.version, sizeof run.version);
    ask(in, fd, "stats\r\n", line, sizeof line);
    while (strncmp(line, "END", 3) != 0) {
        (void)sscanf(line, "STAT curr_connections %u", &found);
        if (fgets(line, sizeof line, in) == NULL) die("stats", "they do not end");
    }
    (void)fclose(in);
    return found;
}

static uint64_t memory_kb(void)
{
    char path[64];
    char line[200];
    unsigned long long kb = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", run.pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) die("the server", "it is gone");
    while (fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "VmRSS: %llu kB", &kb);
    (void)fclose(file);
    return kb;
}

/* ---- What is sent, and what has to come of it. ---- */

static enum mc_parsed parse_one(struct session *session, uint32_t at, struct mc_request *request,
                                uint32_t *used)
{
    const char *bytes = (const char *)session->out.bytes + at;
    uint32_t need = 0;
    if (!session->known) session->spoken = (uint8_t)*bytes == MC_BINARY_REQUEST;
    bool binary = session->spoken != MC_TEXT;
    session->known = true;
    return (binary ? mc_binary_parse : mc_text_parse)(
        &session->parser, bytes, session->out.size - at, 1000000, request, used, &need);
}

/* The connection is closed after its reply: behind a binary request with sizes that cannot be
 * nothing says where the next one begins. */
static bool ends(const struct mc_request *request)
{
    return request->command == MC_QUIT ||
           (request->command == MC_BAD && request->result.status == MC_INVALID &&
            request->form.protocol == MC_BINARY);
}

/* Parses from *at on. True: the connection goes on. *at is where it stopped; *met: a request began
 * at `marker`. */
static bool parse(struct session *session, uint32_t *at, uint32_t marker, bool *met)
{
    *met = false;
    while (*at < session->out.size) {
        struct mc_request request = {0};
        uint32_t used = 0;
        if (*at == marker && session->parser.skip == 0 && session->parser.line_at == 0) *met = true;
        enum mc_parsed parsed = parse_one(session, *at, &request, &used);
        bool quits = parsed == MC_PARSED_REQUEST && ends(&request);
        mc_request_clear(&request);
        *at += used;
        if (parsed == MC_PARSED_REQUEST) run.parsed++;
        if (parsed == MC_PARSED_CLOSE || quits) return false;
        if (parsed == MC_PARSED_MORE) break;
    }
    return true;
}

static void put_binary_marker(struct session *session)
{
    uint8_t header[MC_BINARY_HEADER] = {MC_BINARY_REQUEST, MC_OP_NOOP};
    uint32_t opaque = (uint32_t)rng_next(&session->rng);
    memcpy(header + MC_AT_OPAQUE, &opaque, sizeof opaque);
    mc_bytes_put(&session->out, header, sizeof header);
    header[0] = MC_BINARY_REPLY;
    mc_bytes_put(&session->marker, header, sizeof header);
}

static void put_marker(struct session *session)
{
    session->marker.size = 0;
    if (run.protocol == HOSTILE_BINARY) {
        put_binary_marker(session);
        return;
    }
    for (uint32_t i = 0; i < MARKER_LINES; i++) {
        bool barrier = rng_chance(&session->rng, 1, 2);
        const char *request = barrier ? "mn\r\n" : "version\r\n";
        const char *reply = barrier ? "MN\r\n" : run.version;
        mc_bytes_put(&session->out, request, strlen(request));
        mc_bytes_put(&session->marker, reply, strlen(reply));
    }
}

static void pipeline(struct session *session)
{
    struct rng *rng = &session->rng;
    uint32_t at = 0;
    session->out.size = session->out_at = session->tail_size = 0;
    session->pipelines++;
    for (uint64_t i = 1 + rng_below(rng, REQUESTS_MOST); i > 0; i--) {
        if (rng_chance(rng, 1, run.protocol == HOSTILE_BINARY ? 8 : 2)) /* Its borders get lost. */
            mc_hostile_bad(rng, run.protocol, &session->out);
        else
            mc_hostile_good(rng, run.protocol, &session->out);
        run.sent++;
    }
    session->outcome = WAITING;
    for (uint32_t i = 0; i < MARKER_TRIES && session->outcome == WAITING; i++) {
        bool met;
        uint32_t marker = session->out.size;
        put_marker(session);
        if (!parse(session, &at, marker, &met))
            session->outcome = CLOSED;
        else if (met && at == session->out.size)
            session->outcome = ANSWERED;
    }
}

/* ---- Sessions. ---- */

static void begin(struct session *session)
{
    session->seed = run.seed + run.started++;
    rng_seed(&session->rng, session->seed);
    rng_seed(&session->cuts, ~session->seed);
    session->fd = open_port();
    (void)fcntl(session->fd, F_SETFL, O_NONBLOCK);
    mc_request_clear(&session->parser.line);
    session->parser = (struct mc_parser){.value_max = VALUE_MOST};
    session->known = session->half_closed = false;
    session->pipelines = 0;
    session->abrupt = rng_chance(&session->rng, 1, 20);
    session->moved = now();
    pipeline(session);
}

static void end(struct session *session)
{
    close(session->fd);
    session->fd = -1;
}

/* One piece. */
static void send_some(struct session *session)
{
    uint32_t left = session->out.size - session->out_at;
    uint32_t most = rng_chance(&session->cuts, 1, 4)   ? left
                    : rng_chance(&session->cuts, 1, 2) ? 30
                                                       : 3000;
    uint32_t size = 1 + (uint32_t)rng_below(&session->cuts, most < left ? most : left);
    ssize_t sent = send(session->fd, session->out.bytes + session->out_at, size, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0 && session->outcome == CLOSED) { /* It need not read what follows. */
        session->out_at = session->out.size;
        return;
    }
    if (sent < 0) wrong(session, strerror(errno));
    session->out_at += (uint32_t)sent;
    session->moved = now();
    if (session->out_at < session->out.size || !session->abrupt) return;
    run.abrupt++;
    end(session);
}

static void keep_tail(struct session *session, const uint8_t *bytes, uint32_t size)
{
    uint32_t keep = size < TAIL_BYTES ? TAIL_BYTES - size : 0;
    if (keep > session->tail_size) keep = session->tail_size;
    if (size > TAIL_BYTES) {
        bytes += size - TAIL_BYTES;
        size = TAIL_BYTES;
    }
    memmove(session->tail, session->tail + session->tail_size - keep, keep);
    memcpy(session->tail + keep, bytes, size);
    session->tail_size = keep + size;
}

static bool marker_answered(const struct session *session)
{
    const struct mc_bytes *marker = &session->marker;
    return session->out_at == session->out.size && session->tail_size >= marker->size &&
           memcmp(session->tail + session->tail_size - marker->size, marker->bytes, marker->size) ==
               0;
}

static void closed(struct session *session)
{
    if (session->outcome == ANSWERED) wrong(session, "the server has closed");
    if (session->outcome == WAITING && !session->half_closed)
        wrong(session, "the server has not waited for the rest");
    run.outcomes[session->outcome]++;
    end(session);
}

static void receive(struct session *session)
{
    static uint8_t bytes[256u * 1024u];
    ssize_t got = recv(session->fd, bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        closed(session);
        return;
    }
    session->moved = now();
    keep_tail(session, bytes, (uint32_t)got);
    if (session->outcome != ANSWERED || !marker_answered(session)) return;
    run.outcomes[ANSWERED]++;
    if (session->pipelines < PIPELINES && rng_chance(&session->rng, 3, 4) &&
        run.sent < run.requests)
        pipeline(session);
    else
        end(session);
}

static void look_after(struct session *session, const struct pollfd *ready)
{
    if ((ready->revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive(session);
    if (session->fd >= 0 && (ready->revents & POLLOUT) != 0 && session->out_at < session->out.size)
        send_some(session);
    if (session->fd < 0) return;
    double quiet = now() - session->moved;
    if (quiet > DEADLINE_S) wrong(session, "nothing happens any more");
    if (session->outcome != WAITING || session->half_closed || quiet < QUIET_S ||
        session->out_at < session->out.size)
        return;
    session->half_closed = true;
    session->moved = now();
    shutdown(session->fd, SHUT_WR);
}

/* One turn: false: no session is left. */
static bool turn(void)
{
    struct pollfd ready[SESSIONS];
    uint32_t open = 0;
    for (uint32_t i = 0; i < SESSIONS; i++) {
        struct session *session = &run.sessions[i];
        if (session->fd < 0 && run.sent < run.requests) begin(session);
        ready[i] = (struct pollfd){.fd = session->fd, .events = POLLIN};
        if (session->out_at < session->out.size) ready[i].events |= POLLOUT;
        if (session->fd >= 0) open++;
    }
    if (open == 0) return false;
    if (poll(ready, SESSIONS, 5) < 0 && errno != EINTR) die("poll", strerror(errno));
    for (uint32_t i = 0; i < SESSIONS; i++)
        if (ready[i].fd >= 0) look_after(&run.sessions[i], &ready[i]);
    return true;
}

static int check_end(uint32_t before, uint64_t warm_kb)
{
    uint64_t kb = memory_kb();
    uint32_t left = 0;
    printf("%s: %llu requests sent, %llu parsed, %llu connections; pipelines: %llu answered, %llu "
           "closed, %llu waiting, %llu left alone; memory %llu MB, then %llu MB\n",
           run.name, (unsigned long long)run.sent, (unsigned long long)run.parsed,
           (unsigned long long)run.started, (unsigned long long)run.outcomes[ANSWERED],
           (unsigned long long)run.outcomes[CLOSED], (unsigned long long)run.outcomes[WAITING],
           (unsigned long long)run.abrupt, (unsigned long long)warm_kb / 1024,
           (unsigned long long)kb / 1024);
    if (kb > warm_kb + run.growth_kb) die("the server", "its memory grows");
    for (double end_at = now() + DEADLINE_S; now() < end_at; usleep(20000)) {
        left = connections();
        if (left == before) return 0;
    }
    printf("mc_hostile: %u connections instead of %u\n", left, before);
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"text", "meta", "binary"};
    uint64_t warm_kb = 0;
    if (argc < 6) return 2;
    run.port = (uint16_t)atoi(argv[1]);
    run.pid = atol(argv[2]);
    run.name = argv[3];
    while (run.protocol < HOSTILE_BINARY && strcmp(run.name, names[run.protocol]) != 0)
        run.protocol++;
    run.requests = strtoull(argv[4], NULL, 10);
    run.seed = strtoull(argv[5], NULL, 10);
    run.growth_kb = (argc > 6 ? strtoull(argv[6], NULL, 10) : 64) * 1024;
    uint32_t before = connections();
    for (uint32_t i = 0; i < SESSIONS; i++)
        run.sessions[i].fd = -1;
    while (turn())
        if (warm_kb == 0 && run.sent >= run.requests / 4) warm_kb = memory_kb();
    return check_end(before, warm_kb);
}
