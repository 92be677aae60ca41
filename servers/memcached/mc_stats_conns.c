/* mc_stats_conns.c -- "stats conns": who is connected, and where the server listens. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections are in a list of the server, under its lock, as long as their descriptors are theirs.
 * What else is known of one belongs to its worker's thread.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "servers/memcached/mc_server.h"

#define ADDRESS_MAX (MC_PATH_MAX + 32u)

void mc_client_enter(struct mc_server *server, struct mc_client *client)
{
    pthread_mutex_lock(&server->lock);
    client->prev = NULL;
    client->next = server->clients;
    if (client->next != NULL) client->next->prev = client;
    server->clients = client;
    pthread_mutex_unlock(&server->lock);
}

void mc_client_leave(struct mc_server *server, struct mc_client *client)
{
    pthread_mutex_lock(&server->lock);
    if (client->prev != NULL)
        client->prev->next = client->next;
    else
        server->clients = client->next;
    if (client->next != NULL) client->next->prev = client->prev;
    pthread_mutex_unlock(&server->lock);
}

/* As memcached writes them: tcp:1.2.3.4:5, tcp6:[::1]:5, unix:/path. */
static void print_address(const struct sockaddr_storage *address, const char *kind,
                          const struct mc_server *server, char text[ADDRESS_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    switch (address->ss_family) {
    case AF_INET:
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        snprintf(text, ADDRESS_MAX, "%s:%s:%u", kind, host, ntohs(four->sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        snprintf(text, ADDRESS_MAX, "%s6:[%s]:%u", kind, host, ntohs(six->sin6_port));
        break;
    default: /* A client's own end has no name. */
        snprintf(text, ADDRESS_MAX, "unix:%.*s", (int)MC_PATH_MAX, server->options.unix_path);
    }
}

static void tell(const struct mc_request *request, int fd, const char *what, const char *text,
                 struct mc_output *output)
{
    char name[48];
    snprintf(name, sizeof name, "%d:%s", fd, what);
    mc_reply_stat(request, name, text, output);
}

static void tell_listener(const struct mc_server *server, const struct mc_listener *listener,
                          const struct mc_request *request, struct mc_output *output)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char text[ADDRESS_MAX];
    if (getsockname(listener->fd, (struct sockaddr *)&address, &size) != 0) return;
    print_address(&address, listener->udp ? "udp" : "tcp", server, text);
    tell(request, listener->fd, "addr", text, output);
    tell(request, listener->fd, "state", listener->udp ? "conn_read" : "conn_listening", output);
}

static void tell_client(const struct mc_server *server, struct mc_client *client,
                        const struct mc_request *request, struct mc_output *output)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char text[ADDRESS_MAX];
    if (getpeername(client->fd, (struct sockaddr *)&address, &size) != 0) return; /* It goes. */
    print_address(&address, "tcp", server, text);
    tell(request, client->fd, "addr", text, output);
    size = sizeof address;
    if (getsockname(client->fd, (struct sockaddr *)&address, &size) == 0) {
        print_address(&address, "tcp", server, text);
        tell(request, client->fd, "listen_addr", text, output);
    }
    uint32_t last = atomic_load_explicit(&client->last_request, memory_order_relaxed);
    uint32_t now = atomic_load(&server->now);
    snprintf(text, sizeof text, "%u", now > last ? now - last : 0);
    tell(request, client->fd, "state", "conn_read", output);
    tell(request, client->fd, "secs_since_last_cmd", text, output);
}

void mc_stats_conns(struct mc_server *server, const struct mc_request *request,
                    struct mc_output *output)
{
    for (uint32_t i = 0; i < server->listener_count; i++)
        tell_listener(server, &server->listeners[i], request, output);
    pthread_mutex_lock(&server->lock);
    for (struct mc_client *client = server->clients; client != NULL; client = client->next)
        tell_client(server, client, request, output);
    pthread_mutex_unlock(&server->lock);
}
