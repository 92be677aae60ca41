/* lcpr_rows.c -- puts the rows of pages that no newer file has, and those that a newer one
 * keeps. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpreader/lcpr_rows.h"
#include "values/errors.h"

/* The page being read has all that is still wanted of it, unless it told what it keeps. */
static enum lcp_fault page_end(struct lcpr_rows *rows)
{
    bool whole = rows->fill && !rows->delta;
    rows->fill = false;
    if (!whole || tup_checkpoint_wanted(rows->frag, rows->page, NULL, 0) == 0) return LCP_GOOD;
    return LCP_LACKING;
}

static uint32_t page_begin(struct lcpr_rows *rows, const struct lcp_item *item)
{
    bool first = false;
    uint32_t error = tup_checkpoint_cover(rows->frag, item->page, &first);
    rows->page = item->page;
    rows->delta = item->delta;
    rows->fill = error == 0 && !first && item->page < rows->pages &&
                 tup_checkpoint_wanted(rows->frag, item->page, NULL, 0) > 0;
    rows->skip = error != 0 || (!first && !rows->fill) || item->page >= rows->pages;
    return error;
}

/* The end of a delta page. */
static enum lcp_fault kept_take(struct lcpr_rows *rows, const struct lcp_item *item)
{
    if (rows->skip) return LCP_GOOD;
    if (rows->fill) {
        uint32_t wanted = tup_checkpoint_wanted(rows->frag, item->page, NULL, 0);
        uint32_t kept = tup_checkpoint_wanted(rows->frag, item->page, item->pairs, item->words);
        return kept == wanted ? LCP_GOOD : LCP_LACKING;
    }
    rows->error = tup_checkpoint_want(rows->frag, item->page, item->pairs, item->words);
    return LCP_GOOD;
}

#define GROUP_ROWS 16u /* The memory's answers for so many rows come side by side. */

struct row_group {
    uint32_t count;
    struct tup_restore_req row[GROUP_ROWS];
};

static uint32_t row_gather(struct lcpr_rows *rows, struct row_group *group,
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

static uint32_t group_put(struct lcpr_rows *rows, struct row_group *group)
{
    uint32_t error = 0;
    for (uint32_t i = 0; i < group->count && error == 0; i++)
        error = tup_restore_put(rows->tup, &group->row[i]);
    rows->rows += group->count;
    group->count = 0;
    return error;
}

/* One row, page or map. */
static enum lcp_fault item_take(struct lcpr_rows *rows, struct row_group *group,
                                const struct lcp_item *item)
{
    enum lcp_fault fault = LCP_GOOD;
    if (item->is_page || item->is_kept) {
        if (item->is_page && item->more) return LCP_GOOD;
        rows->error = group_put(rows, group);
        if (rows->error != 0) return LCP_GOOD;
        if (item->is_kept) return kept_take(rows, item);
        fault = page_end(rows);
        if (fault == LCP_GOOD) rows->error = page_begin(rows, item);
        return fault;
    }
    if (rows->skip) return LCP_GOOD;
    if (rows->fill &&
        !tup_checkpoint_wants(rows->frag, tup_row_id(rows->frag, item->page, item->slot)))
        return LCP_GOOD;
    rows->error = row_gather(rows, group, item);
    if (group->count == GROUP_ROWS && rows->error == 0) rows->error = group_put(rows, group);
    return LCP_GOOD;
}

enum lcp_fault lcpr_rows_step(struct lcpr_rows *rows, struct lcp_cursor *cursor, uint32_t budget,
                              bool *done)
{
    struct row_group group = {.count = 0};
    struct lcp_item item;
    enum lcp_fault fault = LCP_GOOD;
    *done = false;
    while (budget > 0 && rows->error == 0) {
        if (!lcp_cursor_next(cursor, &item, &fault)) {
            *done = fault == LCP_GOOD;
            break;
        }
        fault = item_take(rows, &group, &item);
        if (fault != LCP_GOOD) break;
        uint32_t cost = item.is_kept ? 1u + item.words : 1u;
        budget -= budget < cost ? budget : cost;
    }
    if (fault != LCP_GOOD) return fault;
    if (rows->error == 0) rows->error = group_put(rows, &group);
    if (rows->error == 0) return LCP_GOOD;
    *done = false;
    return LCP_ROW;
}

enum lcp_fault lcpr_rows_file_end(struct lcpr_rows *rows)
{
    return page_end(rows);
}

enum lcp_fault lcpr_rows_end(struct lcpr_rows *rows)
{
    if (tup_checkpoint_wanted_all(rows->frag) > 0) return LCP_LACKING;
    tup_checkpoint_clear(rows->frag, rows->pages);
    return LCP_GOOD;
}
