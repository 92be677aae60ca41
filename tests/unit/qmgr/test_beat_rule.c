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

static uint32_t spread(uint64_t now)
{
    return beat_figures(&window, now).spread_ms;
}

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
    assert_int_equal(spread(0), 0);
    assert_int_equal(spread(UINT64_MAX), 0);
    for (uint64_t now = 0; now < 2 * WINDOW_MS; now += 70) {
        beat_note(&window, now, now / 70 % 80 == 0 ? 69 : now / 70 % 18, 70);
        assert_int_equal(beat_patience_ms(beat_figures(&window, now), 70), 0);
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
        assert_int_equal(
            beat_patience_ms((struct beat_figures){cases[i].spread, 1000, 7}, cases[i].interval),
            cases[i].patience);
}

/* Where one in sixty-four is late by more than a quarter of an interval more wants to run than
 * there are processors, and the longest delay does not tell what the next one is. */
static void test_starved(void **state)
{
    static const struct {
        uint32_t count, late, patience;
    } cases[] = {{0, 0, 0},      {7, 7, 0},         {8, 8, 980},      {512, 7, 0},
                 {512, 8, 980},  {6400, 99, 0},     {6400, 100, 980}, {6463, 100, 980},
                 {6464, 100, 0}, {UINT32_MAX, 1, 0}};
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(
            beat_patience_ms((struct beat_figures){18, cases[i].count, cases[i].late}, 70),
            cases[i].patience);
    for (uint64_t now = 0; now < 2 * WINDOW_MS; now += 35)
        beat_note(&window, now, now % 700 == 0 ? 18 : 17, 70);
    assert_int_equal(beat_patience_ms(beat_figures(&window, 2 * WINDOW_MS - 1), 70), 980);
    for (uint64_t now = 2 * WINDOW_MS; now < 3 * WINDOW_MS; now += 35)
        beat_note(&window, now, 17, 70);
    assert_int_equal(beat_patience_ms(beat_figures(&window, 3 * WINDOW_MS - 1), 70), 0);
    assert_int_equal(beat_figures(&window, 3 * WINDOW_MS - 1).late, 0);
    for (uint64_t now = 3 * WINDOW_MS; now < 4 * WINDOW_MS; now += 10)
        beat_note(&window, now, 16, 10);
    assert_int_equal(beat_figures(&window, 4 * WINDOW_MS - 1).late, 0);
    beat_note(&window, 4 * WINDOW_MS - 1, 17, 10);
    assert_int_equal(beat_figures(&window, 4 * WINDOW_MS - 1).late, 1);
    for (uint64_t now = 4 * WINDOW_MS; now < 5 * WINDOW_MS; now += 35)
        beat_answer(&window, now, 60);
    struct beat_figures figures = beat_figures(&window, 5 * WINDOW_MS - 1);
    assert_int_equal(figures.spread_ms, 60);
    assert_int_equal(figures.count + figures.late, 0);
}

/* It grows with the delays, the longest counts for the whole window and not longer. */
static void test_window(void **state)
{
    (void)state;
    for (uint64_t now = 5000; now < 5000 + WINDOW_MS - BEAT_BUCKET_MS; now += 70) {
        beat_note(&window, now, now == 5000 ? 400 : 0, 70);
        assert_int_equal(spread(now), 400);
    }
    assert_int_equal(spread(5000 + WINDOW_MS - 1), 400);
    assert_int_equal(spread(5000 + WINDOW_MS), 0);
    beat_note(&window, 5000 + WINDOW_MS, 3, 70);
    assert_int_equal(spread(5000 + WINDOW_MS), 3);
    beat_note(&window, 5000 + 100 * WINDOW_MS, 0, 70); /* Nothing of before is left. */
    assert_int_equal(spread(5000 + 100 * WINDOW_MS), 0);
}

static void test_extremes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200000; i++)
        beat_note(&window, 1000, UINT64_MAX, 70);
    assert_int_equal(spread(1000), 60000);
    assert_int_equal(beat_figures(&window, 1000).late, UINT16_MAX);
    /* A clock never goes back; if one did, it is the newest bucket's. */
    beat_note(&window, 5, 1, 70);
    assert_int_equal(spread(1000), 60000);
    beat_note(&window, UINT64_MAX - BEAT_BUCKET_MS, 7, 70);
    assert_int_equal(spread(UINT64_MAX - BEAT_BUCKET_MS), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_quiet, setup),    cmocka_unit_test_setup(test_patience, setup),
        cmocka_unit_test_setup(test_starved, setup),  cmocka_unit_test_setup(test_window, setup),
        cmocka_unit_test_setup(test_extremes, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
