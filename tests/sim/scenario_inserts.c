/* scenario_inserts.c -- every error insert armed once, and a held signal: all is answered, nothing
 * is left behind. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/scenario.h"

struct insert {
    uint32_t number;
    uint32_t block;
};

static const struct insert inserts[] = {
#define ERROR_INSERT(number, block, text) {number, BLOCK_##block},
#include "kernel/error_inserts.def"
#undef ERROR_INSERT
};

static void write_rows(struct run *run, struct session *session, uint32_t first, bool must)
{
    enum api_outcome outcome;
    session->count = 0;
    for (uint32_t i = 0; i < 4; i++)
        session_add(session, TABLE_CHURN, first + i, OP_WRITE)->value = ++run->model.next_value;
    uint32_t error = run_try(run, session, LOCK_EXCLUSIVE, &outcome);
    assert_string_equal(sim_failure_text(run->world), "");
    if (must) assert_int_equal(error, 0);
    assert_true(outcome == API_COMMITTED || error != 0);
    assert_true(outcome != API_UNKNOWN);
    for (uint32_t lock = LOCK_SHARED; lock <= LOCK_COMMITTED; lock++) {
        session->count = 0;
        session_add(session, TABLE_STATIC, 0, OP_READ);
        error = run_try(run, session, (enum lock_mode)lock, &outcome);
        if (must) assert_int_equal(error, 0);
    }
    assert_string_equal(sim_failure_text(run->world), "");
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

/* Rows seen, or -1 when the scan ended with an error. */
static int64_t scan_all(struct run *run, struct session *session, enum lock_mode lock)
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
    struct api_scan *scan = api_scan_start(session->api, &options, 10000, &error);
    if (scan == NULL) return -1;
    for (;;) {
        struct api_row row;
        enum api_scan_step step = api_scan_next(scan, &row);
        if (step == API_SCAN_ROW) rows++;
        if (step == API_SCAN_WAIT) {
            ready = false;
            assert_true(
                sim_run_until(run->world, is_true, &ready, sim_now_us(run->world) + 30000000u));
        }
        if (step == API_SCAN_ERROR) rows = -1;
        if (step == API_SCAN_ERROR || step == API_SCAN_END) break;
    }
    api_scan_close(scan);
    return rows;
}

static void try_everything(struct run *run, struct session *session, bool must)
{
    write_rows(run, session, 0, must);
    for (uint32_t lock = LOCK_SHARED; lock <= LOCK_COMMITTED; lock++) {
        int64_t rows = scan_all(run, session, (enum lock_mode)lock);
        if (must) assert_int_equal(rows, run->swarm.statics);
    }
    struct table_def *def = row_table(run, TABLES_MAX - 1, "scenario");
    uint32_t error = run_try_schema(run, session, def);
    free(def);
    if (must) assert_int_equal(error, 0);
    assert_string_equal(sim_failure_text(run->world), "");
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
        cmocka_unit_test(test_no_heartbeats),
        cmocka_unit_test(test_held_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
