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

/* column_type.c: integer columns. */
uint32_t integer_size(uint32_t type);
bool integer_is_signed(uint32_t type);
/* Bytes of the length prefix: 0, 1 or 2. */
uint32_t column_prefix_size(const struct column_format *format);
bool column_is_time(uint32_t type);
