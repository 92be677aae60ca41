/* tc_epoch.c -- the epochs of commits: held back for a moment when a new one begins, counted until
 * all replicas have them. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between GCP_HOLD_REQ and TC_EPOCH_REQ, a round trip between the nodes, no transaction begins to
 * commit: when the first one gets the new epoch anywhere, nobody begins with the old one any more.
 * So a transaction never has an older epoch than one that was answered before it began to commit.
 * Those under way go on, and are counted.
 */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_epoch.h"
#include "blocks/dbtc/epoch/tc_wait.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/api_reg.h"
#include "signals/gcp.h"
#include "signals/gcp_local.h"

void tc_epoch_hold(struct tc *tc, struct tc_trans *trans)
{
    struct tc_epoch *epoch = &tc->epoch;
    jam();
    trans->held_next = REF_NONE;
    if (epoch->held_last != REF_NONE)
        tc_trans_get(tc, epoch->held_last)->held_next = trans->pool.ref;
    else
        epoch->held_first = trans->pool.ref;
    epoch->held_last = trans->pool.ref;
}

/* Lets transactions go on in the order in which they came. What is left when the next epoch is near
 * waits for that one. */
void tc_epoch_release(struct tc *tc)
{
    struct tc_epoch *epoch = &tc->epoch;
    epoch->releasing = false;
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        if (epoch->hold || epoch->held_first == REF_NONE) return;
        struct tc_trans *trans = tc_trans_get(tc, epoch->held_first);
        epoch->held_first = trans->held_next;
        if (epoch->held_first == REF_NONE) epoch->held_last = REF_NONE;
        trans->held_next = REF_NONE;
        tc_commit_start(tc, trans);
    }
    if (epoch->held_first == REF_NONE) return;
    jam();
    epoch->releasing = true;
    tc_continue(tc, TC_WORK_RELEASE, REF_NONE, 0, 0);
}

void tc_exec_GCP_HOLD_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    struct gcp_hold_conf conf = {.sender_data = SIG_PAYLOAD(sig, gcp_hold_req)->sender_data};
    jam();
    tc->epoch.hold = true;
    sig_send(block, sig->sender, GSN_GCP_HOLD_CONF, PRIO_A, &conf);
}

static void answer_dih(struct tc *tc)
{
    struct tc_epoch_conf conf = {.sender_data = tc->epoch.answer_data};
    sig_send(&tc->block, tc->epoch.answer_sender, GSN_TC_EPOCH_CONF, PRIO_A, &conf);
    tc->epoch.answer_sender = 0;
}

void tc_epoch_old_done(struct tc *tc)
{
    if (tc->epoch.answer_sender == 0) return;
    jam();
    answer_dih(tc);
}

static void take_ended(struct tc_epoch *epoch, const struct section *list)
{
    ndbrequire(list->size % 2u == 0 && list->size / 2u <= TC_ENDED_MAX);
    jam_data(list->size);
    epoch->ended_count = list->size / 2u;
    memcpy(epoch->ended, list->words, (size_t)list->size * 4u);
}

void tc_exec_TC_EPOCH_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    struct tc_epoch *epoch = &tc->epoch;
    const struct tc_epoch_req *req = SIG_PAYLOAD(sig, tc_epoch_req);
    bool newer =
        req->gci_hi > tc->epoch_hi || (req->gci_hi == tc->epoch_hi && req->gci_lo > tc->epoch_lo);
    ndbrequire(epoch->hold && req->gci_hi != 0);
    ndbrequire(epoch->committing_old == 0 && epoch->answer_sender == 0); /* I-GCP-3 */
    ndbrequire(newer ||
               tc->start_level < START_STARTED); /* I-GCP-1; before the start all may join anew. */
    /* Every GCI begins with micro-epoch 0, but the life of a cluster with 1: all that was before is
     * what the start has restored. */
    if (req->gci_hi != tc->epoch_hi && epoch_number(req->gci_lo) != 0)
        epoch->durable = req->gci_hi - 1;
    if (sig->section_count == 1) take_ended(epoch, &sig->section[0]);
    epoch->committing_old = epoch->committing;
    epoch->committing = 0;
    tc->epoch_hi = req->gci_hi;
    tc->epoch_lo = req->gci_lo;
    epoch->hold = false;
    epoch->answer_sender = sig->sender;
    epoch->answer_data = req->sender_data;
    if (epoch->committing_old == 0) {
        jam();
        answer_dih(tc);
    }
    if (!epoch->releasing) tc_epoch_release(tc);
    tc_wait_walk(tc);
}
