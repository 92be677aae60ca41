/* send_queue.h -- rings of packed signals towards the thread of the transporter. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * One lock-free ring per sending thread (single producer, single consumer), so each thread's words
 * keep their order. A full ring takes nothing: the caller keeps the words and tries again next
 * round.
 *
 * Sleeping: before the owner's thread blocks it calls send_queues_sleep(); when that returns false
 * there is work and it must not block. A sender calls send_queues_must_wake() once after its puts
 * of a round; true means that it has to wake the owner's thread (uv_async_send). Both sides
 * together never lose a wake-up.
 */
struct send_queues;

#define SEND_QUEUE_WORDS (256u * 1024u) /* 1 MB. */

/* `senders` rings of `words` words each (0 = SEND_QUEUE_WORDS; rounded up to a power of two). NULL
 * = no memory. */
struct send_queues *send_queues_create(uint32_t senders, uint32_t words);
void send_queues_destroy(struct send_queues *queues);

/*
 * Sender's thread `sender` only. Copies all words, or none and returns false: full now. More than
 * half the ring is never taken; with the default size one call may bring two of the largest
 * signals.
 */
bool send_queue_put(struct send_queues *queues, uint32_t sender, uint32_t peer, uint32_t epoch,
                    const uint32_t *words, uint32_t count);

/* Any sender's thread, after its puts: true = wake the owner. */
bool send_queues_must_wake(struct send_queues *queues);

/* Owner's thread: gives every waiting record to `take`, ring by ring; returns how many words there
 * were. */
typedef void send_queue_take(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                             uint32_t count);
uint64_t send_queues_drain(struct send_queues *queues, send_queue_take *take, void *context);

/* Owner's thread: announces that it is about to block; false = something waits, do not block. */
bool send_queues_sleep(struct send_queues *queues);
void send_queues_awake(struct send_queues *queues);
