/* table_index.c -- the ordered indexes of a table definition: added, found, checked. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * They stand in the definition's heap, one after the other in the order in which they were added:
 *
 *   offset of the next one (4 bytes, 0 = none), name size (2), column count (2), columns (2 each),
 *   name, NUL
 */
#include <string.h>
#include "signals/column_private.h"
#include "signals/errors.h"
#include "signals/table_private.h"

#define INDEX_HEAD 8u

static uint32_t bytes_of(uint32_t name_size, uint32_t column_count)
{
    return INDEX_HEAD + 2u * column_count + name_size + 1u;
}

static struct table_index index_at(const struct table_def *def, uint32_t offset, uint32_t *next)
{
    const uint8_t *at = (const uint8_t *)table_heap(def) + offset;
    struct table_index index = {.name_size = (uint16_t)load_le(at + 4, 2),
                                .column_count = (uint16_t)load_le(at + 6, 2)};
    *next = (uint32_t)load_le(at, 4);
    for (uint32_t i = 0; i < index.column_count; i++)
        index.columns[i] = (uint16_t)load_le(at + INDEX_HEAD + (size_t)2u * i, 2);
    index.name = (const char *)at + INDEX_HEAD + (size_t)2u * index.column_count;
    return index;
}

bool table_def_index(const struct table_def *def, uint32_t number, struct table_index *index)
{
    uint32_t at = def->index_first;

    if (number >= def->index_count) return false;
    for (uint32_t i = 0;; i++) {
        uint32_t next;
        *index = index_at(def, at, &next);
        if (i == number) return true;
        at = next;
    }
}

bool table_def_index_find(const struct table_def *def, const char *name, uint32_t name_size,
                          uint32_t *number)
{
    struct table_index index;

    for (*number = 0; table_def_index(def, *number, &index); (*number)++) {
        if (index.name_size == name_size && table_same_name(index.name, name, name_size))
            return true;
    }
    return false;
}

uint32_t table_def_add_index(struct table_def *def, const char *name, uint32_t name_size,
                             const uint16_t *columns, uint32_t count)
{
    if (name_size == 0 || name_size > INDEX_NAME_MAX) return ERR_INDEX_NAME;
    if (def->index_count >= TABLE_INDEXES_MAX) return ERR_INDEXES_TOO_MANY;
    if (count == 0 || count > INDEX_COLUMNS_MAX) return ERR_INDEX_OBJECT;
    uint32_t bytes = bytes_of(name_size, count);
    if (bytes > def->heap_size - def->heap_used) return ERR_DEFINITION_TOO_BIG;

    uint8_t *heap = (uint8_t *)table_heap(def);
    uint8_t *at = heap + def->heap_used;
    store_le(at, 4, 0);
    store_le(at + 4, 2, name_size);
    store_le(at + 6, 2, count);
    for (uint32_t i = 0; i < count; i++)
        store_le(at + INDEX_HEAD + (size_t)2u * i, 2, columns[i]);
    memcpy(at + INDEX_HEAD + (size_t)2u * count, name, name_size);
    at[bytes - 1u] = 0;
    if (def->index_count > 0)
        store_le(heap + def->index_last, 4, def->heap_used);
    else
        def->index_first = def->heap_used;
    def->index_last = def->heap_used;
    def->heap_used += bytes;
    def->index_count++;
    return ERR_NONE;
}

static uint32_t check_columns(const struct table_def *def, const struct table_index *index)
{
    uint32_t key_bytes = 0;

    if (index->column_count == 0 || index->column_count > INDEX_COLUMNS_MAX)
        return ERR_INDEX_OBJECT;
    for (uint32_t i = 0; i < index->column_count; i++) {
        if (index->columns[i] >= def->column_count) return ERR_NO_SUCH_COLUMN;
        const struct table_column *column = &def->columns[index->columns[i]];
        if (column->format.type == COLUMN_BIT) return ERR_INDEX_TYPE;
        for (uint32_t j = 0; j < i; j++) {
            if (index->columns[j] == index->columns[i]) return ERR_INDEX_COLUMN_TWICE;
        }
        key_bytes += column->size_max;
    }
    return key_bytes <= TABLE_KEY_BYTES_MAX ? ERR_NONE : ERR_INDEX_NODE_SIZE;
}

uint32_t table_indexes_check(const struct table_def *def)
{
    struct table_index index;
    uint32_t first;

    if (def->index_count > TABLE_INDEXES_MAX) return ERR_INDEXES_TOO_MANY;
    for (uint32_t i = 0; table_def_index(def, i, &index); i++) {
        if (index.name_size == 0 || index.name_size > INDEX_NAME_MAX) return ERR_INDEX_NAME;
        if (!table_name_valid(index.name, index.name_size)) return ERR_TABLE_NAME_CHARACTER;
        table_def_index_find(def, index.name, index.name_size, &first);
        if (first != i) return ERR_INDEX_EXISTS;
        uint32_t error = check_columns(def, &index);
        if (error != ERR_NONE) return error;
    }
    return ERR_NONE;
}
