/* ndb_range.h -- private: ranges made from conditions; for the reader of conditions, ndb_where.c.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/ndb/ndb_private.h"

#define RANGE_FAULT_SIZE 220u

/* One more bound of a column: of a value given by the application, or of its text, or NULL. 0, or
 * an error's number and what is wrong in `fault`. */
uint32_t range_bound(struct ndb_range *range, const struct table_def *def, uint32_t column,
                     enum ndb_condition how, const struct ndb_bound *bound,
                     char fault[RANGE_FAULT_SIZE]);
uint32_t range_text(struct ndb_range *range, const struct table_def *def, uint32_t column,
                    enum ndb_condition how, const char *text, uint32_t size,
                    char fault[RANGE_FAULT_SIZE]);
uint32_t range_null(struct ndb_range *range, uint32_t column, bool null);

/* ndb_where.c: reads the condition of a range. 0, or -1 with the ndb_t's error. */
int range_read(ndb_t *ndb, struct ndb_range *range, const struct table_def *def, const char *text,
               const struct ndb_bound *bounds, uint32_t count, struct ndb_sql_error *where);
