/* tc_apifail.c -- cleans up after a client node: aborts its transactions, closes its scans, frees
 * its records. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_wait.h"
#include "blocks/dbtc/failure/tc_apifail.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "signals/start.h"

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

void tc_api_fail_step(struct tc *tc, uint32_t node, uint32_t index)
{
    if (tc->api_fail[node].sender == 0)
        return; /* The node's last record went before this walk was through. */
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_connect *connect = pool_next(&tc->connects, index);
        if (connect == NULL) {
            jam();
            tc_api_fail_check(tc, node);
            return;
        }
        index = pool_index(connect->pool.ref);
        if (ref_node(connect->owner) == node) tc_connect_end(tc, connect);
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
