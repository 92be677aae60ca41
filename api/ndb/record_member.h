/* record_member.h -- private: does a member of the application's row fit its column? */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <ndb/ndb.h>
#include "values/table_def.h"

#define SQL_TYPE_TEXT_SIZE 48u /* Any type's name fits, with its NUL. */

/* Writes the type as CREATE TABLE has it: "INT UNSIGNED", "VARCHAR(32)", "DECIMAL(10,2)". */
void sql_type_text(const struct column_format *format, char text[SQL_TYPE_TEXT_SIZE]);

/* Writes "table test.t, column id", for details of errors; `column` may be NULL. */
void sql_column_text(const struct table_def *def, const struct table_column *column, char *text,
                     size_t size);

/* 0, or an error's number with what is wrong in `text`. */
uint32_t member_check(const struct table_def *def, const struct table_column *column,
                      const struct ndb_field *field, char *text, size_t text_size);
