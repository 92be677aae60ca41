/* key.h -- the KEY section: checking, hashing, finding its columns. Shared by client, TC, LQH, so
 * that all agree. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "values/attr.h"
#include "values/table_def.h"

/* Where each key column's value stands in a KEY section (attr.h). */
struct key_parts {
    const uint8_t *bytes[TABLE_KEY_COLUMNS_MAX];
    uint32_t size[TABLE_KEY_COLUMNS_MAX];
};

/*
 * Splits a KEY section of `words` words and checks every value of it (lengths, character sets,
 * padding). 0, or the error code; ERR_KEY_LENGTH for a section that is too short or too long.
 */
uint32_t key_split(const struct table_def *def, const uint32_t *key, uint32_t words,
                   struct key_parts *parts);

/*
 * XXH3-64 of the key in its canonical form (column_hash_form), seed 0: equal keys hash equally
 * whatever their bytes. Low half: bucket in the hash index. `key` must have passed key_split().
 */
uint64_t key_hash(const struct table_def *def, const uint32_t *key, uint32_t words);

/* The same hash over the partition key columns only. Equal to key_hash() when all key columns
 * partition. */
uint64_t key_partition_hash(const struct table_def *def, const uint32_t *key, uint32_t words);

/* The partition hash of values that stand anywhere, each checked for its column; those of the other
 * key columns are not looked at. */
uint64_t key_parts_partition_hash(const struct table_def *def, const struct key_parts *parts);

/* The hash map bucket of a partition hash: its high half modulo the number of buckets. */
static inline uint32_t hash_map_bucket(uint64_t partition_hash, uint32_t buckets)
{
    return (uint32_t)(partition_hash >> 32) % buckets;
}

/* True when two keys are equal by their columns' collations. Both have passed key_split(). */
bool key_equal(const struct table_def *def, const uint32_t *a, uint32_t a_words, const uint32_t *b,
               uint32_t b_words);

/* Bytes of memory for a definition that has only the key columns. */
#define KEY_DEF_BYTES                                                                              \
    (sizeof(struct table_def) + TABLE_KEY_COLUMNS_MAX * sizeof(struct table_column))

/*
 * Makes, in KEY_DEF_BYTES of memory aligned to 8, a definition with only the key columns of `def`:
 * enough for all functions of this file, and small enough to stay in the cache of whoever routes by
 * keys. It has no names and no defaults.
 */
void key_def_make(struct table_def *key_def, const struct table_def *def);
