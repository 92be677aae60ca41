/* job_queue.c -- finds room for a record in the ring or in the producer's overflow. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/job_queue.h"
#include <string.h>

/* Room in the ring for a record of `need` words without wrapping, or NULL. Skips the ring's end
 * when it must. */
static uint32_t *ring_room(struct job_queue *queue, uint32_t need)
{
    uint32_t at = (uint32_t)(queue->tail & (queue->size - 1));
    uint32_t skip = at + need > queue->size ? queue->size - at : 0;
    if (queue->tail + skip + need - queue->head_seen > queue->size) {
        queue->head_seen = atomic_load_explicit(&queue->head, memory_order_acquire);
        if (queue->tail + skip + need - queue->head_seen > queue->size) return NULL;
    }
    if (queue->signals_max != UINT32_MAX &&
        queue->puts - atomic_load_explicit(&queue->takes, memory_order_relaxed) >=
            queue->signals_max)
        return NULL;
    if (skip > 0) {
        queue->ring[at] = 0;
        queue->tail += skip;
        at = 0;
    }
    queue->tail += need;
    queue->puts++;
    return queue->ring + at;
}

static struct overflow_segment *segment_seize(struct overflow_pool *pool)
{
    struct overflow_segment *segment = pool->free;
    if (segment == NULL) return NULL;
    pool->free = segment->next;
    segment->next = NULL;
    segment->used = segment->taken = 0;
    pool->in_use++;
    if (pool->in_use > pool->high) pool->high = pool->in_use;
    return segment;
}

static void segment_release(struct overflow_pool *pool, struct overflow_segment *segment)
{
    segment->next = pool->free;
    pool->free = segment;
    pool->in_use--;
}

static uint32_t *overflow_room(struct job_queue *queue, uint32_t need)
{
    struct overflow_segment *last = queue->overflow_last;
    if (last == NULL || last->used + need > queue->pool->segment_words) {
        struct overflow_segment *fresh = segment_seize(queue->pool);
        if (fresh == NULL) return NULL;
        if (last == NULL)
            queue->overflow_first = fresh;
        else
            last->next = fresh;
        queue->overflow_last = last = fresh;
    }
    uint32_t *record = last->words + last->used;
    last->used += need;
    return record;
}

uint32_t *job_queue_reserve(struct job_queue *queue, uint32_t extent, uint32_t peer, uint32_t epoch)
{
    uint32_t need = extent + RECORD_HEAD_WORDS;
    if (queue->overflow_first != NULL) job_queue_refill(queue);
    uint32_t *record = queue->overflow_first == NULL ? ring_room(queue, need) : NULL;
    if (record == NULL) record = overflow_room(queue, need);
    if (record == NULL) return NULL;
    record[0] = need;
    record[1] = peer;
    record[2] = epoch;
    return record + RECORD_HEAD_WORDS;
}

void job_queue_refill(struct job_queue *queue)
{
    while (queue->overflow_first != NULL) {
        struct overflow_segment *segment = queue->overflow_first;
        while (segment->taken < segment->used) {
            const uint32_t *record = segment->words + segment->taken;
            uint32_t *room = ring_room(queue, record[0]);
            if (room == NULL) return;
            memcpy(room, record, (size_t)record[0] * 4u);
            segment->taken += record[0];
        }
        queue->overflow_first = segment->next;
        if (queue->overflow_first == NULL) queue->overflow_last = NULL;
        segment_release(queue->pool, segment);
    }
}
