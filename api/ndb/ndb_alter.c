/* ndb_alter.c -- tables in use are changed, for applications: renamed, widened, emptied, and what
 * ndb_index.c does.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_private.h"
#include "api/sql/sql_alter.h"

/* --- Any change. --- */

static void alter_done(void *context, const struct api_dict_result *result)
{
    struct ndb_alter_call *call = context;
    call->result = *result;
    call->done = true;
}

static void alter_progress(void *context, uint64_t rows, uint64_t total)
{
    const struct ndb_alter_call *call = context;
    if (call->progress == NULL || call->progress->tell == NULL) return;
    call->ndb->callback_depth++;
    call->progress->tell(call->progress->context, rows, total);
    call->ndb->callback_depth--;
}

struct ndb_table *ndb_open_anew(ndb_t *ndb, const char *name, uint32_t timeout_ms)
{
    ndb_table_invalidate(ndb, name);
    return ndb_table_open(ndb, name, timeout_ms);
}

int ndb_alter(ndb_t *ndb, const struct ndb_table *table, const char *name, uint32_t kind,
              const struct section *words, struct ndb_alter_call *call, uint32_t timeout_ms)
{
    const struct table_def *def = api_table_def(table_core(table));
    const struct alter_table_req req = {
        .table_id = def->table_id, .version = def->version, .kind = kind};
    call->ndb = ndb;
    uint32_t error =
        api_dict_alter(ndb->client, &req, words, timeout_of(ndb->connection, timeout_ms),
                       alter_done, alter_progress, call);
    if (error == 0) {
        ndb_wait_for(ndb, &call->done, UINT64_MAX);
        error = call->result.error;
    }
    ndb_table_invalidate(ndb, name);
    return error == 0 ? 0 : error_set(&ndb->error, error, "table %s", name);
}

/* --- Statements. --- */

#define FULL_NAME_SIZE  (2u * SQL_NAME_SIZE + 2u)
#define OVERTAKEN_MAX   50u /* So many tries, then ERR_SCHEMA_VERSION is the answer. */
#define NAMES_WORDS_MAX (1u + 2u * SQL_NAME_SIZE / 4u)

/* "table" or "database/table". */
static void table_name(const char *database, const char *table, char name[FULL_NAME_SIZE])
{
    snprintf(name, FULL_NAME_SIZE, "%s%s%s", database, database[0] != 0 ? "/" : "", table);
}

/* Two names in words; returns their count. */
static uint32_t put_names(uint32_t *words, const char *first, const char *second)
{
    uint32_t size[2] = {(uint32_t)strlen(first), (uint32_t)strlen(second)};
    memset(words, 0, NAMES_WORDS_MAX * 4u);
    words[0] = size[0] | size[1] << 16;
    memcpy(words + 1, first, size[0]);
    memcpy(words + 1 + words_of(size[0]), second, size[1]);
    return 1u + words_of(size[0]) + words_of(size[1]);
}

static int rename_table(ndb_t *ndb, const struct ndb_table *table, const char *name,
                        const struct sql_alter *sql, uint32_t timeout_ms)
{
    const struct table_def *def = api_table_def(table_core(table));
    const char *database = sql->new_database[0] != 0 ? sql->new_database : def->database;
    uint32_t words[NAMES_WORDS_MAX];
    char new_name[FULL_NAME_SIZE];
    struct ndb_alter_call call = {.progress = NULL};
    const struct section section = {words, put_names(words, database, sql->new_name)};
    int result = ndb_alter(ndb, table, name, ALTER_RENAME_TABLE, &section, &call, timeout_ms);
    table_name(database, sql->new_name, new_name);
    if (result != 0 && ndb->error.error.code == ERR_TABLE_EXISTS) /* That one does. */
        error_set(&ndb->error, ERR_TABLE_EXISTS, "table %s%s%s", sql->new_database,
                  sql->new_database[0] != 0 ? "/" : "", sql->new_name);
    ndb_table_invalidate(ndb, new_name);
    return result;
}

static int rename_column(ndb_t *ndb, const struct ndb_table *table, const char *name,
                         const struct sql_alter *sql, uint32_t timeout_ms)
{
    uint32_t words[NAMES_WORDS_MAX];
    struct ndb_alter_call call = {.progress = NULL};
    const struct section section = {words, put_names(words, sql->column, sql->new_name)};
    return ndb_alter(ndb, table, name, ALTER_RENAME_COLUMN, &section, &call, timeout_ms);
}

static int add_column(ndb_t *ndb, const struct ndb_table *table, const char *name,
                      const struct sql_alter *sql, uint32_t timeout_ms)
{
    struct ndb_alter_call call = {.progress = NULL};
    const struct section section = {sql->words, sql->word_count};
    return ndb_alter(ndb, table, name, ALTER_ADD_COLUMN, &section, &call, timeout_ms);
}

static int truncate_table(ndb_t *ndb, const struct ndb_table *table, const char *name,
                          uint32_t timeout_ms)
{
    struct ndb_alter_call call = {.progress = NULL};
    const struct section none = {NULL, 0};
    return ndb_alter(ndb, table, name, ALTER_TRUNCATE, &none, &call, timeout_ms);
}

static int change(ndb_t *ndb, const struct ndb_table *table, const char *name,
                  const struct sql_alter *sql, uint32_t timeout_ms)
{
    switch (sql->kind) {
    case SQL_RENAME_TABLE:
        return rename_table(ndb, table, name, sql, timeout_ms);
    case SQL_RENAME_COLUMN:
        return rename_column(ndb, table, name, sql, timeout_ms);
    case SQL_ADD_COLUMN:
        return add_column(ndb, table, name, sql, timeout_ms);
    case SQL_TRUNCATE:
    default:
        return truncate_table(ndb, table, name, timeout_ms);
    }
}

/* Somebody else has changed the table, or emptied it, since it was opened for the statement. */
static bool overtaken(const ndb_t *ndb)
{
    int32_t code = ndb->error.error.code;
    return code == ERR_SCHEMA_VERSION || code == ERR_NO_SUCH_TABLE_ID;
}

/* A statement means names, whatever version they are of; each time another one has been quicker. */
static int execute(ndb_t *ndb, const struct sql_alter *sql, uint32_t timeout_ms)
{
    char name[FULL_NAME_SIZE];
    int result = -1;
    table_name(sql->database, sql->table, name);
    for (uint32_t i = 0; i < OVERTAKEN_MAX && (i == 0 || overtaken(ndb)); i++) {
        struct ndb_table *table = ndb_open_anew(ndb, name, timeout_ms);
        if (table == NULL) return -1;
        result = change(ndb, table, name, sql, timeout_ms);
        ndb_table_release(table);
        if (result == 0) break;
    }
    return result;
}

/* Whose name in the statement the error is about; NULL: about none. */
static const struct sql_token *blamed(const ndb_error_t *error, const struct sql_alter *sql)
{
    switch (error->code) {
    case ERR_NO_SUCH_TABLE:
        return &sql->table_at;
    case ERR_NO_SUCH_COLUMN:
        return &sql->column_at;
    case ERR_TABLE_EXISTS:
    case ERR_COLUMN_REPEATED:
    case ERR_ALTER_IMPOSSIBLE:
        return &sql->new_at;
    default:
        return NULL;
    }
}

int ndb_table_alter(ndb_t *ndb, const char *sql, struct ndb_sql_error *where, uint32_t timeout_ms)
{
    struct sql_create_error error;
    if (where != NULL) memset(where, 0, sizeof *where);
    if (ndb == NULL) return -1;
    if (sql == NULL) return error_set(&ndb->error, ERR_PARAMETER, "no statement");
    struct sql_alter *alter = malloc(sizeof *alter);
    if (alter == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    int result = -1;
    if (sql_alter_parse(sql, strlen(sql), alter, &error) == 0) {
        result = execute(ndb, alter, timeout_ms);
        const struct sql_token *at = result == 0 ? NULL : blamed(ndb_error(ndb), alter);
        if (at != NULL) ndb_say_at(ndb, where, sql, at);
    } else {
        ndb_say_where(ndb, where, &error);
    }
    free(alter);
    return result;
}
