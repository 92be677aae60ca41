/* mc_udp.c -- datagrams: each has a whole request, and its reply goes back in one or several. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each datagram begins with four numbers of two bytes: the client's request number, the datagram's
 * place among those of the request, how many these are, 0. Requests of several datagrams are
 * refused, as memcached does. One worker serves the socket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "servers/memcached/mc_worker.h"

#define HEAD_BYTES    8u
#define PAYLOAD_BYTES 1392u /* One Ethernet frame with the head. */
#define READ_BYTES    65536u
#define READS_MAX     64u /* Reads after which the others have their turn. */

struct mc_datagram {
    int fd;
    uint16_t request; /* The request's number in network order, as it came. */
    socklen_t address_size;
    struct sockaddr_storage address;
};

static const char several[] = "SERVER_ERROR multi-packet request not supported\r\n";

void mc_udp_send(struct mc_datagram *datagram, const char *bytes, uint32_t size)
{
    uint32_t count = (size + PAYLOAD_BYTES - 1) / PAYLOAD_BYTES;
    for (uint32_t i = 0; i < count && count <= UINT16_MAX; i++) {
        char out[HEAD_BYTES + PAYLOAD_BYTES];
        uint32_t part = size - i * PAYLOAD_BYTES;
        uint16_t head[4] = {datagram->request, htons((uint16_t)i), htons((uint16_t)count), 0};
        if (part > PAYLOAD_BYTES) part = PAYLOAD_BYTES;
        memcpy(out, head, HEAD_BYTES);
        memcpy(out + HEAD_BYTES, bytes + (size_t)i * PAYLOAD_BYTES, part);
        /* What does not go now is lost, as datagrams are. */
        if (sendto(datagram->fd, out, HEAD_BYTES + part, MSG_DONTWAIT,
                   (const struct sockaddr *)&datagram->address, datagram->address_size) < 0)
            break;
    }
    free(datagram);
}

void mc_udp_read(struct mc_worker *worker, int fd)
{
    static _Thread_local char bytes[READ_BYTES];
    for (uint32_t i = 0; i < READS_MAX; i++) {
        struct mc_datagram *datagram = calloc(1, sizeof *datagram);
        uint16_t head[4];
        if (datagram == NULL) return;
        datagram->fd = fd;
        datagram->address_size = sizeof datagram->address;
        ssize_t got = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT,
                               (struct sockaddr *)&datagram->address, &datagram->address_size);
        if (got < (ssize_t)HEAD_BYTES) {
            bool more = got >= 0 || errno == EINTR;
            free(datagram);
            if (!more) return;
            continue; /* Too short to be answered. */
        }
        memcpy(head, bytes, HEAD_BYTES);
        datagram->request = head[0];
        if (ntohs(head[2]) != 1) {
            mc_udp_send(datagram, several, sizeof several - 1);
            continue;
        }
        mc_connection_datagram(worker, datagram, bytes + HEAD_BYTES, (uint32_t)got - HEAD_BYTES);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    int fd;
    (void)events;
    if (status < 0 || uv_fileno((const uv_handle_t *)poll, &fd) != 0) return;
    mc_udp_read(poll->data, fd);
}

int mc_udp_open(struct mc_worker *worker, int fd)
{
    uv_poll_t *poll = calloc(1, sizeof *poll); /* It lives as long as the process. */
    if (poll == NULL) return UV_ENOMEM;
    int error = uv_poll_init(&worker->loop, poll, fd);
    if (error != 0) {
        free(poll);
        return error;
    }
    poll->data = worker;
    return uv_poll_start(poll, UV_READABLE, on_readable);
}
