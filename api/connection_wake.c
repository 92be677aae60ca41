/* connection_wake.c -- how threads that wait for answers sleep, and how many are woken by one call.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A poller that wakes one thread after the other is interrupted by each of them, on a busy
 * processor twice as many switches as there are answers. So 32 ndb_t share a futex, told apart by a
 * bit, and all that got something in a round are woken together. What a thread waits for is a
 * condition of its own under its own lock; the word only says that some condition has changed.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "api/ndb_private.h"

static uint32_t slot_of(const struct ndb *ndb)
{
    return (ndb->instance - 1) % (WAKE_WORDS * 32u);
}

static bool has_something(struct ndb *ndb)
{
    pthread_mutex_lock(&ndb->lock);
    bool has = ndb->inbox.count != 0 || ndb->woken;
    pthread_mutex_unlock(&ndb->lock);
    return has;
}

void wake_wait(struct ndb *ndb, uint64_t until_ns)
{
    uint32_t slot = slot_of(ndb);
    _Atomic uint32_t *word = &ndb->connection->wake[slot / 32u].word;
    struct timespec end = {.tv_sec = (time_t)(until_ns / 1000000000u),
                           .tv_nsec = (long)(until_ns % 1000000000u)};
    for (;;) {
        uint32_t seen = atomic_load(word);
        if (has_something(ndb)) break;
        if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &end, NULL,
                    1u << slot % 32u) != 0 &&
            errno == ETIMEDOUT)
            break;
    }
    pthread_mutex_lock(&ndb->lock);
    ndb->woken = false;
    pthread_mutex_unlock(&ndb->lock);
}

void wake_add(struct wake_set *set, const struct ndb *ndb)
{
    uint32_t slot = slot_of(ndb);
    set->mask[slot / 32u] |= 1u << slot % 32u;
}

void wake_all(struct ndb_cluster_connection *connection, const struct wake_set *set)
{
    for (uint32_t i = 0; i < WAKE_WORDS; i++) {
        if (set->mask[i] == 0) continue;
        atomic_fetch_add(&connection->wake[i].word, 1);
        syscall(SYS_futex, &connection->wake[i].word, FUTEX_WAKE_BITSET_PRIVATE, INT32_MAX, NULL,
                NULL, set->mask[i]);
    }
}
