/* tc_drain.c -- tells NDBCNTR that no transaction and no scan is left here: none at all when the
 * node stops, none of all clients but one in single user mode. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_drain.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "signals/start.h"
#include "values/errors.h"

#define DRAIN_TICK_MS 10u

/* --- The node stops. --- */

/* New work is refused since NODE_STATE_REP, so the counts only fall. */
void tc_drain_step(struct tc *tc)
{
    if (tc->transactions.in_use > 0 || tc->scans.in_use > 0 || tc->epoch.waiting > 0 ||
        tc->waits.in_use > 0 || tc->order.count > 0) {
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

/* --- Single user mode. --- */

/* Is something of this client under way? A commit that waits for the disk alone has happened. */
static bool has_work(const struct tc_connect *connect)
{
    return connect->trans != REF_NONE || connect->scan != REF_NONE;
}

/* The time is over. What has begun to commit, or to abort, ends by itself. */
static void end_work(struct tc *tc, struct tc_connect *connect)
{
    if (connect->trans != REF_NONE) {
        struct tc_trans *trans = tc_trans_get(tc, connect->trans);
        jam_data(trans->state);
        if (trans->state == TRANS_STARTED)
            tc_abort_begin(tc, trans, ERR_SINGLE_USER_MODE, REF_NONE);
        return;
    }
    struct tc_scan *scan = pool_find(&tc->scans, connect->scan);
    ndbrequire(scan != NULL);
    jam();
    if (tc_scan_idle(tc, scan)) tc_scan_close(tc, scan, ERR_SINGLE_USER_MODE, true);
}

/* A walk is over: all is done, or it is looked at again. */
static void clients_walked(struct tc *tc)
{
    struct tc_clients *clients = &tc->clients;
    bool again = clients->found || clients->anew;
    clients->found = clients->anew = false;
    if (again) {
        tc_continue_later(tc, TC_WORK_CLIENTS, 0, DRAIN_TICK_MS);
        return;
    }
    jam();
    struct drain_clients_conf conf = {.sender_data = clients->sender_data};
    clients->walks = false;
    sig_send(&tc->block, clients->sender, GSN_DRAIN_CLIENTS_CONF, PRIO_B, &conf);
}

void tc_drain_clients_step(struct tc *tc, uint32_t index)
{
    struct tc_clients *clients = &tc->clients;
    bool late = now_ms(&tc->block) >= clients->until_ms;
    if (tc->single_user == 0) {
        jam(); /* The mode was left. */
        clients->walks = clients->found = clients->anew = false;
        return;
    }
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_connect *connect = pool_next(&tc->connects, index);
        if (connect == NULL) {
            clients_walked(tc);
            return;
        }
        index = pool_index(connect->pool.ref);
        if (ref_node(connect->owner) == clients->node || !has_work(connect)) continue;
        clients->found = true;
        if (late) end_work(tc, connect);
    }
    tc_continue(tc, TC_WORK_CLIENTS, 0, index, 0);
}

void tc_exec_DRAIN_CLIENTS_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct drain_clients_req *req = SIG_PAYLOAD(sig, drain_clients_req);
    struct tc_clients *clients = &tc->clients;
    jam_data(req->node);
    clients->sender = sig->sender;
    clients->sender_data = req->sender_data;
    clients->node = req->node;
    clients->until_ms = now_ms(block) + req->grace_ms;
    clients->anew = clients->walks;
    if (clients->walks) return;
    clients->walks = true;
    tc_drain_clients_step(tc, 0);
}
