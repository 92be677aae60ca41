/* pace.c -- slow nodes and slow links: what is drawn, and whether the nodes find it out. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "blocks/qmgr/qmgr_state.h"
#include "tests/sim/failures.h"

#define SECOND_US 1000000u
/* A node that is FOUND_TIMES slower has to be found within FOUND_US. */
#define FOUND_TIMES 100u /* With 50 it is about as late as the least that counts. */
#define FOUND_US    (5u * SECOND_US)
#define AFTER_US    (3u * SECOND_US) /* What was measured before counts so long. */

static struct failure_figures *figures_of(struct run *run)
{
    static struct failure_figures none;
    return run->failures.figures != NULL ? run->failures.figures : &none;
}

static void count(uint64_t *figure)
{
    __atomic_fetch_add(figure, 1, __ATOMIC_RELAXED);
}

static uint32_t index_of(const struct run *run, uint32_t id)
{
    return (id - run->swarm.id_first) / run->swarm.id_step;
}

static uint32_t between(struct rng *rng, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(rng, most - least + 1u);
}

static const struct qmgr *qmgr_of_node(struct run *run, uint32_t id)
{
    struct node *node = sim_node(run->world, id);
    return node == NULL ? NULL : (const struct qmgr *)(const void *)node_block(node, BLOCK_QMGR, 0);
}

/* --- What happens. --- */

/* Others do not go on as usual for so long: nothing is demanded meanwhile. */
void pace_disturbed(struct run *run, uint64_t for_us)
{
    uint64_t until = sim_now_us(run->world) + for_us + AFTER_US;
    if (until > run->pace.disturbed_until) run->pace.disturbed_until = until;
}

/* The node may be found slow, and rightly. */
void pace_blame(struct run *run, uint32_t id, uint64_t for_us)
{
    uint64_t until = sim_now_us(run->world) + for_us + AFTER_US;
    uint64_t *blamed = &run->pace.blamed_until[index_of(run, id)];
    if (until > *blamed) *blamed = until;
}

/* One at a time, and not one that comes or goes. */
bool pace_slow_node(struct run *run, const struct sim_event *event)
{
    struct pace_watch *pace = &run->pace;
    uint64_t now = sim_now_us(run->world);
    uint64_t for_us = (uint64_t)event->arg[2] * 1000u;
    if (!failures_started(run, event->arg[0]) || pace->until_us > now) return false;
    pace->node = event->arg[0];
    pace->times = event->arg[1];
    pace->life = run->failures.lives[index_of(run, pace->node)];
    pace->begin_us = now;
    pace->until_us = now + for_us;
    pace->found = false;
    pace_blame(run, pace->node, for_us);
    count(&figures_of(run)->slow_nodes);
    return true;
}

bool pace_over(struct run *run)
{
    const struct pace_watch *pace = &run->pace;
    return pace->found || pace->disturbed_until > pace->begin_us ||
           pace->until_us <= sim_now_us(run->world);
}

void pace_calm(struct run *run)
{
    uint64_t now = sim_now_us(run->world);
    if (run->pace.until_us > now) run->pace.until_us = now;
}

/* --- What the nodes say. --- */

static const struct qmgr *president(struct run *run)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        const struct qmgr *qmgr = qmgr_of_node(run, id);
        if (qmgr != NULL && failures_started(run, id) && qmgr_is_president(qmgr)) return qmgr;
    }
    return NULL;
}

static void found(struct run *run, uint32_t id)
{
    struct pace_watch *pace = &run->pace;
    struct failure_figures *figures = figures_of(run);
    uint64_t now = sim_now_us(run->world);
    if (id == pace->node && !pace->found && now < pace->until_us + AFTER_US) {
        pace->found = true;
        count(&figures->slow_found);
        if (pace->disturbed_until <= pace->begin_us && pace->times >= FOUND_TIMES)
            timing_add(run, &figures->slow_seen, now - pace->begin_us);
        return;
    }
    if (pace->blamed_until[index_of(run, id)] > now) {
        count(&figures->slow_others);
        return;
    }
    count(&figures->slow_false);
    run_fail(run, SIM_CORRECTNESS, "node %u is reported slow, and nothing has slowed it", id);
}

/* It must have been found by now, if nothing else was the matter. */
static void must_be_found(struct run *run)
{
    struct pace_watch *pace = &run->pace;
    uint64_t now = sim_now_us(run->world);
    if (pace->node == 0 || pace->found || pace->times < FOUND_TIMES) return;
    if (pace->disturbed_until > pace->begin_us || now < pace->begin_us + FOUND_US) return;
    if (pace->until_us < pace->begin_us + FOUND_US) return;
    if (!failures_stays(run, pace->node) ||
        run->failures.lives[index_of(run, pace->node)] != pace->life)
        return;
    run_fail(run, SIM_LIVENESS, "node %u is %u times slower and not reported within %u s",
             pace->node, pace->times, FOUND_US / SECOND_US);
}

/* It is called slow already; or it is so slow that heartbeats are missing: that is reported at
 * once, perhaps by the only other node. */
static void silent_is_found(struct run *run)
{
    struct pace_watch *pace = &run->pace;
    if (pace->node == 0 || pace->found) return;
    if (node_mask_has(&pace->slow, pace->node)) pace->found = true; /* Still, from before. */
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        const struct qmgr *qmgr = qmgr_of_node(run, id);
        if (qmgr == NULL || id == pace->node || !failures_started(run, id)) continue;
        if (node_mask_has(&qmgr->reach.silent, pace->node)) pace->found = true;
    }
}

void pace_watch(struct run *run)
{
    struct pace_watch *pace = &run->pace;
    const struct qmgr *qmgr = president(run);
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (failures_started(run, data_node_id(run, i))) continue;
        pace_disturbed(run, 0);
    }
    if (qmgr == NULL || run->durability.down) return;
    silent_is_found(run);
    struct node_mask fresh = qmgr->pace.slow;
    node_mask_cut(&fresh, &pace->slow);
    pace->slow = qmgr->pace.slow;
    uint32_t own = ref_node(qmgr->block.ref);
    if (own != pace->president) fresh = (struct node_mask){0}; /* It goes on with what it heard. */
    pace->president = own;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (node_mask_has(&fresh, data_node_id(run, i))) found(run, data_node_id(run, i));
    }
    bool link = qmgr->pace.link_slow != 0;
    if (link && !pace->link_slow) count(&figures_of(run)->slow_links_found);
    pace->link_slow = link;
    must_be_found(run);
}

/* --- What is drawn. --- */

void pace_draw_faults(struct swarm *swarm)
{
    struct rng rng;
    rng_seed(&rng, swarm->seed * 2u + 0x5104000u);
    uint64_t kind = rng_below(&rng, 6);
    if (swarm->orderly || kind > 2) return;
    swarm->faults |= kind == 1 ? FAULT_LINK_SLOW : FAULT_NODE_SLOW;
    if (kind == 2) swarm->faults |= FAULT_LINK_SLOW;
    if (rng_chance(&rng, 1, 2)) return; /* Else nothing else is the matter. */
    swarm->faults = FAULT_NODE_SLOW | (swarm->faults & FAULT_LINK_SLOW);
}

void pace_draw_plan(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                    uint64_t span_us)
{
    static const uint32_t times[] = {10, 20, 50, 50, 100, 200, 500, 1000};
    uint32_t nodes = (swarm->faults & FAULT_NODE_SLOW) != 0 ? between(rng, 1, 2) : 0;
    uint32_t links = (swarm->faults & FAULT_LINK_SLOW) != 0 ? between(rng, 1, 2) : 0;
    for (uint32_t i = 0; i < nodes; i++) {
        struct sim_event *event = sim_plan_at(plan, rng_below(rng, span_us), SIM_SLOW_NODE);
        if (event == NULL) return;
        event->arg[0] =
            swarm->id_first + swarm->id_step * (uint32_t)rng_below(rng, swarm->data_nodes);
        event->arg[1] = times[rng_below(rng, sizeof times / sizeof times[0])];
        event->arg[2] = between(rng, 1000, 8000);
    }
    for (uint32_t i = 0; i < links; i++) {
        struct sim_event *event = sim_plan_at(plan, rng_below(rng, span_us), SIM_SLOW_LINK);
        if (event == NULL) return;
        uint32_t a = (uint32_t)rng_below(rng, swarm->data_nodes);
        uint32_t b = (a + 1 + (uint32_t)rng_below(rng, swarm->data_nodes - 1)) % swarm->data_nodes;
        event->arg[0] = swarm->id_first + swarm->id_step * a;
        event->arg[1] = swarm->id_first + swarm->id_step * b;
        event->arg[2] = 1u << between(rng, 0, 6);
        event->arg[3] = 16u << between(rng, 0, 8);
        event->arg[4] = between(rng, 1000, 8000);
    }
}

void pace_print(const struct failure_figures *f)
{
    if (f->slow_nodes + f->slow_links + f->slow_others + f->slow_false == 0) return;
    printf("slow nodes %llu, found %llu (for other faults %llu, for none %llu); slow links %llu, "
           "found %llu\n",
           (unsigned long long)f->slow_nodes, (unsigned long long)f->slow_found,
           (unsigned long long)f->slow_others, (unsigned long long)f->slow_false,
           (unsigned long long)f->slow_links, (unsigned long long)f->slow_links_found);
    timing_print("found, 100 or more times slower and nothing else the matter", &f->slow_seen);
}
