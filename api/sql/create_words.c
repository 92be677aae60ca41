/* create_words.c -- the smallest steps through a CREATE TABLE: words, names, numbers, problems. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <strings.h>

#include "api/sql/create_private.h"
#include "api/sql/sql_error.h"
#include "values/errors.h"

bool create_fail_at(struct create_parser *p, const struct sql_token *token, uint32_t code,
                    const char *what)
{
    sql_error_at(p->input->text, token, code, what, p->error);
    return false;
}

bool create_expected(struct create_parser *p, const char *what)
{
    char text[200];

    snprintf(text, sizeof(text), "expected %s", what);
    return create_fail_at(p, &p->token, ERR_BAD_REQUEST, text);
}

void create_next(struct create_parser *p)
{
    p->token = sql_lexer_next(&p->lexer);
}

bool create_accept_word(struct create_parser *p, const char *word)
{
    if (!sql_token_is(&p->token, word)) return false;
    create_next(p);
    return true;
}

bool create_at_char(const struct create_parser *p, char c)
{
    return p->token.kind == SQL_PUNCTUATION && *p->token.start == c;
}

bool create_accept_char(struct create_parser *p, char c)
{
    if (!create_at_char(p, c)) return false;
    create_next(p);
    return true;
}

bool create_need_word(struct create_parser *p, const char *word)
{
    return create_accept_word(p, word) || create_expected(p, word);
}

bool create_need_char(struct create_parser *p, char c)
{
    const char what[4] = {'\'', c, '\'', 0};

    return create_accept_char(p, c) || create_expected(p, what);
}

bool create_need_name(struct create_parser *p, struct sql_token *name, const char *what)
{
    if (p->token.kind != SQL_WORD && p->token.kind != SQL_NAME && p->token.kind != SQL_DOUBLE)
        return create_expected(p, what);
    if (p->token.body_size == 0)
        return create_fail_at(p, &p->token, ERR_BAD_REQUEST, "a name cannot be empty");
    *name = p->token;
    create_next(p);
    return true;
}

bool create_need_number(struct create_parser *p, uint64_t max, uint64_t *number)
{
    char what[64];

    snprintf(what, sizeof(what), "a whole number up to %llu", (unsigned long long)max);
    *number = 0;
    if (p->token.kind != SQL_NUMBER) return create_expected(p, what);
    for (size_t i = 0; i < p->token.size; i++) {
        uint64_t digit = (uint64_t)(unsigned char)p->token.start[i] - '0';
        if (digit > 9 || *number > (max - digit) / 10 || digit > max)
            return create_expected(p, what);
        *number = *number * 10 + digit;
    }
    create_next(p);
    return true;
}

static bool same_text(const struct sql_token *token, const char *text, size_t size)
{
    char name[COLUMN_NAME_MAX * 2 + 2];
    size_t got = sql_token_text(token, name, sizeof(name));

    return got == size && strncasecmp(name, text, size) == 0;
}

struct create_column *create_find_column(struct create_parser *p, const struct sql_token *name)
{
    char text[COLUMN_NAME_MAX * 2 + 2];
    size_t size = sql_token_text(name, text, sizeof(text));

    for (uint32_t i = 0; size != SIZE_MAX && i < p->column_count; i++) {
        if (same_text(&p->columns[i].name, text, size)) return &p->columns[i];
    }
    return NULL;
}
