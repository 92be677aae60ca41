/* test_partition_rule.c -- which part of a divided cluster goes on: all parts of 2, 4 and 6 nodes.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/qmgr/partition_rule.h"

/*
 * The character at position p tells of the part whose nodes are the bits of p (bit 0: node 1).
 *   .  stops                         G  lives: it has a whole node group
 *   A  asks the arbitrator           M  lives: more than half of the nodes
 */
static const struct expected {
    uint32_t nodes;
    uint32_t replicas;
    const char *parts;
} table[] = {
    /* clang-format off */
    {2, 1,
     "...G"},
    {2, 2,
     ".AAG"},
    {4, 1,
     "...............G"},
    {4, 2,
     ".....AAG.AAG.GGG"},
    {4, 4,
     "...A.AAM.AAMAMMG"},
    {6, 1,
     "................"
     "................"
     "................"
     "...............G"},
    {6, 2,
     "................"
     ".....AAG.AAG.GGG"
     ".....AAG.AAG.GGG"
     ".....GGG.GGG.GGG"},
    {6, 3,
     "...........A.AAG"
     "...A.AAG.AAMAMMG"
     "...A.AAG.AAMAMMG"
     ".AAMAMMG.GGGGGGG"}, /* clang-format on */
};
#define CONFIGURATIONS (sizeof(table) / sizeof(table[0]))

static struct node_config config_of(uint32_t nodes, uint32_t replicas)
{
    struct node_config config;
    memset(&config, 0, sizeof(config));
    config.replicas = replicas;
    for (uint32_t id = 1; id <= nodes; id++) {
        config.node[id].type = NODE_DATA;
        config.node[id].nodegroup = (id - 1) / replicas;
    }
    return config;
}

static struct node_mask nodes_of(uint32_t bits)
{
    struct node_mask mask = {{0}};
    mask.word[0] = bits << 1; /* Node 1 is bit 1. */
    return mask;
}

static char rule(const struct node_config *config, uint32_t before, uint32_t alive)
{
    struct node_mask were = nodes_of(before);
    struct node_mask left = nodes_of(alive);
    switch ((uint32_t)partition_rule(config, &were, &left)) {
    case ARBIT_WIN_GROUPS:
        return 'G';
    case ARBIT_WIN_NODES:
        return 'M';
    case ARBIT_PARTITIONING:
        return 'A';
    case ARBIT_LOSE_NODES:
    case ARBIT_LOSE_GROUPS:
        return '.';
    default:
        return '?';
    }
}

static void test_all_parts(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CONFIGURATIONS; i++) {
        struct node_config config = config_of(table[i].nodes, table[i].replicas);
        uint32_t all = (1u << table[i].nodes) - 1u;
        assert_int_equal(strlen(table[i].parts), all + 1u);
        for (uint32_t alive = 0; alive <= all; alive++) {
            if (rule(&config, all, alive) != table[i].parts[alive])
                fail_msg("%u nodes, %u replicas, part %x: %c, not %c", table[i].nodes,
                         table[i].replicas, alive, rule(&config, all, alive),
                         table[i].parts[alive]);
        }
    }
}

/* Nodes may have failed before: of two parts of any view at most one lives, and both ask or none.
 */
static void test_never_two(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CONFIGURATIONS; i++) {
        struct node_config config = config_of(table[i].nodes, table[i].replicas);
        uint32_t all = (1u << table[i].nodes) - 1u;
        for (uint32_t before = 1; before <= all; before++) {
            for (uint32_t alive = before; alive != 0; alive = (alive - 1u) & before) {
                char one = rule(&config, before, alive);
                char other = rule(&config, before, before & ~alive);
                assert_true(one == '.' || one == 'A' || other == '.');
                if (one == 'A') assert_true(other == 'A' || other == '.');
            }
        }
    }
}

/* What went on with one part, and is divided again, never meets a part of the other one. */
static void test_the_view_shrinks(void **state)
{
    (void)state;
    struct node_config config = config_of(4, 2);
    assert_int_equal(rule(&config, 0xF, 0x7), 'G'); /* Node 4 has failed. */
    assert_int_equal(rule(&config, 0x7, 0x5), 'M'); /* Then node 2: two of three. */
    assert_int_equal(rule(&config, 0x5, 0x1), '.'); /* Then node 3: its group was the last. */
    config = config_of(4, 4);
    assert_int_equal(rule(&config, 0xF, 0x7), 'M');
    assert_int_equal(rule(&config, 0x7, 0x6), 'M');
    assert_int_equal(rule(&config, 0x6, 0x4), 'A');
}

/* Nodes without a node group count as nodes, and are nobody's rows. */
static void test_spare_nodes(void **state)
{
    (void)state;
    struct node_config config = config_of(3, 2);
    config.node[3].nodegroup = NODEGROUP_NONE;
    assert_int_equal(rule(&config, 0x7, 0x3), 'G');
    assert_int_equal(rule(&config, 0x7, 0x5), 'M');
    assert_int_equal(rule(&config, 0x7, 0x4), '.');
    assert_int_equal(rule(&config, 0x7, 0x2), '.');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_parts),
        cmocka_unit_test(test_never_two),
        cmocka_unit_test(test_the_view_shrinks),
        cmocka_unit_test(test_spare_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
