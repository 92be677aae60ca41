/* test_tc_index.c -- scans of an ordered index through TC and LQH: ranges, directions, batches,
 * locks, rows that move, what is refused. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/program.h"
#include "signals/scan_range.h"
#include "tests/unit/tc_fixture.h"

#define FRAGMENTS 4u
#define ROWS      600u
#define VALUES    97u /* Of v: several rows have the same one. */

static struct world w;
static uint32_t value[ROWS]; /* v of each row, as committed. */

static void few_rows_per_step(struct node_config *config)
{
    config->scan_step_rows = 3;
}

static int start(void **state)
{
    (void)state;
    w_start(&w, 2, FRAGMENTS, few_rows_per_step);
    w.indexed = true;
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < ROWS; key++) {
        value[key] = key * 31u % VALUES;
        t_op(&t, key,
             INFO(OP_INSERT,
                  (key == 0 ? KEY_START : 0) | (key == ROWS - 1 ? KEY_EXECUTE | KEY_COMMIT : 0)),
             key, value[key]);
    }
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
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
    bool descending;
    uint32_t told;
    uint32_t got;
    uint32_t error;
    bool end;
    uint32_t seen[ROWS];
    uint32_t last[FRAGMENTS]; /* 1 + v of the last row. */
    uint32_t more[FRAGMENTS];
    uint32_t more_count;
};

struct options {
    enum lock_mode mode;
    uint32_t batch_rows;
    uint32_t limit;
    bool count;
    const uint32_t *program;
    uint32_t program_words;
};

/* v from `low` to `high`. */
static uint32_t make_range(uint32_t *words, const uint32_t *low, const uint32_t *high,
                           bool exclusive, bool descending)
{
    struct scan_range range = {.flags = descending ? SCAN_DESCENDING : 0u};
    if (low != NULL) {
        range.low = (struct scan_bound){.columns = 1, .exclusive = exclusive};
        range.low.value[0] = (struct scan_value){(const uint8_t *)low, 4};
    }
    if (high != NULL) {
        range.high = (struct scan_bound){.columns = 1, .exclusive = exclusive};
        range.high.value[0] = (struct scan_value){(const uint8_t *)high, 4};
    }
    uint32_t size = scan_range_encode(&range, words, 16);
    assert_true(size > 0);
    return size;
}

static struct scan s_open(const struct options *options, const uint32_t *range, uint32_t words)
{
    struct scan scan = {.trx = t_new(&w, CLIENT, 1)};
    struct scan_tabreq req = {.tc_connect = scan.trx.connect,
                              .api_scan = 600,
                              .table_id = 1,
                              .schema_version = 1,
                              .request_info = key_request_info(OP_READ, options->mode, 0),
                              .batch_rows = options->batch_rows,
                              .transid1 = scan.trx.transid1,
                              .transid2 = scan.trx.transid2,
                              .limit = options->limit};
    const uint32_t attr[2] = {attr_header(0, 0), attr_header(1, 0)};
    const struct section section[3] = {
        {attr, options->count ? 0 : 2}, {options->program, options->program_words}, {range, words}};
    if (words > 0) scan.descending = (scan_range_flags(range) & SCAN_DESCENDING) != 0;
    assert_true(c_send(&w, CLIENT, 1, GSN_SCAN_TABREQ, &req, sizeof req / 4u, section, 3));
    w_run(&w);
    return scan;
}

static void take_rows(struct scan *scan, const struct signal *sig)
{
    const struct transid_ai *ai = SIG_PAYLOAD(sig, transid_ai);
    const uint32_t *words = sig->section[0].words;
    for (uint32_t i = 0; i < ai->rows; i++, words += 5) {
        uint32_t key = words[2];
        uint32_t v = words[4];
        uint32_t *last = &scan->last[ai->fragment_id];
        assert_true(key < ROWS && v < 1000);
        scan->seen[key]++;
        assert_true(*last == 0 || (scan->descending ? v + 1 <= *last : v + 1 >= *last));
        *last = v + 1;
    }
    scan->got += ai->rows;
}

static void s_collect(struct scan *scan)
{
    const struct signal *sig;
    while ((sig = c_take(&w, GSN_TRANSID_AI)) != NULL)
        take_rows(scan, sig);
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

static void s_next(struct scan *scan)
{
    struct scan_nextreq req = {.tc_connect = scan->trx.connect,
                               .api_scan = 600,
                               .transid1 = scan->trx.transid1,
                               .transid2 = scan->trx.transid2};
    const struct section section = {scan->more, scan->more_count};
    c_send(&w, CLIENT, 1, GSN_SCAN_NEXTREQ, &req, sizeof req / 4u, &section, 1);
    scan->more_count = 0;
    w_run(&w);
}

static void s_finish(struct scan *scan)
{
    s_collect(scan);
    while (!scan->end) {
        assert_int_not_equal(scan->more_count, 0);
        s_next(scan);
        s_collect(scan);
    }
}

static void set_value(uint32_t key, uint32_t v)
{
    struct trx t = t_new(&w, CLIENT_TWO, 1);
    t_op(&t, 9000, INFO(OP_UPDATE, KEY_START | KEY_EXECUTE | KEY_COMMIT), key, v);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    value[key] = v;
}

static void test_ranges(void **state)
{
    static const struct options options[] = {
        {.mode = LOCK_COMMITTED},
        {.mode = LOCK_COMMITTED, .batch_rows = 1},
        {.mode = LOCK_COMMITTED, .batch_rows = 7},
        {.mode = LOCK_SHARED, .batch_rows = 5},
        {.mode = LOCK_EXCLUSIVE},
        {.mode = LOCK_COMMITTED, .count = true},
        {.mode = LOCK_SHARED, .count = true},
    };
    static const uint32_t bounds[][2] = {{0, 96}, {20, 29}, {50, 50}, {60, 10}, {96, 200}};
    (void)state;
    for (uint32_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        for (uint32_t b = 0; b < 20; b++) {
            const uint32_t *low = b % 4 == 3 ? NULL : &bounds[b / 4][0];
            const uint32_t *high = b % 4 == 2 ? NULL : &bounds[b / 4][1];
            bool exclusive = b % 3 == 0;
            uint32_t words[16];
            uint32_t size = make_range(words, low, high, exclusive, b % 2 == 0);
            struct scan scan = s_open(&options[i], words, size);
            uint32_t expected = 0;
            s_finish(&scan);
            assert_int_equal(scan.error, 0);
            for (uint32_t key = 0; key < ROWS; key++) {
                bool wanted =
                    (low == NULL || (exclusive ? value[key] > *low : value[key] >= *low)) &&
                    (high == NULL || (exclusive ? value[key] < *high : value[key] <= *high));
                if (!options[i].count) assert_int_equal(scan.seen[key], wanted);
                expected += wanted;
            }
            assert_int_equal(scan.told, expected);
            assert_int_equal(scan.got, options[i].count ? 0 : expected);
        }
    }
}

/* Each fragment gives its first rows only; a program leaves some out. */
static void test_limit_and_program(void **state)
{
    static const uint32_t low = 40;
    const uint32_t program[] = {
        PROGRAM_VERSION,
        program_head(PROGRAM_BRANCH_COLUMN, 0, 0, 0),
        program_branch_word(6, PROGRAM_GE, 0),
        4,
        300,
        program_head(PROGRAM_EXIT_REFUSE, 0, 0, 626),
        program_head(PROGRAM_EXIT_OK, 0, 0, 0),
    };
    uint32_t words[16];
    uint32_t size = make_range(words, &low, NULL, false, false);
    (void)state;
    struct options options = {.mode = LOCK_COMMITTED, .limit = 5};
    struct scan scan = s_open(&options, words, size);
    s_finish(&scan);
    assert_int_equal(scan.error, 0);
    assert_in_range(scan.got, 5, 5 * FRAGMENTS);
    for (uint32_t key = 0; key < ROWS; key++)
        assert_true(scan.seen[key] == 0 || (value[key] >= 40 && value[key] < 50));
    options = (struct options){.mode = LOCK_COMMITTED,
                               .program = program,
                               .program_words = sizeof program / sizeof program[0]};
    scan = s_open(&options, words, size);
    s_finish(&scan);
    assert_int_equal(scan.error, 0);
    for (uint32_t key = 0; key < ROWS; key++)
        assert_int_equal(scan.seen[key], value[key] >= 40 && key >= 300);
}

/* Between batches rows move before and behind the scan, come and go: the others are seen once. */
static void test_rows_move(void **state)
{
    (void)state;
    for (uint32_t descending = 0; descending < 2; descending++) {
        static const struct options options = {.mode = LOCK_COMMITTED, .batch_rows = 3};
        uint32_t words[16];
        uint32_t size = make_range(words, NULL, NULL, false, descending != 0);
        struct scan scan = s_open(&options, words, size);
        bool moved[ROWS] = {false};
        uint32_t turn = descending;
        s_collect(&scan);
        while (!scan.end) {
            uint32_t key = turn * 37u % ROWS;
            set_value(key, (value[key] + 1u + turn * 13u) % VALUES);
            moved[key] = true;
            turn++;
            s_next(&scan);
            s_collect(&scan);
        }
        assert_int_equal(scan.error, 0);
        assert_true(turn > 30);
        for (uint32_t key = 0; key < ROWS; key++)
            assert_true(moved[key] ? scan.seen[key] <= 2 : scan.seen[key] == 1);
    }
}

/* A change that is not committed is not seen, whatever comes of it. A locking scan waits for it,
 * and then leaves the row to its new place. */
static void test_uncommitted(void **state)
{
    static const struct options committed = {.mode = LOCK_COMMITTED};
    static const struct options locking = {.mode = LOCK_EXCLUSIVE};
    static const uint32_t new_value = 500;
    uint32_t words[16];
    uint32_t all = make_range(words, NULL, NULL, false, false);
    uint32_t above[16];
    uint32_t above_size = make_range(above, &new_value, NULL, false, false);
    (void)state;
    struct trx t = t_new(&w, CLIENT_TWO, 1);
    t_op(&t, 1, INFO(OP_UPDATE, KEY_START), 17, new_value);
    t_op(&t, 2, INFO(OP_DELETE, KEY_EXECUTE), 18, 0);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    struct scan scan = s_open(&committed, above, above_size);
    s_finish(&scan);
    assert_int_equal(scan.got, 0);
    scan = s_open(&committed, words, all);
    s_finish(&scan);
    assert_int_equal(scan.got, ROWS);
    struct scan waits = s_open(&locking, words, all);
    s_collect(&waits);
    assert_false(waits.end);
    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    s_finish(&waits);
    assert_int_equal(waits.error, 0);
    assert_int_equal(waits.seen[17], 1); /* Ahead: at its new place. */
    assert_int_equal(waits.seen[18], 0);
    assert_int_equal(waits.got, ROWS - 1);
    scan = s_open(&committed, above, above_size);
    s_finish(&scan);
    assert_int_equal(scan.got, 1);
}

static void expect_refused(const uint32_t *range, uint32_t words, uint32_t error)
{
    static const struct options options = {.mode = LOCK_COMMITTED};
    struct scan scan = s_open(&options, range, words);
    s_finish(&scan);
    assert_int_equal(scan.error, error);
    w_expect_quiet(&w);
}

static void test_refused(void **state)
{
    static const uint32_t low = 5;
    uint32_t words[SCAN_RANGE_WORDS_MAX + 1] = {0};
    uint32_t size = make_range(words, &low, NULL, false, false);
    (void)state;
    expect_refused(words, size - 1, ERR_BOUNDS);
    expect_refused(words, 1, ERR_BOUNDS);
    expect_refused(words, SCAN_RANGE_WORDS_MAX + 1, ERR_BOUNDS);
    words[0] |= 1; /* A second index. */
    expect_refused(words, size, ERR_SCAN_TARGET_INDEX);
    words[0] ^= 1 | 1u << 20; /* Another version. */
    expect_refused(words, size, ERR_BOUNDS);
    words[0] ^= 1u << 20;
    words[2] = 3; /* A number of three bytes. */
    expect_refused(words, size, ERR_BOUNDS);
    words[2] = 4;
    words[1] = 3; /* More columns than the index has. */
    expect_refused(words, size, ERR_BOUNDS);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ranges),      TEST(test_limit_and_program), TEST(test_rows_move),
        TEST(test_uncommitted), TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
