/* tc_outcome.c -- clients that ask what has become of a transaction whose commit was not answered.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whoever answers for the transaction must be sure that nothing more happens to it: the coordinator
 * itself, asked over the client's own link (what was sent before has arrived), when it has no
 * record of it any more; or the TC that has taken over, when that is done. Then the LQHs are asked:
 * if any has committed something of it, it was committed; if none has, and in each node group one
 * node would know, it was not, and never will be. See docs/protocols/client.md.
 */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_outcome.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/api_reg.h"
#include "signals/takeover.h"
#include "values/errors.h"
#include "signals/outcome.h"

#define RECORDS_MAX 1024u

struct tc_outcome {
    struct pool_record pool;
    struct outcome_req req;
    uint32_t answer_to; /* The client, or the TC that has passed it on. */
    uint32_t waiting;   /* OUTCOME_ASK_CONFs to come; 0: own transactions are looked at. */
    uint32_t committed;
    uint32_t gci_hi;
    uint32_t gci_lo;
    struct node_mask sure; /* Nodes that would know. */
};

void tc_outcome_init(struct tc *tc)
{
    pool_init(&tc->outcomes, block_arena(&tc->block), RG_TRANSACTION, sizeof(struct tc_outcome),
              RECORDS_MAX);
}

static void refuse(struct tc *tc, uint32_t to, const struct outcome_req *req, uint32_t error)
{
    struct outcome_ref ref = {.sender_data = req->sender_data,
                              .client_ref = req->client_ref,
                              .transid1 = req->transid1,
                              .transid2 = req->transid2,
                              .error = error};
    jam_data(error);
    sig_send(&tc->block, to, GSN_OUTCOME_REF, PRIO_B, &ref);
}

static void give_up(struct tc *tc, struct tc_outcome *outcome, uint32_t error)
{
    refuse(tc, outcome->answer_to, &outcome->req, error);
    pool_release(&tc->outcomes, outcome);
}

/* --- Who has taken over from whom. --- */

void tc_outcome_lost(struct tc *tc, const struct node_lost_rep *rep)
{
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        uint32_t by = tc->takeover_of[node];
        bool anew = node_mask_has(&rep->nodes, node) || (by != 0 && node_mask_has(&rep->nodes, by));
        if (!anew) continue;
        by = node_mask_next(&rep->alive, node);
        tc->takeover_of[node] = (uint8_t)(by != 0 ? by : node_mask_next(&rep->alive, 0));
    }
    /* An LQH that was asked may be lost; clients ask again. */
    struct tc_outcome *outcome;
    while ((outcome = pool_next(&tc->outcomes, 0)) != NULL)
        give_up(tc, outcome, ERR_NODE_FAILURE);
}

/* This node comes back. Nobody lets it in before all have ended what the failures until then left
 * under way: so it may answer for those that are lost as well as who has taken over. */
void tc_outcome_joined(struct tc *tc, const struct node_mask *alive)
{
    const struct node_config *config = block_config(&tc->block);
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        bool lost = config->node[node].type == NODE_DATA && !node_mask_has(alive, node);
        tc->takeover_of[node] = (uint8_t)(lost && node != tc->own_node ? tc->own_node : 0);
    }
}

void tc_outcome_started(struct tc *tc, const struct node_mask *started)
{
    tc->started = *started;
    for (uint32_t node = node_mask_next(started, 0); node != 0 && node <= DATA_NODE_ID_MAX;
         node = node_mask_next(started, node))
        tc->takeover_of[node] = 0;
}

/* --- The LQHs are asked. --- */

static void ask_one(struct tc *tc, struct tc_outcome *outcome, uint32_t node, uint32_t instance)
{
    struct outcome_ask_req req = {.sender_data = outcome->pool.ref,
                                  .transid1 = outcome->req.transid1,
                                  .transid2 = outcome->req.transid2,
                                  .age_ms = outcome->req.age_ms};
    outcome->waiting++;
    sig_send(&tc->block, block_ref(node, BLOCK_DBLQH, instance), GSN_OUTCOME_ASK_REQ, PRIO_B, &req);
}

/* The first one of each node: it tells how many there are. */
static void ask(struct tc *tc, struct tc_outcome *outcome)
{
    jam();
    for (uint32_t node = node_mask_next(&tc->started, 0); node != 0;
         node = node_mask_next(&tc->started, node)) {
        if (node_mask_has(&tc->fail.lost, node)) continue;
        node_mask_add(&outcome->sure, node);
        ask_one(tc, outcome, node, 1);
    }
    if (outcome->waiting == 0) give_up(tc, outcome, ERR_NODE_FAILURE);
}

/* Is there a node in each node group that would know? */
static bool is_sure(const struct tc *tc, const struct tc_outcome *outcome)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    struct node_mask groups = {{0}}; /* Groups by number + 1. */
    uint32_t count = node_config_groups(block_config(&tc->block), group_of);
    for (uint32_t node = node_mask_next(&outcome->sure, 0); node != 0;
         node = node_mask_next(&outcome->sure, node)) {
        if (group_of[node] != NODEGROUP_NONE) node_mask_add(&groups, group_of[node] + 1u);
    }
    return node_mask_count(&groups) == count;
}

static void decide(struct tc *tc, struct tc_outcome *outcome)
{
    struct outcome_conf conf = {.sender_data = outcome->req.sender_data,
                                .client_ref = outcome->req.client_ref,
                                .transid1 = outcome->req.transid1,
                                .transid2 = outcome->req.transid2,
                                .committed = outcome->committed,
                                .gci_hi = outcome->gci_hi,
                                .gci_lo = outcome->gci_lo};
    if (outcome->committed == 0 && !is_sure(tc, outcome)) {
        give_up(tc, outcome, ERR_CLUSTER_FAILURE);
        return;
    }
    jam_data(outcome->committed);
    sig_send(&tc->block, outcome->answer_to, GSN_OUTCOME_CONF, PRIO_B, &conf);
    pool_release(&tc->outcomes, outcome);
}

void tc_exec_OUTCOME_ASK_CONF(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct outcome_ask_conf *conf = SIG_PAYLOAD(sig, outcome_ask_conf);
    struct tc_outcome *outcome = pool_find(&tc->outcomes, conf->sender_data);
    uint32_t node = ref_node(sig->sender);
    uint32_t instance = ref_instance(sig->sender);
    if (ref_block(sig->sender) != BLOCK_DBLQH || conf->instances > TC_LQHS_MAX) {
        tc_protocol_error(tc, sig->sender, "OUTCOME_ASK_CONF of an impossible sender");
        return;
    }
    if (outcome == NULL || outcome->waiting == 0) {
        jam(); /* A node was lost meanwhile. */
        return;
    }
    outcome->waiting--;
    if (conf->covers == 0) node_mask_remove(&outcome->sure, node);
    if (conf->committed != 0) {
        outcome->committed = 1;
        outcome->gci_hi = conf->gci_hi;
        outcome->gci_lo = conf->gci_lo;
    }
    for (uint32_t i = 2; instance == 1 && i <= conf->instances; i++)
        ask_one(tc, outcome, node, i);
    if (outcome->waiting == 0) decide(tc, outcome);
}

/* --- The request. --- */

/* Is the transaction still under way here? Some records at a time. */
void tc_outcome_step(struct tc *tc, uint32_t ref, uint32_t index)
{
    struct tc_outcome *outcome = pool_find(&tc->outcomes, ref);
    if (outcome == NULL || outcome->waiting != 0) return;
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        const struct tc_trans *trans = pool_next(&tc->transactions, index);
        if (trans == NULL) {
            ask(tc, outcome);
            return;
        }
        index = pool_index(trans->pool.ref);
        if (trans->transid1 == outcome->req.transid1 && trans->transid2 == outcome->req.transid2) {
            give_up(tc, outcome, ERR_NODE_FAILURE);
            return;
        }
    }
    tc_continue(tc, TC_WORK_OUTCOME, ref, index, 0);
}

static uint32_t transid_node(const struct outcome_req *req)
{
    return req->transid2 >> 8 & 0xFFFu; /* Bits 40 to 51, see ndb_transaction_id(). */
}

static struct tc_outcome *record(struct tc *tc, const struct outcome_req *req, uint32_t answer_to)
{
    struct tc_outcome *outcome = pool_seize(&tc->outcomes);
    if (outcome == NULL) {
        refuse(tc, answer_to, req, ERR_NODE_FAILURE);
        return NULL;
    }
    outcome->req = *req;
    outcome->answer_to = answer_to;
    outcome->waiting = 0;
    outcome->committed = 0;
    outcome->gci_hi = outcome->gci_lo = 0;
    outcome->sure = (struct node_mask){{0}};
    return outcome;
}

/* The coordinator is this TC's node: only over the link that the transaction came on. */
static void own_transaction(struct tc *tc, const struct outcome_req *req, uint32_t sender)
{
    bool direct = sender == req->client_ref && transid_node(req) == ref_node(sender);
    if (!direct ||
        block_ref(tc->own_node, BLOCK_DBTC, ref_instance(tc->block.ref)) != req->tc_ref) {
        refuse(tc, sender, req, ERR_NODE_FAILURE);
        return;
    }
    struct tc_outcome *outcome = record(tc, req, sender);
    if (outcome != NULL) tc_outcome_step(tc, outcome->pool.ref, 0);
}

/* This TC has taken over, if anybody has: what it has reported is done. */
static void lost_transaction(struct tc *tc, const struct outcome_req *req, uint32_t sender)
{
    bool done = tc->fail.reported == tc->fail.failure_no;
    if (!done || tc->takeover_of[ref_node(req->tc_ref)] != tc->own_node) {
        refuse(tc, sender, req, ERR_NODE_FAILURE);
        return;
    }
    struct tc_outcome *outcome = record(tc, req, sender);
    if (outcome != NULL) ask(tc, outcome);
}

void tc_exec_OUTCOME_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    struct outcome_req req = *SIG_PAYLOAD(sig, outcome_req);
    uint32_t node = ref_node(req.tc_ref);
    bool passed_on = ref_block(sig->sender) == BLOCK_DBTC;
    if (!passed_on) req.client_ref = sig->sender;
    if (node == 0 || node > DATA_NODE_ID_MAX || ref_block(req.tc_ref) != BLOCK_DBTC ||
        ref_instance(req.tc_ref) == 0 || ref_block(req.client_ref) != BLOCK_API) {
        tc_protocol_error(tc, sig->sender, "OUTCOME_REQ for an impossible coordinator");
        return;
    }
    if (tc->start_level != START_STARTED && !passed_on) {
        refuse(tc, sig->sender, &req, ERR_NODE_FAILURE);
    } else if (node == tc->own_node) {
        own_transaction(tc, &req, sig->sender);
    } else if (node_mask_has(&tc->started, node) && !node_mask_has(&tc->fail.lost, node)) {
        jam(); /* It is there, and the client will find it. */
        refuse(tc, sig->sender, &req, ERR_NODE_FAILURE);
    } else if (passed_on) {
        lost_transaction(tc, &req, sig->sender);
    } else if (tc->takeover_of[node] == 0) {
        refuse(tc, sig->sender, &req, ERR_NODE_FAILURE);
    } else {
        jam();
        uint32_t to = block_ref(tc->takeover_of[node], BLOCK_DBTC, ref_instance(req.tc_ref));
        sig_send(block, to, GSN_OUTCOME_REQ, PRIO_B, &req);
    }
}

/* Passed on to the client, as it was asked. */
static bool is_client(struct tc *tc, uint32_t client_ref, uint32_t sender)
{
    if (ref_block(client_ref) == BLOCK_API) return true;
    tc_protocol_error(tc, sender, "an outcome for what is no client");
    return false;
}

void tc_exec_OUTCOME_CONF(struct block *block, const struct signal *sig)
{
    const struct outcome_conf *conf = SIG_PAYLOAD(sig, outcome_conf);
    jam();
    if (is_client(tc_of(block), conf->client_ref, sig->sender))
        sig_send(block, conf->client_ref, GSN_OUTCOME_CONF, PRIO_B, conf);
}

void tc_exec_OUTCOME_REF(struct block *block, const struct signal *sig)
{
    const struct outcome_ref *ref = SIG_PAYLOAD(sig, outcome_ref);
    jam();
    if (is_client(tc_of(block), ref->client_ref, sig->sender))
        sig_send(block, ref->client_ref, GSN_OUTCOME_REF, PRIO_B, ref);
}
