/* sql_index.h -- reads a CREATE INDEX statement. */
/* SPDX-License-Identifier: MIT */
/*
 * CREATE [UNIQUE] INDEX [IF NOT EXISTS] name [USING kind] ON [database.]table (column [ASC], ...)
 * [USING kind] [;]
 *
 * The kind is BTREE, of a unique index HASH, and nothing else, as in CREATE TABLE: a unique one
 * that does not say it is a hash index too, without an ordered one beside it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/sql/sql_parser.h"

struct sql_index {
    char database[SQL_NAME_SIZE]; /* empty: not named */
    char table[SQL_NAME_SIZE];
    char name[SQL_NAME_SIZE];
    uint32_t column_count;
    char columns[INDEX_COLUMNS_MAX][SQL_NAME_SIZE];
    bool if_not_exists;
    bool unique; /* Else it is ordered. */
    /* Where these stand in the text, for what is found wrong with them later. */
    struct sql_token table_at, name_at, columns_at[INDEX_COLUMNS_MAX];
};

/* Reads one statement, to the end of the text. Whether there are such columns is not asked. 0, or
   an error number with *error filled in. Keeps no state: may be called from any thread. */
uint32_t sql_index_parse(const char *text, size_t text_size, struct sql_index *index,
                         struct sql_create_error *error);
