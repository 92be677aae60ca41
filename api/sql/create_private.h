/* create_private.h -- what the readers of CREATE TABLE share: the parser, and what it has read. */
/* SPDX-License-Identifier: MIT */
/*
 * Columns are first collected as they are written and become a definition at the end, because the
 * table's character set and the PRIMARY KEY clause come after them. Every function that reads
 * returns false after having reported the first problem with `create_fail_at`; nobody goes on after
 * that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/sql/sql_create.h"
#include "api/sql/sql_lexer.h"

enum { LITERAL_MAX = 2 * COLUMN_BYTES_MAX + 16 };

struct create_column {
    struct sql_token name;
    struct sql_token default_value; /* kind SQL_END: none; the word NULL: NULL */
    struct column_format format;    /* length in characters until finish_format */
    uint32_t flags;
    bool null_written;
    bool negative; /* sign of a number in DEFAULT */
};

/* Columns are looked for at the end: an index may come before them. */
struct create_index {
    bool unique;
    struct sql_token name; /* kind SQL_END: the name of the first column */
    uint32_t column_count;
    struct sql_token columns[INDEX_COLUMNS_MAX];
};

struct create_parser {
    const struct sql_create_input *input;
    struct sql_create_error *error;
    struct sql_lexer lexer;
    struct sql_token token; /* the one to look at */
    struct sql_token database;
    struct sql_token table;
    uint8_t collation; /* collation of the table */
    uint32_t table_flags;
    int32_t balance;
    bool balance_written;
    bool key_written;
    uint32_t fragment_count;
    uint64_t max_rows;
    uint64_t first_number;
    uint32_t column_count;
    struct create_column columns[TABLE_COLUMNS_MAX];
    uint32_t index_count;
    uint32_t unique_count; /* unique indexes among them */
    struct create_index indexes[TABLE_INDEXES_MAX + TABLE_UNIQUE_MAX];
    char literal[LITERAL_MAX];
    uint8_t value[COLUMN_BYTES_MAX + 8];
};

/* create_words.c. Always false: `what` is wrong with the token, or was expected at this place. */
bool create_fail_at(struct create_parser *p, const struct sql_token *token, uint32_t code,
                    const char *what);
bool create_expected(struct create_parser *p, const char *what);
void create_next(struct create_parser *p);
/* Is this character the token to look at? */
bool create_at_char(const struct create_parser *p, char c);
/* Passes over this word, or character; false, and nothing happens, when it is another one. */
bool create_accept_word(struct create_parser *p, const char *word);
bool create_accept_char(struct create_parser *p, char c);
bool create_need_word(struct create_parser *p, const char *word);
bool create_need_char(struct create_parser *p, char c);
/* A name, quoted or not. `what` is said when there is none. */
bool create_need_name(struct create_parser *p, struct sql_token *name, const char *what);
bool create_need_number(struct create_parser *p, uint64_t max, uint64_t *number);
/* The column with this name among those that have been read, or NULL. */
struct create_column *create_find_column(struct create_parser *p, const struct sql_token *name);

/* create_column.c. Reads a column, which becomes the last one of the parser. */
bool create_read_column(struct create_parser *p);
/* CHARACTER SET x, CHARSET x, COLLATE x; *done tells whether it was one of these. */
bool create_read_character_set(struct create_parser *p, uint8_t *collation, bool *done);

/* create_element.c. Reads a column, a key or an index. */
bool create_read_element(struct create_parser *p);
/* (a, b, ...): sets the flag on each column named. */
bool create_read_key_list(struct create_parser *p, uint32_t flag, bool may_be_empty);
/* False when there is a primary key already; `token` is where this one begins. */
bool create_key_begins(struct create_parser *p, const struct sql_token *token);
/* The next index, which is empty. NULL: there are too many, `word` is where this one begins. */
struct create_index *create_add_index(struct create_parser *p, const struct sql_token *word,
                                      bool unique);

/* create_options.c. One table option; *done is false when there is no more. */
bool create_read_option(struct create_parser *p, bool *done);

/* create_finish.c. Makes and checks the definition from all that was read. */
bool create_finish(struct create_parser *p, struct table_def *def);
/* Adds one column to the definition. */
bool create_finish_column(struct create_parser *p, struct create_column *column,
                          struct table_def *def);
