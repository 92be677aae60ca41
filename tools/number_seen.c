/* number_seen.c -- tools that insert rows with numbers of another source: the numbers that the
 * cluster gives go on behind them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/number_seen.h"

#include <stdio.h>

#include "tools/tool_common.h"

static bool is_signed(enum ndb_column_type type)
{
    return type == NDB_TINYINT || type == NDB_SMALLINT || type == NDB_MEDIUMINT ||
           type == NDB_INT || type == NDB_BIGINT;
}

void number_seen_begin(struct number_seen *seen, const struct ndb_table *table)
{
    struct ndb_column_info column;

    *seen = (struct number_seen){0};
    for (uint32_t i = 0; ndb_table_column(table, i, &column) == 0; i++) {
        if (!column.auto_increment) continue;
        *seen = (struct number_seen){
            .counts = true, .column = i, .size = column.size, .is_signed = is_signed(column.type)};
    }
}

void number_seen_row(struct number_seen *seen, const struct ndb_record *record, const void *row)
{
    const void *value = NULL;
    uint64_t number = 0;
    uint32_t size = 0;

    if (!seen->counts || ndb_row_get(record, row, seen->column, &value, &size) != 0 ||
        value == NULL || size != seen->size)
        return;
    const uint8_t *bytes = value;
    for (uint32_t i = 0; i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    bool negative = seen->is_signed && bytes[size - 1] >> 7 != 0;
    if (!negative && number > seen->greatest) seen->greatest = number;
}

int number_seen_raise(struct number_seen *seen, ndb_t *ndb, const struct ndb_table *table,
                      ndb_error_t *error)
{
    uint64_t least = seen->greatest == UINT64_MAX ? UINT64_MAX : seen->greatest + 1;
    uint64_t next = 0;

    if (!seen->counts || seen->greatest <= seen->raised) return 1;
    if ((ndb_auto_increment_read(ndb, table, &next, 0) == 0 && next >= least) ||
        ndb_auto_increment_set(ndb, table, least, 0) == 0) {
        seen->raised = seen->greatest;
        return 1;
    }
    *error = *ndb_error(ndb);
    error->detail = ""; /* Ends with the handle's next call. */
    return error->status == NDB_STATUS_TEMPORARY || error->status == NDB_STATUS_UNKNOWN ? 0 : -1;
}

void number_seen_print(const struct number_seen *seen, const ndb_error_t *error)
{
    (void)fprintf(stderr, "The numbers for new rows do not go on behind %llu: ",
                  (unsigned long long)seen->greatest);
    tool_print_error(error);
}
