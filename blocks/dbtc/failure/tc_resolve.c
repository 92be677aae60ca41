/* tc_resolve.c -- ends operations of own transactions that have lost a replica: an order to one
 * live replica after the other. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/failure/tc_takeover.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/takeover.h"

/* What the replicas are ordered to do: enum resolve_action; 0: nothing is awaited of them. */
static uint32_t action_of(const struct tc_op *op)
{
    switch ((enum tc_op_state)op->state) {
    case OP_PREPARING_ABORT:
    case OP_ABORTING:
        return RESOLVE_ABORT;
    case OP_COMMITTING:
        return RESOLVE_COMMIT;
    case OP_COMPLETING:
        return RESOLVE_COMPLETE;
    case OP_PREPARING:
    case OP_PREPARED:
    case OP_COMMITTED:
    case OP_STATES:
    default:
        return 0;
    }
}

/* Orders go from the last replica to the first, as trains do; the last answer may be our own. */
static void order_next(struct tc *tc, struct tc_op *op)
{
    const struct tc_trans *trans = tc_trans_get(tc, op->trans);
    while (op->resolve_at > 0) {
        op->resolve_at--;
        uint32_t node = replica_node(op->nodes, op->resolve_at);
        if (node == 0 || node_mask_has(&tc->fail.lost, node)) continue;
        ndbrequire((op->flags & OP_SINGLE_PHASE) == 0); /* I-TC-8 */
        struct op_resolve_req req = {.failure_no = tc->fail.failure_no,
                                     .sender_data = op->pool.ref,
                                     .action = action_of(op),
                                     .tc_ref = tc->block.ref,
                                     .tc_op = op->pool.ref,
                                     .transid1 = trans->transid1,
                                     .lqh_op = REF_NONE,
                                     .gci_hi = trans->gci_hi,
                                     .gci_lo = trans->gci_lo};
        sig_send(&tc->block, block_ref(node, BLOCK_DBLQH, fragment_instance_key(op->fragment_id)),
                 GSN_OP_RESOLVE_REQ, PRIO_B, &req);
        return;
    }
    jam(); /* No replica is left at all. By signal: the caller may stand in the middle of a walk. */
    struct op_resolve_conf conf = {
        .failure_no = tc->fail.failure_no, .sender_data = op->pool.ref, .tc_ref = tc->block.ref};
    sig_send(&tc->block, tc->block.ref, GSN_OP_RESOLVE_CONF, PRIO_B, &conf);
}

void tc_resolve(struct tc *tc, struct tc_op *op)
{
    if (!tc->fail.resolving) return; /* The walk orders it. */
    jam();
    op->resolve_no = tc->fail.failure_no;
    op->resolve_at = REPLICAS_MAX;
    order_next(tc, op);
}

void tc_resolve_if_due(struct tc *tc, struct tc_op *op)
{
    if (action_of(op) == 0 || op->resolve_no == tc->fail.failure_no) return;
    tc_resolve(tc, op);
}

static bool any_live_before(const struct tc *tc, const struct tc_op *op)
{
    for (uint32_t i = 0; i < op->resolve_at; i++) {
        if (!node_mask_has(&tc->fail.lost, replica_node(op->nodes, i))) return true;
    }
    return false;
}

/* All live replicas have done it: as if the chain had answered. */
static void resolved(struct tc *tc, struct tc_op *op)
{
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    trans->active_ms = now_ms(&tc->block);
    if (op->state == OP_PREPARING_ABORT) {
        ndbrequire(trans->outstanding > 0); /* I-TC-3 */
        trans->outstanding--;
    } else {
        ndbrequire(trans->waiting > 0); /* I-TC-3 */
        trans->waiting--;
    }
    if (op->state == OP_COMMITTING) {
        jam();
        tc_op_committed(tc, op);
    } else if (op->state == OP_COMPLETING) {
        jam();
        tc_op_completed(tc, op);
    } else {
        jam();
        tc_op_release(tc, trans, op);
        tc_abort_done(tc, trans);
    }
}

void tc_exec_OP_RESOLVE_CONF(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct op_resolve_conf *conf = SIG_PAYLOAD(sig, op_resolve_conf);
    if (conf->tc_ref != tc->block.ref) {
        tc_takeover_resolved(tc, conf);
        return;
    }
    if (conf->failure_no != tc->fail.failure_no || !tc->fail.resolving) {
        jam(); /* It is ordered again after the newer failure. */
        return;
    }
    struct tc_op *op = pool_find(&tc->operations, conf->sender_data);
    if (op == NULL || !tc_broken(tc, op) || action_of(op) == 0 ||
        op->resolve_no != conf->failure_no) {
        tc_protocol_error(tc, sig->sender, "OP_RESOLVE_CONF that nothing asked for");
        return;
    }
    if (any_live_before(tc, op))
        order_next(tc, op);
    else
        resolved(tc, op);
}
