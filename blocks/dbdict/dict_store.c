/* dict_store.c -- keeps table definitions in pieces of schema memory and finds them by number and
 * by name. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdict/dict_state.h"
#include <string.h>

void dict_store_init(struct dict *dict)
{
    ndbrequire(dict->table == NULL);
    dict->table_count = block_config(&dict->block)->tables_max + 1u;
    dict->name_slots = 16;
    while (dict->name_slots < dict->table_count)
        dict->name_slots *= 2;
    dict->table =
        block_alloc(&dict->block, RG_SCHEMA, dict->table_count * sizeof(struct dict_table));
    dict->by_name = block_alloc(&dict->block, RG_SCHEMA, dict->name_slots * sizeof(uint32_t));
    dict->scratch = block_alloc(&dict->block, RG_SCHEMA, DICT_WORDS_MAX * 4u);
    dict->master.words = block_alloc(&dict->block, RG_SCHEMA, DICT_WORDS_MAX * 4u);
    dict->master.def_memory = block_alloc(&dict->block, RG_SCHEMA, table_def_size_max());
    dict->master.index_memory = block_alloc(&dict->block, RG_SCHEMA, DICT_INDEX_DEF_BYTES);
    dict->local.def_memory = block_alloc(&dict->block, RG_SCHEMA, table_def_size_max());
    dict->local.index_memory = block_alloc(&dict->block, RG_SCHEMA, DICT_INDEX_DEF_BYTES);
    pool_init(&dict->chunks, block_arena(&dict->block), RG_SCHEMA, sizeof(struct dict_chunk),
              DICT_CHUNKS_MAX);
}

struct dict_table *dict_table_at(struct dict *dict, uint32_t table_id)
{
    if (table_id == 0 || table_id >= dict->table_count) return NULL;
    struct dict_table *table = &dict->table[table_id];
    return table->state == TABLE_UNDEFINED ? NULL : table;
}

uint32_t dict_table_unused(const struct dict *dict, uint32_t above)
{
    for (uint32_t id = above + 1u; id < dict->table_count; id++) {
        if (dict->table[id].state == TABLE_UNDEFINED) return id;
    }
    return 0;
}

bool dict_is_of(const struct dict *dict, uint32_t table_id, uint32_t base_id)
{
    return base_id != 0 && (table_id == base_id || dict->table[table_id].base_id == base_id);
}

/* --- Names. --- */

static uint32_t *name_chain(struct dict *dict, const char *name, uint32_t size)
{
    uint32_t hash = 2166136261u; /* FNV-1a. */
    for (uint32_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return &dict->by_name[hash & (dict->name_slots - 1)];
}

uint32_t dict_table_by_name(struct dict *dict, const char *name, uint32_t size)
{
    uint32_t id = *name_chain(dict, name, size);
    while (id != 0) {
        const struct dict_table *table = &dict->table[id];
        if (table->name_size == size && memcmp(table->name, name, size) == 0) return id;
        id = table->next_by_name;
    }
    return 0;
}

static void name_link(struct dict *dict, uint32_t table_id)
{
    struct dict_table *table = &dict->table[table_id];
    uint32_t *chain = name_chain(dict, table->name, table->name_size);
    table->next_by_name = *chain;
    table->named = true;
    *chain = table_id;
}

static void set_name(struct dict_table *table, const struct table_def *def)
{
    table_def_internal_name(def, table->name, sizeof(table->name));
    table->name_size = (uint32_t)strlen(table->name);
}

static void name_unlink(struct dict *dict, uint32_t table_id)
{
    struct dict_table *table = &dict->table[table_id];
    uint32_t *link = name_chain(dict, table->name, table->name_size);
    if (!table->named) return;
    table->named = false;
    while (*link != table_id) {
        ndbrequire(*link != 0);
        link = &dict->table[*link].next_by_name;
    }
    *link = table->next_by_name;
}

/* --- Words in pieces. --- */

static void release_chunks(struct dict *dict, uint32_t first)
{
    while (first != 0) {
        struct dict_chunk *chunk = pool_find(&dict->chunks, first);
        ndbrequire(chunk != NULL);
        first = chunk->next;
        pool_release(&dict->chunks, chunk);
    }
}

/* Takes as many pieces as `words` need, linked, empty. 0 when there is no memory for all. */
static uint32_t seize_chunks(struct dict *dict, uint32_t words)
{
    uint32_t first = 0;
    for (uint32_t have = 0; have < words; have += DICT_CHUNK_WORDS) {
        struct dict_chunk *chunk = pool_seize(&dict->chunks);
        if (chunk == NULL) {
            jam();
            release_chunks(dict, first);
            return 0;
        }
        chunk->next = first;
        first = chunk->record.ref;
    }
    return first;
}

/* A place in a table's words; pieces are full but for the last. */
struct cursor {
    struct dict_chunk *chunk;
    uint32_t at;
};

static void cursor_step(struct dict *dict, struct cursor *cursor)
{
    if (cursor->at < DICT_CHUNK_WORDS) return;
    cursor->chunk = pool_find(&dict->chunks, cursor->chunk->next);
    cursor->at = 0;
    ndbrequire(cursor->chunk != NULL);
}

static void write_words(struct dict *dict, struct cursor *cursor, const struct section *from)
{
    for (uint32_t done = 0; done < from->size;) {
        cursor_step(dict, cursor);
        uint32_t count = DICT_CHUNK_WORDS - cursor->at;
        if (count > from->size - done) count = from->size - done;
        memcpy(cursor->chunk->words + cursor->at, from->words + done, (size_t)count * 4u);
        cursor->at += count;
        done += count;
    }
}

static void read_stored(struct dict *dict, const struct dict_stored *stored,
                        struct section sections[2])
{
    struct cursor cursor = {.chunk = pool_find(&dict->chunks, stored->first_chunk)};
    uint32_t words = stored->def_words + stored->distribution_words;
    ndbrequire(cursor.chunk != NULL && words <= DICT_WORDS_MAX);
    for (uint32_t done = 0; done < words;) {
        cursor_step(dict, &cursor);
        uint32_t count = DICT_CHUNK_WORDS - cursor.at;
        if (count > words - done) count = words - done;
        memcpy(dict->scratch + done, cursor.chunk->words + cursor.at, (size_t)count * 4u);
        cursor.at += count;
        done += count;
    }
    sections[0] = (struct section){.words = dict->scratch, .size = stored->def_words};
    sections[1] = (struct section){.words = dict->scratch + stored->def_words,
                                   .size = stored->distribution_words};
}

void dict_store_read(struct dict *dict, const struct dict_table *table, struct section sections[2])
{
    const struct dict_stored stored = {.first_chunk = table->first_chunk,
                                       .def_words = table->def_words,
                                       .distribution_words = table->distribution_words};
    read_stored(dict, &stored, sections);
}

void dict_store_read_next(struct dict *dict, const struct dict_table *table,
                          struct section sections[2])
{
    if (table->next.first_chunk != 0)
        read_stored(dict, &table->next, sections);
    else
        dict_store_read(dict, table, sections);
}

/* Stable: of the same place are those that have the order of the distribution. */
static void sort_by_place(const struct dict *dict, uint32_t *nodes, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t node = nodes[i];
        uint32_t at = i;
        if (node == 0) return;
        for (; at > 0 && dict->place[nodes[at - 1]] > dict->place[node]; at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = node;
    }
}

/* Keeps of each fragment's replicas those in `keep`. False: one has none left. */
static bool filter(uint32_t *distribution, const struct node_mask *keep)
{
    uint32_t fragments = distribution[0];
    uint32_t replicas = distribution[1];
    uint32_t *nodes = distribution + DISTRIBUTION_HEAD_WORDS;
    bool whole = true;
    for (uint32_t f = 0; f < fragments; f++, nodes += replicas) {
        uint32_t left = 0;
        for (uint32_t r = 0; r < replicas; r++) {
            uint32_t node = nodes[r];
            nodes[r] = 0;
            if (node != 0 && node_mask_has(keep, node)) nodes[left++] = node;
        }
        whole = whole && left > 0;
    }
    return whole;
}

bool dict_store_read_members(struct dict *dict, const struct dict_table *table,
                             struct section sections[2])
{
    dict_store_read(dict, table, sections);
    return filter(dict->scratch + table->def_words, &dict->members);
}

bool dict_store_read_places(struct dict *dict, const struct dict_table *table,
                            struct section sections[2])
{
    if (block_config(&dict->block)->survive == 0)
        return dict_store_read_members(dict, table, sections);
    dict_store_read(dict, table, sections);
    uint32_t *distribution = dict->scratch + table->def_words;
    uint32_t *nodes = distribution + DISTRIBUTION_HEAD_WORDS;
    bool whole = true;
    for (uint32_t f = 0; f < distribution[0]; f++, nodes += distribution[1]) {
        uint32_t left = 0;
        for (uint32_t r = 0; r < distribution[1]; r++) {
            if (nodes[r] == 0) continue;
            if (node_mask_has(&dict->members, nodes[r]))
                left++;
            else
                nodes[r] |= DISTRIBUTION_ABSENT;
        }
        whole = whole && left > 0;
    }
    return whole;
}

void dict_store_read_sources(struct dict *dict, const struct dict_table *table,
                             struct section *distribution)
{
    struct section sections[2];
    struct node_mask others = dict->members;
    node_mask_remove(&others, dict_own(dict));
    dict_store_read(dict, table, sections);
    uint32_t *words = dict->scratch + table->def_words;
    (void)filter(words, &others);
    for (uint32_t f = 0; f < words[0]; f++)
        sort_by_place(dict, words + DISTRIBUTION_HEAD_WORDS + (size_t)f * words[1], words[1]);
    *distribution = sections[1];
}

/* --- Tables. --- */

uint32_t dict_store_put(struct dict *dict, const struct table_def *def, const struct section *words,
                        const struct section *distribution)
{
    ndbrequire(def->table_id != 0 && def->table_id < dict->table_count);
    struct dict_table *table = &dict->table[def->table_id];
    ndbrequire(table->state == TABLE_UNDEFINED);
    uint32_t first = seize_chunks(dict, words->size + distribution->size);
    if (first == 0) return ERR_SCHEMA_MEMORY;
    jam();
    *table = (struct dict_table){
        .state = TABLE_BUILDING,
        .version = def->version,
        .fragments = distribution->words[0],
        .def_words = words->size,
        .distribution_words = distribution->size,
        .first_chunk = first,
        .base_id = def->base_id,
    };
    struct cursor cursor = {.chunk = pool_find(&dict->chunks, first)};
    write_words(dict, &cursor, words);
    write_words(dict, &cursor, distribution);
    set_name(table, def);
    if (dict_table_by_name(dict, table->name, table->name_size) == 0)
        name_link(dict, def->table_id);
    dict->tables++;
    return 0;
}

void dict_store_remove(struct dict *dict, uint32_t table_id)
{
    struct dict_table *table = dict_table_at(dict, table_id);
    ndbrequire(table != NULL);
    jam_data(table_id);
    ndbrequire(table->next.first_chunk == 0);
    name_unlink(dict, table_id);
    release_chunks(dict, table->first_chunk);
    *table = (struct dict_table){.state = TABLE_UNDEFINED, .version = table->version};
    dict->tables--;
}

void dict_store_replace(struct dict *dict, uint32_t old_id, uint32_t new_id)
{
    name_unlink(dict, old_id);
    ndbrequire(dict_table_at(dict, new_id) != NULL && !dict->table[new_id].named);
    jam_data(new_id);
    name_link(dict, new_id);
}

/* --- Altered tables. --- */

uint32_t dict_store_stage(struct dict *dict, uint32_t table_id, uint32_t version,
                          const struct section sections[2])
{
    struct dict_table *table = dict_table_at(dict, table_id);
    ndbrequire(table != NULL && table->next.first_chunk == 0);
    uint32_t first = seize_chunks(dict, sections[0].size + sections[1].size);
    if (first == 0) return ERR_SCHEMA_MEMORY;
    jam_data(table_id);
    struct cursor cursor = {.chunk = pool_find(&dict->chunks, first)};
    write_words(dict, &cursor, &sections[0]);
    write_words(dict, &cursor, &sections[1]);
    table->next = (struct dict_stored){.version = version,
                                       .def_words = sections[0].size,
                                       .distribution_words = sections[1].size,
                                       .first_chunk = first};
    return 0;
}

/* Perhaps the table has another name from now on. */
static void rename_table(struct dict *dict, struct dict_table *table)
{
    struct section sections[2];
    struct table_def *def;
    dict_store_read_next(dict, table, sections);
    uint32_t error = table_def_decode(sections[0].words, sections[0].size, dict->local.def_memory,
                                      table_def_size_max(), &def);
    ndbrequire(error == 0);
    name_unlink(dict, def->table_id);
    set_name(table, def);
    name_link(dict, def->table_id);
}

void dict_store_adopt(struct dict *dict, uint32_t table_id)
{
    struct dict_table *table = dict_table_at(dict, table_id);
    if (table == NULL || table->next.first_chunk == 0) return;
    jam_data(table_id);
    rename_table(dict, table);
    release_chunks(dict, table->first_chunk);
    table->version = table->next.version;
    table->def_words = table->next.def_words;
    table->distribution_words = table->next.distribution_words;
    table->first_chunk = table->next.first_chunk;
    table->next = (struct dict_stored){.first_chunk = 0};
}

void dict_store_unstage(struct dict *dict, uint32_t table_id)
{
    struct dict_table *table = dict_table_at(dict, table_id);
    if (table == NULL || table->next.first_chunk == 0) return;
    jam_data(table_id);
    release_chunks(dict, table->next.first_chunk);
    table->next = (struct dict_stored){.first_chunk = 0};
}

void dict_store_clear(struct dict *dict)
{
    for (uint32_t id = 1; id < dict->table_count; id++) {
        if (dict_table_at(dict, id) != NULL) dict_store_remove(dict, id);
        dict->table[id].version = 0;
    }
}
