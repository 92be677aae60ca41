/* lqh_commit.c -- COMMIT, COMPLETE and ABORT trains: from the last replica back to the primary,
 * which tells TC. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_outcome.h"
#include "blocks/dblqh/redo/lqh_log.h"
#include "signals/lqhkey.h"

/* Entries for one destination, until they are sent. It lives in the handler's frame only. */
struct train {
    struct block *block;
    uint32_t gsn;
    uint32_t receiver;
    uint32_t payload[sizeof(struct commit_train) / 4u];
    uint32_t payload_words;
    uint32_t count;
    struct train_entry entry[TRAIN_ENTRIES_MAX];
};

static void train_send(struct train *train)
{
    if (train->count == 0) return;
    struct section section = {.words = (const uint32_t *)(const void *)train->entry,
                              .size = train->count * TRAIN_ENTRY_WORDS};
    signal_send(train->block, train->receiver, train->gsn, PRIO_B, train->payload,
                train->payload_words, &section, 1);
    train->count = 0;
}

static void train_add(struct train *train, uint32_t receiver, uint32_t op,
                      const struct lqh_op *from)
{
    if (train->receiver != receiver || train->count == TRAIN_ENTRIES_MAX) train_send(train);
    train->receiver = receiver;
    train->entry[train->count++] =
        (struct train_entry){.op = op, .tc_op = from->tc_op, .transid1 = from->transid1};
}

/* A train goes on to the replica before (`back`), or, from the primary, to TC (`done`). */
struct trains {
    struct train back;
    struct train done;
};

static void trains_begin(struct trains *trains, struct lqh *lqh, const struct signal *sig,
                         uint32_t gsn_done)
{
    trains->back.block = trains->done.block = &lqh->block;
    trains->back.count = trains->done.count = 0;
    trains->back.receiver = trains->done.receiver = 0;
    trains->back.gsn = sig->gsn;
    trains->done.gsn = gsn_done;
    trains->back.payload_words = sig->gsn == GSN_COMMIT ? sizeof(struct commit_train) / 4u : 1u;
    for (uint32_t i = 0; i < trains->back.payload_words; i++)
        trains->back.payload[i] = sig->payload[i];
    trains->done.payload_words = 1;
    trains->done.payload[0] = 0;
}

static void trains_add(struct trains *trains, const struct lqh *lqh, const struct lqh_op *op)
{
    if (lqh_doomed(lqh, op->tc_ref, op->nodes)) {
        jam(); /* Executed, but nothing of it goes on its way any more: TC orders the rest. */
        return;
    }
    if (op->prev_ref != 0)
        train_add(&trains->back, op->prev_ref, op->prev_op, op);
    else
        train_add(&trains->done, op->tc_ref, REF_NONE, op);
}

static void trains_end(struct trains *trains, struct lqh *lqh)
{
    train_send(&trains->back);
    train_send(&trains->done);
    lqh_run_ready(lqh);
}

static uint32_t train_count(struct lqh *lqh, const struct signal *sig)
{
    uint32_t words = sig->section[0].size;
    if (words == 0 || words % TRAIN_ENTRY_WORDS != 0 ||
        words > TRAIN_ENTRIES_MAX * TRAIN_ENTRY_WORDS) {
        lqh_protocol_error(lqh, sig->sender, "malformed train");
        return 0;
    }
    return words / TRAIN_ENTRY_WORDS;
}

static struct lqh_op *train_op(struct lqh *lqh, const struct signal *sig, uint32_t entry,
                               enum lqh_op_state state)
{
    const uint32_t *words = sig->section[0].words + (size_t)entry * TRAIN_ENTRY_WORDS;
    struct lqh_op *op = pool_find(&lqh->operations, words[0]);
    if (op != NULL && op->scan == REF_NONE && op->state == state && op->tc_op == words[1] &&
        op->transid1 == words[2] && op->tc_ref == sig->payload[0]) {
        return op;
    }
    /* Also after a loss: what is resolved has no train on its way any more (LQH_FLUSH_REP). */
    lqh_protocol_error(lqh, sig->sender, "train entry for an unknown operation");
    return NULL;
}

static void unlock(struct lqh *lqh, struct lqh_op *op)
{
    if (op->lock != REF_NONE) acc_unlock(lqh->acc, op->lock);
    op->lock = REF_NONE;
}

/*
 * The primary is the last to commit: then every replica has, so others may have the row. A backup
 * keeps its lock until COMPLETE: the next writer of the row comes through the primary, and must not
 * overtake this one here.
 */
void lqh_commit_op(struct lqh *lqh, struct lqh_op *op, const struct commit_train *commit)
{
    op->gci_hi = commit->gci_hi;
    op->gci_lo = commit->gci_lo;
    if (op->change != REF_NONE) {
        if (lqh->redo != NULL) lqh_redo_commit(lqh, op, commit);
        tup_commit(lqh->tup, op->change, commit->gci_hi);
        lqh_outcome_note(lqh, op);
    }
    op->change = REF_NONE;
    op->state = LQH_COMMITTED;
    if (op->prev_ref == 0) unlock(lqh, op);
}

void lqh_op_end(struct lqh *lqh, struct lqh_op *op)
{
    /* A committed operation has no change. */
    if (op->change != REF_NONE) tup_abort(lqh->tup, op->change);
    unlock(lqh, op);
    lqh_op_release(lqh, op);
}

void lqh_exec_COMMIT(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct commit_train *commit = SIG_PAYLOAD(sig, commit_train);
    struct trains trains;
    uint32_t count = train_count(lqh, sig);
    bool complete = (commit->flags & COMMIT_AND_COMPLETE) != 0;

    trains_begin(&trains, lqh, sig, GSN_COMMITTED);
    trains.done.payload_words = sizeof(struct committed_train) / 4u;
    trains.done.payload[0] = commit->gci_hi;
    trains.done.payload[1] = commit->gci_lo;
    for (uint32_t i = 0; i < count; i++) {
        lqh_ahead_train(lqh, sig, i);
        struct lqh_op *op = train_op(lqh, sig, i, LQH_PREPARED);
        if (op == NULL) break;
        lqh_commit_op(lqh, op, commit);
        trains_add(&trains, lqh, op);
        if (complete) lqh_op_end(lqh, op);
    }
    trains_end(&trains, lqh);
}

/* The operations of a COMPLETE or ABORT train end here. */
static void end_ops(struct lqh *lqh, const struct signal *sig, uint32_t gsn_done,
                    enum lqh_op_state state)
{
    struct trains trains;
    uint32_t count = train_count(lqh, sig);

    trains_begin(&trains, lqh, sig, gsn_done);
    for (uint32_t i = 0; i < count; i++) {
        lqh_ahead_train(lqh, sig, i);
        struct lqh_op *op = train_op(lqh, sig, i, state);
        if (op == NULL) break;
        trains_add(&trains, lqh, op);
        lqh_op_end(lqh, op);
    }
    trains_end(&trains, lqh);
}

void lqh_exec_COMPLETE(struct block *block, const struct signal *sig)
{
    end_ops(lqh_of(block), sig, GSN_COMPLETED, LQH_COMMITTED);
}

void lqh_exec_ABORT(struct block *block, const struct signal *sig)
{
    end_ops(lqh_of(block), sig, GSN_ABORTED, LQH_PREPARED);
}
