/* sql_error.c -- says where in a statement something is wrong. */
/* SPDX-License-Identifier: MIT */
#include "api/sql/sql_error.h"

#include <stdio.h>
#include <string.h>

#define WORD_SHOWN_MAX 60 /* bytes of an offending word that are shown */

static void locate(const char *text, const char *at, struct sql_create_error *error)
{
    error->line = 1;
    error->column = 1;
    for (const char *c = text; c < at; c++) {
        if (*c == '\n') {
            error->line++;
            error->column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            error->column++;
        }
    }
}

/* The token as it goes into a message: one line, not too long. */
static void show(const struct sql_token *token, char out[WORD_SHOWN_MAX + 8])
{
    size_t size = token->size < WORD_SHOWN_MAX ? token->size : WORD_SHOWN_MAX;

    if (token->kind == SQL_END) {
        strcpy(out, "the end");
        return;
    }
    while (size > 0 && size < token->size && ((unsigned char)token->start[size] & 0xC0) == 0x80)
        size--; /* Do not cut a character in two. */
    out[0] = '\'';
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)token->start[i];
        out[1 + i] = c < ' ' || c == 0x7F ? '?' : (char)c;
    }
    strcpy(out + 1 + size, size < token->size ? "...'" : "'");
}

void sql_error_at(const char *text, const struct sql_token *token, uint32_t code, const char *what,
                  struct sql_create_error *error)
{
    char word[WORD_SHOWN_MAX + 8];

    locate(text, token->start, error);
    show(token, word);
    error->code = code;
    if (token->kind == SQL_BAD) what = token->problem;
    snprintf(error->text, sizeof(error->text), "at %s%s%s", word, what[0] != '\0' ? ": " : "",
             what);
}
