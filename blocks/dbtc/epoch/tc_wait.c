/* tc_wait.c -- clients that wait for an epoch to become durable, whoever committed in it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * There is one record per request, in no list: whenever something has changed (a durable GCI, a new
 * epoch, a client that is gone) one walk over all of them decides about each, and what changes
 * meanwhile lets another walk follow. Only epochs of the running cluster are waited for; what
 * became of those of its former lives is known.
 */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/epoch/tc_epoch.h"
#include "blocks/dbtc/epoch/tc_wait.h"
#include "blocks/dbtc/failure/tc_apifail.h"
#include "signals/api_reg.h"
#include "signals/durable.h"
#include "signals/gcp.h"
#include "values/errors.h"

/*
 * An epoch has not begun when this TC has it neither as its own nor can have it as the next: while
 * commits are held back, nodes that are told earlier already commit in the epoch after this one.
 */
static bool in_future(const struct tc *tc, uint32_t gci_hi, uint32_t gci_lo)
{
    if (tc->epoch.hold) return gci_hi > tc->epoch_hi && gci_hi - tc->epoch_hi > 1;
    return gci_hi > tc->epoch_hi || (gci_hi == tc->epoch_hi && gci_lo > tc->epoch_lo);
}

static bool of_former_life(const struct tc *tc, uint32_t gci_lo)
{
    return epoch_life(gci_lo) != epoch_life(tc->epoch_lo);
}

/*
 * The error for an epoch of a former life; 0: it is among what the start has restored. Epochs name
 * 16 bits of their life, so the one meant is the last before the present one that has them.
 */
static uint32_t former_error(const struct tc *tc, uint32_t gci_hi, uint32_t gci_lo)
{
    const struct tc_ended *ended = tc->epoch.ended;
    uint32_t count = tc->epoch.ended_count;
    uint32_t life = epoch_life(gci_lo);
    uint32_t behind = (epoch_life(tc->epoch_lo) - life) & EPOCH_NUMBER_MAX;
    jam_data(life);
    if (count == 0)
        return life < epoch_life(tc->epoch_lo) ? ERR_EPOCH_FORGOTTEN : ERR_EPOCH_IN_FUTURE;
    uint32_t newest = ended[count - 1u].incarnation;
    uint32_t now = newest + ((epoch_life(tc->epoch_lo) - newest) & EPOCH_NUMBER_MAX);
    if (behind >= now) return ERR_EPOCH_IN_FUTURE; /* There was no such life before. */
    uint32_t at = 0;
    while (at + 1u < count && ended[at].incarnation < now - behind)
        at++;
    if (gci_hi > ended[at].gci) return ERR_EPOCH_LOST;
    /* An entry stands for all behind the one before it; before the oldest one some may have been
     * dropped, which ended earlier. */
    bool dropped = at == 0 && count == TC_ENDED_MAX && ended[0].incarnation != now - behind;
    return dropped ? ERR_EPOCH_FORGOTTEN : 0;
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

/* Does it wait for all that is committed by now? Other nodes are at most one epoch ahead. */
static bool is_all(const struct tc *tc, const struct wait_durable_req *req, uint32_t node)
{
    return req->gci_hi == DURABLE_ALL && node == tc->own_node;
}

static uint32_t refuse(const struct tc *tc, const struct wait_durable_req *req, uint32_t node)
{
    uint32_t error = tc_durable_error(tc);
    /* What this node asks for all belongs to a change of the schema, whose end a stop waits for. */
    bool all = is_all(tc, req, node);
    bool open = tc->start_level == START_STARTED || (all && tc->start_level > START_STARTED);
    if (error == 0 && !open) error = tc_refuse_new(tc, 0);
    if (error == 0 && tc->api_fail[node].sender != 0) error = ERR_CLUSTER_UNAVAILABLE;
    if (error != 0 || all) return error;
    if (of_former_life(tc, req->gci_lo)) return former_error(tc, req->gci_hi, req->gci_lo);
    return in_future(tc, req->gci_hi, req->gci_lo) ? ERR_EPOCH_IN_FUTURE : 0;
}

void tc_exec_WAIT_DURABLE_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct wait_durable_req *req = SIG_PAYLOAD(sig, wait_durable_req);
    uint32_t node = ref_node(sig->sender);
    uint32_t error = refuse(tc, req, node);
    bool all = is_all(tc, req, node);

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
    wait->gci = all ? tc->epoch_hi + 1u : req->gci_hi;
    wait->all = all;
    tc->waits_of[node]++;
    if (all) tc_durable_force(tc, tc->epoch_hi); /* Then the next one begins. */
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
    } else if (!wait->all && in_future(tc, wait->gci, 0)) {
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
