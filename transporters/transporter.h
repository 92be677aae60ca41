/* transporter.h -- all links of one process over TCP: listens, connects, sends, reports. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>
#include "transporters/link.h"
#include "transporters/writer.h"

/*
 * One transporter runs on one libuv loop; every function here is called on that loop's thread, and
 * every callback comes there (but level(), when writers write). Other threads hand in their words
 * through send_queue.h.
 *
 * A process may have several of them, each with a share of the peers and a loop on a thread of its
 * own. One listens; what it accepts goes to the peer's owner when its hello has named the peer. And
 * the words of a share of the links may be written by a writer (writer.h) on another thread; then
 * transporter_send() takes nothing for them.
 *
 * Who connects is said per peer: data-data the higher id connects to the lower, clients (API,
 * management) connect to data nodes. The other end waits. Only peers that were set and allowed are
 * let in.
 *
 * SIGPIPE becomes blocked in the loop's thread with the first connection. A link whose host is down
 * or asleep is not noticed here: heartbeats are the business of those above.
 */
struct transporter;

struct transporter_callbacks {
    /* The link to `peer` is open; `epoch` is larger than that of any former link between the two.
     */
    void (*link_up)(void *context, uint32_t peer, uint32_t role, uint32_t epoch);

    /* It is gone; comes after the last signals() of that epoch, exactly once per link_up(). */
    void (*link_down)(void *context, uint32_t peer, uint32_t epoch, const char *reason);

    /* Whole signals, each checked by signal_extent_check(); readable until return. False closes the
     * link. */
    bool (*signals)(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                    uint32_t count);

    /* The send buffer's level towards `peer` changed. May be NULL. Comes on the thread of the
     * peer's writer, if it has one; the fall to LINK_NORMAL at the end of a link comes here. */
    void (*level)(void *context, uint32_t peer, enum link_level level);

    /* `level` is enum log_level (1 debug .. 5 alert). Repeats are folded. May be NULL. */
    void (*log)(void *context, uint32_t level, const char *text);

    /* A connection attempt of ours failed or was refused (refusal = LINK_ACCEPTED: the network
     * failed); `cluster_id` is the peer's if it was for that (LINK_REFUSED_CLUSTER), else 0. May be
     * NULL. */
    void (*refused)(void *context, uint32_t peer, enum link_refusal refusal, uint64_t cluster_id,
                    const char *reason);

    /* NULL or: just before link_down(), the peer has ended it with a word. */
    void (*dismissed)(void *context, uint32_t peer, uint32_t epoch);
};

struct transporter_options {
    uv_loop_t *loop;
    const struct transporter_callbacks *calls;
    void *context;
    uint32_t own_node;
    uint32_t own_role; /* enum link_role */
    uint64_t cluster_id;
    uint64_t incarnation;      /* Number drawn once per process; never 0. */
    uint32_t unnamed_max;      /* Connections whose handshake is not done; 0 = 64. */
    uint32_t handshake_ms;     /* The most time for a handshake; 0 = 5000. */
    uint32_t reconnect_ms;     /* First pause between attempts; it doubles. 0 = 10. */
    uint32_t reconnect_max_ms; /* Longest pause between attempts; 0 = 1500. */

    /* The process's transporter that `peer` belongs to; NULL = this one. NULL: there is but one. */
    struct transporter *(*owner)(void *context, uint32_t peer);
    /* Who writes the links to `peer`. NULL: this transporter writes. */
    struct link_writer *(*writer)(void *context, uint32_t peer);
};

struct transporter_peer {
    uint32_t node;
    uint32_t role; /* enum link_role that it must have. */
    const char
        *host; /* Where to connect: IPv4, IPv6 or a name. Copied. May be NULL when !connect. */
    const char *bind_address; /* Numeric local address for connecting, NULL = any. Copied. */
    uint16_t port;            /* 0 with connect: not known yet, no attempts until set again. */
    bool connect;             /* True: we connect. False: we wait for it. */
    bool allowed;             /* Initial state of transporter_allow(). */
    bool once; /* A link that went down is not made again, as after transporter_allow(false). */
    uint32_t send_buffer_bytes; /* SendBufferMemory of this link; 0 = default 2 MB. */
    uint32_t overload_bytes;    /* OverloadLimit; 0 = 80 %. */
};

/* NULL when there is no memory. */
struct transporter *transporter_create(const struct transporter_options *options);

/*
 * Listens on a numeric address (NULL = all, IPv4 and IPv6) and port (0 = any free one). Returns the
 * port, or a negative libuv error. May be called several times for several addresses.
 */
int transporter_listen(struct transporter *t, const char *address, uint16_t port);

/*
 * Takes over a connected stream socket on which the `size` bytes were read already (a shared port
 * whose owner saw transporter_is_hello()). The descriptor belongs to the transporter from now on,
 * also on error. 0 or a libuv error.
 */
int transporter_adopt(struct transporter *t, uv_os_sock_t socket, const void *bytes, uint32_t size);
bool transporter_is_hello(const void *bytes, uint32_t size);

/* Configures a peer or changes it (also host and port of one that moved). An open link stays. 0 or
 * a libuv error. */
int transporter_set_peer(struct transporter *t, const struct transporter_peer *peer);

/* From now on this process is of another cluster: links of before end. */
void transporter_set_cluster(struct transporter *t, uint64_t cluster_id);

/* Lets a peer in (and connects, if that is our part), or closes its link and keeps it out. */
void transporter_allow(struct transporter *t, uint32_t peer, bool allowed);

/*
 * Copies packed whole signals into the link's send buffer; they leave with transporter_flush().
 * Words for an epoch that is not the open link's are dropped. A link whose buffer and reserve are
 * full is closed (a signal is never left out).
 */
void transporter_send(struct transporter *t, uint32_t peer, uint32_t epoch, const uint32_t *words,
                      uint32_t count);

/* Writes what waits, one system call per link. Call once per round of the loop's thread. */
void transporter_flush(struct transporter *t);

/* Closes an open link if its epoch is `epoch` (0 = whichever). link_down() follows before the next
 * round's signals. */
void transporter_close(struct transporter *t, uint32_t peer, uint32_t epoch, const char *reason);

/* Stops or resumes reading from API and management nodes: back-pressure while the node is
 * congested. */
void transporter_pause_clients(struct transporter *t, bool paused);

/* Same for one peer (tests, slow consumers). */
void transporter_pause(struct transporter *t, uint32_t peer, bool paused);

/* Epoch of the open link, 0 = none. */
uint32_t transporter_epoch(const struct transporter *t, uint32_t peer);
enum link_level transporter_level(const struct transporter *t, uint32_t peer);
/* False when there is no open link to `peer`. `address` (size >= 64) gets the peer's address; may
 * be NULL. */
bool transporter_statistics(const struct transporter *t, uint32_t peer,
                            struct link_statistics *statistics, char *address, uint32_t size);

/* Closes listeners, attempts and links (link_down() comes for each). The loop must run on until
 * transporter_stopped(). */
void transporter_stop(struct transporter *t);
bool transporter_stopped(const struct transporter *t);

/* As uv_loop_init(), for a loop that a transporter is to run on: 0, or a negative libuv error also
 * when the process has no descriptors left for its first one, where that would end it. Any thread.
 */
int transporter_loop_init(uv_loop_t *loop);

/* Frees it. Only before any use of the loop or once transporter_stopped() is true. */
void transporter_destroy(struct transporter *t);
