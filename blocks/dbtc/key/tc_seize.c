/* tc_seize.c -- connect records: what a client seizes, uses for one transaction after the other,
 * and releases. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_apifail.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "signals/tckey.h"
#include "values/errors.h"

struct tc_connect *tc_connect_find(struct tc *tc, uint32_t ref, uint32_t sender)
{
    struct tc_connect *connect = pool_find(&tc->connects, ref);
    return connect != NULL && connect->owner == sender ? connect : NULL;
}

struct tc_connect *tc_connect_get(struct tc *tc, uint32_t ref)
{
    struct tc_connect *connect = pool_find(&tc->connects, ref);
    ndbrequire(connect != NULL);
    return connect;
}

void tc_exec_TCSEIZEREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct tcseizereq *req = SIG_PAYLOAD(sig, tcseizereq);
    uint32_t node = ref_node(sig->sender);
    uint32_t error = tc_refuse_new(tc, sig->sender);

    if (error == 0 && tc->api_fail[node].sender != 0) error = ERR_CLUSTER_UNAVAILABLE;
    struct tc_connect *connect = error == 0 ? pool_seize(&tc->connects) : NULL;
    if (connect == NULL) {
        jam_data(error);
        struct tcseizeref ref = {.sender_data = req->sender_data,
                                 .error = error != 0 ? error : ERR_TC_TRANSACTIONS};
        sig_send(block, sig->sender, GSN_TCSEIZEREF, PRIO_B, &ref);
        return;
    }
    jam();
    connect->owner = sig->sender;
    connect->api_connect = req->sender_data;
    tc->connects_of[node]++;
    struct tcseizeconf conf = {.sender_data = req->sender_data, .tc_connect = connect->pool.ref};
    sig_send(block, sig->sender, GSN_TCSEIZECONF, PRIO_B, &conf);
}

void tc_connect_free(struct tc *tc, struct tc_connect *connect)
{
    uint32_t node = ref_node(connect->owner);
    ndbrequire(connect->trans == REF_NONE && connect->scan == REF_NONE &&
               connect->durable_gci == 0);
    ndbrequire(tc->connects_of[node] > 0);
    tc->connects_of[node]--;
    pool_release(&tc->connects, connect);
    tc_api_fail_check(tc, node);
}

/* Transaction or scan have ended: a client that wanted to release the record, or is gone, has it
 * released now. */
void tc_connect_idle(struct tc *tc, struct tc_connect *connect)
{
    bool gone = tc->api_fail[ref_node(connect->owner)].sender != 0;
    if (!connect->releasing && !gone) return;
    if (connect->releasing && !gone) {
        jam();
        struct tcreleaseconf conf = {.sender_data = connect->release_data};
        sig_send(&tc->block, connect->owner, GSN_TCRELEASECONF, PRIO_B, &conf);
    }
    tc_connect_free(tc, connect);
}

void tc_connect_end(struct tc *tc, struct tc_connect *connect)
{
    if (connect->trans != REF_NONE) {
        struct tc_trans *trans = tc_trans_get(tc, connect->trans);
        jam_data(trans->state);
        if (trans->state == TRANS_STARTED) tc_abort_begin(tc, trans, 0, REF_NONE);
    } else if (connect->scan != REF_NONE) {
        jam();
        struct tc_scan *scan = pool_find(&tc->scans, connect->scan);
        ndbrequire(scan != NULL);
        tc_scan_close(tc, scan, 0, false);
    } else if (connect->durable_gci != 0) {
        jam(); /* When its GCI is durable. */
    } else {
        jam();
        tc_connect_idle(tc, connect);
    }
}

void tc_exec_TCRELEASEREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct tcreleasereq *req = SIG_PAYLOAD(sig, tcreleasereq);
    if (tc_held(tc, sig, req->tc_connect, false)) return;
    struct tc_connect *connect = tc_connect_find(tc, req->tc_connect, sig->sender);

    if (connect == NULL || connect->releasing) {
        jam();
        struct tcreleaseref ref = {.sender_data = req->sender_data, .error = ERR_TC_INTERNAL_203};
        sig_send(block, sig->sender, GSN_TCRELEASEREF, PRIO_B, &ref);
        return;
    }
    connect->releasing = 1;
    connect->release_data = req->sender_data;
    tc_connect_end(tc, connect);
}
