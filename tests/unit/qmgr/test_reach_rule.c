/* test_reach_rule.c -- who has to leave when links are broken; what the arbitrator remembers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/qmgr/reach_rule.h"
#include "signals/arbitrator.h"

static struct node_config config;
static struct reach reach;

/* All reach all, and know it; dynamic ids are the node ids. */
static void all_fine(uint32_t nodes, uint32_t replicas)
{
    memset(&config, 0, sizeof(config));
    memset(&reach, 0, sizeof(reach));
    config.replicas = replicas;
    for (uint32_t id = 1; id <= nodes; id++) {
        config.node[id].type = NODE_DATA;
        config.node[id].nodegroup = (id - 1) / replicas;
        node_mask_add(&reach.members, id);
        reach.age[id] = id;
    }
    reach.known = reach.members;
    for (uint32_t id = 1; id <= nodes; id++)
        reach.row[id] = reach.members;
    reach.own = 1;
}

static void cut(uint32_t a, uint32_t b)
{
    node_mask_remove(&reach.row[a], b);
    node_mask_remove(&reach.row[b], a);
}

/* Those that leave as bits, node 1 is bit 0; all nodes but these must see it in the same way. */
static uint32_t leave(uint32_t own)
{
    struct node_mask mask;
    reach.own = own;
    reach_rule(&config, &reach, &mask);
    return mask.word[0] >> 1;
}

static void test_nobody(void **state)
{
    (void)state;
    all_fine(4, 2);
    for (uint32_t own = 1; own <= 4; own++)
        assert_int_equal(leave(own), 0);
}

static void test_one_link(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++) {
        for (uint32_t b = a + 1; b <= 4; b++) {
            all_fine(4, 2);
            cut(a, b);
            for (uint32_t own = 1; own <= 4; own++)
                assert_int_equal(leave(own), 1u << (b - 1)); /* The younger end. */
            all_fine(4, 2);
            node_mask_remove(&reach.row[b], a); /* One way is enough. */
            for (uint32_t own = 1; own <= 4; own++)
                assert_int_equal(leave(own), 1u << (b - 1));
        }
    }
}

/* Whoever is the younger: the one that has broken the protocol. */
static void test_the_accused_leaves(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= 4; a++) {
        for (uint32_t b = 1; b <= 4; b++) {
            if (a == b) continue;
            all_fine(4, 2);
            cut(a, b);
            node_mask_add(&reach.accused, a);
            for (uint32_t own = 1; own <= 4; own++)
                assert_int_equal(leave(own), 1u << (a - 1));
            node_mask_add(&reach.accused, b); /* Each other: as any broken link. */
            for (uint32_t own = 1; own <= 4; own++)
                assert_int_equal(leave(own), 1u << ((a > b ? a : b) - 1));
        }
    }
    all_fine(4, 2); /* Without the last one of its group nobody could go on. */
    node_mask_add(&reach.gone, 2);
    cut(1, 3);
    node_mask_add(&reach.accused, 1);
    assert_int_equal(leave(4), 1u << 1 | 1u << 2);
    all_fine(4, 2); /* Reached by all: a word is not enough. */
    node_mask_add(&reach.accused, 2);
    assert_int_equal(leave(1), 0);
}

static void test_the_last_of_a_group_stays(void **state)
{
    (void)state;
    all_fine(4, 2);
    node_mask_remove(&reach.members, 3); /* Has failed before. */
    for (uint32_t id = 1; id <= 4; id++)
        node_mask_remove(&reach.row[id], 3);
    cut(1, 4);
    assert_int_equal(leave(1), 1);
    assert_int_equal(leave(2), 1);
    assert_int_equal(leave(4), 1);
}

static void test_the_one_with_most_broken_links_leaves(void **state)
{
    (void)state;
    all_fine(4, 2);
    cut(1, 2);
    cut(1, 3);
    for (uint32_t own = 1; own <= 4; own++)
        assert_int_equal(leave(own), 1);
    /* Node 1 has not heard from those that it does not reach; node 4's word is enough. */
    node_mask_remove(&reach.known, 2);
    node_mask_remove(&reach.known, 3);
    assert_int_equal(leave(1), 1);
}

static void test_parts_see_themselves(void **state)
{
    (void)state;
    for (uint32_t part = 1; part < 63; part++) {
        all_fine(6, 2);
        for (uint32_t a = 1; a <= 6; a++) {
            for (uint32_t b = 1; b <= 6; b++) {
                if ((part >> (a - 1) & 1u) != (part >> (b - 1) & 1u)) cut(a, b);
            }
        }
        for (uint32_t own = 1; own <= 6; own++) {
            bool inside = (part >> (own - 1) & 1u) != 0;
            /* Only the own part is known. */
            reach.known.word[0] = (inside ? part : ~part & 63u) << 1;
            assert_int_equal(leave(own), inside ? ~part & 63u : part);
        }
    }
}

/* Whoever stays reaches all that stay, and what is gone stays gone. */
static void test_random(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (uint32_t turn = 0; turn < 20000; turn++) {
        all_fine(6, 2);
        for (uint32_t i = 0; i < turn % 9u; i++) {
            seed = seed * 1664525u + 1013904223u;
            cut(1 + (seed >> 8) % 6u, 1 + (seed >> 16) % 6u);
        }
        for (uint32_t id = 1; id <= 6; id++)
            node_mask_add(&reach.row[id], id);
        memset(&reach.gone, 0, sizeof(reach.gone));
        if (turn % 3u == 0) node_mask_add(&reach.gone, 1 + (seed >> 20) % 5u);
        for (uint32_t own = 1; own <= 6; own++) {
            if (node_mask_has(&reach.gone, own)) continue;
            uint32_t out = leave(own);
            assert_int_equal(reach.gone.word[0] >> 1 & ~out, 0);
            for (uint32_t a = 1; a <= 6; a++) {
                for (uint32_t b = 1; b <= 6; b++) {
                    if ((out >> (a - 1) & 1u) != 0 || (out >> (b - 1) & 1u) != 0) continue;
                    assert_true(node_mask_has(&reach.row[a], b));
                }
            }
        }
    }
}

static bool choose(struct arbitrator *arbitrator, uint32_t ticket, uint32_t survivors)
{
    struct arbit_choose_req req = {.ticket = {ticket, 5}};
    req.survivors.word[0] = survivors << 1;
    return arbitrator_choose(arbitrator, &req);
}

static void test_arbitrator_says_yes_once(void **state)
{
    (void)state;
    struct arbitrator arbitrator;
    memset(&arbitrator, 0, sizeof(arbitrator));
    struct arbit_start_req first = {{1, 5}};
    struct arbit_start_req second = {{2, 5}};
    assert_false(choose(&arbitrator, 0, 3)); /* It is nobody's. */
    assert_false(choose(&arbitrator, 1, 3));
    arbitrator_start(&arbitrator, &first);
    assert_false(choose(&arbitrator, 2, 3));
    assert_false(choose(&arbitrator, 1, 0));
    assert_true(choose(&arbitrator, 1, 0x3));
    assert_false(choose(&arbitrator, 1, 0xC)); /* The other half. */
    arbitrator_start(&arbitrator, &first);     /* Comes again: nothing is forgotten. */
    assert_false(choose(&arbitrator, 1, 0xC));
    assert_true(choose(&arbitrator, 1, 0x3));  /* The answer was lost. */
    assert_true(choose(&arbitrator, 1, 0x2));  /* A half of the half... */
    assert_false(choose(&arbitrator, 1, 0x1)); /* ...and never the other one. */
    assert_false(choose(&arbitrator, 1, 0x3));
    arbitrator_start(&arbitrator, &second);
    assert_true(choose(&arbitrator, 2, 0x1));
    assert_false(choose(&arbitrator, 1, 0x2));
}

/* While a new ticket goes round the old one counts; whoever asks first wins, with either. */
static void test_arbitrator_between_two_tickets(void **state)
{
    (void)state;
    struct arbitrator arbitrator;
    struct arbit_start_req start = {{1, 5}};
    memset(&arbitrator, 0, sizeof(arbitrator));
    arbitrator_start(&arbitrator, &start);
    start.ticket[0] = 2;
    arbitrator_start(&arbitrator, &start);
    assert_true(choose(&arbitrator, 1, 0x3)); /* The new one is not everywhere yet. */
    assert_false(choose(&arbitrator, 2, 0xC));
    assert_true(choose(&arbitrator, 2, 0x1)); /* A part of those that had the yes. */
    assert_false(choose(&arbitrator, 1, 0x2));
    start.ticket[0] = 3;
    arbitrator_start(&arbitrator, &start);
    assert_false(choose(&arbitrator, 2, 0xC)); /* What was said with a ticket stays said... */
    assert_true(choose(&arbitrator, 3, 0xC));  /* ...but others are together since. */
    assert_false(choose(&arbitrator, 2, 0x1));
    start.ticket[0] = 4;
    arbitrator_start(&arbitrator, &start);
    start.ticket[0] = 5;
    arbitrator_start(&arbitrator, &start);
    assert_false(choose(&arbitrator, 3, 0x4)); /* One former ticket, not two. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_one_link),
        cmocka_unit_test(test_the_accused_leaves),
        cmocka_unit_test(test_the_last_of_a_group_stays),
        cmocka_unit_test(test_the_one_with_most_broken_links_leaves),
        cmocka_unit_test(test_parts_see_themselves),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_arbitrator_says_yes_once),
        cmocka_unit_test(test_arbitrator_between_two_tickets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
