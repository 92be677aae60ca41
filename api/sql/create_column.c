/* create_column.c -- reads a column of a CREATE TABLE: its type and its properties. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "api/sql/create_private.h"
#include "api/sql/sql_types.h"
#include "values/errors.h"

enum { DECIMAL_DIGITS_DEFAULT = 10 };

/* [=] name-of-set, for CHARACTER SET and COLLATE. */
static bool read_collation(struct create_parser *p, bool is_set, uint8_t *collation)
{
    struct sql_token name;
    char text[COLUMN_NAME_MAX * 2 + 2];

    create_accept_char(p, '=');
    if (p->token.kind == SQL_STRING) {
        name = p->token;
        create_next(p);
    } else if (!create_need_name(p, &name, is_set ? "a character set" : "a collation")) {
        return false;
    }
    size_t size = sql_token_text(&name, text, sizeof(text));
    if (is_set && size == 7 && strcasecmp(text, "utf8mb4") == 0) {
        if (*collation != COLLATION_UTF8MB4_BIN) /* COLLATE may have come first. */
            *collation = COLLATION_UTF8MB4_GENERAL_CI;
        return true;
    }
    enum collation found = size == SIZE_MAX ? COLLATION_NONE : collation_find(text, (uint32_t)size);
    if (found == COLLATION_NONE || (is_set && found != COLLATION_BINARY))
        return create_fail_at(p, &name, ERR_CHARSET_UNSUPPORTED,
                              is_set
                                  ? "expected character set utf8mb4 or binary"
                                  : "expected collation utf8mb4_general_ci, utf8mb4_bin or binary");
    *collation = (uint8_t)found;
    return true;
}

bool create_read_character_set(struct create_parser *p, uint8_t *collation, bool *done)
{
    *done = true;
    if (create_accept_word(p, "CHARSET")) return read_collation(p, true, collation);
    if (create_accept_word(p, "CHARACTER"))
        return create_need_word(p, "SET") && read_collation(p, true, collation);
    if (create_accept_word(p, "COLLATE")) return read_collation(p, false, collation);
    *done = false;
    return true;
}

/* The numbers after a type, in parentheses; which there may be depends on the type. */
static bool read_numbers(struct create_parser *p, const struct sql_type *type,
                         struct create_column *column)
{
    struct column_format *format = &column->format;
    bool is_length = type->numbers == SQL_LENGTH || type->numbers == SQL_LENGTH_NEEDED;
    uint64_t number = 0;

    if (!create_at_char(p, '(') || type->numbers == SQL_NO_NUMBER)
        return type->numbers != SQL_LENGTH_NEEDED || create_expected(p, "'(' and a length");
    create_next(p);
    if (is_length) {
        if (!create_need_number(p, COLUMN_BYTES_MAX, &number)) return false;
        format->length = (uint32_t)number;
    } else if (type->numbers == SQL_FRACTION) {
        if (!create_need_number(p, COLUMN_FRACTION_DIGITS_MAX, &number)) return false;
        format->precision = (uint8_t)number;
    } else if (type->numbers == SQL_DECIMAL_DIGITS) {
        if (!create_need_number(p, COLUMN_DECIMAL_PRECISION_MAX, &number)) return false;
        format->precision = (uint8_t)number;
        if (create_accept_char(p, ',')) {
            if (!create_need_number(p, COLUMN_DECIMAL_SCALE_MAX, &number)) return false;
            format->scale = (uint8_t)number;
        }
    } else { /* A display width, or the digits of a float. */
        if (!create_need_number(p, 255, &number)) return false;
        if (type->numbers == SQL_FLOAT_DIGITS && number > 53)
            return create_expected(p, "at most 53 binary digits before it");
        if (type->numbers == SQL_FLOAT_DIGITS && number > 24) format->type = COLUMN_DOUBLE;
    }
    return create_need_char(p, ')');
}

static bool read_type(struct create_parser *p, struct create_column *column)
{
    const struct sql_token word = p->token;
    const struct sql_type *type = sql_type_find(&word);

    if (type == NULL) return create_expected(p, "a column type");
    if (type->type == COLUMN_UNDEFINED)
        return create_fail_at(p, &word, ERR_COLUMN_TYPE_UNSUPPORTED, "");
    create_next(p);
    column->format = (struct column_format){.type = type->type, .length = 1};
    if (type->type == COLUMN_DECIMAL) column->format.precision = DECIMAL_DIGITS_DEFAULT;
    if (sql_token_is(&word, "DOUBLE")) create_accept_word(p, "PRECISION");
    if (type->type == COLUMN_CHAR && create_accept_word(p, "VARYING")) {
        static const struct sql_token varchar = {
            .kind = SQL_WORD, .start = "VARCHAR", .size = 7, .body = "VARCHAR", .body_size = 7};
        type = sql_type_find(&varchar);
        column->format.type = type->type;
    }
    if (!read_numbers(p, type, column)) return false;
    if (sql_token_is(&p->token, "UNSIGNED")) {
        if (type->unsigned_type == COLUMN_UNDEFINED)
            return create_fail_at(p, &p->token, ERR_BAD_REQUEST, "this type cannot be UNSIGNED");
        column->format.type = type->unsigned_type;
        create_next(p);
    } else {
        create_accept_word(p, "SIGNED");
    }
    return true;
}

static bool read_default(struct create_parser *p, struct create_column *column)
{
    if (create_at_char(p, '-') || create_at_char(p, '+')) {
        column->negative = create_at_char(p, '-');
        create_next(p);
        if (p->token.kind != SQL_NUMBER) return create_expected(p, "a number after the sign");
    }
    bool word = sql_token_is(&p->token, "NULL") || sql_token_is(&p->token, "TRUE") ||
                sql_token_is(&p->token, "FALSE");
    if (!word && p->token.kind != SQL_NUMBER && p->token.kind != SQL_STRING &&
        p->token.kind != SQL_DOUBLE && p->token.kind != SQL_BITS && p->token.kind != SQL_HEX)
        return create_expected(p, "a literal: number, string, b'..', x'..', TRUE, FALSE or NULL");
    column->default_value = p->token;
    create_next(p);
    return true;
}

/* One property after the type; *done is false when there is no more. */
static bool read_property(struct create_parser *p, struct create_column *column, bool *done)
{
    const struct sql_token word = p->token;

    *done = true;
    if (create_accept_word(p, "NOT")) {
        if (!create_need_word(p, "NULL")) return false;
        column->flags &= ~(uint32_t)COLUMN_NULLABLE;
        return true;
    }
    if (create_accept_word(p, "NULL")) {
        column->flags |= COLUMN_NULLABLE;
        column->null_written = true;
        return true;
    }
    if (create_accept_word(p, "DEFAULT")) return read_default(p, column);
    if (create_accept_word(p, "PRIMARY")) {
        column->flags |= COLUMN_PRIMARY_KEY;
        return create_need_word(p, "KEY") && create_key_begins(p, &word);
    }
    if (create_accept_word(p, "COMMENT")) {
        if (p->token.kind != SQL_STRING && p->token.kind != SQL_DOUBLE)
            return create_expected(p, "the comment as a string");
        create_next(p);
        return true;
    }
    if (create_accept_word(p, "UNIQUE")) {
        struct create_index *index = create_add_index(p, &word, true);
        if (index == NULL) return false;
        index->columns[index->column_count++] = index->name = column->name;
        create_accept_word(p, "KEY");
        return true;
    }
    if (create_accept_word(p, "AUTO_INCREMENT")) {
        column->flags |= COLUMN_AUTO_INCREMENT;
        return true;
    }
    if (sql_token_is(&word, "REFERENCES") || sql_token_is(&word, "GENERATED"))
        return create_fail_at(p, &word, ERR_NOT_IMPLEMENTED,
                              "this column property does not exist here");
    bool is_set;
    if (!create_read_character_set(p, &column->format.collation, &is_set)) return false;
    if (is_set && !column_is_char(column->format.type))
        return create_fail_at(p, &word, ERR_COLLATION_ON_NUMBER,
                              "only char types have a character set");
    *done = is_set;
    return true;
}

bool create_read_column(struct create_parser *p)
{
    struct sql_token name;
    bool more = true;

    if (!create_need_name(p, &name, "a column name or PRIMARY KEY")) return false;
    if (create_find_column(p, &name) != NULL)
        return create_fail_at(p, &name, ERR_COLUMN_REPEATED, "");
    if (p->column_count == TABLE_COLUMNS_MAX)
        return create_fail_at(p, &name, ERR_TOO_MANY_COLUMNS, "a table has at most 512 columns");
    struct create_column *column = &p->columns[p->column_count];
    memset(column, 0, sizeof(*column));
    column->name = name;
    column->flags = COLUMN_NULLABLE;
    if (!read_type(p, column)) return false;
    p->column_count++;
    while (more) {
        if (!read_property(p, column, &more)) return false;
    }
    return true;
}
