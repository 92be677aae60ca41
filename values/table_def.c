/* table_def.c -- a table definition is built, and asked what it says. */
/* SPDX-License-Identifier: MIT */
/* Checks are in table_check.c, indexes in table_index.c, the wire form in table_encode.c and
 * table_decode.c. */
#include "values/table_def.h"

#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"
#include "values/table_private.h"

static const char *const balance_names[] = {
    "SPECIFIC",       "FOR_RP_BY_LDM",     "FOR_RA_BY_LDM",     "FOR_RP_BY_NODE",
    "FOR_RA_BY_NODE", "FOR_RA_BY_LDM_X_2", "FOR_RA_BY_LDM_X_3", "FOR_RA_BY_LDM_X_4",
};

static size_t round_up_8(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static size_t fixed_bytes(uint32_t column_capacity)
{
    return sizeof(struct table_def) + column_capacity * sizeof(struct table_column);
}

size_t table_def_size(uint32_t column_capacity, uint32_t heap_size)
{
    return round_up_8(fixed_bytes(column_capacity) + heap_size);
}

size_t table_def_size_max(void)
{
    return table_def_size(TABLE_COLUMNS_MAX, TABLE_HEAP_MAX);
}

size_t table_def_bytes(const struct table_def *def)
{
    return table_def_size(def->column_capacity, def->heap_size);
}

char *table_heap(const struct table_def *def)
{
    return (char *)(uintptr_t)def + fixed_bytes(def->column_capacity);
}

struct table_def *table_def_init(void *memory, size_t memory_size, uint32_t column_capacity)
{
    struct table_def *def = memory;

    if (column_capacity > TABLE_COLUMNS_MAX || memory_size < fixed_bytes(column_capacity))
        return NULL;
    size_t heap = memory_size - fixed_bytes(column_capacity);
    memset(memory, 0, fixed_bytes(column_capacity));
    def->flags = TABLE_FLAGS_DEFAULT;
    def->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    def->column_capacity = column_capacity;
    def->heap_size = heap < TABLE_HEAP_MAX ? (uint32_t)heap : TABLE_HEAP_MAX;
    memset(table_heap(def), 0, def->heap_size); /* No byte of a former owner travels along. */
    return def;
}

uint32_t table_def_set_name(struct table_def *def, const char *database, uint32_t database_size,
                            const char *table, uint32_t table_size)
{
    const uint32_t extra = 5; /* "/def/" */

    if (database_size == 0 || table_size == 0 || database_size > TABLE_NAME_MAX ||
        table_size > TABLE_NAME_MAX || database_size + table_size + extra > TABLE_NAME_MAX)
        return ERR_TABLE_NAME_TOO_LONG;
    memset(def->database, 0, sizeof(def->database));
    memset(def->table, 0, sizeof(def->table));
    memcpy(def->database, database, database_size);
    memcpy(def->table, table, table_size);
    def->database_size = (uint16_t)database_size;
    def->table_size = (uint16_t)table_size;
    return ERR_NONE;
}

static uint32_t heap_put(struct table_def *def, const void *bytes, uint32_t size)
{
    uint32_t offset = def->heap_used;

    memcpy(table_heap(def) + offset, bytes, size);
    def->heap_used += size;
    return offset;
}

uint32_t table_def_add_column(struct table_def *def, const struct table_column_options *options)
{
    if (options->name_size == 0 || options->name_size > COLUMN_NAME_MAX)
        return ERR_COLUMN_NAME_TOO_LONG;
    if (def->column_count >= def->column_capacity) return ERR_TOO_MANY_COLUMNS;
    uint32_t default_size = options->default_value != NULL ? options->default_size : 0;
    if (default_size > COLUMN_BYTES_MAX) return ERR_DEFAULT_LENGTH;
    if (options->name_size + 1 + default_size > def->heap_size - def->heap_used)
        return ERR_DEFINITION_TOO_BIG;

    struct table_column *column = &def->columns[def->column_count];
    *column = (struct table_column){
        .format = options->format,
        .flags = options->flags & ~(uint32_t)COLUMN_HAS_DEFAULT,
        .name_size = (uint16_t)options->name_size,
        .default_size = (uint16_t)default_size,
    };
    column->name_offset = heap_put(def, options->name, options->name_size);
    heap_put(def, "", 1);
    if (options->default_value != NULL) {
        column->flags |= COLUMN_HAS_DEFAULT;
        column->default_offset = heap_put(def, options->default_value, default_size);
    }
    def->column_count++;
    return ERR_NONE;
}

uint32_t table_def_rename_column(struct table_def *def, uint32_t id, const char *name,
                                 uint32_t name_size)
{
    if (id >= def->column_count) return ERR_NO_SUCH_COLUMN;
    if (name_size == 0 || name_size > COLUMN_NAME_MAX) return ERR_COLUMN_NAME_TOO_LONG;
    if (name_size + 1 > def->heap_size - def->heap_used) return ERR_DEFINITION_TOO_BIG;

    struct table_column *column = &def->columns[id];
    column->name_offset = heap_put(def, name, name_size);
    column->name_size = (uint16_t)name_size;
    heap_put(def, "", 1);
    return ERR_NONE;
}

void table_def_settle(struct table_def *def)
{
    for (uint32_t i = 0; i < def->column_count; i++)
        def->columns[i].flags &= ~(uint32_t)COLUMN_ADDED;
}

const char *table_column_name(const struct table_def *def, const struct table_column *column)
{
    return table_heap(def) + column->name_offset;
}

const void *table_column_default(const struct table_def *def, const struct table_column *column,
                                 uint32_t *size)
{
    *size = column->default_size;
    if ((column->flags & COLUMN_HAS_DEFAULT) == 0) return NULL;
    return table_heap(def) + column->default_offset;
}

bool table_same_name(const char *a, const char *b, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        uint8_t x = (uint8_t)a[i];
        uint8_t y = (uint8_t)b[i];
        if (x != y && (x >= 0x80 || y >= 0x80 || column_fold(x) != column_fold(y))) return false;
    }
    return true;
}

const struct table_column *table_find_before(const struct table_def *def, const char *name,
                                             uint32_t name_size, uint32_t end)
{
    for (uint32_t i = 0; i < end; i++) {
        const struct table_column *column = &def->columns[i];
        if (column->name_size == name_size &&
            table_same_name(table_column_name(def, column), name, name_size))
            return column;
    }
    return NULL;
}

const struct table_column *table_def_find(const struct table_def *def, const char *name,
                                          uint32_t name_size)
{
    return table_find_before(def, name, name_size, def->column_count);
}

bool table_column_partitions(const struct table_def *def, const struct table_column *column)
{
    if ((column->flags & COLUMN_PRIMARY_KEY) == 0) return false;
    /* All key columns choose the partition when none, or every one, is named. */
    return (column->flags & COLUMN_PARTITION_KEY) != 0 ||
           def->partition_key_count == def->key_count;
}

void table_def_internal_name(const struct table_def *def, char *out, uint32_t out_size)
{
    const char *parts[3] = {def->database, "/def/", def->table};
    uint32_t used = 0;

    if (out_size == 0) return;
    for (uint32_t i = 0; i < 3; i++) {
        for (const char *c = parts[i]; *c != 0 && used + 1 < out_size; c++)
            out[used++] = *c;
    }
    out[used] = 0;
}

const char *table_balance_name(int32_t balance)
{
    if (balance > TABLE_BALANCE_SPECIFIC || balance < TABLE_BALANCE_FOR_RA_BY_LDM_X_4) return NULL;
    return balance_names[-1 - balance];
}

bool table_balance_find(const char *name, uint32_t name_size, int32_t *balance)
{
    for (int32_t b = TABLE_BALANCE_SPECIFIC; b >= TABLE_BALANCE_FOR_RA_BY_LDM_X_4; b--) {
        if (strlen(table_balance_name(b)) == name_size &&
            table_same_name(table_balance_name(b), name, name_size)) {
            *balance = b;
            return true;
        }
    }
    return false;
}
