/* test_pace_rule.c -- who is slow: tables of rows, times, who stands aside. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/qmgr/pace_rule.h"

#define NODES_MAX 8u

/* What each node needs: inside, and on its way to any other. */
struct table {
    const char *what;
    uint32_t nodes;
    uint32_t inside[NODES_MAX]; /* By index; node ids from 1. */
    uint32_t way[NODES_MAX];    /* What is added to the reach in both directions. */
    uint32_t slow;              /* Nodes that are slow already, as bits; node 1 is bit 0. */
    uint32_t silent;            /* Nodes whose rows are not there, as bits. */
    uint32_t over;              /* What must come out. */
};

static struct pace_map map;
static struct pace_view view;

static void fill(const struct table *table)
{
    memset(&map, 0, sizeof(map));
    for (uint32_t by = 0; by < table->nodes; by++) {
        uint32_t column = 0;
        node_mask_add(&map.members, by + 1);
        if ((table->slow >> by & 1u) != 0) node_mask_add(&map.slow, by + 1);
        if ((table->silent >> by & 1u) == 0) node_mask_add(&map.known, by + 1);
        for (uint32_t node = 0; node < table->nodes; node++) {
            if (node == by) continue;
            struct pace_row *row = &map.row[by + 1];
            row->node[column] = node + 1;
            row->inside_ms[column] = table->inside[node];
            row->reach_ms[column] = table->way[by] + table->way[node];
            column++;
        }
    }
}

static const struct table tables[] = {
    {"all are well", 4, {0, 1, 0, 2}, {0}, 0, 0, 0},
    {"nobody else", 1, {900}, {0}, 0, 0, 0},
    {"one is slow inside and so to all", 4, {0, 0, 40, 1}, {0, 0, 40, 0}, 0, 0, 4},
    {"below the least", 4, {0, 0, 4, 0}, {0, 0, 4, 0}, 0, 0, 0},
    {"at the least", 4, {0, 0, 5, 0}, {0}, 0, 0, 4},
    {"ten times the others", 4, {3, 3, 30, 3}, {0}, 0, 0, 4},
    {"nine times the others", 4, {3, 3, 29, 3}, {0}, 0, 0, 0},
    {"only its network", 4, {0, 0, 0, 0}, {0, 50, 0, 0}, 0, 0, 2},
    {"only its threads", 4, {0, 200, 0, 0}, {0}, 0, 0, 2},
    {"all are slow: the machine", 4, {50, 60, 40, 55}, {25, 30, 20, 28}, 0, 0, 0},
    {"three of four are slow: it is not them", 4, {50, 60, 0, 55}, {25, 30, 0, 28}, 0, 0, 0},
    {"two of four", 4, {0, 70, 0, 50}, {0, 70, 0, 50}, 0, 0, 10},
    {"two of four, only the network", 4, {0}, {0, 70, 0, 50}, 0, 0, 10},
    {"a slow network, and one slow in it", 4, {0, 0, 30, 0}, {10, 10, 40, 10}, 0, 0, 4},
    {"a slow network alone", 4, {0}, {40, 30, 50, 30}, 0, 0, 0},
    {"one of two, by its own word", 2, {0, 80}, {0, 80}, 0, 0, 2},
    {"two far apart: nobody knows whose it is", 2, {0}, {0, 80}, 0, 0, 0},
    {"both of two", 2, {80, 80}, {80, 80}, 0, 0, 0},
    {"one of three", 3, {0, 0, 60}, {0, 0, 60}, 0, 0, 4},
    {"one of three, only its network", 3, {0}, {0, 0, 60}, 0, 0, 4},
    {"slow, and still above half", 4, {0, 0, 3, 0}, {0}, 4, 0, 4},
    {"slow, and below half", 4, {0, 0, 1, 0}, {0}, 4, 0, 0},
    {"the slow one's row does not come", 4, {0, 0, 60, 0}, {0, 0, 60, 0}, 0, 4, 4},
    {"the president is slow, and only its row comes", 4, {60, 0, 0, 0}, {60}, 0, 14, 0},
    {"half of eight", 8, {0, 20, 0, 20, 0, 20, 0, 20}, {0}, 0, 0, 170},
};

static void test_tables(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        fill(&tables[i]);
        pace_rule(&map, &view);
        if (view.over.word[0] >> 1 != tables[i].over)
            fail_msg("%s: %x instead of %x", tables[i].what, view.over.word[0] >> 1,
                     tables[i].over);
        assert_int_equal(view.link_a, 0);
    }
}

/* Wherever it is, the president too: the same comes out. */
static void test_each_node(void **state)
{
    (void)state;
    for (uint32_t nodes = 3; nodes <= NODES_MAX; nodes++) {
        for (uint32_t slow = 0; slow < nodes; slow++) {
            struct table table = {.nodes = nodes};
            table.way[slow] = 30;
            fill(&table);
            pace_rule(&map, &view);
            assert_int_equal(view.over.word[0] >> 1, 1u << slow);
            assert_int_equal(view.of[slow + 1].reach_ms, 30);
            assert_int_equal(view.typical.reach_ms, 0);
        }
    }
}

static void set_reach(uint32_t by, uint32_t node, uint32_t ms)
{
    for (uint32_t i = 0; i < PACE_PEERS; i++) {
        if (map.row[by].node[i] == node) map.row[by].reach_ms[i] = ms;
    }
}

static void test_links(void **state)
{
    (void)state;
    for (uint32_t nodes = 3; nodes <= NODES_MAX; nodes++) {
        fill(&(struct table){.nodes = nodes});
        set_reach(2, 3, 40);
        pace_rule(&map, &view);
        assert_int_equal(view.link_a, 0); /* The other end does not say so. */
        set_reach(3, 2, 60);
        pace_rule(&map, &view);
        assert_true(node_mask_empty(&view.over));
        assert_int_equal(view.link_a, 2);
        assert_int_equal(view.link_b, 3);
        assert_int_equal(view.link_ms, 40);
        node_mask_remove(&map.known, 2); /* Nobody at one end. */
        pace_rule(&map, &view);
        assert_int_equal(view.link_a, 0);
    }
}

/* Words from outside: whatever they say, nothing outside of the members comes out. */
static void test_nonsense(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (uint32_t turn = 0; turn < 5000; turn++) {
        fill(&tables[turn % (sizeof tables / sizeof tables[0])]);
        for (uint32_t i = 0; i < 20; i++) {
            struct pace_row *row = &map.row[1 + i % NODES_MAX];
            seed = seed * 1664525u + 1013904223u;
            uint32_t word =
                (seed >> 4) % 3u == 0 ? UINT32_MAX - (seed >> 30) : seed >> (seed >> 28);
            uint32_t at = (seed >> 9) % PACE_PEERS;
            if ((seed >> 14 & 3u) == 0) row->node[at] = word;
            if ((seed >> 14 & 3u) == 1) row->reach_ms[at] = word;
            if ((seed >> 14 & 3u) >= 2) row->inside_ms[at] = word;
        }
        pace_rule(&map, &view);
        assert_true(node_mask_within(&view.over, &map.members));
        assert_true(view.link_a == 0 || node_mask_has(&map.members, view.link_a));
        assert_true(view.link_b == 0 || node_mask_has(&map.members, view.link_b));
    }
}

/* --- Over time. --- */

static void test_in_a_row(void **state)
{
    (void)state;
    struct pace_state one = {0};
    assert_false(pace_step(&one, false, true, 1000));
    assert_false(pace_step(&one, false, true, 1000 + PACE_SLOW_MS - 1));
    assert_false(pace_step(&one, false, false, 2950)); /* Once not: from the beginning. */
    assert_false(pace_step(&one, false, true, 3100));
    assert_false(pace_step(&one, false, true, 3100 + PACE_SLOW_MS - 1));
    assert_true(pace_step(&one, false, true, 3100 + PACE_SLOW_MS));
    assert_true(pace_step(&one, true, false, 6000));
    assert_true(pace_step(&one, true, true, 10000));
    assert_true(pace_step(&one, true, false, 11000));
    assert_true(pace_step(&one, true, false, 15999));
    assert_false(pace_step(&one, true, false, 16000));
}

/* Milliseconds until it is well again, after it was slow once more at `now`. */
static uint64_t relapse(struct pace_state *one, uint64_t *now)
{
    (void)pace_step(one, false, true, *now);
    *now += PACE_SLOW_MS;
    assert_true(pace_step(one, false, true, *now));
    uint64_t begin = *now;
    while (pace_step(one, true, false, *now))
        *now += 100;
    return *now - begin;
}

static void test_relapses(void **state)
{
    (void)state;
    struct pace_state one = {0};
    uint64_t now = 10;
    static const uint64_t waits[] = {5000, 10000, 20000, 40000, 80000, 80000, 80000};
    for (uint32_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        assert_int_equal(relapse(&one, &now), waits[i]);
    now += PACE_FORGET_MS;
    assert_int_equal(relapse(&one, &now), 5000);
    assert_int_equal(relapse(&one, &now), 10000);
}

/* --- Who stands aside. --- */

struct judged {
    uint32_t nodes;
    uint32_t replicas;
    uint32_t members;
    uint32_t slow;
    uint32_t before;
};

static uint32_t aside_of(const struct judged *step)
{
    struct node_config config = {.replicas = step->replicas};
    struct node_mask all = {{step->members << 1}};
    struct node_mask are_slow = {{step->slow << 1}};
    struct node_mask are_aside = {{step->before << 1}};
    for (uint32_t id = 1; id <= step->nodes; id++)
        config.node[id] =
            (struct config_node){.type = NODE_DATA, .nodegroup = (id - 1) / step->replicas};
    pace_aside(&config, &all, &are_slow, &are_aside);
    return are_aside.word[0] >> 1;
}
#define aside(...) aside_of(&(struct judged){__VA_ARGS__})

static void test_aside(void **state)
{
    (void)state;
    assert_int_equal(aside(.nodes = 4, .replicas = 2, .members = 15), 0);
    assert_int_equal(aside(.nodes = 4, .replicas = 2, .members = 15, .slow = 2), 2);
    assert_int_equal(aside(.nodes = 4, .replicas = 2, .members = 15, .slow = 10),
                     10); /* One of each group. */
    assert_int_equal(aside(.nodes = 4, .replicas = 2, .members = 15, .slow = 3),
                     0); /* Both of one: neither is better. */
    assert_int_equal(aside(.nodes = 4, .replicas = 2, .members = 15, .slow = 3, .before = 2), 0);
    assert_int_equal(aside(.nodes = 4, .replicas = 2, .members = 14, .slow = 2, .before = 2),
                     0); /* The last one. */
    assert_int_equal(aside(.nodes = 4, .replicas = 1, .members = 15, .slow = 2),
                     0); /* One replica. */
    assert_int_equal(aside(.nodes = 4, .replicas = 4, .members = 15, .slow = 6),
                     2); /* One of a group... */
    assert_int_equal(aside(.nodes = 4, .replicas = 4, .members = 15, .slow = 6, .before = 4),
                     4); /* ...that which does already. */
    assert_int_equal(aside(.nodes = 4, .replicas = 4, .members = 15, .slow = 2, .before = 4), 2);
    assert_int_equal(aside(.nodes = 2, .replicas = 2, .members = 1, .slow = 2, .before = 2),
                     0); /* It is no member. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),   cmocka_unit_test(test_each_node),
        cmocka_unit_test(test_links),    cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_in_a_row), cmocka_unit_test(test_relapses),
        cmocka_unit_test(test_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
