/* sql_types.h -- how SQL spells the column types. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/sql/sql_lexer.h"

/* What the numbers in parentheses after a type mean. */
enum sql_numbers {
    SQL_NO_NUMBER,      /* none allowed */
    SQL_WIDTH,          /* display width: allowed, without meaning */
    SQL_FLOAT_DIGITS,   /* float(25) and more is double */
    SQL_DECIMAL_DIGITS, /* (precision, scale) */
    SQL_LENGTH,         /* characters, bytes or bits; 1 if missing */
    SQL_LENGTH_NEEDED,  /* the same, but must be given */
    SQL_FRACTION        /* digits of a second's fraction, 0 if missing */
};

struct sql_type {
    const char *word;      /* upper case */
    uint8_t type;          /* enum column_type; UNDEFINED: known, but not stored here */
    uint8_t unsigned_type; /* with UNSIGNED; UNDEFINED: not possible */
    uint8_t numbers;       /* enum sql_numbers */
};

/* NULL when the token is not the name of a type. */
const struct sql_type *sql_type_find(const struct sql_token *token);
