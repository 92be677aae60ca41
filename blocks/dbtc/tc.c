/* tc.c -- DBTC's handler table, start, node state, and the order in which broken-off work goes on.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_drain.h"
#include "blocks/dbtc/epoch/tc_epoch.h"
#include "blocks/dbtc/epoch/tc_wait.h"
#include "blocks/dbtc/failure/tc_apifail.h"
#include "blocks/dbtc/failure/tc_include.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/failure/tc_takeover.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_outcome.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "blocks/dbtc/schema/tc_order.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_copies.h"
#include "blocks/dbtc/unique/tc_lookup.h"
#include "blocks/dbtc/unique/tc_unique.h"
#include "signals/api_reg.h"
#include "signals/durable.h"
#include "signals/gcp.h"
#include "signals/local_table.h"
#include "signals/order.h"
#include "signals/rejoin.h"
#include "signals/scan.h"
#include "signals/start.h"
#include "signals/takeover.h"
#include "values/errors.h"
#include "values/scan_range.h"
#include "values/table_def.h"
#include "signals/outcome.h"
#include "signals/management.h"
#include "signals/pace.h"

/* Transactions whose client was answered still complete: room for as many of them again, which the
 * active ones cannot take. */
#define ROOM_TO_COMPLETE 2u

void tc_continue(struct tc *tc, enum tc_work work, uint32_t ref, uint32_t index, uint32_t which)
{
    struct tc_continueb signal = {.work = work, .ref = ref, .index = index, .which = which};
    sig_send(&tc->block, tc->block.ref, GSN_CONTINUEB, PRIO_B, &signal);
}

void tc_continue_later(struct tc *tc, enum tc_work work, uint32_t ref, uint32_t delay_ms)
{
    struct tc_continueb signal = {.work = work, .ref = ref};
    sig_send_delayed(&tc->block, tc->block.ref, GSN_CONTINUEB, PRIO_B, &signal, delay_ms);
}

/* What a peer does wrong costs it its link; what this node does wrong stops it. */
void tc_protocol_error(struct tc *tc, uint32_t sender, const char *what)
{
    jam();
    /* A block of this node passed on what a peer had forged (LQHKEYREQ along a chain), or is wrong
     * itself. */
    if (ref_node(sender) == tc->own_node) node_fail(EXIT_PEER_PROTOCOL, __FILE__, __LINE__, what);
    peer_refuse(&tc->block, ref_node(sender), what);
}

uint32_t tc_refuse_new(const struct tc *tc, uint32_t client)
{
    if (__builtin_expect(tc->start_level == START_STARTED, 1)) {
        if (__builtin_expect(tc->single_user == 0, 1)) return 0;
        bool allowed = ref_node(client) == tc->single_user || ref_node(client) == tc->own_node;
        return allowed ? 0 : ERR_SINGLE_USER_MODE;
    }
    if (tc->start_level < START_STARTED) return ERR_CLUSTER_UNAVAILABLE;
    return ERR_NODE_SHUTDOWN;
}

static void tc_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct read_config_req *req = SIG_PAYLOAD(sig, read_config_req);
    const struct node_config *config = block_config(block);
    struct arena *arena = block_arena(block);

    ndbrequire(tc->table == NULL);
    jam();
    tc->own_node = config->own_node;
    tc->table_count = config->tables_max + 1u;
    tc->table = block_alloc(block, RG_SCHEMA, tc->table_count * sizeof(struct tc_table *));
    tc->decode_size = table_def_size_max();
    tc->decode_memory = block_alloc(block, RG_SCHEMA, tc->decode_size);
    tc->range_out = block_alloc(block, RG_TRANSACTION, SCAN_RANGES_WORDS_MAX * 4u);
    pool_init(&tc->tables, arena, RG_SCHEMA, sizeof(struct tc_table), config->tables_max);
    pool_init(&tc->connects, arena, RG_TRANSACTION, sizeof(struct tc_connect),
              config->transactions_max + config->scans_max);
    pool_init(&tc->transactions, arena, RG_TRANSACTION, sizeof(struct tc_trans),
              ROOM_TO_COMPLETE * config->transactions_max);
    tc->active_max = config->transactions_max;
    pool_init(&tc->operations, arena, RG_TRANSACTION, sizeof(struct tc_op), config->operations_max);
    pool_init(&tc->scans, arena, RG_TRANSACTION, sizeof(struct tc_scan), config->scans_max);
    pool_init(&tc->scan_programs, arena, RG_TRANSACTION, sizeof(struct tc_scan_program),
              config->scans_max);
    pool_init(&tc->scan_ranges, arena, RG_TRANSACTION, sizeof(struct tc_scan_range),
              config->scans_max);
    pool_head(&tc->scans, offsetof(struct tc_scan, attr));
    pool_head(&tc->scan_programs, offsetof(struct tc_scan_program, word));
    pool_head(&tc->scan_ranges, offsetof(struct tc_scan_range, fragment));
    pool_init(&tc->waits, arena, RG_TRANSACTION, sizeof(struct tc_wait), TC_WAITS_MAX);
    pool_init(&tc->frags, arena, RG_TRANSACTION, sizeof(struct tc_frag), config->frag_scans_max);
    tc->epoch_hi = 1; /* The epoch of commits before DIH has named one. */
    tc_lookup_init(tc);
    tc_nodefail_init(tc);
    tc_takeover_init(tc);
    tc_outcome_init(tc);
    struct pool *const pools[] = {
        &tc->connects, &tc->transactions,  &tc->operations,  &tc->scans,   &tc->waits,   &tc->frags,
        &tc->outcomes, &tc->scan_programs, &tc->scan_ranges, &tc->lookups, &tc->segments};
    ndbrequire(pools_begin(pools, sizeof pools / sizeof pools[0]));
    tc_timer_start(tc);
    struct read_config_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void tc_exec_NODE_STATE_REP(struct block *block, const struct signal *sig)
{
    const struct node_state_rep *rep = SIG_PAYLOAD(sig, node_state_rep);
    jam_data(rep->start_level);
    tc_of(block)->start_level = rep->start_level;
    tc_of(block)->single_user = rep->single_user;
    tc_outcome_started(tc_of(block), &rep->started);
}

/* Goes on with a transaction, unless it has ended or moved on meanwhile. */
static void continue_trans(struct tc *tc, const struct tc_continueb *work)
{
    struct tc_trans *trans = pool_find(&tc->transactions, work->ref);
    if (trans == NULL || trans->cursor == REF_NONE) {
        jam(); /* The operation that was left has been refused meanwhile. */
        return;
    }
    if (work->work == TC_WORK_COMMIT && trans->state == TRANS_COMMITTING) {
        jam();
        tc_commit_step(tc, trans);
    } else if (work->work == TC_WORK_COMPLETE && trans->state == TRANS_COMPLETING) {
        jam();
        tc_complete_step(tc, trans);
    } else if (work->work == TC_WORK_ABORT && trans->state == TRANS_ABORTING) {
        jam();
        tc_abort_step(tc, trans);
    }
}

static void continue_scan(struct tc *tc, uint32_t ref)
{
    struct tc_scan *scan = pool_find(&tc->scans, ref);
    if (scan == NULL || !scan->starting) {
        jam();
        return;
    }
    jam();
    scan->starting = 0;
    tc_scan_start_frags(tc, scan);
}

static void tc_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct tc_continueb *work = SIG_PAYLOAD(sig, tc_continueb);

    switch ((enum tc_work)work->work) {
    case TC_WORK_COMMIT:
    case TC_WORK_COMPLETE:
    case TC_WORK_ABORT:
        continue_trans(tc, work);
        return;
    case TC_WORK_SCAN:
        continue_scan(tc, work->ref);
        return;
    case TC_WORK_API_FAIL:
        tc_api_fail_step(tc, work->ref, work->index);
        return;
    case TC_WORK_TRAINS:
        tc_trains_flush(tc);
        return;
    case TC_WORK_RELEASE:
        tc_epoch_release(tc);
        return;
    case TC_WORK_DURABLE:
        tc_durable_step(tc, work->which);
        return;
    case TC_WORK_WAIT:
        tc_wait_step(tc, work->index);
        return;
    case TC_WORK_OUTCOME:
        tc_outcome_step(tc, work->ref, work->index);
        return;
    case TC_WORK_DRAIN:
        jam();
        tc_drain_step(tc_of(block));
        return;
    case TC_WORK_CLIENTS:
        tc_drain_clients_step(tc, work->index);
        return;
    case TC_WORK_TIMER:
        tc_timer_step(tc, work->index, work->which);
        return;
    case TC_WORK_FAIL_MARK:
    case TC_WORK_FAIL_SCANS:
    case TC_WORK_FAIL_RESOLVE:
    case TC_WORK_FAIL_CHECK:
        tc_nodefail_step(tc, work);
        return;
    case TC_WORK_ORPHANS:
    case TC_WORK_ORPHAN:
    case TC_WORK_FORGET:
        tc_takeover_step(tc, work);
        return;
    case TC_WORK_ORDER:
        tc_order_step(tc, work->ref);
        return;
    case TC_WORK_ORDER_RELEASE:
        tc_order_release(tc);
        return;
    }
    ndbrequire(false); /* No other work is ever sent. */
}

static const struct handler tc_handlers[] = {
    HANDLER(tc, READ_CONFIG_REQ, read_config_req),
    HANDLER(tc, NODE_STATE_REP, node_state_rep),
    HANDLER(tc, CONTINUEB, tc_continueb),
    HANDLER(tc, LOCAL_TABLE_ADD_REQ, local_table_add_req),
    HANDLER(tc, LOCAL_UNIQUE_REQ, local_unique_req),
    HANDLER(tc, LOCAL_TABLE_STATE_REQ, local_table_state_req),
    HANDLER(tc, TCSEIZEREQ, tcseizereq),
    HANDLER(tc, TCRELEASEREQ, tcreleasereq),
    HANDLER(tc, TCKEYREQ, tckeyreq),
    HANDLER(tc, TC_COMMITREQ, tc_commitreq),
    HANDLER(tc, TCROLLBACKREQ, tcrollbackreq),
    HANDLER(tc, LQHKEYCONF, lqhkeyconf),
    HANDLER(tc, FIRE_TRIG_ORD, fire_trig_ord),
    HANDLER(tc, SCHEMA_WAITS_ORD, schema_waits_ord),
    HANDLER(tc, FIRE_COPY_ORD, fire_copy_ord),
    HANDLER(tc, TRANSID_AI, transid_ai),
    HANDLER(tc, LQHKEYREF, lqhkeyref),
    HANDLER(tc, COMMITTED, committed_train),
    HANDLER(tc, COMPLETED, completed_train),
    HANDLER(tc, ABORTED, aborted_train),
    HANDLER(tc, SCAN_TABREQ, scan_tabreq),
    HANDLER(tc, SCAN_NEXTREQ, scan_nextreq),
    HANDLER(tc, SCAN_FRAGCONF, scan_fragconf),
    HANDLER(tc, SCAN_FRAGREF, scan_fragref),
    HANDLER(tc, API_FAILREQ, api_failreq),
    HANDLER(tc, TC_DRAIN_REQ, tc_drain_req),
    HANDLER(tc, DRAIN_CLIENTS_REQ, drain_clients_req),
    HANDLER(tc, GCP_HOLD_REQ, gcp_hold_req),
    HANDLER(tc, TC_EPOCH_REQ, tc_epoch_req),
    HANDLER(tc, WAIT_DURABLE_REQ, wait_durable_req),
    HANDLER(tc, GCP_DURABLE_REP, gcp_durable_rep),
    HANDLER(tc, DUMP_STATE_ORD, dump_state_ord),
    HANDLER(tc, PACE_PROBE_REQ, pace_probe_req),
    HANDLER(tc, NODE_LOST_REP, node_lost_rep),
    HANDLER(tc, LQH_FAIL_END_REP, lqh_fail_end_rep),
    HANDLER(tc, LQH_ORPHAN_REP, lqh_orphan_rep),
    HANDLER(tc, LQH_ORPHAN_CONF, lqh_orphan_conf),
    HANDLER(tc, OP_RESOLVE_CONF, op_resolve_conf),
    HANDLER(tc, OUTCOME_REQ, outcome_req),
    HANDLER(tc, OUTCOME_CONF, outcome_conf),
    HANDLER(tc, OUTCOME_REF, outcome_ref),
    HANDLER(tc, OUTCOME_ASK_CONF, outcome_ask_conf),
    HANDLER(tc, NODE_INCLUDE_REQ, node_include_req),
    HANDLER(tc, NODE_INCLUDE_REP, node_include_rep),
    HANDLER(tc, ORDER_HOLD_REQ, order_hold_req),
    HANDLER(tc, ORDER_PLACES_REP, order_places_rep),
    HANDLER(tc, ORDER_HOLD_END_ORD, order_hold_end_ord),
};

static const struct block_type tc_type = {
    .name = "DBTC",
    .block_no = BLOCK_DBTC,
    .handlers = tc_handlers,
    .handler_count = sizeof tc_handlers / sizeof tc_handlers[0],
    .check = tc_check,
};

static const struct block_pool tc_pools[] = {
    BLOCK_POOL(tc, tables),     BLOCK_POOL(tc, connects),      BLOCK_POOL(tc, transactions),
    BLOCK_POOL(tc, operations), BLOCK_POOL(tc, scans),         BLOCK_POOL(tc, frags),
    BLOCK_POOL(tc, outcomes),   BLOCK_POOL(tc, waits),         BLOCK_POOL(tc, orphans),
    BLOCK_POOL(tc, orphan_ops), BLOCK_POOL(tc, scan_programs), BLOCK_POOL(tc, scan_ranges),
    BLOCK_POOL(tc, lookups),    BLOCK_POOL(tc, segments),
};

struct block *tc_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &tc_type, instance, sizeof(struct tc));
    block->ahead = tc_ahead;
    block->pools = tc_pools;
    block->pool_count = sizeof tc_pools / sizeof tc_pools[0];
    tc_of(block)->start_level = START_NOTHING;
    return block;
}

void tc_usage_get(const struct block *block, struct tc_usage *usage)
{
    const struct tc *tc = (const struct tc *)block;
    *usage = (struct tc_usage){
        .connects = tc->connects.in_use,
        .transactions = tc->transactions.in_use,
        .operations = tc->operations.in_use,
        .scans = tc->scans.in_use,
        .fragment_scans = tc->frags.in_use,
        .tables = tc->tables.in_use,
        .orphans = tc->orphans.in_use + tc->orphan_ops.in_use,
    };
}
