/* scenario_failure_points.c -- for each protocol: a node in each role dies after every signal that
 * the protocol executes, in some after another one has died already. The cluster goes on, all is
 * answered, nothing is lost or half there, and everybody comes back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/sim/failures.h"
#include "tests/sim/scenario.h"

#define POINTS_MAX   60000u
#define SCHEMA_TABLE (TABLES_MAX - 1u)
#define JOBS         2u

/* After node `node` has executed its nth signal with this number, `victim` dies. */
struct point {
    uint32_t gsn, node, nth, victim;
};

struct protocol {
    const char *name;
    void (*work)(struct run *run);
    uint32_t nodes, replicas;
    uint32_t first;     /* Dies before: 0 = nobody; */
    uint32_t first_gsn; /* after its second signal with this number, 0 = before the work begins. */
};

/* Shared with the process that counts. */
struct counted {
    struct failure_figures figures;
    uint32_t count;
    struct point point[POINTS_MAX];
};

static struct counted *counted;
static uint32_t seen[NODE_ID_MAX + 1][GSN_TABLE];

/* --- The work, in the model's words. Errors are answers. --- */

static bool failed(const struct run *run)
{
    return sim_verdict_of(run->world) != SIM_OK;
}

static void rows(struct run *run, uint32_t first, uint32_t count, enum key_operation operation)
{
    struct session *session = &run->client[0].session[0];
    enum api_outcome outcome;
    if (failed(run)) return;
    for (uint32_t i = 0; i < count; i++) { /* Of those nobody knows what they are. */
        if (run->model.key[TABLE_CHURN][first + i].state == KEY_TAINTED) return;
    }
    session->count = 0;
    for (uint32_t i = 0; i < count; i++)
        session_add(session, TABLE_CHURN, first + i, operation)->value = ++run->model.next_value;
    uint32_t error = run_try(run, session, LOCK_EXCLUSIVE, &outcome);
    if (failed(run)) return;
    if (outcome != API_COMMITTED && !error_allowed(run, error))
        run_fail(run, SIM_CORRECTNESS, "rows %u: error %u", first, error);
    if (outcome == API_UNKNOWN) model_unknown(run, session->item, count, run->floor);
    for (uint32_t i = 0; i < count && outcome == API_COMMITTED; i++) {
        struct model_key *key = &run->model.key[TABLE_CHURN][first + i];
        key->state = operation == OP_DELETE ? KEY_ABSENT : KEY_PRESENT;
        key->value = session->item[i].value;
        key->version += 2;
    }
}

static void work_commit(struct run *run)
{
    rows(run, 0, 3, OP_UPDATE);
    rows(run, 8, 3, OP_INSERT);
    rows(run, 3, 2, OP_DELETE);
}

struct executed {
    bool done;
};

static void on_executed(void *context, struct api_tx *tx)
{
    (void)tx;
    ((struct executed *)context)->done = true;
}

static bool is_executed(void *context)
{
    return ((struct executed *)context)->done;
}

static void execute(struct run *run, struct session *session, enum api_execute type)
{
    struct executed executed = {false};
    if (api_tx_execute(session->tx, type, 20000, on_executed, &executed) != 0) return;
    if (!run_until(run, is_executed, &executed, sim_now_us(run->world) + 30000000u) && !failed(run))
        run_fail(run, SIM_LIVENESS, "a transaction was not answered");
}

static void work_abort(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    for (uint32_t i = 0; i < 2 && !failed(run); i++) {
        session->count = 0;
        for (uint32_t k = 0; k < 3; k++)
            session_add(session, TABLE_CHURN, 4u * i + k, OP_WRITE)->value = 1;
        session->tx = NULL;
        if (session_define(session, 0, LOCK_EXCLUSIVE, 0)) {
            execute(run, session, API_NO_COMMIT);
            if (api_tx_outcome(session->tx) == API_ACTIVE) execute(run, session, API_ROLLBACK);
        }
        if (session->tx != NULL) api_tx_close(session->tx);
        session->tx = NULL;
    }
}

static void on_ready(void *context, struct api_scan *scan)
{
    (void)scan;
    ((struct executed *)context)->done = true;
}

static void work_scan(struct run *run)
{
    static const uint32_t all[] = {ATTR_READ_ALL << 16};
    struct session *session = &run->client[0].session[0];
    struct executed ready = {false};
    struct api_scan_options options = {.table = session->table[TABLE_STATIC],
                                       .lock = LOCK_EXCLUSIVE,
                                       .attrs = all,
                                       .attr_words = 1,
                                       .ready = on_ready,
                                       .context = &ready};
    uint32_t error = 0;
    uint32_t rows_seen = 0;
    struct api_scan *scan = api_scan_start(session->api, &options, 20000, &error);
    for (enum api_scan_step step = API_SCAN_WAIT; scan != NULL && !failed(run);) {
        struct api_row row;
        step = api_scan_next(scan, &row);
        if (step == API_SCAN_ROW) rows_seen++;
        if (step == API_SCAN_ERROR || step == API_SCAN_END) {
            if (step == API_SCAN_END && rows_seen != run->swarm.statics)
                run_fail(run, SIM_CORRECTNESS, "a scan saw %u rows", rows_seen);
            break;
        }
        if (step != API_SCAN_WAIT) continue;
        ready.done = false;
        if (!run_until(run, is_executed, &ready, sim_now_us(run->world) + 30000000u) &&
            !failed(run))
            run_fail(run, SIM_LIVENESS, "a scan was not answered");
    }
    if (scan != NULL) api_scan_close(scan);
}

static void work_schema(struct run *run)
{
    struct session *session = &run->client[0].session[0];
    struct table_def *def = row_table(run, SCHEMA_TABLE, "points");
    uint32_t error = run_try_schema(run, session, def);
    free(def);
    if (error != 0 && !failed(run) && !error_allowed(run, error) && error != ERR_NO_SUCH_TABLE_ID &&
        error != ERR_NO_SUCH_TABLE)
        run_fail(run, SIM_CORRECTNESS, "a schema transaction: error %u", error);
}

static void work_epoch(struct run *run)
{
    rows(run, 0, 1, OP_UPDATE);
    run_until(run, NULL, NULL, sim_now_us(run->world) + 60000);
    rows(run, 1, 1, OP_UPDATE);
}

static void work_long(struct run *run)
{
    for (uint32_t i = 0; i < 60 && !failed(run); i++) {
        rows(run, 8 + i % 4, 1, OP_WRITE);
        run_until(run, NULL, NULL, sim_now_us(run->world) + 20000);
        if (failures_all_back(run)) return;
    }
}

static void work_takeover(struct run *run)
{
    work_commit(run);
    work_long(run);
}

static const struct protocol protocols[] = {
    {"commit", work_commit, 4, 2, 0, 0},
    {"abort", work_abort, 4, 2, 0, 0},
    {"scan", work_scan, 4, 2, 0, 0},
    {"schema transaction", work_schema, 4, 2, 0, 0},
    {"epoch", work_epoch, 3, 3, 0, 0},
    {"node failure, the president", work_long, 4, 4, 1, 0},
    {"take-over", work_takeover, 4, 4, 2, GSN_COMMIT},
    {"take-over, the president", work_takeover, 4, 2, 1, GSN_TCKEYREQ},
    {"join and node restart", work_long, 4, 2, 3, 0},
    {"join and node restart, three replicas", work_long, 3, 3, 2, 0},
};

/* --- One run. --- */

static struct run *points_new(const struct protocol *protocol)
{
    struct run *run = scenario_new(5);
    struct swarm *swarm = &run->swarm;
    struct node_config *config = &swarm->config;
    swarm->data_nodes = protocol->nodes;
    swarm->replicas = config->replicas = protocol->replicas;
    swarm->ldm = config->ldm_count = 1;
    swarm->churn_tables = 1;
    swarm->churn_keys = 12;
    swarm->statics = 6;
    swarm->accounts = swarm->registers = 2;
    swarm->pad_max = 60;
    swarm->failures = swarm->rejoin = true;
    swarm->options.budget_one_percent = 100; /* Who dies after a signal has done nothing more. */
    swarm->options.lazy_percent = 0;
    config->survive = 1;
    config->heartbeat_db_db_ms = 500;
    config->epoch_ms = 20;
    for (uint32_t i = 0; i < protocol->nodes; i++)
        config->node[1 + i] =
            (struct config_node){.type = NODE_DATA, .nodegroup = i / protocol->replicas};
    config->node[CLIENT_NODE] = (struct config_node){.type = NODE_API, .arbitration_rank = 1};
    return run;
}

static void set_up(struct run *run)
{
    assert_true(run_start(run));
    rows(run, 0, 4, OP_INSERT);
    rows(run, 4, 4, OP_INSERT);
    run_until(run, NULL, NULL, sim_now_us(run->world) + 1000000); /* There is an arbitrator. */
    assert_string_equal(sim_failure_text(run->world), "");
    run->failures.begun = true;
}

/* From the set-up to the end; `point` may be NULL. */
static void go(struct run *run, const struct protocol *protocol, const struct point *point)
{
    struct sim_plan plan = {0};
    if (protocol->first != 0)
        plan.event[plan.count++] = (struct sim_event){.at_us = sim_now_us(run->world),
                                                      .gsn = protocol->first_gsn,
                                                      .node = protocol->first,
                                                      .nth = 2,
                                                      .action = SIM_KILL,
                                                      .arg = {protocol->first}};
    if (point != NULL)
        plan.event[plan.count++] = (struct sim_event){.gsn = point->gsn,
                                                      .node = point->node,
                                                      .nth = point->nth,
                                                      .action = SIM_KILL,
                                                      .arg = {point->victim}};
    sim_set_plan(run->world, &plan);
    protocol->work(run);
}

static bool noise(uint32_t gsn)
{
    return gsn == GSN_CM_HEARTBEAT || gsn == GSN_API_REGREQ;
}

/* Every executed signal of a data node, once the first one has died. */
static void count_signal(struct run *run, const uint32_t *words)
{
    const struct protocol *protocol = run->hook_context;
    uint32_t gsn = kind_gsn(words[0]);
    uint32_t node = ref_node(words[1]);
    uint32_t sender = ref_node(words[2]);
    if (node >= CLIENT_NODE || node == 0 || gsn >= GSN_TABLE) return;
    uint32_t nth = ++seen[node][gsn];
    if (protocol->first != 0 && run->failures.losses == 0) return;
    if (noise(gsn) || counted->count + 2 > POINTS_MAX) return;
    counted->point[counted->count++] = (struct point){gsn, node, nth, node};
    if (sender == node || sender == 0 || sender >= CLIENT_NODE) return;
    counted->point[counted->count++] = (struct point){gsn, node, nth, sender};
}

static int child(struct run *run, const struct protocol *protocol, const struct point *point)
{
    alarm(200);
    go(run, protocol, point);
    if (!failed(run)) run_settle(run);
    if (!failed(run)) return 0;
    fprintf(stderr, "%s, %u replicas: node %u dies after signal %u %s of node %u: %s\n",
            protocol->name, protocol->replicas, point->victim, point->nth, gsn_name(point->gsn),
            point->node, sim_failure_text(run->world));
    fflush(NULL);
    return 1;
}

static uint32_t reap(uint32_t *running, uint32_t limit)
{
    uint32_t failures = 0;
    while (*running > limit) {
        int status;
        if (wait(&status) < 0) break;
        --*running;
        failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (WIFSIGNALED(status)) fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
    }
    return failures;
}

/* About `wanted` of its points; all of them at night. */
static void enumerate(const struct protocol *protocol, uint32_t wanted)
{
    struct run *run = points_new(protocol);
    uint32_t running = 0;
    uint32_t failures = 0;
    uint32_t tried = 0;
    set_up(run);
    memset(&counted->figures, 0, sizeof counted->figures);
    run->failures.figures = &counted->figures;
    counted->count = 0;
    fflush(NULL);
    if (fork() == 0) {
        memset(seen, 0, sizeof seen);
        run->hook = count_signal;
        run->hook_context = (void *)(uintptr_t)protocol;
        go(run, protocol, NULL);
        if (failed(run)) fprintf(stderr, "%s: %s\n", protocol->name, sim_failure_text(run->world));
        fflush(NULL);
        _exit(failed(run));
    }
    running++;
    assert_int_equal(reap(&running, 0), 0);
    if (getenv("SIM_FAILURE_POINTS") != NULL) wanted = POINTS_MAX;
    uint32_t every = (counted->count + wanted - 1) / wanted;
    for (uint32_t at = every / 2; at < counted->count; at += every) {
        fflush(NULL);
        if (fork() == 0) _exit(child(run, protocol, &counted->point[at]));
        running++;
        tried++;
        failures += reap(&running, JOBS - 1);
    }
    failures += reap(&running, 0);
    print_message("%s, %u nodes, %u replicas: %u points, %u tried, %u failures; nodes killed %llu, "
                  "deaths that may end the cluster left out %llu, rejoins %llu\n",
                  protocol->name, protocol->nodes, protocol->replicas, counted->count, tried,
                  failures, (unsigned long long)counted->figures.kills,
                  (unsigned long long)counted->figures.left_out,
                  (unsigned long long)counted->figures.rejoins);
    run_free(run);
    free(run);
    assert_true(tried > 20);
    assert_int_equal(failures, 0);
}

static void test_protocols(void **state)
{
    const char *only = getenv("SIM_PROTOCOL");
    (void)state;
    counted =
        mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counted != MAP_FAILED);
    for (uint32_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++) {
        if (only == NULL || strstr(protocols[i].name, only) != NULL) enumerate(&protocols[i], 300);
    }
    munmap(counted, sizeof *counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_protocols)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
