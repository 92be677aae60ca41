/* table_private.h -- what the table_*.c files share. */
/* SPDX-License-Identifier: MIT */
/* Only for values/table_*.c; everybody else uses table_def.h. */
#pragma once

#include "values/table_def.h"

/* table_def.c. Where the names, default values and indexes stand. */
char *table_heap(const struct table_def *def);
/* Only ASCII letters lose their case: names of columns and indexes are identifiers, not data. */
bool table_same_name(const char *a, const char *b, uint32_t size);
/* The column with this name among the first `end` ones, or NULL. */
const struct table_column *table_find_before(const struct table_def *def, const char *name,
                                             uint32_t name_size, uint32_t end);

/* table_check.c: UTF-8 without control characters and without the slash that separates names. */
bool table_name_valid(const char *name, uint32_t size);

/* table_index.c. */
void table_def_index_set_id(struct table_def *def, uint32_t number, uint8_t id);
/* 0 or the first error. The columns have been checked. */
uint32_t table_indexes_check(const struct table_def *def);
