/* tcp_connect.c -- outgoing connections: when, where to, and when again. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include "transporters/tcp/tcp_state.h"

void connect_now(struct peer *peer)
{
    peer->pause_ms = peer->t->options.reconnect_ms;
    peer->attempts = 0;
    peer->next_attempt_ms = 0;
    transporter_arm(peer->t);
}

void connect_again_later(struct peer *peer, bool lived)
{
    const struct transporter_options *options = &peer->t->options;
    if (lived) peer->pause_ms = options->reconnect_ms;
    uint32_t jitter = (uint32_t)rng_below(&peer->t->rng, peer->pause_ms / 4 + 1);
    peer->next_attempt_ms = uv_now(options->loop) + peer->pause_ms - peer->pause_ms / 8 + jitter;
    peer->pause_ms *= 2;
    if (peer->pause_ms > options->reconnect_max_ms) peer->pause_ms = options->reconnect_max_ms;
}

static void on_connected(uv_connect_t *request, int status)
{
    struct connection *connection = request->data;
    if (connection->ended) return;
    if (status == 0) {
        connection_start(connection, NULL, 0);
        return;
    }
    link_broken(connection->link, uv_strerror(status));
    connection_end(connection);
}

static int bind_to(struct connection *connection, const char *address)
{
    struct sockaddr_storage local;
    if (address[0] == '\0') return 0;
    if (uv_ip4_addr(address, 0, (struct sockaddr_in *)&local) != 0) {
        int error = uv_ip6_addr(address, 0, (struct sockaddr_in6 *)&local);
        if (error != 0) return error;
    }
    return uv_tcp_bind(&connection->tcp, (const struct sockaddr *)&local, 0);
}

static void connect_to(struct peer *peer, const struct sockaddr *address)
{
    struct connection *connection = connection_create(peer->t, peer->config.node, true);
    if (connection == NULL) {
        connect_again_later(peer, false);
        return;
    }
    peer->attempt = connection;
    connection->connect.data = connection;
    int error = bind_to(connection, peer->bind_address);
    if (error == 0)
        error = uv_tcp_connect(&connection->connect, &connection->tcp, address, on_connected);
    if (error != 0) {
        link_broken(connection->link, uv_strerror(error));
        connection_end(connection);
    }
}

bool connect_wanted(const struct peer *peer)
{
    return peer->known && peer->allowed && peer->config.connect && peer->config.port != 0 &&
           peer->live == NULL && peer->attempt == NULL && !peer->resolving && !peer->t->stopping;
}

/* A name may have several addresses: each attempt takes the next one. */
static const struct addrinfo *choose_address(const struct addrinfo *list, uint32_t attempts)
{
    uint32_t count = 0;
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next)
        count++;
    uint32_t skip = attempts % count;
    while (skip-- > 0)
        list = list->ai_next;
    return list;
}

static void tell_unresolved(struct peer *peer, int status)
{
    const struct transporter_options *options = &peer->t->options;
    char text[LINK_REASON_SIZE];

    snprintf(text, sizeof text, "the host name of node %u cannot be resolved: %s",
             peer->config.node, uv_strerror(status));
    transporter_log(peer->t, 3, &peer->fold, text);
    if (options->calls->refused != NULL)
        options->calls->refused(options->context, peer->config.node, LINK_ACCEPTED, 0, text);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct peer *peer = request->data;
    peer->resolving = false;
    peer->t->resolving--;
    if (connect_wanted(peer)) {
        if (status == 0 && list != NULL) {
            const struct addrinfo *chosen = choose_address(list, peer->attempts++);
            struct sockaddr_storage address = {0};
            memcpy(&address, chosen->ai_addr, chosen->ai_addrlen);
            if (address.ss_family == AF_INET6) {
                ((struct sockaddr_in6 *)&address)->sin6_port = htons(peer->config.port);
            } else {
                ((struct sockaddr_in *)&address)->sin_port = htons(peer->config.port);
            }
            connect_to(peer, (const struct sockaddr *)&address);
        } else {
            tell_unresolved(peer, status);
            connect_again_later(peer, false);
        }
    }
    uv_freeaddrinfo(list);
    transporter_arm(peer->t);
}

static void start_attempt(struct peer *peer)
{
    struct sockaddr_storage address;
    if (uv_ip4_addr(peer->host, peer->config.port, (struct sockaddr_in *)&address) == 0 ||
        uv_ip6_addr(peer->host, peer->config.port, (struct sockaddr_in6 *)&address) == 0) {
        connect_to(peer, (const struct sockaddr *)&address);
        return;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    peer->resolve.data = peer;
    if (uv_getaddrinfo(peer->t->options.loop, &peer->resolve, on_resolved, peer->host, NULL,
                       &hints) == 0) {
        peer->resolving = true;
        peer->t->resolving++;
    } else {
        connect_again_later(peer, false);
    }
}

void connect_due_peers(struct transporter *t)
{
    uint64_t now = uv_now(t->options.loop);
    for (uint32_t id = 1; id <= NODE_ID_MAX; id++) {
        struct peer *peer = &t->peer[id];
        if (connect_wanted(peer) && peer->next_attempt_ms <= now) start_attempt(peer);
    }
}
