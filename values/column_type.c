/* column_type.c -- kinds of types; sizes, order and canonical forms of values. */
/* SPDX-License-Identifier: MIT */
/* Formats and names are in column_format.c, checks of values in column_check.c, text forms in
 * column_text.c, decimals in column_decimal.c, times in column_time.c. */
#include "values/column_type.h"

#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"

static const uint8_t kinds[COLUMN_TYPE_COUNT] = {
    [COLUMN_TINYINT] = KIND_INTEGER,
    [COLUMN_TINYUNSIGNED] = KIND_INTEGER,
    [COLUMN_SMALLINT] = KIND_INTEGER,
    [COLUMN_SMALLUNSIGNED] = KIND_INTEGER,
    [COLUMN_MEDIUMINT] = KIND_INTEGER,
    [COLUMN_MEDIUMUNSIGNED] = KIND_INTEGER,
    [COLUMN_INT] = KIND_INTEGER,
    [COLUMN_UNSIGNED] = KIND_INTEGER,
    [COLUMN_BIGINT] = KIND_INTEGER,
    [COLUMN_BIGUNSIGNED] = KIND_INTEGER,
    [COLUMN_FLOAT] = KIND_FLOAT,
    [COLUMN_DOUBLE] = KIND_FLOAT,
    [COLUMN_DECIMAL] = KIND_DECIMAL,
    [COLUMN_DECIMALUNSIGNED] = KIND_DECIMAL,
    [COLUMN_CHAR] = KIND_TEXT,
    [COLUMN_VARCHAR] = KIND_TEXT,
    [COLUMN_LONGVARCHAR] = KIND_TEXT,
    [COLUMN_BINARY] = KIND_BYTES,
    [COLUMN_VARBINARY] = KIND_BYTES,
    [COLUMN_LONGVARBINARY] = KIND_BYTES,
    [COLUMN_BIT] = KIND_BIT,
    [COLUMN_DATE] = KIND_TIME_LE,
    [COLUMN_YEAR] = KIND_TIME_LE,
    [COLUMN_TIME] = KIND_TIME_LE,
    [COLUMN_DATETIME] = KIND_TIME_LE,
    [COLUMN_TIMESTAMP] = KIND_TIME_LE,
    [COLUMN_TIME2] = KIND_TIME_BE,
    [COLUMN_DATETIME2] = KIND_TIME_BE,
    [COLUMN_TIMESTAMP2] = KIND_TIME_BE,
};

/* Bytes of the types whose size does not depend on the column; 0 for the others. */
static const uint8_t plain_sizes[COLUMN_TYPE_COUNT] = {
    [COLUMN_TINYINT] = 1,       [COLUMN_TINYUNSIGNED] = 1, [COLUMN_SMALLINT] = 2,
    [COLUMN_SMALLUNSIGNED] = 2, [COLUMN_MEDIUMINT] = 3,    [COLUMN_MEDIUMUNSIGNED] = 3,
    [COLUMN_INT] = 4,           [COLUMN_UNSIGNED] = 4,     [COLUMN_BIGINT] = 8,
    [COLUMN_BIGUNSIGNED] = 8,   [COLUMN_FLOAT] = 4,        [COLUMN_DOUBLE] = 8,
    [COLUMN_DATETIME] = 8,      [COLUMN_DATE] = 3,         [COLUMN_TIME] = 3,
    [COLUMN_YEAR] = 1,          [COLUMN_TIMESTAMP] = 4,    [COLUMN_TIME2] = 3,
    [COLUMN_DATETIME2] = 5,     [COLUMN_TIMESTAMP2] = 4,
};

enum column_kind column_kind_of(uint32_t type)
{
    return type < COLUMN_TYPE_COUNT ? (enum column_kind)kinds[type] : KIND_NONE;
}

bool column_is_char(uint32_t type)
{
    return column_kind_of(type) == KIND_TEXT;
}

bool column_is_integer(uint32_t type)
{
    return column_kind_of(type) == KIND_INTEGER;
}

bool column_is_time(uint32_t type)
{
    return column_kind_of(type) == KIND_TIME_LE || column_kind_of(type) == KIND_TIME_BE;
}

bool column_is_utf8(const struct column_format *format)
{
    return column_is_char(format->type) && format->collation != COLLATION_BINARY;
}

uint32_t column_char_size(const struct column_format *format)
{
    return column_is_utf8(format) ? 4 : 1;
}

enum column_array column_array(const struct column_format *format)
{
    switch (format->type) {
    case COLUMN_VARCHAR:
    case COLUMN_VARBINARY:
        return COLUMN_SHORT_VAR;
    case COLUMN_LONGVARCHAR:
    case COLUMN_LONGVARBINARY:
        return COLUMN_MEDIUM_VAR;
    default:
        return COLUMN_FIXED;
    }
}

uint32_t column_prefix_size(const struct column_format *format)
{
    return (uint32_t)column_array(format);
}

bool column_is_bytewise(const struct column_format *format)
{
    return column_kind_of(format->type) != KIND_FLOAT && !column_is_utf8(format);
}

uint32_t integer_size(uint32_t type)
{
    return column_is_integer(type) ? plain_sizes[type] : 0;
}

bool integer_is_signed(uint32_t type)
{
    return type == COLUMN_TINYINT || type == COLUMN_SMALLINT || type == COLUMN_MEDIUMINT ||
           type == COLUMN_INT || type == COLUMN_BIGINT;
}

bool column_is_signed(uint32_t type)
{
    return integer_is_signed(type);
}

static uint32_t size_unchecked(const struct column_format *format)
{
    switch (column_kind_of(format->type)) {
    case KIND_INTEGER:
    case KIND_FLOAT:
    case KIND_TIME_LE:
        return plain_sizes[format->type];
    case KIND_TIME_BE:
        return plain_sizes[format->type] + (format->precision + 1u) / 2;
    case KIND_DECIMAL:
        return decimal_size(format);
    case KIND_BIT:
        return (format->length + 31) / 32 * 4;
    case KIND_TEXT:
    case KIND_BYTES:
        return column_prefix_size(format) + format->length;
    case KIND_NONE:
    default:
        return 0;
    }
}

uint32_t column_size_max(const struct column_format *format)
{
    return column_format_check(format) == ERR_NONE ? size_unchecked(format) : 0;
}

uint32_t column_value_size(const struct column_format *format, const void *bytes,
                           uint32_t available)
{
    uint32_t prefix = column_prefix_size(format);
    uint32_t size;

    if (prefix == 0) {
        size = size_unchecked(format);
    } else {
        if (available < prefix) return 0;
        uint32_t length = (uint32_t)load_le(bytes, prefix);
        if (length > format->length) return 0;
        size = prefix + length;
    }
    return size <= available ? size : 0;
}

uint32_t column_content(const struct column_format *format, const void *bytes, uint32_t size,
                        const uint8_t **content)
{
    uint32_t prefix = column_prefix_size(format);

    if (size < prefix) prefix = size;
    *content = (const uint8_t *)bytes + prefix;
    return size - prefix;
}

bool column_is_well_formed(const struct column_format *format, const void *bytes, uint32_t size)
{
    return size != 0 && column_value_size(format, bytes, size) == size;
}

uint32_t column_without_blanks(const uint8_t *bytes, uint32_t size)
{
    while (size > 0 && bytes[size - 1] == ' ')
        size--;
    return size;
}

/* The next code point as the collation sees it. Most text is ASCII, and this is on the way of every
   key operation: it stays out of the functions of column_fold.c. */
static uint32_t next_folded(const struct column_format *format, const uint8_t **at,
                            const uint8_t *end)
{
    bool folds = format->collation == COLLATION_UTF8MB4_GENERAL_CI;

    if (**at < 0x80) {
        uint32_t c = *(*at)++;
        return folds && c >= 'a' && c <= 'z' ? c - 32 : c;
    }
    uint32_t code_point = utf8_next(at, end);
    return folds ? column_fold(code_point) : code_point;
}

/* Folded content behind the same kind of prefix, or padded to the same fixed size. Folding never
   lengthens, so it fits where the original fits. */
static uint32_t text_form(const struct column_format *format, const uint8_t *bytes, uint32_t size,
                          uint8_t *out)
{
    uint32_t prefix = column_prefix_size(format);
    const uint8_t *at = bytes + prefix;
    const uint8_t *end = at + column_without_blanks(at, size - prefix);
    uint32_t length = prefix;

    while (at < end) {
        uint32_t code_point = next_folded(format, &at, end);
        if (code_point < 0x80) {
            out[length++] = (uint8_t)code_point;
        } else {
            uint8_t put[4];
            uint32_t put_size = utf8_put(code_point, put);
            memcpy(out + length, put, put_size);
            length += put_size;
        }
    }
    if (prefix == 0) {
        memset(out + length, ' ', size - length);
        return size;
    }
    store_le(out, prefix, length - prefix);
    return length;
}

uint32_t column_hash_form(const struct column_format *format, const void *bytes, uint32_t size,
                          void *out, uint32_t out_size)
{
    if (size > out_size || !column_is_well_formed(format, bytes, size)) return 0;
    if (column_is_utf8(format)) return text_form(format, bytes, size, out);
    memcpy(out, bytes, size);
    if (column_kind_of(format->type) == KIND_FLOAT) {
        uint64_t sign = 1ull << (8 * size - 1);
        if (load_le(bytes, size) == sign) memset(out, 0, size); /* -0.0 equals 0.0 */
    }
    return size;
}

/* Maps IEEE bits to integers of the same order; both zeros to one. */
static uint64_t float_key(uint64_t bits, uint32_t size)
{
    uint64_t sign = 1ull << (8 * size - 1);

    if (bits == sign) bits = 0;
    return (bits & sign) != 0 ? ~bits & (sign | (sign - 1)) : bits | sign;
}

/* An unsigned number of the same order for types of at most 8 little endian bytes. */
static uint64_t number_key(const struct column_format *format, const uint8_t *bytes, uint32_t size)
{
    uint64_t value = load_le(bytes, size);

    if (column_kind_of(format->type) == KIND_FLOAT) return float_key(value, size);
    if (integer_is_signed(format->type) || format->type == COLUMN_TIME)
        return value ^ 1ull << (8 * size - 1);
    return value;
}

static int compare_bytes(const uint8_t *a, uint32_t a_size, const uint8_t *b, uint32_t b_size)
{
    uint32_t shorter = a_size < b_size ? a_size : b_size;
    int order = shorter != 0 ? memcmp(a, b, shorter) : 0;

    if (order != 0) return order < 0 ? -1 : 1;
    return a_size == b_size ? 0 : a_size < b_size ? -1 : 1;
}

/* The shorter text is compared as if blanks followed it. */
static int compare_text(const struct column_format *format, const uint8_t *a, uint32_t a_size,
                        const uint8_t *b, uint32_t b_size)
{
    const uint8_t *a_end = a + a_size;
    const uint8_t *b_end = b + b_size;

    while (a < a_end || b < b_end) {
        uint32_t a_char = a < a_end ? next_folded(format, &a, a_end) : ' ';
        uint32_t b_char = b < b_end ? next_folded(format, &b, b_end) : ' ';
        if (a_char != b_char) return a_char < b_char ? -1 : 1;
    }
    return 0;
}

static int compare_bits(const uint8_t *a, const uint8_t *b, uint32_t size)
{
    for (uint32_t i = size; i > 0; i--) {
        if (a[i - 1] != b[i - 1]) return a[i - 1] < b[i - 1] ? -1 : 1;
    }
    return 0;
}

int column_compare(const struct column_format *format, const void *a, uint32_t a_size,
                   const void *b, uint32_t b_size)
{
    const uint8_t *a_content;
    const uint8_t *b_content;

    if (!column_is_well_formed(format, a, a_size) || !column_is_well_formed(format, b, b_size))
        return compare_bytes(a, a_size, b, b_size);
    switch (column_kind_of(format->type)) {
    case KIND_INTEGER:
    case KIND_FLOAT:
    case KIND_TIME_LE: {
        uint64_t a_key = number_key(format, a, a_size);
        uint64_t b_key = number_key(format, b, b_size);
        return a_key == b_key ? 0 : a_key < b_key ? -1 : 1;
    }
    case KIND_BIT:
        return compare_bits(a, b, a_size);
    case KIND_TEXT:
    case KIND_BYTES:
        a_size = column_content(format, a, a_size, &a_content);
        b_size = column_content(format, b, b_size, &b_content);
        if (column_is_utf8(format))
            return compare_text(format, a_content, a_size, b_content, b_size);
        return compare_bytes(a_content, a_size, b_content, b_size);
    case KIND_DECIMAL:
    case KIND_TIME_BE:
    case KIND_NONE:
    default:
        return compare_bytes(a, a_size, b, b_size);
    }
}

/* The first 8 bytes as one number, filled up with `fill`. */
static uint64_t bytes_prefix(const uint8_t *bytes, uint32_t size, uint8_t fill)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < 8; i++)
        value = value << 8 | (i < size ? bytes[i] : fill);
    return value;
}

static uint64_t text_prefix(const struct column_format *format, const uint8_t *at, uint32_t size)
{
    const uint8_t *end = at + size;
    uint8_t folded[12];
    uint32_t length = 0;

    while (at < end && length < 8)
        length += utf8_put(next_folded(format, &at, end), folded + length);
    return bytes_prefix(folded, length, ' ');
}

uint64_t column_sort_prefix(const struct column_format *format, const void *bytes, uint32_t size)
{
    const uint8_t *content;

    if (!column_is_well_formed(format, bytes, size)) return bytes_prefix(bytes, size, 0);
    switch (column_kind_of(format->type)) {
    case KIND_INTEGER:
    case KIND_FLOAT:
    case KIND_TIME_LE:
        return number_key(format, bytes, size);
    case KIND_BIT: {
        uint32_t top = size < 8 ? size : 8;
        return load_le((const uint8_t *)bytes + size - top, top);
    }
    case KIND_TEXT:
    case KIND_BYTES:
        size = column_content(format, bytes, size, &content);
        return column_is_utf8(format) ? text_prefix(format, content, size)
                                      : bytes_prefix(content, size, 0);
    case KIND_DECIMAL:
    case KIND_TIME_BE:
    case KIND_NONE:
    default:
        return bytes_prefix(bytes, size, 0);
    }
}

uint32_t column_sort_bits(const struct column_format *format, bool *exact)
{
    uint32_t size = size_unchecked(format);

    *exact = size <= 8;
    switch (column_kind_of(format->type)) {
    case KIND_INTEGER:
    case KIND_FLOAT:
    case KIND_TIME_LE:
    case KIND_BIT:
        return size < 8 ? 8 * size : 64;
    case KIND_TEXT:
    case KIND_BYTES: /* A variable one may end in the bytes that its prefix is filled up with. */
        *exact = size <= 8 && column_array(format) == COLUMN_FIXED && !column_is_utf8(format);
        return 64;
    case KIND_DECIMAL:
    case KIND_TIME_BE:
    case KIND_NONE:
    default:
        return 64;
    }
}
