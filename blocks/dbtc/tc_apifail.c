/* tc_apifail.c -- cleans up after a client node: aborts its transactions, closes its scans, frees
 * its records. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"

void tc_exec_API_FAILREQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct api_failreq *req = SIG_PAYLOAD(sig, api_failreq);

    ndbrequire(req->node <= NODE_ID_MAX && tc->api_fail[req->node].sender == 0);
    tc->api_fail[req->node] =
        (struct tc_api_fail){.sender = sig->sender, .sender_data = req->sender_data};
    jam_data(req->node);
    tc_wait_walk(tc);
    tc_api_fail_step(tc, req->node, 0);
}

/* Idle records go at once; the others when their transaction or scan has ended (tc_connect_idle).
 */
static void end_connect(struct tc *tc, struct tc_connect *connect)
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
        tc_connect_free(tc, connect);
    }
}

void tc_api_fail_step(struct tc *tc, uint32_t node, uint32_t index)
{
    if (tc->api_fail[node].sender == 0)
        return; /* Its last record went before this walk was through. */
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_connect *connect = pool_next(&tc->connects, index);
        if (connect == NULL) {
            jam();
            tc_api_fail_check(tc, node);
            return;
        }
        index = pool_index(connect->pool.ref);
        if (ref_node(connect->owner) == node) end_connect(tc, connect);
        if (tc->api_fail[node].sender == 0) return;
    }
    tc_continue(tc, TC_WORK_API_FAIL, node, index, 0);
}

void tc_api_fail_check(struct tc *tc, uint32_t node)
{
    struct tc_api_fail *fail = &tc->api_fail[node];
    if (fail->sender == 0 || tc->connects_of[node] > 0 || tc->waits_of[node] > 0) return;
    jam_data(node);
    struct api_failconf conf = {.sender_data = fail->sender_data, .node = node};
    uint32_t receiver = fail->sender;
    *fail = (struct tc_api_fail){0};
    sig_send(&tc->block, receiver, GSN_API_FAILCONF, PRIO_B, &conf);
}
