/* connection_wake.c -- how threads that wait for answers sleep, and how many are woken by one call.
 */
/* SPDX-License-Identifier: MIT */
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
#include "api/ndb/ndb_private.h"

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

/* ---- Gathering: those that were woken queue their next requests, which leave in one write. ----
 */

#define GATHER_NS         50000u
#define GATHER_CREDIT_MAX 16
#define GATHER_PROBE      64u /* Without credit every so many rounds try again. */

static bool gathered(struct gather *gather, uint32_t target)
{
    return (int32_t)(atomic_load(&gather->entries) - target) >= 0;
}

void gather_begin(struct ndb_cluster_connection *connection)
{
    connection->gather.woken = 0;
}

void gather_end(struct ndb_cluster_connection *connection)
{
    connection->gather.quiet = false;
}

void gather_count(struct ndb_cluster_connection *connection, const struct wake_set *set)
{
    struct gather *gather = &connection->gather;
    if (gather->woken == 0) gather->from = atomic_load(&gather->entries);
    for (uint32_t i = 0; i < WAKE_WORDS; i++)
        gather->woken += (uint32_t)__builtin_popcount(set->mask[i]);
}

void gather_enter(struct ndb_cluster_connection *connection)
{
    struct gather *gather = &connection->gather;
    atomic_fetch_add(&gather->entries, 1);
    uint32_t target = atomic_load(&gather->target);
    if (target == 0 || !gathered(gather, target)) return;
    if (atomic_compare_exchange_strong(&gather->target, &target, 0))
        syscall(SYS_futex, &gather->target, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* False: somebody does something else with what it has got. */
static bool wait_for_entries(struct gather *gather, uint32_t target)
{
    const struct timespec wait = {.tv_nsec = GATHER_NS};
    if (target == 0) return true; /* Says "nobody waits"; once in four billion. */
    atomic_store(&gather->target, target);
    while (!gathered(gather, target)) {
        if (syscall(SYS_futex, &gather->target, FUTEX_WAIT_PRIVATE, target, &wait, NULL, 0) != 0 &&
            errno == ETIMEDOUT)
            break;
    }
    atomic_store(&gather->target, 0);
    return gathered(gather, target);
}

void gather_wait(struct ndb_cluster_connection *connection)
{
    struct gather *gather = &connection->gather;
    uint32_t woken = gather->woken;
    gather->woken = 0;
    gather->quiet = false;
    if (woken < 2 || (gather->credit <= 0 && ++gather->turn % GATHER_PROBE != 0)) return;
    gather->quiet = wait_for_entries(gather, gather->from + woken);
    if (!gather->quiet)
        gather->credit -= gather->credit > 0 ? 2 : 0;
    else if (gather->credit < GATHER_CREDIT_MAX)
        gather->credit++;
}
