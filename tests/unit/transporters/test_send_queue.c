/* test_send_queue.c -- the rings between threads: order, wrapping, sleeping; also for TSan. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kernel/base/rng.h"
#include "transporters/send_queue.h"

#define SENDERS 3u
#define RECORDS 200000u

struct seen {
    uint32_t next[SENDERS + 1]; /* By peer: here the sender's number + 1. */
    uint64_t words;
    uint32_t wrong;
};

static void take(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                 uint32_t count)
{
    struct seen *seen = context;
    if (peer == 0 || peer > SENDERS || epoch != seen->next[peer] % 1000 || count == 0) {
        seen->wrong++;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        seen->wrong += words[i] != seen->next[peer] + i;
    seen->next[peer]++;
    seen->words += count;
}

static bool put(struct send_queues *queues, uint32_t sender, uint32_t number, uint32_t count)
{
    uint32_t words[64];
    for (uint32_t i = 0; i < count; i++)
        words[i] = number + i;
    return send_queue_put(queues, sender, sender + 1, number % 1000, words, count);
}

static void test_fills_and_wraps(void **state)
{
    (void)state;
    struct send_queues *queues = send_queues_create(1, 128);
    struct seen seen = {0};
    struct rng rng;
    uint32_t number = 0;
    rng_seed(&rng, 5);
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t in_queue = 0;
        while (put(queues, 0, number, 1 + (uint32_t)rng_below(&rng, 61))) {
            number++;
            assert_true(++in_queue <= 32);
            if (rng_chance(&rng, 1, 4)) break;
        }
        send_queues_drain(queues, take, &seen);
        assert_int_equal(seen.next[1], number);
        assert_int_equal(seen.wrong, 0);
    }
    uint32_t words[128] = {0};
    assert_true(number > 20000);
    assert_false(send_queue_put(queues, 0, 1, 1, words, 62)); /* More than half the ring. */
    assert_true(put(queues, 0, number, 61)); /* The largest always fits into an empty one. */
    assert_true(send_queue_put(queues, 0, 1, 1, words, 0)); /* Nothing is nothing. */
    assert_int_equal(send_queues_drain(queues, take, &seen), 61);
    assert_int_equal(send_queues_drain(queues, take, &seen), 0);
    send_queues_destroy(queues);
}

static void test_sleeping(void **state)
{
    (void)state;
    struct send_queues *queues = send_queues_create(2, 0);
    struct seen seen = {0};
    assert_false(send_queues_must_wake(queues)); /* Nobody sleeps. */
    assert_true(send_queues_sleep(queues));
    assert_true(put(queues, 1, 0, 5));
    assert_true(send_queues_must_wake(queues));
    assert_false(send_queues_must_wake(queues)); /* Once is enough. */
    assert_false(send_queues_sleep(queues));     /* There is work. */
    assert_int_equal(send_queues_drain(queues, take, &seen), 5);
    assert_true(send_queues_sleep(queues));
    send_queues_awake(queues);
    assert_false(send_queues_must_wake(queues));
    send_queues_destroy(queues);
}

/* Stands for the loop that sleeps and uv_async_send(). */
struct bed {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool woken;
};

struct sender {
    struct send_queues *queues;
    struct bed *bed;
    uint32_t number;
};

static void *send_all(void *argument)
{
    struct sender *sender = argument;
    for (uint32_t i = 0; i < RECORDS;) {
        if (put(sender->queues, sender->number, i, 1 + (i * 7 + sender->number) % 60)) i++;
        if (i % 16 == 0 || i == RECORDS) {
            if (send_queues_must_wake(sender->queues)) {
                pthread_mutex_lock(&sender->bed->mutex);
                sender->bed->woken = true;
                pthread_cond_signal(&sender->bed->cond);
                pthread_mutex_unlock(&sender->bed->mutex);
            }
        }
    }
    return NULL;
}

static void sleep_until_woken(struct send_queues *queues, struct bed *bed)
{
    if (!send_queues_sleep(queues)) return;
    pthread_mutex_lock(&bed->mutex);
    while (!bed->woken)
        pthread_cond_wait(&bed->cond, &bed->mutex);
    bed->woken = false;
    pthread_mutex_unlock(&bed->mutex);
}

static void test_threads_lose_nothing(void **state)
{
    (void)state;
    struct send_queues *queues = send_queues_create(SENDERS, 1024);
    struct bed bed = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct sender sender[SENDERS];
    pthread_t thread[SENDERS];
    struct seen seen = {0};
    for (uint32_t i = 0; i < SENDERS; i++) {
        sender[i] = (struct sender){queues, &bed, i};
        assert_int_equal(pthread_create(&thread[i], NULL, send_all, &sender[i]), 0);
    }
    uint32_t done = 0;
    while (done < SENDERS) {
        /* A sender that cannot put goes on trying, so sleeping with a full ring would be an endless
         * wait. */
        if (send_queues_drain(queues, take, &seen) == 0) sleep_until_woken(queues, &bed);
        done = 0;
        for (uint32_t i = 1; i <= SENDERS; i++)
            done += seen.next[i] == RECORDS ? 1 : 0;
    }
    for (uint32_t i = 0; i < SENDERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(seen.wrong, 0);
    send_queues_destroy(queues);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fills_and_wraps),
        cmocka_unit_test(test_sleeping),
        cmocka_unit_test(test_threads_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
