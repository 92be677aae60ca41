/* column_check.c -- whether bytes from outside are a value of a column. */
/* SPDX-License-Identifier: MIT */
/* Decimals are checked in column_decimal.c, times in column_time.c. */
#include "values/column_type.h"

#include "values/column_private.h"
#include "values/errors.h"

static uint32_t check_text(const struct column_format *format, const uint8_t *bytes, uint32_t size)
{
    const uint8_t *content;
    uint32_t length = column_content(format, bytes, size, &content);
    uint32_t characters;

    if (!column_is_utf8(format)) return ERR_NONE;
    if (format->type == COLUMN_CHAR)
        length =
            column_without_blanks(content, length); /* The padding may be more than n characters. */
    if (!utf8_check(content, length, &characters)) return ERR_STRING_INVALID;
    return characters <= format->length / 4 ? ERR_NONE : ERR_VALUE_LENGTH;
}

static bool check_bits(const struct column_format *format, const uint8_t *bytes)
{
    uint32_t used = format->length % 32;
    uint32_t last = (uint32_t)load_le(bytes + format->length / 32 * 4, used != 0 ? 4 : 0);

    return used == 0 || last >> used == 0;
}

/* NaN and infinity have no place in an order, hence not in a column. */
static bool check_float(const struct column_format *format, const uint8_t *bytes)
{
    if (format->type == COLUMN_FLOAT)
        return ((uint32_t)load_le(bytes, 4) & 0x7F800000u) != 0x7F800000u;
    return (load_le(bytes, 8) & 0x7FF0000000000000u) != 0x7FF0000000000000u;
}

uint32_t column_check(const struct column_format *format, const void *bytes, uint32_t size)
{
    bool valid = true;

    if (!column_is_well_formed(format, bytes, size)) return ERR_VALUE_LENGTH;
    switch (column_kind_of(format->type)) {
    case KIND_TEXT:
        return check_text(format, bytes, size);
    case KIND_FLOAT:
        valid = check_float(format, bytes);
        break;
    case KIND_DECIMAL:
        valid = decimal_check(format, bytes);
        break;
    case KIND_BIT:
        valid = check_bits(format, bytes);
        break;
    case KIND_TIME_LE:
    case KIND_TIME_BE:
        valid = time_check(format, bytes);
        break;
    case KIND_INTEGER:
    case KIND_BYTES:
        break;
    case KIND_NONE:
    default:
        return ERR_COLUMN_TYPE_UNSUPPORTED;
    }
    return valid ? ERR_NONE : ERR_VALUE_INVALID;
}
