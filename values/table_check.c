/* table_check.c -- what can be wrong with a table definition; its derived fields are filled in. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"
#include "values/table_private.h"

bool table_name_valid(const char *name, uint32_t size)
{
    uint32_t characters;

    for (uint32_t i = 0; i < size; i++) {
        if ((uint8_t)name[i] < 0x20 || name[i] == 0x7F || name[i] == '/') return false;
    }
    return utf8_check((const uint8_t *)name, size, &characters);
}

static uint32_t check_table(const struct table_def *def)
{
    if (def->database_size == 0 || def->table_size == 0) return ERR_TABLE_NAME_TOO_LONG;
    if (!table_name_valid(def->database, def->database_size) ||
        !table_name_valid(def->table, def->table_size))
        return ERR_TABLE_NAME_CHARACTER;
    if (def->column_count == 0 || def->column_count > TABLE_COLUMNS_MAX)
        return ERR_TOO_MANY_COLUMNS;
    if ((def->flags & ~(uint32_t)TABLE_FLAGS_ALL) != 0) return ERR_TABLE_FLAGS;
    if (table_balance_name(def->balance) == NULL) return ERR_BALANCE_BAD;
    if (def->fragment_count > TABLE_FRAGMENTS_MAX) return ERR_TOO_MANY_FRAGMENTS;
    if (def->balance == TABLE_BALANCE_SPECIFIC && def->fragment_count == 0)
        return ERR_FRAGMENT_COUNT;
    return ERR_NONE;
}

static uint32_t check_default(const struct table_def *def, const struct table_column *column)
{
    uint32_t size;
    const void *value = table_column_default(def, column, &size);

    if (value == NULL) return size == 0 ? ERR_NONE : ERR_DEFAULT_LENGTH;
    if ((column->flags & COLUMN_PRIMARY_KEY) != 0) return ERR_KEY_DEFAULT;
    uint32_t error = column_check(&column->format, value, size);
    return error == ERR_VALUE_LENGTH ? ERR_DEFAULT_LENGTH : error;
}

static uint32_t check_increment(const struct table_def *def, const struct table_column *column)
{
    if ((column->flags & COLUMN_AUTO_INCREMENT) == 0) return ERR_NONE;
    if (!column_is_integer(column->format.type)) return ERR_COLUMN_INCREMENT;
    for (const struct table_column *other = def->columns; other < column; other++) {
        if ((other->flags & COLUMN_AUTO_INCREMENT) != 0) return ERR_AUTO_INCREMENT_ONE;
    }
    return ERR_NONE;
}

/* Columns that were added stand behind all others, and can be missing. */
static bool added_good(const struct table_def *def, const struct table_column *column)
{
    const uint32_t never = COLUMN_PRIMARY_KEY | COLUMN_HAS_DEFAULT | COLUMN_AUTO_INCREMENT;
    bool behind = column > def->columns && (column[-1].flags & COLUMN_ADDED) != 0;

    if ((column->flags & COLUMN_ADDED) == 0) return !behind;
    return (column->flags & (never | COLUMN_NULLABLE)) == COLUMN_NULLABLE;
}

static uint32_t check_column(const struct table_def *def, const struct table_column *column)
{
    const char *name = table_column_name(def, column);
    uint32_t error = column_format_check(&column->format);

    if (column->name_size == 0 || column->name_size > COLUMN_NAME_MAX)
        return ERR_COLUMN_NAME_TOO_LONG;
    if (!table_name_valid(name, column->name_size)) return ERR_TABLE_NAME_CHARACTER;
    if (table_find_before(def, name, column->name_size, (uint32_t)(column - def->columns)) != NULL)
        return ERR_COLUMN_REPEATED;
    if (error != ERR_NONE) return error;
    if ((column->flags & ~(uint32_t)COLUMN_FLAGS_ALL) != 0) return ERR_COLUMN_FLAGS;
    if ((column->flags & COLUMN_PRIMARY_KEY) != 0 && (column->flags & COLUMN_NULLABLE) != 0)
        return ERR_KEY_NULLABLE;
    if ((column->flags & COLUMN_PARTITION_KEY) != 0 && (column->flags & COLUMN_PRIMARY_KEY) == 0)
        return ERR_PARTITION_KEY_NOT_IN_KEY;
    if (!added_good(def, column)) return ERR_COLUMN_FLAGS;
    error = check_increment(def, column);
    return error != ERR_NONE ? error : check_default(def, column);
}

/* Gives a checked column its place in row and key. */
static uint32_t place_column(struct table_def *def, uint32_t id)
{
    struct table_column *column = &def->columns[id];

    column->id = (uint16_t)id;
    column->array = (uint16_t)column_array(&column->format);
    column->size_max = column_size_max(&column->format);
    column->null_index = def->null_count;
    column->key_index = COLUMN_NOT_IN_KEY;
    if ((column->flags & COLUMN_NULLABLE) != 0) def->null_count++;
    if (column->array == COLUMN_FIXED)
        def->fixed_size += column->size_max;
    else
        def->var_count++;
    def->row_size_max += column->size_max;
    if ((column->flags & COLUMN_PRIMARY_KEY) == 0) return ERR_NONE;
    if (def->key_count == TABLE_KEY_COLUMNS_MAX) return ERR_KEY_LENGTH;
    column->key_index = def->key_count;
    def->key_columns[def->key_count++] = (uint16_t)id;
    def->key_size_max += column->size_max;
    if ((column->flags & COLUMN_PARTITION_KEY) != 0) def->partition_key_count++;
    return def->key_size_max <= TABLE_KEY_BYTES_MAX ? ERR_NONE : ERR_KEY_LENGTH;
}

static void clear_derived(struct table_def *def)
{
    memset(def->key_columns, 0, sizeof(def->key_columns));
    def->key_count = 0;
    def->partition_key_count = 0;
    def->key_size_max = 0;
    def->row_size_max = 0;
    def->fixed_size = 0;
    def->var_count = 0;
    def->null_count = 0;
}

uint32_t table_def_check_detail(struct table_def *def, uint32_t *column)
{
    uint32_t error = check_table(def);

    *column = UINT32_MAX;
    clear_derived(def);
    if (error != ERR_NONE) return error;
    for (uint32_t id = 0; id < def->column_count; id++) {
        error = check_column(def, &def->columns[id]);
        if (error == ERR_NONE) error = place_column(def, id);
        if (error != ERR_NONE) {
            *column = id;
            return error;
        }
    }
    def->row_size_max += (def->null_count + 31u) / 32 * 4;
    if (def->key_count == 0) return ERR_PRIMARY_KEY_MISSING;
    if (def->partition_key_count == 0) def->partition_key_count = def->key_count;
    if (def->row_size_max > TABLE_ROW_BYTES_MAX) return ERR_ROW_TOO_BIG;
    return table_indexes_check(def);
}

uint32_t table_def_check(struct table_def *def)
{
    uint32_t column;

    return table_def_check_detail(def, &column);
}
