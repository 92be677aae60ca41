/* tc_nodefail.c -- lost data nodes: what this TC coordinates itself, and when all has been dealt
 * with. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* The sequence and its reasons stand in docs/protocols/takeover.md. */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_include.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/failure/tc_takeover.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_outcome.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "signals/takeover.h"
#include "values/errors.h"

#define CHECK_MS 10u

void tc_nodefail_init(struct tc *tc)
{
    tc->fail.ended = block_alloc(&tc->block, RG_TRANSACTION,
                                 (DATA_NODE_ID_MAX + 1) * sizeof(struct tc_lost_life));
}

bool tc_any_lost(const struct tc *tc, uint32_t nodes)
{
    for (uint32_t i = 0; replica_node(nodes, i) != 0; i++) {
        if (node_mask_has(&tc->fail.lost, replica_node(nodes, i))) return true;
    }
    return false;
}

/* Sorts live replicas by place; those of the same place keep the order of the distribution. */
static uint32_t sort_live(const struct tc *tc, const uint8_t *nodes)
{
    const struct tc_lost_life *life = tc->fail.ended;
    uint8_t sorted[REPLICAS_MAX];
    uint32_t count = 0;
    uint32_t live = 0;
    for (uint32_t i = 0; i < REPLICAS_MAX; i++) {
        uint32_t at = count;
        if (nodes[i] == 0 || node_mask_has(&tc->fail.lost, nodes[i])) continue;
        for (; at > 0 && life[sorted[at - 1]].place > life[nodes[i]].place; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = nodes[i];
        count++;
    }
    for (uint32_t i = 0; i < count; i++)
        live |= (uint32_t)sorted[i] << 8u * i;
    return live;
}

uint32_t tc_live_nodes(const struct tc *tc, const uint8_t *nodes)
{
    uint32_t live = 0;
    uint32_t shift = 0;
    if (__builtin_expect(tc->fail.any || tc->fail.placed, 0)) return sort_live(tc, nodes);
    for (uint32_t i = 0; i < REPLICAS_MAX; i++) {
        if (nodes[i] == 0) continue;
        live |= (uint32_t)nodes[i] << shift;
        shift += 8;
    }
    return live;
}

/* True only while the walk that aborts such transactions is under way. */
bool tc_has_broken(struct tc *tc, const struct tc_trans *trans)
{
    for (uint32_t ref = trans->op_first; ref != REF_NONE;) {
        const struct tc_op *op = tc_op_get(tc, ref);
        if (tc_broken(tc, op)) return true;
        ref = op->next;
    }
    return false;
}

/* --- The loss, and the LQHs' reports of it. --- */

static bool all_ended(const struct tc *tc)
{
    const struct tc_fail *fail = &tc->fail;
    for (uint32_t node = node_mask_next(&fail->alive, 0); node != 0;
         node = node_mask_next(&fail->alive, node)) {
        const struct tc_lost_life *ended = &fail->ended[node];
        if (ended->instances == 0) return false;
        for (uint32_t i = 1; i <= ended->instances; i++) {
            if (ended->failure_no[i] < fail->failure_no) return false;
        }
    }
    return true;
}

/* Nothing of broken operations and orphans is on its way any more. */
static void resolve_if_ended(struct tc *tc)
{
    struct tc_fail *fail = &tc->fail;
    if (fail->failure_no == 0 || fail->marking || fail->resolving || !all_ended(tc)) return;
    jam_data(fail->failure_no);
    fail->resolving = true;
    tc_continue(tc, TC_WORK_FAIL_RESOLVE, fail->failure_no, 0, 0);
    if (tc->takeover.failure_no == fail->failure_no) tc_takeover_reported(tc);
}

void tc_exec_NODE_LOST_REP(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    struct tc_fail *fail = &tc->fail;
    const struct node_lost_rep *rep = SIG_PAYLOAD(sig, node_lost_rep);
    ndbrequire(rep->failure_no > fail->failure_no); /* I-FAIL-1 */
    ndbrequire(node_mask_has(&rep->alive, tc->own_node));
    jam_data(rep->failure_no);
    fail->any = true;
    fail->failure_no = rep->failure_no;
    fail->alive = rep->alive;
    node_mask_join(&fail->lost, &rep->nodes);
    tc_include_lost(tc, rep);
    tc_outcome_lost(tc, rep);
    fail->marking = true;
    fail->resolving = false;
    if (tc->takeover.failure_no < rep->failure_no) tc_takeover_restart(tc, rep->failure_no);
    tc_continue(tc, TC_WORK_FAIL_MARK, fail->failure_no, 0, 0);
}

void tc_exec_LQH_FAIL_END_REP(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct lqh_fail_end_rep *rep = SIG_PAYLOAD(sig, lqh_fail_end_rep);
    uint32_t node = ref_node(sig->sender);
    uint32_t instance = ref_instance(sig->sender);
    if (ref_block(sig->sender) != BLOCK_DBLQH || instance == 0 || instance > rep->instances ||
        rep->instances > TC_LQHS_MAX || node > DATA_NODE_ID_MAX) {
        tc_protocol_error(tc, sig->sender, "LQH_FAIL_END_REP of an impossible sender");
        return;
    }
    struct tc_lost_life *ended = &tc->fail.ended[node];
    ended->instances = rep->instances;
    /* A report that has come already came by another key of ours. */
    if (ended->failure_no[instance] >= rep->failure_no) return;
    jam_data(node);
    ended->failure_no[instance] = rep->failure_no;
    resolve_if_ended(tc);
}

/* --- Walks over all operations. --- */

/* What has not begun to commit is aborted: it may have lost locks. */
static void mark(struct tc *tc, struct tc_op *op)
{
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    if (trans->state != TRANS_STARTED || !tc_broken(tc, op)) return;
    jam();
    tc_abort_begin(tc, trans, ERR_NODE_FAILURE, op->api_op);
}

static void step_mark(struct tc *tc, uint32_t index)
{
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_op *op = pool_next(&tc->operations, index);
        if (op == NULL) {
            jam();
            tc_continue(tc, TC_WORK_FAIL_SCANS, tc->fail.failure_no, 0, 0);
            return;
        }
        index = pool_index(op->pool.ref);
        mark(tc, op);
    }
    tc_continue(tc, TC_WORK_FAIL_MARK, tc->fail.failure_no, index, 0);
}

static void step_scans(struct tc *tc, uint32_t index)
{
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_frag *frag = pool_next(&tc->frags, index);
        if (frag == NULL) {
            jam();
            tc->fail.marking = false;
            resolve_if_ended(tc);
            return;
        }
        index = pool_index(frag->pool.ref);
        if (node_mask_has(&tc->fail.lost, frag->node)) tc_scan_frag_lost(tc, frag);
    }
    tc_continue(tc, TC_WORK_FAIL_SCANS, tc->fail.failure_no, index, 0);
}

static void step_resolve(struct tc *tc, uint32_t index)
{
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_op *op = pool_next(&tc->operations, index);
        if (op == NULL) {
            jam();
            tc_nodefail_check(tc);
            return;
        }
        index = pool_index(op->pool.ref);
        if (tc_broken(tc, op)) tc_resolve_if_due(tc, op);
    }
    tc_continue(tc, TC_WORK_FAIL_RESOLVE, tc->fail.failure_no, index, 0);
}

/* --- The end. --- */

static void later(struct tc *tc)
{
    struct tc_continueb signal = {.work = TC_WORK_FAIL_CHECK, .ref = tc->fail.failure_no};
    sig_send_delayed(&tc->block, tc->block.ref, GSN_CONTINUEB, PRIO_B, &signal, CHECK_MS);
}

static void step_check(struct tc *tc, uint32_t index)
{
    if (tc->fail.reported == tc->fail.failure_no) return;
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        const struct tc_op *op = pool_next(&tc->operations, index);
        if (op == NULL) {
            jam_data(tc->fail.failure_no);
            tc->fail.reported = tc->fail.failure_no;
            struct takeover_end_rep rep = {.failure_no = tc->fail.failure_no};
            sig_send(&tc->block, block_ref(tc->own_node, BLOCK_DBDIH, 0), GSN_TAKEOVER_END_REP,
                     PRIO_A, &rep);
            tc_include_try(tc);
            return;
        }
        index = pool_index(op->pool.ref);
        if (tc_broken(tc, op)) {
            later(tc);
            return;
        }
    }
    tc_continue(tc, TC_WORK_FAIL_CHECK, tc->fail.failure_no, index, 0);
}

void tc_nodefail_check(struct tc *tc)
{
    if (!tc->fail.resolving || !tc_takeover_done(tc)) return;
    jam();
    tc_continue(tc, TC_WORK_FAIL_CHECK, tc->fail.failure_no, 0, 0);
}

/* A walk of a former failure ends: that of the newer one does all. */
void tc_nodefail_step(struct tc *tc, const struct tc_continueb *work)
{
    if (work->ref != tc->fail.failure_no) {
        jam();
        return;
    }
    if (work->work == TC_WORK_FAIL_MARK)
        step_mark(tc, work->index);
    else if (work->work == TC_WORK_FAIL_SCANS)
        step_scans(tc, work->index);
    else if (work->work == TC_WORK_FAIL_RESOLVE)
        step_resolve(tc, work->index);
    else
        step_check(tc, work->index);
}
