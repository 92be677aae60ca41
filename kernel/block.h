/* block.h -- what every block is built from: handler tables, sending, failing, logging. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/kernel_signals.h"
#include "kernel/base/link_level.h"
#include "kernel/base/pool.h"
#include "kernel/base/rng.h"
#include "kernel/host.h"
#include "kernel/jam.h"
#include "kernel/node_config.h"

struct block;
struct node;
struct thread;

/* One line of a block's handler table: the border guard checks all of it before the handler runs.
 */
struct handler {
    uint16_t gsn;
    uint8_t words_min;
    uint8_t sections_min;
    uint8_t sections_max;
    uint8_t senders; /* enum sender_class, or'ed. */
    void (*exec)(struct block *block, const struct signal *sig);
};

/*
 * HANDLER(lqh, LQHKEYREQ, lqhkeyreq): GSN, function lqh_exec_LQHKEYREQ, payload struct. Sections
 * and senders come from signals/gsn.def.
 */
#define HANDLER(prefix, name, type)                                                                \
    {                                                                                              \
        GSN_##name, (uint8_t)(sizeof(struct type) / 4u), name##_SECTIONS_MIN, name##_SECTIONS_MAX, \
            name##_FROM, prefix##_exec_##name                                                      \
    }

#define GSN_TABLE 1024u /* GSNs are below this. */

/* What is common to all instances of a block on one node. */
struct block_type {
    const char *name;
    uint32_t block_no;
    const struct handler *handlers;
    uint32_t handler_count;
    /* Checks all invariants of one instance with ndbrequire; NULL when there are none. */
    void (*check)(struct block *block);
};

/* A pool in a block instance's struct, so that tests can name it, look at it and have it refuse. */
struct block_pool {
    const char *name;
    size_t offset;
};

/* BLOCK_POOL(tc, operations): struct, member. */
#define BLOCK_POOL(type, member)                                                                   \
    {                                                                                              \
#member, offsetof(struct type, member)                                                     \
    }

/*
 * A look at a signal that waits some places further on in the queue (`words`: its extent), so that
 * the memory has what its handler will need when its turn comes: cache misses of several signals
 * overlap. Called twice, first far ahead (AHEAD_FAR), then near. May prefetch, and must have no
 * other effect. The border guard has not seen the signal yet: it is well-formed, but GSN, lengths
 * and references may be anything.
 */
enum block_ahead_stage { AHEAD_FAR, AHEAD_NEAR };
typedef void block_ahead(const struct block *block, const uint32_t *words,
                         enum block_ahead_stage stage);

/* The head of every block instance's struct. */
struct block {
    struct thread *thread;
    struct node *node;
    const struct block_type *type;
    const uint8_t *handler_index; /* By GSN: 1 + index into type->handlers; 0 = unknown. */
    uint32_t ref;
    uint32_t error_insert; /* Number of the error insert that is armed; 0 = none. */
    uint32_t error_extra;
    block_ahead *ahead;             /* Looks at signals that wait; NULL: none does. */
    const struct block_pool *pools; /* All pools of the instance. */
    uint32_t pool_count;
};

/*
 * Makes a block instance of `size` bytes (a struct whose first member is struct block), zeroed, in
 * the memory of the thread's node, and registers it under (type->block_no, instance). Only while
 * the node is being built.
 */
struct block *block_create(struct thread *thread, const struct block_type *type, uint32_t instance,
                           size_t size);

/* --- Sending. Payload and sections are copied. Never fails: what cannot be delivered is a link
 * that is down. --- */

void signal_send(struct block *from, uint32_t receiver, uint32_t gsn, enum signal_priority prio,
                 const void *payload, uint32_t words, const struct section *sections,
                 uint32_t section_count);

/* Sends `payload` (a pointer to a signal struct) without sections. */
#define sig_send(from, receiver, gsn, prio, payload)                                               \
    signal_send(from, receiver, gsn, prio, payload, sizeof(*(payload)) / 4u, NULL, 0)

/* The same after at least `delay_ms`; own node only, no sections. */
void signal_send_delayed(struct block *from, uint32_t receiver, uint32_t gsn,
                         enum signal_priority prio, const void *payload, uint32_t words,
                         uint32_t delay_ms);

#define sig_send_delayed(from, receiver, gsn, prio, payload, delay_ms)                             \
    signal_send_delayed(from, receiver, gsn, prio, payload, sizeof(*(payload)) / 4u, delay_ms)

/* To instance 0 of `block_no` on every node of `mask`. Not atomic: a crash may leave any subset of
 * receivers. */
void signal_broadcast(struct block *from, const struct node_mask *mask, uint32_t block_no,
                      uint32_t gsn, enum signal_priority prio, const void *payload, uint32_t words,
                      const struct section *sections, uint32_t section_count);

/* --- What a block may know of the world. --- */

/* Milliseconds since the node was made; the same for all handlers of a round. */
uint64_t now_ms(const struct block *block);

/* The random numbers of the block's thread. */
struct rng *block_rng(struct block *block);

const struct node_config *block_config(const struct block *block);
struct arena *block_arena(const struct block *block);
/* arena_alloc() of what the block cannot do without: when the group has no more of it the node ends
 * with EXIT_RESOURCE_ALLOC, and the text names the parameter. */
void *block_alloc(const struct block *block, enum resource_group group, size_t size);
/* The same for pools: ends the node unless `done`. */
void block_reserved(enum resource_group group, bool done);

/* This node's own instance of a neighbour in the same thread (instance group); NULL when it is not
 * there. */
struct block *block_neighbour(const struct block *block, uint32_t block_no);

/* How many instances a block has on this node (not counting instance 0). */
uint32_t block_instances(const struct block *block, uint32_t block_no);

/* --- Links. --- */

/* How full the send buffer towards a node is; LINK_NORMAL for the own node. */
enum link_level peer_level(const struct block *block, uint32_t node);

/* The epoch of the open link to a node, 0 when it is down. */
uint32_t peer_epoch(const struct block *block, uint32_t node);

/* Which class of sender a connected node is; 0 when it is not connected. */
uint32_t peer_class(const struct block *block, uint32_t node);

/* Tells the host how far the node's start is, and that it has started. */
void node_phase(struct block *block, uint32_t phase);
void node_started(struct block *block);

/* What thread number `no` of the process has used; see struct host. */
bool node_thread_times(const struct block *block, uint32_t no, struct thread_times *times);

/* Ends this node in good order: its work is done. The host ends (and perhaps restarts) the process.
 * Returns. */
void node_stopped(struct block *block, uint32_t restart_flags);

/* Closes the link to a node. */
void peer_close(struct block *block, uint32_t node, const char *reason);
/* The same for what the peer has sent: QMGR learns of it with the end of the link. */
void peer_refuse(struct block *block, uint32_t node, const char *reason);

/* Lets the transporter connect to `node` (or, with 0, closes and keeps it closed). */
void peer_allow(struct block *block, uint32_t node, uint32_t allowed);

/*
 * Whatever links come: only this block speaks with its like on `node`, until it is called with 0.
 * Words of all others are dropped in both directions, from the next signal on. So a node that is
 * not a member can ask to become one, and nothing of a former life passes.
 */
void peer_restrict(struct block *block, uint32_t node, uint32_t restricted);

/*
 * With 1: each link to `node` that comes up from now on begins restricted to this block, before any
 * other block can send over it. Others may not have heard yet that the former link, and with it a
 * former life of that node, is gone.
 */
void peer_guard(struct block *block, uint32_t node, uint32_t guarded);

/* Whether only one block speaks with `node`. */
bool peer_restricted(const struct block *block, uint32_t node);

/*
 * Hands a file operation to the host; IO_DONE_REP with request->tag comes when it is done. For
 * NDBFS alone. The request and the memory of its pieces stay untouched until then.
 */
void io_submit(struct block *block, struct io_request *request);

/* --- Failing and logging. --- */

/* Does nothing for so many milliseconds of the host's wall clock and keeps the thread busy: only to
 * see what becomes of a thread that is stuck. Not for a simulated host, whose clock stands still.
 */
void node_loop(struct block *block, uint32_t ms);

#define EXIT_CODE(number, name, klass, text) EXIT_##name = (number),
enum exit_code {
#include "kernel/exit_codes.def"
};
#undef EXIT_CODE

/* Stops the node: error log, traces, exit. */
_Noreturn void node_fail(uint32_t exit_code, const char *file, uint32_t line, const char *text);

/*
 * An assumption about kernel state. Always on. Nothing that a client or a peer can send may reach
 * it.
 */
#define ndbrequire(cond)                                                                           \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0)) node_fail(EXIT_NDBREQUIRE, __FILE__, __LINE__, #cond);   \
    } while (0)

/* True when the error insert `number` (kernel/error_inserts.def) is armed in this block. */
#define ERROR_INSERTED(block_, number) __builtin_expect((block_)->error_insert == (number), 0)

/* Arms an error insert of an instance, or with number 0 disarms it. Between its signals only. */
void block_tamper(struct block *block, uint32_t number, uint32_t extra);

/* The pool of that number in the instance's table, or NULL. For checks and tests. */
struct pool *block_pool_at(struct block *block, uint32_t number);

/* Disarms the block's error insert: for inserts that fire once. */
#define ERROR_INSERT_CLEAR(block_) ((block_)->error_insert = 0)

void log_write(const struct block *block, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_info(block_, ...)    log_write(block_, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warning(block_, ...) log_write(block_, LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_error(block_, ...)   log_write(block_, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_debug(block_, ...)   log_write(block_, LOG_LEVEL_DEBUG, __VA_ARGS__)
