/* test_include_many.c -- several nodes come back, at the same time or one after the other: what
 * one's return leaves behind says nothing of the next one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/include_fixture.h"

static void two_are_lost(void)
{
    include_begin(3, 11);
    include_keys = 10;
    memset(include_actors, 0, sizeof include_actors);
    struct trx t = t_new(&w, CLIENT, 1);
    c_insert(&w, &t, 1, 10);
    include_die(2);
    w_pass(&w, 50);
    include_die(3);
    w_pass(&w, 50);
}

/* Node 3's tables are made while node 2 is absent; it is included before node 3 asks. */
static void test_one_came_back_before_the_other(void **state)
{
    (void)state;
    two_are_lost();
    include_process_again(3);
    w.dead[3] = true; /* For those who tell of node 2. */
    include_process_again(2);
    include_self(2);
    include_at_others(2);
    w_pass(&w, 20);
    w.dead[3] = false;
    include_self(3);
    const struct tc *tc = (const struct tc *)(void *)node_block(w.n[3].node, BLOCK_DBTC, 1);
    assert_true(node_mask_has(&tc->fail.alive, 2));
    assert_true(node_mask_empty(&tc->fail.lost));
    assert_true(node_mask_empty(&include_lqh_at(3)->fail.lost));
    assert_int_equal(tc->fail.ended[2].rank, include_ranks[2]);
    w_stop(&w);
}

/* Node 3 joined first, node 2 is included first: what TC says of node 2 says nothing of node 3. */
static void test_included_in_another_order(void **state)
{
    (void)state;
    two_are_lost();
    include_process_again(3);
    include_self(3);
    include_process_again(2);
    w.dead[3] = true; /* It is not included. */
    include_self(2);
    w.dead[3] = false;
    assert_true(include_ranks[2] > include_ranks[3]);
    include_at_others(2);
    w_pass(&w, 20);
    struct node_include_rep rep = {.node = 3,
                                   .rank = include_ranks[3],
                                   .failure_no = include_failures,
                                   .alive = include_others_of(0)};
    w_self(&w, 1, BLOCK_DBLQH, 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_self(&w, 2, BLOCK_DBTC, 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_pass(&w, 50);
    assert_true(include_lqh_at(1)->include.back[3].taken &&
                include_lqh_at(1)->include.back[3].told);
    assert_false(lqh_included(include_lqh_at(1), 3, include_ranks[3]));
    assert_int_equal(include_lqh_at(1)->include.back[3].state, INCLUDE_WAITING);
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_pass(&w, 20);
    assert_false(lqh_included(include_lqh_at(1), 3, include_ranks[3])); /* The walks. */
    w_pass(&w, 50);
    assert_true(lqh_included(include_lqh_at(1), 3, include_ranks[3]));
    w_stop(&w);
}

static void lost_and_back(uint32_t node)
{
    include_die(node);
    w_pass(&w, 50);
    include_process_again(node);
    include_self(node);
    include_at_others(node);
    include_copy_order(node);
    w_pass(&w, 300);
    assert_int_equal(include_got.copied, 1);
    w_level(&w, node, START_STARTED);
}

/* Three replicas, in the order 3, 2, 1 everywhere: node 1 has copied from node 3 alone, so node 2
 * has not heard of the end of its return. Then node 3 comes back and copies from node 2. */
static void test_one_after_the_other(void **state)
{
    (void)state;
    include_begin(3, 12);
    include_keys = 10;
    memset(include_actors, 0, sizeof include_actors);
    struct trx t = t_new(&w, CLIENT_TWO, 2);
    c_insert(&w, &t, 1, 10);
    lost_and_back(1);
    lost_and_back(2);
    lost_and_back(1);
    include_die(3);
    w_pass(&w, 50);
    include_process_again(3);
    include_self(3);
    include_at_others(3);
    for (uint32_t i = 0; i < 50 && !lqh_included(include_lqh_at(2), 3, include_ranks[3]); i++)
        w_pass(&w, 10);
    assert_true(lqh_included(include_lqh_at(2), 3, include_ranks[3]));
    include_copy_order(3);
    w_pass(&w, 300);
    assert_int_equal(include_got.copied, 1);
    include_expect_whole();
    w_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_one_came_back_before_the_other),
        cmocka_unit_test(test_included_in_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
