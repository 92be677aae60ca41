/* index_fixture.c -- a table of 600 rows with an ordered index over v and k, in four fragments, and
 * scans of that index, for tests of TC and LQH. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/index_fixture.h"

uint32_t index_value[ROWS];

static void few_rows_per_step(struct node_config *config)
{
    config->scan_step_rows = 3;
}

int index_start(void **state)
{
    (void)state;
    w_start(&w,
            &(struct world_options){.nodes = 2, .fragments = FRAGMENTS, .tune = few_rows_per_step});
    w.indexed = true;
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < ROWS; key++) {
        index_value[key] = key * 31u % VALUES;
        t_op(&t, .api_op = key,
             .info = INFO(OP_INSERT, (key == 0 ? KEY_START : 0) |
                                         (key == ROWS - 1 ? KEY_EXECUTE | KEY_COMMIT : 0)),
             .key = key, .value = index_value[key]);
    }
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    return 0;
}

int index_stop(void **state)
{
    (void)state;
    w_expect_quiet(&w);
    assert_int_equal(c_left(&w), 0);
    w_stop(&w);
    return 0;
}

uint32_t index_make_range(uint32_t *words, const uint32_t *low, const uint32_t *high,
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

struct scan index_s_open(const struct options *options, const uint32_t *range, uint32_t words)
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
    const uint32_t attr[3] = {attr_header(ATTR_RANGE, 0), attr_header(0, 0), attr_header(1, 0)};
    const uint32_t *asked = options->ranged ? attr : attr + 1;
    const struct section section[3] = {{asked, options->count    ? 0
                                               : options->ranged ? 3
                                                                 : 2},
                                       {options->program, options->program_words},
                                       {range, words}};
    scan.ranged = options->ranged;
    scan.several = !options->ranged && scan_ranges_count(range, words) > 1;
    if (words > 0) scan.descending = (scan_range_flags(range) & SCAN_DESCENDING) != 0;
    assert_true(c_send(&w, CLIENT, 1, GSN_SCAN_TABREQ, &req, sizeof req / 4u, section, 3));
    w_run(&w);
    return scan;
}

static void take_rows(struct scan *scan, const struct signal *sig)
{
    const struct transid_ai *ai = SIG_PAYLOAD(sig, transid_ai);
    const uint32_t *words = sig->section[0].words;
    for (uint32_t i = 0; i < ai->rows; i++) {
        uint32_t range = 0;
        assert_int_equal(words[0], scan->ranged ? 6 : 4);
        words++;
        if (scan->ranged) {
            assert_int_equal(words[0], attr_header(ATTR_RANGE, 4));
            range = words[1];
            words += 2;
        }
        uint32_t key = words[1];
        uint32_t v = words[3];
        uint32_t *last = &scan->last[ai->fragment_id];
        assert_true(key < ROWS && v < 1000 && range % NUMBER == 0 && range / NUMBER < RANGES);
        scan->seen[key]++;
        scan->seen_in[key][range / NUMBER]++;
        assert_true(range >= scan->last_range[ai->fragment_id]);
        if (range > scan->last_range[ai->fragment_id]) *last = 0;
        assert_true(*last == 0 || scan->several ||
                    (scan->descending ? v + 1 <= *last : v + 1 >= *last));
        *last = v + 1;
        scan->last_range[ai->fragment_id] = range;
        words += 4;
    }
    scan->got += ai->rows;
}

void index_s_collect(struct scan *scan)
{
    const struct signal *sig;
    while ((sig = c_take(&w, GSN_TRANSID_AI)) != NULL)
        take_rows(scan, sig);
    while ((sig = c_take(&w, GSN_SCAN_TABCONF)) != NULL) {
        for (uint32_t at = 0; at < sig->section[0].size; at += SCAN_FRAG_ENTRY_WORDS) {
            const uint32_t *entry = sig->section[0].words + at;
            scan->told += entry[1];
            if ((entry[2] & SCAN_FRAG_DONE) == 0) scan->more[scan->more_count++] = entry[0];
            if ((entry[2] & SCAN_FRAG_DONE) != 0) scan->fragments++;
        }
        if ((SIG_PAYLOAD(sig, scan_tabconf)->flags & SCAN_END) != 0) scan->end = true;
    }
    while ((sig = c_take(&w, GSN_SCAN_TABREF)) != NULL) {
        scan->error = SIG_PAYLOAD(sig, scan_tabref)->error;
        scan->end = true;
    }
}

void index_s_next(struct scan *scan)
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

void index_s_finish(struct scan *scan)
{
    index_s_collect(scan);
    while (!scan->end) {
        assert_int_not_equal(scan->more_count, 0);
        index_s_next(scan);
        index_s_collect(scan);
    }
}

void index_set_value(uint32_t key, uint32_t v)
{
    struct trx t = t_new(&w, CLIENT_TWO, 1);
    t_op(&t, .api_op = 9000, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE | KEY_COMMIT),
         .key = key, .value = v);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    index_value[key] = v;
}
