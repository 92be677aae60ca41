/* time_queue.h -- delayed signals of one thread: a binary heap by due time, equal times in
 * insertion order. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/arena.h"
#include "kernel/base/signal.h"

#define DELAYED_WORDS (SIGNAL_HEAD_WORDS + SIGNAL_WORDS_MAX)

struct delayed {
    uint64_t due_ms;
    uint64_t order; /* Insertion number. */
    uint32_t slot;  /* Where the signal's words stand. */
};

struct time_queue {
    struct delayed *heap;
    uint32_t (*slots)[DELAYED_WORDS];
    uint32_t *free_slots;
    uint32_t count;
    uint32_t max;
    uint64_t order_next;
};

/* Memory for `max` delayed signals. False when the arena has none. */
bool time_queue_init(struct time_queue *queue, struct arena *arena, uint32_t max);

/* Room for one signal (head and payload) due at `due_ms`; NULL when the queue is full. */
uint32_t *time_queue_add(struct time_queue *queue, uint64_t due_ms);

/* The words of a signal that is due at `now_ms`, removed from the queue; valid until the next add.
 * NULL: none is due. */
const uint32_t *time_queue_take(struct time_queue *queue, uint64_t now_ms);

/* When the next signal is due, UINT64_MAX when there is none. */
static inline uint64_t time_queue_next(const struct time_queue *queue)
{
    return queue->count == 0 ? UINT64_MAX : queue->heap[0].due_ms;
}
