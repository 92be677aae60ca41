/* ndb_blame.h -- private: of which table and column, or of which link, an error is, for its detail.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/ndb/ndb_private.h"

/* Sets the slot's error, unless it has none (`code` 0), and tells the table, and the column that is
 * to blame when that can be seen. `record` and `row` are those that the operation takes its key or
 * its values from; each may be NULL. Errors that say nothing about columns stay as they are. */
void blame_record(struct error_slot *slot, uint32_t code, const struct ndb_record *record,
                  const void *row, bool inserts);
/* The same of a column that the application has named. Returns -1. */
int blame_column(struct error_slot *slot, uint32_t code, const struct api_table *table,
                 const struct table_column *column);
/* The same of an operation by columns. */
void blame_columns(struct error_slot *slot, uint32_t code, const struct ndb_operation *operation);
/* The same of an error that says that a data node has failed: a node sends its rows over its own link,
 * so one that this process cannot link to looks like that. Why it cannot, if that is known. */
void blame_link(struct error_slot *slot, struct ndb_cluster_connection *connection);
