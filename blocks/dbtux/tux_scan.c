/* tux_scan.c -- ranges of an index in both directions, in steps between which everything may
 * change. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtux/tux_state.h"
#include "values/errors.h"

static uint32_t bound_check(const struct tux_columns *columns, const struct scan_bound *bound)
{
    if (bound->columns > columns->count) return ERR_BOUNDS;
    for (uint32_t i = 0; i < bound->columns; i++) {
        const struct scan_value *value = &bound->value[i];
        if (value->size != 0 &&
            column_check(&columns->column[i].format, value->bytes, value->size) != 0)
            return ERR_BOUNDS;
    }
    return 0;
}

uint32_t tux_ranges_check(const struct tux_columns *columns, const uint32_t *ranges, uint32_t words)
{
    uint32_t at = 0;
    for (uint32_t left = scan_ranges_count(ranges, words); left > 0; left--) {
        struct scan_range range;
        at += scan_range_decode(ranges + at, words - at, &range);
        uint32_t error = bound_check(columns, &range.low);
        if (error == 0) error = bound_check(columns, &range.high);
        if (error != 0) return error;
    }
    return at > 0 ? 0 : ERR_BOUNDS;
}

/* The place where a bound lets entries begin (the lower one), or end. Where a column cannot be NULL
 * nobody is, and all are behind it: it lies before all that have the values in front of it. */
static struct tux_search bound_place(const struct tux_columns *columns,
                                     const struct scan_bound *bound, bool lower)
{
    for (uint32_t i = 0; i < bound->columns; i++) {
        if (bound->value[i].size == 0 && !columns->column[i].nullable)
            return (struct tux_search){.value = bound->value, .count = i, .place = TUX_BEFORE};
    }
    return (struct tux_search){.value = bound->value,
                               .count = bound->columns,
                               .place = bound->exclusive == lower ? TUX_BEHIND : TUX_BEFORE};
}

static struct tux_search no_bound(bool lower)
{
    return (struct tux_search){.count = 0, .place = lower ? TUX_BEFORE : TUX_BEHIND};
}

static struct tux_search side(const struct tux_columns *columns, const struct scan_bound *bound,
                              bool lower)
{
    return bound->columns == 0 ? no_bound(lower) : bound_place(columns, bound, lower);
}

/* Is the place behind all entries? */
static bool is_end(const struct tux_search *search)
{
    return search->count == 0 && search->place == TUX_BEHIND;
}

/* The position as a place: that of its entry. `values` has room. */
static struct tux_search position_place(const struct tux_index *index,
                                        const struct tux_position *position,
                                        struct scan_value *values)
{
    uint32_t used;
    ndbrequire(scan_values_decode(position->key, position->key_words, values, index->columns->count,
                                  &used));
    return (struct tux_search){.value = values,
                               .count = index->columns->count,
                               .place = TUX_AT,
                               .row = position->row,
                               .copy = position->copy != 0};
}

/* Steps over the entry of the position, if it is still there. */
static void step_over(const struct tux_index *index, struct tux_cursor *cursor,
                      const struct tux_search *at)
{
    struct tux_cursor next = *cursor;
    struct tux_entry entry;
    if (tux_next(index, &next, &entry) && tux_compare(index, &entry, at) == 0) *cursor = next;
}

/*
 * Entries come in runs, all that a leaf has of the range: where a run ends is looked for once in
 * the leaf, so that no row is touched for each of them. *end: there is none behind those taken, as
 * far as their leaf can tell.
 */
static uint32_t scan_up(const struct tux_index *index, struct tux_cursor cursor,
                        const struct tux_search *limit, struct tux_entry *entries, uint32_t max,
                        bool *end)
{
    const struct tux_target target = tux_target_at(index, limit);
    uint32_t count = 0;
    while (cursor.leaf != TUX_NODE_NONE) {
        const struct tux_leaf *leaf = tux_leaf(index->tux, cursor.leaf);
        uint32_t stop = is_end(limit) ? leaf->head.count : tux_leaf_find(index, leaf, &target);
        while (cursor.at < stop && count < max)
            entries[count++] = tux_entry_at(leaf, cursor.at++);
        *end = cursor.at >= stop && stop < leaf->head.count;
        if (*end || count == max) return count;
        cursor = (struct tux_cursor){leaf->head.next, 0};
    }
    *end = true;
    return count;
}

static uint32_t scan_down(const struct tux_index *index, struct tux_cursor cursor,
                          const struct tux_search *limit, struct tux_entry *entries, uint32_t max,
                          bool *end)
{
    const struct tux_target target = tux_target_at(index, limit);
    uint32_t count = 0;
    while (cursor.leaf != TUX_NODE_NONE) {
        const struct tux_leaf *leaf = tux_leaf(index->tux, cursor.leaf);
        uint32_t stop = limit->count > 0 ? tux_leaf_find(index, leaf, &target) : 0;
        while (cursor.at > stop && count < max)
            entries[count++] = tux_entry_at(leaf, --cursor.at);
        *end = cursor.at <= stop && stop > 0;
        if (*end || count == max) return count;
        cursor.leaf = leaf->head.prev;
        if (cursor.leaf != TUX_NODE_NONE) cursor.at = tux_node(index->tux, cursor.leaf)->count;
    }
    *end = true;
    return count;
}

/* The range of the position; returns its words. It was checked. */
static uint32_t range_of(const uint32_t *ranges, uint32_t words,
                         const struct tux_position *position, struct scan_range *range)
{
    ndbrequire(position->range_at < words);
    uint32_t used =
        scan_range_decode(ranges + position->range_at, words - position->range_at, range);
    ndbrequire(used > 0);
    return used;
}

bool tux_scan_next_range(const uint32_t *ranges, uint32_t words, struct tux_position *position)
{
    struct scan_range range;
    uint32_t next = position->range_at + range_of(ranges, words, position, &range);
    if (next == words) return false;
    position->range_at = next;
    position->begun = 0;
    return true;
}

uint32_t tux_scan_next(const struct tux_index *index, const uint32_t *ranges, uint32_t words,
                       const struct tux_position *position, struct tux_entry *entries, uint32_t max,
                       bool *end)
{
    struct scan_range range;
    struct scan_value values[TUX_COLUMNS_MAX];
    *end = false;
    range_of(ranges, words, position, &range);
    bool down = (range.flags & SCAN_DESCENDING) != 0;
    const struct tux_search low = side(index->columns, &range.low, true);
    const struct tux_search high = side(index->columns, &range.high, false);
    struct tux_search from = down ? high : low;
    if (position->begun) from = position_place(index, position, values);
    struct tux_cursor cursor = tux_seek(index, &from);
    if (down) return scan_down(index, cursor, &low, entries, max, end);
    if (position->begun) step_over(index, &cursor, &from);
    return scan_up(index, cursor, &high, entries, max, end);
}

void tux_scan_moved(const struct tux_index *index, struct tux_position *position,
                    const struct tux_entry *entry)
{
    struct tux_key key;
    tux_key_get(index, entry->row, entry->copy, &key);
    position->begun = 1;
    position->row = entry->row;
    position->copy = entry->copy;
    position->key_words =
        scan_values_encode(key.value, index->columns->count, position->key, TUX_KEY_WORDS_MAX);
    ndbrequire(position->key_words > 0);
}

bool tux_scan_same(const struct tux_index *index, const struct tux_position *position, uint32_t row)
{
    struct scan_value values[TUX_COLUMNS_MAX];
    const struct tux_search at = position_place(index, position, values);
    const struct tux_entry entry = {.row = row};
    return tux_compare(index, &entry, &at) == 0;
}
