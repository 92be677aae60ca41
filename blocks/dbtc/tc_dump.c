/* tc_dump.c -- DUMP orders to DBTC: how full the pools are, and what is under way. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/gcp.h"
#include "signals/management.h"
#include "signals/pace.h"

#define DUMP_TRANSACTIONS 2500u /* The first TRANSACTIONS_SHOWN open transactions. */
#define DUMP_POOLS        2555u

#define TRANSACTIONS_SHOWN 32u /* Enough to see what hangs, few enough for one handler. */

static void dump_pool(const struct tc *tc, const char *name, const struct pool *pool)
{
    log_info(&tc->block, "pool %s: %u in use, at most %u so far, %u allowed, %u refused", name,
             pool->in_use, pool->high, pool->max, pool->failed);
}

static void dump_transactions(const struct tc *tc)
{
    static const char *const names[TRANS_STATES] = {"STARTED", "COMMITTING", "COMPLETING",
                                                    "ABORTING"};
    uint32_t shown = 0;
    for (const struct tc_trans *t = pool_next(&tc->transactions, 0);
         t != NULL && shown < TRANSACTIONS_SHOWN;
         t = pool_next(&tc->transactions, pool_index(t->pool.ref)), shown++) {
        log_info(
            &tc->block,
            "transaction 0x%08x.%08x %s: %u operations, %u not prepared, %u not answered, error %u",
            t->transid1, t->transid2, names[t->state], t->op_count, t->outstanding, t->waiting,
            t->error);
    }
    log_info(&tc->block,
             "%u of %u transactions shown; epoch %u/%u, %u commits in it, %u in the one before",
             shown, tc->transactions.in_use, tc->epoch_hi, epoch_number(tc->epoch_lo),
             tc->epoch.committing, tc->epoch.committing_old);
}

void tc_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    const struct tc *tc = tc_of(block);
    uint32_t code = SIG_PAYLOAD(sig, dump_state_ord)->data[0];
    jam_data(code);
    if (code == DUMP_TRANSACTIONS) dump_transactions(tc);
    if (code != DUMP_POOLS) return;
    dump_pool(tc, "connect records", &tc->connects);
    dump_pool(tc, "transactions", &tc->transactions);
    dump_pool(tc, "operations", &tc->operations);
    dump_pool(tc, "operations by unique key", &tc->lookups);
    dump_pool(tc, "their data", &tc->segments);
    dump_pool(tc, "scans", &tc->scans);
    dump_pool(tc, "scan programs", &tc->scan_programs);
    dump_pool(tc, "scan ranges", &tc->scan_ranges);
    dump_pool(tc, "fragment scans", &tc->frags);
    dump_pool(tc, "waits for durability", &tc->waits);
    dump_pool(tc, "tables", &tc->tables);
}

/* QMGR measures how long its words wait for this thread. */
void tc_exec_PACE_PROBE_REQ(struct block *block, const struct signal *sig)
{
    struct pace_probe_conf conf = {.sender_data = SIG_PAYLOAD(sig, pace_probe_req)->sender_data};
    jam();
    sig_send(block, sig->sender, GSN_PACE_PROBE_CONF, PRIO_A, &conf);
}
