/* test_tc_scan.c -- scans through TC and LQH: batches, counting, locks, closing, errors,
 * back-pressure. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tc_fixture.h"

#define FRAGMENTS 6u
#define ROWS      500u

static void fill(struct world *world)
{
    struct trx t = t_new(world, CLIENT, 1);
    for (uint32_t key = 0; key < ROWS; key++)
        t_op(&t, .api_op = key,
             .info = INFO(OP_INSERT, (key == 0 ? KEY_START : 0) |
                                         (key == ROWS - 1 ? KEY_EXECUTE | KEY_COMMIT : 0)),
             .key = key, .value = key);
    w_run(world);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
}

static int start_one(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 1, .fragments = FRAGMENTS});
    w_table(&w, 1, TABLE_ROW_GCI);
    fill(&w);
    return 0;
}

static int start_two(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS});
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    fill(&w);
    return 0;
}

static void tiny(struct node_config *config)
{
    config->scan_step_rows = 2;
    config->scans_max = 2;
    config->frag_scans_max = 2;
    config->inactive_timeout_ms = 400;
}

static int start_tiny(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 1, .fragments = FRAGMENTS, .tune = tiny});
    w_table(&w, 1, TABLE_ROW_GCI);
    fill(&w);
    return 0;
}

static void small_batches(struct node_config *config)
{
    config->batch_rows = 10;
    config->batch_bytes = 16384;
}

static int start_small(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 1, .fragments = 1, .tune = small_batches});
    w_table(&w, 1, TABLE_ROW_GCI);
    fill(&w);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    w_expect_quiet(&w);
    assert_int_equal(c_left(&w), 0);
    w_stop(&w);
    return 0;
}

struct scan {
    struct trx trx;
    uint32_t told; /* Rows of SCAN_TABCONFs. */
    uint32_t got;  /* Rows of TRANSID_AIs. */
    uint32_t confs;
    uint32_t batch_max; /* Most rows of one batch. */
    uint32_t error;
    bool end;
    bool seen[ROWS];
    uint32_t more[64];
    uint32_t more_count;
};

struct scan_options {
    enum lock_mode mode;
    uint32_t batch_rows;
    uint32_t batch_bytes;
    uint32_t parallelism;
    bool count;
};

static struct scan s_open(struct world *world, uint32_t client, const struct scan_options *options)
{
    struct scan scan = {.trx = t_new(world, client, 1)};
    struct scan_tabreq req = {.tc_connect = scan.trx.connect,
                              .api_scan = 600,
                              .table_id = 1,
                              .schema_version = 1,
                              .request_info = key_request_info(OP_READ, options->mode, 0),
                              .batch_rows = options->batch_rows,
                              .batch_bytes = options->batch_bytes,
                              .parallelism = options->parallelism,
                              .transid1 = scan.trx.transid1,
                              .transid2 = scan.trx.transid2};
    const uint32_t attr[2] = {attr_header(0, 0), attr_header(1, 0)};
    const struct section section = {attr, options->count ? 0 : 2};
    assert_true(c_send(world, client, 1, GSN_SCAN_TABREQ, &req, sizeof req / 4u, &section, 1));
    w_run(world);
    return scan;
}

static void take_rows(struct scan *scan, const struct signal *sig)
{
    const struct transid_ai *ai = SIG_PAYLOAD(sig, transid_ai);
    const uint32_t *words = sig->section[0].words;
    uint32_t at = 0;
    assert_int_equal(ai->api_op, 600);
    for (uint32_t i = 0; i < ai->rows; i++) {
        assert_int_equal(words[at], 4);
        assert_int_equal(words[at + 1], attr_header(0, 4));
        uint32_t key = words[at + 2];
        assert_true(key < ROWS && !scan->seen[key]);
        scan->seen[key] = true;
        at += 5;
    }
    assert_int_equal(at, sig->section[0].size);
    scan->got += ai->rows;
}

static void s_collect(struct scan *scan)
{
    const struct signal *sig;
    while ((sig = c_take(scan->trx.world, GSN_TRANSID_AI)) != NULL)
        take_rows(scan, sig);
    while ((sig = c_take(scan->trx.world, GSN_SCAN_TABCONF)) != NULL) {
        for (uint32_t at = 0; at < sig->section[0].size; at += SCAN_FRAG_ENTRY_WORDS) {
            const uint32_t *entry = sig->section[0].words + at;
            scan->told += entry[1];
            if (entry[1] > scan->batch_max) scan->batch_max = entry[1];
            if ((entry[2] & SCAN_FRAG_DONE) == 0) scan->more[scan->more_count++] = entry[0];
        }
        scan->confs++;
        if ((SIG_PAYLOAD(sig, scan_tabconf)->flags & SCAN_END) != 0) scan->end = true;
    }
    while ((sig = c_take(scan->trx.world, GSN_SCAN_TABREF)) != NULL) {
        scan->error = SIG_PAYLOAD(sig, scan_tabref)->error;
        scan->end = true;
    }
}

static void s_next(struct scan *scan, uint32_t flags)
{
    struct scan_nextreq req = {.tc_connect = scan->trx.connect,
                               .api_scan = 600,
                               .transid1 = scan->trx.transid1,
                               .transid2 = scan->trx.transid2,
                               .flags = flags};
    const struct section section = {scan->more, scan->more_count};
    c_send(scan->trx.world, scan->trx.client, 1, GSN_SCAN_NEXTREQ, &req, sizeof req / 4u, &section,
           flags == SCAN_CLOSE ? 0 : 1);
    scan->more_count = 0;
    w_run(scan->trx.world);
}

static void s_finish(struct scan *scan)
{
    s_collect(scan);
    while (!scan->end) {
        assert_int_not_equal(scan->more_count, 0);
        s_next(scan, 0);
        s_collect(scan);
    }
}

static void test_all_rows(void **state)
{
    static const struct scan_options options[] = {
        {LOCK_COMMITTED, 0, 0, 0, false}, {LOCK_COMMITTED, 1, 0, 0, false},
        {LOCK_COMMITTED, 7, 0, 2, false}, {LOCK_COMMITTED, 0, 40, 1, false},
        {LOCK_COMMITTED, 0, 1, 0, false}, {LOCK_SHARED, 0, 0, 0, false},
        {LOCK_EXCLUSIVE, 5, 0, 3, false}, {LOCK_EXCLUSIVE, 0, 60, 1, false},
        {LOCK_COMMITTED, 0, 0, 0, true},  {LOCK_SHARED, 10, 0, 0, true},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct scan scan = s_open(&w, CLIENT, &options[i]);
        s_finish(&scan);
        assert_int_equal(scan.error, 0);
        assert_int_equal(scan.told, ROWS);
        assert_int_equal(scan.got, options[i].count ? 0 : ROWS);
        if (options[i].batch_rows != 0) assert_true(scan.batch_max <= options[i].batch_rows);
        w_expect_quiet(&w);
    }
}

/* Rows of each batch of a fragment, one after the other. */
static void expect_batches(const struct scan_options *options, const uint32_t *rows, uint32_t count)
{
    struct scan scan = s_open(&w, CLIENT, options);
    s_collect(&scan);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(scan.batch_max, rows[i]);
        scan.batch_max = 0;
        s_next(&scan, 0);
        s_collect(&scan);
    }
    s_finish(&scan);
    assert_int_equal(scan.error, 0);
    assert_int_equal(scan.got, ROWS);
}

/* Batches whose size the client leaves open grow while it asks for more; others stay. */
static void test_growing_batches(void **state)
{
    static const uint32_t grow[] = {10, 20, 40, 80, 160};
    static const uint32_t stay[] = {10, 10, 10, 10, 10};
    (void)state;
    expect_batches(&(struct scan_options){.mode = LOCK_COMMITTED}, grow, 5);
    expect_batches(&(struct scan_options){.mode = LOCK_SHARED}, stay, 5);
    expect_batches(&(struct scan_options){.mode = LOCK_COMMITTED, .batch_rows = 10}, stay, 5);
    expect_batches(&(struct scan_options){.mode = LOCK_COMMITTED, .batch_bytes = 200}, stay, 5);
}

/* Closed with batches on their way, and closed twice. */
static void test_close(void **state)
{
    static const struct scan_options options[] = {{LOCK_COMMITTED, 3, 0, 0, false},
                                                  {LOCK_EXCLUSIVE, 3, 0, 0, false}};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct scan scan = s_open(&w, CLIENT, &options[i]);
        s_collect(&scan);
        assert_false(scan.end);
        s_next(&scan, SCAN_CLOSE);
        s_collect(&scan);
        assert_true(scan.end);
        assert_int_equal(scan.error, 0);
        w_expect_quiet(&w);
        s_next(&scan, SCAN_CLOSE); /* Crosses the end. */
        s_collect(&scan);
        struct scan other = s_open(&w, CLIENT, &options[i]);
        struct tcreleasereq release = {.tc_connect = other.trx.connect};
        c_send(&w, CLIENT, 1, GSN_TCRELEASEREQ, &release, 2, NULL, 0);
        w_run(&w);
        s_collect(&other);
        assert_non_null(c_take(&w, GSN_TCRELEASECONF));
        w_expect_quiet(&w);
    }
}

/* Rows that a transaction has locked are waited for; the scan's own locks keep others out until the
 * next batch. */
static void test_locking(void **state)
{
    static const struct scan_options options = {LOCK_EXCLUSIVE, 0, 0, 0, false};
    struct trx t = t_new(&w, CLIENT_TWO, 1);
    (void)state;
    t_op(&t, .api_op = 1, .info = INFO(OP_DELETE, KEY_START), .key = 10);
    t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, KEY_EXECUTE), .key = 11, .value = 5);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    struct scan scan = s_open(&w, CLIENT, &options);
    s_collect(&scan);
    assert_true(scan.got < ROWS && scan.confs < FRAGMENTS);
    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    s_collect(&scan);
    t_next(&t); /* Row 11 is locked by the scan. */
    t_op(&t, .api_op = 3, .info = INFO(OP_UPDATE, WRITE_ALL | KEY_NOWAIT), .key = 11, .value = 6);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_NOWAIT_LOCK, 3);
    s_finish(&scan);
    assert_int_equal(scan.error, 0);
    assert_int_equal(scan.got, ROWS - 1);
    assert_false(scan.seen[10]);

    /* A row that stays locked: the scan ends by timeout, and nothing is left of it. */
    t_next(&t);
    t_op(&t, .api_op = 4, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 11, .value = 6);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    struct scan late = s_open(&w, CLIENT, &options);
    w_pass(&w, 1300);
    s_collect(&late);
    assert_true(late.end);
    assert_int_equal(late.error, ERR_SCAN_TIMEOUT);
    struct scan closed = s_open(&w, CLIENT, &options); /* Closed while it waits. */
    s_next(&closed, SCAN_CLOSE);
    w_pass(&w, 1300);
    s_collect(&closed);
    assert_true(closed.end);
    assert_int_equal(closed.error, 0);
    t_rollback(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
}

static void test_refused(void **state)
{
    static const struct scan_options options = {LOCK_COMMITTED, 10, 0, 0, false};
    (void)state;
    w_tamper(&w, 1, BLOCK_DBLQH, 5006, 0);
    struct scan scan = s_open(&w, CLIENT, &options);
    s_collect(&scan);
    assert_int_equal(scan.error, ERR_LQH_SCAN_RECORDS);
    w_tamper(&w, 1, BLOCK_DBLQH, 0, 0);

    struct scan good = s_open(&w, CLIENT, &options);
    struct scan twice = good; /* A second scan, and a transaction, in the same record. */
    struct scan_tabreq req = {
        .tc_connect = good.trx.connect, .api_scan = 601, .table_id = 1, .schema_version = 1};
    const uint32_t attr[1] = {attr_header(0, 0)};
    const struct section section = {attr, 1};
    c_send(&w, CLIENT, 1, GSN_SCAN_TABREQ, &req, sizeof req / 4u, &section, 1);
    t_next(&twice.trx);
    t_op(&twice.trx, .api_op = 1, .info = INFO(OP_READ, WRITE_ALL), .key = 1);
    w_run(&w);
    t_expect_rolled_back(&twice.trx, ERR_TC_INTERNAL_203, 1);
    assert_int_equal(SIG_PAYLOAD(c_take(&w, GSN_SCAN_TABREF), scan_tabref)->error,
                     ERR_TC_INTERNAL_203);
    s_collect(&good);
    good.more[0] = 77; /* A fragment that does not exist: the scan ends. */
    s_next(&good, 0);
    s_collect(&good);
    assert_int_equal(good.error, ERR_TC_INTERNAL_203);
}

/* The client's link is full: the scan holds back, and goes on. */
static void test_back_pressure(void **state)
{
    static const struct scan_options options = {LOCK_COMMITTED, 0, 0, 0, false};
    (void)state;
    for (uint32_t node = 1; node <= w.nodes; node++)
        w_tamper(&w, node, BLOCK_DBLQH, 5005, 0);
    struct scan scan = s_open(&w, CLIENT, &options);
    w_pass(&w, 50);
    s_collect(&scan);
    assert_int_equal(scan.got, 0);
    for (uint32_t node = 1; node <= w.nodes; node++)
        w_tamper(&w, node, BLOCK_DBLQH, 0, 0);
    w_pass(&w, 50);
    s_finish(&scan);
    assert_int_equal(scan.got, ROWS);
}

static void test_api_failure(void **state)
{
    static const struct scan_options options[] = {{LOCK_COMMITTED, 3, 0, 0, false},
                                                  {LOCK_EXCLUSIVE, 3, 0, 0, false}};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        s_open(&w, CLIENT_TWO, &options[i]);
        struct api_failreq req = {.sender_data = 5, .node = CLIENT_TWO};
        w_self(&w, 1, BLOCK_DBTC, 1, GSN_API_FAILREQ, &req, 2, NULL, 0);
        w_run(&w);
        assert_int_equal(w_driver(&w, 1)->api_failed, i + 1);
        w_expect_quiet(&w);
    }
    for (uint32_t i = 0; i < w.rx_count; i++)
        w.rx[i].taken = true;
}

/* A table that is being dropped: the next batch is refused, then the drop goes on. */
static void test_drop(void **state)
{
    static const struct scan_options options = {LOCK_COMMITTED, 3, 0, 0, false};
    (void)state;
    struct scan scan = s_open(&w, CLIENT, &options);
    s_collect(&scan);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        w_order(&w, node, BLOCK_DBTC, 1, LOCAL_TABLE_DROPPING);
        w_order(&w, node, BLOCK_DBLQH, 1, LOCAL_TABLE_DROPPING);
    }
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 1); /* The LQH's. */
    s_next(&scan, 0);
    s_collect(&scan);
    assert_int_equal(scan.error, ERR_TABLE_DROPPING);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 2);
    scan = s_open(&w, CLIENT, &options);
    s_collect(&scan);
    assert_int_equal(scan.error, ERR_TABLE_DROPPING_TC);
}

/* The client does not come back: the drop goes on without it, and its next use says why. */
static void test_drop_ends_idle_scan(void **state)
{
    static const struct scan_options modes[] = {{LOCK_COMMITTED, 3, 0, 0, false},
                                                {LOCK_EXCLUSIVE, 3, 0, 2, false}};
    (void)state;
    struct scan scan = s_open(&w, CLIENT, &modes[w.nodes - 1]);
    s_collect(&scan);
    assert_false(scan.end);
    w_order(&w, 1, BLOCK_DBTC, 1, LOCAL_TABLE_DROPPING);
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 0);
    w_pass(&w, 1300); /* No timeout of clients: the walk alone finds it. */
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 1);
    assert_int_equal(w_tc(&w, 1).scans, 0);
    s_next(&scan, 0); /* Crosses the end: no second answer. */
    s_collect(&scan);
    assert_int_equal(scan.error, ERR_TABLE_DROPPING_TC);
}

/* Two fragments at a time for want of records; too many scans; a client that does not fetch. */
static void test_tiny_limits(void **state)
{
    static const struct scan_options all = {LOCK_COMMITTED, 0, 0, 0, false};
    static const struct scan_options slow = {LOCK_COMMITTED, 1, 0, 1, false};
    (void)state;
    struct scan scan = s_open(&w, CLIENT, &all);
    s_finish(&scan);
    assert_int_equal(scan.got, ROWS);
    struct scan one = s_open(&w, CLIENT, &slow);
    struct scan two = s_open(&w, CLIENT, &slow);
    struct scan three = s_open(&w, CLIENT, &slow);
    const struct signal *sig = c_take(&w, GSN_SCAN_TABREF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, scan_tabref)->error, ERR_SCAN_LIMIT);
    assert_int_equal(SIG_PAYLOAD(sig, scan_tabref)->transid1, three.trx.transid1);
    while (c_take(&w, GSN_TRANSID_AI) != NULL || c_take(&w, GSN_SCAN_TABCONF) != NULL) {
        /* Both have their first row. */
    }
    assert_int_equal(w_tc(&w, 1).scans, 2);
    w_pass(&w, 600);
    s_collect(&one);
    assert_true(one.end);
    assert_int_equal(one.error, ERR_SCAN_WAIT_TIMEOUT);
    s_next(&two, SCAN_CLOSE); /* Ended already. */
    assert_int_equal(w_tc(&w, 1).scans, 0);
}

/* --- Single user mode. --- */

static void drain(uint32_t order, uint32_t client, uint32_t grace_ms)
{
    struct node_state_rep rep = {.start_level = START_STARTED, .single_user = client};
    struct drain_clients_req req = {.sender_data = order, .node = client, .grace_ms = grace_ms};
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_NODE_STATE_REP, &rep, sizeof rep / 4u, NULL, 0);
    if (client != 0) w_self(&w, 1, BLOCK_DBTC, 1, GSN_DRAIN_CLIENTS_REQ, &req, 3, NULL, 0);
    w_run(&w);
}

/* A scan that its client leaves open ends by force when its time is over, and so do its locks; one
 * that waits for a lock of the client that stays is left in peace until it has it. */
static void test_one_client_alone(void **state)
{
    static const struct scan_options options = {LOCK_EXCLUSIVE, 3, 0, 0, false};
    struct trx mine = t_new(&w, CLIENT_TWO, 1);
    uint32_t key = 0;
    (void)state;
    struct scan open = s_open(&w, CLIENT, &options);
    s_collect(&open);
    while (!open.seen[key])
        key++;
    drain(1, CLIENT_TWO, 100);
    w_pass(&w, 90);
    s_collect(&open);
    assert_false(open.end);
    assert_int_equal(w_driver(&w, 1)->drained, 0);
    w_pass(&w, 60);
    s_collect(&open);
    assert_int_equal(open.error, ERR_SINGLE_USER_MODE);
    assert_int_equal(w_driver(&w, 1)->drained, 1);
    w_expect_quiet(&w);
    s_next(&open, 0); /* Crosses the end: no second answer. */
    t_op(&mine, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE | KEY_NOWAIT),
         .key = key, .value = 7);
    w_run(&w);
    t_expect_keyconf(&mine, 0);

    drain(0, 0, 0);
    struct scan waits = s_open(&w, CLIENT, &options);
    drain(2, CLIENT_TWO, 0);
    w_pass(&w, 100);
    s_collect(&waits);
    assert_false(waits.end);
    assert_int_equal(w_driver(&w, 1)->drained, 1);
    t_commit(&mine);
    w_pass(&w, 50);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    s_collect(&waits);
    assert_int_equal(waits.error, ERR_SINGLE_USER_MODE);
    assert_int_equal(w_driver(&w, 1)->drained, 2);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, start_one, stop)
#define TWO(test) cmocka_unit_test_setup_teardown(test, start_two, stop)

/* One kind of record has taken all memory for transactions, and pools give nothing back: whatever
 * had none yet (the first scan since the node began) has what it keeps. */
static void test_others_have_all_memory(void **state)
{
    static const struct scan_options options[] = {{LOCK_COMMITTED, 0, 0, 0, false},
                                                  {LOCK_EXCLUSIVE, 5, 0, 3, false},
                                                  {LOCK_SHARED, 3, 0, 0, true}};
    enum { FEW = 40 };
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS});
    w_table(&w, 1, TABLE_ROW_GCI);
    for (uint32_t node = 1; node <= 2; node++) {
        struct arena *arena = block_arena(node_block(w.n[node].node, BLOCK_DBTC, 1));
        while (arena_page(arena, RG_TRANSACTION) != NULL)
            continue;
    }
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < FEW; key++)
        c_insert(&w, &t, key, key);
    for (uint32_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct scan scan = s_open(&w, CLIENT, &options[i]);
        s_finish(&scan);
        assert_int_equal(scan.error, 0);
        assert_int_equal(scan.told, FEW);
    }
    t_next(&t);
    for (uint32_t key = 0; key < FEW; key++)
        t_op(&t, .api_op = key, .info = INFO(OP_UPDATE, key == 0 ? KEY_START : 0), .key = key,
             .value = 7);
    t_op(&t, .api_op = FEW, .info = INFO(OP_DELETE, KEY_EXECUTE | KEY_COMMIT));
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 1, 7);
    c_expect_none(&w, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_all_rows),
        TWO(test_all_rows),
        ONE(test_close),
        TWO(test_close),
        ONE(test_locking),
        TWO(test_locking),
        ONE(test_refused),
        TWO(test_refused),
        ONE(test_back_pressure),
        TWO(test_back_pressure),
        ONE(test_api_failure),
        TWO(test_api_failure),
        ONE(test_drop),
        TWO(test_drop),
        ONE(test_drop_ends_idle_scan),
        TWO(test_drop_ends_idle_scan),
        ONE(test_one_client_alone),
        TWO(test_one_client_alone),
        cmocka_unit_test_setup_teardown(test_all_rows, start_tiny, stop),
        cmocka_unit_test_setup_teardown(test_tiny_limits, start_tiny, stop),
        cmocka_unit_test_setup_teardown(test_growing_batches, start_small, stop),
        cmocka_unit_test_teardown(test_others_have_all_memory, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
