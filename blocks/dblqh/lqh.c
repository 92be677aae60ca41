/* lqh.c -- DBLQH's handler table, start, lock timeouts, and operations that got their lock. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/failure/lqh_copy_target.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/failure/lqh_nodefail.h"
#include "blocks/dblqh/key/lqh_fire.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_outcome.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/key/lqh_read.h"
#include "blocks/dblqh/redo/lqh_log.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "blocks/dblqh/scan/lqh_scan_index.h"
#include "blocks/dblqh/schema/lqh_index.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "blocks/dblqh/schema/lqh_unique.h"
#include "signals/copy.h"
#include "signals/local_table.h"
#include "signals/rejoin.h"
#include "signals/scan.h"
#include "signals/start.h"
#include "signals/takeover.h"
#include "values/errors.h"
#include "signals/outcome.h"
#include "signals/fs.h"
#include "signals/gcp_local.h"
#include "signals/lcp.h"
#include "signals/management.h"
#include "signals/pace.h"
#include "signals/redo.h"

#define TICK_STEP 32u /* Waiters whose time is up that a tick takes. */

void lqh_continue(struct lqh *lqh, enum lqh_work work, uint32_t ref)
{
    struct lqh_continueb signal = {.work = work, .ref = ref};
    sig_send(&lqh->block, lqh->block.ref, GSN_CONTINUEB, PRIO_B, &signal);
}

void lqh_continue_later(struct lqh *lqh, enum lqh_work work, uint32_t ref, uint32_t delay_ms)
{
    struct lqh_continueb signal = {.work = work, .ref = ref};
    sig_send_delayed(&lqh->block, lqh->block.ref, GSN_CONTINUEB, PRIO_B, &signal, delay_ms);
}

/* What a peer does wrong costs it its link; what this node does wrong stops it. */
void lqh_protocol_error(struct lqh *lqh, uint32_t sender, const char *what)
{
    jam();
    /* A block of this node passed on what a peer had forged, or is wrong itself. */
    if (ref_node(sender) == lqh->own_node) node_fail(EXIT_PEER_PROTOCOL, __FILE__, __LINE__, what);
    peer_refuse(&lqh->block, ref_node(sender), what);
}

bool lqh_is_tc(uint32_t ref)
{
    return ref_block(ref) == BLOCK_DBTC && ref_instance(ref) != 0;
}

uint32_t lqh_client_error(const struct lqh *lqh, uint32_t api_ref)
{
    uint32_t node = ref_node(api_ref);
    uint32_t class = peer_class(&lqh->block, node);
    bool trix = ref_block(api_ref) == BLOCK_TRIX && (class & FROM_NODES) != 0;
    if (!trix && (class & FROM_CLIENTS) == 0) return ERR_READ_NODE_FAILURE;
    bool slow = peer_level(&lqh->block, node) >= LINK_OVERLOAD || ERROR_INSERTED(&lqh->block, 5005);
    return slow ? ERR_SEND_BUFFER_FULL : 0;
}

struct lqh_op *lqh_op_get(struct lqh *lqh, uint32_t ref)
{
    struct lqh_op *op = pool_find(&lqh->operations, ref);
    ndbrequire(op != NULL);
    return op;
}

void lqh_lock_waits(struct lqh *lqh)
{
    if (lqh->tick_sent) return;
    jam();
    lqh->tick_sent = true;
    lqh_continue_later(lqh, LQH_WORK_LOCK_TICK, REF_NONE, LQH_LOCK_TICK_MS);
}

static void lock_tick(struct lqh *lqh)
{
    lqh->tick_sent = false;
    acc_lock_tick(lqh->acc, now_ms(&lqh->block), TICK_STEP);
    lqh_run_ready(lqh);
    if (acc_locks_waiting(lqh->acc) > 0) lqh_lock_waits(lqh);
}

static void run_one(struct lqh *lqh, struct acc_ready *ready)
{
    struct lqh_op *op = lqh_op_get(lqh, ready->op);
    if (ERROR_INSERTED(&lqh->block, 5004) && ready->error == 0) {
        jam();
        if (ready->lock != REF_NONE) acc_unlock(lqh->acc, ready->lock);
        ready->lock = REF_NONE;
        ready->error = ERR_LOCK_TIMEOUT;
    }
    if (op->scan != REF_NONE && op->state == LQH_OF_COPY) {
        jam();
        lqh_copy_lock_ready(lqh, lqh_copy_get(lqh, op->scan), ready);
    } else if (op->scan != REF_NONE) {
        jam();
        lqh_scan_lock_ready(lqh, lqh_scan_get(lqh, op->scan), ready);
    } else {
        jam();
        lqh_op_ready(lqh, op, ready);
    }
}

void lqh_run_ready(struct lqh *lqh)
{
    struct acc_ready ready;
    if (lqh->ready_sent || acc_ready_empty(lqh->acc)) return;
    for (uint32_t i = 0; i < LQH_READY_STEP; i++) {
        if (!acc_ready_next(lqh->acc, &ready)) return;
        run_one(lqh, &ready);
    }
    if (acc_ready_empty(lqh->acc)) return;
    jam();
    lqh->ready_sent = true;
    lqh_continue(lqh, LQH_WORK_READY, REF_NONE);
}

static void lqh_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct read_config_req *req = SIG_PAYLOAD(sig, read_config_req);
    const struct node_config *config = block_config(block);
    struct arena *arena = block_arena(block);

    ndbrequire(lqh->table == NULL);
    jam();
    lqh->own_node = config->own_node;
    lqh->acc = (struct acc *)(void *)block_neighbour(block, BLOCK_DBACC);
    lqh->tup = (struct tup *)(void *)block_neighbour(block, BLOCK_DBTUP);
    ndbrequire(lqh->acc != NULL && lqh->tup != NULL);
    lqh->table_count = config->tables_max + 1u;
    lqh->table = block_alloc(block, RG_SCHEMA, lqh->table_count * sizeof(struct lqh_table *));
    lqh->decode_size = table_def_size_max();
    lqh->decode_memory = block_alloc(block, RG_SCHEMA, lqh->decode_size);
    lqh->out = block_alloc(block, RG_TRANSACTION, LQH_OUT_WORDS * 4u);
    lqh->data =
        block_alloc(block, RG_TRANSACTION, (LQH_KEY_WORDS_MAX + LQHKEY_ATTR_WORDS_MAX) * 4u);
    lqh->made = block_alloc(block, RG_TRANSACTION, TUP_ROW_WORDS_MAX * 4u);
    lqh->keys = block_alloc(block, RG_TRANSACTION, LQH_FIRE_WORDS * 4u);
    pool_init(&lqh->tables, arena, RG_SCHEMA, sizeof(struct lqh_table), config->tables_max);
    pool_init(&lqh->operations, arena, RG_TRANSACTION, sizeof(struct lqh_op),
              config->operations_max);
    pool_init(&lqh->segments, arena, RG_TRANSACTION, sizeof(struct lqh_segment),
              config->operations_max);
    pool_init(&lqh->scans, arena, RG_TRANSACTION, sizeof(struct lqh_scan), config->frag_scans_max);
    pool_init(&lqh->scan_locks, arena, RG_TRANSACTION, sizeof(struct lqh_scan_locks),
              config->frag_scans_max);
    pool_init(&lqh->scan_programs, arena, RG_TRANSACTION, sizeof(struct lqh_scan_program),
              config->frag_scans_max);
    pool_init(&lqh->scan_indexes, arena, RG_TRANSACTION, sizeof(struct lqh_scan_index),
              config->frag_scans_max);
    pool_init(&lqh->scan_ranges, arena, RG_TRANSACTION, sizeof(struct lqh_scan_ranges),
              config->frag_scans_max);
    pool_head(&lqh->scans, offsetof(struct lqh_scan, attr));
    pool_head(&lqh->scan_locks, offsetof(struct lqh_scan_locks, lock));
    pool_head(&lqh->scan_programs, offsetof(struct lqh_scan_program, word));
    pool_head(&lqh->scan_indexes, offsetof(struct lqh_scan_index, position.key));
    pool_head(&lqh->scan_ranges, offsetof(struct lqh_scan_ranges, range));
    lqh_redo_init(lqh);
    lqh_nodefail_init(lqh);
    lqh_outcome_init(lqh);
    lqh_copy_init(lqh);
    struct pool *const pools[] = {&lqh->operations,   &lqh->segments,   &lqh->scans,
                                  &lqh->scan_locks,   &lqh->copies,     &lqh->scan_programs,
                                  &lqh->scan_indexes, &lqh->scan_ranges};
    ndbrequire(pools_begin(pools, sizeof pools / sizeof pools[0]));
    struct read_config_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void lqh_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct lqh_continueb *work = SIG_PAYLOAD(sig, lqh_continueb);

    switch ((enum lqh_work)work->work) {
    case LQH_WORK_SCAN:
        lqh_scan_step(lqh, lqh_scan_get(lqh, work->ref));
        return;
    case LQH_WORK_READY:
        lqh->ready_sent = false;
        lqh_run_ready(lqh);
        return;
    case LQH_WORK_LOCK_TICK:
        lock_tick(lqh);
        return;
    case LQH_WORK_TABLE:
        lqh_table_step(lqh, work->ref);
        return;
    case LQH_WORK_INDEX:
        lqh_index_step(lqh);
        return;
    case LQH_WORK_UNIQUE:
        lqh_unique_step(lqh);
        return;
    case LQH_WORK_READS:
        lqh_reads_flush(lqh);
        return;
    case LQH_WORK_REDO_REPLAY:
        lqh_redo_step(lqh);
        return;
    case LQH_WORK_REDO_DELAY:
        lqh_redo_delay_tick(lqh);
        return;
    case LQH_WORK_RECOVER:
        lqh_recover_step(lqh);
        return;
    case LQH_WORK_RECOVER_TICK:
        lqh_recover_tick(lqh);
        return;
    case LQH_WORK_FAIL_SCANS:
    case LQH_WORK_FAIL_OPS:
    case LQH_WORK_ORPHANS:
        lqh_nodefail_step(lqh, work);
        return;
    case LQH_WORK_COPY:
        lqh_copy_step(lqh, work->ref);
        return;
    case LQH_WORK_COPY_AGAIN:
        lqh_copy_again(lqh, work->ref);
        return;
    case LQH_WORK_COPYING:
    case LQH_WORK_INCLUDE:
        lqh_include_step(lqh, work);
        return;
    }
    ndbrequire(false); /* No other work is ever sent. */
}

static void lqh_exec_GCP_DURABLE_REP(struct block *block, const struct signal *sig)
{
    (void)block;
    jam_data(SIG_PAYLOAD(sig, gcp_durable_rep)->gci);
}

static const struct handler lqh_handlers[] = {
    HANDLER(lqh, READ_CONFIG_REQ, read_config_req),
    HANDLER(lqh, CONTINUEB, lqh_continueb),
    HANDLER(lqh, LOCAL_TABLE_ADD_REQ, local_table_add_req),
    HANDLER(lqh, LOCAL_TABLE_STATE_REQ, local_table_state_req),
    HANDLER(lqh, LOCAL_INDEX_REQ, local_index_req),
    HANDLER(lqh, LOCAL_UNIQUE_REQ, local_unique_req),
    HANDLER(lqh, LOCAL_INDEX_CANCEL_ORD, local_index_cancel_ord),
    HANDLER(lqh, LQHKEYREQ, lqhkeyreq),
    HANDLER(lqh, COMMIT, commit_train),
    HANDLER(lqh, COMPLETE, complete_train),
    HANDLER(lqh, ABORT, abort_train),
    HANDLER(lqh, SCAN_FRAGREQ, scan_fragreq),
    HANDLER(lqh, SCAN_FRAG_NEXTREQ, scan_frag_nextreq),
    HANDLER(lqh, DUMP_STATE_ORD, dump_state_ord),
    HANDLER(lqh, PACE_PROBE_REQ, pace_probe_req),
    HANDLER(lqh, NODE_LOST_REP, node_lost_rep),
    HANDLER(lqh, LQH_FLUSH_REP, lqh_flush_rep),
    HANDLER(lqh, LQH_ORPHAN_REQ, lqh_orphan_req),
    HANDLER(lqh, OP_RESOLVE_REQ, op_resolve_req),
    HANDLER(lqh, OUTCOME_ASK_REQ, outcome_ask_req),
    HANDLER(lqh, NODE_INCLUDE_REQ, node_include_req),
    HANDLER(lqh, NODE_INCLUDE_REP, node_include_rep),
    HANDLER(lqh, LQH_INCLUDE_REP, lqh_include_rep),
    HANDLER(lqh, COPY_TABLE_REQ, copy_table_req),
    HANDLER(lqh, COPY_FRAGREQ, copy_fragreq),
    HANDLER(lqh, COPY_FRAGCONF, copy_fragconf),
    HANDLER(lqh, COPY_FRAGREF, copy_fragref),
    HANDLER(lqh, COPY_ROWS_REP, copy_rows_rep),
    HANDLER(lqh, COPY_ROWS_CONF, copy_rows_conf),
    HANDLER(lqh, GCP_SAVEREQ, gcp_savereq),
    HANDLER(lqh, GCP_DURABLE_REP, gcp_durable_rep),
    HANDLER(lqh, REDO_OPEN_REQ, redo_open_req),
    HANDLER(lqh, REDO_START_REQ, redo_start_req),
    HANDLER(lqh, REDO_TAIL_ORD, redo_tail_ord),
    HANDLER(lqh, REDO_STATUS_REQ, redo_status_req),
    HANDLER(lqh, RECOVER_REQ, recover_req),
    HANDLER(lqh, RESTORE_FRAG_CONF, restore_frag_conf),
    HANDLER(lqh, RESTORE_FRAG_REF, restore_frag_ref),
    HANDLER(lqh, RESTORE_END_CONF, restore_end_conf),
    HANDLER(lqh, FSOPENCONF, fsopenconf),
    HANDLER(lqh, FSOPENREF, fs_ref),
    HANDLER(lqh, FSPREALLOCATECONF, fs_conf),
    HANDLER(lqh, FSPREALLOCATEREF, fs_ref),
    HANDLER(lqh, FSREADCONF, fs_io_conf),
    HANDLER(lqh, FSREADREF, fs_ref),
    HANDLER(lqh, FSWRITECONF, fs_io_conf),
    HANDLER(lqh, FSWRITEREF, fs_ref),
    HANDLER(lqh, FSSYNCCONF, fs_conf),
    HANDLER(lqh, FSSYNCREF, fs_ref),
};

static const struct block_type lqh_type = {
    .name = "DBLQH",
    .block_no = BLOCK_DBLQH,
    .handlers = lqh_handlers,
    .handler_count = sizeof lqh_handlers / sizeof lqh_handlers[0],
    .check = lqh_check,
};

static const struct block_pool lqh_pools[] = {
    BLOCK_POOL(lqh, tables),        BLOCK_POOL(lqh, operations),   BLOCK_POOL(lqh, segments),
    BLOCK_POOL(lqh, scans),         BLOCK_POOL(lqh, scan_locks),   BLOCK_POOL(lqh, copies),
    BLOCK_POOL(lqh, scan_programs), BLOCK_POOL(lqh, scan_indexes), BLOCK_POOL(lqh, scan_ranges),
};

struct block *lqh_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &lqh_type, instance, sizeof(struct lqh));
    block->ahead = lqh_ahead;
    block->pools = lqh_pools;
    block->pool_count = sizeof lqh_pools / sizeof lqh_pools[0];
    return block;
}

uint32_t lqh_copy_pace(struct block *block, uint32_t most)
{
    struct lqh *lqh = lqh_of(block);
    return copy_pace_look(&lqh->copy_pace, now_ms(block), lqh->requests, most);
}

void lqh_usage_get(const struct block *block, struct lqh_usage *usage)
{
    const struct lqh *lqh = (const struct lqh *)block;
    *usage = (struct lqh_usage){
        .operations = lqh->operations.in_use,
        .scans = lqh->scans.in_use,
        .segments = lqh->segments.in_use,
        .tables = lqh->tables.in_use,
        .copies = lqh->copies.in_use,
    };
}
