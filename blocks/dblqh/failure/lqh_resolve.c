/* lqh_resolve.c -- TC orders the end of single operations after a node was lost: found by
 * reference or by TC's, done once, always answered. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_nodefail.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "signals/takeover.h"

/* --- Broken operations by (tc_ref, tc_op). --- */

static uint32_t *list_of(const struct lqh *lqh, uint32_t tc_ref, uint32_t tc_op)
{
    uint32_t hash = (tc_op ^ tc_ref * 0x9E3779B1u) * 0x85EBCA6Bu;
    return &lqh->fail.index[hash >> 16 & (LQH_INDEX_SIZE - 1)];
}

void lqh_index_add(struct lqh *lqh, struct lqh_op *op)
{
    uint32_t *list = list_of(lqh, op->tc_ref, op->tc_op);
    ndbrequire(!op->indexed);
    op->indexed = 1;
    op->index_next = *list;
    *list = op->pool.ref;
}

void lqh_index_remove(struct lqh *lqh, struct lqh_op *op)
{
    uint32_t *at = list_of(lqh, op->tc_ref, op->tc_op);
    while (*at != op->pool.ref) {
        ndbrequire(*at != REF_NONE); /* I-FAIL-2 */
        at = &lqh_op_get(lqh, *at)->index_next;
    }
    *at = op->index_next;
    op->indexed = 0;
}

static struct lqh_op *find_op(struct lqh *lqh, const struct op_resolve_req *req)
{
    if (req->lqh_op != REF_NONE) {
        struct lqh_op *op = pool_find(&lqh->operations, req->lqh_op);
        bool same = op != NULL && op->scan == REF_NONE && op->tc_ref == req->tc_ref &&
                    op->tc_op == req->tc_op && op->transid1 == req->transid1;
        return same ? op : NULL;
    }
    for (uint32_t ref = *list_of(lqh, req->tc_ref, req->tc_op); ref != REF_NONE;) {
        struct lqh_op *op = lqh_op_get(lqh, ref);
        if (op->tc_ref == req->tc_ref && op->tc_op == req->tc_op && op->transid1 == req->transid1)
            return op;
        ref = op->index_next;
    }
    return NULL;
}

/* --- Orders. --- */

static void commit(struct lqh *lqh, struct lqh_op *op, const struct op_resolve_req *req)
{
    struct commit_train train = {
        .tc_ref = req->tc_ref, .gci_hi = req->gci_hi, .gci_lo = req->gci_lo};
    if (op->state == LQH_PREPARED) lqh_commit_op(lqh, op, &train);
}

/* What is asked for has been done before, or cannot be: a take-over never takes back. */
static void resolve(struct lqh *lqh, struct lqh_op *op, const struct op_resolve_req *req)
{
    switch ((enum resolve_action)req->action) {
    case RESOLVE_COMMIT:
        jam();
        commit(lqh, op, req);
        return;
    case RESOLVE_COMPLETE:
        jam();
        if (op->state == LQH_COMMITTED) lqh_op_end(lqh, op);
        return;
    case RESOLVE_ABORT:
        jam();
        if (op->state == LQH_PREPARED)
            lqh_op_end(lqh, op);
        else if (op->state == LQH_WAITING)
            lqh_op_drop_waiting(lqh, op);
        return;
    default:
        return;
    }
}

void lqh_exec_OP_RESOLVE_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct op_resolve_req *req = SIG_PAYLOAD(sig, op_resolve_req);
    if (!lqh_is_tc(sig->sender) || !lqh_lenient(lqh)) {
        lqh_protocol_error(lqh, sig->sender, "OP_RESOLVE_REQ that nothing asks for");
        return;
    }
    struct lqh_op *op = find_op(lqh, req);
    jam_data(op != NULL);
    if (op != NULL) resolve(lqh, op, req);
    struct op_resolve_conf conf = {
        .failure_no = req->failure_no, .sender_data = req->sender_data, .tc_ref = req->tc_ref};
    sig_send(block, sig->sender, GSN_OP_RESOLVE_CONF, PRIO_B, &conf);
    lqh_run_ready(lqh);
}
