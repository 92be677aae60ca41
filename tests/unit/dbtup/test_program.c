/* test_program.c -- programs: the check, the machine, the builders of the client. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "values/program.h"
#include "tests/unit/support/program_builder.h"
#include "tests/unit/support/tup_fixture.h"

enum { K, A, B, U, S, T, V, COLUMNS }; /* The columns of the table. */

static struct rows_world world;
static struct ndb_table *table;
static uint32_t out[TUP_ROW_WORDS_MAX];

static struct table_def *def_numbers(void)
{
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "a", (struct column_format){.type = COLUMN_BIGINT, .length = 1},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "b", (struct column_format){.type = COLUMN_BIGUNSIGNED, .length = 1},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "u", (struct column_format){.type = COLUMN_TINYUNSIGNED, .length = 1}, 0, "",
               1);
    column_add(def, "s", (struct column_format){.type = COLUMN_MEDIUMINT, .length = 1},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "t",
               (struct column_format){.type = COLUMN_VARCHAR,
                                      .collation = COLLATION_UTF8MB4_GENERAL_CI,
                                      .length = 200},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_LONGVARBINARY, .length = 20000},
               COLUMN_NULLABLE, NULL, 0);
    return def;
}

static int setup(void **state)
{
    (void)state;
    world_start(&world, 512, 256);
    world_table(&world, def_numbers());
    table = builder_table(world.def);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_check(&world);
    builder_table_free(table);
    world_drop(&world);
    world_stop(&world);
    return 0;
}

static uint32_t put(uint32_t *to, uint32_t column, const void *value, uint32_t size)
{
    to[0] = attr_header(column, size);
    if (size > 0) to[words_of(size)] = 0;
    memcpy(to + 1, value, size);
    return 1 + words_of(size);
}

/* A committed row; returns its id. */
static uint32_t add_row(uint32_t key, const uint32_t *attr, uint32_t words)
{
    struct tup_change_req req = request(&world, 1, &key, 1, attr, words);
    struct tup_changed changed = {0};
    assert_int_equal(tup_insert(world.tup, &req, &changed), 0);
    tup_commit(world.tup, changed.change, 1);
    acc_unlock(world.acc, changed.lock);
    return changed.row;
}

static uint32_t number_row(uint32_t key, int64_t a, uint64_t b)
{
    uint32_t attr[16];
    uint32_t words = put(attr, A, &a, 8);
    words += put(attr + words, B, &b, 8);
    return add_row(key, attr, words);
}

static struct tup_program run_words(uint32_t row, const uint32_t *words, uint32_t *error)
{
    struct tup_program run = {
        .frag = world.frag, .row = row, .words = words, .out = out, .out_max = TUP_ROW_WORDS_MAX};
    *error = tup_program_run(world.tup, &run);
    return run;
}

/* Finishes, checks as the node does, runs, and frees. */
static struct tup_program run_it(struct ndb_program *p, uint32_t row, uint32_t *error)
{
    uint32_t count;
    assert_int_equal(ndb_program_finish(p), 0);
    const uint32_t *words = builder_words(p, &count);
    assert_int_equal(tup_program_check(world.frag, words, count, true), 0);
    struct tup_program run = run_words(row, words, error);
    ndb_program_free(p);
    return run;
}

static struct ndb_program *new_program(void)
{
    struct ndb_program *p = ndb_program_create(builder_ndb(), table);
    assert_non_null(p);
    return p;
}

static int64_t stored_number(const struct tup_program *run, uint32_t column)
{
    int64_t value = 0;
    for (uint32_t at = 0; at < run->stored; at += 1 + words_of(attr_size(out[at]))) {
        if (attr_column(out[at]) == column) memcpy(&value, out + at + 1, attr_size(out[at]));
    }
    return value;
}

static void test_increment(void **state)
{
    (void)state;
    uint32_t error;
    uint32_t row = number_row(1, -5, 7);
    struct ndb_program *p = new_program();
    assert_int_equal(ndb_program_add(p, A, 3), 0);
    assert_int_equal(ndb_program_exit_ok(p), 0);
    struct tup_program run = run_it(p, row, &error);
    assert_int_equal(error, 0);
    assert_int_equal(run.end, TUP_PROGRAM_OK);
    assert_int_equal(run.stored, 3);
    assert_int_equal(stored_number(&run, A), -2);
}

static void test_range(void **state)
{
    (void)state;
    static const struct {
        int64_t a;
        uint64_t b;
        enum ndb_arithmetic op;
        uint32_t into;
        uint32_t error;
        int64_t result;
    } cases[] = {
        {INT64_MAX, 1, NDB_ADD, A, ERR_VALUE_OUT_OF_RANGE, 0},
        {INT64_MAX, 1, NDB_ADD, B, 0, INT64_MIN},
        {INT64_MIN, 1, NDB_SUBTRACT, A, ERR_VALUE_OUT_OF_RANGE, 0},
        {INT64_MIN, 0, NDB_SUBTRACT, A, 0, INT64_MIN},
        {1, UINT64_MAX, NDB_ADD, B, ERR_VALUE_OUT_OF_RANGE, 0},
        {0, UINT64_MAX, NDB_ADD, B, 0, -1},
        {-1, UINT64_MAX, NDB_ADD, B, 0, -2},
        {-1, UINT64_MAX, NDB_MULTIPLY, A, ERR_VALUE_OUT_OF_RANGE, 0},
        {INT64_MIN, UINT64_MAX, NDB_MULTIPLY, B, ERR_VALUE_OUT_OF_RANGE, 0},
        {-3, 7, NDB_MULTIPLY, A, 0, -21},
        {-22, 7, NDB_DIVIDE, A, 0, -3},
        {-22, 7, NDB_REMAINDER, A, 0, -1},
        {5, 0, NDB_DIVIDE, A, ERR_TUP_REQUEST_879, 0},
        {5, 0, NDB_REMAINDER, A, ERR_TUP_REQUEST_879, 0},
        {200, 55, NDB_ADD, U, 0, 255},
        {200, 56, NDB_ADD, U, ERR_VALUE_OUT_OF_RANGE, 0},
        {1, 2, NDB_SUBTRACT, U, ERR_VALUE_OUT_OF_RANGE, 0},
        {-8388608, 0, NDB_ADD, S, 0, 0x800000},
        {8388607, 1, NDB_ADD, S, ERR_VALUE_OUT_OF_RANGE, 0},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t error;
        uint32_t row = number_row(10 + i, cases[i].a, cases[i].b);
        struct ndb_program *p = new_program();
        ndb_program_load(p, 0, A);
        ndb_program_load(p, 1, B);
        ndb_program_compute(p, cases[i].op, 2, 0, 1);
        ndb_program_store(p, cases[i].into, 2);
        ndb_program_exit_stored(p);
        struct tup_program run = run_it(p, row, &error);
        assert_int_equal(error, cases[i].error);
        if (error != 0) continue;
        assert_int_equal(run.end, TUP_PROGRAM_STORED);
        assert_int_equal(stored_number(&run, cases[i].into), cases[i].result);
    }
}

static void test_null(void **state)
{
    (void)state;
    uint32_t error;
    uint32_t row = add_row(1, NULL, 0);
    struct ndb_program *p = new_program();
    ndb_program_add(p, A, 1);
    ndb_program_exit_ok(p);
    run_it(p, row, &error);
    assert_int_equal(error, ERR_TUP_REQUEST_879);

    /* NULL is 0 here; no comparison with it is true. */
    p = new_program();
    ndb_program_branch_null(p, A, false, 1);
    ndb_program_load_number(p, 0, 41);
    for (uint32_t c = NDB_EQ; c <= NDB_GE; c++) {
        int64_t zero = 0;
        ndb_program_branch_value(p, A, (enum ndb_condition)c, &zero, 8, 1);
        ndb_program_branch_columns(p, A, (enum ndb_condition)c, B, 1);
        ndb_program_branch_numbers(p, 0, (enum ndb_condition)c, 5, 1);
    }
    ndb_program_branch_number_null(p, 5, true, 2);
    ndb_program_label(p, 1);
    ndb_program_refuse(p, 6001);
    ndb_program_label(p, 2);
    ndb_program_store(p, U, 0);
    ndb_program_store(p, A, 5);
    ndb_program_exit_ok(p);
    struct tup_program run = run_it(p, row, &error);
    assert_int_equal(error, 0);
    assert_int_equal(run.end, TUP_PROGRAM_OK);
    assert_int_equal(stored_number(&run, U), 41);
    assert_int_equal(run.stored, 3); /* And A's NULL. */

    p = new_program();
    ndb_program_store(p, U, 3);
    ndb_program_exit_ok(p);
    run_it(p, row, &error);
    assert_int_equal(error, ERR_NULL_FOR_NOT_NULL_UPDATE);
}

static void test_compare_and_set(void **state)
{
    (void)state;
    uint32_t error;
    uint32_t row = number_row(1, 5, 6);
    for (int64_t expected = 4; expected <= 6; expected++) {
        struct ndb_program *p = new_program();
        ndb_program_branch_value(p, A, NDB_EQ, &expected, 8, 7);
        ndb_program_refuse(p, 6999);
        ndb_program_label(p, 7);
        ndb_program_store_value(p, T, "\003new", 4);
        ndb_program_exit_ok(p);
        struct tup_program run = run_it(p, row, &error);
        assert_int_equal(error, 0);
        assert_int_equal(run.end, expected == 5 ? TUP_PROGRAM_OK : TUP_PROGRAM_REFUSED);
        assert_int_equal(run.code, expected == 5 ? 0 : 6999);
        assert_int_equal(run.stored, expected == 5 ? 2 : 0);
    }
}

static bool like(const char *text, const char *pattern)
{
    struct column_format format = {
        .type = COLUMN_VARCHAR, .collation = COLLATION_UTF8MB4_GENERAL_CI, .length = 200};
    uint8_t value[256];
    uint32_t budget = 100000;
    value[0] = (uint8_t)strlen(text);
    memcpy(value + 1, text, strlen(text));
    return column_like(&format, value, 1u + value[0], pattern, (uint32_t)strlen(pattern), &budget);
}

static void test_like(void **state)
{
    (void)state;
    assert_true(like("", "") && like("", "%") && like("abc", "ABC") && like("abc", "a%"));
    assert_true(like("abc", "%c") && like("abc", "%b%") && like("abc", "a_c") &&
                like("abc", "___"));
    assert_true(like("aXbXc", "a%x%c") && like("aab", "%ab") && like("aaab", "%a_b"));
    assert_true(like("50%", "50\\%") && !like("50x", "50\\%") && like("a_", "a\\_"));
    assert_true(like("\xC3\x89t\xC3\xA9", "_T_") && like("\xC3\x89", "e"));
    assert_true(like("a\\", "a\\\\") && like("a\\", "a\\"));
    assert_true(!like("", "_") && !like("abc", "ab") && !like("abc", "b%") && !like("ab", "a_b"));
    assert_true(!like("abc", "____") && !like("mississippi", "m%issip%x"));
}

static void test_steps(void **state)
{
    (void)state;
    uint32_t error;
    static uint32_t attr[6000];
    static uint8_t value[20002];
    value[0] = 20000 & 0xFF;
    value[1] = 20000 >> 8;
    memset(value + 2, 'a', 20000);
    uint32_t row = add_row(1, attr, put(attr, V, value, sizeof value));
    struct ndb_program *p = new_program();
    const char *bad = "%a%a%a%a%a%a%a%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"; /* Quadratic. */
    ndb_program_branch_value(p, V, NDB_LIKE, bad, (uint32_t)strlen(bad), 1);
    ndb_program_refuse(p, 626);
    ndb_program_label(p, 1);
    ndb_program_exit_ok(p);
    run_it(p, row, &error);
    assert_int_equal(error, ERR_INSTRUCTION_LIMIT);
    /* Long comparisons add up. */
    p = new_program();
    for (uint32_t i = 0; i < 400; i++)
        ndb_program_branch_columns(p, V, NDB_NE, V, 1);
    ndb_program_label(p, 1);
    ndb_program_exit_ok(p);
    run_it(p, row, &error);
    assert_int_equal(error, ERR_INSTRUCTION_LIMIT);
}

static uint32_t check_words(const uint32_t *words, uint32_t count, bool stores)
{
    return tup_program_check(world.frag, words, count, stores);
}

static void test_check(void **state)
{
    (void)state;
    static uint32_t long_one[PROGRAM_WORDS_MAX + 1];
    const uint32_t ok = program_head(PROGRAM_EXIT_OK, 0, 0, 0);
    struct {
        uint32_t words[8];
        uint32_t count;
        uint32_t error;
    } cases[] = {
        {{1, ok}, 2, 0},
        {{1}, 1, ERR_TUP_REQUEST_876},
        {{2, ok}, 2, ERR_TUP_REQUEST_876},
        {{1, 0}, 2, ERR_TUP_REQUEST_877},
        {{1, 200}, 2, ERR_TUP_REQUEST_877},
        {{1, program_head(PROGRAM_LOAD_NULL, 8, 0, 0), ok}, 3, ERR_TUP_REQUEST_878},
        {{1, program_head(PROGRAM_ADD, 0, 9, 0), ok}, 3, ERR_TUP_REQUEST_878},
        {{1, program_head(PROGRAM_ADD, 0, 0, 8), ok}, 3, ERR_TUP_REQUEST_878},
        {{1, program_head(PROGRAM_ADD, 0, 0, 7)}, 2, ERR_TUP_REQUEST_876}, /* No exit. */
        {{1, program_head(PROGRAM_LOAD_COLUMN, 0, 0, COLUMNS), ok}, 3, ERR_DATA_CORRUPT},
        {{1, program_head(PROGRAM_LOAD_COLUMN, 0, 0, T), ok}, 3, ERR_FILTER_TYPE},
        {{1, program_head(PROGRAM_STORE_COLUMN, 0, 0, K), ok}, 3, ERR_KEY_UPDATE},
        {{1, program_head(PROGRAM_LOAD_64, 0, 0, 0), ok}, 3, ERR_TUP_REQUEST_876},
        {{1, program_head(PROGRAM_BRANCH, 0, 0, 0), 1, ok}, 4, ERR_TUP_REQUEST_876}, /* Itself. */
        {{1, program_head(PROGRAM_BRANCH, 0, 0, 0), 2, ok}, 4, ERR_TUP_REQUEST_876}, /* Inside. */
        {{1, program_head(PROGRAM_BRANCH, 0, 0, 0), 3, ok}, 4, 0},
        {{1, program_head(PROGRAM_BRANCH, 0, 0, 0), 4, ok}, 4, ERR_TUP_REQUEST_876},
        {{1, program_head(PROGRAM_BRANCH, 0, 0, 0), 3 | 1u << 21, ok}, 4, ERR_TUP_REQUEST_877},
        {{1, program_head(PROGRAM_BRANCH_COLUMN, 0, 0, A), 6, 8, 1, 0, ok}, 7, 0},
        {{1, program_head(PROGRAM_BRANCH_COLUMN, 0, 0, A), 6, 4, 1, 0, ok}, 7, ERR_VALUE_LENGTH},
        {{1, program_head(PROGRAM_BRANCH_COLUMN, 0, 0, A), 6, 80, 1, 0, ok},
         7,
         ERR_TUP_REQUEST_876},
        {{1, program_head(PROGRAM_BRANCH_COLUMN, 0, 0, A), 6, ~0u, 1, 0, ok},
         7,
         ERR_TUP_REQUEST_876},
        {{1, program_head(PROGRAM_BRANCH_COLUMN, 0, 0, A), 6 | PROGRAM_LIKE << 16, 8, 1, 0, ok},
         7,
         ERR_FILTER_TYPE},
        {{1, program_head(PROGRAM_BRANCH_COLUMN, 0, 0, T), 5 | PROGRAM_LIKE << 16, 1, 0xFF, ok},
         6,
         ERR_STRING_INVALID},
        {{1, program_head(PROGRAM_BRANCH_COLUMN, 0, 0, T), 5 | 8u << 16, 1, 0, ok},
         6,
         ERR_TUP_REQUEST_877},
        {{1, program_head(PROGRAM_BRANCH_COLUMNS, 0, 0, A), 4, B, ok}, 5, 0},
        {{1, program_head(PROGRAM_BRANCH_COLUMNS, 0, 0, A), 4, T, ok}, 5, ERR_FILTER_TYPE},
        {{1, program_head(PROGRAM_BRANCH_COLUMNS, 0, 0, A), 4, 99, ok}, 5, ERR_DATA_CORRUPT},
        {{1, program_head(PROGRAM_STORE_VALUE, 0, 0, U), 0, ok}, 4, ERR_NULL_FOR_NOT_NULL_UPDATE},
        {{1, program_head(PROGRAM_STORE_VALUE, 0, 0, T), 0, ok}, 4, 0},
        {{1, program_head(PROGRAM_EXIT_REFUSE, 0, 0, 6000)}, 2, 0},
        {{1, program_head(PROGRAM_EXIT_REFUSE, 0, 0, 7000)}, 2, ERR_TUP_REQUEST_877},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(check_words(cases[i].words, cases[i].count, true), cases[i].error);
    const uint32_t store[3] = {1, program_head(PROGRAM_STORE_COLUMN, 0, 0, A), ok};
    assert_int_equal(check_words(store, 3, true), 0);
    assert_int_equal(check_words(store, 3, false), ERR_SET_ON_READ);
    assert_int_equal(check_words(long_one, PROGRAM_WORDS_MAX + 1, true), ERR_FILTER_TOO_BIG_TUP);
}

static void test_builder_errors(void **state)
{
    (void)state;
    struct ndb_program *p = new_program();
    ndb_program_label(p, 3);
    assert_int_equal(ndb_program_branch(p, 3), -1);
    assert_int_equal(ndb_program_error(p)->code, ERR_BAD_BRANCH);
    assert_int_equal(ndb_program_exit_ok(p), -1); /* The first error stays. */
    ndb_program_free(p);
    p = new_program();
    ndb_program_branch(p, 5);
    ndb_program_exit_ok(p);
    assert_int_equal(ndb_program_finish(p), -1);
    assert_int_equal(ndb_program_error(p)->code, ERR_LABEL_4222);
    ndb_program_free(p);
    p = new_program();
    assert_int_equal(ndb_program_finish(p), -1); /* No exit. */
    ndb_program_free(p);
    p = new_program();
    assert_int_equal(ndb_program_load(p, 8, A), -1);
    assert_int_equal(ndb_program_error(p)->code, ERR_INTERPRETER_4229);
    ndb_program_free(p);
    p = new_program();
    for (uint32_t i = 0; ndb_program_load_null(p, 0) == 0; i++)
        assert_true(i < PROGRAM_WORDS_MAX);
    assert_int_equal(ndb_program_error(p)->code, ERR_PROGRAM_TOO_LONG);
    ndb_program_free(p);

    struct ndb_filter *f = ndb_filter_create(builder_ndb(), table);
    ndb_filter_begin(f, NDB_OR);
    assert_null(ndb_filter_program(f));
    assert_int_equal(ndb_filter_error(f)->code, ERR_FILTER_4261);
    ndb_filter_free(f);
    f = ndb_filter_create(builder_ndb(), table);
    assert_int_equal(ndb_filter_end(f), -1);
    assert_int_equal(ndb_filter_error(f)->code, ERR_FILTER_4260);
    ndb_filter_free(f);
    f = ndb_filter_create(builder_ndb(), table);
    uint8_t many[2000] = {0};
    ndb_filter_in(f, U, false, many, 1, sizeof many);
    assert_null(ndb_filter_program(f));
    assert_int_equal(ndb_filter_error(f)->code, ERR_FILTER_TOO_BIG);
    ndb_filter_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_increment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_range, setup, teardown),
        cmocka_unit_test_setup_teardown(test_null, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compare_and_set, setup, teardown),
        cmocka_unit_test(test_like),
        cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_check, setup, teardown),
        cmocka_unit_test_setup_teardown(test_builder_errors, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
