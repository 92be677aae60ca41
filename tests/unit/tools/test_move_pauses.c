/* test_move_pauses.c -- how long ndb_move_data waits before it tries again, and what it says. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/support/temp_directory.h"
#include "tools/move_pauses.h"
#include "tools/tool_common.h"
#include "values/errors.h"

static uint64_t clock_ms;
static uint64_t slept_ms;
static uint32_t printed;

/* ---- What move_pauses.c calls. ---- */

int nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    slept_ms += (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_nsec / 1000000;
    clock_ms += (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_nsec / 1000000;
    return 0;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    *time = (struct timespec){.tv_sec = (time_t)(clock_ms / 1000),
                              .tv_nsec = (long)(clock_ms % 1000) * 1000000};
    return 0;
}

void tool_print_error(const ndb_error_t *error)
{
    assert_int_not_equal(error->code, 0);
    printed++;
}

/* ---- */

static const ndb_error_t locked = {.code = ERR_LOCK_TIMEOUT, .text = "locked", .detail = ""};
static const ndb_error_t away = {.code = ERR_CLUSTER_FAILURE, .text = "away", .detail = ""};

#define LOCKED_TOLD "ndb_move_data: waits, and tries again: 266: locked\n"
#define AWAY_TOLD   "ndb_move_data: waits, and tries again: 4009: away\n"

static struct move_pauses pauses;
static uint32_t tries;

static void begin(const char *options)
{
    pauses = (struct move_pauses){.delay_min_ms = 1000, .delay_max_ms = 60000};
    assert_true(move_pauses_parse(&pauses, options));
    tries = 0;
    clock_ms = 77000; /* Some time behind the machine's start. */
    slept_ms = 0;
    printed = 0;
    temp_file_make("said", "");
}

/* So many tries that fail, each of which takes a time itself. What they say stands in a file. */
static void try_in_vain(uint32_t count, const ndb_error_t *error, uint32_t try_ms)
{
    uint32_t went_on = 0;

    (void)fflush(stderr);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0);
    assert_non_null(freopen("said", "a", stderr));
    for (uint32_t i = 0; i < count; i++) {
        clock_ms += try_ms;
        went_on += move_pause(&pauses, error, &tries);
    }
    (void)fflush(stderr);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    assert_int_equal(went_on, count);
}

/* What was said since begin(). */
static void said(const char *text)
{
    temp_file_has("said", text);
}

static void options(void **state)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "1,2,3,4",
                                        "-1",
                                        "1,9,8",
                                        "1,70000",
                                        "1,2,3x",
                                        "1, 2",
                                        "1,",
                                        "1,,",
                                        "1,2,",
                                        ",1",
                                        "+1",
                                        " 1",
                                        "1,4294967297",
                                        "4294967296",
                                        "1,1,99999999999999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        pauses = (struct move_pauses){.delay_min_ms = 1000, .delay_max_ms = 60000};
        assert_false(move_pauses_parse(&pauses, wrong[i]));
    }
    assert_true(move_pauses_parse(&pauses, "10,1,2"));
    assert_int_equal(pauses.tries_max, 10);
    assert_int_equal(pauses.delay_min_ms, 1);
    assert_int_equal(pauses.delay_max_ms, 2);
}

static void pauses_grow_up_to_the_longest(void **state)
{
    (void)state;
    begin("0,1000,3000");
    try_in_vain(1, &locked, 0);
    assert_int_equal(slept_ms, 1000);
    said(""); /* No longer than a second. */
    try_in_vain(1, &locked, 0);
    assert_int_equal(slept_ms, 3000);
    said(LOCKED_TOLD);
    try_in_vain(1, &locked, 0);
    assert_int_equal(slept_ms, 6000);
    try_in_vain(100, &locked, 0);
    assert_int_equal(slept_ms, 306000);
    said(LOCKED_TOLD); /* Once. */
}

static void a_long_pause_is_told_before_it(void **state)
{
    (void)state;
    begin("0,1001,1001");
    try_in_vain(1, &locked, 0);
    said(LOCKED_TOLD);
}

static void short_pauses_are_told_when_they_are_many(void **state)
{
    (void)state;
    begin("0,100,100");
    try_in_vain(9, &locked, 0);
    said("");
    move_pauses_end(&pauses); /* It went on meanwhile. */
    try_in_vain(10, &locked, 0);
    said("");
    try_in_vain(1, &locked, 0);
    said(LOCKED_TOLD);
    try_in_vain(9, &away, 0); /* The other reason is told when a second has passed. */
    said(LOCKED_TOLD);
    try_in_vain(1, &away, 0);
    said(LOCKED_TOLD AWAY_TOLD);
}

/* The tries themselves may take long, and there may be no pauses. */
static void the_time_of_tries_counts(void **state)
{
    (void)state;
    begin("0,0,0");
    try_in_vain(6, &locked, 200);
    said("");
    try_in_vain(1, &locked, 200);
    said(LOCKED_TOLD);
    assert_int_equal(slept_ms, 0);
}

static void reasons_in_turn_are_a_line_a_second(void **state)
{
    (void)state;
    begin("0,1,1");
    for (uint32_t i = 0; i < 1500; i++) {
        try_in_vain(1, &locked, 0);
        try_in_vain(1, &away, 0);
    }
    assert_int_equal(slept_ms, 3000);
    said(LOCKED_TOLD AWAY_TOLD); /* Behind the first second, and behind the next one. */
}

static void there_are_enough_tries(void **state)
{
    (void)state;
    begin("3,1,1");
    pauses.verbose = true;
    try_in_vain(2, &locked, 0);
    assert_int_equal(printed, 0);
    assert_false(move_pause(&pauses, &locked, &tries));
    assert_int_equal(printed, 1);
    assert_int_equal(slept_ms, 2);
    said("Try 1 has failed, the next one follows in 1 ms: 266: locked\n"
         "Try 2 has failed, the next one follows in 1 ms: 266: locked\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options),
                                       cmocka_unit_test(pauses_grow_up_to_the_longest),
                                       cmocka_unit_test(a_long_pause_is_told_before_it),
                                       cmocka_unit_test(short_pauses_are_told_when_they_are_many),
                                       cmocka_unit_test(the_time_of_tries_counts),
                                       cmocka_unit_test(reasons_in_turn_are_a_line_a_second),
                                       cmocka_unit_test(there_are_enough_tries)};

    return cmocka_run_group_tests(tests, temp_directory_enter, temp_directory_leave);
}
