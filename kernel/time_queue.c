/* time_queue.c -- the heap of delayed signals. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/time_queue.h"

bool time_queue_init(struct time_queue *queue, struct arena *arena, uint32_t max)
{
    *queue = (struct time_queue){.max = max};
    queue->heap = arena_alloc(arena, RG_JOB_BUFFER, max * sizeof *queue->heap);
    queue->slots = arena_alloc(arena, RG_JOB_BUFFER, max * sizeof *queue->slots);
    queue->free_slots = arena_alloc(arena, RG_JOB_BUFFER, max * sizeof *queue->free_slots);
    if (queue->heap == NULL || queue->slots == NULL || queue->free_slots == NULL) return false;
    for (uint32_t i = 0; i < max; i++)
        queue->free_slots[i] = i; /* free_slots[count..max) are free. */
    return true;
}

static bool earlier(const struct delayed *a, const struct delayed *b)
{
    if (a->due_ms != b->due_ms) return a->due_ms < b->due_ms;
    return a->order < b->order;
}

uint32_t *time_queue_add(struct time_queue *queue, uint64_t due_ms)
{
    if (queue->count == queue->max) return NULL;
    uint32_t slot = queue->free_slots[queue->count];
    struct delayed entry = {.due_ms = due_ms, .order = queue->order_next++, .slot = slot};
    uint32_t at = queue->count++;
    while (at > 0 && earlier(&entry, &queue->heap[(at - 1) / 2])) {
        queue->heap[at] = queue->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->heap[at] = entry;
    return queue->slots[slot];
}

const uint32_t *time_queue_take(struct time_queue *queue, uint64_t now_ms)
{
    if (queue->count == 0 || queue->heap[0].due_ms > now_ms) return NULL;
    uint32_t slot = queue->heap[0].slot;
    struct delayed last = queue->heap[--queue->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= queue->count) break;
        if (child + 1 < queue->count && earlier(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!earlier(&queue->heap[child], &last)) break;
        queue->heap[at] = queue->heap[child];
        at = child;
    }
    queue->heap[at] = last;
    queue->free_slots[queue->count] = slot;
    return queue->slots[slot];
}
