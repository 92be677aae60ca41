/* restore_rows.c -- puts the rows of pages that no newer file has. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/restore/restore_rows.h"
#include "signals/errors.h"

static uint32_t page_begin(struct restore_rows *rows, uint32_t page)
{
    bool first = false;
    uint32_t error = tup_checkpoint_cover(rows->frag, page, &first);
    rows->skip = error != 0 || !first || page >= rows->pages;
    return error;
}

#define GROUP_ROWS 16u /* The memory's answers for so many rows come side by side. */

struct row_group {
    uint32_t count;
    struct tup_restore_req row[GROUP_ROWS];
};

static uint32_t row_gather(struct restore_rows *rows, struct row_group *group,
                           const struct lcp_item *item)
{
    struct tup_restore_req *req = &group->row[group->count];
    *req = (struct tup_restore_req){
        .frag = rows->frag,
        .key_def = rows->key_def,
        .row = tup_row_id(rows->frag, item->page, item->slot),
        .gci = item->gci,
        .attr = item->pairs,
        .attr_words = item->words,
    };
    if (req->row == ROW_NONE) return ERR_ROW_ID_TAKEN; /* The table can have no such row. */
    tup_restore_ahead(req);
    group->count++;
    return 0;
}

static uint32_t group_put(struct restore_rows *rows, struct row_group *group)
{
    uint32_t error = 0;
    for (uint32_t i = 0; i < group->count && error == 0; i++)
        error = tup_restore_put(rows->tup, &group->row[i]);
    rows->rows += group->count;
    group->count = 0;
    return error;
}

enum lcp_fault restore_rows_step(struct restore_rows *rows, struct lcp_cursor *cursor,
                                 uint32_t budget, bool *done)
{
    struct row_group group = {.count = 0};
    struct lcp_item item;
    enum lcp_fault fault = LCP_GOOD;
    *done = false;
    for (; budget > 0 && rows->error == 0; budget--) {
        if (!lcp_cursor_next(cursor, &item, &fault)) {
            *done = fault == LCP_GOOD;
            break;
        }
        if (item.is_page) {
            if (!item.more) rows->error = page_begin(rows, item.page);
        } else if (!rows->skip) {
            rows->error = row_gather(rows, &group, &item);
            if (group.count == GROUP_ROWS && rows->error == 0)
                rows->error = group_put(rows, &group);
        }
    }
    if (fault != LCP_GOOD) return fault;
    if (rows->error == 0) rows->error = group_put(rows, &group);
    if (rows->error == 0) return LCP_GOOD;
    *done = false;
    return LCP_ROW;
}

void restore_rows_end(struct restore_rows *rows)
{
    tup_checkpoint_clear(rows->frag, rows->pages);
}
