/* backup_rows.c -- walks changed pages and writes their committed rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/backup/backup_rows.h"

static_assert(LCP_ROW_WORDS_MAX >= TUP_ROW_WORDS_MAX, "any row fits into a block");

void backup_rows_begin(struct backup_rows *rows, const struct tup_frag *frag, uint32_t which)
{
    rows->in_page = false;
    tup_checkpoint_begin(frag, &rows->at, which);
}

enum backup_rows_step backup_rows_step(struct tup *tup, struct tup_frag *frag,
                                       struct backup_rows *rows, struct lcp_writer *writer,
                                       uint32_t budget)
{
    for (; budget > 0; budget--) {
        struct tup_checkpoint_row row;
        if (lcp_writer_full(writer)) return BACKUP_ROWS_FULL;
        if (!rows->in_page) {
            enum tup_checkpoint_step step = tup_checkpoint_page(tup, frag, &rows->at);
            if (step == TUP_CHECKPOINT_END) return BACKUP_ROWS_END;
            if (step == TUP_CHECKPOINT_LATER) return BACKUP_ROWS_MORE;
            lcp_writer_page(writer, rows->at.page, false);
            rows->in_page = true;
        }
        uint32_t *room = lcp_writer_room(writer);
        uint32_t words = tup_checkpoint_row(tup, frag, &rows->at, room, LCP_ROW_WORDS_MAX, &row);
        if (words == 0) {
            rows->in_page = false;
            continue;
        }
        if (row.damaged) return BACKUP_ROWS_DAMAGED;
        lcp_writer_row(writer, row.slot, row.gci, words);
    }
    return BACKUP_ROWS_MORE;
}
