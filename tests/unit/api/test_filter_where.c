/* test_filter_where.c -- conditions as text: the same programs as by the builder; what is wrong is
 * said with its place. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/base/rng.h"
#include "values/program.h"
#include "tests/unit/support/program_builder.h"
#include "tests/unit/support/tup_fixture.h"

enum { K, A, T, V, FLAGS }; /* The columns of the table. */

static struct ndb_table *table;
static struct table_def *def;

static int setup(void **state)
{
    (void)state;
    def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "a", (struct column_format){.type = COLUMN_BIGINT, .length = 1},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "or", /* Reserved: it has to be quoted. */
               (struct column_format){.type = COLUMN_VARCHAR,
                                      .collation = COLLATION_UTF8MB4_GENERAL_CI,
                                      .length = 200},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_VARBINARY, .length = 100},
               COLUMN_NULLABLE, NULL, 0);
    column_add(def, "flags", (struct column_format){.type = COLUMN_BIT, .length = 7},
               COLUMN_NULLABLE, NULL, 0);
    assert_int_equal(table_def_check(def), 0);
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

static struct ndb_filter *filter_new(void)
{
    struct ndb_filter *f = ndb_filter_create(builder_ndb(), table);
    assert_non_null(f);
    return f;
}

static void number(struct ndb_filter *f, uint32_t column, enum ndb_condition how, const char *text)
{
    assert_int_equal(ndb_filter_text(f, column, how, text, (uint32_t)strlen(text)), 0);
}

/* The text gives the program of the filter that was built, which is freed. */
static void same(const char *text, struct ndb_filter *built)
{
    struct ndb_sql_error where;
    struct ndb_filter *read = filter_new();
    uint32_t count[2];
    if (ndb_filter_where(read, text, &where) != 0) fail_msg("%s: %s", text, where.message);
    assert_int_equal(where.line, 0);
    const struct ndb_program *programs[2] = {ndb_filter_program(read), ndb_filter_program(built)};
    assert_non_null(programs[0]);
    assert_non_null(programs[1]);
    const uint32_t *words[2] = {builder_words(programs[0], &count[0]),
                                builder_words(programs[1], &count[1])};
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(words[0], words[1], count[0] * 4u);
    ndb_filter_free(read);
    ndb_filter_free(built);
}

static void test_comparisons(void **state)
{
    static const struct {
        const char *text;
        uint32_t column;
        enum ndb_condition how;
        const char *value;
    } cases[] = {
        {"a = 5", A, NDB_EQ, "5"},
        {"a<-5", A, NDB_LT, "-5"},
        {"a <= +5 ;", A, NDB_LE, "5"},
        {"`a` > '17'", A, NDB_GT, "17"},
        {"A >= 9223372036854775807", A, NDB_GE, "9223372036854775807"},
        {"((a <> 0))", A, NDB_NE, "0"},
        {"a != 0 /* as above */", A, NDB_NE, "0"},
        {"`or` = 'it''s \\' \"'", T, NDB_EQ, "it's ' \""},
        {"`or` LIKE \"%x\\\\_\"", T, NDB_LIKE, "%x\\_"},
        {"`or` not like ''", T, NDB_NOT_LIKE, ""},
        {"v = x'00fF'", V, NDB_EQ, "0x00fF"},
        {"v = 0x4142", V, NDB_EQ, "0x4142"},
        {"flags > b'101'", FLAGS, NDB_GT, "b'101'"},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ndb_filter *f = filter_new();
        number(f, cases[i].column, cases[i].how, cases[i].value);
        same(cases[i].text, f);
    }
}

static void test_columns_and_null(void **state)
{
    (void)state;
    struct ndb_filter *f = filter_new();
    assert_int_equal(ndb_filter_columns(f, K, NDB_GE, A), 0);
    same("k >= a", f);
    f = filter_new();
    assert_int_equal(ndb_filter_null(f, A, true), 0);
    same("a IS NULL", f);
    f = filter_new();
    assert_int_equal(ndb_filter_null(f, A, false), 0);
    same("a is not null", f);
}

/* a = 1 AND (k > 2 OR NOT (a IS NULL)) ..., AND before OR. */
static void test_groups(void **state)
{
    (void)state;
    struct ndb_filter *f = filter_new();
    assert_int_equal(ndb_filter_begin(f, NDB_OR), 0);
    number(f, A, NDB_EQ, "1");
    assert_int_equal(ndb_filter_begin(f, NDB_AND), 0);
    number(f, K, NDB_GT, "2");
    assert_int_equal(ndb_filter_begin(f, NDB_NOR), 0);
    assert_int_equal(ndb_filter_null(f, A, true), 0);
    number(f, A, NDB_LT, "3");
    assert_int_equal(ndb_filter_end(f), 0);
    assert_int_equal(ndb_filter_end(f), 0);
    number(f, K, NDB_EQ, "9");
    assert_int_equal(ndb_filter_end(f), 0);
    same("a = 1 OR k > 2 && NOT (a IS NULL || a < 3) or k = 9", f);
}

static void test_lists_and_ranges(void **state)
{
    (void)state;
    struct ndb_filter *f = filter_new();
    assert_int_equal(ndb_filter_begin(f, NDB_NOR), 0);
    number(f, A, NDB_EQ, "1");
    number(f, A, NDB_EQ, "-2");
    assert_int_equal(ndb_filter_end(f), 0);
    assert_int_equal(ndb_filter_begin(f, NDB_NAND), 0);
    number(f, K, NDB_GE, "4");
    number(f, K, NDB_LE, "8");
    assert_int_equal(ndb_filter_end(f), 0);
    same("a NOT IN (1, -2) AND k NOT BETWEEN 4 AND 8", f);
    f = filter_new();
    assert_int_equal(ndb_filter_begin(f, NDB_OR), 0);
    number(f, A, NDB_EQ, "1");
    assert_int_equal(ndb_filter_end(f), 0);
    number(f, K, NDB_GE, "4");
    number(f, K, NDB_LE, "8");
    same("a IN (1) AND k BETWEEN 4 AND 8", f);
    f = filter_new();
    number(f, K, NDB_GE, "4");
    same("NOT NOT k >= 4", f);
}

/* Two conditions are joined by AND. */
static void test_joined(void **state)
{
    (void)state;
    struct ndb_filter *both = filter_new();
    struct ndb_filter *one = filter_new();
    assert_int_equal(ndb_filter_where(one, "a = 1", NULL), 0);
    assert_int_equal(ndb_filter_where(one, "k = 2 OR k = 3", NULL), 0);
    assert_int_equal(ndb_filter_where(both, "a = 1 AND (k = 2 OR k = 3)", NULL), 0);
    uint32_t count[2];
    const uint32_t *a = builder_words(ndb_filter_program(one), &count[0]);
    const uint32_t *b = builder_words(ndb_filter_program(both), &count[1]);
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(a, b, count[0] * 4u);
    ndb_filter_free(one);
    ndb_filter_free(both);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        uint32_t code, column;
        const char *message;
    } cases[] = {
        {"", ERR_BAD_REQUEST, 1, "expected a column"},
        {"a", ERR_BAD_REQUEST, 2, "expected =, <>"},
        {"a =", ERR_BAD_REQUEST, 4, "expected a value"},
        {"a = 5 5", ERR_BAD_REQUEST, 7, "expected the end"},
        {"b = 5", ERR_NO_SUCH_COLUMN, 1, "at 'b'"},
        {"a = b", ERR_NO_SUCH_COLUMN, 5, "at 'b'"},
        {"a = 'x'", ERR_VALUE_INVALID, 5, ""},
        {"k = -1", ERR_VALUE_OUT_OF_RANGE, 5, ""},
        {"a LIKE 'x'", 0, 8, ""},
        {"a = NULL", ERR_BAD_REQUEST, 5, "IS NULL"},
        {"a IN ()", ERR_BAD_REQUEST, 7, "expected a value"},
        {"a IN (1", ERR_BAD_REQUEST, 8, "expected ',' or ')'"},
        {"a IN 1", ERR_BAD_REQUEST, 6, "expected '('"},
        {"a BETWEEN 1", ERR_BAD_REQUEST, 12, "expected AND"},
        {"a NOT = 1", ERR_BAD_REQUEST, 7, "expected LIKE, IN or BETWEEN"},
        {"a IS 1", ERR_BAD_REQUEST, 6, "expected NULL"},
        {"(a = 1", ERR_BAD_REQUEST, 7, "expected AND, OR or ')'"},
        {"a = 1)", ERR_BAD_REQUEST, 6, "expected the end"},
        {"a ! 1", ERR_BAD_REQUEST, 5, "expected !="},
        {"a = 1 & k = 1", ERR_BAD_REQUEST, 9, "twice"},
        {"a = 1 | k = 1", ERR_BAD_REQUEST, 9, "twice"},
        {"a = 'x", ERR_BAD_REQUEST, 5, "string without end"},
        {"and = 1", ERR_BAD_REQUEST, 1, "expected a column"},
        {"5 = a", ERR_BAD_REQUEST, 1, "expected a column"},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ndb_sql_error where;
        struct ndb_filter *f = filter_new();
        int result = ndb_filter_where(f, cases[i].text, &where);
        if (result == 0) { /* Refused when the program is made. */
            assert_int_equal(cases[i].code, 0);
            assert_null(ndb_filter_program(f));
            assert_int_not_equal(ndb_filter_error(f)->code, 0);
            ndb_filter_free(f);
            continue;
        }
        if (strstr(where.message, cases[i].message) == NULL || where.column != cases[i].column)
            fail_msg("'%s': %s", cases[i].text, where.message);
        assert_int_equal(where.line, 1);
        assert_int_equal(ndb_filter_error(f)->code, cases[i].code);
        assert_int_equal(ndb_filter_where(f, "a = 1", NULL), -1); /* The first one stays. */
        assert_null(ndb_filter_program(f));
        ndb_filter_free(f);
    }
}

static void test_too_deep(void **state)
{
    char text[600] = "";
    struct ndb_sql_error where;
    (void)state;
    for (uint32_t i = 0; i < 200; i++)
        strcat(text, "(");
    struct ndb_filter *f = filter_new();
    assert_int_equal(ndb_filter_where(f, text, &where), -1);
    assert_non_null(strstr(where.message, "too deep"));
    ndb_filter_free(f);
    assert_int_equal(ndb_filter_where(NULL, "a = 1", &where), -1);
    f = filter_new();
    assert_int_equal(ndb_filter_where(f, NULL, &where), -1);
    ndb_filter_free(f);
}

/* Anything that is made of the language's words: read, or refused with its place. */
static void test_any_words(void **state)
{
    static const char *const words[] = {
        "a",  "k",   "`or`", "v",    "flags", "b",   "=",     "<",       ">",    "!",    "&&",
        "||", "AND", "OR",   "NOT",  "IS",    "IN",  "LIKE",  "BETWEEN", "NULL", "(",    ")",
        ",",  "5",   "-1",   "'5'",  "'%x'",  "x'4", "x'41'", "b'1'",    "\"q",  "/*",   ";",
        "`",  "",    "1e9",  "'\\'", "<>",    "\n",  "--",    "0x",      "\xc3", "\x01", "9x"};
    struct rng rng;
    uint32_t good = 0;
    (void)state;
    rng_seed(&rng, 7);
    for (uint32_t i = 0; i < 100000; i++) {
        char text[300] = "";
        struct ndb_sql_error where;
        struct ndb_filter *f = filter_new();
        if (rng_chance(&rng, 1, 2)) strcpy(text, "a = 5 OR k ");
        for (uint64_t n = rng_below(&rng, 9); n > 0; n--) {
            strcat(text, words[rng_below(&rng, sizeof words / sizeof words[0])]);
            if (rng_below(&rng, 8) > 0) strcat(text, " ");
        }
        if (ndb_filter_where(f, text, &where) == 0)
            good++;
        else
            assert_true(where.line > 0 && where.column > 0 && ndb_filter_error(f)->code != 0);
        ndb_filter_free(f);
    }
    assert_true(good > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons), cmocka_unit_test(test_columns_and_null),
        cmocka_unit_test(test_groups),      cmocka_unit_test(test_lists_and_ranges),
        cmocka_unit_test(test_joined),      cmocka_unit_test(test_errors),
        cmocka_unit_test(test_too_deep),    cmocka_unit_test(test_any_words),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
