/* test_order.c -- a TC holds requests back while the order of replicas changes: what waits, what
 * goes on, what comes of it afterwards. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_read.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "tests/unit/support/tc_fixture.h"

static int setup(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = 2, .fragments = 4});
    w_table(&w, 1, TABLE_ROW_GCI);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    w_stop(&w);
    return 0;
}

static struct tc *tc_at(uint32_t node)
{
    return (struct tc *)(void *)node_block(w.n[node].node, BLOCK_DBTC, 1);
}

/* --- NDBCNTR's orders. --- */

/* As NDBCNTR does: the answer goes to the driver. */
static void hold(uint32_t count)
{
    struct order_hold_req req = {.no = {.failure_no = 0, .count = count}};
    for (uint32_t i = 1; i <= w.nodes; i++)
        signal_send(&w_driver(&w, i)->block, block_ref(i, BLOCK_DBTC, 1), GSN_ORDER_HOLD_REQ,
                    PRIO_A, &req, 2, NULL, 0);
    w_pass(&w, 3);
}

static bool all_hold(uint32_t count)
{
    return w_driver(&w, 1)->holds == count && w_driver(&w, 2)->holds == count;
}

static void order(uint32_t last)
{
    struct order_places_rep rep = {.places = {.node = {1, 2}}};
    if (last != 0) rep.places.place[last - 1] = PLACE_SLOW;
    for (uint32_t i = 1; i <= w.nodes; i++)
        w_self(&w, i, BLOCK_DBTC, 1, GSN_ORDER_PLACES_REP, &rep, 8, NULL, 0);
    w_pass(&w, 1);
}

static void release(void)
{
    struct order_hold_end_ord ord = {.no = {0, 0}};
    for (uint32_t i = 1; i <= w.nodes; i++)
        w_self(&w, i, BLOCK_DBTC, 1, GSN_ORDER_HOLD_END_ORD, &ord, 2, NULL, 0);
    w_pass(&w, 5);
    for (uint32_t i = 1; i <= w.nodes; i++) {
        assert_false(tc_at(i)->order.on);
        assert_null(tc_at(i)->order.first);
    }
}

/* Both TCs have it: node `first`, or what the distribution says. */
static void expect_order(uint32_t first)
{
    for (uint32_t i = 1; i <= w.nodes; i++) {
        const struct tc_table *table = tc_at(i)->table[1];
        for (uint32_t f = 0; f < table->fragment_count; f++) {
            const uint8_t *listed = table->nodes + (size_t)f * REPLICAS_MAX;
            uint32_t nodes = tc_live_nodes(tc_at(i), listed);
            assert_int_equal(replica_node(nodes, 0), first != 0 ? first : listed[0]);
            assert_int_equal(replica_node(nodes, 0) + replica_node(nodes, 1), 3);
            assert_int_equal(tc_read_node(tc_at(i), table, f), first != 0 ? first : listed[0]);
        }
    }
}

static void write_some(uint32_t from)
{
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = from; key < from + 8; key++)
        c_insert(&w, &t, key, key * 10);
    for (uint32_t key = from; key < from + 8; key++)
        c_expect_row(&w, key, key * 10);
}

/* --- Tests. --- */

static void test_orders_follow_each_other(void **state)
{
    (void)state;
    static const uint32_t last[] = {1, 2, 0, 2, 1, 0};
    write_some(1);
    for (uint32_t i = 0; i < 6; i++) {
        hold(i + 1);
        assert_true(all_hold(i + 1));
        order(last[i]);
        release();
        expect_order(last[i] != 0 ? 3 - last[i] : 0);
        write_some(100 + i * 10);
    }
    w_expect_quiet(&w);
}

/* What is under way goes on and may begin operations; what is new waits for its end. */
static void test_old_before_new(void **state)
{
    (void)state;
    struct trx old = t_new(&w, CLIENT, 1);
    struct trx new = t_new(&w, CLIENT_TWO, 1);
    struct trx far = t_new(&w, CLIENT_TWO, 2);
    t_op(&old, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 10);
    w_run(&w);
    t_expect_keyconf(&old, 0);
    hold(1);
    assert_false(all_hold(1));
    assert_int_equal(w_driver(&w, 2)->holds, 1);
    t_op(&new, .api_op = 2, .info = INFO(OP_INSERT, WRITE_ALL), .key = 2, .value = 20);
    t_op(&far, .api_op = 3, .info = INFO(OP_INSERT, WRITE_ALL), .key = 3, .value = 30);
    t_op(&old, .api_op = 4, .info = INFO(OP_INSERT, KEY_EXECUTE), .key = 4, .value = 40);
    w_run(&w);
    t_expect_keyconf(&old, 0);
    assert_null(c_take(&w, GSN_TCKEYCONF));
    c_read(&w, 1, 7, 9); /* Committed reads are answered. */
    t_expect_ref(&w, 7, ERR_ROW_NOT_FOUND);
    t_commit(&old);
    w_pass(&w, 20);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    assert_true(all_hold(1));
    assert_null(c_take(&w, GSN_TCKEYCONF));
    assert_int_equal(w_tc(&w, 1).transactions + w_tc(&w, 2).transactions, 0);
    order(1);
    release();
    expect_order(2);
    assert_non_null(c_take(&w, GSN_TCKEYCONF));
    assert_non_null(c_take(&w, GSN_TCKEYCONF));
    for (uint32_t key = 1; key <= 4; key++)
        c_expect_row(&w, key, key * 10);
    w_expect_quiet(&w);
}

/* All requests of a record wait in their order; so do those that end what has not begun. */
static void test_requests_in_their_order(void **state)
{
    (void)state;
    struct trx many = t_new(&w, CLIENT, 1);
    struct trx back = t_new(&w, CLIENT, 1);
    struct trx gone = t_new(&w, CLIENT, 1);
    struct trx dead = t_new(&w, CLIENT_TWO, 1);
    struct tcreleasereq leave = {.tc_connect = gone.connect, .sender_data = 9};
    struct api_failreq failed = {.sender_data = 1, .node = CLIENT_TWO};
    hold(1);
    assert_true(all_hold(1));
    t_op(&many, .api_op = 1, .info = INFO(OP_INSERT, KEY_START), .key = 1, .value = 10);
    for (uint32_t key = 2; key < 600; key++)
        t_op(&many, .api_op = key, .info = INFO(OP_INSERT, 0), .key = key, .value = key * 10);
    t_op(&many, .api_op = 600, .info = INFO(OP_UPDATE, KEY_EXECUTE), .key = 1, .value = 11);
    t_op(&back, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 700,
         .value = 10);
    t_rollback(&back);
    t_op(&gone, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 701,
         .value = 10);
    c_send(&w, CLIENT, 1, GSN_TCRELEASEREQ, &leave, 2, NULL, 0);
    t_op(&dead, .api_op = 1, .info = INFO(OP_INSERT, WRITE_ALL), .key = 702, .value = 10);
    w_run(&w);
    for (uint32_t i = 1; i <= 2; i++)
        w_self(&w, i, BLOCK_DBTC, 1, GSN_API_FAILREQ, &failed, 2, NULL, 0);
    w_pass(&w, 5);
    assert_int_equal(w_driver(&w, 1)->api_failed, 1);
    assert_null(c_take(&w, GSN_TCROLLBACKCONF));
    assert_null(c_take(&w, GSN_TCRELEASECONF));
    assert_int_equal(tc_at(1)->order.count, 605);
    struct order_hold_end_ord ord = {.no = {0, 0}};
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_ORDER_HOLD_END_ORD, &ord, 2, NULL, 0);
    w_self(&w, 2, BLOCK_DBTC, 1, GSN_ORDER_HOLD_END_ORD, &ord, 2, NULL, 0);
    w_pass(&w, 50);
    assert_false(tc_at(1)->order.on);
    t_expect_keyconf(&many, 0);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    assert_non_null(c_take(&w, GSN_TCRELEASECONF));
    t_commit(&many);
    w_pass(&w, 5);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    c_expect_row(&w, 1, 11);
    c_expect_row(&w, 599, 5990);
    for (uint32_t key = 700; key <= 702; key++)
        c_expect_none(&w, key);
    w_expect_quiet(&w);
}

/* It is given up before the TC has nothing left; then another one is tried. */
static void test_given_up(void **state)
{
    (void)state;
    struct trx old = t_new(&w, CLIENT, 1);
    struct trx new = t_new(&w, CLIENT, 1);
    t_op(&old, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 1,
         .value = 10);
    w_run(&w);
    t_expect_keyconf(&old, 0);
    for (uint32_t i = 1; i <= 3; i++) {
        hold(i);
        assert_false(all_hold(i));
        t_next(&new);
        t_op(&new, .api_op = 2, .info = INFO(OP_WRITE, WRITE_ALL), .key = 2, .value = i);
        w_pass(&w, 2);
        assert_null(c_take(&w, GSN_TCKEYCONF));
        release();
        t_expect_keyconf(&new, KEYCONF_COMMITTED);
        c_expect_row(&w, 2, i);
    }
    expect_order(0);
    t_rollback(&old);
    w_pass(&w, 5);
    hold(4);
    assert_true(all_hold(4));
    release();
}

/* Without memory what would wait is refused; what came before it in the same transaction does not
 * begin. */
static void test_no_memory(void **state)
{
    (void)state;
    static void *pages[100000];
    uint32_t count = 0;
    struct trx one = t_new(&w, CLIENT, 1);
    struct trx two = t_new(&w, CLIENT, 1);
    struct arena *arena = block_arena(&tc_at(1)->block);
    hold(1);
    for (uint32_t key = 1; key < 500; key++) /* Most of a page. */
        t_op(&one, .api_op = key, .info = INFO(OP_INSERT, key == 1 ? KEY_START : 0), .key = key,
             .value = 10);
    w_run(&w);
    while (count < 100000 && (pages[count] = arena_page(arena, RG_TRANSACTION)) != NULL)
        count++;
    assert_true(count < 100000);
    for (uint32_t key = 500; key < 800; key++)
        t_op(&one, .api_op = key, .info = INFO(OP_INSERT, key == 799 ? KEY_EXECUTE : 0), .key = key,
             .value = 10);
    t_op(&two, .api_op = 1, .info = INFO(OP_INSERT, WRITE_ALL), .key = 900, .value = 10);
    w_run(&w);
    const struct signal *sig;
    uint32_t refused = 0;
    while ((sig = c_take(&w, GSN_TCROLLBACKREP)) != NULL) {
        assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error, ERR_TC_TRANSACTIONS);
        refused++;
    }
    assert_int_equal(refused, 2);
    while (count > 0)
        arena_page_release(arena, RG_TRANSACTION, pages[--count]);
    t_next(&one);
    t_op(&one, .api_op = 1, .info = INFO(OP_INSERT, WRITE_ALL), .key = 901, .value = 11);
    release();
    w_pass(&w, 50);
    t_expect_keyconf(&one, KEYCONF_COMMITTED);
    c_expect_none(&w, 1);
    c_expect_none(&w, 900);
    c_expect_row(&w, 901, 11);
    w_expect_quiet(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_orders_follow_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(test_old_before_new, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requests_in_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
