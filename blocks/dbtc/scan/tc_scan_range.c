/* tc_scan_range.c -- ranges of an index: kept for the fragments that are started later, and only
 * those fragments that can have rows of them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "values/scan_range.h"
#include "values/key.h"

static const struct tc_scan_range *ranges_get(const struct tc *tc, const struct tc_scan *scan)
{
    const struct tc_scan_range *ranges = pool_find(&tc->scan_ranges, scan->range);
    ndbrequire(ranges != NULL);
    return ranges;
}

/* Finds the fragments that can have rows of each range. */
static void find_fragments(const struct tc_table *table, struct tc_scan_range *ranges)
{
    uint32_t at = 0;
    ranges->some = 0;
    ranges->all = 1;
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct scan_range range;
        at += scan_range_decode(ranges->word + at, ranges->words - at, &range);
        bool one = (range.flags & SCAN_ONE_PARTITION) != 0;
        uint32_t bucket = hash_map_bucket((uint64_t)range.partition << 32, table->buckets);
        ranges->fragment[i] = one ? table->fragment_of[bucket] : TC_ALL_FRAGMENTS;
        ranges->some |= one;
        ranges->all &= one;
    }
}

bool tc_scan_range_keep(struct tc *tc, struct tc_scan *scan, const struct tc_table *table,
                        const struct signal *sig)
{
    if (sig->section_count < 3) return true;
    const struct section *section = &sig->section[2];
    struct tc_scan_range *ranges = pool_seize(&tc->scan_ranges);
    if (ranges == NULL) return false;
    ranges->words = section->size;
    memcpy(ranges->word, section->words, (size_t)section->size * 4u);
    ranges->count = scan_ranges_count(ranges->word, ranges->words);
    ndbrequire(ranges->count > 0); /* check_scan() has looked. */
    find_fragments(table, ranges);
    scan->range = ranges->pool.ref;
    scan->merged = (scan_range_flags(ranges->word) & SCAN_MERGED) != 0;
    return true;
}

void tc_scan_range_end(struct tc *tc, struct tc_scan *scan)
{
    if (scan->range == REF_NONE) return;
    pool_release(&tc->scan_ranges, pool_find(&tc->scan_ranges, scan->range));
    scan->range = REF_NONE;
}

uint32_t tc_scan_range_fragment(const struct tc *tc, const struct tc_scan *scan, uint32_t from)
{
    if (scan->range == REF_NONE) return from;
    const struct tc_scan_range *ranges = ranges_get(tc, scan);
    if (!ranges->all) return from;
    uint32_t next = scan->fragment_count;
    jam();
    for (uint32_t i = 0; i < ranges->count; i++) { /* At most SCAN_RANGES_MAX. */
        uint32_t fragment = ranges->fragment[i];
        if (fragment >= from && fragment < next) next = fragment;
    }
    return next;
}

struct section tc_scan_range_section(const struct tc *tc, const struct tc_scan *scan,
                                     uint32_t fragment)
{
    const struct tc_scan_range *ranges = ranges_get(tc, scan);
    uint32_t at = 0;
    uint32_t to = 0;
    if (!ranges->some) return (struct section){.words = ranges->word, .size = ranges->words};
    jam();
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct scan_range range;
        uint32_t words = scan_range_decode(ranges->word + at, ranges->words - at, &range);
        if (ranges->fragment[i] == fragment || ranges->fragment[i] == TC_ALL_FRAGMENTS) {
            memcpy(tc->range_out + to, ranges->word + at, words * 4u);
            to += words;
        }
        at += words;
    }
    return (struct section){.words = tc->range_out, .size = to};
}
