/* test_number_seen.c -- the numbers that a cluster gives go on behind those of inserted rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tools/number_seen.h"
#include "tools/tool_common.h"
#include "values/errors.h"

/* The cluster: the next number that it gives, and the error of the next request if there is one. */
static uint64_t next_number;
static ndb_error_t in_the_way;
static bool reads_fail;
static uint32_t sets, printed;

/* What the only column of a row holds. */
static int64_t in_row;

/* ---- What number_seen.c calls. ---- */

int ndb_table_column(const struct ndb_table *table, uint32_t id, struct ndb_column_info *info)
{
    (void)table;
    if (id != 0) return -1;
    *info = (struct ndb_column_info){.type = NDB_BIGINT, .size = 8, .auto_increment = true};
    return 0;
}

int ndb_row_get(const struct ndb_record *record, const void *row, uint32_t column,
                const void **value, uint32_t *size)
{
    (void)record;
    assert_int_equal(column, 0);
    *value = row;
    *size = sizeof(in_row);
    return 0;
}

int ndb_auto_increment_read(ndb_t *ndb, const struct ndb_table *table, uint64_t *next,
                            uint32_t timeout_ms)
{
    (void)ndb;
    (void)table;
    (void)timeout_ms;
    *next = next_number;
    return reads_fail ? -1 : 0;
}

int ndb_auto_increment_set(ndb_t *ndb, const struct ndb_table *table, uint64_t least,
                           uint32_t timeout_ms)
{
    (void)ndb;
    (void)table;
    (void)timeout_ms;
    sets++;
    if (in_the_way.code != 0) return -1;
    if (least > next_number) next_number = least;
    return 0;
}

const ndb_error_t *ndb_error(const ndb_t *ndb)
{
    (void)ndb;
    return &in_the_way;
}

void tool_print_error(const ndb_error_t *error)
{
    assert_int_equal(error->code, in_the_way.code);
    printed++;
}

/* ---- */

static struct number_seen seen;

static int setup(void **state)
{
    (void)state;
    next_number = 1;
    in_the_way = (ndb_error_t){0};
    reads_fail = false;
    sets = printed = 0;
    number_seen_begin(&seen, NULL);
    return 0;
}

static void see(int64_t number)
{
    in_row = number;
    number_seen_row(&seen, NULL, &in_row);
}

static int raise_now(ndb_error_t *error)
{
    *error = (ndb_error_t){0};
    return number_seen_raise(&seen, NULL, NULL, error);
}

static void numbers_go_on_behind_the_greatest(void **state)
{
    ndb_error_t error;

    (void)state;
    see(7);
    see(-3);
    see(5);
    assert_int_equal(raise_now(&error), 1);
    assert_int_equal(next_number, 8);
    assert_int_equal(raise_now(&error), 1); /* Nothing greater has come: nobody is asked. */
    assert_int_equal(sets, 1);
}

static void numbers_that_are_behind_it_stay(void **state)
{
    ndb_error_t error;

    (void)state;
    next_number = 100;
    see(7);
    assert_int_equal(raise_now(&error), 1);
    assert_int_equal(sets, 0);
    see(99);
    assert_int_equal(raise_now(&error), 1);
    assert_int_equal(sets, 0);
    see(100);
    assert_int_equal(raise_now(&error), 1);
    assert_int_equal(next_number, 101);
}

static void a_row_without_a_number_does_not_count(void **state)
{
    ndb_error_t error;

    (void)state;
    see(0);
    see(INT64_MIN);
    assert_int_equal(raise_now(&error), 1);
    assert_int_equal(sets, 0);
}

/* Data nodes that are away, or an answer that did not come: another try does it. */
static void an_outage_is_worth_another_try(void **state)
{
    static const enum ndb_error_status tried[] = {NDB_STATUS_TEMPORARY, NDB_STATUS_UNKNOWN};
    ndb_error_t error;

    (void)state;
    for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
        see(7 + (int64_t)i);
        reads_fail = true;
        in_the_way = (ndb_error_t){.code = ERR_CLUSTER_FAILURE, .status = tried[i], .detail = "x"};
        assert_int_equal(raise_now(&error), 0);
        assert_int_equal(error.code, ERR_CLUSTER_FAILURE);
        assert_string_equal(error.detail, "");
        reads_fail = false;
        in_the_way = (ndb_error_t){0};
        assert_int_equal(raise_now(&error), 1);
        assert_int_equal(next_number, 8 + i);
    }
    assert_int_equal(printed, 0);
}

static void another_error_is_not(void **state)
{
    ndb_error_t error;

    (void)state;
    see(7);
    in_the_way = (ndb_error_t){.code = ERR_NO_SUCH_TABLE, .status = NDB_STATUS_PERMANENT};
    assert_int_equal(raise_now(&error), -1);
    assert_int_equal(error.code, ERR_NO_SUCH_TABLE);
    number_seen_print(&seen, &error);
    assert_int_equal(printed, 1);
    in_the_way = (ndb_error_t){0};
    assert_int_equal(raise_now(&error), 1); /* It does not pass for raised. */
    assert_int_equal(next_number, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(numbers_go_on_behind_the_greatest, setup),
        cmocka_unit_test_setup(numbers_that_are_behind_it_stay, setup),
        cmocka_unit_test_setup(a_row_without_a_number_does_not_count, setup),
        cmocka_unit_test_setup(an_outage_is_worth_another_try, setup),
        cmocka_unit_test_setup(another_error_is_not, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
