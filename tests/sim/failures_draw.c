/* failures_draw.c -- which data nodes are lost, how, and where in a protocol, drawn by seed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "ndbmtd/layout.h"
#include "signals/failure.h"
#include "tests/sim/failures.h"

static uint32_t between(struct rng *rng, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(rng, most - least + 1u);
}

void swarm_draw_failures(struct swarm *swarm)
{
    static const struct {
        uint32_t nodes, replicas;
    } shapes[] = {{2, 2}, {2, 2}, {3, 3}, {4, 2}, {4, 2}, {4, 4},
                  {4, 1}, {6, 2}, {6, 3}, {8, 2}, {8, 4}};
    struct node_config *config = &swarm->config;
    struct rng rng;
    rng_seed(&rng, swarm->seed * 2u + 0xFA170000u);
    uint64_t shape = rng_below(&rng, sizeof shapes / sizeof shapes[0]);
    if (shapes[shape].replicas == 1) shape = 0; /* Nothing may be lost there. */
    memset(config->node, 0, sizeof config->node);
    swarm->data_nodes = shapes[shape].nodes;
    swarm->replicas = shapes[shape].replicas;
    if (swarm->data_nodes > 4 && swarm->ldm > 2) swarm->ldm = 2;
    if (swarm->data_nodes > 4 && swarm->tc > 2) swarm->tc = 2;
    config->ldm_count = swarm->ldm;
    config->tc_count = swarm->tc;
    config->thread_count = swarm->split ? layout_split_threads(swarm->ldm, swarm->tc) : 1;
    config->replicas = swarm->replicas;
    for (uint32_t i = 0; i < swarm->data_nodes; i++)
        config->node[swarm->id_first + i * swarm->id_step] =
            (struct config_node){.type = NODE_DATA, .nodegroup = i / swarm->replicas};
    for (uint32_t i = 0; i < CLIENTS_MAX; i++)
        config->node[CLIENT_NODE + i] =
            (struct config_node){.type = NODE_API, .arbitration_rank = 1 + i % 2};
    if (swarm->clients > 3) swarm->clients = 3;
    if (swarm->sessions > 3) swarm->sessions = 3;
    swarm->jobs = between(&rng, 30, 150);
    if (swarm->small_data) {
        swarm->small_data = false;
        config->memory.pages_max[RG_DATA] = 3200;
    }
    if (swarm->pad_max > 400) swarm->pad_max = 400;
    config->memory.pages_max[RG_DATA] = 3200;
    swarm->faults &= ~(uint32_t)(FAULT_DATA_CUT | FAULT_INSERT);
    if (rng_chance(&rng, 1, 2)) swarm->faults &= ~(uint32_t)(FAULT_CUT | FAULT_KILL | FAULT_STALL);
    if (rng_chance(&rng, 1, 2)) swarm->faults |= FAULT_NODE_HANG;
    if (rng_chance(&rng, 1, 2)) swarm->faults |= FAULT_NODE_CUT;
    if (rng_chance(&rng, 4, 5) || (swarm->faults & (FAULT_NODE_HANG | FAULT_NODE_CUT)) == 0)
        swarm->faults |= FAULT_NODE_KILL;
    config->heartbeat_db_db_ms = between(&rng, 400, 1500);
    config->survive = 1;
    if (rng_chance(&rng, 1, 4)) swarm->faults |= FAULT_SINGLE;
    if (swarm->rejoin && rng_chance(&rng, 1, 3)) swarm->faults |= FAULT_NODE_LEAVE;
    swarm->orderly = swarm->rejoin && rng_chance(&rng, 1, 12);
    if (swarm->orderly) swarm->faults = FAULT_NODE_LEAVE;
    pace_draw_faults(swarm);
    bool ends_only = (swarm->faults & (FAULT_NODE_HANG | FAULT_NODE_CUT | FAULT_STALL |
                                       FAULT_NODE_SLOW | FAULT_LINK_SLOW)) == 0;
    if (ends_only && rng_chance(&rng, 1, 3)) { /* Elsewhere both halves would go on. */
        config->arbitration = rng_chance(&rng, 1, 2) ? ARBITRATION_NONE : ARBITRATION_EXTERNAL;
        config->arbitration_timeout_ms = between(&rng, 10, 500);
    }
    swarm->mixed_ldm = swarm->rejoin && rng_chance(&rng, 1, 4);
    swarm->failures = true;
}

/* Where in a protocol a node is lost. */
static const uint32_t places[] = {
    GSN_LQHKEYREQ,          GSN_COMMIT,           GSN_COMPLETE,
    GSN_TCKEYREQ,           GSN_LQHKEYCONF,       GSN_COMMITTED,
    GSN_SCAN_FRAGREQ,       GSN_SCHEMA_STEP_REQ,  GSN_GCP_PREPARE,
    GSN_GCP_COMMIT,         GSN_GCP_NODEFINISH,   GSN_EPOCH_COMPLETE_REP,
    GSN_FAIL_REACH_REP,     GSN_FAIL_PREPARE,     GSN_FAIL_CONF,
    GSN_FAIL_COMMIT,        GSN_NODE_FAILREP,     GSN_NODE_LOST_REP,
    GSN_LQH_FLUSH_REP,      GSN_LQH_ORPHAN_REP,   GSN_LQH_FAIL_END_REP,
    GSN_OP_RESOLVE_REQ,     GSN_OP_RESOLVE_CONF,  GSN_TAKEOVER_END_REP,
    GSN_GCP_STATE_REQ,      GSN_GCP_STATE_CONF,   GSN_ARBIT_START_REQ,
    GSN_ARBIT_PREP_REQ,     GSN_ARBIT_CHOOSE_REQ, GSN_CM_REGREQ,
    GSN_CM_ADD_REQ,         GSN_CNTR_START_REQ,   GSN_CNTR_START_CONF,
    GSN_SCHEMA_RESTART_REQ, GSN_NODE_INCLUDE_REQ, GSN_NODE_INCLUDE_REP,
    GSN_LQH_INCLUDE_REP,    GSN_CNTR_INCLUDE_REQ, GSN_COPY_TABLE_REQ,
    GSN_COPY_FRAGREQ,       GSN_COPY_ROWS_REP,    GSN_COPY_ROWS_CONF,
    GSN_COPY_FRAGCONF,      GSN_CNTR_STARTED_REP,
};

#define PLACES   (sizeof places / sizeof places[0])
#define WAY_BACK 29u /* GSN_CM_REGREQ: from here on a node comes back. */

/* The same, where all are. */
static const uint32_t all_places[] = {
    GSN_NODE_INCLUDE_REQ, GSN_GCP_INCLUDE_ORD,      GSN_NODE_INCLUDE_REP,  GSN_COPY_FRAGREQ,
    GSN_COPY_ROWS_REP,    GSN_COPY_START_CONF,      GSN_DIH_COMPLETE_REQ,  GSN_LCP_NODE_REQ,
    GSN_LCP_PART_CONF,    GSN_LCP_USABLE_CONF,      GSN_DIH_COMPLETE_CONF, GSN_SYSFILE_START_REQ,
    GSN_GCP_WHOLE_REP,    GSN_SYSFILE_START_CONF,   GSN_CNTR_STARTED_REP,  GSN_NODE_FAILREP,
    GSN_NODE_LOST_REP,    GSN_GCP_NODE_DURABLE_REP, GSN_COPY_GCIREQ,       GSN_GCP_STATE_CONF,
};

/* A node with files while it comes back. */
static const uint32_t file_places[] = {
    GSN_REDO_OPEN_CONF,    GSN_RECOVER_REQ,      GSN_RECOVER_CONF,     GSN_SYSFILE_VOID_REQ,
    GSN_SYSFILE_VOID_CONF, GSN_NODE_INCLUDE_REQ, GSN_COPY_FRAGREQ,     GSN_COPY_ROWS_REP,
    GSN_COPY_FRAGCONF,     GSN_COPY_START_CONF,  GSN_DIH_COMPLETE_REQ, GSN_SYSFILE_START_REQ,
};

static uint32_t draw_node(const struct swarm *swarm, struct rng *rng)
{
    return swarm->id_first + swarm->id_step * (uint32_t)rng_below(rng, swarm->data_nodes);
}

static void draw_one(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                     uint32_t kind, uint64_t at)
{
    static const enum sim_action actions[] = {SIM_KILL, SIM_HANG, SIM_CUT, SIM_STALL, SIM_LEAVE};
    struct sim_event *event = sim_plan_at(plan, at, actions[kind]);
    if (event == NULL) return;
    uint32_t a = (uint32_t)rng_below(rng, swarm->data_nodes);
    uint32_t b = (a + 1 + (uint32_t)rng_below(rng, swarm->data_nodes - 1)) % swarm->data_nodes;
    event->arg[0] = swarm->id_first + swarm->id_step * a;
    event->arg[1] = swarm->id_first + swarm->id_step * b;
    if (kind == 1) event->arg[1] = 1u << between(rng, 3, 14);
    if (kind == 3) event->arg[2] = 1u << between(rng, 9, 14);
    if (rng_chance(rng, 1, 2)) return;
    event->gsn = places[rng_below(rng, PLACES)];
    if (swarm->disk && swarm->rejoin && rng_chance(rng, 1, 3))
        event->gsn = file_places[rng_below(rng, sizeof file_places / sizeof file_places[0])];
    event->node = rng_chance(rng, 1, 2) ? event->arg[0] : draw_node(swarm, rng);
    event->nth = 1u + (uint32_t)rng_below(rng, 1u << rng_below(rng, 7));
}

/* Words to or from a node that comes back take long: others overtake it. */
static void draw_delay(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                       uint64_t at, uint32_t node)
{
    static const uint32_t gsns[] = {GSN_CM_ADD_REQ, GSN_CNTR_START_REQ, GSN_CNTR_START_CONF,
                                    GSN_SCHEMA_RESTART_REQ, GSN_NODE_INCLUDE_REQ};
    struct sim_event *event = sim_plan_at(plan, at, SIM_STALL);
    if (event == NULL) return;
    uint32_t way = (uint32_t)rng_below(rng, 2);
    event->arg[way] = node;
    /* Often the president. */
    event->arg[1 - way] = rng_chance(rng, 1, 2) ? swarm->id_first : draw_node(swarm, rng);
    event->arg[2] = between(rng, 20, 190); /* No reason to call it dead. */
    event->gsn = gsns[rng_below(rng, sizeof gsns / sizeof gsns[0])];
    event->node = node;
    event->nth = 1;
}

/* One node of each of several groups, at about the same time: they come back together. */
static void draw_several(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                         uint64_t at)
{
    uint32_t groups = swarm->data_nodes / swarm->replicas;
    uint32_t first = (uint32_t)rng_below(rng, groups);
    uint32_t count = between(rng, 2, groups);
    for (uint32_t i = 0; i < count; i++) {
        struct sim_event *event = sim_plan_at(plan, at, SIM_KILL);
        if (event == NULL) return;
        uint32_t member = (uint32_t)rng_below(rng, swarm->replicas);
        event->arg[0] =
            swarm->id_first + swarm->id_step * ((first + i) % groups * swarm->replicas + member);
        if (rng_chance(rng, 2, 3)) draw_delay(plan, swarm, rng, at, event->arg[0]);
        at += rng_below(rng, 1u << between(rng, 4, 18));
    }
    if (rng_chance(rng, 1, 2)) return;
    /* Somebody dies in the middle: one of them, the president, a source, anybody. */
    struct sim_event *event = sim_plan_at(plan, at, SIM_KILL);
    if (event == NULL) return;
    event->arg[0] = draw_node(swarm, rng);
    event->gsn = places[WAY_BACK + rng_below(rng, PLACES - WAY_BACK)];
    event->node = draw_node(swarm, rng);
    event->nth = 1u + (uint32_t)rng_below(rng, 1u << rng_below(rng, 4));
}

static void draw_incident(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                          uint64_t at)
{
    if (swarm->rejoin && swarm->data_nodes > swarm->replicas &&
        (swarm->faults & FAULT_NODE_KILL) != 0 && rng_chance(rng, 1, 2)) {
        draw_several(plan, swarm, rng, at);
        return;
    }
    uint32_t kinds[5];
    uint32_t kind_count = 0;
    if ((swarm->faults & FAULT_NODE_KILL) != 0) kinds[kind_count++] = 0;
    if ((swarm->faults & FAULT_NODE_KILL) != 0) kinds[kind_count++] = 0;
    if ((swarm->faults & FAULT_NODE_HANG) != 0) kinds[kind_count++] = 1;
    if ((swarm->faults & FAULT_NODE_CUT) != 0)
        kinds[kind_count++] = 2 + (uint32_t)rng_below(rng, 2);
    if ((swarm->faults & FAULT_NODE_LEAVE) != 0) kinds[kind_count++] = 4;
    if (kind_count == 0) return;
    uint32_t losses = rng_chance(rng, 1, 2) ? 1 : between(rng, 1, swarm->data_nodes > 4 ? 4 : 2);
    for (uint32_t i = 0; i < losses; i++) {
        draw_one(plan, swarm, rng, kinds[rng_below(rng, kind_count)], at);
        if (rng_chance(rng, 1, 2)) at += rng_below(rng, 1u << between(rng, 4, 20));
    }
}

/* Disks that are full for seconds, of several nodes: until logs are full as well, and who is alone
 * with the rows has nobody to leave them to. */
static void draw_full_disks(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                            uint32_t span_us)
{
    uint64_t at = rng_below(rng, span_us);
    uint64_t until = at + between(rng, 500000, 8000000);
    uint32_t count = between(rng, 1, 3);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = draw_node(swarm, rng);
        if (plan->count + 2u > SIM_EVENTS_MAX) return; /* There would never be room again. */
        struct sim_event *full = sim_plan_at(plan, at + rng_below(rng, 500000), SIM_DISK_FULL);
        full->arg[0] = node;
        full->arg[1] = between(rng, 1, 50);
        struct sim_event *room = sim_plan_at(plan, until + rng_below(rng, 500000), SIM_DISK_FULL);
        room->arg[0] = node;
    }
}

void failures_draw_plan(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng)
{
    if (swarm->operated) {
        operator_draw_plan(plan, swarm);
        return;
    }
    if (swarm->starved) {
        starve_draw_plan(plan, swarm);
        return;
    }
    uint32_t incidents = between(rng, 1, 4);
    uint32_t span_us = between(rng, 1, 6) * 1000000u;
    if (swarm->rejoin && rng_chance(rng, 2, 3)) { /* About one in each second. */
        incidents = between(rng, 4, 24);
        span_us = incidents * between(rng, 500000, 1500000);
    }
    for (uint32_t i = 0; i < incidents; i++)
        draw_incident(plan, swarm, rng, rng_below(rng, span_us));
    if (swarm->spoil) spoil_draw(plan, swarm, span_us);
    if ((swarm->faults & FAULT_SINGLE) != 0) single_draw(plan, swarm, span_us);
    order_draw(plan, swarm, span_us);
    pace_draw_plan(plan, swarm, rng, span_us);
    uint32_t disks = (swarm->faults & FAULT_DISK_ERROR) != 0 ? between(rng, 1, 6) : 0;
    for (uint32_t i = 0; i < disks; i++) {
        uint64_t at = rng_below(rng, span_us);
        swarm_draw_disk_fault(plan, rng, draw_node(swarm, rng), at);
    }
    uint32_t rotten = (swarm->faults & FAULT_DISK_DAMAGE) != 0 ? between(rng, 1, 3) : 0;
    uint32_t victim = draw_node(swarm, rng); /* One: the others have its rows. */
    for (uint32_t i = 0; i < rotten; i++) {
        struct sim_event *event =
            sim_plan_at(plan, rng_below(rng, span_us),
                        rng_chance(rng, 2, 3) ? SIM_DISK_ROT : SIM_DISK_MISDIRECT);
        if (event == NULL) return;
        event->arg[0] = victim;
        event->arg[1] = between(rng, 1, 3);
    }
    /* With files the power of all goes, perhaps while somebody is on the way back. */
    uint32_t losses = swarm->disk ? (uint32_t)rng_below(rng, 3) : 0;
    for (uint32_t i = 0; i < losses; i++) {
        struct sim_event *event = sim_plan_at(plan, rng_below(rng, span_us), SIM_POWER);
        if (event == NULL) return;
        event->arg[1] = between(rng, 0, 500);
        if (rng_chance(rng, 1, 3)) continue;
        event->gsn = all_places[rng_below(rng, sizeof all_places / sizeof all_places[0])];
        event->node = draw_node(swarm, rng);
        event->nth = 1u + (uint32_t)rng_below(rng, 1u << rng_below(rng, 5));
    }
    if ((swarm->faults & FAULT_DISK_ERROR) != 0 && swarm->rejoin && rng_chance(rng, 1, 3))
        draw_full_disks(plan, swarm, rng, span_us);
}
