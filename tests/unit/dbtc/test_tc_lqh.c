/* test_tc_lqh.c -- transactions through TC and LQH of one and of two data nodes, as a client sees
 * them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tc_fixture.h"

#define FRAGMENTS 4u

static int start_one(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 1, .fragments = FRAGMENTS});
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    return 0;
}

static int start_two(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS});
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    return 0;
}

static int start_two_primary(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS});
    w_table(&w, 1, TABLE_ROW_GCI);
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

/* Every operation type, each as a transaction of its own. */
static void test_operations(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    (void)state;
    for (uint32_t key = 1; key <= 20; key++)
        c_insert(&w, &t, key, key * 10);
    c_expect_row(&w, 7, 70);
    c_expect_none(&w, 21);

    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, WRITE_ALL), .key = 7, .value = 1);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_ROW_EXISTS, 1);
    t_next(&t);
    t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 7, .value = 71);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 7, 71);
    t_next(&t);
    t_op(&t, .api_op = 3, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 99, .value = 1);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_ROW_NOT_FOUND, 3);
    for (uint32_t value = 1; value <= 2; value++) { /* Inserts, then updates. */
        t_next(&t);
        t_op(&t, .api_op = 4, .info = INFO(OP_WRITE, WRITE_ALL), .key = 30, .value = value);
        w_run(&w);
        t_expect_keyconf(&t, KEYCONF_COMMITTED);
        c_expect_row(&w, 30, value);
    }
    t_next(&t);
    t_op(&t, .api_op = 5, .info = INFO(OP_DELETE, WRITE_ALL), .key = 30);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_none(&w, 30);
    t_next(&t);
    t_op(&t, .api_op = 6, .info = INFO(OP_READ, WRITE_ALL), .key = 7);
    w_run(&w);
    t_expect_value(&w, 6, 71);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
}

/* Many rows, several batches, the same row several times; rollback leaves nothing. */
static void test_batches(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        t_op(&t, .api_op = i,
             .info = INFO(OP_INSERT, (i == 0 ? KEY_START : 0) | (i == 299 ? KEY_EXECUTE : 0)),
             .key = i, .value = i);
        if (i % 50 == 0) w_run(&w);
    }
    w_run(&w);
    t_expect_keyconf(&t, 0);
    c_expect_none(&w, 5); /* Not committed yet. */
    for (uint32_t i = 0; i < 100; i++)
        t_op(&t, .api_op = i, .info = INFO(OP_UPDATE, i == 99 ? KEY_EXECUTE : 0), .key = i,
             .value = i + 1000);
    t_op(&t, .api_op = 7, .info = INFO(OP_DELETE, KEY_EXECUTE), .key = 7);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_TC_INTERNAL_203,
                         7); /* An operation before the batch was answered. */
    c_expect_none(&w, 5);

    t_next(&t);
    for (uint32_t i = 0; i < 300; i++)
        t_op(&t, .api_op = i,
             .info = INFO(OP_INSERT, (i == 0 ? KEY_START : 0) | (i == 299 ? KEY_EXECUTE : 0)),
             .key = i, .value = i);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, 0), .key = 1, .value = 111);
    t_op(&t, .api_op = 2, .info = INFO(OP_DELETE, 0), .key = 2);
    t_op(&t, .api_op = 3, .info = INFO(OP_DELETE, 0), .key = 3);
    t_op(&t, .api_op = 4, .info = INFO(OP_INSERT, 0), .key = 3, .value = 333);
    t_op(&t, .api_op = 5, .info = INFO(OP_READ, KEY_EXECUTE), .key = 1);
    w_run(&w);
    t_expect_value(&w, 5, 111);
    t_expect_keyconf(&t, 0);
    t_commit(&t);
    w_run(&w);
    const struct signal *sig = c_take(&w, GSN_TC_COMMITCONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tc_commitconf)->gci_hi, 1);
    c_expect_row(&w, 1, 111);
    c_expect_none(&w, 2);
    c_expect_row(&w, 3, 333);
    c_expect_row(&w, 299, 299);

    t_next(&t);
    for (uint32_t i = 0; i < 300; i++)
        t_op(&t, .api_op = i,
             .info = INFO(OP_WRITE, (i == 0 ? KEY_START : 0) | (i == 299 ? KEY_EXECUTE : 0)),
             .key = i);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_rollback(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    c_expect_row(&w, 1, 111);
    c_expect_none(&w, 2);
}

static void test_ignore_error(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    (void)state;
    c_insert(&w, &t, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_IGNORE_ERROR), .key = 1);
    t_op(&t, .api_op = 2, .info = INFO(OP_INSERT, KEY_IGNORE_ERROR), .key = 2, .value = 20);
    t_op(&t, .api_op = 3, .info = INFO(OP_DELETE, KEY_IGNORE_ERROR | KEY_EXECUTE), .key = 3);
    w_run(&w);
    t_expect_ref(&w, 1, ERR_ROW_EXISTS);
    t_expect_ref(&w, 3, ERR_ROW_NOT_FOUND);
    t_expect_keyconf(&t, 0);
    t_op(&t, .api_op = 4, .info = INFO(OP_UPDATE, KEY_IGNORE_ERROR | KEY_EXECUTE | KEY_COMMIT),
         .key = 9, .value = 1);
    w_run(&w);
    t_expect_ref(&w, 4, ERR_ROW_NOT_FOUND);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 2, 20);
    c_expect_row(&w, 1, 10);
}

/* A second transaction waits for the first one's row, gets it, and sees what was committed. */
static void test_lock_wait(void **state)
{
    struct trx one = t_new(&w, CLIENT, 1);
    struct trx two = t_new(&w, CLIENT_TWO, w.nodes);
    (void)state;
    c_insert(&w, &one, 1, 10);
    t_next(&one);
    t_op(&one, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 11);
    w_run(&w);
    t_expect_keyconf(&one, 0);
    t_op(&two, .api_op = 2, .info = INFO(OP_READ, KEY_START | KEY_EXECUTE), .key = 1);
    w_run(&w);
    assert_null(c_take(&w, GSN_TCKEYCONF));
    c_expect_row(&w, 1, 10); /* Committed reads do not wait. */
    t_commit(&one);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    t_expect_value(&w, 2, 11);
    t_expect_keyconf(&two, 0);

    t_next(&one);
    t_op(&one, .api_op = 3, .info = INFO(OP_UPDATE, WRITE_ALL | KEY_NOWAIT), .key = 1, .value = 12);
    w_run(&w);
    t_expect_rolled_back(&one, ERR_NOWAIT_LOCK, 3);
    t_op(&two, .api_op = 4, .info = INFO(OP_DELETE, KEY_EXECUTE), .key = 1);
    w_run(&w);
    t_expect_keyconf(&two, 0);
    t_next(&one);
    t_op(&one, .api_op = 5, .info = INFO(OP_WRITE, WRITE_ALL), .key = 1,
         .value = 13); /* Waits; the row vanishes; inserts. */
    w_run(&w);
    t_commit(&two);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    t_expect_keyconf(&one, KEYCONF_COMMITTED);
    c_expect_row(&w, 1, 13);
}

/* Each waits for the other's row; the timeout ends one of them. */
static void test_deadlock(void **state)
{
    struct trx one = t_new(&w, CLIENT, 1);
    struct trx two = t_new(&w, CLIENT_TWO, 1);
    (void)state;
    c_insert(&w, &one, 1, 1);
    c_insert(&w, &one, 2, 2);
    t_next(&one);
    t_op(&one, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 10);
    t_op(&two, .api_op = 2, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 2,
         .value = 20);
    w_run(&w);
    t_expect_keyconf(&one, 0);
    t_expect_keyconf(&two, 0);
    t_op(&one, .api_op = 3, .info = INFO(OP_UPDATE, KEY_EXECUTE | KEY_COMMIT), .key = 2,
         .value = 11);
    w_run(&w);
    w_pass(&w, 100);
    t_op(&two, .api_op = 4, .info = INFO(OP_UPDATE, KEY_EXECUTE | KEY_COMMIT), .key = 1,
         .value = 21);
    w_run(&w);
    assert_int_equal(w_lqh(&w, 1).segments + w_lqh(&w, w.nodes).segments > 0, 1);
    w_pass(&w, 1000);
    assert_null(c_take(&w, GSN_TCROLLBACKREP));
    w_pass(&w, 150);
    t_expect_rolled_back(&one, ERR_LOCK_TIMEOUT, 3);
    t_expect_keyconf(&two, KEYCONF_COMMITTED);
    c_expect_row(&w, 1, 21);
    c_expect_row(&w, 2, 20);
}

/* A client dies in the middle of things. */
static void test_api_failure(void **state)
{
    struct trx one = t_new(&w, CLIENT, 1);
    struct trx dead[3];
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        dead[i] = t_new(&w, CLIENT_TWO, 1);
    c_insert(&w, &one, 1, 10);
    t_op(&dead[0], .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 11);
    t_op(&dead[1], .api_op = 2, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 12); /* Waits for a lock. */
    t_op(&dead[2], .api_op = 3, .info = INFO(OP_INSERT, KEY_START), .key = 2, .value = 12);
    w_run(&w);
    t_expect_keyconf(&dead[0], 0);
    struct api_failreq req = {.sender_data = 5, .node = CLIENT_TWO};
    for (uint32_t i = 1; i <= w.nodes; i++)
        w_self(&w, i, BLOCK_DBTC, 1, GSN_API_FAILREQ, &req, 2, NULL, 0);
    w_run(&w);
    for (uint32_t i = 1; i <= w.nodes; i++)
        assert_int_equal(w_driver(&w, i)->api_failed, 1);
    assert_int_equal(w_tc(&w, 1).connects, 1);
    w_expect_quiet(&w);
    for (uint32_t i = 0; i < w.rx_count; i++) { /* What was sent to the dead one. */
        if (w.rx[i].client == CLIENT_TWO) w.rx[i].taken = true;
    }
    c_expect_row(&w, 1, 10);
    c_expect_none(&w, 2);
}

/* Each place where an operation can be refused, and each phase that can be aborted or delayed. */
static void test_inserts(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx u = t_new(&w, CLIENT_TWO, 1);
    static const struct {
        uint32_t block_no;
        uint32_t number;
        uint32_t extra;
        uint32_t error;
        uint32_t api_op;
    } refusals[] = {
        {BLOCK_DBTC, 8001, 0, ERR_TC_OPERATIONS, 1},
        {BLOCK_DBTC, 8003, 0, ERR_SEND_BUFFER_FULL, 1},
        {BLOCK_DBTC, 8004, 0, ERR_LOCK_TIMEOUT, 0},
        {BLOCK_DBLQH, 5001, 827, 827, 1},
        {BLOCK_DBLQH, 5003, 0, ERR_LQH_OPERATIONS, 1},
    };
    (void)state;
    c_insert(&w, &t, 1, 10);
    for (uint32_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        for (uint32_t node = 1; node <= w.nodes; node++)
            w_tamper(&w, node, refusals[i].block_no, refusals[i].number, refusals[i].extra);
        t_next(&t);
        t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 11);
        w_run(&w);
        t_expect_rolled_back(&t, refusals[i].error, refusals[i].api_op);
        t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, 0), .key = 1,
             .value = 12); /* Crosses the report: not answered. */
        w_run(&w);
        for (uint32_t node = 1; node <= w.nodes; node++)
            w_tamper(&w, node, refusals[i].block_no, 0, 0);
        c_expect_row(&w, 1, 10);
        w_expect_quiet(&w);
    }
    /* 8002, 8005: COMMIT and COMPLETE come late; meanwhile the lock is held. */
    for (uint32_t number = 8002; number <= 8005; number += 3) {
        w_tamper(&w, 1, BLOCK_DBTC, number, 0);
        t_next(&t);
        t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = number);
        w_run(&w);
        t_rollback(&t); /* Too late. */
        w_run(&w);
        assert_non_null(c_take(&w, GSN_TCROLLBACKREF));
        w_pass(&w, 100);
        t_expect_keyconf(&t, KEYCONF_COMMITTED);
        c_expect_row(&w, 1, number);
        w_tamper(&w, 1, BLOCK_DBTC, 0, 0);
    }
    /* Insert 5005: reads are refused while the client's link is full. */
    for (uint32_t node = 1; node <= w.nodes; node++)
        w_tamper(&w, node, BLOCK_DBLQH, 5005, 0);
    c_read(&w, 1, 9, 1);
    t_expect_ref(&w, 9, ERR_SEND_BUFFER_FULL);
    for (uint32_t node = 1; node <= w.nodes; node++)
        w_tamper(&w, node, BLOCK_DBLQH, 0, 0);
    /* Insert 5004: a grant is lost. Insert 5007: no memory to wait. */
    for (uint32_t number = 5004; number <= 5007; number += 3) {
        for (uint32_t node = 1; node <= w.nodes; node++)
            w_tamper(&w, node, BLOCK_DBLQH, number, 0);
        t_next(&t);
        t_next(&u);
        t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
             .value = 50);
        w_run(&w);
        t_expect_keyconf(&t, 0);
        t_op(&u, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 51);
        w_run(&w);
        t_commit(&t);
        w_run(&w);
        assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
        t_expect_rolled_back(&u, number == 5004 ? ERR_LOCK_TIMEOUT : ERR_LQH_SIGNAL_MEMORY, 2);
        for (uint32_t node = 1; node <= w.nodes; node++)
            w_tamper(&w, node, BLOCK_DBLQH, 0, 0);
    }
    c_expect_row(&w, 1, 50);
}

/* What a client that is broken or hostile can send. */
static void test_forged(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx other = t_new(&w, CLIENT_TWO, 1);
    (void)state;
    t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 1, .value = 1);
    w_run(&w);
    t_expect_keyconf(&t, 0);

    struct trx forged = t; /* Another client uses the record, with the right transaction id. */
    forged.client = CLIENT_TWO;
    t_op(&forged, .api_op = 2, .info = INFO(OP_UPDATE, KEY_EXECUTE | KEY_COMMIT), .key = 1,
         .value = 2);
    t_commit(&forged);
    t_rollback(&forged);
    w_run(&w);
    t_expect_ref(&w, 2, ERR_TC_INTERNAL_203);
    assert_non_null(c_take(&w, GSN_TC_COMMITREF));
    assert_non_null(c_take(&w, GSN_TCROLLBACKREF));
    struct tcreleasereq release = {.tc_connect = t.connect};
    c_send(&w, CLIENT_TWO, 1, GSN_TCRELEASEREQ, &release, 2, NULL, 0);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCRELEASEREF));

    other.transid1 =
        t.transid1; /* The same transaction id in another record: must not share the lock. */
    other.transid2 = t.transid2;
    t_op(&other, .api_op = 3, .info = INFO(OP_WRITE, WRITE_ALL | KEY_NOWAIT), .key = 1, .value = 3);
    w_run(&w);
    t_expect_rolled_back(&other, ERR_NOWAIT_LOCK, 3);

    struct trx stale = t; /* References that were never given. */
    for (uint32_t i = 0; i < 64; i++) {
        stale.connect = i * 0x01010101u + 2;
        if (stale.connect == t.connect || stale.connect == other.connect) continue;
        t_op(&stale, .api_op = 4, .info = INFO(OP_UPDATE, 0), .key = 1, .value = 9);
        w_run(&w);
        t_expect_ref(&w, 4, ERR_TC_INTERNAL_203);
    }
    t_op(&t, .api_op = 5, .info = 5u | KEY_IGNORE_ERROR,
         .key = 1); /* Operation 5 does not exist. */
    t_op(&t, .api_op = 6, .info = key_request_info(OP_READ, (enum lock_mode)3, KEY_IGNORE_ERROR),
         .key = 1);
    w_run(&w);
    t_expect_ref(&w, 5, ERR_TC_INTERNAL_203);
    t_expect_ref(&w, 6, ERR_TC_INTERNAL_203);

    /* A key of the wrong length, an unknown table, an old version. */
    struct tckeyreq req = {.table_id = 1,
                           .schema_version = 1,
                           .api_op = 7,
                           .request_info = key_request_info(OP_READ, LOCK_COMMITTED, 0)};
    const uint32_t words[2] = {attr_header(1, 0), 0};
    const struct section sections[2] = {{words, 2}, {words, 1}};
    c_send(&w, CLIENT, 1, GSN_TCKEYREQ, &req, 7, sections, 2);
    w_run(&w);
    t_expect_ref(&w, 7, ERR_KEY_LENGTH);
    req.table_id = 2;
    c_send(&w, CLIENT, 1, GSN_TCKEYREQ, &req, 7, sections, 2);
    req.table_id = 0xFFFFFFFF;
    c_send(&w, CLIENT, 1, GSN_TCKEYREQ, &req, 7, sections, 2);
    req.table_id = 1;
    req.schema_version = 2;
    c_send(&w, CLIENT, 1, GSN_TCKEYREQ, &req, 7, sections, 2);
    w_run(&w);
    t_expect_ref(&w, 7, ERR_UNKNOWN_TABLE_TC);
    t_expect_ref(&w, 7, ERR_UNKNOWN_TABLE_TC);
    t_expect_ref(&w, 7, ERR_SCHEMA_VERSION);

    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    t_commit(&t);
    t_rollback(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITREF));
    assert_non_null(c_take(&w, GSN_TCROLLBACKREF));
    c_expect_row(&w, 1, 1);
}

static void test_states(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    c_insert(&w, &t, 1, 10);
    w_level(&w, 1, START_STARTING);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, WRITE_ALL), .key = 2, .value = 1);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_CLUSTER_UNAVAILABLE, 1);
    w_level(&w, 1, START_STOPPING_1);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, WRITE_ALL), .key = 2, .value = 1);
    struct tcseizereq seize = {0};
    c_send(&w, CLIENT, 1, GSN_TCSEIZEREQ, &seize, 1, NULL, 0);
    c_read(&w, 1, 3, 1);
    t_expect_rolled_back(&t, ERR_NODE_SHUTDOWN, 1);
    t_expect_ref(&w, 3, ERR_NODE_SHUTDOWN);
    assert_int_equal(SIG_PAYLOAD(c_take(&w, GSN_TCSEIZEREF), tcseizeref)->error, ERR_NODE_SHUTDOWN);
    w_level(&w, 1, START_STARTED);
    c_expect_row(&w, 1, 10);
}

static void single_user(uint32_t node, uint32_t order, uint32_t grace_ms)
{
    struct node_state_rep rep = {.start_level = START_STARTED, .single_user = node};
    struct drain_clients_req req = {.sender_data = order, .node = node, .grace_ms = grace_ms};
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_NODE_STATE_REP, &rep, sizeof rep / 4u, NULL, 0);
    if (node != 0) w_self(&w, 1, BLOCK_DBTC, 1, GSN_DRAIN_CLIENTS_REQ, &req, 3, NULL, 0);
    w_run(&w);
}

static void test_one_client_alone(void **state)
{
    (void)state;
    struct trx other = t_new(&w, CLIENT, 1);
    struct trx idle = t_new(&w, CLIENT, 1);
    struct trx mine = t_new(&w, CLIENT_TWO, 1);
    t_op(&other, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 10);
    w_run(&w);
    t_expect_keyconf(&other, 0);

    single_user(CLIENT_TWO, 1, 500); /* What is under way may end, nothing new begins. */
    t_op(&idle, .api_op = 2, .info = INFO(OP_INSERT, WRITE_ALL), .key = 2, .value = 20);
    c_insert(&w, &mine, 3, 30);
    t_expect_rolled_back(&idle, ERR_SINGLE_USER_MODE, 2);
    assert_int_equal(w_driver(&w, 1)->drained, 0);
    t_commit(&other);
    w_pass(&w, 50);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    assert_int_equal(w_driver(&w, 1)->drained, 1);

    single_user(0, 0, 0);
    t_next(&other);
    t_op(&other, .api_op = 4, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 4,
         .value = 40);
    w_run(&w);
    t_expect_keyconf(&other, 0);
    single_user(CLIENT_TWO, 2, 500); /* It stays open: in the end by force. */
    w_pass(&w, 400);
    single_user(CLIENT_TWO, 3, 500); /* A newer order replaces the one under way. */
    w_pass(&w, 400);
    assert_int_equal(w_driver(&w, 1)->drained, 1);
    w_pass(&w, 200);
    t_expect_rolled_back(&other, ERR_SINGLE_USER_MODE, REF_NONE);
    assert_int_equal(w_driver(&w, 1)->drained, 3);

    single_user(0, 0, 0);
    c_expect_row(&w, 1, 10);
    c_expect_row(&w, 3, 30);
    c_expect_none(&w, 4);
    w_expect_quiet(&w);
}

static void few_records(struct node_config *config)
{
    config->transactions_max = 4;
    config->scans_max = 1;
    config->operations_max = 8;
    config->frag_scans_max = 2;
    config->inactive_timeout_ms = 400;
}

static int start_few(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 1, .fragments = FRAGMENTS, .tune = few_records});
    w_table(&w, 1, TABLE_ROW_GCI);
    return 0;
}

static int start_few_two(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS, .tune = few_records});
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    return 0;
}

static void test_exhausted(void **state)
{
    struct trx t[5];
    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        t[i] = t_new(&w, CLIENT, 1);
    struct tcseizereq seize = {0};
    c_send(&w, CLIENT, 1, GSN_TCSEIZEREQ, &seize, 1, NULL, 0);
    w_run(&w);
    assert_int_equal(SIG_PAYLOAD(c_take(&w, GSN_TCSEIZEREF), tcseizeref)->error,
                     ERR_TC_TRANSACTIONS);

    for (uint32_t i = 0; i < 9; i++)
        t_op(&t[0], .api_op = i,
             .info = INFO(OP_INSERT, (i == 0 ? KEY_START : 0) | (i == 8 ? KEY_EXECUTE : 0)),
             .key = i, .value = i);
    w_run(&w);
    t_expect_rolled_back(&t[0], ERR_TC_OPERATIONS_LIMIT, 8); /* It has all there are. */
    w_expect_quiet(&w);
    for (uint32_t i = 0; i < 8; i++) /* As many as there are records. */
        t_op(&t[1], .api_op = i,
             .info = INFO(OP_INSERT,
                          (i == 0 ? KEY_START : 0) | (i == 7 ? KEY_EXECUTE | KEY_COMMIT : 0)),
             .key = i, .value = i);
    w_run(&w);
    t_expect_keyconf(&t[1], KEYCONF_COMMITTED);
    c_expect_row(&w, 7, 7);

    /* A transaction that its client has left lying. */
    t_next(&t[2]);
    t_op(&t[2], .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 5);
    w_run(&w);
    t_expect_keyconf(&t[2], 0);
    w_pass(&w, 300);
    assert_null(c_take(&w, GSN_TCROLLBACKREP));
    w_pass(&w, 300);
    t_expect_rolled_back(&t[2], ERR_LOCK_TIMEOUT, 0);
    c_expect_row(&w, 1, 1);

    /* A release in the middle of a transaction ends it. */
    t_op(&t[3], .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 5);
    w_run(&w);
    t_expect_keyconf(&t[3], 0);
    struct tcreleasereq release = {.tc_connect = t[3].connect, .sender_data = 8};
    c_send(&w, CLIENT, 1, GSN_TCRELEASEREQ, &release, 2, NULL, 0);
    w_run(&w);
    assert_int_equal(SIG_PAYLOAD(c_take(&w, GSN_TCRELEASECONF), tcreleaseconf)->sender_data, 8);
    assert_int_equal(w_tc(&w, 1).connects, 4);
}

/* MaxNoOfConcurrentTransactions is exactly that many active ones; those that complete have room of
 * their own. */
static void test_active_limit(void **state)
{
    struct trx t[5];
    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        t[i] = t_new(&w, CLIENT, 1);
    for (uint32_t i = 0; i < 4; i++)
        t_op(&t[i], .api_op = i, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = i,
             .value = i);
    t_op(&t[4], .api_op = 9, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 9,
         .value = 9);
    w_run(&w);
    for (uint32_t i = 0; i < 4; i++)
        assert_non_null(c_take(&w, GSN_TCKEYCONF));
    t_expect_rolled_back(&t[4], ERR_TC_TRANSACTIONS, 9);

    w_tamper(&w, 1, BLOCK_DBTC, 8005, 0); /* COMPLETE is late. */
    for (uint32_t i = 0; i < 4; i++)
        t_commit(&t[i]);
    w_run(&w);
    for (uint32_t i = 0; i < 4; i++) {
        assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
        t_next(&t[i]);
        t_op(&t[i], .api_op = i, .info = INFO(OP_WRITE, WRITE_ALL), .key = 10 + i, .value = i);
    }
    w_run(&w);
    for (uint32_t i = 0; i < 4; i++)
        assert_non_null(c_take(&w, GSN_TCKEYCONF));
    assert_int_equal(w_tc(&w, 1).transactions, 8);
    t_next(&t[4]);
    t_op(&t[4], .api_op = 9, .info = INFO(OP_INSERT, WRITE_ALL), .key = 9, .value = 9);
    w_run(&w);
    t_expect_rolled_back(&t[4], ERR_COMPLETE_RECORDS, 9);
    w_pass(&w, 100);
    w_tamper(&w, 1, BLOCK_DBTC, 0, 0);
    t_next(&t[4]);
    t_op(&t[4], .api_op = 9, .info = INFO(OP_INSERT, WRITE_ALL), .key = 9, .value = 9);
    w_run(&w);
    t_expect_keyconf(&t[4], KEYCONF_COMMITTED);
}

/* A client that does not come back holds the drop no longer than it would hold a lock's waiter. */
static void test_drop_ends_idle_transaction(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    (void)state;
    t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 1, .value = 5);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    for (uint32_t node = 1; node <= w.nodes; node++)
        w_order(&w, node, BLOCK_DBTC, 1, LOCAL_TABLE_DROPPING);
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 0);
    w_pass(&w, 600);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 0);
    w_pass(&w, 3000);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 1);
    assert_int_equal(w_tc(&w, 1).operations, 0);
    t_expect_rolled_back(&t, ERR_TABLE_DROPPING_TC, 0);
}

/* A table is dropped while a transaction uses it. */
static void test_drop(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx u = t_new(&w, CLIENT, 1);
    (void)state;
    for (uint32_t key = 0; key < 100; key++)
        c_insert(&w, &t, key, key);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1, .value = 5);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        w_order(&w, node, BLOCK_DBTC, 1, LOCAL_TABLE_DROPPING);
    }
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 0);
    t_op(&u, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 2, .value = 5);
    w_run(&w);
    t_expect_rolled_back(&u, ERR_TABLE_DROPPING_TC, 2);
    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROPPING], 1);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        w_order(&w, node, BLOCK_DBLQH, 1, LOCAL_TABLE_DROPPING);
        w_order(&w, node, BLOCK_DBTC, 1, LOCAL_TABLE_DROP);
        w_order(&w, node, BLOCK_DBLQH, 1, LOCAL_TABLE_DROP);
    }
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROP], 2);
    assert_int_equal(w_tc(&w, 1).tables, 0);
    assert_int_equal(w_lqh(&w, 1).tables, 0);
    assert_int_equal(arena_usage(node_arena(w.n[1].node), RG_DATA).used <= 1, 1);
    c_read(&w, 1, 3, 1);
    t_expect_ref(&w, 3, ERR_UNKNOWN_TABLE_TC);
}

/* --- Two nodes. --- */

/* A backup refuses: the whole transaction is undone, whatever the operation says about errors. */
static void test_backup_refuses(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    (void)state;
    c_insert(&w, &t, 1, 10);
    for (uint32_t flags = 0; flags <= KEY_IGNORE_ERROR; flags += KEY_IGNORE_ERROR) {
        w_tamper(&w, 1, BLOCK_DBLQH, 5002, 827);
        w_tamper(&w, 2, BLOCK_DBLQH, 5002, 827);
        t_next(&t);
        for (uint32_t key = 1; key < 20; key++)
            t_op(&t, .api_op = key,
                 .info = INFO(OP_WRITE,
                              flags | (key == 1 ? KEY_START : 0) | (key == 19 ? KEY_EXECUTE : 0)),
                 .key = key, .value = 99);
        w_run(&w);
        const struct signal *sig = c_take(&w, GSN_TCROLLBACKREP);
        assert_non_null(sig);
        assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error, 827);
        w_tamper(&w, 1, BLOCK_DBLQH, 0, 0);
        w_tamper(&w, 2, BLOCK_DBLQH, 0, 0);
        w_expect_quiet(&w);
        c_expect_row(&w, 1, 10);
        c_expect_none(&w, 5);
    }
    t_next(&t);
    for (uint32_t key = 1; key < 20; key++)
        t_op(&t, .api_op = key,
             .info = INFO(OP_WRITE,
                          (key == 1 ? KEY_START : 0) | (key == 19 ? KEY_EXECUTE | KEY_COMMIT : 0)),
             .key = key, .value = 99);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 5, 99);
}

/* The answer is there before COMPLETE, the backup's lock until then; the next writer gets through
 * all the same. */
static void test_early_answer(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx u = t_new(&w, CLIENT_TWO, 2);
    (void)state;
    c_insert(&w, &t, 1, 10);
    w_tamper(&w, 1, BLOCK_DBTC, 8005, 0);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 11);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    assert_int_equal(w_tc(&w, 1).transactions, 1);
    t_next(&t); /* The record is free for the next transaction. */
    t_op(&t, .api_op = 2, .info = INFO(OP_INSERT, WRITE_ALL), .key = 2, .value = 20);
    t_op(&u, .api_op = 3, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 12);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    assert_null(c_take(&w, GSN_TCKEYCONF));
    w_pass(&w, 100);
    t_expect_keyconf(&u, KEYCONF_COMMITTED);
    w_tamper(&w, 1, BLOCK_DBTC, 0, 0);
    c_expect_row(&w, 1, 12);
}

/* The client has no link to the node that has the row: its TC tells it. A replica that is down: an
 * error, no silence. */
static void test_links_down(void **state)
{
    struct trx t = t_new(&w, CLIENT, 1);
    (void)state;
    for (uint32_t key = 0; key < 16; key++)
        c_insert(&w, &t, key, key);
    node_link_down(w.n[2].node, 0, CLIENT, EPOCH);
    uint32_t refused = 0;
    for (uint32_t key = 0; key < 16; key++) {
        c_read(&w, 1, key, key);
        const struct signal *sig = c_take(&w, GSN_TCKEYREF);
        if (sig == NULL) {
            t_expect_value(&w, key, key);
            continue;
        }
        assert_int_equal(SIG_PAYLOAD(sig, tckeyref)->error, ERR_READ_NODE_FAILURE);
        refused++;
    }
    assert_in_range(refused, 1, 15);
    node_link_up(w.n[2].node, 0, CLIENT, FROM_API, EPOCH);

    node_link_level(w.n[1].node, 2, LINK_OVERLOAD);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 11);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_SEND_BUFFER_FULL, 1);
    node_link_level(w.n[1].node, 2, LINK_NORMAL);
    node_link_down(w.n[1].node, 0, 2, EPOCH);
    t_next(&t);
    t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 11);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_NODE_FAILURE, 2);
    node_link_up(w.n[1].node, 0, 2, FROM_DATA, EPOCH);
    c_insert(&w, &t, 100, 100);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, start_one, stop)
#define TWO(test) cmocka_unit_test_setup_teardown(test, start_two, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_operations),
        TWO(test_operations),
        ONE(test_batches),
        TWO(test_batches),
        ONE(test_ignore_error),
        TWO(test_ignore_error),
        ONE(test_lock_wait),
        TWO(test_lock_wait),
        ONE(test_deadlock),
        TWO(test_deadlock),
        ONE(test_api_failure),
        TWO(test_api_failure),
        TWO(test_inserts),
        ONE(test_forged),
        TWO(test_forged),
        ONE(test_states),
        ONE(test_one_client_alone),
        cmocka_unit_test_setup_teardown(test_exhausted, start_few, stop),
        cmocka_unit_test_setup_teardown(test_active_limit, start_few_two, stop),
        ONE(test_drop),
        TWO(test_drop),
        ONE(test_drop_ends_idle_transaction),
        TWO(test_drop_ends_idle_transaction),
        TWO(test_backup_refuses),
        cmocka_unit_test_setup_teardown(test_backup_refuses, start_two_primary, stop),
        cmocka_unit_test_setup_teardown(test_operations, start_two_primary, stop),
        cmocka_unit_test_setup_teardown(test_early_answer, start_two_primary, stop),
        cmocka_unit_test_setup_teardown(test_links_down, start_two_primary, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
