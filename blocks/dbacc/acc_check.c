/* acc_check.c -- the invariants of index and locks. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I-ACC-1 Every row that exists is in its fragment's index exactly once (tup_check checks it from
 * the rows' side). I-ACC-2 An element stands in the chain of its hash; chains are compact and no
 * longer than CHAIN_MAX. I-ACC-3 A row's holders are all shared, or all of one transaction; the
 * first one knows their number. I-ACC-4 The first waiter of a row cannot be granted beside its
 * holders.
 */
#include "blocks/dbacc/acc_state.h"

static uint32_t chain_check(const struct acc_frag *frag, uint32_t number, uint32_t *overflow)
{
    const struct acc_bucket *bucket = acc_bucket_at(frag, number);
    uint32_t count = 0;
    uint32_t length = 0;
    for (;;) {
        ndbrequire(bucket->count <= BUCKET_ELEMENTS);
        for (uint32_t i = 0; i < bucket->count; i++)
            ndbrequire(acc_bucket_of(frag, bucket->hash[i]) == number); /* I-ACC-2 */
        count += bucket->count;
        if (bucket->overflow == 0) break;
        ndbrequire(bucket->count == BUCKET_ELEMENTS); /* I-ACC-2 */
        bucket = acc_overflow_at(frag->acc, bucket->overflow);
        ndbrequire(bucket->count > 0); /* I-ACC-2 */
        length++;
    }
    ndbrequire(length <= CHAIN_MAX);
    *overflow += length;
    return count;
}

static void frag_check(const struct acc_frag *frag, uint32_t *overflow)
{
    uint64_t elements = 0;
    for (uint32_t number = 0; number < frag->buckets; number++)
        elements += chain_check(frag, number, overflow);
    ndbrequire(elements == frag->elements);
    ndbrequire(frag->pages.pages == (frag->buckets + BUCKETS_PER_PAGE - 1) / BUCKETS_PER_PAGE);
    if (frag->buckets == 0) return;
    ndbrequire(frag->buckets - 1 <= frag->mask);
    ndbrequire(frag->mask == 0 || frag->buckets - 1 > frag->mask >> 1);
}

static void row_check(const struct acc *acc, const struct acc_lock *head)
{
    uint32_t holders = 0;
    uint32_t exclusive = 0;
    for (uint32_t ref = head->record.ref; ref != REF_NONE;) {
        const struct acc_lock *lock = acc_lock_get(acc, ref);
        ndbrequire(lock->state == LOCK_HELD);
        ndbrequire(lock->row == head->row);
        ndbrequire(lock->frag == head->frag);
        if (head->exclusive > 0) {
            ndbrequire(lock->transid1 == head->transid1); /* I-ACC-3 */
            ndbrequire(lock->transid2 == head->transid2); /* I-ACC-3 */
        }
        holders++;
        exclusive += lock->mode == LOCK_EXCLUSIVE;
        ref = lock->next;
    }
    ndbrequire(holders == head->holders);     /* I-ACC-3 */
    ndbrequire(exclusive == head->exclusive); /* I-ACC-3 */
    uint32_t last = REF_NONE;
    for (uint32_t ref = head->wait_first; ref != REF_NONE;) {
        const struct acc_lock *lock = acc_lock_get(acc, ref);
        ndbrequire(lock->state == LOCK_WAITING);
        ndbrequire(lock->prev == last);
        ndbrequire(lock->row == head->row);
        last = ref;
        ref = lock->next;
    }
    ndbrequire(head->wait_last == last);
    if (head->wait_first == REF_NONE) return;
    const struct acc_lock *first = acc_lock_get(acc, head->wait_first);
    ndbrequire(first->mode == LOCK_EXCLUSIVE || head->exclusive > 0); /* I-ACC-4 */
}

static uint32_t list_check(const struct acc *acc, const struct lock_list *list, bool ready)
{
    uint32_t count = 0;
    uint32_t last = REF_NONE;
    for (uint32_t ref = list->first; ref != REF_NONE;) {
        const struct acc_lock *lock = acc_lock_get(acc, ref);
        ndbrequire(lock->list_prev == last);
        ndbrequire((lock->ready != 0) == ready);
        ndbrequire(ready || lock->state == LOCK_WAITING);
        count++;
        last = ref;
        ref = lock->list_next;
    }
    ndbrequire(list->last == last);
    return count;
}

static void locks_check(const struct acc *acc)
{
    uint32_t waiting = 0;
    uint32_t ready = 0;
    for (const struct acc_lock *lock = pool_next(&acc->locks, 0); lock != NULL;
         lock = pool_next(&acc->locks, pool_index(lock->record.ref))) {
        waiting += lock->state == LOCK_WAITING;
        ready += lock->ready;
        ndbrequire(lock->state != LOCK_FREE);
        if (lock->state == LOCK_GONE) ndbrequire(lock->ready);
        if (lock->state != LOCK_HELD && lock->state != LOCK_WAITING) continue;
        uint32_t first = *tup_lock_word(acc_frag_get(acc, lock->frag)->rows, lock->row);
        ndbrequire(first != REF_NONE);
        if (first == lock->record.ref) row_check(acc, lock);
    }
    ndbrequire(waiting == acc->waiting_count);
    ndbrequire(list_check(acc, &acc->waiting, false) == waiting);
    ndbrequire(list_check(acc, &acc->ready, true) == ready);
}

void acc_check(struct block *block)
{
    const struct acc *acc = (const struct acc *)(void *)block;
    uint32_t overflow = 0;
    if (acc->arena == NULL) return; /* READ_CONFIG_REQ has not come. */
    for (const struct acc_frag *frag = pool_next(&acc->frags, 0); frag != NULL;
         frag = pool_next(&acc->frags, pool_index(frag->record.ref)))
        frag_check(frag, &overflow);
    ndbrequire(overflow == acc->overflow_used);
    acc_overflow_check(acc);
    locks_check(acc);
}
