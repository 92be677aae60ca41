/* sql_parser.h -- what the readers of short statements share: one token ahead, the first problem.
 */
/* SPDX-License-Identifier: MIT */
/* Every function that reads returns false after having reported the first problem. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/sql/sql_create.h"
#include "api/sql/sql_lexer.h"

#define SQL_NAME_SIZE (COLUMN_NAME_MAX + 4u)

struct sql_parser {
    const char *text;
    struct sql_create_error *error; /* Filled in by the first problem. */
    struct sql_lexer lexer;
    struct sql_token token; /* The one to look at. */
};

/* Begins at the first token of `text`; *error is empty. */
void sql_begin(struct sql_parser *p, const char *text, size_t text_size,
               struct sql_create_error *error);
/* Always false: `what` is wrong with the token. */
bool sql_fail(const struct sql_parser *p, uint32_t code, const char *what);
void sql_next(struct sql_parser *p);
/* Passes over this word, or character; false, and nothing happens, when it is another one. */
bool sql_accept_word(struct sql_parser *p, const char *word);
bool sql_accept_char(struct sql_parser *p, char c);
bool sql_need_word(struct sql_parser *p, const char *word);
/* Copies a name, quoted or not, with its NUL. `what` is said when there is none. */
bool sql_need_name(struct sql_parser *p, char name[SQL_NAME_SIZE], const char *what);
/* [database.]table; `database` is empty when it is not named, `at` the place of the table's own
 * name. */
bool sql_need_table(struct sql_parser *p, char database[SQL_NAME_SIZE], char table[SQL_NAME_SIZE],
                    struct sql_token *at);
/* [;] and nothing more. */
bool sql_need_end(struct sql_parser *p);
