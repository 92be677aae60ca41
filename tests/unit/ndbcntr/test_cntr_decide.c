/* test_cntr_decide.c -- the president's decision: with what the cluster comes back, who is refused,
 * who is missing. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "tests/unit/support/fake_workers.h"

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

/*
 * The table of cases. A node is a word: what it has (c: current; s: it was lost before the others
 * went on; f: as current as c, with a last GCI that no other one has and that was not declared;
 * 0: a first start that was cut off; e: nothing; -: it has not come), then how it is started (i:
 * --initial, a: --i-accept-data-loss too, l: other LDM threads, d: it stands aside with files that
 * are damaged, and knows what they had). A word of the answer is the node's: ok, stale, empty, ldm,
 * last (copy); of an absent one - or, when it is needed, need. Start: with which GCI, 0 = initial.
 */
enum { GCI_STALE = 100, GCI_CURRENT = 200, NOT_NOW = 1 << 20 };

static const struct start_case {
    uint32_t nodes, replicas;
    const char *has;
    const char *answer;
    uint32_t start;
} cases[] = {
    /* One node. */
    {1, 1, "e", "ok", 0},
    {1, 1, "c", "ok", GCI_CURRENT},
    {1, 1, "ci", "last", NOT_NOW},
    {1, 1, "ca", "ok", 0},
    {1, 1, "0i", "ok", 0},
    {1, 1, "cl", "ldm", NOT_NOW},
    /* Two replicas: the one that stays is old. */
    {2, 2, "s c", "stale ok", NOT_NOW},
    {2, 2, "s ci", "stale last", NOT_NOW},
    {2, 2, "s ca", "ok empty", NOT_NOW}, /* The next round: "s -". */
    {2, 2, "si c", "empty ok", NOT_NOW},
    {2, 2, "sa c", "empty ok", NOT_NOW},
    {2, 2, "si ci", "empty last", NOT_NOW},
    {2, 2, "sa ci", "empty last", NOT_NOW},
    {2, 2, "si ca", "last empty", NOT_NOW},
    {2, 2, "sa ca", "ok ok", 0},
    {2, 2, "s e", "ok empty", NOT_NOW}, /* Nobody here knows of more. */
    {2, 2, "s -", "ok -", GCI_STALE},
    {2, 2, "- c", "- ok", GCI_CURRENT},
    {2, 2, "- ci", "need last", NOT_NOW},
    {2, 2, "- ca", "need ok", NOT_NOW},
    {2, 2, "c c", "ok ok", GCI_CURRENT},
    {2, 2, "ci c", "empty ok", NOT_NOW},
    {2, 2, "ca c", "empty ok", NOT_NOW},
    {2, 2, "ci ci", "last last", NOT_NOW},
    {2, 2, "ci ca", "last empty", NOT_NOW},
    {2, 2, "ca ca", "ok ok", 0},
    {2, 2, "ci e", "last empty", NOT_NOW},
    {2, 2, "ca e", "ok ok", 0},
    {2, 2, "c fi", "ok empty", NOT_NOW},
    {2, 2, "f ci", "ok empty", NOT_NOW},
    {2, 2, "c f", "ok ok", GCI_CURRENT + 1},
    {2, 2, "s cl", "stale ldm", NOT_NOW},
    {2, 2, "cl ci", "ldm last", NOT_NOW},
    /* The current one cannot use what it has, and stands aside. */
    {2, 2, "s cd", "stale ok", NOT_NOW},
    {2, 2, "c cd", "ok ok", GCI_CURRENT},
    {2, 2, "c fd", "ok ok", GCI_CURRENT},
    {2, 2, "c sd", "ok ok", GCI_CURRENT},
    {2, 2, "ci cd", "last ok", NOT_NOW},
    {2, 2, "ci sd", "last ok", NOT_NOW},
    {2, 2, "s cda", "ok ok", GCI_STALE},
    /* Three and four replicas. */
    {3, 3, "s ci ci", "stale last last", NOT_NOW},
    {3, 3, "s s ci", "stale stale last", NOT_NOW},
    {3, 3, "s c ci", "stale ok empty", NOT_NOW},
    {3, 3, "c c ci", "ok ok empty", NOT_NOW},
    {3, 3, "s s ca", "ok ok empty", NOT_NOW},
    {3, 3, "s ca ci", "stale empty last", NOT_NOW},
    {3, 3, "s - ci", "stale need last", NOT_NOW},
    {3, 3, "s s cd", "stale stale ok", NOT_NOW},
    {4, 4, "s s ci ci", "stale stale last last", NOT_NOW},
    {4, 4, "s s s ci", "stale stale stale last", NOT_NOW},
    {4, 4, "s e c ci", "stale empty ok empty", NOT_NOW},
    {4, 4, "e e e ci", "empty empty empty last", NOT_NOW},
    /* Two node groups. */
    {4, 2, "s ci c c", "stale last ok ok", NOT_NOW},
    {4, 2, "s ci s ci", "stale last stale last", NOT_NOW},
    {4, 2, "s ca s ci", "stale empty stale last", NOT_NOW},
    {4, 2, "s ca s ca", "ok empty ok empty", NOT_NOW},
    {4, 2, "s ca c c", "stale empty ok ok", NOT_NOW},
    {4, 2, "s - c c", "stale need ok ok", NOT_NOW},
    {4, 2, "s - c ci", "stale need ok empty", NOT_NOW},
    {4, 2, "c - c ci", "ok - ok empty", NOT_NOW},
    {4, 2, "c - - c", "ok - - ok", GCI_CURRENT},
    {4, 2, "ci - - c", "last need - ok", NOT_NOW},
    {4, 2, "s cd c c", "stale ok ok ok", NOT_NOW},
    {4, 2, "c cd c cd", "ok ok ok ok", GCI_CURRENT},
    {4, 2, "e ci e ci", "empty last empty last", NOT_NOW},
    {4, 2, "ci ci c c", "last last ok ok", NOT_NOW},
    /* And then nobody starts: EXIT_DATA_NO_COPY. */
    {4, 2, "ca ca c c", "empty empty ok ok", NOT_NOW},
    {4, 2, "- - c c", "need need ok ok", NOT_NOW},
    /* Three node groups. */
    {6, 2, "s ci s ci s ci", "stale last stale last stale last", NOT_NOW},
    {6, 2, "s ci c c c c", "stale last ok ok ok ok", NOT_NOW},
};

static const char *const answers[] = {[0] = "ok",
                                      [CNTR_REF_STALE] = "stale",
                                      [CNTR_REF_NO_DATA] = "empty",
                                      [CNTR_REF_LDM] = "ldm",
                                      [CNTR_REF_LAST_COPY] = "last"};

/* The members as the current nodes know them: all that are, or were, current. */
static struct node_mask current_members(const char *has)
{
    struct node_mask members;
    uint32_t node = 1;
    memset(&members, 0, sizeof members);
    for (const char *at = has; *at != 0; at++) {
        bool first = at == has || at[-1] == ' ';
        /* An absent node may be current: the rules may not depend on it. */
        if (first && (*at == 'c' || *at == 'f' || *at == '-')) node_mask_add(&members, node);
        if (*at == ' ') node++;
    }
    return members;
}

static struct cntr_fact fact_of(const struct start_case *line, const char *word, uint32_t node)
{
    struct cntr_fact fact = {.node = node, .ldm_data = 2, .ldm_now = 2, .schema = node};
    fact.has_data = *word != 'e';
    fact.incarnation = fact.has_data ? 5 : 0;
    fact.members = current_members(line->has);
    if (*word == 'c') fact.gci = GCI_CURRENT;
    if (*word == 'f') fact.gci = GCI_CURRENT + 1;
    if (*word == 's') {
        fact.gci = GCI_STALE;
        for (uint32_t other = 1; other <= line->nodes; other++)
            node_mask_add(&fact.members, other);
    }
    for (word++; *word != 0 && *word != ' '; word++) {
        if (*word == 'i') fact.flags |= CNTR_START_INITIAL;
        if (*word == 'a') fact.flags |= CNTR_START_INITIAL | CNTR_START_ACCEPT_LOSS;
        if (*word == 'd') fact.flags |= CNTR_START_ASIDE;
        if (*word == 'l') fact.ldm_now = 4;
    }
    return fact;
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct start_case *line = &cases[i];
        struct cntr_fact those[6];
        struct node_config config = fake_config(4, line->replicas);
        char got[160] = "";
        uint32_t count = 0;
        uint32_t node = 1;
        for (uint32_t id = 1; id <= 8; id++)
            config.node[id] = (struct config_node){.type = id <= line->nodes ? NODE_DATA : NODE_API,
                                                   .nodegroup = (id - 1) / line->replicas};
        for (const char *word = line->has; word != NULL; word = strchr(word, ' '), node++) {
            if (*word == ' ') word++;
            if (*word != '-') those[count++] = fact_of(line, word, node);
        }
        cntr_decide(&config, those, count, &decision);
        for (uint32_t at = 1, next = 0; at <= line->nodes; at++) {
            bool here = next < count && those[next].node == at;
            bool need = node_mask_has(&decision.missing, at);
            const char *text = here ? answers[decision.refused[at]] : need ? "need" : "-";
            if (at > 1) strcat(got, " ");
            strcat(got, text);
            next += here;
        }
        uint32_t start = decision.verdict == CNTR_START_NOW ? decision.gci : NOT_NOW;
        if (strcmp(got, line->answer) != 0 || start != line->start)
            fail_msg("%u nodes, %u replicas, %s: %s at %u instead of %s at %u", line->nodes,
                     line->replicas, line->has, got, start, line->answer, line->start);
    }
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
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
