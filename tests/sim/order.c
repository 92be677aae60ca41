/* order.c -- the order of replicas: nodes are reported slow and well again, nothing is under way
 * when an order is decided, and in the end all have that of the distribution. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dbtc/tc_state.h"
#include "blocks/ndbcntr/cntr_state.h"
#include "blocks/qmgr/qmgr_state.h"
#include "tests/sim/failures.h"

static struct cntr *cntr_at(struct run *run, uint32_t index)
{
    struct node *node = sim_node(run->world, data_node_id(run, index));
    return node == NULL ? NULL : cntr_of(node_block(node, BLOCK_NDBCNTR, 0));
}

static bool is_started(const struct cntr *cntr)
{
    return cntr != NULL && cntr->level == START_STARTED;
}

#define SAY_US 5000u

/* --- Reports besides those of QMGR, which finds only nodes that are slow for seconds. --- */

void order_action(struct run *run, const struct sim_event *event)
{
    if (event->arg[1] != 0)
        node_mask_add(&run->order.slow, event->arg[0]);
    else
        node_mask_remove(&run->order.slow, event->arg[0]);
}

/* Each president hears of all that it does not know; at the end all are well. */
void order_watch(struct run *run)
{
    if (run->stop) run->order.slow = (struct node_mask){{0}};
    if (sim_now_us(run->world) < run->order.next_us) return; /* A president may hang for long. */
    run->order.next_us = sim_now_us(run->world) + SAY_US;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        struct cntr *cntr = cntr_at(run, i);
        uint32_t own = data_node_id(run, i);
        if (!is_started(cntr) || cntr->president != own) continue;
        struct qmgr *qmgr = qmgr_of(node_block(sim_node(run->world, own), BLOCK_QMGR, 0));
        for (uint32_t k = 0; k < run->swarm.data_nodes; k++) {
            uint32_t id = data_node_id(run, k);
            bool slow = node_mask_has(&run->order.slow, id) || node_mask_has(&qmgr->pace.aside, id);
            if (!node_mask_has(&cntr->started, id)) continue;
            if (slow == node_mask_has(&cntr->order.slow, id)) continue;
            struct node_pace_rep rep = {.node = id, .slow = slow};
            sig_send(&qmgr->block, block_ref(own, BLOCK_NDBCNTR, 0), GSN_NODE_PACE_REP, PRIO_A,
                     &rep);
        }
    }
}

/* --- Nothing is under way while a new order is decided. --- */

static void check_empty(struct run *run, uint32_t index)
{
    uint32_t id = data_node_id(run, index);
    struct node *node = sim_node(run->world, id);
    for (uint32_t i = 1; i <= run->swarm.tc; i++) {
        const struct tc *tc = (const struct tc *)(const void *)node_block(node, BLOCK_DBTC, i);
        if (tc->transactions.in_use + tc->scans.in_use == 0) continue;
        run_fail(run, SIM_CORRECTNESS, "an order is decided, TC %u of node %u has %u transactions",
                 i, id, tc->transactions.in_use);
    }
    for (uint32_t i = 1; i <= ldm_of(run, index); i++) {
        struct lqh_usage usage;
        lqh_usage_get(node_block(node, BLOCK_DBLQH, i), &usage);
        if (usage.operations == 0) continue;
        run_fail(run, SIM_CORRECTNESS, "an order is decided, LQH %u of node %u has %u operations",
                 i, id, usage.operations);
    }
}

static void check_decision(struct run *run, const struct order_no *no)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        const struct cntr *cntr = cntr_at(run, i);
        if (!is_started(cntr)) continue;
        if (cntr->order.state == ORDER_IDLE || cntr->order.no.failure_no != no->failure_no ||
            cntr->order.no.count != no->count)
            return; /* Some go on already, or leave. */
    }
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (is_started(cntr_at(run, i))) check_empty(run, i);
    }
}

void order_observe(struct run *run, const uint32_t *words)
{
    struct failure_figures *figures = run->failures.figures;
    uint32_t gsn = kind_gsn(words[0]);
    if (gsn == GSN_ORDER_DECIDE_REQ && !run->durability.down)
        check_decision(run, (const struct order_no *)(const void *)(words + SIGNAL_HEAD_WORDS));
    if (figures == NULL || ref_node(words[1]) != ref_node(words[2])) return;
    if (gsn == GSN_ORDER_RELEASE_ORD) __atomic_fetch_add(&figures->orders, 1, __ATOMIC_RELAXED);
    if (gsn == GSN_ORDER_ABORT_ORD)
        __atomic_fetch_add(&figures->orders_given_up, 1, __ATOMIC_RELAXED);
}

/* --- In the end. --- */

/* In a group that is whole all have the order of the distribution. In another one those that came
 * back before somebody was lost stay behind the rest: then all nodes have to say the same. */
static bool place_good(struct run *run, const struct cntr *cntr, uint32_t node, uint32_t place)
{
    const struct node_config *config = &run->swarm.config;
    bool whole = true;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        bool same = config->node[id].nodegroup == config->node[node].nodegroup;
        whole = whole && (!same || node_mask_has(&cntr->started, id));
    }
    if (whole || !node_mask_has(&cntr->started, node)) return place == 0;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        const struct cntr *other = cntr_at(run, i);
        if (is_started(other)) return place != PLACE_SLOW && place == other->order.place[node];
    }
    return false;
}

/* Fills `text` with what is not as it shall be. */
static bool settled(struct run *run, char *text, uint32_t size)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        const struct cntr *cntr = cntr_at(run, i);
        uint32_t id = data_node_id(run, i);
        if (!is_started(cntr)) continue;
        for (uint32_t k = 0; k < run->swarm.data_nodes; k++) {
            uint32_t node = data_node_id(run, k);
            uint32_t place = cntr->order.place[node];
            bool good = place_good(run, cntr, node, place);
            for (uint32_t t = 1; t <= run->swarm.tc; t++) {
                const struct tc *tc = (const struct tc *)(const void *)node_block(
                    sim_node(run->world, id), BLOCK_DBTC, t);
                good = good && tc->fail.ended[node].place == place;
                if (!tc->order.on) continue;
                snprintf(text, size, "node %u TC %u holds requests", id, t);
                return false;
            }
            if (good) continue;
            snprintf(text, size, "node %u has place %u at node %u", node, place, id);
            return false;
        }
        if (cntr->order.state != ORDER_IDLE || cntr->order.master != ORDER_MASTER_IDLE) {
            snprintf(text, size, "node %u: a change is under way", id);
            return false;
        }
    }
    return true;
}

bool order_settled(void *context)
{
    char text[100];
    return settled(context, text, sizeof text);
}

void order_check(struct run *run)
{
    char text[100];
    if (!settled(run, text, sizeof text))
        run_fail(run, SIM_LIVENESS, "the order of replicas is not that of the distribution: %s",
                 text);
}

/* --- What is drawn. --- */

void order_draw(struct sim_plan *plan, const struct swarm *swarm, uint64_t span_us)
{
    static const uint32_t places[] = {
        GSN_ORDER_PREPARE_REQ, GSN_ORDER_PREPARE_CONF, GSN_ORDER_HOLD_REQ,    GSN_ORDER_HOLD_CONF,
        GSN_ORDER_DECIDE_REQ,  GSN_ORDER_DECIDE_CONF,  GSN_ORDER_RELEASE_ORD, GSN_ORDER_STATE_CONF};
    struct rng rng;
    uint64_t at = 0;
    rng_seed(&rng, swarm->seed * 2u + 0x0D0E0000u);
    if (!rng_chance(&rng, 1, 2)) return;
    for (uint32_t i = 0; i < 12 && plan->count < SIM_EVENTS_MAX - 4u; i++) {
        uint32_t index = (uint32_t)rng_below(&rng, swarm->data_nodes);
        uint32_t id = swarm->id_first + swarm->id_step * index;
        at += 1u + rng_below(&rng, span_us / 6u + 1u);
        struct sim_event *slow = sim_plan_at(plan, at, SIM_PACE);
        slow->arg[0] = id;
        slow->arg[1] = 1;
        uint32_t length = 14u + (uint32_t)rng_below(&rng, 9);
        struct sim_event *well = sim_plan_at(plan, at + rng_below(&rng, 1u << length), SIM_PACE);
        well->arg[0] = id;
        if ((swarm->faults & FAULT_NODE_KILL) == 0 || !rng_chance(&rng, 1, 3)) continue;
        struct sim_event *kill = sim_plan_at(plan, 0, SIM_KILL);
        index = (uint32_t)rng_below(&rng, swarm->data_nodes);
        kill->arg[0] = swarm->id_first + swarm->id_step * index;
        kill->gsn = places[rng_below(&rng, sizeof places / sizeof places[0])];
        index = (uint32_t)rng_below(&rng, swarm->data_nodes);
        kill->node = swarm->id_first + swarm->id_step * index;
        kill->nth = 1u + (uint32_t)rng_below(&rng, 6);
    }
}
