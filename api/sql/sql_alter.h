/* sql_alter.h -- reads the statements that change a table in use. */
/* SPDX-License-Identifier: MIT */
/*
 * ALTER TABLE [database.]table RENAME [TO | AS] [database.]table [;]
 * ALTER TABLE [database.]table RENAME COLUMN column TO column [;]
 * ALTER TABLE [database.]table ADD [COLUMN] column type ... as in CREATE TABLE [;]
 * RENAME TABLE [database.]table TO [database.]table [;]
 * TRUNCATE [TABLE] [database.]table [;]
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api/sql/sql_parser.h"

#define SQL_COLUMN_WORDS_MAX (8u + (COLUMN_NAME_MAX + COLUMN_BYTES_MAX) / 4u)

enum sql_alter_kind { SQL_RENAME_TABLE, SQL_RENAME_COLUMN, SQL_ADD_COLUMN, SQL_TRUNCATE };

struct sql_alter {
    enum sql_alter_kind kind;
    char database[SQL_NAME_SIZE]; /* empty: not named */
    char table[SQL_NAME_SIZE];
    char new_database[SQL_NAME_SIZE]; /* empty: the table stays where it is */
    char new_name[SQL_NAME_SIZE];     /* new name of the table or the column */
    char column[SQL_NAME_SIZE];
    /* Where these stand in the text, for what is found wrong with them later. */
    struct sql_token table_at, new_at, column_at;
    uint32_t word_count; /* words of a new column, as table_column_encode() writes it */
    uint32_t words[SQL_COLUMN_WORDS_MAX];
};

/* Reads one statement, to the end of the text. Whether there is such a table or column is not
   asked. 0, or an error number with *error filled in. Keeps no state: may be called from any
   thread. */
uint32_t sql_alter_parse(const char *text, size_t text_size, struct sql_alter *alter,
                         struct sql_create_error *error);
