/* column_like.c -- LIKE: patterns on values of character and binary columns. */
/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include "values/column_private.h"
#include "values/errors.h"

/* The next character as the collation sees it. */
static uint32_t next(const struct column_format *format, const uint8_t **at, const uint8_t *end)
{
    if (!column_is_utf8(format)) return *(*at)++;
    uint32_t c = **at;
    if (c < 0x80)
        (*at)++;
    else
        c = utf8_next(at, end);
    return format->collation == COLLATION_UTF8MB4_GENERAL_CI ? column_fold(c) : c;
}

uint32_t column_pattern_check(const struct column_format *format, const void *pattern,
                              uint32_t size)
{
    uint32_t characters;
    if (!column_is_utf8(format)) return 0;
    return utf8_check(pattern, size, &characters) ? 0 : ERR_STRING_INVALID;
}

/* Does the pattern's next item stand for the value's next character? Both move behind it. */
static bool one_matches(const struct column_format *format, const uint8_t **pattern,
                        const uint8_t *pattern_end, const uint8_t **value, const uint8_t *value_end)
{
    uint32_t c = next(format, value, value_end);
    if (**pattern == '_') {
        (*pattern)++;
        return true;
    }
    if (**pattern == '\\' && *pattern + 1 < pattern_end) (*pattern)++;
    return next(format, pattern, pattern_end) == c;
}

/*
 * After a % the rest is tried at each place of the value, the nearest first; what an earlier %
 * stood for need never be changed once a later one has been reached. So there is one place to go
 * back to.
 */
bool column_like(const struct column_format *format, const void *bytes, uint32_t size,
                 const void *pattern_bytes, uint32_t pattern_size, uint32_t *budget)
{
    const uint8_t *value;
    const uint8_t *pattern = pattern_bytes;
    const uint8_t *pattern_end = pattern + pattern_size;
    const uint8_t *back_pattern = NULL;
    const uint8_t *back_value = NULL;
    size = column_content(format, bytes, size, &value);
    const uint8_t *end = value + size;
    while (format->type == COLUMN_CHAR && end > value && end[-1] == ' ')
        end--;
    while (value < end) {
        if (*budget == 0) return false;
        (*budget)--;
        if (pattern < pattern_end && *pattern == '%') {
            back_pattern = ++pattern;
            back_value = value;
            if (pattern == pattern_end) return true;
            continue;
        }
        if (pattern < pattern_end && one_matches(format, &pattern, pattern_end, &value, end))
            continue;
        if (back_pattern == NULL) return false;
        next(format, &back_value, end);
        value = back_value;
        pattern = back_pattern;
    }
    while (pattern < pattern_end && *pattern == '%')
        pattern++;
    return pattern == pattern_end;
}
