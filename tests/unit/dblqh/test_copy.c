/* test_copy.c -- a lost node comes back and gets the rows of its fragments while transactions
 * change them; in the end the replicas are equal row by row, whatever happened meanwhile. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtup/tup_state.h"
#include "tests/unit/support/copy_fixture.h"
#include "tests/unit/support/sparse.h"
#include <time.h>

/* --- Tests. --- */

static void copy_whole(uint32_t node)
{
    copy_order(node);
    for (uint32_t i = 0; copy_got.copied == 0 && copy_got.error == 0; i++) {
        assert_true(i < 200000);
        copy_traffic(1);
    }
    assert_int_equal(copy_got.error, 0);
}

static void come_back(uint32_t nodes, uint32_t fragments, uint32_t rows, uint32_t seed)
{
    copy_begin(nodes, fragments, seed);
    copy_keys = rows;
    copy_fill();
    uint32_t lost = 2 + copy_dice(nodes - 1);
    copy_die(lost);
    copy_actors_begin();
    copy_traffic(100 + rows / 8);
    copy_process_again(lost);
    copy_traffic(copy_dice(100));
    copy_include(lost);
    uint32_t before = copy_committed;
    if (copy_dice(3) != 0) copy_slow = lost;
    copy_whole(lost);
    copy_slow = 0;
    uint32_t during = copy_committed - before;
    copy_traffic(copy_dice(200));
    copy_actors_end();
    copy_expect_all_equal();
    if (getenv("COPY_VERBOSE") != NULL)
        print_message("%u nodes, %u fragments, %u keys, seed %u: %lu rows copied, %u there, %u "
                      "transactions, %u while copying, %u aborted\n",
                      nodes, fragments, rows, seed, (unsigned long)copy_got.rows,
                      copy_expect_equal(1, lost), copy_committed, during, copy_aborted);
    copy_finish();
}

static void test_traffic(void **state)
{
    static const uint32_t rows[] = {3, 12, 60, 300, 1500};
    uint32_t seeds =
        getenv("COPY_SEEDS") != NULL ? (uint32_t)atoi(getenv("COPY_SEEDS")) : sparse_of(3);
    (void)state;
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        for (uint32_t i = 0; i < (seed % 3 == 1 ? 5u : 4u); i++) {
            come_back(2, 1 + seed % 5, rows[i], seed);
            come_back(3, 1 + seed % 3, rows[i], seed);
        }
    }
}

static void test_no_rows(void **state)
{
    (void)state;
    copy_begin(2, 7, 1);
    copy_die(2);
    copy_process_again(2);
    copy_include(2);
    copy_keys = 1;
    copy_order(2);
    for (uint32_t i = 0; copy_got.copied == 0 && i < 100000; i++)
        copy_step_n(1);
    assert_int_equal(copy_got.copied, 1);
    assert_int_equal(copy_got.rows, 0);
    w_pass(&w, 100);
    copy_expect_all_equal();
    copy_finish();
}

/* It is lost again after so many signals of its copy; then it comes back for good. */
static void lost_again(uint32_t nodes, uint32_t at, uint32_t seed)
{
    copy_begin(nodes, 3, seed);
    copy_keys = 150;
    copy_fill();
    copy_die(nodes);
    copy_actors_begin();
    copy_traffic(60);
    copy_process_again(nodes);
    copy_include(nodes);
    copy_order(nodes);
    for (uint32_t i = 0; i < at; i++) {
        if (i % 8 == 0) copy_actors_act(true);
        copy_step_n(1);
    }
    copy_die(nodes);
    copy_traffic(50);
    copy_actors_end();
    copy_expect_all_equal();
    copy_process_again(nodes);
    copy_include(nodes);
    copy_whole(nodes);
    copy_actors_end();
    copy_expect_all_equal();
    copy_finish();
}

static void test_lost_again(void **state)
{
    uint32_t stride = getenv("COPY_EVERY_STEP") != NULL ? 7 : 113 * sparse();
    (void)state;
    for (uint32_t at = 0; at < 1500; at += stride) {
        lost_again(2, at, 1000 + at);
        lost_again(3, at, 2000 + at);
    }
}

static void test_records(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 3; n++) {
        copy_begin(2, 3, n);
        copy_keys = 60;
        copy_die(2);
        copy_actors_begin();
        copy_traffic(200);
        copy_actors_end();
        copy_process_again(2);
        copy_include(2);
        w_pass(&w, 50);
        struct block *lqh = node_block(w.n[1].node, BLOCK_DBLQH, 1);
        struct block *acc = node_block(w.n[1].node, BLOCK_DBACC, 1);
        for (uint32_t p = 0; block_pool_at(lqh, p) != NULL; p++)
            block_pool_at(lqh, p)->fail_next = n;
        for (uint32_t p = 0; block_pool_at(acc, p) != NULL; p++)
            block_pool_at(acc, p)->fail_next = n * 7;
        copy_order(2);
        for (uint32_t i = 0; copy_got.copied == 0 && i < 100000; i++)
            copy_step_n(1);
        assert_int_equal(copy_got.copied, 1);
        for (uint32_t p = 0; block_pool_at(lqh, p) != NULL; p++)
            block_pool_at(lqh, p)->fail_next = 0;
        for (uint32_t p = 0; block_pool_at(acc, p) != NULL; p++)
            block_pool_at(acc, p)->fail_next = 0;
        copy_expect_all_equal();
        copy_finish();
    }
}

/* --- Waiting. --- */

static void expect_executed(const struct trx *trx)
{
    bool found = false;
    for (uint32_t i = 0; i < w.rx_count; i++) {
        const struct signal *sig = &w.rx[i].sig;
        found = found || (sig->gsn == GSN_TCKEYCONF && sig->payload[1] == trx->transid1);
    }
    assert_true(found);
    copy_actors_hear();
}

static const struct lqh_copy_source *lqh_copy_at(uint32_t node)
{
    const struct lqh *lqh = (const struct lqh *)(void *)node_block(w.n[node].node, BLOCK_DBLQH, 1);
    return pool_next(&lqh->copies, 0);
}

/* A transaction has the last row and then wants the first one, which the copy has locked: it gets
 * it at once. Then it has both for longer than any lock is waited for. */
static void test_holder(void **state)
{
    (void)state;
    copy_begin(2, 1, 1);
    copy_keys = 40;
    copy_fill();
    copy_die(2);
    copy_process_again(2);
    copy_include(2);
    w_pass(&w, 50);
    copy_actors_hear();
    struct trx trx = t_new(&w, CLIENT, 1);
    const struct lqh *lqh = (const struct lqh *)(void *)node_block(w.n[1].node, BLOCK_DBLQH, 1);
    copy_order(2);
    while (lqh->include.back[2].state != INCLUDE_READY)
        copy_step_n(1);
    t_next(&trx);
    copy_operation(&trx, INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), 20);
    w_run(&w);
    expect_executed(&trx);
    w_pass(&w, 40);
    assert_int_equal(
        acc_locks_waiting((struct acc *)(void *)node_block(w.n[1].node, BLOCK_DBACC, 1)), 1);
    copy_operation(&trx, INFO(OP_UPDATE, KEY_EXECUTE), 1);
    w_run(&w);
    expect_executed(&trx);
    w_pass(&w, 1000);
    assert_int_equal(copy_got.copied, 0);
    t_commit(&trx);
    w_pass(&w, 50);
    assert_int_equal(copy_got.copied, 1);
    copy_actors_hear();
    copy_expect_all_equal();
    copy_finish();
}

/* The copy's node is dead, which the source has not heard of when the table goes. */
static void test_dropped(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 400; at += 23) {
        copy_begin(2, 2, at);
        copy_keys = 300;
        copy_fill();
        copy_die(2);
        copy_process_again(2);
        copy_include(2);
        copy_order(2);
        copy_step_n(at);
        w_order(&w, 1, BLOCK_DBLQH, 1, LOCAL_TABLE_DROPPING);
        w_order(&w, 1, BLOCK_DBLQH, 1, LOCAL_TABLE_DROP);
        w_pass(&w, 200);
        assert_int_equal(w_driver(&w, 1)->states[LOCAL_TABLE_DROP], 1);
        assert_int_equal(w_lqh(&w, 1).copies, 0);
        assert_int_equal(w_lqh(&w, 1).operations, 0);
        assert_int_equal(w_locks(&w, 1), 0);
        assert_true(copy_got.copied != 0 || copy_got.error == ERR_TABLE_DROPPING ||
                    copy_got.error == ERR_UNKNOWN_TABLE_LQH);
        copy_finish();
    }
}

/* The link is filled by what transactions send: the copy leaves it to them, and goes on. */
static void test_full_link(void **state)
{
    (void)state;
    copy_begin(2, 1, 3);
    copy_keys = 3000;
    copy_fill();
    copy_die(2);
    copy_process_again(2);
    copy_include(2);
    copy_order(2);
    while (w_lqh(&w, 1).copies == 0 || lqh_copy_at(1)->sent == 0)
        copy_step_n(1);
    node_link_level(w.n[1].node, 2, LINK_HIGH);
    w_pass(&w, 50);
    uint32_t sent = lqh_copy_at(1)->sent;
    w_pass(&w, 500);
    assert_int_equal(lqh_copy_at(1)->sent, sent);
    assert_true(copy_got.copied == 0 && copy_got.error == 0);
    node_link_level(w.n[1].node, 2, LINK_NORMAL);
    w_pass(&w, 500);
    assert_int_equal(copy_got.copied, 1);
    copy_expect_all_equal();
    copy_finish();
}

/* --- What cannot be copied. --- */

static void run_unchecked(void)
{
    for (bool any = true; any;) {
        any = w_deliver(&w);
        for (uint32_t i = 1; i <= w.nodes; i++) {
            if (!w.dead[i] && thread_run_once(node_thread(w.n[i].node, 0), w.now, 512).executed > 0)
                any = true;
        }
    }
    w.now++;
}

/* A row of the source is damaged: it is not passed on, and nothing of the copy is left. */
static void test_damaged_row(void **state)
{
    (void)state;
    copy_begin(2, 1, 4);
    copy_keys = 300;
    copy_fill();
    struct tup_scan_position at = {0, 0};
    uint32_t id;
    bool end = false;
    while (!end &&
           tup_scan_next(copy_tup_of(1), copy_frag_of(1, 0), &at, 1, 1, &id, 1, 50, &end) == 0)
        continue;
    assert_false(end);
    uint8_t *row = (uint8_t *)row_at(copy_frag_of(1, 0), id);
    copy_die(2);
    copy_process_again(2);
    copy_include(2);
    row[20] ^= 0x10;
    copy_order(2);
    for (uint32_t i = 0; i < 500; i++)
        run_unchecked();
    assert_int_equal(copy_got.error, ERR_CHECKSUM);
    assert_int_equal(copy_got.copied, 0);
    assert_int_equal(w_lqh(&w, 1).copies, 0);
    assert_int_equal(w_lqh(&w, 1).operations, 0);
    assert_int_equal(w_locks(&w, 1), 0);
    row[20] ^= 0x10;
    copy_die(2); /* As DICT has it. */
    w_pass(&w, 100);
    copy_expect_all_equal();
    copy_finish();
}

/* What DICT asks for is not the table that is here. The next request is one like any other. */
static void test_refused(void **state)
{
    static const struct {
        uint32_t table_id, version, fragments, replicas, words, error;
    } wrong[] = {
        {7, 1, 2, 2, 4, ERR_UNKNOWN_TABLE_LQH},
        {UINT32_MAX, 1, 2, 2, 4, ERR_UNKNOWN_TABLE_LQH},
        {1, 2, 2, 2, 4, ERR_SCHEMA_VERSION_LQH},
        {1, 1, 3, 2, 6, ERR_TABLE_FORMAT},
        {1, 1, 2, 0, 0, ERR_TABLE_FORMAT},
        {1, 1, 2, REPLICAS_MAX + 1, 2 * (REPLICAS_MAX + 1), ERR_TABLE_FORMAT},
        {1, 1, 2, 2, 3, ERR_TABLE_FORMAT},
    };
    (void)state;
    copy_begin(2, 2, 5);
    copy_keys = 100;
    copy_fill();
    copy_die(2);
    copy_process_again(2);
    copy_include(2);
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint32_t words[32] = {wrong[i].fragments, wrong[i].replicas};
        const struct section section = {words, DISTRIBUTION_HEAD_WORDS + wrong[i].words};
        struct copy_table_req req = {
            .sender_data = 5, .table_id = wrong[i].table_id, .version = wrong[i].version};
        copy_got.error = 0;
        signal_send(copy_cntr[2], block_ref(2, BLOCK_DBLQH, 1), GSN_COPY_TABLE_REQ, PRIO_B, &req, 3,
                    &section, 1);
        w_pass(&w, 20);
        assert_int_equal(copy_got.error, wrong[i].error);
        assert_int_equal(w_lqh(&w, 1).copies, 0);
    }
    copy_got.error = 0;
    copy_order(2);
    w_pass(&w, 200);
    assert_true(copy_got.copied == 1 && copy_got.error == 0);
    copy_expect_all_equal();
    w_order(&w, 2, BLOCK_DBLQH, 1, LOCAL_TABLE_DROPPING);
    copy_order(2);
    w_pass(&w, 20);
    assert_int_equal(copy_got.error, ERR_TABLE_DROPPING);
    copy_finish();
}

/* --- Memory. --- */

static uint32_t small_node;
static void small_memory(struct node_config *config)
{
    if (config->own_node == small_node) config->memory.pages_max[RG_DATA] = 40;
}

static void test_no_memory(void **state)
{
    (void)state;
    copy_tune_more = small_memory;
    small_node = 0;
    copy_begin(2, 2, 1);
    copy_keys = 30000;
    copy_fill();
    copy_die(2);
    small_node = 2;
    copy_process_again(2);
    copy_include(2);
    copy_order(2);
    for (uint32_t i = 0; copy_got.error == 0 && i < 1000; i++) {
        w_pass(&w, 5);
        assert_int_equal(copy_got.copied, 0);
    }
    assert_int_equal(copy_got.error, ERR_NO_MEMORY_DATA);
    copy_die(2); /* As DICT has it. */
    w_pass(&w, 100);
    copy_expect_all_equal();
    copy_tune_more = NULL;
    copy_finish();
}

/* --- What no LQH sends. --- */

static void forge(uint32_t to, uint32_t from, uint32_t gsn, const void *payload, uint32_t words,
                  const struct section *sections, uint32_t count)
{
    static uint32_t extent[SIGNAL_EXTENT_MAX];
    uint32_t at = SIGNAL_HEAD_WORDS;
    extent[0] = signal_kind(gsn, words, count, PRIO_B, 0);
    extent[1] = block_ref(to, BLOCK_DBLQH, 1);
    extent[2] = block_ref(from, BLOCK_DBLQH, 1);
    memcpy(extent + at, payload, words * 4u);
    at += words;
    for (uint32_t i = 0; i < count; i++)
        extent[at++] = sections[i].size;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(extent + at, sections[i].words, sections[i].size * 4u);
        at += sections[i].size;
    }
    extent[3] = at;
    assert_true(node_deliver(w.n[to].node, 0, from, EPOCH, extent, at));
}

/* The rows on their way to a node, each word of them in turn something else. */
static bool spoil_rows(uint32_t to, uint32_t from, uint32_t nth)
{
    uint32_t *words = w.n[to].in[from];
    for (uint32_t at = 0; at < w.n[to].in_words[from]; at += words[at + 3]) {
        struct signal sig;
        signal_open(&sig, words + at);
        if (sig.gsn != GSN_COPY_ROWS_REP) continue;
        uint32_t first = at + words[at + 3] - sig.section[0].size;
        static const uint32_t other[] = {0, UINT32_MAX, 1, 0x00010001, 0x7FFFFFFF, 0x80000000};
        uint32_t place = nth / 6 < 5 ? nth / 6 : 5 + copy_dice(sig.section[0].size - 5);
        if (place < 5)
            words[at + SIGNAL_HEAD_WORDS + place] = other[nth % 6];
        else
            words[first + place - 5] =
                nth % 2 == 0 ? other[nth / 2 % 6] : words[first] ^ 1u << copy_dice(32);
        return true;
    }
    return false;
}

static void test_spoilt(void **state)
{
    (void)state;
    for (uint32_t nth = 0; nth < 120; nth++) {
        if (nth / 6 == 1) continue; /* The source's own reference: it comes back to it. */
        copy_begin(2, 1, nth);
        copy_keys = 40;
        copy_fill();
        copy_die(2);
        copy_process_again(2);
        copy_include(2);
        copy_order(2);
        w.closed_peer = 0;
        for (uint32_t i = 0; !spoil_rows(2, 1, nth); i++) {
            assert_true(i < 100000);
            copy_step_n(1);
        }
        for (uint32_t i = 0; i < 200; i++)
            copy_step_n(10);
        /* It is noticed, or it was as good as before, or it is another row. */
        assert_true(copy_got.copied + (copy_got.error != 0) + (w.closed_peer != 0) > 0);
        copy_die(2);
        w_pass(&w, 50);
        copy_expect_all_equal();
        copy_finish();
    }
}

/* All rows are newer than what the node says that it has, or it says nothing. */
static void forge_copy(uint32_t gci)
{
    copy_begin(2, 2, 1);
    copy_keys = 300;
    for (uint32_t node = 1; node <= 2; node++)
        ((struct tc *)(void *)node_block(w.n[node].node, BLOCK_DBTC, 1))->epoch_hi = 5;
    copy_fill();
    copy_claimed_gci = gci;
    copy_die(2);
    copy_process_again(2);
    copy_include(2);
    copy_order(2);
    for (uint32_t i = 0; i < 3000 && copy_got.copied == 0; i++) {
        uint32_t words[9];
        for (uint32_t k = 0; k < 9; k++)
            words[k] = copy_dice(3) == 0   ? copy_dice(4)
                       : copy_dice(2) == 0 ? UINT32_MAX - copy_dice(3)
                                           : copy_dice(1u << 24) << 8;
        uint32_t to = 1 + copy_dice(2);
        const struct section sections[2] = {{words, copy_dice(9)}, {words, copy_dice(9)}};
        switch (copy_dice(5)) {
        case 0:
            words[1] = copy_dice(3);
            if (copy_dice(2) == 0) words[2] = 1; /* The table's version. */
            if (copy_dice(2) == 0) words[3] = copy_dice(2);
            forge(1, 2, GSN_COPY_FRAGREQ, words, sizeof(struct copy_fragreq) / 4u, NULL, 0);
            break;
        case 1:
            forge(to, 3 - to, GSN_COPY_ROWS_CONF, words, 3, NULL, 0);
            break;
        case 2:
            forge(1, 2, GSN_COPY_FRAGCONF, words, 4, NULL, 0);
            break;
        case 3:
            forge(1, 2, GSN_COPY_FRAGREF, words, 2, NULL, 0);
            break;
        default:
            forge(1, 2, GSN_COPY_ROWS_REP, words, sizeof(struct copy_rows_rep) / 4u, sections,
                  1 + copy_dice(2));
            break;
        }
        copy_step_n(3);
    }
    copy_die(2);
    w_pass(&w, 50);
    copy_claimed_gci = 0;
    copy_expect_all_equal();
    copy_finish();
}

static void test_forged(void **state)
{
    (void)state;
    forge_copy(0);
    forge_copy(4);
}

/* Pages that cannot be there would be walked over for hours. */
static void test_impossible_pages(void **state)
{
    (void)state;
    static const uint32_t pairs[][2] = {{0, 1}, {4, UINT32_MAX}, {4, 1u << 25}};
    for (uint32_t i = 0; i < 3; i++) {
        struct copy_fragreq req = {
            .target = 1, .table_id = 1, .version = 1, .gci = pairs[i][0], .pages = pairs[i][1]};
        copy_begin(2, 1, 1);
        copy_die(2);
        copy_process_again(2);
        copy_include(2);
        req.rank = copy_life;
        w.closed_peer = 0;
        forge(1, 2, GSN_COPY_FRAGREQ, &req, sizeof req / 4u, NULL, 0);
        copy_step_n(50);
        assert_int_equal(w.closed_peer, 2);
        copy_finish();
    }
}

/* --- How fast: printed, not judged. Source and target in one thread, without checks. --- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_speed(void **state)
{
    uint32_t rows = getenv("COPY_ROWS") != NULL ? (uint32_t)atoi(getenv("COPY_ROWS")) : 20000;
    (void)state;
    copy_begin(2, 4, 1);
    copy_die(2);
    struct trx trx = t_new(&w, CLIENT, 1);
    for (uint32_t key = 1; key <= rows;) {
        t_next(&trx);
        for (uint32_t i = 0; i < 32; i++)
            copy_operation(&trx,
                           INFO(OP_INSERT, i == 0    ? KEY_START
                                           : i == 31 ? KEY_EXECUTE | KEY_COMMIT
                                                     : 0),
                           key++);
        run_unchecked();
        copy_actors_hear();
    }
    w_pass(&w, 20);
    copy_process_again(2);
    copy_include(2);
    copy_order(2);
    double before = seconds();
    while (copy_got.copied == 0)
        run_unchecked();
    double passed = seconds() - before;
    print_message("%lu rows, %lu MB: %.0f MB/s, %.2f us per row at both ends together\n",
                  (unsigned long)copy_got.rows, (unsigned long)(copy_got.bytes >> 20),
                  (double)copy_got.bytes / passed / 1e6, passed * 1e6 / (double)copy_got.rows);
    copy_expect_equal(1, 2);
    copy_finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_rows),          cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_lost_again),       cmocka_unit_test(test_records),
        cmocka_unit_test(test_holder),           cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_full_link),        cmocka_unit_test(test_damaged_row),
        cmocka_unit_test(test_refused),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_spoilt),           cmocka_unit_test(test_forged),
        cmocka_unit_test(test_impossible_pages), cmocka_unit_test(test_speed),
    };
    if (getenv("COPY_TEST") != NULL) cmocka_set_test_filter(getenv("COPY_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
