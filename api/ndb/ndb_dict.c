/* ndb_dict.c -- tables for applications: open, create, drop, list, describe; values as text. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_private.h"
#include "api/sql/sql_create.h"
#include "api/sql/sql_error.h"
#include "values/table_index.h"
#include "values/table_version.h"

struct dict_call {
    volatile bool done;
    struct api_dict_result result;
    struct ndb_table_entry *entries;
};

static void fill_entries(struct dict_call *call, const struct api_dict_result *result)
{
    call->entries = calloc(result->list_count + 1u, sizeof *call->entries);
    if (call->entries == NULL) {
        call->result.error = ERR_API_MEMORY;
        return;
    }
    const uint32_t *at = result->list;
    call->result.list_count = 0;
    for (uint32_t i = 0; i < result->list_count; i++, at += 5 + words_of(at[4])) {
        if (at[2] >> LIST_BASE_SHIFT != 0) continue; /* A unique index is shown by its table. */
        struct ndb_table_entry *entry = &call->entries[call->result.list_count++];
        uint32_t size = at[4] < sizeof entry->name ? at[4] : (uint32_t)sizeof entry->name - 1;
        *entry = (struct ndb_table_entry){.table_id = at[0],
                                          .version = at[1],
                                          .state = at[2] & LIST_STATE_MASK,
                                          .fragments = at[3]};
        memcpy(entry->name, at + 5, size);
    }
}

static void dict_done(void *context, const struct api_dict_result *result)
{
    struct dict_call *call = context;
    call->result = *result;
    if (result->error == 0 && result->list != NULL) fill_entries(call, result);
    call->done = true;
}

/* Waits for a request that was begun with `error`. 0, or -1 with the ndb_t's error. */
static int finish_call(ndb_t *ndb, struct dict_call *call, uint32_t error, const char *what)
{
    if (error == 0) {
        ndb_wait_for(ndb, &call->done, UINT64_MAX);
        error = call->result.error;
    }
    return error == 0 ? 0 : error_set(&ndb->error, error, "%s", what);
}

bool ndb_may_wait(ndb_t *ndb)
{
    if (ndb == NULL) return false;
    if (ndb->callback_depth > 0) {
        error_set(&ndb->error, ERR_MISUSE_4507, "a call that waits, in a callback");
        return false;
    }
    ndb_now(ndb);
    return true;
}

/* "table", "database/table", "database/def/table" to the last form. 0 or -1 with the error. */
static int full_name(ndb_t *ndb, const char *name, char out[TABLE_NAME_MAX + 1])
{
    const char *slash = name == NULL ? NULL : strchr(name, '/');
    int size = -1;
    if (name != NULL && slash == NULL) {
        size = snprintf(out, TABLE_NAME_MAX + 1, "%s/def/%s", ndb->database, name);
    } else if (name != NULL && strchr(slash + 1, '/') == NULL) {
        size =
            snprintf(out, TABLE_NAME_MAX + 1, "%.*s/def/%s", (int)(slash - name), name, slash + 1);
    } else if (name != NULL) {
        size = snprintf(out, TABLE_NAME_MAX + 1, "%s", name);
    }
    if (size > 0 && size <= TABLE_NAME_MAX && name[0] != 0) return 0;
    return error_set(&ndb->error, ERR_TABLE_NAME_TOO_LONG, "%.80s",
                     name == NULL ? "no name" : name);
}

struct ndb_table *ndb_table_open(ndb_t *ndb, const char *name, uint32_t timeout_ms)
{
    char full[TABLE_NAME_MAX + 1];
    struct dict_call call = {0};
    if (!ndb_may_wait(ndb) || full_name(ndb, name, full) != 0) return NULL;
    struct api_table *table = api_dict_cached(ndb->connection->core, full);
    if (table != NULL) return (struct ndb_table *)(void *)table;
    uint32_t error =
        api_dict_get(ndb->client, full, timeout_of(ndb->connection, timeout_ms), dict_done, &call);
    if (finish_call(ndb, &call, error, full) != 0) return NULL;
    return (struct ndb_table *)(void *)call.result.table;
}

void ndb_table_release(struct ndb_table *table)
{
    api_table_release(table_core(table));
}

void ndb_table_invalidate(ndb_t *ndb, const char *name)
{
    char full[TABLE_NAME_MAX + 1];
    if (ndb != NULL && full_name(ndb, name, full) == 0)
        api_dict_invalidate(ndb->connection->core, full);
}

int error_say_where(struct error_slot *slot, struct ndb_sql_error *where,
                    const struct sql_create_error *error)
{
    if (where != NULL) {
        where->line = error->line;
        where->column = error->column;
        snprintf(where->message, sizeof where->message, "%.250s", error->text);
    }
    return error_set(slot, error->code, "line %u, column %u: %.200s", error->line, error->column,
                     error->text);
}

int ndb_say_where(ndb_t *ndb, struct ndb_sql_error *where, const struct sql_create_error *error)
{
    return error_say_where(&ndb->error, where, error);
}

int ndb_say_at(ndb_t *ndb, struct ndb_sql_error *where, const char *sql,
               const struct sql_token *token)
{
    struct sql_create_error error;
    char what[NDB_DETAIL_SIZE];
    const ndb_error_t *now = &ndb->error.error;
    if (token->start == NULL) return -1;
    snprintf(what, sizeof what, "%s", now->detail);
    sql_error_at(sql, token, (uint32_t)now->code, what, &error);
    return ndb_say_where(ndb, where, &error);
}

int ndb_table_make(ndb_t *ndb, const struct table_def *def, uint32_t timeout_ms)
{
    struct dict_call call = {0};
    char name[TABLE_NAME_MAX + 4];
    table_def_internal_name(def, name, sizeof name);
    uint32_t code = api_dict_create(ndb->client, def, timeout_of(ndb->connection, timeout_ms),
                                    dict_done, &call);
    int result = finish_call(ndb, &call, code, name);
    api_dict_invalidate(ndb->connection->core, name);
    return result;
}

/* What the statement says about numbers, when its table is there. 0 or -1 with the error. */
static int set_first_number(ndb_t *ndb, const char *name, uint64_t number, uint32_t timeout_ms)
{
    struct ndb_table *table = ndb_table_open(ndb, name, timeout_ms);
    int result = table == NULL ? -1 : ndb_auto_increment_set(ndb, table, number, timeout_ms);
    ndb_table_release(table);
    if (result == 0) return 0;
    return error_set(&ndb->error, (uint32_t)ndb->error.error.code,
                     "%.80s is made, but AUTO_INCREMENT is not set", name);
}

/* The table of a statement that was read. 0 or -1 with the error. */
static int create_table(ndb_t *ndb, const struct sql_create_result *parsed, uint32_t timeout_ms)
{
    struct dict_call call = {0};
    char name[TABLE_NAME_MAX + 4];
    const struct table_def *def = parsed->def;
    table_def_internal_name(def, name, sizeof name);
    uint32_t code = api_dict_create(ndb->client, def, timeout_of(ndb->connection, timeout_ms),
                                    dict_done, &call);
    int result = finish_call(ndb, &call, code, name);
    api_dict_invalidate(ndb->connection->core, name);
    if (result == 0 && parsed->first_number > 1)
        return set_first_number(ndb, name, parsed->first_number, timeout_ms);
    if (result != 0 && parsed->if_not_exists && call.result.error == ERR_TABLE_EXISTS) return 0;
    if (result != 0 && call.result.column != 0 && call.result.column <= def->column_count) {
        const char *column = table_column_name(def, &def->columns[call.result.column - 1]);
        error_set(&ndb->error, call.result.error, "%s, column %s", name, column);
    }
    return result;
}

int ndb_table_create(ndb_t *ndb, const char *sql, struct ndb_sql_error *where, uint32_t timeout_ms)
{
    struct sql_create_error error = {0};
    struct sql_create_result parsed = {0};
    if (where != NULL) memset(where, 0, sizeof *where);
    if (!ndb_may_wait(ndb)) return -1;
    if (sql == NULL) return error_set(&ndb->error, ERR_PARAMETER, "no statement");
    void *memory = malloc(table_def_size_max());
    if (memory == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    struct sql_create_input input = {
        .text = sql, .text_size = strlen(sql), .database = ndb->database};
    if (sql_create_parse(&input, memory, table_def_size_max(), &parsed, &error) != 0) {
        free(memory);
        return ndb_say_where(ndb, where, &error);
    }
    int result = create_table(ndb, &parsed, timeout_ms);
    if (result != 0 && ndb_error(ndb)->code == ERR_TABLE_EXISTS)
        ndb_say_at(ndb, where, sql, &parsed.table_at);
    free(memory);
    return result;
}

int ndb_table_drop(ndb_t *ndb, const char *name, uint32_t timeout_ms)
{
    char full[TABLE_NAME_MAX + 1];
    struct dict_call call = {0};
    if (!ndb_may_wait(ndb) || full_name(ndb, name, full) != 0) return -1;
    api_dict_invalidate(ndb->connection->core,
                        full); /* The version that is there now, not the one remembered. */
    struct ndb_table *table = ndb_table_open(ndb, full, timeout_ms);
    if (table == NULL) return -1;
    const struct table_def *def = api_table_def(table_core(table));
    uint32_t code = api_dict_drop(ndb->client, def->table_id, def->version,
                                  timeout_of(ndb->connection, timeout_ms), dict_done, &call);
    int result = finish_call(ndb, &call, code, full);
    ndb_table_release(table);
    api_dict_invalidate(ndb->connection->core, full);
    return result;
}

int ndb_table_list(ndb_t *ndb, struct ndb_table_entry **entries, uint32_t *count,
                   uint32_t timeout_ms)
{
    struct dict_call call = {0};
    if (entries != NULL) *entries = NULL;
    if (count != NULL) *count = 0;
    if (!ndb_may_wait(ndb)) return -1;
    if (entries == NULL || count == NULL)
        return error_set(&ndb->error, ERR_PARAMETER, "no place for the list");
    uint32_t code =
        api_dict_list(ndb->client, timeout_of(ndb->connection, timeout_ms), dict_done, &call);
    if (finish_call(ndb, &call, code, "list of tables") != 0) return -1;
    *entries = call.entries;
    *count = call.result.list_count;
    return 0;
}

void ndb_list_free(struct ndb_table_entry *entries)
{
    free(entries);
}

/* ---- Describing. ---- */

void ndb_table_describe(const struct ndb_table *table, struct ndb_table_info *info)
{
    if (table == NULL || info == NULL) return;
    const struct api_table *core = table_core(table);
    const struct table_def *def = api_table_def(core);
    const char *balance = table_balance_name(def->balance);
    *info = (struct ndb_table_info){
        .database = def->database,
        .name = def->table,
        .table_id = def->table_id,
        .version = def->version,
        .columns = def->column_count,
        .key_columns = def->key_count,
        .fragments = api_table_fragments(core),
        .partitions = api_table_partitions(core),
        .replicas = api_table_replicas(core),
        .hash_map_buckets = api_table_buckets(core),
        .row_size_max = def->row_size_max,
        .balance = balance == NULL ? "SPECIFIC" : balance,
        .read_backup = (def->flags & TABLE_READ_BACKUP) != 0,
        .fully_replicated = (def->flags & TABLE_FULLY_REPLICATED) != 0,
        .logging = (def->flags & TABLE_NO_LOGGING) == 0,
        .row_gci = (def->flags & TABLE_ROW_GCI) != 0,
        .row_checksum = (def->flags & TABLE_ROW_CHECKSUM) != 0,
        .max_rows = def->max_rows,
        .indexes = def->index_count,
        .unique_indexes = def->unique_count,
        .version_major = table_version_major(def->version),
    };
}

static_assert(NDB_INDEX_COLUMNS_MAX == INDEX_COLUMNS_MAX, "one limit");

int ndb_table_index(const struct ndb_table *table, uint32_t number, struct ndb_index_info *info)
{
    struct table_index index;
    if (table == NULL || info == NULL ||
        !table_def_index(api_table_def(table_core(table)), number, &index))
        return -1;
    *info = (struct ndb_index_info){.name = index.name,
                                    .number = number,
                                    .columns = index.column_count,
                                    .version = api_table_def(table_core(table))->version};
    for (uint32_t i = 0; i < index.column_count; i++)
        info->column[i] = index.columns[i];
    return 0;
}

int ndb_table_unique(const struct ndb_table *table, uint32_t number, struct ndb_index_info *info)
{
    struct table_index index;
    if (table == NULL || info == NULL ||
        !table_def_unique(api_table_def(table_core(table)), number, &index))
        return -1;
    *info = (struct ndb_index_info){.name = index.name,
                                    .number = number,
                                    .columns = index.column_count,
                                    .table_id = index.table_id,
                                    .version = index.version};
    for (uint32_t i = 0; i < index.column_count; i++)
        info->column[i] = index.columns[i];
    return 0;
}

int ndb_table_find_unique(const struct ndb_table *table, const char *name)
{
    uint32_t number;
    if (table == NULL || name == NULL || strlen(name) > UNIQUE_NAME_MAX) return -1;
    bool found = table_def_unique_find(api_table_def(table_core(table)), name,
                                       (uint32_t)strlen(name), &number);
    return found ? (int)number : -1;
}

int ndb_table_find_index(const struct ndb_table *table, const char *name)
{
    uint32_t number;
    if (table == NULL || name == NULL || strlen(name) > INDEX_NAME_MAX) return -1;
    bool found = table_def_index_find(api_table_def(table_core(table)), name,
                                      (uint32_t)strlen(name), &number);
    return found ? (int)number : -1;
}

static const struct table_column *column_of(const struct ndb_table *table, uint32_t id)
{
    if (table == NULL) return NULL;
    const struct table_def *def = api_table_def(table_core(table));
    return id < def->column_count ? &def->columns[id] : NULL;
}

static void describe_column(const struct table_def *def, uint32_t id, struct ndb_column_info *info)
{
    const struct table_column *column = &def->columns[id];
    const char *collation = collation_name(column->format.collation);
    *info = (struct ndb_column_info){
        .name = table_column_name(def, column),
        .id = id,
        .type = (enum ndb_column_type)column->format.type,
        .collation = collation == NULL ? "" : collation,
        .length = column->format.length,
        .precision = column->format.precision,
        .scale = column->format.scale,
        .prefix_bytes = column->array,
        .size = column->size_max,
        .nullable = (column->flags & COLUMN_NULLABLE) != 0,
        .primary_key = column->key_index != COLUMN_NOT_IN_KEY,
        .partition_key = table_column_partitions(def, column),
        .auto_increment = (column->flags & COLUMN_AUTO_INCREMENT) != 0,
        .dynamic = (column->flags & COLUMN_ADDED) != 0,
    };
    info->default_value = table_column_default(def, column, &info->default_size);
}

/* What is told of all columns; kept, as servers ask for each value that they convert. NULL: no
 * memory. */
static const struct ndb_column_info *described(struct api_table *table)
{
    const struct table_def *def = api_table_def(table);
    struct ndb_column_info *infos = api_table_cached(table, NULL);
    if (infos != NULL) return infos;
    infos = malloc(def->column_count * sizeof *infos);
    if (infos == NULL) return NULL;
    for (uint32_t id = 0; id < def->column_count; id++)
        describe_column(def, id, &infos[id]);
    return api_table_cached(table, infos);
}

int ndb_table_column(const struct ndb_table *table, uint32_t id, struct ndb_column_info *info)
{
    if (table == NULL || info == NULL) return -1;
    if (column_of(table, id) == NULL) return -1;
    struct api_table *core = table_core(table);
    const struct ndb_column_info *infos = described(core);
    if (infos != NULL)
        *info = infos[id];
    else
        describe_column(api_table_def(core), id, info);
    return 0;
}

int ndb_table_find_column(const struct ndb_table *table, const char *name)
{
    if (table == NULL || name == NULL) return -1;
    const struct table_column *column =
        table_def_find(api_table_def(table_core(table)), name, (uint32_t)strlen(name));
    return column == NULL ? -1 : (int)column->id;
}

uint32_t ndb_table_fragment_node(const struct ndb_table *table, uint32_t fragment, uint32_t replica)
{
    return table == NULL ? 0 : api_table_node(table_core(table), fragment, replica);
}

uint32_t ndb_column_type_text(const struct ndb_table *table, uint32_t id, char *text, uint32_t size)
{
    const struct table_column *column = column_of(table, id);
    if (column == NULL || text == NULL || size == 0) return 0;
    return column_format_print(&column->format, text, size);
}

int ndb_value_print(const struct ndb_table *table, uint32_t id, const void *value,
                    uint32_t value_size, uint32_t flags, char *text, uint32_t text_size)
{
    const struct table_column *column = column_of(table, id);
    if (column == NULL || value == NULL || text == NULL) return -1;
    uint32_t core_flags = ((flags & NDB_PRINT_QUOTE) != 0 ? COLUMN_PRINT_QUOTE : 0u) |
                          ((flags & NDB_PRINT_HEX) != 0 ? COLUMN_PRINT_HEX : 0u);
    uint32_t length = column_print(&column->format, core_flags, value, value_size, text, text_size);
    return length == UINT32_MAX ? -1 : (int)length;
}

uint32_t ndb_value_print_size(const struct ndb_table *table, uint32_t id)
{
    const struct table_column *column = column_of(table, id);
    return column == NULL ? 0 : column_print_max(&column->format);
}

int ndb_value_parse(const struct ndb_table *table, uint32_t id, const char *text,
                    uint32_t text_size, void *value, uint32_t value_capacity, uint32_t *size)
{
    const struct table_column *column = column_of(table, id);
    if (column == NULL) return ERR_NO_SUCH_COLUMN;
    if (text == NULL || value == NULL || size == NULL) return ERR_PARAMETER;
    return (int)column_parse(&column->format, text, text_size, value, value_capacity, size);
}

int ndb_value_check(const struct ndb_table *table, uint32_t id, const void *value, uint32_t size)
{
    const struct table_column *column = column_of(table, id);
    if (column == NULL) return ERR_NO_SUCH_COLUMN;
    return (int)column_check(&column->format, value, size);
}

int ndb_value_form(const struct ndb_table *table, uint32_t id, const void *value,
                   uint32_t value_size, void *form, uint32_t form_capacity, uint32_t *size)
{
    const struct table_column *column = column_of(table, id);
    if (column == NULL) return ERR_NO_SUCH_COLUMN;
    if (value == NULL || form == NULL || size == NULL) return ERR_PARAMETER;
    uint32_t wrong = column_check(&column->format, value, value_size);
    if (wrong != 0) return (int)wrong;
    *size = column_hash_form(&column->format, value, value_size, form, form_capacity);
    return *size == 0 ? ERR_BUFFER_SMALL : 0;
}

/* The end of a statement: its semicolon, but not one in quotes or comments. */
static const char *semicolon_after(const char *text)
{
    const char *p = text;

    while (*p != '\0' && *p != ';') {
        if (*p == '\'' || *p == '"' || *p == '`') {
            char quote = *p++;
            while (*p != '\0' && *p != quote)
                p += (*p == '\\' && p[1] != '\0') ? 2 : 1;
            if (*p != '\0') p++;
        } else if (*p == '#' || (p[0] == '-' && p[1] == '-')) {
            p += strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end == NULL ? p + strlen(p) : end + 2;
        } else {
            p++;
        }
    }
    return *p == ';' ? p + 1 : p;
}

const char *ndb_sql_statement_end(const char *sql)
{
    if (sql == NULL || sql_create_at_end(sql, strlen(sql))) return NULL;
    return semicolon_after(sql);
}
