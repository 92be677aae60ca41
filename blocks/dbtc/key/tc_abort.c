/* tc_abort.c -- rolls transactions back: at the client's wish, after an error, after the client's
 * death. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/tckey.h"
#include "values/errors.h"

void tc_rollback_rep(struct tc *tc, const struct tc_connect *connect, uint32_t transid1,
                     uint32_t transid2, const struct tc_reason *reason)
{
    struct tcrollbackrep rep = {.api_connect = connect->api_connect,
                                .transid1 = transid1,
                                .transid2 = transid2,
                                .error = reason->error,
                                .api_op = reason->api_op,
                                .error_data = reason->error_data};
    sig_send(&tc->block, connect->owner, GSN_TCROLLBACKREP, PRIO_B, &rep);
}

static void rollback_conf(struct tc *tc, const struct tc_connect *connect, uint32_t transid1,
                          uint32_t transid2)
{
    struct tcrollbackconf conf = {
        .api_connect = connect->api_connect, .transid1 = transid1, .transid2 = transid2};
    sig_send(&tc->block, connect->owner, GSN_TCROLLBACKCONF, PRIO_B, &conf);
}

/* Begins to abort. With error 0 the client has asked for it, or is gone, and gets no
 * TCROLLBACKREP. */
void tc_abort_begin(struct tc *tc, struct tc_trans *trans, uint32_t error, uint32_t api_op)
{
    tc_trans_move(trans, TRANS_ABORTING);
    jam_data(error);
    if (error != 0) trans->flags |= TRANS_ROLLBACK_REP;
    trans->error = error;
    trans->error_op = api_op;
    trans->cursor = trans->op_first;
    tc_abort_step(tc, trans);
}

/*
 * Sends ABORT for what is prepared. What is still being prepared cannot be reached yet: its place
 * in the chain is known when it is confirmed, at the latest after the lock timeout; it is aborted
 * then.
 */
void tc_abort_step(struct tc *tc, struct tc_trans *trans)
{
    struct tc_train train;
    tc_train_begin(&train, tc, GSN_ABORT, trans);
    for (uint32_t i = 0; i < TC_STEP_OPS && trans->cursor != REF_NONE; i++) {
        struct tc_op *op = tc_op_get(tc, trans->cursor);
        trans->cursor = op->next;
        if (op->state == OP_PREPARED) {
            tc_op_move(op, OP_ABORTING);
            trans->waiting++;
            if (tc_broken(tc, op))
                tc_resolve(tc, op);
            else
                tc_train_add(&train, op, trans->transid1, 0);
        } else {
            tc_op_move(op, OP_PREPARING_ABORT);
            if (tc_broken(tc, op)) tc_resolve(tc, op);
        }
    }
    tc_train_send(&train);
    if (trans->cursor != REF_NONE) {
        jam();
        tc_continue(tc, TC_WORK_ABORT, trans->pool.ref, 0, 0);
        return;
    }
    tc_abort_done(tc, trans);
}

void tc_abort_done(struct tc *tc, struct tc_trans *trans)
{
    if (trans->op_count > 0) return;
    ndbrequire(trans->waiting == 0 && trans->outstanding == 0 &&
               trans->cursor == REF_NONE); /* I-TC-3 */
    struct tc_connect *connect = tc_connect_get(tc, trans->connect);
    connect->trans = REF_NONE;
    connect->last_error = trans->error != 0 ? trans->error : ERR_TRANSACTION_4600;
    struct tc_reason reason = {trans->error, trans->error_op, trans->error_data};
    if ((trans->flags & TRANS_ROLLBACK_REP) != 0)
        tc_rollback_rep(tc, connect, trans->transid1, trans->transid2, &reason);
    if ((trans->flags & TRANS_ROLLBACK_REQ) != 0)
        rollback_conf(tc, connect, trans->transid1, trans->transid2);
    pool_release(&tc->transactions, trans);
    jam();
    tc_connect_idle(tc, connect);
}

void tc_exec_ABORTED(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    uint32_t count = tc_train_count(tc, sig);
    for (uint32_t i = 0; i < count; i++) {
        struct tc_op *op = tc_train_answer(tc, sig, i, TRANS_ABORTING, OP_ABORTING);
        if (op == NULL && tc_lenient(tc)) continue;
        if (op == NULL) return;
        struct tc_trans *trans = tc_trans_get(tc, op->trans);
        tc_op_release(tc, trans, op);
        tc_abort_done(tc, trans);
    }
}

static void refuse_rollback(struct tc *tc, const struct signal *sig, uint32_t api_connect)
{
    const struct tcrollbackreq *req = SIG_PAYLOAD(sig, tcrollbackreq);
    struct tcrollbackref ref = {.api_connect = api_connect,
                                .transid1 = req->transid1,
                                .transid2 = req->transid2,
                                .error = ERR_TC_INTERNAL_203};
    sig_send(&tc->block, sig->sender, GSN_TCROLLBACKREF, PRIO_B, &ref);
}

void tc_exec_TCROLLBACKREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct tcrollbackreq *req = SIG_PAYLOAD(sig, tcrollbackreq);
    if (tc_held(tc, sig, req->tc_connect, false)) return;
    struct tc_connect *connect = tc_connect_find(tc, req->tc_connect, sig->sender);
    if (connect == NULL) {
        jam();
        refuse_rollback(tc, sig, 0);
        return;
    }
    if (connect->trans == REF_NONE) {
        /* It was aborted before (the report crosses this request), or it never began: nothing of it
         * is left. */
        bool committed = req->transid1 == connect->last_transid1 &&
                         req->transid2 == connect->last_transid2 && connect->last_error == 0;
        jam_data(committed);
        if (committed)
            refuse_rollback(tc, sig, connect->api_connect);
        else
            rollback_conf(tc, connect, req->transid1, req->transid2);
        return;
    }
    struct tc_trans *trans = tc_trans_get(tc, connect->trans);
    bool other = trans->transid1 != req->transid1 || trans->transid2 != req->transid2;
    if (other || (trans->state != TRANS_STARTED && trans->state != TRANS_ABORTING) ||
        (trans->flags & TRANS_ROLLBACK_REQ) != 0) {
        jam(); /* Too late: it is being committed; or not its transaction; or asked twice. */
        refuse_rollback(tc, sig, connect->api_connect);
        return;
    }
    jam();
    trans->flags |= TRANS_ROLLBACK_REQ;
    if (trans->state == TRANS_STARTED) tc_abort_begin(tc, trans, 0, REF_NONE);
}
