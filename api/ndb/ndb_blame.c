/* ndb_blame.c -- of which table and column, or of which link, an error is, for its detail. */
/* SPDX-License-Identifier: MIT */
#include "api/ndb/ndb_blame.h"
#include "api/ndb/record_member.h"
#include "api/ndb/record_state.h"
#include "values/table_index.h"

/* Must each new row have a value of the column? */
static bool is_required(const struct table_def *def, const struct table_column *column)
{
    uint32_t size;
    return (column->flags & COLUMN_NULLABLE) == 0 &&
           table_column_default(def, column, &size) == NULL;
}

/* The first column that a new row needs and the record has not. */
static const struct table_column *missing(const struct ndb_record *record)
{
    const struct table_def *def = api_table_def(record->table);
    for (uint32_t i = 0; i < def->column_count; i++) {
        if (record->by_column[i] == RECORD_NO_FIELD && is_required(def, &def->columns[i]))
            return &def->columns[i];
    }
    return NULL;
}

/* The first column of its key that the record has not. */
static const struct table_column *missing_key(const struct ndb_record *record)
{
    const struct table_def *def = api_table_def(record->table);
    struct table_index index;
    const uint16_t *columns = def->key_columns;
    if (record->unique != 0 && table_def_unique(def, record->unique - 1u, &index))
        columns = index.columns;
    for (uint32_t i = 0; i < record->key_count; i++) {
        if (record->key_field[i] == RECORD_NO_FIELD) return &def->columns[columns[i]];
    }
    return NULL;
}

/* The column of the key that is NULL in the row, or the one that can be NULL in the table and not
 * in the row; with several of them nobody says which. */
static const struct table_column *null_of(const struct ndb_record *record, const void *row)
{
    for (uint32_t i = 0; row != NULL && record->all_keys && i < record->key_count; i++) {
        const struct record_field *field = &record->field[record->key_field[i]];
        if (record_is_null(field, row)) return field->column;
    }
    const struct table_column *only = NULL;
    for (uint32_t i = 0; i < record->count; i++) {
        const struct record_field *field = &record->field[i];
        if ((field->column->flags & COLUMN_NULLABLE) == 0 || field->null_offset != NDB_NOT_NULLABLE)
            continue;
        if (only != NULL) return NULL;
        only = field->column;
    }
    return only;
}

/* The column whose member holds more than the column does; with several of them one may not have
 * been meant to be written. */
static const struct table_column *too_long(const struct ndb_record *record, const void *row)
{
    const struct table_column *only = NULL;
    for (uint32_t i = 0; row != NULL && i < record->count; i++) {
        if (record_fits(&record->field[i], row)) continue;
        if (only != NULL) return NULL;
        only = record->field[i].column;
    }
    return only;
}

/* The same for a value that the column does not take. */
static const struct table_column *wrong(const struct ndb_record *record, const void *row)
{
    const struct table_column *only = NULL;
    for (uint32_t i = 0; row != NULL && i < record->count; i++) {
        if (record_check(&record->field[i], row) == 0) continue;
        if (only != NULL) return NULL;
        only = record->field[i].column;
    }
    return only;
}

/* Sets an error about the table, and about the column unless that is NULL. */
static int tell(struct error_slot *slot, uint32_t code, const struct api_table *table,
                const struct table_column *column, const char *what)
{
    char text[NDB_DETAIL_SIZE];
    sql_column_text(api_table_def(table), column, text, sizeof text);
    return error_set(slot, code, "%.220s%s%s", text, what[0] != 0 ? ": " : "", what);
}

void blame_record(struct error_slot *slot, uint32_t code, const struct ndb_record *record,
                  const void *row, bool inserts)
{
    const struct table_column *column = NULL;
    const char *what = "";
    if (record == NULL) return;
    switch (code) {
    case ERR_NULL_FOR_NOT_NULL:
    case ERR_NULL_FOR_NOT_NULL_UPDATE:
        column = inserts ? missing(record) : NULL;
        if (column != NULL) what = "it has no default, and the record has not got it";
        break;
    case ERR_NULL_TO_NOT_NULL:
        column = null_of(record, row);
        break;
    case ERR_VALUE_TOO_LONG:
        column = too_long(record, row);
        break;
    case ERR_VALUE_LENGTH: /* Those are found by a data node. */
    case ERR_VALUE_INVALID:
    case ERR_VALUE_OUT_OF_RANGE:
        column = wrong(record, row);
        break;
    case ERR_RECORD_NOT_KEY:
        column = missing_key(record);
        what = column != NULL ? "it is of the key, and the record has not got it"
                              : "this needs a record by primary key";
        break;
    case ERR_RECORD_NULL:
        what = "no row or record";
        break;
    default:
        return;
    }
    tell(slot, code, record->table, column, what);
}

int blame_column(struct error_slot *slot, uint32_t code, const struct api_table *table,
                 const struct table_column *column)
{
    return tell(slot, code, table, column, "");
}

void blame_columns(struct error_slot *slot, uint32_t code, const struct ndb_operation *operation)
{
    const struct table_def *def = api_table_def(operation->table);
    bool key = code == ERR_KEY_MISSING;
    if (!key && code != ERR_NULL_FOR_NOT_NULL && code != ERR_NULL_FOR_NOT_NULL_UPDATE) return;
    bool inserts = operation->type == NDB_INSERT || operation->type == NDB_WRITE;
    for (uint32_t i = 0; i < def->column_count; i++) {
        const struct table_column *column = &def->columns[i];
        const void *value;
        uint32_t size;
        bool needed =
            key ? column->key_index != COLUMN_NOT_IN_KEY : inserts && is_required(def, column);
        if (!needed || pairs_find(operation->words, operation->word_count, i, &value, &size))
            continue;
        tell(slot, code, operation->table, column,
             key ? "it is of the key, and is not set" : "it has no default, and is not set");
        return;
    }
    tell(slot, code, operation->table, NULL, "");
}

void blame_link(struct error_slot *slot, struct ndb_cluster_connection *connection)
{
    switch (slot->error.code) {
    case ERR_NODE_FAILED_4029:
    case ERR_READ_NODE_FAILURE:
        io_failure(connection, slot->detail, sizeof slot->detail);
        return;
    default:
        return;
    }
}
