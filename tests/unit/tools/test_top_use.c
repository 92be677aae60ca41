/* test_top_use.c -- what ndb_top makes of two reports. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "tools/top_use.h"

#define SECOND 1000000u

static struct ndb_mgm_threads before, now;
static struct top top;

static void assert_near(double is, double should)
{
    if (fabs(is - should) > 0.001) fail_msg("%f instead of %f", is, should);
}

/* Two threads and the process, a second apart. */
static void fill(void)
{
    before = (struct ndb_mgm_threads){
        .node_id = 1,
        .thread_count = 3,
        .threads = {{"main", 5000000, 100, 200, 1000, 2000, 3000},
                    {"ldm", 5000000, 1000, 0, 0, 0, 0},
                    {"process", 5000000, 2000, 1000, 0, 0, 0}},
    };
    now = before;
    for (uint32_t i = 0; i < 3; i++)
        now.threads[i].at_us += 1000000;
    now.threads[0].user_us += 100000;
    now.threads[0].system_us += 50000;
    now.threads[0].work_us += 200000;
    now.threads[0].spin_us += 300000;
    now.threads[0].sleep_us += 500000;
    now.threads[1].user_us += 1010000; /* The operating system was asked a moment earlier. */
    now.threads[2].user_us += 1300000;
    now.threads[2].system_us += 75000;
}

static void test_compare(void **state)
{
    (void)state;
    fill();
    top_compare(&before, &now, SECOND, TOP_BY_NUMBER, &top);
    assert_int_equal(top.count, 3);
    assert_true(top.elapsed_us == 1000000);
    assert_near(top.all, 137.5);
    assert_int_equal(top.use[0].number, 0);
    assert_string_equal(top.use[0].name, "main");
    assert_near(top.use[0].user, 10);
    assert_near(top.use[0].system, 5);
    assert_near(top.use[0].idle, 85);
    assert_near(top.use[0].work, 20);
    assert_near(top.use[0].spin, 30);
    assert_near(top.use[0].sleep, 50);
    assert_near(top.use[1].user, 100); /* Not more. */
    assert_near(top.use[1].idle, 0);
    assert_int_equal(top.use[2].number, TOP_REST);
    assert_near(top.use[2].user, 20);
    assert_near(top.use[2].system, 2.5);
}

static void test_sorted(void **state)
{
    (void)state;
    fill();
    top_compare(&before, &now, SECOND, TOP_BY_CPU, &top);
    assert_int_equal(top.use[0].number, 1);
    assert_int_equal(top.use[1].number, 0);
    assert_int_equal(top.use[2].number, TOP_REST);
    top_compare(&before, &now, SECOND, TOP_BY_WORK, &top); /* Thread 1 measures none. */
    assert_int_equal(top.use[0].number, 0);
    assert_int_equal(top.use[1].number, 1);
    assert_int_equal(top.use[2].number, TOP_REST);
}

/* A screen that is too low says how many more there are. */
static void test_shown(void **state)
{
    (void)state;
    top.count = 10;
    assert_int_equal(top_shown(&top, 13, 3), 10);
    assert_int_equal(top_shown(&top, 12, 3), 8);
    assert_int_equal(top_shown(&top, 5, 3), 1);
    assert_int_equal(top_shown(&top, 4, 3), 0);
    assert_int_equal(top_shown(&top, 3, 3), 0);
    assert_int_equal(top_shown(&top, 1, 3), 0);
}

/* Nothing goes backward when a new process has lived longer than the former one had: its clock is
   behind. */
static void test_restarted_long_ago(void **state)
{
    (void)state;
    fill();
    for (uint32_t i = 0; i < 3; i++)
        now.threads[i].at_us = 50 * SECOND;
    top_compare(&before, &now, 45 * SECOND, TOP_BY_NUMBER, &top);
    assert_true(top.elapsed_us == 45 * SECOND); /* 45 s went by, 45 s here and there. */
    top_compare(&before, &now, 60 * SECOND, TOP_BY_NUMBER, &top);
    assert_true(top.elapsed_us == 50 * SECOND);
    top_compare(&before, &now, 40 * SECOND, TOP_BY_NUMBER, &top); /* An answer that came late. */
    assert_true(top.elapsed_us == 45 * SECOND);
}

/* The node was started again meanwhile: its times began anew. */
static void test_restarted(void **state)
{
    (void)state;
    fill();
    for (uint32_t i = 0; i < 3; i++)
        now.threads[i].at_us = 2000000;
    now.threads[0].user_us = 200000;
    now.threads[1].user_us = now.threads[2].user_us = now.threads[2].system_us = 0;
    top_compare(&before, &now, SECOND, TOP_BY_NUMBER, &top);
    assert_true(top.elapsed_us == 2000000);
    assert_near(top.use[0].user, 10);
    assert_near(top.use[2].user, 0);
    top_compare(&now, &now, 0, TOP_BY_NUMBER, &top); /* No time has gone by. */
    assert_near(top.use[0].user, 0);
    memset(&now, 0, sizeof now);
    top_compare(&before, &now, SECOND, TOP_BY_CPU, &top);
    assert_int_equal(top.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),   cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_restarted), cmocka_unit_test(test_restarted_long_ago),
        cmocka_unit_test(test_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
