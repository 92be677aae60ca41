/* lqh_demand.c -- counts what single transactions have here; see lqh_demand.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/redo/lqh_redo.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "values/errors.h"

/* References of a TC have low numbers in their low bits, and TCs differ in theirs. */
static uint32_t place_of(uint32_t tc_ref, uint32_t tc_trans)
{
    return (tc_ref ^ tc_ref >> 16 ^ tc_trans) % LQH_DEMANDS;
}

void lqh_demand_enter(struct lqh *lqh, struct lqh_op *op)
{
    uint32_t place = place_of(op->tc_ref, op->tc_trans);
    struct lqh_demand *demand = &lqh->demand[place];
    if (demand->operations == 0)
        *demand = (struct lqh_demand){.tc_ref = op->tc_ref, .tc_trans = op->tc_trans};
    if (demand->tc_ref != op->tc_ref || demand->tc_trans != op->tc_trans) return;
    demand->operations++;
    op->demand = 1u + place;
}

bool lqh_demand_redo(struct lqh *lqh, struct lqh_op *op, uint32_t words)
{
    if (op->demand == 0) return false;
    struct lqh_demand *demand = &lqh->demand[op->demand - 1u];
    demand->redo_words += words;
    demand->changes++;
    op->demand_words = words;
    return redo_never(&lqh->redo->log, demand->redo_words, demand->changes);
}

void lqh_demand_leave(struct lqh *lqh, struct lqh_op *op)
{
    if (op->demand == 0) return;
    struct lqh_demand *demand = &lqh->demand[op->demand - 1u];
    ndbrequire(demand->operations > 0 && demand->redo_words >= op->demand_words);
    demand->operations--;
    demand->changes -= op->demand_words != 0;
    demand->redo_words -= op->demand_words;
    op->demand = op->demand_words = 0;
}

/*
 * There is no record, though all operations here are of this transaction: there are as many as
 * there may be, or all memory is taken, and pools give nothing back. ERR_COPY_MEMORY and
 * ERR_LQH_SIGNAL_MEMORY remain temporary: the records that they are about are used again as soon as
 * another transaction ends, or what was saved goes on.
 */
uint32_t lqh_demand_error(const struct lqh *lqh, uint32_t tc_ref, uint32_t tc_trans, uint32_t error)
{
    if (error != ERR_LQH_OPERATIONS) return error;
    const struct lqh_demand *demand = &lqh->demand[place_of(tc_ref, tc_trans)];
    const struct pool *pool = &lqh->operations;
    bool alone = demand->tc_ref == tc_ref && demand->tc_trans == tc_trans &&
                 demand->operations > 0 && demand->operations == pool->in_use;
    if (!alone) return error;
    struct resource_usage usage = arena_usage(block_arena(&lqh->block), RG_TRANSACTION);
    if (pool->in_use < pool->max && usage.used < usage.max) return error;
    jam();
    return ERR_TRANSACTION_TOO_BIG;
}
