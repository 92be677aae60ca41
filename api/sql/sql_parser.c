/* sql_parser.c -- walks over the tokens of a short statement and reports its first problem. */
/* SPDX-License-Identifier: MIT */
#include "api/sql/sql_parser.h"

#include <stdio.h>
#include <string.h>

#include "api/sql/sql_error.h"
#include "values/errors.h"

void sql_begin(struct sql_parser *p, const char *text, size_t text_size,
               struct sql_create_error *error)
{
    *p = (struct sql_parser){.text = text, .error = error, .lexer = {text, text + text_size}};
    memset(error, 0, sizeof(*error));
    sql_next(p);
}

bool sql_fail(const struct sql_parser *p, uint32_t code, const char *what)
{
    sql_error_at(p->text, &p->token, code, what, p->error);
    return false;
}

void sql_next(struct sql_parser *p)
{
    p->token = sql_lexer_next(&p->lexer);
}

bool sql_accept_word(struct sql_parser *p, const char *word)
{
    if (!sql_token_is(&p->token, word)) return false;
    sql_next(p);
    return true;
}

bool sql_accept_char(struct sql_parser *p, char c)
{
    if (p->token.kind != SQL_PUNCTUATION || *p->token.start != c) return false;
    sql_next(p);
    return true;
}

bool sql_need_word(struct sql_parser *p, const char *word)
{
    char what[64];

    if (sql_accept_word(p, word)) return true;
    snprintf(what, sizeof(what), "expected %s", word);
    return sql_fail(p, ERR_BAD_REQUEST, what);
}

bool sql_need_name(struct sql_parser *p, char name[SQL_NAME_SIZE], const char *what)
{
    bool is_name =
        p->token.kind == SQL_WORD || p->token.kind == SQL_NAME || p->token.kind == SQL_DOUBLE;

    if (!is_name || p->token.body_size == 0) return sql_fail(p, ERR_BAD_REQUEST, what);
    if (sql_token_text(&p->token, name, SQL_NAME_SIZE) == SIZE_MAX)
        return sql_fail(p, ERR_BAD_REQUEST, "this name is too long");
    sql_next(p);
    return true;
}

bool sql_need_table(struct sql_parser *p, char database[SQL_NAME_SIZE], char table[SQL_NAME_SIZE],
                    struct sql_token *at)
{
    database[0] = 0;
    *at = p->token;
    if (!sql_need_name(p, table, "expected a table name")) return false;
    if (!sql_accept_char(p, '.')) return true;
    memcpy(database, table, SQL_NAME_SIZE);
    *at = p->token;
    return sql_need_name(p, table, "expected a table name after the dot");
}

bool sql_need_end(struct sql_parser *p)
{
    sql_accept_char(p, ';');
    return p->token.kind == SQL_END || sql_fail(p, ERR_BAD_REQUEST, "expected the end");
}
