/* sql_lexer.c -- cuts SQL text into tokens. */
/* SPDX-License-Identifier: MIT */
#include "api/sql/sql_lexer.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of UTF-8 sequences count as letters: names may use any alphabet. */
static bool is_word_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static char peek(const struct sql_lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : 0;
}

static void skip_line(struct sql_lexer *lexer)
{
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
}

/* False when a comment does not end. */
static bool skip_blanks(struct sql_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        char second = peek(lexer, 1);
        char third = peek(lexer, 2);
        bool dashes = c == '-' && second == '-' &&
                      (lexer->end - lexer->at == 2 || third == ' ' || third == '\t' ||
                       third == '\n' || third == '\r');
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            lexer->at++;
        } else if (c == '#' || dashes) {
            skip_line(lexer);
        } else if (c == '/' && second == '*') {
            const char *from = lexer->at + 2;
            const char *star = memmem(from, (size_t)(lexer->end - from), "*/", 2);
            if (star == NULL) return false;
            lexer->at = star + 2;
        } else {
            return true;
        }
    }
    return true;
}

/* Passes over the rest of a quoted token, opening quote included; false when it does not end. */
static bool skip_quoted(struct sql_lexer *lexer, char quote)
{
    for (lexer->at++; lexer->at < lexer->end; lexer->at++) {
        if (*lexer->at == '\\' && quote != '`') {
            if (++lexer->at == lexer->end) return false;
        } else if (*lexer->at == quote) {
            lexer->at++;
            if (peek(lexer, 0) != quote) return true;
        }
    }
    return false;
}

static void finish(const struct sql_lexer *lexer, struct sql_token *token, size_t before,
                   size_t after)
{
    token->size = (size_t)(lexer->at - token->start);
    token->body = token->start + before;
    token->body_size = token->size - before - after;
}

static void bad(const struct sql_lexer *lexer, struct sql_token *token, const char *problem)
{
    finish(lexer, token, 0, 0);
    token->kind = SQL_BAD;
    token->problem = problem;
}

static void read_quoted(struct sql_lexer *lexer, struct sql_token *token)
{
    char quote = *lexer->at;

    token->kind = quote == '`' ? SQL_NAME : quote == '"' ? SQL_DOUBLE : SQL_STRING;
    if (skip_quoted(lexer, quote))
        finish(lexer, token, 1, 1);
    else
        bad(lexer, token, quote == '`' ? "name without closing quote" : "string without end");
}

/* b'...' and x'...' with only their digits inside. */
static void read_prefixed(struct sql_lexer *lexer, struct sql_token *token)
{
    bool bits = *lexer->at == 'b' || *lexer->at == 'B';

    lexer->at += 2;
    while (bits ? peek(lexer, 0) == '0' || peek(lexer, 0) == '1' : is_hex_digit(peek(lexer, 0)))
        lexer->at++;
    if (peek(lexer, 0) != '\'') {
        bad(lexer, token,
            bits ? "bit literal with something other than 0 and 1"
                 : "hex literal with something other than hex digits");
        return;
    }
    lexer->at++;
    token->kind = bits ? SQL_BITS : SQL_HEX;
    finish(lexer, token, bits ? 0 : 2, bits ? 0 : 1);
}

static void read_number(struct sql_lexer *lexer, struct sql_token *token)
{
    token->kind = SQL_NUMBER;
    if (peek(lexer, 0) == '0' && peek(lexer, 1) == 'x' && is_hex_digit(peek(lexer, 2))) {
        lexer->at += 2;
        while (is_hex_digit(peek(lexer, 0)))
            lexer->at++;
        token->kind = SQL_HEX;
    } else {
        while (is_digit(peek(lexer, 0)))
            lexer->at++;
        if (peek(lexer, 0) == '.') lexer->at++;
        while (is_digit(peek(lexer, 0)))
            lexer->at++;
        char sign = peek(lexer, 1);
        if ((peek(lexer, 0) | 0x20) == 'e' &&
            (is_digit(sign) || ((sign == '+' || sign == '-') && is_digit(peek(lexer, 2))))) {
            lexer->at += 2;
            while (is_digit(peek(lexer, 0)))
                lexer->at++;
        }
    }
    if (is_word_char(peek(lexer, 0))) {
        while (is_word_char(peek(lexer, 0)))
            lexer->at++;
        bad(lexer, token, "number with letters in it");
        return;
    }
    finish(lexer, token, token->kind == SQL_HEX ? 2 : 0, 0);
}

struct sql_token sql_lexer_next(struct sql_lexer *lexer)
{
    bool closed = skip_blanks(lexer);
    struct sql_token token = {.kind = SQL_END, .start = lexer->at, .body = lexer->at};

    if (!closed) {
        lexer->at += 2;
        bad(lexer, &token, "comment without end");
        lexer->at = lexer->end;
        return token;
    }
    if (lexer->at == lexer->end) return token;
    char c = *lexer->at;
    if (c == '`' || c == '"' || c == '\'') {
        read_quoted(lexer, &token);
    } else if ((c == 'b' || c == 'B' || c == 'x' || c == 'X') && peek(lexer, 1) == '\'') {
        read_prefixed(lexer, &token);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) {
        read_number(lexer, &token);
    } else if (is_word_char(c)) {
        while (is_word_char(peek(lexer, 0)))
            lexer->at++;
        token.kind = SQL_WORD;
        finish(lexer, &token, 0, 0);
    } else {
        lexer->at++;
        token.kind = SQL_PUNCTUATION;
        finish(lexer, &token, 0, 0);
        if ((unsigned char)c < ' ' || c == 0x7F) bad(lexer, &token, "control character");
    }
    return token;
}

bool sql_token_is(const struct sql_token *token, const char *word)
{
    if (token->kind != SQL_WORD || strlen(word) != token->size) return false;
    for (size_t i = 0; i < token->size; i++) {
        char c = token->start[i];
        if ((c >= 'a' && c <= 'z' ? (char)(c - 32) : c) != word[i]) return false;
    }
    return true;
}

static char escaped(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case '0':
        return 0;
    case 'b':
        return '\b';
    case 'Z':
        return 26;
    default:
        return c;
    }
}

size_t sql_token_text(const struct sql_token *token, char *out, size_t out_size)
{
    bool quoted = token->kind == SQL_NAME || token->kind == SQL_DOUBLE || token->kind == SQL_STRING;
    char quote = quoted ? *token->start : 0;
    size_t used = 0;

    for (size_t i = 0; i < token->body_size; i++) {
        char c = token->body[i];
        if (quoted && i + 1 < token->body_size) {
            if (c == quote)
                i++; /* Inside, a quote is always doubled. */
            else if (c == '\\' && quote != '`')
                c = escaped(token->body[++i]);
        }
        if (used + 1 >= out_size) return SIZE_MAX;
        out[used++] = c;
    }
    if (out_size == 0) return SIZE_MAX;
    out[used] = 0;
    return used;
}
