/* test_sim_world.c -- the simulated world with a toy block: order, cuts, holds, failures, equal
 * hashes, plans. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "kernel/sim/sim_world.h"

enum { GSN_COUNT = 900, GSN_FAIL = 901 };

struct count {
    uint32_t number;
    uint32_t filler[6];
};

/* Sends numbers to every peer that is linked; what comes must count up from 0 for each life of the
 * link. */
struct toy {
    struct block block;
    uint32_t epoch[SIM_NODES];
    uint32_t sent[SIM_NODES];
    uint32_t got[SIM_NODES];
    uint32_t got_all;
    uint32_t ups;
    uint32_t downs;
    uint32_t reports;
};

static void toy_exec_LINK_UP_REP(struct block *block, const struct signal *sig)
{
    struct toy *toy = (struct toy *)block;
    const struct link_rep *rep = SIG_PAYLOAD(sig, link_rep);
    toy->epoch[rep->node] = rep->epoch;
    toy->sent[rep->node] = toy->got[rep->node] = 0;
    toy->ups++;
}

static void toy_exec_LINK_DOWN_REP(struct block *block, const struct signal *sig)
{
    struct toy *toy = (struct toy *)block;
    const struct link_rep *rep = SIG_PAYLOAD(sig, link_rep);
    if (++toy->reports % rep->threads != 0)
        return; /* Each thread says so, behind all that the link delivered to it. */
    if (toy->epoch[rep->node] == rep->epoch) toy->epoch[rep->node] = 0;
    toy->downs++;
}

static void toy_exec_COUNT(struct block *block, const struct signal *sig)
{
    struct toy *toy = (struct toy *)block;
    const struct count *count = SIG_PAYLOAD(sig, count);
    uint32_t from = ref_node(sig->sender);
    ndbrequire(count->number == toy->got[from]);
    toy->got[from]++;
    toy->got_all++;
}

static void toy_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct toy *toy = (struct toy *)block;
    for (uint32_t node = 1; node < SIM_NODES; node++) {
        if (toy->epoch[node] == 0) continue;
        for (uint32_t i = 0; i < 1 + rng_below(block_rng(block), 20); i++) {
            struct count count = {.number = toy->sent[node]++};
            sig_send(block, block_ref(node, BLOCK_QMGR, 0), GSN_COUNT, PRIO_B, &count);
        }
    }
    if (block->error_insert == 77) node_fail(EXIT_ERROR_INSERT, __FILE__, __LINE__, "insert 77");
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, sig->payload, 1, 5);
}

static const struct handler handlers[] = {
    {GSN_LINK_UP_REP, 4, 0, 0, FROM_SELF, toy_exec_LINK_UP_REP},
    {GSN_LINK_DOWN_REP, 4, 0, 0, FROM_SELF, toy_exec_LINK_DOWN_REP},
    {GSN_COUNT, 7, 0, 0, FROM_NODES | FROM_API, toy_exec_COUNT},
    {GSN_CONTINUEB, 0, 0, 0, FROM_SELF, toy_exec_CONTINUEB},
};
static const struct block_type toy_type = {"TOY", BLOCK_QMGR, handlers, 4, NULL};

static void build(struct node *node)
{
    uint32_t zero = 0;
    uint32_t thread_no = node_config_of(node)->thread_count - 1;
    struct block *block =
        block_create(node_thread(node, thread_no), &toy_type, 0, sizeof(struct toy));
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &zero, 1, 1);
}

static const char *toy_name(uint32_t gsn)
{
    return gsn == GSN_COUNT ? "COUNT" : "OTHER";
}

static bool announce(void *context, uint32_t node, const struct node_failure *failure)
{
    (void)context;
    (void)node;
    return failure->exit_code == EXIT_ERROR_INSERT;
}

static struct sim_world *cluster(uint64_t seed, uint32_t nodes, uint32_t threads)
{
    struct sim_options options;
    sim_options_defaults(&options);
    options.seed = seed;
    options.gsn_name = toy_name;
    options.announced = announce;
    options.stream_bytes = 4096;
    struct sim_world *world = sim_create(&options);
    struct node_config config;
    memset(&config, 0, sizeof config);
    node_config_defaults(&config);
    config.thread_count = threads;
    config.overflow_segments = 4;
    for (uint32_t id = 1; id <= nodes; id++)
        config.node[id].type = NODE_DATA;
    for (uint32_t id = 1; id <= nodes; id++) {
        config.own_node = id;
        struct sim_data_options data = {.config = &config, .build = build, .link_thread = 0};
        sim_add_data(world, &data);
    }
    return world;
}

static struct toy *toy_of(struct sim_world *world, uint32_t node)
{
    return (struct toy *)node_block(sim_node(world, node), BLOCK_QMGR, 0);
}

static uint64_t hash_of(uint64_t seed)
{
    struct sim_world *world = cluster(seed, 3, 2);
    sim_run_until(world, NULL, NULL, 500000);
    assert_int_equal(sim_verdict_of(world), SIM_OK);
    assert_true(sim_signals(world) > 2000);
    uint64_t hash = sim_hash(world);
    sim_destroy(world);
    return hash;
}

static void test_equal_hash(void **state)
{
    (void)state;
    assert_true(hash_of(1) == hash_of(1));
    assert_true(hash_of(1) != hash_of(2));
}

/* However often the link breaks, what arrives is a prefix of what was sent (the toy's ndbrequire),
 * and both learn of it. */
static void test_cut_and_reconnect(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim_world *world = cluster(seed, 2, 1 + (uint32_t)seed % 3);
        for (uint32_t i = 0; i < 10; i++) {
            sim_run_until(world, NULL, NULL, sim_now_us(world) + 100000);
            assert_true(sim_linked(world, 1, 2));
            sim_cut(world, 1, 2);
        }
        sim_run_until(world, NULL, NULL, sim_now_us(world) + 100000);
        assert_string_equal(sim_failure_text(world), "");
        for (uint32_t node = 1; node <= 2; node++) {
            assert_int_equal(toy_of(world, node)->downs, 10);
            assert_int_equal(toy_of(world, node)->ups, 11);
            assert_true(toy_of(world, node)->got_all > 500);
        }
        sim_destroy(world);
    }
}

static void test_kill_and_restart(void **state)
{
    (void)state;
    struct sim_world *world = cluster(7, 3, 2);
    sim_run_until(world, NULL, NULL, 100000);
    sim_kill(world, 2);
    sim_run_until(world, NULL, NULL, 200000);
    assert_false(sim_alive(world, 2));
    assert_int_equal(toy_of(world, 1)->downs, 1);
    assert_true(sim_restart(world, 2));
    sim_run_until(world, NULL, NULL, 3000000);
    assert_true(sim_linked(world, 1, 2) && sim_linked(world, 2, 3));
    assert_string_equal(sim_failure_text(world), "");
    sim_destroy(world);
}

static void test_failures(void **state)
{
    (void)state;
    struct sim_world *world = cluster(3, 2, 1);
    sim_run_until(world, NULL, NULL, 100000);
    sim_insert(world, 1, BLOCK_QMGR, 77, 0);
    sim_run_until(world, NULL, NULL, 200000);
    assert_false(sim_alive(world, 1));
    assert_int_equal(sim_exit_of(world, 1)->code, EXIT_ERROR_INSERT);
    assert_int_equal(sim_verdict_of(world), SIM_OK); /* That was announced. */
    toy_of(world, 2)->got[1] = 12345;
    sim_restart(world, 1);
    sim_run_until(world, NULL, NULL, 100000000);
    assert_int_equal(sim_verdict_of(world), SIM_OK); /* A new link counts anew. */
    toy_of(world, 2)->got[1] = 12345;
    sim_run_until(world, NULL, NULL, 200000000);
    assert_int_equal(sim_verdict_of(world), SIM_CRASH);
    assert_non_null(strstr(sim_failure_text(world), "count->number == toy->got[from]"));
    sim_destroy(world);
}

static void test_hold(void **state)
{
    (void)state;
    struct sim_world *world = cluster(4, 2, 1);
    sim_run_until(world, NULL, NULL, 50000);
    sim_hold(world, 1, 2, GSN_COUNT);
    sim_run_until(world, NULL, NULL, 100000);
    assert_true(sim_held(world, 1, 2));
    uint32_t got = toy_of(world, 2)->got[1];
    sim_run_until(world, NULL, NULL, 200000);
    assert_int_equal(toy_of(world, 2)->got[1], got);
    sim_release(world, 1, 2);
    sim_run_until(world, NULL, NULL, 300000);
    assert_true(toy_of(world, 2)->got[1] > got + 50);
    assert_string_equal(sim_failure_text(world), "");
    sim_destroy(world);
}

static void test_plan(void **state)
{
    (void)state;
    static const char *const good[] = {"at 0.050000 cut 1 2", "before 3 COUNT 1 cut 1 2",
                                       "at 12.407000 stall 1 2 30", "at 1.000000 insert 1 6 8001 0",
                                       "at 1.000000 kill 9"};
    static const char *const bad[] = {"at",
                                      "at x cut 1 2",
                                      "at 1 cut 1",
                                      "at 1 cat 1 2",
                                      "before 0 COUNT 1 cut 1 2",
                                      "before 1 NONE 1 cut 1 2",
                                      "at 1 kill 9 9",
                                      "when 1 kill 9",
                                      "at 1.0000000 kill 9"};
    struct sim_event event;
    char text[200];
    for (uint32_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(sim_event_parse(&event, toy_name, good[i]));
        sim_event_print(&event, toy_name, text, sizeof text);
        assert_string_equal(text, good[i]);
    }
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(sim_event_parse(&event, toy_name, bad[i]));
    assert_true(sim_event_parse(&event, toy_name, "  # nothing"));
    assert_int_equal(event.action, 0);

    struct sim_world *world = cluster(5, 2, 1);
    struct sim_plan plan = {.count = 2};
    sim_event_parse(&plan.event[0], toy_name, good[0]);
    sim_event_parse(&plan.event[1], toy_name, "before 100 COUNT 2 cut 1 2");
    sim_set_plan(world, &plan);
    sim_run_until(world, NULL, NULL, 40000);
    assert_int_equal(toy_of(world, 1)->downs, 0);
    sim_run_until(world, NULL, NULL, 1000000);
    assert_int_equal(toy_of(world, 1)->downs, 2);
    sim_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_hash),
        cmocka_unit_test(test_cut_and_reconnect),
        cmocka_unit_test(test_kill_and_restart),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
