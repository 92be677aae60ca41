/* tc_durable.c -- commits that are to survive the loss of the whole cluster: their answers wait for
 * their GCI. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The transaction itself goes on to its end; only the connect record waits, with what the client is
 * to be told. DIH is asked once per GCI to close it; all that commit until it is closed share it.
 * While GCI g is saved, g + 1 cannot be closed, so only two GCIs in a row are ever waited for.
 */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_epoch.h"
#include "blocks/dbtc/epoch/tc_wait.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/gcp.h"
#include "signals/tckey.h"
#include "values/errors.h"
#include "signals/gcp_local.h"

uint32_t tc_durable_error(const struct tc *tc)
{
    return block_config(&tc->block)->diskless != 0 ? ERR_NO_FILES_NOT_DURABLE : 0;
}

void tc_durable_force(struct tc *tc, uint32_t gci)
{
    if (tc->epoch.forced >= gci) return;
    jam();
    tc->epoch.forced = gci;
    struct gcp_force_ord ord = {.gci = gci};
    sig_send(&tc->block, block_ref(tc->own_node, BLOCK_DBDIH, 0), GSN_GCP_FORCE_ORD, PRIO_A, &ord);
}

void tc_durable_wait(struct tc *tc, struct tc_connect *connect, const struct tc_trans *trans)
{
    uint32_t list = trans->gci_hi & 1u;
    ndbrequire(connect->durable_gci == 0 && trans->gci_hi > tc->epoch.durable);
    jam();
    connect->durable_gci = trans->gci_hi;
    connect->durable_lo = trans->gci_lo;
    connect->durable_flags = trans->flags;
    connect->durable_next = REF_NONE;
    connect->last_transid1 = trans->transid1;
    connect->last_transid2 = trans->transid2;
    if (tc->epoch.wait[list].last != REF_NONE)
        tc_connect_get(tc, tc->epoch.wait[list].last)->durable_next = connect->pool.ref;
    else
        tc->epoch.wait[list].first = connect->pool.ref;
    tc->epoch.wait[list].last = connect->pool.ref;
    tc->epoch.waiting++;
    tc_durable_force(tc, trans->gci_hi);
}

static void now_durable(struct tc *tc, struct tc_connect *connect)
{
    struct tc_committed committed = {.flags = connect->durable_flags,
                                     .transid1 = connect->last_transid1,
                                     .transid2 = connect->last_transid2,
                                     .gci_hi = connect->durable_gci,
                                     .gci_lo = connect->durable_lo,
                                     .level = KEYCONF_DURABLE};
    ndbrequire(connect->trans == REF_NONE && connect->scan == REF_NONE);
    connect->durable_gci = 0;
    tc_commit_answer(tc, connect, &committed);
    tc_connect_idle(tc, connect);
}

void tc_durable_step(struct tc *tc, uint32_t list)
{
    struct tc_epoch *epoch = &tc->epoch;
    ndbrequire(list < 2);
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        if (epoch->wait[list].first == REF_NONE) return;
        struct tc_connect *connect = tc_connect_get(tc, epoch->wait[list].first);
        if (connect->durable_gci > epoch->durable) return;
        epoch->wait[list].first = connect->durable_next;
        if (epoch->wait[list].first == REF_NONE) epoch->wait[list].last = REF_NONE;
        epoch->waiting--;
        now_durable(tc, connect);
    }
    jam();
    tc_continue(tc, TC_WORK_DURABLE, REF_NONE, 0, list);
}

void tc_exec_GCP_DURABLE_REP(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    uint32_t gci = SIG_PAYLOAD(sig, gcp_durable_rep)->gci;
    ndbrequire(gci > tc->epoch.durable); /* I-GCP-4 */
    jam();
    tc->epoch.durable = gci;
    tc_durable_step(tc, gci & 1u);
    tc_wait_walk(tc);
}
