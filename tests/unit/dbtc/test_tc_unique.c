/* test_tc_unique.c -- unique indexes through TC and LQH: entries follow their rows, duplicates,
 * operations by unique key, what is refused, forged messages. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tc_fixture.h"

#define FRAGMENTS 4u
#define NULL_KEY  0xFFFFFFFFu

static void few_operations(struct node_config *config)
{
    config->operations_max = 40;
    config->deadlock_timeout_ms = 200;
}

static int start(void **state)
{
    (void)state;
    w_start(&w,
            &(struct world_options){.nodes = 2, .fragments = FRAGMENTS, .tune = few_operations});
    w.unique = true;
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    return 0;
}

static void few_changes(struct node_config *config)
{
    config->changes_max = 3;
}

static int start_few_changes(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS, .tune = few_changes});
    w.unique = true;
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

/* One committed operation on one row. */
static void done(struct trx *t, enum key_operation operation, uint32_t key, uint32_t value)
{
    t_next(t);
    t_op(t, .api_op = key, .info = INFO(operation, WRITE_ALL), .key = key, .value = value);
    w_run(&w);
    t_expect_keyconf(t, KEYCONF_COMMITTED);
}

/* The row that has this value, or that none has, through each node's TC. */
static void expect_entry(uint32_t value, bool there)
{
    for (uint32_t node = 1; node <= w.nodes; node++) {
        struct trx t = t_new(&w, CLIENT, node);
        t_unique(&t, .api_op = value, .info = UNIQUE(OP_READ, LOCK_SHARED, WRITE_ALL),
                 .key = value);
        w_run(&w);
        if (there) {
            t_expect_value(&w, value, value);
            t_expect_keyconf(&t, KEYCONF_COMMITTED);
        } else {
            t_expect_rolled_back(&t, ERR_ROW_NOT_FOUND, value);
        }
    }
}

static void expect_duplicate(struct trx *t, uint32_t api_op)
{
    const struct signal *sig = c_take(&w, GSN_TCROLLBACKREP);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error, ERR_UNIQUE_DUPLICATE);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->api_op, api_op);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error_data, W_INDEX);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->transid1, t->transid1);
}

static void set_null(struct trx *t, uint32_t key)
{
    struct tckeyreq req = {.tc_connect = t->connect,
                           .api_op = 9,
                           .table_id = 1,
                           .schema_version = 1,
                           .request_info = INFO(OP_WRITE, WRITE_ALL),
                           .transid1 = ++w.transid_next,
                           .transid2 = t->transid2};
    const uint32_t attr = attr_header(1, 0);
    const struct section sections[2] = {{&key, 1}, {&attr, 1}};
    t->transid1 = req.transid1;
    c_send(&w, t->client, t->node, GSN_TCKEYREQ, &req, sizeof req / 4u, sections, 2);
    w_run(&w);
    t_expect_keyconf(t, KEYCONF_COMMITTED);
}

static void test_entries_follow(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < 20; key++)
        done(&t, OP_INSERT, key, 1000 + key);
    for (uint32_t key = 0; key < 20; key++)
        expect_entry(1000 + key, true);
    done(&t, OP_UPDATE, 3, 2003);
    done(&t, OP_WRITE, 4, 2004);
    done(&t, OP_WRITE, 4, 2004); /* Nothing changes. */
    done(&t, OP_DELETE, 5, 0);
    expect_entry(1003, false);
    expect_entry(2003, true);
    expect_entry(1004, false);
    expect_entry(2004, true);
    expect_entry(1005, false);
    done(&t, OP_INSERT, 30, 1005); /* What one row has given up another one may have. */
    expect_entry(1005, true);
}

/* NULLs are in no index, however many there are. */
static void test_nulls(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    done(&t, OP_INSERT, 1, 11);
    set_null(&t, 1);
    set_null(&t, 2);
    set_null(&t, 3);
    expect_entry(11, false);
    done(&t, OP_UPDATE, 2, 11);
    expect_entry(11, true);
    done(&t, OP_DELETE, 3, 0);
}

/* Several operations on a row, in one batch and in several; what is rolled back leaves nothing. */
static void test_one_transaction(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    done(&t, OP_INSERT, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START), .key = 1, .value = 11);
    t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, 0), .key = 1, .value = 12);
    t_op(&t, .api_op = 3, .info = INFO(OP_DELETE, 0), .key = 1);
    t_op(&t, .api_op = 4, .info = INFO(OP_INSERT, KEY_EXECUTE), .key = 1, .value = 13);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_op(&t, .api_op = 5, .info = INFO(OP_UPDATE, KEY_EXECUTE), .key = 1,
         .value = 10); /* Its own key again. */
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_op(&t, .api_op = 6, .info = INFO(OP_UPDATE, KEY_EXECUTE), .key = 1, .value = 14);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_rollback(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    expect_entry(10, true);
    for (uint32_t value = 11; value < 15; value++)
        expect_entry(value, false);
}

static void test_duplicates(void **state)
{
    static const uint32_t flags[] = {0, KEY_IGNORE_ERROR};
    (void)state;
    struct trx t = t_new(&w, CLIENT, 2);
    done(&t, OP_INSERT, 1, 10);
    done(&t, OP_INSERT, 2, 20);
    for (uint32_t i = 0; i < 2; i++) {
        t_next(&t);
        t_op(&t, .api_op = 3, .info = INFO(OP_INSERT, KEY_START), .key = 3, .value = 30);
        t_op(&t, .api_op = 4, .info = INFO(OP_INSERT, KEY_EXECUTE | KEY_COMMIT | flags[i]),
             .key = 4, .value = 20);
        w_run(&w);
        expect_duplicate(&t, 4);
        t_next(&t);
        t_op(&t, .api_op = 5, .info = INFO(OP_UPDATE, WRITE_ALL | flags[i]), .key = 1, .value = 20);
        w_run(&w);
        expect_duplicate(&t, 5);
    }
    c_expect_none(&w, 3);
    c_expect_none(&w, 4);
    c_expect_row(&w, 1, 10);
    expect_entry(30, false);
    expect_entry(10, true);
}

/* The first error is told, with what belongs to it: a duplicate that comes behind says nothing. */
static void test_error_before_duplicate(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx holder = t_new(&w, CLIENT_TWO, 2);
    done(&t, OP_INSERT, 1, 10);
    t_next(&holder);
    t_unique(&holder, .api_op = 1, .info = UNIQUE(OP_READ, LOCK_SHARED, KEY_START | KEY_EXECUTE),
             .key = 10);
    w_run(&w);
    t_expect_value(&w, 1, 10);
    t_expect_keyconf(&holder, 0);
    t_next(&t);
    t_op(&t, .api_op = 2, .info = INFO(OP_INSERT, KEY_START), .key = 2,
         .value = 10); /* Its entry waits. */
    w_run(&w);
    t_op(&t, .api_op = 3, .info = INFO(OP_UPDATE, KEY_EXECUTE | KEY_COMMIT), .key = 999,
         .value = 11);
    w_run(&w);
    t_commit(&holder);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    const struct signal *sig = c_take(&w, GSN_TCROLLBACKREP);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error, ERR_ROW_NOT_FOUND);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->api_op, 3);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error_data, 0);
    c_expect_none(&w, 2);
}

/* Another transaction that has the key may still give it up. */
static void test_waits(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx other = t_new(&w, CLIENT_TWO, 2);
    done(&t, OP_INSERT, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1, .value = 11);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_op(&other, .api_op = 2, .info = INFO(OP_INSERT, WRITE_ALL), .key = 2, .value = 10);
    w_run(&w);
    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    t_expect_keyconf(&other, KEYCONF_COMMITTED);
    t_next(&t);
    t_op(&t, .api_op = 3, .info = INFO(OP_DELETE, KEY_START | KEY_EXECUTE), .key = 2);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_next(&other);
    t_op(&other, .api_op = 4, .info = INFO(OP_INSERT, WRITE_ALL), .key = 3, .value = 10);
    w_run(&w);
    t_rollback(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    expect_duplicate(&other, 4);
    expect_entry(10, true);
}

static void test_by_unique_key(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < 8; key++)
        done(&t, OP_INSERT, key, 100 + key);
    t_next(&t);
    t_unique(&t, .api_op = 1, .info = UNIQUE(OP_UPDATE, 0, KEY_START), .key = 101, .value = 201);
    t_unique(&t, .api_op = 2, .info = UNIQUE(OP_DELETE, 0, 0), .key = 102);
    t_unique(&t, .api_op = 3, .info = UNIQUE(OP_READ, LOCK_EXCLUSIVE, 0), .key = 103);
    t_unique(&t, .api_op = 4, .info = UNIQUE(OP_READ, LOCK_SHARED, KEY_IGNORE_ERROR), .key = 999);
    t_unique(&t, .api_op = 5,
             .info = UNIQUE(OP_UPDATE, 0, KEY_IGNORE_ERROR | KEY_EXECUTE | KEY_COMMIT), .key = 998,
             .value = 1);
    w_run(&w);
    t_expect_value(&w, 3, 103);
    for (uint32_t i = 0; i < 2; i++) {
        const struct signal *sig = c_take(&w, GSN_TCKEYREF);
        assert_non_null(sig);
        assert_int_equal(SIG_PAYLOAD(sig, tckeyref)->error, ERR_ROW_NOT_FOUND);
    }
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 1, 201);
    c_expect_none(&w, 2);
    expect_entry(201, true);
    expect_entry(101, false);
    expect_entry(102, false);
    t_next(&t);
    t_unique(&t, .api_op = 6, .info = UNIQUE(OP_UPDATE, 0, WRITE_ALL), .key = 201, .value = 103);
    w_run(&w);
    expect_duplicate(&t, 6);
}

/* The entry stays locked, so the row keeps its key until the reader has ended. */
static void test_key_is_kept(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx other = t_new(&w, CLIENT_TWO, 2);
    done(&t, OP_INSERT, 1, 10);
    t_next(&t);
    t_unique(&t, .api_op = 1, .info = UNIQUE(OP_READ, LOCK_SHARED, KEY_START | KEY_EXECUTE),
             .key = 10);
    w_run(&w);
    t_expect_value(&w, 1, 10);
    t_expect_keyconf(&t, 0);
    t_unique(&t, .api_op = 2, .info = UNIQUE(OP_READ, LOCK_SHARED, KEY_NOWAIT | KEY_EXECUTE),
             .key = 10);
    w_run(&w);
    t_expect_value(&w, 2, 10);
    t_expect_keyconf(&t, 0);
    t_unique(&other, .api_op = 3, .info = UNIQUE(OP_UPDATE, 0, KEY_NOWAIT | WRITE_ALL), .key = 10,
             .value = 11);
    w_run(&w);
    t_expect_rolled_back(&other, ERR_NOWAIT_LOCK, 3);
    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
}

static void refused(struct trx *t, uint32_t info, uint32_t table_id, uint32_t error)
{
    uint32_t key = 10;
    struct tckeyreq req = {.tc_connect = t->connect,
                           .api_op = 5,
                           .table_id = table_id,
                           .schema_version = 1,
                           .request_info = info,
                           .transid1 = ++w.transid_next,
                           .transid2 = t->transid2};
    const uint32_t attr[2] = {attr_header(1, key_operation_of(info) == OP_READ ? 0 : 4), 1};
    const struct section sections[2] = {{&key, 1},
                                        {attr, key_operation_of(info) == OP_READ ? 1 : 2}};
    t->transid1 = req.transid1;
    c_send(&w, t->client, t->node, GSN_TCKEYREQ, &req, sizeof req / 4u, sections, 2);
    w_run(&w);
    t_expect_rolled_back(t, error, 5);
}

static void test_refused(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    done(&t, OP_INSERT, 1, 10);
    refused(&t, UNIQUE(OP_INSERT, 0, WRITE_ALL), W_INDEX, ERR_TC_INTERNAL_203);
    refused(&t, UNIQUE(OP_WRITE, 0, WRITE_ALL), W_INDEX, ERR_TC_INTERNAL_203);
    refused(&t, UNIQUE(OP_READ, LOCK_SHARED, WRITE_ALL), 1, ERR_SCAN_TARGET_INDEX);
    refused(&t, UNIQUE(OP_READ, LOCK_SHARED, WRITE_ALL), 3, ERR_UNKNOWN_TABLE_TC);
    refused(&t, INFO(OP_DELETE, WRITE_ALL), W_INDEX, ERR_UNKNOWN_TABLE_TC);
    refused(&t, INFO(OP_INSERT, WRITE_ALL), W_INDEX, ERR_UNKNOWN_TABLE_TC);
    struct trx read = {&w, CLIENT, 1, 0, ++w.transid_next, CLIENT};
    t_unique(&read, .api_op = 8, .info = UNIQUE(OP_READ, LOCK_COMMITTED, 0), .key = 10);
    w_run(&w);
    t_expect_ref(&w, 8, ERR_TC_INTERNAL_203);
    expect_entry(10, true);
}

/* TC's pools, by their places in its list. */
enum { POOL_OPERATIONS = 3, POOL_LOOKUPS = 12, POOL_SEGMENTS = 13 };

/* The next record of this pool is refused, once. */
static void refuse_record(uint32_t pool, uint32_t nth)
{
    w_tamper(&w, 1, BLOCK_DBTC, 9997, pool << 16 | nth);
}

/* No memory for the operation that waits, for the entry's or for the row's: nothing is left. */
static void test_no_memory(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    done(&t, OP_INSERT, 1, 10);
    for (uint32_t nth = 2; nth <= 3; nth++) { /* Behind the client's own operation. */
        refuse_record(POOL_OPERATIONS, nth);
        t_next(&t);
        t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 11);
        w_run(&w);
        t_expect_rolled_back(&t, ERR_TC_OPERATIONS, 2);
    }
    for (uint32_t nth = 1; nth <= 4; nth++) { /* Entry, row, entries of the change. */
        refuse_record(POOL_OPERATIONS, nth);
        t_next(&t);
        t_unique(&t, .api_op = 3, .info = UNIQUE(OP_UPDATE, 0, WRITE_ALL), .key = 10, .value = 11);
        w_run(&w);
        t_expect_rolled_back(&t, ERR_TC_OPERATIONS, 3);
    }
    refuse_record(POOL_LOOKUPS, 1);
    t_next(&t);
    t_unique(&t, .api_op = 4, .info = UNIQUE(OP_UPDATE, 0, WRITE_ALL), .key = 10, .value = 11);
    w_run(&w);
    t_expect_rolled_back(&t, ERR_INDEX_OPERATIONS, 4);
    refuse_record(POOL_SEGMENTS, 1);
    t_next(&t);
    t_unique(&t, .api_op = 5, .info = UNIQUE(OP_UPDATE, 0, KEY_IGNORE_ERROR | WRITE_ALL), .key = 10,
             .value = 11);
    w_run(&w);
    t_expect_ref(&w, 5, ERR_INDEX_OPERATIONS);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    /* No record for the row: with IGNORE_ERROR the entry stays locked. */
    refuse_record(POOL_OPERATIONS, 2);
    t_next(&t);
    t_unique(&t, .api_op = 6, .info = UNIQUE(OP_UPDATE, 0, KEY_IGNORE_ERROR | WRITE_ALL), .key = 10,
             .value = 11);
    w_run(&w);
    t_expect_ref(&w, 6, ERR_TC_OPERATIONS);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    expect_entry(10, true);
    expect_entry(11, false);
}

/* MaxDMLOperationsPerTransaction counts the client's changes over all batches, by either key;
 * neither reads nor entries of indexes. */
static void test_too_many_changes(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t last = 0; last < 2; last++) { /* 0: as many as there may be. */
        t_next(&t);
        t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, KEY_START), .key = 1, .value = 10);
        t_op(&t, .api_op = 2, .info = INFO(OP_INSERT, KEY_EXECUTE), .key = 2, .value = 20);
        w_run(&w);
        t_expect_keyconf(&t, 0);
        t_unique(&t, .api_op = 3, .info = UNIQUE(OP_READ, LOCK_SHARED, KEY_EXECUTE), .key = 10);
        w_run(&w);
        t_expect_value(&w, 3, 10);
        t_expect_keyconf(&t, 0);
        t_unique(&t, .api_op = 4,
                 .info = UNIQUE(OP_DELETE, 0, last == 0 ? KEY_EXECUTE | KEY_COMMIT : 0), .key = 20);
        if (last != 0)
            t_op(&t, .api_op = 5, .info = INFO(OP_UPDATE, KEY_EXECUTE | KEY_IGNORE_ERROR), .key = 1,
                 .value = 11);
        w_run(&w);
        if (last == 0) {
            t_expect_keyconf(&t, KEYCONF_COMMITTED);
            done(&t, OP_DELETE, 1, 0);
            continue;
        }
        const struct signal *sig = c_take(&w, GSN_TCROLLBACKREP);
        assert_non_null(sig);
        assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error, ERR_TRANSACTION_TOO_BIG);
        assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->api_op, 5);
        assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error_data, 3);
    }
    expect_entry(10, false);
    expect_entry(20, false);
}

/* --- Words that no data node of ours sends. --- */

/* From node 2 to the TC of node 1, for whatever operation there is; word 0 of the payload names it.
 * True: the link was cut. */
static bool forge(uint32_t gsn, const void *payload, uint32_t words, const uint32_t *section_words,
                  uint32_t size)
{
    uint32_t forged[SIGNAL_WORDS_MAX];
    const struct section section = {section_words, size};
    memcpy(forged, payload, words * 4u);
    w.closed_peer = 0;
    for (uint32_t i = 0; i < 256u * 4u; i++) {
        forged[0] = (i / 4u) << 24 | (1u + i % 4u);
        signal_send(w.n[2].driver, block_ref(1, BLOCK_DBTC, 1), gsn, PRIO_B, forged, words,
                    &section, size > 0);
        if (i % 64 == 63) w_run(&w);
    }
    return w.closed_peer == 2;
}

static bool forge_fire(const struct trx *t, struct fire_trig_ord ord, uint32_t size)
{
    static const uint32_t words[2400];
    ord.transid1 = t->transid1;
    ord.transid2 = t->transid2;
    return forge(GSN_FIRE_TRIG_ORD, &ord, sizeof ord / 4u, words, size);
}

/* What cannot be cuts the link; what is for nothing that is there is ignored. Nothing changes. */
static void test_forged(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx other = t_new(&w, CLIENT_TWO, 1);
    done(&t, OP_INSERT, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START), .key = 1, .value = 11);
    w_run(&w);
    assert_true(forge_fire(&t, (struct fire_trig_ord){.index_id = 1, .new_words = 1}, 3));
    assert_true(forge_fire(&t, (struct fire_trig_ord){.index_id = W_INDEX, .new_words = 0}, 3));
    assert_true(forge_fire(&t, (struct fire_trig_ord){.index_id = W_INDEX, .new_words = 1}, 1));
    assert_true(
        forge_fire(&t, (struct fire_trig_ord){.index_id = W_INDEX, .new_words = 1100}, 1110));
    assert_true(forge_fire(
        &t, (struct fire_trig_ord){.index_id = W_INDEX, .old_words = 0xFFFFFFFF, .new_words = 2},
        9));
    assert_true(forge_fire(&t, (struct fire_trig_ord){.index_id = W_INDEX, .new_words = 1}, 1200));
    t_next(&other);
    assert_false(
        forge_fire(&other, (struct fire_trig_ord){.index_id = W_INDEX, .new_words = 1}, 3));

    t_unique(&other, .api_op = 2, .info = UNIQUE(OP_READ, LOCK_SHARED, WRITE_ALL),
             .key = 10); /* Waits. */
    w_run(&w);
    static const uint32_t rows[][5] = {{4, 0, 1, 0}, {3, 1u << 16 | 6, 4, 1}, {3, 1u << 16 | 5, 3}};
    for (uint32_t i = 0; i < 3; i++) {
        struct transid_ai ai = {.transid1 = other.transid1, .transid2 = other.transid2, .rows = 1};
        assert_true(forge(GSN_TRANSID_AI, &ai, sizeof ai / 4u, rows[i], 4));
    }
    struct lqhkeyconf conf = {
        .transid1 = other.transid1, .transid2 = other.transid2, .fired = TABLE_UNIQUE_MAX + 1};
    assert_true(forge(GSN_LQHKEYCONF, &conf, sizeof conf / 4u, NULL, 0));
    t_rollback(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    t_expect_value(&w, 2, 10);
    t_expect_keyconf(&other, KEYCONF_COMMITTED);
}

/* The operation of TC on node 1, which has only one. */
static uint32_t the_operation(void)
{
    struct block *tc = node_block(w.n[1].node, BLOCK_DBTC, 1);
    const struct pool_record *record = pool_next(block_pool_at(tc, POOL_OPERATIONS), 0);
    assert_non_null(record);
    return record->ref;
}

/* What a test has sent to another node leaves in the first run. */
static void w_run_sent(void)
{
    w_run(&w);
    w_run(&w);
}

/* As an LQH of node 2 would send it. True: the link was cut. */
static bool fire_for(const struct trx *t, uint32_t op)
{
    static const uint32_t words[2];
    const struct section section = {words, 2};
    struct fire_trig_ord ord = {.index_id = W_INDEX,
                                .tc_op = op,
                                .transid1 = t->transid1,
                                .transid2 = t->transid2,
                                .new_words = 1};
    w.closed_peer = 0;
    signal_send(w.n[2].driver, block_ref(1, BLOCK_DBTC, 1), GSN_FIRE_TRIG_ORD, PRIO_B, &ord,
                sizeof ord / 4u, &section, 1);
    w_run_sent();
    return w.closed_peer == 2;
}

static void lock_row(struct trx *t, uint32_t key)
{
    t_next(t);
    t_op(t, .api_op = key, .info = INFO(OP_READ, KEY_START | KEY_EXECUTE), .key = key);
    w_run(&w);
    t_expect_value(&w, key, 100 + key);
    t_expect_keyconf(t, 0);
}

static void give_up(struct trx *t)
{
    t_rollback(t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
}

/* None is due for a read; for a change one of its index, before its confirmation, from its primary
 * only, which is node 2 for some rows. */
static void test_fired_when_not_due(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx holder = t_new(&w, CLIENT_TWO, 2);
    uint32_t not_primary = 0;
    for (uint32_t key = 0; key < 8; key++) {
        done(&holder, OP_INSERT, key, 100 + key);
        lock_row(&t, key);
        assert_true(fire_for(&t, the_operation()));
        give_up(&t);
        lock_row(&holder, key);
        t_next(&t);
        t_op(&t, .api_op = key, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = key,
             .value = 200 + key); /* Waits. */
        w_run(&w);
        uint32_t op = the_operation();
        if (fire_for(&t, op)) not_primary++;
        assert_true(fire_for(&t, op));
        t_rollback(&t);
        give_up(&holder);
        w_run(&w);
        assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    }
    assert_in_range(not_primary, 1, 7);
}

/* A count that no table can have does not pass a backup. */
static void test_fired_count_at_backup(void **state)
{
    (void)state;
    struct block *lqh = node_block(w.n[2].node, BLOCK_DBLQH, 1);
    uint32_t key = 3;
    const uint32_t attr[2] = {attr_header(1, 4), 5};
    const struct section sections[2] = {{&key, 1}, {attr, 2}};
    struct lqhkeyreq req = {.tc_op = 77,
                            .request_info = INFO(OP_INSERT, 0),
                            .table_id = 1,
                            .schema_version = 1,
                            .tc_ref = block_ref(2, BLOCK_DBTC, 1),
                            .api_ref = block_ref(CLIENT, BLOCK_API, 1),
                            .prev_ref = lqh->ref,
                            .prev_op = 77,
                            .tc_trans = 77,
                            .nodes = 2 | 1 << 8,
                            .fired = 2};
    w.closed_peer = 0;
    signal_send(lqh, block_ref(1, BLOCK_DBLQH, 1), GSN_LQHKEYREQ, PRIO_B, &req, sizeof req / 4u,
                sections, 2);
    w_run_sent();
    assert_int_equal(w.closed_peer, 2);
}

/* Nor TC. */
static void test_fired_count(void **state)
{
    (void)state;
    struct block *lqh = node_block(w.n[2].node, BLOCK_DBLQH, 1);
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx holder = t_new(&w, CLIENT_TWO, 2);
    done(&holder, OP_INSERT, 1, 101);
    lock_row(&holder, 1);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 201); /* Waits. */
    w_run(&w);
    struct lqhkeyconf conf = {.tc_op = the_operation(),
                              .transid1 = t.transid1,
                              .transid2 = t.transid2,
                              .lqh_op = 77,
                              .fired = 2};
    w.closed_peer = 0;
    signal_send(lqh, block_ref(1, BLOCK_DBTC, 1), GSN_LQHKEYCONF, PRIO_B, &conf, sizeof conf / 4u,
                NULL, 0);
    w_run_sent();
    assert_int_equal(w.closed_peer, 2);
    give_up(&holder);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    expect_entry(201, true);
}

/* A dropped table takes its index along: the index has no users when the transaction has ended. */
static void test_drop(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    done(&t, OP_INSERT, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1, .value = 11);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    w_order(&w, 1, BLOCK_DBTC, W_INDEX, LOCAL_TABLE_DROPPING);
    w_run(&w);
    t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, KEY_EXECUTE), .key = 1,
         .value = 12); /* Its entry cannot change any more. */
    w_run(&w);
    t_expect_rolled_back(&t, ERR_TABLE_DROPPING_TC, 2);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_entries_follow),
        TEST(test_nulls),
        TEST(test_one_transaction),
        TEST(test_duplicates),
        TEST(test_waits),
        TEST(test_by_unique_key),
        TEST(test_key_is_kept),
        TEST(test_refused),
        TEST(test_no_memory),
        cmocka_unit_test_setup_teardown(test_too_many_changes, start_few_changes, stop),
        TEST(test_forged),
        TEST(test_drop),
        TEST(test_fired_when_not_due),
        TEST(test_fired_count),
        TEST(test_fired_count_at_backup),
        TEST(test_error_before_duplicate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
