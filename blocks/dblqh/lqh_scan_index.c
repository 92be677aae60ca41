/* lqh_scan_index.c -- scans of a range of an ordered index: the fragment's rows in the order of
 * their keys. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"

#define GROUP 16u /* Entries fetched at once. */

static struct lqh_scan_index *record_get(struct lqh *lqh, const struct lqh_scan *scan)
{
    struct lqh_scan_index *record = pool_find(&lqh->scan_indexes, scan->index);
    ndbrequire(record != NULL);
    return record;
}

uint32_t lqh_scan_index_begin(struct lqh *lqh, struct lqh_scan *scan, const struct signal *sig)
{
    struct scan_range range;
    if (sig->section_count < 3) return 0;
    const struct section *section = &sig->section[2];
    if (section->size > SCAN_RANGE_WORDS_MAX ||
        !scan_range_decode(section->words, section->size, &range))
        return ERR_BOUNDS;
    const struct tux_index *index =
        tup_frag_ordered(tup_frag_get(lqh->tup, scan->frag), range.index);
    if (index == NULL) return ERR_SCAN_TARGET_INDEX;
    uint32_t error = tux_range_check(tux_index_columns(index), section->words, section->size);
    if (error != 0) return error;
    struct lqh_scan_index *record = pool_seize(&lqh->scan_indexes);
    if (record == NULL) return ERR_INDEX_SCAN_RECORDS;
    record->number = range.index;
    record->range_words = section->size;
    memcpy(record->range, section->words, (size_t)section->size * 4u);
    scan->index = record->pool.ref;
    return 0;
}

void lqh_scan_index_end(struct lqh *lqh, struct lqh_scan *scan)
{
    if (scan->index == REF_NONE) return;
    pool_release(&lqh->scan_indexes, record_get(lqh, scan));
    scan->index = REF_NONE;
}

bool lqh_scan_index_same(struct lqh *lqh, const struct lqh_scan *scan, const struct tup_frag *frag,
                         uint32_t row)
{
    const struct lqh_scan_index *record = record_get(lqh, scan);
    return tux_scan_same(tup_frag_ordered(frag, record->number), &record->position, row);
}

uint32_t lqh_scan_index_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                            bool *end)
{
    struct lqh_scan_index *record = record_get(lqh, scan);
    const struct tux_index *index = tup_frag_ordered(frag, record->number);
    struct tux_entry entry;
    if (tux_scan_next(index, record->range, record->range_words, &record->position, &entry, 1,
                      end) == 0)
        return ROW_NONE;
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

uint32_t lqh_scan_index_group(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                              struct lqh_rows *rows)
{
    struct lqh_scan_index *record = record_get(lqh, scan);
    const struct tux_index *index = tup_frag_ordered(frag, record->number);
    struct tup_program program = lqh_scan_program(lqh, scan, frag);
    struct tux_entry entries[GROUP];
    bool end;
    uint32_t count = tux_scan_next(index, record->range, record->range_words, &record->position,
                                   entries, GROUP, &end);
    uint32_t done = 0;
    while (done < count && !lqh_scan_step_full(scan, rows)) {
        uint32_t error = look(lqh, scan, &program, &entries[done], rows);
        if (error != 0) return error;
        done++;
    }
    if (done > 0) tux_scan_moved(index, &record->position, &entries[done - 1u]);
    scan->end = end && done == count;
    return 0;
}
