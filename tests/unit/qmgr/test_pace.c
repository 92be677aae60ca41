/* test_pace.c -- members find out who is slow: nodes that run now and then, threads that do not
 * answer. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* Real membership and fake workers; a slow node runs in one of so many milliseconds only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/qmgr/qmgr_state.h"
#include "tests/unit/support/fake_fixture.h"

#define NODES_MAX 6u /* All data nodes. */
#define API       6u
#define SLOW      30u
#define FOUND_MS  5000u
#define WELL_MS   9000u

static uint32_t every[NODES_MAX];   /* 0 = it does not run. */
static uint32_t told[NODES_MAX][2]; /* NODE_PACE_REP that each NDBCNTR got: 0s and 1s. */
/* The node in the last NODE_PACE_REP that each NDBCNTR got. */
static uint32_t told_node[NODES_MAX];
/* From when on, and how often, all nodes stall for 50 ms; 0 = never. */
static uint32_t stall_from, stall_every;

static void see(void *context, uint32_t thread_no, const uint32_t *words)
{
    uint32_t id = (uint32_t)(uintptr_t)context;
    const struct node_pace_rep *rep = (const void *)(words + SIGNAL_HEAD_WORDS);
    (void)thread_no;
    if (kind_gsn(words[0]) != GSN_NODE_PACE_REP || ref_block(words[1]) != BLOCK_NDBCNTR) return;
    told[id][rep->slow]++;
    told_node[id] = rep->node;
}

static struct qmgr *qmgr_at(uint32_t id)
{
    return qmgr_of(node_block(fc_fc->node[id].node, BLOCK_QMGR, 0));
}

static uint32_t nodes_all;

static bool runs(uint32_t id)
{
    if (stall_every != 0 && fc_fc->now >= stall_from &&
        (fc_fc->now - stall_from) % stall_every < 50u)
        return false;
    return every[id] != 0 && fc_fc->now % every[id] == 0;
}

static void run(uint32_t ms)
{
    for (uint64_t end = fc_fc->now + ms; fc_fc->now < end; fc_fc->now++) {
        bool worked = true;
        while (worked) {
            worked = false;
            fc_links(fc_fc);
            for (uint32_t id = 1; id <= nodes_all; id++)
                worked |= runs(id) && fc_run_node(fc_fc, id);
            for (uint32_t from = 1; from < FC_NODES; from++) {
                for (uint32_t to = 1; to < FC_NODES; to++)
                    worked |= fc_deliver(fc_fc, from, to);
            }
        }
    }
}

static void start(uint32_t nodes, uint32_t replicas)
{
    struct node_config config = fake_config(nodes, replicas);
    config.survive = 1;
    config.heartbeat_db_db_ms = 1000;
    config.heartbeat_db_api_ms = 60000;
    config.arbitration = ARBITRATION_NONE;
    nodes_all = nodes;
    stall_every = 0;
    memset(told, 0, sizeof(told));
    for (uint32_t id = 1; id <= nodes; id++) {
        every[id] = 1;
        config.node[id] = (struct config_node){.type = NODE_DATA, .nodegroup = (id - 1) / replicas};
        fake_data_node(fc_fc, id, &config);
        node_observe(fc_fc->node[id].node, see, (void *)(uintptr_t)id);
    }
    run(3000);
    for (uint32_t id = 1; id <= nodes; id++)
        assert_int_equal(fake_tc(fc_fc, id, 1)->level, START_STARTED);
}

static void again(void)
{
    fc_destroy(fc_fc);
    fc_init(fc_fc);
}

static void assert_slow(uint32_t slow, uint32_t aside)
{
    for (uint32_t id = 1; id <= nodes_all; id++) {
        if (!fc_alive(fc_fc, id)) continue;
        assert_int_equal(qmgr_at(id)->pace.slow.word[0] >> 1, slow);
        assert_int_equal(qmgr_at(id)->pace.aside.word[0] >> 1, aside);
    }
}

static void assert_told(uint32_t node, uint32_t well, uint32_t slow)
{
    for (uint32_t id = 1; id <= nodes_all; id++) {
        if (!fc_alive(fc_fc, id)) continue;
        assert_int_equal(told[id][0], well);
        assert_int_equal(told[id][1], slow);
        if (well + slow > 0) assert_int_equal(told_node[id], node);
    }
}

/* Whoever it is, also the president: all know it, and all know when it is over. */
static void test_one_node(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 4; nodes += 2) {
        for (uint32_t slow = 1; slow <= nodes; slow++) {
            start(nodes, 2);
            assert_slow(0, 0);
            every[slow] = SLOW;
            run(FOUND_MS);
            assert_slow(1u << (slow - 1), 1u << (slow - 1));
            assert_told(slow, 0, 1);
            run(20000);
            assert_told(slow, 0, 1); /* Once. */
            every[slow] = 1;
            run(WELL_MS);
            assert_slow(0, 0);
            assert_told(slow, 1, 1);
            again();
        }
    }
}

/* The node answers, but one of its threads does not get to its work. */
static void test_one_thread(void **state)
{
    (void)state;
    start(4, 2);
    fake_lqh(fc_fc, 3, 2)->hold_probe = true;
    run(FOUND_MS);
    assert_slow(4, 4);
    again();
    start(4, 2);
    fake_tc(fc_fc, 2, 1)->hold_probe = true;
    run(FOUND_MS);
    assert_slow(2, 2);
}

static void test_all_nodes(void **state)
{
    (void)state;
    start(4, 2);
    for (uint32_t id = 1; id <= 4; id++)
        every[id] = SLOW;
    run(20000);
    assert_slow(0, 0);
    again();
    start(4, 2);
    stall_from = (uint32_t)fc_fc->now;
    stall_every = 400;
    run(30000);
    assert_slow(0, 0);
    again();
    start(4, 2);
    every[3] = 0; /* One stall, and that is all. */
    run(1500);
    every[3] = 1;
    run(10000);
    assert_slow(0, 0);
}

static void test_both_of_a_group(void **state)
{
    (void)state;
    start(4, 2);
    every[3] = SLOW;
    run(FOUND_MS);
    assert_slow(4, 4);
    every[4] = SLOW;
    run(FOUND_MS);
    assert_slow(12, 0); /* Nobody is better. */
    assert_told(3, 1, 1);
    every[4] = 1;
    run(WELL_MS);
    assert_slow(4, 4);
    assert_told(3, 1, 2);
}

static void test_the_other_one_is_lost(void **state)
{
    (void)state;
    start(4, 2);
    every[3] = SLOW;
    run(FOUND_MS);
    assert_slow(4, 4);
    fc_kill(fc_fc, 4);
    run(1000);
    assert_slow(4, 0);
    assert_told(3, 1, 1);
}

/* In a pair nobody is left to compare with, whoever leads. Later it begins as a node like
   others. */
static void test_it_is_left_alone(void **state)
{
    (void)state;
    for (uint32_t slow = 1; slow <= 2; slow++) {
        start(2, 2);
        every[slow] = SLOW;
        run(FOUND_MS);
        assert_slow(1u << (slow - 1), 1u << (slow - 1));
        fc_kill(fc_fc, 3 - slow);
        every[slow] = 1;
        run(1000);
        assert_slow(0, 0);
        assert_told(slow, 1, 1);
        again();
    }
}

static void test_it_is_lost(void **state)
{
    (void)state;
    start(4, 2);
    every[3] = SLOW;
    run(FOUND_MS);
    fc_kill(fc_fc, 3);
    run(1000);
    assert_slow(0, 0);
    assert_told(3, 0, 1); /* NDBCNTR forgets it as well. */
}

/* The next president knows it, and says it to its NDBCNTR again. */
static void test_the_president_is_lost(void **state)
{
    (void)state;
    for (uint32_t slow = 1; slow <= 4; slow++) {
        start(4, 2);
        uint32_t president = qmgr_at(1)->join.president;
        if (slow != president && (slow - 1) / 2 != (president - 1) / 2) {
            every[slow] = SLOW;
            run(FOUND_MS);
            fc_kill(fc_fc, president);
            run(4000);
            assert_slow(1u << (slow - 1), 1u << (slow - 1));
            uint32_t next = qmgr_at(slow)->join.president;
            assert_int_not_equal(next, president);
            assert_int_equal(told[next][1], 2);
            assert_int_equal(told_node[next], slow);
            every[slow] = 1;
            run(WELL_MS);
            assert_slow(0, 0);
        }
        again();
    }
}

/* A link between two nodes that are well: nobody stands aside. */
static void test_a_link(void **state)
{
    (void)state;
    start(4, 2);
    for (uint32_t i = 0; i < 200; i++) {
        fc_fc->link[2][3].stalled = fc_fc->link[3][2].stalled = i % 8 != 0;
        run(20);
    }
    assert_slow(0, 0);
    const struct qmgr_pace *pace = &qmgr_at(qmgr_at(1)->join.president)->pace;
    assert_int_equal(pace->link_slow, 1);
    assert_int_equal(pace->link_a, 2);
    assert_int_equal(pace->link_b, 3);
    fc_fc->link[2][3].stalled = fc_fc->link[3][2].stalled = false;
    run(WELL_MS);
    assert_int_equal(pace->link_slow, 0);
}

/* Without being asked. */
static void test_clients_are_told(void **state)
{
    (void)state;
    start(2, 2);
    fc_client(fc_fc, API, true);
    run(10);
    struct api_regreq req = {.sender_data = 1, .version = NDB_VERSION, .generation = 1};
    fc_sig_send(fc_fc, API, block_ref(1, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    run(10);
    const struct signal *sig = fc_take(fc_fc, API, GSN_API_REGCONF);
    assert_non_null(sig);
    assert_true(node_mask_empty(&SIG_PAYLOAD(sig, api_regconf)->slow));
    every[2] = SLOW;
    run(FOUND_MS);
    sig = fc_take(fc_fc, API, GSN_API_REGCONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, api_regconf)->slow.word[0], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_node, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_thread, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_all_nodes, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_both_of_a_group, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_the_other_one_is_lost, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_it_is_left_alone, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_it_is_lost, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_the_president_is_lost, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_link, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_clients_are_told, fc_setup, fc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
