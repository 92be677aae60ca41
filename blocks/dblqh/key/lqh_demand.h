/* lqh_demand.h -- what single transactions have here at the same time: one that does not fit into
 * this node even when it is alone is refused for good. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * A few transactions are counted, each at a place that its reference chooses, from the moment on
 * when the one before it there has ended. A large one is counted after its first operations, or
 * when it is tried again. Who is not counted, or in part, gets the temporary error.
 */
#define LQH_DEMANDS 16u

struct lqh_demand {
    uint32_t tc_ref; /* The transaction: its TC, and its number there. */
    uint32_t tc_trans;
    uint32_t operations; /* Operations that are counted; 0: the place is free. */
    uint32_t changes;    /* Those of them that need room in the redo log. */
    uint64_t redo_words; /* Words of the redo log that they have reserved or wait for. */
};

struct lqh;
struct lqh_op;

void lqh_demand_enter(struct lqh *lqh, struct lqh_op *op);
/* Counts the words of the redo log that the operation needs. True: its transaction needs more than
 * the log has. */
bool lqh_demand_redo(struct lqh *lqh, struct lqh_op *op, uint32_t words);
void lqh_demand_leave(struct lqh *lqh, struct lqh_op *op);
/* The error instead of `error` for an operation of this transaction. */
uint32_t lqh_demand_error(const struct lqh *lqh, uint32_t tc_ref, uint32_t tc_trans,
                          uint32_t error);
