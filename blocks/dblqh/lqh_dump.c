/* lqh_dump.c -- DUMP orders to DBLQH: how full the pools are, and what is under way. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "signals/management.h"
#include "signals/pace.h"

#define DUMP_OPERATIONS 2300u /* The first OPERATIONS_SHOWN operations. */
#define DUMP_POOLS      2353u

#define OPERATIONS_SHOWN 32u /* Enough to see what hangs, few enough for one handler. */

static void dump_pool(const struct lqh *lqh, const char *name, const struct pool *pool)
{
    log_info(&lqh->block, "pool %s: %u in use, at most %u so far, %u allowed, %u refused", name,
             pool->in_use, pool->high, pool->max, pool->failed);
}

static void dump_operations(const struct lqh *lqh)
{
    static const char *const names[] = {
        [LQH_WAITING] = "WAITING", [LQH_PREPARED] = "PREPARED", [LQH_COMMITTED] = "COMMITTED",
        [LQH_DELAYED] = "DELAYED", [LQH_OF_COPY] = "COPY",
    };
    uint32_t shown = 0;
    for (const struct lqh_op *op = pool_next(&lqh->operations, 0);
         op != NULL && shown < OPERATIONS_SHOWN;
         op = pool_next(&lqh->operations, pool_index(op->pool.ref)), shown++) {
        log_info(
            &lqh->block,
            "operation of transaction 0x%08x.%08x %s%s: table %u fragment %u, TC %u of node %u",
            op->transid1, op->transid2, op->scan != REF_NONE ? "scan " : "", names[op->state],
            op->table_id, op->fragment_id, ref_instance(op->tc_ref), ref_node(op->tc_ref));
    }
    log_info(&lqh->block, "%u of %u operations shown; %u row locks, %u rows being changed", shown,
             lqh->operations.in_use, acc_locks_in_use(lqh->acc), tup_changes_open(lqh->tup));
}

void lqh_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    const struct lqh *lqh = lqh_of(block);
    uint32_t code = SIG_PAYLOAD(sig, dump_state_ord)->data[0];
    jam_data(code);
    if (lqh->table == NULL) return; /* It is not configured yet. */
    if (code == DUMP_OPERATIONS) dump_operations(lqh);
    if (code != DUMP_POOLS) return;
    dump_pool(lqh, "operations", &lqh->operations);
    dump_pool(lqh, "saved data", &lqh->segments);
    dump_pool(lqh, "fragment scans", &lqh->scans);
    dump_pool(lqh, "scan locks", &lqh->scan_locks);
    dump_pool(lqh, "scan programs", &lqh->scan_programs);
    dump_pool(lqh, "index scans", &lqh->scan_indexes);
    dump_pool(lqh, "scan ranges", &lqh->scan_ranges);
    dump_pool(lqh, "copies", &lqh->copies);
    dump_pool(lqh, "tables", &lqh->tables);
}

/* QMGR measures how long its words wait for this thread. */
void lqh_exec_PACE_PROBE_REQ(struct block *block, const struct signal *sig)
{
    struct pace_probe_conf conf = {.sender_data = SIG_PAYLOAD(sig, pace_probe_req)->sender_data};
    jam();
    sig_send(block, sig->sender, GSN_PACE_PROBE_CONF, PRIO_A, &conf);
}
