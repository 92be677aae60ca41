/* test_rejoin.c -- a lost node comes back into a running cluster, whoever dies meanwhile. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Real membership, start sequence and epochs; fake workers and a fake dictionary. A step is the
 * turn of one node or the arrival of what is on one link: victims are killed after each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/support/rejoin_fixture.h"

/* --- It comes back. --- */

static void test_a_node_comes_back(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 4; nodes += 2) {
        for (uint32_t victim = 1; victim <= nodes; victim++) {
            rejoin_start(nodes, 2);
            fc_kill(fc_fc, victim);
            fc_run(fc_fc, 100);
            rejoin_make_node(victim);
            rejoin_run_until_started(nodes, 2000);
            rejoin_check_whole(nodes);
            uint32_t other = victim % nodes + 1;
            uint32_t rank = rejoin_cntr_at(victim)->rejoin.rank[victim];
            assert_int_equal(rank, nodes + 1);
            assert_int_equal(rejoin_dict_at(victim)->restarts, 1);
            assert_int_equal(rejoin_dict_at(victim)->copies, 1);
            assert_int_equal(fake_lqh(fc_fc, victim, 1)->include.node, victim);
            assert_int_equal(fake_lqh(fc_fc, victim, 1)->include.failure_no, 1);
            assert_int_equal(node_mask_count(&fake_tc(fc_fc, victim, 1)->include.alive), nodes - 1);
            assert_int_equal(fake_tc(fc_fc, other, 1)->included.node, victim);
            assert_int_equal(fake_lqh(fc_fc, other, 1)->included.rank, rank);
            assert_int_equal(node_mask_count(&rejoin_dict_at(other)->included.alive), nodes);
            uint32_t epochs = fake_tc(fc_fc, victim, 1)->epochs;
            fc_run(fc_fc, 1000);
            assert_true(fake_tc(fc_fc, victim, 1)->epochs > epochs);
            rejoin_again();
        }
    }
}

/* Every node once, one after the other; what is oldest is president, who came last is last. */
static void test_all_nodes_in_turn(void **state)
{
    (void)state;
    rejoin_start(4, 2);
    for (uint32_t round = 1; round <= 8; round++) {
        uint32_t victim = (round - 1) % 4 + 1;
        fc_kill(fc_fc, victim);
        fc_run(fc_fc, 60);
        rejoin_make_node(victim);
        rejoin_run_until_started(4, 2000);
        rejoin_check_whole(4);
        assert_int_equal(rejoin_qmgr_at(1)->failure.number, round);
        assert_int_equal(rejoin_cntr_at(1)->rejoin.rank[victim], 4 + round);
        uint32_t oldest = 1;
        for (uint32_t id = 2; id <= 4; id++) {
            if (rejoin_qmgr_at(1)->peer[id].dynamic_id < rejoin_qmgr_at(1)->peer[oldest].dynamic_id)
                oldest = id;
        }
        assert_int_equal(rejoin_qmgr_at(1)->join.president, oldest);
    }
}

static void test_two_nodes_come_back(void **state)
{
    (void)state;
    rejoin_start(4, 2);
    fc_kill(fc_fc, 1);
    fc_kill(fc_fc, 4);
    fc_run(fc_fc, 200);
    assert_true(rejoin_is_started(2) && rejoin_is_started(3));
    rejoin_make_node(1);
    rejoin_make_node(4);
    rejoin_run_until_started(4, 3000);
    rejoin_check_whole(4);
}

/* --- Several at once. --- */

static bool copies(uint32_t id)
{
    return rejoin_cntr_at(id)->start.wait == WAIT_STEP &&
           rejoin_cntr_at(id)->start.step == STEP_COPY;
}

/* What its dictionary has held back. */
static void copied(uint32_t id)
{
    struct copy_start_conf conf = {.sender_data = rejoin_cntr_at(id)->rejoin.own_rank};
    sig_send(&rejoin_dict_at(id)->block, block_ref(id, BLOCK_NDBCNTR, 0), GSN_COPY_START_CONF,
             PRIO_B, &conf);
}

static void come_back_slowly(uint32_t id)
{
    rejoin_make_node(id);
    rejoin_dict_at(id)->hold_copy = true;
}

/* Nodes 2 and 4 are of different groups: both are included and copy at the same time; the first one
 * that is started knows the other one, and that one hears of it. */
static void test_two_groups_at_once(void **state)
{
    (void)state;
    for (uint32_t first = 2; first <= 4; first += 2) {
        uint32_t last = 6 - first;
        rejoin_start(4, 2);
        fc_kill(fc_fc, 2);
        fc_kill(fc_fc, 4);
        fc_run(fc_fc, 200);
        come_back_slowly(2);
        come_back_slowly(4);
        fc_run(fc_fc, 500);
        assert_true(copies(2) && copies(4));
        assert_int_equal(node_mask_count(&rejoin_dict_at(1)->locked), 2);
        for (uint32_t id = 1; id <= 4; id++) {
            const struct cntr *cntr = rejoin_cntr_at(id);
            assert_int_equal(node_mask_count(&cntr->rejoin.included), id % 2 == 0 ? 1 : 2);
            assert_int_equal(node_mask_count(&cntr->started), 2);
            assert_int_equal(node_mask_count(&rejoin_qmgr_at(id)->rejoin.newcomers), 2);
            bool later = id % 2 == 0 && cntr->rejoin.own_rank == 6;
            assert_int_equal(node_mask_count(&fake_tc(fc_fc, id, 1)->alive), later ? 3 : 4);
        }
        copied(first);
        fc_run(fc_fc, 300);
        assert_true(rejoin_is_started(first) && !rejoin_is_started(last) && copies(last));
        assert_int_equal(node_mask_count(&rejoin_dict_at(1)->locked), 1);
        for (uint32_t id = 1; id <= 4; id++) {
            assert_true(node_mask_has(&rejoin_cntr_at(id)->started, first));
            assert_true(node_mask_has(&rejoin_qmgr_at(id)->rejoin.newcomers, last));
            assert_false(node_mask_has(&rejoin_qmgr_at(id)->rejoin.newcomers, first));
        }
        copied(last);
        rejoin_run_until_started(4, 500);
        rejoin_check_whole(4);
        rejoin_again();
    }
}

/* Two of one group: the second one waits outside, where no failure concerns it. */
static void test_one_group_in_turn(void **state)
{
    (void)state;
    rejoin_start(3, 3);
    fc_kill(fc_fc, 2);
    fc_run(fc_fc, 100);
    fc_kill(fc_fc, 3);
    fc_run(fc_fc, 100);
    come_back_slowly(3);
    fc_run(fc_fc, 300);
    come_back_slowly(2);
    fc_run(fc_fc, 300);
    assert_true(copies(3));
    assert_int_equal(rejoin_cntr_at(2)->incarnation, 0);
    assert_int_equal(rejoin_qmgr_at(2)->join.first, 3);
    copied(3);
    fc_run(fc_fc, 500);
    assert_true(rejoin_is_started(3) && copies(2));
    assert_int_equal(rejoin_qmgr_at(2)->join.first, 0);
    copied(2);
    rejoin_run_until_started(3, 500);
    rejoin_check_whole(3);
}

/* Its loss came to the dictionary before the order to lock for it: the lock is not kept. */
static void test_lock_for_a_lost_node(void **state)
{
    (void)state;
    rejoin_start(4, 2);
    struct schema_lock_conf conf = {.sender_data = 9, .node = 4};
    node_mask_add(&rejoin_dict_at(1)->locked, 4);
    sig_send(&rejoin_dict_at(1)->block, block_ref(1, BLOCK_NDBCNTR, 0), GSN_SCHEMA_LOCK_CONF,
             PRIO_B, &conf);
    fc_run(fc_fc, 5);
    assert_true(node_mask_empty(&rejoin_dict_at(1)->locked));
}

/* One is started while the other one joins: after each step. */
static void test_one_is_started_while_another_joins(void **state)
{
    (void)state;
    bool done = false;
    for (uint32_t steps = 0; !done; steps += 3) {
        rejoin_start(4, 2);
        fc_kill(fc_fc, 2);
        fc_kill(fc_fc, 4);
        fc_run(fc_fc, 200);
        come_back_slowly(4);
        fc_run(fc_fc, 300);
        assert_true(copies(4));
        rejoin_make_node(2);
        rejoin_cursor = 0;
        for (uint32_t i = 0; i < steps; i++)
            rejoin_one_step(4);
        done = rejoin_is_started(2);
        copied(4);
        rejoin_run_until_started(4, 1000);
        assert_int_equal(rejoin_qmgr_at(1)->failure.number, rejoin_qmgr_at(2)->failure.number);
        rejoin_check_whole(4);
        rejoin_again();
    }
}

/* With survive = 0 nothing of this happens. */
static void test_without_the_switch(void **state)
{
    (void)state;
    rejoin_config = fake_config(4, 2);
    rejoin_config.tc_count = 1;
    rejoin_config.ldm_count = 1;
    rejoin_config.start_partial_timeout_ms = 50;
    for (uint32_t id = 1; id <= 3; id++)
        rejoin_make_node(id);
    fc_run(fc_fc, 1000);
    assert_true(rejoin_is_started(1) && rejoin_is_started(2) && rejoin_is_started(3));
    rejoin_make_node(4);
    fc_run(fc_fc, 3000);
    assert_false(rejoin_is_started(4));
}

/* A node that was away from the first start on. */
static void test_a_node_comes_late(void **state)
{
    (void)state;
    rejoin_config = fake_config(4, 2);
    rejoin_config.survive = 1;
    rejoin_config.tc_count = 1;
    rejoin_config.ldm_count = 1;
    rejoin_config.heartbeat_db_db_ms = HEARTBEAT_MS;
    rejoin_config.start_partial_timeout_ms = 50;
    for (uint32_t id = 1; id <= 3; id++)
        rejoin_make_node(id);
    fc_run(fc_fc, 1000);
    assert_true(rejoin_is_started(1) && rejoin_is_started(2) && rejoin_is_started(3));
    rejoin_make_node(4);
    rejoin_run_until_started(4, 3000);
    rejoin_check_whole(4);
}

/* What the former life left must have been dealt with everywhere. */
static void test_former_life_first(void **state)
{
    (void)state;
    for (uint32_t late = 2; late <= 3; late++) {
        rejoin_start(4, 2);
        fake_tc(fc_fc, late, 1)->hold_takeover = true;
        fc_kill(fc_fc, 1);
        fc_run(fc_fc, 60);
        rejoin_make_node(1);
        fc_run(fc_fc, 1500);
        assert_int_equal(rejoin_cntr_at(1)->incarnation, 0); /* No member. */
        assert_false(rejoin_is_started(1));
        struct takeover_end_rep rep = {.failure_no = rejoin_qmgr_at(late)->failure.number};
        sig_send(&fake_tc(fc_fc, late, 1)->block, block_ref(late, BLOCK_DBDIH, 0),
                 GSN_TAKEOVER_END_REP, PRIO_A, &rep);
        rejoin_run_until_started(4, 3000);
        rejoin_check_whole(4);
        rejoin_again();
    }
}

/* --- Somebody dies after each step. --- */

/* Node 4 of 4 comes back; 3 is in its group. */
static void test_death_after_each_step(void **state)
{
    (void)state;
    static const uint32_t victims[] = {4, 1, 2};
    for (uint32_t v = 0; v < 3; v++) {
        bool done = false;
        for (uint32_t steps = 0; !done; steps += 7) {
            rejoin_start(4, 2);
            fc_kill(fc_fc, 4);
            fc_run(fc_fc, 60);
            rejoin_make_node(4);
            fc_run(fc_fc, 1);
            rejoin_cursor = 0;
            for (uint32_t i = 0; i < steps; i++)
                rejoin_one_step(4);
            done = rejoin_is_started(4);
            uint32_t number = rejoin_qmgr_at(3)->failure.number;
            fc_kill(fc_fc, victims[v]);
            fc_run(fc_fc, 400);
            assert_true(rejoin_is_started(3)); /* N2 */
            if (victims[v] == 4) {
                assert_true(rejoin_is_started(1) && rejoin_is_started(2));
                assert_true(
                    node_mask_empty(&rejoin_dict_at(1)->locked)); /* Perhaps it never returns. */
            } else {
                assert_true(rejoin_is_started(3 - victims[v]));
                assert_int_equal(rejoin_qmgr_at(3)->failure.number > number, 1);
                if (fc_fc->node[4].dead)
                    assert_int_equal(fc_fc->node[4].exit_code, EXIT_OTHER_NODE_FAILED);
            }
            rejoin_all_come_back(4);
            rejoin_again();
        }
    }
}

/* Nodes 3 and 6 of two groups of three come back: one of them, the president, a source, or the
 * other group's second node dies. */
static void test_death_while_two_come_back(void **state)
{
    (void)state;
    static const uint32_t victims[] = {3, 6, 1, 2, 5};
    for (uint32_t v = 0; v < 5; v++) {
        bool done = false;
        for (uint32_t steps = v; !done; steps += 41) {
            rejoin_start(6, 3);
            fc_kill(fc_fc, 3);
            fc_kill(fc_fc, 6);
            fc_run(fc_fc, 60);
            rejoin_make_node(3);
            rejoin_make_node(6);
            fc_run(fc_fc, 1);
            rejoin_cursor = 0;
            for (uint32_t i = 0; i < steps; i++)
                rejoin_one_step(6);
            done = rejoin_is_started(3) && rejoin_is_started(6);
            fc_kill(fc_fc, victims[v]);
            fc_run(fc_fc, 400);
            for (uint32_t id = 1; id <= 6; id++) {
                if (id == victims[v]) continue;
                if (id % 3 != 0) assert_true(rejoin_is_started(id)); /* N2 */
                if (fc_fc->node[id].dead)
                    assert_int_equal(fc_fc->node[id].exit_code, EXIT_OTHER_NODE_FAILED);
            }
            rejoin_all_come_back(6);
            rejoin_again();
        }
    }
}

/* The last started node of the group of the node that starts: as without it, nobody goes on. */
static void test_the_source_dies(void **state)
{
    (void)state;
    rejoin_start(4, 2);
    fc_kill(fc_fc, 4);
    fc_run(fc_fc, 60);
    rejoin_make_node(4);
    rejoin_dict_at(4)->hold_copy = true;
    fc_run(fc_fc, 500);
    assert_int_equal(rejoin_cntr_at(4)->start.step, STEP_COPY);
    fc_kill(fc_fc, 3);
    fc_run(fc_fc, 500);
    assert_true(fc_fc->node[1].dead && fc_fc->node[2].dead && fc_fc->node[4].dead);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_ARBIT_SHUTDOWN);
    assert_int_equal(fc_fc->node[4].exit_code, EXIT_OTHER_NODE_FAILED);
}

/* A node that is not started counts nowhere: its end needs no arbitrator, and it never goes on. */
static void test_a_newcomer_has_no_vote(void **state)
{
    (void)state;
    for (uint32_t dies = 1; dies <= 2; dies++) {
        rejoin_start(2, 2);
        rejoin_config.arbitration = ARBITRATION_NONE;
        fc_kill(fc_fc, 2);
        fc_run(fc_fc, 60);
        rejoin_make_node(2);
        rejoin_dict_at(2)->hold_copy = true;
        fc_run(fc_fc, 500);
        assert_int_equal(rejoin_cntr_at(2)->start.step, STEP_COPY);
        /* Nobody may be asked any more. */
        for (uint32_t id = 1; id <= 2; id++)
            ((struct node_config *)(uintptr_t)block_config(&rejoin_qmgr_at(id)->block))
                ->arbitration = ARBITRATION_DEFAULT;
        fc_kill(fc_fc, dies);
        fc_run(fc_fc, 500);
        if (dies == 2) {
            assert_true(rejoin_is_started(1));
        } else {
            assert_true(fc_fc->node[2].dead);
            assert_int_equal(fc_fc->node[2].exit_code, EXIT_OTHER_NODE_FAILED);
        }
        rejoin_again();
    }
}

/* The link between two nodes breaks while the third starts: the newcomer leaves with them. */
static void test_links_break_at_random(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 2026);
    for (uint32_t turn = 0; turn < 150; turn++) {
        rejoin_start(4, 2);
        fc_kill(fc_fc, 4);
        fc_run(fc_fc, 60);
        rejoin_make_node(4);
        fc_run(fc_fc, 1);
        rejoin_cursor = 0;
        for (uint32_t i = (uint32_t)(rng_next(&rng) % 900); i > 0; i--)
            rejoin_one_step(4);
        uint32_t a = (uint32_t)(rng_next(&rng) % 4) + 1;
        uint32_t b = a % 4 + 1;
        fc_cut(fc_fc, a, b, true);
        for (uint32_t i = (uint32_t)(rng_next(&rng) % 300); i > 0; i--)
            rejoin_one_step(4);
        fc_cut(fc_fc, a, b, false);
        fc_run(fc_fc, 600);
        bool whole = rejoin_is_started(3) && (rejoin_is_started(1) || rejoin_is_started(2));
        bool ended = !fc_alive(fc_fc, 1) || !fc_alive(fc_fc, 2) || !fc_alive(fc_fc, 3);
        assert_true(whole || ended);
        if (whole) rejoin_all_come_back(4);
        rejoin_again();
    }
}

/* --- Whatever happens. --- */

/* Another started node of its group. */
static bool has_spare(uint32_t nodes, uint32_t id)
{
    for (uint32_t other = 1; other <= nodes; other++) {
        if (other != id &&
            rejoin_config.node[other].nodegroup == rejoin_config.node[id].nodegroup &&
            rejoin_is_started(other))
            return true;
    }
    return false;
}

/* Nothing arrives at it or from it; as if it hung, its links stay. */
static void stall(uint32_t id, bool stalled)
{
    for (uint32_t other = 1; other < FC_NODES; other++)
        fc_fc->link[id][other].stalled = fc_fc->link[other][id].stalled = stalled;
}

/* Who is lost and has no reason to be. */
static void only_with_reason(uint32_t nodes, uint32_t victim)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        if (!fc_fc->node[id].dead || fc_fc->node[id].exit_code == 0 || id == victim) continue;
        if (fc_fc->node[id].exit_code != EXIT_OTHER_NODE_FAILED)
            print_message("node %u: %u %s\n", id, fc_fc->node[id].exit_code,
                          fc_fc->node[id].failure);
        assert_int_equal(fc_fc->node[id].exit_code, EXIT_OTHER_NODE_FAILED);
    }
}

/* Nodes are killed, hang and come back, at any time, as long as each group keeps a started one; the
 * cluster goes on all the time, and in the end it is whole. */
static void test_random(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{2, 2}, {4, 2}, {3, 3}, {6, 2}, {4, 2}, {6, 3}};
    struct rng rng;
    rng_seed(&rng, getenv("SEED") != NULL ? (uint64_t)atoi(getenv("SEED")) : 31337u);
    for (uint32_t turn = 0; turn < 24; turn++) {
        uint32_t nodes = shapes[turn % 6][0];
        rejoin_start(nodes, shapes[turn % 6][1]);
        for (uint32_t event = 0; event < 25; event++) {
            uint32_t id = (uint32_t)(rng_next(&rng) % nodes) + 1;
            if (has_spare(nodes, id) && fc_alive(fc_fc, id)) {
                uint32_t there = 0;
                for (uint32_t other = 1; other <= nodes; other++)
                    there += rejoin_is_started(other);
                /* Halves both go on here. */
                bool hangs = rng_next(&rng) % 3 == 0 && there > 2;
                if (hangs)
                    stall(id, true);
                else
                    fc_kill(fc_fc, id);
                fc_run(fc_fc, hangs ? 400 : 1 + (uint32_t)(rng_next(&rng) % 60));
                if (hangs) {
                    stall(id, false);
                    fc_run(fc_fc, 300);
                    fc_kill(fc_fc, id); /* It has ended, or begins again. */
                }
                only_with_reason(nodes, id);
                fc_fc->node[id].exit_code = 0;
            }
            for (uint32_t dead = 1; dead <= nodes; dead++) {
                if (fc_fc->node[dead].dead && rng_next(&rng) % 2 == 0) rejoin_make_node(dead);
            }
            for (uint32_t i = rng_next(&rng) % 2 == 0 ? 0 : (uint32_t)(rng_next(&rng) % 900); i > 0;
                 i--)
                rejoin_one_step(nodes);
            fc_check(fc_fc);
        }
        rejoin_all_come_back(nodes);
        rejoin_again();
    }
}

/* --- A word is wrong. --- */

static uint32_t tamper_gsn;
/* Index of a word behind the head, the lengths of sections left out. */
static uint32_t tamper_word;
static uint32_t tampered;

static void tamper(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                   uint32_t count)
{
    (void)from;
    (void)to;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        uint32_t place = SIGNAL_HEAD_WORDS + tamper_word;
        if (kind_gsn(words[at]) != tamper_gsn) continue;
        if (tamper_word >= kind_words(words[at])) place += kind_sections(words[at]);
        if (place >= words[at + 3]) continue;
        words[at + place]++;
        tampered++;
        cluster->tamper = NULL;
        return;
    }
}

/* The node that comes back may have to begin again; the others do not suffer. */
static void test_wrong_words(void **state)
{
    (void)state;
    static const uint32_t gsns[] = {
        GSN_CM_REGREQ,        GSN_CM_REGCONF,     GSN_CM_NODEINFOREQ,  GSN_CM_ADD_REQ,
        GSN_CM_ADD_CONF,      GSN_CNTR_START_REQ, GSN_CNTR_START_CONF, GSN_CNTR_INCLUDE_REQ,
        GSN_CNTR_INCLUDE_ORD, GSN_CNTR_WAITREP,   GSN_CNTR_GOREP,
    };
    for (uint32_t i = 0; i < sizeof gsns / sizeof gsns[0]; i++) {
        tampered = 0;
        for (uint32_t word = 0; word <= tampered && word < 40; word++) {
            tamper_gsn = gsns[i];
            tamper_word = word;
            rejoin_start(4, 2);
            fc_kill(fc_fc, 4);
            fc_run(fc_fc, 60);
            rejoin_make_node(4);
            fc_fc->tamper = tamper;
            fc_run(fc_fc, 1500);
            fc_fc->tamper = NULL;
            for (uint32_t id = 1; id <= 3; id++) {
                if (!rejoin_is_started(id))
                    print_message("%s word %u: node %u %u %s\n", gsn_name(gsns[i]), word, id,
                                  fc_fc->node[id].exit_code, fc_fc->node[id].failure);
                assert_true(rejoin_is_started(id));
            }
            if (!rejoin_all_started(4))
                fc_kill(fc_fc, 4); /* It waits for an answer that does not come. */
            fc_run(fc_fc, 100);
            rejoin_all_come_back(4);
            rejoin_again();
        }
        assert_true(tampered > 1);
    }
}

/* --- Stop of one node. --- */

static void stop_node(uint32_t id)
{
    struct stop_req req = {.sender_data = 1};
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 5);
    fc_sig_send(fc_fc, MGM, block_ref(id, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
    fc_run(fc_fc, 5);
    assert_non_null(fc_take(fc_fc, MGM, GSN_STOP_CONF));
}

/* Node 1 has heard of nothing when the link to the next life of a dead node comes up: its QMGR
 * alone speaks over it, what others send there is for the former life and gets lost. */
static void test_a_link_to_the_next_life(void **state)
{
    (void)state;
    struct node_state_rep rep = {.start_level = START_STARTED};
    rejoin_start(4, 2);
    const struct block *worker = &fake_tc(fc_fc, 1, 1)->block;
    assert_false(peer_restricted(worker, 4));
    fc_kill(fc_fc, 4);
    fc_links(fc_fc);
    rejoin_make_node(4);
    for (uint32_t i = 0; i < 1000 && fc_fc->link[1][4].epoch == 0; i++) {
        fc_run_node(fc_fc, 4);
        fc_links(fc_fc);
    }
    assert_int_not_equal(fc_fc->link[1][4].epoch, 0);
    assert_true(peer_restricted(worker, 4));
    sig_send(&fake_tc(fc_fc, 1, 1)->block, block_ref(4, BLOCK_DBLQH, 1), GSN_NODE_STATE_REP, PRIO_A,
             &rep);
    fc_run_node(fc_fc, 1);
    const struct fc_link *link = &fc_fc->link[1][4];
    for (uint32_t at = 0; at < link->used; at += link->words[at + 3])
        assert_int_equal(ref_block(link->words[at + 1]), BLOCK_QMGR);
    rejoin_run_until_started(4, 3000);
    assert_false(peer_restricted(worker, 4)); /* It is a member like the others. */
    rejoin_check_whole(4);
    rejoin_again();
}

/* What the president says does not reach the joiner any more, but the link stays: the others do not
 * wait for it for ever, and it comes back later. */
static void test_a_join_takes_too_long(void **state)
{
    (void)state;
    fc_fc->watch = "its join takes too long";
    rejoin_start(4, 2);
    fc_kill(fc_fc, 4);
    fc_run(fc_fc, 200);
    rejoin_make_node(4);
    for (uint32_t i = 0; i < 200000 && rejoin_qmgr_at(1)->rejoin.adding == 0; i++)
        rejoin_one_step(4);
    assert_int_equal(rejoin_qmgr_at(1)->rejoin.adding, 4);
    fc_fc->link[1][4].stalled = true;
    fc_run(fc_fc, 9000);
    assert_int_equal(rejoin_qmgr_at(1)->rejoin.adding, 4);
    fc_run(fc_fc, 1500);
    assert_int_equal(fc_fc->node[1].watched, 1);
    fc_fc->link[1][4].stalled = false;
    for (uint32_t id = 1; id <= 3; id++)
        assert_true(rejoin_is_started(id));
    rejoin_all_come_back(4);
    rejoin_again();
}

/* Two nodes and no arbitrator: who stays knows that the other one has stopped. */
static void test_a_node_stops(void **state)
{
    (void)state;
    for (uint32_t stops = 1; stops <= 2; stops++) {
        rejoin_start(2, 2);
        for (uint32_t id = 1; id <= 2; id++)
            ((struct node_config *)(uintptr_t)block_config(&rejoin_qmgr_at(id)->block))
                ->arbitration = ARBITRATION_DEFAULT;
        stop_node(stops);
        for (uint32_t i = 0; i < 200 && !fc_fc->node[stops].stopped; i++)
            fc_run(fc_fc, 5);
        assert_true(fc_fc->node[stops].stopped);
        assert_int_equal(fake_tc(fc_fc, stops, 1)->drains, 1);
        fc_run(fc_fc, 200);
        assert_true(rejoin_is_started(3 - stops));
        assert_int_equal(rejoin_qmgr_at(3 - stops)->failure.number, 1);
        rejoin_make_node(stops);
        rejoin_run_until_started(2, 2000);
        rejoin_check_whole(2);
        rejoin_again();
    }
}

static void tell_stuck(uint32_t id)
{
    struct lcp_stuck_rep rep = {.error = 2810, .fill = 80};
    sig_send(&fake_tc(fc_fc, id, 1)->block, block_ref(id, BLOCK_NDBCNTR, 0), GSN_LCP_STUCK_REP,
             PRIO_B, &rep);
}

/* The disks of several nodes are full, and it comes to the same moment at those whose turn it is:
 * all but one go. */
static void test_stuck_at_once(void **state)
{
    (void)state;
    rejoin_start(3, 3);
    for (uint32_t id = 1; id <= 3; id++)
        tell_stuck(id);
    fc_run(fc_fc, 700);
    assert_true(fc_fc->node[1].dead && rejoin_is_started(2) && rejoin_is_started(3));
    tell_stuck(2);
    tell_stuck(3);
    fc_run(fc_fc, 1000);
    assert_true(fc_fc->node[2].dead && rejoin_is_started(3));
    assert_int_equal(fc_fc->node[2].exit_code, EXIT_LCP_STUCK);
    for (uint32_t i = 0; i < 20; i++) {
        tell_stuck(3);
        fc_run(fc_fc, 100);
    }
    assert_true(rejoin_is_started(3));
}

/* Two of three go together: the last one is not a part of the cluster that has lost the vote. */
static void test_stuck_together(void **state)
{
    (void)state;
    for (uint32_t late = 0; late <= 80; late += 20) {
        rejoin_start(3, 3);
        tell_stuck(2);
        fc_run(fc_fc, 700);
        fc_fc->link[3][1].stalled = fc_fc->link[3][2].stalled = late != 0;
        tell_stuck(2);
        fc_run(fc_fc, late / 2u);
        tell_stuck(1);
        fc_run(fc_fc, late - late / 2u);
        fc_fc->link[3][1].stalled = fc_fc->link[3][2].stalled = false;
        fc_run(fc_fc, 3000);
        assert_true(fc_fc->node[1].dead && fc_fc->node[2].dead && rejoin_is_started(3));
        assert_int_equal(fc_fc->node[1].exit_code, EXIT_LCP_STUCK);
        assert_int_equal(fc_fc->node[2].exit_code, EXIT_LCP_STUCK);
        rejoin_again();
    }
}

static void test_stuck_each_second(void **state)
{
    (void)state;
    for (uint32_t replicas = 2; replicas <= 4; replicas += 2) {
        rejoin_start(4, replicas);
        for (uint32_t second = 0; second < 6; second++) {
            for (uint32_t id = 1; id <= 4; id++) {
                if (rejoin_is_started(id)) tell_stuck(id);
            }
            fc_run(fc_fc, 1000);
        }
        assert_true(rejoin_is_started(4) && (replicas == 4 || rejoin_is_started(2)));
        rejoin_again();
    }
}

static void test_stuck_in_the_others_turn(void **state)
{
    (void)state;
    rejoin_start(2, 2);
    tell_stuck(2);
    fc_run(fc_fc, 1000);
    assert_true(rejoin_is_started(1) && rejoin_is_started(2));
    tell_stuck(1);
    tell_stuck(2);
    fc_run(fc_fc, 1000);
    assert_true(fc_fc->node[1].dead && rejoin_is_started(2));
    rejoin_make_node(1); /* Its permit was that of its former life. */
    rejoin_run_until_started(2, 2000);
    tell_stuck(2);
    fc_run(fc_fc, 6000);
    for (uint32_t i = 0; i < 20 && !fc_fc->node[2].dead; i++) {
        tell_stuck(2);
        fc_run(fc_fc, 50);
    }
    assert_true(fc_fc->node[2].dead && rejoin_is_started(1));
}

/* Neither node can write checkpoints, and its log fills up. One goes, the last one stays. */
static void test_stuck_checkpoints(void **state)
{
    (void)state;
    struct lcp_stuck_rep rep = {.error = 2810, .fill = 80};
    rejoin_start(2, 2);
    for (uint32_t i = 0; i < 40; i++) {
        for (uint32_t id = 1; id <= 2; id++) {
            if (rejoin_is_started(id))
                sig_send(&fake_tc(fc_fc, id, 1)->block, block_ref(id, BLOCK_NDBCNTR, 0),
                         GSN_LCP_STUCK_REP, PRIO_B, &rep);
        }
        fc_run(fc_fc, 50);
    }
    assert_true(fc_fc->node[1].dead);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_LCP_STUCK);
    assert_true(rejoin_is_started(2));
    rejoin_make_node(1);
    rejoin_run_until_started(2, 2000);
    rejoin_check_whole(2);
    for (uint32_t i = 0; i < 40; i++) { /* It began while it was alone: the next round tells. */
        rep.age_ms = 2001 + 50 * i;
        sig_send(&fake_tc(fc_fc, 2, 1)->block, block_ref(2, BLOCK_NDBCNTR, 0), GSN_LCP_STUCK_REP,
                 PRIO_B, &rep);
        fc_run(fc_fc, 50);
        assert_true(rejoin_is_started(1) && rejoin_is_started(2));
    }
    fc_run(fc_fc, 6000);
    rep.age_ms = 1000;
    for (uint32_t i = 0; i < 20 && !fc_fc->node[2].dead; i++) { /* Now it may: after its turn. */
        assert_true(i < 14);
        sig_send(&fake_tc(fc_fc, 2, 1)->block, block_ref(2, BLOCK_NDBCNTR, 0), GSN_LCP_STUCK_REP,
                 PRIO_B, &rep);
        fc_run(fc_fc, 50);
        assert_true(i > 8 || !fc_fc->node[2].dead);
    }
    assert_int_equal(fc_fc->node[2].exit_code, EXIT_LCP_STUCK);
    assert_true(rejoin_is_started(1));
}

int main(void)
{
    fc_first_client = 7;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_node_comes_back, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_all_nodes_in_turn, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_two_nodes_come_back, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_two_groups_at_once, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_group_in_turn, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_lock_for_a_lost_node, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_one_is_started_while_another_joins, fc_setup,
                                        fc_teardown),
        cmocka_unit_test_setup_teardown(test_without_the_switch, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_node_comes_late, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_former_life_first, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_death_after_each_step, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_death_while_two_come_back, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_the_source_dies, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_newcomer_has_no_vote, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_links_break_at_random, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_random, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_words, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_link_to_the_next_life, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_join_takes_too_long, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_a_node_stops, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_stuck_checkpoints, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_stuck_at_once, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_stuck_in_the_others_turn, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_stuck_together, fc_setup, fc_teardown),
        cmocka_unit_test_setup_teardown(test_stuck_each_second, fc_setup, fc_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
