/* pool.h -- records of one type, addressed by a reference that notices when it has gone stale. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "kernel/base/page_map.h"

/*
 * A reference is one word: low 24 bits index (from 1), high 8 bits generation; 0 is "none".
 * Releasing a record moves its generation on, so an old reference finds nothing. Eight bits wrap:
 * what comes from outside is confirmed by a second word (transaction id, sender data) as well.
 *
 * A pool belongs to one block instance (no locking), grows by pages of its resource group up to
 * `max` records, and gives pages back only when it is dropped.
 */
#define POOL_INDEX_MAX 0xFFFFFFu
#define REF_NONE       0u

/* The first member of every pooled record. Owned by the pool. */
struct pool_record {
    uint32_t ref;       /* This record's own reference while it is seized, else 0. */
    uint32_t next_free; /* Index of the next free record; generation in the high bits. */
};

struct pool {
    struct page_map pages;
    struct arena *arena;
    enum resource_group group;
    uint32_t record_size;
    uint32_t head_size; /* Bytes of a record that are zeroed and poisoned: pool_head(). */
    uint32_t per_page;
    uint64_t page_factor; /* 2^40 / per_page, rounded up: turns the division of an index into a
                             multiplication. */
    uint32_t max;
    uint32_t carved; /* Records that exist, used or free. */
    uint32_t free;   /* Index of the first free record, 0 = none. */
    uint32_t in_use;
    uint32_t high;      /* Most records ever in use. */
    uint32_t failed;    /* Requests refused. */
    uint32_t fail_next; /* Test hook: when n > 0, the n-th request from now is refused. */
};

/* Prepares a pool of records of `record_size` bytes (a struct whose first member is struct
 * pool_record). */
void pool_init(struct pool *pool, struct arena *arena, enum resource_group group,
               uint32_t record_size, uint32_t max);

/* Only the first `bytes` of each record are zeroed and poisoned; behind them is a buffer, whose
 * user knows how much of it he has filled. Once, before the first record is seized. */
void pool_head(struct pool *pool, size_t bytes);

/* Takes the memory for so many records (or the pool's limit) now: they can always be had. False:
 * there is no memory. */
bool pool_reserve(struct pool *pool, uint32_t records);

/* Takes the first page of each of these now (I-KERNEL-7): pools give nothing back, so what has
 * grown first would else keep the others from their first record for ever. False: no memory. */
bool pools_begin(struct pool *const *pools, uint32_t count);

/* A record whose head, as a rule all of it, is zeroed (its pool_record filled), or NULL when the
 * limit or the memory is reached. */
void *pool_seize(struct pool *pool);

/* Releases a record got from pool_seize(). Its head is poisoned. */
void pool_release(struct pool *pool, void *record);

/* The first record in use with an index greater than `index`, or NULL; for walks that break off and
 * go on. */
void *pool_next(const struct pool *pool, uint32_t index);

/* Gives all memory back. */
void pool_drop(struct pool *pool);

static inline uint32_t pool_index(uint32_t ref)
{
    return ref & POOL_INDEX_MAX;
}

/* The record of an index that has been carved. For the pool's own functions. */
static inline struct pool_record *pool_record_at(const struct pool *pool, uint32_t index)
{
    /* Exact: slot < 2^24, and the factor is too large by less than per_page / 2^40 of a page,
     * per_page <= 2^12. */
    uint32_t slot = index - 1;
    uint32_t page_no = (uint32_t)(slot * pool->page_factor >> 40);
    uint8_t *page = page_map_at(&pool->pages, page_no);
    return (struct pool_record *)(void *)(page + (size_t)(slot - page_no * pool->per_page) *
                                                     pool->record_size);
}

/* The record of a reference that may be stale or forged; NULL when it is. */
static inline void *pool_find(const struct pool *pool, uint32_t ref)
{
    uint32_t index = pool_index(ref);
    if (index - 1u >= pool->carved) return NULL;
    struct pool_record *record = pool_record_at(pool, index);
    return record->ref == ref ? record : NULL;
}

/* Asks the memory for the record of a reference that may be stale or forged; it is used a little
 * later. */
static inline void pool_prefetch(const struct pool *pool, uint32_t ref)
{
    uint32_t index = pool_index(ref);
    if (index - 1u >= pool->carved) return;
    const uint8_t *record = (const uint8_t *)pool_record_at(pool, index);
    __builtin_prefetch(record);
    if (pool->record_size > 64) __builtin_prefetch(record + 64);
}
