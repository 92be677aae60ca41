/* api_table.c -- a table as it was read: made of an answer, shared by reference count, asked where
 * its rows are. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_table_state.h"
#include "api/core/api_tx_state.h"
#include "values/table_index.h"

/* The largest number of buckets of a table's hash map. */
#define BUCKETS_MAX 23040u

const struct table_def *api_table_def(const struct api_table *table)
{
    return table->def;
}
uint32_t api_table_lives(const struct api_table *table)
{
    return table->lives;
}
uint32_t api_table_fragments(const struct api_table *table)
{
    return table->fragments;
}
uint32_t api_table_partitions(const struct api_table *table)
{
    return table->partitions;
}
uint32_t api_table_replicas(const struct api_table *table)
{
    return table->replicas;
}
uint32_t api_table_buckets(const struct api_table *table)
{
    return table->buckets;
}

uint32_t api_table_node(const struct api_table *table, uint32_t fragment, uint32_t replica)
{
    if (fragment >= table->fragments || replica >= table->replicas) return 0;
    return table->nodes[fragment * table->replicas + replica];
}

uint32_t api_table_fragment_of(const struct api_table *table, const uint32_t *key, uint32_t words)
{
    if (table->partitions == 1) return 0;
    return table->map[hash_map_bucket(key_partition_hash(table->def, key, words), table->buckets)];
}

uint32_t api_table_fragment_of_unique(const struct api_table *table, uint32_t unique,
                                      const uint32_t *key, uint32_t words)
{
    const void *def = table->unique_keys + unique * API_KEY_DEF_BYTES;
    if (table->partitions == 1) return 0;
    return table->map[hash_map_bucket(key_partition_hash(def, key, words), table->buckets)];
}

struct api_table *api_table_hold(struct api_table *table)
{
    atomic_fetch_add(&table->references, 1);
    return table;
}

void api_table_release(struct api_table *table)
{
    if (table != NULL && atomic_fetch_sub(&table->references, 1) == 1) {
        free(atomic_load(&table->cached));
        free(table->unique_keys);
        free(table->def);
        free(table);
    }
}

void *api_table_cached(struct api_table *table, void *made)
{
    void *kept = atomic_load_explicit(&table->cached, memory_order_acquire);
    if (kept == NULL && made != NULL && atomic_compare_exchange_strong(&table->cached, &kept, made))
        return made;
    free(made);
    return kept;
}

/* The keys of the unique indexes, whose tables are where the table is. */
static uint32_t make_unique_keys(struct api_table *table)
{
    const struct table_def *def = table->def;
    if (def->unique_count == 0) return 0;
    size_t size =
        table_def_size(INDEX_COLUMNS_MAX + 1, (INDEX_COLUMNS_MAX + 1) * (COLUMN_NAME_MAX + 1));
    void *memory = malloc(size);
    table->unique_keys = calloc(def->unique_count, API_KEY_DEF_BYTES);
    uint32_t error = memory == NULL || table->unique_keys == NULL ? ERR_API_MEMORY : 0;
    for (uint32_t i = 0; error == 0 && i < def->unique_count; i++) {
        struct table_def *index;
        error = table_def_of_unique(def, i, memory, size, &index);
        if (error == 0) key_def_make((void *)(table->unique_keys + i * API_KEY_DEF_BYTES), index);
    }
    free(memory);
    return error;
}

/* Checks a distribution section (dict.h) and copies it behind the table object. NULL: malformed, or
 * no memory. */
static struct api_table *make_table(const struct section *distribution)
{
    const uint32_t *words = distribution->words;
    if (distribution->size < DISTRIBUTION_HEAD_WORDS) return NULL;
    uint32_t fragments = words[0];
    uint32_t replicas = words[1];
    uint32_t buckets = words[2];
    if (fragments == 0 || fragments > TABLE_FRAGMENTS_MAX || replicas == 0 ||
        replicas > REPLICAS_MAX)
        return NULL;
    if (buckets == 0 || buckets > BUCKETS_MAX) return NULL;
    uint32_t map_words = (buckets + 1) / 2;
    uint32_t need = fragments * replicas + map_words;
    if (distribution->size != DISTRIBUTION_HEAD_WORDS + need) return NULL;
    struct api_table *table = calloc(1, sizeof *table + need * 4u);
    if (table == NULL) return NULL;
    uint32_t *copy = (uint32_t *)(table + 1);
    memcpy(copy, words + DISTRIBUTION_HEAD_WORDS, need * 4u);
    atomic_init(&table->references, 1);
    table->fragments = fragments;
    table->replicas = replicas;
    table->buckets = buckets;
    table->nodes = copy;
    table->map = (const uint16_t *)(const void *)(copy + fragments * replicas);
    bool fine = true;
    for (uint32_t i = 0; i < fragments * replicas; i++)
        fine = fine && copy[i] <= DATA_NODE_ID_MAX;
    for (uint32_t i = 0; i < buckets; i++)
        fine = fine && table->map[i] < fragments;
    table->partitions = distribution_partitions(table->map, buckets);
    if (fine && fragments % table->partitions == 0) return table;
    free(table);
    return NULL;
}

struct api_table *api_table_decode(const struct section *definition,
                                   const struct section *distribution, uint32_t *error)
{
    struct api_table *table = make_table(distribution);
    size_t size = table_def_decode_size(definition->words, definition->size);
    *error = ERR_REPLY_4215;
    if (table == NULL || size == 0) {
        free(table);
        return NULL;
    }
    void *memory = malloc(size);
    *error = memory == NULL
                 ? ERR_API_MEMORY
                 : table_def_decode(definition->words, definition->size, memory, size, &table->def);
    if (*error == 0) *error = make_unique_keys(table);
    if (*error != 0) {
        free(table->unique_keys);
        free(memory);
        free(table);
        return NULL;
    }
    table->def = memory;
    table->row_words = api_row_words(table->def);
    table_def_internal_name(table->def, table->name, sizeof table->name);
    return table;
}
