/* test_rejoin_vote.c -- a node becomes a full member: wherever the cluster breaks in that moment,
 * at most one part goes on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "signals/arbitrator.h"
#include "tests/unit/support/rejoin_fixture.h"

static struct arbitrator arbitrator;
static uint64_t registered_ms;
static uint32_t before; /* Breaks before the node was started, and after. */
static uint32_t after;

/* --- The management server, which arbitrates. --- */

static void answer(const struct fc_signal *got)
{
    if (got->sig.gsn == GSN_ARBIT_START_REQ) {
        const struct arbit_start_req *req = SIG_PAYLOAD(&got->sig, arbit_start_req);
        struct arbit_start_conf conf = {{req->ticket[0], req->ticket[1]}};
        arbitrator_start(&arbitrator, req);
        fc_sig_send(fc_fc, MGM, got->sig.sender, GSN_ARBIT_START_CONF, &conf);
    }
    if (got->sig.gsn == GSN_ARBIT_CHOOSE_REQ) {
        const struct arbit_choose_req *req = SIG_PAYLOAD(&got->sig, arbit_choose_req);
        struct arbit_choose_conf conf = {req->attempt, {req->ticket[0], req->ticket[1]}};
        struct arbit_choose_ref ref = {req->attempt, {req->ticket[0], req->ticket[1]}};
        if (arbitrator_choose(&arbitrator, req))
            fc_sig_send(fc_fc, MGM, got->sig.sender, GSN_ARBIT_CHOOSE_CONF, &conf);
        else
            fc_sig_send(fc_fc, MGM, got->sig.sender, GSN_ARBIT_CHOOSE_REF, &ref);
    }
}

static void arbitrate(uint32_t nodes)
{
    while (fc_fc->node[MGM].received != NULL) {
        struct fc_signal *next = fc_fc->node[MGM].received->next;
        answer(fc_fc->node[MGM].received);
        free(fc_fc->node[MGM].received);
        fc_fc->node[MGM].received = next;
    }
    if (fc_fc->now - registered_ms < 25u) return;
    registered_ms = fc_fc->now;
    struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
    for (uint32_t id = 1; id <= nodes; id++) {
        if (fc_alive(fc_fc, id))
            fc_sig_send(fc_fc, MGM, block_ref(id, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    }
}

static void run(uint32_t nodes, uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        arbitrate(nodes);
        fc_run(fc_fc, 1);
    }
}

static void start_with_arbitrator(uint32_t nodes, uint32_t replicas)
{
    rejoin_configure(nodes, replicas);
    rejoin_config.arbitration = ARBITRATION_DEFAULT;
    rejoin_config.arbitration_timeout_ms = 300;
    rejoin_config.node[MGM] = (struct config_node){.type = NODE_MGM, .arbitration_rank = 1};
    memset(&arbitrator, 0, sizeof arbitrator);
    registered_ms = 0;
    fc_client(fc_fc, MGM, true);
    for (uint32_t id = 1; id <= nodes; id++)
        rejoin_make_node(id);
    run(nodes, 600);
    assert_true(rejoin_all_started(nodes));
    assert_int_equal(rejoin_qmgr_at(1)->arbit.state, ARBIT_RUN);
}

/* A node that is lost begins again. */
static void begin_again(uint32_t nodes, uint32_t node)
{
    rejoin_make_node(node);
    rejoin_dict_at(node)->hold_copy = true;
    run(nodes, 500);
    assert_int_equal(rejoin_cntr_at(node)->start.step, STEP_COPY);
}

static void end_copy(uint32_t node)
{
    struct copy_start_conf conf = {.sender_data = rejoin_cntr_at(node)->rejoin.own_rank};
    sig_send(&rejoin_dict_at(node)->block, block_ref(node, BLOCK_NDBCNTR, 0), GSN_COPY_START_CONF,
             PRIO_B, &conf);
}

/* It is about to be started. */
static void go_on_to_the_start(uint32_t nodes, uint32_t node)
{
    end_copy(node);
    for (uint32_t i = 0; rejoin_cntr_at(node)->start.wait != WAIT_GO; i++) {
        assert_true(i < 20000);
        arbitrate(nodes);
        rejoin_one_step(nodes);
    }
}

/* The last node is lost, comes back, and is about to be started. */
static void come_back(uint32_t nodes, uint32_t replicas)
{
    start_with_arbitrator(nodes, replicas);
    fc_kill(fc_fc, nodes);
    run(nodes, 200);
    begin_again(nodes, nodes);
    rejoin_cursor = 0;
    go_on_to_the_start(nodes, nodes);
}

/* Steps of all but one, which hangs; 0: of all. */
static void steps(uint32_t nodes, uint32_t count, uint32_t hangs)
{
    for (uint32_t i = 0; i < count; i++) {
        if (hangs != 0 && rejoin_cursor % (nodes + nodes * nodes) == hangs - 1) rejoin_cursor++;
        rejoin_one_step(nodes);
    }
}

/* At each step around the moment in which the last node is started again the cluster breaks into
   `part` and the rest. */
static bool apart(uint32_t part, uint32_t a, uint32_t b)
{
    return (part >> (a - 1) & 1u) != (part >> (b - 1) & 1u);
}

static void break_now(uint32_t nodes, uint32_t part, uint32_t later)
{
    for (uint32_t a = 1; a <= nodes; a++) {
        for (uint32_t b = a + 1; b <= nodes; b++) {
            if (apart(part, a, b)) fc_cut(fc_fc, a, b, true);
        }
    }
    before += !rejoin_is_started(nodes);
    after += rejoin_is_started(nodes);
    run(nodes, 1500);
    bool here = false;
    bool there = false;
    for (uint32_t id = 1; id <= nodes; id++) {
        if (!rejoin_is_started(id)) continue;
        if ((part >> (id - 1) & 1u) != 0)
            here = true;
        else
            there = true;
    }
    if (here && there) fail_msg("both parts go on: part %x, %u steps later", part, later);
}

static void break_near_the_start(uint32_t nodes, uint32_t replicas, uint32_t part, uint32_t later,
                                 uint32_t hangs)
{
    come_back(nodes, replicas);
    steps(nodes, later, hangs);
    break_now(nodes, part, later);
}

static void sweep(uint32_t nodes, uint32_t replicas)
{
    before = after = 0;
    for (uint32_t part = 1u << (nodes - 1); part < (1u << nodes) - 1u; part++) {
        for (uint32_t later = 0; later < 30u * (nodes + nodes * nodes);
             later += nodes == 2 ? 1 : 7) {
            /* Every fourth time somebody hangs until then, and does not hear of the start. */
            uint32_t hangs = later / 7 % 4 != 3 ? 0 : 1 + later % (nodes - 1);
            break_near_the_start(nodes, replicas, part, later, hangs);
            rejoin_again();
        }
    }
    print_message("%u before, %u after\n", before, after);
    assert_true(before > 0 && after > 0);
}

static void test_two_nodes(void **state)
{
    (void)state;
    sweep(2, 2);
}

static void test_three_replicas(void **state)
{
    (void)state;
    sweep(3, 3);
}

static void test_two_groups(void **state)
{
    (void)state;
    sweep(4, 2);
}

/* It hears nothing any more. */
static void make_deaf(uint32_t nodes, uint32_t node)
{
    for (uint32_t id = 1; id <= nodes; id++)
        fc_fc->link[id][node].stalled = true;
}

/* Somebody hangs, and is lost before it counts the node that is started: the others count it, so it
 * goes on with them. */
static void lost_before_it_counts(bool deaf)
{
    const uint32_t back = 4;
    before = after = 0;
    for (uint32_t lost = 1; lost < back; lost++) {
        for (uint32_t later = 0; later < 400; later += 3) {
            come_back(back, 2);
            if (deaf) make_deaf(back, lost);
            steps(back, later, lost);
            const struct qmgr *qmgr = rejoin_qmgr_at(back);
            bool waits = node_mask_has(&qmgr->started, back) && qmgr_is_newcomer(qmgr) &&
                         node_mask_has(&qmgr->rejoin.uncounted, lost) &&
                         node_mask_count(&qmgr->rejoin.uncounted) == 1;
            if (!deaf) fc_kill(fc_fc, lost);
            run(back, 1500);
            if (waits && !rejoin_is_started(back))
                fail_msg("node %u was lost, %u steps later, and took node %u along", lost, later,
                         back);
            before += waits;
            after += rejoin_is_started(back);
            rejoin_again();
        }
    }
    print_message("%u waited for who was lost, %u went on\n", before, after);
    assert_true(before > 0 && after > before);
}

static void test_one_who_does_not_count_it_dies(void **state)
{
    (void)state;
    lost_before_it_counts(false);
}

/* It thinks that all others are lost, and says so to them. */
static void test_one_who_does_not_count_it_is_deaf(void **state)
{
    (void)state;
    lost_before_it_counts(true);
}

/* Both are about to be started: the president's word is on its way to them. */
static void go_on_together(uint32_t nodes, uint32_t a, uint32_t b)
{
    uint32_t ready = 0;
    end_copy(a);
    end_copy(b);
    for (uint32_t i = 0; ready < 400; i++) {
        assert_true(i < 20000);
        arbitrate(nodes);
        rejoin_one_step(nodes);
        fc_fc->link[1][a].stalled = rejoin_cntr_at(a)->start.wait == WAIT_GO;
        fc_fc->link[1][b].stalled = rejoin_cntr_at(b)->start.wait == WAIT_GO;
        ready += fc_fc->link[1][a].stalled && fc_fc->link[1][b].stalled;
    }
}

/* Two nodes that are lost begin again. */
static void begin_both_again(uint32_t nodes, uint32_t a, uint32_t b)
{
    rejoin_make_node(a);
    rejoin_dict_at(a)->hold_copy = true;
    begin_again(nodes, b);
    assert_int_equal(rejoin_cntr_at(a)->start.step, STEP_COPY);
    rejoin_cursor = 0;
    go_on_together(nodes, a, b);
}

/* Nothing passes from part to part, but what has to before a node is started. */
static void hold_words_between(uint32_t part, bool no_more)
{
    for (uint32_t a = 1; a <= 4; a++) {
        for (uint32_t b = 1; b <= 4; b++) {
            bool begins = (a == 1 && !rejoin_is_started(b)) || (b == 1 && !rejoin_is_started(a));
            fc_fc->link[a][b].stalled = !no_more && apart(part, a, b) && !begins;
        }
    }
}

/* Nodes of two groups are started at the same time, and each is heard of only in its own part: with
 * both votes both parts would have most of those that count. */
static void test_two_are_started_at_once(void **state)
{
    static const uint32_t parts[] = {0x6, 0x9, 0xA, 0xC};
    (void)state;
    before = after = 0;
    for (uint32_t later = 0; later < 4u * 100u; later++) {
        uint32_t part = parts[later % 4];
        start_with_arbitrator(4, 2);
        fc_kill(fc_fc, 2);
        fc_kill(fc_fc, 4);
        run(4, 200);
        begin_both_again(4, 2, 4);
        for (uint32_t i = 0; i < later; i++) {
            hold_words_between(part, false);
            rejoin_one_step(4);
        }
        hold_words_between(part, true);
        break_now(4, part, later);
        rejoin_again();
    }
    print_message("%u before, %u after\n", before, after);
    assert_true(before > 0 && after > 0);
}

/* Two of each group of three are there, and the last node is about to be started. */
static void come_back_to_four(void)
{
    start_with_arbitrator(6, 3);
    fc_kill(fc_fc, 3);
    fc_kill(fc_fc, 6);
    run(6, 300);
    begin_again(6, 6);
    rejoin_cursor = 0;
    go_on_to_the_start(6, 6);
}

/* How many of these count the last node, which does not count itself. */
static uint32_t who_count_it(uint32_t a, uint32_t b)
{
    if (!qmgr_is_newcomer(rejoin_qmgr_at(6))) return 0;
    return !node_mask_has(&rejoin_qmgr_at(a)->rejoin.newcomers, 6) +
           !node_mask_has(&rejoin_qmgr_at(b)->rejoin.newcomers, 6);
}

static const uint32_t lost[][2] = {{1, 4}, {1, 5}, {2, 4}, {2, 5}};

/*
 * One of each group dies in the moment in which the last node is started. Half of those that count
 * are left, and the arbitrator says yes. Who is not counted by all leaves: with its vote nobody
 * wins, and without it nobody loses.
 */
static void test_nobody_loses_by_a_vote_that_nobody_has(void **state)
{
    uint32_t all = 0;
    (void)state;
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t a = lost[i % 4][0];
        uint32_t b = lost[i % 4][1];
        come_back_to_four();
        /* Every second time one of them has not heard of the start. */
        steps(6, i, i / 4u % 2 == 0 ? 0 : a);
        all += who_count_it(3 - a, 9 - b) == 2;
        fc_kill(fc_fc, a);
        fc_kill(fc_fc, b);
        run(6, 1000);
        if (!rejoin_is_started(3 - a) || !rejoin_is_started(9 - b))
            fail_msg("nodes %u and %u were lost %u steps later, and all with them", a, b, i);
        rejoin_again();
    }
    print_message("%u times those that are left counted it\n", all);
    assert_true(all > 0);
}

/* The same; it dies too, and one of those that are left has never heard that it was started. */
static void test_nobody_loses_by_the_vote_of_who_is_lost(void **state)
{
    uint32_t some = 0;
    (void)state;
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t a = lost[i % 4][0];
        uint32_t b = lost[i % 4][1];
        come_back_to_four();
        fc_fc->link[6][i / 4u % 2 == 0 ? 3 - a : 9 - b].stalled = true;
        steps(6, i, 0);
        bool one = who_count_it(3 - a, 9 - b) == 1;
        fc_kill(fc_fc, a);
        fc_kill(fc_fc, b);
        fc_kill(fc_fc, 6);
        run(6, 1000);
        if (one && (!rejoin_is_started(3 - a) || !rejoin_is_started(9 - b)))
            fail_msg("nodes %u, %u and 6 were lost %u steps later, and all with them", a, b, i);
        some += one;
        rejoin_again();
    }
    print_message("%u times one of those that are left counted it\n", some);
    assert_true(some > 0);
}

static bool counts(uint32_t who, uint32_t node)
{
    return rejoin_is_started(node) && !node_mask_has(&rejoin_qmgr_at(who)->rejoin.newcomers, node);
}

/* Node 1 does not hear that these two are started; node 4 does, and nothing more of them. */
static void hold_words_of(uint32_t a, uint32_t b)
{
    fc_fc->link[1][a].stalled = fc_fc->link[1][b].stalled = false;
    fc_fc->link[a][1].stalled = rejoin_is_started(a);
    fc_fc->link[b][1].stalled = rejoin_is_started(b);
    fc_fc->link[a][4].stalled = counts(4, a);
    fc_fc->link[b][4].stalled = counts(4, b);
}

/*
 * Nodes 3 and 5 are started at the same time, of nodes 1, 2 and 4 the second dies. Node 1 leads and
 * takes both along; to node 4 it looks as if that cost the cluster a majority which is there
 * without node 1. By the votes that node 1 counts nobody is missed.
 */
static void test_who_counts_fewer_is_in_nobodys_way(void **state)
{
    uint32_t seen = 0;
    (void)state;
    for (uint32_t i = 0; i < 600; i++) {
        start_with_arbitrator(6, 3);
        fc_kill(fc_fc, 3);
        fc_kill(fc_fc, 5);
        fc_kill(fc_fc, 6);
        run(6, 300);
        begin_both_again(6, 3, 5);
        for (uint32_t step = 0; step < i; step++) {
            hold_words_of(3, 5);
            rejoin_one_step(6);
        }
        bool differ = counts(4, 3) && counts(4, 5) && !counts(1, 3) && !counts(1, 5);
        fc_kill(fc_fc, 2);
        run(6, 20);
        for (uint32_t id = 1; id <= 4; id += 3)
            fc_fc->link[3][id].stalled = fc_fc->link[5][id].stalled = false;
        run(6, 1000);
        if (!rejoin_is_started(1) || !rejoin_is_started(4))
            fail_msg("all were lost, %u steps later", i);
        seen += differ;
        rejoin_again();
    }
    print_message("%u times one counted both, and the leader none\n", seen);
    assert_true(seen > 0);
}

/*
 * Node 2 has joined before node 4, which overtakes it: node 2 does not wait for node 4's word when
 * it counts itself. Node 4 has not heard of it when the cluster breaks into two halves.
 */
static void test_one_who_was_overtaken_counts(void **state)
{
    uint32_t seen = 0;
    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        start_with_arbitrator(4, 2);
        fc_kill(fc_fc, 2);
        fc_kill(fc_fc, 4);
        run(4, 200);
        rejoin_make_node(2);
        rejoin_dict_at(2)->hold_copy = true;
        run(4, 100);
        begin_again(4, 4);
        assert_true(rejoin_qmgr_at(1)->peer[2].dynamic_id < rejoin_qmgr_at(1)->peer[4].dynamic_id);
        end_copy(4);
        run(4, 200);
        assert_false(qmgr_is_newcomer(rejoin_qmgr_at(4)));
        rejoin_cursor = 0;
        go_on_to_the_start(4, 2);
        fc_fc->link[2][4].stalled = true;
        steps(4, i, 0);
        seen += rejoin_is_started(2) && !qmgr_is_newcomer(rejoin_qmgr_at(2)) &&
                node_mask_has(&rejoin_qmgr_at(4)->rejoin.newcomers, 2);
        break_now(4, 0x9, i);
        rejoin_again();
    }
    print_message("%u times node 2 counted itself, and node 4 did not\n", seen);
    assert_true(seen > 0);
}

int main(void)
{
    fc_first_client = 7;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_nodes, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_three_replicas, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_two_groups, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_who_does_not_count_it_dies, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_who_does_not_count_it_is_deaf, fc_setup,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_two_are_started_at_once, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_nobody_loses_by_a_vote_that_nobody_has, fc_setup,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_nobody_loses_by_the_vote_of_who_is_lost, fc_setup,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_who_counts_fewer_is_in_nobodys_way, fc_setup,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_who_was_overtaken_counts, fc_setup, fc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
