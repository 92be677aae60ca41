/* node.h -- one data node: its threads, blocks, links and memory. What the two hosts (ndbmtd,
 * simulator) use. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdatomic.h>
#include "kernel/block.h"

#define THREADS_MAX 64u

/* What the host adds to a node: names for traces. The kernel knows no signal but its own. */
struct node_options {
    struct host *host;
    const char *(*gsn_name)(uint32_t gsn);
    /* Prints a signal's payload with named fields into `text`; returns the length. May be NULL. */
    uint32_t (*describe)(const struct signal *sig, char *text, uint32_t size);
};

/*
 * Makes a node with config->thread_count threads and no blocks. NULL when the memory cannot be had.
 * `config` is copied.
 */
struct node *node_create(const struct node_config *config, const struct node_options *options);

/* Gives all of the node's memory back, whatever state it is in. */
void node_destroy(struct node *node);

struct thread *node_thread(struct node *node, uint32_t thread_no);
const struct node_config *node_config_of(const struct node *node);
struct arena *node_arena(struct node *node);

/* A registered block instance, or NULL. For checks by the simulator and for ndbmtd; never from
 * another block. */
struct block *node_block(struct node *node, uint32_t block_no, uint32_t instance);

/* --- Called by the transporter's side, on the thread `thread_no` that owns the link. --- */

/* The link to `peer` is open. `epoch` is new for this pair of nodes. */
void node_link_up(struct node *node, uint32_t thread_no, uint32_t peer, uint32_t sender_class,
                  uint32_t epoch);

/* The peer has ended the link with a word; node_link_down() follows. */
void node_link_dismissed(struct node *node, uint32_t peer, uint32_t epoch);

/* The link is gone; everything that it delivered has been passed to node_deliver() before. */
void node_link_down(struct node *node, uint32_t thread_no, uint32_t peer, uint32_t epoch);

/*
 * `count` words that came over the link: whole signals, each of which passed signal_extent_check().
 * Signals for blocks that do not exist, or with a forged sender, close the link. Returns false then
 * (the caller drops the rest).
 */
bool node_deliver(struct node *node, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                  const uint32_t *words, uint32_t count);

/* Send buffer level of a link, set by the transporter from any thread. */
void node_link_level(struct node *node, uint32_t peer, enum link_level level);

/* True when the node's queues are full enough that links to clients should not be read for the
 * moment. Any thread. */
bool node_congested(const struct node *node);

/* A file operation that io_submit() took over is done; its block gets IO_DONE_REP. Any thread, also
 * the block's own. */
void node_io_done(struct node *node, struct io_request *request);

/* --- Running. --- */

struct thread_result {
    uint32_t executed;      /* Signals executed. */
    uint64_t timer_next_ms; /* When the next delayed signal is due; UINT64_MAX = none. */
};

/*
 * One round of a thread: due timers, all A signals, up to `budget` B signals (a CONTINUEB counts as
 * many: work that never ends must not keep the sockets waiting), then flush. In
 * production an OS thread calls it for ever; in simulation the scheduler does. `now` never goes
 * back.
 */
struct thread_result thread_run_once(struct thread *thread, uint64_t now, uint32_t budget);

/* True when a queue of the thread holds a signal or something it sent waits to be published. */
bool thread_has_work(const struct thread *thread);

uint32_t thread_no_of(const struct thread *thread);

/* Rounds and signals so far: for the watchdog and statistics. Any thread. */
uint64_t thread_rounds(const struct thread *thread);
uint64_t thread_signals(const struct thread *thread);

/* Runs every block's check(). Between rounds only, with all threads stopped (simulator, before a
 * trace dump). */
void node_check(struct node *node);

/*
 * Called before each signal is executed, when set: the simulator's trace hash and triggers. `words`
 * is the whole extent. Only one per node.
 */
typedef void node_observer(void *context, uint32_t thread_no, const uint32_t *words);
void node_observe(struct node *node, node_observer *observer, void *context);

/* Writes the trace of one thread (last signals, newest first, with the jam trail between them) to
 * `put`. */
typedef void trace_put(void *context, const char *text, uint32_t size);
void thread_trace(const struct thread *thread, trace_put *put, void *context);
