/* test_tc_ranges.c -- several ranges of an ordered index in one scan, through TC and LQH. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/key.h"
#include "tests/unit/support/index_fixture.h"

/* A range of values of v. */
struct part {
    uint32_t low, high;
};

static uint32_t part_words(uint32_t number, uint32_t flags, const struct part *part,
                           uint32_t *words)
{
    struct scan_range range = {.number = number, .flags = flags};
    range.low = range.high = (struct scan_bound){.columns = 1};
    range.low.value[0] = (struct scan_value){(const uint8_t *)&part->low, 4};
    range.high.value[0] = (struct scan_value){(const uint8_t *)&part->high, 4};
    uint32_t size = scan_range_encode(&range, words, 16);
    assert_true(size > 0);
    return size;
}

static uint32_t parts_words(const struct part *part, uint32_t count, uint32_t flags,
                            uint32_t *words)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        size += part_words(i * NUMBER, flags, &part[i], words + size);
    return size;
}

static bool part_has(const struct part *part, uint32_t v)
{
    return v >= part->low && v <= part->high;
}

static void check_scan(const struct options *options, const struct part *part, uint32_t count,
                       uint32_t flags)
{
    uint32_t words[RANGES * 16];
    uint32_t size = parts_words(part, count, flags, words);
    static struct scan scan;
    uint32_t expected = 0;
    scan = index_s_open(options, words, size);
    index_s_finish(&scan);
    assert_int_equal(scan.error, 0);
    for (uint32_t key = 0; key < ROWS; key++) {
        for (uint32_t i = 0; i < count; i++) {
            bool wanted = part_has(&part[i], index_value[key]);
            expected += wanted;
            if (options->ranged) assert_int_equal(scan.seen_in[key][i], wanted);
        }
    }
    assert_int_equal(scan.told, expected);
    assert_int_equal(scan.got, options->count ? 0 : expected);
    assert_int_equal(scan.fragments, FRAGMENTS);
}

static const struct options all_options[] = {
    {.mode = LOCK_COMMITTED, .ranged = true},
    {.mode = LOCK_COMMITTED},
    {.mode = LOCK_COMMITTED, .ranged = true, .batch_rows = 1},
    {.mode = LOCK_COMMITTED, .ranged = true, .batch_rows = 7},
    {.mode = LOCK_SHARED, .ranged = true, .batch_rows = 5},
    {.mode = LOCK_EXCLUSIVE, .ranged = true},
    {.mode = LOCK_COMMITTED, .count = true},
    {.mode = LOCK_EXCLUSIVE, .count = true},
};

/* Apart, overlapping, equal, empty ones; not in the order of their values. */
static void test_several(void **state)
{
    static const struct part parts[] = {{50, 59}, {10, 12}, {11, 11}, {200, 300}, {0, 96},
                                        {60, 40}, {11, 11}, {96, 96}, {300, 400}, {0, 0}};
    (void)state;
    for (uint32_t i = 0; i < sizeof all_options / sizeof all_options[0]; i++) {
        for (uint32_t count = 1; count <= sizeof parts / sizeof parts[0]; count++) {
            check_scan(&all_options[i], parts, count, 0);
            check_scan(&all_options[i], parts, count, SCAN_DESCENDING);
        }
    }
}

#define LQH_RANGE_WORDS 256u /* With more of them LQH needs a second record. */

static void test_many(void **state)
{
    struct part parts[RANGES];
    uint32_t words[RANGES * 16];
    (void)state;
    for (uint32_t i = 0; i < RANGES; i++)
        parts[i].low = parts[i].high = (i * 5u) % 100u;
    assert_true(parts_words(parts, RANGES, 0, words) > LQH_RANGE_WORDS);
    for (uint32_t i = 0; i < sizeof all_options / sizeof all_options[0]; i++)
        check_scan(&all_options[i], parts, RANGES, i % 2 == 0 ? SCAN_DESCENDING : 0u);
}

/* Each fragment ends when it has so many rows of all ranges together. */
static void test_limit(void **state)
{
    static const struct part parts[] = {{10, 10}, {0, 96}, {5, 5}};
    static const struct options options = {.mode = LOCK_COMMITTED, .ranged = true, .limit = 9};
    uint32_t words[64];
    uint32_t size = parts_words(parts, 3, 0, words);
    static struct scan scan;
    (void)state;
    scan = index_s_open(&options, words, size);
    index_s_finish(&scan);
    assert_int_equal(scan.error, 0);
    assert_in_range(scan.got, 9, 9 * FRAGMENTS);
    for (uint32_t key = 0; key < ROWS; key++)
        assert_int_equal(scan.seen_in[key][2], 0);
}

/* A row that is locked by others is waited for, in whichever range; it keeps its range. */
static void test_wait(void **state)
{
    static const struct part parts[] = {{0, 30}, {20, 40}};
    static const struct options options = {.mode = LOCK_EXCLUSIVE, .ranged = true};
    static struct scan scan;
    uint32_t words[64];
    uint32_t size = parts_words(parts, 2, 0, words);
    uint32_t key = 0;
    (void)state;
    while (index_value[key] != 25)
        key++;
    struct trx t = t_new(&w, CLIENT_TWO, 1);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = key,
         .value = 25);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    scan = index_s_open(&options, words, size);
    index_s_collect(&scan);
    assert_false(scan.end);
    t_commit(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    index_s_finish(&scan);
    assert_int_equal(scan.error, 0);
    for (uint32_t k = 0; k < ROWS; k++) {
        assert_int_equal(scan.seen_in[k][0], part_has(&parts[0], index_value[k]));
        assert_int_equal(scan.seen_in[k][1], part_has(&parts[1], index_value[k]));
    }
}

static void expect_error(const uint32_t *words, uint32_t size, uint32_t error)
{
    static const struct options options = {.mode = LOCK_COMMITTED, .ranged = true};
    static struct scan scan;
    scan = index_s_open(&options, words, size);
    index_s_finish(&scan);
    assert_int_equal(scan.error, error);
    w_expect_quiet(&w);
}

static void test_refused(void **state)
{
    static const struct part parts[] = {{10, 12}, {20, 22}, {30, 32}};
    uint32_t words[SCAN_RANGES_WORDS_MAX + 1];
    uint32_t size = parts_words(parts, 3, 0, words);
    uint32_t one = size / 3;
    (void)state;
    expect_error(words, size - 1, ERR_BOUNDS);
    expect_error(words, size - one + 1, ERR_BOUNDS); /* A part of the third one. */
    words[one] ^= (uint32_t)SCAN_DESCENDING << 8;    /* One goes another way. */
    expect_error(words, size, ERR_BOUNDS);
    words[one] ^= (uint32_t)SCAN_DESCENDING << 8;
    words[2 * one] |= 1; /* One is of another index. */
    expect_error(words, size, ERR_BOUNDS);
    words[2 * one] ^= 1;
    words[one] ^= NUMBER << 24; /* A number twice. */
    expect_error(words, size, ERR_BOUNDS);
    words[one] ^= (NUMBER ^ 255u) << 24; /* Numbers that do not grow. */
    expect_error(words, size, ERR_BOUNDS);
    words[one] ^= (255u ^ NUMBER) << 24;
    words[2 * one + 2] = 3; /* A number of three bytes, in the last one. */
    expect_error(words, size, ERR_BOUNDS);
}

/* Any record may be missing: a temporary error, and nothing is left. */
static void test_no_records(void **state)
{
    struct part parts[RANGES];
    uint32_t words[RANGES * 16];
    uint32_t refused = 0;
    (void)state;
    for (uint32_t i = 0; i < RANGES; i++)
        parts[i] = (struct part){i, i + 1};
    uint32_t size = parts_words(parts, RANGES, 0, words);
    assert_true(size > LQH_RANGE_WORDS);
    for (uint32_t i = 0; i < 2; i++) {
        struct block *block = node_block(w.n[1].node, i == 0 ? BLOCK_DBLQH : BLOCK_DBTC, 1);
        for (uint32_t p = 0; block_pool_at(block, p) != NULL; p++) {
            static const struct options options = {.mode = LOCK_SHARED, .ranged = true};
            static struct scan scan;
            if (strcmp(block->pools[p].name, "connects") == 0) continue; /* Not the scan's. */
            block_pool_at(block, p)->fail_next = 1;
            scan = index_s_open(&options, words, size);
            index_s_finish(&scan);
            block_pool_at(block, p)->fail_next = 0;
            refused += scan.error != 0;
            assert_true(scan.error == 0 || scan.error == ERR_INDEX_SCAN_RECORDS ||
                        scan.error == ERR_LQH_SCAN_RECORDS || scan.error == ERR_LQH_OPERATIONS ||
                        scan.error == ERR_SCAN_LIMIT || scan.error == ERR_SCAN_FRAGMENT_RECORDS);
            w_expect_quiet(&w);
        }
    }
    assert_int_equal(refused, 8);
}

/* --- Ranges whose rows are in one fragment. --- */

static uint32_t fragment_of(uint32_t key)
{
    struct table_def *def = kvt_table(1, 1, FRAGMENTS, 0);
    uint64_t hash = key_partition_hash(def, &key, 1);
    free(def);
    return hash_map_bucket(hash, HASH_MAP_BUCKETS) % FRAGMENTS;
}

/* v and, unless it is ROWS, k; told to be in the fragment of `home`, unless that is ROWS. */
static uint32_t put_one(uint32_t number, uint32_t v, uint32_t k, uint32_t home, uint32_t *words)
{
    struct scan_range range = {.number = number * NUMBER};
    struct table_def *def = kvt_table(1, 1, FRAGMENTS, 0);
    range.low = (struct scan_bound){.columns = k == ROWS ? 1 : 2};
    range.low.value[0] = (struct scan_value){(const uint8_t *)&v, 4};
    range.low.value[1] = (struct scan_value){(const uint8_t *)&k, 4};
    range.high = range.low;
    if (home != ROWS) {
        range.flags = SCAN_ONE_PARTITION;
        range.partition = (uint32_t)(key_partition_hash(def, &home, 1) >> 32);
    }
    free(def);
    uint32_t size = scan_range_encode(&range, words, 16);
    assert_true(size > 0);
    return size;
}

/* Only the fragments of the keys are read. */
static void test_pruned(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 8; count++) {
        for (uint32_t i = 0; i < sizeof all_options / sizeof all_options[0]; i++) {
            static struct scan scan;
            uint32_t words[RANGES * 16];
            bool used[FRAGMENTS] = {false};
            uint32_t size = 0;
            uint32_t fragments = 0;
            for (uint32_t n = 0; n < count; n++) {
                uint32_t key = (n * 67u + count * 31u + i * 7u) % ROWS;
                size += put_one(n, index_value[key], key, key, words + size);
                fragments += !used[fragment_of(key)];
                used[fragment_of(key)] = true;
            }
            scan = index_s_open(&all_options[i], words, size);
            index_s_finish(&scan);
            assert_int_equal(scan.error, 0);
            assert_int_equal(scan.told, count);
            assert_int_equal(scan.fragments, fragments);
            for (uint32_t n = 0; n < count && all_options[i].ranged; n++) {
                uint32_t key = (n * 67u + count * 31u + i * 7u) % ROWS;
                assert_int_equal(scan.seen_in[key][n], 1);
            }
        }
    }
}

/* A range of all fragments makes all of them take part; what is in one is still read only there. */
static void test_partly_pruned(void **state)
{
    static const struct options options = {.mode = LOCK_COMMITTED, .ranged = true};
    static struct scan scan;
    uint32_t words[64];
    (void)state;
    uint32_t size = put_one(0, 11, ROWS, 5, words); /* Not true: rows with 11 are everywhere. */
    size += put_one(1, 12, ROWS, ROWS, words + size);
    scan = index_s_open(&options, words, size);
    index_s_finish(&scan);
    assert_int_equal(scan.error, 0);
    assert_int_equal(scan.fragments, FRAGMENTS);
    for (uint32_t key = 0; key < ROWS; key++) {
        bool there = index_value[key] == 11 && fragment_of(key) == fragment_of(5);
        assert_int_equal(scan.seen_in[key][0], there);
        assert_int_equal(scan.seen_in[key][1], index_value[key] == 12);
    }
    expect_error(words, SCAN_RANGE_HEAD, ERR_BOUNDS); /* Cut before the partition. */
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, index_start, index_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_several), TEST(test_many),       TEST(test_limit),  TEST(test_wait),
        TEST(test_refused), TEST(test_no_records), TEST(test_pruned), TEST(test_partly_pruned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
