/* move_convert.c -- which columns ndb_move_data may copy into which, and how. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text goes as bytes, FLOAT and DOUBLE as the number they are, everything else as the text of its
 * value. What is parsed may be rounded, so the text of what has come out must be the value that went
 * in: it arrives whole, or the error says why it cannot.
 */
#include "tools/move_convert.h"
#include "values/errors.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum family {
    FAMILY_INTEGER,
    FAMILY_FLOAT,
    FAMILY_DECIMAL,
    FAMILY_TEXT,
    FAMILY_BINARY,
    FAMILY_BIT,
    FAMILY_DATE,
    FAMILY_TIME,
    FAMILY_DATETIME,
    FAMILY_TIMESTAMP,
    FAMILY_YEAR
};

static enum family family_of(enum ndb_column_type type)
{
    switch (type) {
    case NDB_FLOAT:
    case NDB_DOUBLE:
        return FAMILY_FLOAT;
    case NDB_CHAR:
    case NDB_VARCHAR:
    case NDB_LONGVARCHAR:
        return FAMILY_TEXT;
    case NDB_BINARY:
    case NDB_VARBINARY:
    case NDB_LONGVARBINARY:
        return FAMILY_BINARY;
    case NDB_DECIMAL:
    case NDB_DECIMALUNSIGNED:
        return FAMILY_DECIMAL;
    case NDB_BIT:
        return FAMILY_BIT;
    case NDB_DATE:
        return FAMILY_DATE;
    case NDB_TIME:
    case NDB_TIME2:
        return FAMILY_TIME;
    case NDB_DATETIME:
    case NDB_DATETIME2:
        return FAMILY_DATETIME;
    case NDB_TIMESTAMP:
    case NDB_TIMESTAMP2:
        return FAMILY_TIMESTAMP;
    case NDB_YEAR:
        return FAMILY_YEAR;
    case NDB_TINYINT:
    case NDB_TINYUNSIGNED:
    case NDB_SMALLINT:
    case NDB_SMALLUNSIGNED:
    case NDB_MEDIUMINT:
    case NDB_MEDIUMUNSIGNED:
    case NDB_INT:
    case NDB_UNSIGNED:
    case NDB_BIGINT:
    case NDB_BIGUNSIGNED:
        break;
    }
    return FAMILY_INTEGER;
}

static bool is_unsigned(enum ndb_column_type type)
{
    return type == NDB_TINYUNSIGNED || type == NDB_SMALLUNSIGNED || type == NDB_MEDIUMUNSIGNED ||
           type == NDB_UNSIGNED || type == NDB_BIGUNSIGNED || type == NDB_DECIMALUNSIGNED;
}

/* The character set is what stands before the first _ of a collation. */
static bool same_characters(const char *a, const char *b)
{
    size_t length = strcspn(a, "_");
    return length == strcspn(b, "_") && memcmp(a, b, length) == 0;
}

/* Every value of `from` is one of `to`, but for those of varying length that end with what pads
 * them in a column of fixed length. */
static bool holds_all(const struct ndb_column_info *from, const struct ndb_column_info *to,
                      enum family family)
{
    switch (family) {
    case FAMILY_INTEGER:
        return is_unsigned(from->type) == is_unsigned(to->type) && from->size <= to->size;
    case FAMILY_DECIMAL:
        return is_unsigned(from->type) == is_unsigned(to->type) && from->scale <= to->scale &&
               from->precision - from->scale <= to->precision - to->scale;
    case FAMILY_FLOAT:
        return from->size <= to->size;
    case FAMILY_TEXT:
    case FAMILY_BINARY:
    case FAMILY_BIT:
        return from->length <= to->length;
    case FAMILY_DATE:
    case FAMILY_TIME:
    case FAMILY_DATETIME:
    case FAMILY_TIMESTAMP:
    case FAMILY_YEAR:
        break;
    }
    return from->precision <= to->precision;
}

enum move_need move_need(const struct ndb_column_info *from, const struct ndb_column_info *to)
{
    enum family family = family_of(from->type);

    if (family != family_of(to->type)) return MOVE_IMPOSSIBLE;
    if (family == FAMILY_TEXT && !same_characters(from->collation, to->collation))
        return MOVE_IMPOSSIBLE;
    if (from->type == to->type && from->size == to->size && from->precision == to->precision &&
        from->scale == to->scale && from->length == to->length)
        return MOVE_SAME;
    return holds_all(from, to, family) ? MOVE_PROMOTE : MOVE_LOSSY;
}

/* Content without prefix and padding, with those of the other column. Where padding is taken off,
 * content that ends like it cannot be told from it: it does not fit. */
static int move_bytes(const struct ndb_column_info *from, const struct ndb_column_info *to,
                      const uint8_t *value, uint32_t size, uint8_t *out, uint32_t *out_size)
{
    const uint8_t *content = value + from->prefix_bytes;
    uint32_t length = size - from->prefix_bytes;
    uint32_t room = to->size - to->prefix_bytes;
    uint8_t padding = family_of(to->type) == FAMILY_TEXT ? ' ' : 0;

    if (from->prefix_bytes == 0 && (padding != 0 || length > room)) {
        while (length > 0 && content[length - 1] == padding)
            length--;
    }
    if (length > room) return ERR_VALUE_TOO_LONG;
    if (from->prefix_bytes > 0 && to->prefix_bytes == 0 && length > 0 &&
        content[length - 1] == padding)
        return ERR_VALUE_OUT_OF_RANGE;
    if (to->prefix_bytes > 0) out[0] = (uint8_t)length;
    if (to->prefix_bytes > 1) out[1] = (uint8_t)(length >> 8);
    memcpy(out + to->prefix_bytes, content, length);
    *out_size = to->prefix_bytes + length;
    if (to->prefix_bytes > 0) return 0;
    memset(out + length, padding, room - length);
    *out_size = room;
    return 0;
}

/* Between FLOAT and DOUBLE the number counts, not its text: 0.1 is not the same in both. */
static int move_float(const struct ndb_column_info *from, const void *value, uint8_t *out,
                      uint32_t *out_size)
{
    double whole;
    float half;

    if (from->type == NDB_FLOAT) {
        memcpy(&half, value, sizeof(half));
        whole = (double)half;
        memcpy(out, &whole, sizeof(whole));
        *out_size = sizeof(whole);
        return 0;
    }
    memcpy(&whole, value, sizeof(whole));
    if (fabs(whole) > (double)FLT_MAX && isfinite(whole)) return ERR_VALUE_OUT_OF_RANGE;
    half = (float)whole;
    memcpy(out, &half, sizeof(half));
    *out_size = sizeof(half);
    return memcmp(&(double){(double)half}, &whole, sizeof(whole)) == 0 ? 0 : ERR_VALUE_OUT_OF_RANGE;
}

/* Has the target's value the same text as the source's? */
static bool comes_back(const struct ndb_table *from_table, const struct ndb_column_info *from,
                       const void *value, uint32_t size, const struct ndb_table *to_table,
                       uint32_t to, const uint8_t *out, uint32_t out_size,
                       const struct move_room *room)
{
    int length = ndb_value_print(to_table, to, out, out_size, 0, room->text, room->text_size);
    uint32_t back_size = 0;

    return length >= 0 &&
           ndb_value_parse(from_table, from->id, room->text, (uint32_t)length, room->back,
                           from->size + 1, &back_size) == 0 &&
           back_size == size && memcmp(room->back, value, size) == 0;
}

int move_value(const struct ndb_table *from_table, const struct ndb_column_info *from,
               const struct ndb_table *to_table, const struct ndb_column_info *to,
               const void *value, uint32_t size, const struct move_room *room, uint8_t *out,
               uint32_t *out_size)
{
    enum family family = family_of(from->type);

    if (move_need(from, to) == MOVE_SAME) {
        memcpy(out, value, size);
        *out_size = size;
    } else if (family == FAMILY_TEXT || family == FAMILY_BINARY) {
        int code = move_bytes(from, to, value, size, out, out_size);
        if (code != 0) return code;
    } else if (family == FAMILY_FLOAT) {
        int code = move_float(from, value, out, out_size);
        if (code != 0) return code;
    } else {
        int length =
            ndb_value_print(from_table, from->id, value, size, 0, room->text, room->text_size);
        if (length < 0) return ERR_VALUE_TOO_LONG;
        int code = ndb_value_parse(to_table, to->id, room->text, (uint32_t)length, out,
                                   to->size + 1, out_size);
        if (code != 0) return code;
        if (!comes_back(from_table, from, value, size, to_table, to->id, out, *out_size, room))
            return ERR_VALUE_OUT_OF_RANGE;
    }
    return ndb_value_check(to_table, to->id, out, *out_size);
}
