/* column_private.h -- what the column_*.c files share: byte order, decimals, times, code points. */
/* SPDX-License-Identifier: MIT */
/* Only for values/column_*.c; everybody else uses column_type.h. */
#pragma once

#include "values/column_type.h"

/* Little and big endian integers of 1 to 8 bytes. */
static inline uint64_t load_le(const uint8_t *bytes, uint32_t size)
{
    uint64_t value = 0;

    for (uint32_t i = size; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}

static inline void store_le(uint8_t *bytes, uint32_t size, uint64_t value)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t load_be(const uint8_t *bytes, uint32_t size)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

static inline void store_be(uint8_t *bytes, uint32_t size, uint64_t value)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

/* column_fold.c: UTF-8. A byte that does not belong to a valid sequence is returned as
   CODE_POINT_BAD + byte and skipped alone, so that a walk always ends. */
enum { CODE_POINT_BAD = 0x110000 };
uint32_t utf8_next(const uint8_t **at, const uint8_t *end);
/* Writes 1 to 4 bytes (a bad byte as itself) and returns their number. */
uint32_t utf8_put(uint32_t code_point, uint8_t out[4]);
/* Is it UTF-8 throughout? *characters counts the code points. */
bool utf8_check(const uint8_t *bytes, uint32_t size, uint32_t *characters);

/* column_decimal.c. The format has precision and scale of the column; its type says whether it is
 * unsigned. */
uint32_t decimal_size(const struct column_format *format);
bool decimal_check(const struct column_format *format, const uint8_t *bytes);
uint32_t decimal_parse(const struct column_format *format, const char *text, uint32_t text_size,
                       uint8_t *out);
uint32_t decimal_print(const struct column_format *format, const uint8_t *bytes,
                       char out[COLUMN_DECIMAL_PRECISION_MAX + 4]);

/* column_time.c: date, year, time, datetime, timestamp, old and new. */
enum { TIME_TEXT_MAX = 40 };
bool time_check(const struct column_format *format, const uint8_t *bytes);
uint32_t time_parse(const struct column_format *format, const char *text, uint32_t text_size,
                    uint8_t *out);
uint32_t time_print(const struct column_format *format, const uint8_t *bytes,
                    char out[TIME_TEXT_MAX]);

/* How values of a type are kept and compared; the column_*.c files branch on this, not on types. */
enum column_kind {
    KIND_NONE,    /* not stored by this system */
    KIND_INTEGER, /* little endian, signed or not */
    KIND_FLOAT,   /* float, double */
    KIND_DECIMAL, /* memcmp */
    KIND_TEXT,    /* has a collation */
    KIND_BYTES,   /* binary, varbinary, longvarbinary */
    KIND_BIT,
    KIND_TIME_LE, /* old forms: little endian integers */
    KIND_TIME_BE  /* memcmp */
};

/* column_type.c. KIND_NONE for a number that is no type. */
enum column_kind column_kind_of(uint32_t type);
/* Text that is not compared byte by byte. */
bool column_is_utf8(const struct column_format *format);
/* A value whose size is what its type, or its length prefix, says. */
bool column_is_well_formed(const struct column_format *format, const void *bytes, uint32_t size);
/* The size without the blanks at the end. */
uint32_t column_without_blanks(const uint8_t *bytes, uint32_t size);
/* Bytes of an integer type; 0 for all other types. */
uint32_t integer_size(uint32_t type);
bool integer_is_signed(uint32_t type);
/* Bytes of the length prefix: 0, 1 or 2. */
uint32_t column_prefix_size(const struct column_format *format);
bool column_is_time(uint32_t type);
