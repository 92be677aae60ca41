/* column_decimal.c -- the sortable decimal: groups of nine digits, big endian, sign in front. */
/* SPDX-License-Identifier: MIT */
/*
 * decimal(14,4) has 10 digits before the point and 4 after it: 1 + 9 | 4 digits, so 1 + 4 | 2
 * bytes. A short group stands outermost on either side. The first bit is flipped, and all bytes of
 * a negative number are inverted, so that memcmp of two values of one column orders them.
 */
#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"

enum { GROUP_DIGITS = 9 };

static const uint8_t group_bytes[GROUP_DIGITS + 1] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4};

static const uint32_t powers[GROUP_DIGITS + 1] = {1,      10,      100,      1000,      10000,
                                                  100000, 1000000, 10000000, 100000000, 1000000000};

static bool format_valid(const struct column_format *format)
{
    return format->precision <= COLUMN_DECIMAL_PRECISION_MAX && format->scale <= format->precision;
}

static uint32_t part_size(uint32_t digits)
{
    return digits / GROUP_DIGITS * 4 + group_bytes[digits % GROUP_DIGITS];
}

uint32_t decimal_size(const struct column_format *format)
{
    if (!format_valid(format)) return 0;
    return part_size(format->precision - format->scale) + part_size(format->scale);
}

/* The lengths in digits of the groups, first to last; returns how many there are. */
static uint32_t split_groups(const struct column_format *format, uint8_t groups[10])
{
    uint32_t whole = (uint32_t)(format->precision - format->scale);
    uint32_t fraction = format->scale;
    uint32_t count = 0;

    if (whole % GROUP_DIGITS != 0) groups[count++] = (uint8_t)(whole % GROUP_DIGITS);
    for (uint32_t i = 0; i < whole / GROUP_DIGITS; i++)
        groups[count++] = GROUP_DIGITS;
    for (uint32_t i = 0; i < fraction / GROUP_DIGITS; i++)
        groups[count++] = GROUP_DIGITS;
    if (fraction % GROUP_DIGITS != 0) groups[count++] = (uint8_t)(fraction % GROUP_DIGITS);
    return count;
}

/* digits[0..precision): '0'..'9', point not included. */
static void encode(const struct column_format *format, const char *digits, bool negative,
                   uint8_t *out)
{
    uint8_t groups[10];
    uint32_t count = split_groups(format, groups);
    uint8_t *at = out;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = 0;
        for (uint32_t k = 0; k < groups[i]; k++)
            value = value * 10 + (uint32_t)(*digits++ - '0');
        store_be(at, group_bytes[groups[i]], value);
        at += group_bytes[groups[i]];
    }
    out[0] ^= 0x80;
    for (uint8_t *p = out; negative && p < at; p++)
        *p = (uint8_t) ~*p;
}

/* The opposite. False when a group holds more than its digits can. */
static bool decode(const struct column_format *format, const uint8_t *bytes, char *digits,
                   bool *negative)
{
    uint8_t plain[COLUMN_DECIMAL_BYTES_MAX];
    uint8_t groups[10];
    uint32_t size = decimal_size(format);
    const uint8_t *at = plain;

    *negative = (bytes[0] & 0x80) == 0;
    for (uint32_t i = 0; i < size; i++)
        plain[i] = (uint8_t)(*negative ? ~bytes[i] : bytes[i]);
    plain[0] ^= 0x80;
    uint32_t count = split_groups(format, groups);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = (uint32_t)load_be(at, group_bytes[groups[i]]);
        if (value >= powers[groups[i]]) return false;
        for (uint32_t k = groups[i]; k > 0; k--)
            *digits++ = (char)('0' + value / powers[k - 1] % 10);
        at += group_bytes[groups[i]];
    }
    return true;
}

static bool is_zero(const char *digits, uint32_t count)
{
    while (count > 0 && digits[count - 1] == '0')
        count--;
    return count == 0;
}

bool decimal_check(const struct column_format *format, const uint8_t *bytes)
{
    char digits[COLUMN_DECIMAL_PRECISION_MAX];
    bool negative;

    if (decimal_size(format) == 0 || !decode(format, bytes, digits, &negative)) return false;
    /* There is one zero, and no sign on an unsigned number. */
    return !negative ||
           (format->type != COLUMN_DECIMALUNSIGNED && !is_zero(digits, format->precision));
}

/* Adds one to the last digit; false when it does not fit. */
static bool round_up(char *digits, uint32_t count)
{
    while (count > 0) {
        count--;
        if (digits[count] != '9') {
            digits[count]++;
            return true;
        }
        digits[count] = '0';
    }
    return false;
}

static uint32_t span_digits(const char *text, uint32_t size)
{
    uint32_t count = 0;

    while (count < size && text[count] >= '0' && text[count] <= '9')
        count++;
    return count;
}

uint32_t decimal_parse(const struct column_format *format, const char *text, uint32_t text_size,
                       uint8_t *out)
{
    char digits[COLUMN_DECIMAL_PRECISION_MAX];
    uint32_t whole = (uint32_t)(format->precision - format->scale);
    bool negative = text_size > 0 && text[0] == '-';

    if (text_size > 0 && (text[0] == '-' || text[0] == '+')) {
        text++;
        text_size--;
    }
    uint32_t before = span_digits(text, text_size);
    bool point = before < text_size && text[before] == '.';
    const char *fraction = text + before + (point ? 1 : 0);
    uint32_t after = point ? span_digits(fraction, text_size - before - 1) : 0;
    if (before + after == 0 || before + after + (point ? 1u : 0u) != text_size)
        return ERR_VALUE_INVALID;
    while (before > 0 && *text == '0') {
        text++;
        before--;
    }
    if (before > whole) return ERR_VALUE_OUT_OF_RANGE;
    memset(digits, '0', sizeof(digits));
    memcpy(digits + whole - before, text, before);
    memcpy(digits + whole, fraction, after < format->scale ? after : format->scale);
    if (after > format->scale && fraction[format->scale] >= '5' &&
        !round_up(digits, format->precision))
        return ERR_VALUE_OUT_OF_RANGE;
    if (is_zero(digits, format->precision)) negative = false;
    if (negative && format->type == COLUMN_DECIMALUNSIGNED) return ERR_VALUE_OUT_OF_RANGE;
    encode(format, digits, negative, out);
    return ERR_NONE;
}

uint32_t decimal_print(const struct column_format *format, const uint8_t *bytes,
                       char out[COLUMN_DECIMAL_PRECISION_MAX + 4])
{
    char digits[COLUMN_DECIMAL_PRECISION_MAX];
    uint32_t whole = (uint32_t)(format->precision - format->scale);
    uint32_t skip = 0;
    uint32_t length = 0;
    bool negative;

    if (!decode(format, bytes, digits, &negative)) return UINT32_MAX;
    while (skip < whole && digits[skip] == '0')
        skip++;
    if (negative) out[length++] = '-';
    if (skip == whole) out[length++] = '0';
    memcpy(out + length, digits + skip, whole - skip);
    length += whole - skip;
    if (format->scale > 0) {
        out[length++] = '.';
        memcpy(out + length, digits + whole, format->scale);
        length += format->scale;
    }
    out[length] = 0;
    return length;
}
