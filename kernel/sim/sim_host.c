/* sim_host.c -- processes: what a node may ask of the world, its threads' rounds, its end and its
 * next life. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/sim/sim_state.h"

#define WAIT_US 10u

static struct sim_process *process_of(struct host *host)
{
    return (struct sim_process *)host;
}

static uint64_t host_realtime_us(struct host *host)
{
    return process_of(host)->world->now_us;
}

static void host_wake(struct host *host, uint32_t thread_no)
{
    struct sim_process *process = process_of(host);
    if (process->threads != NULL) sim_task_ready(process->world, &process->threads[thread_no].task);
}

static struct sim_held *held_of(struct sim_world *world, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < SIM_HOLDS; i++) {
        if (world->held[i].from == from && world->held[i].to == to) return &world->held[i];
    }
    return NULL;
}

static void keep(struct sim_held *held, const uint32_t *words, uint32_t count)
{
    if (held->used + count > held->size) {
        held->size = (held->used + count) * 2;
        held->words = realloc(held->words, held->size * sizeof *held->words);
        if (held->words == NULL) abort();
    }
    memcpy(held->words + held->used, words, count * sizeof *words);
    held->used += count;
}

/* How many of the words go on; the rest is kept. */
static uint32_t hold_back(struct sim_held *held, const uint32_t *words, uint32_t count)
{
    uint32_t at = 0;
    while (!held->holding && at < count) {
        if (held->gsn == 0 || kind_gsn(words[at]) == held->gsn)
            held->holding = true;
        else
            at += words[at + 3];
    }
    if (held->holding) keep(held, words + at, count - at);
    return at;
}

static void host_link_send(struct host *host, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                           const uint32_t *words, uint32_t count)
{
    struct sim_process *process = process_of(host);
    (void)thread_no;
    struct sim_held *held = held_of(process->world, process->id, peer);
    if (held != NULL) count = hold_back(held, words, count);
    if (count > 0) sim_net_send(process, peer, epoch, words, count);
}

static void host_link_close(struct host *host, uint32_t peer, uint32_t epoch, const char *reason)
{
    sim_net_close(process_of(host), peer, epoch, reason);
}

static void host_link_allow(struct host *host, uint32_t peer, uint32_t allowed)
{
    sim_net_allow(process_of(host), peer, allowed != 0);
}

static void host_io_submit(struct host *host, struct io_request *request)
{
    struct sim_process *process = process_of(host);
    sim_disk_submit(process->disk, request, process->world->now_us);
    sim_task_at(process->world, &process->disk_task, sim_disk_next(process->disk));
}

static uint64_t host_seed(struct host *host)
{
    return rng_next(&process_of(host)->rng);
}

static void host_log(struct host *host, enum log_level level, const char *text)
{
    struct sim_process *process = process_of(host);
    const struct sim_options *options = &process->world->options;
    if (options->log != NULL) options->log(options->context, process->id, level, text);
}

static void __attribute__((noreturn))
host_fail(struct host *host, const struct node_failure *failure)
{
    struct sim_process *process = process_of(host);
    struct sim_world *world = process->world;
    process->exit.code = failure->exit_code;
    process->exit.file = failure->file;
    process->exit.line = failure->line;
    snprintf(process->exit.text, sizeof process->exit.text, "%s", failure->text);
    bool announced = world->options.announced != NULL &&
                     world->options.announced(world->options.context, process->id, failure);
    if (!announced) {
        sim_fail(world, SIM_CRASH, "node %u thread %u stopped with code %u at %s:%u: %s",
                 process->id, failure->thread_no, failure->exit_code, failure->file, failure->line,
                 failure->text);
    }
    char line[300];
    snprintf(line, sizeof line, "ends with code %u at %s:%u: %s", failure->exit_code, failure->file,
             failure->line, failure->text);
    host_log(host, LOG_LEVEL_ERROR, line);
    if (world->running != process) abort(); /* A node must not run behind the world's back. */
    longjmp(world->on_fail, 1);
}

static void host_stopped(struct host *host, uint32_t restart_flags)
{
    struct sim_process *process = process_of(host);
    process->exit.stopped = true;
    process->exit.restart_flags = restart_flags;
    process->stopping = true;
}

/* --- Making and ending processes. --- */

static struct sim_process *process_new(struct sim_world *world, uint32_t id, uint32_t role)
{
    if (id == 0 || id >= SIM_NODES || world->process[id] != NULL)
        abort(); /* The caller's mistake. */
    struct sim_process *process = sim_alloc(sizeof *process);
    process->host = (struct host){
        .realtime_us = host_realtime_us,
        .wake = host_wake,
        .link_send = host_link_send,
        .link_close = host_link_close,
        .link_allow = host_link_allow,
        .io_submit = host_io_submit,
        .seed = host_seed,
        .log = host_log,
        .fail = host_fail,
        .stopped = host_stopped,
    };
    process->world = world;
    process->id = id;
    process->role = role;
    uint64_t seed = world->options.seed ^ ((uint64_t)id << 32 | SIM_RNG_NODE);
    rng_seed(&process->rng, rng_splitmix(&seed));
    world->process[id] = process;
    for (uint32_t own = 0; own < SIM_NODES; own++)
        world->pair[own][id].allowed = sim_net_welcome(world, id);
    return process;
}

static void see(void *context, uint32_t thread_no, const uint32_t *words)
{
    sim_seen(context, thread_no, words);
}

void sim_seen(struct sim_process *process, uint32_t thread_no, const uint32_t *words)
{
    struct sim_world *world = process->world;
    uint32_t gsn = kind_gsn(words[0]);
    sim_trace_add(&world->trace, world->now_us, process->id, thread_no, words);
    if (gsn < GSN_TABLE && world->plan_gsn[gsn] != 0) sim_plan_signal(world, gsn, process->id);
    if (world->options.observe != NULL)
        world->options.observe(world->options.context, process->id, thread_no, words);
}

static void node_begin(struct sim_process *process)
{
    struct node_options options = {
        .host = &process->host,
        .gsn_name = process->world->options.gsn_name,
        .describe = process->world->options.describe,
    };
    process->node = node_create(&process->config, &options);
    if (process->node == NULL) abort();
    node_observe(process->node, see, process);
    process->data.build(process->node);
}

static void process_begin(struct sim_process *process)
{
    struct sim_world *world = process->world;
    process->incarnation = rng_next(&process->rng) | 1u;
    process->alive = true;
    process->stopping = false;
    process->hang_until = 0;
    process->slow_until = 0;
    process->starve_until = 0;
    process->unheard = (struct node_mask){{0}};
    memset(&process->exit, 0, sizeof process->exit);
    if (process->calls != NULL) {
        sim_task_ready(world, &process->task);
        return;
    }
    world->running = process;
    if (setjmp(world->on_fail) == 0) node_begin(process);
    world->running = NULL;
    if (process->exit.code != 0) return;
    for (uint32_t no = 0; no < process->config.thread_count; no++) {
        process->threads[no].rest_until = process->threads[no].round_us = 0;
        sim_task_ready(world, &process->threads[no].task);
    }
}

static void disk_begin(struct sim_process *process)
{
    struct sim_disk_options options = process->world->options.disk;
    uint64_t seed = process->world->options.seed ^ ((uint64_t)process->id << 32 | 0xD15Cu);
    options.seed = rng_splitmix(&seed);
    process->disk = sim_disk_create(&options);
    sim_task_add(process->world, &process->disk_task, TASK_DISK, process);
}

void sim_add_data(struct sim_world *world, const struct sim_data_options *options)
{
    struct sim_process *process = process_new(world, options->config->own_node, LINK_ROLE_DATA);
    process->data = *options;
    process->config = *options->config;
    process->data.config = &process->config;
    process->threads = sim_alloc(process->config.thread_count * sizeof *process->threads);
    for (uint32_t no = 0; no < process->config.thread_count; no++) {
        struct sim_thread *thread = &process->threads[no];
        thread->process = process;
        thread->no = no;
        sim_task_add(world, &thread->task, TASK_THREAD, thread);
    }
    disk_begin(process);
    process_begin(process);
    sim_routes_add(world, process);
}

void sim_add_client(struct sim_world *world, uint32_t node, const struct sim_client_calls *calls,
                    void *context)
{
    struct sim_process *process = process_new(world, node, LINK_ROLE_API);
    process->calls = calls;
    process->context = context;
    sim_task_add(world, &process->task, TASK_CLIENT, process);
    process_begin(process);
    sim_routes_add(world, process);
}

static void process_end(struct sim_process *process)
{
    struct sim_world *world = process->world;
    process->alive = false;
    sim_net_kill(process);
    if (process->calls != NULL) {
        sim_task_off(world, &process->task);
        return;
    }
    for (uint32_t no = 0; no < process->config.thread_count; no++)
        sim_task_off(world, &process->threads[no].task);
    sim_task_off(world, &process->disk_task);
    sim_disk_detach(process->disk); /* Before the memory goes that its requests name. */
    node_destroy(process->node);
    process->node = NULL;
}

void sim_sweep(struct sim_world *world, struct sim_process *process)
{
    world->running = NULL;
    if (!process->alive) return;
    if (!process->stopping && process->exit.code == 0) return;
    this_jam = &world->jam;
    process_end(process);
}

void sim_kill(struct sim_world *world, uint32_t node)
{
    if (sim_alive(world, node)) process_end(world->process[node]);
}

struct sim_disk *sim_disk_of(struct sim_world *world, uint32_t node)
{
    return node < SIM_NODES && world->process[node] != NULL ? world->process[node]->disk : NULL;
}

struct node_config *sim_config(struct sim_world *world, uint32_t node)
{
    return &world->process[node]->config;
}

void sim_power_cut(struct sim_world *world, uint32_t node, uint32_t fates_allowed)
{
    struct sim_disk *disk = sim_disk_of(world, node);
    if (disk == NULL) return;
    world->process[node]->power_at = 0;
    sim_kill(world, node);
    sim_disk_crash(disk, fates_allowed);
}

void sim_power_cut_at(struct sim_world *world, uint32_t node, uint64_t operation)
{
    const struct sim_disk *disk = sim_disk_of(world, node);
    if (disk == NULL) return;
    world->process[node]->power_at = operation == 0 ? 0 : sim_disk_operations(disk) + operation;
}

bool sim_restart(struct sim_world *world, uint32_t node)
{
    struct sim_process *process = node < SIM_NODES ? world->process[node] : NULL;
    if (process == NULL || process->alive) return false;
    process_begin(process);
    sim_net_revive(process);
    return true;
}

void sim_process_free(struct sim_process *process)
{
    if (process->node != NULL) node_destroy(process->node);
    sim_disk_destroy(process->disk);
    free(process->threads);
    free(process);
}

bool sim_alive(const struct sim_world *world, uint32_t node)
{
    return node < SIM_NODES && world->process[node] != NULL && world->process[node]->alive;
}

struct node *sim_node(struct sim_world *world, uint32_t node)
{
    return sim_alive(world, node) ? world->process[node]->node : NULL;
}

const struct sim_exit *sim_exit_of(const struct sim_world *world, uint32_t node)
{
    return &world->process[node]->exit;
}

/* --- Rounds. --- */

void sim_node_touched(struct sim_process *process)
{
    sim_task_ready(process->world, &process->threads[process->data.link_thread].task);
}

/* A slow round is not a small one. */
#define SLOW_BUDGET 256u

static uint32_t draw_budget(struct sim_world *world, const struct sim_process *process)
{
    uint64_t drawn = rng_next(&world->rng[SIM_RNG_SCHEDULER]);
    if (process->slow_until > world->now_us) return SLOW_BUDGET;
    if ((uint32_t)(drawn % 100u) < world->options.budget_one_percent) return 1;
    return 1u + (uint32_t)((drawn >> 32) % world->options.budget_max);
}

#define TURN_US      3000u
#define GAP_FIRST_US 30000u

/* When the process has a processor again; at once, unless it is starved. */
static uint64_t turn_of(struct sim_world *world, struct sim_process *process)
{
    uint64_t now = world->now_us;
    if (process->starve_until <= now) return now;
    if (now >= process->turn_next_us) {
        process->turn_us = now;
        process->turn_next_us =
            now + TURN_US + process->gap_us - rng_below(&process->rng, process->gap_us / 4u + 1u);
        process->gap_us += process->gap_us / 2u;
        if (process->gap_us > process->gap_max_us) process->gap_us = process->gap_max_us;
    }
    return now < process->turn_us + TURN_US ? now : process->turn_next_us;
}

/* It has begun, and what it does is seen when it ends. */
static bool round_takes_place(struct sim_world *world, struct sim_thread *thread)
{
    struct sim_process *process = thread->process;
    if (process->slow_until > world->now_us && thread->round_us == 0)
        thread->round_us = world->now_us + process->slow_round_us;
    if (thread->round_us > world->now_us) {
        sim_task_at(world, &thread->task, thread->round_us);
        return false;
    }
    thread->round_us = 0;
    return true;
}

void sim_run_thread(struct sim_world *world, struct sim_thread *thread)
{
    struct sim_process *process = thread->process;
    if (thread->rest_until < process->hang_until) thread->rest_until = process->hang_until;
    if (thread->rest_until > world->now_us) {
        sim_task_at(world, &thread->task, thread->rest_until);
        return;
    }
    uint64_t turn_us = turn_of(world, process);
    if (turn_us > world->now_us) {
        sim_task_at(world, &thread->task, turn_us);
        return;
    }
    if (!round_takes_place(world, thread)) return;
    struct thread *real = node_thread(process->node, thread->no);
    uint32_t budget = draw_budget(world, process);
    world->running = process;
    if (setjmp(world->on_fail) == 0) {
        struct thread_result result = thread_run_once(real, world->now_us / 1000u, budget);
        if (result.timer_next_ms != UINT64_MAX)
            sim_task_at(world, &thread->task, result.timer_next_ms * 1000u);
        world->idle_round = result.executed == 0;
    }
    sim_sweep(world, process);
    if (!process->alive) return;
    if (thread_has_work(real)) {
        /* Nothing done although there is work: it waits for a slower thread to make room. Let time
         * pass. */
        if (world->idle_round)
            sim_task_at(world, &thread->task, world->now_us + WAIT_US);
        else
            sim_task_ready(world, &thread->task);
    }
    if (world->now_us < thread->slow_until) thread->rest_until = world->now_us + thread->rest_us;
}

void sim_run_client(struct sim_world *world, struct sim_process *process)
{
    if (!process->alive) return;
    if (process->hang_until > world->now_us) {
        sim_task_at(world, &process->task, process->hang_until);
        return;
    }
    uint64_t next = process->calls->run(process->context, world->now_us);
    if (next <= world->now_us)
        sim_task_ready(world, &process->task);
    else if (next != SIM_NEVER)
        sim_task_at(world, &process->task, next);
}

static void power_goes(struct sim_world *world, struct sim_process *process)
{
    struct sim_event event = {.action = SIM_POWER_OP, .arg = {process->id, 0, process->power_ms}};
    bool all = process->power_all && world->options.action != NULL;
    process->power_at = 0;
    process->power_all = false;
    if (all)
        world->options.action(world->options.context, &event);
    else
        sim_power_cut(world, process->id, FATES_ALL);
}

/* One answer of the disk at a time: other things may happen between two of them. */
void sim_run_disk(struct sim_world *world, struct sim_process *process)
{
    if (!process->alive) return;
    if (process->hang_until > world->now_us) {
        sim_task_at(world, &process->disk_task, process->hang_until);
        return;
    }
    struct io_request *request = sim_disk_take(process->disk, world->now_us);
    const char *violation = sim_disk_violation(process->disk);
    if (violation != NULL)
        sim_fail(world, SIM_CORRECTNESS, "node %u, files: %s", process->id, violation);
    if (process->power_at != 0 && sim_disk_operations(process->disk) >= process->power_at) {
        power_goes(world, process);
        if (!process->alive) return; /* A scenario may only look, and go on. */
    }
    if (request != NULL) node_io_done(process->node, request);
    uint64_t next = sim_disk_next(process->disk);
    if (next != SIM_NEVER) sim_task_at(world, &process->disk_task, next);
}

void sim_client_wake(struct sim_world *world, uint32_t node)
{
    if (sim_alive(world, node)) sim_task_ready(world, &world->process[node]->task);
}

bool sim_client_send(struct sim_world *world, uint32_t from, uint32_t peer, uint32_t epoch,
                     const uint32_t *words, uint32_t count)
{
    return sim_net_send(world->process[from], peer, epoch, words, count);
}

void sim_client_close(struct sim_world *world, uint32_t from, uint32_t peer, const char *reason)
{
    sim_net_close(world->process[from], peer, 0, reason);
}

static void check_node(struct sim_world *world, struct sim_process *process)
{
    world->running = process;
    if (setjmp(world->on_fail) == 0) node_check(process->node);
    sim_sweep(world, process);
}

void sim_check_nodes(struct sim_world *world)
{
    for (uint32_t id = 1; id < SIM_NODES; id++) {
        if (sim_node(world, id) != NULL) check_node(world, world->process[id]);
    }
}

/* --- Faults inside a node, and holds. --- */

void sim_slow(struct sim_world *world, uint32_t node, uint32_t thread_no, uint64_t gap_us,
              uint64_t for_us)
{
    if (sim_node(world, node) == NULL || thread_no >= world->process[node]->config.thread_count)
        return;
    struct sim_thread *thread = &world->process[node]->threads[thread_no];
    thread->rest_us = gap_us;
    thread->slow_until = world->now_us + for_us;
}

void sim_slow_node(struct sim_world *world, uint32_t node, uint32_t times, uint64_t for_us)
{
    if (sim_node(world, node) == NULL) return;
    world->process[node]->slow_round_us = (uint64_t)times * SIM_ROUND_US;
    world->process[node]->slow_until = world->now_us + for_us;
}

static void starve(struct sim_process *process, uint64_t gap_us, uint64_t for_us)
{
    uint64_t now = process->world->now_us;
    process->starve_until = now + for_us;
    process->turn_us = process->turn_next_us = now;
    process->gap_max_us = gap_us;
    process->gap_us = gap_us < GAP_FIRST_US ? gap_us : GAP_FIRST_US;
}

void sim_starve(struct sim_world *world, uint32_t node, uint64_t gap_us, uint64_t for_us)
{
    for (uint32_t id = 1; id < SIM_NODES; id++) {
        if ((node == 0 || node == id) && sim_node(world, id) != NULL)
            starve(world->process[id], gap_us, for_us);
    }
}

void sim_hang(struct sim_world *world, uint32_t node, uint64_t us)
{
    if (sim_alive(world, node)) world->process[node]->hang_until = world->now_us + us;
}

void sim_insert(struct sim_world *world, uint32_t node, uint32_t block_no, uint32_t number,
                uint32_t extra)
{
    struct node *target = sim_node(world, node);
    if (target == NULL) return;
    for (uint32_t instance = 0; instance <= 64; instance++) {
        struct block *block = node_block(target, block_no, instance);
        if (block != NULL) block_tamper(block, number, extra);
    }
}

void sim_hold(struct sim_world *world, uint32_t from, uint32_t to, uint32_t gsn)
{
    struct sim_held *held = held_of(world, from, to);
    for (uint32_t i = 0; held == NULL && i < SIM_HOLDS; i++) {
        if (world->held[i].from == 0) held = &world->held[i];
    }
    if (held == NULL) abort();
    held->from = from;
    held->to = to;
    held->gsn = gsn;
}

bool sim_held(const struct sim_world *world, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < SIM_HOLDS; i++) {
        const struct sim_held *held = &world->held[i];
        if (held->from == from && held->to == to) return held->holding;
    }
    return false;
}

void sim_release(struct sim_world *world, uint32_t from, uint32_t to)
{
    struct sim_held *held = held_of(world, from, to);
    if (held == NULL) return;
    const struct sim_pair *pair = &world->pair[from][to];
    if (held->used > 0 && pair->end != NULL)
        sim_net_send(world->process[from], to, pair->end->epoch, held->words, held->used);
    held->from = held->to = held->gsn = held->used = 0;
    held->holding = false;
}
