/* failures.h -- losses of data nodes that the cluster survives. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "tests/sim/run.h"

/* The node runs and counts as started. */
bool failures_started(struct run *run, uint32_t id);
/* And the others may not have gone on without it. */
bool failures_stays(struct run *run, uint32_t id);
/* The node may be put out from now on; false: the cluster could not do without it. */
bool failures_hostile(struct run *run, uint32_t id);

/* Options of the world: is the event of the plan one that the cluster has to survive? May this node
 * stop with this code? */
bool failures_allowed(struct run *run, const struct sim_event *event);
bool failures_announced(struct run *run, uint32_t id, uint32_t code);

/* Called again and again: counts who is lost and who is back, starts who has ended. */
void failures_watch(struct run *run);

/* All that have to be there are started, and nobody is on the way out. Context: the run. */
bool failures_all_back(void *context);
void failures_missing(struct run *run, char *text, uint32_t size);

/* All nodes of a node group are there and wait, one of them because its files were damaged, and no
 * other one has what it had: only an operator goes on from there. Counted when true. */
bool failures_lost_to_damage(struct run *run);

void swarm_draw_failures(struct swarm *swarm); /* After swarm_draw(). */
void failures_draw_plan(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng);
/* Every signal that is executed. */
void failures_observe(struct run *run, const uint32_t *words);
void failures_print(const struct failure_figures *figures);

/* Healthy nodes that had to leave are few, at most one in a hundred losses, and so are clusters
 * that were lost to damaged files: one in a thousand. Prints when they are not. */
bool failures_rare(const struct failure_figures *figures);

/* operator.c: how nodes are started. */
void operator_action(struct run *run, const struct sim_event *event);
uint64_t operator_hold(const struct run *run, uint32_t i); /* `i`: index of the node. */
void operator_begin(struct run *run, uint32_t i);          /* Before its next life. */
void operator_watch(struct run *run, uint32_t i, bool started);
bool operator_refused(struct run *run, uint32_t id, uint32_t code);
void operator_draw_swarm(struct swarm *swarm); /* After all else but copies. */
void operator_draw_plan(struct sim_plan *plan, const struct swarm *swarm);

/* young.c: the cluster is lost in its first moments. */
void young_draw_swarm(struct swarm *swarm); /* After swarm_draw_disk(). */
void young_draw_plan(struct sim_plan *plan, const struct swarm *swarm);

/* spoil.c: a node's files are changed while it does not run. */
bool spoil_allowed(struct run *run, const struct sim_event *event);
void spoil_action(struct run *run, const struct sim_event *event);
void spoil_draw(struct sim_plan *plan, const struct swarm *swarm, uint64_t span_us);
void spoil_draw_faults(struct swarm *swarm); /* After swarm_draw_failures(). */
void spoil_free(struct run *run);

/* starve.c: nodes that run rarely. */
void swarm_draw_starved(struct swarm *swarm); /* After swarm_draw_failures(). */
void starve_draw_plan(struct sim_plan *plan, const struct swarm *swarm);
void starve_begins(struct run *run, const struct sim_event *event);
/* All agree that this one hangs, so long after it has begun to. */
void starve_agreed(struct run *run, uint32_t id, uint64_t after_us);

/* pace.c: slow nodes and links. */
bool pace_slow_node(struct run *run, const struct sim_event *event); /* False: not now. */
void pace_blame(struct run *run, uint32_t id, uint64_t for_us);
void pace_disturbed(struct run *run, uint64_t for_us);
bool pace_over(struct run *run);            /* Nobody waits for a report. */
void pace_calm(struct run *run);            /* Faults are over. */
void pace_watch(struct run *run);           /* Called again and again. */
void pace_draw_faults(struct swarm *swarm); /* After swarm_draw_failures(). */
void pace_draw_plan(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                    uint64_t span_us);
void pace_print(const struct failure_figures *figures);
