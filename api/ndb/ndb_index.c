/* ndb_index.c -- indexes of tables in use, for applications: created and dropped. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_private.h"
#include "api/sql/sql_index.h"

/* Is the column the same as one before it? */
static bool is_repeated(const uint16_t *ids, uint32_t column)
{
    for (uint32_t i = 0; i < column; i++)
        if (ids[i] == ids[column]) return true;
    return false;
}

/* ALTER_TABLE_REQ's words of an index. 0, or an error and which of its columns it is about. */
static uint32_t index_words(const struct ndb_table *table, const struct sql_index *index,
                            uint32_t *words, uint32_t *count, uint32_t *column)
{
    const struct table_def *def = api_table_def(table_core(table));
    uint32_t size = (uint32_t)strlen(index->name);
    uint32_t name_at = 1u + (index->column_count + 1u) / 2u;
    uint16_t ids[INDEX_COLUMNS_MAX];
    if (size > INDEX_NAME_MAX) return ERR_INDEX_NAME;
    *count = name_at + words_of(size);
    memset(words, 0, *count * 4u);
    words[0] = size | index->column_count << 16;
    for (uint32_t i = 0; i < index->column_count; i++) {
        *column = i;
        const struct table_column *found =
            table_def_find(def, index->columns[i], (uint32_t)strlen(index->columns[i]));
        if (found == NULL) return ERR_NO_SUCH_COLUMN;
        ids[i] = found->id;
        if (is_repeated(ids, i)) return ERR_INDEX_COLUMN_TWICE;
        words[1 + i / 2] |= (uint32_t)found->id << i % 2 * 16;
    }
    memcpy(words + name_at, index->name, size);
    return 0;
}

/* Whose name in the statement the error is about; NULL: about none. */
static const struct sql_token *blamed(const ndb_error_t *error, const struct sql_index *index,
                                      uint32_t column)
{
    switch (error->code) {
    case ERR_NO_SUCH_TABLE:
        return &index->table_at;
    case ERR_NO_SUCH_COLUMN:
    case ERR_INDEX_COLUMN_TWICE:
        return &index->columns_at[column];
    case ERR_INDEX_NAME:
    case ERR_INDEX_EXISTS:
    case ERR_TABLE_EXISTS:
    case ERR_ALTER_IMPOSSIBLE:
        return &index->name_at;
    default:
        return NULL;
    }
}

/* *column: in which of the index's columns an error was found. */
static int create(ndb_t *ndb, const struct sql_index *index, const struct ndb_progress *progress,
                  uint32_t *column, uint32_t timeout_ms)
{
    char name[2u * SQL_NAME_SIZE + 2u];
    uint32_t words[2 + INDEX_COLUMNS_MAX / 2 + INDEX_NAME_MAX / 4];
    uint32_t count = 0;
    struct ndb_alter_call call = {.progress = progress};
    snprintf(name, sizeof name, "%s%s%s", index->database, index->database[0] != 0 ? "/" : "",
             index->table);
    struct ndb_table *table = ndb_open_anew(ndb, name, timeout_ms);
    if (table == NULL) return -1;
    uint32_t error = index_words(table, index, words, &count, column);
    int result = -1;
    if (error != 0) {
        error_set(&ndb->error, error, "table %.64s, index %.64s, column %.64s", name, index->name,
                  index->columns[*column]);
    } else {
        const struct section section = {words, count};
        uint32_t kind = index->unique ? ALTER_CREATE_UNIQUE : ALTER_CREATE_INDEX;
        result = ndb_alter(ndb, table, name, kind, &section, &call, timeout_ms);
    }
    if (result != 0 && index->if_not_exists && call.result.error == ERR_INDEX_EXISTS) result = 0;
    ndb_table_release(table);
    return result;
}

int ndb_index_create(ndb_t *ndb, const char *sql, struct ndb_sql_error *where,
                     const struct ndb_progress *progress, uint32_t timeout_ms)
{
    struct sql_create_error error;
    if (where != NULL) memset(where, 0, sizeof *where);
    if (ndb == NULL) return -1;
    if (sql == NULL) return error_set(&ndb->error, ERR_PARAMETER, "no statement");
    struct sql_index *index = malloc(sizeof *index);
    if (index == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    int result = -1;
    uint32_t column = 0;
    if (sql_index_parse(sql, strlen(sql), index, &error) == 0) {
        result = create(ndb, index, progress, &column, timeout_ms);
        const struct sql_token *at = result == 0 ? NULL : blamed(ndb_error(ndb), index, column);
        if (at != NULL) ndb_say_at(ndb, where, sql, at);
    } else {
        ndb_say_where(ndb, where, &error);
    }
    free(index);
    return result;
}

int ndb_index_drop(ndb_t *ndb, const char *table_name, const char *index, uint32_t timeout_ms)
{
    uint32_t words[1 + INDEX_NAME_MAX / 4] = {0};
    struct ndb_alter_call call = {.progress = NULL};
    if (ndb == NULL) return -1;
    if (index == NULL || strlen(index) == 0 || strlen(index) > INDEX_NAME_MAX)
        return error_set(&ndb->error, ERR_INDEX_NAME, "no index, or its name is too long");
    struct ndb_table *table = ndb_open_anew(ndb, table_name, timeout_ms);
    if (table == NULL) return -1;
    words[0] = (uint32_t)strlen(index);
    memcpy(words + 1, index, words[0]);
    const struct section section = {words, 1u + words_of(words[0])};
    int result = ndb_alter(ndb, table, table_name, ALTER_DROP_INDEX, &section, &call, timeout_ms);
    ndb_table_release(table);
    return result;
}
