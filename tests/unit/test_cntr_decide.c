/* test_cntr_decide.c -- the president's decision: with what the cluster comes back, who is refused,
 * who is missing. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "tests/unit/fake_workers.h"

static struct node_config decide_config; /* Four data nodes, two node groups. */
static struct cntr_fact facts[4];
static struct cntr_decision decision;

/* All four have data of incarnation 5 up to GCI 100, which all were in. */
static int setup_facts(void **state)
{
    (void)state;
    decide_config = fake_config(4, 2);
    memset(facts, 0, sizeof facts);
    for (uint32_t i = 0; i < 4; i++) {
        facts[i] = (struct cntr_fact){.node = i + 1,
                                      .has_data = 1,
                                      .gci = 100,
                                      .incarnation = 5,
                                      .ldm_data = 2,
                                      .ldm_now = 2,
                                      .schema = 7};
        for (uint32_t node = 1; node <= 4; node++)
            node_mask_add(&facts[i].members, node);
    }
    return 0;
}
static void empty(struct cntr_fact *fact)
{
    *fact = (struct cntr_fact){.node = fact->node, .ldm_data = 2, .ldm_now = 2};
}
static void decide(uint32_t count)
{
    cntr_decide(&decide_config, facts, count, &decision);
}
static void assert_refused(uint32_t one, uint32_t two, uint32_t three, uint32_t four)
{
    assert_int_equal(decision.refused[1], one);
    assert_int_equal(decision.refused[2], two);
    assert_int_equal(decision.refused[3], three);
    assert_int_equal(decision.refused[4], four);
}

static void test_nobody_has_data(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        empty(&facts[i]);
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
    assert_int_equal(decision.start_type, START_INITIAL);
    assert_int_equal(decision.gci, 0);
    assert_int_equal(decision.incarnation, 1);
    assert_int_equal(decision.newest, 0);
    assert_int_equal(decision.schema_node, 0);
    decide(3); /* Node 4 may have data. */
    assert_int_equal(decision.verdict, CNTR_MISSING);
    assert_true(node_mask_has(&decision.missing, 4));
    assert_int_equal(node_mask_count(&decision.missing), 1);
}

static void test_all_are_equal(void **state)
{
    (void)state;
    facts[2].schema = 8;
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
    assert_int_equal(decision.start_type, START_SYSTEM_RESTART);
    assert_int_equal(decision.gci, 100);
    assert_int_equal(decision.incarnation, 6);
    assert_int_equal(decision.newest_incarnation, 5);
    assert_int_equal(decision.schema_node, 3);
    assert_int_equal(decision.schema, 8);
    assert_refused(0, 0, 0, 0);
}

static void test_last_gci_is_half_written(void **state)
{
    (void)state;
    facts[3].gci = 101; /* All logs have it, the first system file says so. */
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
    assert_int_equal(decision.newest, 4);
    assert_int_equal(decision.gci, 101);
    facts[0].gci = 99; /* Two GCIs behind: that cannot be. */
    decide(4);
    assert_int_equal(decision.verdict, CNTR_REFUSE);
    assert_refused(CNTR_REF_STALE, 0, 0, 0);
}

static void test_partial_start(void **state)
{
    (void)state;
    decide(3);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
    assert_int_equal(decision.gci, 100);
    decide(2); /* Node group 1 is not there at all. */
    assert_int_equal(decision.verdict, CNTR_MISSING);
    assert_false(node_mask_has(&decision.missing, 1));
    assert_true(node_mask_has(&decision.missing, 3));
    assert_true(node_mask_has(&decision.missing, 4));
}

static void test_stale_node(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) { /* They have gone on without node 4. */
        facts[i].incarnation = 6;
        facts[i].gci = 150;
        node_mask_remove(&facts[i].members, 4);
    }
    decide(4);
    assert_int_equal(decision.verdict, CNTR_REFUSE);
    assert_refused(0, 0, 0, CNTR_REF_STALE);
    assert_true(node_mask_empty(&decision.missing)); /* The others can do without it. */
    assert_int_equal(decision.incarnation, 7);
    facts[3].gci = 151; /* It may even have a GCI that nobody was told of. */
    decide(4);
    assert_refused(0, 0, 0, CNTR_REF_STALE);
    assert_int_equal(decision.gci, 150);
    facts[3].gci = 100;
    facts[2] = facts[3]; /* Node 3 is away: its node group has only the stale copy. */
    decide(3);
    assert_refused(0, 0, 0, CNTR_REF_STALE);
    assert_true(node_mask_has(&decision.missing, 3));
    assert_int_equal(node_mask_count(&decision.missing), 1);
}

/* A crash while the system files were written with the new incarnation. */
static void test_start_was_cut_off(void **state)
{
    (void)state;
    facts[1].incarnation = 6;
    facts[0].gci = 99;
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
    assert_int_equal(decision.newest, 2);
    assert_int_equal(decision.newest_incarnation, 6);
    assert_int_equal(decision.gci, 100);
    assert_int_equal(decision.incarnation, 7);
}

/* The same at the very first start: nothing was stored yet. */
static void test_first_start_was_cut_off(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        empty(&facts[i]);
        facts[i].has_data = i < 2;
        facts[i].incarnation = i < 2 ? 1 : 0;
    }
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
    assert_int_equal(decision.start_type, START_INITIAL);
    assert_int_equal(decision.incarnation, 2);
    decide(3);
    assert_int_equal(decision.verdict, CNTR_MISSING);
}

static void test_empty_node(void **state)
{
    (void)state;
    empty(&facts[1]);
    decide(4);
    assert_int_equal(decision.verdict, CNTR_REFUSE);
    assert_refused(0, CNTR_REF_NO_DATA, 0, 0);
    assert_true(node_mask_empty(&decision.missing));
    empty(&facts[0]);
    decide(4);
    assert_refused(CNTR_REF_NO_DATA, CNTR_REF_NO_DATA, 0, 0);
    assert_int_equal(node_mask_count(&decision.missing), 2);
}

static void test_other_ldm_count(void **state)
{
    (void)state;
    facts[2].ldm_now = 4;
    decide(4);
    assert_int_equal(decision.verdict, CNTR_REFUSE);
    assert_refused(0, 0, CNTR_REF_LDM, 0);
    facts[2].ldm_data = 4; /* Nodes may differ. */
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
}

static void test_initial_spares_the_last_copy(void **state)
{
    (void)state;
    facts[0].flags = CNTR_START_INITIAL; /* Node 2 has the same rows. */
    decide(4);
    assert_refused(CNTR_REF_NO_DATA, 0, 0, 0);
    facts[1].flags = CNTR_START_INITIAL; /* Nobody has. */
    decide(4);
    assert_refused(CNTR_REF_LAST_COPY, CNTR_REF_LAST_COPY, 0, 0);
    facts[0].flags |= CNTR_START_ACCEPT_LOSS;
    decide(4);
    assert_refused(CNTR_REF_NO_DATA, CNTR_REF_LAST_COPY, 0, 0);
}

static void test_all_initial(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        facts[i].flags = CNTR_START_INITIAL;
    decide(4);
    assert_refused(CNTR_REF_LAST_COPY, CNTR_REF_LAST_COPY, CNTR_REF_LAST_COPY, CNTR_REF_LAST_COPY);
    for (uint32_t i = 0; i < 4; i++)
        facts[i].flags |= CNTR_START_ACCEPT_LOSS;
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
    assert_int_equal(decision.start_type, START_INITIAL);
    assert_int_equal(decision.incarnation, 6); /* Old pages of a log do not pass for new ones. */
    for (uint32_t i = 0; i < 4; i++) {
        facts[i].flags = CNTR_START_INITIAL;
        facts[i].gci = 0; /* There is nothing to lose. */
    }
    decide(4);
    assert_int_equal(decision.verdict, CNTR_START_NOW);
}

#define DECIDES(name) cmocka_unit_test_setup(name, setup_facts)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DECIDES(test_nobody_has_data),
        DECIDES(test_all_are_equal),
        DECIDES(test_last_gci_is_half_written),
        DECIDES(test_partial_start),
        DECIDES(test_stale_node),
        DECIDES(test_start_was_cut_off),
        DECIDES(test_first_start_was_cut_off),
        DECIDES(test_empty_node),
        DECIDES(test_other_ldm_count),
        DECIDES(test_initial_spares_the_last_copy),
        DECIDES(test_all_initial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
