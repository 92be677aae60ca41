/* single.c -- single user mode: the operator's orders, and that nobody else commits meanwhile. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdict/dict_state.h"
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/ndbcntr/cntr_state.h"
#include "signals/management.h"
#include "tests/sim/failures.h"

#define AGAIN_US 200000u /* An order that a lost president took along is given again. */

static struct cntr *cntr_at(struct run *run, uint32_t index)
{
    struct node *node = sim_node(run->world, data_node_id(run, index));
    return node == NULL ? NULL : cntr_of(node_block(node, BLOCK_NDBCNTR, 0));
}

static bool newer(const struct cntr_single *a, const struct single_mode *b)
{
    if (a->failure_no != b->failure_no) return a->failure_no > b->failure_no;
    return a->count > b->count;
}

static void note(struct run *run, const struct cntr_single *single)
{
    run->single.failure_no = single->failure_no;
    run->single.count = single->count;
}

/* To the node that leads, if there is one. */
static bool order(struct run *run, uint32_t client)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        struct cntr *cntr = cntr_at(run, i);
        uint32_t id = data_node_id(run, i);
        if (cntr == NULL || cntr->level != START_STARTED || cntr->president != id) continue;
        struct single_user_req req = {.node = client};
        struct block *cmvmi = node_block(sim_node(run->world, id), BLOCK_CMVMI, 0);
        sig_send(cmvmi, block_ref(id, BLOCK_NDBCNTR, 0), GSN_SINGLE_USER_REQ, PRIO_A, &req);
        return true;
    }
    return false;
}

void single_action(struct run *run, const struct sim_event *event)
{
    if (run->durability.down || run->durability.verifying || run->stop) return;
    if (event->arg[0] == 0) {
        run->single.node = 0; /* From now on all may. What is known so far is over. */
        for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
            const struct cntr *cntr = cntr_at(run, i);
            if (cntr != NULL && newer(&cntr->single, &run->single)) note(run, &cntr->single);
        }
    }
    (void)order(run, event->arg[0]);
}

/* At the end all may work, and whoever was lost comes back. */
void single_watch(struct run *run)
{
    uint64_t now = sim_now_us(run->world);
    if (!run->stop || now < run->single.again_us) return;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        const struct cntr *cntr = cntr_at(run, i);
        if (cntr == NULL || cntr->single.node == 0) continue;
        run->single.node = 0;
        note(run, &cntr->single);
        run->single.again_us = now + AGAIN_US;
        (void)order(run, 0);
        return;
    }
}

/* --- The check: U1 of docs/protocols/single_user.md. --- */

static void check_tc(struct run *run, uint32_t id, const struct tc *tc)
{
    uint32_t index = 0;
    for (const struct tc_connect *connect; (connect = pool_next(&tc->connects, index)) != NULL;) {
        index = pool_index(connect->pool.ref);
        if (ref_node(connect->owner) == run->single.node || connect->trans == REF_NONE) continue;
        if (ref_block(connect->owner) == BLOCK_TRIX) continue; /* For that client's schema. */
        const struct tc_trans *trans = pool_find(&tc->transactions, connect->trans);
        if (trans == NULL || trans->state == TRANS_ABORTING) continue;
        run_fail(run, SIM_CORRECTNESS,
                 "single user mode for node %u: a transaction of node %u is in state %u at node %u",
                 run->single.node, ref_node(connect->owner), trans->state, id);
        return;
    }
}

static void check_node(struct run *run, uint32_t id)
{
    struct node *node = sim_node(run->world, id);
    if (node == NULL) return;
    for (uint32_t i = 1; i <= run->swarm.tc; i++)
        check_tc(run, id, (const struct tc *)(const void *)node_block(node, BLOCK_DBTC, i));
    const struct dict *dict = (const struct dict *)(const void *)node_block(node, BLOCK_DBDICT, 0);
    uint32_t client = dict->master.client_ref;
    if (dict->master.state != MASTER_IDLE && client != 0 && ref_node(client) != run->single.node &&
        ref_node(client) >= CLIENT_NODE)
        run_fail(run, SIM_CORRECTNESS,
                 "single user mode for node %u: node %u changes the schema, at node %u",
                 run->single.node, ref_node(client), id);
}

/* A node that says it is on, and knows of the most failures. */
static const struct cntr *witness(struct run *run)
{
    const struct cntr *best = NULL;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        const struct cntr *cntr = cntr_at(run, i);
        if (cntr == NULL || cntr->level != START_STARTED || !cntr_single_on(cntr)) continue;
        if (run->failures.doomed_until[i] > sim_now_us(run->world)) continue;
        bool same = cntr->single.failure_no == run->single.failure_no &&
                    cntr->single.count == run->single.count && run->single.node != 0;
        if (!same && !newer(&cntr->single, &run->single)) continue;
        if (best == NULL || cntr->rejoin.failure_no > best->rejoin.failure_no) best = cntr;
    }
    return best;
}

/* Before each executed signal that could begin, or end, something. */
void single_observe(struct run *run, const uint32_t *words)
{
    uint32_t gsn = kind_gsn(words[0]);
    if ((run->swarm.faults & FAULT_SINGLE) == 0 || run->durability.down) return;
    if (gsn != GSN_TCKEYREQ && gsn != GSN_LQHKEYCONF && gsn != GSN_COMMITTED &&
        gsn != GSN_CREATE_TABLE_REQ && gsn != GSN_CNTR_SINGLE_REP)
        return;
    const struct cntr *cntr = witness(run);
    if (cntr == NULL) return;
    if (newer(&cntr->single, &run->single) && run->failures.figures != NULL)
        __atomic_fetch_add(&run->failures.figures->singles, 1, __ATOMIC_RELAXED);
    note(run, &cntr->single);
    run->single.node = cntr->single.node;
    for (uint32_t id = node_mask_next(&cntr->started, 0); id != 0;
         id = node_mask_next(&cntr->started, id))
        check_node(run, id);
}

/* --- What is drawn. --- */

/* Somebody is lost while the mode is entered or left. */
static void draw_loss(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng)
{
    static const uint32_t places[] = {GSN_CNTR_SINGLE_REP, GSN_DRAIN_CLIENTS_REQ,
                                      GSN_DRAIN_CLIENTS_CONF, GSN_SINGLE_USER_REQ};
    struct sim_event *kill = sim_plan_at(plan, 0, SIM_KILL);
    kill->arg[0] = swarm->id_first + swarm->id_step * (uint32_t)rng_below(rng, swarm->data_nodes);
    kill->gsn = places[rng_below(rng, sizeof places / sizeof places[0])];
    kill->node = swarm->id_first + swarm->id_step * (uint32_t)rng_below(rng, swarm->data_nodes);
    kill->nth = 1u + (uint32_t)rng_below(rng, 8);
}

void single_draw(struct sim_plan *plan, const struct swarm *swarm, uint64_t span_us)
{
    struct rng rng;
    uint64_t at = 0;
    rng_seed(&rng, swarm->seed * 2u + 0x51E60000u);
    for (uint32_t i = 0; i < 12 && plan->count < SIM_EVENTS_MAX - 4u; i++) {
        at += 1u + rng_below(&rng, span_us / 8u + 1u);
        struct sim_event *enter = sim_plan_at(plan, at, SIM_SINGLE);
        enter->arg[0] = CLIENT_NODE + (uint32_t)rng_below(&rng, swarm->clients);
        at += 1u + rng_below(&rng, 1u << (10u + rng_below(&rng, 11)));
        (void)sim_plan_at(plan, at, SIM_SINGLE);
        if (rng_chance(&rng, 1, 3)) draw_loss(plan, swarm, &rng);
    }
}
