/* acc_index.c -- linear hashing from key hash to row id: one bucket is split or joined per insert
 * or delete. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buckets are numbered; a hash belongs to bucket (hash & mask), or, when that is not made yet, to
 * the one of which it will be split off, (hash & mask / 2). The next bucket to be made is always
 * number `buckets`.
 */
#include "blocks/dbacc/acc_state.h"
#include "values/errors.h"

/* The elements of one or two chains on their way into others, and the overflow buckets that are
 * free meanwhile. */
struct chain_copy {
    uint32_t count;
    uint32_t spare_count;
    uint32_t spare[CHAIN_MAX + 1];
    uint32_t hash[CHAIN_ELEMENTS];
    uint32_t row[CHAIN_ELEMENTS];
};

/* The bucket's elements that have the hash, one bit each. */
static inline uint32_t bucket_match(const struct acc_bucket *bucket, uint32_t hash)
{
    uint32_t match = 0;
    for (uint32_t i = 0; i < BUCKET_ELEMENTS; i++)
        match |= (uint32_t)(bucket->hash[i] == hash) << i;
    return match & ((1u << bucket->count) - 1u);
}

uint32_t acc_find(const struct acc_frag *frag, uint32_t hash, const uint32_t *key,
                  uint32_t key_words)
{
    if (frag->buckets == 0) return ROW_NONE;
    const struct acc_bucket *bucket = acc_bucket_at(frag, acc_bucket_of(frag, hash));
    for (;;) {
        for (uint32_t match = bucket_match(bucket, hash); match != 0; match &= match - 1u) {
            uint32_t row = bucket->row[__builtin_ctz(match)];
            if (tup_key_equal(frag->rows, row, key, key_words)) return row;
        }
        if (bucket->overflow == 0) return ROW_NONE;
        bucket = acc_overflow_at(frag->acc, bucket->overflow);
    }
}

void acc_prefetch(const struct acc_frag *frag, uint32_t hash)
{
    if (frag->buckets == 0) return;
    __builtin_prefetch(acc_bucket_at(frag, acc_bucket_of(frag, hash)));
}

uint32_t acc_likely_row(const struct acc_frag *frag, uint32_t hash)
{
    if (frag->buckets == 0) return ROW_NONE;
    const struct acc_bucket *bucket = acc_bucket_at(frag, acc_bucket_of(frag, hash));
    uint32_t match = bucket_match(bucket, hash);
    return match == 0 ? ROW_NONE : bucket->row[__builtin_ctz(match)];
}

void acc_prefetch_row(const struct acc_frag *frag, uint32_t hash)
{
    uint32_t row = acc_likely_row(frag, hash);
    if (row != ROW_NONE) tup_prefetch(frag->rows, row);
}

/* Takes all elements out of a chain; its overflow buckets become spares. */
static void chain_gather(struct acc *acc, struct acc_bucket *bucket, struct chain_copy *copy)
{
    for (;;) {
        for (uint32_t i = 0; i < bucket->count; i++) {
            copy->hash[copy->count] = bucket->hash[i];
            copy->row[copy->count] = bucket->row[i];
            copy->count++;
        }
        uint32_t next = bucket->overflow;
        bucket->count = 0;
        bucket->overflow = 0;
        if (next == 0) return;
        copy->spare[copy->spare_count++] = next;
        bucket = acc_overflow_at(acc, next);
    }
}

/* Appends one element at the chain's end `*last`, with a spare bucket when that is full. */
static void chain_put(struct acc *acc, struct acc_bucket **last, struct chain_copy *copy,
                      uint32_t hash, uint32_t row)
{
    struct acc_bucket *bucket = *last;
    if (bucket->count == BUCKET_ELEMENTS) {
        ndbrequire(copy->spare_count > 0);
        bucket->overflow = copy->spare[--copy->spare_count];
        bucket = acc_overflow_at(acc, bucket->overflow);
        bucket->count = 0;
        bucket->overflow = 0;
        *last = bucket;
    }
    bucket->hash[bucket->count] = hash;
    bucket->row[bucket->count] = row;
    bucket->count++;
}

static void spares_release(struct acc *acc, const struct chain_copy *copy)
{
    for (uint32_t i = 0; i < copy->spare_count; i++)
        acc_overflow_release(acc, copy->spare[i]);
}

/* Makes bucket number `buckets`. False without memory. */
static bool bucket_add(struct acc_frag *frag)
{
    uint32_t number = frag->buckets;
    if (number % BUCKETS_PER_PAGE == 0 &&
        page_dir_add_at(&frag->pages, number / BUCKETS_PER_PAGE) == NULL)
        return false;
    struct acc_bucket *bucket = acc_bucket_at(frag, number);
    bucket->count = 0;
    bucket->overflow = 0;
    frag->buckets++;
    if (number > frag->mask) frag->mask = frag->mask << 1 | 1u;
    return true;
}

/* Unmakes the last bucket, which is empty. */
static void bucket_remove(struct acc_frag *frag)
{
    uint32_t number = --frag->buckets;
    if (number % BUCKETS_PER_PAGE == 0) page_dir_remove(&frag->pages, number / BUCKETS_PER_PAGE);
    if (number > 0 && number - 1 <= frag->mask >> 1) frag->mask >>= 1;
}

/*
 * Adds a bucket and moves to it what belongs there. Two compact chains need at most as many
 * overflow buckets as the one they came from, so the only memory needed is the new bucket's;
 * without it the index stays fuller for a while.
 */
static void index_grow(struct acc *acc, struct acc_frag *frag)
{
    struct chain_copy copy;
    if (!bucket_add(frag)) {
        jam();
        return;
    }
    uint32_t number = frag->buckets - 1;
    struct acc_bucket *from = acc_bucket_at(frag, number & frag->mask >> 1);
    struct acc_bucket *to = acc_bucket_at(frag, number);
    copy.count = copy.spare_count = 0;
    chain_gather(acc, from, &copy);
    for (uint32_t i = 0; i < copy.count; i++)
        chain_put(acc, (copy.hash[i] & frag->mask) == number ? &to : &from, &copy, copy.hash[i],
                  copy.row[i]);
    spares_release(acc, &copy);
}

static uint32_t chain_count(const struct acc *acc, const struct acc_bucket *bucket,
                            uint32_t *buckets)
{
    uint32_t count = bucket->count;
    *buckets = 0;
    while (bucket->overflow != 0) {
        bucket = acc_overflow_at(acc, bucket->overflow);
        count += bucket->count;
        (*buckets)++;
    }
    return count;
}

/* Joins the last bucket with the one it was split off. Without the overflow bucket this may need,
 * it waits. */
static void index_shrink(struct acc *acc, struct acc_frag *frag)
{
    struct chain_copy copy;
    uint32_t number = frag->buckets - 1;
    struct acc_bucket *to = acc_bucket_at(frag, number & frag->mask >> 1);
    struct acc_bucket *from = acc_bucket_at(frag, number);
    uint32_t have_to;
    uint32_t have_from;
    uint32_t count = chain_count(acc, to, &have_to) + chain_count(acc, from, &have_from);
    uint32_t need = count <= BUCKET_ELEMENTS ? 0 : (count - 1) / BUCKET_ELEMENTS;
    if (need > CHAIN_MAX) return;
    copy.count = copy.spare_count = 0;
    if (need > have_to + have_from) {
        jam();
        copy.spare[0] = acc_overflow_seize(acc);
        if (copy.spare[0] == 0) return;
        copy.spare_count = 1;
    }
    chain_gather(acc, to, &copy);
    chain_gather(acc, from, &copy);
    for (uint32_t i = 0; i < copy.count; i++)
        chain_put(acc, &to, &copy, copy.hash[i], copy.row[i]);
    spares_release(acc, &copy);
    bucket_remove(frag);
}

uint32_t acc_insert(struct acc *acc, struct acc_frag *frag, uint32_t hash, uint32_t row)
{
    if (frag->buckets == 0 && !bucket_add(frag)) return ERR_INDEX_MEMORY;
    struct acc_bucket *bucket = acc_bucket_at(frag, acc_bucket_of(frag, hash));
    uint32_t length = 0;
    while (bucket->overflow != 0) {
        bucket = acc_overflow_at(acc, bucket->overflow);
        length++;
    }
    if (bucket->count == BUCKET_ELEMENTS) {
        jam();
        if (length == CHAIN_MAX) return ERR_HASH_MAXIMUM;
        uint32_t overflow = acc_overflow_seize(acc);
        if (overflow == 0) return ERR_INDEX_MEMORY;
        bucket->overflow = overflow;
        bucket = acc_overflow_at(acc, overflow);
    }
    bucket->hash[bucket->count] = hash;
    bucket->row[bucket->count] = row;
    bucket->count++;
    frag->elements++;
    if (frag->elements * 2u > (uint64_t)frag->buckets * LOAD_GROW) index_grow(acc, frag);
    return 0;
}

/* Finds the place of an element, which is there. */
static struct acc_bucket *element_find(struct acc *acc, struct acc_frag *frag, uint32_t hash,
                                       uint32_t row, uint32_t *place)
{
    ndbrequire(frag->buckets > 0);
    struct acc_bucket *bucket = acc_bucket_at(frag, acc_bucket_of(frag, hash));
    for (;;) {
        for (uint32_t match = bucket_match(bucket, hash); match != 0; match &= match - 1u) {
            *place = (uint32_t)__builtin_ctz(match);
            if (bucket->row[*place] == row) return bucket;
        }
        ndbrequire(bucket->overflow != 0); /* I-ACC-1: every row is in the index. */
        bucket = acc_overflow_at(acc, bucket->overflow);
    }
}

void acc_remove(struct acc *acc, struct acc_frag *frag, uint32_t hash, uint32_t row)
{
    uint32_t place;
    struct acc_bucket *hole = element_find(acc, frag, hash, row, &place);
    struct acc_bucket *before = NULL;
    struct acc_bucket *last = hole;
    while (last->overflow != 0) {
        before = last;
        last = acc_overflow_at(acc, last->overflow);
    }
    last->count--;
    hole->hash[place] = last->hash[last->count];
    hole->row[place] = last->row[last->count];
    frag->elements--;
    if (last->count == 0) {
        /* The bucket before `last` is known unless the hole itself is the last of a longer chain.
         */
        if (before == NULL) {
            struct acc_bucket *at = acc_bucket_at(frag, acc_bucket_of(frag, hash));
            while (at != last) {
                before = at;
                at = acc_overflow_at(acc, at->overflow);
            }
        }
        if (before != NULL) {
            jam();
            uint32_t ref = before->overflow;
            before->overflow = 0;
            acc_overflow_release(acc, ref);
        }
    }
    if (frag->elements == 0 && frag->buckets == 1) {
        jam();
        bucket_remove(frag);
        frag->mask = 0;
    } else if (frag->buckets > 1 && frag->elements * 2u < (uint64_t)frag->buckets * LOAD_SHRINK) {
        index_shrink(acc, frag);
    }
}

struct acc_frag *acc_frag_create(struct acc *acc, struct tup_frag *rows)
{
    struct acc_frag *frag = pool_seize(&acc->frags);
    if (frag == NULL) return NULL;
    frag->acc = acc;
    frag->rows = rows;
    page_dir_init(&frag->pages, acc->arena, RG_DATA);
    return frag;
}

bool acc_frag_drop_step(struct acc *acc, struct acc_frag *frag)
{
    /* Gives back one page of buckets per step, from the end. */
    if (frag->buckets > 0) {
        uint32_t first = (frag->buckets - 1) / BUCKETS_PER_PAGE * BUCKETS_PER_PAGE;
        for (uint32_t number = first; number < frag->buckets; number++) {
            struct acc_bucket *bucket = acc_bucket_at(frag, number);
            uint32_t next = bucket->overflow;
            frag->elements -= bucket->count;
            while (next != 0) {
                uint32_t ref = next;
                next = acc_overflow_at(acc, ref)->overflow;
                frag->elements -= acc_overflow_at(acc, ref)->count;
                acc_overflow_release(acc, ref);
            }
        }
        page_dir_remove(&frag->pages, first / BUCKETS_PER_PAGE);
        frag->buckets = first;
        while (frag->mask > 0 && (first == 0 || first - 1 <= frag->mask >> 1))
            frag->mask >>= 1;
        return false;
    }
    ndbrequire(frag->elements == 0);
    page_dir_drop(&frag->pages);
    pool_release(&acc->frags, frag);
    return true;
}

void acc_frag_walk(const struct acc_frag *frag,
                   void (*visit)(void *context, uint32_t hash, uint32_t row), void *context)
{
    for (uint32_t number = 0; number < frag->buckets; number++) {
        const struct acc_bucket *bucket = acc_bucket_at(frag, number);
        for (;;) {
            for (uint32_t i = 0; i < bucket->count; i++)
                visit(context, bucket->hash[i], bucket->row[i]);
            if (bucket->overflow == 0) break;
            bucket = acc_overflow_at(frag->acc, bucket->overflow);
        }
    }
}

uint64_t acc_frag_elements(const struct acc_frag *frag)
{
    return frag->elements;
}

uint32_t acc_frag_pages(const struct acc_frag *frag)
{
    return frag->pages.pages;
}
