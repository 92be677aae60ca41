/* operator.c -- an operator starts nodes that have ended: later, with --initial, with --nostart, in
 * any order; and stops them by force. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What must hold is what holds without all that (lives.c, durability.c): the cluster comes back
 * with all that was durable. One thing more may happen: a node that would remove what nobody else
 * has is refused, by name, and then the operator starts it as it is.
 */
#include <string.h>
#include "signals/management.h"
#include "signals/start.h"
#include "tests/sim/failures.h"

enum operator_flag { OPERATOR_INITIAL = 1, OPERATOR_NO_START = 2 };

#define START_LATER_US 400000u /* So long START is waited for. */

void operator_action(struct run *run, const struct sim_event *event)
{
    uint32_t i = (event->arg[0] - run->swarm.id_first) / run->swarm.id_step;
    if (i >= run->swarm.data_nodes || data_node_id(run, i) != event->arg[0]) return;
    run->wishes.next[i] = (struct operator_wish){
        .set = true, .flags = event->arg[1], .hold_us = event->arg[2] * 1000u};
}

/* The node has ended: how much later than by itself it begins again. */
uint64_t operator_hold(const struct run *run, uint32_t i)
{
    return run->wishes.next[i].set ? run->wishes.next[i].hold_us : 0;
}

/* Nobody has to ask again for what was not done: the process that stands by the node does. */
static bool asked_for_still(struct run *run, uint32_t i)
{
    uint32_t code = sim_exit_of(run->world, data_node_id(run, i))->code;
    return !run->wishes.started[i] && (code == EXIT_OTHER_NODE_FAILED ||
                                       code == EXIT_DATA_GIVEN_UP || code == EXIT_COPY_DIFFERS);
}

void operator_begin(struct run *run, uint32_t i)
{
    struct node_config *config = sim_config(run->world, data_node_id(run, i));
    struct operator_wish *next = &run->wishes.next[i];
    uint32_t flags = next->set ? next->flags : asked_for_still(run, i) ? run->wishes.flags[i] : 0;
    run->wishes.flags[i] = flags;
    run->wishes.started[i] = false;
    run->wishes.start_us[i] = (flags & OPERATOR_NO_START) == 0
                                  ? 0
                                  : sim_now_us(run->world) + 1u + next->hold_us + START_LATER_US;
    config->initial_start = (flags & OPERATOR_INITIAL) != 0;
    config->no_start = (flags & OPERATOR_NO_START) != 0;
    *next = (struct operator_wish){.set = false};
}

/* It lives. */
void operator_watch(struct run *run, uint32_t i, bool started)
{
    struct operator_wishes *wishes = &run->wishes;
    uint32_t id = data_node_id(run, i);
    struct start_ord ord = {0};
    if (started) wishes->started[i] = true;
    if (wishes->start_us[i] == 0 || wishes->start_us[i] > sim_now_us(run->world)) return;
    wishes->start_us[i] = 0;
    sig_send(node_block(sim_node(run->world, id), BLOCK_CMVMI, 0), block_ref(id, BLOCK_NDBCNTR, 0),
             GSN_START_ORD, PRIO_A, &ord);
}

/* It would have removed the last copy of something. */
bool operator_refused(struct run *run, uint32_t id, uint32_t code)
{
    uint32_t i = (id - run->swarm.id_first) / run->swarm.id_step;
    if (code != EXIT_DATA_LAST_COPY || !run->durability.down ||
        (run->wishes.flags[i] & OPERATOR_INITIAL) == 0)
        return false;
    if (run->failures.figures != NULL)
        __atomic_fetch_add(&run->failures.figures->refused, 1, __ATOMIC_RELAXED);
    return true;
}

/* --- What is drawn. --- */

static uint32_t between(struct rng *rng, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(rng, most - least + 1u);
}

void operator_draw_swarm(struct swarm *swarm)
{
    static const uint32_t partial_ms[] = {0, 100, 400, 30000};
    struct rng rng;
    rng_seed(&rng, swarm->seed ^ 0x6F70657261746F72u);
    swarm->operated = true;
    swarm->orderly = false;
    swarm->faults = FAULT_NODE_KILL;
    swarm->jobs = between(&rng, 30, 120);
    swarm->config.start_partial_timeout_ms =
        partial_ms[rng_below(&rng, sizeof partial_ms / sizeof partial_ms[0])];
}

static void draw_event(struct sim_plan *plan, uint64_t at, enum sim_action action, uint32_t a,
                       uint32_t b, uint32_t c)
{
    struct sim_event *event = sim_plan_at(plan, at, action);
    if (event == NULL) return;
    event->arg[0] = a;
    event->arg[1] = b;
    event->arg[2] = c;
}

static uint32_t draw_flags(struct rng *rng)
{
    uint32_t flags = rng_chance(rng, 1, 2) ? OPERATOR_INITIAL : 0;
    return rng_chance(rng, 1, 4) ? flags | OPERATOR_NO_START : flags;
}

/* Some of each node group stay away while the others go on. */
static void draw_absence(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                         uint64_t at)
{
    static const enum sim_action ends[] = {SIM_KILL, SIM_KILL, SIM_LEAVE, SIM_FORCE};
    for (uint32_t group = 0; group < swarm->data_nodes; group += swarm->replicas) {
        uint32_t count = (uint32_t)rng_below(rng, swarm->replicas);
        uint32_t first = (uint32_t)rng_below(rng, swarm->replicas);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t id =
                swarm->id_first + swarm->id_step * (group + (first + i) % swarm->replicas);
            uint64_t when = at + rng_below(rng, 300000);
            draw_event(plan, when, SIM_OPTIONS, id, draw_flags(rng), between(rng, 0, 2500));
            draw_event(plan, when + 1, ends[rng_below(rng, sizeof ends / sizeof ends[0])], id, 0,
                       0);
        }
    }
}

static void draw_loss_of_all(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                             uint64_t at)
{
    for (uint32_t i = 0; i < swarm->data_nodes; i++) {
        if (rng_chance(rng, 1, 3)) continue;
        draw_event(plan, at, SIM_OPTIONS, swarm->id_first + swarm->id_step * i, draw_flags(rng),
                   between(rng, 0, 800));
    }
    draw_event(plan, at + 1, rng_chance(rng, 1, 2) ? SIM_POWER : SIM_HALT, 0, between(rng, 0, 500),
               0);
}

void operator_draw_plan(struct sim_plan *plan, const struct swarm *swarm)
{
    struct rng rng;
    rng_seed(&rng, swarm->seed ^ 0x6F7074696F6E73u);
    uint32_t episodes = between(&rng, 2, 4);
    uint64_t at = 200000;
    plan->count = 0;
    for (uint32_t i = 0; i < episodes; i++) {
        draw_absence(plan, swarm, &rng, at);
        at += between(&rng, 300000, 1200000);
        if (rng_chance(&rng, 4, 5)) draw_loss_of_all(plan, swarm, &rng, at);
        if (rng_chance(&rng, 1, 3)) {
            at += rng_below(&rng, 1500000);
            draw_loss_of_all(plan, swarm, &rng, at);
        }
        at += between(&rng, 1500000, 4000000);
    }
}
