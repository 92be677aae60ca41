/* test_trix.c -- rows that are there get their entries in a new unique index, while others change
 * them: duplicates, locks, cancels, what cannot be had, and a peer that lies. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/trix/trix_state.h"
#include "tests/unit/support/sparse.h"
#include "tests/unit/support/unique_fixture.h"

#define FRAGMENTS   12u
#define ROWS        300u
#define DEADLOCK_MS 200u
#define JOB         77u

static void config(struct node_config *config)
{
    config->deadlock_timeout_ms = DEADLOCK_MS;
    config->diskless = 1;
}

static void with_trix(struct thread *thread)
{
    trix_create(thread, 0);
}

static int start(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){
                    .nodes = 2, .fragments = FRAGMENTS, .tune = config, .more_blocks = with_trix});
    w.unique = false;
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    return 0;
}

static struct trix *trix(void)
{
    return trix_of(node_block(w.n[1].node, BLOCK_TRIX, 0));
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(trix()->state, TRIX_IDLE);
    trix()->block.type->check(&trix()->block);
    assert_int_equal(c_left(&w), 0);
    w_expect_quiet(&w);
    w_stop(&w);
    return 0;
}

/* Row k has value k + 1000. */
static void insert_rows(uint32_t count)
{
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < count; key++)
        unique_done(&t, OP_INSERT, key, key + 1000);
}

static void begin_fill(void)
{
    const uint32_t column = 0;
    const struct section section = {&column, 1};
    const struct build_indx_req req = {
        .sender_data = JOB, .table_id = 1, .version = 1, .index_id = W_INDEX};
    struct driver *driver = w_driver(&w, 1);
    driver->filled = driver->filled_rows = driver->fill_total = driver->fill_error = 0;
    w_self(&w, 1, BLOCK_TRIX, 0, GSN_BUILD_INDX_REQ, &req, sizeof req / 4u, &section, 1);
}

/* 0, or why it was not filled. */
static uint32_t outcome(void)
{
    struct driver *driver = w_driver(&w, 1);
    for (uint32_t i = 0; i < 100 && driver->filled == 0 && driver->fill_error == 0; i++)
        w_pass(&w, 10);
    assert_int_equal(trix()->state, TRIX_IDLE);
    assert_int_equal(driver->filled, driver->fill_error == 0);
    return driver->fill_error;
}

static uint32_t fill(void)
{
    begin_fill();
    return outcome();
}

static void expect_owner(uint32_t value, uint32_t key)
{
    struct trx t = t_new(&w, CLIENT, 2);
    t_unique(&t, .api_op = key, .info = UNIQUE(OP_READ, LOCK_SHARED, WRITE_ALL), .key = value);
    w_run(&w);
    t_expect_value(&w, key, value);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
}

/* --- */

static void test_fill(void **state)
{
    (void)state;
    insert_rows(ROWS);
    unique_make_firing();
    assert_int_equal(fill(), 0);
    assert_int_equal(w_driver(&w, 1)->filled_rows, ROWS);
    unique_make_online();
    for (uint32_t key = 0; key < ROWS; key++)
        expect_owner(key + 1000, key);
}

static void test_no_rows(void **state)
{
    (void)state;
    unique_make_firing();
    assert_int_equal(fill(), 0);
    assert_int_equal(w_driver(&w, 1)->filled_rows, 0);
}

/* Rows that have their entry already keep it, whoever made it. */
static void test_again(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    insert_rows(ROWS);
    unique_make_firing();
    unique_done(&t, OP_UPDATE, 5, 5000);
    unique_done(&t, OP_INSERT, ROWS, ROWS + 1000);
    assert_int_equal(fill(), 0);
    unique_done(&t, OP_UPDATE, 6, 6000);
    assert_int_equal(fill(), 0);
    assert_int_equal(w_driver(&w, 1)->filled_rows, ROWS + 1);
    unique_make_online();
    expect_owner(5000, 5);
    expect_owner(6000, 6);
    expect_owner(1007, 7);
    expect_owner(ROWS + 1000, ROWS);
    unique_expect_entry(1005, false);
    unique_expect_entry(1006, false);
}

static void test_duplicate(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    insert_rows(ROWS);
    unique_done(&t, OP_INSERT, ROWS, 1000 + ROWS / 2);
    unique_make_firing();
    assert_int_equal(fill(), ERR_UNIQUE_DUPLICATE);
    unique_forget();
}

/* Two rows had one key, and one of them has given it up before the walk has come there. */
static void test_no_duplicate_any_more(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    insert_rows(20);
    unique_done(&t, OP_INSERT, 20, 1010);
    unique_make_firing();
    unique_done(&t, OP_UPDATE, 10, 2010);
    assert_int_equal(fill(), 0);
    unique_make_online();
    expect_owner(1010, 20);
    expect_owner(2010, 10);
}

/* A row that is locked is waited for, longer than a lock is; the others get their entries. */
static void test_locked(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    insert_rows(ROWS);
    unique_make_firing();
    unique_begun(&t, OP_UPDATE, 3, 3333);
    begin_fill();
    for (uint32_t i = 0; i < 10; i++)
        w_pass(&w, DEADLOCK_MS);
    assert_int_equal(trix()->state, TRIX_WALKING);
    assert_int_equal(trix()->busy, 1);
    assert_int_equal(w_driver(&w, 1)->filled, 0);
    assert_int_equal(w_driver(&w, 1)->fill_total, ROWS);
    assert_true(w_driver(&w, 1)->filled_rows > ROWS / 2);
    unique_committed(&t);
    assert_int_equal(outcome(), 0);
    unique_make_online();
    expect_owner(3333, 3);
    unique_expect_entry(1003, false);
}

/* But not for ever. */
static void test_locked_for_ever(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    insert_rows(ROWS);
    unique_make_firing();
    unique_begun(&t, OP_UPDATE, 3, 3333);
    begin_fill();
    for (uint32_t i = 0; i < 61000 / DEADLOCK_MS + 10; i++)
        w_pass(&w, DEADLOCK_MS);
    assert_int_equal(outcome(), ERR_LOCK_TIMEOUT);
    unique_committed(&t);
    assert_int_equal(fill(), 0);
}

static void cancel(void)
{
    const struct build_indx_cancel_ord ord = {.sender_data = JOB};
    w_self(&w, 1, BLOCK_TRIX, 0, GSN_BUILD_INDX_CANCEL_ORD, &ord, 1, NULL, 0);
}

static void test_cancel(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    insert_rows(ROWS);
    unique_make_firing();
    begin_fill();
    cancel(); /* It has not the connect records yet. */
    assert_int_equal(outcome(), ERR_SCHEMA_ABORTED);
    unique_begun(&t, OP_UPDATE, 3, 3333);
    begin_fill();
    w_pass(&w, 30);
    assert_int_equal(trix()->state, TRIX_WALKING);
    cancel();
    assert_int_equal(outcome(), ERR_SCHEMA_ABORTED); /* When the row's transaction has ended. */
    cancel();                                        /* Late. */
    unique_committed(&t);
    assert_int_equal(fill(), 0);
}

/* With fewer connect records it reads fewer fragments at a time; without any it cannot. */
static void test_connects(void **state)
{
    (void)state;
    struct tc *tc = (struct tc *)(void *)node_block(w.n[1].node, BLOCK_DBTC, 1);
    insert_rows(ROWS);
    unique_make_firing();
    tc->connects.fail_next = 1; /* The scan's. */
    assert_int_equal(fill(), ERR_TC_TRANSACTIONS);
    tc->connects.fail_next = 10;
    assert_int_equal(fill(), 0);
    assert_int_equal(trix()->lane_count, TRIX_LANES - 1u);
    assert_int_equal(fill(), 0);
    assert_int_equal(trix()->lane_count, TRIX_LANES);
}

/* Each operation and scan record refuses once. */
static void test_records(void **state)
{
    (void)state;
    struct tc *tc = (struct tc *)(void *)node_block(w.n[1].node, BLOCK_DBTC, 1);
    struct pool *pools[] = {&tc->transactions, &tc->operations, &tc->scans, &tc->frags};
    insert_rows(40);
    unique_make_firing();
    for (uint32_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        for (uint32_t n = 1; n < 60; n += n < 4 ? 1 : sparse()) { /* Few scans have no more. */
            pools[i]->fail_next = n;
            assert_int_equal(fill(), 0);
            pools[i]->fail_next = 0;
        }
    }
}

/* Rows that no scan of ours gives: the link is closed. */
static void test_forged_rows(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    const uint32_t rows[][4] = {{3, 0, 0, 0},                 /* No such pair. */
                                {2, 5u << 16 | 4u, 1, 0},     /* Another column. */
                                {9, 4, 1, 0},                 /* Longer than it is. */
                                {3, 4, 1, 4},                 /* Something behind it. */
                                {2, 0u << 16 | 4096u, 1, 0}}; /* A value that is longer. */
    insert_rows(ROWS);
    unique_make_firing();
    unique_begun(&t, OP_UPDATE, 3, 3333);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_fill();
        w_pass(&w, 30);
        assert_int_equal(trix()->state, TRIX_WALKING);
        struct transid_ai ai = {.api_op = trix()->scan.transid2,
                                .transid1 = trix()->block.ref,
                                .transid2 = trix()->scan.transid2,
                                .rows = 1,
                                .fragment_id = 100};
        struct section section = {rows[i], 4};
        uint32_t words[64];
        uint32_t at = SIGNAL_HEAD_WORDS;
        words[0] = signal_kind(GSN_TRANSID_AI, sizeof ai / 4u, 1, PRIO_B, 0);
        words[1] = trix()->block.ref;
        words[2] = block_ref(2, BLOCK_DBLQH, 1);
        memcpy(words + at, &ai, sizeof ai);
        at += sizeof ai / 4u;
        words[at++] = section.size;
        memcpy(words + at, section.words, section.size * 4u);
        words[3] = at + section.size;
        w.closed_peer = 0;
        assert_true(node_deliver(w.n[1].node, 0, 2, EPOCH, words, words[3]));
        w_run(&w);
        if (w.closed_peer != 2) fail_msg("rows %u were taken", i);
        cancel();
        assert_int_equal(outcome(), ERR_SCHEMA_ABORTED);
    }
    unique_committed(&t);
}

/* What only TCs of this node answer comes from another node: the link is closed. */
static void forge_answer(uint32_t gsn, const void *payload, uint32_t payload_words,
                         const struct section *section)
{
    uint32_t words[64];
    uint32_t at = SIGNAL_HEAD_WORDS;
    words[0] = signal_kind(gsn, payload_words, section != NULL, PRIO_B, 0);
    words[1] = trix()->block.ref;
    words[2] = block_ref(2, BLOCK_DBTC, 1);
    memcpy(words + at, payload, payload_words * 4u);
    at += payload_words;
    if (section != NULL) {
        words[at++] = section->size;
        memcpy(words + at, section->words, section->size * 4u);
        at += section->size;
    }
    words[3] = at;
    w.closed_peer = 0;
    assert_true(node_deliver(w.n[1].node, 0, 2, EPOCH, words, at));
    w_run(&w);
    if (w.closed_peer != 2) fail_msg("%s was taken", gsn_name(gsn));
}

static void test_forged_answers(void **state)
{
    (void)state;
    const uint32_t zero[8] = {0};
    struct trx t = t_new(&w, CLIENT, 1);
    insert_rows(ROWS);
    unique_make_firing();
    unique_begun(&t, OP_UPDATE, 3, 3333);
    begin_fill();
    w_pass(&w, 30);
    assert_int_equal(trix()->state, TRIX_WALKING);
    const struct tckeyconf keyconf = {.transid1 = trix()->block.ref};
    const uint32_t entry[] = {100, 0, SCAN_FRAG_DONE, 0, 1, 0};
    const struct section entries = {entry, 6};
    const struct scan_tabconf tabconf = {.api_scan = trix()->scan.transid2,
                                         .transid1 = trix()->block.ref,
                                         .transid2 = trix()->scan.transid2,
                                         .flags = SCAN_END};
    const struct scan_tabref tabref = {.api_scan = trix()->scan.transid2,
                                       .transid1 = trix()->block.ref,
                                       .transid2 = trix()->scan.transid2,
                                       .error = ERR_NODE_FAILURE};
    forge_answer(GSN_TCKEYCONF, &keyconf, sizeof keyconf / 4u, NULL);
    forge_answer(GSN_TCKEYREF, zero, sizeof(struct tckeyref) / 4u, NULL);
    forge_answer(GSN_TCROLLBACKREP, zero, sizeof(struct tcrollbackrep) / 4u, NULL);
    forge_answer(GSN_TCSEIZECONF, zero, sizeof(struct tcseizeconf) / 4u, NULL);
    forge_answer(GSN_TCSEIZEREF, zero, sizeof(struct tcseizeref) / 4u, NULL);
    forge_answer(GSN_TCRELEASECONF, zero, sizeof(struct tcreleaseconf) / 4u, NULL);
    forge_answer(GSN_WAIT_DURABLE_CONF, zero, sizeof(struct wait_durable_conf) / 4u, NULL);
    forge_answer(GSN_WAIT_DURABLE_REF, zero, sizeof(struct wait_durable_ref) / 4u, NULL);
    forge_answer(GSN_SCAN_TABCONF, &tabconf, sizeof tabconf / 4u, &entries);
    forge_answer(GSN_SCAN_TABREF, &tabref, sizeof tabref / 4u, NULL);
    assert_int_equal(trix()->state, TRIX_WALKING);
    unique_committed(&t);
    assert_int_equal(outcome(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_fill),
        TEST(test_no_rows),
        TEST(test_again),
        TEST(test_duplicate),
        TEST(test_no_duplicate_any_more),
        TEST(test_locked),
        TEST(test_locked_for_ever),
        TEST(test_cancel),
        TEST(test_connects),
        TEST(test_records),
        TEST(test_forged_rows),
        TEST(test_forged_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
