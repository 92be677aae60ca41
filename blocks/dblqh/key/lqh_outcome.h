/* lqh_outcome.h -- the last transactions that committed something here, for clients that missed the
 * answer. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct lqh;
struct lqh_op;

/* The last transactions that have committed something here; see lqh_outcome.c. */
struct lqh_outcome_entry;
struct lqh_outcome {
    struct lqh_outcome_entry *entry; /* Ring of entries. */
    uint32_t *head;                  /* 1 + place of the first entry of each hash, 0 = none. */
    uint32_t size;                   /* Places in each of both arrays: a power of two. */
    uint32_t count;                  /* The next entry's number. */
    uint64_t horizon_ms;             /* All commits here that are younger than this are known. */
};

/* lqh_outcome.c */
void lqh_outcome_init(struct lqh *lqh);
void lqh_outcome_note(struct lqh *lqh, const struct lqh_op *op); /* It has committed a change. */
/* Asks the memory for what lqh_outcome_note() will need. */
void lqh_outcome_ahead(const struct lqh *lqh, const struct lqh_op *op);
void lqh_outcome_forget(struct lqh *lqh); /* What was committed up to now may be unknown. */
void lqh_exec_OUTCOME_ASK_REQ(struct block *block, const struct signal *sig);
