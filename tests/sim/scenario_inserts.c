/* scenario_inserts.c -- every error insert armed once, and a held signal: all is answered, nothing
 * is left behind. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/errors.h"
#include "values/scan_range.h"
#include "tests/sim/scenario.h"

struct insert {
    uint32_t number;
    uint32_t block;
};

#define CROWD_MAX 160u

static const struct insert inserts[] = {
#define ERROR_INSERT(number, block, text) {number, BLOCK_##block},
#include "kernel/error_inserts.def"
#undef ERROR_INSERT
};

/* An error that the client got: it has a number that the list knows. Returns 1 for one, 0 for none.
 */
static uint32_t judge(struct run *run, uint32_t error, bool must)
{
    assert_string_equal(sim_failure_text(run->world), "");
    if (must) assert_int_equal(error, 0);
    if (error != 0) assert_int_equal(error_get(error)->number, error);
    return error != 0;
}

/* Each returns how many requests ended with an error. */
static uint32_t write_rows(struct run *run, struct session *session, uint32_t first, bool must)
{
    enum api_outcome outcome;
    uint32_t refused = 0;
    session->count = 0;
    for (uint32_t i = 0; i < 4; i++)
        session_add(session, TABLE_CHURN, first + i, OP_WRITE)->value = ++run->model.next_value;
    uint32_t error = run_try(run, session, LOCK_EXCLUSIVE, &outcome);
    refused += judge(run, error, must);
    assert_true(outcome == API_COMMITTED || error != 0);
    assert_true(outcome != API_UNKNOWN);
    for (uint32_t lock = LOCK_SHARED; lock <= LOCK_COMMITTED; lock++) {
        session->count = 0;
        session_add(session, TABLE_STATIC, 0, OP_READ);
        refused += judge(run, run_try(run, session, (enum lock_mode)lock, &outcome), must);
        if (row_uniques(run, TABLE_STATIC) <= UNIQUE_VALUE) continue;
        session->count = 0;
        struct item *item = session_add(session, TABLE_STATIC, 0, OP_READ);
        item->unique = true;
        item->named = run->model.statics[0];
        refused += judge(run, run_try(run, session, (enum lock_mode)lock, &outcome), must);
    }
    return refused;
}

static void on_ready(void *context, struct api_scan *scan)
{
    (void)scan;
    *(bool *)context = true;
}

static bool is_true(void *context)
{
    return *(bool *)context;
}

/* So many ranges of by_v need every kind of record that ranges can need; only the first has rows.
 */
#define RANGES 40u

static uint32_t put_ranges(const struct row_range *first, uint32_t *words)
{
    struct row_range range = *first;
    uint32_t used = 0;
    for (; range.number < RANGES; range.number++) {
        used += row_range(&range, words + used);
        range.low = 1;
        range.high = 0;
    }
    return used;
}

/* All rows are seen, or the scan ends with an error. `range`: in the order of an index. */
static uint32_t scan_all(struct run *run, struct session *session, enum lock_mode lock,
                         const struct row_range *range, bool must)
{
    static const uint32_t all[] = {ATTR_READ_ALL << 16};
    bool ready = false;
    uint32_t error = 0;
    int64_t rows = 0;
    struct api_scan_options options = {.table = session->table[TABLE_STATIC],
                                       .lock = lock,
                                       .attrs = all,
                                       .attr_words = 1,
                                       .ready = on_ready,
                                       .context = &ready};
    uint32_t filter[ROW_FILTER_WORDS];
    row_filter(run, TABLE_STATIC, 0, filter); /* All rows. */
    if (lock != LOCK_SHARED) options.program = filter;
    if (lock != LOCK_SHARED) options.program_words = ROW_FILTER_WORDS;
    uint32_t words[RANGES * ROW_RANGE_WORDS];
    if (range != NULL) options.range_words = put_ranges(range, words);
    if (range != NULL) options.range = words;
    struct api_scan *scan = api_scan_start(session->api, &options, 10000, &error);
    if (scan == NULL) return judge(run, error, must);
    for (;;) {
        struct api_row row;
        enum api_scan_step step = api_scan_next(scan, &row);
        if (step == API_SCAN_ROW) rows++;
        if (step == API_SCAN_WAIT) {
            ready = false;
            assert_true(
                sim_run_until(run->world, is_true, &ready, sim_now_us(run->world) + 30000000u));
        }
        if (step == API_SCAN_ERROR) error = api_scan_error(scan);
        if (step == API_SCAN_ERROR) assert_int_not_equal(error, 0);
        if (step == API_SCAN_END) assert_int_equal(rows, run->swarm.statics);
        if (step == API_SCAN_ERROR || step == API_SCAN_END) break;
    }
    api_scan_close(scan);
    return judge(run, error, must);
}

/* So many transactions at the same time want to write the same row: one after the other gets it. */
static uint32_t crowd(struct run *run, struct session *session, uint32_t size, bool must)
{
    struct api_tx *tx[CROWD_MAX];
    uint32_t refused = 0;
    assert_true(size <= CROWD_MAX);
    for (uint32_t i = 0; i < size; i++) {
        session->count = 0;
        session_add(session, TABLE_CHURN, 1, OP_WRITE)->value = ++run->model.next_value;
        session->tx = NULL;
        assert_true(session_define(session, 0, LOCK_EXCLUSIVE, 0));
        tx[i] = session->tx;
        assert_int_equal(api_tx_execute(tx[i], API_COMMIT, 60000, NULL, NULL), 0);
    }
    session->tx = NULL;
    sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 500000u);
    for (uint32_t i = 0; i < size; i++) {
        assert_false(api_tx_in_flight(tx[i]));
        refused += judge(run, api_tx_error(tx[i]), must);
        api_tx_close(tx[i]);
    }
    return refused;
}

/* An index of the churn table comes and goes. */
static uint32_t try_index(struct run *run, struct session *session, bool must)
{
    uint32_t created = run_try_index(run, session, TABLE_CHURN, ALTER_CREATE_INDEX, "insert");
    uint32_t dropped = run_try_index(run, session, TABLE_CHURN, ALTER_DROP_INDEX, "insert");
    uint32_t refused = 0;
    if (created != ERR_INDEX_EXISTS) refused += judge(run, created, must);
    if (dropped != ERR_INDEX_MISSING || must) refused += judge(run, dropped, must);
    return refused;
}

static uint32_t try_everything(struct run *run, struct session *session, bool must)
{
    uint32_t refused = write_rows(run, session, 0, must) + crowd(run, session, 2, must);
    for (uint32_t lock = LOCK_SHARED; lock <= LOCK_COMMITTED; lock++)
        refused += scan_all(run, session, (enum lock_mode)lock, NULL, must);
    struct row_range range = {.by_value = true, .high = UINT64_MAX, .closed = true};
    for (; range.flags <= SCAN_MERGED && row_indexes(run, TABLE_STATIC) > 0;
         range.flags += SCAN_MERGED)
        refused += scan_all(run, session, LOCK_COMMITTED, &range, must);
    struct table_def *def = row_table(run, TABLES_MAX - 1, "scenario");
    uint32_t error = run_try_schema(run, session, def);
    free(def);
    return refused + judge(run, error, must) + try_index(run, session, must);
}

/* Armed in one node at a time: whatever it does, it is over when it is disarmed. */
static void test_each_insert(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof inserts / sizeof inserts[0]; i++) {
        if (inserts[i].block == BLOCK_QMGR) continue; /* Stops the cluster: see below. */
        struct run *run = scenario_new(10 + i);
        assert_true(run_start(run));
        struct session *session = &run->client[0].session[0];
        for (uint32_t node = 1; node <= 2; node++) {
            sim_insert(run->world, node, inserts[i].block, inserts[i].number, ERR_LQH_RESOURCE_414);
            try_everything(run, session, false);
            sim_insert(run->world, node, inserts[i].block, 0, 0);
            sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 300000);
            try_everything(run, session, true);
        }
        scenario_end(run);
    }
}

/* --- The n-th record of every pool is refused. --- */

#define POOL_TRIES 12u

/* Records that pool `number` of all instances of a block, on all nodes, has in use, or has refused.
 */
static uint32_t pool_sum(struct run *run, uint32_t block_no, uint32_t number, bool refused)
{
    uint32_t sum = 0;
    for (uint32_t node = 1; node <= 2; node++) {
        for (uint32_t instance = 0; instance <= run->swarm.ldm; instance++) {
            struct block *block = node_block(sim_node(run->world, node), block_no, instance);
            const struct pool *pool = block == NULL ? NULL : block_pool_at(block, number);
            if (pool != NULL) sum += refused ? pool->failed : pool->in_use;
        }
    }
    return sum;
}

static void insert_everywhere(struct run *run, uint32_t block_no, uint32_t number, uint32_t extra)
{
    for (uint32_t node = 1; node <= 2; node++)
        sim_insert(run->world, node, block_no, number, extra);
}

static void refuse_each(struct run *run, uint32_t block_no, uint32_t number, const char *name)
{
    struct session *session = &run->client[0].session[0];
    bool connects = strcmp(name, "connects") == 0; /* Those that a client has, it keeps. */
    uint32_t met = 0;
    uint32_t errors = 0;
    uint32_t before = pool_sum(run, block_no, number, false);
    for (uint32_t n = 1; n <= POOL_TRIES; n++) {
        uint32_t failed = pool_sum(run, block_no, number, true);
        insert_everywhere(run, block_no, 9997, number << 16 | n);
        errors += try_everything(run, session, false);
        if (connects) errors += crowd(run, session, 2 + n * (n + 1), false);
        met += pool_sum(run, block_no, number, true) != failed;
        insert_everywhere(run, block_no, 0, 0);
        sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 300000);
        if (!connects) assert_int_equal(pool_sum(run, block_no, number, false), before);
    }
    try_everything(run, session, true);
    assert_true(met == 0 || errors > 0);
    bool elsewhere = strchr(name, '[') != NULL          /* By size: test_tup_memory. */
                     || strcmp(name, "waits") == 0      /* Only with files: test_tc_epoch. */
                     || strncmp(name, "orphan", 6) == 0 /* Only after a loss: test_takeover. */
                     || strcmp(name, "outcomes") == 0   /* Only after a loss: sim --failures. */
                     || strcmp(name, "copies") == 0;    /* Only to who comes back: test_copy. */
    if (met == 0 && !elsewhere) print_message("no record of pool %s was ever taken\n", name);
    assert_true(met > 0 || elsewhere);
}

/* Whatever is refused, wherever: no harm, a numbered error, nothing left behind, and all works
 * again. */
static void test_each_pool(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {BLOCK_DBTC,  BLOCK_DBLQH, BLOCK_DBACC,
                                      BLOCK_DBTUP, BLOCK_DBTUX, BLOCK_DBDICT};
    for (uint32_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct run *run = scenario_new(40 + i);
        for (uint32_t table = 0; table < TABLES_MAX; table++)
            run->swarm.key_kind[table] = (5u - table % 3u) % 3u; /* Each has two indexes. */
        assert_true(run_start(run));
        try_everything(run, &run->client[0].session[0], true);
        struct node *node = sim_node(run->world, 1);
        struct block *block = node_block(node, blocks[i], blocks[i] == BLOCK_DBDICT ? 0 : 1);
        for (uint32_t number = 0; number < block->pool_count; number++)
            refuse_each(run, blocks[i], number, block->pools[number].name);
        scenario_end(run);
    }
}

/* A node without heartbeats is declared dead, and its cluster, which has no take-over, stops and
 * says why. */
static void test_no_heartbeats(void **state)
{
    (void)state;
    struct run *run = scenario_new(3);
    assert_true(run_start(run));
    run->stopping_cluster = true;
    sim_insert(run->world, 1, BLOCK_QMGR, 940, 0);
    sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 60000000u);
    assert_string_equal(sim_failure_text(run->world), "");
    assert_false(sim_alive(run->world, 1));
    assert_false(sim_alive(run->world, 2));
    run_free(run);
    free(run);
}

/* A step held on its way to the other node: released, the transaction goes on and commits. */
static void test_held_commit(void **state)
{
    (void)state;
    static const uint32_t held[] = {GSN_LQHKEYREQ, GSN_LQHKEYCONF, GSN_COMMIT, GSN_COMPLETE};
    for (uint32_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        struct run *run = scenario_new(20 + i);
        assert_true(run_start(run));
        struct session *session = &run->client[0].session[0];
        sim_hold(run->world, 1, 2, held[i]);
        sim_hold(run->world, 2, 1, held[i]);
        session->count = 0;
        session_add(session, TABLE_CHURN, 1, OP_INSERT)->value = 77;
        assert_true(session_define(session, 0, LOCK_EXCLUSIVE, 0));
        struct api_tx *tx = session->tx;
        assert_int_equal(api_tx_execute(tx, API_COMMIT, 60000, NULL, NULL), 0);
        sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 1000000u);
        bool either = sim_held(run->world, 1, 2) || sim_held(run->world, 2, 1);
        assert_true(either);
        sim_release(run->world, 1, 2);
        sim_release(run->world, 2, 1);
        sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 2000000u);
        assert_int_equal(api_tx_outcome(tx), API_COMMITTED);
        api_tx_close(tx);
        session->tx = NULL;
        scenario_end(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_insert),
        cmocka_unit_test(test_each_pool),
        cmocka_unit_test(test_no_heartbeats),
        cmocka_unit_test(test_held_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
