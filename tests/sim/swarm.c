/* swarm.c -- draws topology, limits, load and faults of a run from its seed; each run leaves
 * something out. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "ndbmtd/layout.h"
#include "values/errors.h"
#include "values/table_def.h"
#include "tests/sim/failures.h"

static uint32_t between(struct rng *rng, uint32_t least, uint32_t most)
{
    return least + (uint32_t)rng_below(rng, most - least + 1u);
}

static void draw_topology(struct swarm *swarm, struct rng *rng)
{
    static const struct {
        uint32_t nodes, replicas;
    } shapes[] = {{1, 1}, {1, 1}, {2, 1}, {2, 2}, {2, 2}, {2, 2}, {4, 1},
                  {4, 2}, {4, 2}, {4, 4}, {3, 3}, {3, 3}, {6, 3}};
    uint64_t shape = rng_below(rng, sizeof shapes / sizeof shapes[0]);
    swarm->data_nodes = shapes[shape].nodes;
    swarm->replicas = shapes[shape].replicas;
    swarm->split = rng_chance(rng, 1, 2);
    swarm->ldm = between(rng, 1, 4);
    swarm->tc = between(rng, 1, 3);
    swarm->id_first = between(rng, 1, 3);
    swarm->id_step = between(rng, 1, 4);
    swarm->clients = between(rng, 1, CLIENTS_MAX);
    swarm->sessions = between(rng, 1, SESSIONS_MAX);
    swarm->jobs = rng_chance(rng, 1, 3) ? between(rng, 200, 600) : between(rng, 20, 200);
}

static void draw_load(struct swarm *swarm, struct rng *rng)
{
    for (uint32_t i = 0; i < WORK_PROGRAM; i++)
        swarm->weight[i] = rng_chance(rng, 1, 3) ? 0 : between(rng, 1, 10);
    if (swarm->weight[WORK_SCHEMA] > 2) swarm->weight[WORK_SCHEMA] = 2;
    if (swarm->weight[WORK_FILL] > 2) swarm->weight[WORK_FILL] = 2;
    if (swarm->weight[WORK_BANK] + swarm->weight[WORK_REGISTER] + swarm->weight[WORK_CHURN] == 0)
        swarm->weight[WORK_CHURN] = 5;
    swarm->accounts = between(rng, 2, 8);
    swarm->registers = between(rng, 1, 6);
    swarm->statics = between(rng, 1, 150);
    swarm->churn_tables = between(rng, 1, 2);
    swarm->churn_keys = between(rng, 4, 40);
    for (uint32_t i = 0; i < TABLES_MAX; i++)
        swarm->key_kind[i] = (uint32_t)rng_below(rng, 4);
    swarm->table_flags = TABLE_FLAGS_DEFAULT;
    if (rng_chance(rng, 1, 2)) swarm->table_flags &= ~(uint32_t)TABLE_READ_BACKUP;
    swarm->pad_max = rng_chance(rng, 1, 4) ? between(rng, 1000, 3000) : between(rng, 0, 200);
}

static void draw_faults(struct swarm *swarm, struct rng *rng)
{
    swarm->faults = 0;
    if (rng_chance(rng, 1, 3)) return; /* A quiet world. */
    for (uint32_t fault = FAULT_CUT; fault <= FAULT_KILL; fault *= 2)
        swarm->faults |= rng_chance(rng, 1, 2) ? fault : 0;
    swarm->faults |= rng_chance(rng, 1, 3) ? FAULT_INSERT : 0;
    if (swarm->data_nodes > 1 && rng_chance(rng, 1, 15)) swarm->faults |= FAULT_DATA_CUT;
}

static void tiny_limits(struct node_config *config, struct rng *rng)
{
    config->transactions_max = between(rng, 4, 24);
    config->operations_max = between(rng, 40, 200);
    config->scans_max = between(rng, 2, 6);
    config->frag_scans_max = between(rng, 8, 20);
    config->batch_rows = between(rng, 1, 4);
    config->batch_bytes = between(rng, 1000, 4000);
    config->scan_step_rows = 1;
    config->job_queue_signals = between(rng, 4, 16);
    config->flush_words = between(rng, 1, 64);
}

static void draw_config(struct swarm *swarm, struct rng *rng)
{
    struct node_config *config = &swarm->config;
    node_config_defaults(config);
    config->replicas = swarm->replicas;
    config->cluster_id = 77;
    config->generation = 1;
    config->ldm_count = swarm->ldm;
    config->tc_count = swarm->tc;
    config->thread_count = swarm->split ? layout_split_threads(swarm->ldm, swarm->tc) : 1;
    config->overflow_segments = 8;
    config->job_queue_words = 2u * SIGNAL_EXTENT_MAX;
    config->delayed_max = 1024;
    config->deadlock_timeout_ms = between(rng, 20, 1200);
    if (rng_chance(rng, 1, 4)) config->inactive_timeout_ms = between(rng, 500, 3000);
    /* Node groups in the order of the ids, as many members as there are replicas. */
    for (uint32_t i = 0; i < swarm->data_nodes; i++)
        config->node[swarm->id_first + i * swarm->id_step] =
            (struct config_node){.type = NODE_DATA, .nodegroup = i / swarm->replicas};
    for (uint32_t i = 0; i < CLIENTS_MAX; i++)
        config->node[CLIENT_NODE + i].type = NODE_API;
    swarm->tiny = rng_chance(rng, 1, 3);
    swarm->small_data = rng_chance(rng, 1, 3);
    if (swarm->tiny) tiny_limits(config, rng);
    config->memory.pages_max[RG_DATA] = 3200;
    if (!swarm->small_data) return;
    /* Each fragment of each table takes three pages or so, whatever its rows. */
    config->memory.pages_max[RG_DATA] = 20u * swarm->ldm * swarm->replicas + between(rng, 40, 120);
    swarm->pad_max = between(rng, 1500, 3500);
    swarm->weight[WORK_FILL] = between(rng, 1, 5);
}

static void draw_world(struct swarm *swarm, struct rng *rng)
{
    struct sim_options *options = &swarm->options;
    sim_options_defaults(options);
    options->seed = swarm->seed;
    options->cluster_id = 77;
    options->latency_max_us = options->latency_min_us + between(rng, 0, 2000);
    options->chunk_percent = rng_chance(rng, 1, 3) ? 0 : between(rng, 1, 80);
    options->stream_bytes = 4096u << rng_below(rng, 5);
    options->budget_one_percent = between(rng, 0, 80);
    options->budget_max = between(rng, 1, 256);
    options->lazy_percent = rng_chance(rng, 1, 3) ? 0 : between(rng, 1, 60);
}

bool swarm_has_files(uint64_t seed)
{
    uint64_t mix = seed;
    return rng_splitmix(&mix) % 2u == 0;
}

/* Small logs that wrap, small buffers, frequent GCIs and checkpoints, slow disks; small clusters
 * and short runs. */
void swarm_draw_disk(struct swarm *swarm)
{
    struct rng rng;
    struct node_config *config = &swarm->config;
    struct sim_disk_options *disk = &swarm->options.disk;
    rng_seed(&rng, swarm->seed * 2u + 0xD15C0000u);
    swarm->disk = true;
    swarm->orderly = false;
    if (swarm->clients > 2) swarm->clients = 2;
    if (swarm->sessions > 3) swarm->sessions = 3;
    swarm->jobs = between(&rng, 10, 50);
    if (swarm->churn_keys > 12) swarm->churn_keys = 12;
    if (swarm->statics > 20) swarm->statics = 20;
    swarm->faults &= ~(uint32_t)(FAULT_DATA_CUT | FAULT_INSERT);
    if (rng_chance(&rng, 1, 5)) swarm->faults |= FAULT_DISK_ERROR;
    if (rng_chance(&rng, 1, 8)) swarm->faults |= FAULT_DISK_DAMAGE;
    config->diskless = 0;
    config->redo_files = between(&rng, 3, 5);
    config->redo_file_bytes = 4096u * between(&rng, 16, 48);
    config->redo_buffer_bytes = 4096u * between(&rng, 32, 64);
    config->redo_zero = (uint32_t)rng_below(&rng, 2);
    config->gci_ms = between(&rng, 20, 600);
    config->epoch_ms = between(&rng, 10, 100);
    config->lcp_growth_log2 = between(&rng, 6, 16);
    disk->latency_min_us = between(&rng, 1, 100);
    disk->latency_mean_us = between(&rng, 1, 1500);
    disk->stall_per_10000 = rng_chance(&rng, 1, 2) ? 0 : between(&rng, 1, 40);
    disk->stall_us = between(&rng, 1000, 300000);
    disk->buffered = rng_chance(&rng, 1, 3);
}

/* With dice of its own: plans of before draw the same as ever. */
static void draw_programs(struct swarm *swarm, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed ^ 0x70726F6772616D73u);
    swarm->programs = swarm->counters = rng_chance(&rng, 2, 3);
    swarm->weight[WORK_PROGRAM] = swarm->programs ? between(&rng, 1, 10) : 0;
}

static void draw_indexes(struct swarm *swarm, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed ^ 0x696E6465786573u);
    swarm->weight[WORK_INDEX] = rng_chance(&rng, 1, 3) ? 0 : between(&rng, 1, 3);
    if (rng_chance(&rng, 1, 2)) swarm->config.scan_step_rows = between(&rng, 1, 6);
}

static void draw_numbers(struct swarm *swarm, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed ^ 0x636F756E74657273u);
    swarm->weight[WORK_NUMBER] = rng_chance(&rng, 1, 2) ? 0 : between(&rng, 1, 6);
}

static void draw_changes(struct swarm *swarm, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed ^ 0x6368616E676573u);
    swarm->weight[WORK_ALTER] = rng_chance(&rng, 1, 3) ? 0 : between(&rng, 1, 2);
}

static void draw_drops(struct swarm *swarm, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed ^ 0x756E6971756573u);
    swarm->weight[WORK_UNIQUE] = rng_chance(&rng, 1, 2) ? 0 : 1;
}

static void draw_own(struct swarm *swarm, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed ^ 0x6F776E6E6577u);
    swarm->weight[WORK_OWN] = rng_chance(&rng, 1, 2) ? 0 : between(&rng, 1, 2);
}

/* With several groups each node has so many times more fragments, and each write so many
 * operations. */
void swarm_draw_copies(struct swarm *swarm)
{
    struct rng rng;
    struct node_config *config = &swarm->config;
    uint32_t groups = swarm->data_nodes / swarm->replicas;
    rng_seed(&rng, swarm->seed ^ 0x636F70696573u);
    swarm->copied = rng_chance(&rng, 1, 3) ? 0 : (uint32_t)rng_below(&rng, 1u << TABLES_MAX);
    if (groups == 1 || swarm->copied == 0) return;
    if (swarm->small_data) config->memory.pages_max[RG_DATA] *= groups;
    if (swarm->tiny) config->operations_max *= groups;
}

/* Little memory, which is filled until rows are refused and stays so for a while. */
void swarm_draw_full(struct swarm *swarm)
{
    struct rng rng;
    struct node_config *config = &swarm->config;
    uint32_t groups = swarm->copied == 0 ? 1 : swarm->data_nodes / swarm->replicas;
    rng_seed(&rng, swarm->seed ^ 0x66756C6Cu);
    swarm->full = swarm->small_data = true;
    config->memory.pages_max[RG_DATA] =
        (20u * swarm->ldm * swarm->replicas + between(&rng, 40, 120)) * groups;
    swarm->pad_max = between(&rng, 20, rng_chance(&rng, 1, 2) ? 400 : 3500);
    swarm->weight[WORK_FILL] = between(&rng, 2, 12);
    if (swarm->jobs < 40) swarm->jobs = 40;
}

/* Transactions of thousands of rows, which are sent in parts. Not all of them fit into records,
 * logs and memory. */
void swarm_draw_batches(struct swarm *swarm)
{
    struct rng rng;
    struct node_config *config = &swarm->config;
    rng_seed(&rng, swarm->seed ^ 0x62617463686573u);
    swarm->batch_rows = between(&rng, 1000, 4000);
    swarm->weight[WORK_BATCH] = between(&rng, 1, 3);
    config->operations_max = rng_chance(&rng, 1, 6) ? swarm->batch_rows : 256u * 1024u;
    config->redo_file_bytes = 4096u * between(&rng, 64, 1024);
    config->redo_buffer_bytes = 4096u * between(&rng, 32, 1024);
    /* Who does not read fast enough loses his link: only where links are lost anyway. */
    uint32_t buffer_kb = between(&rng, 128, 1024);
    bool cut = swarm->failures || (swarm->faults & FAULT_CUT) != 0;
    if (cut && !swarm->orderly) swarm->options.send_buffer_bytes = 1024u * buffer_kb;
    if (swarm->pad_max > 100) swarm->pad_max = 100;
    if (swarm->jobs > 30) swarm->jobs = 30;
    if (swarm->clients > 2) swarm->clients = 2;
    if (swarm->sessions > 2) swarm->sessions = 2;
}

void swarm_draw(struct swarm *swarm, uint64_t seed)
{
    struct rng rng;
    memset(swarm, 0, sizeof *swarm);
    swarm->seed = seed;
    rng_seed(&rng, seed * 2u + 1u);
    draw_topology(swarm, &rng);
    draw_load(swarm, &rng);
    draw_faults(swarm, &rng);
    draw_config(swarm, &rng);
    draw_world(swarm, &rng);
    draw_programs(swarm, seed);
    draw_indexes(swarm, seed);
    draw_numbers(swarm, seed);
    draw_changes(swarm, seed);
    draw_drops(swarm, seed);
    draw_own(swarm, seed);
}

void swarm_print(const struct swarm *swarm, char *text, uint32_t size)
{
    snprintf(
        text, size,
        "%s%s%s%snodes=%u replicas=%u ldm=%u tc=%u %s ids=%u+%u clients=%u sessions=%u jobs=%u "
        "tiny=%d pages=%u pad=%u keys=%u%u%u%u flags=%u copied=%x latency=%u chunk=%u%% stream=%u "
        "budget=%u%%/%u lazy=%u%% "
        "bank=%u audit=%u register=%u churn=%u scan=%u schema=%u fill=%u program=%u index=%u "
        "number=%u alter=%u unique=%u own=%u faults=%u",
        swarm->full ? "full " : "", swarm->young ? "young " : "", swarm->disk ? "files " : "",
        !swarm->failures ? ""
        : swarm->starved ? "starved "
        : swarm->rejoin  ? "rejoin "
                         : "failures ",
        swarm->data_nodes, swarm->replicas, swarm->ldm, swarm->tc,
        swarm->split ? "split" : "single", swarm->id_first, swarm->id_step, swarm->clients,
        swarm->sessions, swarm->jobs, (int)swarm->tiny, swarm->config.memory.pages_max[RG_DATA],
        swarm->pad_max, swarm->key_kind[0], swarm->key_kind[1], swarm->key_kind[2],
        swarm->key_kind[3], swarm->table_flags, swarm->copied, swarm->options.latency_max_us,
        swarm->options.chunk_percent, swarm->options.stream_bytes,
        swarm->options.budget_one_percent, swarm->options.budget_max, swarm->options.lazy_percent,
        swarm->weight[0], swarm->weight[1], swarm->weight[2], swarm->weight[3], swarm->weight[4],
        swarm->weight[5], swarm->weight[6], swarm->weight[WORK_PROGRAM], swarm->weight[WORK_INDEX],
        swarm->weight[WORK_NUMBER], swarm->weight[WORK_ALTER], swarm->weight[WORK_UNIQUE],
        swarm->weight[WORK_OWN], swarm->faults);
    size_t used = strlen(text);
    if (swarm->batch_rows > 0)
        snprintf(text + used, size - used, " batch=%u rows=%u", swarm->weight[WORK_BATCH],
                 swarm->batch_rows);
}

static uint32_t draw_data_node(const struct swarm *swarm, struct rng *rng)
{
    return swarm->id_first + swarm->id_step * (uint32_t)rng_below(rng, swarm->data_nodes);
}

static void draw_event(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                       uint32_t fault, uint64_t at)
{
    struct sim_event *event;
    uint32_t client = CLIENT_NODE + (uint32_t)rng_below(rng, swarm->clients);
    uint32_t node = draw_data_node(swarm, rng);
    uint32_t other = rng_chance(rng, 1, 2) ? client : draw_data_node(swarm, rng);
    uint32_t length_ms = between(rng, 1, 300);
    switch (fault) {
    case FAULT_CUT:
        event = sim_plan_at(plan, at, SIM_CUT);
        if (event == NULL) return;
        event->arg[0] = client;
        event->arg[1] = node;
        break;
    case FAULT_STALL:
        event = sim_plan_at(plan, at, SIM_STALL);
        if (event == NULL) return;
        event->arg[0] = node;
        event->arg[1] = other;
        if (rng_chance(rng, 1, 2)) {
            event->arg[0] = other;
            event->arg[1] = node;
        }
        event->arg[2] = length_ms;
        break;
    case FAULT_SLOW:
        event = sim_plan_at(plan, at, SIM_SLOW);
        if (event == NULL) return;
        event->arg[0] = node;
        event->arg[1] = (uint32_t)rng_below(rng, swarm->config.thread_count);
        event->arg[2] = between(rng, 10, 2000);
        event->arg[3] = length_ms;
        break;
    default:
        event = sim_plan_at(plan, at, SIM_KILL);
        if (event == NULL) return;
        event->arg[0] = client;
        event = sim_plan_at(plan, at + length_ms * 1000u, SIM_START);
        if (event != NULL) event->arg[0] = client;
        break;
    }
}

/* Points that may fire at any time and only mean a temporary error or a delay: armed, and disarmed
 * later. */
static void draw_insert(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                        uint32_t span_us)
{
    static const uint32_t inserts[][2] = {
        {BLOCK_DBTC, 8001},  {BLOCK_DBTC, 8002},  {BLOCK_DBTC, 8003},  {BLOCK_DBTC, 8004},
        {BLOCK_DBTC, 8005},  {BLOCK_DBLQH, 5001}, {BLOCK_DBLQH, 5002}, {BLOCK_DBLQH, 5003},
        {BLOCK_DBLQH, 5004}, {BLOCK_DBLQH, 5005}, {BLOCK_DBLQH, 5006}, {BLOCK_DBLQH, 5007},
    };
    const uint32_t *insert = inserts[rng_below(rng, sizeof inserts / sizeof inserts[0])];
    uint64_t at = rng_below(rng, span_us);
    uint32_t node = draw_data_node(swarm, rng);
    uint32_t length_us = between(rng, 1, 100000);
    for (uint32_t i = 0; i < 2; i++) {
        struct sim_event *event = sim_plan_at(plan, at + i * length_us, SIM_INSERT);
        if (event == NULL) return;
        event->arg[0] = node;
        event->arg[1] = insert[0];
        event->arg[2] = i == 0 ? insert[1] : 0;
        event->arg[3] = ERR_LQH_RESOURCE_414;
    }
}

/* One draw among the arguments at most: compilers differ in which they take first. */
static struct sim_event *event_add(struct sim_plan *plan, uint64_t at, enum sim_action action,
                                   uint32_t arg0, uint32_t arg1, uint32_t arg2, uint32_t arg3)
{
    struct sim_event *event = sim_plan_at(plan, at, action);
    static struct sim_event none;
    if (event == NULL) return &none;
    event->arg[0] = arg0;
    event->arg[1] = arg1;
    event->arg[2] = arg2;
    event->arg[3] = arg3;
    return event;
}

/* Where in a protocol the power goes. */
static void draw_position(struct sim_event *event, const struct swarm *swarm, struct rng *rng)
{
    static const uint32_t places[] = {
        GSN_COMMIT,
        GSN_COMMIT,
        GSN_LQHKEYREQ,
        GSN_COMPLETE,
        GSN_GCP_PREPARE,
        GSN_GCP_COMMIT,
        GSN_GCP_NODE_SAVEREQ,
        GSN_GCP_SAVEREQ,
        GSN_GCP_SAVECONF,
        GSN_COPY_GCIREQ,
        GSN_COPY_GCICONF,
        GSN_GCP_NODE_DURABLE_REP,
        GSN_LCP_NODE_REQ,
        GSN_LCP_PART_REQ,
        GSN_LCP_PART_CONF,
        GSN_LCP_USABLE_REQ,
        GSN_SCHEMA_STEP_REQ,
        GSN_IO_DONE_REP,
        GSN_CNTR_START_CONF,
        GSN_REDO_OPEN_REQ,
        GSN_SCHEMA_RESTART_REQ,
        GSN_RECOVER_REQ,
        GSN_SYSFILE_START_REQ,
        GSN_SCHEMA_ONLINE_REQ,
    };
    event->gsn = places[rng_below(rng, sizeof places / sizeof places[0])];
    event->node = draw_data_node(swarm, rng);
    event->nth = 1u + (uint32_t)rng_below(rng, 1u << rng_below(rng, 9));
}

static void draw_loss(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                      uint64_t at)
{
    uint32_t node = rng_chance(rng, 2, 3) ? 0 : draw_data_node(swarm, rng);
    uint32_t pause_ms = rng_chance(rng, 1, 2) ? between(rng, 0, 20) : between(rng, 0, 1500);
    uint64_t kind = rng_below(rng, 8);
    struct sim_event *event;
    if (kind == 0) {
        uint32_t operations = between(rng, 1, 200);
        event_add(plan, at, SIM_POWER_OP, draw_data_node(swarm, rng), operations, pause_ms, 0);
        return;
    }
    if (kind <= 2) {
        event_add(plan, at, SIM_STOP, draw_data_node(swarm, rng), pause_ms, 0, 0);
        return;
    }
    event = event_add(plan, at, kind < 6 ? SIM_POWER : SIM_HALT, node, pause_ms, 0, 0);
    if (rng_chance(rng, 1, 2)) draw_position(event, swarm, rng);
}

void swarm_draw_disk_fault(struct sim_plan *plan, struct rng *rng, uint32_t node, uint64_t at)
{
    static const enum io_op ops[] = {IO_OPEN, IO_READ, IO_WRITE, IO_SYNC, IO_REMOVE};
    uint32_t count;
    uint32_t skip;
    switch (rng_below(rng, 3)) {
    case 0:
        /* Without the second one there would never be room again. */
        if (plan->count + 2u > SIM_EVENTS_MAX) return;
        event_add(plan, at, SIM_DISK_FULL, node, between(rng, 1, 300), 0, 0);
        event_add(plan, at + between(rng, 1, 500) * 1000u, SIM_DISK_FULL, node, 0, 0, 0);
        break;
    case 1:
        count = between(rng, 1, 2);
        skip = between(rng, 0, 30);
        event_add(plan, at, SIM_DISK_ERROR, node, (uint32_t)ops[rng_below(rng, 5)], skip, count);
        break;
    default:
        event_add(plan, at, SIM_DISK_STALL, node, between(rng, 1, 800), 0, 0);
        break;
    }
}

static void draw_disk_plan(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                           uint32_t span_us)
{
    uint32_t losses = between(rng, 1, 4);
    for (uint32_t i = 0; i < losses; i++)
        draw_loss(plan, swarm, rng, rng_below(rng, span_us));
    uint32_t faults = (swarm->faults & FAULT_DISK_ERROR) == 0 ? 0 : between(rng, 1, 4);
    for (uint32_t i = 0; i < faults; i++) {
        uint64_t at = rng_below(rng, span_us);
        swarm_draw_disk_fault(plan, rng, draw_data_node(swarm, rng), at);
    }
    if ((swarm->faults & FAULT_DISK_DAMAGE) == 0) return;
    faults = between(rng, 1, 3);
    for (uint32_t i = 0; i < faults; i++) {
        bool rot = rng_chance(rng, 2, 3);
        uint32_t count = between(rng, 1, 3);
        uint32_t node = draw_data_node(swarm, rng);
        event_add(plan, rng_below(rng, span_us), rot ? SIM_DISK_ROT : SIM_DISK_MISDIRECT, node,
                  count, 0, 0);
    }
}

/* Some time before the cluster is lost nothing new is begun: what stands in the files then is
 * followed by nothing. */
static void draw_lulls(struct sim_plan *plan, struct rng *rng, uint64_t span_us)
{
    uint32_t count = plan->count;
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_event *loss = &plan->event[i];
        bool all = loss->action == SIM_POWER || loss->action == SIM_POWER_OP ||
                   loss->action == SIM_HALT || loss->action == SIM_STOP;
        if (!all || !rng_chance(rng, 1, 3)) continue;
        uint64_t at = loss->gsn == 0 ? loss->at_us : rng_below(rng, span_us);
        uint64_t before = rng_below(rng, 4000000);
        struct sim_event *lull = sim_plan_at(plan, at > before ? at - before : 0, SIM_LULL);
        if (lull == NULL) return;
        lull->arg[0] = (uint32_t)(before / 1000u) + between(rng, 1, 1000);
    }
}

/* A data node is killed while it works, comes back to others that do nothing any more, and then all
 * is lost: what the kill has left in its files is followed by nothing. */
static void draw_quiet_end(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng,
                           uint64_t span_us)
{
    uint64_t at = rng_below(rng, span_us);
    uint32_t lull_ms = between(rng, 1000, 5000);
    struct sim_event *event = sim_plan_at(plan, at, SIM_KILL);
    if (event == NULL) return;
    event->arg[0] = draw_data_node(swarm, rng);
    event = sim_plan_at(plan, at + between(rng, 0, 200) * 1000u, SIM_LULL);
    if (event == NULL) return;
    event->arg[0] = lull_ms;
    event = sim_plan_at(plan, at + between(rng, lull_ms / 2, lull_ms) * 1000u, SIM_POWER);
    if (event == NULL) return;
    event->arg[1] = between(rng, 0, 500);
}

static void draw_plan(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng)
{
    if (swarm->young) {
        young_draw_plan(plan, swarm);
        return;
    }
    uint32_t span_us = between(rng, 1, 6) * 500000u;
    for (uint32_t fault = FAULT_CUT; fault <= FAULT_KILL; fault *= 2) {
        if ((swarm->faults & fault) == 0) continue;
        uint32_t count = between(rng, 1, 15);
        for (uint32_t i = 0; i < count; i++)
            draw_event(plan, swarm, rng, fault, rng_below(rng, span_us));
    }
    uint32_t inserts = (swarm->faults & FAULT_INSERT) == 0 ? 0 : between(rng, 1, 8);
    for (uint32_t i = 0; i < inserts; i++)
        draw_insert(plan, swarm, rng, span_us);
    if (swarm->failures) {
        failures_draw_plan(plan, swarm, rng);
        return;
    }
    if (swarm->disk) draw_disk_plan(plan, swarm, rng, span_us);
    if ((swarm->faults & FAULT_DATA_CUT) == 0) return;
    struct sim_event *event = sim_plan_at(plan, 500000 + rng_below(rng, 1000000), SIM_CUT);
    if (event == NULL) return;
    uint32_t a = (uint32_t)rng_below(rng, swarm->data_nodes);
    uint32_t b = (a + 1 + (uint32_t)rng_below(rng, swarm->data_nodes - 1)) % swarm->data_nodes;
    event->arg[0] = swarm->id_first + swarm->id_step * a;
    event->arg[1] = swarm->id_first + swarm->id_step * b;
}

#define LULL_SPAN_US 3000000u /* The longest plan. */

void plan_draw(struct sim_plan *plan, const struct swarm *swarm, struct rng *rng)
{
    plan->count = 0;
    draw_plan(plan, swarm, rng);
    if (!swarm->disk) return;
    draw_lulls(plan, rng, LULL_SPAN_US);
    if (swarm->failures && !swarm->young && rng_chance(rng, 1, 3))
        draw_quiet_end(plan, swarm, rng, LULL_SPAN_US);
}
