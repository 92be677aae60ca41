/* lcpw_rows.h -- the rows of one fragment into a checkpoint's data file, a few at a time. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/lcp_stream.h"
#include "blocks/dbtup/tup_frag.h"
#include "blocks/dbtup/tup_read.h"
#include "blocks/dbtup/tup_restore.h"

struct lcpw_rows {
    struct tup_checkpoint at;
    bool in_page;
    uint64_t delta_rows; /* Rows that are written in delta pages. */
};

enum lcpw_rows_step {
    LCPW_ROWS_MORE = 1, /* The budget is used up. */
    LCPW_ROWS_FULL,     /* lcp_writer_flush() first. */
    LCPW_ROWS_END,
    LCPW_ROWS_DAMAGED, /* A row's checksum is wrong: memory or a bug has changed it. */
};

/* `which`: tup_checkpoint_begin(). */
void lcpw_rows_begin(struct lcpw_rows *rows, struct tup_frag *frag, uint32_t which);

/* Writes up to `budget` rows and pages; looking at 16 slots costs as much. */
enum lcpw_rows_step lcpw_rows_step(struct tup *tup, struct tup_frag *frag, struct lcpw_rows *rows,
                                   struct lcp_writer *writer, uint32_t budget);
