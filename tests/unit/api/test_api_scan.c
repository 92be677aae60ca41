/* test_api_scan.c -- the client core's scans and dictionary against a scripted server. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/scan_fake.h"

/* Rows come before and after they are announced, the last ones after the end. */
static void whole_scan(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    scan_begin(fake, table, .lock = LOCK_COMMITTED, .run = &run);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_rows(fake, &run, .node = 1, .first = 10, .count = 2);
    assert_int_equal(scan_take(&run), 10);
    assert_int_equal(scan_take(&run), 11);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_conf(fake, &run, 0, (const uint32_t[]){0, 2, 0}, 3);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL); /* Fetched ahead. */
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 5], 1);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 0, SCAN_FRAG_DONE, 1, 1, SCAN_FRAG_DONE},
              6);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_rows(fake, &run, .node = 2, .fragment = 1, .first = 20, .count = 1);
    assert_int_equal(scan_take(&run), 20);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    assert_int_equal(api_scan_rows(run.scan), 3);
    api_scan_close(run.scan);
    fake_expect_nothing(fake);
    scan_idle(fake);
    /* The coordinator's record is used again. */
    uint32_t error = 0;
    struct api_scan_options options = {.table = table, .ready = scan_on_ready, .context = &run};
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
    scan_begin(fake, table, .lock = LOCK_EXCLUSIVE, .run = &run);
    scan_conf(fake, &run, 0, (const uint32_t[]){0, 1, 0}, 3);
    scan_rows(fake, &run, .node = 1, .first = 1, .count = 1);
    fake_expect_nothing(fake);
    assert_int_equal(scan_take(&run), 1);
    fake_expect_nothing(fake);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    api_scan_close(run.scan);
    assert_int_equal(api_client_unclean(fake->client), 1);
    const uint32_t *close = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(close[SIGNAL_HEAD_WORDS + 4], SCAN_CLOSE);
    scan_rows(fake, &run, .node = 1, .first = 1, .count = 1); /* Under way: dropped. */
    scan_conf(fake, &run, SCAN_END, NULL, 0);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

static void counts(void **state)
{
    (void)state;
    struct fake *fake = fake_create(1);
    struct api_table *table = fake_table(fake, 1);
    struct scan_run run;
    scan_begin(fake, table, .lock = LOCK_COMMITTED, .count = true, .run = &run);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_conf(fake, &run, 0, (const uint32_t[]){0, 1000, 0, 1, 5, SCAN_FRAG_DONE}, 6);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 7, SCAN_FRAG_DONE}, 3);
    assert_int_equal(run.ready, 1);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    assert_int_equal(api_scan_rows(run.scan), 1012);
    api_scan_close(run.scan);
    scan_idle(fake);
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
        scan_begin(fake, table, .lock = LOCK_COMMITTED, .run = &run);
        uint32_t error = 0;
        bool closes = false;
        assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
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
            scan_conf(fake, &run, 0, (const uint32_t[]){0, 2, SCAN_FRAG_DONE}, 3);
            fake_link_down(fake, 3 - run.node);
            error = ERR_NODE_FAILED_4031;
            closes = true;
        } else if (i == 3) { /* No progress. */
            fake_sleep(fake, 1000);
            error = ERR_REQUEST_TIMEOUT;
            closes = true;
        } else if (i == 4) { /* Nonsense. */
            scan_conf(fake, &run, 0, (const uint32_t[]){99, 2, 0}, 3);
            error = ERR_REPLY_4215;
            closes = true;
        } else { /* Rows of another transaction and of no fragment. */
            struct scan_run other = run;
            other.transid++;
            scan_rows(fake, &other, .node = 1, .first = 1, .count = 1);
            assert_int_equal(run.ready, 0);
            scan_rows(fake, &run, .node = 1, .fragment = 99, .first = 1, .count = 1);
            error = ERR_REPLY_4215;
            closes = true;
        }
        assert_int_equal(run.ready, 1);
        assert_int_equal(scan_peek(&run), API_SCAN_ERROR);
        assert_int_equal(api_scan_error(run.scan), error);
        api_scan_close(run.scan);
        if (closes) {
            fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
            scan_conf(fake, &run, SCAN_END, NULL, 0);
        }
        scan_idle(fake);
        api_table_release(table);
        fake_destroy(fake);
    }
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
                                       .ready = scan_on_ready,
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
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 3, SCAN_FRAG_DONE, 1, 3, SCAN_FRAG_DONE},
              6);
    static const uint32_t ids[] = {1, 4, 2, 5, 3, 6};
    for (uint32_t i = 0; i < 6; i++)
        expect_row(&run, i < 3 ? 3 : 7, ids[i], 2);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* Rows of ranges without an order are given out as they come. */
static void ranges_as_they_come(void **state)
{
    static const uint32_t scan_rows[][3] = {{3, 4, 45}, {7, 5, 100}, {7, 6, 98}, {3, 1, 50}};
    const uint32_t header = attr_header(ATTR_RANGE, 4);
    (void)state;
    struct fake *fake = fake_create(2);
    struct api_table *table = fake_table(fake, 2);
    struct scan_run run;
    begin_ranges(fake, table, 0, &run);
    ranged_rows(fake, &run, 1, scan_rows, 3, header);
    ranged_rows(fake, &run, 0, scan_rows + 3, 1, header);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE, 1, 3, SCAN_FRAG_DONE},
              6);
    for (uint32_t i = 0; i < 4; i++)
        expect_row(&run, scan_rows[i][0], scan_rows[i][1], 4);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    scan_idle(fake);
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
        assert_int_equal(scan_peek(&run), API_SCAN_ERROR);
        assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
        api_scan_close(run.scan);
        fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
        scan_conf(fake, &run, SCAN_END, NULL, 0);
        scan_idle(fake);
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
    scan_idle(fake);
    api_table_release(table);
    fake_destroy(fake);
}

/* One fragment of each partition of a fully replicated table comes, whichever. */
static void copies(void **state)
{
    (void)state;
    struct fake *fake;
    struct api_table *table = copied_table(&fake);
    struct scan_run run;
    struct api_row row;
    scan_begin(fake, table, .lock = LOCK_COMMITTED, .run = &run);
    scan_rows(fake, &run, .node = 1, .fragment = 2, .first = 10,
              .count = 1); /* A copy of partition 0. */
    scan_conf(fake, &run, 0, (const uint32_t[]){2, 1, 0}, 3);
    assert_int_equal(api_scan_next(run.scan, &row), API_SCAN_ROW);
    assert_int_equal(row.fragment, 0);
    const uint32_t *next = fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    assert_int_equal(next[SIGNAL_HEAD_WORDS + 6], 0);
    scan_rows(fake, &run, .node = 2, .fragment = 1, .first = 20, .count = 1);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){1, 1, SCAN_FRAG_DONE, 2, 0, SCAN_FRAG_DONE},
              6);
    assert_int_equal(scan_take(&run), 20);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
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
    scan_begin_merged(fake, table, LOCK_COMMITTED, 0, &run);
    scan_merged_rows(fake, &run, 3, (const uint32_t[][2]){{1, 10}}, 1);
    assert_int_equal(scan_peek(&run), API_SCAN_WAIT);
    scan_merged_rows(fake, &run, 0, (const uint32_t[][2]){{2, 5}}, 1);
    assert_int_equal(scan_take(&run), 2);
    scan_conf(fake, &run, SCAN_END, (const uint32_t[]){0, 1, SCAN_FRAG_DONE, 3, 1, SCAN_FRAG_DONE},
              6);
    assert_int_equal(scan_take(&run), 1);
    assert_int_equal(scan_peek(&run), API_SCAN_END);
    api_scan_close(run.scan);
    copied_end(fake, table);
}

static void copies_nonsense(void **state)
{
    (void)state;
    struct fake *fake;
    struct api_table *table = copied_table(&fake);
    struct scan_run run;
    scan_begin(fake, table, .lock = LOCK_COMMITTED, .run = &run);
    scan_rows(fake, &run, .node = 1, .fragment = 4, .first = 10, .count = 1); /* There is none. */
    assert_int_equal(scan_peek(&run), API_SCAN_ERROR);
    assert_int_equal(api_scan_error(run.scan), ERR_REPLY_4215);
    api_scan_close(run.scan);
    fake_next(fake, GSN_SCAN_NEXTREQ, NULL);
    scan_conf(fake, &run, SCAN_END, NULL, 0);
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
                                       .ready = scan_on_ready,
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
        scan_rows(fake, &run, .node = 1, .fragment = f, .first = f, .count = 1);
        assert_int_equal(api_scan_next(run.scan, &row), API_SCAN_ROW);
        assert_int_equal(row.fragment, f);
        scan_conf(fake, &run, f == 3 ? SCAN_END : 0, (const uint32_t[]){f, 1, SCAN_FRAG_DONE}, 3);
    }
    assert_int_equal(scan_peek(&run), API_SCAN_END);
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
    scan_idle(fake);
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
    scan_idle(fake);
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
    scan_idle(fake);
    fake_destroy(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_scan),
        cmocka_unit_test(locking_scan_waits),
        cmocka_unit_test(counts),
        cmocka_unit_test(scan_errors),
        cmocka_unit_test(merged_ranges),
        cmocka_unit_test(ranges_as_they_come),
        cmocka_unit_test(ranges_nonsense),
        cmocka_unit_test(copies),
        cmocka_unit_test(copies_merged),
        cmocka_unit_test(copies_nonsense),
        cmocka_unit_test(copies_on_request),
        cmocka_unit_test(table_is_cached),
        cmocka_unit_test(reading_tables),
        cmocka_unit_test(creating_tables),
        cmocka_unit_test(listing_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
