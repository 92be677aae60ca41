/* mgm_connect.c -- the management client's socket: connect, send, receive, each with a deadline. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "config/mgm_handle.h"

#define CONNECT_MS 5000u /* Time for one address: the next one may answer. */
#define PROBE_MS   2000u /* A server that hangs still takes connections, but says nothing. */

uint64_t mgm_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Who answers may be anybody, and its words go to terminals: controls of those are left out, also
 * the ones that UTF-8 has behind C2. */
static void make_printable(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        unsigned char before = c == text ? 0 : (unsigned char)c[-1];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f ||
            (before == 0xc2 && byte >= 0x80 && byte < 0xa0))
            *c = '?';
    }
}

int mgm_fail(ndb_mgm_handle_t *handle, int code, const char *format, ...)
{
    va_list args;

    if (handle == NULL) return -1;
    handle->error = code;
    va_start(args, format);
    (void)vsnprintf(handle->error_text, sizeof(handle->error_text), format, args);
    va_end(args);
    make_printable(handle->error_text);
    return -1;
}

bool mgm_is_line(ndb_mgm_handle_t *handle, const char *what, const char *text)
{
    const char *at = text;

    while (at != NULL && *at != '\0' && ((unsigned char)*at >= ' ' || *at == '\t'))
        at++;
    if (at != NULL && *at == '\0') return true;
    (void)mgm_fail(handle, NDB_MGM_USAGE_ERROR,
                   text == NULL ? "No %s" : "The %s has a line end or another control character",
                   what);
    return false;
}

/* 1 ready, 0 time is over, -1 error. */
static int wait_for(int descriptor, short events, uint64_t deadline_ms)
{
    for (;;) {
        uint64_t now = mgm_now_ms();
        struct pollfd entry = {.fd = descriptor, .events = events};
        uint64_t left = now >= deadline_ms ? 0 : deadline_ms - now;
        int rc = poll(&entry, 1, left > 3600000 ? 3600000 : (int)left);
        if (rc > 0) return 1;
        if (rc < 0 && errno != EINTR) return -1;
        if (rc == 0 && left == 0) return 0;
    }
}

static int bind_local(int descriptor, int family, const struct mgm_connectstring *target)
{
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char port[8];

    if (target->bind_host[0] == '\0') return 0;
    (void)snprintf(port, sizeof(port), "%u", target->bind_port);
    if (getaddrinfo(target->bind_host, port, &hints, &list) != 0) return -1;
    int rc = bind(descriptor, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return rc;
}

/* A connected socket or -1 with errno's text in `why`. */
static int connect_one(const struct addrinfo *address, const ndb_mgm_handle_t *handle, char *why,
                       size_t size)
{
    uint32_t wait_ms = handle->timeout_ms < CONNECT_MS ? handle->timeout_ms : CONNECT_MS;
    int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    int one = 1;
    socklen_t length = sizeof(error);

    if (descriptor < 0 || bind_local(descriptor, address->ai_family, &handle->target) != 0) {
        error = errno;
    } else if (connect(descriptor, address->ai_addr, address->ai_addrlen) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            int rc = wait_for(descriptor, POLLOUT, mgm_now_ms() + wait_ms);
            if (rc == 0)
                error = ETIMEDOUT;
            else if (rc < 0 || getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
                error = EIO;
        }
    }
    if (error == 0) {
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        return descriptor;
    }
    if (descriptor >= 0) (void)close(descriptor);
    (void)snprintf(why, size, "%s", strerror(error));
    return -1;
}

int ndb_mgm_connect_to(ndb_mgm_handle_t *handle, uint32_t index)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char why[128] = "no address";
    char port[8];

    if (handle == NULL) return -1;
    if (ndb_mgm_is_connected(handle))
        return mgm_fail(handle, NDB_MGM_ALREADY_CONNECTED, "Already connected");
    if (handle->socket >= 0) (void)ndb_mgm_disconnect(handle);
    if (index >= handle->target.count) {
        return mgm_fail(handle, NDB_MGM_ILLEGAL_CONNECT_STRING, "There is no address %u", index);
    }
    const struct mgm_address *address = &handle->target.addresses[index];
    (void)snprintf(port, sizeof(port), "%u", address->port);
    int rc = getaddrinfo(address->host, port, &hints, &list);
    if (rc != 0) {
        return mgm_fail(handle, NDB_MGM_COULD_NOT_CONNECT, "%s: %s", address->host,
                        gai_strerror(rc));
    }
    for (const struct addrinfo *at = list; at != NULL && handle->socket < 0; at = at->ai_next) {
        handle->socket = connect_one(at, handle, why, sizeof(why));
    }
    freeaddrinfo(list);
    if (handle->socket < 0) {
        return mgm_fail(handle, NDB_MGM_COULD_NOT_CONNECT, "%s port %u: %s", address->host,
                        address->port, why);
    }
    handle->connected = index;
    handle->in_used = 0;
    handle->line_used = 0;
    handle->listener = false;
    return 0;
}

/* The reason why the one that was connected does not count, with its address. */
static void say_where(ndb_mgm_handle_t *handle)
{
    const struct mgm_address *address = &handle->target.addresses[handle->connected];
    const char *says = handle->reply.has_command ? mgm_command(&handle->reply) : "";
    char why[400];

    if (says[0] != '\0' && strcmp(says, "check connection reply") != 0)
        (void)snprintf(why, sizeof(why), "it is no management server: it says \"%.60s\"", says);
    else
        (void)snprintf(why, sizeof(why), "%.300s", handle->error_text);
    (void)mgm_fail(handle, handle->error, "%.200s port %u: %s", address->host, address->port, why);
}

/* A server closes the connection of who has nothing to say; with several to choose from, one that
 * does not answer is as good as none. */
static bool answers(ndb_mgm_handle_t *handle)
{
    uint64_t wait = handle->timeout_ms;

    if (handle->target.count > 1 && wait > PROBE_MS) wait = PROBE_MS;

    mgm_parser_reset(&handle->reply);
    if (mgm_call(handle, wait, "check connection") == 0) return true;
    if (handle->socket >= 0) (void)ndb_mgm_disconnect(handle);
    say_where(handle);
    return false;
}

/* What is wrong with one address goes behind what was wrong with those before it. */
static void gather(ndb_mgm_handle_t *handle, char *all, size_t size)
{
    size_t used = strlen(all);

    (void)snprintf(all + used, size - used, "%s%.500s", used > 0 ? "; " : "", handle->error_text);
}

int ndb_mgm_connect(ndb_mgm_handle_t *handle, int retries, uint32_t delay_s)
{
    if (handle == NULL) return -1;
    if (ndb_mgm_is_connected(handle))
        return mgm_fail(handle, NDB_MGM_ALREADY_CONNECTED, "Already connected");
    for (int round = 0;; round++) {
        char all[2 * sizeof(handle->error_text)] = "";
        for (uint32_t i = 0; i < handle->target.count; i++) {
            if (ndb_mgm_connect_to(handle, i) == 0 && answers(handle)) return 0;
            gather(handle, all, sizeof(all));
        }
        (void)mgm_fail(handle, handle->error, "%s", all);
        if (retries >= 0 && round >= retries) return -1;
        struct timespec pause = {.tv_sec = (time_t)delay_s,
                                 .tv_nsec = delay_s == 0 ? 100000000 : 0};
        (void)nanosleep(&pause, NULL);
    }
}

int ndb_mgm_disconnect(ndb_mgm_handle_t *handle)
{
    if (handle == NULL) return -1;
    if (handle->socket < 0) return mgm_fail(handle, NDB_MGM_SERVER_NOT_CONNECTED, "Not connected");
    (void)close(handle->socket);
    handle->socket = -1;
    return 0;
}

static int lost(ndb_mgm_handle_t *handle, const char *what)
{
    if (handle->socket >= 0) (void)close(handle->socket);
    handle->socket = -1;
    return mgm_fail(handle, NDB_MGM_SERVER_NOT_CONNECTED,
                    "Connection to management server lost: %s", what);
}

int mgm_send(ndb_mgm_handle_t *handle, const char *bytes, size_t size)
{
    uint64_t deadline = mgm_now_ms() + handle->timeout_ms;

    if (handle->socket < 0) return mgm_fail(handle, NDB_MGM_SERVER_NOT_CONNECTED, "Not connected");
    while (size > 0) {
        ssize_t n = send(handle->socket, bytes, size, MSG_NOSIGNAL);
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return lost(handle, strerror(errno));
        if (wait_for(handle->socket, POLLOUT, deadline) != 1)
            return lost(handle, "it does not read");
    }
    return 0;
}

int mgm_receive(ndb_mgm_handle_t *handle, uint64_t deadline_ms)
{
    if (handle->socket < 0) return mgm_fail(handle, NDB_MGM_SERVER_NOT_CONNECTED, "Not connected");
    for (;;) {
        ssize_t n = recv(handle->socket, handle->in + handle->in_used,
                         sizeof(handle->in) - handle->in_used, 0);
        if (n > 0) {
            handle->in_used += (size_t)n;
            return 0;
        }
        if (n == 0) return lost(handle, "it closed the connection");
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return lost(handle, strerror(errno));
        int rc = wait_for(handle->socket, POLLIN, deadline_ms);
        if (rc < 0) return lost(handle, "waiting failed");
        if (rc == 0) return 1;
    }
}

void mgm_take(ndb_mgm_handle_t *handle, size_t size)
{
    handle->in_used -= size;
    memmove(handle->in, handle->in + size, handle->in_used);
}

/* Reads one message. The connection is closed when the reply does not come or makes no sense: what
 * follows on it could not be told apart from a late reply. */
static int read_reply(ndb_mgm_handle_t *handle, uint64_t deadline_ms)
{
    mgm_parser_reset(&handle->reply);
    handle->reply.line_used = 0;
    for (;;) {
        size_t used = 0;
        enum mgm_parse state = MGM_PARSE_MORE;
        if (handle->in_used > 0) {
            state = mgm_parser_feed(&handle->reply, handle->in, handle->in_used, &used);
            mgm_take(handle, used);
        }
        if (state == MGM_PARSE_DONE) return 0;
        if (state == MGM_PARSE_ERROR) {
            (void)lost(handle, handle->reply.error);
            return mgm_fail(handle, NDB_MGM_ILLEGAL_SERVER_REPLY, "Illegal reply from server: %s",
                            handle->reply.error);
        }
        if (handle->in_used > 0) continue;
        int rc = mgm_receive(handle, deadline_ms);
        if (rc < 0) return -1;
        if (rc > 0) return lost(handle, "no reply in time");
    }
}

int mgm_call(ndb_mgm_handle_t *handle, uint64_t wait_ms, const char *format, ...)
{
    char request[4096];
    va_list args;

    if (handle == NULL) return -1;
    handle->error = 0;
    handle->error_text[0] = '\0';
    if (handle->socket < 0) return mgm_fail(handle, NDB_MGM_SERVER_NOT_CONNECTED, "Not connected");
    if (handle->listener)
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "The handle listens to events");
    va_start(args, format);
    int length = vsnprintf(request, sizeof(request) - 2, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(request) - 2) {
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "The request is too long");
    }
    memcpy(request + length, "\n\n", 3);
    if (mgm_send(handle, request, (size_t)length + 2) != 0) return -1;
    if (read_reply(handle, mgm_now_ms() + wait_ms) != 0) return -1;
    const char *result = mgm_value(&handle->reply, "result");
    if (result != NULL && strcmp(result, "Ok") == 0) return 0;
    int64_t code = mgm_reply_number(handle, "error_code", NDB_MGM_ILLEGAL_SERVER_REPLY);
    const char *text = result == NULL ? "Illegal reply from server" : result;
    char *end;
    if (result != NULL && strtol(result, &end, 10) == code && *end == ' ') text = end + 1;
    return mgm_fail(handle, (int)code, "%s", text);
}

int64_t mgm_reply_number(const ndb_mgm_handle_t *handle, const char *name, int64_t missing)
{
    int64_t value;

    return mgm_number(&handle->reply, name, INT64_MIN, INT64_MAX, missing, &value) == 0 ? value
                                                                                        : missing;
}
