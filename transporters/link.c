/* link.c -- the state machine of one link: handshake, then frames in and out. No I/O, no clock. */
/* SPDX-License-Identifier: MIT */
#include "transporters/link.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "transporters/frame.h"
#include "transporters/handshake.h"
#include "transporters/send_buffer.h"

#define RECEIVE_BYTES_MIN 4096u /* Before the handshake is done; holds 32 of its messages. */

struct link {
    struct link_options options;
    enum link_state state;
    enum link_refusal refusal;
    uint64_t foreign_cluster; /* The peer that refused this end for its cluster id has this one. */
    struct link_peer peer;
    uint64_t started_ms;
    char reason[LINK_REASON_SIZE];

    /* Bytes begin..end of the buffer are received and not yet handled; begin is a multiple of 4. */
    uint8_t *buffer;
    uint32_t capacity;
    uint32_t begin;
    uint32_t end;
    uint32_t frame_number; /* Number of the last frame received. */
    uint64_t receive_seed;

    struct send_buffer send;
    bool split;     /* The sending half that counts has another owner. */
    bool farewell;  /* The link is split, and the owner of its half has to say goodbye. */
    bool dismissed; /* The peer has said goodbye. */
    struct link_statistics counted;
};

static_assert(HANDSHAKE_BYTES == LINK_HELLO_BYTES, "a hello is a whole handshake message");

struct link *link_create(const struct link_options *options)
{
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL) return NULL;
    link->options = *options;
    if (link->options.receive_bytes == 0) link->options.receive_bytes = LINK_RECEIVE_BYTES;
    if (link->options.receive_bytes < RECEIVE_BYTES_MIN)
        link->options.receive_bytes = RECEIVE_BYTES_MIN;
    if (link->options.handshake_ms == 0) link->options.handshake_ms = LINK_HANDSHAKE_MS;
    link->capacity = RECEIVE_BYTES_MIN;
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

static void report_level(struct link *link)
{
    if (!send_buffer_level_changed(&link->send)) return;
    if (link->options.calls->level != NULL && link->state == LINK_OPEN) {
        link->options.calls->level(link->options.context, link, link->send.level);
    }
}

static void set_closing(struct link *link, const char *reason)
{
    if (link->state == LINK_CLOSING) return;
    link->state = LINK_CLOSING;
    snprintf(link->reason, sizeof link->reason, "%s", reason);
    link->begin = link->end = 0;
}

static void send_handshake(struct link *link, enum handshake_kind kind, enum link_refusal refusal,
                           const char *text)
{
    const struct link_options *own = &link->options;
    struct handshake message = {
        .magic = HANDSHAKE_MAGIC,
        .kind = kind,
        .version = link->peer.version != 0 ? link->peer.version : LINK_PROTOCOL_VERSION,
        .version_min = LINK_PROTOCOL_VERSION_MIN,
        .cluster_low = (uint32_t)own->cluster_id,
        .cluster_high = (uint32_t)(own->cluster_id >> 32),
        .incarnation_low = (uint32_t)own->incarnation,
        .incarnation_high = (uint32_t)(own->incarnation >> 32),
        .node = own->own_node,
        .role = own->own_role,
        .wanted = own->connect ? own->peer : link->peer.node,
        .epoch = kind == HANDSHAKE_HELLO ? own->epoch_last + 1 : link->peer.epoch,
        .refusal = refusal,
    };
    snprintf(message.text, sizeof message.text, "%s", text);
    handshake_seal(&message);
    if (!send_buffer_put_raw(&link->send, &message, sizeof message))
        set_closing(link, "out of memory");
}

static void refuse(struct link *link, enum link_refusal refusal, const char *text)
{
    if (link->state == LINK_CLOSING) return;
    link->refusal = refusal;
    send_handshake(link, HANDSHAKE_REFUSE, refusal, text);
    set_closing(link, text);
}

void link_close(struct link *link, const char *reason)
{
    if (link->state == LINK_CLOSING) return;
    if (link->state == LINK_HELLO_WAIT && link->peer.node != 0) {
        refuse(link, LINK_REFUSED_STOPPING, reason);
        return;
    }
    if (link->state == LINK_OPEN && link->split) {
        link->farewell = true;
    } else if (link->state == LINK_OPEN) {
        send_buffer_put_goodbye(&link->send, reason);
    }
    set_closing(link, reason);
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
    set_closing(link, text);
}

/* --- Handshake. --- */

void link_start(struct link *link, uint64_t now_ms)
{
    if (link->state != LINK_CLOSED) return;
    link->started_ms = now_ms;
    if (!link->options.connect) {
        link->state = LINK_HELLO_WAIT;
        return;
    }
    link->state = LINK_HELLO_SENT;
    if (link->options.epoch_last >= LINK_EPOCH_MAX) {
        set_closing(link, "no link epochs are left for this peer; restart the node");
        return;
    }
    send_handshake(link, HANDSHAKE_HELLO, LINK_ACCEPTED, "");
}

void link_tick(struct link *link, uint64_t now_ms)
{
    if (link->state != LINK_HELLO_SENT && link->state != LINK_HELLO_WAIT) return;
    if (now_ms - link->started_ms < link->options.handshake_ms) return;
    char text[LINK_REASON_SIZE];
    snprintf(text, sizeof text, "handshake not done within %u ms", link->options.handshake_ms);
    set_closing(link, text);
}

/* Makes room for `capacity` bytes and keeps what is there. */
static bool grow(struct link *link, uint32_t capacity)
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

static void open_link(struct link *link)
{
    const struct link_options *own = &link->options;
    const struct link_peer *peer = &link->peer;
    if (!grow(link, own->receive_bytes)) return;
    struct frame_session out = {peer->epoch, own->own_node, peer->node, own->incarnation,
                                peer->incarnation};
    struct frame_session in = {peer->epoch, peer->node, own->own_node, peer->incarnation,
                               own->incarnation};
    link->send.seed = frame_seed(&out);
    link->receive_seed = frame_seed(&in);
    link->state = LINK_OPEN;
    own->calls->up(own->context, link, peer);
}

/* What both ends check of each other. */
static enum link_refusal check_common(const struct link *link, const struct handshake *message)
{
    const struct link_options *own = &link->options;
    if (message->version < LINK_PROTOCOL_VERSION_MIN ||
        message->version_min > LINK_PROTOCOL_VERSION || message->version_min > message->version) {
        return LINK_REFUSED_VERSION;
    }
    if (handshake_cluster(message) != own->cluster_id) return LINK_REFUSED_CLUSTER;
    if (message->wanted != 0 && message->wanted != own->own_node) return LINK_REFUSED_NOT_ME;
    if (message->node == own->own_node) return LINK_REFUSED_UNKNOWN;
    if (message->epoch == 0 || message->epoch > LINK_EPOCH_MAX) return LINK_REFUSED_EPOCH;
    return LINK_ACCEPTED;
}

static void set_peer(struct link *link, const struct handshake *message)
{
    link->peer.node = message->node;
    link->peer.role = message->role;
    link->peer.version =
        message->version < LINK_PROTOCOL_VERSION ? message->version : LINK_PROTOCOL_VERSION;
    link->peer.epoch = message->epoch;
    link->peer.incarnation = handshake_incarnation(message);
}

static void got_hello(struct link *link, const struct handshake *message)
{
    uint32_t epoch_last = 0;
    enum link_refusal refusal = check_common(link, message);
    if (refusal == LINK_REFUSED_VERSION) {
        refuse(link, refusal,
               link_refusal_text(refusal)); /* peer.version stays 0: the answer tells ours. */
        return;
    }
    set_peer(link, message);
    if (refusal == LINK_ACCEPTED) {
        refusal = link->options.calls->check(link->options.context, link, &link->peer, &epoch_last);
    }
    if (refusal == LINK_ACCEPTED && epoch_last >= LINK_EPOCH_MAX) refusal = LINK_REFUSED_EPOCH;
    if (refusal != LINK_ACCEPTED) {
        refuse(link, refusal, link_refusal_text(refusal));
        return;
    }
    if (link->peer.epoch <= epoch_last) link->peer.epoch = epoch_last + 1; /* I-LINK-3 */
    send_handshake(link, HANDSHAKE_ACCEPT, LINK_ACCEPTED, "");
}

static void got_accept(struct link *link, const struct handshake *message)
{
    const struct link_options *own = &link->options;
    enum link_refusal refusal = check_common(link, message);
    if (refusal == LINK_ACCEPTED && message->version > LINK_PROTOCOL_VERSION)
        refusal = LINK_REFUSED_VERSION;
    if (refusal == LINK_ACCEPTED && own->peer != 0 && message->node != own->peer)
        refusal = LINK_REFUSED_UNKNOWN;
    if (refusal == LINK_ACCEPTED && own->peer_role != LINK_ROLE_ANY &&
        message->role != own->peer_role) {
        refusal = LINK_REFUSED_ROLE;
    }
    if (refusal == LINK_ACCEPTED && message->epoch <= own->epoch_last)
        refusal = LINK_REFUSED_EPOCH; /* I-LINK-3 */
    if (refusal != LINK_ACCEPTED) {
        refuse(link, refusal, link_refusal_text(refusal));
        return;
    }
    set_peer(link, message);
    send_handshake(link, HANDSHAKE_CONFIRM, LINK_ACCEPTED, "");
    if (link->state == LINK_HELLO_SENT) open_link(link);
}

static void got_confirm(struct link *link, const struct handshake *message)
{
    const struct link_peer *peer = &link->peer;
    enum link_refusal refusal = check_common(link, message);
    if (refusal == LINK_ACCEPTED && (message->node != peer->node || message->role != peer->role ||
                                     handshake_incarnation(message) != peer->incarnation)) {
        refusal = LINK_REFUSED_UNKNOWN;
    }
    if (refusal == LINK_ACCEPTED && message->version != peer->version)
        refusal = LINK_REFUSED_VERSION;
    if (refusal == LINK_ACCEPTED && message->epoch != peer->epoch) refusal = LINK_REFUSED_EPOCH;
    if (refusal != LINK_ACCEPTED) {
        refuse(link, refusal, link_refusal_text(refusal));
        return;
    }
    open_link(link);
}

static void got_refuse(struct link *link, const struct handshake *message)
{
    char text[LINK_REASON_SIZE];
    bool known = message->refusal > LINK_ACCEPTED && message->refusal < LINK_REFUSAL_COUNT;
    link->refusal = known ? (enum link_refusal)message->refusal : LINK_REFUSED_NOT_ALLOWED;
    if (link->refusal == LINK_REFUSED_CLUSTER && message->node == link->options.peer)
        link->foreign_cluster = handshake_cluster(message);
    snprintf(text, sizeof text, "refused by node %u: %s", message->node, message->text);
    set_closing(link, text);
}

/* Takes one message of the handshake off the buffer. False: more bytes are needed, or the link is
 * CLOSING. */
static bool handle_handshake(struct link *link)
{
    uint32_t available = link->end - link->begin;
    if (available > 0 && !link_is_hello(link->buffer + link->begin, available)) {
        set_closing(link, "the other end does not speak this protocol");
        return false;
    }
    if (available < HANDSHAKE_BYTES) return false;
    struct handshake message;
    memcpy(&message, link->buffer + link->begin, sizeof message);
    link->begin += HANDSHAKE_BYTES;
    const char *wrong = handshake_check(&message);
    bool connector = link->state == LINK_HELLO_SENT;
    if (wrong != NULL) {
        set_closing(link, wrong);
    } else if (message.kind == HANDSHAKE_REFUSE) {
        got_refuse(link, &message);
    } else if (connector && message.kind == HANDSHAKE_ACCEPT) {
        got_accept(link, &message);
    } else if (!connector && message.kind == HANDSHAKE_HELLO && link->peer.node == 0) {
        got_hello(link, &message);
    } else if (!connector && message.kind == HANDSHAKE_CONFIRM && link->peer.node != 0) {
        got_confirm(link, &message);
    } else {
        set_closing(link, "a hello out of turn");
    }
    return link->state != LINK_CLOSING;
}

/* --- Receiving. --- */

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
    set_closing(link, text);
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
        (void)grow(link, need);
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
            more = handle_handshake(link);
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

/* --- Sending. --- */

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

const char *link_refusal_text(enum link_refusal refusal)
{
    /* Each fits into the text of a handshake message. */
    switch (refusal) {
    case LINK_ACCEPTED:
        return "accepted";
    case LINK_REFUSED_VERSION:
        return "no common protocol version";
    case LINK_REFUSED_CLUSTER:
        return "belongs to another cluster";
    case LINK_REFUSED_NOT_ME:
        return "another node id was wanted here";
    case LINK_REFUSED_UNKNOWN:
        return "this node id is not expected here";
    case LINK_REFUSED_ROLE:
        return "this node id is configured as another kind of node";
    case LINK_REFUSED_CONNECTED:
        return "this node id is connected already";
    case LINK_REFUSED_NOT_ALLOWED:
        return "this node may not connect now";
    case LINK_REFUSED_STOPPING:
        return "the link or its node is stopping";
    case LINK_REFUSED_EPOCH:
        return "the link epoch is not newer";
    case LINK_REFUSAL_COUNT:
        break;
    }
    return "unknown reason";
}

void link_statistics(const struct link *link, struct link_statistics *statistics)
{
    *statistics = link->counted;
    statistics->frames_sent = link->send.frames;
    statistics->overload_count = link->send.overload_count;
    statistics->send_bytes = link->send.bytes;
    statistics->send_bytes_max = link->send.bytes_max;
}

bool link_is_hello(const void *bytes, size_t size)
{
    const uint32_t magic = HANDSHAKE_MAGIC;
    return size > 0 && memcmp(bytes, &magic, size < 4 ? size : 4) == 0;
}

uint32_t link_hello_node(const void *hello)
{
    struct handshake message;
    memcpy(&message, hello, sizeof message);
    return message.node;
}
