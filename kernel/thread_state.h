/* thread_state.h -- the kernel's own view of a node and its threads. Private to kernel/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/job_queue.h"
#include "kernel/limits.h"
#include "kernel/node.h"
#include "kernel/time_queue.h"

/* Words packed for one peer by one thread, until they are handed to the transporter. */
struct link_buffer {
    uint32_t *words; /* One page, got at first use. */
    uint32_t used;
    uint32_t epoch;
};

/* A signal that was executed, for the trace. One cache line. */
struct trace_entry {
    uint32_t head[SIGNAL_HEAD_WORDS];
    uint32_t payload[TRACE_PAYLOAD_WORDS];
    uint32_t jam_at; /* The jam ring's position when the signal began. */
};

struct thread {
    struct jam_ring jam;
    struct node *node;
    uint32_t no;
    uint32_t trace_id; /* Trace id of the signal that is executed; what it sends inherits it. */
    uint64_t now;
    struct rng rng;
    struct job_queue *in[2][THREADS_MAX];  /* Queues by priority and sending thread. */
    struct job_queue *out[2][THREADS_MAX]; /* Queues by priority and receiving thread. */
    struct time_queue delayed;
    struct overflow_pool overflow;
    struct link_buffer link[NODE_ID_MAX + 1];
    /* Peers with words in link[], in order of their first word. */
    uint8_t link_dirty[NODE_ID_MAX + 1];
    uint32_t link_dirty_count;
    uint32_t turn; /* Sending thread whose B queue is visited first. */
    struct trace_entry trace[TRACE_SIGNALS];
    uint32_t trace_next;
    /* File operations that the host has finished, newest first. */
    _Atomic(struct io_request *) io_done;
    atomic_uint crowded; /* 1: queues from this thread to others are filling up. */
    atomic_ullong rounds;
    atomic_ullong signals;
};

struct block_slot {
    const struct block_type *type;
    uint8_t *handler_index;
    struct block **instance; /* Instances [0..count]; NULL: not there. */
    /* Thread of each instance; apart from what the block writes, for senders of other threads. */
    uint8_t *thread_no;
    uint32_t count; /* Highest instance. */
};

/* What all threads know of a link. Written by the thread that owns it. */
struct link_state {
    /* Epoch for which signals are accepted for sending; 0 = the link is down. */
    atomic_uint sending;
    atomic_uint receiving; /* Epoch whose signals are executed; older ones are dropped. */
    /* The only block that speaks with that node, the rest is dropped; 0: all do. */
    atomic_uint only;
    atomic_uint refused;   /* Epoch whose signals were found wrong: its link is being closed. */
    atomic_uint dismissed; /* Epoch whose link the peer has ended with a word. */
    atomic_uint guard;     /* What `only` becomes when the next link comes. */
    atomic_uint class_;    /* enum sender_class. */
    atomic_uint level;     /* enum link_level. */
};

struct node {
    struct node_config config;
    struct node_options options;
    struct arena *arena;
    struct thread *thread[THREADS_MAX];
    struct block_slot block[BLOCK_COUNT];
    struct link_state link[NODE_ID_MAX + 1];
    node_observer *observer;
    void *observer_context;
};

extern _Thread_local struct thread *this_thread;

#define INSTANCE_NONE UINT32_MAX

/* The instance that a reference of this node means. Worker instances wrap: see
 * fragment_instance_key(). */
static inline uint32_t slot_instance(const struct block_slot *slot, uint32_t ref)
{
    uint32_t instance = ref_instance(ref);
    if (slot->instance == NULL) return INSTANCE_NONE;
    if (instance <= slot->count) return instance;
    return slot->count == 0 ? INSTANCE_NONE : (instance - 1) % slot->count + 1;
}

static inline struct block *node_lookup(const struct node *node, uint32_t ref)
{
    uint32_t block_no = ref_block(ref);
    if (block_no >= BLOCK_COUNT) return NULL;
    const struct block_slot *slot = &node->block[block_no];
    uint32_t instance = slot_instance(slot, ref);
    return instance == INSTANCE_NONE ? NULL : slot->instance[instance];
}

#define THREAD_NONE 0xFFu

/* Which thread runs that instance; THREAD_NONE: there is none. */
static inline uint32_t node_thread_of(const struct node *node, uint32_t ref)
{
    uint32_t block_no = ref_block(ref);
    if (block_no >= BLOCK_COUNT) return THREAD_NONE;
    const struct block_slot *slot = &node->block[block_no];
    uint32_t instance = slot_instance(slot, ref);
    return instance == INSTANCE_NONE ? THREAD_NONE : slot->thread_no[instance];
}

/* Room in the queue from thread `from` to thread `to`; stops the node when there is none. */
uint32_t *thread_put(struct thread *from, uint32_t to, enum signal_priority prio, uint32_t extent,
                     uint32_t peer, uint32_t epoch);

/* Turns finished file operations into signals for their blocks. */
void thread_take_io(struct thread *thread);

/* Makes everything sent visible: queues of other threads, link buffers. */
void thread_flush(struct thread *thread);
