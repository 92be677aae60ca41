/* scenario_crash_points.c -- a short workload on files, and the power cut after every single file
 * operation, with every survivor set of the unsynced writes up to a bound. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/wait.h>
#include <unistd.h>
#include "kernel/base/arena.h"
#include "kernel/sim/sim_disk.h"
#include "tests/sim/scenario.h"

#define ALL_SETS_BITS 4u /* Up to so many unsynced writes every set that survives is tried. */
/* Sets that are drawn beyond them, and among those with torn writes and garbage. */
#define DRAWN_SETS   6u
#define FATES_MAX    512u
#define SCHEMA_TABLE (TABLES_MAX - 1u)

/* Each crash goes on in a process of its own, forked at that point. */
struct enumeration {
    bool child;
    bool all;         /* At night: every operation, every set; else a sample. */
    uint32_t point;   /* File operations so far. */
    uint32_t every;   /* One in so many of these operations is tried. */
    uint32_t crashes; /* Crashes that were tried. */
    uint32_t failures;
    struct rng rng;
};

static struct enumeration points;

/* The machine loses power with exactly these fates; the others' with drawn ones. */
static void crash(struct run *run, uint32_t node, const uint8_t *fates, uint32_t count)
{
    sim_disk_land(sim_disk_of(run->world, node));
    sim_disk_crash_exact(sim_disk_of(run->world, node), fates, count);
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        if (id != node) sim_power_cut(run->world, id, FATES_ALL);
    }
    sim_kill(run->world, node);
    lives_lost(run);
    /* Now and then it goes once more, on the way back. */
    struct sim_event again = {.action = SIM_POWER_OP,
                              .arg = {node, 1 + (uint32_t)rng_below(&points.rng, 60), 50}};
    run->crash_point = NULL;
    if (rng_chance(&points.rng, 1, 4)) sim_apply(run->world, &again);
}

static void try_set(struct run *run, uint32_t node, const uint8_t *fates, uint32_t count)
{
    int status;
    points.crashes++;
    uint64_t seed = rng_next(&points.rng);
    fflush(NULL);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        alarm(120);
        points.child = true;
        rng_seed(&points.rng, seed);
        crash(run, node, fates, count);
        return;
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    points.failures++;
    fprintf(stderr, "crash after file operation %u of node %u, status %x, %u unsynced writes:",
            points.point, node, (unsigned)status, count);
    for (uint32_t i = 0; i < count; i++)
        fprintf(stderr, " %u", fates[i]);
    fprintf(stderr, "\n");
}

static void try_sets(struct run *run, uint32_t node, uint32_t count)
{
    uint8_t fates[FATES_MAX];
    bool small = count <= ALL_SETS_BITS;
    uint32_t sets = small ? 1u << count : 2;
    uint32_t drawn = count == 0 ? 0 : points.all ? DRAWN_SETS : 2;
    for (uint32_t set = 0; set < sets && !points.child; set++) {
        for (uint32_t i = 0; i < count; i++)
            fates[i] = (small ? set >> i & 1u : set) != 0 ? FATE_KEPT : FATE_LOST;
        if (points.all || set == 0 || set == sets - 1 || rng_chance(&points.rng, 1, 4))
            try_set(run, node, fates, count);
    }
    for (uint32_t set = 0; set < drawn && !points.child; set++) {
        for (uint32_t i = 0; i < count; i++)
            fates[i] = (uint8_t)rng_below(&points.rng, FATE_COUNT);
        try_set(run, node, fates, count);
    }
}

/* A file operation is done, and the node has not heard of it. */
static void at_point(struct run *run, uint32_t node)
{
    struct sim_event next = {.action = SIM_POWER_OP, .arg = {node, 1, 0}};
    struct sim_disk *copy = sim_disk_clone(sim_disk_of(run->world, node));
    uint32_t count = sim_disk_unsynced(copy);
    sim_disk_destroy(copy);
    if (count > FATES_MAX) count = FATES_MAX;
    points.point++;
    if (points.point % points.every == 0) try_sets(run, node, count);
    if (!points.child) sim_apply(run->world, &next);
}

/* --- The workload, in the model's words. --- */

static bool lost(const struct run *run)
{
    return run->durability.down || sim_verdict_of(run->world) != SIM_OK;
}

/* One transaction: each key gets the operation. */
static void rows(struct run *run, uint32_t first, uint32_t count, enum key_operation operation,
                 bool durable)
{
    struct session *session = &run->client[0].session[0];
    enum api_outcome outcome;
    if (lost(run)) return;
    session->count = 0;
    for (uint32_t i = 0; i < count; i++)
        session_add(session, TABLE_CHURN, first + i, operation)->value = ++run->model.next_value;
    run->set_up_durable = durable;
    run_try(run, session, LOCK_EXCLUSIVE, &outcome);
    run->set_up_durable = false;
    if (outcome == API_UNKNOWN) model_unknown(run, session->item, count, run->floor);
    if (outcome != API_COMMITTED) return;
    for (uint32_t i = 0; i < count; i++) {
        struct model_key *key = &run->model.key[TABLE_CHURN][first + i];
        key->state = operation == OP_DELETE ? KEY_ABSENT : KEY_PRESENT;
        key->value = session->item[i].value;
        past_add(run, TABLE_CHURN, first + i, run->epoch);
    }
    if (durable && (uint32_t)(run->epoch >> 32) > run->durability.promised)
        run->durability.promised = (uint32_t)(run->epoch >> 32);
}

static void table_comes_and_goes(struct run *run, uint32_t number)
{
    struct session *session = &run->client[0].session[0];
    uint32_t id = 0;
    uint32_t version = 0;
    if (lost(run)) return;
    struct model_schema *schema = schema_begin(run, 0, number);
    schema_name(0, number, run);
    struct table_def *def = row_table(run, SCHEMA_TABLE, run->schema_name + 8);
    uint32_t error = run_try_create(run, session, def, &id, &version);
    free(def);
    if (error == 0) schema->state = SCHEMA_CREATED;
    if (error != 0 || lost(run)) return;
    schema->state = SCHEMA_DROPPING;
    run->durability.verifying = true; /* It does not go on trying when the cluster is lost. */
    run->durability.checking = run->durability.losses + run->durability.starts;
    bool dropped = run_drop(run, session, id, version, false);
    run->durability.verifying = false;
    if (dropped) schema_forget(run, schema);
}

static void a_while(struct run *run, uint64_t us)
{
    uint64_t until = sim_now_us(run->world) + us;
    while (!lost(run) && sim_now_us(run->world) < until)
        run_until(run, NULL, NULL, sim_now_us(run->world) + 5000);
}

static void workload(struct run *run)
{
    rows(run, 0, 4, OP_INSERT, false);
    rows(run, 2, 4, OP_WRITE, true);
    rows(run, 0, 2, OP_DELETE, false);
    table_comes_and_goes(run, 1);
    rows(run, 1, 5, OP_WRITE, false);
    a_while(run, 1300000); /* A checkpoint. */
    rows(run, 3, 3, OP_UPDATE, true);
    rows(run, 5, 2, OP_WRITE, false);
    a_while(run, 1300000); /* Another one. */
    rows(run, 0, 6, OP_WRITE, true);
    rows(run, 0, 1, OP_DELETE, true);
}

static struct run *files_new(uint32_t nodes)
{
    struct run *run = scenario_new(77);
    struct swarm *swarm = &run->swarm;
    swarm->data_nodes = swarm->replicas = nodes;
    swarm->disk = true;
    swarm->ldm = nodes;
    swarm->churn_keys = 8;
    swarm->churn_tables = 1;
    swarm->statics = 4;
    swarm->accounts = swarm->registers = 2;
    swarm->pad_max = 60;
    swarm->config.replicas = nodes;
    swarm->config.ldm_count = nodes;
    if (nodes == 1) swarm->config.node[2].type = NODE_NONE;
    swarm->config.diskless = 0;
    swarm->config.redo_files = 3;
    swarm->config.redo_file_bytes = 16u * 4096u;
    swarm->config.redo_buffer_bytes = 32u * 4096u;
    swarm->config.redo_zero = 0;
    swarm->config.gci_ms = 400;
    swarm->config.lcp_growth_log2 = 6;
    return run;
}

/* The whole of it; in a child from the crash on. */
static void enumerate(uint32_t nodes, uint32_t every)
{
    memset(&points, 0, sizeof points);
    rng_seed(&points.rng, nodes);
    points.all = getenv("SIM_CRASH_POINTS") != NULL;
    points.every = points.all ? 1 : every;
    struct run *run = files_new(nodes);
    const struct sim_event first = {.action = SIM_POWER_OP, .arg = {1, 1, 0}};
    assert_true(run_start(run));
    run->crash_point = at_point;
    sim_apply(run->world, &first);
    workload(run);
    if (points.child) {
        durability_check(run);
        if (sim_verdict_of(run->world) == SIM_OK) workload(run);
        if (sim_verdict_of(run->world) == SIM_OK && run->durability.down) durability_check(run);
        if (sim_verdict_of(run->world) != SIM_OK)
            fprintf(stderr, "%s\n", sim_failure_text(run->world));
        fflush(NULL);
        _exit((int)sim_verdict_of(run->world));
    }
    assert_string_equal(sim_failure_text(run->world), "");
    print_message("%u file operations, %u crashes, %u failures\n", points.point, points.crashes,
                  points.failures);
    assert_int_equal(points.failures, 0);
    assert_true(points.crashes > 50);
    char name[40]; /* The checkpoints were made. */
    snprintf(name, sizeof name, "LCP/T%uF0.ctl1",
             api_table_def(run->client[0].session[0].table[TABLE_CHURN])->table_id);
    assert_true(sim_disk_exists(sim_disk_of(run->world, 1), name));
    run_free(run);
    free(run);
}

static void test_one_node(void **state)
{
    (void)state;
    enumerate(1, 1);
}

static void test_two_replicas(void **state)
{
    (void)state;
    enumerate(2, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_two_replicas),
    };
    arena_keep(8, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
