/* test_api_order.c -- the client core's ordered scans: whose row comes next, when the application
 * is woken, when the next batch is asked for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/scan_fake.h"

/* A row is given out when no fragment can have one before it; what is at its end holds nothing up.
 */
static void merged_in_order(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    scan_begin_merged(fake, table, LOCK_COMMITTED, 0, &run);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{1, 10}, {2, 30}, {3, 30}}, 3);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT); /* Nobody knows what fragment 1 has. */
    scan_conf(fake, &run, 0, (const uint32_t[]){1, 2, SCAN_FRAG_DONE, 0, 3, 0}, 6);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL); /* Ahead. */
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 5], 1);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    assert_int_equal(run.ready, 0); /* Fragment 1's rows are missing. */
    scan_merged_rows(fake, &run, 1, (const uint32_t[][2]){{4, NO_V}, {5, 20}}, 2);
    assert_int_equal(run.ready, 1);
    static const uint32_t ids[] = {4, 1, 5, 2, 3};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(scan_take(&run), ids[i]);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    uint32_t ready = run.ready;
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE}, 3);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{6, 40}}, 1);
    assert_true(run.ready > ready);
    assert_int_equal(scan_take(&run), 6);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    assert_int_equal(api_scan_rows(run.scan), 6);
    api_scan_close(run.scan);
    fake_expect_nothing(fake);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* The end of one fragment, without a row, lets the other's rows out: the application hears of it.
 */
static void merged_end_wakes(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    scan_begin_merged(fake, table, LOCK_COMMITTED, SCAN_DESCENDING, &run);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{1, 9}, {2, 8}, {3, NO_V}}, 3);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    uint32_t ready = run.ready;
    scan_conf(fake, &run, 0, (const uint32_t[]){1, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(run.ready, ready + 1);
    for (uint32_t id = 1; id <= 3; id++)
        assert_int_equal(scan_take(&run), id);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    api_scan_close(run.scan); /* With nothing more heard of fragment 0. */
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    scan_conf(fake, &run, SCAN_END, NULL, 0);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Locked rows: a fragment is asked for more when all of its rows were taken, the others are not. */
static void merged_locking(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    scan_begin_merged(fake, table, LOCK_SHARED, 0, &run);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{1, 1}, {2, 5}}, 2);
    scan_merged_rows(fake, &run, 1, (const uint32_t[][2]){{3, 2}}, 1);
    scan_conf(fake, &run, 0, (const uint32_t[]){0, 2, 0, 1, 1, 0}, 6);
    assert_int_equal(scan_take(&run), 1);
    assert_int_equal(scan_take(&run), 3);
    fake_expect_nothing(fake); /* The last row is still being looked at. */
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 5], 1);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 1);
    scan_conf(fake, &run, 0, (const uint32_t[]){1, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(scan_take(&run), 2);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* A row without the column that gives the order ends the scan; so does a range of no index. */
static void merged_nonsense(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    scan_begin_merged(fake, table, LOCK_COMMITTED, 0, &run);
    scan_rows(fake, &run, .node = 1, .first = 1, .count = 2);
    assert_int_equal(scan_peek(&run), API_SCAN_ERROR);
    assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
    assert_int_equal(scan_peek(&run), API_SCAN_ERROR);
    api_scan_close(run.scan);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    scan_conf(fake, &run, SCAN_END, NULL, 0);
    const struct scan_range range = {.index = 1, .flags = SCAN_MERGED};
    uint32_t words[SCAN_RANGE_HEAD];
    uint32_t attrs[1] = {attr_header(0, 0)};
    uint32_t error = 0;
    struct api_scan_options options = {
        .table = table, .attrs = attrs, .attr_words = 1, .range = words, .ready = scan_on_ready};
    options.range_words = scan_range_encode(&range, words, SCAN_RANGE_HEAD);
    assert_null(api_scan_start(fake->client, &options, 1000, &error));
    assert_int_equal(error, ERR_BOUNDS);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* A range whose rows are all in the fragment of that bucket. */
static void begin_pruned(struct fake *fake, struct api_table *table, uint32_t bucket,
                         struct scan_run *run)
{
    const uint32_t attrs[1] = {attr_header(0, 0)};
    const struct scan_range range = {.flags = SCAN_MERGED | SCAN_ONE_PARTITION,
                                     .partition = bucket};
    uint32_t words[SCAN_RANGE_HEAD + 1];
    uint32_t error = 0;
    struct api_scan_options options = {.table = table,
                                       .lock = LOCK_COMMITTED,
                                       .attrs = attrs,
                                       .attr_words = 1,
                                       .range = words,
                                       .ready = scan_on_ready,
                                       .context = run};
    options.range_words = scan_range_encode(&range, words, SCAN_RANGE_HEAD + 1);
    *run = (struct scan_run){0};
    run->scan = api_scan_start(fake->client, &options, 1000, &error);
    assert_int_equal(error, 0);
    run->node = fake->sent[fake->sent_read].peer;
    fake_seize(fake, run->node);
    const uint32_t *sent = fake_next(fake, GSN_SCAN_TABREQ, NULL);
    /* No merge: the index's column is not asked for. */
    assert_int_equal(sent[SIGNAL_HEAD_WORDS + sizeof(struct scan_tabreq) / 4u], 1);
    run->api_scan = SCAN_OF(sent)->api_scan;
    run->transid = (uint64_t)SCAN_OF(sent)->transid2 << 32 | SCAN_OF(sent)->transid1;
}

/* Bucket 0 of the map is in fragment 0, whose primary is at node 1; bucket 1 in the other ones. */
static void pruned(void **state)
{
    (void)state;
    for (uint32_t bucket = 0; bucket < 2; bucket++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 2);
        struct scan_run run;
        begin_pruned(fake, table, bucket, &run);
        assert_int_equal(run.node, api_table_node(table, bucket, 0)); /* Where the rows are. */
        scan_rows(fake, &run, .node = run.node, .fragment = bucket, .first = 1, .count = 1);
        assert_int_equal(scan_take(&run), 1); /* The other fragment is not waited for. */
        assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
        if (bucket == 0) {
            scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE}, 3);
            assert_int_equal(scan_peek(&run), API_SCAN_END);
        } else { /* It is not to have rows either. */
            scan_rows(fake, &run, .node = run.node, .first = 2, .count = 1);
            assert_int_equal(scan_peek(&run), API_SCAN_ERROR);
            assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
        }
        assert_int_equal(api_client_statistics(fake->client)->scans_pruned, 1);
        assert_int_equal(api_client_statistics(fake->client)->fragments_scanned, bucket == 0);
        api_scan_close(run.scan);
        if (bucket == 1) {
            fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
            scan_conf(fake, &run, SCAN_END, NULL, 0);
        }
        scan_idle(fake);
        api_table_release(table);
        fake_destroy(fake);
    }
}
/* A batch comes in several signals, before or after its announcement: the application is woken when
 * all of it is here. */
static void woken_by_batches(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    begin_pruned(fake, table, 0, &run);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_rows(fake, &run, .node = run.node, .count = 3);
    scan_rows(fake, &run, .node = run.node, .first = 3, .count = 2);
    assert_int_equal(run.ready, 0);
    scan_conf(fake, &run, 0, (const uint32_t[]){0, 5, 0}, 3);
    assert_int_equal(run.ready, 1);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(scan_take(&run), i);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    scan_conf(fake, &run, 0, (const uint32_t[]){0, 4, 0}, 3);
    scan_rows(fake, &run, .node = run.node, .first = 5, .count = 3);
    assert_int_equal(run.ready, 1);
    scan_rows(fake, &run, .node = run.node, .first = 8, .count = 1);
    assert_int_equal(run.ready, 2);
    for (uint32_t i = 5; i < 9; i++)
        assert_int_equal(scan_take(&run), i);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(run.ready, 3);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Rows that were locked are given at once: the server may wait for the next one's lock. */
static void locked_rows_wake(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    struct scan_run run;
    scan_begin(fake, table, .lock = LOCK_SHARED, .run = &run);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_rows(fake, &run, .node = 1, .first = 1, .count = 1);
    assert_int_equal(run.ready, 1);
    assert_int_equal(scan_take(&run), 1);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE}, 3);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Rows of a kilobyte each. */
#define WIDE_WORDS 256u
#define WIDE_ROWS  40u

static void wide_rows(struct fake *fake, const struct scan_run *run, uint32_t first)
{
    static uint32_t section[WIDE_ROWS * WIDE_WORDS];
    struct transid_ai ai = {.api_op = run->api_scan,
                            .transid1 = (uint32_t)run->transid,
                            .transid2 = (uint32_t)(run->transid >> 32),
                            .rows = WIDE_ROWS};
    for (uint32_t i = 0; i < WIDE_ROWS; i++) {
        uint32_t *row = section + (size_t)i * WIDE_WORDS;
        row[0] = WIDE_WORDS - 1;
        row[1] = attr_header(0, 4);
        row[2] = first + i;
        row[3] = attr_header(1, (WIDE_WORDS - 4) * 4);
    }
    fake_answer_section(fake, block_ref(run->node, BLOCK_DBLQH, 1), GSN_TRANSID_AI, &ai,
                        sizeof ai / 4u, section, WIDE_ROWS * WIDE_WORDS);
}

static void take_wide(struct scan_run *run, uint32_t first)
{
    for (uint32_t i = 0; i < WIDE_ROWS; i++) {
        struct api_row row;
        assert_int_equal(api_scan_next(run->scan, &row), API_SCAN_ROW);
        assert_int_equal(row.pairs[1], first + i);
    }
}

/* The next batch is on its way while the present one is consumed, and no more than that. */
static void read_ahead(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    const uint32_t batch[] = {0, WIDE_ROWS, 0};
    struct scan_run run;
    begin_pruned(fake, table, 0, &run);
    wide_rows(fake, &run, 0);
    scan_conf(fake, &run, 0, batch, 3);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL); /* 40 KB wait. */
    wide_rows(fake, &run, WIDE_ROWS);
    scan_conf(fake, &run, 0, batch, 3);
    fake_expect_nothing(fake); /* 80 KB. */
    take_wide(&run, 0);
    fake_expect_nothing(fake); /* The last row is still being looked at. */
    take_wide(&run, WIDE_ROWS);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* The same of a merge: each fragment has its share of what may wait. */
static void merge_reads_ahead(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    scan_begin_merged(fake, table, LOCK_COMMITTED, 0, &run);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{1, 1}, {2, 2}}, 2);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{3, 3}}, 1);
    scan_conf(fake, &run, 0, (const uint32_t[]){0, 3, 0}, 3);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    scan_conf(fake, &run, 0, (const uint32_t[]){1, 0, SCAN_FRAG_DONE}, 3);
    for (uint32_t id = 1; id <= 3; id++)
        assert_int_equal(scan_take(&run), id);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{4, 4}, {5, 5}}, 2); /* Alone now. */
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 2, SCAN_FRAG_DONE}, 3);
    assert_int_equal(run.ready, 1);
    assert_int_equal(scan_take(&run), 4);
    assert_int_equal(scan_take(&run), 5);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_in_order),
        cmocka_unit_test(merged_end_wakes),
        cmocka_unit_test(merged_locking),
        cmocka_unit_test(merged_nonsense),
        cmocka_unit_test(pruned),
        cmocka_unit_test(woken_by_batches),
        cmocka_unit_test(locked_rows_wake),
        cmocka_unit_test(read_ahead),
        cmocka_unit_test(merge_reads_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
