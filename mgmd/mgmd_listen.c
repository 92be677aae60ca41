/* mgmd_listen.c -- the addresses that the management server listens on. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * It listens where its own section says that it is: on the address of its HostName, and on the
 * loopback address for who is on its host. So a server of a test is not reached from elsewhere, and
 * one with several networks only from the one it is meant for. A name that is no address of another
 * host's view (a host's own name is 127.0.1.1 on some systems), or whose address this host does not
 * have (a container's outer one), says nothing: then it listens on all. --bind-address says exactly
 * one.
 */
#include <netdb.h>
#include <string.h>
#include <strings.h>

#include "mgmd/mgmd.h"

#define BACKLOG 128 /* Less than there are sessions: a burst does not push out its own. */

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

/* The first address of the name that others may reach it by. 0, or -1: it has none. */
static int look_up(const char *name, uint32_t port, struct sockaddr_storage *address)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int rc = -1;

    if (strcasecmp(name, "localhost") == 0) return numeric("127.0.0.1", port, address);
    if (getaddrinfo(name, NULL, &hints, &list) != 0) return -1;
    for (const struct addrinfo *at = list; at != NULL && rc != 0; at = at->ai_next) {
        if (at->ai_addrlen > sizeof(*address)) continue;
        memcpy(address, at->ai_addr, at->ai_addrlen);
        if (is_loopback(address)) continue;
        if (at->ai_family == AF_INET)
            ((struct sockaddr_in *)(void *)address)->sin_port = htons((uint16_t)port);
        else
            ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons((uint16_t)port);
        rc = 0;
    }
    freeaddrinfo(list);
    return rc;
}

static uint32_t port_of(const uv_tcp_t *listener)
{
    struct sockaddr_storage address;
    int size = sizeof(address);

    if (uv_tcp_getsockname(listener, (struct sockaddr *)&address, &size) != 0) return 0;
    return ntohs(address.ss_family == AF_INET
                     ? ((const struct sockaddr_in *)(const void *)&address)->sin_port
                     : ((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
}

/* One more listener. 0, or libuv's error with nothing left of it. */
static int listen_at(struct mgmd *mgmd, const struct sockaddr_storage *address)
{
    uv_tcp_t *listener = &mgmd->listener[mgmd->listeners];

    (void)uv_tcp_init(mgmd->loop, listener);
    listener->data = mgmd;
    mgmd->listeners++; /* It is closed with the others in any case. */
    int rc = uv_tcp_bind(listener, (const struct sockaddr *)address, 0);
    if (rc == 0) rc = uv_listen((uv_stream_t *)listener, BACKLOG, mgmd_session_accept);
    if (rc != 0) return rc;
    mgmd->port = (uint16_t)port_of(listener);
    return 0;
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

static int listen_on_host(struct mgmd *mgmd, const char *host)
{
    struct sockaddr_storage address;

    if (host[0] == '\0') return listen_on_all(mgmd);
    if (numeric(host, mgmd->port, &address) != 0 && look_up(host, mgmd->port, &address) != 0) {
        cluster_log_printf(
            mgmd->log, NDB_MGM_SEVERITY_INFO,
            "HostName %s has no address that others could use: the server listens on "
            "all addresses (--bind-address says one)",
            host);
        return listen_on_all(mgmd);
    }
    int rc = listen_at(mgmd, &address);
    if (rc == UV_EADDRNOTAVAIL) {
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "HostName %s is no address of this host: the server listens on all "
                           "addresses (--bind-address says one)",
                           host);
        return listen_on_all(mgmd);
    }
    if (rc != 0 || is_loopback(&address)) return rc;
    /* For tools on this host; somebody else may have the port there. */
    if (numeric("127.0.0.1", mgmd->port, &address) == 0 && listen_at(mgmd, &address) != 0)
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "Port %u of 127.0.0.1 is taken: tools on this host use HostName",
                           mgmd->port);
    return 0;
}

int mgmd_listen(struct mgmd *mgmd)
{
    const char *option = mgmd->options.bind_address;
    const struct config_section *own = config_node(mgmd->config, mgmd->own_node);
    struct sockaddr_storage address;

    if (option == NULL) return listen_on_host(mgmd, config_get_text(own, CFG_MGMD_HostName));
    int rc = numeric(option, mgmd->port, &address);
    return rc == 0 ? listen_at(mgmd, &address) : rc;
}

void mgmd_listen_close(struct mgmd *mgmd)
{
    for (uint32_t i = 0; i < mgmd->listeners; i++) {
        if (!uv_is_closing((uv_handle_t *)&mgmd->listener[i]))
            uv_close((uv_handle_t *)&mgmd->listener[i], NULL);
    }
}
