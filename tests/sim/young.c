/* young.c -- the cluster is lost again and again in its first moments, before any checkpoint: its
 * logs begin with what no checkpoint has. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Elsewhere a round of checkpoints comes soon, and what a log begins with is never read again.
 * Here rounds are put off, and the power goes before, at and behind the first pages of the logs.
 */
#include "kernel/base/rng.h"
#include "tests/sim/failures.h"

#define NO_GROWTH_LOG2 31u /* So much is never logged. */

static uint32_t between(struct rng *rng, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(rng, most - least + 1u);
}

/* From a stream of its own, so that what else is drawn stays as it is. */
void young_draw_swarm(struct swarm *swarm)
{
    struct rng rng;
    struct node_config *config = &swarm->config;
    rng_seed(&rng, swarm->seed ^ 0x796F756E67u);
    swarm->young = true;
    swarm->faults = 0;
    config->lcp_growth_log2 = NO_GROWTH_LOG2;
    config->redo_file_bytes = 4096u * between(&rng, 48, 96); /* Not filled so soon. */
    if (rng_chance(&rng, 1, 2)) config->gci_ms = between(&rng, 20, 60);
}

/* At a word or operation on a disk of the first ones after the start, or at any time. */
static void draw_loss(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                      uint64_t at)
{
    static const uint32_t places[] = {
        GSN_GCP_PREPARE,  GSN_GCP_COMMIT,    GSN_GCP_NODE_SAVEREQ,     GSN_GCP_SAVEREQ,
        GSN_GCP_SAVECONF, GSN_COPY_GCIREQ,   GSN_GCP_NODE_DURABLE_REP, GSN_IO_DONE_REP,
        GSN_COMMIT,       GSN_REDO_OPEN_REQ, GSN_SYSFILE_START_REQ,
    };
    uint64_t kind = rng_below(rng, 4);
    uint32_t node = swarm->id_first + swarm->id_step * (uint32_t)rng_below(rng, swarm->data_nodes);
    struct sim_event *event = sim_plan_at(plan, at, kind == 0 ? SIM_POWER_OP : SIM_POWER);
    if (event == NULL) return;
    if (kind == 0) {
        event->arg[0] = node;
        event->arg[1] = between(rng, 1, 60);
        event->arg[2] = between(rng, 0, 20);
        return;
    }
    event->arg[1] = between(rng, 0, 20);
    if (kind == 1) return;
    event->gsn = places[rng_below(rng, sizeof places / sizeof places[0])];
    event->node = node;
    event->nth = between(rng, 1, 1u << rng_below(rng, 6));
}

void young_draw_plan(struct sim_plan *plan, const struct swarm *swarm)
{
    struct rng rng;
    rng_seed(&rng, swarm->seed ^ 0x6D6F6D656E7473u);
    uint32_t losses = between(&rng, 2, 6);
    uint64_t at = 0;
    for (uint32_t i = 0; i < losses; i++) {
        at += rng_below(&rng, 1u << between(&rng, 12, 19));
        draw_loss(plan, swarm, &rng, at);
    }
}
