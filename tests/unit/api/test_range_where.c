/* test_range_where.c -- ranges made from conditions: which index, which bounds; what is refused,
 * and with what words. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include "api/sql/sql_create.h"
#include "values/errors.h"
#include "tests/unit/support/program_builder.h"
#include "tests/unit/support/temp_directory.h"

static struct table_def *def;
static struct ndb_table *table;

static int setup(void **state)
{
    static const char sql[] =
        "create table t (id int not null, a bigint unsigned, t varchar(10), v smallint not null, f "
        "double, m decimal(10,2), day date, bits bit(8) not null, none int, y year, c char(3) "
        "character set binary,"
        " primary key (id), index by_id (id), index by_a (a), index by_tv (t, v), index by_v (v),"
        " index by_f (f), index by_m (m), index by_day (day), index by_y (y),"
        " index by_c (c), index by_vida (v, id, a))";
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

/* "[5,7" or ")NULL": the bound's values behind a sign of whether it is exclusive. */
static void bound_text(const struct ndb_index_info *index, const struct ndb_index_bound *bound,
                       bool high, char *text, size_t size)
{
    size_t at = 0;
    if (!high) at += (size_t)snprintf(text, size, "%s", bound->exclusive ? "(" : "[");
    for (uint32_t i = 0; i < bound->columns; i++) {
        char value[64] = "NULL";
        if (bound->value[i] != NULL)
            assert_true(ndb_value_print(table, index->column[i], bound->value[i], bound->size[i], 0,
                                        value, sizeof value) >= 0);
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? "," : "", value);
    }
    if (high) snprintf(text + at, size - at, "%s", bound->exclusive ? ")" : "]");
}

static void shows(struct ndb_range *range, const char *condition, const char *expected)
{
    char text[256];
    char low[100];
    char high[100];
    struct ndb_index_info index;
    if (range == NULL) fail_msg("%s: %s", condition, ndb_error(builder_ndb())->detail);
    const struct ndb_index_range *r = ndb_range_get(range);
    assert_int_equal(ndb_table_index(table, r->index, &index), 0);
    bound_text(&index, &r->low, false, low, sizeof low);
    bound_text(&index, &r->high, true, high, sizeof high);
    snprintf(text, sizeof text, "%s %s .. %s", index.name, low, high);
    if (strcmp(text, expected) != 0) fail_msg("%s: %s, not %s", condition, text, expected);
    ndb_range_free(range);
}

static void ranges_of_texts(void **state)
{
    static const struct {
        const char *condition;
        const char *range;
    } cases[] = {
        {"id = 5", "by_id [5 .. 5]"},
        {"id between 5 and 9", "by_id [5 .. 9]"},
        {"ID >= -5 AND id < +9;", "by_id [-5 .. 9)"},
        {"id > 5", "by_id (5 .. ]"},
        {"id < 5", "by_id [ .. 5)"},
        {"a < 5", "by_a (NULL .. 5)"}, /* As in SQL: not NULL. */
        {"a <= 5", "by_a (NULL .. 5]"},
        {"a > 5", "by_a (5 .. ]"},
        {"a is null", "by_a [NULL .. NULL]"},
        {"a is not null", "by_a (NULL .. ]"},
        {"a is not null and a < 7", "by_a (NULL .. 7)"},
        {"a is null and a < 7", "by_a (NULL .. NULL]"}, /* No row: NULL < 7 is not true. */
        {"a <= 7 and a is null", "by_a (NULL .. NULL]"},
        {"a < 7 and a >= 3", "by_a [3 .. 7)"},
        {"id > 5 and id > 7 and id >= 7 and id <= 20 && id < 20 and id < 30", "by_id (7 .. 20)"},
        {"id > 9 and id < 5", "by_id (9 .. 5)"}, /* No row. */
        {"id >= 5 and id <= 5", "by_id [5 .. 5]"},
        {"t = 'x'", "by_tv [x .. x]"},
        {"t = 'x' and v > 3", "by_tv (x,3 .. x]"},
        {"v < 3 and t = 'x'", "by_tv [x .. x,3)"},
        {"v = 3 and t = 'x'", "by_tv [x,3 .. x,3]"},
        {"t is null and v between 3 and 4", "by_tv [NULL,3 .. NULL,4]"},
        {"v = 3", "by_v [3 .. 3]"},
        {"v = 3 and a < 5 and id = 1", "by_vida (3,1,NULL .. 3,1,5)"},
        {"f between -0.5 and 1e3", "by_f [-0.5 .. 1000]"},
        {"m = 12.5", "by_m [12.50 .. 12.50]"},
        {"day >= '2024-02-29'", "by_day [2024-02-29 .. ]"},
        {"c = 'ab'", "by_c [ab .. ab]"},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ndb_sql_error where;
        shows(ndb_range_where(builder_ndb(), table, cases[i].condition, NULL, 0, &where),
              cases[i].condition, cases[i].range);
        assert_int_equal(where.line, 0);
    }
}

static void between(const char *column, struct ndb_bound low, struct ndb_bound high,
                    const char *expected)
{
    char condition[64];
    const struct ndb_bound bounds[] = {low, high};
    snprintf(condition, sizeof condition, "%s BETWEEN ? AND ?", column);
    shows(ndb_range_where(builder_ndb(), table, condition, bounds, 2, NULL), condition, expected);
}

static void ranges_of_values(void **state)
{
    static const int32_t five = 5;
    static const int32_t nine = 9;
    (void)state;
    between("id", ndb_bound_int(-5), ndb_bound_uint(9), "by_id [-5 .. 9]");
    between("id", ndb_bound_stored(&five, 4), ndb_bound_stored(&nine, 4), "by_id [5 .. 9]");
    between("a", ndb_bound_int(0), ndb_bound_uint(UINT64_MAX), "by_a [0 .. 18446744073709551615]");
    between("v", ndb_bound_int(INT16_MIN), ndb_bound_int(INT16_MAX), "by_v [-32768 .. 32767]");
    between("f", ndb_bound_double(-0.25), ndb_bound_int(7), "by_f [-0.25 .. 7]");
    between("m", ndb_bound_int(-3), ndb_bound_text("4.25"), "by_m [-3.00 .. 4.25]");
    between("t", ndb_bound_text(""), ndb_bound_text("a'b?"), "by_tv [ .. a'b?]");
    between("t", ndb_bound_text("0x41"), ndb_bound_stored("\2xy", 3), "by_tv [0x41 .. xy]");
    between("day", ndb_bound_text("1999-12-31"), ndb_bound_text("2000-01-01"),
            "by_day [1999-12-31 .. 2000-01-01]");
    between("y", ndb_bound_int(1999), ndb_bound_uint(2001), "by_y [1999 .. 2001]");
    assert_null(ndb_range_get(NULL));
    ndb_range_free(NULL);
}

/* --- What is refused. --- */

static void refuses(const char *condition, const struct ndb_bound *bounds, uint32_t count,
                    int32_t code, uint32_t column, const char *words)
{
    struct ndb_sql_error where;
    struct ndb_range *range =
        ndb_range_where(builder_ndb(), table, condition, bounds, count, &where);
    const ndb_error_t *error = ndb_error(builder_ndb());
    assert_null(range);
    if (error->code != code || where.column != column || strstr(error->detail, words) == NULL ||
        strstr(where.message, words) == NULL)
        fail_msg("%s: %d %s; %u: %s", condition, error->code, error->detail, where.column,
                 where.message);
    assert_int_equal(error->status, NDB_STATUS_PERMANENT);
}

static void refused_conditions(void **state)
{
    static const struct {
        const char *condition;
        int32_t code;
        uint32_t column;
        const char *words;
    } cases[] = {
        {"id <> 5", ERR_BAD_REQUEST, 4, "a range is made of"},
        {"id != 5", ERR_BAD_REQUEST, 4, "a range is made of"},
        {"id = 5 or id = 6", ERR_BAD_REQUEST, 8, "a range is made of"},
        {"id = 5 || id = 6", ERR_BAD_REQUEST, 8, "a range is made of"},
        {"not id = 5", ERR_BAD_REQUEST, 1, "a range is made of"},
        {"(id = 5)", ERR_BAD_REQUEST, 1, "a range is made of"},
        {"((((((((id = 5))))))))", ERR_BAD_REQUEST, 1, "a range is made of"},
        {"id in (5, 6)", ERR_BAD_REQUEST, 4, "a range is made of"},
        {"t like 'x%'", ERR_BAD_REQUEST, 3, "a range is made of"},
        {"id not between 5 and 6", ERR_BAD_REQUEST, 4, "a range is made of"},
        {"id = v", ERR_BAD_REQUEST, 6, "a range is made of"},
        {"id = null", ERR_BAD_REQUEST, 6, "nothing is equal to NULL"},
        {"", ERR_BAD_REQUEST, 1, "expected a column"},
        {"id = 5 and", ERR_BAD_REQUEST, 11, "expected a column"},
        {"id =", ERR_BAD_REQUEST, 5, "expected a value"},
        {"id = 5 6", ERR_BAD_REQUEST, 8, "expected the end"},
        {"zz = 5", ERR_NO_SUCH_COLUMN, 1, "at 'zz'"},
        {"id = 'x'", ERR_VALUE_INVALID, 6, "column id is INT"},
        {"v = 32768", ERR_VALUE_OUT_OF_RANGE, 5, "column v is SMALLINT"},
        {"t = '01234567890'", ERR_VALUE_TOO_LONG, 5, "column t is VARCHAR(10)"},
        {"id = ?", ERR_PARAMETER, 6, "fewer values"},
        {"none = 5", ERR_INDEX_MISSING, 0,
         "table d.t, column none: no ordered index begins with it"},
        {"id = 5 and none = 5", ERR_INDEX_MISSING, 0, "begins with these 2 columns"},
        {"t > 'x' and v = 3", ERR_INDEX_MISSING, 0, "all but the last equal"},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuses(cases[i].condition, NULL, 0, cases[i].code, cases[i].column, cases[i].words);
    assert_null(ndb_range_where(builder_ndb(), NULL, "id = 5", NULL, 0, NULL));
    assert_int_equal(ndb_error(builder_ndb())->code, ERR_PARAMETER);
    assert_null(ndb_range_where(builder_ndb(), table, NULL, NULL, 0, NULL));
    assert_null(ndb_range_where(builder_ndb(), table, "id = ?", NULL, 1, NULL));
    assert_null(ndb_range_where(NULL, table, "id = 5", NULL, 0, NULL));
}

/* One value of a kind that the column does not take, or of a size. */
static void refuses_value(const char *column, struct ndb_bound bound, int32_t code,
                          const char *words)
{
    char condition[64];
    snprintf(condition, sizeof condition, "%s > ?", column);
    refuses(condition, &bound, 1, code, (uint32_t)strlen(column) + 4u, words);
}

static void refused_values(void **state)
{
    static const int64_t five = 5;
    const struct ndb_bound two[] = {ndb_bound_int(1), ndb_bound_int(2)};
    const struct ndb_bound wild = {.kind = (enum ndb_bound_kind)77};
    (void)state;
    refuses_value("id", ndb_bound_text("5"), ERR_VALUE_INVALID,
                  "column id is INT: the value is a text; use ndb_bound_int()");
    refuses_value("a", ndb_bound_double(5), ERR_VALUE_INVALID,
                  "column a is BIGINT UNSIGNED: the value is a double; use ndb_bound_uint()");
    refuses_value("t", ndb_bound_int(5), ERR_VALUE_INVALID,
                  "column t is VARCHAR(10): the value is an int; use ndb_bound_text()");
    refuses_value("day", ndb_bound_uint(5), ERR_VALUE_INVALID,
                  "column day is DATE: the value is a uint; use ndb_bound_text()");
    refuses_value("f", ndb_bound_text("5"), ERR_VALUE_INVALID, "use ndb_bound_double()");
    refuses_value("m", ndb_bound_double(5), ERR_VALUE_INVALID,
                  "column m is DECIMAL(10,2): the value is a double; use ndb_bound_text()");
    refuses_value("bits", ndb_bound_uint(5), ERR_VALUE_INVALID,
                  "column bits is BIT(8): the value is a uint; use ndb_bound_stored()");
    refuses_value("f", ndb_bound_double(NAN), ERR_VALUE_INVALID, "column f is DOUBLE");
    refuses_value("f", ndb_bound_double(INFINITY), ERR_VALUE_OUT_OF_RANGE, "column f is DOUBLE");
    refuses_value("t", ndb_bound_text(NULL), ERR_VALUE_INVALID, "the text is NULL; use IS NULL");
    refuses_value("id", wild, ERR_VALUE_INVALID, "the value is of no kind");
    refuses_value("a", ndb_bound_int(-1), ERR_VALUE_OUT_OF_RANGE, "column a is BIGINT UNSIGNED");
    refuses_value("id", ndb_bound_int(1LL << 31), ERR_VALUE_OUT_OF_RANGE, "column id is INT");
    refuses_value("day", ndb_bound_text("soon"), ERR_VALUE_INVALID, "column day is DATE");
    refuses_value("t", ndb_bound_text("01234567890"), ERR_VALUE_TOO_LONG, "VARCHAR(10)");
    refuses_value("id", ndb_bound_stored(&five, 8), ERR_VALUE_LENGTH, "column id is INT");
    refuses_value("id", ndb_bound_stored(NULL, 4), ERR_VALUE_INVALID, "column id is INT");
    refuses("id > ?", two, 2, ERR_PARAMETER, 7, "more values");
    refuses("id between ? and ? and id > ?", two, 2, ERR_PARAMETER, 29, "fewer values");
}

/* The application's locale writes 0,5: values are told and shown with a point all the same. */
static void numbers_where_a_comma_is_the_point(void **state)
{
    char directory[TEMP_DIRECTORY_SIZE];
    char command[128];
    char text[16];
    (void)state;
    temp_directory_make(directory);
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1",
             directory, directory);
    bool made = system(command) == 0;
    assert_int_equal(setenv("LOCPATH", directory, 1), 0);
    bool set = made && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    if (set) {
        snprintf(text, sizeof text, "%.1f", 0.5);
        assert_string_equal(text, "0,5");
        between("f", ndb_bound_double(0.5), ndb_bound_double(7.25), "by_f [0.5 .. 7.25]");
        shows(ndb_range_where(builder_ndb(), table, "f > 0.5", NULL, 0, NULL), "f > 0.5",
              "by_f (0.5 .. ]");
        snprintf(text, sizeof text, "%.1f", 0.5); /* The locale is as it was. */
        assert_string_equal(text, "0,5");
        assert_non_null(setlocale(LC_ALL, "C"));
    }
    temp_directory_remove(directory);
    if (!set) skip(); /* The package "locales" is not installed. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_texts),
        cmocka_unit_test(ranges_of_values),
        cmocka_unit_test(refused_conditions),
        cmocka_unit_test(refused_values),
        cmocka_unit_test(numbers_where_a_comma_is_the_point),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
