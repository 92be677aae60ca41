/* create_finish.c -- what was read of a CREATE TABLE becomes a table definition. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/sql/create_private.h"
#include "values/errors.h"
#include "values/table_index.h"

/* Characters become bytes, and the stored form is chosen. */
static void finish_format(const struct create_parser *p, struct column_format *format)
{
    if (column_is_char(format->type) && format->collation == COLLATION_NONE)
        format->collation = p->collation;
    format->length *= column_char_size(format);
    if (format->length > COLUMN_SHORT_VAR_BYTES_MAX) {
        if (format->type == COLUMN_VARCHAR)
            format->type = COLUMN_LONGVARCHAR;
        else if (format->type == COLUMN_VARBINARY)
            format->type = COLUMN_LONGVARBINARY;
    }
}

/* The default as text that column_parse understands. SIZE_MAX when it is too long. */
static size_t default_text(struct create_parser *p, const struct create_column *column)
{
    const struct sql_token *token = &column->default_value;
    size_t used = 0;

    if (sql_token_is(token, "TRUE") || sql_token_is(token, "FALSE")) {
        p->literal[0] = sql_token_is(token, "TRUE") ? '1' : '0';
        return 1;
    }
    if (column->negative) p->literal[used++] = '-';
    if (token->kind == SQL_HEX) {
        p->literal[used++] = '0';
        p->literal[used++] = 'x';
    }
    size_t size = sql_token_text(token, p->literal + used, sizeof(p->literal) - used);
    return size == SIZE_MAX ? SIZE_MAX : used + size;
}

static bool finish_default(struct create_parser *p, struct create_column *column, uint32_t *size)
{
    const struct sql_token *token = &column->default_value;
    char what[160];

    *size = 0;
    if (token->kind == SQL_END || sql_token_is(token, "NULL")) {
        if (token->kind != SQL_END && (column->flags & COLUMN_NULLABLE) == 0)
            return create_fail_at(p, token, ERR_NULL_FOR_NOT_NULL, "the column is NOT NULL");
        return true;
    }
    size_t length = default_text(p, column);
    uint32_t error = length == SIZE_MAX
                         ? ERR_VALUE_TOO_LONG
                         : column_parse(&column->format, p->literal, (uint32_t)length, p->value,
                                        sizeof(p->value), size);
    if (error == ERR_NONE) return true;
    snprintf(what, sizeof(what), "bad default: %s", error_get(error)->text);
    return create_fail_at(p, token, error, what);
}

bool create_finish_column(struct create_parser *p, struct create_column *column,
                          struct table_def *def)
{
    char name[COLUMN_NAME_MAX * 2 + 2];
    size_t name_size = sql_token_text(&column->name, name, sizeof(name));
    uint32_t size;

    finish_format(p, &column->format);
    uint32_t error = column_format_check(&column->format);
    if (error != ERR_NONE) return create_fail_at(p, &column->name, error, error_get(error)->text);
    bool counts = (column->flags & COLUMN_AUTO_INCREMENT) != 0;
    if (counts && column->default_value.kind != SQL_END)
        return create_fail_at(p, &column->default_value, ERR_BAD_REQUEST,
                              "an AUTO_INCREMENT column has no default");
    if (((column->flags & COLUMN_PRIMARY_KEY) != 0 || counts) && !column->null_written)
        column->flags &= ~(uint32_t)COLUMN_NULLABLE;
    if (!finish_default(p, column, &size)) return false;
    bool has_default =
        column->default_value.kind != SQL_END && !sql_token_is(&column->default_value, "NULL");
    const struct table_column_options options = {
        .name = name,
        .name_size = name_size > COLUMN_NAME_MAX ? COLUMN_NAME_MAX + 1 : (uint32_t)name_size,
        .format = column->format,
        .flags = column->flags,
        .default_value = has_default ? p->value : NULL,
        .default_size = size,
    };
    error = table_def_add_column(def, &options);
    return error == ERR_NONE || create_fail_at(p, &column->name, error, error_get(error)->text);
}

static bool finish_index(struct create_parser *p, const struct create_index *index,
                         struct table_def *def)
{
    uint16_t columns[INDEX_COLUMNS_MAX];
    char name[INDEX_NAME_MAX * 2 + 2];
    size_t size = sql_token_text(&index->name, name, sizeof(name));
    uint32_t other;

    for (uint32_t i = 0; i < index->column_count; i++) {
        const struct create_column *column = create_find_column(p, &index->columns[i]);
        if (column == NULL) return create_fail_at(p, &index->columns[i], ERR_NO_SUCH_COLUMN, "");
        columns[i] = (uint16_t)(column - p->columns);
    }
    uint32_t name_size = size > INDEX_NAME_MAX ? INDEX_NAME_MAX + 1 : (uint32_t)size;
    if (table_def_index_find(def, name, name_size, &other) ||
        table_def_unique_find(def, name, name_size, &other))
        return create_fail_at(p, &index->name, ERR_INDEX_EXISTS, "this index exists already");
    uint32_t error = index->unique
                         ? table_def_add_unique(def, name, name_size, columns, index->column_count)
                         : table_def_add_index(def, name, name_size, columns, index->column_count);
    if (error == ERR_NONE) error = table_def_check(def);
    return error == ERR_NONE || create_fail_at(p, &index->name, error, error_get(error)->text);
}

static bool finish_name(struct create_parser *p, struct table_def *def)
{
    char database[TABLE_NAME_MAX * 2 + 2];
    char table[TABLE_NAME_MAX * 2 + 2];
    size_t database_size = 0;

    if (p->database.size > 0) {
        database_size = sql_token_text(&p->database, database, sizeof(database));
    } else if (p->input->database != NULL && strlen(p->input->database) < sizeof(database)) {
        database_size = strlen(p->input->database);
        memcpy(database, p->input->database, database_size);
    }
    if (database_size == 0)
        return create_fail_at(p, &p->table, ERR_TABLE_DATABASE, "name a database: database.table");
    size_t table_size = sql_token_text(&p->table, table, sizeof(table));
    uint32_t error = ERR_TABLE_NAME_TOO_LONG;
    if (database_size <= TABLE_NAME_MAX && table_size <= TABLE_NAME_MAX)
        error =
            table_def_set_name(def, database, (uint32_t)database_size, table, (uint32_t)table_size);
    return error == ERR_NONE || create_fail_at(p, &p->table, error, error_get(error)->text);
}

bool create_finish(struct create_parser *p, struct table_def *def)
{
    uint32_t bad_column;

    if (!finish_name(p, def)) return false;
    if (!p->key_written)
        return create_fail_at(p, &p->table, ERR_PRIMARY_KEY_MISSING,
                              "add PRIMARY KEY (column, ...)");
    if (p->fragment_count != 0 && p->balance_written)
        return create_fail_at(p, &p->table, ERR_FRAGMENT_COUNT,
                              "give either PARTITIONS or PARTITION_BALANCE");
    for (uint32_t i = 0; i < p->column_count; i++) {
        if (!create_finish_column(p, &p->columns[i], def)) return false;
    }
    def->flags = p->table_flags;
    def->balance = p->fragment_count != 0 ? TABLE_BALANCE_SPECIFIC : p->balance;
    def->fragment_count = p->fragment_count;
    def->max_rows = p->max_rows;
    uint32_t error = table_def_check_detail(def, &bad_column);
    if (error != ERR_NONE)
        return create_fail_at(
            p, bad_column < p->column_count ? &p->columns[bad_column].name : &p->table, error,
            error_get(error)->text);
    for (uint32_t i = 0; i < p->index_count; i++) {
        if (!finish_index(p, &p->indexes[i], def)) return false;
    }
    return true;
}
