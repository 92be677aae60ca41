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

static uint64_t slept_ms;
static uint32_t printed;

/* ---- What move_pauses.c calls. ---- */

int nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    slept_ms += (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_nsec / 1000000;
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

static struct move_pauses pauses;
static uint32_t tries;
static int kept; /* Standard error of the test. */

static void begin(const char *options)
{
    pauses = (struct move_pauses){.delay_min_ms = 1000, .delay_max_ms = 60000};
    assert_true(move_pauses_parse(&pauses, options));
    tries = 0;
    slept_ms = 0;
    printed = 0;
    (void)fflush(stderr);
    kept = dup(STDERR_FILENO);
    assert_true(kept >= 0);
    assert_non_null(freopen("said", "w", stderr));
}

/* What was said since begin(). */
static void said(const char *text)
{
    (void)fflush(stderr);
    temp_file_has("said", text);
}

static void end(void)
{
    (void)fflush(stderr);
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    (void)close(kept);
}

static void options(void **state)
{
    static const char *const wrong[] = {"",      "x",       "1,2,3,4", "-1",
                                        "1,9,8", "1,70000", "1,2,3x",  "1, 2"};
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
    assert_true(move_pause(&pauses, &locked, &tries));
    assert_int_equal(slept_ms, 1000);
    assert_true(move_pause(&pauses, &locked, &tries));
    assert_int_equal(slept_ms, 3000);
    assert_true(move_pause(&pauses, &locked, &tries));
    assert_int_equal(slept_ms, 6000);
    for (uint32_t i = 0; i < 100; i++)
        assert_true(move_pause(&pauses, &locked, &tries));
    assert_int_equal(slept_ms, 306000);
    said("ndb_move_data: waits, and tries again: 266: locked\n"); /* Once. */
    end();
}

static void short_pauses_are_told_when_they_are_many(void **state)
{
    (void)state;
    begin("0,100,100");
    for (uint32_t i = 0; i < 9; i++)
        assert_true(move_pause(&pauses, &locked, &tries));
    said("");
    move_pauses_end(&pauses); /* It went on meanwhile. */
    for (uint32_t i = 0; i < 9; i++)
        assert_true(move_pause(&pauses, &locked, &tries));
    said("");
    assert_true(move_pause(&pauses, &locked, &tries));
    said("ndb_move_data: waits, and tries again: 266: locked\n");
    assert_true(move_pause(&pauses, &away, &tries));
    said("ndb_move_data: waits, and tries again: 266: locked\n"
         "ndb_move_data: waits, and tries again: 4009: away\n");
    end();
}

static void there_are_enough_tries(void **state)
{
    (void)state;
    begin("3,1,1");
    pauses.verbose = true;
    assert_true(move_pause(&pauses, &locked, &tries));
    assert_true(move_pause(&pauses, &locked, &tries));
    assert_int_equal(printed, 0);
    assert_false(move_pause(&pauses, &locked, &tries));
    assert_int_equal(printed, 1);
    assert_int_equal(slept_ms, 2);
    said("Try 1 has failed, the next one follows in 1 ms: 266: locked\n"
         "Try 2 has failed, the next one follows in 1 ms: 266: locked\n");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options),
                                       cmocka_unit_test(pauses_grow_up_to_the_longest),
                                       cmocka_unit_test(short_pauses_are_told_when_they_are_many),
                                       cmocka_unit_test(there_are_enough_tries)};

    return cmocka_run_group_tests(tests, temp_directory_enter, temp_directory_leave);
}
