/* column_format.c -- which formats a column can have, and what types, collations and formats are
 * called. */
/* SPDX-License-Identifier: MIT */
#include "values/column_type.h"

#include <stdio.h>
#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"

static const char *const type_names[COLUMN_TYPE_COUNT] = {
    [COLUMN_UNDEFINED] = "Undefined",
    [COLUMN_TINYINT] = "Tinyint",
    [COLUMN_TINYUNSIGNED] = "Tinyunsigned",
    [COLUMN_SMALLINT] = "Smallint",
    [COLUMN_SMALLUNSIGNED] = "Smallunsigned",
    [COLUMN_MEDIUMINT] = "Mediumint",
    [COLUMN_MEDIUMUNSIGNED] = "Mediumunsigned",
    [COLUMN_INT] = "Int",
    [COLUMN_UNSIGNED] = "Unsigned",
    [COLUMN_BIGINT] = "Bigint",
    [COLUMN_BIGUNSIGNED] = "Bigunsigned",
    [COLUMN_FLOAT] = "Float",
    [COLUMN_DOUBLE] = "Double",
    [COLUMN_OLDDECIMAL] = "Olddecimal",
    [COLUMN_CHAR] = "Char",
    [COLUMN_VARCHAR] = "Varchar",
    [COLUMN_BINARY] = "Binary",
    [COLUMN_VARBINARY] = "Varbinary",
    [COLUMN_DATETIME] = "Datetime",
    [COLUMN_DATE] = "Date",
    [COLUMN_BLOB] = "Blob",
    [COLUMN_TEXT] = "Text",
    [COLUMN_BIT] = "Bit",
    [COLUMN_LONGVARCHAR] = "Longvarchar",
    [COLUMN_LONGVARBINARY] = "Longvarbinary",
    [COLUMN_TIME] = "Time",
    [COLUMN_YEAR] = "Year",
    [COLUMN_TIMESTAMP] = "Timestamp",
    [COLUMN_OLDDECIMALUNSIGNED] = "Olddecimalunsigned",
    [COLUMN_DECIMAL] = "Decimal",
    [COLUMN_DECIMALUNSIGNED] = "Decimalunsigned",
    [COLUMN_TIME2] = "Time2",
    [COLUMN_DATETIME2] = "Datetime2",
    [COLUMN_TIMESTAMP2] = "Timestamp2",
};

const char *column_type_name(uint32_t type)
{
    return type_names[type < COLUMN_TYPE_COUNT ? type : COLUMN_UNDEFINED];
}

const char *collation_name(uint32_t collation)
{
    switch (collation) {
    case COLLATION_NONE:
        return "";
    case COLLATION_BINARY:
        return "binary";
    case COLLATION_UTF8MB4_BIN:
        return "utf8mb4_bin";
    case COLLATION_UTF8MB4_GENERAL_CI:
        return "utf8mb4_general_ci";
    default:
        return NULL;
    }
}

enum collation collation_find(const char *name, uint32_t name_size)
{
    static const enum collation all[] = {COLLATION_BINARY, COLLATION_UTF8MB4_BIN,
                                         COLLATION_UTF8MB4_GENERAL_CI};

    for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *known = collation_name(all[i]);
        uint32_t same = 0;
        if (strlen(known) != name_size) continue;
        while (same < name_size &&
               column_fold((uint8_t)name[same]) == column_fold((uint8_t)known[same]))
            same++;
        if (same == name_size) return all[i];
    }
    return COLLATION_NONE;
}

static uint32_t check_decimal_format(const struct column_format *format)
{
    if (format->precision < 1 || format->precision > COLUMN_DECIMAL_PRECISION_MAX)
        return ERR_COLUMN_PRECISION;
    if (format->scale > COLUMN_DECIMAL_SCALE_MAX || format->scale > format->precision)
        return ERR_COLUMN_SCALE;
    return format->length == 1 ? ERR_NONE : ERR_COLUMN_ARRAY_SIZE;
}

static uint32_t check_string_format(const struct column_format *format)
{
    if (format->precision != 0 || format->scale != 0 || format->length == 0)
        return ERR_COLUMN_ARRAY_SIZE;
    if (format->length > COLUMN_BYTES_MAX) return ERR_COLUMN_TOO_BIG;
    if (column_array(format) == COLUMN_SHORT_VAR && format->length > COLUMN_SHORT_VAR_BYTES_MAX)
        return ERR_COLUMN_TOO_BIG;
    return format->length % column_char_size(format) == 0 ? ERR_NONE : ERR_COLUMN_ARRAY_SIZE;
}

uint32_t column_format_check(const struct column_format *format)
{
    enum column_kind kind = column_kind_of(format->type);

    if (kind == KIND_NONE) return ERR_COLUMN_TYPE_UNSUPPORTED;
    if (kind != KIND_TEXT && format->collation != COLLATION_NONE) return ERR_COLLATION_ON_NUMBER;
    if (kind == KIND_TEXT &&
        (format->collation == COLLATION_NONE || collation_name(format->collation) == NULL))
        return ERR_CHARSET_UNSUPPORTED;
    if (kind == KIND_DECIMAL) return check_decimal_format(format);
    if (kind == KIND_TEXT || kind == KIND_BYTES) return check_string_format(format);
    if (format->scale != 0) return ERR_COLUMN_ARRAY_SIZE;
    if (format->precision > (kind == KIND_TIME_BE ? COLUMN_FRACTION_DIGITS_MAX : 0))
        return ERR_COLUMN_ARRAY_SIZE;
    if (kind != KIND_BIT) return format->length == 1 ? ERR_NONE : ERR_COLUMN_ARRAY_SIZE;
    if (format->length > COLUMN_BITS_MAX) return ERR_BITS_TOO_MANY;
    return format->length > 0 ? ERR_NONE : ERR_COLUMN_ARRAY_SIZE;
}

uint32_t column_format_print(const struct column_format *format, char *out, uint32_t out_size)
{
    const char *name = column_type_name(format->type);
    char text[80];
    int length = 0;

    switch (column_kind_of(format->type)) {
    case KIND_TEXT: {
        const char *collation = collation_name(format->collation);
        length = snprintf(text, sizeof(text), "%s(%u;%s)", name,
                          format->length / column_char_size(format),
                          collation != NULL ? collation : "?");
        break;
    }
    case KIND_BYTES:
    case KIND_BIT:
        length = snprintf(text, sizeof(text), "%s(%u)", name, format->length);
        break;
    case KIND_DECIMAL:
        length = snprintf(text, sizeof(text), "%s(%u,%u)", name, format->precision, format->scale);
        break;
    case KIND_TIME_BE:
        length = snprintf(text, sizeof(text), "%s(%u)", name, format->precision);
        break;
    case KIND_NONE:
    case KIND_INTEGER:
    case KIND_FLOAT:
    case KIND_TIME_LE:
    default:
        length = snprintf(text, sizeof(text), "%s", name);
        break;
    }
    if (out_size == 0) return 0;
    uint32_t cut = (uint32_t)length < out_size ? (uint32_t)length : out_size - 1;
    memcpy(out, text, cut);
    out[cut] = 0;
    return cut;
}
