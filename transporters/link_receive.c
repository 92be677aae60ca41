/* link_receive.c -- what comes over a link: bytes into its buffer, out of it frames, checked, and
 * their signals. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "transporters/frame.h"
#include "transporters/handshake.h"
#include "transporters/link_state.h"

/* Makes room for `capacity` bytes and keeps what is there. */
bool link_grow(struct link *link, uint32_t capacity)
{
    if (capacity <= link->capacity) return true;
    uint8_t *buffer = malloc(capacity);
    if (buffer == NULL) {
        link_close(link, "out of memory for the receive buffer");
        return false;
    }
    memcpy(buffer, link->buffer + link->begin, link->end - link->begin);
    free(link->buffer);
    link->buffer = buffer;
    link->capacity = capacity;
    link->end -= link->begin;
    link->begin = 0;
    return true;
}

static void fail_frame(struct link *link, const char *what, uint32_t word)
{
    char text[LINK_REASON_SIZE];
    snprintf(text, sizeof text, "bad data from node %u: %s (frame %u, word %u)", link->peer.node,
             what, link->frame_number + 1, word);
    link_close(link, text);
}

static void got_goodbye(struct link *link, const uint32_t *body, uint32_t words)
{
    char told[LINK_REASON_SIZE - 32];
    char text[LINK_REASON_SIZE];
    printable_copy(told, sizeof told, (const char *)body, 4 * words);
    snprintf(text, sizeof text, "closed by node %u: %s", link->peer.node, told);
    link->dismissed = true;
    link_set_closing(link, text);
}

static void handle_body(struct link *link, const uint32_t *frame, uint32_t words)
{
    const uint32_t *body = frame + FRAME_HEAD_WORDS;
    uint32_t bad_at;
    if (!frame_check_body(frame, link->receive_seed)) {
        fail_frame(link, "wrong checksum of a frame", 0);
        return;
    }
    if ((frame[0] & 0xFFu) == FRAME_GOODBYE) {
        got_goodbye(link, body, words);
        return;
    }
    if (!frame_check_signals(body, words, &bad_at)) {
        fail_frame(link, "malformed signal", bad_at);
        return;
    }
    link->frame_number++;
    link->counted.frames_received++;
    link->counted.words_received += words;
    link->begin += FRAME_HEAD_BYTES + 4 * words;
    if (!link->options.calls->signals(link->options.context, link, body, words)) {
        link_close(link, "a signal was refused");
    }
}

/* Takes one frame off the buffer. False: more bytes are needed, or the link is CLOSING. */
static bool handle_frame(struct link *link)
{
    uint32_t available = link->end - link->begin;
    if (available < FRAME_HEAD_BYTES) return false;
    const uint32_t *frame = (const uint32_t *)(const void *)(link->buffer + link->begin);
    uint32_t words;
    const char *wrong = frame_check_head(frame, link->frame_number + 1, link->receive_seed, &words);
    if (wrong != NULL) {
        fail_frame(link, wrong, 0);
        return false;
    }
    uint32_t need = FRAME_HEAD_BYTES + 4 * words;
    if (available < need) {
        (void)link_grow(link, need);
        return false;
    }
    handle_body(link, frame, words);
    return link->state == LINK_OPEN;
}

void *link_receive_space(struct link *link, uint32_t *size)
{
    if (link->state == LINK_CLOSED || link->state == LINK_CLOSING) link->begin = link->end = 0;
    *size = link->capacity - link->end;
    return link->buffer + link->end;
}

bool link_received(struct link *link, uint32_t size)
{
    link->counted.bytes_received += size;
    link->end += size;
    bool more = true;
    while (more) {
        switch (link->state) {
        case LINK_HELLO_SENT:
        case LINK_HELLO_WAIT:
            more = link_handle_handshake(link);
            break;
        case LINK_OPEN:
            more = handle_frame(link);
            break;
        case LINK_CLOSED:
        case LINK_CLOSING:
            more = false;
            break;
        }
    }
    if (link->state == LINK_CLOSED || link->state == LINK_CLOSING) {
        link->begin = link->end = 0;
        return link->state == LINK_CLOSED;
    }
    /* What is left is a part of one frame: to the front, so that the frame has room and is aligned.
     */
    if (link->begin > 0) {
        memmove(link->buffer, link->buffer + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
    return true;
}

bool link_receive(struct link *link, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        uint32_t space;
        void *to = link_receive_space(link, &space);
        uint32_t part = size < space ? (uint32_t)size : space;
        memcpy(to, at, part);
        at += part;
        size -= part;
        if (!link_received(link, part)) return false;
    }
    return link->state != LINK_CLOSING;
}
