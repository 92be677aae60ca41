/* recovery.c -- how long it takes: until a loss is agreed on, until what it left has been taken
 * over, until the node is back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "signals/failure.h"
#include "signals/start.h"
#include "signals/takeover.h"
#include "tests/sim/failures.h"

/* A node hangs or is cut off, or has just been: it may be waited for. */
static bool disturbed(const struct run *run)
{
    return run->failures.disturbed_until > sim_now_us(run->world);
}

void timing_add(struct run *run, struct timing *timing, uint64_t us)
{
    __atomic_fetch_add(&timing->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&timing->sum_us, us, __ATOMIC_RELAXED);
    uint64_t seen = __atomic_load_n(&timing->max_us, __ATOMIC_RELAXED);
    while (us > seen) {
        if (!__atomic_compare_exchange_n(&timing->max_us, &seen, us, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&timing->seed, run->swarm.seed, __ATOMIC_RELAXED);
        return;
    }
}

static struct failure_figures *figures_of(struct run *run)
{
    static struct failure_figures none;
    return run->failures.figures != NULL ? run->failures.figures : &none;
}

static uint32_t index_of(const struct run *run, uint32_t id)
{
    return (id - run->swarm.id_first) / run->swarm.id_step;
}

/* A fault of this kind happens to the node now. */
void recovery_fault(struct run *run, uint32_t id, enum sim_action action)
{
    struct failures *f = &run->failures;
    uint32_t i = index_of(run, id);
    if (f->fault_us[i] != 0) return; /* The first one counts. */
    f->fault_us[i] = sim_now_us(run->world);
    f->fault[i] = action;
}

void recovery_back(struct run *run, uint32_t id)
{
    struct failures *f = &run->failures;
    uint32_t i = index_of(run, id);
    f->fault_us[i] = 0;
    if (f->lives[i] > 0 && !disturbed(run))
        timing_add(run, &figures_of(run)->returned, sim_now_us(run->world) - f->born_us[i]);
}

/* A survivor hears what all have agreed on. */
static void agreed(struct run *run, const struct node_failrep *rep)
{
    struct failures *f = &run->failures;
    struct failure_figures *figures = figures_of(run);
    if (rep->verdict != 0) return;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (!node_mask_has(&rep->nodes, data_node_id(run, i)) || f->fault_us[i] == 0) continue;
        struct timing *timing = f->fault[i] == SIM_KILL   ? &figures->kill_seen
                                : f->fault[i] == SIM_HANG ? &figures->hang_seen
                                                          : &figures->cut_seen;
        if (run->swarm.starved && timing == &figures->hang_seen)
            starve_agreed(run, data_node_id(run, i), sim_now_us(run->world) - f->fault_us[i]);
        bool kill = timing == &figures->kill_seen;
        if (!kill || !disturbed(run))
            timing_add(run, timing, sim_now_us(run->world) - f->fault_us[i]);
        f->fault_us[i] = 0;
    }
}

void recovery_observe(struct run *run, uint32_t node, const uint32_t *words)
{
    struct failures *f = &run->failures;
    const void *payload = words + SIGNAL_HEAD_WORDS;
    if (!f->begun || node >= CLIENT_NODE) return;
    uint32_t i = index_of(run, node);
    switch (kind_gsn(words[0])) {
    case GSN_NODE_FAILREP:
        if (ref_block(words[1]) == BLOCK_NDBCNTR) agreed(run, payload);
        return;
    case GSN_NODE_LOST_REP:
        if (ref_block(words[1]) != BLOCK_DBDIH) return;
        if (f->lost_us[i] == 0) f->lost_us[i] = sim_now_us(run->world);
        f->lost_no[i] = ((const struct node_lost_rep *)payload)->failure_no;
        return;
    case GSN_TAKEOVER_END_REP:
        if (ref_block(words[1]) != BLOCK_NDBCNTR || f->lost_us[i] == 0 ||
            ((const struct takeover_end_rep *)payload)->failure_no < f->lost_no[i])
            return;
        if (!disturbed(run))
            timing_add(run, &figures_of(run)->taken_over, sim_now_us(run->world) - f->lost_us[i]);
        f->lost_us[i] = 0;
        return;
    default:
        return;
    }
}

void recovery_ended(struct run *run, uint32_t i)
{
    run->failures.lost_us[i] = 0;
}

void timing_print(const char *what, const struct timing *timing)
{
    if (timing->count == 0) return;
    printf("  %s: %llu, on average %.3f ms, slowest %.3f ms (seed %llu)\n", what,
           (unsigned long long)timing->count, (double)timing->sum_us / 1e3 / (double)timing->count,
           (double)timing->max_us / 1e3, (unsigned long long)timing->seed);
}

void recovery_print(const struct failure_figures *figures)
{
    timing_print("agreed on, after a kill while nobody hangs", &figures->kill_seen);
    timing_print("agreed on, after a hang", &figures->hang_seen);
    timing_print("agreed on, after a cut or a stalled link", &figures->cut_seen);
    timing_print("taken over, at each survivor, while nobody hangs", &figures->taken_over);
    timing_print("started again, from the process's begin, while nobody hangs", &figures->returned);
}
