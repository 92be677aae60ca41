/* link_handshake.c -- the first words of a link: two ends tell each other who they are, accept or
 * refuse. */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "transporters/frame.h"
#include "transporters/handshake.h"
#include "transporters/link_state.h"

static_assert(HANDSHAKE_BYTES == LINK_HELLO_BYTES, "a hello is a whole handshake message");

/* --- What is said. --- */

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
        link_set_closing(link, "out of memory");
}

void link_refuse(struct link *link, enum link_refusal refusal, const char *text)
{
    if (link->state == LINK_CLOSING) return;
    link->refusal = refusal;
    send_handshake(link, HANDSHAKE_REFUSE, refusal, text);
    link_set_closing(link, text);
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

/* --- Its beginning, and the time that it has. --- */

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
        link_set_closing(link, "no link epochs are left for this peer; restart the node");
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
    link_set_closing(link, text);
}

/* --- What is heard. --- */

static void open_link(struct link *link)
{
    const struct link_options *own = &link->options;
    const struct link_peer *peer = &link->peer;
    if (!link_grow(link, own->receive_bytes)) return;
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
        link_refuse(link, refusal,
                    link_refusal_text(refusal)); /* peer.version stays 0: the answer tells ours. */
        return;
    }
    set_peer(link, message);
    if (refusal == LINK_ACCEPTED) {
        refusal = link->options.calls->check(link->options.context, link, &link->peer, &epoch_last);
    }
    if (refusal == LINK_ACCEPTED && epoch_last >= LINK_EPOCH_MAX) refusal = LINK_REFUSED_EPOCH;
    if (refusal != LINK_ACCEPTED) {
        link_refuse(link, refusal, link_refusal_text(refusal));
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
        link_refuse(link, refusal, link_refusal_text(refusal));
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
        link_refuse(link, refusal, link_refusal_text(refusal));
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
    link_set_closing(link, text);
}

/* Takes one message of the handshake off the buffer. False: more bytes are needed, or the link is
 * CLOSING. */
bool link_handle_handshake(struct link *link)
{
    uint32_t available = link->end - link->begin;
    if (available > 0 && !link_is_hello(link->buffer + link->begin, available)) {
        link_set_closing(link, "the other end does not speak this protocol");
        return false;
    }
    if (available < HANDSHAKE_BYTES) return false;
    struct handshake message;
    memcpy(&message, link->buffer + link->begin, sizeof message);
    link->begin += HANDSHAKE_BYTES;
    const char *wrong = handshake_check(&message);
    bool connector = link->state == LINK_HELLO_SENT;
    if (wrong != NULL) {
        link_set_closing(link, wrong);
    } else if (message.kind == HANDSHAKE_REFUSE) {
        got_refuse(link, &message);
    } else if (connector && message.kind == HANDSHAKE_ACCEPT) {
        got_accept(link, &message);
    } else if (!connector && message.kind == HANDSHAKE_HELLO && link->peer.node == 0) {
        got_hello(link, &message);
    } else if (!connector && message.kind == HANDSHAKE_CONFIRM && link->peer.node != 0) {
        got_confirm(link, &message);
    } else {
        link_set_closing(link, "a hello out of turn");
    }
    return link->state != LINK_CLOSING;
}

/* --- Asking, without a link. --- */

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
