/* mgmd_session.c -- text sessions of the management server: sockets, limits, replies, event
 * streams. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The first bytes decide what a connection is: the transporter's hello makes it a node's link,
 * anything else a text session. A session reads one request at a time; while a request waits for
 * data nodes, or answers wait for their reader, nothing more is read from its client.
 *
 * Whoever comes gets a session: when all are taken, the one that is worth least goes
 * (docs/protocols/management.md, "A crowd").
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_session.h"
#include "values/errors.h"

#define SNIFF_BYTES 4u

struct mgmd_session {
    uv_tcp_t tcp; /* First: the handle is the session. */
    struct mgmd *mgmd;
    struct mgm_parser parser;
    uint32_t id;
    uint32_t slot;
    uint64_t last_ms;   /* Loop time of its last request, or of its beginning. */
    uint64_t begun_ms;  /* Loop time when a request began that is not complete; 0 = none is. */
    size_t unread;      /* Bytes in the socket's queue at the last tick. */
    uint64_t unread_ms; /* Loop time since which these have not become less. */
    uint64_t origin;    /* Host of the session, or the IPv6 network of 64 bits that it is in. */
    char address[64];
    uint8_t in[MGMD_SESSION_IN];
    uint32_t in_used;
    char *out; /* The reply being made. */
    size_t out_used;
    size_t out_room;
    bool sniffed;
    bool known; /* It has sent a command that there is; until then it is a stranger. */
    bool reading;
    bool waiting; /* It waits for answers of data nodes. */
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
static void session_work(struct mgmd_session *session);

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
    if (status != 0 || session->close_after_write)
        session_close(session);
    else if (!session->closing)
        session_work(session); /* What was left while its answers were not read. */
}

/* Answers that the client has not read yet. */
static size_t session_unread(const struct mgmd_session *session)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&session->tcp) + session->out_used;
}

/* Hands the collected reply to the socket. */
static void session_flush(struct mgmd_session *session)
{
    if (session->out_used == 0 || session->closing) return;
    size_t limit = session->listener ? MGMD_LISTENER_OUT_MAX : MGMD_SESSION_OUT_MAX;
    struct write_job *job = calloc(1, sizeof(*job));
    if (job == NULL || session_unread(session) > limit) {
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

void mgmd_reply_wrong_node(struct mgmd_session *session, uint32_t id, int code)
{
    int error = config_node(session->mgmd->config, id) != NULL ? code : ERR_MGM_NO_SUCH_NODE;
    mgmd_reply_error(session, error, "Node %u: %s", id, ndb_mgm_error_message(error));
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
           session->in_used > 0 && session_unread(session) < MGMD_SESSION_UNREAD_MAX) {
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
        session->last_ms = session->begun_ms = uv_now(session->mgmd->loop);
        if (mgmd_execute(session)) session->known = true;
        if (!session->waiting) mgm_parser_reset(&session->parser);
    }
    if (session->in_used == 0 && mgm_parser_between(&session->parser)) session->begun_ms = 0;
    session_flush(session);
    if (!session->closing) read_on(session);
}

void mgmd_session_resume(struct mgmd_session *session)
{
    session->waiting = false;
    session->last_ms = session->begun_ms = uv_now(session->mgmd->loop);
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
    if (session->begun_ms == 0) session->begun_ms = uv_now(session->mgmd->loop);
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
    bool want = !session->waiting && !session->close_after_write &&
                session->in_used < MGMD_SESSION_IN &&
                session_unread(session) < MGMD_SESSION_UNREAD_MAX;

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
        session->origin = ((const struct sockaddr_in *)(const void *)&name)->sin_addr.s_addr;
        (void)uv_ip4_name((const struct sockaddr_in *)(const void *)&name, session->address,
                          sizeof(session->address));
    } else {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&name;
        bool mapped = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);
        memcpy(&session->origin, in6->sin6_addr.s6_addr + (mapped ? 8 : 0), 8);
        (void)uv_ip6_name((const struct sockaddr_in6 *)(const void *)&name, session->address,
                          sizeof(session->address));
        if (strncmp(session->address, "::ffff:", 7) == 0) {
            memmove(session->address, session->address + 7, strlen(session->address + 7) + 1);
        }
    }
}

/* ---- a crowd ---- */

/* Ranks of sessions: of two the one of the lower rank is pushed out first. */
enum rank { RANK_STRANGER, RANK_IDLE, RANK_LISTENER, RANK_HOLDER, RANK_WAITING };

static bool holds_id(const struct mgmd_session *session)
{
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        if (session->mgmd->nodes[id].holder == session->id) return true;
    }
    return false;
}

static enum rank session_rank(const struct mgmd_session *session)
{
    if (session->waiting) return RANK_WAITING;
    if (holds_id(session)) return RANK_HOLDER;
    if (session->listener) return RANK_LISTENER;
    return session->known ? RANK_IDLE : RANK_STRANGER;
}

/* Closes a session of the lowest rank: of the host that has most of them, the one that has been
 * silent for longest. So a host that takes all it can get pushes out its own, and a newcomer has
 * as much time to speak as it takes to fill all sessions once. */
static void push_out(struct mgmd *mgmd)
{
    enum rank rank[MGMD_SESSIONS_MAX];
    enum rank lowest = RANK_WAITING;
    struct mgmd_session *worst = NULL;
    uint32_t worst_crowd = 0;

    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        if (mgmd->sessions[i] == NULL) continue;
        rank[i] = session_rank(mgmd->sessions[i]);
        if (rank[i] < lowest) lowest = rank[i];
    }
    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        struct mgmd_session *session = mgmd->sessions[i];
        uint32_t crowd = 0;
        if (session == NULL || rank[i] != lowest) continue;
        for (uint32_t j = 0; j < MGMD_SESSIONS_MAX; j++) {
            const struct mgmd_session *other = mgmd->sessions[j];
            crowd += other != NULL && rank[j] == lowest && other->origin == session->origin;
        }
        bool longer =
            worst != NULL &&
            (session->last_ms < worst->last_ms ||
             (session->last_ms == worst->last_ms && (int32_t)(session->id - worst->id) < 0));
        if (worst != NULL && (crowd < worst_crowd || (crowd == worst_crowd && !longer))) continue;
        worst = session;
        worst_crowd = crowd;
    }
    if (worst == NULL) return;
    mgmd->pushed_out++;
    session_close(worst);
}

/* Others have descriptors, too: links, files, the loop. */
void mgmd_sessions_limit(struct mgmd *mgmd)
{
    struct rlimit limit = {0, 0};
    const rlim_t others =
        64u + config_count(mgmd->config, CONFIG_NDBD) + config_count(mgmd->config, CONFIG_MGMD);

    mgmd->sessions_max = MGMD_SESSIONS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < others + MGMD_SESSIONS_MAX) {
        limit.rlim_cur = limit.rlim_max < others + MGMD_SESSIONS_MAX ? limit.rlim_max
                                                                     : others + MGMD_SESSIONS_MAX;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= others + MGMD_SESSIONS_MAX) return;
    mgmd->sessions_max = MGMD_SESSIONS_MIN;
    if (limit.rlim_cur > others + MGMD_SESSIONS_MIN)
        mgmd->sessions_max = (uint32_t)(limit.rlim_cur - others);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "The process may open %llu files: there can be %u sessions instead of %u",
                       (unsigned long long)limit.rlim_cur, mgmd->sessions_max, MGMD_SESSIONS_MAX);
}

static void tell_crowd(struct mgmd *mgmd, uint64_t now)
{
    if (mgmd->pushed_out == 0 || now < mgmd->crowd_told + MGMD_CROWD_TOLD_MS) return;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "More than %u sessions at once: %u were closed to let others in",
                       mgmd->sessions_max, mgmd->pushed_out);
    mgmd->pushed_out = 0;
    mgmd->crowd_told = now;
}

/* Is there a reason to end this session now? */
static bool has_to_go(struct mgmd_session *session, uint64_t now)
{
    size_t unread = session_unread(session);

    if (unread == 0 || unread < session->unread) session->unread_ms = now;
    session->unread = unread;
    if (unread > 0 && now - session->unread_ms >= MGMD_UNREAD_MS) return true;
    if (session->waiting || session->listener) return false;
    if (!session->known && now - session->last_ms >= MGMD_STRANGER_MS) return true;
    if (session->begun_ms != 0 && unread == 0 && now - session->begun_ms >= MGMD_STRANGER_MS)
        return true;
    /* The process that an id was given to may be busy for long. */
    return now - session->last_ms >= MGMD_SESSION_IDLE_MS && !holds_id(session);
}

/* ---- newcomers ---- */

void mgmd_session_accept(uv_stream_t *server, int status)
{
    struct mgmd *mgmd = server->data;
    struct mgmd_session *session = status == 0 ? calloc(1, sizeof(*session)) : NULL;
    uint32_t slot = 0;

    if (status != 0) return; /* Without a descriptor the loop has turned it away. */
    if (session == NULL ||
        mgm_parser_init(&session->parser, MGM_REQUEST_PAIRS_MAX, MGM_REQUEST_TEXT_MAX) != 0) {
        free(session);
        mgmd->accept_again = true; /* It waits, and all behind it, until there is memory. */
        return;
    }
    if (mgmd->session_count >= mgmd->sessions_max) push_out(mgmd);
    (void)uv_tcp_init(mgmd->loop, &session->tcp);
    session->mgmd = mgmd;
    while (slot < MGMD_SESSIONS_MAX && mgmd->sessions[slot] != NULL)
        slot++;
    if (uv_accept(server, (uv_stream_t *)&session->tcp) != 0 || slot == MGMD_SESSIONS_MAX ||
        mgmd->stopping) {
        uv_close((uv_handle_t *)&session->tcp, session_closed);
        return;
    }
    session->slot = slot;
    session->id = ++mgmd->session_last;
    if (session->id == 0) session->id = ++mgmd->session_last;
    session->last_ms = session->unread_ms = uv_now(mgmd->loop);
    mgmd->sessions[slot] = session;
    mgmd->session_count++;
    (void)uv_tcp_nodelay(&session->tcp, 1);
    (void)uv_tcp_keepalive(&session->tcp, 1, 30);
    name_peer(session);
    read_on(session);
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

/* Sessions that have nothing to say, or do not listen, end; listeners get their ping. */
void mgmd_sessions_tick(struct mgmd *mgmd)
{
    uint64_t now = uv_now(mgmd->loop);

    if (mgmd->accept_again) {
        mgmd->accept_again = false;
        for (uint32_t i = 0; i < mgmd->listeners; i++)
            mgmd_session_accept((uv_stream_t *)&mgmd->listener[i], 0);
    }
    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        struct mgmd_session *session = mgmd->sessions[i];
        if (session == NULL) continue;
        if (has_to_go(session, now)) {
            session_close(session);
        } else if (session->listener && now - session->ping_ms >= 10000) {
            session->ping_ms = now;
            mgmd_reply_text(session, "<PING>\n", 7);
            session_flush(session);
        }
    }
    tell_crowd(mgmd, now);
}

void mgmd_sessions_close(struct mgmd *mgmd)
{
    for (uint32_t i = 0; i < MGMD_SESSIONS_MAX; i++) {
        if (mgmd->sessions[i] != NULL) session_close(mgmd->sessions[i]);
    }
}
