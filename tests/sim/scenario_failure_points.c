/* scenario_failure_points.c -- for each protocol: a node in each role dies after every signal that
 * the protocol executes; for the take-overs also a second one after each signal of the take-over.
 * The cluster goes on, all is answered, nothing is lost or half there, and everybody comes back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "blocks/qmgr/qmgr_state.h"
#include "kernel/base/arena.h"
#include "tests/sim/jams.h"
#include "tests/sim/points.h"
#include "tests/sim/scenario.h"

#define JOBS_DEFAULT 2u
#define TRIED        120u    /* Points that are tried by day, of each protocol. */
#define TRIED_FILES  60u     /* The same of protocols with files. */
#define FIRSTS       9u      /* First deaths of pairs that are tried by day. */
#define SECONDS      9u      /* Second deaths that are tried by day for each of these. */
#define WINDOW_US    100000u /* A take-over and the next epochs are over by then. */

static const struct protocol protocols[] = {
    {.name = "commit", .work = points_commit, .nodes = 4, .replicas = 2},
    {.name = "abort", .work = points_abort, .nodes = 4, .replicas = 2},
    {.name = "unique indexes", .work = points_unique, .nodes = 4, .replicas = 2, .unique = true},
    {.name = "unique indexes, abort",
     .work = points_abort,
     .nodes = 4,
     .replicas = 2,
     .unique = true},
    {.name = "abort, a refused operation", .work = points_refused, .nodes = 4, .replicas = 2},
    {.name = "commit, fully replicated",
     .work = points_commit,
     .nodes = 4,
     .replicas = 2,
     .unique = true,
     .copied = true},
    {.name = "abort, fully replicated",
     .work = points_abort,
     .nodes = 4,
     .replicas = 2,
     .unique = true,
     .copied = true},
    {.name = "scan", .work = points_scan, .nodes = 4, .replicas = 2},
    {.name = "scan, fully replicated",
     .work = points_scan,
     .nodes = 4,
     .replicas = 2,
     .copied = true},
    {.name = "schema transaction", .work = points_schema, .nodes = 4, .replicas = 2},
    {.name = "scan, refused",
     .work = points_scan,
     .nodes = 4,
     .replicas = 2,
     .also = {.action = SIM_INSERT, .arg = {4, BLOCK_DBLQH, 5006, 0}}},
    {.name = "schema transaction, refused",
     .work = points_schema_refused,
     .nodes = 4,
     .replicas = 2,
     .also = {.action = SIM_INSERT, .arg = {2, BLOCK_DBDICT, 6001, 0}}},
    {.name = "create and drop index", .work = points_index, .nodes = 4, .replicas = 2},
    {.name = "create index, refused",
     .work = points_index_refused,
     .nodes = 4,
     .replicas = 2,
     .also = {.action = SIM_INSERT, .arg = {2, BLOCK_DBLQH, 5030, 0}}},
    {.name = "create and drop index, with files",
     .work = points_index,
     .nodes = 4,
     .replicas = 2,
     .files = true},
    {.name = "drop of a unique index",
     .work = points_unique_drop,
     .nodes = 4,
     .replicas = 2,
     .unique = true},
    {.name = "drop of a unique index, refused",
     .work = points_unique_drop,
     .nodes = 4,
     .replicas = 2,
     .unique = true,
     .also = {.action = SIM_INSERT, .arg = {2, BLOCK_DBDICT, 6006, 0}}},
    {.name = "drop of a unique index, with files",
     .work = points_unique_drop,
     .nodes = 4,
     .replicas = 2,
     .files = true,
     .unique = true},
    {.name = "create of a unique index",
     .work = points_unique_create,
     .nodes = 4,
     .replicas = 2,
     .unique = true},
    {.name = "create of a unique index, refused",
     .work = points_unique_refused,
     .nodes = 4,
     .replicas = 2,
     .unique = true,
     .also = {.action = SIM_INSERT, .arg = {2, BLOCK_DBDICT, 6005, 0}}},
    {.name = "create of a unique index, duplicates",
     .work = points_unique_duplicates,
     .nodes = 4,
     .replicas = 2},
    {.name = "create of a unique index, with files",
     .work = points_unique_create,
     .nodes = 4,
     .replicas = 2,
     .files = true,
     .unique = true},
    {.name = "changes of a table", .work = points_changes, .nodes = 4, .replicas = 2},
    {.name = "changes of a table, refused",
     .work = points_changes,
     .nodes = 4,
     .replicas = 2,
     .also = {.action = SIM_INSERT, .arg = {2, BLOCK_DBDICT, 6007, 0}}},
    {.name = "changes of a table, with files",
     .work = points_changes,
     .nodes = 4,
     .replicas = 2,
     .files = true},
    {.name = "stop of a node", .work = points_stop, .nodes = 4, .replicas = 2},
    {.name = "arbitrator, handed over",
     .work = points_epoch,
     .nodes = 4,
     .replicas = 4,
     .also = {.action = SIM_CUT, .arg = {3, CLIENT_NODE}}},
    {.name = "order of replicas", .work = points_order, .nodes = 4, .replicas = 2},
    {.name = "order of replicas, three replicas", .work = points_order, .nodes = 3, .replicas = 3},
    {.name = "epoch", .work = points_epoch, .nodes = 3, .replicas = 3},
    {.name = "checkpoint", .work = points_checkpoint, .nodes = 4, .replicas = 2, .files = true},
    {.name = "node failure, the president",
     .work = points_long,
     .nodes = 4,
     .replicas = 4,
     .first = 1},
    {.name = "node failure, another node",
     .work = points_long,
     .nodes = 4,
     .replicas = 4,
     .first = 3,
     .soon = true},
    {.name = "take-over",
     .work = points_takeover,
     .nodes = 4,
     .replicas = 4,
     .first = 2,
     .first_gsn = GSN_COMMIT},
    {.name = "take-over, the president",
     .work = points_takeover,
     .nodes = 4,
     .replicas = 2,
     .first = 1,
     .first_gsn = GSN_TCKEYREQ},
    {.name = "take-over, fully replicated",
     .work = points_takeover,
     .nodes = 4,
     .replicas = 2,
     .first = 2,
     .first_gsn = GSN_COMMIT,
     .copied = true},
    {.name = "join and node restart", .work = points_long, .nodes = 4, .replicas = 2, .first = 3},
    {.name = "join and node restart, three replicas",
     .work = points_long,
     .nodes = 3,
     .replicas = 3,
     .first = 2},
    {.name = "join and node restart, with files",
     .work = points_long,
     .nodes = 4,
     .replicas = 2,
     .first = 3,
     .files = true},
    {.name = "pairs, commit", .work = points_commit, .nodes = 4, .replicas = 4, .pairs = true},
    {.name = "pairs, scan", .work = points_scan, .nodes = 4, .replicas = 4, .pairs = true},
    {.name = "pairs, epoch",
     .work = points_epoch,
     .nodes = 4,
     .replicas = 4,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, checkpoint",
     .work = points_checkpoint,
     .nodes = 4,
     .replicas = 4,
     .files = true,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, order of replicas",
     .work = points_order,
     .nodes = 4,
     .replicas = 4,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, schema transaction",
     .work = points_schema,
     .nodes = 4,
     .replicas = 4,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, create and drop index",
     .work = points_index,
     .nodes = 4,
     .replicas = 4,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, create of a unique index",
     .work = points_unique_create,
     .nodes = 4,
     .replicas = 4,
     .unique = true,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, drop of a unique index",
     .work = points_unique_drop,
     .nodes = 4,
     .replicas = 4,
     .unique = true,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, changes of a table",
     .work = points_changes,
     .nodes = 4,
     .replicas = 4,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, node failure",
     .work = points_long,
     .nodes = 6,
     .replicas = 3,
     .first = 6,
     .soon = true,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, node restart",
     .work = points_long,
     .nodes = 4,
     .replicas = 4,
     .first = 3,
     .pairs = true,
     .of_master = true},
    {.name = "pairs, node restart with files",
     .work = points_long,
     .nodes = 4,
     .replicas = 4,
     .first = 3,
     .files = true,
     .pairs = true,
     .of_master = true},
};

/* Shared with the processes that count. */
struct counted {
    struct failure_figures figures;
    uint32_t count;
    struct point point[POINTS_MAX];
};

static struct counted *counted;  /* The points of a protocol. */
static struct counted *seconds;  /* The points of a take-over. */
static struct point *first_list; /* A copy of the ones that are tried as first deaths. */
static uint32_t seen[NODE_ID_MAX + 1][GSN_TABLE];

static bool failed(const struct run *run)
{
    return sim_verdict_of(run->world) != SIM_OK;
}

/* --- One run. --- */

static void with_files(struct swarm *swarm)
{
    struct node_config *config = &swarm->config;
    swarm->disk = true;
    config->diskless = 0;
    config->redo_files = 3;
    config->redo_file_bytes = 16u * 4096u;
    config->redo_buffer_bytes = 32u * 4096u;
    config->redo_zero = 0;
    config->gci_ms = 200;
    config->lcp_growth_log2 = 6;
}

/* What a table is like follows from its kind of key. The one that comes and goes is a group. */
static void choose_kinds(struct swarm *swarm, bool unique)
{
    for (uint32_t table = 0; table < TABLES_MAX; table++)
        swarm->key_kind[table] = (5u - table % 4u) % 4u; /* No unique index. */
    if (unique) swarm->key_kind[TABLE_CHURN] = 1;        /* Two of them. */
    swarm->key_kind[TABLES_MAX - 1u] = 3;                /* Two as well. */
}

static struct run *points_new(const struct protocol *protocol)
{
    struct run *run = scenario_new(5);
    struct swarm *swarm = &run->swarm;
    struct node_config *config = &swarm->config;
    run->verbose = getenv("SIM_VERBOSE") != NULL;
    swarm->data_nodes = protocol->nodes;
    swarm->replicas = config->replicas = protocol->replicas;
    swarm->ldm = config->ldm_count = 1;
    swarm->clients = 2; /* The second one does nothing: it is an arbitrator. */
    swarm->churn_tables = 1;
    swarm->churn_keys = 12;
    swarm->statics = 6;
    swarm->accounts = swarm->registers = 2;
    swarm->pad_max = 60;
    choose_kinds(swarm, protocol->unique);
    swarm->failures = swarm->rejoin = true;
    swarm->options.budget_one_percent = 100; /* Who dies after a signal has done nothing more. */
    swarm->options.lazy_percent = 0;
    config->survive = 1;
    config->heartbeat_db_db_ms = 500;
    config->epoch_ms = 20;
    config->scan_step_rows = 2; /* So that building an index takes some steps. */
    if (protocol->files) with_files(swarm);
    if (protocol->copied) swarm->copied = UINT32_MAX;
    for (uint32_t i = 0; i < protocol->nodes; i++)
        config->node[1 + i] =
            (struct config_node){.type = NODE_DATA, .nodegroup = i / protocol->replicas};
    for (uint32_t i = 0; i < 2; i++)
        config->node[CLIENT_NODE + i] =
            (struct config_node){.type = NODE_API, .arbitration_rank = 1 + i};
    return run;
}

static void set_up(struct run *run)
{
    assert_true(run_start(run));
    points_rows(run, 0, 4, OP_INSERT);
    points_rows(run, 4, 4, OP_INSERT);
    run_until(run, NULL, NULL, sim_now_us(run->world) + 1000000); /* There is an arbitrator. */
    assert_string_equal(sim_failure_text(run->world), "");
    run->failures.begun = true;
}

static void add_death(struct sim_plan *plan, const struct point *point)
{
    if (point == NULL) return;
    plan->event[plan->count++] = (struct sim_event){.gsn = point->gsn,
                                                    .node = point->node,
                                                    .nth = point->nth,
                                                    .action = SIM_KILL,
                                                    .arg = {point->victim}};
}

/* From the set-up to the end; the deaths may be NULL. */
static void go(struct run *run, const struct protocol *protocol, const struct point *death,
               const struct point *second)
{
    struct sim_plan plan = {0};
    if (protocol->first != 0)
        plan.event[plan.count++] = (struct sim_event){.at_us = sim_now_us(run->world),
                                                      .gsn = protocol->first_gsn,
                                                      .node = protocol->first,
                                                      .nth = 2,
                                                      .action = SIM_KILL,
                                                      .arg = {protocol->first}};
    if (protocol->also.action != 0) {
        plan.event[plan.count] = protocol->also;
        plan.event[plan.count++].at_us = sim_now_us(run->world);
    }
    add_death(&plan, death);
    add_death(&plan, second);
    sim_set_plan(run->world, &plan);
    protocol->work(run);
    if (protocol->pairs && !failed(run)) /* The second one may come late. */
        run_until(run, NULL, NULL, sim_now_us(run->world) + WINDOW_US);
}

/* --- Which points there are. --- */

struct counting {
    const struct protocol *protocol;
    const struct point *death; /* The first one of a pair, NULL: the protocol itself is counted. */
    struct counted *to;
    bool begun, over;
    uint64_t until_us;
};

static bool noise(uint32_t gsn)
{
    return gsn == GSN_CM_HEARTBEAT || gsn == GSN_API_REGREQ ||
           (gsn >= GSN_PACE_ASK_REP && gsn <= GSN_PACE_PROBE_CONF);
}

static uint32_t role_of(struct run *run, uint32_t victim, uint32_t witness)
{
    struct node *node = sim_node(run->world, witness);
    if (!failures_started(run, victim)) return ROLE_STARTING;
    if (node == NULL) return ROLE_PARTICIPANT;
    const struct qmgr *qmgr = (const struct qmgr *)(const void *)node_block(node, BLOCK_QMGR, 0);
    return qmgr->join.president == victim ? ROLE_MASTER : ROLE_PARTICIPANT;
}

static void add(struct run *run, struct counting *counting, struct point point, uint32_t sent)
{
    struct counted *to = counting->to;
    if (to->count == POINTS_MAX || point.victim == 0 || point.victim >= CLIENT_NODE) return;
    point.role = role_of(run, point.victim, point.node) | sent;
    to->point[to->count++] = point;
}

/* The deaths that come first have happened, and nobody has come back if that ends it. */
static bool counts(struct run *run, struct counting *counting, uint32_t gsn)
{
    const struct protocol *protocol = counting->protocol;
    const struct point *death = counting->death;
    uint32_t dead = death != NULL ? death->victim : protocol->first;
    bool happened = death == NULL || seen[death->node][death->gsn] >= death->nth;
    uint64_t now = sim_now_us(run->world);
    if (dead == 0 || counting->over) return !counting->over;
    if (!counting->begun && happened && !sim_alive(run->world, dead)) {
        counting->begun = true;
        counting->until_us = now + WINDOW_US;
    }
    bool ends = death != NULL || protocol->soon;
    if (counting->begun && ends && (gsn == GSN_CM_ADD_REQ || now > counting->until_us))
        counting->over = true;
    return counting->begun && !counting->over;
}

/* Every executed signal of a data node. */
static void count_signal(struct run *run, const uint32_t *words)
{
    struct counting *counting = run->hook_context;
    uint32_t gsn = kind_gsn(words[0]);
    uint32_t node = ref_node(words[1]);
    uint32_t sender = ref_node(words[2]);
    if (node >= CLIENT_NODE || node == 0 || gsn >= GSN_TABLE) return;
    uint32_t nth = ++seen[node][gsn];
    if (!counts(run, counting, gsn) || noise(gsn)) return;
    add(run, counting, (struct point){gsn, node, nth, node, 0}, 0);
    if (sender != node) add(run, counting, (struct point){gsn, node, nth, sender, 0}, ROLE_SENDER);
}

/* --- Processes: one for each run, from the state after the set-up. --- */

static uint32_t running;

static uint32_t jobs(void)
{
    const char *text = getenv("SIM_JOBS");
    uint32_t count = text != NULL ? (uint32_t)strtoul(text, NULL, 10) : JOBS_DEFAULT;
    return count > 0 ? count : 1;
}

static void tell(const struct point *point)
{
    fprintf(stderr, "node %u dies after signal %u %s of node %u; ", point->victim, point->nth,
            gsn_name(point->gsn), point->node);
}

static int child(struct run *run, const struct protocol *protocol, const struct point *death,
                 const struct point *second)
{
    alarm(200);
    go(run, protocol, death, second);
    if (!failed(run)) run_settle(run);
    if (!failed(run)) return 0;
    fprintf(stderr, "%s: ", protocol->name);
    tell(death);
    if (second != NULL) tell(second);
    fprintf(stderr, "%s\n", sim_failure_text(run->world));
    fflush(NULL);
    return 1;
}

static uint32_t reap(uint32_t limit)
{
    uint32_t failures = 0;
    while (running > limit) {
        int status;
        if (wait(&status) < 0) break;
        running--;
        failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (WIFSIGNALED(status)) fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
    }
    return failures;
}

static uint32_t try_point(struct run *run, const struct protocol *protocol,
                          const struct point *death, const struct point *second)
{
    fflush(NULL);
    if (fork() == 0) _exit(child(run, protocol, death, second));
    running++;
    return reap(jobs() - 1);
}

/* The points of the protocol, or of the take-over after a death, into `to`. */
static uint32_t count_points(struct run *run, const struct protocol *protocol,
                             const struct point *death, struct counted *to)
{
    to->count = 0;
    fflush(NULL);
    if (fork() == 0) {
        struct counting counting = {.protocol = protocol, .death = death, .to = to};
        alarm(200);
        memset(seen, 0, sizeof seen);
        run->failures.figures = NULL;
        run->hook = count_signal;
        run->hook_context = &counting;
        go(run, protocol, death, NULL);
        if (failed(run)) fprintf(stderr, "%s: %s\n", protocol->name, sim_failure_text(run->world));
        fflush(NULL);
        _exit(failed(run));
    }
    running++;
    return reap(0);
}

static uint32_t step(uint32_t count, uint32_t wanted)
{
    return wanted == 0 || count <= wanted ? 1 : (count + wanted - 1) / wanted;
}

/* --- All, or a sample. --- */

/* 0: all of them. SIM_FAILURE_POINTS is a factor, or "all". */
static uint32_t wanted_of(uint32_t by_day)
{
    const char *text = getenv("SIM_FAILURE_POINTS");
    if (text == NULL) return by_day;
    return by_day * (uint32_t)strtoul(text, NULL, 10);
}

/* The same of each of the two deaths of a pair: SIM_FAILURE_PAIRS, which may be "kinds" too. */
static bool pairs_by_kind(void)
{
    const char *text = getenv("SIM_FAILURE_PAIRS");
    return text != NULL && strcmp(text, "kinds") == 0;
}

static uint32_t pairs_of(uint32_t by_day)
{
    const char *text = getenv("SIM_FAILURE_PAIRS");
    if (pairs_by_kind()) return 0;
    return text == NULL ? by_day : by_day * (uint32_t)strtoul(text, NULL, 10);
}

/* The first and the last one of the points with the same signal and role stay: all pairs of all
   points would be millions, and what happens after a signal is mostly the same each time. */
static uint32_t keep_kinds(struct point *point, uint32_t count)
{
    static uint32_t first[GSN_TABLE][16];
    static uint32_t last[GSN_TABLE][16];
    uint32_t kept = 0;
    memset(first, 0, sizeof first);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t *known = &first[point[at].gsn][point[at].role & 15u];
        if (*known == 0) *known = at + 1;
        last[point[at].gsn][point[at].role & 15u] = at + 1;
    }
    for (uint32_t at = 0; at < count; at++) {
        uint32_t gsn = point[at].gsn;
        uint32_t role = point[at].role & 15u;
        if (first[gsn][role] == at + 1 || last[gsn][role] == at + 1) point[kept++] = point[at];
    }
    return kept;
}

static void report(const struct protocol *protocol, uint32_t points, uint32_t tried,
                   uint32_t failures)
{
    const struct failure_figures *figures = &counted->figures;
    print_message("%s, %u nodes, %u replicas: %u points, %u tried, %u failures; nodes killed %llu, "
                  "deaths that may end the cluster left out %llu, rejoins %llu\n",
                  protocol->name, protocol->nodes, protocol->replicas, points, tried, failures,
                  (unsigned long long)figures->kills, (unsigned long long)figures->left_out,
                  (unsigned long long)figures->rejoins);
    fflush(NULL);
}

static uint32_t enumerate_single(struct run *run, const struct protocol *protocol, uint32_t *tried)
{
    uint32_t every = step(counted->count, wanted_of(protocol->files ? TRIED_FILES : TRIED));
    uint32_t failures = 0;
    for (uint32_t at = every / 2; at < counted->count; at += every, ++*tried)
        failures += try_point(run, protocol, &counted->point[at], NULL);
    return failures + reap(0);
}

/* First deaths are those points at which a started node dies, or the master. */
static uint32_t choose_firsts(const struct protocol *protocol)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < counted->count; at++) {
        const struct point *point = &counted->point[at];
        if ((point->role & ROLE_STARTING) != 0) continue;
        if (protocol->of_master && (point->role & ROLE_MASTER) == 0) continue;
        first_list[kept++] = *point;
    }
    return pairs_by_kind() ? keep_kinds(first_list, kept) : kept;
}

static uint32_t enumerate_pairs(struct run *run, const struct protocol *protocol, uint32_t *tried,
                                uint32_t *points)
{
    uint32_t count = choose_firsts(protocol);
    uint32_t every = step(count, pairs_of(FIRSTS));
    uint32_t failures = 0;
    *points = 0;
    for (uint32_t at = every / 2; at < count; at += every) {
        const struct point *death = &first_list[at];
        failures += count_points(run, protocol, death, seconds);
        if (pairs_by_kind()) seconds->count = keep_kinds(seconds->point, seconds->count);
        uint32_t step_second = step(seconds->count, pairs_of(SECONDS));
        *points += seconds->count;
        table_add(protocol, seconds->point, seconds->count);
        for (uint32_t i = (at * 7u) % step_second; i < seconds->count; i += step_second, ++*tried)
            failures += try_point(run, protocol, death, &seconds->point[i]);
        failures += reap(0); /* Before the seconds are counted anew. */
    }
    return failures;
}

static uint32_t enumerate(const struct protocol *protocol)
{
    struct run *run = points_new(protocol);
    uint32_t tried = 0;
    set_up(run);
    memset(&counted->figures, 0, sizeof counted->figures);
    run->failures.figures = &counted->figures;
    uint32_t failures = count_points(run, protocol, NULL, counted);
    uint32_t points = counted->count;
    table_add(protocol, counted->point, counted->count);
    failures += protocol->pairs ? enumerate_pairs(run, protocol, &tried, &points)
                                : enumerate_single(run, protocol, &tried);
    report(protocol, points, tried, failures);
    run_free(run);
    free(run);
    assert_true(tried > 20);
    return failures;
}

static void *shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void test_protocols(void **state)
{
    const char *only = getenv("SIM_PROTOCOL");
    uint32_t failures = 0;
    (void)state;
    if (getenv("SIM_JAM_REPORT") != NULL) jams_open(getenv("SIM_JAM_REPORT"));
    counted = shared(sizeof *counted);
    seconds = shared(sizeof *seconds);
    first_list = shared(POINTS_MAX * sizeof *first_list);
    for (uint32_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++) {
        if (only == NULL || strstr(protocols[i].name, only) != NULL)
            failures += enumerate(&protocols[i]);
    }
    munmap(counted, sizeof *counted);
    munmap(seconds, sizeof *seconds);
    munmap(first_list, POINTS_MAX * sizeof *first_list);
    if (getenv("SIM_JAM_REPORT") != NULL) (void)jams_close(UINT32_MAX);
    assert_int_equal(failures, 0);
    if (only == NULL) assert_int_equal(table_end(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_protocols)};
    arena_keep(8, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
