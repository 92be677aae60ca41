/* test_copy_pace.c -- a copy takes more while transactions go on as usual, and gives way when they
 * do not. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "blocks/dblqh/failure/copy_pace.h"

struct load {
    struct copy_pace pace;
    uint64_t ms;
    uint32_t requests;
};

/* Looks every millisecond of a period with so many requests. */
static uint32_t period(struct load *load, uint32_t requests)
{
    uint32_t pace = 0;
    uint32_t before = load->requests;
    for (uint32_t i = 1; i <= COPY_PACE_MS; i++) {
        load->requests = before + requests * i / COPY_PACE_MS;
        pace = copy_pace_look(&load->pace, ++load->ms, load->requests, COPY_PACE_MAX);
    }
    return pace;
}

static struct load begun(uint32_t requests)
{
    /* The count passes its end on the way. */
    struct load load = {.ms = 5000, .requests = UINT32_MAX - 1500u};
    assert_int_equal(copy_pace_look(&load.pace, load.ms, 0, COPY_PACE_MAX), COPY_PACE_FREE);
    assert_int_equal(copy_pace_look(&load.pace, load.ms, load.requests, COPY_PACE_MAX), 0);
    for (uint32_t i = 1; i < COPY_PACE_LISTEN; i++)
        assert_int_equal(period(&load, requests), 0);
    assert_int_equal(period(&load, requests), COPY_PACE_FIRST);
    return load;
}

static void test_more_while_nothing_suffers(void **state)
{
    (void)state;
    struct load load = begun(1000);
    uint32_t pace = load.pace.pace;
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t next = period(&load, i % 2 == 0 ? 990 : 1010);
        assert_true(next == 2 * pace || next == COPY_PACE_MAX);
        pace = next;
    }
    assert_int_equal(pace, COPY_PACE_MAX);
}

static void test_less_when_there_are_fewer(void **state)
{
    (void)state;
    struct load load = begun(1000);
    while (period(&load, 1000) < 16)
        continue;
    assert_int_equal(load.pace.pace, 16);
    assert_int_equal(period(&load, 850), 16); /* Between the two it stays. */
    assert_int_equal(period(&load, 700), 8);
    assert_int_equal(period(&load, 700), 4);
    assert_int_equal(period(&load, 850), 4);
    assert_int_equal(period(&load, 1000), 8);
}

/* Work that can go no faster gives way at once when transactions need the time. */
static void test_no_more_than_is_used(void **state)
{
    (void)state;
    struct load load = begun(1000);
    for (uint32_t i = 0; i < 10; i++) {
        period(&load, 1000);
        assert_true(copy_pace_look(&load.pace, load.ms, load.requests, 20) <= 20);
    }
    assert_int_equal(load.pace.pace, 20);
    assert_int_equal(period(&load, 500), 10);
}

/* What costs transactions something at any pace: the copy does not take more than they leave. */
static void test_settles_where_it_hurts(void **state)
{
    (void)state;
    struct load load = begun(1000);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t left = 1000u - 10u * load.pace.pace;
        assert_true(left >= 680);
        sum += left;
        period(&load, left);
    }
    assert_true(sum >= 80000);
    assert_true(load.pace.pace >= 8 && load.pace.pace <= 32);
}

/* The others do less by themselves: after a while that is what is usual. */
static void test_a_load_that_ends_is_forgotten(void **state)
{
    (void)state;
    struct load load = begun(1000);
    for (uint32_t i = 0; i < 5; i++)
        period(&load, 1000);
    uint32_t periods = 0;
    while (period(&load, 100) > 1)
        periods++;
    assert_true(periods < 8);
    for (periods = 0; period(&load, 100) < 8; periods++)
        assert_true(periods < 20);
}

static void test_a_load_that_grows_is_learnt(void **state)
{
    (void)state;
    struct load load = begun(100);
    for (uint32_t i = 0; i < 20; i++)
        period(&load, 1000);
    assert_int_equal(load.pace.pace, COPY_PACE_MAX);
    assert_int_equal(period(&load, 500), COPY_PACE_MAX / 2u);
}

static void test_begins_anew_after_a_second(void **state)
{
    (void)state;
    struct load load = begun(1000);
    while (period(&load, 1000) < 8)
        continue;
    load.ms += 1000;
    assert_int_equal(copy_pace_look(&load.pace, load.ms, load.requests, COPY_PACE_MAX),
                     COPY_PACE_FREE);
    assert_int_equal(copy_pace_look(&load.pace, ++load.ms, ++load.requests, COPY_PACE_MAX), 0);
    assert_int_equal(load.pace.usual, 0);
    for (uint32_t i = 0; i < COPY_PACE_LISTEN; i++)
        period(&load, 10);
    assert_int_equal(load.pace.usual, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_while_nothing_suffers),
        cmocka_unit_test(test_less_when_there_are_fewer),
        cmocka_unit_test(test_no_more_than_is_used),
        cmocka_unit_test(test_settles_where_it_hurts),
        cmocka_unit_test(test_a_load_that_ends_is_forgotten),
        cmocka_unit_test(test_a_load_that_grows_is_learnt),
        cmocka_unit_test(test_begins_anew_after_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
