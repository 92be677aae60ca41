/* ndb_where.c -- a condition as it stands behind WHERE, into a filter or a range. */
/* SPDX-License-Identifier: MIT */
/*
 *   condition  = conjunct { (OR | ||) conjunct }
 *   conjunct   = member { (AND | &&) member }
 *   member     = [NOT | !] member | ( condition ) | column comparison
 *   comparison = operator (value | column) | [NOT] LIKE text | [NOT] IN (value, ...)
 *              | [NOT] BETWEEN value AND value | IS [NOT] NULL
 *
 * What is read goes straight into the builder: a group is begun before it is known whether it gets
 * a second member. One with a single member compiles to nothing.
 *
 * A range is a part of that, without groups:
 *
 *   range      = bounds { (AND | &&) bounds }
 *   bounds     = column (= | < | <= | > | >=) value | column BETWEEN value AND value
 *              | column IS [NOT] NULL
 *   value      = as above | ?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_program.h"
#include "api/ndb/ndb_range.h"
#include "api/sql/sql_parser.h"

#define VALUE_TEXT_MAX (2u * COLUMN_BYTES_MAX + 3u) /* The longest value, in hex. */

struct where {
    struct sql_parser p;
    struct ndb_filter *filter; /* The filter that is made; NULL: `range` is. */
    struct ndb_range *range;
    const struct table_def *def;
    const struct ndb_bound *bounds; /* A range has one for each ?. */
    uint32_t bound_count;
    uint32_t bounds_used;
    struct sql_create_error error;
    uint32_t column;           /* Column of the comparison at hand. */
    char text[VALUE_TEXT_MAX]; /* The value at hand. */
};

static bool condition(struct where *w);

static bool fail_at(struct where *w, const struct sql_token *token, uint32_t code, const char *what)
{
    struct sql_token now = w->p.token;
    w->p.token = *token;
    sql_fail(&w->p, code, what);
    w->p.token = now;
    return false;
}

/* The builder has refused what stands at `token`. */
static bool refused(struct where *w, const struct sql_token *token)
{
    const ndb_error_t *error = ndb_filter_error(w->filter);
    char what[260];
    snprintf(what, sizeof what, "%.100s%s%.150s", error->text, error->detail[0] != 0 ? ": " : "",
             error->detail);
    return fail_at(w, token, (uint32_t)error->code, what);
}

/* The token begins what only filters have. */
static bool only_in_filters(struct where *w)
{
    return sql_fail(&w->p, ERR_BAD_REQUEST,
                    "a range is made of =, <, <=, >, >=, BETWEEN and IS NULL, joined by AND");
}

static bool is_operator(const struct where *w, char c)
{
    return w->p.token.kind == SQL_PUNCTUATION && *w->p.token.start == c;
}

/* AND, OR as words or as two characters. */
static bool accept_twice(struct where *w, char c)
{
    if (!is_operator(w, c)) return false;
    sql_next(&w->p);
    return sql_accept_char(&w->p, c) || sql_fail(&w->p, ERR_BAD_REQUEST, "expected it twice");
}

static bool is_word(const struct sql_token *token)
{
    static const char *const reserved[] = {"AND",  "OR",      "NOT",  "IN",   "IS",
                                           "LIKE", "BETWEEN", "NULL", "TRUE", "FALSE"};
    if (token->kind == SQL_NAME) return true;
    if (token->kind != SQL_WORD) return false;
    for (uint32_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (sql_token_is(token, reserved[i])) return false;
    }
    return true;
}

static bool need_column(struct where *w, uint32_t *column)
{
    char name[SQL_NAME_SIZE];
    struct sql_token token = w->p.token;
    if (!is_word(&token)) return sql_fail(&w->p, ERR_BAD_REQUEST, "expected a column");
    if (!sql_need_name(&w->p, name, "expected a column")) return false;
    const struct table_column *found = table_def_find(w->def, name, (uint32_t)strlen(name));
    if (found == NULL) {
        w->p.token = token;
        return sql_fail(&w->p, ERR_NO_SUCH_COLUMN, "");
    }
    *column = found->id;
    return true;
}

/* The value's text as column_parse() takes it, in w->text; UINT32_MAX: there is none. */
static uint32_t value_text(struct where *w)
{
    uint32_t sign = is_operator(w, '-') ? 1 : 0;
    if (sign || is_operator(w, '+')) {
        sql_next(&w->p);
        if (w->p.token.kind != SQL_NUMBER) return UINT32_MAX;
    }
    const struct sql_token *token = &w->p.token;
    uint32_t at = 0;
    if (token->kind == SQL_HEX)
        w->text[at++] = '0', w->text[at++] = 'x';
    else if (sign)
        w->text[at++] = '-';
    else if (token->kind != SQL_STRING && token->kind != SQL_DOUBLE && token->kind != SQL_NUMBER &&
             token->kind != SQL_BITS)
        return UINT32_MAX;
    size_t size = sql_token_text(token, w->text + at, sizeof w->text - at);
    if (size == SIZE_MAX) return UINT32_MAX;
    sql_next(&w->p);
    return at + (uint32_t)size;
}

/* column <condition> value of a range; a ? is the next one of the values given. */
static bool bound_value(struct where *w, enum ndb_condition how)
{
    struct sql_token token = w->p.token;
    char what[RANGE_FAULT_SIZE] = "";
    uint32_t error;
    if (sql_accept_char(&w->p, '?')) {
        if (w->bounds_used == w->bound_count)
            return fail_at(w, &token, ERR_PARAMETER, "there are fewer values than question marks");
        error = range_bound(w->range, w->def, w->column, how, &w->bounds[w->bounds_used++], what);
    } else {
        uint32_t size = value_text(w);
        if (size == UINT32_MAX) return sql_fail(&w->p, ERR_BAD_REQUEST, "expected a value");
        error = range_text(w->range, w->def, w->column, how, w->text, size, what);
    }
    return error == 0 || fail_at(w, &token, error, what);
}

/* column <condition> value, where a value stands. */
static bool compare_value(struct where *w, enum ndb_condition how)
{
    struct sql_token token = w->p.token;
    if (sql_token_is(&token, "NULL"))
        return sql_fail(&w->p, ERR_BAD_REQUEST, "nothing is equal to NULL: IS NULL, IS NOT NULL");
    if (w->range != NULL) return bound_value(w, how);
    uint32_t size = value_text(w);
    if (size == UINT32_MAX) return sql_fail(&w->p, ERR_BAD_REQUEST, "expected a value");
    return ndb_filter_text(w->filter, w->column, how, w->text, size) == 0 || refused(w, &token);
}

static bool begin(struct where *w, enum ndb_group group)
{
    return w->range != NULL || ndb_filter_begin(w->filter, group) == 0 || refused(w, &w->p.token);
}

static bool end(struct where *w)
{
    return w->range != NULL || ndb_filter_end(w->filter) == 0 || refused(w, &w->p.token);
}

/* The list of IN. */
static bool in_list(struct where *w, bool negate)
{
    if (!sql_accept_char(&w->p, '(')) return sql_fail(&w->p, ERR_BAD_REQUEST, "expected '('");
    if (!begin(w, negate ? NDB_NOR : NDB_OR)) return false;
    do {
        if (!compare_value(w, NDB_EQ)) return false;
    } while (sql_accept_char(&w->p, ','));
    if (!sql_accept_char(&w->p, ')'))
        return sql_fail(&w->p, ERR_BAD_REQUEST, "expected ',' or ')'");
    return end(w);
}

static bool between(struct where *w, bool negate)
{
    return begin(w, negate ? NDB_NAND : NDB_AND) && compare_value(w, NDB_GE) &&
           sql_need_word(&w->p, "AND") && compare_value(w, NDB_LE) && end(w);
}

static bool is_null(struct where *w)
{
    bool negate = sql_accept_word(&w->p, "NOT");
    struct sql_token token = w->p.token;
    if (!sql_need_word(&w->p, "NULL")) return false;
    if (w->range != NULL) {
        uint32_t error = range_null(w->range, w->column, !negate);
        return error == 0 || fail_at(w, &token, error, "the range cannot have it");
    }
    return ndb_filter_null(w->filter, w->column, !negate) == 0 || refused(w, &token);
}

/* =, <>, !=, <, <=, >, >= */
static bool need_operator(struct where *w, enum ndb_condition *how)
{
    struct sql_token first = w->p.token;
    static const char known[] = "=<>!";
    if (first.kind != SQL_PUNCTUATION || strchr(known, *first.start) == NULL)
        return sql_fail(&w->p, ERR_BAD_REQUEST,
                        "expected =, <>, <, <=, >, >=, LIKE, IN, BETWEEN or IS");
    sql_next(&w->p);
    bool equal = *first.start != '=' && sql_accept_char(&w->p, '=');
    switch (*first.start) {
    case '=':
        *how = NDB_EQ;
        return true;
    case '<':
        *how = equal ? NDB_LE : NDB_LT;
        if (!equal && sql_accept_char(&w->p, '>')) *how = NDB_NE;
        return true;
    case '>':
        *how = equal ? NDB_GE : NDB_GT;
        return true;
    default:
        *how = NDB_NE;
        return equal || sql_fail(&w->p, ERR_BAD_REQUEST, "expected !=");
    }
}

static bool by_operator(struct where *w)
{
    enum ndb_condition how = NDB_EQ;
    uint32_t other;
    struct sql_token at = w->p.token;
    if (!need_operator(w, &how)) return false;
    struct sql_token token = w->p.token;
    if (w->range != NULL && (how == NDB_NE || is_word(&token))) {
        if (how == NDB_NE) w->p.token = at;
        return only_in_filters(w);
    }
    if (!is_word(&token)) return compare_value(w, how);
    if (!need_column(w, &other)) return false;
    return ndb_filter_columns(w->filter, w->column, how, other) == 0 || refused(w, &token);
}

static bool comparison(struct where *w)
{
    if (!need_column(w, &w->column)) return false;
    if (sql_accept_word(&w->p, "IS")) return is_null(w);
    const struct sql_token *next = &w->p.token;
    if (w->range != NULL &&
        (sql_token_is(next, "NOT") || sql_token_is(next, "LIKE") || sql_token_is(next, "IN")))
        return only_in_filters(w);
    bool negate = sql_accept_word(&w->p, "NOT");
    if (sql_accept_word(&w->p, "LIKE")) return compare_value(w, negate ? NDB_NOT_LIKE : NDB_LIKE);
    if (sql_accept_word(&w->p, "IN")) return in_list(w, negate);
    if (sql_accept_word(&w->p, "BETWEEN")) return between(w, negate);
    if (negate) return sql_fail(&w->p, ERR_BAD_REQUEST, "expected LIKE, IN or BETWEEN");
    return by_operator(w);
}

static bool member(struct where *w)
{
    if (w->range != NULL) {
        bool group = sql_token_is(&w->p.token, "NOT") || is_operator(w, '!') || is_operator(w, '(');
        return group ? only_in_filters(w) : comparison(w);
    }
    if (sql_accept_word(&w->p, "NOT") || sql_accept_char(&w->p, '!'))
        return begin(w, NDB_NAND) && member(w) && end(w);
    if (!sql_accept_char(&w->p, '(')) return comparison(w);
    if (!condition(w)) return false;
    return sql_accept_char(&w->p, ')') ||
           sql_fail(&w->p, ERR_BAD_REQUEST, "expected AND, OR or ')'");
}

static bool conjunct(struct where *w)
{
    if (!begin(w, NDB_AND)) return false;
    do {
        if (!member(w)) return false;
    } while (sql_accept_word(&w->p, "AND") || accept_twice(w, '&'));
    return w->error.code == 0 && end(w);
}

static bool condition(struct where *w)
{
    if (!begin(w, NDB_OR)) return false;
    do {
        if (!conjunct(w)) return false;
    } while (sql_accept_word(&w->p, "OR") || accept_twice(w, '|'));
    return w->error.code == 0 && end(w);
}

static struct where *where_new(void)
{
    struct where *w = malloc(sizeof *w);
    if (w != NULL) memset(w, 0, offsetof(struct where, text));
    return w;
}

/* Reads the text into the filter or the range. */
static bool read_condition(struct where *w, const char *text)
{
    sql_begin(&w->p, text, strlen(text), &w->error);
    if (w->filter != NULL) return condition(w) && sql_need_end(&w->p);
    if (!conjunct(w)) return false;
    if (sql_token_is(&w->p.token, "OR") || is_operator(w, '|')) return only_in_filters(w);
    if (!sql_need_end(&w->p)) return false;
    return w->bounds_used == w->bound_count ||
           sql_fail(&w->p, ERR_PARAMETER, "there are more values than question marks");
}

int range_read(ndb_t *ndb, struct ndb_range *range, const struct table_def *def, const char *text,
               const struct ndb_bound *bounds, uint32_t count, struct ndb_sql_error *where)
{
    struct where *w = where_new();
    if (w == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    w->range = range;
    w->def = def;
    w->bounds = bounds;
    w->bound_count = count;
    int result = read_condition(w, text) ? 0 : ndb_say_where(ndb, where, &w->error);
    free(w);
    return result;
}

int ndb_filter_where(struct ndb_filter *filter, const char *text, struct ndb_sql_error *where)
{
    if (where != NULL) memset(where, 0, sizeof *where);
    if (filter == NULL || ndb_filter_error(filter)->code != 0) return -1;
    struct error_slot *error = filter_error(filter);
    if (text == NULL) return error_set(error, ERR_PARAMETER, "no condition");
    struct where *w = where_new();
    if (w == NULL) return error_set(error, ERR_API_MEMORY, NULL);
    w->filter = filter;
    w->def = api_table_def(filter_table(filter));
    int result = read_condition(w, text) ? 0 : error_say_where(error, where, &w->error);
    free(w);
    return result;
}
