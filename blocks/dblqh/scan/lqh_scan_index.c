/* lqh_scan_index.c -- scans of ranges of an ordered index: the fragment's rows range by range, in
 * the order of their keys. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "blocks/dblqh/scan/lqh_scan_index.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "blocks/dbtux/tux.h"
#include "values/errors.h"

#define GROUP      64u /* Entries that are fetched at once. */
#define RANGE_COST 4u  /* A range counts as so many entries at least: it takes a search. */
#define PREFETCH   8u  /* Rows that the memory is asked for ahead. */

static struct lqh_scan_index *record_get(struct lqh *lqh, const struct lqh_scan *scan)
{
    struct lqh_scan_index *record = pool_find(&lqh->scan_indexes, scan->index);
    ndbrequire(record != NULL);
    return record;
}

/* Why the index cannot be scanned. */
static uint32_t no_index(struct lqh *lqh, const struct lqh_scan *scan, uint32_t id)
{
    uint32_t table = lqh_table_get(lqh, scan->table_id)->tup_table;
    bool dropping = tup_index_state_of(lqh->tup, table, id) == TUP_INDEX_DROPPING;
    jam_data(dropping);
    return dropping ? ERR_INDEX_DROPPING : ERR_SCAN_TARGET_INDEX;
}

bool lqh_scan_index_gone(struct lqh *lqh, const struct lqh_scan *scan)
{
    if (scan->index == REF_NONE) return false;
    const struct tup_frag *frag = tup_frag_get(lqh->tup, scan->frag);
    return tup_frag_ordered(frag, record_get(lqh, scan)->id) == NULL;
}

static const uint32_t *ranges_of(struct lqh *lqh, const struct lqh_scan_index *record)
{
    if (record->ranges == REF_NONE) return record->range;
    const struct lqh_scan_ranges *ranges = pool_find(&lqh->scan_ranges, record->ranges);
    ndbrequire(ranges != NULL);
    return ranges->range;
}

/* Keeps the ranges. 0, or an error. */
static uint32_t seize(struct lqh *lqh, struct lqh_scan *scan, const struct section *section,
                      uint32_t id)
{
    struct lqh_scan_index *record = pool_seize(&lqh->scan_indexes);
    if (record == NULL) return ERR_INDEX_SCAN_RECORDS;
    uint32_t *to = record->range;
    if (section->size > LQH_RANGE_WORDS) {
        struct lqh_scan_ranges *ranges = pool_seize(&lqh->scan_ranges);
        if (ranges == NULL) {
            jam();
            pool_release(&lqh->scan_indexes, record);
            return ERR_INDEX_SCAN_RECORDS;
        }
        jam();
        record->ranges = ranges->pool.ref;
        to = ranges->range;
    }
    record->id = id;
    record->range_words = section->size;
    memcpy(to, section->words, (size_t)section->size * 4u);
    scan->index = record->pool.ref;
    return 0;
}

uint32_t lqh_scan_index_begin(struct lqh *lqh, struct lqh_scan *scan, const struct signal *sig)
{
    struct scan_range first;
    if (sig->section_count < 3) return 0;
    const struct section *section = &sig->section[2];
    if (scan_range_decode(section->words, section->size, &first) == 0) return ERR_BOUNDS;
    const struct tux_index *index =
        tup_frag_ordered(tup_frag_get(lqh->tup, scan->frag), first.index);
    if (index == NULL) return no_index(lqh, scan, first.index);
    uint32_t error = tux_ranges_check(tux_index_columns(index), section->words, section->size);
    return error != 0 ? error : seize(lqh, scan, section, first.index);
}

void lqh_scan_index_end(struct lqh *lqh, struct lqh_scan *scan)
{
    if (scan->index == REF_NONE) return;
    struct lqh_scan_index *record = record_get(lqh, scan);
    if (record->ranges != REF_NONE)
        pool_release(&lqh->scan_ranges, pool_find(&lqh->scan_ranges, record->ranges));
    pool_release(&lqh->scan_indexes, record);
    scan->index = REF_NONE;
}

bool lqh_scan_index_same(struct lqh *lqh, const struct lqh_scan *scan, const struct tup_frag *frag,
                         uint32_t row)
{
    const struct lqh_scan_index *record = record_get(lqh, scan);
    const struct tux_index *index = tup_frag_ordered(frag, record->id);
    return index != NULL && tux_scan_same(index, &record->position, row);
}

uint32_t lqh_scan_index_range(struct lqh *lqh, const struct lqh_scan *scan)
{
    const struct lqh_scan_index *record = record_get(lqh, scan);
    return scan_range_number(ranges_of(lqh, record) + record->position.range_at);
}

/* Goes to the next range. False: this was the last one. */
static bool next_range(struct lqh *lqh, struct lqh_scan_index *record)
{
    return tux_scan_next_range(ranges_of(lqh, record), record->range_words, &record->position);
}

uint32_t lqh_scan_index_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                            bool *end)
{
    struct lqh_scan_index *record = record_get(lqh, scan);
    const struct tux_index *index = tup_frag_ordered(frag, record->id);
    struct tux_entry entry;
    if (tux_scan_next(index, ranges_of(lqh, record), record->range_words, &record->position, &entry,
                      1, end) == 0) {
        *end = !next_range(lqh, record);
        return ROW_NONE;
    }
    *end = false; /* The next call looks again, and goes to the next range. */
    tux_scan_moved(index, &record->position, &entry);
    bool alive = !entry.copy &&
                 tup_row_alive(lqh->tup, frag, entry.row, scan->tc_frag, lqh_scan_owner(scan));
    return alive ? entry.row : ROW_NONE;
}

/* Looks at an entry's row; it goes behind the others if it is wanted. 0 or an error. */
static uint32_t look(struct lqh *lqh, struct lqh_scan *scan, struct tup_program *program,
                     const struct tux_entry *entry, struct lqh_rows *rows)
{
    bool fits;
    if (program->words == NULL) scan->looked++;
    if (entry->copy) return 0;
    uint32_t error = lqh_scan_fit(lqh, scan, program, entry->row, rows, &fits);
    if (error == 0 && fits) error = lqh_scan_read(lqh, scan, program->frag, entry->row, rows);
    return error == ERR_ROW_NOT_FOUND ? 0 : error;
}

static uint32_t group_of(const struct lqh *lqh)
{
    uint32_t step = block_config(&lqh->block)->scan_step_rows;
    return step < GROUP ? step : GROUP;
}

/* The next entries of the range; *count: how many. 0, or an error. */
static uint32_t look_at_some(struct lqh *lqh, struct lqh_scan *scan, struct tup_program *program,
                             struct lqh_rows *rows, uint32_t *count)
{
    struct lqh_scan_index *record = record_get(lqh, scan);
    const struct tux_index *index = tup_frag_ordered(program->frag, record->id);
    struct tux_entry entries[GROUP];
    uint32_t done = 0;
    bool end;
    *count = tux_scan_next(index, ranges_of(lqh, record), record->range_words, &record->position,
                           entries, group_of(lqh), &end);
    for (uint32_t i = 0; i < PREFETCH && i < *count; i++)
        tup_prefetch(program->frag, entries[i].row);
    while (done < *count && !lqh_scan_step_full(scan, rows)) {
        if (done + PREFETCH < *count) tup_prefetch(program->frag, entries[done + PREFETCH].row);
        uint32_t error = look(lqh, scan, program, &entries[done], rows);
        if (error != 0) return error;
        done++;
    }
    bool over = end && done == *count;
    if (over) scan->end = !next_range(lqh, record);
    if (done > 0 && !over) tux_scan_moved(index, &record->position, &entries[done - 1u]);
    return 0;
}

uint32_t lqh_scan_index_group(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                              struct lqh_rows *rows)
{
    struct tup_program program = lqh_scan_program(lqh, scan, frag);
    uint32_t group = group_of(lqh);
    uint32_t seen = 0;
    while (seen < group && !scan->end && !lqh_scan_step_full(scan, rows)) {
        uint32_t count;
        uint32_t error = look_at_some(lqh, scan, &program, rows, &count);
        if (error != 0) return error;
        seen += count > RANGE_COST ? count : RANGE_COST;
    }
    return 0;
}
