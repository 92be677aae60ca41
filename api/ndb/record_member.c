/* record_member.c -- does a member of the application's row fit its column? */
/* SPDX-License-Identifier: MIT */
#include "api/ndb/record_member.h"
#include <stdio.h>
#include "values/errors.h"

#define KIND(name) (1u << NDB_MEMBER_##name)
#define STORED     (KIND(BYTES) | KIND(OTHER)) /* Holds the stored form of any type. */
#define WORD       (KIND(UNSIGNED) | STORED)
#define CHARACTERS (KIND(TEXT) | STORED)

/* What holds a type. Without a C type of its own it is bytes. */
struct type_members {
    const char *sql;
    const char *sign; /* What stands behind the type's size. */
    const char *c;
    uint32_t kinds;
};

static const struct type_members members[COLUMN_TYPE_COUNT] = {
    [COLUMN_TINYINT] = {"TINYINT", ", signed", "int8_t", KIND(SIGNED) | KIND(BOOL) | STORED},
    [COLUMN_TINYUNSIGNED] = {"TINYINT UNSIGNED", ", unsigned", "uint8_t", KIND(BOOL) | WORD},
    [COLUMN_SMALLINT] = {"SMALLINT", ", signed", "int16_t", KIND(SIGNED) | STORED},
    [COLUMN_SMALLUNSIGNED] = {"SMALLINT UNSIGNED", ", unsigned", "uint16_t", WORD},
    [COLUMN_MEDIUMINT] = {"MEDIUMINT", ", signed", NULL, STORED},
    [COLUMN_MEDIUMUNSIGNED] = {"MEDIUMINT UNSIGNED", ", unsigned", NULL, STORED},
    [COLUMN_INT] = {"INT", ", signed", "int32_t", KIND(SIGNED) | STORED},
    [COLUMN_UNSIGNED] = {"INT UNSIGNED", ", unsigned", "uint32_t", WORD},
    [COLUMN_BIGINT] = {"BIGINT", ", signed", "int64_t", KIND(SIGNED) | STORED},
    [COLUMN_BIGUNSIGNED] = {"BIGINT UNSIGNED", ", unsigned", "uint64_t", WORD},
    [COLUMN_FLOAT] = {"FLOAT", "", "float", KIND(REAL) | STORED},
    [COLUMN_DOUBLE] = {"DOUBLE", "", "double", KIND(REAL) | STORED},
    [COLUMN_CHAR] = {"CHAR", "", NULL, CHARACTERS},
    [COLUMN_VARCHAR] = {"VARCHAR", "", NULL, STORED},
    [COLUMN_BINARY] = {"BINARY", "", NULL, CHARACTERS},
    [COLUMN_VARBINARY] = {"VARBINARY", "", NULL, STORED},
    [COLUMN_DATETIME] = {"old DATETIME", "", "uint64_t", WORD},
    [COLUMN_DATE] = {"DATE", "", NULL, STORED},
    [COLUMN_BIT] = {"BIT", "", NULL, WORD},
    [COLUMN_LONGVARCHAR] = {"VARCHAR", "", NULL, STORED},
    [COLUMN_LONGVARBINARY] = {"VARBINARY", "", NULL, STORED},
    [COLUMN_TIME] = {"old TIME", "", NULL, STORED},
    [COLUMN_YEAR] = {"YEAR", "", "uint8_t", WORD},
    [COLUMN_TIMESTAMP] = {"old TIMESTAMP", "", "uint32_t", WORD},
    [COLUMN_DECIMAL] = {"DECIMAL", "", NULL, STORED},
    [COLUMN_DECIMALUNSIGNED] = {"DECIMAL", " UNSIGNED", NULL, STORED},
    [COLUMN_TIME2] = {"TIME", "", NULL, STORED},
    [COLUMN_DATETIME2] = {"DATETIME", "", NULL, STORED},
    [COLUMN_TIMESTAMP2] = {"TIMESTAMP", "", NULL, STORED},
};

static const struct type_members *members_of(const struct column_format *format)
{
    static const struct type_members unknown = {"unknown", "", NULL, STORED};
    bool known = format->type < COLUMN_TYPE_COUNT && members[format->type].sql != NULL;
    return known ? &members[format->type] : &unknown;
}

/* ---- As people read it. ---- */

void sql_type_text(const struct column_format *format, char text[SQL_TYPE_TEXT_SIZE])
{
    const char *sql = members_of(format)->sql;
    switch (format->type) {
    case COLUMN_CHAR:
    case COLUMN_VARCHAR:
    case COLUMN_LONGVARCHAR:
    case COLUMN_BINARY:
    case COLUMN_VARBINARY:
    case COLUMN_LONGVARBINARY:
    case COLUMN_BIT:
        snprintf(text, SQL_TYPE_TEXT_SIZE, "%s(%u)", sql,
                 format->length / column_char_size(format));
        return;
    case COLUMN_DECIMAL:
    case COLUMN_DECIMALUNSIGNED:
        snprintf(text, SQL_TYPE_TEXT_SIZE, "%s(%u,%u)%s", sql, format->precision, format->scale,
                 members_of(format)->sign);
        return;
    default:
        snprintf(text, SQL_TYPE_TEXT_SIZE, "%s", sql);
    }
}

void sql_column_text(const struct table_def *def, const struct table_column *column, char *text,
                     size_t size)
{
    snprintf(text, size, "table %.60s.%.60s%s%.60s", def->database, def->table,
             column == NULL ? "" : ", column ",
             column == NULL ? "" : table_column_name(def, column));
}

static void member_text(const struct ndb_field *field, char *text, size_t size)
{
    uint32_t bytes = field->size;
    switch (field->kind) {
    case NDB_MEMBER_SIGNED:
        snprintf(text, size, "an int%u_t of %u bytes", 8 * bytes, bytes);
        return;
    case NDB_MEMBER_UNSIGNED:
        snprintf(text, size, "a uint%u_t%s of %u bytes", 8 * bytes,
                 bytes == sizeof(unsigned) ? " or an enum" : "", bytes);
        return;
    case NDB_MEMBER_REAL:
        snprintf(text, size, "a %s of %u bytes",
                 bytes == sizeof(float)    ? "float"
                 : bytes == sizeof(double) ? "double"
                                           : "long double",
                 bytes);
        return;
    case NDB_MEMBER_BOOL:
        snprintf(text, size, "a bool");
        return;
    case NDB_MEMBER_TEXT:
        snprintf(text, size, "a char[%u]", bytes);
        return;
    case NDB_MEMBER_BYTES:
        snprintf(text, size, "a uint8_t[%u]", bytes);
        return;
    case NDB_MEMBER_POINTER:
        snprintf(text, size, "a pointer");
        return;
    case NDB_MEMBER_OTHER:
        snprintf(text, size, "a struct or an array of %u bytes", bytes);
        return;
    case NDB_MEMBER_UNKNOWN:
    default:
        snprintf(text, size, "of %u bytes", bytes);
    }
}

static bool is_text(const struct table_column *column)
{
    switch (column->format.type) {
    case COLUMN_CHAR:
    case COLUMN_BINARY:
    case COLUMN_VARCHAR:
    case COLUMN_VARBINARY:
    case COLUMN_LONGVARCHAR:
    case COLUMN_LONGVARBINARY:
        return true;
    default:
        return false;
    }
}

static void fitting_text(const struct table_column *column, char *text, size_t size)
{
    const char *c = members_of(&column->format)->c;
    uint32_t length = column->format.length;
    if (c != NULL)
        snprintf(text, size, "%s", c);
    else if (!is_text(column))
        snprintf(text, size, "uint8_t[%u]", column->size_max);
    else if (column->array == COLUMN_FIXED)
        snprintf(text, size, "NDB_FIELD_STRING with char[%u], or char[%u]", length + 1u, length);
    else
        snprintf(text, size,
                 "NDB_FIELD_STRING with char[%u], or a struct of uint%u_t length and char[%u]",
                 length + 1u, column->array == COLUMN_SHORT_VAR ? 8u : 16u, length);
}

/* ---- The check. ---- */

/* A string in a char[]: any size, since it bounds the values. */
static bool string_fits(const struct table_column *column, const struct ndb_field *field)
{
    const uint32_t kinds = KIND(UNKNOWN) | KIND(TEXT) | KIND(BYTES);
    return is_text(column) && (kinds >> (uint32_t)field->kind & 1u) != 0 && field->size != 0;
}

static bool fits(const struct table_column *column, const struct ndb_field *field)
{
    uint32_t kinds = members_of(&column->format)->kinds;
    uint32_t size = field->size == 0 ? column->size_max : field->size;
    if ((uint32_t)field->kind > NDB_MEMBER_POINTER) return false;
    if ((field->flags & NDB_FIELD_CSTRING) != 0) return string_fits(column, field);
    if (is_text(column) && column->array == COLUMN_FIXED && size == 1) kinds |= KIND(UNSIGNED);
    bool told = field->kind != NDB_MEMBER_UNKNOWN;
    if (told && (kinds >> (uint32_t)field->kind & 1u) == 0) return false;
    bool may_be_larger = !told || column->array != COLUMN_FIXED;
    return size == column->size_max || (size > column->size_max && may_be_larger);
}

uint32_t member_check(const struct table_def *def, const struct table_column *column,
                      const struct ndb_field *field, char *text, size_t text_size)
{
    char where[220];
    char type[SQL_TYPE_TEXT_SIZE];
    char member[48];
    char fitting[96];
    if (fits(column, field)) return 0;
    bool number = column_is_integer(column->format.type);
    sql_column_text(def, column, where, sizeof where);
    sql_type_text(&column->format, type);
    member_text(field, member, sizeof member);
    fitting_text(column, fitting, sizeof fitting);
    snprintf(text, text_size, "%s is %s (%u bytes%s): the member is %s; use %s", where, type,
             column->size_max, number ? members_of(&column->format)->sign : "", member, fitting);
    return ERR_MEMBER_TYPE;
}
