/* test_program_oracle.c -- random programs on random rows: what they store, refuse and fail with is
 * what SQLite makes of the same as CASE. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* PROGRAM_CASES says how many, PROGRAM_SEED which ones. */
#include "tests/unit/support/oracle_rows.h"
#include "values/program.h"
#include "tests/unit/support/program_builder.h"

#define ROWS 40u

#define CASES_EACH 200u /* Programs on one set of rows. */
/* Bits of what is computed: SQLite goes over to reals where we have an error. */
#define BITS_MAX  62u
#define DEPTH_MAX 3u
#define NODES_MAX 512u

/* --- What is drawn: the program as a tree. --- */

enum kind {
    EXPR_COLUMN,
    EXPR_NUMBER,
    EXPR_COMPUTE, /* a op b */
    COND_NUMBERS, /* a op b, of expressions */
    COND_VALUE,   /* column op value */
    COND_NULL,    /* column IS [NOT] NULL */
    DO_IF,        /* a: condition, b: then, c: else */
    DO_STORE,     /* column = a */
    DO_VALUE,     /* column = value */
    DO_NOTHING,
    DO_REFUSE
};

struct node {
    enum kind kind;
    uint32_t column;
    uint32_t op;
    int64_t number;
    uint32_t bits; /* The value of an expression is within -2^bits .. 2^bits. */
    bool negate;
    struct node *a, *b, *c;
    struct value value;
};

static struct node nodes[NODES_MAX];
static uint32_t node_count;
static struct ndb_table *table;

static struct node *node_new(enum kind kind)
{
    assert_true(node_count < NODES_MAX);
    struct node *node = &nodes[node_count++];
    *node = (struct node){.kind = kind};
    return node;
}

static uint32_t bits_of(uint32_t column)
{
    static const uint32_t bits[] = {32, 7, 8, 15, 16, 23, 24, 31, 32, 63};
    return bits[column];
}

static uint32_t integer_column(void)
{
    return oracle_below(10); /* The first ones of the table: k, ti, ... bi. */
}

static struct node *draw_leaf(void)
{
    struct node *node;
    if (oracle_below(3) == 0) {
        node = node_new(EXPR_NUMBER);
        node->number =
            oracle_below(4) == 0 ? -(int64_t)oracle_below(200) : (int64_t)oracle_below(200);
        node->bits = 8;
        return node;
    }
    node = node_new(EXPR_COLUMN);
    node->column = integer_column();
    node->bits = bits_of(node->column);
    return node;
}

static uint32_t bits_after(uint32_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case NDB_MULTIPLY:
        return a + b;
    case NDB_DIVIDE:
        return a;
    case NDB_REMAINDER:
        return a > b ? a : b;
    default:
        return (a > b ? a : b) + 1;
    }
}

static struct node *draw_expression(uint32_t depth)
{
    if (depth == 0 || oracle_below(3) == 0) return draw_leaf();
    struct node *a = draw_expression(depth - 1);
    struct node *b = draw_expression(depth - 1);
    uint32_t op = oracle_below(5);
    if (bits_after(op, a->bits, b->bits) > BITS_MAX) return a;
    struct node *node = node_new(EXPR_COMPUTE);
    node->op = op;
    node->a = a;
    node->b = b;
    node->bits = bits_after(op, a->bits, b->bits);
    return node;
}

static struct node *draw_condition(void)
{
    struct node *node = node_new((enum kind)(COND_NUMBERS + oracle_below(3)));
    node->op = oracle_below(6);
    if (node->kind == COND_NUMBERS) {
        node->a = draw_expression(2);
        node->b = draw_expression(2);
        return node;
    }
    node->column = oracle_below(COLUMNS);
    node->negate = oracle_below(2) == 0;
    struct value drawn;
    if (node->kind == COND_VALUE) node->value = *oracle_some_value(node->column, &drawn);
    return node;
}

static struct node *draw_action(uint32_t depth)
{
    struct node *node;
    if (depth > 0 && oracle_below(4) > 0) {
        node = node_new(DO_IF);
        node->a = draw_condition();
        node->b = draw_action(depth - 1);
        node->c = draw_action(depth - 1);
        return node;
    }
    uint32_t what = oracle_below(10);
    node = node_new(what < 6 ? DO_STORE : what < 8 ? DO_VALUE : what < 9 ? DO_NOTHING : DO_REFUSE);
    node->column = 1 + oracle_below(9); /* An integer one that is no key. */
    if (node->kind == DO_STORE) node->a = draw_expression(DEPTH_MAX);
    if (node->kind == DO_REFUSE) node->number = 6000 + oracle_below(1000);
    if (node->kind == DO_VALUE) oracle_draw_value(node->column, &node->value);
    return node;
}

/* --- As a program. --- */

static uint32_t labels;

static void build_expression(struct ndb_program *p, const struct node *node, uint32_t reg)
{
    switch ((int)node->kind) {
    case EXPR_COLUMN:
        ndb_program_load(p, reg, node->column);
        return;
    case EXPR_NUMBER:
        ndb_program_load_number(p, reg, node->number);
        return;
    default:
        build_expression(p, node->a, reg);
        build_expression(p, node->b, reg + 1);
        ndb_program_compute(p, (enum ndb_arithmetic)node->op, reg, reg, reg + 1);
        return;
    }
}

static void build_branch(struct ndb_program *p, const struct node *node, uint32_t label)
{
    switch ((int)node->kind) {
    case COND_NUMBERS:
        build_expression(p, node->a, 0);
        build_expression(p, node->b, 4);
        ndb_program_branch_numbers(p, 0, (enum ndb_condition)node->op, 4, label);
        return;
    case COND_VALUE:
        ndb_program_branch_value(p, node->column, (enum ndb_condition)node->op, node->value.bytes,
                                 node->value.size, label);
        return;
    default:
        ndb_program_branch_null(p, node->column, !node->negate, label);
        return;
    }
}

static void build_action(struct ndb_program *p, const struct node *node)
{
    uint32_t label = labels++;
    switch ((int)node->kind) {
    case DO_IF:
        build_branch(p, node->a, label);
        build_action(p, node->c);
        ndb_program_label(p, label);
        build_action(p, node->b);
        return;
    case DO_STORE:
        build_expression(p, node->a, 0);
        ndb_program_store(p, node->column, 0);
        break;
    case DO_VALUE:
        ndb_program_store_value(p, node->column, node->value.bytes, node->value.size);
        break;
    case DO_REFUSE:
        ndb_program_refuse(p, (uint32_t)node->number);
        return;
    default:
        break;
    }
    ndb_program_exit_ok(p);
}

/* --- As SQL: a text that says what happens to a row. --- */

static const char *const operators[] = {" = ", " <> ", " < ", " <= ", " > ", " >= "};
static const char *const computes[] = {" + ", " - ", " * ", " / ", " % "};

static void sql_number(int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "(%lld)", (long long)number);
    oracle_add_sql(text);
}

static void sql_expression(const struct node *node)
{
    if (node->kind == EXPR_COLUMN) {
        oracle_add_sql(oracle_columns[node->column].name);
    } else if (node->kind == EXPR_NUMBER) {
        sql_number(node->number);
    } else {
        oracle_add_sql("(");
        sql_expression(node->a);
        oracle_add_sql(computes[node->op]);
        sql_expression(node->b);
        oracle_add_sql(")");
    }
}

/* Whoever computes with NULL, or divides by 0, fails; SQL goes on with NULL. */
static void sql_fails(const struct node *node)
{
    if (node->kind != EXPR_COMPUTE) return;
    oracle_add_sql(" WHEN ");
    sql_expression(node);
    oracle_add_sql(" IS NULL THEN 'error 879'");
}

static void sql_condition(const struct node *node)
{
    switch ((int)node->kind) {
    case COND_NUMBERS:
        sql_expression(node->a);
        oracle_add_sql(operators[node->op]);
        sql_expression(node->b);
        return;
    case COND_VALUE:
        oracle_add_side(node->column, oracle_columns[node->column].name);
        oracle_add_sql(operators[node->op]);
        oracle_add_side(node->column, node->value.sql);
        return;
    default:
        oracle_add_sql(oracle_columns[node->column].name);
        oracle_add_sql(node->negate ? " IS NOT NULL" : " IS NULL");
        return;
    }
}

static void sql_range(uint32_t column)
{
    uint32_t bits = bits_of(column);
    bool is_signed = bits % 8 != 0;
    char text[96];
    if (bits == 63) {
        strcpy(text, " BETWEEN (-9223372036854775807-1) AND 9223372036854775807");
    } else {
        snprintf(text, sizeof text, " BETWEEN %lld AND %lld", is_signed ? -(1ll << bits) : 0ll,
                 (1ll << bits) - 1);
    }
    oracle_add_sql(text);
}

static void sql_store(const struct node *node)
{
    const char *name = oracle_columns[node->column].name;
    oracle_add_sql("CASE");
    sql_fails(node->a);
    oracle_add_sql(" WHEN ");
    sql_expression(node->a);
    oracle_add_sql(" IS NULL THEN '");
    oracle_add_sql(name);
    oracle_add_sql(" = NULL' WHEN ");
    sql_expression(node->a);
    sql_range(node->column);
    oracle_add_sql(" THEN '");
    oracle_add_sql(name);
    oracle_add_sql(" = ' || ");
    sql_expression(node->a);
    oracle_add_sql(" ELSE 'error 4314' END");
}

static void sql_action(const struct node *node)
{
    char text[64];
    switch ((int)node->kind) {
    case DO_IF:
        oracle_add_sql("CASE");
        if (node->a->kind == COND_NUMBERS) {
            sql_fails(node->a->a);
            sql_fails(node->a->b);
        }
        oracle_add_sql(" WHEN ");
        sql_condition(node->a);
        oracle_add_sql(" THEN ");
        sql_action(node->b);
        oracle_add_sql(" ELSE ");
        sql_action(node->c);
        oracle_add_sql(" END");
        return;
    case DO_STORE:
        sql_store(node);
        return;
    case DO_VALUE:
        oracle_add_sql("'");
        oracle_add_sql(oracle_columns[node->column].name);
        oracle_add_sql(" = ' || ");
        oracle_add_sql(node->value.sql);
        return;
    case DO_REFUSE:
        snprintf(text, sizeof text, "'refused %lld'", (long long)node->number);
        oracle_add_sql(text);
        return;
    default:
        oracle_add_sql("'nothing'");
        return;
    }
}

/* --- Comparing. --- */

#define TEXT_MAX 64u

static void oracle(char found[ROWS][TEXT_MAX])
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(oracle_db, oracle_sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sqlite3_errmsg(oracle_db), oracle_sql);
    while (sqlite3_step(statement) == SQLITE_ROW)
        snprintf(found[sqlite3_column_int(statement, 0)], TEXT_MAX, "%s",
                 (const char *)sqlite3_column_text(statement, 1));
    sqlite3_finalize(statement);
}

static void print_stored(const uint32_t *out, uint32_t words, char *text)
{
    uint32_t column = out[0] >> 16;
    uint32_t size = out[0] & 0xFFFFu;
    uint64_t number = 0;
    assert_true(words == 1 + (size + 3) / 4 && column < 10 && size <= 8);
    if (size == 0) {
        snprintf(text, TEXT_MAX, "%s = NULL", oracle_columns[column].name);
        return;
    }
    memcpy(&number, out + 1, size);
    bool negative = bits_of(column) % 8 != 0 && (number >> (8 * size - 1) & 1) != 0;
    if (negative && size < 8) number |= UINT64_MAX << 8 * size;
    snprintf(text, TEXT_MAX, "%s = %lld", oracle_columns[column].name, (long long)number);
}

static void ours(const struct ndb_program *program, uint32_t r, char *text)
{
    uint32_t count;
    uint32_t out[16];
    const uint32_t *words = builder_words(program, &count);
    struct tup_program run = {.frag = oracle_world.frag,
                              .row = oracle_row_id[r],
                              .words = words,
                              .out = out,
                              .out_max = 16};
    uint32_t error = tup_program_run(oracle_world.tup, &run);
    if (error != 0)
        snprintf(text, TEXT_MAX, "error %u", error);
    else if (run.end == TUP_PROGRAM_REFUSED)
        snprintf(text, TEXT_MAX, "refused %u", run.code);
    else if (run.stored == 0)
        snprintf(text, TEXT_MAX, "nothing");
    else
        print_stored(out, run.stored, text);
}

static void compare(uint32_t number, const struct ndb_program *program, uint32_t *kinds)
{
    char expected[ROWS][TEXT_MAX];
    char text[TEXT_MAX];
    uint32_t count;
    const uint32_t *words = builder_words(program, &count);
    assert_int_equal(tup_program_check(oracle_world.frag, words, count, true), 0);
    oracle(expected);
    for (uint32_t r = 0; r < ROWS; r++) {
        ours(program, r, text);
        if (strcmp(text, expected[r]) != 0)
            fail_msg("case %u, row %u: SQLite \"%s\", here \"%s\": %s", number, r, expected[r],
                     text, oracle_sql);
        kinds[strncmp(text, "error 8", 7) == 0   ? 0
              : strncmp(text, "error 4", 7) == 0 ? 1
              : strncmp(text, "refused", 7) == 0 ? 2
              : strstr(text, "NULL") != NULL     ? 3
                                                 : 4]++;
    }
}

static void test_same_outcomes(void **state)
{
    (void)state;
    uint32_t cases = oracle_number_of("PROGRAM_CASES", 20000);
    uint32_t kinds[5] = {0};
    oracle_sql = malloc(SQL_MAX);
    assert_non_null(oracle_sql);
    rng_seed(&oracle_rng, oracle_number_of("PROGRAM_SEED", 1));
    oracle_open(ROWS, NULL);
    table = builder_table(oracle_world.def);
    for (uint32_t i = 0; i < cases; i++) {
        if (i % CASES_EACH == 0) oracle_draw_rows();
        node_count = labels = 0;
        struct node *action = draw_action(DEPTH_MAX);
        struct ndb_program *program = ndb_program_create(builder_ndb(), table);
        build_action(program, action);
        if (ndb_program_finish(program) != 0)
            fail_msg("error %d", ndb_program_error(program)->code);
        oracle_sql_size = 0;
        oracle_add_sql("SELECT k, ");
        sql_action(action);
        oracle_add_sql(" FROM t");
        compare(i, program, kinds);
        ndb_program_free(program);
    }
    print_message("%u programs on %u rows: %u fail by NULL or 0, %u by range, %u are refused, "
                  "%u store NULL\n",
                  cases, ROWS, kinds[0], kinds[1], kinds[2], kinds[3]);
    for (uint32_t i = 0; i < 5; i++) /* Each has been there. */
        assert_true(cases < 1000 || kinds[i] > 0);
    builder_table_free(table);
    oracle_close();
    free(oracle_sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_outcomes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
