/* oracle_rows.h -- the same random rows of all types in a fragment and in SQLite. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SQLite gets the same values in its own types: decimals as whole numbers of their last digit,
 * dates as text that sorts. Characters are blanks and above, so that its RTRIM stands for comparing
 * with padding; upper() for the collation that ignores case, of ASCII letters.
 */
#pragma once
#include <sqlite3.h>
#include <stdio.h>
#include "tests/unit/support/tup_fixture.h"

#define ORACLE_ROWS_MAX 500u
#define COLUMNS         26u
#define VALUE_MAX       64u
#define SQL_MAX         (1u << 20)

enum how { HOW_NUMBER, HOW_REAL, HOW_DECIMAL, HOW_TEXT, HOW_UPPER, HOW_BYTES, HOW_TIME, HOW_BITS };

struct oracle_column {
    const char *name;
    struct column_format format;
    enum how how;
};

extern const struct oracle_column oracle_columns[COLUMNS];

struct value {
    bool null;
    uint32_t size;
    uint8_t bytes[VALUE_MAX];
    char sql[4 * VALUE_MAX]; /* The literal. */
};

extern struct rows_world oracle_world;
extern sqlite3 *oracle_db;
extern struct rng oracle_rng;
extern struct value oracle_row[ORACLE_ROWS_MAX][COLUMNS];
extern uint32_t oracle_row_id[ORACLE_ROWS_MAX];
extern char *oracle_sql;
extern uint32_t oracle_sql_size;
uint32_t oracle_below(uint32_t limit);

/* --- Values. --- */

void oracle_quote(char *to, const char *text);

/* Characters of text; patterns have more % and _. */
void oracle_draw_text(char *to, bool ascii, bool pattern);
void oracle_draw_value(uint32_t column, struct value *value);

/* --- Rows. --- */

void oracle_execute(const char *statement);
void oracle_draw_rows(void);

/* Both tables, empty; `indexes` adds them to the definition, or is NULL. */
void oracle_open(uint32_t rows, void (*indexes)(struct table_def *def));
void oracle_close(void);

/* --- The text of a statement. --- */

void oracle_add_sql(const char *text);

/* A column as its collation compares it, or a value. */
void oracle_add_side(uint32_t column, const char *text);

/* One that a row has, or any. Not NULL. */
const struct value *oracle_some_value(uint32_t column, struct value *drawn);
uint32_t oracle_number_of(const char *name, uint32_t otherwise);
