/* sim_world.c -- the scheduler: draws what runs next, moves the clock when nothing can, applies the
 * plan. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/sim/sim_state.h"

void *sim_alloc(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) abort(); /* The host of the simulation, not the simulated memory. */
    return memory;
}

void sim_options_defaults(struct sim_options *options)
{
    memset(options, 0, sizeof *options);
    options->cluster_id = 1;
    options->latency_min_us = 20;
    options->latency_max_us = 400;
    options->chunk_percent = 20;
    options->stream_bytes = 65536;
    options->budget_one_percent = 50;
    options->budget_max = 64;
    options->lazy_percent = 20;
    sim_disk_defaults(&options->disk);
}

struct sim_world *sim_create(const struct sim_options *options)
{
    struct sim_world *world = sim_alloc(sizeof *world);
    world->options = *options;
    uint64_t seed = options->seed;
    for (uint32_t i = 0; i < SIM_RNG_NODE; i++)
        rng_seed(&world->rng[i], rng_splitmix(&seed));
    sim_trace_init(&world->trace);
    world->plan_next_us = SIM_NEVER;
    for (uint32_t own = 0; own < SIM_NODES; own++) {
        for (uint32_t peer = 0; peer < SIM_NODES; peer++)
            world->pair[own][peer].allowed = true;
    }
    return world;
}

void sim_destroy(struct sim_world *world)
{
    sim_net_free(world);
    for (uint32_t i = 0; i < SIM_NODES; i++) {
        if (world->process[i] != NULL) sim_process_free(world->process[i]);
    }
    for (uint32_t i = 0; i < SIM_HOLDS; i++)
        free(world->held[i].words);
    sim_trace_free(&world->trace);
    free(world->task);
    free(world->wake_at);
    free(world->ready);
    free(world->tampered);
    free(world);
}

/* --- Tasks. --- */

void sim_task_add(struct sim_world *world, struct sim_task *task, enum sim_task_kind kind,
                  void *owner)
{
    if (world->task_count == world->task_size) {
        world->task_size = world->task_size == 0 ? 64 : world->task_size * 2;
        world->task = realloc(world->task, world->task_size * sizeof *world->task);
        world->ready = realloc(world->ready, world->task_size * sizeof *world->ready);
        world->wake_at = realloc(world->wake_at, world->task_size * sizeof *world->wake_at);
        if (world->task == NULL || world->ready == NULL || world->wake_at == NULL) abort();
    }
    task->kind = kind;
    task->owner = owner;
    task->ready = 0;
    task->id = world->task_count++;
    task->lazy = rng_chance(&world->rng[SIM_RNG_SCHEDULER], world->options.lazy_percent, 100);
    world->task[task->id] = task;
    world->wake_at[task->id] = SIM_NEVER;
}

void sim_task_ready(struct sim_world *world, struct sim_task *task)
{
    if (task->ready != 0) return;
    world->ready[world->ready_count++] = task;
    task->ready = world->ready_count;
}

void sim_task_at(struct sim_world *world, struct sim_task *task, uint64_t at_us)
{
    if (at_us <= world->now_us) {
        sim_task_ready(world, task);
        return;
    }
    if (at_us < world->wake_at[task->id]) world->wake_at[task->id] = at_us;
}

static void unready(struct sim_world *world, struct sim_task *task)
{
    struct sim_task *last = world->ready[--world->ready_count];
    world->ready[task->ready - 1] = last;
    last->ready = task->ready;
    task->ready = 0;
}

void sim_task_off(struct sim_world *world, struct sim_task *task)
{
    if (task->ready != 0) unready(world, task);
    world->wake_at[task->id] = SIM_NEVER;
}

/* A lazy task is passed over half of the time while others can run: so some threads and links fall
 * far behind. */
static struct sim_task *draw(struct sim_world *world)
{
    struct rng *rng = &world->rng[SIM_RNG_SCHEDULER];
    for (uint32_t tries = 0;; tries++) {
        uint64_t drawn = rng_next(rng);
        struct sim_task *task = world->ready[(drawn >> 8) % world->ready_count];
        if (!task->lazy || (drawn & 1u) != 0 || tries == 3) return task;
    }
}

/* --- The clock. --- */

/* Moves to the next time at which something becomes ready. False when there is none. */
static bool advance(struct sim_world *world)
{
    uint64_t next = world->plan_next_us;
    for (uint32_t i = 0; i < world->task_count; i++) {
        if (world->wake_at[i] < next) next = world->wake_at[i];
    }
    if (next == SIM_NEVER) return false;
    if (next > world->now_us) world->now_us = next;
    for (uint32_t i = 0; i < world->task_count; i++) {
        if (world->wake_at[i] > world->now_us) continue;
        world->wake_at[i] = SIM_NEVER;
        sim_task_ready(world, world->task[i]);
    }
    return true;
}

/* --- The plan. --- */

void sim_plan_refresh(struct sim_world *world)
{
    memset(world->plan_gsn, 0, sizeof world->plan_gsn);
    world->plan_next_us = SIM_NEVER;
    for (uint32_t i = 0; i < world->plan.count; i++) {
        const struct sim_event *event = &world->plan.event[i];
        if (world->plan_seen[i] == UINT32_MAX) continue;
        if (event->gsn != 0) {
            if (event->gsn < GSN_TABLE) world->plan_gsn[event->gsn] = 1;
        } else if (event->at_us < world->plan_next_us) {
            world->plan_next_us = event->at_us;
        }
    }
}

void sim_set_plan(struct sim_world *world, const struct sim_plan *plan)
{
    world->plan = *plan;
    memset(world->plan_seen, 0, sizeof world->plan_seen);
    sim_plan_refresh(world);
}

/* A signal is about to be executed: events that wait for it happen when the round is over. */
void sim_plan_signal(struct sim_world *world, uint32_t gsn, uint32_t node)
{
    for (uint32_t i = 0; i < world->plan.count; i++) {
        const struct sim_event *event = &world->plan.event[i];
        if (world->plan_seen[i] == UINT32_MAX || event->gsn != gsn || event->node != node) continue;
        if (world->plan_seen[i] < event->nth && ++world->plan_seen[i] == event->nth)
            world->plan_due++;
    }
}

static bool event_due(const struct sim_world *world, uint32_t index)
{
    const struct sim_event *event = &world->plan.event[index];
    if (world->plan_seen[index] == UINT32_MAX) return false;
    return event->gsn != 0 ? world->plan_seen[index] == event->nth : event->at_us <= world->now_us;
}

static void apply_plan(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->plan.count; i++) {
        if (!event_due(world, i)) continue;
        world->plan_seen[i] = UINT32_MAX;
        sim_apply(world, &world->plan.event[i]);
    }
    world->plan_due = 0;
    sim_plan_refresh(world);
}

bool sim_plan_over(const struct sim_world *world)
{
    return world->plan_next_us == SIM_NEVER;
}

/* A process begins or ends. Clients' processes are the caller's, and so is what comes after. */
static void apply_life(struct sim_world *world, const struct sim_event *event)
{
    if (world->options.action != NULL)
        world->options.action(world->options.context, event);
    else if (event->action == SIM_START)
        sim_restart(world, event->arg[0]);
    else if (event->action == SIM_POWER)
        sim_power_cut(world, event->arg[0], FATES_ALL);
    else
        sim_kill(world, event->arg[0]);
}

static void apply_disk(struct sim_world *world, const struct sim_event *event)
{
    const uint32_t *arg = event->arg;
    struct sim_disk *disk = sim_disk_of(world, arg[0]);
    if (disk == NULL) return;
    if (event->action == SIM_DISK_FULL)
        sim_disk_set_capacity(disk,
                              arg[1] == 0 ? 0 : sim_disk_used(disk) + (uint64_t)arg[1] * 1024u);
    if (event->action == SIM_DISK_ERROR && arg[1] < IO_OP_COUNT)
        sim_disk_fail(disk, (enum io_op)arg[1], "", IO_DEVICE, arg[2], arg[3]);
    for (uint32_t i = 0; event->action == SIM_DISK_ROT && i < arg[1]; i++)
        sim_disk_rot_any(disk);
    if (event->action == SIM_DISK_MISDIRECT) sim_disk_misdirect_any(disk);
    if (event->action == SIM_DISK_LIE) sim_disk_lie(disk);
    if (event->action == SIM_DISK_STALL) {
        sim_disk_stall(disk, world->now_us + (uint64_t)arg[1] * 1000u);
        sim_task_ready(world, &world->process[arg[0]]->disk_task);
    }
}

void sim_apply(struct sim_world *world, const struct sim_event *event)
{
    const uint32_t *arg = event->arg;
    if (world->faults_off) return;
    if (world->options.allowed != NULL && !world->options.allowed(world->options.context, event))
        return;
    switch (event->action) {
    case SIM_CUT:
        sim_cut(world, arg[0], arg[1]);
        break;
    case SIM_STALL:
        sim_stall(world, arg[0], arg[1], (uint64_t)arg[2] * 1000u);
        break;
    case SIM_SLOW:
        sim_slow(world, arg[0], arg[1], arg[2], (uint64_t)arg[3] * 1000u);
        break;
    case SIM_HANG:
        sim_hang(world, arg[0], (uint64_t)arg[1] * 1000u);
        break;
    case SIM_SLOW_NODE:
        sim_slow_node(world, arg[0], arg[1], (uint64_t)arg[2] * 1000u);
        break;
    case SIM_STARVE:
        sim_starve(world, arg[0], (uint64_t)arg[1] * 1000u, (uint64_t)arg[2] * 1000u);
        break;
    case SIM_SLOW_LINK:
        sim_slow_link(world, arg[0], arg[1], (uint64_t)arg[2] * 1000u, (uint64_t)arg[3] * 1024u,
                      (uint64_t)arg[4] * 1000u);
        break;
    case SIM_INSERT:
        sim_insert(world, arg[0], arg[1], arg[2], arg[3]);
        break;
    case SIM_KILL:
    case SIM_HALT:
    case SIM_START:
    case SIM_POWER:
    case SIM_STOP:
    case SIM_LEAVE:
    case SIM_FORCE:
        apply_life(world, event);
        break;
    case SIM_SINGLE:
    case SIM_PACE:
    case SIM_OPTIONS:
    case SIM_KEEP:
    case SIM_SPOIL:
    case SIM_LULL:
        if (world->options.action != NULL) world->options.action(world->options.context, event);
        break;
    case SIM_POWER_OP:
        sim_power_cut_at(world, arg[0], arg[1]);
        if (arg[0] < SIM_NODES && world->process[arg[0]] != NULL) {
            world->process[arg[0]]->power_all = true;
            world->process[arg[0]]->power_ms = arg[2];
        }
        break;
    case SIM_DISK_FULL:
    case SIM_DISK_ERROR:
    case SIM_DISK_ROT:
    case SIM_DISK_MISDIRECT:
    case SIM_DISK_STALL:
    case SIM_DISK_LIE:
        apply_disk(world, event);
        break;
    case SIM_ACTION_COUNT:
        break;
    }
}

void sim_faults_off(struct sim_world *world)
{
    world->faults_off = true;
    for (uint32_t i = 0; i < world->plan.count; i++) { /* What was armed is disarmed. */
        const struct sim_event *event = &world->plan.event[i];
        if (event->action == SIM_INSERT) sim_insert(world, event->arg[0], event->arg[1], 0, 0);
    }
    world->plan.count = 0;
    sim_plan_refresh(world);
    world->options.latency_min_us = 1;
    world->options.latency_max_us = 5;
    for (uint32_t i = 0; i < world->conn_count; i++) {
        for (uint32_t side = 0; side < 2; side++) {
            sim_link_calm(world, &world->conn[i]->stream[side]);
            if (world->conn[i]->used) sim_task_ready(world, &world->conn[i]->stream[side].task);
        }
    }
    for (uint32_t i = 0; i < SIM_NODES; i++) {
        struct sim_process *process = world->process[i];
        if (process != NULL) process->hang_until = process->slow_until = 0;
        if (process == NULL || process->threads == NULL) continue;
        for (uint32_t no = 0; no < process->config.thread_count; no++)
            process->threads[no].slow_until = process->threads[no].rest_until =
                process->threads[no].round_us = 0;
        sim_disk_calm(process->disk);
        sim_task_ready(world, &process->disk_task); /* What was stalled is due. */
        process->power_at = 0;
        process->power_all = false;
    }
}

/* --- Steps. --- */

static void run(struct sim_world *world, struct sim_task *task)
{
    switch (task->kind) {
    case TASK_THREAD:
        sim_run_thread(world, task->owner);
        break;
    case TASK_CLIENT:
        sim_run_client(world, task->owner);
        break;
    case TASK_DELIVER:
        sim_run_stream(world, task->owner);
        break;
    case TASK_END:
        sim_run_end(world, task->owner);
        break;
    case TASK_ROUTE:
        sim_run_route(world, task->owner);
        break;
    case TASK_DISK:
        sim_run_disk(world, task->owner);
        break;
    }
}

bool sim_step(struct sim_world *world)
{
    if (world->verdict != SIM_OK) return false;
    if (world->ready_count == 0 && !advance(world)) return false;
    if (world->plan_due != 0 || world->plan_next_us <= world->now_us) apply_plan(world);
    if (world->ready_count == 0) return true;
    struct sim_task *task = draw(world);
    unready(world, task);
    world->steps++;
    run(world, task);
    return world->verdict == SIM_OK;
}

bool sim_run_until(struct sim_world *world, bool (*done)(void *context), void *context,
                   uint64_t until_us)
{
    uint64_t looked = 0;
    while (world->now_us < until_us) {
        bool look = world->ready_count == 0 || world->steps - looked >= 64;
        if (look && done != NULL) {
            looked = world->steps;
            if (done(context)) return true;
        }
        if (!sim_step(world)) return false;
    }
    return false;
}

uint64_t sim_now_us(const struct sim_world *world)
{
    return world->now_us;
}

uint64_t sim_signals(const struct sim_world *world)
{
    return world->trace.signals;
}

uint64_t sim_steps(const struct sim_world *world)
{
    return world->steps;
}

uint64_t sim_hash(const struct sim_world *world)
{
    return sim_trace_hash(&world->trace);
}

struct rng *sim_rng(struct sim_world *world, enum sim_stream_no which)
{
    return &world->rng[which];
}

void sim_fail(struct sim_world *world, enum sim_verdict verdict, const char *format, ...)
{
    if (world->verdict != SIM_OK) return;
    va_list args;
    va_start(args, format);
    vsnprintf(world->text, sizeof world->text, format, args);
    va_end(args);
    world->verdict = verdict;
}

enum sim_verdict sim_verdict_of(const struct sim_world *world)
{
    return world->verdict;
}

const char *sim_failure_text(const struct sim_world *world)
{
    return world->text;
}

bool sim_goodbye_lost(const struct sim_world *world, uint32_t from, uint32_t to)
{
    const struct sim_process *process = world->process[from];
    return process != NULL && node_mask_has(&process->unheard, to);
}

uint32_t sim_link_downs(const struct sim_world *world)
{
    return world->link_downs;
}
