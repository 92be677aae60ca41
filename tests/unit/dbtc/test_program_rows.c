/* test_program_rows.c -- programs through TC and LQH: all operations, both replicas, scans with
 * filters and limits. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/program.h"
#include "tests/unit/support/tc_fixture.h"

#define FRAGMENTS 6u
#define ROWS      500u

static struct trx t;

static int start(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = FRAGMENTS});
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    t = t_new(&w, CLIENT, 1);
    return 0;
}

static void tiny(struct node_config *config)
{
    config->scan_step_rows = 2;
    config->frag_scans_max = 1;
}

static int start_tiny(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 1, .fragments = FRAGMENTS, .tune = tiny});
    w_table(&w, 1, TABLE_ROW_GCI);
    t = t_new(&w, CLIENT, 1);
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

/* v = v + 1, if v < 100; else refused with 6100. */
static uint32_t add_one(uint32_t *to)
{
    const uint32_t words[] = {PROGRAM_VERSION,
                              program_head(PROGRAM_BRANCH_COLUMN, 0, 0, 1),
                              program_branch_word(6, PROGRAM_LT, 0),
                              4,
                              100,
                              program_head(PROGRAM_EXIT_REFUSE, 0, 0, 6100),
                              program_head(PROGRAM_LOAD_COLUMN, 0, 0, 1),
                              program_head(PROGRAM_LOAD_16, 1, 0, 1),
                              program_head(PROGRAM_ADD, 0, 0, 1),
                              program_head(PROGRAM_STORE_COLUMN, 0, 0, 1),
                              program_head(PROGRAM_EXIT_STORED, 0, 0, 0)};
    memcpy(to, words, sizeof words);
    return sizeof words / 4u;
}

/* Goes on when v has this value, else is refused with 6001. */
static uint32_t if_equal(uint32_t *to, uint32_t value)
{
    const uint32_t words[] = {PROGRAM_VERSION,
                              program_head(PROGRAM_BRANCH_COLUMN, 0, 0, 1),
                              program_branch_word(6, PROGRAM_EQ, 0),
                              4,
                              value,
                              program_head(PROGRAM_EXIT_REFUSE, 0, 0, 6001),
                              program_head(PROGRAM_EXIT_OK, 0, 0, 0)};
    memcpy(to, words, sizeof words);
    return sizeof words / 4u;
}

struct sent {
    uint32_t program[64];
    uint32_t words;
    bool reads;      /* The row's v is wanted. */
    uint32_t values; /* Words at the end. */
    uint32_t value[4];
};

static void send_program(uint32_t api_op, uint32_t info, uint32_t key, const struct sent *sent)
{
    struct tckeyreq req = {.tc_connect = t.connect,
                           .api_op = api_op,
                           .table_id = 1,
                           .schema_version = 1,
                           .request_info = info | KEY_PROGRAM,
                           .transid1 = t.transid1,
                           .transid2 = t.transid2};
    uint32_t attr[128] = {sent->words, sent->reads};
    uint32_t at = 2;
    memcpy(attr + at, sent->program, sent->words * 4u);
    at += sent->words;
    if (sent->reads) attr[at++] = attr_header(1, 0);
    memcpy(attr + at, sent->value, sent->values * 4u);
    at += sent->values;
    const struct section sections[2] = {{&key, 1}, {attr, at}};
    assert_true(c_send(&w, CLIENT, 1, GSN_TCKEYREQ, &req, sizeof req / 4u, sections, 2));
    w_run(&w);
}

static void run_committed(uint32_t api_op, enum key_operation operation, uint32_t key,
                          const struct sent *sent)
{
    t_next(&t);
    send_program(api_op, INFO(operation, WRITE_ALL), key, sent);
}

static void test_increment(void **state)
{
    (void)state;
    struct sent sent = {.reads = true};
    sent.words = add_one(sent.program);
    c_insert(&w, &t, 7, 97);
    for (uint32_t i = 98; i <= 100; i++) {
        run_committed(i, OP_UPDATE, 7, &sent);
        t_expect_value(&w, i, i);
        t_expect_keyconf(&t, KEYCONF_COMMITTED);
        c_expect_row(&w, 7, i); /* On both replicas. */
    }
    run_committed(101, OP_UPDATE, 7, &sent);
    t_expect_rolled_back(&t, 6100, 101);
    run_committed(102, OP_UPDATE, 8, &sent);
    t_expect_rolled_back(&t, ERR_ROW_NOT_FOUND, 102);
    c_expect_row(&w, 7, 100);
}

/* Refused with IGNORE_ERROR: the rest is done. The program sees what its transaction has done. */
static void test_within(void **state)
{
    (void)state;
    struct sent sent = {.reads = true};
    sent.words = add_one(sent.program);
    c_insert(&w, &t, 1, 99);
    t_next(&t);
    send_program(1, INFO(OP_UPDATE, KEY_START), 1, &sent);
    t_expect_value(&w, 1, 100);
    send_program(2, INFO(OP_UPDATE, KEY_IGNORE_ERROR | KEY_EXECUTE | KEY_COMMIT), 1, &sent);
    t_expect_ref(&w, 2, 6100);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 1, 100);
}

static void test_update_values(void **state)
{
    (void)state;
    struct sent sent = {.values = 2, .value = {attr_header(1, 4), 50}};
    sent.words = if_equal(sent.program, 10);
    c_insert(&w, &t, 1, 10);
    run_committed(1, OP_UPDATE, 1, &sent);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 1, 50);
    run_committed(2, OP_UPDATE, 1, &sent);
    t_expect_rolled_back(&t, 6001, 2);
    c_expect_row(&w, 1, 50);
    /* Values that are none: nothing happens, whatever the program says. */
    sent.value[0] = attr_header(1, 3);
    sent.words = if_equal(sent.program, 50);
    run_committed(3, OP_UPDATE, 1, &sent);
    t_expect_rolled_back(&t, ERR_VALUE_LENGTH, 3);
    c_expect_row(&w, 1, 50);
}

/* Insert or increment. */
static void test_write(void **state)
{
    (void)state;
    struct sent sent = {.reads = true, .values = 2, .value = {attr_header(1, 4), 5}};
    sent.words = add_one(sent.program);
    for (uint32_t i = 5; i < 8; i++) {
        run_committed(i, OP_WRITE, 3, &sent);
        t_expect_value(&w, i, i);
        t_expect_keyconf(&t, KEYCONF_COMMITTED);
        c_expect_row(&w, 3, i);
    }
    /* Deleted by the same transaction: it is inserted again. */
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_DELETE, KEY_START), .key = 3);
    send_program(2, INFO(OP_WRITE, KEY_EXECUTE | KEY_COMMIT), 3, &sent);
    t_expect_value(&w, 2, 5);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 3, 5);
}

static void test_delete(void **state)
{
    (void)state;
    struct sent sent = {.reads = true};
    sent.words = if_equal(sent.program, 11);
    c_insert(&w, &t, 1, 10);
    run_committed(1, OP_DELETE, 1, &sent);
    t_expect_rolled_back(&t, 6001, 1);
    c_expect_row(&w, 1, 10);
    sent.words = if_equal(sent.program, 10);
    run_committed(2, OP_DELETE, 1, &sent);
    t_expect_value(&w, 2, 10); /* As it was. */
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_none(&w, 1);
}

static void test_read(void **state)
{
    (void)state;
    struct sent sent = {.reads = true};
    c_insert(&w, &t, 1, 10);
    for (uint32_t lock = LOCK_SHARED; lock <= LOCK_COMMITTED; lock++) {
        uint32_t flags = lock == LOCK_COMMITTED ? 0 : WRITE_ALL | KEY_IGNORE_ERROR;
        for (uint32_t value = 10; value <= 11; value++) {
            sent.words = if_equal(sent.program, value);
            t_next(&t);
            send_program(1, key_request_info(OP_READ, (enum lock_mode)lock, flags), 1, &sent);
            if (value == 10)
                t_expect_value(&w, 1, 10);
            else
                t_expect_ref(&w, 1, 6001);
            if (lock != LOCK_COMMITTED) t_expect_keyconf(&t, KEYCONF_COMMITTED);
        }
    }
    c_expect_none(&w, 2);
}

/* Waits for a lock, then runs. */
static void test_waits(void **state)
{
    (void)state;
    struct sent sent = {.reads = true};
    sent.words = add_one(sent.program);
    c_insert(&w, &t, 1, 10);
    struct trx other = t_new(&w, CLIENT_TWO, 2);
    t_op(&other, .api_op = 9, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 20);
    w_run(&w);
    t_expect_keyconf(&other, 0);
    run_committed(1, OP_UPDATE, 1, &sent);
    assert_int_equal(c_left(&w), 0);
    t_commit(&other);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    t_expect_value(&w, 1, 21);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    c_expect_row(&w, 1, 21);
}

static void test_refused(void **state)
{
    (void)state;
    c_insert(&w, &t, 1, 10);
    struct sent sent = {.reads = true};
    sent.words = add_one(sent.program);
    run_committed(1, OP_INSERT, 2, &sent);
    t_expect_rolled_back(&t, ERR_OPTIONS_COMBINATION, 1);
    run_committed(2, OP_DELETE, 1, &sent);
    t_expect_rolled_back(&t, ERR_SET_ON_READ, 2);
    sent.program[0] = 9;
    run_committed(3, OP_UPDATE, 1, &sent);
    t_expect_rolled_back(&t, ERR_TUP_REQUEST_876, 3);
    /* Lengths that lie. */
    static const uint32_t lies[][2] = {{100, 0}, {0, 100}, {4001, 0}, {~0u, ~0u}, {1, ~0u}};
    for (uint32_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint32_t attr[8] = {lies[i][0], lies[i][1], PROGRAM_VERSION};
        uint32_t key = 1;
        const struct section sections[2] = {{&key, 1}, {attr, i == 4 ? 2 : 8}};
        t_next(&t);
        struct tckeyreq req = {.tc_connect = t.connect,
                               .api_op = 4,
                               .table_id = 1,
                               .schema_version = 1,
                               .request_info = INFO(OP_UPDATE, WRITE_ALL) | KEY_PROGRAM,
                               .transid1 = t.transid1,
                               .transid2 = t.transid2};
        c_send(&w, CLIENT, 1, GSN_TCKEYREQ, &req, sizeof req / 4u, sections, 2);
        w_run(&w);
        uint32_t count = lies[i][0];
        t_expect_rolled_back(
            &t, count > PROGRAM_WORDS_MAX ? ERR_FILTER_TOO_BIG_TUP : ERR_TUP_REQUEST_876, 4);
    }
    c_expect_row(&w, 1, 10);
}

/* --- Scans. --- */

static void fill(void)
{
    t_next(&t);
    for (uint32_t key = 0; key < ROWS; key++)
        t_op(&t, .api_op = key,
             .info = INFO(OP_INSERT, (key == 0 ? KEY_START : 0) |
                                         (key == ROWS - 1 ? KEY_EXECUTE | KEY_COMMIT : 0)),
             .key = key, .value = key);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
}

struct scan {
    uint32_t told;
    uint32_t got;
    uint32_t error;
    uint32_t more[64];
    uint32_t more_count;
    bool end;
    bool seen[ROWS];
};

static void collect(struct scan *scan)
{
    const struct signal *sig;
    while ((sig = c_take(&w, GSN_TRANSID_AI)) != NULL) {
        for (uint32_t i = 0; i < SIG_PAYLOAD(sig, transid_ai)->rows; i++) {
            uint32_t key = sig->section[0].words[i * 3 + 2];
            assert_true(key < ROWS && !scan->seen[key]);
            scan->seen[key] = true;
            scan->got++;
        }
    }
    while ((sig = c_take(&w, GSN_SCAN_TABCONF)) != NULL) {
        for (uint32_t at = 0; at < sig->section[0].size; at += SCAN_FRAG_ENTRY_WORDS) {
            const uint32_t *entry = sig->section[0].words + at;
            scan->told += entry[1];
            if ((entry[2] & SCAN_FRAG_DONE) == 0) scan->more[scan->more_count++] = entry[0];
        }
        if ((SIG_PAYLOAD(sig, scan_tabconf)->flags & SCAN_END) != 0) scan->end = true;
    }
    while ((sig = c_take(&w, GSN_SCAN_TABREF)) != NULL) {
        scan->error = SIG_PAYLOAD(sig, scan_tabref)->error;
        scan->end = true;
    }
}

/* v < 50, or v >= 450. */
static const uint32_t few[] = {PROGRAM_VERSION,
                               (uint32_t)PROGRAM_BRANCH_COLUMN | 1u << 16,
                               10u | (uint32_t)PROGRAM_LT << 16,
                               4,
                               50,
                               (uint32_t)PROGRAM_BRANCH_COLUMN | 1u << 16,
                               10u | (uint32_t)PROGRAM_GE << 16,
                               4,
                               450,
                               (uint32_t)PROGRAM_EXIT_REFUSE | 626u << 16,
                               (uint32_t)PROGRAM_EXIT_OK};

struct scan_options {
    enum lock_mode mode;
    bool count;
    uint32_t limit;
    uint32_t batch;
    uint32_t parallelism;
    const uint32_t *program;
    uint32_t words;
};

static struct scan run_scan_step(const struct scan_options *step)
{
    struct scan scan = {0};
    t_next(&t);
    struct scan_tabreq req = {.tc_connect = t.connect,
                              .api_scan = 600,
                              .table_id = 1,
                              .schema_version = 1,
                              .request_info = key_request_info(OP_READ, step->mode, 0),
                              .batch_rows = step->batch,
                              .parallelism = step->parallelism,
                              .transid1 = t.transid1,
                              .transid2 = t.transid2,
                              .limit = step->limit};
    const uint32_t attr = attr_header(0, 0);
    const struct section sections[2] = {{&attr, !step->count}, {step->program, step->words}};
    assert_true(c_send(&w, CLIENT, 1, GSN_SCAN_TABREQ, &req, sizeof req / 4u, sections,
                       step->program == NULL ? 1 : 2));
    w_run(&w);
    collect(&scan);
    while (!scan.end) {
        struct scan_nextreq next = {t.connect, 600, t.transid1, t.transid2, 0};
        const struct section section = {scan.more, scan.more_count};
        bool enough = step->limit != 0 && scan.told >= step->limit;
        if (enough) next.flags = SCAN_CLOSE;
        c_send(&w, CLIENT, 1, GSN_SCAN_NEXTREQ, &next, 5, &section, enough ? 0 : 1);
        scan.more_count = 0;
        w_run(&w);
        collect(&scan);
    }
    w_expect_quiet(&w);
    return scan;
}
#define run_scan(...) run_scan_step(&(struct scan_options){__VA_ARGS__})

static void test_filter(void **state)
{
    (void)state;
    fill();
    for (uint32_t mode = LOCK_SHARED; mode <= LOCK_COMMITTED; mode++) {
        for (uint32_t batch = 0; batch < 8; batch += 7) {
            struct scan scan = run_scan(.mode = (enum lock_mode)mode, .batch = batch,
                                        .program = few, .words = sizeof few / 4u);
            assert_int_equal(scan.error, 0);
            assert_int_equal(scan.got, 100);
            assert_int_equal(scan.told, 100);
            for (uint32_t key = 0; key < ROWS; key++)
                assert_int_equal(scan.seen[key], key < 50 || key >= 450);
            scan = run_scan(.mode = (enum lock_mode)mode, .count = true, .batch = batch,
                            .parallelism = 2, .program = few, .words = sizeof few / 4u);
            assert_int_equal(scan.told, 100);
            assert_int_equal(scan.got, 0);
        }
    }
}

static void test_limit(void **state)
{
    (void)state;
    fill();
    for (uint32_t mode = LOCK_SHARED; mode <= LOCK_COMMITTED; mode++) {
        for (uint32_t limit = 1; limit < 200; limit += 33) {
            bool locked = mode != LOCK_COMMITTED;
            /* One fragment after the other: at most one batch more than wanted. */
            struct scan scan =
                run_scan(.mode = (enum lock_mode)mode, .limit = limit, .parallelism = 1);
            assert_true(scan.told >= limit && scan.told <= 2 * limit);
            assert_int_equal(scan.got, scan.told);
            scan = run_scan(.mode = (enum lock_mode)mode, .count = locked, .limit = limit,
                            .parallelism = 1, .program = few, .words = sizeof few / 4u);
            assert_true(scan.told >= (limit < 100 ? limit : 100) && scan.told <= 2 * limit);
        }
    }
    struct scan scan =
        run_scan(.mode = LOCK_COMMITTED, .count = true, .limit = 10, .parallelism = 1);
    assert_int_equal(scan.told, 10);
}

static void test_bad_filter(void **state)
{
    (void)state;
    static uint32_t words[PROGRAM_WORDS_MAX + 1] = {PROGRAM_VERSION};
    fill();
    struct scan scan =
        run_scan(.mode = LOCK_COMMITTED, .program = words, .words = PROGRAM_WORDS_MAX + 1);
    assert_int_equal(scan.error, ERR_FILTER_TOO_BIG_TUP);
    scan = run_scan(.mode = LOCK_SHARED, .program = words, .words = PROGRAM_WORDS_MAX);
    assert_int_equal(scan.error, ERR_TUP_REQUEST_877);
    words[1] = program_head(PROGRAM_ADD, 0, 0, 0); /* With NULL. */
    words[2] = program_head(PROGRAM_EXIT_OK, 0, 0, 0);
    scan = run_scan(.mode = LOCK_COMMITTED, .program = words, .words = 3);
    assert_int_equal(scan.error, ERR_TUP_REQUEST_879);
    scan = run_scan(.mode = LOCK_SHARED, .program = words, .words = 3);
    assert_int_equal(scan.error, ERR_TUP_REQUEST_879);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_increment, start, stop),
        cmocka_unit_test_setup_teardown(test_within, start, stop),
        cmocka_unit_test_setup_teardown(test_update_values, start, stop),
        cmocka_unit_test_setup_teardown(test_write, start, stop),
        cmocka_unit_test_setup_teardown(test_delete, start, stop),
        cmocka_unit_test_setup_teardown(test_read, start, stop),
        cmocka_unit_test_setup_teardown(test_waits, start, stop),
        cmocka_unit_test_setup_teardown(test_refused, start, stop),
        cmocka_unit_test_setup_teardown(test_filter, start, stop),
        cmocka_unit_test_setup_teardown(test_filter, start_tiny, stop),
        cmocka_unit_test_setup_teardown(test_limit, start, stop),
        cmocka_unit_test_setup_teardown(test_limit, start_tiny, stop),
        cmocka_unit_test_setup_teardown(test_bad_filter, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
