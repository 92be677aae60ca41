/* mgmd_session.c -- text sessions of the management server: sockets, limits, replies, event
 * streams. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The first bytes decide what a connection is: the transporter's hello makes it a node's link,
 * anything else a text session. A session reads one request at a time; while a request waits for
 * data nodes, nothing more is read from its client.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mgmd/mgmd.h"

#define SNIFF_BYTES 4u

struct mgmd_session {
    uv_tcp_t tcp; /* First: the handle is the session. */
    struct mgmd *mgmd;
    struct mgm_parser parser;
    uint32_t id;
    uint32_t slot;
    uint64_t last_ms;
    char address[64];
    uint8_t in[MGMD_SESSION_IN];
    uint32_t in_used;
    char *out; /* The reply being made. */
    size_t out_used;
    size_t out_room;
    bool sniffed;
    bool reading;
    bool waiting; /* For data nodes. */
    bool closing;
    bool close_after_write;
    bool listener;
    bool parsable;
    uint64_t ping_ms;
    uint32_t levels[NDB_MGM_CATEGORIES];
};

struct write_job {
    uv_write_t request;
    struct mgmd_session *session;
    char *bytes;
};

static void read_on(struct mgmd_session *session);

static void session_closed(uv_handle_t *handle)
{
    struct mgmd_session *session = (struct mgmd_session *)(void *)handle;

    mgm_parser_free(&session->parser);
    free(session->out);
    free(session);
}

static void session_close(struct mgmd_session *session)
{
    struct mgmd *mgmd = session->mgmd;
    bool listener = session->listener;

    if (session->closing) return;
    session->closing = true;
    mgmd->sessions[session->slot] = NULL;
    mgmd->session_count--;
    mgmd_free_ids(mgmd, session->id);
    uv_close((uv_handle_t *)&session->tcp, session_closed);
    if (listener && !mgmd->stopping) mgmd_nodes_subscribe(mgmd);
}

static void write_done(uv_write_t *request, int status)
{
    struct write_job *job = (struct write_job *)(void *)request;
    struct mgmd_session *session = job->session;

    free(job->bytes);
    free(job);
    if (status != 0 || session->close_after_write) session_close(session);
}

/* Hands the collected reply to the socket. */
static void session_flush(struct mgmd_session *session)
{
    if (session->out_used == 0 || session->closing) return;
    size_t limit = session->listener ? MGMD_LISTENER_OUT_MAX : MGMD_SESSION_OUT_MAX;
    struct write_job *job = calloc(1, sizeof(*job));
    if (job == NULL ||
        uv_stream_get_write_queue_size((uv_stream_t *)&session->tcp) + session->out_used > limit) {
        free(job);
        session_close(session); /* It does not read what it asked for. */
        return;
    }
    job->session = session;
    job->bytes = session->out;
    uv_buf_t buffer = uv_buf_init(session->out, (unsigned)session->out_used);
    session->out = NULL;
    session->out_used = 0;
    session->out_room = 0;
    if (uv_write(&job->request, (uv_stream_t *)&session->tcp, &buffer, 1, write_done) != 0) {
        free(job->bytes);
        free(job);
        session_close(session);
    }
}

void mgmd_reply_text(struct mgmd_session *session, const char *text, size_t size)
{
    if (session->closing) return;
    if (session->out_used + size > session->out_room) {
        size_t room = session->out_used + size + 1024;
        char *out = room > 2 * MGMD_SESSION_OUT_MAX ? NULL : realloc(session->out, room);
        if (out == NULL) {
            session_close(session);
            return;
        }
        session->out = out;
        session->out_room = room;
    }
    memcpy(session->out + session->out_used, text, size);
    session->out_used += size;
}

void mgmd_reply(struct mgmd_session *session, const char *format, ...)
{
    char line[2048];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length < 0) return;
    if ((size_t)length >= sizeof(line)) length = (int)sizeof(line) - 1;
    mgmd_reply_text(session, line, (size_t)length);
}

void mgmd_reply_begin(struct mgmd_session *session, const char *result)
{
    mgmd_reply(session, "%.100s reply\nresult: %s\n", mgm_command(&session->parser), result);
}

void mgmd_reply_end(struct mgmd_session *session)
{
    mgmd_reply_text(session, "\n", 1);
}

void mgmd_reply_error(struct mgmd_session *session, int code, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mgmd_reply(session, "%.100s reply\nresult: %d %s\nerror_code: %d\n\n",
               mgm_command(&session->parser), code, text, code);
}

void mgmd_session_wait(struct mgmd_session *session)
{
    session->waiting = true;
}

void mgmd_session_end(struct mgmd_session *session)
{
    session->close_after_write = true;
    if (session->out_used == 0) session_close(session);
}

/* Executes the complete requests that were read. */
static void session_work(struct mgmd_session *session)
{
    while (!session->waiting && !session->closing && !session->close_after_write &&
           session->in_used > 0) {
        size_t used = 0;
        enum mgm_parse state =
            mgm_parser_feed(&session->parser, session->in, session->in_used, &used);
        session->in_used -= (uint32_t)used;
        memmove(session->in, session->in + used, session->in_used);
        if (state == MGM_PARSE_MORE) continue;
        if (state == MGM_PARSE_ERROR) {
            mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "%s", session->parser.error);
            session->close_after_write = true;
            break;
        }
        mgmd_execute(session);
        if (!session->waiting) mgm_parser_reset(&session->parser);
    }
    session_flush(session);
    if (!session->closing) read_on(session);
}

void mgmd_session_resume(struct mgmd_session *session)
{
    session->waiting = false;
    mgm_parser_reset(&session->parser);
    session_work(session);
}

/* Gives the socket to the transporter: a copy of the descriptor, the session is closed. */
static void hand_over(struct mgmd_session *session)
{
    uv_os_fd_t descriptor;

    if (uv_fileno((const uv_handle_t *)&session->tcp, &descriptor) == 0) {
        int copy = dup(descriptor);
        if (copy >= 0) mgm_link_adopt(session->mgmd->link, copy, session->in, session->in_used);
    }
    session_close(session);
}

static void take_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct mgmd_session *session = (struct mgmd_session *)(void *)handle;

    (void)suggested;
    *buffer =
        uv_buf_init((char *)session->in + session->in_used, MGMD_SESSION_IN - session->in_used);
}

static void take_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct mgmd_session *session = (struct mgmd_session *)(void *)stream;

    (void)buffer;
    if (size == 0) return;
    if (size < 0) {
        session_close(session);
        return;
    }
    session->in_used += (uint32_t)size;
    session->last_ms = uv_now(session->mgmd->loop);
    if (!session->sniffed) {
        if (mgm_link_is_hello(session->in, session->in_used)) {
            if (session->in_used >= SNIFF_BYTES) hand_over(session);
            return;
        }
        session->sniffed = true;
    }
    if (session->listener) {
        session->in_used = 0; /* A listener has nothing more to say. */
        return;
    }
    session_work(session);
}

/* Reads while there is room and no request waits. */
static void read_on(struct mgmd_session *session)
{
    bool want =
        !session->waiting && !session->close_after_write && session->in_used < MGMD_SESSION_IN;

    if (want == session->reading) return;
    session->reading = want;
    if (want)
        (void)uv_read_start((uv_stream_t *)&session->tcp, take_room, take_bytes);
    else
        (void)uv_read_stop((uv_stream_t *)&session->tcp);
}

static void name_peer(struct mgmd_session *session)
{
    struct sockaddr_storage name;
    int size = sizeof(name);

    if (uv_tcp_getpeername(&session->tcp, (struct sockaddr *)&name, &size) != 0) return;
    if (name.ss_family == AF_INET) {
        (void)uv_ip4_name((const struct sockaddr_in *)(const void *)&name, session->address,
                          sizeof(session->address));
    } else {
        (void)uv_ip6_name((const struct sockaddr_in6 *)(const void *)&name, session->address,
                          sizeof(session->address));
        if (strncmp(session->address, "::ffff:", 7) == 0) {
            memmove(session->address, session->address + 7, strlen(session->address + 7) + 1);
        }
    }
}

static void accept_one(uv_stream_t *server, int status)
{
    struct mgmd *mgmd = server->data;
    struct mgmd_session *session = status == 0 ? calloc(1, sizeof(*session)) : NULL;
    uint32_t slot = 0;

    if (session == NULL) return;
    if (mgm_parser_init(&session->parser, MGM_REQUEST_PAIRS_MAX, MGM_REQUEST_TEXT_MAX) != 0) {
        free(session);
        return;
    }
    (void)uv_tcp_init(mgmd->loop, &session->tcp);
    session->mgmd = mgmd;
    while (slot < MGMD_SESSIONS_MAX && mgmd->sessions[slot] != NULL)
        slot++;
    if (uv_accept(server, (uv_stream_t *)&session->tcp) != 0 || slot == MGMD_SESSIONS_MAX ||
        mgmd->stopping) {
        static const char full[] = "result: 1501 too many sessions\n\n";
        uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)full, sizeof(full) - 1);
        (void)uv_try_write((uv_stream_t *)&session->tcp, &buffer, 1);
        uv_close((uv_handle_t *)&session->tcp, session_closed);
        return;
    }
    session->slot = slot;
    session->id = ++mgmd->session_last;
    if (session->id == 0) session->id = ++mgmd->session_last;
    session->last_ms = uv_now(mgmd->loop);
    mgmd->sessions[slot] = session;
    mgmd->session_count++;
    (void)uv_tcp_nodelay(&session->tcp, 1);
    (void)uv_tcp_keepalive(&session->tcp, 1, 30);
    name_peer(session);
    read_on(session);
}

int mgmd_listen(struct mgmd *mgmd)
{
    struct sockaddr_storage address;
    const char *host = mgmd->options.bind_address;
    int rc = -1;

    (void)uv_tcp_init(mgmd->loop, &mgmd->listener);
    mgmd->listener.data = mgmd;
    if (host == NULL) {
        rc = uv_ip6_addr("::", mgmd->port, (struct sockaddr_in6 *)(void *)&address);
        if (rc == 0) rc = uv_tcp_bind(&mgmd->listener, (const struct sockaddr *)&address, 0);
        if (rc == UV_EAFNOSUPPORT || rc == UV_EINVAL) host = "0.0.0.0";
    }
    if (host != NULL) {
        rc = uv_ip4_addr(host, mgmd->port, (struct sockaddr_in *)(void *)&address);
        if (rc != 0) rc = uv_ip6_addr(host, mgmd->port, (struct sockaddr_in6 *)(void *)&address);
        if (rc == 0) rc = uv_tcp_bind(&mgmd->listener, (const struct sockaddr *)&address, 0);
    }
    if (rc == 0) rc = uv_listen((uv_stream_t *)&mgmd->listener, 128, accept_one);
    if (rc != 0) return rc;
    int size = sizeof(address);
    rc = uv_tcp_getsockname(&mgmd->listener, (struct sockaddr *)&address, &size);
    if (rc != 0) return rc;
    mgmd->port = ntohs(address.ss_family == AF_INET
                           ? ((const struct sockaddr_in *)(const void *)&address)->sin_port
                           : ((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
    return 0;
}

struct mgmd_session *mgmd_session(struct mgmd *mgmd, uint32_t id)
{
    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        if (mgmd->sessions[i] != NULL && mgmd->sessions[i]->id == id) return mgmd->sessions[i];
    }
    return NULL;
}

uint32_t mgmd_session_id(const struct mgmd_session *session)
{
    return session->id;
}

struct mgmd *mgmd_session_owner(const struct mgmd_session *session)
{
    return session->mgmd;
}

const struct mgm_parser *mgmd_session_request(const struct mgmd_session *session)
{
    return &session->parser;
}

const char *mgmd_session_address(const struct mgmd_session *session)
{
    return session->address;
}

void mgmd_session_listen(struct mgmd_session *session, const uint32_t *levels, bool parsable)
{
    memcpy(session->levels, levels, sizeof(session->levels));
    session->listener = true;
    session->parsable = parsable;
    session->ping_ms = uv_now(session->mgmd->loop);
    session->in_used = 0;
    mgmd_nodes_subscribe(session->mgmd);
}

static void send_event(struct mgmd_session *session, const struct ndb_mgm_event *event)
{
    if (session->parsable) {
        mgmd_reply(
            session,
            "log event reply\ntype=%u\ntime=%llu\nsource_nodeid=%u\ncategory=%s\nseverity=%s\n"
            "text=%s\n\n",
            event->type, (unsigned long long)event->time, event->source_node,
            ndb_mgm_category_name(event->category), ndb_mgm_severity_name(event->severity),
            event->text);
    } else {
        char stamp[32];
        time_t seconds = (time_t)event->time;
        struct tm tm;
        (void)localtime_r(&seconds, &tm);
        (void)strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
        mgmd_reply(session, "%s Node %u: %s\n", stamp, event->source_node, event->text);
    }
    session_flush(session);
}

void mgmd_listeners_event(struct mgmd *mgmd, const struct ndb_mgm_event *event, uint32_t threshold)
{
    uint32_t index = (uint32_t)event->category - NDB_MGM_CATEGORY_FIRST;

    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        struct mgmd_session *session = mgmd->sessions[i];
        if (session == NULL || !session->listener || threshold > session->levels[index]) continue;
        send_event(session, event);
    }
}

void mgmd_listeners_levels(const struct mgmd *mgmd, uint32_t *levels)
{
    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        const struct mgmd_session *session = mgmd->sessions[i];
        if (session == NULL || !session->listener) continue;
        for (uint32_t j = 0; j < NDB_MGM_CATEGORIES; j++) {
            if (session->levels[j] > levels[j]) levels[j] = session->levels[j];
        }
    }
}

void mgmd_sessions_list(struct mgmd *mgmd, struct mgmd_session *to)
{
    mgmd_reply(to, "sessions: %u\n", mgmd->session_count);
    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        const struct mgmd_session *session = mgmd->sessions[i];
        if (session == NULL) continue;
        mgmd_reply(to, "session.%u: %s%s%s\n", session->id, session->address,
                   session->listener ? " listener" : "", session == to ? " self" : "");
    }
}

/* Idle sessions end (unless they hold a node id, whose process may be busy for long); listeners get
 * their ping. */
void mgmd_sessions_tick(struct mgmd *mgmd)
{
    uint64_t now = uv_now(mgmd->loop);

    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        struct mgmd_session *session = mgmd->sessions[i];
        if (session == NULL) continue;
        if (session->listener) {
            if (now - session->ping_ms < 10000) continue;
            session->ping_ms = now;
            mgmd_reply_text(session, "<PING>\n", 7);
            session_flush(session);
            continue;
        }
        bool holds = false;
        for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++)
            holds |= mgmd->nodes[id].holder == session->id;
        if (session->waiting || holds || now - session->last_ms < MGMD_SESSION_IDLE_MS) continue;
        session_close(session);
    }
}

void mgmd_sessions_close(struct mgmd *mgmd)
{
    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        if (mgmd->sessions[i] != NULL) session_close(mgmd->sessions[i]);
    }
}
