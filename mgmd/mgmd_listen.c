/* mgmd_listen.c -- the addresses that the management server listens on. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * It listens where its own section says that it is: on the addresses of its HostName, and on
 * 127.0.0.1 for who is on its host. So a server of a test is not reached from elsewhere, and one
 * with several networks only from the one that it is meant for. A name that cannot be looked up is
 * no reason to let everybody in: the server does not start. Without a HostName it listens on all
 * addresses, and with a warning where the name gives nothing that others could use: it means the
 * loopback only here (a host's own name is 127.0.1.1 on some systems), or addresses that this host
 * does not have (a container's outer ones). --bind-address says exactly one.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mgmd/mgmd.h"
#include "mgmd/mgmd_session.h"

#define ADDRESSES_MAX                                                                              \
    (MGMD_LISTENERS - 3) /* A name has no more that count; three listeners are for others. */
#define LOOK_UPS 5       /* A second apart. */
#define BACKLOG  128     /* Less than there are sessions: a burst does not push out its own. */

static bool is_loopback(const struct sockaddr_storage *address)
{
    static const struct in6_addr own = IN6ADDR_LOOPBACK_INIT;

    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
               127;
    return memcmp(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, &own,
                  sizeof(own)) == 0;
}

/* An address as text. */
static int numeric(const char *text, uint32_t port, struct sockaddr_storage *address)
{
    if (uv_ip4_addr(text, (int)port, (struct sockaddr_in *)(void *)address) == 0) return 0;
    return uv_ip6_addr(text, (int)port, (struct sockaddr_in6 *)(void *)address);
}

static bool is_any(const struct sockaddr_storage *address)
{
    static const struct in6_addr any = IN6ADDR_ANY_INIT;

    if (address->ss_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == 0;
    return memcmp(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, &any,
                  sizeof(any)) == 0;
}

static void set_port(struct sockaddr_storage *address, uint32_t port)
{
    if (address->ss_family == AF_INET)
        ((struct sockaddr_in *)(void *)address)->sin_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons((uint16_t)port);
}

/* Names that mean this host alone, wherever they are looked up (RFC 6761, and what Debian's
 * /etc/hosts has). */
static bool names_loopback(const char *name)
{
    static const char *const names[] = {"localhost", "localhost.localdomain", "ip6-localhost",
                                        "ip6-loopback"};
    static const char suffix[] = ".localhost";
    size_t length = strlen(name);

    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(name, names[i]) == 0) return true;
    }
    return length >= sizeof(suffix) &&
           strcasecmp(name + length - (sizeof(suffix) - 1), suffix) == 0;
}

struct addresses {
    struct sockaddr_storage at[ADDRESSES_MAX];
    uint32_t count;
};

/* An IPv4 address that is written as one of IPv6 (RFC 4291, 2.5.5.2) is that address. */
static void unmap(struct sockaddr_storage *address)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    struct sockaddr_in four = {.sin_family = AF_INET};

    if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(six)) return;
    memcpy(&four.sin_addr, six->s6_addr + 12, sizeof(four.sin_addr));
    *address = (struct sockaddr_storage){0};
    memcpy(address, &four, sizeof(four));
}

/* Each once: name services may tell one several times. All addresses are all there is to say. */
static void add(struct addresses *out, const struct sockaddr_storage *address)
{
    struct sockaddr_storage one = *address;

    unmap(&one);
    if (is_any(&one)) {
        out->at[0] = one;
        out->count = 1;
        return;
    }
    if (out->count == 1 && is_any(&out->at[0])) return;
    for (uint32_t i = 0; i < out->count; i++) {
        if (memcmp(&out->at[i], &one, sizeof(one)) == 0) return;
    }
    if (out->count < ADDRESSES_MAX) out->at[out->count++] = one;
}

/* Tries again for a while: a name server may not be there yet when the host has just started. */
static int resolve(const char *name, struct addrinfo **list)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int rc = getaddrinfo(name, NULL, &hints, list);

    for (int i = 1; rc == EAI_AGAIN && i < LOOK_UPS; i++) {
        (void)sleep(1);
        rc = getaddrinfo(name, NULL, &hints, list);
    }
    return rc;
}

/* The addresses of the name that others may reach it by; none when it means the loopback only.
 * 0, or -1 with the reason. */
static int look_up(const char *name, struct addresses *out, char *why, size_t size)
{
    struct sockaddr_storage address;
    struct addrinfo *list = NULL;

    out->count = 0;
    if (numeric(name, 0, &address) == 0 ||
        (names_loopback(name) && numeric("127.0.0.1", 0, &address) == 0)) {
        add(out, &address);
        return 0;
    }
    int rc = resolve(name, &list);
    if (rc != 0) {
        (void)snprintf(why, size,
                       "HostName %s cannot be looked up: %s; correct it, or say with "
                       "--bind-address where to listen",
                       name, gai_strerror(rc));
        return -1;
    }
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        if (at->ai_addrlen > sizeof(address)) continue;
        address = (struct sockaddr_storage){0};
        memcpy(&address, at->ai_addr, at->ai_addrlen);
        if (is_loopback(&address)) continue;
        add(out, &address);
    }
    freeaddrinfo(list);
    return 0;
}

/* 0, or libuv's error: also that of a bind that it has kept for itself, when another one has the
 * port, and when the listener has no address. */
static int port_of(const uv_tcp_t *listener, uint16_t *port)
{
    struct sockaddr_storage address;
    int size = sizeof(address);
    int rc = uv_tcp_getsockname(listener, (struct sockaddr *)&address, &size);

    if (rc != 0) return rc;
    *port = ntohs(address.ss_family == AF_INET
                      ? ((const struct sockaddr_in *)(const void *)&address)->sin_port
                      : ((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
    return 0;
}

static const char *address_text(const struct sockaddr_storage *address, char text[INET6_ADDRSTRLEN])
{
    int rc =
        address->ss_family == AF_INET
            ? uv_ip4_name((const struct sockaddr_in *)(const void *)address, text, INET6_ADDRSTRLEN)
            : uv_ip6_name((const struct sockaddr_in6 *)(const void *)address, text,
                          INET6_ADDRSTRLEN);

    return rc == 0 ? text : "?";
}

/* 0, or libuv's error. Sockets that do not listen yet can share an address, since libuv sets
 * SO_REUSEADDR to get past former connections. So servers of one host agree beforehand: who has the
 * address has a name among the sockets of the kernel (unix(7): abstract), which is one process's at
 * a time, and is gone with it. Where there are no such names the second server finds out when it
 * listens. */
static int take_name(struct mgmd *mgmd, const struct sockaddr_storage *address)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char text[INET6_ADDRSTRLEN];

    if (mgmd->port == 0) return 0; /* Nobody else is given the same one. */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return 0;
    uint32_t scope = address->ss_family == AF_INET6
                         ? ((const struct sockaddr_in6 *)(const void *)address)->sin6_scope_id
                         : 0;
    int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "ndb_mgmd %s%%%u %u",
                          address_text(address, text), scope, mgmd->port);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    bool taken = bind(fd, (const struct sockaddr *)&name, size) != 0 && errno == EADDRINUSE;
    if (taken) (void)close(fd);
    if (!taken) mgmd->listener_name[mgmd->listeners] = fd;
    return taken ? UV_EADDRINUSE : 0;
}

/* One more listener, which has its port. 0, or libuv's error; then it is closed with the others. */
static int listen_at(struct mgmd *mgmd, const struct sockaddr_storage *address)
{
    uv_tcp_t *listener = &mgmd->listener[mgmd->listeners];
    int rc = take_name(mgmd, address);

    (void)uv_tcp_init(mgmd->loop, listener);
    listener->data = mgmd;
    mgmd->listeners++;
    if (rc == 0) rc = uv_tcp_bind(listener, (const struct sockaddr *)address, 0);
    return rc == 0 ? port_of(listener, &mgmd->port) : rc;
}

static int listen_on_all(struct mgmd *mgmd)
{
    struct sockaddr_storage address;
    int rc = uv_ip6_addr("::", mgmd->port, (struct sockaddr_in6 *)(void *)&address);

    if (rc == 0) rc = listen_at(mgmd, &address);
    if (rc != UV_EAFNOSUPPORT && rc != UV_EINVAL) return rc;
    rc = numeric("0.0.0.0", mgmd->port, &address);
    return rc == 0 ? listen_at(mgmd, &address) : rc;
}

static int listen_warned(struct mgmd *mgmd, const char *host, const char *what)
{
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "HostName %s %s: the server listens on all addresses (--bind-address says "
                       "one)",
                       host, what);
    return listen_on_all(mgmd);
}

static void warn_of_loopback(const struct mgmd *mgmd, int error)
{
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "Port %u of 127.0.0.1 cannot be used: %s. Tools on this host use HostName",
                       mgmd->port, uv_strerror(error));
}

/* Listens for tools on this host, where no listener is yet that they reach there. */
static void listen_beside(struct mgmd *mgmd)
{
    struct sockaddr_storage address;
    int rc = numeric("127.0.0.1", mgmd->port, &address);

    mgmd->listener_beside = mgmd->listeners;
    if (rc == 0) rc = listen_at(mgmd, &address);
    if (rc != 0) warn_of_loopback(mgmd, rc);
}

/* Listens on those of the addresses that this host has and can use: a name may have one of IPv6
 * where the system has none, or one that counts only with the name of an interface. */
static int listen_on(struct mgmd *mgmd, const char *host, struct addresses *addresses)
{
    char text[INET6_ADDRSTRLEN];
    bool beside = false;
    bool listens = false;

    for (uint32_t i = 0; i < addresses->count; i++) {
        struct sockaddr_storage *address = &addresses->at[i];
        set_port(address, mgmd->port); /* The same at all, also where any would do. */
        int rc = listen_at(mgmd, address);
        if (rc == UV_EADDRNOTAVAIL || rc == UV_EAFNOSUPPORT || rc == UV_EINVAL) {
            cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                               "HostName %s: the server does not listen on %s: %s", host,
                               address_text(address, text), uv_strerror(rc));
            continue;
        }
        if (rc != 0) return rc;
        listens = true;
        beside |= !is_loopback(address) && !is_any(address);
    }
    if (!listens) return listen_warned(mgmd, host, "is no address of this host");
    if (beside) listen_beside(mgmd);
    return 0;
}

static int refuse_port(const struct mgmd *mgmd, int error, char *why, size_t size)
{
    (void)snprintf(why, size, "port %u cannot be used: %s", mgmd->port, uv_strerror(error));
    return -1;
}

int mgmd_take_port(struct mgmd *mgmd, const struct cluster_config *config, char *why, size_t size)
{
    const struct config_section *own = config_node(config, mgmd->own_node);
    const char *option = mgmd->options.bind_address;
    const char *host = config_get_text(own, CFG_MGMD_HostName);
    struct addresses addresses = {.count = 0};
    int rc;

    if (mgmd->listeners > 0) return 0;
    mgmd->port = (uint16_t)config_get_u64(own, CFG_MGMD_PortNumber);
    if (option != NULL) {
        rc = numeric(option, mgmd->port, &addresses.at[0]);
        if (rc == 0) rc = listen_at(mgmd, &addresses.at[0]);
    } else if (host[0] == '\0') {
        rc = listen_on_all(mgmd);
    } else if (look_up(host, &addresses, why, size) != 0) {
        return -1;
    } else if (addresses.count == 0) {
        rc = listen_warned(mgmd, host, "has no address that others could use");
    } else {
        rc = listen_on(mgmd, host, &addresses);
    }
    return rc == 0 ? 0 : refuse_port(mgmd, rc, why, size);
}

int mgmd_listen(struct mgmd *mgmd, char *why, size_t size)
{
    uint16_t port;

    for (uint32_t i = 0; i < mgmd->listeners; i++) {
        uv_tcp_t *listener = &mgmd->listener[i];
        if (port_of(listener, &port) != 0 || port != mgmd->port)
            continue; /* Its address cannot be used. */
        int rc = uv_listen((uv_stream_t *)listener, BACKLOG, mgmd_session_accept);
        if (rc == 0) continue;
        if (i == 0 || i != mgmd->listener_beside) return refuse_port(mgmd, rc, why, size);
        warn_of_loopback(mgmd, rc);
    }
    return 0;
}

void mgmd_listen_close(struct mgmd *mgmd)
{
    for (uint32_t i = 0; i < mgmd->listeners; i++) {
        if (!uv_is_closing((uv_handle_t *)&mgmd->listener[i]))
            uv_close((uv_handle_t *)&mgmd->listener[i], NULL);
        if (mgmd->listener_name[i] > 0) (void)close(mgmd->listener_name[i]);
        mgmd->listener_name[i] = 0;
    }
}
