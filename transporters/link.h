/* link.h -- one link between two nodes: a state machine without I/O. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernel/base/link_level.h"
#include "kernel/base/signal.h"

/*
 * A link takes bytes from a stream (socket, simulated network) and gives bytes to it; it opens no
 * file, reads no clock and draws no number. The same object code serves TCP and the simulator. See
 * docs/protocols/link.md.
 *
 *   CLOSED --start--> HELLO_SENT (connector)  --ACCEPT--------> OPEN --fail/close--> CLOSING
 *                     HELLO_WAIT (acceptor)   --HELLO,CONFIRM-> OPEN
 *
 * CLOSING is final: the owner writes what link_output() still has (a refusal or a goodbye, best
 * effort), closes the stream and destroys the link. A link delivers a prefix of what the peer sent,
 * in order, or nothing more.
 *
 * Threads: a link belongs to one thread. Memory: malloc, for the link, its receive buffer and its
 * send chunks only (never more than the limits below); a failed malloc closes the link.
 */
enum link_state { LINK_CLOSED = 0, LINK_HELLO_SENT, LINK_HELLO_WAIT, LINK_OPEN, LINK_CLOSING };

/* What kind of node stands at an end. Same numbers as the configuration's node types. */
enum link_role { LINK_ROLE_ANY = 0, LINK_ROLE_DATA = 1, LINK_ROLE_API = 2, LINK_ROLE_MGM = 3 };

/* Why a handshake is refused; goes over the wire, numbers are never reused. */
enum link_refusal {
    LINK_ACCEPTED = 0,
    LINK_REFUSED_VERSION = 1,   /* There is no common protocol version. */
    LINK_REFUSED_CLUSTER = 2,   /* The ends have different cluster ids. */
    LINK_REFUSED_NOT_ME = 3,    /* The caller wanted another node than this one. */
    LINK_REFUSED_UNKNOWN = 4,   /* The caller's node id is not configured (or is our own). */
    LINK_REFUSED_ROLE = 5,      /* The caller's role is not the configured one. */
    LINK_REFUSED_CONNECTED = 6, /* This node id has a live link already. */
    /* Not now: the node is being declared dead, or is not yet admitted. Try again. */
    LINK_REFUSED_NOT_ALLOWED =
        7, /* Not now: the node is being declared dead, or is not yet admitted. Try again. */
    LINK_REFUSED_STOPPING = 8,
    LINK_REFUSED_EPOCH = 9, /* The answer's epoch is not newer than the last one. */
    LINK_REFUSAL_COUNT
};

#define LINK_PROTOCOL_VERSION     1u
#define LINK_PROTOCOL_VERSION_MIN 1u /* Oldest that this program can speak. */
#define LINK_RECEIVE_BYTES        (128u * 1024u)
#define LINK_SEND_BUFFER_BYTES    (2u * 1024u * 1024u) /* SendBufferMemory's default. */
#define LINK_HANDSHAKE_MS         5000u
#define LINK_REASON_SIZE          160u
#define LINK_HELLO_BYTES          128u

struct link;

/* Who is at the other end, as its hello told and the checks confirmed. */
struct link_peer {
    uint32_t node;
    uint32_t role;    /* enum link_role */
    uint32_t version; /* Protocol version in use: the smaller of both. */
    /* Epoch of this link; 0 until OPEN. Each link of this pair of nodes has a larger one. */
    uint32_t epoch;
    uint64_t incarnation; /* Incarnation of the peer's process. */
};

struct link_callbacks {
    /*
     * Acceptor only: may this peer connect? Fills in *epoch_last (the last epoch of this pair that
     * this process knows, 0 = none) when it accepts. Version, cluster id and wanted node were
     * checked before. peer->epoch is what the peer proposes; the link gets the larger of that and
     * *epoch_last + 1.
     */
    enum link_refusal (*check)(void *context, struct link *link, const struct link_peer *peer,
                               uint32_t *epoch_last);

    /* The link is OPEN; link_send() may be used, link_close() too. Comes before any signals(). */
    void (*up)(void *context, struct link *link, const struct link_peer *peer);

    /*
     * `count` words of whole signals, each of which passed signal_extent_check(), in a frame whose
     * checksum was right. They are readable until the callback returns. False closes the link. The
     * callback may call link_send() and link_close() for this link, but not link_destroy() nor
     * link_received().
     */
    bool (*signals)(void *context, struct link *link, const uint32_t *words, uint32_t count);

    /* The level of the send buffer changed. May be NULL. Comes from within link_send(),
     * link_sent(). */
    void (*level)(void *context, struct link *link, enum link_level level);
};

struct link_options {
    const struct link_callbacks *calls;
    void *context;
    uint32_t own_node;
    uint32_t own_role;    /* enum link_role */
    uint64_t cluster_id;  /* Both ends must have the same. */
    uint64_t incarnation; /* Number drawn by the host once per process; never 0. */
    bool connect;         /* True: this end opened the stream and speaks first. */
    uint32_t peer; /* Connector: the node that must answer. 0 = any (client that knows an address
                      only). */
    uint32_t peer_role;         /* Connector: the role it must have, LINK_ROLE_ANY = any. */
    uint32_t epoch_last;        /* Connector: last epoch of this pair, 0 = none. */
    uint32_t send_buffer_bytes; /* 0 = LINK_SEND_BUFFER_BYTES. */
    uint32_t overload_bytes;    /* 0 = 80 % of send_buffer_bytes. */
    /* Bytes above FULL until link_send() refuses; 0 = send_buffer_bytes / 4 + one signal. */
    uint32_t reserve_bytes;
    /* Receive buffer, at least 4096; it grows to one whole frame when needed. 0 =
     * LINK_RECEIVE_BYTES. */
    uint32_t receive_bytes;
    uint32_t frame_words;  /* A frame is closed when so many words are in it. 0 = 8192 (32 KB). */
    uint32_t handshake_ms; /* 0 = LINK_HANDSHAKE_MS. */
};

/* Makes a link in state CLOSED. Options are copied. NULL when there is no memory. */
struct link *link_create(const struct link_options *options);
void link_destroy(struct link *link);

/*
 * Sets the send buffer's limits (as in the options, 0 = default): for an acceptor, who learns in
 * check() which peer it is.
 */
void link_limit_send(struct link *link, uint32_t send_buffer_bytes, uint32_t overload_bytes,
                     uint32_t reserve_bytes);

/* The stream is connected: a connector's hello is put into the output. `now_ms` is any monotonic
 * clock. */
void link_start(struct link *link, uint64_t now_ms);

/* Lets the handshake time out. Call now and then (e.g. each second) with the same clock. */
void link_tick(struct link *link, uint64_t now_ms);

/* --- Receiving. --- */

/*
 * Zero copy: where the next bytes of the stream go (never NULL, *size >= 1), and how many of them
 * arrived. Between the two calls the space stays valid. link_received() calls back. It returns
 * false when the link is CLOSING: stop reading, flush, close. Bytes for a link that is CLOSED or
 * CLOSING are thrown away.
 */
void *link_receive_space(struct link *link, uint32_t *size);
bool link_received(struct link *link, uint32_t size);

/* The same with a copy, for any number of bytes. */
bool link_receive(struct link *link, const void *bytes, size_t size);

/* The peer ended the stream, or it broke (`error` = text, NULL = orderly end). Moves to CLOSING. */
void link_broken(struct link *link, const char *error);

/* --- Sending. --- */

enum link_send_result {
    LINK_SENT = 0,
    LINK_SEND_NO_ROOM,  /* Nothing was taken; buffer and reserve are full. The owner closes the link
                           (or waits). */
    LINK_SEND_NOT_OPEN, /* Nothing was taken. */
};

/*
 * Copies `count` words of packed whole signals into the send buffer: all or nothing. They leave
 * with the next link_output(). Signals are gathered into frames: one checksum for many.
 */
enum link_send_result link_send(struct link *link, const uint32_t *words, uint32_t count);

struct link_bytes {
    const void *at;
    size_t size;
};

/*
 * The bytes that wait to be written, as up to `max` pieces (at most `max` frames); returns how
 * many, 0 = nothing. They stay valid and unchanged until link_sent() or link_destroy(). May be
 * called again before all is sent.
 */
uint32_t link_output(struct link *link, struct link_bytes *pieces, uint32_t max);

/* The first `size` bytes of the output were written. */
void link_sent(struct link *link, size_t size);

/*
 * Moves the sending half of an OPEN link, with what still waits in it, to `to`: another thread may
 * own that half from now on (send_buffer.h). Allowed from within up(). The link itself sends
 * nothing more: link_send() takes nothing, link_output() is empty, and a goodbye is left to the
 * half's owner (link_farewell()).
 */
struct send_buffer;
void link_split(struct link *link, struct send_buffer *to);

/* --- Ending. --- */

/*
 * Closes from this side, from any state: an OPEN link appends a goodbye frame with the reason, so
 * that the peer can log it; an acceptor in its handshake appends a refusal. The first reason
 * counts.
 */
void link_close(struct link *link, const char *reason);

/* The goodbye that a split link owes its peer; NULL = none. */
const char *link_farewell(const struct link *link);

/* The peer has ended the link with a word, not by its end or that of the network. */
bool link_dismissed(const struct link *link);

/* --- Asking. --- */

enum link_state link_state(const struct link *link);
const struct link_peer *link_peer_of(const struct link *link); /* node = 0: not known yet. */
const char *link_reason(const struct link *link);              /* Why CLOSING; "" before. */
enum link_refusal link_refused(
    const struct link *link); /* Why the handshake was refused, by either end. */
/* Connector: the cluster id of the node that it wanted, which refused it for having another one
 * (LINK_REFUSED_CLUSTER); else 0. */
uint64_t link_foreign_cluster(const struct link *link);
enum link_level link_send_level(const struct link *link);
bool link_has_output(const struct link *link);
const char *link_state_name(enum link_state state);
const char *link_refusal_text(enum link_refusal refusal);

struct link_statistics {
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t frames_sent;
    uint64_t frames_received;
    uint64_t words_sent; /* Words of signals. */
    uint64_t words_received;
    uint64_t overload_count; /* Times that the level rose to OVERLOAD. */
    uint64_t send_bytes;     /* Bytes that wait now. */
    uint64_t send_bytes_max; /* Most bytes that ever waited. */
};
void link_statistics(const struct link *link, struct link_statistics *statistics);

/*
 * True when a stream that begins with these bytes is a node link: all of the first 4 (or fewer: all
 * that are there) are those of the hello. For a port that is shared with another protocol. False
 * for size 0.
 */
bool link_is_hello(const void *bytes, size_t size);

/* The node that a whole hello of LINK_HELLO_BYTES names as its sender; nothing of it is checked. */
uint32_t link_hello_node(const void *hello);
