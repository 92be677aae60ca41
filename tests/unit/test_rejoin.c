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
#include "blocks/ndbcntr/cntr_state.h"
#include "blocks/qmgr/qmgr_state.h"
#include "signals/errors.h"
#include "signals/management.h"
#include "signals/schema_trans.h"
#include "tests/unit/fake_fixture.h"

#define HEARTBEAT_MS 20u
#define MGM          8u

/* --- A dictionary that has what it is asked for. --- */

struct fake_dict {
    struct block block;
    uint32_t locked; /* For this node. */
    uint32_t locks;
    uint32_t restarts;
    uint32_t online;
    uint32_t copies;
    uint32_t nodes_lost;
    struct node_include_req include;
    struct node_include_rep included;
    bool hold_lock;
    bool hold_copy;
    uint32_t lock_data;
};

static struct fake_dict *dict_of(struct block *block)
{
    return (struct fake_dict *)(void *)block;
}

static void dict_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}
static void dict_exec_MEMBERS_REP(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
}
static void dict_exec_NODE_STATE_REP(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
}
static void dict_exec_API_FAILREQ(struct block *block, const struct signal *sig)
{
    const struct api_failreq *req = SIG_PAYLOAD(sig, api_failreq);
    struct api_failconf conf = {.sender_data = req->sender_data, .node = req->node};
    sig_send(block, sig->sender, GSN_API_FAILCONF, PRIO_B, &conf);
}
static void dict_exec_STTOR(struct block *block, const struct signal *sig)
{
    struct sttorry conf = {.sender_data = 0, .phase = SIG_PAYLOAD(sig, sttor)->phase};
    sig_send(block, sig->sender, GSN_STTORRY, PRIO_B, &conf);
}
static void dict_exec_SCHEMA_INFO_REQ(struct block *block, const struct signal *sig)
{
    struct schema_info_conf conf = {.sender_data = SIG_PAYLOAD(sig, schema_info_req)->sender_data};
    sig_send(block, sig->sender, GSN_SCHEMA_INFO_CONF, PRIO_A, &conf);
}
static void dict_exec_SCHEMA_RESTART_REQ(struct block *block, const struct signal *sig)
{
    const struct schema_restart_req *req = SIG_PAYLOAD(sig, schema_restart_req);
    struct schema_restart_conf conf = {.sender_data = req->sender_data};
    if (req->start_type == START_INITIAL_NODE_RESTART) dict_of(block)->restarts++;
    sig_send(block, sig->sender, GSN_SCHEMA_RESTART_CONF, PRIO_A, &conf);
}
static void dict_exec_SCHEMA_ONLINE_REQ(struct block *block, const struct signal *sig)
{
    struct schema_online_conf conf = {.sender_data =
                                          SIG_PAYLOAD(sig, schema_online_req)->sender_data};
    dict_of(block)->online++;
    sig_send(block, sig->sender, GSN_SCHEMA_ONLINE_CONF, PRIO_A, &conf);
}
static void dict_exec_SCHEMA_LOCK_REQ(struct block *block, const struct signal *sig)
{
    const struct schema_lock_req *req = SIG_PAYLOAD(sig, schema_lock_req);
    struct schema_lock_conf conf = {.sender_data = req->sender_data, .node = req->node};
    ndbrequire(dict_of(block)->locked == 0);
    dict_of(block)->locked = req->node;
    dict_of(block)->locks++;
    dict_of(block)->lock_data = req->sender_data;
    if (!dict_of(block)->hold_lock)
        sig_send(block, sig->sender, GSN_SCHEMA_LOCK_CONF, PRIO_B, &conf);
}
static void dict_exec_SCHEMA_UNLOCK_ORD(struct block *block, const struct signal *sig)
{
    ndbrequire(dict_of(block)->locked == SIG_PAYLOAD(sig, schema_unlock_ord)->node);
    dict_of(block)->locked = 0;
}
static void dict_exec_NODE_LOST_REP(struct block *block, const struct signal *sig)
{
    const struct node_lost_rep *rep = SIG_PAYLOAD(sig, node_lost_rep);
    dict_of(block)->nodes_lost = rep->failure_no;
    if (node_mask_has(&rep->nodes, dict_of(block)->locked)) dict_of(block)->locked = 0;
}
static void dict_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct node_include_conf conf = {.sender_data =
                                         SIG_PAYLOAD(sig, node_include_req)->sender_data};
    dict_of(block)->include = *SIG_PAYLOAD(sig, node_include_req);
    sig_send(block, sig->sender, GSN_NODE_INCLUDE_CONF, PRIO_B, &conf);
}
static void dict_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    dict_of(block)->included = *SIG_PAYLOAD(sig, node_include_rep);
}
static void dict_exec_COPY_START_REQ(struct block *block, const struct signal *sig)
{
    struct copy_start_conf conf = {.sender_data = SIG_PAYLOAD(sig, copy_start_req)->sender_data};
    struct copy_progress_rep rep = {.percent = 40, .left_s = 3};
    ndbrequire(dict_of(block)->include.node != 0 && dict_of(block)->online == 1);
    dict_of(block)->copies++;
    sig_send(block, sig->sender, GSN_COPY_PROGRESS_REP, PRIO_B, &rep);
    if (!dict_of(block)->hold_copy)
        sig_send(block, sig->sender, GSN_COPY_START_CONF, PRIO_B, &conf);
}

static const struct handler dict_handlers[] = {
    HANDLER(dict, READ_CONFIG_REQ, read_config_req),
    HANDLER(dict, MEMBERS_REP, members_rep),
    HANDLER(dict, NODE_STATE_REP, node_state_rep),
    HANDLER(dict, API_FAILREQ, api_failreq),
    HANDLER(dict, STTOR, sttor),
    HANDLER(dict, SCHEMA_INFO_REQ, schema_info_req),
    HANDLER(dict, SCHEMA_RESTART_REQ, schema_restart_req),
    HANDLER(dict, SCHEMA_ONLINE_REQ, schema_online_req),
    HANDLER(dict, SCHEMA_LOCK_REQ, schema_lock_req),
    HANDLER(dict, SCHEMA_UNLOCK_ORD, schema_unlock_ord),
    HANDLER(dict, NODE_LOST_REP, node_lost_rep),
    HANDLER(dict, NODE_INCLUDE_REQ, node_include_req),
    HANDLER(dict, NODE_INCLUDE_REP, node_include_rep),
    HANDLER(dict, COPY_START_REQ, copy_start_req),
};
static const struct block_type dict_type = {"DBDICT", BLOCK_DBDICT, dict_handlers,
                                            sizeof dict_handlers / sizeof dict_handlers[0], NULL};

/* --- Nodes. --- */

static struct node_config config;

static void make_node(uint32_t id)
{
    struct fc_node *at = &fc->node[id];
    if (at->node != NULL) node_destroy(at->node);
    at->dead = false;
    at->stopped = false;
    at->exit_code = 0;
    memset(at->allowed, 0, sizeof at->allowed);
    struct node *node = fc_create(fc, id, &config);
    struct thread *main_thread = node_thread(node, 0);
    struct thread *worker = node_thread(node, 1);
    cmvmi_create(main_thread, 0);
    qmgr_create(main_thread, 0);
    fs_create(main_thread, 0);
    cntr_create(main_thread, 0);
    dih_create(main_thread, 0);
    block_create(main_thread, &dict_type, 0, sizeof(struct fake_dict));
    block_create(worker, &fake_tc_type, 1, sizeof(struct fake_worker));
    block_create(worker, &fake_lqh_type, 1, sizeof(struct fake_worker));
}

static struct qmgr *qmgr_at(uint32_t id)
{
    return qmgr_of(node_block(fc->node[id].node, BLOCK_QMGR, 0));
}
static struct cntr *cntr_at(uint32_t id)
{
    return cntr_of(node_block(fc->node[id].node, BLOCK_NDBCNTR, 0));
}
static struct fake_dict *dict_at(uint32_t id)
{
    return dict_of(node_block(fc->node[id].node, BLOCK_DBDICT, 0));
}

static bool is_started(uint32_t id)
{
    return fc_alive(fc, id) && fake_tc(fc, id, 1)->level == START_STARTED;
}

static bool all_started(uint32_t nodes)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        if (!is_started(id)) return false;
        if (node_mask_count(&cntr_at(id)->started) != nodes) return false;
        if (node_mask_count(&qmgr_at(id)->join.members) != nodes) return false;
    }
    return true;
}

static void run_until_started(uint32_t nodes, uint32_t limit_ms)
{
    for (uint32_t i = 0; i < limit_ms / 5u && !all_started(nodes); i++)
        fc_run(fc, 5);
    for (uint32_t id = 1; id <= nodes; id++) {
        if (!is_started(id))
            print_message("node %u: dead %u code %u %s\n", id, fc->node[id].dead,
                          fc->node[id].exit_code, fc->node[id].failure);
    }
    assert_true(all_started(nodes));
    fc_check(fc);
}

static void start(uint32_t nodes, uint32_t replicas)
{
    config = fake_config(nodes, replicas);
    config.survive = 1;
    config.diskless = 1;
    config.tc_count = 1;
    config.ldm_count = 1;
    config.heartbeat_db_db_ms = HEARTBEAT_MS;
    config.arbitration = ARBITRATION_NONE;
    for (uint32_t id = 1; id <= nodes; id++)
        make_node(id);
    run_until_started(nodes, 1000);
}

static void again(void)
{
    fc_check(fc);
    fc_destroy(fc);
    fc_init(fc);
    fc->verbose = getenv("FC_VERBOSE") != NULL;
}

/* All that all nodes must agree on when nobody is lost. */
static void check_whole(uint32_t nodes)
{
    uint32_t number = qmgr_at(1)->failure.number;
    for (uint32_t id = 1; id <= nodes; id++) {
        const struct qmgr *qmgr = qmgr_at(id);
        const struct cntr *cntr = cntr_at(id);
        assert_int_equal(qmgr->failure.number, number);
        assert_int_equal(cntr->rejoin.failure_no, number);
        assert_int_equal(qmgr->join.president, qmgr_at(1)->join.president);
        assert_int_equal(cntr->president, qmgr->join.president);
        assert_true(node_mask_empty(&qmgr->rejoin.newcomers));
        assert_int_equal(qmgr->rejoin.adding, 0);
        assert_true(node_mask_empty(&cntr->rejoin.joined));
        assert_true(node_mask_empty(&cntr->rejoin.included));
        assert_int_equal(cntr->rejoin.node, 0);
        assert_int_equal(dict_at(id)->locked, 0);
        for (uint32_t other = 1; other <= nodes; other++) {
            assert_int_equal(cntr->rejoin.rank[other], cntr_at(1)->rejoin.rank[other]);
            assert_int_equal(qmgr->peer[other].dynamic_id, qmgr_at(1)->peer[other].dynamic_id);
        }
    }
}

/* --- It comes back. --- */

static void test_a_node_comes_back(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 4; nodes += 2) {
        for (uint32_t victim = 1; victim <= nodes; victim++) {
            start(nodes, 2);
            fc_kill(fc, victim);
            fc_run(fc, 100);
            make_node(victim);
            run_until_started(nodes, 2000);
            check_whole(nodes);
            uint32_t other = victim % nodes + 1;
            uint32_t rank = cntr_at(victim)->rejoin.rank[victim];
            assert_int_equal(rank, nodes + 1);
            assert_int_equal(dict_at(victim)->restarts, 1);
            assert_int_equal(dict_at(victim)->copies, 1);
            assert_int_equal(fake_lqh(fc, victim, 1)->include.node, victim);
            assert_int_equal(fake_lqh(fc, victim, 1)->include.failure_no, 1);
            assert_int_equal(node_mask_count(&fake_tc(fc, victim, 1)->include.alive), nodes - 1);
            assert_int_equal(fake_tc(fc, other, 1)->included.node, victim);
            assert_int_equal(fake_lqh(fc, other, 1)->included.rank, rank);
            assert_int_equal(node_mask_count(&dict_at(other)->included.alive), nodes);
            uint32_t epochs = fake_tc(fc, victim, 1)->epochs;
            fc_run(fc, 1000);
            assert_true(fake_tc(fc, victim, 1)->epochs > epochs);
            again();
        }
    }
}

/* Every node once, one after the other; what is oldest is president, who came last is last. */
static void test_all_nodes_in_turn(void **state)
{
    (void)state;
    start(4, 2);
    for (uint32_t round = 1; round <= 8; round++) {
        uint32_t victim = (round - 1) % 4 + 1;
        fc_kill(fc, victim);
        fc_run(fc, 60);
        make_node(victim);
        run_until_started(4, 2000);
        check_whole(4);
        assert_int_equal(qmgr_at(1)->failure.number, round);
        assert_int_equal(cntr_at(1)->rejoin.rank[victim], 4 + round);
        uint32_t oldest = 1;
        for (uint32_t id = 2; id <= 4; id++) {
            if (qmgr_at(1)->peer[id].dynamic_id < qmgr_at(1)->peer[oldest].dynamic_id) oldest = id;
        }
        assert_int_equal(qmgr_at(1)->join.president, oldest);
    }
}

static void test_two_nodes_come_back(void **state)
{
    (void)state;
    start(4, 2);
    fc_kill(fc, 1);
    fc_kill(fc, 4);
    fc_run(fc, 200);
    assert_true(is_started(2) && is_started(3));
    make_node(1);
    make_node(4);
    run_until_started(4, 3000);
    check_whole(4);
}

/* With survive = 0 nothing of this happens. */
static void test_without_the_switch(void **state)
{
    (void)state;
    config = fake_config(4, 2);
    config.tc_count = 1;
    config.ldm_count = 1;
    config.start_partial_timeout_ms = 50;
    for (uint32_t id = 1; id <= 3; id++)
        make_node(id);
    fc_run(fc, 1000);
    assert_true(is_started(1) && is_started(2) && is_started(3));
    make_node(4);
    fc_run(fc, 3000);
    assert_false(is_started(4));
}

/* A node that was away from the first start on. */
static void test_a_node_comes_late(void **state)
{
    (void)state;
    config = fake_config(4, 2);
    config.survive = 1;
    config.tc_count = 1;
    config.ldm_count = 1;
    config.heartbeat_db_db_ms = HEARTBEAT_MS;
    config.start_partial_timeout_ms = 50;
    for (uint32_t id = 1; id <= 3; id++)
        make_node(id);
    fc_run(fc, 1000);
    assert_true(is_started(1) && is_started(2) && is_started(3));
    make_node(4);
    run_until_started(4, 3000);
    check_whole(4);
}

/* What the former life left must have been dealt with everywhere. */
static void test_former_life_first(void **state)
{
    (void)state;
    for (uint32_t late = 2; late <= 3; late++) {
        start(4, 2);
        fake_tc(fc, late, 1)->hold_takeover = true;
        fc_kill(fc, 1);
        fc_run(fc, 60);
        make_node(1);
        fc_run(fc, 1500);
        assert_int_equal(cntr_at(1)->incarnation, 0); /* No member. */
        assert_false(is_started(1));
        struct takeover_end_rep rep = {.failure_no = qmgr_at(late)->failure.number};
        sig_send(&fake_tc(fc, late, 1)->block, block_ref(late, BLOCK_DBDIH, 0),
                 GSN_TAKEOVER_END_REP, PRIO_A, &rep);
        run_until_started(4, 3000);
        check_whole(4);
        again();
    }
}

/* --- Somebody dies after each step. --- */

static uint32_t cursor; /* Which step is next. */

static void one_step(uint32_t nodes)
{
    uint32_t all = nodes + nodes * nodes;
    uint32_t at = cursor++ % all;
    fc_links(fc);
    if (at < nodes)
        fc_run_node(fc, at + 1);
    else
        fc_deliver(fc, (at - nodes) / nodes + 1, (at - nodes) % nodes + 1);
    if (at == all - 1) fc->now++;
}

/* Whoever is dead comes back as a new process, until all are started. */
static void all_come_back(uint32_t nodes)
{
    for (uint32_t round = 0; round < 40 && !all_started(nodes); round++) {
        for (uint32_t id = 1; id <= nodes; id++) {
            if (fc->node[id].dead) make_node(id);
        }
        fc_run(fc, 200);
    }
    run_until_started(nodes, 5);
    check_whole(nodes);
}

/* Node 4 of 4 comes back; 3 is in its group. */
static void test_death_after_each_step(void **state)
{
    (void)state;
    static const uint32_t victims[] = {4, 1, 2};
    for (uint32_t v = 0; v < 3; v++) {
        bool done = false;
        for (uint32_t steps = 0; !done; steps += 7) {
            start(4, 2);
            fc_kill(fc, 4);
            fc_run(fc, 60);
            make_node(4);
            fc_run(fc, 1);
            cursor = 0;
            for (uint32_t i = 0; i < steps; i++)
                one_step(4);
            done = is_started(4);
            uint32_t number = qmgr_at(3)->failure.number;
            fc_kill(fc, victims[v]);
            fc_run(fc, 400);
            assert_true(is_started(3)); /* N2 */
            if (victims[v] == 4) {
                assert_true(is_started(1) && is_started(2));
            } else {
                assert_true(is_started(3 - victims[v]));
                assert_int_equal(qmgr_at(3)->failure.number > number, 1);
                if (fc->node[4].dead)
                    assert_int_equal(fc->node[4].exit_code, EXIT_OTHER_NODE_FAILED);
            }
            all_come_back(4);
            again();
        }
    }
}

/* The last started node of the group of the node that starts: as without it, nobody goes on. */
static void test_the_source_dies(void **state)
{
    (void)state;
    start(4, 2);
    fc_kill(fc, 4);
    fc_run(fc, 60);
    make_node(4);
    dict_at(4)->hold_copy = true;
    fc_run(fc, 500);
    assert_int_equal(cntr_at(4)->start.step, STEP_COPY);
    fc_kill(fc, 3);
    fc_run(fc, 500);
    assert_true(fc->node[1].dead && fc->node[2].dead && fc->node[4].dead);
    assert_int_equal(fc->node[1].exit_code, EXIT_ARBIT_SHUTDOWN);
    assert_int_equal(fc->node[4].exit_code, EXIT_OTHER_NODE_FAILED);
}

/* A node that is not started counts nowhere: its end needs no arbitrator, and it never goes on. */
static void test_a_newcomer_has_no_vote(void **state)
{
    (void)state;
    for (uint32_t dies = 1; dies <= 2; dies++) {
        start(2, 2);
        config.arbitration = ARBITRATION_NONE;
        fc_kill(fc, 2);
        fc_run(fc, 60);
        make_node(2);
        dict_at(2)->hold_copy = true;
        fc_run(fc, 500);
        assert_int_equal(cntr_at(2)->start.step, STEP_COPY);
        /* Nobody may be asked any more. */
        for (uint32_t id = 1; id <= 2; id++)
            ((struct node_config *)(uintptr_t)block_config(&qmgr_at(id)->block))->arbitration =
                ARBITRATION_DEFAULT;
        fc_kill(fc, dies);
        fc_run(fc, 500);
        if (dies == 2) {
            assert_true(is_started(1));
        } else {
            assert_true(fc->node[2].dead);
            assert_int_equal(fc->node[2].exit_code, EXIT_OTHER_NODE_FAILED);
        }
        again();
    }
}

/* The link between two nodes breaks while the third starts: the newcomer leaves with them. */
static void test_links_break_at_random(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 2026);
    for (uint32_t turn = 0; turn < 150; turn++) {
        start(4, 2);
        fc_kill(fc, 4);
        fc_run(fc, 60);
        make_node(4);
        fc_run(fc, 1);
        cursor = 0;
        for (uint32_t i = (uint32_t)(rng_next(&rng) % 900); i > 0; i--)
            one_step(4);
        uint32_t a = (uint32_t)(rng_next(&rng) % 4) + 1;
        uint32_t b = a % 4 + 1;
        fc_cut(fc, a, b, true);
        for (uint32_t i = (uint32_t)(rng_next(&rng) % 300); i > 0; i--)
            one_step(4);
        fc_cut(fc, a, b, false);
        fc_run(fc, 600);
        bool whole = is_started(3) && (is_started(1) || is_started(2));
        bool ended = !fc_alive(fc, 1) || !fc_alive(fc, 2) || !fc_alive(fc, 3);
        assert_true(whole || ended);
        if (whole) all_come_back(4);
        again();
    }
}

/* --- Stop of one node. --- */

static void stop_node(uint32_t id)
{
    struct stop_req req = {.sender_data = 1};
    fc_client(fc, MGM, true);
    fc_run(fc, 5);
    fc_sig_send(fc, MGM, block_ref(id, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
    fc_run(fc, 5);
    assert_non_null(fc_take(fc, MGM, GSN_STOP_CONF));
}

/* Two nodes and no arbitrator: who stays knows that the other one has stopped. */
static void test_a_node_stops(void **state)
{
    (void)state;
    for (uint32_t stops = 1; stops <= 2; stops++) {
        start(2, 2);
        for (uint32_t id = 1; id <= 2; id++)
            ((struct node_config *)(uintptr_t)block_config(&qmgr_at(id)->block))->arbitration =
                ARBITRATION_DEFAULT;
        stop_node(stops);
        for (uint32_t i = 0; i < 200 && !fc->node[stops].stopped; i++)
            fc_run(fc, 5);
        assert_true(fc->node[stops].stopped);
        assert_int_equal(fake_tc(fc, stops, 1)->drains, 1);
        fc_run(fc, 200);
        assert_true(is_started(3 - stops));
        assert_int_equal(qmgr_at(3 - stops)->failure.number, 1);
        make_node(stops);
        run_until_started(2, 2000);
        check_whole(2);
        again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_node_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_nodes_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_nodes_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_the_switch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_node_comes_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_former_life_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_death_after_each_step, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_source_dies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_newcomer_has_no_vote, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links_break_at_random, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_node_stops, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
