/* sql_lexer.h -- cuts SQL text into tokens: words, names, strings, numbers, punctuation. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sql_token_kind {
    SQL_END,         /* no more text */
    SQL_WORD,        /* bare word: keyword or name */
    SQL_NAME,        /* `quoted` name; body without the quotes, quote doubled inside */
    SQL_DOUBLE,      /* "..." : a name or a string, as the place wants it */
    SQL_STRING,      /* '...' */
    SQL_BITS,        /* b'101': body includes the b and the quotes */
    SQL_HEX,         /* x'4142' or 0x4142: body is the digits */
    SQL_NUMBER,      /* 12, 1.5, .5, 1e10; a sign is punctuation */
    SQL_PUNCTUATION, /* one character */
    SQL_BAD          /* see `problem` */
};

/* Points into the text; nothing is copied. */
struct sql_token {
    enum sql_token_kind kind;
    const char *start; /* whole token as it stands in the text */
    size_t size;
    const char *body; /* what is inside the quotes */
    size_t body_size;
    const char *problem; /* SQL_BAD: what is wrong, e.g. "string without end" */
};

struct sql_lexer {
    const char *at;
    const char *end;
};

/* The next token; blanks and comments (--, #, slash star) are passed over. */
struct sql_token sql_lexer_next(struct sql_lexer *lexer);

/* Is it this bare word (any case)? */
bool sql_token_is(const struct sql_token *token, const char *word);

/* Writes the body with doubled quotes and backslash escapes resolved, and a NUL. Returns its size,
   SIZE_MAX when out_size is too small. */
size_t sql_token_text(const struct sql_token *token, char *out, size_t out_size);
