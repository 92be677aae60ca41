/* lives.c -- data nodes that end and begin again: power cuts, killed processes, nodes that stop by
 * themselves and are started anew. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "signals/cntr.h"
#include "signals/gcp.h"
#include "signals/gcp_local.h"
#include "signals/management.h"
#include "signals/start.h"
#include "signals/sysfile.h"
#include "tests/sim/failures.h"

#define ANGEL_US 300000u /* A process that has ended begins a new life within this time. */

/* Something happened that ends the cluster: no new jobs until it is back and has been checked. */
static void cluster_lost(struct run *run)
{
    struct durability *d = &run->durability;
    if (d->down) return;
    d->down = true;
    d->losses++;
    d->down_us = sim_now_us(run->world);
    d->recovered = UINT32_MAX;
    d->orderly = d->at_rest = false;
    d->rest_incarnation = 0;
    d->again_us = ANGEL_US;
}

static bool some_alive(const struct run *run)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (sim_alive(run->world, data_node_id(run, i))) return true;
    }
    return false;
}

/* Once all have stopped in good order nothing is lost any more, whatever ends them on the way back.
 */
static void not_by_order(struct run *run)
{
    if (!run->durability.at_rest) run->durability.orderly = false;
}

void lives_lost(struct run *run)
{
    cluster_lost(run);
}

/* The operator restarts one node; the others go on. */
static void order_leave(struct run *run, uint32_t id, uint32_t force)
{
    struct node *node = sim_node(run->world, id);
    struct stop_req req = {.flags = STOP_RESTART | force};
    if (node == NULL || run->durability.down) return;
    sig_send(node_block(node, BLOCK_CMVMI, 0), block_ref(id, BLOCK_NDBCNTR, 0), GSN_STOP_REQ,
             PRIO_A, &req);
}

/* The operator orders all nodes to stop. Nothing new begins; what is under way ends as it may. */
static void order_stop(struct run *run, const struct sim_event *event)
{
    struct durability *d = &run->durability;
    struct node *node = sim_node(run->world, event->arg[0]);
    struct stop_req req = {.flags = STOP_SYSTEM};
    if (d->down || node == NULL) return;
    struct block *cmvmi = node_block(node, BLOCK_CMVMI, 0);
    cluster_lost(run);
    d->orderly = true;
    d->again_us = 1000u * (event->arg[1] + 1u);
    sig_send(cmvmi, block_ref(event->arg[0], BLOCK_NDBCNTR, 0), GSN_STOP_REQ, PRIO_A, &req);
}

/* The plan ends data nodes. */
void lives_action(struct run *run, const struct sim_event *event)
{
    if (event->action == SIM_LEAVE || event->action == SIM_FORCE) {
        order_leave(run, event->arg[0], event->action == SIM_FORCE ? STOP_FORCE : 0);
        return;
    }
    if (!run->swarm.disk) {
        run->stopping_cluster = true;
        for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
            uint32_t id = data_node_id(run, i);
            if (event->arg[0] == 0 || event->arg[0] == id) sim_kill(run->world, id);
        }
        return;
    }
    const struct sim_event all = {.action = SIM_POWER, .arg = {0, event->arg[2]}};
    if (event->action == SIM_STOP) {
        order_stop(run, event);
        return;
    }
    if (event->action == SIM_POWER_OP) {
        if (run->crash_point != NULL)
            run->crash_point(run, event->arg[0]);
        else
            lives_action(run, &all);
        return;
    }
    cluster_lost(run);
    not_by_order(run);
    if (event->action != SIM_KILL) run->durability.again_us = 1000u * (event->arg[1] + 1u);
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        if (event->arg[0] != 0 && event->arg[0] != id) continue;
        if (event->action == SIM_POWER)
            sim_power_cut(run->world, id, FATES_ALL);
        else
            sim_kill(run->world, id);
        run->durability.start_us[i] = 0;
    }
}

static const char *class_of(uint32_t code)
{
    switch (code) {
#define EXIT_CODE(number, name, class, text)                                                       \
    case number:                                                                                   \
        return class;
#include "kernel/exit_codes.def"
#undef EXIT_CODE
    default:
        return "";
    }
}

bool lives_damaged(uint32_t code)
{
    return strcmp(class_of(code), "damage") == 0;
}

static bool faulty(const struct run *run, uint32_t actions)
{
    for (uint32_t i = 0; i < run->plan.count; i++) {
        if ((actions & 1u << run->plan.event[i].action) != 0) return true;
    }
    return false;
}

#define FAULTS_ERROR  (1u << SIM_DISK_FULL | 1u << SIM_DISK_ERROR)
#define FAULTS_DAMAGE (1u << SIM_DISK_ROT | 1u << SIM_DISK_MISDIRECT | 1u << SIM_SPOIL)

bool lives_foreign(const struct run *run, uint32_t code)
{
    return strcmp(class_of(code), "configuration") == 0 && faulty(run, 1u << SIM_SPOIL);
}

bool lives_disk_code(const struct run *run, uint32_t code)
{
    const char *class = class_of(code);
    if (!run->swarm.disk || code == EXIT_SEND_BUFFER_FULL || code == EXIT_REDO_FULL) return false;
    if (strcmp(class, "resource") == 0) return faulty(run, FAULTS_ERROR | 1u << SIM_DISK_STALL);
    if (lives_foreign(run, code)) return true;
    if (code == EXIT_DATA_GIVEN_UP) return faulty(run, FAULTS_DAMAGE | FAULTS_ERROR);
    if (strcmp(class, "damage") != 0) return false;
    return faulty(run, FAULTS_DAMAGE) || (code != EXIT_REDO_DAMAGED && faulty(run, FAULTS_ERROR));
}

/* A node with files stops by itself: what may be its reason? */
bool lives_announced(struct run *run, uint32_t code)
{
    const char *class = class_of(code);
    bool errors = faulty(run, FAULTS_ERROR);
    bool damage = faulty(run, FAULTS_DAMAGE);
    bool good = false;
    if (run->tamper.done > 0) /* Any exit with a name, but nothing on disk is damaged. */
        good =
            code != EXIT_NDBREQUIRE && code != EXIT_ILLEGAL_SIGNAL && strcmp(class, "damage") != 0;
    else if (strcmp(class, "arbitration") == 0 || strcmp(class, "restart") == 0 ||
             code == EXIT_SYSTEM_ERROR)
        good = run->durability.down;
    else if (strcmp(class, "damage") == 0)
        good = damage || (errors && code != EXIT_REDO_DAMAGED); /* A file that cannot be read. */
    else if (strcmp(class, "resource") == 0)
        good = errors && code != EXIT_SEND_BUFFER_FULL && code != EXIT_REDO_FULL;
    if (good && damage && strcmp(class, "damage") == 0) run->durability.damaged = true;
    if (good) cluster_lost(run);
    if (good) not_by_order(run);
    return good;
}

/* Called again and again: starts what has ended. */
void lives_watch(struct run *run)
{
    struct durability *d = &run->durability;
    uint64_t now = sim_now_us(run->world);
    if (run->swarm.failures) {
        failures_watch(run);
        return;
    }
    if (!run->swarm.disk || d->damaged) return;
    if (tamper_due(run)) {
        const struct sim_event all = {.action = SIM_POWER};
        lives_action(run, &all);
    }
    if (d->orderly && !some_alive(run)) d->at_rest = true;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        if (sim_alive(run->world, id)) continue;
        if (sim_exit_of(run->world, id)->stopped && !d->down) cluster_lost(run);
        if (d->orderly && !d->at_rest) continue; /* The operator waits for the last one. */
        if (d->start_us[i] == 0) {
            d->start_us[i] = now + 1 + rng_below(sim_rng(run->world, SIM_RNG_PLAN), d->again_us);
        } else if (d->start_us[i] <= now) {
            d->start_us[i] = 0;
            d->starts++;
            sim_restart(run->world, id);
        }
    }
}

/* --- What the nodes say about durable GCIs. --- */

/* The newest GCI of a lone node stands in one copy for a moment, and if that one does not show what
 * was written nobody can know (what_survives.md). */
static bool system_file_hides(struct run *run)
{
    const struct sim_disk *disk = sim_disk_of(run->world, data_node_id(run, 0));
    return run->swarm.data_nodes == 1 &&
           (sim_disk_overlaid(disk, "D1/sysfile.0") || sim_disk_overlaid(disk, "D1/sysfile.1"));
}

static void decided(struct run *run, uint32_t start_type, uint32_t gci)
{
    struct durability *d = &run->durability;
    if (!d->down || start_type == START_INITIAL_NODE_RESTART) return; /* The first start. */
    if (start_type != START_SYSTEM_RESTART) {
        run_fail(run, SIM_CORRECTNESS, "the cluster begins anew although it has data");
        return;
    }
    uint32_t newest = d->declared > d->promised ? d->declared : d->promised;
    if (gci + 1u == newest && !d->orderly && system_file_hides(run)) {
        d->damaged = true;
        return;
    }
    if (gci < newest) /* I-SIM-7 */
        run_fail(run, SIM_CORRECTNESS,
                 "the cluster comes back with GCI %u although %u was declared durable", gci,
                 newest);
    uint32_t acked = (uint32_t)(run->epochs.acked >> 32);
    if (d->orderly && gci < acked)
        run_fail(run, SIM_CORRECTNESS,
                 "the cluster was stopped in good order and comes back with GCI %u although "
                 "commits of %u were answered",
                 gci, acked);
    if (gci < d->recovered) d->recovered = gci;
}

/* All were stopped in good order: all system files say the same, and name all nodes. A start that
 * was cut off has written a newer incarnation. */
static void at_rest(struct run *run, const struct cntr_start_req *req)
{
    struct durability *d = &run->durability;
    if (run->swarm.failures || run->tamper.on || !d->orderly || !d->at_rest) return;
    if (d->rest_incarnation == 0) {
        d->rest_incarnation = req->data_incarnation;
        d->rest_gci = req->gci;
    }
    if (req->data_incarnation != d->rest_incarnation) return;
    if (req->gci != d->rest_gci || node_mask_count(&req->members) != run->swarm.data_nodes)
        run_fail(run, SIM_CORRECTNESS,
                 "after an orderly stop one system file has GCI %u with %u nodes and another one "
                 "GCI %u",
                 req->gci, node_mask_count(&req->members), d->rest_gci);
}

static void declared(struct run *run, uint32_t gci)
{
    if (gci > run->durability.declared) run->durability.declared = gci;
}

void lives_observe(struct run *run, const uint32_t *words)
{
    const void *payload = words + SIGNAL_HEAD_WORDS;
    if (!run->swarm.disk) return;
    switch (kind_gsn(words[0])) {
    case GSN_CNTR_START_CONF: {
        const struct cntr_start_conf *conf = payload;
        if (!run->tamper.on) decided(run, conf->start_type, conf->gci);
        return;
    }
    case GSN_CNTR_START_REQ:
        at_rest(run, payload);
        return;
    case GSN_SYSFILE_START_REQ: { /* Within a node: what it believes of a damaged CNTR_START_CONF.
                                   */
        uint32_t gci = ((const struct sysfile_start_req *)payload)->gci;
        if (run->tamper.on) decided(run, gci == 0 ? START_INITIAL : START_SYSTEM_RESTART, gci);
        return;
    }
    case GSN_GCP_NODE_DURABLE_REP:
        if (run->tamper.on) return;
        declared(run, ((const struct gcp_node_durable_rep *)payload)->gci);
        return;
    case GSN_GCP_DURABLE_REP:
        declared(run, ((const struct gcp_durable_rep *)payload)->gci);
        return;
    default:
        return;
    }
}
