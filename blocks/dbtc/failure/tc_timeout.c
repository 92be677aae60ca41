/* tc_timeout.c -- one slow walk over all records: clients that left a transaction or scan lying,
 * and what hangs. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_apifail.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "signals/dict.h"
#include "values/errors.h"

#define TICK_MIN_MS 10u
#define TICK_MAX_MS 500u
#define TICK_PARTS  4u /* A timeout is noticed after at most 1/4 more of it. */
/* Sanity: a transaction in which nothing moves for so long is reported once. */
#define HANGS_MIN_MS 10000u
#define HANGS_LOCKS  8u /* ... or for so many lock timeouts, if that is longer. */

enum { WALK_TRANSACTIONS = 0, WALK_SCANS = 1 };

void tc_timer_start(struct tc *tc)
{
    uint32_t tick = block_config(&tc->block)->inactive_timeout_ms / TICK_PARTS;
    if (tick == 0 || tick > TICK_MAX_MS) tick = TICK_MAX_MS;
    if (tick < TICK_MIN_MS) tick = TICK_MIN_MS;
    tc_continue_later(tc, TC_WORK_TIMER, REF_NONE, tick);
}

/* Waits for nobody but its client. */
static bool trans_idle(const struct tc_trans *trans)
{
    return trans->state == TRANS_STARTED && trans->outstanding == 0 && trans->fires == 0;
}

/* The error with which a transaction ends that holds up a change of the schema; 0: it does not.
 * Walks the operations only while there is such a change, and its client has been silent for long.
 */
static uint32_t holds_schema(struct tc *tc, const struct tc_trans *trans)
{
    bool older = trans->round != tc->hurry.round;
    uint32_t ref = tc->drops == 0 && !older ? REF_NONE : trans->op_first;
    while (ref != REF_NONE) {
        const struct tc_op *op = tc_op_get(tc, ref);
        if (older && op->table_id == tc->hurry.table_id) return ERR_LOCK_TIMEOUT;
        /* Who only changes entries of an index that is dropped alone is in nobody's way. */
        bool entry = (op->flags & OP_ENTRY) != 0 && tc->unique.sender != 0;
        if (!entry && tc_table_get(tc, op->table_id)->state == TABLE_DROPPING)
            return ERR_TABLE_DROPPING_TC;
        ref = op->next;
    }
    return 0;
}

static void look_at_trans(struct tc *tc, struct tc_trans *trans, const struct node_config *config)
{
    uint64_t quiet_ms = now_ms(&tc->block) - trans->active_ms;
    if (trans_idle(trans)) {
        /* DICT waits for it as long as another transaction would wait for its locks. */
        uint32_t error = quiet_ms > config->deadlock_timeout_ms ? holds_schema(tc, trans) : 0;
        if (error != 0) {
            jam_data(error);
            tc_abort_begin(tc, trans, error, REF_NONE);
            return;
        }
        if (config->inactive_timeout_ms == 0 || quiet_ms <= config->inactive_timeout_ms) return;
        jam();
        tc_abort_begin(tc, trans, ERR_LOCK_TIMEOUT, REF_NONE);
        return;
    }
    /* Every LQH answers within the lock timeout, or its node is lost and this one stops: only an
     * error gets here. */
    uint64_t limit_ms = (uint64_t)HANGS_LOCKS * config->deadlock_timeout_ms;
    if (limit_ms < HANGS_MIN_MS) limit_ms = HANGS_MIN_MS;
    if (quiet_ms <= limit_ms || (trans->flags & TRANS_HANGS) != 0) return;
    jam();
    trans->flags |= TRANS_HANGS;
    log_warning(&tc->block,
                "transaction %08x %08x hangs: state %u, %u operations, %u outstanding, %u waiting",
                trans->transid1, trans->transid2, trans->state, trans->op_count, trans->outstanding,
                trans->waiting);
}

static void look_at_scan(struct tc *tc, struct tc_scan *scan, const struct node_config *config)
{
    if (tc_table_get(tc, scan->table_id)->state == TABLE_DROPPING && tc_scan_idle(tc, scan)) {
        jam(); /* DROP TABLE does not wait for a client that may never come back. */
        tc_scan_close(tc, scan, ERR_TABLE_DROPPING_TC, true);
        return;
    }
    if (config->inactive_timeout_ms == 0) return;
    if (now_ms(&tc->block) - scan->active_ms <= config->inactive_timeout_ms ||
        !tc_scan_idle(tc, scan))
        return;
    jam();
    tc_scan_close(tc, scan, ERR_SCAN_WAIT_TIMEOUT, true);
}

void tc_timer_step(struct tc *tc, uint32_t index, uint32_t which)
{
    const struct node_config *config = block_config(&tc->block);
    const struct pool *pool = which == WALK_TRANSACTIONS ? &tc->transactions : &tc->scans;
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct pool_record *record = pool_next(pool, index);
        if (record == NULL && which == WALK_TRANSACTIONS) {
            tc_continue(tc, TC_WORK_TIMER, REF_NONE, 0, WALK_SCANS);
            return;
        }
        if (record == NULL) {
            tc_timer_start(tc);
            return;
        }
        index = pool_index(record->ref);
        if (which == WALK_TRANSACTIONS)
            look_at_trans(tc, (struct tc_trans *)(void *)record, config);
        else
            look_at_scan(tc, (struct tc_scan *)(void *)record, config);
    }
    tc_continue(tc, TC_WORK_TIMER, REF_NONE, index, which);
}
