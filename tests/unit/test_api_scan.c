/* test_api_scan.c -- the client core's scans and dictionary against a scripted server. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "api_fake.h"
#include "signals/scan_range.h"

#define SCAN_OF(words) ((const struct scan_tabreq *)(const void *)((words) + SIGNAL_HEAD_WORDS))

struct scan_run {
    uint32_t ready;
    struct api_scan *scan;
    uint32_t api_scan;
    uint64_t transid;
    uint32_t node;
};

static void on_ready(void *context, struct api_scan *scan)
{
    (void)scan;
    ((struct scan_run *)context)->ready++;
}

static struct scan_run begin(struct fake *fake, struct api_table *table, enum lock_mode lock,
                             bool count, struct scan_run *run)
{
    uint32_t attrs[1] = {attr_header(ATTR_READ_ALL, 0)};
    uint32_t error = 0;
    struct api_scan_options options = {.table = table,
                                       .lock = lock,
                                       .attrs = attrs,
                                       .attr_words = count ? 0 : 1,
                                       .ready = on_ready,
                                       .context = run};
    *run = (struct scan_run){0};
    run->scan = api_scan_start(fake->client, &options, 1000, &error);
    assert_int_equal(error, 0);
    run->node = fake->sent[fake->sent_read].peer;
    fake_seize(fake, run->node);
    const uint32_t *words = fake_next(fake, GSN_SCAN_TABREQ, NULL);
    assert_int_equal(SCAN_OF(words)->tc_connect, TC_CONNECT_OF(run->node));
    assert_int_equal(key_lock_mode(SCAN_OF(words)->request_info), lock);
    run->api_scan = SCAN_OF(words)->api_scan;
    run->transid = (uint64_t)SCAN_OF(words)->transid2 << 32 | SCAN_OF(words)->transid1;
    return *run;
}

/* `count` rows of one fragment: column 0 = first, first + 1, ... */
static void rows(struct fake *fake, const struct scan_run *run, uint32_t node, uint32_t fragment,
                 uint32_t first, uint32_t count)
{
    struct transid_ai ai = {.api_op = run->api_scan,
                            .transid1 = (uint32_t)run->transid,
                            .transid2 = (uint32_t)(run->transid >> 32),
                            .rows = count,
                            .fragment_id = fragment};
    uint32_t section[64];
    for (uint32_t i = 0; i < count; i++) {
        section[3 * i] = 2;
        section[3 * i + 1] = attr_header(0, 4);
        section[3 * i + 2] = first + i;
    }
    fake_answer_section(fake, block_ref(node, BLOCK_DBLQH, 1), GSN_TRANSID_AI, &ai, sizeof ai / 4u,
                        section, 3 * count);
}

static void conf(struct fake *fake, const struct scan_run *run, uint32_t flags,
                 const uint32_t *entries, uint32_t words)
{
    struct scan_tabconf tabconf = {.api_scan = run->api_scan,
                                   .transid1 = (uint32_t)run->transid,
                                   .transid2 = (uint32_t)(run->transid >> 32),
                                   .flags = flags};
    fake_answer_section(fake, TC(run->node), GSN_SCAN_TABCONF, &tabconf, sizeof tabconf / 4u,
                        entries, words);
}

static void idle(struct fake *fake)
{
    assert_int_equal(api_client_pending(fake->client), 0);
    assert_int_equal(api_client_unclean(fake->client), 0);
}

static uint32_t take(struct scan_run *run)
{
    struct api_row row;
    assert_int_equal(api_scan_next(run->scan, &row), API_SCAN_ROW);
    assert_int_equal(row.words, 2);
    return row.pairs[1];
}

static enum api_scan_step peek(struct scan_run *run)
{
    struct api_row row;
    return api_scan_next(run->scan, &row);
}

/* Rows come before and after they are announced, the last ones after the end. */
static void whole_scan(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    begin(fake, table, LOCK_COMMITTED, false, &run);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    rows(fake, &run, 1, 0, 10, 2);
    assert_int_equal(run.ready, 1);
    assert_int_equal(take(&run), 10);
    assert_int_equal(take(&run), 11);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    conf(fake, &run, 0, (const uint32_t[]){0, 2, 0}, 3);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL); /* Fetched ahead. */
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 5], 1);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    conf(fake, &run, SCAN_END, (const uint32_t[]){0, 0, SCAN_FRAG_DONE, 1, 1, SCAN_FRAG_DONE}, 6);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    rows(fake, &run, 2, 1, 20, 1);
    assert_int_equal(take(&run), 20);
    assert_int_equal(peek(&run), API_SCAN_END);
    assert_int_equal(api_scan_rows(run.scan), 3);
    api_scan_close(run.scan);
    fake_expect_nothing(fake);
    idle(fake);
    /* The coordinator's record is used again. */
    uint32_t error = 0;
    struct api_scan_options options = {.table = table, .ready = on_ready, .context = &run};
    run.scan = api_scan_start(fake->client, &options, 1000, &error);
    uint32_t gsn = kind_gsn(fake->sent[fake->sent_read].words[0]);
    assert_true(gsn == GSN_SCAN_TABREQ ||
                gsn == GSN_TCSEIZEREQ); /* At this node, or a new one at the other. */
    api_scan_close(run.scan);
    api_table_release(table);
    fake_destroy(fake);
}

/* Locked rows are released by the next batch: it is asked for only when all were taken. */
static void locking_scan_waits(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    struct scan_run run;
    begin(fake, table, LOCK_EXCLUSIVE, false, &run);
    conf(fake, &run, 0, (const uint32_t[]){0, 1, 0}, 3);
    rows(fake, &run, 1, 0, 1, 1);
    fake_expect_nothing(fake);
    assert_int_equal(take(&run), 1);
    fake_expect_nothing(fake);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    api_scan_close(run.scan);
    assert_int_equal(api_client_unclean(fake->client), 1);
    const uint32_t *close = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(close[SIGNAL_HEAD_WORDS + 4], SCAN_CLOSE);
    rows(fake, &run, 1, 0, 1, 1); /* Under way: dropped. */
    conf(fake, &run, SCAN_END, NULL, 0);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

static void counts(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    struct scan_run run;
    begin(fake, table, LOCK_COMMITTED, true, &run);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    conf(fake, &run, 0, (const uint32_t[]){0, 1000, 0, 1, 5, SCAN_FRAG_DONE}, 6);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    conf(fake, &run, SCAN_END, (const uint32_t[]){0, 7, SCAN_FRAG_DONE}, 3);
    assert_int_equal(run.ready, 1);
    assert_int_equal(peek(&run), API_SCAN_END);
    assert_int_equal(api_scan_rows(run.scan), 1012);
    api_scan_close(run.scan);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

static void scan_errors(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 2);
        struct scan_run run;
        begin(fake, table, LOCK_COMMITTED, false, &run);
        uint32_t error = 0;
        bool closes = false;
        assert_int_equal(peek(&run), API_SCAN_WAIT);
        if (i == 0) { /* Refused. */
            struct scan_tabref ref = {.api_scan = run.api_scan,
                                      .transid1 = (uint32_t)run.transid,
                                      .transid2 = (uint32_t)(run.transid >> 32),
                                      .error = error = ERR_SCAN_TIMEOUT};
            ANSWER(fake, TC(run.node), SCAN_TABREF, ref);
        } else if (i == 1) { /* The coordinator's link goes. */
            fake_link_down(fake, run.node);
            error = ERR_NODE_FAILED_4029;
        } else if (i == 2) { /* Another link goes that may have carried announced rows. */
            conf(fake, &run, 0, (const uint32_t[]){0, 2, SCAN_FRAG_DONE}, 3);
            fake_link_down(fake, 3 - run.node);
            error = ERR_NODE_FAILED_4031;
            closes = true;
        } else if (i == 3) { /* No progress. */
            fake_sleep(fake, 1000);
            error = ERR_REQUEST_TIMEOUT;
            closes = true;
        } else if (i == 4) { /* Nonsense. */
            conf(fake, &run, 0, (const uint32_t[]){99, 2, 0}, 3);
            error = ERR_REPLY_4215;
            closes = true;
        } else { /* Rows of another transaction and of no fragment. */
            struct scan_run other = run;
            other.transid++;
            rows(fake, &other, 1, 0, 1, 1);
            assert_int_equal(run.ready, 0);
            rows(fake, &run, 1, 99, 1, 1);
            error = ERR_REPLY_4215;
            closes = true;
        }
        assert_int_equal(run.ready, 1);
        assert_int_equal(peek(&run), API_SCAN_ERROR);
        assert_int_equal(api_scan_error(run.scan), error);
        api_scan_close(run.scan);
        if (closes) {
            fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
            conf(fake, &run, SCAN_END, NULL, 0);
        }
        idle(fake);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* ---- Rows of all fragments in the order of an index. ---- */

#define NO_V UINT32_MAX

/* Asks for id alone; v, which gives the order, is read as well. */
static void begin_merged(struct fake *fake, struct api_table *table, enum lock_mode lock,
                         uint32_t flags, struct scan_run *run)
{
    const uint32_t attrs[1] = {attr_header(0, 0)};
    const struct scan_range range = {.flags = SCAN_MERGED | flags};
    uint32_t words[SCAN_RANGE_HEAD];
    uint32_t error = 0;
    struct api_scan_options options = {.table = table,
                                       .lock = lock,
                                       .attrs = attrs,
                                       .attr_words = 1,
                                       .range = words,
                                       .ready = on_ready,
                                       .context = run};
    options.range_words = scan_range_encode(&range, words, SCAN_RANGE_HEAD);
    *run = (struct scan_run){0};
    run->scan = api_scan_start(fake->client, &options, 1000, &error);
    assert_int_equal(error, 0);
    run->node = fake->sent[fake->sent_read].peer;
    fake_seize(fake, run->node);
    const uint32_t *sent = fake_next(fake, GSN_SCAN_TABREQ, NULL);
    const uint32_t *sizes = sent + SIGNAL_HEAD_WORDS + kind_words(sent[0]);
    assert_int_equal(kind_sections(sent[0]), 3);
    assert_int_equal(sizes[0], 2);
    assert_int_equal(sizes[1], 0);
    assert_int_equal(sizes[2], SCAN_RANGE_HEAD);
    assert_int_equal(sizes[3], attr_header(0, 0));
    assert_int_equal(sizes[4], attr_header(1, 0));
    assert_memory_equal(sizes + 5, words, sizeof words);
    run->api_scan = SCAN_OF(sent)->api_scan;
    run->transid = (uint64_t)SCAN_OF(sent)->transid2 << 32 | SCAN_OF(sent)->transid1;
}

/* Rows (id, v) of a fragment. */
static void merged_rows(struct fake *fake, const struct scan_run *run, uint32_t fragment,
                        const uint32_t (*row)[2], uint32_t count)
{
    struct transid_ai ai = {.api_op = run->api_scan,
                            .transid1 = (uint32_t)run->transid,
                            .transid2 = (uint32_t)(run->transid >> 32),
                            .rows = count,
                            .fragment_id = fragment};
    uint32_t section[64];
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool null = row[i][1] == NO_V;
        section[at++] = null ? 3 : 4;
        section[at++] = attr_header(0, 4);
        section[at++] = row[i][0];
        section[at++] = attr_header(1, null ? 0 : 4);
        if (!null) section[at++] = row[i][1];
    }
    fake_answer_section(fake, block_ref(1, BLOCK_DBLQH, 1), GSN_TRANSID_AI, &ai, sizeof ai / 4u,
                        section, at);
}

/* A row is given out when no fragment can have one before it; what is at its end holds nothing up.
 */
static void merged_in_order(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    begin_merged(fake, table, LOCK_COMMITTED, 0, &run);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    merged_rows(fake, &run, 0, (const uint32_t[][2]){{1, 10}, {2, 30}, {3, 30}}, 3);
    assert_int_equal(run.ready, 1);
    assert_int_equal(peek(&run), API_SCAN_WAIT); /* Nobody knows what fragment 1 has. */
    conf(fake, &run, 0, (const uint32_t[]){1, 2, SCAN_FRAG_DONE, 0, 3, 0}, 6);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL); /* Ahead. */
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 5], 1);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    merged_rows(fake, &run, 1, (const uint32_t[][2]){{4, NO_V}, {5, 20}}, 2);
    static const uint32_t ids[] = {4, 1, 5, 2, 3};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(take(&run), ids[i]);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    uint32_t ready = run.ready;
    conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE}, 3);
    merged_rows(fake, &run, 0, (const uint32_t[][2]){{6, 40}}, 1);
    assert_true(run.ready > ready);
    assert_int_equal(take(&run), 6);
    assert_int_equal(peek(&run), API_SCAN_END);
    assert_int_equal(api_scan_rows(run.scan), 6);
    api_scan_close(run.scan);
    fake_expect_nothing(fake);
    idle(fake);
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
    begin_merged(fake, table, LOCK_COMMITTED, SCAN_DESCENDING, &run);
    merged_rows(fake, &run, 0, (const uint32_t[][2]){{1, 9}, {2, 8}, {3, NO_V}}, 3);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    uint32_t ready = run.ready;
    conf(fake, &run, 0, (const uint32_t[]){1, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(run.ready, ready + 1);
    for (uint32_t id = 1; id <= 3; id++)
        assert_int_equal(take(&run), id);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    api_scan_close(run.scan); /* With nothing more heard of fragment 0. */
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    conf(fake, &run, SCAN_END, NULL, 0);
    idle(fake);
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
    begin_merged(fake, table, LOCK_SHARED, 0, &run);
    merged_rows(fake, &run, 0, (const uint32_t[][2]){{1, 1}, {2, 5}}, 2);
    merged_rows(fake, &run, 1, (const uint32_t[][2]){{3, 2}}, 1);
    conf(fake, &run, 0, (const uint32_t[]){0, 2, 0, 1, 1, 0}, 6);
    assert_int_equal(take(&run), 1);
    assert_int_equal(take(&run), 3);
    fake_expect_nothing(fake); /* The last row is still being looked at. */
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 5], 1);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 1);
    conf(fake, &run, 0, (const uint32_t[]){1, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(take(&run), 2);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    conf(fake, &run, SCAN_END, (const uint32_t[]){0, 0, SCAN_FRAG_DONE}, 3);
    assert_int_equal(peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    idle(fake);
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
    begin_merged(fake, table, LOCK_COMMITTED, 0, &run);
    rows(fake, &run, 1, 0, 1, 2);
    assert_int_equal(peek(&run), API_SCAN_ERROR);
    assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
    assert_int_equal(peek(&run), API_SCAN_ERROR);
    api_scan_close(run.scan);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    conf(fake, &run, SCAN_END, NULL, 0);
    const struct scan_range range = {.index = 1, .flags = SCAN_MERGED};
    uint32_t words[SCAN_RANGE_HEAD];
    uint32_t attrs[1] = {attr_header(0, 0)};
    uint32_t error = 0;
    struct api_scan_options options = {
        .table = table, .attrs = attrs, .attr_words = 1, .range = words, .ready = on_ready};
    options.range_words = scan_range_encode(&range, words, SCAN_RANGE_HEAD);
    assert_null(api_scan_start(fake->client, &options, 1000, &error));
    assert_int_equal(error, ERR_BOUNDS);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Two ranges, in order or not; rows are of id alone, v gives the order. */
static void begin_ranges(struct fake *fake, struct api_table *table, uint32_t flags,
                         struct scan_run *run)
{
    const uint32_t attrs[1] = {attr_header(0, 0)};
    const struct scan_range range[2] = {{.number = 3, .flags = flags},
                                        {.number = 7, .flags = flags}};
    uint32_t words[2 * SCAN_RANGE_HEAD];
    uint32_t error = 0;
    struct api_scan_options options = {.table = table,
                                       .lock = LOCK_COMMITTED,
                                       .attrs = attrs,
                                       .attr_words = 1,
                                       .range = words,
                                       .ready = on_ready,
                                       .context = run};
    options.range_words = scan_range_encode(&range[0], words, SCAN_RANGE_HEAD);
    options.range_words +=
        scan_range_encode(&range[1], words + options.range_words, SCAN_RANGE_HEAD);
    *run = (struct scan_run){0};
    run->scan = api_scan_start(fake->client, &options, 1000, &error);
    assert_int_equal(error, 0);
    run->node = fake->sent[fake->sent_read].peer;
    fake_seize(fake, run->node);
    const uint32_t *sent = fake_next(fake, GSN_SCAN_TABREQ, NULL);
    const uint32_t *sizes = sent + SIGNAL_HEAD_WORDS + kind_words(sent[0]);
    assert_int_equal(sizes[0], flags != 0 ? 3 : 2);
    assert_int_equal(sizes[2], sizeof words / 4u);
    assert_int_equal(sizes[3], attr_header(ATTR_RANGE, 0)); /* Each row is to tell its range. */
    assert_int_equal(sizes[4], attr_header(0, 0));
    run->api_scan = SCAN_OF(sent)->api_scan;
    run->transid = (uint64_t)SCAN_OF(sent)->transid2 << 32 | SCAN_OF(sent)->transid1;
}

/* Rows (range, id, v) of a fragment. */
static void ranged_rows(struct fake *fake, const struct scan_run *run, uint32_t fragment,
                        const uint32_t (*row)[3], uint32_t count, uint32_t range_header)
{
    struct transid_ai ai = {.api_op = run->api_scan,
                            .transid1 = (uint32_t)run->transid,
                            .transid2 = (uint32_t)(run->transid >> 32),
                            .rows = count,
                            .fragment_id = fragment};
    uint32_t section[64];
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        section[at++] = 6;
        section[at++] = range_header;
        section[at++] = row[i][0];
        section[at++] = attr_header(0, 4);
        section[at++] = row[i][1];
        section[at++] = attr_header(1, 4);
        section[at++] = row[i][2];
    }
    fake_answer_section(fake, block_ref(1, BLOCK_DBLQH, 1), GSN_TRANSID_AI, &ai, sizeof ai / 4u,
                        section, at);
}

static void expect_row(const struct scan_run *run, uint32_t range, uint32_t id, uint32_t words)
{
    struct api_row row;
    assert_int_equal(api_scan_next(run->scan, &row), API_SCAN_ROW);
    assert_int_equal(row.range, range);
    assert_int_equal(row.words, words);
    assert_int_equal(row.pairs[0], attr_header(0, 4));
    assert_int_equal(row.pairs[1], id);
}

/* Ranges come in their order, whichever way the rows of each come. */
static void merged_ranges(void **state)
{
    static const uint32_t first[][3] = {{3, 1, 50}, {3, 2, 40}, {7, 3, 99}};
    static const uint32_t second[][3] = {{3, 4, 45}, {7, 5, 100}, {7, 6, 98}};
    const uint32_t header = attr_header(ATTR_RANGE, 4);
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    begin_ranges(fake, table, SCAN_MERGED | SCAN_DESCENDING, &run);
    ranged_rows(fake, &run, 0, first, 3, header);
    ranged_rows(fake, &run, 1, second, 3, header);
    conf(fake, &run, SCAN_END, (const uint32_t[]){0, 3, SCAN_FRAG_DONE, 1, 3, SCAN_FRAG_DONE}, 6);
    static const uint32_t ids[] = {1, 4, 2, 5, 3, 6};
    for (uint32_t i = 0; i < 6; i++)
        expect_row(&run, i < 3 ? 3 : 7, ids[i], 2);
    assert_int_equal(peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Rows of ranges without an order are given out as they come. */
static void ranges_as_they_come(void **state)
{
    static const uint32_t rows[][3] = {{3, 4, 45}, {7, 5, 100}, {7, 6, 98}, {3, 1, 50}};
    const uint32_t header = attr_header(ATTR_RANGE, 4);
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    begin_ranges(fake, table, 0, &run);
    ranged_rows(fake, &run, 1, rows, 3, header);
    ranged_rows(fake, &run, 0, rows + 3, 1, header);
    conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE, 1, 3, SCAN_FRAG_DONE}, 6);
    for (uint32_t i = 0; i < 4; i++)
        expect_row(&run, rows[i][0], rows[i][1], 4);
    assert_int_equal(peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Rows that tell no range, or one that was not asked for, end the scan. */
static void ranges_nonsense(void **state)
{
    static const uint32_t row[][3] = {{8, 1, 50}, {3, 1, 50}, {3, 1, 50}};
    const uint32_t header[] = {attr_header(ATTR_RANGE, 4), attr_header(1, 4),
                               attr_header(ATTR_RANGE, 8)};
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 2);
        struct scan_run run;
        begin_ranges(fake, table, i < 3 ? SCAN_MERGED : 0u, &run);
        ranged_rows(fake, &run, 1, &row[i % 3], 1, header[i % 3]);
        assert_int_equal(peek(&run), API_SCAN_ERROR);
        assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
        api_scan_close(run.scan);
        fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
        conf(fake, &run, SCAN_END, NULL, 0);
        idle(fake);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* Bucket 0 of the map is in fragment 0, whose primary is at node 1; bucket 1 in the other ones. */
static void pruned(void **state)
{
    (void)state;
    for (uint32_t bucket = 0; bucket < 2; bucket++) {
        struct fake *fake = fake_create(2);
        struct api_table *table = fake_table(fake, 2);
        const uint32_t attrs[1] = {attr_header(0, 0)};
        const struct scan_range range = {.flags = SCAN_MERGED | SCAN_ONE_PARTITION,
                                         .partition = bucket};
        uint32_t words[SCAN_RANGE_HEAD + 1];
        uint32_t error = 0;
        struct scan_run run = {0};
        struct api_scan_options options = {.table = table,
                                           .lock = LOCK_COMMITTED,
                                           .attrs = attrs,
                                           .attr_words = 1,
                                           .range = words,
                                           .ready = on_ready,
                                           .context = &run};
        options.range_words = scan_range_encode(&range, words, SCAN_RANGE_HEAD + 1);
        run.scan = api_scan_start(fake->client, &options, 1000, &error);
        assert_int_equal(error, 0);
        run.node = fake->sent[fake->sent_read].peer;
        assert_int_equal(run.node, api_table_node(table, bucket, 0)); /* Where the rows are. */
        fake_seize(fake, run.node);
        const uint32_t *sent = fake_next(fake, GSN_SCAN_TABREQ, NULL);
        run.api_scan = SCAN_OF(sent)->api_scan;
        run.transid = (uint64_t)SCAN_OF(sent)->transid2 << 32 | SCAN_OF(sent)->transid1;
        /* No merge: the index's column is not asked for, and rows are given out as they come. */
        assert_int_equal(sent[SIGNAL_HEAD_WORDS + sizeof(struct scan_tabreq) / 4u], 1);
        rows(fake, &run, run.node, bucket, 1, 1);
        assert_int_equal(take(&run), 1); /* The other fragment is not waited for. */
        assert_int_equal(peek(&run), API_SCAN_WAIT);
        if (bucket == 0) {
            conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE}, 3);
            assert_int_equal(peek(&run), API_SCAN_END);
        } else { /* It is not to have rows either. */
            rows(fake, &run, run.node, 0, 2, 1);
            assert_int_equal(peek(&run), API_SCAN_ERROR);
            assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
        }
        assert_int_equal(api_client_statistics(fake->client)->scans_pruned, 1);
        assert_int_equal(api_client_statistics(fake->client)->fragments_scanned, bucket == 0);
        api_scan_close(run.scan);
        if (bucket == 1) {
            fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
            conf(fake, &run, SCAN_END, NULL, 0);
        }
        idle(fake);
        api_table_release(table);
        fake_destroy(fake);
    }
}

/* ---- Copies. ---- */

static struct api_table *copied_table(struct fake **fake)
{
    *fake = fake_create(2);
    (*fake)->copied = true;
    struct api_table *table = fake_table(*fake, 2);
    assert_int_equal(api_table_fragments(table), 4);
    assert_int_equal(api_table_partitions(table), 2);
    return table;
}

static void copied_end(struct fake *fake, struct api_table *table)
{
    idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Of a fully replicated table one fragment of each partition comes, whichever. */
static void copies(void **state)
{
    (void)state;
    struct fake *fake;
    struct api_table *table = copied_table(&fake);
    struct scan_run run;
    struct api_row row;
    begin(fake, table, LOCK_COMMITTED, false, &run);
    rows(fake, &run, 1, 2, 10, 1); /* A copy of partition 0. */
    conf(fake, &run, 0, (const uint32_t[]){2, 1, 0}, 3);
    assert_int_equal(api_scan_next(run.scan, &row), API_SCAN_ROW);
    assert_int_equal(row.fragment, 0);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    rows(fake, &run, 2, 1, 20, 1);
    conf(fake, &run, SCAN_END, (const uint32_t[]){1, 1, SCAN_FRAG_DONE, 2, 0, SCAN_FRAG_DONE}, 6);
    assert_int_equal(take(&run), 20);
    assert_int_equal(peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    copied_end(fake, table);
}

/* A merge does not wait for the others. */
static void copies_merged(void **state)
{
    (void)state;
    struct fake *fake;
    struct api_table *table = copied_table(&fake);
    struct scan_run run;
    begin_merged(fake, table, LOCK_COMMITTED, 0, &run);
    merged_rows(fake, &run, 3, (const uint32_t[][2]){{1, 10}}, 1);
    assert_int_equal(peek(&run), API_SCAN_WAIT);
    merged_rows(fake, &run, 0, (const uint32_t[][2]){{2, 5}}, 1);
    assert_int_equal(take(&run), 2);
    conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE, 3, 1, SCAN_FRAG_DONE}, 6);
    assert_int_equal(take(&run), 1);
    assert_int_equal(peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    copied_end(fake, table);
}

static void copies_nonsense(void **state)
{
    (void)state;
    struct fake *fake;
    struct api_table *table = copied_table(&fake);
    struct scan_run run;
    begin(fake, table, LOCK_COMMITTED, false, &run);
    rows(fake, &run, 1, 4, 10, 1); /* There is none. */
    assert_int_equal(peek(&run), API_SCAN_ERROR);
    assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
    api_scan_close(run.scan);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    conf(fake, &run, SCAN_END, NULL, 0);
    copied_end(fake, table);
}

/* All of them come when they are asked for. */
static void copies_on_request(void **state)
{
    (void)state;
    struct fake *fake;
    struct api_table *table = copied_table(&fake);
    const uint32_t attr = attr_header(ATTR_FRAGMENT, 0);
    const struct scan_range range = {.index = 0};
    uint32_t words[SCAN_RANGE_HEAD];
    uint32_t error = 0;
    struct scan_run run = {0};
    struct api_row row;
    struct api_scan_options options = {.table = table,
                                       .lock = LOCK_COMMITTED,
                                       .attrs = &attr,
                                       .attr_words = 1,
                                       .copies = true,
                                       .ready = on_ready,
                                       .context = &run};
    run.scan = api_scan_start(fake->client, &options, 1000, &error);
    assert_int_equal(error, 0);
    run.node = fake->sent[fake->sent_read].peer;
    fake_seize(fake, run.node);
    const uint32_t *sent = fake_next(fake, GSN_SCAN_TABREQ, NULL);
    assert_int_equal(SCAN_OF(sent)->request_info & SCAN_COPIES, SCAN_COPIES);
    run.api_scan = SCAN_OF(sent)->api_scan;
    run.transid = (uint64_t)SCAN_OF(sent)->transid2 << 32 | SCAN_OF(sent)->transid1;
    for (uint32_t f = 0; f < 4; f++) {
        rows(fake, &run, 1, f, f, 1);
        assert_int_equal(api_scan_next(run.scan, &row), API_SCAN_ROW);
        assert_int_equal(row.fragment, f);
        conf(fake, &run, f == 3 ? SCAN_END : 0, (const uint32_t[]){f, 1, SCAN_FRAG_DONE}, 3);
    }
    assert_int_equal(peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    options.range = words;
    options.range_words = scan_range_encode(&range, words, SCAN_RANGE_HEAD);
    assert_null(api_scan_start(fake->client, &options, 1000, &error));
    assert_int_equal(error, ERR_PARAMETER);
    copied_end(fake, table);
}

/* ---- Dictionary. ---- */

static void table_is_cached(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    assert_int_equal(api_table_fragments(table), 2);
    assert_int_equal(api_table_node(table, 1, 0), 2);
    assert_int_equal(api_table_node(table, 2, 0), 0);
    struct api_table *again = api_dict_cached(fake->core, "test/def/t");
    assert_ptr_equal(again, table);
    api_table_release(again);
    api_dict_invalidate(fake->core, "test/def/t");
    assert_null(api_dict_cached(fake->core, "test/def/t"));
    assert_string_equal(api_table_def(table)->table, "t"); /* Still held. */
    api_table_release(table);
    fake_destroy(fake);
}

/* Reads move to another node; a malformed answer is an error; the deadline completes what nobody
 * answers. */
static void reading_tables(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct fake_dict dict = {0};
    uint32_t peer = 0;
    assert_int_equal(api_dict_get(fake->client, "test/def/t", 1000, fake_dict_done, &dict), 0);
    fake_next(fake, GSN_GET_TABINFO_REQ, &peer);
    fake_link_down(fake, peer);
    const uint32_t *request = fake_next(fake, GSN_GET_TABINFO_REQ, &peer);
    struct get_tabinfo_conf bad = {.sender_data = request[SIGNAL_HEAD_WORDS]};
    const uint32_t *sections[2] = {(const uint32_t[]){1, 2, 3}, (const uint32_t[]){1, 1, 1}};
    uint32_t sizes[2] = {3, 3};
    assert_true(fake_answer_to(fake, request[2], block_ref(peer, BLOCK_DBDICT, 0),
                               GSN_GET_TABINFO_CONF, &bad, sizeof bad / 4u, 2, sections, sizes));
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.error, ERR_REPLY_4215);
    assert_int_equal(api_dict_get(fake->client, "test/def/t", 1000, fake_dict_done, &dict), 0);
    request = fake_next(fake, GSN_GET_TABINFO_REQ, &peer);
    fake_no_table(fake, peer, request);
    assert_int_equal(dict.result.error, ERR_NO_SUCH_TABLE);
    assert_int_equal(api_dict_get(fake->client, "test/def/t", 1000, fake_dict_done, &dict), 0);
    fake_sleep(fake, 1000);
    assert_int_equal(dict.calls, 3);
    assert_int_equal(dict.result.error, ERR_REQUEST_TIMEOUT);
    assert_int_equal(api_dict_get(fake->client, "", 1000, fake_dict_done, &dict),
                     ERR_TABLE_NAME_TOO_LONG);
    idle(fake);
    fake_destroy(fake);
}

/* Creation goes to the president and follows a redirection; a busy schema is tried again; a lost
 * link is unknown. */
static void creating_tables(void **state)
{
    (void)state;
    struct fake *fake = fake_create(3);
    struct table_def *def = fake_table_def();
    struct fake_dict dict = {0};
    uint32_t peer = 0;
    assert_int_equal(api_dict_create(fake->client, def, 1000, fake_dict_done, &dict), 0);
    const uint32_t *request = fake_next(fake, GSN_CREATE_TABLE_REQ, &peer);
    assert_int_equal(peer, 1);
    struct create_table_ref ref = {
        .sender_data = request[SIGNAL_HEAD_WORDS], .error = ERR_NOT_MASTER, .master_node = 3};
    ANSWER(fake, block_ref(1, BLOCK_DBDICT, 0), CREATE_TABLE_REF, ref);
    fake_next(fake, GSN_CREATE_TABLE_REQ, &peer);
    assert_int_equal(peer, 3);
    ANSWER(fake, block_ref(1, BLOCK_DBDICT, 0), CREATE_TABLE_REF,
           ref); /* From the node that is not asked any more. */
    ref.error = ERR_SCHEMA_BUSY;
    ANSWER(fake, block_ref(3, BLOCK_DBDICT, 0), CREATE_TABLE_REF, ref);
    fake_expect_nothing(fake);
    fake_sleep(fake, 100);
    fake_next(fake, GSN_CREATE_TABLE_REQ, &peer);
    struct create_table_conf conf_payload = {
        .sender_data = ref.sender_data, .table_id = 7, .version = 1};
    ANSWER(fake, block_ref(peer, BLOCK_DBDICT, 0), CREATE_TABLE_CONF, conf_payload);
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.error, 0);
    assert_int_equal(dict.result.table_id, 7);
    assert_int_equal(api_dict_drop(fake->client, 7, 1, 1000, fake_dict_done, &dict), 0);
    fake_next(fake, GSN_DROP_TABLE_REQ, &peer);
    fake_link_down(fake, peer);
    assert_int_equal(dict.calls, 2);
    assert_int_equal(dict.result.error, ERR_CLUSTER_FAILURE);
    idle(fake);
    free(def);
    fake_destroy(fake);
}

static void listing_tables(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct fake_dict dict = {0};
    uint32_t entry[6] = {7, 3, TABLE_ONLINE, 2, 3, 0x632F62u};
    assert_int_equal(api_dict_list(fake->client, 1000, fake_dict_done, &dict), 0);
    uint32_t ref = fake_next(fake, GSN_LIST_TABLES_REQ, NULL)[SIGNAL_HEAD_WORDS];
    struct list_tables_conf list = {.sender_data = ref, .count = 1, .next_id = 8};
    fake_answer_section(fake, block_ref(1, BLOCK_DBDICT, 0), GSN_LIST_TABLES_CONF, &list, 3, entry,
                        6);
    assert_int_equal(fake_next(fake, GSN_LIST_TABLES_REQ, NULL)[SIGNAL_HEAD_WORDS + 1], 8);
    list.next_id = 0;
    fake_answer_section(fake, block_ref(1, BLOCK_DBDICT, 0), GSN_LIST_TABLES_CONF, &list, 3, entry,
                        6);
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.list_count, 2);
    assert_int_equal(api_dict_list(fake->client, 1000, fake_dict_done, &dict), 0);
    list.sender_data = fake_next(fake, GSN_LIST_TABLES_REQ, NULL)[SIGNAL_HEAD_WORDS];
    list.count = 2; /* More than the section holds. */
    fake_answer_section(fake, block_ref(1, BLOCK_DBDICT, 0), GSN_LIST_TABLES_CONF, &list, 3, entry,
                        6);
    assert_int_equal(dict.result.error, ERR_REPLY_4215);
    idle(fake);
    fake_destroy(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_scan),      cmocka_unit_test(locking_scan_waits),
        cmocka_unit_test(counts),          cmocka_unit_test(scan_errors),
        cmocka_unit_test(merged_in_order), cmocka_unit_test(merged_end_wakes),
        cmocka_unit_test(merged_locking),  cmocka_unit_test(merged_nonsense),
        cmocka_unit_test(merged_ranges),   cmocka_unit_test(ranges_as_they_come),
        cmocka_unit_test(ranges_nonsense), cmocka_unit_test(pruned),
        cmocka_unit_test(copies),          cmocka_unit_test(copies_merged),
        cmocka_unit_test(copies_nonsense), cmocka_unit_test(copies_on_request),
        cmocka_unit_test(table_is_cached), cmocka_unit_test(reading_tables),
        cmocka_unit_test(creating_tables), cmocka_unit_test(listing_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
