/* lcpw_rows.c -- walks changed pages and writes their committed rows, or those of them that have
 * changed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpwriter/lcpw_rows.h"

static_assert(LCP_ROW_WORDS_MAX >= TUP_ROW_WORDS_MAX, "any row fits into a block");

#define LOOKED_ROW 16u /* Slots looked at that cost as much as a row. */

void lcpw_rows_begin(struct lcpw_rows *rows, struct tup_frag *frag, uint32_t which)
{
    rows->in_page = false;
    rows->delta_rows = 0;
    tup_checkpoint_begin(frag, &rows->at, which);
}

static void page_end(struct lcpw_rows *rows, struct lcp_writer *writer)
{
    const struct tup_checkpoint *at = &rows->at;
    if (at->delta) lcp_writer_kept(writer, at->kept, at->kept_words);
    rows->in_page = false;
}

static void spend(uint32_t *budget, uint32_t looked)
{
    uint32_t cost = 1u + looked / LOOKED_ROW;
    *budget -= *budget < cost ? *budget : cost;
}

enum lcpw_rows_step lcpw_rows_step(struct tup *tup, struct tup_frag *frag, struct lcpw_rows *rows,
                                   struct lcp_writer *writer, uint32_t budget)
{
    while (budget > 0) {
        struct tup_checkpoint_row row;
        if (lcp_writer_full(writer)) return LCPW_ROWS_FULL;
        if (!rows->in_page) {
            enum tup_checkpoint_step step = tup_checkpoint_page(tup, frag, &rows->at);
            if (step == TUP_CHECKPOINT_END) return LCPW_ROWS_END;
            if (step == TUP_CHECKPOINT_LATER) return LCPW_ROWS_MORE;
            lcp_writer_page(writer, rows->at.page, rows->at.delta);
            rows->in_page = true;
        }
        uint32_t *room = lcp_writer_room(writer);
        uint32_t words = tup_checkpoint_row(tup, frag, &rows->at, room, LCP_ROW_WORDS_MAX, &row);
        spend(&budget, rows->at.looked);
        if (words == 0) {
            page_end(rows, writer);
            continue;
        }
        if (row.damaged) return LCPW_ROWS_DAMAGED;
        lcp_writer_row(writer, row.slot, row.gci, words);
        rows->delta_rows += rows->at.delta ? 1u : 0u;
    }
    return LCPW_ROWS_MORE;
}
