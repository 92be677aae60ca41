/* test_agreement.c -- words between the leader and the others that a run hardly ever brings: what
 * was missed, what tells a node that it is out, what cannot be. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/qmgr/partition_rule.h"
#include "blocks/qmgr/qmgr_state.h"
#include "tests/unit/support/fake_fixture.h"

#define NODES 4u

static struct qmgr *qmgr_at(uint32_t id)
{
    return qmgr_of(node_block(fc_fc->node[id].node, BLOCK_QMGR, 0));
}

static bool all_started(void)
{
    for (uint32_t id = 1; id <= NODES; id++) {
        if (fake_tc(fc_fc, id, 1)->level != START_STARTED) return false;
        if (node_mask_count(&qmgr_at(id)->started) != NODES) return false;
    }
    return true;
}

static void start(void)
{
    struct node_config config = fake_config(NODES, 2);
    for (uint32_t id = 1; id <= NODES; id++)
        config.node[id] = (struct config_node){.type = NODE_DATA, .nodegroup = (id - 1) / 2};
    config.thread_count = config.tc_count = config.ldm_count = 1;
    config.survive = 1;
    config.heartbeat_db_db_ms = 20;
    for (uint32_t id = 1; id <= NODES; id++)
        fake_data_node(fc_fc, id, &config);
    for (uint32_t i = 0; i < 300 && !all_started(); i++)
        fc_run(fc_fc, 5);
    assert_true(all_started());
}

/* 0 = the oldest, which leads. */
static uint32_t by_age(uint32_t rank)
{
    for (uint32_t id = 1; id <= NODES; id++) {
        uint32_t older = 0;
        for (uint32_t other = 1; other <= NODES; other++)
            older += qmgr_at(other)->join.dynamic_id < qmgr_at(id)->join.dynamic_id;
        if (older == rank) return id;
    }
    fail();
    return 0;
}

static void say(uint32_t from, uint32_t to, uint32_t gsn, const void *payload, uint32_t words)
{
    uint32_t text[SIGNAL_HEAD_WORDS + 25] = {
        signal_kind(gsn, words, 0, PRIO_A, 0), block_ref(to, BLOCK_QMGR, 0),
        block_ref(from, BLOCK_QMGR, 0), SIGNAL_HEAD_WORDS + words};
    memcpy(text + SIGNAL_HEAD_WORDS, payload, words * 4u);
    fc_append(fc_fc, from, to, text, SIGNAL_HEAD_WORDS + words);
}
#define SAY(from, to, gsn, payload) say(from, to, gsn, payload, sizeof(*(payload)) / 4u)

static struct node_mask only(uint32_t node)
{
    struct node_mask mask = {{0}};
    node_mask_add(&mask, node);
    return mask;
}

static struct fail_prepare prepare(uint32_t to, uint32_t ahead, uint32_t last, uint32_t leave)
{
    struct fail_prepare req = {.incarnation = qmgr_at(to)->join.incarnation,
                               .number = qmgr_at(to)->failure.number + ahead,
                               .attempt = 1,
                               .nodes = only(leave)};
    if (last != 0) req.last = only(last);
    return req;
}

/* --- At those that do not lead. --- */

static void test_a_missed_commit_comes_with_the_next_failure(void **state)
{
    (void)state;
    start();
    uint32_t leader = by_age(0), node = by_age(1), lost = by_age(2), lost_too = by_age(3);
    uint32_t before = qmgr_at(node)->failure.number;
    struct fail_prepare req = prepare(node, 2, lost, lost_too);
    node_mask_add(&req.nodes, lost);
    SAY(leader, node, GSN_FAIL_PREPARE, &req);
    fc_run(fc_fc, 1);
    assert_false(fc_fc->node[node].dead);
    assert_int_equal(qmgr_at(node)->failure.number, before + 1);
    assert_true(node_mask_has(&qmgr_at(node)->failure.fenced, lost_too) ||
                !node_mask_has(&qmgr_at(node)->join.members, lost_too));
    assert_false(node_mask_has(&qmgr_at(node)->join.members, lost));
}

static void test_what_cannot_be_missed(void **state)
{
    (void)state;
    start();
    uint32_t leader = by_age(0), node = by_age(1), lost = by_age(3);
    struct fail_prepare words[] = {
        prepare(node, 3, lost, lost),   /* Two missed: then it would have been fenced. */
        prepare(node, 2, 0, lost),      /* A failure of nobody. */
        prepare(node, 2, node, lost),   /* It has fenced us, and asks us. */
        prepare(node, 2, leader, lost), /* It has fenced itself. */
    };
    uint32_t before = qmgr_at(node)->failure.number;
    for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        SAY(leader, node, GSN_FAIL_PREPARE, &words[i]);
        fc_run(fc_fc, 2);
        assert_false(fc_fc->node[node].dead);
        assert_int_equal(qmgr_at(node)->failure.number, before);
        assert_true(node_mask_empty(&qmgr_at(node)->failure.fenced));
    }
}

static void test_who_is_told_that_it_is_out_stops(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        start();
        uint32_t leader = by_age(0), node = by_age(1);
        struct fail_prepare req = prepare(node, 1, 0, node);
        struct fail_commit commit = {.incarnation = req.incarnation,
                                     .number = req.number,
                                     .verdict = ARBIT_WIN_GROUPS,
                                     .nodes = only(node)};
        if (way == 0)
            SAY(leader, node, GSN_FAIL_PREPARE, &req);
        else
            SAY(leader, node, GSN_FAIL_COMMIT, &commit);
        fc_run(fc_fc, 5000);
        assert_true(fc_fc->node[node].dead);
        assert_int_equal(fc_fc->node[node].exit_code, EXIT_DECLARED_DEAD);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

/* --- At the leader: a node is dead, and the others have not answered yet. --- */

/* No answer is of this attempt: the leader waits. */
static void spoil_answers(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                          uint32_t used)
{
    (void)cluster;
    (void)from;
    (void)to;
    for (uint32_t at = 0; at < used; at += words[at + 3]) {
        struct fail_conf *conf = (struct fail_conf *)(void *)(words + at + SIGNAL_HEAD_WORDS);
        if (kind_gsn(words[at]) == GSN_FAIL_CONF) conf->attempt += 1000u;
    }
}

static uint32_t leading(uint32_t *other)
{
    start();
    uint32_t leader = by_age(0), lost = by_age(3);
    *other = by_age(1);
    fc_fc->tamper = spoil_answers;
    fc_kill(fc_fc, lost);
    for (uint32_t i = 0; i < 50 && !qmgr_at(leader)->failure.leads; i++)
        fc_run(fc_fc, 1);
    assert_true(qmgr_at(leader)->failure.leads);
    return leader;
}

static void refuse(uint32_t from, uint32_t leader, uint32_t cause, const struct node_mask *nodes)
{
    struct fail_ref ref = {.incarnation = qmgr_at(leader)->join.incarnation,
                           .number = qmgr_at(leader)->failure.number + 1u,
                           .attempt = qmgr_at(leader)->failure.attempt,
                           .cause = cause,
                           .nodes = *nodes};
    SAY(from, leader, GSN_FAIL_REF, &ref);
    fc_run(fc_fc, 1);
}

/* One word of one half: where half of the nodes asks nobody the receiver stops, lest both halves go
 * on. Where it asks, or where the sender's part is a smaller one, that word is not enough. */
static void test_the_first_word_of_a_half(void **state)
{
    (void)state;
    for (uint32_t method = ARBITRATION_NONE; method <= ARBITRATION_EXTERNAL; method++) {
        for (uint32_t way = 0; way < 2; way++) {
            start();
            for (uint32_t id = 1; id <= NODES; id++)
                ((struct node_config *)(uintptr_t)block_config(&qmgr_at(id)->block))->arbitration =
                    method;
            struct fail_out_rep out = {.incarnation = qmgr_at(3)->join.incarnation,
                                       .number = qmgr_at(3)->failure.number + 1u,
                                       .verdict = way ? ARBIT_PARTITIONING : ARBIT_LOSE_NODES};
            SAY(4, 3, GSN_FAIL_OUT_REP, &out);
            fc_run(fc_fc, 1);
            bool stops = qmgr_at(3)->failure.stopped != 0;
            assert_int_equal(stops, way != 0 && method != ARBITRATION_DEFAULT);
            fc_destroy(fc_fc);
            fc_init(fc_fc);
        }
    }
}

static void test_the_others_have_gone_on_without_the_leader(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        uint32_t other;
        uint32_t leader = leading(&other);
        struct node_mask nodes = way == 0 ? only(leader) : (struct node_mask){{0}};
        refuse(other, leader, FAIL_REF_COMMITTED, &nodes);
        fc_run(fc_fc, 5000);
        assert_true(fc_fc->node[leader].dead);
        assert_int_equal(fc_fc->node[leader].exit_code, EXIT_DECLARED_DEAD);
        fc_destroy(fc_fc);
        fc_init(fc_fc);
    }
}

static void test_who_has_fenced_the_leader_is_suspected(void **state)
{
    (void)state;
    uint32_t other;
    uint32_t leader = leading(&other);
    struct node_mask nodes = only(leader);
    refuse(other, leader, FAIL_REF_LARGER, &nodes);
    assert_false(node_mask_has(&qmgr_at(leader)->reach.fenced_by[other], leader));
    const struct node_mask *row = &qmgr_at(leader)->reach.map.row[leader];
    assert_false(node_mask_has(row, other));
}

static void test_an_unknown_refusal_changes_nothing(void **state)
{
    (void)state;
    uint32_t other;
    uint32_t leader = leading(&other);
    struct node_mask fenced = qmgr_at(leader)->failure.fenced;
    struct node_mask nodes = only(other);
    refuse(other, leader, 99, &nodes);
    assert_false(fc_fc->node[leader].dead);
    assert_true(node_mask_equal(&fenced, &qmgr_at(leader)->failure.fenced));
    fc_fc->tamper = NULL;
    fc_run(fc_fc, 100);
    assert_int_equal(node_mask_count(&qmgr_at(leader)->join.members), NODES - 1);
}

/* --- Nobody leads. --- */

static uint32_t silent_leader;

/* The leader's requests are of another incarnation: nobody takes them. */
static void spoil_requests(struct fake_cluster *cluster, uint32_t from, uint32_t to,
                           uint32_t *words, uint32_t used)
{
    (void)cluster;
    (void)to;
    for (uint32_t at = 0; at < used; at += words[at + 3]) {
        struct fail_prepare *req = (struct fail_prepare *)(void *)(words + at + SIGNAL_HEAD_WORDS);
        if (kind_gsn(words[at]) == GSN_FAIL_PREPARE && from == silent_leader)
            req->incarnation += 1000u;
    }
}

/* The oldest survivor lives, and does not lead: the next one does without it, and it stops. */
static void test_a_leader_that_does_not_lead(void **state)
{
    (void)state;
    start();
    for (uint32_t id = 1; id <= NODES; id++)
        ((struct node_config *)(uintptr_t)block_config(&qmgr_at(id)->block))->arbitration =
            ARBITRATION_NONE;
    uint32_t leader = by_age(0), next = by_age(1), other = by_age(2), lost = by_age(3);
    assert_int_not_equal((leader - 1) / 2, (lost - 1) / 2); /* Both groups keep a node. */
    silent_leader = leader;
    fc_fc->watch = "it does not lead";
    fc_fc->tamper = spoil_requests;
    fc_kill(fc_fc, lost);
    fc_run(fc_fc, 5000);
    assert_true(fc_fc->node[next].watched > 0 || fc_fc->node[other].watched > 0);
    assert_true(fc_fc->node[leader].dead);
    struct node_mask left = only(next);
    node_mask_add(&left, other);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct qmgr *qmgr = qmgr_at(rank == 0 ? next : other);
        assert_true(node_mask_equal(&qmgr->join.members, &left));
        assert_int_equal(qmgr->join.president, next);
    }
}

/* --- One link after the other. --- */

/* Whoever is cut off, link by link: it alone leaves, not those with whom it still had links. */
static void test_links_break_one_by_one(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < NODES; rank++) {
        for (uint32_t pause = 0; pause < 18; pause += 2) {
            start();
            uint32_t cut_off = by_age(rank);
            for (uint32_t other = 1; other <= NODES; other++) {
                if (other == cut_off) continue;
                fc_cut(fc_fc, cut_off, other, true);
                fc_run(fc_fc, pause);
            }
            fc_run(fc_fc, 1000);
            for (uint32_t id = 1; id <= NODES; id++) {
                bool there = fc_alive(fc_fc, id) && !qmgr_at(id)->failure.stopped;
                if (there == (id == cut_off))
                    fail_msg("node %u was cut off, %u ms between links: node %u %s", cut_off, pause,
                             id, there ? "goes on" : "stops");
            }
            fc_teardown(state);
            fc_setup(state);
        }
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, fc_setup, fc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_a_missed_commit_comes_with_the_next_failure),
        T(test_what_cannot_be_missed),
        T(test_who_is_told_that_it_is_out_stops),
        T(test_the_first_word_of_a_half),
        T(test_the_others_have_gone_on_without_the_leader),
        T(test_who_has_fenced_the_leader_is_suspected),
        T(test_an_unknown_refusal_changes_nothing),
        T(test_a_leader_that_does_not_lead),
        T(test_links_break_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
