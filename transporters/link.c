/* link.c -- one link from its creation to its end: its state, what it sends, what can be asked of
 * it. No I/O, no clock. */
/* SPDX-License-Identifier: MIT */
#include "transporters/link.h"
#include <stdio.h>
#include <stdlib.h>
#include "transporters/link_state.h"

struct link *link_create(const struct link_options *options)
{
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL) return NULL;
    link->options = *options;
    if (link->options.receive_bytes == 0) link->options.receive_bytes = LINK_RECEIVE_BYTES;
    if (link->options.receive_bytes < LINK_RECEIVE_BYTES_MIN)
        link->options.receive_bytes = LINK_RECEIVE_BYTES_MIN;
    if (link->options.handshake_ms == 0) link->options.handshake_ms = LINK_HANDSHAKE_MS;
    link->capacity = LINK_RECEIVE_BYTES_MIN;
    link->buffer = malloc(link->capacity);
    send_buffer_init(&link->send, options);
    if (link->buffer == NULL) {
        link_destroy(link);
        return NULL;
    }
    return link;
}

void link_destroy(struct link *link)
{
    if (link == NULL) return;
    send_buffer_free(&link->send);
    free(link->buffer);
    free(link);
}

void link_limit_send(struct link *link, uint32_t send_buffer_bytes, uint32_t overload_bytes,
                     uint32_t reserve_bytes)
{
    send_buffer_limit(&link->send, send_buffer_bytes, overload_bytes, reserve_bytes);
}

/* --- Ending. --- */

void link_set_closing(struct link *link, const char *reason)
{
    if (link->state == LINK_CLOSING) return;
    link->state = LINK_CLOSING;
    snprintf(link->reason, sizeof link->reason, "%s", reason);
    link->begin = link->end = 0;
}

void link_close(struct link *link, const char *reason)
{
    if (link->state == LINK_CLOSING) return;
    if (link->state == LINK_HELLO_WAIT && link->peer.node != 0) {
        link_refuse(link, LINK_REFUSED_STOPPING, reason);
        return;
    }
    if (link->state == LINK_OPEN && link->split) {
        link->farewell = true;
    } else if (link->state == LINK_OPEN) {
        send_buffer_put_goodbye(&link->send, reason);
    }
    link_set_closing(link, reason);
}

bool link_dismissed(const struct link *link)
{
    return link->dismissed;
}

const char *link_farewell(const struct link *link)
{
    return link->farewell ? link->reason : NULL;
}

void link_broken(struct link *link, const char *error)
{
    char text[LINK_REASON_SIZE];
    bool middle = link->end > link->begin;
    snprintf(text, sizeof text, "%s%s", error != NULL ? error : "closed by the peer",
             middle ? " in the middle of a frame" : "");
    link_set_closing(link, text);
}

/* --- Sending. --- */

static void report_level(struct link *link)
{
    if (!send_buffer_level_changed(&link->send)) return;
    if (link->options.calls->level != NULL && link->state == LINK_OPEN) {
        link->options.calls->level(link->options.context, link, link->send.level);
    }
}

enum link_send_result link_send(struct link *link, const uint32_t *words, uint32_t count)
{
    if (link->state != LINK_OPEN || link->split) return LINK_SEND_NOT_OPEN;
    switch (send_buffer_put(&link->send, words, count)) {
    case SEND_BUFFER_TAKEN:
        break;
    case SEND_BUFFER_FULL:
        return LINK_SEND_NO_ROOM;
    case SEND_BUFFER_NO_MEMORY:
        link_close(link, "out of memory for the send buffer");
        return LINK_SEND_NOT_OPEN;
    case SEND_BUFFER_MALFORMED:
        link_close(link, "own signals are malformed");
        return LINK_SEND_NOT_OPEN;
    }
    link->counted.words_sent += count;
    report_level(link);
    return LINK_SENT;
}

void link_split(struct link *link, struct send_buffer *to)
{
    *to = link->send;
    send_buffer_init(&link->send, &link->options);
    link->split = true;
}

uint32_t link_output(struct link *link, struct link_bytes *pieces, uint32_t max)
{
    return send_buffer_output(&link->send, pieces, max);
}

void link_sent(struct link *link, size_t size)
{
    link->counted.bytes_sent += size;
    send_buffer_sent(&link->send, size);
    report_level(link);
}

/* --- Asking. --- */

enum link_state link_state(const struct link *link)
{
    return link->state;
}

const struct link_peer *link_peer_of(const struct link *link)
{
    return &link->peer;
}

const char *link_reason(const struct link *link)
{
    return link->reason;
}

enum link_refusal link_refused(const struct link *link)
{
    return link->refusal;
}

uint64_t link_foreign_cluster(const struct link *link)
{
    return link->foreign_cluster;
}

enum link_level link_send_level(const struct link *link)
{
    return link->send.level;
}

bool link_has_output(const struct link *link)
{
    return link->send.head != NULL;
}

const char *link_state_name(enum link_state state)
{
    switch (state) {
    case LINK_CLOSED:
        return "CLOSED";
    case LINK_HELLO_SENT:
        return "HELLO_SENT";
    case LINK_HELLO_WAIT:
        return "HELLO_WAIT";
    case LINK_OPEN:
        return "OPEN";
    case LINK_CLOSING:
        return "CLOSING";
    }
    return "?";
}

void link_statistics(const struct link *link, struct link_statistics *statistics)
{
    *statistics = link->counted;
    statistics->frames_sent = link->send.frames;
    statistics->overload_count = link->send.overload_count;
    statistics->send_bytes = link->send.bytes;
    statistics->send_bytes_max = link->send.bytes_max;
}
