/* sql_index.c -- reads CREATE INDEX over the tokens of sql_lexer.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* Every function that reads returns false after having reported the first problem. */
#include "api/sql_index.h"

#include <stdio.h>
#include <string.h>

#include "api/sql_error.h"
#include "signals/errors.h"

struct parser {
    const char *text;
    struct sql_create_error *error;
    struct sql_lexer lexer;
    struct sql_token token;
};

static bool fail(const struct parser *p, uint32_t code, const char *what)
{
    sql_error_at(p->text, &p->token, code, what, p->error);
    return false;
}

static void next(struct parser *p)
{
    p->token = sql_lexer_next(&p->lexer);
}

static bool accept_word(struct parser *p, const char *word)
{
    if (!sql_token_is(&p->token, word)) return false;
    next(p);
    return true;
}

static bool need_word(struct parser *p, const char *word)
{
    char what[64];

    if (accept_word(p, word)) return true;
    snprintf(what, sizeof(what), "expected %s", word);
    return fail(p, ERR_BAD_REQUEST, what);
}

static bool accept_char(struct parser *p, char c)
{
    if (p->token.kind != SQL_PUNCTUATION || *p->token.start != c) return false;
    next(p);
    return true;
}

static bool need_name(struct parser *p, char name[SQL_NAME_SIZE], const char *what)
{
    bool is_name =
        p->token.kind == SQL_WORD || p->token.kind == SQL_NAME || p->token.kind == SQL_DOUBLE;

    if (!is_name || p->token.body_size == 0) return fail(p, ERR_BAD_REQUEST, what);
    if (sql_token_text(&p->token, name, SQL_NAME_SIZE) == SIZE_MAX)
        return fail(p, ERR_BAD_REQUEST, "this name is too long");
    next(p);
    return true;
}

static bool read_kind(struct parser *p)
{
    return !accept_word(p, "USING") || need_word(p, "BTREE");
}

static bool read_head(struct parser *p, struct sql_index *index)
{
    if (!need_word(p, "CREATE")) return false;
    if (sql_token_is(&p->token, "UNIQUE") || sql_token_is(&p->token, "FULLTEXT") ||
        sql_token_is(&p->token, "SPATIAL"))
        return fail(p, ERR_NOT_IMPLEMENTED, "expected INDEX: a table in use gets ordered ones");
    if (!need_word(p, "INDEX")) return false;
    if (accept_word(p, "IF")) {
        if (!need_word(p, "NOT") || !need_word(p, "EXISTS")) return false;
        index->if_not_exists = true;
    }
    if (!need_name(p, index->name, "expected the index's name") || !read_kind(p)) return false;
    if (!need_word(p, "ON") || !need_name(p, index->table, "expected a table name")) return false;
    if (!accept_char(p, '.')) return true;
    memcpy(index->database, index->table, sizeof(index->database));
    return need_name(p, index->table, "expected a table name after the dot");
}

static bool read_columns(struct parser *p, struct sql_index *index)
{
    if (!accept_char(p, '(')) return fail(p, ERR_BAD_REQUEST, "expected '('");
    do {
        if (index->column_count == INDEX_COLUMNS_MAX)
            return fail(p, ERR_INDEX_OBJECT, "an index has at most 32 columns");
        if (!need_name(p, index->columns[index->column_count++], "expected a column name"))
            return false;
        accept_word(p, "ASC");
    } while (accept_char(p, ','));
    if (!accept_char(p, ')')) return fail(p, ERR_BAD_REQUEST, "expected ',' or ')'");
    if (!read_kind(p)) return false;
    accept_char(p, ';');
    return p->token.kind == SQL_END || fail(p, ERR_BAD_REQUEST, "expected the end");
}

uint32_t sql_index_parse(const char *text, size_t text_size, struct sql_index *index,
                         struct sql_create_error *error)
{
    struct parser p = {.text = text, .error = error, .lexer = {text, text + text_size}};

    memset(index, 0, sizeof(*index));
    memset(error, 0, sizeof(*error));
    next(&p);
    if (!read_head(&p, index) || !read_columns(&p, index)) return error->code;
    return ERR_NONE;
}
