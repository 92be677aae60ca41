/* tc_drain.c -- tells NDBCNTR, when the node stops, that no transaction and no scan is left here.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"

#define DRAIN_TICK_MS 10u

/* New work is refused since NODE_STATE_REP, so the counts only fall. */
void tc_drain_step(struct tc *tc)
{
    if (tc->transactions.in_use > 0 || tc->scans.in_use > 0 || tc->epoch.waiting > 0 ||
        tc->waits.in_use > 0) {
        tc_continue_later(tc, TC_WORK_DRAIN, 0, DRAIN_TICK_MS);
        return;
    }
    jam();
    struct tc_drain_conf conf = {.sender_data = tc->drain_data};
    sig_send(&tc->block, tc->drain_sender, GSN_TC_DRAIN_CONF, PRIO_B, &conf);
    tc->drain_sender = 0;
}

void tc_exec_TC_DRAIN_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    ndbrequire(tc->drain_sender == 0);
    jam();
    tc->drain_sender = sig->sender;
    tc->drain_data = SIG_PAYLOAD(sig, tc_drain_req)->sender_data;
    tc_drain_step(tc);
}
