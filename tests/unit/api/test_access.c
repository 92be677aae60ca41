/* test_access.c -- which index fits a condition. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "api/sql/sql_create.h"
#include "tests/unit/support/program_builder.h"

enum { K1, K2, A, B, C, D }; /* The columns of the table. */

static struct table_def *def;
static struct ndb_table *table;

static int setup(void **state)
{
    static const char sql[] =
        "create table t (k1 int, k2 int, a int, b int, c int, d int unique,"
        " primary key (k1, k2), unique ab (a, b), index i_a (a), index i_bac (b, a, c),"
        " index i_c (c), index i_ck (c, k1), index i_ka (k1, a)) partition by key (k1)";
    const struct sql_create_input input = {
        .text = sql, .text_size = sizeof sql - 1, .database = "d"};
    struct sql_create_result result;
    struct sql_create_error error;
    (void)state;
    void *memory = malloc(table_def_size_max());
    assert_int_equal(sql_create_parse(&input, memory, table_def_size_max(), &result, &error), 0);
    def = result.def;
    table = builder_table(def);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    builder_table_free(table);
    free(def);
    return 0;
}

/* Lists of columns end with UINT32_MAX. */
#define END UINT32_MAX
static uint32_t count_of(const uint32_t *columns)
{
    uint32_t count = 0;
    while (columns[count] != END)
        count++;
    return count;
}

struct expected {
    uint32_t equal[5], null[3], range[3];
    enum ndb_access_kind kind;
    const char *name;
    uint32_t columns;
    bool range_too, one_fragment;
};

static const struct expected cases[] = {
    {{END}, {END}, {END}, NDB_ACCESS_SCAN, "", 0, false, false},
    {{K1, K2, END}, {END}, {END}, NDB_ACCESS_PRIMARY_KEY, "PRIMARY", 2, false, true},
    {{K2, A, B, K1, END}, {END}, {C, END}, NDB_ACCESS_PRIMARY_KEY, "PRIMARY", 2, false, true},
    {{K2, END}, {END}, {K2, END}, NDB_ACCESS_SCAN, "", 0, false, false},
    {{K1, END}, {END}, {END}, NDB_ACCESS_INDEX, "i_ka", 1, false, true},
    {{K1, END}, {END}, {A, END}, NDB_ACCESS_INDEX, "i_ka", 1, true, true},
    {{B, A, END}, {END}, {END}, NDB_ACCESS_UNIQUE, "ab", 2, false, true},
    {{D, A, END}, {END}, {END}, NDB_ACCESS_UNIQUE, "d", 1, false, true},
    /* A NULL is not in a unique index. */
    {{A, END}, {B, END}, {END}, NDB_ACCESS_INDEX, "i_bac", 2, false, false},
    {{END}, {D, END}, {END}, NDB_ACCESS_SCAN, "", 0, false, false},
    {{A, END}, {END}, {END}, NDB_ACCESS_INDEX, "i_a", 1, false, false},
    {{A, END}, {END}, {B, END}, NDB_ACCESS_INDEX, "i_a", 1, false, false},
    {{B, END}, {END}, {A, END}, NDB_ACCESS_INDEX, "i_bac", 1, true, false},
    {{B, END}, {END}, {C, END}, NDB_ACCESS_INDEX, "i_bac", 1, false, false},
    {{END}, {END}, {A, END}, NDB_ACCESS_INDEX, "i_a", 0, true, false},
    {{END}, {END}, {C, B, END}, NDB_ACCESS_INDEX, "i_bac", 0, true, false},
    {{C, END}, {END}, {END}, NDB_ACCESS_INDEX, "i_c", 1, false, false},
    /* Among ways of one length the one that leaves fragments out; longer ones before that. */
    {{C, K1, END}, {END}, {END}, NDB_ACCESS_INDEX, "i_ck", 2, false, true},
    {{A, K1, END}, {END}, {END}, NDB_ACCESS_INDEX, "i_ka", 2, false, true},
    {{B, K1, END}, {END}, {END}, NDB_ACCESS_INDEX, "i_ka", 1, false, true},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct expected *e = &cases[i];
        const struct ndb_condition_columns condition = {
            .equal = e->equal,
            .equal_count = count_of(e->equal),
            .null = e->null,
            .null_count = count_of(e->null),
            .range = e->range,
            .range_count = count_of(e->range),
        };
        struct ndb_access access;
        struct ndb_index_info index;
        assert_int_equal(ndb_table_access(table, &condition, &access), 0);
        if (access.kind != e->kind || strcmp(access.name, e->name) != 0)
            fail_msg("case %zu: %s (%d) instead of %s", i, access.name, (int)access.kind, e->name);
        assert_int_equal(access.columns, e->columns);
        assert_int_equal(access.range, e->range_too);
        assert_int_equal(access.one_fragment, e->one_fragment);
        if (access.kind == NDB_ACCESS_INDEX)
            assert_int_equal(ndb_table_index(table, access.number, &index), 0);
        if (access.kind == NDB_ACCESS_UNIQUE)
            assert_int_equal(ndb_table_unique(table, access.number, &index), 0);
        if (access.kind == NDB_ACCESS_INDEX || access.kind == NDB_ACCESS_UNIQUE)
            assert_string_equal(index.name, access.name);
    }
}

static void test_wrong_columns(void **state)
{
    const uint32_t none = 6;
    struct ndb_access access;
    (void)state;
    const struct ndb_condition_columns equal = {.equal = &none, .equal_count = 1};
    const struct ndb_condition_columns null = {.null = &none, .null_count = 1};
    const struct ndb_condition_columns range = {.range = &none, .range_count = 1};
    const struct ndb_condition_columns nothing = {.equal_count = 1};
    assert_int_equal(ndb_table_access(table, &equal, &access), -1);
    assert_int_equal(ndb_table_access(table, &null, &access), -1);
    assert_int_equal(ndb_table_access(table, &range, &access), -1);
    assert_int_equal(ndb_table_access(table, &nothing, &access), -1);
    assert_int_equal(ndb_table_access(NULL, &equal, &access), -1);
    assert_int_equal(ndb_table_access(table, NULL, &access), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_wrong_columns),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
