/* acc_state.h -- private: DBACC's instance, index fragments, buckets, lock records. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbacc/acc.h"
#include "blocks/dbtup/tup_row.h"
#include "kernel/base/page_dir.h"

/*
 * A bucket is one cache line: hashes together, so that a miss compares seven words and is done.
 * When it is full the chain goes on in overflow buckets of the same shape. A chain is compact: only
 * its last bucket has free places.
 */
#define BUCKET_ELEMENTS  7u
#define BUCKETS_PER_PAGE (PAGE_SIZE_BYTES / 64u)
/* Most overflow buckets of a chain, which bounds every operation. Only equal hashes get so far. */
#define CHAIN_MAX      32u
#define CHAIN_ELEMENTS ((CHAIN_MAX + 1u) * BUCKET_ELEMENTS)

struct acc_bucket {
    uint32_t hash[BUCKET_ELEMENTS];
    uint32_t count; /* Elements in this bucket. */
    uint32_t row[BUCKET_ELEMENTS];
    uint32_t overflow; /* Next bucket of the chain: page << 9 | place; 0: there is none (place 0 is
                          the page's head). */
};
static_assert(sizeof(struct acc_bucket) == 64, "a bucket is a cache line");

/* Place 0 of a page of overflow buckets. */
struct overflow_head {
    uint32_t number;
    uint32_t in_use;
    uint32_t free;   /* First free place, linked through acc_bucket.overflow; 0 = none. */
    uint32_t carved; /* Places from here on were never used. */
    uint32_t next;   /* 1 + number of the next page with free places, 0 = none. */
    uint32_t prev;
    uint32_t unused[10];
};
static_assert(sizeof(struct overflow_head) == 64, "the head takes the place of a bucket");

/* Load: elements per bucket, times two. 5.5 of 7 = 79 %; shrinking at 3.5 leaves room before
 * growing again. */
#define LOAD_GROW   11u
#define LOAD_SHRINK 7u

struct acc_frag {
    struct pool_record record;
    struct acc *acc;
    struct tup_frag *rows; /* Lives exactly as long as this. */
    struct page_dir pages; /* Pages of buckets 0 .. buckets - 1. */
    uint32_t buckets;      /* Number of buckets; 0 while there are no elements. */
    uint32_t mask;         /* Smallest 2^n - 1 that covers buckets - 1. */
    uint64_t elements;
};

enum lock_state {
    LOCK_FREE = 0,
    LOCK_HELD,    /* In the row's list of holders. */
    LOCK_WAITING, /* In the row's queue and in the list of waiters by age. */
    LOCK_ORPHAN,  /* Held, but the row has vanished: in no list. */
    LOCK_GONE,    /* Only on the ready list, to tell the operation that it has no place any more. */
};

/*
 *   row's lock word -> first holder -> holder -> ...      (next, prev)
 *                        |
 *                        +-> first waiter -> waiter -> ...  (next, prev), oldest first
 *
 * Holders belong to one transaction, or are all shared. What is said to be of the first holder is
 * valid there only.
 */
struct acc_lock {
    struct pool_record record;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t op;
    uint32_t frag; /* acc_frag's reference. */
    uint32_t row;
    uint32_t next;
    uint32_t prev;
    uint8_t mode;  /* enum lock_mode */
    uint8_t state; /* enum lock_state */
    uint8_t ready; /* 1: it is on the ready list. */
    uint8_t unused;
    uint32_t error;     /* LOCK_GONE: why. */
    uint32_t list_next; /* LOCK_WAITING: next in the list by age. Ready: next in the ready list. */
    uint32_t list_prev;
    uint32_t holders;    /* First holder: number of holders. */
    uint32_t exclusive;  /* First holder: how many of the holders are exclusive. */
    uint32_t wait_first; /* First holder: the first waiter, or REF_NONE. */
    uint32_t wait_last;  /* First holder: the last waiter, or REF_NONE. */
    uint64_t since_ms;   /* LOCK_WAITING: when it began to wait. */
};

struct lock_list {
    uint32_t first;
    uint32_t last;
};

struct acc {
    struct block block;
    struct arena *arena;
    struct pool frags;
    /* Overflow buckets of all fragments, so that a small fragment needs no page of its own for
     * them. */
    struct page_dir overflow;
    uint32_t overflow_page; /* 1 + number of the first page with free places; 0: there is none. */
    uint32_t overflow_used; /* Overflow buckets in use. */
    struct pool locks;
    struct lock_list waiting; /* Waiters by age. */
    struct lock_list ready;
    uint32_t waiting_count;
    uint32_t deadlock_timeout_ms;
};

/* Prepares everything but the block's head; also for tests. */
void acc_init(struct acc *acc, struct arena *arena, uint32_t locks_max, uint32_t frags_max,
              uint32_t deadlock_timeout_ms);
void acc_check(struct block *block);
/* acc_overflow.c: overflow buckets. */
uint32_t acc_overflow_seize(struct acc *acc); /* A reference, or 0 without memory. */
void acc_overflow_release(struct acc *acc, uint32_t ref);
void acc_overflow_check(const struct acc *acc);

static inline struct acc_bucket *acc_overflow_at(const struct acc *acc, uint32_t ref)
{
    struct acc_bucket *page = page_dir_at(&acc->overflow, ref / BUCKETS_PER_PAGE);
    return page + ref % BUCKETS_PER_PAGE;
}

static inline struct acc_bucket *acc_bucket_at(const struct acc_frag *frag, uint32_t number)
{
    struct acc_bucket *page = page_dir_at(&frag->pages, number / BUCKETS_PER_PAGE);
    return page + number % BUCKETS_PER_PAGE;
}

/* The bucket of a hash; there is at least one. */
static inline uint32_t acc_bucket_of(const struct acc_frag *frag, uint32_t hash)
{
    uint32_t number = hash & frag->mask;
    return number < frag->buckets ? number : number & frag->mask >> 1;
}

static inline struct acc_frag *acc_frag_get(const struct acc *acc, uint32_t ref)
{
    struct acc_frag *frag = pool_find(&acc->frags, ref);
    ndbrequire(frag != NULL);
    return frag;
}

static inline struct acc_lock *acc_lock_get(const struct acc *acc, uint32_t ref)
{
    struct acc_lock *lock = pool_find(&acc->locks, ref);
    ndbrequire(lock != NULL);
    return lock;
}
