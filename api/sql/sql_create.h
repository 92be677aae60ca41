/* sql_create.h -- reads a CREATE TABLE statement into a table definition. */
/* SPDX-License-Identifier: MIT */
/*
 * CREATE TABLE [IF NOT EXISTS] [database.]table (
 *     column type [UNSIGNED] [CHARACTER SET set] [COLLATE collation] [NOT NULL | NULL]
 *            [DEFAULT literal] [AUTO_INCREMENT] [PRIMARY KEY] [COMMENT 'text'], ...,
 *     [PRIMARY KEY (column, ...)],
 *     {INDEX | KEY} [name] [USING BTREE] (column [ASC], ...) [USING BTREE], ... )
 * [ENGINE = NDB | NDBCLUSTER] [[DEFAULT] CHARSET = set] [[DEFAULT] COLLATE = collation]
 * [MAX_ROWS = n] [AUTO_INCREMENT = n] [COMMENT =
 * 'NDB_TABLE=READ_BACKUP=1,PARTITION_BALANCE=FOR_RA_BY_LDM,...'] [PARTITION BY KEY ([column, ...])
 * [PARTITIONS n]] [;]
 *
 * Names may stand in backquotes or double quotes; comments are --, # and slash star. NDB_TABLE
 * options: READ_BACKUP, FULLY_REPLICATED, NOLOGGING (0 or 1), PARTITION_BALANCE.
 * Char columns without a collation get the table's, which is utf8mb4_general_ci unless given.
 * varchar(n) and varbinary(n) choose the short or long stored form by their bytes. Key columns
 * become NOT NULL, and so does one with AUTO_INCREMENT. The key's column order is that of the
 * table.
 * An ordered index without a name gets that of its first column.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/sql/sql_lexer.h"
#include "values/table_def.h"

struct sql_create_input {
    const char *text;
    size_t text_size;
    const char *database; /* for a table name without one; NULL: the statement must name it */
};

struct sql_create_error {
    uint32_t code;   /* ERR_BAD_REQUEST for syntax, else what table_def_check says */
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in characters */
    char text[320];  /* one line: the offending word, what was expected; not the place */
};

struct sql_create_result {
    struct table_def *def;     /* checked; in the memory that was given */
    struct sql_token table_at; /* where its name stands in the text */
    bool if_not_exists;
    uint64_t first_number; /* n of AUTO_INCREMENT = n; 0: not given */
    size_t consumed;       /* bytes of text up to the end of the statement, its ; included */
};

/* Reads one statement. `memory` (table_def_size_max() bytes are always enough, aligned to 8) holds
   the definition. Returns 0, or an error number with *error filled in and result->def NULL.
   Keeps no state: may be called from any thread. */
uint32_t sql_create_parse(const struct sql_create_input *input, void *memory, size_t memory_size,
                          struct sql_create_result *result, struct sql_create_error *error);

/* Reads a column as it stands in CREATE TABLE, from `at` in input->text on; result->def has it as
   its only one, and is not checked. Char columns without a collation get that of CREATE TABLE. */
uint32_t sql_column_parse(const struct sql_create_input *input, const char *at, void *memory,
                          size_t memory_size, struct sql_create_result *result,
                          struct sql_create_error *error);

/* True when nothing but blanks and comments is left: the end of a file of statements. */
bool sql_create_at_end(const char *text, size_t text_size);
