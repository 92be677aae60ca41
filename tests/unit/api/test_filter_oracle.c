/* test_filter_oracle.c -- random filters on random rows: the same rows fit as in SQLite. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* FILTER_CASES says how many, FILTER_SEED which ones. */
#include "tests/unit/support/oracle_rows.h"
#include "values/program.h"
#include "tests/unit/support/program_builder.h"

#define ROWS 40u

#define DEPTH_MAX  8u
#define CASES_EACH 200u /* Filters on one set of rows. */

static struct ndb_table *table;

/* --- Filters: to the builder and to the text at the same time. --- */

static const char *const operators[] = {" = ", " <> ", " < ", " <= ", " > ", " >= "};

static void add_compare(struct ndb_filter *f, uint32_t column)
{
    struct value drawn;
    const struct value *value = oracle_some_value(column, &drawn);
    uint32_t condition = oracle_below(6);
    assert_int_equal(
        ndb_filter_compare(f, column, (enum ndb_condition)condition, value->bytes, value->size), 0);
    oracle_add_side(column, oracle_columns[column].name);
    oracle_add_sql(operators[condition]);
    oracle_add_side(column, value->sql);
}

static void add_in(struct ndb_filter *f, uint32_t column)
{
    static uint8_t values[8][VALUE_MAX];
    uint32_t count = oracle_below(5);
    bool negate = oracle_below(2) == 0;
    struct value drawn;
    oracle_add_side(column, oracle_columns[column].name);
    oracle_add_sql(negate ? " NOT IN (" : " IN (");
    for (uint32_t i = 0; i < count; i++) {
        const struct value *value = oracle_some_value(column, &drawn);
        memset(values[i], 0, VALUE_MAX);
        memcpy(values[i], value->bytes, value->size);
        if (i > 0) oracle_add_sql(", ");
        if (oracle_columns[column].how == HOW_UPPER) oracle_add_sql("upper(");
        oracle_add_sql(value->sql);
        if (oracle_columns[column].how == HOW_UPPER) oracle_add_sql(")");
    }
    oracle_add_sql(")");
    assert_int_equal(ndb_filter_in(f, column, negate, values, VALUE_MAX, count), 0);
}

static void add_like(struct ndb_filter *f, uint32_t column)
{
    char pattern[VALUE_MAX];
    char quoted[2 * VALUE_MAX];
    bool negate = oracle_below(2) == 0;
    bool upper = oracle_columns[column].how == HOW_UPPER;
    oracle_draw_text(pattern, upper, true);
    oracle_quote(quoted, pattern);
    assert_int_equal(ndb_filter_compare(f, column, negate ? NDB_NOT_LIKE : NDB_LIKE, pattern,
                                        (uint32_t)strlen(pattern)),
                     0);
    oracle_add_sql(upper ? "upper(" : "(");
    oracle_add_sql(oracle_columns[column].name);
    oracle_add_sql(negate ? ") NOT LIKE " : ") LIKE ");
    oracle_add_sql(upper ? "upper(" : "(");
    oracle_add_sql(quoted);
    oracle_add_sql(") ESCAPE '\\'");
}

/* Columns that may be compared with each other. */
static void add_columns(struct ndb_filter *f)
{
    static const uint32_t groups[][9] = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {13, 13}, {14, 14}, {21, 21}};
    static const uint32_t sizes[] = {9, 2, 2, 2};
    uint32_t g = oracle_below(6) > 1 ? 0 : oracle_below(4);
    uint32_t a = groups[g][oracle_below(sizes[g])];
    uint32_t b = groups[g][oracle_below(sizes[g])];
    uint32_t condition = oracle_below(6);
    assert_int_equal(ndb_filter_columns(f, a, (enum ndb_condition)condition, b), 0);
    oracle_add_side(a, oracle_columns[a].name);
    oracle_add_sql(operators[condition]);
    oracle_add_side(b, oracle_columns[b].name);
}

static void add_leaf(struct ndb_filter *f)
{
    uint32_t column = oracle_below(COLUMNS);
    bool text = oracle_columns[column].how == HOW_TEXT || oracle_columns[column].how == HOW_UPPER;
    uint32_t kind = oracle_below(10);
    oracle_add_sql("(");
    if (kind == 0) {
        bool null = oracle_below(2) == 0;
        assert_int_equal(ndb_filter_null(f, column, null), 0);
        oracle_add_sql(oracle_columns[column].name);
        oracle_add_sql(null ? " IS NULL" : " IS NOT NULL");
    } else if (kind == 1) {
        add_columns(f);
    } else if (kind < 4) {
        add_in(f, column);
    } else if (text && kind < 7) {
        add_like(f, column);
    } else {
        add_compare(f, column);
    }
    oracle_add_sql(")");
}

static void draw_filter(struct ndb_filter *f)
{
    struct {
        enum ndb_group group;
        uint32_t members;
        uint32_t left;
    } stack[DEPTH_MAX];
    uint32_t depth = 0;
    uint32_t leaves = 0;
    stack[0].group = NDB_AND; /* The filter itself. */
    stack[0].members = 0;
    stack[0].left = 1 + oracle_below(2);
    oracle_sql_size = 0;
    oracle_add_sql("SELECT k FROM t WHERE ");
    while (true) {
        if (stack[depth].left == 0) {
            if (stack[depth].members == 0) {
                bool is_and = stack[depth].group == NDB_AND || stack[depth].group == NDB_NAND;
                oracle_add_sql(is_and ? "1" : "0");
            }
            if (depth == 0) break;
            assert_int_equal(ndb_filter_end(f), 0);
            oracle_add_sql(")");
            depth--;
            continue;
        }
        stack[depth].left--;
        if (stack[depth].members++ > 0) {
            bool is_and = stack[depth].group == NDB_AND || stack[depth].group == NDB_NAND;
            oracle_add_sql(is_and ? " AND " : " OR ");
        }
        if (depth + 1 < DEPTH_MAX && leaves < 30 && oracle_below(3) == 0) {
            enum ndb_group group = (enum ndb_group)(1 + oracle_below(4));
            assert_int_equal(ndb_filter_begin(f, group), 0);
            oracle_add_sql(group == NDB_NAND || group == NDB_NOR ? "NOT (" : "(");
            depth++;
            stack[depth].group = group;
            stack[depth].members = 0;
            stack[depth].left = oracle_below(5);
        } else {
            add_leaf(f);
            leaves++;
        }
    }
}

/* --- Comparing. --- */

static uint64_t oracle(void)
{
    sqlite3_stmt *statement;
    uint64_t found = 0;
    if (sqlite3_prepare_v2(oracle_db, oracle_sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sqlite3_errmsg(oracle_db), oracle_sql);
    while (sqlite3_step(statement) == SQLITE_ROW)
        found |= 1ull << sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return found;
}

static uint64_t ours(const struct ndb_program *program)
{
    uint32_t count;
    const uint32_t *words = builder_words(program, &count);
    uint64_t found = 0;
    assert_int_equal(tup_program_check(oracle_world.frag, words, count, false), 0);
    for (uint32_t r = 0; r < ROWS; r++) {
        struct tup_program run = {
            .frag = oracle_world.frag, .row = oracle_row_id[r], .words = words};
        assert_int_equal(tup_program_run(oracle_world.tup, &run), 0);
        if (run.end != TUP_PROGRAM_REFUSED) found |= 1ull << r;
    }
    return found;
}

static void test_same_rows(void **state)
{
    (void)state;
    uint32_t cases = oracle_number_of("FILTER_CASES", 20000);
    uint32_t seed = oracle_number_of("FILTER_SEED", 1);
    uint64_t fitting = 0;
    oracle_sql = malloc(SQL_MAX);
    assert_non_null(oracle_sql);
    rng_seed(&oracle_rng, seed);
    oracle_open(ROWS, NULL);
    oracle_execute("PRAGMA case_sensitive_like = ON");
    table = builder_table(oracle_world.def);
    for (uint32_t i = 0; i < cases; i++) {
        if (i % CASES_EACH == 0) oracle_draw_rows();
        struct ndb_filter *f = ndb_filter_create(builder_ndb(), table);
        draw_filter(f);
        const struct ndb_program *program = ndb_filter_program(f);
        if (program == NULL) fail_msg("error %d: %s", ndb_filter_error(f)->code, oracle_sql);
        uint64_t expected = oracle();
        uint64_t got = ours(program);
        fitting += (uint64_t)__builtin_popcountll(got);
        if (got != expected)
            fail_msg("case %u: SQLite %llx, here %llx: %s", i, (unsigned long long)expected,
                     (unsigned long long)got, oracle_sql);
        ndb_filter_free(f);
    }
    print_message("%u filters on %u rows, %llu rows fitted\n", cases, ROWS,
                  (unsigned long long)fitting);
    assert_true(cases < 100 || (fitting > cases && fitting < (uint64_t)cases * (ROWS - 1)));
    builder_table_free(table);
    oracle_close();
    free(oracle_sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
