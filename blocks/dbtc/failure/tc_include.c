/* tc_include.c -- a lost node comes back: it is the last replica of its fragments from now on, and
 * the LQHs are told when nothing without it is sent any more. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's place is behind all others, so all TCs send to the replicas in the same order however
 * often nodes come and go. While a node is lost its place means nothing. See
 * docs/protocols/node_restart.md.
 */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_include.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_outcome.h"
#include "blocks/dbtc/schema/tc_order.h"
#include "signals/rejoin.h"
#include "signals/takeover.h"

void tc_include_absent(struct tc *tc, uint32_t node)
{
    if (node == 0 || node == tc->own_node || node_mask_has(&tc->fail.alive, node)) return;
    jam_data(node);
    node_mask_add(&tc->fail.lost, node);
    tc->fail.any = true;
}

/* Tells all LQHs of the others: how many a node has is not known, so all keys are used. */
static void tell_lqhs(struct tc *tc, uint32_t back)
{
    struct lqh_include_rep rep = {.node = back,
                                  .rank = tc->fail.ended[back].rank,
                                  .failure_no = tc->fail.ended[back].back_no,
                                  .instances = block_instances(&tc->block, BLOCK_DBTC)};
    const struct node_mask *alive = &tc->fail.alive;
    for (uint32_t node = node_mask_next(alive, 0); node != 0; node = node_mask_next(alive, node)) {
        if (node == back) continue;
        for (uint32_t key = 1; key <= TC_LQHS_MAX; key++)
            sig_send(&tc->block, block_ref(node, BLOCK_DBLQH, key), GSN_LQH_INCLUDE_REP, PRIO_B,
                     &rep);
    }
}

/*
 * An operation that has lost P's former life is broken until it has ended: then P is not lost any
 * more. Requests are not collected like COMMIT and COMPLETE: all without P have been sent. What P's
 * LQHs have said of a loss stays, it may be the next one; of a former life it is older than that.
 */
static void take_in(struct tc *tc, uint32_t node)
{
    struct tc_fail *fail = &tc->fail;
    jam_data(node);
    node_mask_remove(&fail->lost, node);
    node_mask_add(&fail->alive, node);
    fail->any = !node_mask_empty(&fail->lost);
    tell_lqhs(tc, node);
}

void tc_include_try(struct tc *tc)
{
    struct tc_include *include = &tc->include;
    if (tc->fail.reported != tc->fail.failure_no) return;
    for (uint32_t node = node_mask_next(&include->nodes, 0); node != 0;
         node = node_mask_next(&include->nodes, node))
        take_in(tc, node);
    memset(&include->nodes, 0, sizeof(include->nodes));
}

void tc_include_lost(struct tc *tc, const struct node_lost_rep *rep)
{
    for (uint32_t node = node_mask_next(&rep->nodes, 0); node != 0 && node <= DATA_NODE_ID_MAX;
         node = node_mask_next(&rep->nodes, node)) {
        tc->fail.ended[node].lost_no = rep->failure_no;
        tc_place_set(tc, node, 0);
    }
    node_mask_cut(&tc->include.nodes, &rep->nodes);
}

void tc_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct node_include_rep *rep = SIG_PAYLOAD(sig, node_include_rep);
    ndbrequire(rep->node != 0 && rep->node <= DATA_NODE_ID_MAX);
    struct tc_lost_life *life = &tc->fail.ended[rep->node];
    if (rep->node == tc->own_node || life->lost_no > rep->failure_no || life->rank >= rep->rank) {
        jam(); /* It is P itself, or was lost again before this came. */
        return;
    }
    jam_data(rep->rank);
    life->rank = rep->rank;
    life->back_no = rep->failure_no;
    /* Nobody was lost so far: those that are here. */
    if (tc->fail.failure_no == 0) tc->fail.alive = rep->alive;
    node_mask_cut(&tc->fail.alive, &tc->include.nodes);
    node_mask_remove(&tc->fail.alive, rep->node);
    tc_place_set(tc, rep->node, rep->rank);
    tc_include_absent(tc, rep->node); /* It stays absent until all failures have been dealt with. */
    node_mask_add(&tc->include.nodes, rep->node);
    tc_include_try(tc);
}

/* This is P. It begins to coordinate when it is started; until then it learns who is who. */
void tc_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    struct tc_fail *fail = &tc->fail;
    const struct node_include_req *req = SIG_PAYLOAD(sig, node_include_req);
    const struct node_config *config = block_config(block);
    ndbrequire(req->node == tc->own_node && tc->transactions.in_use == 0);
    jam_data(req->rank);
    for (uint32_t i = 0; i + 2 <= sig->section[0].size; i += 2) {
        uint32_t node = sig->section[0].words[i];
        if (node <= DATA_NODE_ID_MAX) fail->ended[node].rank = sig->section[0].words[i + 1];
        if (node <= DATA_NODE_ID_MAX) tc_place_set(tc, node, sig->section[0].words[i + 1]);
    }
    for (uint32_t i = 0; sig->section_count > 1 && i + 2 <= sig->section[1].size; i += 2) {
        uint32_t node = sig->section[1].words[i];
        if (node <= DATA_NODE_ID_MAX) tc_place_set(tc, node, sig->section[1].words[i + 1]);
    }
    fail->ended[req->node].rank = req->rank;
    tc_place_set(tc, req->node, req->rank);
    fail->failure_no = fail->reported = req->failure_no;
    fail->resolving = true;
    fail->alive = req->alive;
    node_mask_add(&fail->alive, req->node);
    /* Who came back since the tables were made stood in them as absent. */
    node_mask_cut(&fail->lost, &fail->alive);
    fail->any = !node_mask_empty(&fail->lost);
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (config->node[node].type == NODE_DATA) tc_include_absent(tc, node);
    }
    tc->takeover.failure_no = req->failure_no;
    tc_outcome_joined(tc, &fail->alive);
    struct node_include_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_NODE_INCLUDE_CONF, PRIO_B, &conf);
}
