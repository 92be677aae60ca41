/* test_tc_unique_use.c -- unique indexes that come and go while rows change: when rows fire, whose
 * entry is deleted, who is waited for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/unique_fixture.h"

#define FRAGMENTS   4u
#define DEADLOCK_MS 200u

static void config(struct node_config *config)
{
    config->deadlock_timeout_ms = DEADLOCK_MS;
}

static int start(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS, .tune = config});
    w.unique = false;
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(c_left(&w), 0);
    w_expect_quiet(&w);
    w_stop(&w);
    return 0;
}

static void expect_duplicate(struct trx *t, uint32_t key, uint32_t value)
{
    t_next(t);
    t_op(t, .api_op = key, .info = INFO(OP_INSERT, WRITE_ALL), .key = key, .value = value);
    w_run(&w);
    t_expect_rolled_back(t, ERR_UNIQUE_DUPLICATE, key);
}

/* --- Tests. --- */

/* Rows that change get entries from FIRES on; those that have none are changed all the same. */
static void test_firing(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < 8; key++)
        unique_done(&t, OP_INSERT, key, 100 + key);
    unique_make_known();
    unique_done(&t, OP_INSERT, 8, 108);
    unique_order(BLOCK_DBLQH, UNIQUE_DELETES);
    unique_done(&t, OP_INSERT, 9, 109);
    unique_done(&t, OP_UPDATE, 0, 200);
    unique_done(&t, OP_DELETE, 7, 0);
    unique_order(BLOCK_DBLQH, UNIQUE_FIRES);
    for (uint32_t key = 10; key < 16; key++)
        unique_done(&t, OP_INSERT, key, 100 + key);
    unique_done(&t, OP_UPDATE, 1, 201);
    unique_done(&t, OP_DELETE, 2, 0);
    unique_done(&t, OP_DELETE, 10, 0);
    unique_done(&t, OP_UPDATE, 11, 211);
    expect_duplicate(&t, 20, 112);
    unique_make_online();
    for (uint32_t key = 12; key < 16; key++)
        unique_expect_entry(100 + key, true);
    unique_expect_entry(201, true);
    unique_expect_entry(211, true);
    for (uint32_t key = 0; key < 12; key++)
        unique_expect_entry(100 + key, false);
    unique_expect_entry(200, false);
}

/* An entry that a row has from one primary goes when the next one knows deletes only. */
static void test_deletes(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    unique_make_firing();
    for (uint32_t key = 0; key < 4; key++)
        unique_done(&t, OP_INSERT, key, 100 + key);
    unique_order(BLOCK_DBLQH, UNIQUE_DELETES);
    unique_done(&t, OP_DELETE, 0, 0);
    unique_done(&t, OP_UPDATE, 1, 201);
    unique_done(&t, OP_INSERT, 5, 105);
    unique_order(BLOCK_DBLQH, UNIQUE_FIRES);
    unique_make_online();
    unique_expect_entry(100, false);
    unique_expect_entry(101, false);
    unique_expect_entry(201, false);
    unique_expect_entry(102, true);
    unique_expect_entry(105, false);
}

/* One of two rows with one key has the entry: the other one leaves it. */
static void test_whose_entry(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < 8; key++)
        unique_done(&t, OP_INSERT, key, 100 + key);
    unique_make_firing();
    for (uint32_t key = 0; key < 8; key++)
        unique_done(&t, OP_INSERT, 10 + key, 100 + key);
    for (uint32_t key = 0; key < 8; key++)
        unique_done(&t, key % 2 == 0 ? OP_DELETE : OP_UPDATE, key, 200 + key);
    unique_done(&t, OP_DELETE, 10, 0);
    unique_make_online();
    unique_expect_entry(100, false);
    for (uint32_t key = 1; key < 8; key++)
        unique_expect_entry(100 + key, true);
    unique_expect_entry(201, true);
}

/* Several changes of one row in one transaction, none of which has an entry to give up. */
static void test_one_transaction(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    unique_done(&t, OP_INSERT, 1, 10);
    unique_make_firing();
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START), .key = 1, .value = 11);
    t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, 0), .key = 1, .value = 12);
    t_op(&t, .api_op = 3, .info = INFO(OP_DELETE, 0), .key = 1);
    t_op(&t, .api_op = 4, .info = INFO(OP_INSERT, KEY_EXECUTE), .key = 1, .value = 13);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    unique_rolled_back(&t);
    unique_begun(&t, OP_UPDATE, 1, 14);
    unique_committed(&t);
    unique_make_online();
    for (uint32_t value = 10; value < 14; value++)
        unique_expect_entry(value, false);
    unique_expect_entry(14, true);
}

/* FIRES is answered when all that began before has ended, at the primary and at the backup. */
static void test_fires_waits(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx late = t_new(&w, CLIENT_TWO, 2);
    unique_make_known();
    unique_begun(&t, OP_INSERT, 1, 10);
    unique_order(BLOCK_DBLQH, UNIQUE_DELETES);
    unique_begin_order(BLOCK_DBLQH, UNIQUE_FIRES);
    assert_int_equal(unique_answered(), 0);
    unique_begun(&late, OP_INSERT, 2, 20); /* Fires, and is not waited for. */
    w_pass(&w, 50);
    assert_int_equal(unique_answered(), 0);
    unique_committed(&t);
    w_pass(&w, 50);
    assert_int_equal(unique_answered(), w.nodes);
    unique_committed(&late);
    unique_make_online();
    unique_expect_entry(10, false);
    unique_expect_entry(20, true);
}

/* Who has begun before and does nothing is not waited for; who does something else is left alone.
 */
static void test_fires_idle(void **state)
{
    (void)state;
    struct trx idle = t_new(&w, CLIENT, 1);
    struct trx late = t_new(&w, CLIENT_TWO, 2);
    unique_make_known();
    unique_begun(&idle, OP_INSERT, 1, 10);
    unique_order(BLOCK_DBLQH, UNIQUE_DELETES);
    unique_order(BLOCK_DBTC, UNIQUE_FIRES);
    unique_begin_order(BLOCK_DBLQH, UNIQUE_FIRES);
    unique_begun(&late, OP_INSERT, 2, 20);
    assert_int_equal(unique_answered(), 0);
    w_pass(&w, 10 * DEADLOCK_MS);
    t_expect_rolled_back(&idle, ERR_LOCK_TIMEOUT, REF_NONE);
    assert_int_equal(unique_answered(), w.nodes);
    unique_committed(&late);
}

/* Nor who begins between the order to its TC and that to another node's LQH. */
static void test_fires_idle_between(void **state)
{
    (void)state;
    struct trx idle = t_new(&w, CLIENT, 1);
    unique_make_known();
    unique_order(BLOCK_DBLQH, UNIQUE_DELETES);
    unique_order(BLOCK_DBTC, UNIQUE_FIRES);
    unique_begun(&idle, OP_INSERT, 1, 10);
    unique_begin_order(BLOCK_DBLQH, UNIQUE_FIRES);
    w_pass(&w, 10 * DEADLOCK_MS);
    assert_int_equal(unique_answered(), w.nodes);
    t_expect_rolled_back(&idle, ERR_LOCK_TIMEOUT, REF_NONE);
}

/* Only the node's own TRIX fills an index. */
static void test_fill_forged(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    unique_make_firing();
    unique_done(&t, OP_INSERT, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = key_request_info(OP_READ, LOCK_SHARED, WRITE_ALL | KEY_FILL),
         .key = 1);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_TC_INTERNAL_203, 1);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = key_request_info(OP_UPDATE, LOCK_EXCLUSIVE, WRITE_ALL | KEY_FILL),
         .key = 1, .value = 20);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_TC_INTERNAL_203, 1);
}

/* Nobody looks rows up any more, but each change still finds its entry. */
static void test_closed(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx writer = t_new(&w, CLIENT_TWO, 1);
    unique_make_firing();
    unique_make_online();
    unique_done(&t, OP_INSERT, 1, 10);
    unique_done(&t, OP_INSERT, 2, 20);
    t_next(&t);
    t_unique(&t, .api_op = 1, .info = UNIQUE(OP_READ, LOCK_SHARED, KEY_START | KEY_EXECUTE),
             .key = 10);
    w_run(&w);
    t_expect_value(&w, 1, 10);
    t_expect_keyconf(&t, 0);
    unique_begin_order(BLOCK_DBTC, UNIQUE_CLOSED);
    assert_int_equal(unique_answered(), 1); /* The other node's TC. */
    expect_duplicate(&writer, 4, 20);
    unique_committed(&t);
    assert_int_equal(unique_answered(), 2);
    unique_begun(&writer, OP_INSERT, 3, 30);
    t_next(&t);
    t_unique(&t, .api_op = 2, .info = UNIQUE(OP_READ, LOCK_SHARED, WRITE_ALL), .key = 10);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_TABLE_DROPPING_TC, 2);
    unique_committed(&writer);
    unique_forget();
}

/* A client that does nothing is not waited for, unless it has only changed rows. */
static void test_closed_idle(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx writer = t_new(&w, CLIENT_TWO, 1);
    unique_make_firing();
    unique_make_online();
    unique_done(&t, OP_INSERT, 1, 10);
    unique_begun(&writer, OP_INSERT, 3, 30);
    t_next(&t);
    t_unique(&t, .api_op = 1, .info = UNIQUE(OP_READ, LOCK_SHARED, KEY_START | KEY_EXECUTE),
             .key = 10);
    w_run(&w);
    t_expect_value(&w, 1, 10);
    t_expect_keyconf(&t, 0);
    unique_begin_order(BLOCK_DBTC, UNIQUE_CLOSED);
    w_pass(&w, 10 * DEADLOCK_MS);
    assert_int_equal(unique_answered(), 2);
    t_expect_rolled_back(&t, ERR_TABLE_DROPPING_TC, REF_NONE);
    unique_committed(&writer);
    unique_forget();
}

/* No entry, present or missing, is in the way of an index that goes; SILENT and GONE wait. */
static void test_loose(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx late = t_new(&w, CLIENT_TWO, 1);
    unique_done(&t, OP_INSERT, 1, 10);
    unique_make_firing();
    unique_done(&t, OP_INSERT, 2, 20);
    unique_order(BLOCK_DBTC, UNIQUE_LOOSE);
    unique_done(&t, OP_INSERT, 3, 20);
    unique_done(&t, OP_DELETE, 2, 0);
    unique_done(&t, OP_UPDATE, 3, 10);
    unique_done(&t, OP_DELETE, 1, 0);
    unique_begun(&t, OP_INSERT, 4, 40);
    unique_begin_order(BLOCK_DBLQH, UNIQUE_SILENT);
    assert_int_equal(unique_answered(), 0);
    unique_begun(&late, OP_INSERT, 5, 40);
    unique_begin_order(BLOCK_DBTC, UNIQUE_GONE); /* Earlier than DICT would ask. */
    assert_int_equal(unique_answered(), 1);
    unique_committed(&t);
    w_pass(&w, 50);
    assert_int_equal(unique_answered(), 4); /* Both of SILENT, and both of GONE. */
    unique_committed(&late);
    unique_order(BLOCK_DBLQH, UNIQUE_GONE);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        w_order(&w, node, BLOCK_DBTC, W_INDEX, LOCAL_TABLE_DROP);
        w_order(&w, node, BLOCK_DBLQH, W_INDEX, LOCAL_TABLE_DROP);
    }
    w_run(&w);
    unique_done(&t, OP_INSERT, 6, 40);
}

/* Who has refused to know it has nothing to forget. */
static void test_refused(void **state)
{
    struct local_unique_req req = {.table_id = 1, .index_id = W_INDEX, .state = UNIQUE_KNOWN};
    (void)state;
    const struct section *sections = w_table_words(&w, 1, TABLE_ROW_GCI, false); /* Has none. */
    w_driver(&w, 1)->uniques = 0;
    w_self(&w, 1, BLOCK_DBLQH, 1, GSN_LOCAL_UNIQUE_REQ, &req, sizeof req / 4u, sections, 1);
    w_run(&w);
    assert_int_equal(w_driver(&w, 1)->uniques, 0);
    assert_int_equal(w_driver(&w, 1)->unique_error, ERR_INDEX_OBJECT);
    unique_order(BLOCK_DBTC, UNIQUE_GONE);
    unique_order(BLOCK_DBLQH, UNIQUE_GONE);
}

/* An index comes and goes and comes again. */
static void test_again(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t round = 0; round < 3; round++) {
        unique_make_firing();
        unique_done(&t, OP_INSERT, 10 + round, 100 + round);
        unique_make_online();
        unique_expect_entry(100 + round, true);
        /* A row of an earlier round had it. */
        if (round > 0) unique_expect_entry(99 + round, false);
        unique_order(BLOCK_DBTC, UNIQUE_CLOSED);
        unique_forget();
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_firing),
        TEST(test_deletes),
        TEST(test_whose_entry),
        TEST(test_one_transaction),
        TEST(test_fires_waits),
        TEST(test_fires_idle),
        TEST(test_fires_idle_between),
        TEST(test_fill_forged),
        TEST(test_closed),
        TEST(test_closed_idle),
        TEST(test_loose),
        TEST(test_refused),
        TEST(test_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
