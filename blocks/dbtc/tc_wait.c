/* tc_wait.c -- clients that wait for an epoch to become durable, whoever committed in it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One record per request, in no list: whenever something has changed (a durable GCI, a new epoch, a
 * client that is gone) one walk over all of them decides about each, and what changes meanwhile
 * lets another walk follow.
 */
#include "blocks/dbtc/tc_state.h"

/*
 * An epoch has not begun when this TC has it neither as its own nor can have it as the next: while
 * commits are held back, nodes that are told earlier already commit in the epoch after this one.
 */
static bool in_future(const struct tc *tc, uint32_t gci_hi, uint32_t gci_lo)
{
    if (tc->epoch.hold) return gci_hi > tc->epoch_hi && gci_hi - tc->epoch_hi > 1;
    return gci_hi > tc->epoch_hi || (gci_hi == tc->epoch_hi && gci_lo > tc->epoch_lo);
}

static void answer(struct tc *tc, uint32_t client, uint32_t sender_data, uint32_t error)
{
    struct wait_durable_conf conf = {.sender_data = sender_data, .durable_gci = tc->epoch.durable};
    struct wait_durable_ref ref = {.sender_data = sender_data, .error = error};
    jam_data(error);
    if (error == 0)
        sig_send(&tc->block, client, GSN_WAIT_DURABLE_CONF, PRIO_B, &conf);
    else
        sig_send(&tc->block, client, GSN_WAIT_DURABLE_REF, PRIO_B, &ref);
}

static uint32_t refuse(const struct tc *tc, const struct wait_durable_req *req, uint32_t node)
{
    uint32_t error = tc_durable_error(tc);
    if (error == 0 && tc->start_level != START_SINGLEUSER) error = tc_refuse_new(tc);
    if (error == 0 && tc->api_fail[node].sender != 0) error = ERR_CLUSTER_UNAVAILABLE;
    if (error == 0 && in_future(tc, req->gci_hi, req->gci_lo)) error = ERR_EPOCH_IN_FUTURE;
    return error;
}

void tc_exec_WAIT_DURABLE_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct wait_durable_req *req = SIG_PAYLOAD(sig, wait_durable_req);
    uint32_t node = ref_node(sig->sender);
    uint32_t error = refuse(tc, req, node);

    if (error != 0 || req->gci_hi <= tc->epoch.durable) {
        answer(tc, sig->sender, req->sender_data, error);
        return;
    }
    struct tc_wait *wait = pool_seize(&tc->waits);
    if (wait == NULL) {
        answer(tc, sig->sender, req->sender_data, ERR_TC_RESOURCE_217);
        return;
    }
    jam();
    wait->owner = sig->sender;
    wait->sender_data = req->sender_data;
    wait->gci = req->gci_hi;
    tc->waits_of[node]++;
    if (wait->gci <= tc->epoch_hi) tc_durable_force(tc, wait->gci);
}

static void end_wait(struct tc *tc, struct tc_wait *wait, uint32_t error)
{
    uint32_t node = ref_node(wait->owner);
    if (tc->api_fail[node].sender == 0) answer(tc, wait->owner, wait->sender_data, error);
    ndbrequire(tc->waits_of[node] > 0);
    tc->waits_of[node]--;
    pool_release(&tc->waits, wait);
    tc_api_fail_check(tc, node);
}

static void look_at(struct tc *tc, struct tc_wait *wait)
{
    if (tc->api_fail[ref_node(wait->owner)].sender != 0 || wait->gci <= tc->epoch.durable) {
        jam();
        end_wait(tc, wait, 0);
    } else if (in_future(tc, wait->gci, 0)) {
        jam(); /* Commits were held back when it was asked for, but for another epoch. */
        end_wait(tc, wait, ERR_EPOCH_IN_FUTURE);
    } else if (wait->gci <= tc->epoch_hi) {
        jam();
        tc_durable_force(tc, wait->gci);
    }
}

void tc_wait_walk(struct tc *tc)
{
    if (tc->waits.in_use == 0) return;
    if (tc->wait_walks) {
        jam();
        tc->wait_again = true;
        return;
    }
    tc->wait_walks = true;
    tc_wait_step(tc, 0);
}

void tc_wait_step(struct tc *tc, uint32_t index)
{
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_wait *wait = pool_next(&tc->waits, index);
        if (wait == NULL && !tc->wait_again) {
            jam();
            tc->wait_walks = false;
            return;
        }
        if (wait == NULL) {
            jam();
            tc->wait_again = false;
            index = 0;
            break;
        }
        index = pool_index(wait->pool.ref);
        look_at(tc, wait);
    }
    tc_continue(tc, TC_WORK_WAIT, REF_NONE, index, 0);
}
