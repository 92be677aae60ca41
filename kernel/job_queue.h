/* job_queue.h -- signals from one thread to one thread: a lock-free ring with an overflow on the
 * sender's side. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include "kernel/base/signal.h"

/*
 * A record is three words { words of the record, peer node, link epoch } and the signal's extent.
 * Peer 0 is this node. A record never wraps: a size of 0 sends the reader to the start of the ring.
 *
 * Single producer, single consumer. What the producer puts becomes visible at job_queue_publish(),
 * so many signals share one release store (and one wake-up). When the ring is full, records go to
 * the producer's overflow segments and follow into the ring, in order, as the consumer makes room;
 * so a put never blocks and two threads that fill each other's queues cannot deadlock. What bounds
 * the overflow is admission: see thread_run_once() and node_congested().
 */
#define RECORD_HEAD_WORDS 3u

struct overflow_segment {
    struct overflow_segment *next;
    uint32_t used;  /* Words written. */
    uint32_t taken; /* Words moved on into the ring. */
    uint32_t words[];
};

/* Free overflow segments of one thread. */
struct overflow_pool {
    struct overflow_segment *free;
    uint32_t segment_words;
    uint32_t in_use;
    uint32_t high;
};

struct job_queue {
    /* Each word that the other side looks at has a cache line of its own: a waiting reader must not
     * slow the writer. */
    _Alignas(64) atomic_ullong published; /* Set by the producer: words up to here may be read. */
    _Alignas(64) atomic_ullong head;      /* Set by the consumer: words read and done with. */
    atomic_ullong takes;                  /* Set by the consumer: records read and done with. */
    /* The producer's own. */
    _Alignas(64) uint64_t tail; /* Words written, published or not. */
    uint32_t waiting;           /* Records put since the last publishing. */
    uint64_t head_seen;         /* The consumer's position when last looked at. */
    uint64_t puts;              /* Records in the ring so far. */
    struct overflow_segment *overflow_first;
    struct overflow_segment *overflow_last;
    /* The consumer's own. */
    _Alignas(64) uint64_t read; /* Position of the next record; head follows at job_queue_done(). */
    uint64_t read_count;
    uint64_t published_seen;
    /* Constant. */
    _Alignas(64) uint32_t *ring;
    uint32_t size;        /* Words of the ring; power of two. */
    uint32_t signals_max; /* Records that the ring may hold; more wait in the overflow. */
    struct overflow_pool *pool;
};

/*
 * Room for one record of `extent` words, its head filled in; returns where the extent goes. NULL
 * when ring and overflow are full. Producer only.
 */
uint32_t *job_queue_reserve(struct job_queue *queue, uint32_t extent, uint32_t peer,
                            uint32_t epoch);

/* Moves overflowed records into the ring as far as they fit. Producer only. */
void job_queue_refill(struct job_queue *queue);

/* Makes what was put visible to the consumer. True when there was something new. Producer only. */
static inline bool job_queue_publish(struct job_queue *queue)
{
    queue->waiting = 0;
    if (queue->overflow_first != NULL) job_queue_refill(queue);
    if (atomic_load_explicit(&queue->published, memory_order_relaxed) == queue->tail) return false;
    atomic_store_explicit(&queue->published, queue->tail, memory_order_release);
    return true;
}

/* The next published record, or NULL. The consumer moves on by job_queue_next(). */
static inline const uint32_t *job_queue_peek(struct job_queue *queue)
{
    for (;;) {
        if (queue->read == queue->published_seen) {
            queue->published_seen = atomic_load_explicit(&queue->published, memory_order_acquire);
            if (queue->read == queue->published_seen) return NULL;
        }
        const uint32_t *record = queue->ring + (queue->read & (queue->size - 1));
        if (record[0] != 0) return record;
        queue->read +=
            queue->size - (queue->read & (queue->size - 1)); /* The rest of the ring is unused. */
    }
}

static inline void job_queue_next(struct job_queue *queue, const uint32_t *record)
{
    queue->read += record[0];
    queue->read_count++;
}

/* Gives the room of all records read so far back to the producer. Consumer only. */
static inline void job_queue_done(struct job_queue *queue)
{
    atomic_store_explicit(&queue->takes, queue->read_count, memory_order_relaxed);
    atomic_store_explicit(&queue->head, queue->read, memory_order_release);
}

/* True when the consumer has something to read. Either side. */
static inline bool job_queue_ready(const struct job_queue *queue)
{
    return atomic_load_explicit(&queue->published, memory_order_acquire) !=
           atomic_load_explicit(&queue->head, memory_order_relaxed);
}

/* True when more than a quarter of the ring waits, or anything overflowed. Producer only. */
static inline bool job_queue_crowded(struct job_queue *queue)
{
    if (queue->overflow_first != NULL) return true;
    return queue->tail - atomic_load_explicit(&queue->head, memory_order_relaxed) > queue->size / 4;
}

/* For a queue of a thread to itself, when everything was read: starts again at the ring's
 * beginning, which is cached. */
static inline void job_queue_rewind(struct job_queue *queue)
{
    if (queue->read != queue->tail || queue->overflow_first != NULL) return;
    uint64_t start = (queue->tail + queue->size - 1) & ~((uint64_t)queue->size - 1);
    queue->tail = queue->head_seen = queue->read = queue->published_seen = start;
    atomic_store_explicit(&queue->published, start, memory_order_relaxed);
    atomic_store_explicit(&queue->head, start, memory_order_relaxed);
}
