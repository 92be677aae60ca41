/* lcpr_rows.h -- rows of a checkpoint's data files into a fragment, newest file first. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/lcp_stream.h"
#include "blocks/dbtup/tup_frag.h"
#include "blocks/dbtup/tup_restore.h"

/*
 * The newest file that has a page wins: the fragment's own marks of changed pages tell which pages
 * have come already; they are cleared at the end. What a delta page keeps is wanted from then on,
 * and older files fill that alone. Pages from `pages` on are not in the state; they
 * stay marked, so that the next checkpoint writes them, should they exist again by then.
 */
struct lcpr_rows {
    struct tup *tup;
    struct tup_frag *frag;
    const struct table_def *key_def;
    uint32_t pages;
    bool skip; /* Nothing is needed of the page being read. */
    bool fill; /* Only what is wanted is needed of it: newer files have the page too. */
    bool delta;
    uint32_t page;  /* Number of the page being read. */
    uint64_t rows;  /* Rows that have been put so far. */
    uint32_t error; /* Why a row could not be put, or kept slots cannot be; with LCP_ROW. */
};

/* Puts up to `budget` rows of the block that the reader has opened. *done: the block has been
 * walked. */
enum lcp_fault lcpr_rows_step(struct lcpr_rows *rows, struct lcp_cursor *cursor, uint32_t budget,
                              bool *done);

/* A file has been read to its end. */
enum lcp_fault lcpr_rows_file_end(struct lcpr_rows *rows);

/* Ends the fragment after the last file. */
enum lcp_fault lcpr_rows_end(struct lcpr_rows *rows);
