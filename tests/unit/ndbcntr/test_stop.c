/* test_stop.c -- stops in good order: of several nodes at once, and of all. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/support/rejoin_fixture.h"

static int setup_stop(void **state)
{
    fake_disk_reset();
    return fc_setup(state);
}

static void order(uint32_t id, uint32_t flags)
{
    struct stop_req req = {.sender_data = id, .flags = flags};
    fc_sig_send(fc_fc, MGM, block_ref(id, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
    fc_deliver(fc_fc, MGM, id);
}

/* How many orders the management server hears are taken; the others would stop the cluster. */
static uint32_t taken(void)
{
    const struct signal *sig;
    uint32_t count = 0;
    while (fc_take(fc_fc, MGM, GSN_STOP_CONF) != NULL)
        count++;
    while ((sig = fc_take(fc_fc, MGM, GSN_STOP_REF)) != NULL)
        assert_int_equal(SIG_PAYLOAD(sig, stop_ref)->error, ERR_MGM_WOULD_STOP_CLUSTER);
    return count;
}

/* Orders to several nodes of one group at the same moment, as two management servers give them: as
 * many are taken as the group can spare. */
static void stop_at_once(uint32_t nodes, uint32_t replicas, uint32_t orders, uint64_t seed)
{
    uint32_t gone = 0;
    rejoin_start(nodes, replicas);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 5);
    rejoin_cursor = 0;
    for (uint32_t id = 1; id <= orders; id++) {
        order(id, 0);
        for (uint64_t i = 0; i < seed; i++)
            rejoin_one_step(nodes);
    }
    fc_run(fc_fc, 1000);
    for (uint32_t id = 1; id <= nodes; id++) {
        gone += fc_fc->node[id].stopped;
        if (!fc_fc->node[id].stopped) assert_true(rejoin_is_started(id));
    }
    assert_int_equal(taken(), gone);
    assert_int_equal(gone, replicas - 1 < orders ? replicas - 1 : orders);
    for (uint32_t id = 1; id <= nodes; id++) {
        if (fc_fc->node[id].stopped) rejoin_make_node(id);
    }
    rejoin_run_until_started(nodes, 5000);
    rejoin_check_whole(nodes);
    rejoin_again();
}

static void test_two_of_a_group_at_once(void **state)
{
    (void)state;
    for (uint64_t gap = 0; gap < 40; gap++) {
        stop_at_once(2, 2, 2, gap);
        stop_at_once(4, 2, 2, gap);
    }
}

static void test_three_of_a_group_at_once(void **state)
{
    (void)state;
    for (uint64_t gap = 0; gap < 40; gap += 3)
        stop_at_once(3, 3, 3, gap);
}

/* Who is asked ends before its answer is there: it was the one to stay. */
static void test_the_one_to_stay_is_lost(void **state)
{
    (void)state;
    uint32_t stays = 0;
    for (uint64_t gap = 0; gap < 12; gap++) {
        rejoin_start(2, 2);
        fc_client(fc_fc, MGM, true);
        fc_run(fc_fc, 5);
        rejoin_cursor = 0;
        order(1, 0);
        fc_run_node(fc_fc, 1);
        for (uint64_t i = 0; i < gap; i++)
            rejoin_one_step(2);
        bool asks = rejoin_cntr_at(1)->permit.client != 0;
        fc_kill(fc_fc, 2);
        fc_run(fc_fc, 500);
        assert_int_equal(taken(), rejoin_is_started(1) ? 0 : 1);
        stays += asks && rejoin_is_started(1);
        rejoin_again();
    }
    assert_true(stays > 1);
}

/* A node stops while nobody is started, and comes back: its next life is not believed to stop. */
static void test_one_stops_before_the_start(void **state)
{
    (void)state;
    uint32_t again_count = 0;
    for (uint32_t gap = 0; gap < 120; gap += 5) {
        rejoin_configure(2, 2);
        rejoin_make_node(1);
        rejoin_make_node(2);
        fc_client(fc_fc, MGM, true);
        rejoin_cursor = 0;
        for (uint32_t i = 0; i < 200 && node_mask_count(&rejoin_cntr_at(1)->members) < 2; i++)
            rejoin_one_step(2);
        for (uint32_t i = 0; i < gap; i++)
            rejoin_one_step(2);
        bool early = !rejoin_is_started(1) && !rejoin_is_started(2);
        order(2, STOP_RESTART);
        fc_run(fc_fc, 1000);
        bool left = taken() == 1; /* Else it has no link yet. */
        assert_int_equal(fc_fc->node[2].stopped, left);
        if (left) rejoin_make_node(2);
        rejoin_run_until_started(2, 5000);
        again_count += early && left;
        order(1, 0);
        fc_run(fc_fc, 500);
        assert_int_equal(taken(), 1);
        rejoin_again();
    }
    assert_true(again_count > 1);
}

/* All are to stop while one is being restarted, or asks whether it may: it does not come back
 * alone.
 */
static void test_all_stop_while_one_stops(void **state)
{
    (void)state;
    for (uint64_t gap = 0; gap < 60; gap++) {
        rejoin_start(4, 2);
        fc_client(fc_fc, MGM, true);
        fc_run(fc_fc, 5);
        rejoin_cursor = 0;
        order(1, STOP_RESTART);
        fc_run_node(fc_fc, 1);
        for (uint64_t i = 0; i < gap; i++)
            rejoin_one_step(4);
        for (uint32_t id = 1; id <= 4; id++)
            order(id, STOP_SYSTEM);
        fc_run(fc_fc, 1000);
        assert_int_equal(taken(), 5);
        for (uint32_t id = 1; id <= 4; id++) {
            assert_true(fc_fc->node[id].stopped);
            assert_int_equal(fc_fc->node[id].stop_flags & STOP_RESTART, 0);
        }
        rejoin_again();
    }
}

static const struct dih *dih_at(uint32_t id)
{
    return dih_of(node_block(fc_fc->node[id].node, BLOCK_DBDIH, 0));
}

static void start_files(uint32_t nodes, uint32_t replicas)
{
    rejoin_configure(nodes, replicas);
    rejoin_config.diskless = 0;
    rejoin_config.gci_ms = 40;
    rejoin_config.epoch_ms = 10;
    for (uint32_t id = 1; id <= nodes; id++)
        rejoin_make_node(id);
    rejoin_run_until_started(nodes, 2000);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 100);
}

/* Both copies of all system files have the same GCI, and all members. */
static void check_files(uint32_t nodes)
{
    const struct sysfile *first = &dih_at(1)->sysfile.now;
    for (uint32_t id = 1; id <= nodes; id++) {
        const struct dih_sysfile *sys = &dih_at(id)->sysfile;
        assert_int_equal(sys->now.gci, first->gci);
        assert_int_equal(node_mask_count(&sys->now.members), nodes);
        assert_int_equal(sys->writes, 0);
        assert_false(sys->lone);
    }
}

/* After a stop of all the files of all nodes say the same, in whatever order they came to their
 * end.
 */
static void test_all_stop_with_the_same_files(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t nodes = round % 2 == 0 ? 2 : 4;
        uint32_t gci;
        fake_disk_reset();
        start_files(nodes, 2);
        fc_run(fc_fc, round);
        rejoin_cursor = 0;
        for (uint32_t id = 1; id <= nodes; id++) {
            order(round % 4 < 2 ? id : nodes + 1 - id, STOP_SYSTEM);
            for (uint32_t i = 0; i < round * 7; i++)
                rejoin_one_step(nodes);
        }
        fc_run(fc_fc, 3000);
        for (uint32_t id = 1; id <= nodes; id++)
            assert_true(fc_fc->node[id].stopped);
        check_files(nodes);
        gci = dih_at(1)->sysfile.now.gci;
        fc_destroy(fc_fc);
        fc_init(fc_fc);
        for (uint32_t id = 1; id <= nodes; id++)
            rejoin_make_node(id);
        rejoin_run_until_started(nodes, 2000);
        for (uint32_t id = 1; id <= nodes; id++) {
            assert_int_equal(fake_lqh(fc_fc, id, 1)->recover.restart_gci, gci);
            assert_int_equal(fake_lqh(fc_fc, id, 1)->recover.running, 0);
        }
        rejoin_again();
    }
}

/* The node at which a change of the schema is under way waits for its end, but not for ever:
 * whoever has asked for it is told what became of it. */
static void test_a_change_of_the_schema_ends_first(void **state)
{
    (void)state;
    for (uint32_t ends = 0; ends < 2; ends++) {
        rejoin_start(2, 2);
        fc_client(fc_fc, MGM, true);
        fc_run(fc_fc, 5);
        rejoin_dict_at(1)->hold_drain = true;
        order(1, 0);
        fc_run(fc_fc, 3000);
        assert_false(fc_fc->node[1].stopped);
        if (ends != 0) {
            rejoin_dict_at(1)->hold_drain = false;
            rejoin_dict_drained(rejoin_dict_at(1));
            fc_run(fc_fc, 500);
        } else {
            fc_run(fc_fc, 3000);
        }
        assert_true(fc_fc->node[1].stopped);
        assert_int_equal(taken(), 1);
        rejoin_again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_of_a_group_at_once, setup_stop, fc_teardown),
        cmocka_unit_test_setup_teardown(test_three_of_a_group_at_once, setup_stop, fc_teardown),
        cmocka_unit_test_setup_teardown(test_the_one_to_stay_is_lost, setup_stop, fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_stops_before_the_start, setup_stop, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_change_of_the_schema_ends_first, setup_stop,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_all_stop_while_one_stops, setup_stop, fc_teardown),
        cmocka_unit_test_setup_teardown(test_all_stop_with_the_same_files, setup_stop, fc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
