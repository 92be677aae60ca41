/* table_index.c -- the indexes of a table definition: added, found, checked. */
/* SPDX-License-Identifier: MIT */
/*
 * They stand in the definition's heap, in two chains, the ordered ones and the unique ones, each in
 * the order in which they were added:
 *
 *   offset of the next one (4 bytes, 0 = none), name size (1), id (1), column count (2), table id
 * (4), version (4), columns (2 each), name, NUL
 */
#include <stdio.h>
#include <string.h>
#include "values/attr.h"
#include "values/column_private.h"
#include "values/errors.h"
#include "values/table_index.h"
#include "values/table_private.h"

#define INDEX_HEAD 16u

static uint32_t bytes_of(uint32_t name_size, uint32_t column_count)
{
    return INDEX_HEAD + 2u * column_count + name_size + 1u;
}

static struct table_index index_at(const struct table_def *def, uint32_t offset, uint32_t *next)
{
    const uint8_t *at = (const uint8_t *)table_heap(def) + offset;
    struct table_index index = {.name_size = at[4],
                                .id = at[5],
                                .column_count = (uint16_t)load_le(at + 6, 2),
                                .table_id = (uint32_t)load_le(at + 8, 4),
                                .version = (uint32_t)load_le(at + 12, 4)};
    *next = (uint32_t)load_le(at, 4);
    for (uint32_t i = 0; i < index.column_count; i++)
        index.columns[i] = (uint16_t)load_le(at + INDEX_HEAD + (size_t)2u * i, 2);
    index.name = (const char *)at + INDEX_HEAD + (size_t)2u * index.column_count;
    return index;
}

/* Where number `number` of the chain that begins at `first` stands. */
static uint32_t place_of(const struct table_def *def, uint32_t first, uint32_t number)
{
    uint32_t at = first;
    for (uint32_t i = 0; i < number; i++)
        at = (uint32_t)load_le((const uint8_t *)table_heap(def) + at, 4);
    return at;
}

bool table_def_index(const struct table_def *def, uint32_t number, struct table_index *index)
{
    uint32_t next;

    if (number >= def->index_count) return false;
    *index = index_at(def, place_of(def, def->index_first, number), &next);
    return true;
}

bool table_def_unique(const struct table_def *def, uint32_t number, struct table_index *index)
{
    uint32_t next;

    if (number >= def->unique_count) return false;
    *index = index_at(def, place_of(def, def->unique_first, number), &next);
    return true;
}

static bool is_named(const struct table_index *index, const char *name, uint32_t name_size)
{
    return index->name_size == name_size && table_same_name(index->name, name, name_size);
}

bool table_def_index_find(const struct table_def *def, const char *name, uint32_t name_size,
                          uint32_t *number)
{
    struct table_index index;

    for (*number = 0; table_def_index(def, *number, &index); (*number)++) {
        if (is_named(&index, name, name_size)) return true;
    }
    return false;
}

bool table_def_index_by_id(const struct table_def *def, uint32_t id, struct table_index *index)
{
    for (uint32_t i = 0; table_def_index(def, i, index); i++) {
        if (index->id == id) return true;
    }
    return false;
}

/* The first id from `id` on, around the end, that no index has. */
static uint8_t free_id(const struct table_def *def, uint32_t id)
{
    struct table_index index;

    while (table_def_index_by_id(def, id & 0xFFu, &index))
        id++;
    return (uint8_t)id;
}

void table_def_index_set_id(struct table_def *def, uint32_t number, uint8_t id)
{
    ((uint8_t *)table_heap(def) + place_of(def, def->index_first, number))[5] = id;
}

void table_def_index_renew(struct table_def *def, uint32_t number)
{
    uint32_t minor = def->version >> 24;

    table_def_index_set_id(def, number, free_id(def, TABLE_INDEXES_MAX - 1u + minor));
}

/* The chain goes on without that one; its bytes stay. */
static uint32_t unlink_index(const struct table_def *def, uint32_t *first, uint32_t *last,
                             uint32_t number, uint32_t count)
{
    uint8_t *heap = (uint8_t *)table_heap(def);
    uint32_t next = (uint32_t)load_le(heap + place_of(def, *first, number), 4);
    uint32_t before = place_of(def, *first, number == 0 ? 0 : number - 1u);

    if (number == 0)
        *first = next;
    else
        store_le(heap + before, 4, next);
    if (number == count - 1u && number > 0) *last = before;
    return count - 1u;
}

void table_def_remove_index(struct table_def *def, uint32_t number)
{
    def->index_count =
        unlink_index(def, &def->index_first, &def->index_last, number, def->index_count);
}

void table_def_remove_unique(struct table_def *def, uint32_t number)
{
    def->unique_count =
        unlink_index(def, &def->unique_first, &def->unique_last, number, def->unique_count);
}

bool table_def_unique_of(const struct table_def *def, uint32_t table_id, uint32_t *number)
{
    struct table_index index;

    for (*number = 0; table_def_unique(def, *number, &index); (*number)++) {
        if (index.table_id == table_id) return true;
    }
    return false;
}

bool table_def_unique_find(const struct table_def *def, const char *name, uint32_t name_size,
                           uint32_t *number)
{
    struct table_index index;

    for (*number = 0; table_def_unique(def, *number, &index); (*number)++) {
        if (is_named(&index, name, name_size)) return true;
    }
    return false;
}

/* Puts it into the heap, behind `last` if that is not 0. *place is where it stands. */
static uint32_t append(struct table_def *def, const struct table_index *index, uint32_t last,
                       uint32_t *place)
{
    uint32_t count = index->column_count;
    uint32_t bytes = bytes_of(index->name_size, count);
    if (bytes > def->heap_size - def->heap_used) return ERR_DEFINITION_TOO_BIG;

    uint8_t *heap = (uint8_t *)table_heap(def);
    uint8_t *at = heap + def->heap_used;
    store_le(at, 4, 0);
    at[4] = (uint8_t)index->name_size;
    at[5] = index->id;
    store_le(at + 6, 2, count);
    store_le(at + 8, 4, index->table_id);
    store_le(at + 12, 4, index->version);
    for (uint32_t i = 0; i < count; i++)
        store_le(at + INDEX_HEAD + (size_t)2u * i, 2, index->columns[i]);
    memcpy(at + INDEX_HEAD + (size_t)2u * count, index->name, index->name_size);
    at[bytes - 1u] = 0;
    if (last != 0) store_le(heap + last, 4, def->heap_used);
    *place = def->heap_used;
    def->heap_used += bytes;
    return ERR_NONE;
}

static uint32_t fill(struct table_index *index, const char *name, uint32_t name_size,
                     const uint16_t *columns, uint32_t count)
{
    if (name_size == 0 || name_size > INDEX_NAME_MAX) return ERR_INDEX_NAME;
    if (count == 0 || count > INDEX_COLUMNS_MAX) return ERR_INDEX_OBJECT;
    *index = (struct table_index){
        .name = name, .name_size = (uint16_t)name_size, .column_count = (uint16_t)count};
    memcpy(index->columns, columns, count * sizeof(*columns));
    return ERR_NONE;
}

uint32_t table_def_add_index(struct table_def *def, const char *name, uint32_t name_size,
                             const uint16_t *columns, uint32_t count)
{
    struct table_index index;
    uint32_t place;
    uint32_t error = fill(&index, name, name_size, columns, count);

    if (error != ERR_NONE) return error;
    if (def->index_count >= TABLE_INDEXES_MAX) return ERR_INDEXES_TOO_MANY;
    index.id = free_id(def, def->index_count);
    error = append(def, &index, def->index_count > 0 ? def->index_last : 0, &place);
    if (error != ERR_NONE) return error;
    if (def->index_count++ == 0) def->index_first = place;
    def->index_last = place;
    return ERR_NONE;
}

uint32_t table_def_add_unique(struct table_def *def, const char *name, uint32_t name_size,
                              const uint16_t *columns, uint32_t count)
{
    struct table_index index;
    uint32_t place;
    uint32_t error = fill(&index, name, name_size, columns, count);

    if (error != ERR_NONE) return error;
    if (name_size > UNIQUE_NAME_MAX) return ERR_INDEX_NAME;
    if (def->unique_count >= TABLE_UNIQUE_MAX) return ERR_INDEXES_TOO_MANY;
    error = append(def, &index, def->unique_count > 0 ? def->unique_last : 0, &place);
    if (error != ERR_NONE) return error;
    if (def->unique_count++ == 0) def->unique_first = place;
    def->unique_last = place;
    return ERR_NONE;
}

void table_def_unique_set(struct table_def *def, uint32_t number, uint32_t table_id,
                          uint32_t version)
{
    uint8_t *at = (uint8_t *)table_heap(def) + place_of(def, def->unique_first, number);
    store_le(at + 8, 4, table_id);
    store_le(at + 12, 4, version);
}

/* *key_bytes: of the longest values together. */
static uint32_t check_columns(const struct table_def *def, const struct table_index *index,
                              uint32_t *key_bytes)
{
    *key_bytes = 0;

    if (index->column_count == 0 || index->column_count > INDEX_COLUMNS_MAX)
        return ERR_INDEX_OBJECT;
    for (uint32_t i = 0; i < index->column_count; i++) {
        if (index->columns[i] >= def->column_count) return ERR_NO_SUCH_COLUMN;
        const struct table_column *column = &def->columns[index->columns[i]];
        if (column->format.type == COLUMN_BIT) return ERR_INDEX_TYPE;
        for (uint32_t j = 0; j < i; j++) {
            if (index->columns[j] == index->columns[i]) return ERR_INDEX_COLUMN_TWICE;
        }
        *key_bytes += column->size_max;
    }
    return *key_bytes <= TABLE_KEY_BYTES_MAX ? ERR_NONE : ERR_INDEX_NODE_SIZE;
}

static uint32_t check_name(const struct table_index *index, uint32_t size_max)
{
    if (index->name_size == 0 || index->name_size > size_max) return ERR_INDEX_NAME;
    return table_name_valid(index->name, index->name_size) ? ERR_NONE : ERR_TABLE_NAME_CHARACTER;
}

static uint32_t check_uniques(const struct table_def *def)
{
    struct table_index index;
    uint32_t first;
    uint32_t key_bytes;
    uint32_t all_bytes = 0;

    if (def->unique_count > TABLE_UNIQUE_MAX) return ERR_INDEXES_TOO_MANY;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++) {
        uint32_t error = check_name(&index, UNIQUE_NAME_MAX);
        if (error != ERR_NONE) return error;
        table_def_unique_find(def, index.name, index.name_size, &first);
        if (first != i || table_def_index_find(def, index.name, index.name_size, &first))
            return ERR_INDEX_EXISTS;
        error = check_columns(def, &index, &key_bytes);
        if (error != ERR_NONE) return error;
        all_bytes += key_bytes;
    }
    return all_bytes <= TABLE_ROW_BYTES_MAX ? ERR_NONE : ERR_INDEX_NODE_SIZE;
}

uint32_t table_indexes_check(const struct table_def *def)
{
    struct table_index index;
    struct table_index other;
    uint32_t first;
    uint32_t key_bytes;

    if (def->index_count > TABLE_INDEXES_MAX) return ERR_INDEXES_TOO_MANY;
    for (uint32_t i = 0; table_def_index(def, i, &index); i++) {
        uint32_t error = check_name(&index, INDEX_NAME_MAX);
        if (error != ERR_NONE) return error;
        table_def_index_find(def, index.name, index.name_size, &first);
        if (first != i) return ERR_INDEX_EXISTS;
        for (uint32_t j = 0; j < i && table_def_index(def, j, &other); j++) {
            if (other.id == index.id) return ERR_INDEX_OBJECT;
        }
        error = check_columns(def, &index, &key_bytes);
        if (error != ERR_NONE) return error;
    }
    return check_uniques(def);
}

/* --- The table that a unique index is. --- */

/* Their names are their numbers: those of the base table's columns may change. */
static uint32_t add_key_columns(struct table_def *def, const struct table_def *base,
                                const struct table_index *index)
{
    uint32_t error = ERR_NONE;
    for (uint32_t i = 0; error == ERR_NONE && i < index->column_count; i++) {
        const struct table_column *column = &base->columns[index->columns[i]];
        char name[16];
        const struct table_column_options options = {
            .name = name,
            .name_size = (uint32_t)snprintf(name, sizeof name, UNIQUE_KEY_PART "%u", i),
            .format = column->format,
            .flags = COLUMN_PRIMARY_KEY,
        };
        error = table_def_add_column(def, &options);
    }
    return error;
}

/* The longest KEY section. */
static uint32_t add_base_key(struct table_def *def, const struct table_def *base)
{
    uint32_t words = 0;
    for (uint32_t i = 0; i < base->key_count; i++)
        words += words_of(base->columns[base->key_columns[i]].size_max);
    const struct table_column_options options = {
        .name = UNIQUE_KEY_COLUMN,
        .name_size = sizeof(UNIQUE_KEY_COLUMN) - 1u,
        .format = {.type = COLUMN_LONGVARBINARY, .length = 4u * words},
    };
    return table_def_add_column(def, &options);
}

uint32_t table_def_of_unique(const struct table_def *base, uint32_t number, void *memory,
                             size_t memory_size, struct table_def **result)
{
    char name[TABLE_NAME_MAX + 32];
    struct table_index index;
    struct table_def *def = table_def_init(memory, memory_size, INDEX_COLUMNS_MAX + 1u);

    *result = NULL;
    if (def == NULL) return ERR_BUFFER_SMALL;
    if (!table_def_unique(base, number, &index)) return ERR_INDEX_OBJECT;
    int size = snprintf(name, sizeof(name), "NDB$UNIQUE_%u_%.*s", base->table_id,
                        (int)index.name_size, index.name);
    uint32_t error = table_def_set_name(def, "sys", 3, name, (uint32_t)size);
    if (error == ERR_NONE) error = add_key_columns(def, base, &index);
    if (error == ERR_NONE) error = add_base_key(def, base);
    def->table_id = index.table_id;
    def->version = index.version;
    def->base_id = base->table_id;
    def->base_version = base->version;
    def->flags = base->flags;
    def->balance = base->balance;
    def->fragment_count = base->fragment_count;
    def->max_rows = base->max_rows;
    if (error == ERR_NONE) error = table_def_check(def);
    if (error == ERR_NONE) *result = def;
    return error;
}
