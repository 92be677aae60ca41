/* test_stall_rule.c -- which threads the watchdog takes for stuck, and which for starved. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "ndbmtd/stall_rule.h"

#define INTERVAL_MS  6000u
#define SLEEP_CHECKS 2u

static struct stall stall;
static struct stall_seen seen;

static int setup(void **state)
{
    (void)state;
    memset(&stall, 0, sizeof stall);
    seen = (struct stall_seen){.rounds = 1};
    stall_check(&stall, &seen, INTERVAL_MS, SLEEP_CHECKS);
    return 0;
}

/* A check later, in which it has used so much. */
static enum stall_verdict later(uint64_t cpu_ms)
{
    seen.cpu_ms += cpu_ms;
    return stall_check(&stall, &seen, INTERVAL_MS, SLEEP_CHECKS);
}

static void test_moves(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        seen.rounds++;
        seen.waits = i % 2 != 0;
        assert_int_equal(later(i % 3 * 3000), STALL_NONE);
    }
}

static void test_endless(void **state)
{
    (void)state;
    seen.waits = true;
    for (uint32_t i = 1; i <= 4; i++) {
        assert_int_equal(later(INTERVAL_MS), STALL_STUCK);
        assert_int_equal(stall.stuck, i);
    }
    seen.rounds++;
    assert_int_equal(later(INTERVAL_MS), STALL_NONE);
    assert_int_equal(stall.stuck, 0);
}

/* It waits for something that does not come. */
static void test_blocked(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(later(0), STALL_STUCK);
    assert_int_equal(stall.stuck, 4);
}

/* A round that gets hardly any processor is as long as it likes. */
static void test_starved(void **state)
{
    (void)state;
    seen.waits = true;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(later(i % 100 == 0 ? 50 : 0), STALL_STARVED);
        if (i % 100 == 99) seen.rounds++, later(0);
    }
    assert_int_equal(stall.stuck, 0);
}

/* An endless round among busy processes is found, later. */
static void test_endless_and_starved(void **state)
{
    (void)state;
    uint32_t checks = 0;
    seen.waits = true;
    for (checks = 0; stall.stuck < 4 && checks < 1000; checks++)
        later(INTERVAL_MS / 100);
    assert_in_range(checks, 4 * 12, 4 * 13);
}

/* Who waits for what a starved thread holds is not stuck; when that one moves it is. */
static void test_behind_a_starved_one(void **state)
{
    (void)state;
    seen.others = true;
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(later(0), STALL_STARVED);
    assert_false(stall.starved); /* It does not excuse a third one. */
    seen.others = false;
    assert_int_equal(later(0), STALL_STUCK);
    assert_int_equal(stall.stuck, 1);
}

/* Asleep it may be for some checks. Who then is woken, and gets no processor, is starved. */
static void test_asleep(void **state)
{
    (void)state;
    seen.asleep = true;
    assert_int_equal(later(0), STALL_NONE);
    assert_int_equal(later(0), STALL_NONE);
    assert_int_equal(later(0), STALL_STUCK);
    seen.waits = true;
    assert_int_equal(later(0), STALL_STARVED);
    seen.rounds++;
    assert_int_equal(later(0), STALL_NONE);
    assert_int_equal(later(0), STALL_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_moves, setup),
        cmocka_unit_test_setup(test_endless, setup),
        cmocka_unit_test_setup(test_blocked, setup),
        cmocka_unit_test_setup(test_starved, setup),
        cmocka_unit_test_setup(test_endless_and_starved, setup),
        cmocka_unit_test_setup(test_behind_a_starved_one, setup),
        cmocka_unit_test_setup(test_asleep, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
