/* tc_commit.c -- commits transactions: COMMIT trains, the client's answer, COMPLETE trains. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_epoch.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/lqhkey.h"
#include "values/errors.h"

#define DELAY_INSERTED_MS 50u

/* --- Trains. --- */

void tc_train_begin(struct tc_train *train, struct tc *tc, uint32_t gsn,
                    const struct tc_trans *trans)
{
    train->block = &tc->block;
    train->gsn = gsn;
    train->receiver = 0;
    train->flags = 0;
    train->gci_hi = trans->gci_hi;
    train->gci_lo = trans->gci_lo;
    train->count = 0;
}

void tc_train_send(struct tc_train *train)
{
    if (train->count == 0) return;
    struct section section = {.words = (const uint32_t *)(const void *)train->entry,
                              .size = train->count * TRAIN_ENTRY_WORDS};
    struct commit_train payload = {.tc_ref = train->block->ref,
                                   .gci_hi = train->gci_hi,
                                   .gci_lo = train->gci_lo,
                                   .flags = train->flags};
    uint32_t words =
        train->gsn == GSN_COMMIT ? sizeof payload / 4u : sizeof(struct complete_train) / 4u;
    signal_send(train->block, train->receiver, train->gsn, PRIO_B, &payload, words, &section, 1);
    train->count = 0;
}

void tc_train_add(struct tc_train *train, const struct tc_op *op, uint32_t transid1, uint32_t flags)
{
    if (train->count == TRAIN_ENTRIES_MAX || train->receiver != op->lqh_ref ||
        train->flags != flags)
        tc_train_send(train);
    train->receiver = op->lqh_ref;
    train->flags = flags;
    train->entry[train->count++] =
        (struct train_entry){.op = op->lqh_op, .tc_op = op->pool.ref, .transid1 = transid1};
}

/*
 * COMMIT and COMPLETE of many transactions share trains: an entry waits until a train is full, or
 * until what is queued for this thread now has been executed. A transaction that comes alone loses
 * one turn of the queue.
 */
static struct tc_train *train_of(struct tc *tc, uint32_t gsn, uint32_t receiver, uint32_t flags,
                                 const struct tc_trans *trans)
{
    struct tc_train *free = NULL;
    for (uint32_t i = 0; i < TC_TRAINS; i++) {
        struct tc_train *train = &tc->trains[i];
        if (train->count == 0)
            free = free == NULL ? train : free;
        else if (train->receiver == receiver && train->gsn == gsn && train->flags == flags &&
                 train->gci_lo == trans->gci_lo && train->gci_hi == trans->gci_hi)
            return train;
    }
    if (free == NULL) {
        jam();
        free = &tc->trains[tc->train_turn++ % TC_TRAINS];
        tc_train_send(free);
    }
    tc_train_begin(free, tc, gsn, trans);
    return free;
}

static void train_collect(struct tc *tc, uint32_t gsn, const struct tc_trans *trans,
                          const struct tc_op *op, uint32_t flags)
{
    struct tc_train *train = train_of(tc, gsn, op->lqh_ref, flags, trans);
    tc_train_add(train, op, trans->transid1, flags);
    if (train->count == TRAIN_ENTRIES_MAX) tc_train_send(train);
    if (tc->trains_sent) return;
    tc->trains_sent = true;
    tc_continue(tc, TC_WORK_TRAINS, REF_NONE, 0, 0);
}

void tc_trains_flush(struct tc *tc)
{
    tc->trains_sent = false;
    for (uint32_t i = 0; i < TC_TRAINS; i++)
        tc_train_send(&tc->trains[i]);
}

uint32_t tc_train_count(struct tc *tc, const struct signal *sig)
{
    uint32_t words = sig->section[0].size;
    if (words == 0 || words % TRAIN_ENTRY_WORDS != 0 ||
        words > TRAIN_ENTRIES_MAX * TRAIN_ENTRY_WORDS) {
        jam();
        tc_protocol_error(tc, sig->sender, "malformed train");
        return 0;
    }
    return words / TRAIN_ENTRY_WORDS;
}

struct tc_op *tc_train_answer(struct tc *tc, const struct signal *sig, uint32_t entry,
                              enum tc_trans_state state, enum tc_op_state op_state)
{
    const uint32_t *words = sig->section[0].words + (size_t)entry * TRAIN_ENTRY_WORDS;
    struct tc_op *op = pool_find(&tc->operations, words[1]);
    struct tc_trans *trans = op == NULL ? NULL : tc_trans_get(tc, op->trans);
    if (trans != NULL && tc_broken(tc, op)) {
        jam(); /* Its end is ordered. */
        return NULL;
    }
    if (trans != NULL && op->state == op_state && trans->transid1 == words[2] &&
        trans->state == state) {
        ndbrequire(trans->waiting > 0); /* I-TC-3 */
        trans->waiting--;
        trans->active_ms = now_ms(&tc->block);
        return op;
    }
    jam(); /* No LQH of ours does that: from a peer that breaks the protocol. */
    if (tc_lenient(tc)) return NULL; /* It was resolved meanwhile. */
    tc_protocol_error(tc, sig->sender, "train entry for an unknown operation");
    return NULL;
}

/* --- The end of a transaction. --- */

void tc_commit_answer(struct tc *tc, const struct tc_connect *connect,
                      const struct tc_committed *committed)
{
    if ((committed->flags & TRANS_COMMIT_KEY) != 0) {
        jam();
        struct tckeyconf conf = {.api_connect = connect->api_connect,
                                 .transid1 = committed->transid1,
                                 .transid2 = committed->transid2,
                                 .flags = KEYCONF_COMMITTED | committed->level,
                                 .gci_hi = committed->gci_hi,
                                 .gci_lo = committed->gci_lo};
        sig_send(&tc->block, connect->owner, GSN_TCKEYCONF, PRIO_B, &conf);
    }
    if ((committed->flags & TRANS_COMMIT_REQ) != 0) {
        jam();
        struct tc_commitconf conf = {.api_connect = connect->api_connect,
                                     .transid1 = committed->transid1,
                                     .transid2 = committed->transid2,
                                     .gci_hi = committed->gci_hi,
                                     .gci_lo = committed->gci_lo,
                                     .flags = committed->level};
        sig_send(&tc->block, connect->owner, GSN_TC_COMMITCONF, PRIO_B, &conf);
    }
}

/*
 * All primaries have committed, and each is the last of its chain to do so: whichever replica is
 * read from now on has the rows. So the answer need not wait for COMPLETE even when a table is read
 * from backups. The client may use the connect record for its next transaction from now on.
 */
static void answer_client(struct tc *tc, struct tc_trans *trans)
{
    struct tc_connect *connect = tc_connect_get(tc, trans->connect);
    trans->connect = REF_NONE;
    connect->trans = REF_NONE;
    connect->last_error = 0;
    if ((trans->flags & TRANS_DURABLE) != 0) {
        jam();
        tc_durable_wait(tc, connect, trans);
        return;
    }
    struct tc_committed committed = {.flags = trans->flags,
                                     .transid1 = trans->transid1,
                                     .transid2 = trans->transid2,
                                     .gci_hi = trans->gci_hi,
                                     .gci_lo = trans->gci_lo};
    tc_commit_answer(tc, connect, &committed);
    tc_connect_idle(tc, connect);
}

static void end_trans(struct tc *tc, struct tc_trans *trans)
{
    ndbrequire(trans->op_count == 0 && trans->waiting == 0 && trans->outstanding == 0); /* I-TC-3 */
    ndbrequire(trans->connect == REF_NONE && tc->completing > 0);                       /* I-TC-5 */
    tc->completing--;
    pool_release(&tc->transactions, trans);
}

static void complete_begin(struct tc *tc, struct tc_trans *trans)
{
    tc_trans_move(trans, TRANS_COMPLETING);
    tc->completing++;
    tc_epoch_leave(tc, trans);
    answer_client(tc, trans);
    if (trans->op_count == 0) {
        jam();
        end_trans(tc, trans);
        return;
    }
    trans->cursor = trans->op_first;
    if (ERROR_INSERTED(&tc->block, 8005)) {
        jam();
        tc_continue_later(tc, TC_WORK_COMPLETE, trans->pool.ref, DELAY_INSERTED_MS);
        return;
    }
    tc_complete_step(tc, trans);
}

static void commit_done(struct tc *tc, struct tc_trans *trans)
{
    if (trans->waiting == 0 && trans->cursor == REF_NONE) complete_begin(tc, trans);
}

/* --- Phases. --- */

void tc_commit_begin(struct tc *tc, struct tc_trans *trans)
{
    ndbrequire(trans->outstanding == 0);
    if (ERROR_INSERTED(&tc->block, 8004)) {
        jam();
        tc_abort_begin(tc, trans, ERR_LOCK_TIMEOUT, REF_NONE);
        return;
    }
    tc_trans_move(trans, TRANS_COMMITTING);
    trans->cursor = trans->op_first;
    if (__builtin_expect(tc->epoch.hold, 0)) {
        tc_epoch_hold(tc, trans);
        return;
    }
    tc_commit_start(tc, trans);
}

void tc_commit_start(struct tc *tc, struct tc_trans *trans)
{
    tc_epoch_enter(tc, trans);
    if (trans->op_count > 0 && ERROR_INSERTED(&tc->block, 8002)) {
        jam();
        tc_continue_later(tc, TC_WORK_COMMIT, trans->pool.ref, DELAY_INSERTED_MS);
        return;
    }
    tc_commit_step(tc, trans);
}

void tc_commit_step(struct tc *tc, struct tc_trans *trans)
{
    for (uint32_t i = 0; i < TC_STEP_OPS && trans->cursor != REF_NONE; i++) {
        struct tc_op *op = tc_op_get(tc, trans->cursor);
        tc_op_move(op, OP_COMMITTING);
        trans->waiting++;
        trans->cursor = op->next;
        if (tc_broken(tc, op))
            tc_resolve(tc, op);
        else
            train_collect(tc, GSN_COMMIT, trans, op,
                          (op->flags & OP_SINGLE_PHASE) != 0 ? COMMIT_AND_COMPLETE : 0);
    }
    if (trans->cursor != REF_NONE) {
        jam();
        tc_continue(tc, TC_WORK_COMMIT, trans->pool.ref, 0, 0);
        return;
    }
    commit_done(tc, trans);
}

void tc_complete_step(struct tc *tc, struct tc_trans *trans)
{
    for (uint32_t i = 0; i < TC_STEP_OPS && trans->cursor != REF_NONE; i++) {
        struct tc_op *op = tc_op_get(tc, trans->cursor);
        tc_op_move(op, OP_COMPLETING);
        trans->waiting++;
        trans->cursor = op->next;
        if (tc_broken(tc, op))
            tc_resolve(tc, op);
        else
            train_collect(tc, GSN_COMPLETE, trans, op, 0);
    }
    if (trans->cursor != REF_NONE) {
        jam();
        tc_continue(tc, TC_WORK_COMPLETE, trans->pool.ref, 0, 0);
    }
}

void tc_op_committed(struct tc *tc, struct tc_op *op)
{
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    if ((op->flags & OP_SINGLE_PHASE) != 0)
        tc_op_release(tc, trans, op);
    else
        tc_op_move(op, OP_COMMITTED);
    commit_done(tc, trans);
}

void tc_op_completed(struct tc *tc, struct tc_op *op)
{
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    tc_op_release(tc, trans, op);
    if (trans->op_count == 0) end_trans(tc, trans);
}

void tc_exec_COMMITTED(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    uint32_t count = tc_train_count(tc, sig);
    for (uint32_t i = 0; i < count; i++) {
        tc_ahead_train(tc, sig, i);
        struct tc_op *op = tc_train_answer(tc, sig, i, TRANS_COMMITTING, OP_COMMITTING);
        if (op != NULL)
            tc_op_committed(tc, op);
        else if (!tc_lenient(tc))
            return;
    }
}

void tc_exec_COMPLETED(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    uint32_t count = tc_train_count(tc, sig);
    for (uint32_t i = 0; i < count; i++) {
        tc_ahead_train(tc, sig, i);
        struct tc_op *op = tc_train_answer(tc, sig, i, TRANS_COMPLETING, OP_COMPLETING);
        if (op != NULL)
            tc_op_completed(tc, op);
        else if (!tc_lenient(tc))
            return;
    }
}

/* --- TC_COMMITREQ. --- */

static void refuse_commit(struct tc *tc, const struct signal *sig, uint32_t api_connect,
                          uint32_t error)
{
    const struct tc_commitreq *req = SIG_PAYLOAD(sig, tc_commitreq);
    struct tc_commitref ref = {.api_connect = api_connect,
                               .transid1 = req->transid1,
                               .transid2 = req->transid2,
                               .error = error};
    sig_send(&tc->block, sig->sender, GSN_TC_COMMITREF, PRIO_B, &ref);
}

/* Everything fits: the transaction commits when its last operation is prepared. */
static void take_commit(struct tc *tc, struct tc_trans *trans, bool durable)
{
    trans->active_ms = now_ms(&tc->block);
    if (durable) {
        uint32_t error = tc_durable_error(tc);
        if (error != 0) {
            jam();
            tc_abort_begin(tc, trans, error, REF_NONE); /* TCROLLBACKREP answers. */
            return;
        }
        trans->flags |= TRANS_DURABLE;
    }
    trans->flags |= TRANS_COMMIT_REQ;
    tc_batch_done(tc, trans);
}

void tc_exec_TC_COMMITREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct tc_commitreq *req = SIG_PAYLOAD(sig, tc_commitreq);
    if (tc_held(tc, sig, req->tc_connect, false)) return;
    struct tc_connect *connect = tc_connect_find(tc, req->tc_connect, sig->sender);
    if (connect == NULL) {
        jam();
        refuse_commit(tc, sig, 0, ERR_TC_INTERNAL_238);
        return;
    }
    struct tc_trans *trans = connect->trans == REF_NONE ? NULL : tc_trans_get(tc, connect->trans);
    if (trans == NULL || trans->transid1 != req->transid1 || trans->transid2 != req->transid2) {
        /* Crossed the report that it was aborted, or was never there. */
        bool last =
            req->transid1 == connect->last_transid1 && req->transid2 == connect->last_transid2;
        jam_data(last);
        refuse_commit(tc, sig, connect->api_connect,
                      last && connect->last_error != 0 ? connect->last_error : ERR_TC_INTERNAL_238);
        return;
    }
    if (trans->state == TRANS_ABORTING) {
        jam(); /* The TCROLLBACKREP that comes answers this too. */
        return;
    }
    if (trans->state != TRANS_STARTED || (trans->flags & TRANS_COMMIT_REQ) != 0) {
        jam(); /* Asked twice. */
        refuse_commit(tc, sig, connect->api_connect, ERR_TC_INTERNAL_203);
        return;
    }
    jam();
    take_commit(tc, trans, (req->flags & COMMIT_DURABLE) != 0);
}
