/* sql_error.h -- what is wrong with a statement, and where. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "api/sql/sql_create.h"
#include "api/sql/sql_lexer.h"

/* Fills in *error: the number, and the line and column of the token, which stands in `text`, with
   what is wrong there (of a bad token the lexer's problem). */
void sql_error_at(const char *text, const struct sql_token *token, uint32_t code, const char *what,
                  struct sql_create_error *error);
