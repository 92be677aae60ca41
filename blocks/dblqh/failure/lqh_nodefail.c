/* lqh_nodefail.c -- lost data nodes: what was under way between LQHs is flushed, then orphans are
 * reported and broken operations made ready for their TCs. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* The sequence and its reasons stand in docs/protocols/takeover.md. */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/failure/lqh_nodefail.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "signals/takeover.h"

#define STEP_OPS   16u /* Reports that a step sends. */
#define STEP_LOOKS 64u /* Records that a step looks at. */

void lqh_nodefail_init(struct lqh *lqh)
{
    struct lqh_fail *fail = &lqh->fail;
    fail->flushed = block_alloc(&lqh->block, RG_TRANSACTION,
                                (DATA_NODE_ID_MAX + 1) * sizeof(struct lqh_flushed));
    fail->index = block_alloc(&lqh->block, RG_TRANSACTION, LQH_INDEX_SIZE * sizeof(uint32_t));
    lqh_include_init(lqh);
}

bool lqh_lost(const struct lqh *lqh, uint32_t tc_ref, uint32_t nodes)
{
    const struct node_mask *lost = &lqh->fail.lost;
    if (node_mask_has(&lqh->fail.lost_tcs, ref_node(tc_ref))) return true;
    for (uint32_t i = 0; replica_node(nodes, i) != 0; i++) {
        if (node_mask_has(lost, replica_node(nodes, i))) return true;
    }
    return false;
}

/* The TC that takes over, the same on all nodes: that of the next live node in the order of ids;
 * the instance is a key. */
static uint32_t takeover_tc(const struct lqh *lqh, uint32_t tc_ref)
{
    uint32_t node = node_mask_next(&lqh->fail.alive, ref_node(tc_ref));
    if (node == 0) node = node_mask_next(&lqh->fail.alive, 0);
    return block_ref(node, BLOCK_DBTC, ref_instance(tc_ref));
}

static void go_on(struct lqh *lqh, struct lqh_continueb work)
{
    sig_send(&lqh->block, lqh->block.ref, GSN_CONTINUEB, PRIO_B, &work);
}

/* --- Flushing. --- */

/* Sends to all instances of a node: it is not known how many there are, so all keys are used. */
static void to_instances(struct lqh *lqh, uint32_t node, uint32_t block_no, uint32_t gsn,
                         const void *payload, uint32_t words)
{
    for (uint32_t key = 1; key <= LQH_INSTANCES_MAX; key++)
        signal_send(&lqh->block, block_ref(node, block_no, key), gsn, PRIO_B, payload, words, NULL,
                    0);
}

static bool all_flushed(const struct lqh *lqh)
{
    const struct lqh_fail *fail = &lqh->fail;
    for (uint32_t node = node_mask_next(&fail->alive, 0); node != 0;
         node = node_mask_next(&fail->alive, node)) {
        const struct lqh_flushed *flushed = &fail->flushed[node];
        if (node == lqh->own_node) continue;
        if (flushed->instances == 0) return false;
        for (uint32_t i = 1; i <= flushed->instances; i++) {
            if (flushed->failure_no[i] < fail->failure_no) return false;
        }
    }
    return true;
}

static void walk_if_flushed(struct lqh *lqh)
{
    struct lqh_fail *fail = &lqh->fail;
    if (!fail->any || fail->walking || fail->reported || !all_flushed(lqh)) return;
    jam_data(fail->failure_no);
    fail->walking = true;
    go_on(lqh, (struct lqh_continueb){.work = LQH_WORK_FAIL_SCANS, .failure_no = fail->failure_no});
}

void lqh_exec_NODE_LOST_REP(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    struct lqh_fail *fail = &lqh->fail;
    const struct node_lost_rep *rep = SIG_PAYLOAD(sig, node_lost_rep);
    ndbrequire(rep->failure_no > fail->failure_no); /* I-FAIL-1 */
    ndbrequire(node_mask_has(&rep->alive, lqh->own_node));
    jam_data(rep->failure_no);
    fail->any = true;
    fail->failure_no = rep->failure_no;
    fail->alive = rep->alive;
    node_mask_join(&fail->lost, &rep->nodes);
    node_mask_join(&fail->lost_tcs, &rep->nodes);
    lqh_include_lost(lqh, rep);
    fail->walking = false;
    fail->reported = false;
    struct lqh_flush_rep flush = {.failure_no = rep->failure_no,
                                  .instances = block_instances(block, BLOCK_DBLQH)};
    for (uint32_t node = node_mask_next(&fail->alive, 0); node != 0;
         node = node_mask_next(&fail->alive, node)) {
        if (node != lqh->own_node)
            to_instances(lqh, node, BLOCK_DBLQH, GSN_LQH_FLUSH_REP, &flush, sizeof flush / 4u);
    }
    lqh_copy_node_lost(lqh);
    walk_if_flushed(lqh);
}

void lqh_exec_LQH_FLUSH_REP(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct lqh_flush_rep *rep = SIG_PAYLOAD(sig, lqh_flush_rep);
    uint32_t node = ref_node(sig->sender);
    uint32_t instance = ref_instance(sig->sender);
    if (ref_block(sig->sender) != BLOCK_DBLQH || instance == 0 || instance > rep->instances ||
        rep->instances > LQH_INSTANCES_MAX || node > DATA_NODE_ID_MAX) {
        lqh_protocol_error(lqh, sig->sender, "LQH_FLUSH_REP of an impossible sender");
        return;
    }
    struct lqh_flushed *flushed = &lqh->fail.flushed[node];
    flushed->instances = rep->instances;
    /* A report that has come already came by another key of ours. */
    if (flushed->failure_no[instance] >= rep->failure_no) return;
    jam_data(node);
    flushed->failure_no[instance] = rep->failure_no;
    walk_if_flushed(lqh);
}

/* --- The walk. --- */

static void report_orphan(struct lqh *lqh, const struct lqh_op *op, uint32_t receiver,
                          const struct lqh_continueb *again)
{
    struct lqh_orphan_rep rep = {.failure_no = lqh->fail.failure_no,
                                 .pass = again == NULL ? 0 : again->pass,
                                 .requested_by = again == NULL ? 0 : again->to,
                                 .tc_ref = op->tc_ref,
                                 .tc_trans = op->tc_trans,
                                 .tc_op = op->tc_op,
                                 .transid1 = op->transid1,
                                 .transid2 = op->transid2,
                                 .api_ref = op->api_ref,
                                 .lqh_op = op->pool.ref,
                                 .nodes = op->nodes,
                                 .committed = op->state == LQH_COMMITTED,
                                 .gci_hi = op->gci_hi,
                                 .gci_lo = op->gci_lo};
    sig_send(&lqh->block, receiver, GSN_LQH_ORPHAN_REP, PRIO_B, &rep);
}

/* True when it was reported. What is held back by the log is refused when its turn comes: its TC
 * does not wait for it. */
static bool look_at_op(struct lqh *lqh, struct lqh_op *op)
{
    if (op->scan != REF_NONE) return false;
    if (!lqh_lost(lqh, op->tc_ref, op->nodes)) return false;
    if (op->state == LQH_DELAYED) {
        jam();
        op->refused = 1;
        return false;
    }
    if (op->state == LQH_WAITING) {
        jam();
        lqh_op_drop_waiting(lqh, op);
        return false;
    }
    if (node_mask_has(&lqh->fail.lost_tcs, ref_node(op->tc_ref))) {
        jam();
        report_orphan(lqh, op, takeover_tc(lqh, op->tc_ref), NULL);
        return true;
    }
    jam();
    if (!op->indexed) lqh_index_add(lqh, op);
    return false;
}

static void walk_done(struct lqh *lqh)
{
    struct lqh_fail *fail = &lqh->fail;
    struct lqh_fail_end_rep rep = {.failure_no = fail->failure_no,
                                   .instances = block_instances(&lqh->block, BLOCK_DBLQH)};
    jam_data(fail->failure_no);
    fail->walking = false;
    fail->reported = true;
    for (uint32_t node = node_mask_next(&fail->alive, 0); node != 0;
         node = node_mask_next(&fail->alive, node))
        to_instances(lqh, node, BLOCK_DBTC, GSN_LQH_FAIL_END_REP, &rep, sizeof rep / 4u);
    lqh_include_try(lqh);
}

static void step_ops(struct lqh *lqh, struct lqh_continueb work)
{
    uint32_t reports = 0;
    for (uint32_t i = 0; i < STEP_LOOKS && reports < STEP_OPS; i++) {
        struct lqh_op *op = pool_next(&lqh->operations, work.ref);
        if (op == NULL) {
            lqh_run_ready(lqh);
            walk_done(lqh);
            return;
        }
        work.ref = pool_index(op->pool.ref);
        if (look_at_op(lqh, op)) reports++;
    }
    lqh_run_ready(lqh);
    go_on(lqh, work);
}

static void step_scans(struct lqh *lqh, struct lqh_continueb work)
{
    for (uint32_t i = 0; i < STEP_OPS; i++) {
        struct lqh_scan *scan = pool_next(&lqh->scans, work.ref);
        if (scan == NULL) {
            jam();
            work.work = LQH_WORK_FAIL_OPS;
            work.ref = 0;
            break;
        }
        work.ref = pool_index(scan->pool.ref);
        if (node_mask_has(&lqh->fail.lost, ref_node(scan->tc_ref))) lqh_scan_tc_lost(lqh, scan);
    }
    go_on(lqh, work);
}

/* --- Orphans once more. --- */

static void step_again(struct lqh *lqh, struct lqh_continueb work)
{
    uint32_t reports = 0;
    for (uint32_t i = 0; i < STEP_LOOKS && reports < STEP_OPS; i++) {
        const struct lqh_op *op = pool_next(&lqh->operations, work.ref);
        if (op == NULL) {
            jam();
            struct lqh_orphan_conf conf = {.failure_no = work.failure_no, .pass = work.pass};
            sig_send(&lqh->block, work.to, GSN_LQH_ORPHAN_CONF, PRIO_B, &conf);
            return;
        }
        work.ref = pool_index(op->pool.ref);
        if (op->scan != REF_NONE || (op->state != LQH_PREPARED && op->state != LQH_COMMITTED))
            continue;
        /* A TC gets all orphans that its node takes over, and drops those of other instances. */
        if (!node_mask_has(&lqh->fail.lost_tcs, ref_node(op->tc_ref))) continue;
        if (ref_node(takeover_tc(lqh, op->tc_ref)) != ref_node(work.to)) continue;
        report_orphan(lqh, op, takeover_tc(lqh, op->tc_ref), &work);
        reports++;
    }
    go_on(lqh, work);
}

void lqh_exec_LQH_ORPHAN_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct lqh_orphan_req *req = SIG_PAYLOAD(sig, lqh_orphan_req);
    if (!lqh_is_tc(sig->sender)) {
        lqh_protocol_error(lqh, sig->sender, "LQH_ORPHAN_REQ of an impossible sender");
        return;
    }
    jam_data(req->pass);
    go_on(lqh, (struct lqh_continueb){.work = LQH_WORK_ORPHANS,
                                      .failure_no = req->failure_no,
                                      .to = sig->sender,
                                      .pass = req->pass});
}

/* A walk of a former failure ends: that of the newer one does all. */
void lqh_nodefail_step(struct lqh *lqh, const struct lqh_continueb *work)
{
    if (work->failure_no != lqh->fail.failure_no) {
        jam();
        return;
    }
    if (work->work == LQH_WORK_FAIL_SCANS)
        step_scans(lqh, *work);
    else if (work->work == LQH_WORK_FAIL_OPS)
        step_ops(lqh, *work);
    else
        step_again(lqh, *work);
}
