/* test_beat_rule.c -- what is late, and how patient that makes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "kernel/base/beat_rule.h"

#define WINDOW_MS (BEAT_BUCKETS * BEAT_BUCKET_MS)

static struct beat_window window;

static int setup(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    return 0;
}

/* Where nothing is late by more than an interval, as on a quiet machine, nobody waits any longer
 * than with no window at all. */
static void test_quiet(void **state)
{
    (void)state;
    assert_int_equal(beat_spread_ms(&window, 0), 0);
    assert_int_equal(beat_spread_ms(&window, UINT64_MAX), 0);
    for (uint64_t now = 0; now < 2 * WINDOW_MS; now += 70) {
        beat_note(&window, now, now / 70 % 20 == 0 ? 30 : now / 70 % 3);
        assert_int_equal(beat_patience_ms(beat_spread_ms(&window, now), 70), 0);
    }
}

static void test_patience(void **state)
{
    static const struct {
        uint32_t spread, interval, patience;
    } cases[] = {
        {0, 70, 0},          {70, 70, 0},
        {71, 70, 4},         {100, 70, 120},
        {300, 70, 920},      {315, 70, 980},
        {60000, 70, 980},    {90, 20, 280},
        {30, 20, 40},        {1500, 1500, 0},
        {1600, 1500, 400},   {9000, 1500, 1000},
        {UINT32_MAX, 1, 14}, {UINT32_MAX, UINT32_MAX, 0},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(beat_patience_ms(cases[i].spread, cases[i].interval), cases[i].patience);
}

/* It grows with the delays, the longest counts for the whole window and not longer. */
static void test_window(void **state)
{
    (void)state;
    for (uint64_t now = 5000; now < 5000 + WINDOW_MS - BEAT_BUCKET_MS; now += 70) {
        beat_note(&window, now, now == 5000 ? 400 : 0);
        assert_int_equal(beat_spread_ms(&window, now), 400);
    }
    assert_int_equal(beat_spread_ms(&window, 5000 + WINDOW_MS - 1), 400);
    assert_int_equal(beat_spread_ms(&window, 5000 + WINDOW_MS), 0);
    beat_note(&window, 5000 + WINDOW_MS, 3);
    assert_int_equal(beat_spread_ms(&window, 5000 + WINDOW_MS), 3);
    beat_note(&window, 5000 + 100 * WINDOW_MS, 0); /* Nothing of before is left. */
    assert_int_equal(beat_spread_ms(&window, 5000 + 100 * WINDOW_MS), 0);
}

static void test_extremes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200000; i++)
        beat_note(&window, 1000, UINT64_MAX);
    assert_int_equal(beat_spread_ms(&window, 1000), 60000);
    beat_note(&window, 5, 1); /* A clock never goes back; if one did, it is the newest bucket's. */
    assert_int_equal(beat_spread_ms(&window, 1000), 60000);
    beat_note(&window, UINT64_MAX - BEAT_BUCKET_MS, 7);
    assert_int_equal(beat_spread_ms(&window, UINT64_MAX - BEAT_BUCKET_MS), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_quiet, setup),
        cmocka_unit_test_setup(test_patience, setup),
        cmocka_unit_test_setup(test_window, setup),
        cmocka_unit_test_setup(test_extremes, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
