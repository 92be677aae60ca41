/* spoil.c -- files of a data node are lost, cut, or exchanged while it does not run. The others
 * have its rows: it says what is wrong and gets them, or it has them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "tests/sim/failures.h"

/* All are there: then each group has a copy of everything besides the one whose files go. */
bool spoil_allowed(struct run *run, const struct sim_event *event)
{
    if (event->action == SIM_KEEP) return sim_alive(run->world, event->arg[0]);
    if (run->durability.down || run->swarm.replicas < 2) return false;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        if (!sim_alive(run->world, id) || !failures_stays(run, id)) return false;
    }
    return true;
}

static struct sim_disk *neighbour(struct run *run, uint32_t id)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (data_node_id(run, i) == id)
            return sim_disk_of(run->world, data_node_id(run, (i + 1u) % run->swarm.data_nodes));
    }
    return NULL;
}

void spoil_action(struct run *run, const struct sim_event *event)
{
    uint32_t id = event->arg[0];
    struct spoil *spoil = &run->spoil;
    struct sim_disk *disk = sim_disk_of(run->world, id);
    if (disk == NULL || id > NODE_ID_MAX || event->arg[1] >= SPOIL_COUNT) return;
    if (event->action == SIM_KEEP) {
        if (spoil->kept[id] != NULL) sim_disk_destroy(spoil->kept[id]);
        spoil->kept[id] = sim_disk_clone(disk);
        return;
    }
    enum sim_spoil how = (enum sim_spoil)event->arg[1];
    const struct sim_event all = {.action = SIM_HALT, .arg = {0, event->arg[3]}};
    if (event->arg[3] == 0)
        sim_kill(run->world, id);
    else
        lives_action(run, &all);
    const struct sim_disk *other = how == SPOIL_OLDER ? spoil->kept[id] : neighbour(run, id);
    uint32_t files = sim_disk_spoil(disk, other, how, event->arg[2]);
    if (files > 0 && run->failures.figures != NULL)
        __atomic_fetch_add(&run->failures.figures->spoiled, 1, __ATOMIC_RELAXED);
}

void spoil_free(struct run *run)
{
    for (uint32_t id = 0; id <= NODE_ID_MAX; id++) {
        if (run->spoil.kept[id] != NULL) sim_disk_destroy(run->spoil.kept[id]);
        run->spoil.kept[id] = NULL;
    }
}

static struct sim_event *add(struct sim_plan *plan, uint64_t at, enum sim_action action,
                             uint32_t node)
{
    struct sim_event *event = sim_plan_at(plan, at, action);
    if (event != NULL) event->arg[0] = node;
    return event;
}

/* What the node has been through before: all its rows copied, some of them, or nothing. */
static void draw_history(struct sim_plan *plan, struct rng *rng, uint64_t at, uint32_t node)
{
    uint64_t kind = rng_below(rng, 4);
    if (kind == 0) return;
    struct sim_event *event = add(plan, at, kind == 1 ? SIM_KILL : SIM_SPOIL, node);
    if (event != NULL && kind != 1) event->arg[1] = event->arg[2] = event->arg[3] = 0;
}

/* From a stream of its own, so that what else is drawn stays as it is. */
void spoil_draw(struct sim_plan *plan, const struct swarm *swarm, uint64_t span_us)
{
    struct rng rng;
    rng_seed(&rng, swarm->seed * 2u + 0x5B011ED1u);
    uint32_t events = 1u + (uint32_t)rng_below(&rng, 4);
    for (uint32_t i = 0; i < events; i++) {
        uint32_t node =
            swarm->id_first + swarm->id_step * (uint32_t)rng_below(&rng, swarm->data_nodes);
        uint64_t at = rng_below(&rng, span_us);
        add(plan, at, SIM_KEEP, node);
        draw_history(plan, &rng, at + rng_below(&rng, 1000000), node);
        at += 1000000u + rng_below(&rng, 3000000);
        if (rng_chance(&rng, 1, 2)) add(plan, at - rng_below(&rng, 1500000), SIM_KEEP, node);
        struct sim_event *event = add(plan, at, SIM_SPOIL, node);
        if (event == NULL) return;
        event->arg[1] = (uint32_t)rng_below(&rng, SPOIL_COUNT + 2u) % SPOIL_COUNT;
        event->arg[2] = (uint32_t)rng_below(&rng, rng_chance(&rng, 2, 3) ? 8u : 1000u);
        if (rng_chance(&rng, 1, 4)) event->arg[2] = 1; /* All checkpoints. */
        event->arg[3] = rng_chance(&rng, 1, 3) ? 0 : 1u + (uint32_t)rng_below(&rng, 500);
    }
}

/* One node at a time may have lost its rows, so nothing else does it; and mostly nobody else is
 * lost, because files are changed only when all are there. */
void spoil_draw_faults(struct swarm *swarm)
{
    struct rng rng;
    rng_seed(&rng, swarm->seed * 2u + 0x5B01FA17u);
    swarm->faults &= ~(uint32_t)(FAULT_DISK_ERROR | FAULT_DISK_DAMAGE);
    if (rng_chance(&rng, 2, 3)) swarm->faults = 0;
}
