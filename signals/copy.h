/* copy.h -- a lost data node that comes back gets the rows of its fragments. See
 * docs/protocols/node_restart.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * P is the node that comes back, S the acting primary of the fragment. All have priority B, between
 * the LQH instances that have the fragment at P and at S.
 */

/* P to S: the rows of this fragment. Answered by COPY_ROWS_REPs, then COPY_FRAGCONF; or by
 * COPY_FRAGREF, also in the middle. Nothing but P's death ends it otherwise. */
struct copy_fragreq {
    uint32_t target; /* P's record, returned. */
    uint32_t table_id;
    uint32_t version;
    uint32_t fragment_id;
    uint32_t rank; /* P's rank: which of its lives this is. */
    /* P has the rows of its first `pages` pages as at the end of this GCI; 0: none. */
    uint32_t gci;
    uint32_t pages; /* Pages that `gci` is about: those with numbers below this. */
};
SIGNAL_STRUCT(copy_fragreq, 7);

/*
 * S to P: the places from the end of the batch before up to (to_page, to_slot), in the order of row
 * ids. Section 0: rows that P does not have, locked at S until COPY_ROWS_CONF; per row: words of
 * the pairs (0-15) and slot (16-31); page; GCI; pairs (attr.h), all columns in table order. Section
 * 1, when COPY_FRAGREQ had a GCI: for each page with rows that P has, its number and a bit per
 * slot, rounded up to words. All other places have no row that was there at the end of that GCI. At
 * most COPY_WINDOW batches are without an answer.
 */
#define COPY_ROW_HEAD_WORDS 3u
#define COPY_BATCH_ROWS     128u
#define COPY_WINDOW         4u
struct copy_rows_rep {
    uint32_t target;
    uint32_t source; /* S's record. */
    uint32_t batch;  /* Number of the batch: 0, 1, ... */
    uint32_t rows;
    uint32_t permille; /* How much of the fragment is behind these rows. */
    uint32_t to_page;
    uint32_t to_slot;
    uint32_t same; /* Rows that have a bit in section 1. */
    uint32_t sum;  /* Sum of the GCIs of these rows. */
};
SIGNAL_STRUCT(copy_rows_rep, 9);

/* P to S: these rows are in memory. In the order of the batches. */
struct copy_rows_conf {
    uint32_t source;
    uint32_t target;
    uint32_t batch;
};
SIGNAL_STRUCT(copy_rows_conf, 3);

/* S to P, when all batches have been confirmed: these were all rows that P did not have. */
struct copy_fragconf {
    uint32_t target;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t gci; /* Newest GCI of all commits in the fragment, those that deleted rows included. */
};
SIGNAL_STRUCT(copy_fragconf, 4);

/* P's LQH to P's DICT, now and then: how much of this table P has. */
struct copy_part_rep {
    uint32_t table_id;
    uint32_t permille;
};
SIGNAL_STRUCT(copy_part_rep, 2);

/* S to P: it cannot. Nothing is left at S. A temporary error: P asks again. */
struct copy_fragref {
    uint32_t target;
    uint32_t error;
};
SIGNAL_STRUCT(copy_fragref, 2);
