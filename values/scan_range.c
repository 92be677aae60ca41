/* scan_range.c -- the wire form of ranges of an ordered index. */
/* SPDX-License-Identifier: MIT */
#include "values/scan_range.h"

#include <string.h>

enum { FLAGS_SHIFT = 8, VERSION_SHIFT = 16, NUMBER_SHIFT = 24, EXCLUSIVE = 0x8000 };

static uint32_t words_of(uint32_t bytes)
{
    return (bytes + 3) / 4;
}

uint32_t scan_values_encode(const struct scan_value *values, uint32_t count, uint32_t *words,
                            uint32_t words_max)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = words_of(values[i].size);
        if (at >= words_max || size > words_max - at - 1) return 0;
        words[at++] = values[i].size;
        if (size > 0) {
            words[at + size - 1] = 0; /* Padding. */
            memcpy(words + at, values[i].bytes, values[i].size);
        }
        at += size;
    }
    return at;
}

bool scan_values_decode(const uint32_t *words, uint32_t count, struct scan_value *values,
                        uint32_t columns, uint32_t *used)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < columns; i++) {
        if (at >= count) return false;
        uint32_t size = words[at++];
        if (size > TABLE_KEY_BYTES_MAX || words_of(size) > count - at) return false;
        values[i] = (struct scan_value){(const uint8_t *)(words + at), size};
        at += words_of(size);
    }
    *used = at;
    return true;
}

uint32_t scan_range_flags(const uint32_t *words)
{
    return words[0] >> FLAGS_SHIFT & 0xFF;
}

uint32_t scan_range_number(const uint32_t *words)
{
    return words[0] >> NUMBER_SHIFT;
}

static uint32_t bound_word(const struct scan_bound *bound)
{
    return bound->columns | (bound->exclusive ? (uint32_t)EXCLUSIVE : 0);
}

uint32_t scan_range_encode(const struct scan_range *range, uint32_t *words, uint32_t words_max)
{
    if (words_max < SCAN_RANGE_HEAD) return 0;
    words[0] = range->index | range->flags << FLAGS_SHIFT | SCAN_RANGE_VERSION << VERSION_SHIFT |
               range->number << NUMBER_SHIFT;
    words[1] = bound_word(&range->low) | bound_word(&range->high) << 16;
    uint32_t at = SCAN_RANGE_HEAD;
    if ((range->flags & SCAN_ONE_PARTITION) != 0) {
        if (at == words_max) return 0;
        words[at++] = range->partition;
    }
    uint32_t used =
        scan_values_encode(range->low.value, range->low.columns, words + at, words_max - at);
    if (used == 0 && range->low.columns > 0) return 0;
    at += used;
    used = scan_values_encode(range->high.value, range->high.columns, words + at, words_max - at);
    return used == 0 && range->high.columns > 0 ? 0 : at + used;
}

static bool bound_head(uint32_t word, struct scan_bound *bound)
{
    bound->exclusive = (word & EXCLUSIVE) != 0;
    bound->columns = word & (EXCLUSIVE - 1u);
    return bound->columns <= INDEX_COLUMNS_MAX && (bound->columns > 0 || !bound->exclusive);
}

uint32_t scan_range_decode(const uint32_t *words, uint32_t count, struct scan_range *range)
{
    uint32_t used;

    if (count < SCAN_RANGE_HEAD || (words[0] >> VERSION_SHIFT & 0xFF) != SCAN_RANGE_VERSION)
        return 0;
    range->number = scan_range_number(words);
    range->index = words[0] & 0xFF;
    range->flags = scan_range_flags(words);
    if ((range->flags & ~(uint32_t)SCAN_RANGE_FLAGS_ALL) != 0 ||
        !bound_head(words[1] & 0xFFFF, &range->low) || !bound_head(words[1] >> 16, &range->high))
        return 0;
    uint32_t at = SCAN_RANGE_HEAD;
    range->partition = 0;
    if ((range->flags & SCAN_ONE_PARTITION) != 0) {
        if (at == count) return 0;
        range->partition = words[at++];
    }
    if (!scan_values_decode(words + at, count - at, range->low.value, range->low.columns, &used))
        return 0;
    at += used;
    if (!scan_values_decode(words + at, count - at, range->high.value, range->high.columns, &used))
        return 0;
    return at + used;
}

/* Those that all ranges of a scan have. */
static uint32_t order_flags(const uint32_t *words)
{
    return scan_range_flags(words) & ~(uint32_t)SCAN_ONE_PARTITION;
}

uint32_t scan_ranges_count(const uint32_t *words, uint32_t count)
{
    struct scan_range range;
    uint32_t ranges = 0;
    uint32_t previous = 0; /* Where the range before stands. */
    uint32_t used;

    if (count > SCAN_RANGES_WORDS_MAX) return 0;
    for (uint32_t at = 0; at < count; at += used) {
        used = scan_range_decode(words + at, count - at, &range);
        if (used == 0) return 0;
        if (ranges > 0 && (range.index != (words[previous] & 0xFF) ||
                           order_flags(&words[at]) != order_flags(&words[previous]) ||
                           range.number <= scan_range_number(words + previous)))
            return 0;
        previous = at;
        ranges++;
    }
    return ranges;
}

uint32_t scan_ranges_last(const uint32_t *words, uint32_t count)
{
    struct scan_range range = {0};
    for (uint32_t at = 0; at < count;)
        at += scan_range_decode(words + at, count - at, &range);
    return range.number;
}
