/* test_qmgr.c -- joining, starting, heartbeats, clients, and stopping, with 1 to 4 nodes in one
 * process. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/qmgr/qmgr_state.h"
#include "ndb/mgm.h"
#include "signals/cntr.h"
#include "values/errors.h"
#include "signals/event_log.h"
#include "signals/qmgr.h"
#include "tests/unit/support/fake_fixture.h"

#define API 6u
#define MGM 8u

static void start_nodes(uint32_t nodes, uint32_t replicas)
{
    struct node_config config = fake_config(nodes, replicas);
    for (uint32_t id = 1; id <= nodes; id++)
        fake_data_node(fc_fc, id, &config);
}

static uint32_t level_of(uint32_t node)
{
    return fake_tc(fc_fc, node, 1)->level;
}

static void assert_started(uint32_t nodes)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        assert_false(fc_fc->node[id].dead);
        assert_int_equal(level_of(id), START_STARTED);
        assert_int_equal(fake_tc(fc_fc, id, 2)->configured, 1);
        assert_int_equal(fake_lqh(fc_fc, id, 2)->configured, 1);
    }
}

static struct api_regconf registered(uint32_t client, uint32_t node)
{
    struct api_regreq req = {.sender_data = 77, .version = NDB_VERSION, .generation = 1};
    fc_sig_send(fc_fc, client, block_ref(node, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    fc_run(fc_fc, 2);
    const struct signal *sig = fc_take(fc_fc, client, GSN_API_REGCONF);
    assert_non_null(sig);
    return *SIG_PAYLOAD(sig, api_regconf);
}

static void test_one_node_starts(void **state)
{
    (void)state;
    start_nodes(1, 1);
    fc_run(fc_fc, 100);
    assert_started(1);
}

static void test_two_nodes_start_together(void **state)
{
    (void)state;
    uint32_t life = 0;
    start_nodes(2, 2);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 200);
    assert_started(2);
    for (uint32_t node = 1; node <= 2; node++) {
        struct api_regconf conf = registered(API, node);
        assert_int_equal(conf.sender_data, 77);
        assert_int_equal(conf.start_level, START_STARTED);
        assert_int_equal(conf.president, 1);
        assert_int_equal(conf.tc_count, 2);
        assert_int_equal(conf.failure_no, 0);
        assert_int_equal(node_mask_count(&conf.started), 2);
        assert_int_not_equal(conf.life, 0);
        if (node == 1) life = conf.life;
        assert_int_equal(conf.life, life);
    }
}

static void test_four_nodes_start_one_late(void **state)
{
    (void)state;
    struct node_config config = fake_config(4, 2);
    for (uint32_t id = 2; id <= 4; id++)
        fake_data_node(fc_fc, id, &config);
    fc_run(fc_fc, 2000);
    for (uint32_t id = 2; id <= 4; id++)
        assert_int_not_equal(level_of(id), START_STARTED);
    fake_data_node(fc_fc, 1, &config);
    fc_run(fc_fc, 1000);
    assert_started(4);
}

static void test_partial_start_needs_a_whole_group(void **state)
{
    (void)state;
    struct node_config config = fake_config(4, 2);
    config.start_partial_timeout_ms = 1000;
    fake_data_node(fc_fc, 1, &config);
    fake_data_node(fc_fc, 3, &config);
    fc_run(fc_fc,
           3000); /* Both groups are represented, but the others could be a cluster of their own. */
    assert_int_not_equal(level_of(1), START_STARTED);
    fake_data_node(fc_fc, 2, &config);
    fc_run(fc_fc, 2000);
    assert_int_equal(level_of(1), START_STARTED);
    assert_int_equal(level_of(2), START_STARTED);
    assert_int_equal(level_of(3), START_STARTED);
    fake_data_node(fc_fc, 4, &config); /* Too late: it waits, and harms nobody. */
    fc_run(fc_fc, 2000);
    assert_int_not_equal(level_of(4), START_STARTED);
    assert_int_equal(level_of(1), START_STARTED);
}

static void test_other_generation_is_refused(void **state)
{
    (void)state;
    struct node_config config = fake_config(2, 2);
    fake_data_node(fc_fc, 1, &config);
    config.fixed = 2;
    fake_data_node(fc_fc, 2, &config);
    fc_run(fc_fc, 2000);
    assert_int_not_equal(level_of(1), START_STARTED);
    assert_int_not_equal(level_of(2), START_STARTED);
    assert_false(fc_fc->node[1].dead || fc_fc->node[2].dead);
}

/* Whenever a link breaks before anyone is started, the nodes join anew, and the start succeeds in
 * the end. */
static void test_link_breaks_while_starting(void **state)
{
    (void)state;
    struct node_config config = fake_config(3, 1);
    for (uint32_t at = 0; at < 40; at++) {
        for (uint32_t id = 1; id <= 3; id++)
            fake_data_node(fc_fc, id, &config);
        fc_run(fc_fc, 1);
        uint32_t a = 1 + at % 3;
        uint32_t b = 1 + (at + 1) % 3;
        /* Fine-grained: single rounds of nodes and links until the cut. */
        for (uint32_t round = 0; round < at; round++) {
            fc_links(fc_fc);
            for (uint32_t id = 1; id <= 3; id++)
                fc_run_node(fc_fc, id);
            for (uint32_t from = 1; from <= 3; from++) {
                for (uint32_t to = 1; to <= 3; to++)
                    fc_deliver(fc_fc, from, to);
            }
        }
        bool anyone = level_of(1) == START_STARTED || level_of(2) == START_STARTED ||
                      level_of(3) == START_STARTED;
        fc_cut(fc_fc, a, b, true);
        fc_run(fc_fc, 1);
        fc_cut(fc_fc, a, b, false);
        fc_run(fc_fc, 5000);
        if (!anyone) assert_started(3);
        fc_check(fc_fc);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* The president has taken a node in, and what it says next does not arrive; the link stays. The
 * node starts over, and both start in the end. */
static void test_a_join_starts_over(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_fc->watch = "joining takes too long";
    uint32_t joiner = 0;
    for (uint32_t i = 0; i < 5000 && joiner == 0; i++) {
        uint32_t from = 1 + i % 2;
        fc_links(fc_fc);
        fc_run_node(fc_fc, from);
        fc_deliver(fc_fc, from, 3 - from);
        if (i % 20 == 19) fc_fc->now++;
        for (uint32_t id = 1; id <= 2; id++) {
            if (qmgr_of(node_block(fc_fc->node[id].node, BLOCK_QMGR, 0))->join.state ==
                JOIN_JOINING)
                joiner = id;
        }
    }
    assert_int_not_equal(joiner, 0);
    fc_fc->link[3 - joiner][joiner].stalled = true;
    fc_run(fc_fc, JOIN_TIMEOUT_MS - 500);
    assert_int_equal(fc_fc->node[joiner].watched, 0);
    fc_run(fc_fc, 1000);
    assert_int_equal(fc_fc->node[joiner].watched, 1);
    assert_int_not_equal(level_of(joiner), START_STARTED);
    fc_fc->link[3 - joiner][joiner].stalled = false;
    fc_run(fc_fc, 6000);
    assert_started(2);
}

/* What the president answers to node 2 is on its way for long, behind words of a former incarnation
 * with which node 2 has begun anew: it takes no answer to its former try. */
static void test_a_joiner_takes_no_late_answer(void **state)
{
    (void)state;
    start_nodes(2, 2);
    const struct qmgr *president = qmgr_of(node_block(fc_fc->node[1].node, BLOCK_QMGR, 0));
    struct qmgr *joiner = qmgr_of(node_block(fc_fc->node[2].node, BLOCK_QMGR, 0));
    for (uint32_t i = 0; i < 5000 && president->president.joiner != 2; i++) {
        fc_links(fc_fc);
        fc_run_node(fc_fc, 1 + i % 2);
        fc_deliver(fc_fc, 1 + i % 2, 2 - i % 2);
        if (i % 20 == 19) fc_fc->now++;
    }
    assert_int_equal(president->president.joiner, 2);
    assert_int_equal(joiner->join.state, JOIN_ELECTION);
    joiner->join.attempt++; /* As CM_LEAVE_REP of the former incarnation makes it. */
    fc_run(fc_fc, 6000);
    assert_started(2);
}

static void test_start_with_random_cuts(void **state)
{
    (void)state;
    struct node_config config = fake_config(4, 2);
    struct rng rng;
    rng_seed(&rng, 4711);
    uint32_t started = 0;
    for (uint32_t turn = 0; turn < 30; turn++) {
        fc_fc->seed = turn * 100;
        for (uint32_t id = 1; id <= 4; id++)
            fake_data_node(fc_fc, id, &config);
        for (uint32_t i = 0; i < 60; i++) {
            fc_links(fc_fc);
            uint32_t id = 1 + (uint32_t)(rng_next(&rng) % 4);
            fc_run_node(fc_fc, id);
            fc_deliver(fc_fc, 1 + (uint32_t)(rng_next(&rng) % 4), id);
            if (i % 10 == 0) fc_fc->now += 7;
            if (i % 20 == 9) fc_cut(fc_fc, id, 1 + id % 4, true);
            if (i % 20 == 15) fc_cut(fc_fc, id, 1 + id % 4, false);
        }
        for (uint32_t a = 1; a <= 4; a++) {
            for (uint32_t b = a + 1; b <= 4; b++)
                fc_cut(fc_fc, a, b, false);
        }
        fc_run(fc_fc, 6000);
        bool dead = fc_fc->node[1].dead || fc_fc->node[2].dead || fc_fc->node[3].dead ||
                    fc_fc->node[4].dead;
        if (!dead) {
            assert_started(4);
            started++;
        }
        fc_check(fc_fc);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
    assert_true(started > 20);
}

/* Two nodes are lost one after the other at any moment of a start: the others may have to end,
 * since some are started, or join anew; nothing that was begun before meets what comes after. */
static void test_two_are_lost_in_a_start(void **state)
{
    (void)state;
    struct node_config config = fake_config(4, 2);
    struct rng rng;
    rng_seed(&rng, 815);
    uint32_t again = 0;
    for (uint32_t turn = 0; turn < 400; turn++) {
        uint32_t lost_at = turn * 4u, gap = (uint32_t)(rng_next(&rng) % 30u);
        for (uint32_t id = 1; id <= 4; id++)
            fake_data_node(fc_fc, id, &config);
        fc_run(fc_fc, 40); /* The first ones have joined. */
        for (uint32_t i = 0; i < lost_at + gap + 60u; i++) {
            if (i == lost_at) fc_kill(fc_fc, 3);
            if (i == lost_at + gap) fc_kill(fc_fc, 4);
            fc_links(fc_fc);
            fc_run_node(fc_fc, 1 + (uint32_t)(rng_next(&rng) % 4));
            fc_deliver(fc_fc, 1 + (uint32_t)(rng_next(&rng) % 4),
                       1 + (uint32_t)(rng_next(&rng) % 4));
            if (i % 16 == 0) fc_fc->now++;
        }
        fc_run(fc_fc, 500);
        for (uint32_t id = 1; id <= 2; id++)
            if (fc_fc->node[id].dead && fc_fc->node[id].exit_code != EXIT_OTHER_NODE_FAILED)
                assert_int_equal(fc_fc->node[id].exit_code, EXIT_ARBIT_SHUTDOWN);
        if (fc_alive(fc_fc, 1) && fc_alive(fc_fc, 2)) {
            for (uint32_t id = 3; id <= 4; id++) {
                node_destroy(fc_fc->node[id].node);
                fc_fc->node[id].node = NULL;
                fc_fc->node[id].dead = false;
                memset(fc_fc->node[id].allowed, 0, sizeof fc_fc->node[id].allowed);
                fake_data_node(fc_fc, id, &config);
            }
            fc_run(fc_fc, 6000);
            assert_started(4);
            again++;
        }
        fc_check(fc_fc);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
    assert_true(again > 20);
}

/* --- A peer that is wrong. --- */

static uint32_t forged_gsn;
static uint32_t forged_word;
static uint32_t forged_value;
static uint32_t forged_left; /* How many come before it. */

static void forge(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                  uint32_t count)
{
    (void)from;
    (void)to;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (kind_gsn(words[at]) != forged_gsn || forged_left-- > 0) continue;
        words[at + SIGNAL_HEAD_WORDS + forged_word] = forged_value;
        cluster->tamper = NULL;
        return;
    }
}

/* A place in the ring that is none, is taken, or is not what another said: all join anew. */
static void test_forged_place_in_the_ring(void **state)
{
    (void)state;
    static const struct {
        uint32_t gsn, word;
    } places[] = {
        {GSN_CM_REGCONF, 3},
        {GSN_CM_NODEINFOREQ, 1},
        {GSN_CM_NODEINFOCONF, 1},
        {GSN_CM_ADD_REQ, 3},
    };
    struct node_config config = fake_config(3, 1);
    config.heartbeat_db_db_ms = 50; /* A ring that is wrong would end soon. */
    for (uint32_t i = 0; i < 4 * 4 * 6; i++) {
        forged_gsn = places[i / 24].gsn;
        forged_word = places[i / 24].word;
        forged_value = i / 6 % 4; /* 0, and the three that are taken or will be. */
        forged_left = i % 6;
        fc_fc->tamper = forge;
        for (uint32_t id = 1; id <= 3; id++)
            fake_data_node(fc_fc, id, &config);
        fc_run(fc_fc, 1000);
        assert_started(3);
        fc_check(fc_fc);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

static void test_lost_link_stops_a_started_cluster(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    assert_started(2);
    struct event_subscribe_req subscribe = {.sender_data = 1};
    for (uint32_t i = 0; i < EVENT_CATEGORIES; i++)
        subscribe.level[i] = 15;
    fc_sig_send(fc_fc, MGM, block_ref(1, BLOCK_CMVMI, 0), GSN_EVENT_SUBSCRIBE_REQ, &subscribe);
    fc_run(fc_fc, 5);
    fc_cut(fc_fc, 1, 2, true);
    fc_run(fc_fc, 500);
    assert_true(fc_fc->node[1].dead && fc_fc->node[2].dead);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_ARBIT_SHUTDOWN);
    assert_int_equal(fc_fc->node[2].exit_code, EXIT_ARBIT_SHUTDOWN);
    bool told = false;
    const struct signal *sig;
    while ((sig = fc_take(fc_fc, MGM, GSN_EVENT_REP)) != NULL) {
        const struct event_rep *rep = SIG_PAYLOAD(sig, event_rep);
        if (rep->type == EVENT_NODE_FAILREP && rep->data[0] == 2 && rep->node == 1) told = true;
    }
    assert_true(told);
}

static void test_missed_heartbeats_stop_a_started_cluster(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_run(fc_fc, 200);
    assert_started(2);
    fc_run(fc_fc, 2000); /* With heartbeats nothing happens. */
    assert_started(2);
    fc_fc->link[2][1].stalled = true; /* Node 2 is silent, the link stays. */
    fc_run(fc_fc, 350);
    assert_false(fc_fc->node[1].dead);
    fc_run(fc_fc, 400);
    assert_true(fc_fc->node[1].dead);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_ARBIT_SHUTDOWN);
}

static void test_error_insert_940_stops_heartbeats(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    struct dump_state_ord dump = {.count = 3, .data = {9000, BLOCK_QMGR, 940}};
    fc_sig_send(fc_fc, MGM, block_ref(2, BLOCK_CMVMI, 0), GSN_DUMP_STATE_ORD, &dump);
    fc_run(fc_fc, 1000);
    assert_true(fc_fc->node[1].dead);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_ARBIT_SHUTDOWN);
}

/* --- Clients. --- */

static void test_client_fails_and_comes_back(void **state)
{
    (void)state;
    start_nodes(1, 1);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 100);
    registered(API, 1);
    fake_tc(fc_fc, 1, 2)->hold = true;
    fc_client(fc_fc, API, false);
    fc_run(fc_fc, 5);
    assert_int_equal(fake_tc(fc_fc, 1, 1)->api_failed, API);
    assert_int_equal(fake_tc(fc_fc, 1, 2)->api_failed, API);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 20);
    assert_int_equal(fc_fc->link[API][1].epoch, 0); /* Not before TC 2 has cleaned up. */
    fake_tc(fc_fc, 1, 2)->hold = false;
    struct api_failconf conf = {.sender_data = API, .node = API};
    struct block *tc = &fake_tc(fc_fc, 1, 2)->block;
    sig_send(tc, block_ref(1, BLOCK_QMGR, 0), GSN_API_FAILCONF, PRIO_B, &conf);
    fc_run(fc_fc, 20);
    assert_int_not_equal(fc_fc->link[API][1].epoch, 0);
    registered(API, 1);
}

static void test_silent_client_is_cut_off(void **state)
{
    (void)state;
    start_nodes(1, 1);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 100);
    registered(API, 1);
    for (uint32_t i = 0; i < 10; i++) {
        fc_run(fc_fc, 90);
        registered(API, 1);
    }
    uint32_t epoch = fc_fc->link[API][1].epoch;
    fc_run(fc_fc, 300);
    assert_int_equal(fc_fc->link[API][1].epoch, epoch);
    assert_int_equal(fake_tc(fc_fc, 1, 1)->api_failed, 0);
    fc_run(fc_fc, 400);
    assert_int_equal(fake_tc(fc_fc, 1, 1)->api_failed, API);
    assert_int_not_equal(fc_fc->link[API][1].epoch, epoch);
}

/* A client on a busy host: who has been late by so much may be late by more. One that goes on being
 * silent is cut off. */
static void test_starved_client_is_not_cut_off(void **state)
{
    (void)state;
    static const uint32_t gaps[] = {90, 250, 350, 700, 1100, 1300, 1000};
    start_nodes(1, 1);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 100);
    registered(API, 1);
    uint32_t epoch = fc_fc->link[API][1].epoch;
    for (uint32_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        fc_run(fc_fc, gaps[i]);
        registered(API, 1);
        assert_int_equal(fc_fc->link[API][1].epoch, epoch);
        assert_int_equal(fake_tc(fc_fc, 1, 1)->api_failed, 0);
    }
    fc_run(fc_fc, 1700);
    assert_int_equal(fake_tc(fc_fc, 1, 1)->api_failed, API);
}

/* A node that was not run has read nothing: what came meanwhile is read before clients are judged.
 */
static void test_starved_node_cuts_nobody_off(void **state)
{
    (void)state;
    start_nodes(1, 1);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 100);
    registered(API, 1);
    uint32_t epoch = fc_fc->link[API][1].epoch;
    for (uint32_t i = 0; i < 5; i++) {
        fc_fc->now += 3000;
        fc_run(fc_fc, 2);
        registered(API, 1);
        assert_int_equal(fc_fc->link[API][1].epoch, epoch);
        assert_int_equal(fake_tc(fc_fc, 1, 1)->api_failed, 0);
    }
}

static void test_refused_registrations(void **state)
{
    (void)state;
    start_nodes(1, 1);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 100);
    struct api_regreq req = {.sender_data = 5, .version = 0x990000, .generation = 1};
    fc_sig_send(fc_fc, API, block_ref(1, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    fc_run(fc_fc, 2);
    const struct signal *sig = fc_take(fc_fc, API, GSN_API_REGREF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, api_regref)->sender_data, 5);
    assert_int_not_equal(SIG_PAYLOAD(sig, api_regref)->error, 0);
}

/* What a client may not send ends its link, not the node. */
static void test_forbidden_signals_close_the_link(void **state)
{
    (void)state;
    start_nodes(1, 1);
    static const uint32_t forbidden[] = {
        GSN_CM_REGREQ,  GSN_CM_ADD_REQ,   GSN_NODE_FAILREP,  GSN_STOP_REQ,
        GSN_TAMPER_ORD, GSN_API_FAILCONF, GSN_LINK_DOWN_REP, 999};
    for (uint32_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
        for (uint32_t block_no = BLOCK_CMVMI; block_no <= BLOCK_DBDICT; block_no++) {
            uint32_t words[25] = {0};
            fc_client(fc_fc, API, true);
            fc_run(fc_fc, 60);
            uint32_t epoch = fc_fc->link[API][1].epoch;
            assert_int_not_equal(epoch, 0);
            fc_send(fc_fc, API, block_ref(1, block_no, 0), forbidden[i], words, 25, NULL, 0);
            fc_run(fc_fc, 2);
            assert_int_not_equal(fc_fc->link[API][1].epoch, epoch);
            assert_false(fc_fc->node[1].dead);
        }
    }
}

/* --- Stopping. --- */

static uint32_t order_stop(uint32_t node, uint32_t flags)
{
    struct stop_req req = {.sender_data = 9, .flags = flags};
    fc_sig_send(fc_fc, MGM, block_ref(node, BLOCK_CMVMI, 0), GSN_STOP_REQ, &req);
    fc_run(fc_fc, 3);
    const struct signal *sig = fc_take(fc_fc, MGM, GSN_STOP_CONF);
    if (sig != NULL) return 0;
    sig = fc_take(fc_fc, MGM, GSN_STOP_REF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, stop_ref)->sender_data, 9);
    return SIG_PAYLOAD(sig, stop_ref)->error;
}

static void test_single_stop_is_refused(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    assert_int_equal(order_stop(1, 0), ERR_MGM_WOULD_STOP_CLUSTER);
    assert_int_equal(order_stop(2, STOP_RESTART), ERR_MGM_WOULD_STOP_CLUSTER);
    fc_run(fc_fc, 500);
    assert_started(2);
}

static void test_system_stop(void **state)
{
    (void)state;
    start_nodes(4, 2);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    fake_tc(fc_fc, 3, 1)->hold = true; /* A transaction that runs on. */
    for (uint32_t id = 1; id <= 4; id++)
        assert_int_equal(order_stop(id, STOP_SYSTEM | STOP_RESTART | STOP_NO_START), 0);
    fc_run(fc_fc, 1000);
    for (uint32_t id = 1; id <= 4; id++) {
        assert_false(fc_fc->node[id].stopped); /* Nobody leaves before the transaction has ended. */
        assert_int_equal(fake_tc(fc_fc, id, 1)->drains, 1);
        assert_true(level_of(id) > START_STARTED);
    }
    struct tc_drain_conf conf = {0};
    struct block *tc = &fake_tc(fc_fc, 3, 1)->block;
    sig_send(tc, block_ref(3, BLOCK_NDBCNTR, 0), GSN_TC_DRAIN_CONF, PRIO_B, &conf);
    fc_run(fc_fc, 500);
    for (uint32_t id = 1; id <= 4; id++) {
        assert_true(fc_fc->node[id].stopped);
        assert_false(fc_fc->node[id].dead);
        assert_int_equal(fc_fc->node[id].stop_flags & STOP_RESTART, STOP_RESTART);
    }
}

static void test_system_stop_spreads_and_is_bounded(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    fake_tc(fc_fc, 2, 1)->hold = true;
    assert_int_equal(order_stop(1, STOP_SYSTEM), 0); /* The order to node 2 is lost. */
    fc_run(fc_fc, 20000);
    assert_true(fc_fc->node[1].stopped && fc_fc->node[2].stopped);
    assert_false(fc_fc->node[1].dead || fc_fc->node[2].dead);
}

static void test_forced_stop_ends_the_others(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    assert_int_equal(order_stop(2, STOP_FORCE | STOP_ABORT), 0);
    fc_run(fc_fc, 1000);
    assert_true(fc_fc->node[2].stopped);
    assert_int_equal(fc_fc->node[1].exit_code, EXIT_ARBIT_SHUTDOWN);
}

static void test_no_start_waits_for_order(void **state)
{
    (void)state;
    struct node_config config = fake_config(1, 1);
    config.no_start = 1;
    fake_data_node(fc_fc, 1, &config);
    fc_client(fc_fc, MGM, true);
    fc_client(fc_fc, API, true);
    fc_run(fc_fc, 300);
    assert_int_equal(level_of(1), START_CMVMI);
    assert_int_equal(fc_fc->link[API][1].epoch, 0); /* Management servers only. */
    struct start_ord ord = {0};
    fc_sig_send(fc_fc, MGM, block_ref(1, BLOCK_CMVMI, 0), GSN_START_ORD, &ord);
    fc_run(fc_fc, 100);
    assert_started(1);
}

/* --- Management. --- */

static void test_status_memory_events(void **state)
{
    (void)state;
    start_nodes(2, 2);
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    uint32_t cmvmi = block_ref(2, BLOCK_CMVMI, 0);

    struct node_status_req status = {.sender_data = 3};
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_NODE_STATUS_REQ, &status);
    struct memory_report_req memory = {.sender_data = 4};
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_MEMORY_REPORT_REQ, &memory);
    struct disk_report_req disk = {.sender_data = 5};
    for (uint32_t i = 0; i < 10; i++) { /* More than wait at a time. */
        fc_sig_send(fc_fc, MGM, cmvmi, GSN_DISK_REPORT_REQ, &disk);
    }
    struct thread_report_req threads = {.sender_data = 6};
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_THREAD_REPORT_REQ, &threads);
    fc_run(fc_fc, 3);
    const struct signal *uses = fc_take(fc_fc, MGM, GSN_THREAD_REPORT_CONF);
    assert_non_null(uses); /* This host has no threads of an operating system. */
    assert_int_equal(uses->section_count, 0);
    assert_int_equal(SIG_PAYLOAD(uses, thread_report_conf)->sender_data, 6);
    assert_int_equal(SIG_PAYLOAD(uses, thread_report_conf)->threads, 0);
    for (uint32_t i = 0; i < 10; i++) {
        const struct signal *report = fc_take(fc_fc, MGM, GSN_DISK_REPORT_CONF);
        assert_non_null(report);
        assert_int_equal(report->section_count, 0);
        assert_int_equal(SIG_PAYLOAD(report, disk_report_conf)->sender_data, 5);
        assert_int_equal(SIG_PAYLOAD(report, disk_report_conf)->diskless, 1);
        assert_int_equal(SIG_PAYLOAD(report, disk_report_conf)->parts, 0);
        assert_int_equal(SIG_PAYLOAD(report, disk_report_conf)->last_id, 0);
    }
    const struct signal *sig = fc_take(fc_fc, MGM, GSN_NODE_STATUS_CONF);
    assert_non_null(sig);
    const struct node_status_conf *conf = SIG_PAYLOAD(sig, node_status_conf);
    assert_int_equal(conf->sender_data, 3);
    assert_int_equal(conf->start_level, START_STARTED);
    assert_int_equal(conf->start_phase, 101);
    assert_int_equal(conf->president, 1);
    assert_int_equal(conf->dynamic_id, 2);
    assert_true(node_mask_has(&conf->connected, MGM));
    assert_false(node_mask_has(&conf->connected, 1));

    sig = fc_take(fc_fc, MGM, GSN_MEMORY_REPORT_CONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, memory_report_conf)->groups, RG_COUNT);
    assert_int_equal(sig->section[0].size, RG_COUNT * 5 + 2);
    assert_int_equal(sig->section[0].words[RG_DATA * 5 + 1], 64); /* Pages at most. */

    /* A listener that comes late still learns of the whole start, in order, and once. */
    struct event_subscribe_req subscribe = {.sender_data = 1};
    for (uint32_t i = 0; i < EVENT_CATEGORIES; i++)
        subscribe.level[i] = 7;
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_EVENT_SUBSCRIBE_REQ, &subscribe);
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_EVENT_SUBSCRIBE_REQ, &subscribe);
    fc_run(fc_fc, 2);
    uint32_t started = 0, completed = 0, phases = 0, others = 0;
    while ((sig = fc_take(fc_fc, MGM, GSN_EVENT_REP)) != NULL) {
        const struct event_rep *rep = SIG_PAYLOAD(sig, event_rep);
        assert_int_equal(rep->node, 2);
        if (rep->type == EVENT_START_STARTED)
            started++;
        else if (rep->type == EVENT_START_PHASE_COMPLETED)
            phases++;
        else if (rep->type == EVENT_START_COMPLETED)
            completed++;
        else if (rep->type == EVENT_CONNECTED)
            fail_msg("below the threshold");
        else
            others++;
        if (completed) assert_int_equal(phases, 12);
    }
    assert_int_equal(started, 1);
    assert_int_equal(completed, 1);
    assert_int_equal(others, 1); /* CM_REGCONF */

    /* The same again for whoever asks for it, with its age. */
    struct event_log_req ask = {.sender_data = 77};
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_EVENT_LOG_REQ, &ask);
    fc_run(fc_fc, 2);
    uint32_t kept = 0;
    started = 0;
    while ((sig = fc_take(fc_fc, MGM, GSN_EVENT_LOG_REP)) != NULL) {
        const struct event_log_rep *rep = SIG_PAYLOAD(sig, event_log_rep);
        assert_int_equal(rep->sender_data, 77);
        assert_int_equal(rep->node, 2);
        if (rep->type == EVENT_START_STARTED) {
            started++;
            assert_true(rep->age_ms > 0);
        }
        kept++;
    }
    assert_int_equal(started, 1);
    sig = fc_take(fc_fc, MGM, GSN_EVENT_LOG_CONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, event_log_conf)->count, kept);
    assert_null(fc_take(fc_fc, MGM, GSN_EVENT_REP)); /* Nobody hears it twice. */

    struct dump_state_ord dump = {.count = 1, .data = {1000}};
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_DUMP_STATE_ORD, &dump);
    static const uint32_t codes[] = {1, 13, 16, 17, 1228, 2605, 424242, 9000};
    for (uint32_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct dump_state_ord any = {.count = 1, .data = {codes[i]}};
        fc_sig_send(fc_fc, MGM, cmvmi, GSN_DUMP_STATE_ORD, &any);
    }
    struct dump_state_ord bad = {.count = 0xFFFFFFFF};
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_DUMP_STATE_ORD, &bad);
    struct dump_state_ord no_block = {.count = 3, .data = {9000, 4000000, 1}};
    fc_sig_send(fc_fc, MGM, cmvmi, GSN_DUMP_STATE_ORD, &no_block);
    fc_run(fc_fc, 5);
    sig = fc_take(fc_fc, MGM, GSN_EVENT_REP);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, event_rep)->type, EVENT_MEMORY_USAGE);
    assert_int_equal(SIG_PAYLOAD(sig, event_rep)->data[4], 64);
    assert_started(2);
}

/* A category's events up to its level go to the node's own log: as configured (LogLevelStartup), or
 * as ordered since. */
static void test_events_in_the_own_log(void **state)
{
    (void)state;
    const uint32_t startup = NDB_MGM_CATEGORY_STARTUP - NDB_MGM_CATEGORY_FIRST;
    struct node_config config = fake_config(3, 3);
    fc_fc->watch = "Start phase "; /* Threshold 4. */
    for (uint32_t id = 1; id <= 3; id++) {
        memset(config.event_level, 0, sizeof config.event_level);
        config.event_level[startup] = id + 2;
        config.event_level[NDB_MGM_CATEGORY_INFO - NDB_MGM_CATEGORY_FIRST] = 15;
        fake_data_node(fc_fc, id, &config);
    }
    fc_client(fc_fc, MGM, true);
    fc_run(fc_fc, 200);
    assert_started(3);
    assert_int_equal(fc_fc->node[1].watched, 0);
    assert_int_equal(fc_fc->node[2].watched, 12);
    assert_int_equal(fc_fc->node[3].watched, 12);
    fc_fc->watch = "Node shutdown initiated"; /* Threshold 1. */
    struct set_loglevel_ord silent = {.category = NDB_MGM_CATEGORY_STARTUP, .level = 0};
    fc_sig_send(fc_fc, MGM, block_ref(2, BLOCK_CMVMI, 0), GSN_SET_LOGLEVEL_ORD, &silent);
    struct stop_req stop = {.flags = STOP_FORCE};
    for (uint32_t id = 1; id <= 2; id++)
        fc_sig_send(fc_fc, MGM, block_ref(id, BLOCK_CMVMI, 0), GSN_STOP_REQ, &stop);
    fc_run(fc_fc, 100);
    assert_int_equal(fc_fc->node[1].watched, 1);
    assert_int_equal(fc_fc->node[2].watched, 12);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fc_setup, fc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_one_node_starts),
        T(test_two_nodes_start_together),
        T(test_four_nodes_start_one_late),
        T(test_partial_start_needs_a_whole_group),
        T(test_other_generation_is_refused),
        T(test_link_breaks_while_starting),
        T(test_a_join_starts_over),
        T(test_two_are_lost_in_a_start),
        T(test_a_joiner_takes_no_late_answer),
        T(test_start_with_random_cuts),
        T(test_forged_place_in_the_ring),
        T(test_lost_link_stops_a_started_cluster),
        T(test_missed_heartbeats_stop_a_started_cluster),
        T(test_error_insert_940_stops_heartbeats),
        T(test_client_fails_and_comes_back),
        T(test_silent_client_is_cut_off),
        T(test_starved_client_is_not_cut_off),
        T(test_starved_node_cuts_nobody_off),
        T(test_refused_registrations),
        T(test_forbidden_signals_close_the_link),
        T(test_single_stop_is_refused),
        T(test_system_stop),
        T(test_system_stop_spreads_and_is_bounded),
        T(test_forced_stop_ends_the_others),
        T(test_no_start_waits_for_order),
        T(test_status_memory_events),
        T(test_events_in_the_own_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
