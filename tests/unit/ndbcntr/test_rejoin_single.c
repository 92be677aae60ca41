/* test_rejoin_single.c -- single user mode and nodes that come back: all are in the same state, and
 * whoever is president answers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/support/rejoin_fixture.h"

#define ALLOWED 6u

static void start_with_mgm(uint32_t nodes)
{
    rejoin_configure(nodes, 2);
    rejoin_config.node[MGM] = (struct config_node){.type = NODE_MGM, .arbitration_rank = 0};
    fc_client(fc_fc, MGM, true);
    for (uint32_t id = 1; id <= nodes; id++)
        rejoin_make_node(id);
    rejoin_run_until_started(nodes, 1000);
}

/* What ndb_mgmd's order becomes at the president. */
static void order(uint32_t president, uint32_t node)
{
    struct single_user_req req = {.sender_data = 1, .node = node};
    fc_sig_send(fc_fc, MGM, block_ref(president, BLOCK_CMVMI, 0), GSN_SINGLE_USER_REQ, &req);
}

static bool answered(void)
{
    return fc_take(fc_fc, MGM, GSN_SINGLE_USER_CONF) != NULL;
}

static void set_mode(uint32_t president, uint32_t node)
{
    order(president, node);
    fc_run(fc_fc, 100);
    assert_true(answered());
}

static void check_mode(uint32_t nodes, uint32_t node)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        assert_int_equal(rejoin_cntr_at(id)->single.node, node);
        assert_int_equal(rejoin_cntr_at(id)->single.complete, 1);
    }
}

/* The mode is over, others have been lost since: who comes back knows that it is over. */
static void test_back_after_exit(void **state)
{
    (void)state;
    start_with_mgm(2);
    set_mode(1, ALLOWED);
    check_mode(2, ALLOWED);
    set_mode(1, 0);
    for (uint32_t round = 0; round < 2; round++) {
        fc_kill(fc_fc, 2);
        fc_run(fc_fc, 100);
        rejoin_make_node(2);
        rejoin_run_until_started(2, 2000);
        check_mode(2, 0);
    }
    fc_kill(fc_fc, 1);
    fc_run(fc_fc, 200);
    assert_true(rejoin_is_started(2));
    set_mode(2, 0);
    rejoin_make_node(1);
    rejoin_run_until_started(2, 2000);
    set_mode(2, ALLOWED);
    check_mode(2, ALLOWED);
}

/* Node 2 is let in just before the mode is ordered, after each step of its return. */
static void test_ordered_while_one_joins(void **state)
{
    uint32_t entered = 0;
    (void)state;
    for (uint32_t steps = 0; steps < 400; steps += 3) {
        start_with_mgm(2);
        fc_kill(fc_fc, 2);
        fc_run(fc_fc, 100);
        rejoin_make_node(2);
        rejoin_cursor = 0;
        for (uint32_t i = 0; i < steps; i++)
            rejoin_one_step(2);
        order(1, ALLOWED);
        fc_run(fc_fc, 300);
        bool on = answered();
        if (!rejoin_is_started(2)) { /* It was refused, or waits outside. */
            set_mode(1, 0);
            rejoin_run_until_started(2, 2000);
        } else if (on) {
            check_mode(2, ALLOWED);
            entered++;
        }
        rejoin_again();
    }
    assert_true(entered > 0);
}

static const struct single_user_ref *refused(void)
{
    const struct signal *sig = fc_take(fc_fc, MGM, GSN_SINGLE_USER_REF);
    return sig == NULL ? NULL : SIG_PAYLOAD(sig, single_user_ref);
}

/* Whoever waits for the mode, or for its end, hears when something else was ordered meanwhile; who
 * waits for the same asks again. */
static void test_ordered_otherwise_meanwhile(void **state)
{
    static const struct {
        uint32_t first, second, error;
    } ways[] = {{ALLOWED, 0, ERR_MGM_SINGLE_REPLACED}, {ALLOWED, ALLOWED, ERR_MGM_SEND}};
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        start_with_mgm(2);
        order(1, ways[way].first);
        fc_deliver(fc_fc, MGM, 1);
        fc_run_node(fc_fc, 1);
        assert_int_equal(rejoin_cntr_at(1)->single.node, ALLOWED);
        assert_false(answered());
        order(1, ways[way].second);
        fc_run(fc_fc, 100);
        const struct single_user_ref *ref = refused();
        assert_non_null(ref);
        assert_int_equal(ref->error, ways[way].error);
        assert_null(refused());
        assert_true(answered());
        assert_false(answered());
        check_mode(2, ways[way].second);
        rejoin_again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_back_after_exit, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_ordered_while_one_joins, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_ordered_otherwise_meanwhile, fc_setup, fc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
