/* test_rejoin_vote.c -- a node becomes a full member: wherever the cluster breaks in that moment,
 * at most one part goes on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "signals/arbitrator.h"
#include "tests/unit/rejoin_fixture.h"

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
        fc_sig_send(fc, MGM, got->sig.sender, GSN_ARBIT_START_CONF, &conf);
    }
    if (got->sig.gsn == GSN_ARBIT_CHOOSE_REQ) {
        const struct arbit_choose_req *req = SIG_PAYLOAD(&got->sig, arbit_choose_req);
        struct arbit_choose_conf conf = {req->attempt, {req->ticket[0], req->ticket[1]}};
        struct arbit_choose_ref ref = {req->attempt, {req->ticket[0], req->ticket[1]}};
        if (arbitrator_choose(&arbitrator, req))
            fc_sig_send(fc, MGM, got->sig.sender, GSN_ARBIT_CHOOSE_CONF, &conf);
        else
            fc_sig_send(fc, MGM, got->sig.sender, GSN_ARBIT_CHOOSE_REF, &ref);
    }
}

static void arbitrate(uint32_t nodes)
{
    while (fc->node[MGM].received != NULL) {
        struct fc_signal *next = fc->node[MGM].received->next;
        answer(fc->node[MGM].received);
        free(fc->node[MGM].received);
        fc->node[MGM].received = next;
    }
    if (fc->now - registered_ms < 25u) return;
    registered_ms = fc->now;
    struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
    for (uint32_t id = 1; id <= nodes; id++) {
        if (fc_alive(fc, id))
            fc_sig_send(fc, MGM, block_ref(id, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
    }
}

static void run(uint32_t nodes, uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        arbitrate(nodes);
        fc_run(fc, 1);
    }
}

static void start_with_arbitrator(uint32_t nodes, uint32_t replicas)
{
    configure(nodes, replicas);
    config.arbitration = ARBITRATION_DEFAULT;
    config.arbitration_timeout_ms = 300;
    config.node[MGM] = (struct config_node){.type = NODE_MGM, .arbitration_rank = 1};
    memset(&arbitrator, 0, sizeof arbitrator);
    registered_ms = 0;
    fc_client(fc, MGM, true);
    for (uint32_t id = 1; id <= nodes; id++)
        make_node(id);
    run(nodes, 600);
    assert_true(all_started(nodes));
    assert_int_equal(qmgr_at(1)->arbit.state, ARBIT_RUN);
}

/* The last node is lost, comes back, and is about to be started. */
static void come_back(uint32_t nodes, uint32_t replicas)
{
    start_with_arbitrator(nodes, replicas);
    fc_kill(fc, nodes);
    run(nodes, 200);
    make_node(nodes);
    dict_at(nodes)->hold_copy = true;
    run(nodes, 500);
    assert_int_equal(cntr_at(nodes)->start.step, STEP_COPY);
    struct copy_start_conf conf = {.sender_data = cntr_at(nodes)->rejoin.own_rank};
    sig_send(&dict_at(nodes)->block, block_ref(nodes, BLOCK_NDBCNTR, 0), GSN_COPY_START_CONF,
             PRIO_B, &conf);
    cursor = 0;
    for (uint32_t i = 0; cntr_at(nodes)->start.wait != WAIT_GO; i++) {
        assert_true(i < 20000);
        arbitrate(nodes);
        one_step(nodes);
    }
}

/* Steps of all but one, which hangs; 0: of all. */
static void steps(uint32_t nodes, uint32_t count, uint32_t hangs)
{
    for (uint32_t i = 0; i < count; i++) {
        if (hangs != 0 && cursor % (nodes + nodes * nodes) == hangs - 1) cursor++;
        one_step(nodes);
    }
}

/* Of all the steps around the moment in which the last node is started again: the cluster breaks
 * into `part` and the rest. */
static void break_near_the_start(uint32_t nodes, uint32_t replicas, uint32_t part, uint32_t later,
                                 uint32_t hangs)
{
    come_back(nodes, replicas);
    steps(nodes, later, hangs);
    for (uint32_t a = 1; a <= nodes; a++) {
        for (uint32_t b = a + 1; b <= nodes; b++) {
            if ((part >> (a - 1) & 1u) != (part >> (b - 1) & 1u)) fc_cut(fc, a, b, true);
        }
    }
    before += !is_started(nodes);
    after += is_started(nodes);
    run(nodes, 1500);
    bool here = false;
    bool there = false;
    for (uint32_t id = 1; id <= nodes; id++) {
        if (!is_started(id)) continue;
        if ((part >> (id - 1) & 1u) != 0)
            here = true;
        else
            there = true;
    }
    if (here && there) fail_msg("both parts go on: part %x, %u steps later", part, later);
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
            again();
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
        fc->link[id][node].stalled = true;
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
            const struct qmgr *qmgr = qmgr_at(back);
            bool waits = node_mask_has(&qmgr->started, back) && qmgr_is_newcomer(qmgr) &&
                         node_mask_has(&qmgr->rejoin.uncounted, lost) &&
                         node_mask_count(&qmgr->rejoin.uncounted) == 1;
            if (!deaf) fc_kill(fc, lost);
            run(back, 1500);
            if (waits && !is_started(back))
                fail_msg("node %u was lost, %u steps later, and took node %u along", lost, later,
                         back);
            before += waits;
            after += is_started(back);
            again();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_three_replicas, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_who_does_not_count_it_dies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_who_does_not_count_it_is_deaf, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
