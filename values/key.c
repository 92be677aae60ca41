/* key.c -- splits, checks, hashes and compares KEY sections. */
/* SPDX-License-Identifier: MIT */
#include "values/key.h"
#include <string.h>
#include <xxhash.h>
#include "values/errors.h"

/* Finds the parts; values are only measured, not checked. */
static bool key_measure(const struct table_def *def, const uint32_t *key, uint32_t words,
                        struct key_parts *parts)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < def->key_count; i++) {
        const struct table_column *column = &def->columns[def->key_columns[i]];
        if (at >= words) return false;
        const uint8_t *bytes = (const uint8_t *)(key + at);
        uint32_t size = column_value_size(&column->format, bytes, (words - at) * 4u);
        if (size == 0) return false;
        parts->bytes[i] = bytes;
        parts->size[i] = size;
        at += words_of(size);
    }
    return at == words;
}

uint32_t key_split(const struct table_def *def, const uint32_t *key, uint32_t words,
                   struct key_parts *parts)
{
    if (!key_measure(def, key, words, parts)) return ERR_KEY_LENGTH;
    for (uint32_t i = 0; i < def->key_count; i++) {
        const struct table_column *column = &def->columns[def->key_columns[i]];
        uint32_t error = column_check(&column->format, parts->bytes[i], parts->size[i]);
        if (error != 0) return error;
        /* Padding takes part in byte-wise comparison of whole keys, so it must be zero. */
        for (uint32_t pad = parts->size[i]; pad < words_of(parts->size[i]) * 4u; pad++) {
            if (parts->bytes[i][pad] != 0) return ERR_KEY_LENGTH;
        }
    }
    return 0;
}

/* The canonical form of key column values, concatenated; only the partitioning ones when asked. */
static uint64_t hash_parts(const struct table_def *def, const struct key_parts *parts,
                           bool partition_only)
{
    uint32_t form[TABLE_KEY_BYTES_MAX / 4 + TABLE_KEY_COLUMNS_MAX];
    uint8_t *out = (uint8_t *)form;
    uint32_t at = 0;
    for (uint32_t i = 0; i < def->key_count; i++) {
        const struct table_column *column = &def->columns[def->key_columns[i]];
        if (partition_only && !table_column_partitions(def, column)) continue;
        uint32_t size = column_hash_form(&column->format, parts->bytes[i], parts->size[i], out + at,
                                         (uint32_t)sizeof form - at);
        uint32_t padded = words_of(size) * 4u;
        memset(out + at + size, 0, padded - size);
        at += padded;
    }
    return XXH3_64bits(out, at);
}

static uint64_t hash_columns(const struct table_def *def, const uint32_t *key, uint32_t words,
                             bool partition_only)
{
    struct key_parts parts;
    return key_measure(def, key, words, &parts) ? hash_parts(def, &parts, partition_only) : 0;
}

uint64_t key_parts_partition_hash(const struct table_def *def, const struct key_parts *parts)
{
    return hash_parts(def, parts, true);
}

/* Keys whose bytes decide are hashed where they stand: their canonical form is the section itself.
 */
static bool key_bytewise(const struct table_def *def)
{
    for (uint32_t i = 0; i < def->key_count; i++) {
        if (!column_is_bytewise(&def->columns[def->key_columns[i]].format)) return false;
    }
    return true;
}

uint64_t key_hash(const struct table_def *def, const uint32_t *key, uint32_t words)
{
    if (key_bytewise(def)) return XXH3_64bits(key, (size_t)words * 4u);
    return hash_columns(def, key, words, false);
}

uint64_t key_partition_hash(const struct table_def *def, const uint32_t *key, uint32_t words)
{
    if (def->partition_key_count == def->key_count) return key_hash(def, key, words);
    return hash_columns(def, key, words, true);
}

bool key_equal(const struct table_def *def, const uint32_t *a, uint32_t a_words, const uint32_t *b,
               uint32_t b_words)
{
    if (key_bytewise(def)) return a_words == b_words && memcmp(a, b, (size_t)a_words * 4u) == 0;
    struct key_parts pa;
    struct key_parts pb;
    if (!key_measure(def, a, a_words, &pa) || !key_measure(def, b, b_words, &pb)) return false;
    for (uint32_t i = 0; i < def->key_count; i++) {
        const struct column_format *format = &def->columns[def->key_columns[i]].format;
        if (column_compare(format, pa.bytes[i], pa.size[i], pb.bytes[i], pb.size[i]) != 0)
            return false;
    }
    return true;
}

void key_def_make(struct table_def *key_def, const struct table_def *def)
{
    memcpy(key_def, def, sizeof *def);
    key_def->column_count = def->key_count;
    key_def->column_capacity = TABLE_KEY_COLUMNS_MAX;
    key_def->heap_size = 0;
    key_def->heap_used = 0;
    for (uint32_t i = 0; i < def->key_count; i++) {
        key_def->columns[i] = def->columns[def->key_columns[i]];
        key_def->key_columns[i] = (uint16_t)i;
    }
}
