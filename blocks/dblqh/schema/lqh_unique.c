/* lqh_unique.c -- unique indexes of tables in use: when rows fire for them. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DICT orders a state at a time, of all LQHs of all nodes; what they mean, and why there are so
 * many, stands in docs/protocols/unique_index.md. Where an answer waits for the operations that
 * began before, these are found by the round that they began in, at the primaries and at the
 * backups.
 */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "blocks/dblqh/schema/lqh_unique.h"
#include "signals/lqhkey.h"
#include "signals/local_table.h"

#define STEP_LOOKS 64u /* Records that a step looks at. */
#define LOOK_MS    10u /* Time until the same record is looked at again. */

static void answer(struct lqh *lqh)
{
    struct lqh_unique *unique = &lqh->unique;
    struct local_unique_conf conf = {
        .sender_data = unique->sender_data, .table_id = unique->table_id, .state = unique->state};
    uint32_t receiver = unique->sender;
    unique->sender = 0;
    jam_data(unique->state);
    sig_send(&lqh->block, receiver, GSN_LOCAL_UNIQUE_CONF, PRIO_B, &conf);
}

static void refuse(struct lqh *lqh, uint32_t error)
{
    struct lqh_unique *unique = &lqh->unique;
    struct local_unique_ref ref = {
        .sender_data = unique->sender_data, .table_id = unique->table_id, .error = error};
    uint32_t receiver = unique->sender;
    unique->sender = 0;
    jam_data(error);
    sig_send(&lqh->block, receiver, GSN_LOCAL_UNIQUE_REF, PRIO_B, &ref);
}

/* An operation on the table that has not fired as all do now; scans and copies have no round. */
static bool is_older(const struct lqh *lqh, const struct lqh_op *op)
{
    return op->scan == REF_NONE && op->table_id == lqh->unique.table_id &&
           op->round != lqh->unique.round;
}

/* The TC may have had the order before the transaction began, and think it is none of those. */
static void tell_waits(struct lqh *lqh, const struct lqh_op *op)
{
    struct schema_waits_ord ord = {
        .tc_op = op->tc_op, .transid1 = op->transid1, .transid2 = op->transid2};
    jam();
    if (lqh_is_tc(op->tc_ref))
        sig_send(&lqh->block, op->tc_ref, GSN_SCHEMA_WAITS_ORD, PRIO_B, &ord);
}

/* No operation gets an older round, so what is behind is done with. */
void lqh_unique_step(struct lqh *lqh)
{
    struct lqh_unique *unique = &lqh->unique;
    for (uint32_t i = 0; i < STEP_LOOKS; i++) {
        const struct lqh_op *op = pool_next(&lqh->operations, unique->at);
        if (op == NULL) {
            answer(lqh);
            return;
        }
        if (is_older(lqh, op)) {
            tell_waits(lqh, op);
            lqh_continue_later(lqh, LQH_WORK_UNIQUE, REF_NONE, LOOK_MS);
            return;
        }
        unique->at = pool_index(op->pool.ref);
    }
    lqh_continue(lqh, LQH_WORK_UNIQUE, REF_NONE);
}

static void fire_from_now(struct lqh *lqh, const struct lqh_table *table,
                          enum tup_unique_fires fires)
{
    tup_unique_set(lqh->tup, table->tup_table, lqh->unique.index_id, fires);
    lqh->unique.round++;
    lqh->unique.at = 0;
    lqh_unique_step(lqh);
}

static uint32_t add(struct lqh *lqh, const struct signal *sig, const struct lqh_table *table)
{
    struct table_def *def;
    ndbrequire(sig->section_count == 1);
    uint32_t error = table_def_decode(sig->section[0].words, sig->section[0].size,
                                      lqh->decode_memory, lqh->decode_size, &def);
    return error != 0 ? error
                      : tup_unique_add(lqh->tup, table->tup_table, def, lqh->unique.index_id);
}

static void begin(struct lqh *lqh, const struct signal *sig, const struct lqh_table *table)
{
    struct lqh_unique *unique = &lqh->unique;
    uint32_t error = 0;
    switch (unique->state) {
    case UNIQUE_KNOWN:
        error = add(lqh, sig, table);
        break;
    case UNIQUE_DELETES:
        tup_unique_set(lqh->tup, table->tup_table, unique->index_id, UNIQUE_FIRES_DELETES);
        break;
    case UNIQUE_FIRES:
        fire_from_now(lqh, table, UNIQUE_FIRES_ALL);
        return;
    case UNIQUE_SILENT:
        fire_from_now(lqh, table, UNIQUE_FIRES_NOTHING);
        return;
    case UNIQUE_GONE:
        tup_unique_remove(lqh->tup, table->tup_table, unique->index_id);
        break;
    default:
        ndbrequire(false); /* The others are TC's. */
    }
    if (error != 0)
        refuse(lqh, error);
    else
        answer(lqh);
}

void lqh_exec_LOCAL_UNIQUE_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct local_unique_req *req = SIG_PAYLOAD(sig, local_unique_req);
    struct lqh_unique *unique = &lqh->unique;
    ndbrequire(unique->sender == 0); /* DICT waits for the answer to each order. */
    *unique = (struct lqh_unique){.sender = sig->sender,
                                  .sender_data = req->sender_data,
                                  .table_id = req->table_id,
                                  .index_id = req->index_id,
                                  .state = req->state,
                                  .round = unique->round};
    begin(lqh, sig, lqh_table_get(lqh, req->table_id));
}
