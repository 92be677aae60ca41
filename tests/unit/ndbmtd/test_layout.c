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

static const uint32_t all_blocks[] = {BLOCK_CMVMI,  BLOCK_QMGR, BLOCK_NDBCNTR, BLOCK_DBDIH,
                                      BLOCK_DBDICT, BLOCK_DBTC, BLOCK_DBLQH,   BLOCK_DBACC,
                                      BLOCK_DBTUP,  BLOCK_DBTUX};

static uint32_t instances_of(const struct node_config *config, uint32_t block_no)
{
    if (block_no == BLOCK_DBTC) return config->tc_count;
    bool per_ldm = block_no == BLOCK_DBLQH || block_no == BLOCK_DBACC || block_no == BLOCK_DBTUP ||
                   block_no == BLOCK_DBTUX;
    return per_ldm ? config->ldm_count : 0;
}

/* Each link has a thread that reads it and one that writes it, of the right kind; and with enough
 * peers none of them is without. */
static void check_links(const struct node_config *config)
{
    uint32_t links[WORKERS_MAX] = {0};
    enum thread_role reads = config->thread_count == 1 ? ROLE_ALL : ROLE_RECV;
    assert_int_equal(layout_role(config, layout_socket_thread(config)), reads);
    assert_int_equal(layout_socket_thread(config) + layout_recv_count(config),
                     config->thread_count);
    for (uint32_t peer = 1; peer <= NODE_ID_MAX; peer++) {
        uint32_t reader = layout_link_thread(config, peer);
        uint32_t writer = layout_writer_thread(config, peer);
        assert_int_equal(layout_role(config, reader), reads);
        assert_in_range(writer, 0, layout_workers(config) - 1);
        if (config->send_count == 0)
            assert_int_equal(writer, reader);
        else
            assert_int_equal(layout_role(config, writer), ROLE_SEND);
        links[reader]++;
        links[writer]++;
    }
    for (uint32_t no = layout_socket_thread(config); no < layout_workers(config); no++) {
        enum thread_role role = layout_role(config, no);
        assert_true(role == reads || role == ROLE_SEND);
        assert_true(links[no] > 0);
    }
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
    /* An instance group shares its thread: LQH, ACC, TUP and TUX call each other. */
    for (uint32_t ldm = 1; ldm <= config->ldm_count; ldm++) {
        uint32_t thread = layout_thread_of(config, BLOCK_DBLQH, ldm);
        assert_int_equal(layout_thread_of(config, BLOCK_DBACC, ldm), thread);
        assert_int_equal(layout_thread_of(config, BLOCK_DBTUP, ldm), thread);
        assert_int_equal(layout_thread_of(config, BLOCK_DBTUX, ldm), thread);
        assert_int_equal(layout_thread_of(config, BLOCK_DBTUX, ldm), thread);
    }
    check_links(config);
}

static void check_counts(const struct node_config *config, const uint32_t *wanted)
{
    assert_int_equal(config->thread_count, wanted[0]);
    assert_int_equal(config->ldm_count, wanted[1]);
    assert_int_equal(config->tc_count, wanted[2]);
    assert_int_equal(layout_recv_count(config), wanted[3]);
    assert_int_equal(config->send_count, wanted[4]);
    check_map(config);
}

static void automatic_layouts(void **unused)
{
    /* CPUs; threads of the kernel, ldm, tc, recv; send. A tenth of the CPUs is left alone. */
    static const uint32_t cases[][6] = {
        {0, 1, 1, 1, 1, 0},     {1, 1, 1, 1, 1, 0},        {2, 1, 1, 1, 1, 0},
        {3, 5, 1, 1, 1, 0},     {4, 6, 2, 1, 1, 0},        {6, 8, 4, 1, 1, 0},
        {8, 8, 4, 1, 1, 1},     {10, 8, 4, 1, 1, 1},       {16, 13, 8, 2, 1, 1},
        {18, 14, 8, 2, 2, 2},   {32, 25, 16, 4, 3, 3},     {64, 41, 24, 9, 6, 5},
        {72, 42, 24, 10, 6, 6}, {1024, 57, 24, 19, 12, 11}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct node_config config = {.own_node = 1};
        layout_automatic(&config, cases[i][0]);
        check_counts(&config, cases[i] + 1);
    }
    for (uint32_t cpus = 0; cpus < 300; cpus++) {
        struct node_config config = {.own_node = 1};
        layout_automatic(&config, cpus);
        check_map(&config);
    }
}

static void layouts_of_a_limit(void **unused)
{
    static const uint32_t cases[][6] = {
        {2, 1, 1, 1, 1, 0},  {3, 1, 1, 1, 1, 0},   {4, 6, 2, 1, 1, 0},    {9, 9, 4, 2, 1, 0},
        {10, 9, 4, 2, 1, 1}, {14, 13, 6, 3, 2, 1}, {27, 22, 12, 5, 3, 2}, {72, 56, 24, 20, 10, 8},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct node_config config = {.own_node = 1};
        layout_from_limit(&config, cases[i][0]);
        check_counts(&config, cases[i] + 1);
    }
}

static void every_size_has_a_whole_map(void **unused)
{
    (void)unused;
    for (uint32_t ldm = 1; ldm <= LDM_COUNT_MAX; ldm++) {
        for (uint32_t tc = 1; tc <= TC_COUNT_MAX; tc++) {
            uint32_t recv = 1 + (ldm + tc) % RECV_COUNT_MAX;
            struct node_config config = {.own_node = 1,
                                         .thread_count = layout_split_threads(ldm, tc) - 1 + recv,
                                         .ldm_count = ldm,
                                         .tc_count = tc,
                                         .send_count = (ldm + 3 * tc) % (SEND_COUNT_MAX + 1)};
            assert_int_equal(layout_recv_count(&config), recv);
            check_map(&config);
        }
    }
}

static void thread_config_texts(void **unused)
{
    static const struct {
        const char *text;
        uint32_t counts[5]; /* Threads of the kernel, ldm, tc, recv, send. */
    } cases[] = {
        {"", {1, 1, 1, 1, 0}}, /* Automatic, here for two CPUs. */
        {NULL, {1, 1, 1, 1, 0}},
        {"main,rep,ldm={count=4},tc={count=2},recv", {9, 4, 2, 1, 0}},
        {"recv,tc={count=2},ldm={count=4},main", {9, 4, 2, 1, 0}},
        {"ldm={count=2},ldm={count=3},recv", {9, 5, 1, 1, 0}},
        {"ldm", {5, 1, 1, 1, 0}},
        {"ldm={count=2},recv={count=2},send={count=3}", {7, 2, 1, 2, 3}},
        {"ldm={nosend=1},recv,recv,send,send", {6, 1, 1, 2, 2}},
        {"main,rep,ldm={count=24},tc={count=24},recv={count=14},send={count=16}",
         {64, 24, 24, 14, 16}},
        {"ldm={count=0},tc={count=3},recv", {7, 1, 3, 1, 0}},
        {"main,ldm={count=0},recv", {1, 1, 1, 1, 0}},
        {"main,ldm={count=0},recv,send={count=2}", {1, 1, 1, 1, 2}},
        {"main={cpubind=0},ldm={count=2,cpubind=1-2},recv={spintime=100},send={count=1},io",
         {6, 2, 1, 1, 1}},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct node_config config = {.own_node = 1};
        char why[200] = "";
        assert_int_equal(layout_from_text(&config, cases[i].text, 2, why, sizeof why), 0);
        assert_string_equal(why, "");
        check_counts(&config, cases[i].counts);
    }
}

static void wrong_texts_say_what_is_allowed(void **unused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"ldm={count=25}", "ldm count 0..24"},
        {"ldm={count=4},tc={count=25}", "tc count 0..24"},
        {"ldm={count=2},recv={count=15}", "recv count 1..14"},
        {"ldm={count=2},send={count=17}", "send count 0..16"},
        {"ldm={count=0},recv={count=2}", "recv count 1 is allowed without ldm and tc"},
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
    char why[200];
    const char *text = "ldm={count=2},recv={count=2},send={count=2}";
    assert_int_equal(layout_from_text(&config, text, 2, why, sizeof why), 0);
    static const char *const names[] = {"main", "rep",  "ldm",  "ldm", "tc",
                                        "recv", "recv", "send", "send"};
    assert_int_equal(layout_workers(&config), 9);
    for (uint32_t no = 0; no < layout_workers(&config); no++)
        assert_string_equal(layout_role_name(layout_role(&config, no)), names[no]);
    layout_automatic(&config, 1);
    assert_string_equal(layout_role_name(layout_role(&config, 0)), "all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(automatic_layouts),
        cmocka_unit_test(layouts_of_a_limit),
        cmocka_unit_test(every_size_has_a_whole_map),
        cmocka_unit_test(thread_config_texts),
        cmocka_unit_test(wrong_texts_say_what_is_allowed),
        cmocka_unit_test(roles_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
