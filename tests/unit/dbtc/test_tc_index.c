/* test_tc_index.c -- scans of an ordered index through TC and LQH: ranges, directions, batches,
 * locks, rows that move, what is refused. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/program.h"
#include "tests/unit/support/index_fixture.h"

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
            uint32_t size = index_make_range(words, low, high, exclusive, b % 2 == 0);
            struct scan scan = index_s_open(&options[i], words, size);
            uint32_t expected = 0;
            index_s_finish(&scan);
            assert_int_equal(scan.error, 0);
            for (uint32_t key = 0; key < ROWS; key++) {
                bool wanted = (low == NULL ||
                               (exclusive ? index_value[key] > *low : index_value[key] >= *low)) &&
                              (high == NULL ||
                               (exclusive ? index_value[key] < *high : index_value[key] <= *high));
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
    uint32_t size = index_make_range(words, &low, NULL, false, false);
    (void)state;
    struct options options = {.mode = LOCK_COMMITTED, .limit = 5};
    struct scan scan = index_s_open(&options, words, size);
    index_s_finish(&scan);
    assert_int_equal(scan.error, 0);
    assert_in_range(scan.got, 5, 5 * FRAGMENTS);
    for (uint32_t key = 0; key < ROWS; key++)
        assert_true(scan.seen[key] == 0 || (index_value[key] >= 40 && index_value[key] < 50));
    options = (struct options){.mode = LOCK_COMMITTED,
                               .program = program,
                               .program_words = sizeof program / sizeof program[0]};
    scan = index_s_open(&options, words, size);
    index_s_finish(&scan);
    assert_int_equal(scan.error, 0);
    for (uint32_t key = 0; key < ROWS; key++)
        assert_int_equal(scan.seen[key], index_value[key] >= 40 && key >= 300);
}

/* Between batches rows move before and behind the scan, come and go: the others are seen once. */
static void test_rows_move(void **state)
{
    (void)state;
    for (uint32_t descending = 0; descending < 2; descending++) {
        static const struct options options = {.mode = LOCK_COMMITTED, .batch_rows = 3};
        uint32_t words[16];
        uint32_t size = index_make_range(words, NULL, NULL, false, descending != 0);
        struct scan scan = index_s_open(&options, words, size);
        bool moved[ROWS] = {false};
        uint32_t turn = descending;
        index_s_collect(&scan);
        while (!scan.end) {
            uint32_t key = turn * 37u % ROWS;
            index_set_value(key, (index_value[key] + 1u + turn * 13u) % VALUES);
            moved[key] = true;
            turn++;
            index_s_next(&scan);
            index_s_collect(&scan);
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
    uint32_t all = index_make_range(words, NULL, NULL, false, false);
    uint32_t above[16];
    uint32_t above_size = index_make_range(above, &new_value, NULL, false, false);
    (void)state;
    struct trx t = t_new(&w, CLIENT_TWO, 1);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START), .key = 17, .value = new_value);
    t_op(&t, .api_op = 2, .info = INFO(OP_DELETE, KEY_EXECUTE), .key = 18);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    struct scan scan = index_s_open(&committed, above, above_size);
    index_s_finish(&scan);
    assert_int_equal(scan.got, 0);
    scan = index_s_open(&committed, words, all);
    index_s_finish(&scan);
    assert_int_equal(scan.got, ROWS);
    struct scan waits = index_s_open(&locking, words, all);
    index_s_collect(&waits);
    assert_false(waits.end);
    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    index_s_finish(&waits);
    assert_int_equal(waits.error, 0);
    assert_int_equal(waits.seen[17], 1); /* Ahead: at its new place. */
    assert_int_equal(waits.seen[18], 0);
    assert_int_equal(waits.got, ROWS - 1);
    scan = index_s_open(&committed, above, above_size);
    index_s_finish(&scan);
    assert_int_equal(scan.got, 1);
}

static void expect_refused(const uint32_t *range, uint32_t words, uint32_t error)
{
    static const struct options options = {.mode = LOCK_COMMITTED};
    struct scan scan = index_s_open(&options, range, words);
    index_s_finish(&scan);
    assert_int_equal(scan.error, error);
    w_expect_quiet(&w);
}

static void test_refused(void **state)
{
    static const uint32_t low = 5;
    uint32_t words[SCAN_RANGE_WORDS_MAX + 1] = {0};
    uint32_t size = index_make_range(words, &low, NULL, false, false);
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

#define TEST(test) cmocka_unit_test_setup_teardown(test, index_start, index_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ranges),      TEST(test_limit_and_program), TEST(test_rows_move),
        TEST(test_uncommitted), TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
