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

static uint32_t row_put(struct restore_rows *rows, const struct lcp_item *item)
{
    const struct tup_restore_req req = {
        .frag = rows->frag,
        .key_def = rows->key_def,
        .row = tup_row_id(rows->frag, item->page, item->slot),
        .gci = item->gci,
        .attr = item->pairs,
        .attr_words = item->words,
    };
    if (req.row == ROW_NONE) return ERR_ROW_ID_TAKEN; /* The table can have no such row. */
    rows->rows++;
    return tup_restore_put(rows->tup, &req);
}

enum lcp_fault restore_rows_step(struct restore_rows *rows, struct lcp_cursor *cursor,
                                 uint32_t budget, bool *done)
{
    struct lcp_item item;
    enum lcp_fault fault;
    *done = false;
    for (; budget > 0; budget--) {
        if (!lcp_cursor_next(cursor, &item, &fault)) {
            *done = fault == LCP_GOOD;
            return fault;
        }
        if (item.is_page) {
            if (!item.more) rows->error = page_begin(rows, item.page);
        } else if (!rows->skip) {
            rows->error = row_put(rows, &item);
        }
        if (rows->error != 0) return LCP_ROW;
    }
    return LCP_GOOD;
}

void restore_rows_end(struct restore_rows *rows)
{
    tup_checkpoint_clear(rows->frag, rows->pages);
}
