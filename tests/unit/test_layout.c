/* test_layout.c -- which threads a node has, and where its blocks live, from CPUs and from
 * ThreadConfig texts. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "ndbmtd/layout.h"

static const uint32_t all_blocks[] = {BLOCK_CMVMI, BLOCK_QMGR,   BLOCK_NDBCNTR,
                                      BLOCK_DBDIH, BLOCK_DBDICT, BLOCK_DBTC,
                                      BLOCK_DBLQH, BLOCK_DBACC,  BLOCK_DBTUP};

static uint32_t instances_of(const struct node_config *config, uint32_t block_no)
{
    if (block_no == BLOCK_DBTC) return config->tc_count;
    bool per_ldm = block_no == BLOCK_DBLQH || block_no == BLOCK_DBACC || block_no == BLOCK_DBTUP;
    return per_ldm ? config->ldm_count : 0;
}

/* What must hold for every layout: each instance has a thread of its role, each LDM and TC thread
 * one instance. */
static void check_map(const struct node_config *config)
{
    assert_in_range(config->thread_count, 1, THREADS_MAX);
    for (size_t i = 0; i < sizeof all_blocks / sizeof all_blocks[0]; i++) {
        uint32_t count = instances_of(config, all_blocks[i]);
        for (uint32_t instance = count == 0 ? 0 : 1; instance <= count; instance++) {
            uint32_t thread = layout_thread_of(config, all_blocks[i], instance);
            assert_in_range(thread, 0, config->thread_count - 1);
            enum thread_role role = layout_role(config, thread);
            if (config->thread_count == 1)
                assert_int_equal(role, ROLE_ALL);
            else if (all_blocks[i] == BLOCK_DBTC)
                assert_int_equal(role, ROLE_TC);
            else if (count > 0)
                assert_int_equal(role, ROLE_LDM);
            else
                assert_true(role == ROLE_MAIN || role == ROLE_REP);
            for (uint32_t other = 1; other < instance; other++) {
                if (config->thread_count > 1)
                    assert_int_not_equal(thread, layout_thread_of(config, all_blocks[i], other));
            }
        }
    }
    /* An instance group shares its thread: LQH, ACC and TUP call each other. */
    for (uint32_t ldm = 1; ldm <= config->ldm_count; ldm++) {
        uint32_t thread = layout_thread_of(config, BLOCK_DBLQH, ldm);
        assert_int_equal(layout_thread_of(config, BLOCK_DBACC, ldm), thread);
        assert_int_equal(layout_thread_of(config, BLOCK_DBTUP, ldm), thread);
        assert_int_equal(layout_thread_of(config, BLOCK_DBTUX, ldm), thread);
    }
    enum thread_role sockets = layout_role(config, layout_socket_thread(config));
    assert_int_equal(sockets, config->thread_count == 1 ? ROLE_ALL : ROLE_RECV);
}

static void automatic_layouts(void **unused)
{
    static const struct {
        uint32_t cpus, threads, ldm, tc;
    } cases[] = {{0, 1, 1, 1}, {1, 1, 1, 1},   {2, 1, 1, 1},     {3, 5, 1, 1},      {4, 6, 2, 1},
                 {8, 9, 4, 2}, {16, 15, 8, 4}, {64, 43, 24, 16}, {1024, 51, 24, 24}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct node_config config = {.own_node = 1};
        layout_automatic(&config, cases[i].cpus);
        assert_int_equal(config.thread_count, cases[i].threads);
        assert_int_equal(config.ldm_count, cases[i].ldm);
        assert_int_equal(config.tc_count, cases[i].tc);
        check_map(&config);
    }
}

static void every_size_has_a_whole_map(void **unused)
{
    (void)unused;
    for (uint32_t ldm = 1; ldm <= LDM_COUNT_MAX; ldm++) {
        for (uint32_t tc = 1; tc <= TC_COUNT_MAX; tc++) {
            struct node_config config = {.own_node = 1,
                                         .thread_count = layout_split_threads(ldm, tc),
                                         .ldm_count = ldm,
                                         .tc_count = tc};
            check_map(&config);
        }
    }
}

static void thread_config_texts(void **unused)
{
    static const struct {
        const char *text;
        uint32_t threads, ldm, tc;
    } cases[] = {
        {"", 1, 1, 1}, /* Automatic, here for two CPUs. */
        {NULL, 1, 1, 1},
        {"main,rep,ldm={count=4},tc={count=2},recv", 9, 4, 2},
        {"recv,tc={count=2},ldm={count=4},main", 9, 4, 2},
        {"ldm={count=2},ldm={count=3},recv", 9, 5, 1},
        {"ldm", 5, 1, 1},
        {"main,rep,ldm={count=24},tc={count=24},recv", 51, 24, 24},
        {"ldm={count=0},tc={count=3},recv", 7, 1, 3},
        {"main,ldm={count=0},recv", 1, 1, 1},
        {"main={cpubind=0},ldm={count=2,cpubind=1-2},recv={spintime=100},send={count=1},io", 6, 2,
         1},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct node_config config = {.own_node = 1};
        char why[200] = "";
        assert_int_equal(layout_from_text(&config, cases[i].text, 2, why, sizeof why), 0);
        assert_string_equal(why, "");
        assert_int_equal(config.thread_count, cases[i].threads);
        assert_int_equal(config.ldm_count, cases[i].ldm);
        assert_int_equal(config.tc_count, cases[i].tc);
        check_map(&config);
    }
}

static void wrong_texts_say_what_is_allowed(void **unused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"ldm={count=25}", "ldm count 0..24"},
        {"ldm={count=4},tc={count=25}", "tc count 0..24"},
        {"ldm={count=2},recv={count=2}", "one recv thread is allowed"},
        {"ldm={count=400}", "0..332"},
        {"lmd={count=4}", "unknown thread kind lmd"},
        {"ldm={count=}", "count needs a number"},
        {"ldm={count=4", "needs }"},
        {"main={count=2}", "0..1"},
        {"recv={count=0}", "1..80"},
        {"ldm,", "an entry is missing"},
        {"ldm recv", "a comma is missing"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct node_config config = {.own_node = 1};
        char why[200] = "";
        assert_int_equal(layout_from_text(&config, cases[i].text, 2, why, sizeof why), -1);
        if (strstr(why, cases[i].why) == NULL)
            fail_msg("%s: '%s' does not say '%s'", cases[i].text, why, cases[i].why);
    }
}

static void roles_have_names(void **unused)
{
    struct node_config config = {.own_node = 1};
    (void)unused;
    layout_automatic(&config, 4);
    static const char *const names[] = {"main", "rep", "ldm", "ldm", "tc", "recv"};
    for (uint32_t no = 0; no < config.thread_count; no++)
        assert_string_equal(layout_role_name(layout_role(&config, no)), names[no]);
    layout_automatic(&config, 1);
    assert_string_equal(layout_role_name(layout_role(&config, 0)), "all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(automatic_layouts),   cmocka_unit_test(every_size_has_a_whole_map),
        cmocka_unit_test(thread_config_texts), cmocka_unit_test(wrong_texts_say_what_is_allowed),
        cmocka_unit_test(roles_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
