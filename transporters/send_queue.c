/* send_queue.c -- lock-free rings from the sending threads to the writing one. */
/* SPDX-License-Identifier: MIT */
#include "transporters/send_queue.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/base/signal.h"

/*
 * A record is {words, peer, epoch} and the words, never wrapping: what is left before the end of
 * the ring is skipped by a record of peer 0, or is known to be skipped when it is too small for
 * one. Positions count up for ever (64 bits); the slot is position & mask.
 */
#define RECORD_HEAD 3u
#define CACHE_LINE  64

struct send_ring {
    /* Written by the sender. */
    _Alignas(CACHE_LINE) _Atomic uint64_t head;
    uint64_t tail_seen;

    /* Written by the owner. */
    _Alignas(CACHE_LINE) _Atomic uint64_t tail;

    _Alignas(CACHE_LINE) uint32_t *words;
};

struct send_queues {
    uint32_t senders;
    uint32_t size; /* Words per ring; power of two. */
    _Alignas(CACHE_LINE) _Atomic uint32_t sleeping;
    struct send_ring ring[];
};

struct send_queues *send_queues_create(uint32_t senders, uint32_t words)
{
    uint32_t size = 64;
    while (size < (words != 0 ? words : SEND_QUEUE_WORDS) && size < 1u << 30)
        size *= 2;
    size_t bytes = sizeof(struct send_queues) + senders * sizeof(struct send_ring);
    struct send_queues *queues = aligned_alloc(CACHE_LINE, bytes);
    if (queues == NULL) return NULL;
    memset(queues, 0, bytes);
    queues->senders = senders;
    queues->size = size;
    for (uint32_t i = 0; i < senders; i++) {
        queues->ring[i].words = malloc(4u * (size_t)size);
        if (queues->ring[i].words == NULL) {
            send_queues_destroy(queues);
            return NULL;
        }
    }
    return queues;
}

void send_queues_destroy(struct send_queues *queues)
{
    if (queues == NULL) return;
    for (uint32_t i = 0; i < queues->senders; i++)
        free(queues->ring[i].words);
    free(queues);
}

bool send_queue_put(struct send_queues *queues, uint32_t sender, uint32_t peer, uint32_t epoch,
                    const uint32_t *words, uint32_t count)
{
    struct send_ring *ring = &queues->ring[sender];
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint32_t at = (uint32_t)head & (queues->size - 1);
    uint64_t need = (uint64_t)RECORD_HEAD + count;
    if (count == 0 || peer == 0) return true;
    if (need > queues->size / 2) return false;
    uint64_t skip = need > queues->size - at ? queues->size - at : 0;
    if (head + skip + need - ring->tail_seen > queues->size) {
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (head + skip + need - ring->tail_seen > queues->size) return false;
    }
    if (skip > 0) {
        if (skip > RECORD_HEAD) ring->words[at + 1] = 0;
        at = 0;
    }
    ring->words[at] = count;
    ring->words[at + 1] = peer;
    ring->words[at + 2] = epoch;
    memcpy(ring->words + at + RECORD_HEAD, words, 4u * (size_t)count);
    atomic_store_explicit(&ring->head, head + skip + need, memory_order_release);
    return true;
}

static uint64_t drain_ring(struct send_queues *queues, struct send_ring *ring,
                           send_queue_take *take, void *context)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t taken = 0;
    while (tail != head) {
        uint32_t at = (uint32_t)tail & (queues->size - 1);
        uint32_t left = queues->size - at;
        if (left <= RECORD_HEAD || ring->words[at + 1] == 0) {
            tail += left;
            continue;
        }
        uint32_t count = ring->words[at];
        take(context, ring->words[at + 1], ring->words[at + 2], ring->words + at + RECORD_HEAD,
             count);
        taken += count;
        tail += RECORD_HEAD + (uint64_t)count;
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
    return taken;
}

uint64_t send_queues_drain(struct send_queues *queues, send_queue_take *take, void *context)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < queues->senders; i++)
        taken += drain_ring(queues, &queues->ring[i], take, context);
    return taken;
}

bool send_queues_must_wake(struct send_queues *queues)
{
    /*
     * Both sides change the same word, so one of them comes second: either we see the sleeper or it
     * sees our words.
     */
    if (atomic_fetch_or_explicit(&queues->sleeping, 0, memory_order_acq_rel) == 0) return false;
    return atomic_exchange_explicit(&queues->sleeping, 0, memory_order_acq_rel) != 0;
}

bool send_queues_sleep(struct send_queues *queues)
{
    (void)atomic_exchange_explicit(&queues->sleeping, 1, memory_order_acq_rel);
    for (uint32_t i = 0; i < queues->senders; i++) {
        struct send_ring *ring = &queues->ring[i];
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (head != atomic_load_explicit(&ring->tail, memory_order_relaxed)) {
            send_queues_awake(queues);
            return false;
        }
    }
    return true;
}

void send_queues_awake(struct send_queues *queues)
{
    (void)atomic_exchange_explicit(&queues->sleeping, 0, memory_order_acq_rel);
}
