/* starve.c -- nodes that run rarely: what is drawn, nobody is called dead for it, and who hangs is
 * found out all the same. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/failures.h"

#define SECOND_US       1000000u
#define QUIET_FOUND_US  500000u /* The limits of fail-over. */
#define STARVE_FOUND_US (4u * SECOND_US)
#define FORGOTTEN_US    (17u * SECOND_US) /* Nobody is patient any more. */
/* A word waits for the turn of its sender and for that of its receiver: twice this is below what
 * the most patient cluster takes for a death (docs/protocols/failure.md, 2.4 s). */
#define GAP_MAX_MS 1150u
/* Where a node hangs: every step of its fail-over waits for a turn, and after each turn late words
 * are read first. A turn here is an instant, so that takes another one: with 390 ms 4.1 s. */
#define GAP_FOUND_MS 300u
#define HANG_MS      12000u
#define BUILD_UP_US  (6u * SECOND_US)

static uint32_t between(struct rng *rng, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(rng, most - least + 1u);
}

/* Failures and nothing else the matter, with the heartbeats of a cluster that does not set them. */
void swarm_draw_starved(struct swarm *swarm)
{
    swarm->faults = 0;
    swarm->orderly = false;
    swarm->starved = true;
    swarm->config.heartbeat_db_db_ms = 70;
    swarm->config.arbitration = ARBITRATION_DEFAULT;
    swarm->config.arbitration_timeout_ms = 7500;
}

static uint32_t draw_node(const struct swarm *swarm, struct rng *rng)
{
    return swarm->id_first + swarm->id_step * (uint32_t)rng_below(rng, swarm->data_nodes);
}

/* Some nodes, or all that share a machine (0), are starved; in half of the runs one hangs then, or
 * when they have not been starved at all. */
void starve_draw_plan(struct sim_plan *plan, const struct swarm *swarm)
{
    struct rng rng;
    rng_seed(&rng, swarm->seed * 2u + 0x57A20000u);
    bool hangs = rng_chance(&rng, 1, 2);
    bool quiet = hangs && rng_chance(&rng, 1, 3);
    uint64_t at = 2u * SECOND_US + rng_below(&rng, SECOND_US);
    uint32_t for_ms = between(&rng, 10000, 25000);
    uint32_t gap = between(&rng, 50, hangs ? GAP_FOUND_MS : GAP_MAX_MS);
    uint32_t count = quiet ? 0 : between(&rng, 1, 2);
    if (rng_chance(&rng, 1, 2) && count > 0) count = 1;
    for (uint32_t i = 0; i < count; i++) {
        struct sim_event *event = sim_plan_at(plan, at, SIM_STARVE);
        if (event == NULL) return;
        event->arg[0] = rng_chance(&rng, 1, 2) ? 0 : draw_node(swarm, &rng);
        event->arg[1] = gap;
        event->arg[2] = for_ms;
    }
    if (!hangs) return;
    uint64_t later = quiet ? 0 : BUILD_UP_US + rng_below(&rng, for_ms * 1000u);
    struct sim_event *event = sim_plan_at(plan, at + later, SIM_HANG);
    if (event == NULL) return;
    event->arg[0] = draw_node(swarm, &rng);
    event->arg[1] = HANG_MS;
}

void starve_begins(struct run *run, const struct sim_event *event)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        if (event->arg[0] == 0 || event->arg[0] == id)
            pace_blame(run, id, event->arg[2] * 1000u + FORGOTTEN_US);
    }
    pace_disturbed(run, event->arg[2] * 1000u);
    uint64_t until = sim_now_us(run->world) + event->arg[2] * 1000u + FORGOTTEN_US;
    if (until > run->failures.starved_until) run->failures.starved_until = until;
}

void starve_agreed(struct run *run, uint32_t id, uint64_t after_us)
{
    bool starved = run->failures.starved_until > sim_now_us(run->world);
    uint64_t limit = starved ? STARVE_FOUND_US : QUIET_FOUND_US;
    if (after_us <= limit) return;
    run_fail(run, SIM_LIVENESS, "node %u hangs, and that is agreed on after %u ms, not %u", id,
             (uint32_t)(after_us / 1000u), (uint32_t)(limit / 1000u));
}
