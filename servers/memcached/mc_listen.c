/* mc_listen.c -- the sockets of the server: TCP, UDP and UNIX, and who gets a new connection. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "servers/memcached/mc_server.h"

static void on_incoming(uv_poll_t *poll, int status, int events);

static int add(struct mc_server *server, int fd, bool udp)
{
    struct mc_listener *grown =
        realloc(server->listeners, (server->listener_count + 1) * sizeof *grown);
    if (grown == NULL) {
        close(fd);
        return -1;
    }
    server->listeners = grown;
    grown[server->listener_count++] = (struct mc_listener){.server = server, .fd = fd, .udp = udp};
    return 0;
}

static int open_address(struct mc_server *server, const struct addrinfo *address)
{
    bool udp = address->ai_socktype == SOCK_DGRAM;
    int one = 1;
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
        (!udp && listen(fd, (int)server->options.backlog) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return add(server, fd, udp);
}

static int open_port(struct mc_server *server, const char *host, uint16_t port, bool udp)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE,
                                   .ai_family = AF_UNSPEC,
                                   .ai_socktype = udp ? SOCK_DGRAM : SOCK_STREAM};
    struct addrinfo *found;
    char service[8];
    uint32_t opened = 0;
    snprintf(service, sizeof service, "%u", port);
    int error = getaddrinfo(host, service, &hints, &found);
    if (error != 0) {
        mc_log("address %s: %s", host == NULL ? "*" : host, gai_strerror(error));
        return -1;
    }
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        if (open_address(server, at) == 0)
            opened++;
        else if (errno != EAFNOSUPPORT)
            mc_log("%s port %u of %s: %s", udp ? "UDP" : "TCP", port, host == NULL ? "*" : host,
                   strerror(errno));
    }
    freeaddrinfo(found);
    return opened > 0 ? 0 : -1;
}

static int open_host(struct mc_server *server, const char *host, uint16_t port)
{
    const struct mc_options *options = &server->options;
    uint16_t tcp = options->tcp_port == 0 || port == 0 ? options->tcp_port : port;
    uint16_t udp = options->udp_port == 0 || port == 0 ? options->udp_port : port;
    if (tcp != 0 && open_port(server, host, tcp, false) != 0) return -1;
    if (udp != 0 && open_port(server, host, udp, true) != 0) return -1;
    return 0;
}

/* The port behind an address: 0 if none follows. -1: what follows is none. */
static int port_of(const char *text)
{
    char *end;
    if (*text == '\0') return 0;
    long port = *text == ':' && text[1] >= '0' && text[1] <= '9' ? strtol(text + 1, &end, 10) : 0;
    return port < 1 || port > UINT16_MAX || *end != '\0' ? -1 : (int)port;
}

/* ADDRESS, ADDRESS:PORT, [V6], [V6]:PORT; several colons without brackets are an address of IPv6.
   "*" is any address. */
static int open_one(struct mc_server *server, char *text)
{
    char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    char *host = text[0] == '[' ? text + 1 : text;
    int port = 0;
    if (text[0] == '[' && end == NULL) {
        mc_log("-l %s: there is no ] behind the address", text);
        return -1;
    }
    if (end != NULL && (text[0] == '[' || strchr(end + 1, ':') == NULL)) {
        port = port_of(text[0] == '[' ? end + 1 : end);
        if (port < 0) {
            mc_log("-l %s: what follows the address is no port (allowed: 1 to 65535)", text);
            return -1;
        }
        *end = '\0';
    }
    return open_host(server, strcmp(host, "*") == 0 ? NULL : host, (uint16_t)port);
}

static int open_unix(struct mc_server *server)
{
    const char *path = server->options.unix_path;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (strlen(path) >= sizeof address.sun_path) {
        mc_log("the path of the UNIX socket is too long: %s", path);
        return -1;
    }
    strcpy(address.sun_path, path);
    /* A former server left it. */
    if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    mode_t mask = umask((mode_t)(~server->options.unix_mask & 0777u));
    int result = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (result != 0 || listen(fd, (int)server->options.backlog) != 0) {
        mc_log("UNIX socket %s: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return -1;
    }
    return add(server, fd, false);
}

int mc_listen_open(struct mc_server *server)
{
    char *hosts;
    char *rest;
    int result = 0;
    if (server->options.unix_path != NULL) return open_unix(server);
    if (server->options.listen == NULL) return open_host(server, NULL, 0);
    hosts = strdup(server->options.listen);
    if (hosts == NULL) return -1;
    for (char *host = strtok_r(hosts, ",;", &rest); host != NULL && result == 0;
         host = strtok_r(NULL, ",;", &rest))
        result = open_one(server, host);
    free(hosts);
    return result;
}

/* ---- Connections. ---- */

static void pause_accepting(struct mc_server *server)
{
    server->accepting = false;
    for (uint32_t i = 0; i < server->listener_count; i++)
        if (!server->listeners[i].udp) uv_poll_stop(&server->listeners[i].poll);
}

static struct mc_worker *least_loaded(struct mc_server *server)
{
    struct mc_worker *best = &server->workers[0];
    for (uint32_t i = 1; i < server->options.threads; i++) {
        struct mc_worker *worker = &server->workers[i];
        if (atomic_load(&worker->figures.connections) < atomic_load(&best->figures.connections))
            best = worker;
    }
    return best;
}

/* Round robin would do, but for connections that come and go unevenly. */
static void hand_over(struct mc_server *server, int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* Not of a UNIX socket. */
    atomic_fetch_add(&server->connections, 1);
    atomic_fetch_add(&server->connections_total, 1);
    if (mc_log_tells(server, MC_TELL_CONNECTIONS)) mc_log("connection %d has come", fd);
    mc_worker_accept(least_loaded(server), fd);
}

static void accept_all(struct mc_listener *listener)
{
    struct mc_server *server = listener->server;
    for (;;) {
        if (atomic_load(&server->connections) >= server->options.connections) {
            atomic_fetch_add(&server->listen_disabled, 1);
            server->disabled_since_us = uv_hrtime() / 1000u;
            pause_accepting(server); /* They wait in the backlog. */
            return;
        }
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            hand_over(server, fd);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            mc_log("a connection cannot be accepted: %s", strerror(errno));
            pause_accepting(server); /* Until the clock's next turn. */
        }
        return;
    }
}

static void on_incoming(uv_poll_t *poll, int status, int events)
{
    struct mc_listener *listener = poll->data;
    (void)events;
    if (status < 0) return;
    accept_all(listener);
}

int mc_listen_begin(struct mc_server *server)
{
    int error = 0;
    for (uint32_t i = 0; i < server->listener_count; i++) {
        struct mc_listener *listener = &server->listeners[i];
        if (listener->udp) continue; /* A worker's. */
        if (listener->poll.data == NULL)
            error = uv_poll_init(&server->loop, &listener->poll, listener->fd);
        if (error == 0) {
            listener->poll.data = listener;
            error = uv_poll_start(&listener->poll, UV_READABLE, on_incoming);
        }
        if (error != 0) {
            mc_log("connections cannot be accepted: %s", uv_strerror(error));
            return -1;
        }
    }
    if (server->disabled_since_us != 0)
        atomic_fetch_add(&server->listen_disabled_us,
                         uv_hrtime() / 1000u - server->disabled_since_us);
    server->disabled_since_us = 0;
    server->accepting = true;
    return 0;
}

void mc_listen_again(struct mc_server *server)
{
    uv_async_send(&server->wake);
}

void mc_listen_close(struct mc_server *server)
{
    for (uint32_t i = 0; i < server->listener_count; i++) {
        struct mc_listener *listener = &server->listeners[i];
        if (listener->poll.data != NULL) uv_poll_stop(&listener->poll);
        close(listener->fd);
    }
    if (server->options.unix_path != NULL) unlink(server->options.unix_path);
}
