/* mc_config_write.c -- changes single rows of schema ndbmemcache, and their times. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "servers/memcached/mc_config_rows.h"
#include "values/errors.h"

#define VALUE_MAX  1024u /* More than the stored value of any column of the tables here. */
#define TIME_BYTES 8u

/* What a transaction does; it may run several times. */
struct change {
    struct ndb_table *table;
    enum mc_table number;
    enum ndb_operation_type type;
    const struct mc_cell *cells;
    int32_t code;       /* Error of a cell; 0: the transaction's error says why. */
    const char *column; /* The column of that cell. */
    uint64_t stamp;     /* What mc_config_stamp() has read. */
    bool found;
};

static struct ndb_table *open_form(ndb_t *ndb, enum mc_table number, ndb_error_t *reason)
{
    char name[80];

    (void)snprintf(name, sizeof(name), MC_SCHEMA "/%s", mc_table_forms[number].name);
    return mc_config_open(ndb, name, reason);
}

/* Runs it on the table. 0, or -1 with *reason. */
static int run_change(ndb_t *ndb, struct change *change, ndb_transaction_function function,
                      ndb_error_t *reason)
{
    int result = -1;

    change->table = open_form(ndb, change->number, reason);
    if (change->table == NULL) return -1;
    result = ndb_run_transaction(ndb, function, change, 0);
    if (result != 0) *reason = *ndb_error(ndb);
    ndb_table_release(change->table);
    if (change->code != 0) ndb_error_lookup(change->code, reason);
    return result;
}

/* The stored form of a moment, microseconds since 1970. 0 or an error's number. */
static int time_value(const struct ndb_table *table, uint32_t column, uint64_t micros, void *value,
                      uint32_t *size)
{
    time_t seconds = (time_t)(micros / 1000000);
    struct tm parts;
    char text[80];

    (void)gmtime_r(&seconds, &parts);
    (void)snprintf(text, sizeof(text), "%04d-%02d-%02d %02d:%02d:%02d.%06u", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   (unsigned)(micros % 1000000));
    return ndb_value_parse(table, column, text, (uint32_t)strlen(text), value, VALUE_MAX, size);
}

static uint64_t now_micros(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool is_time(enum ndb_column_type type)
{
    return type == NDB_TIMESTAMP2 || type == NDB_TIMESTAMP || type == NDB_DATETIME2 ||
           type == NDB_DATETIME;
}

/* A cell's stored form. *size 0: NULL. 0 or an error's number. */
static int cell_value(const struct ndb_table *table, const struct ndb_column_info *column,
                      const struct mc_cell *cell, uint8_t *value, uint32_t *size)
{
    *size = 0;
    if (cell->text == NULL) {
        if (column->nullable || !is_time(column->type)) return 0;
        return time_value(table, column->id, now_micros(), value, size);
    }
    if (column->prefix_bytes == 0)
        return ndb_value_parse(table, column->id, cell->text, cell->size, value, VALUE_MAX, size);
    /* Not by ndb_value_parse: "0x..." would be read as hexadecimal digits. */
    if (cell->size > column->length || cell->size + 2 > VALUE_MAX) return ERR_VALUE_TOO_LONG;
    value[0] = (uint8_t)cell->size;
    if (column->prefix_bytes == 2) value[1] = (uint8_t)(cell->size >> 8);
    memcpy(value + column->prefix_bytes, cell->text, cell->size);
    *size = column->prefix_bytes + cell->size;
    return ndb_value_check(table, column->id, value, *size);
}

static int set_cell(struct change *change, struct ndb_operation *operation, uint32_t i)
{
    uint8_t value[VALUE_MAX];
    struct ndb_column_info column;
    const char *name = mc_table_forms[change->number].column[i];
    int id = ndb_table_find_column(change->table, name);
    uint32_t size;

    change->column = name;
    if (id < 0 || ndb_table_column(change->table, (uint32_t)id, &column) != 0) {
        if (change->cells[i].text == NULL) return 0; /* A table of an older version. */
        change->code = 4004;
        return -1;
    }
    change->code = cell_value(change->table, &column, &change->cells[i], value, &size);
    if (change->code != 0) return -1;
    return ndb_operation_set(operation, column.id, size == 0 ? NULL : value, size);
}

static int change_row(struct ndb_transaction *transaction, void *context)
{
    struct change *change = context;
    const struct mc_table_form *form = &mc_table_forms[change->number];
    struct ndb_operation *operation =
        ndb_operation_define(transaction, change->table, change->type, NULL);
    uint32_t count = change->type == NDB_DELETE ? form->key_columns : form->columns;

    if (operation == NULL) return -1;
    for (uint32_t i = 0; i < count; i++) {
        if (set_cell(change, operation, i) != 0) return -1;
    }
    return ndb_execute(transaction, NDB_COMMIT, 0);
}

int mc_row_change(ndb_t *ndb, enum mc_table number, enum ndb_operation_type type,
                  const struct mc_cell *cells, int32_t *code, struct mc_config_error *error)
{
    struct change change = {.number = number, .type = type, .cells = cells};
    ndb_error_t reason = {0};

    *code = 0;
    if (run_change(ndb, &change, change_row, &reason) == 0) return 0;
    *code = reason.code;
    if (change.code == 0)
        return mc_config_fail_ndb(error, &reason, "table " MC_SCHEMA ".%s",
                                  mc_table_forms[number].name);
    return mc_config_fail_ndb(error, &reason, "table " MC_SCHEMA ".%s, column %s",
                              mc_table_forms[number].name, change.column);
}

/* ---- update_timestamp ---- */

static uint64_t stamp_of(const void *value, uint32_t size)
{
    const uint8_t *bytes = value;
    uint64_t stamp = 0;

    for (uint32_t i = 0; value != NULL && i < size && i < TIME_BYTES; i++)
        stamp = stamp << 8 | bytes[i];
    return stamp == 0 ? 1 : stamp; /* 0 is nobody's. */
}

static struct ndb_operation *define_role(struct change *change, struct ndb_transaction *transaction,
                                         enum ndb_operation_type type,
                                         const struct ndb_operation_options *options)
{
    struct ndb_operation *operation =
        ndb_operation_define(transaction, change->table, type, options);

    return operation != NULL && set_cell(change, operation, ROLE_NAME) == 0 ? operation : NULL;
}

/* Reads the role's row; its time, if it has one, is in *value. */
static int read_stamp(struct change *change, struct ndb_transaction *transaction,
                      enum ndb_lock_mode lock, int column, const void **value, uint32_t *size)
{
    const struct ndb_operation_options options = {.lock = lock};
    struct ndb_operation *read = define_role(change, transaction, NDB_READ, &options);
    uint32_t wanted = column < 0 ? 0 : (uint32_t)column;

    if (read == NULL || ndb_operation_get(read, wanted) != 0 ||
        ndb_execute(transaction, NDB_NO_COMMIT, 0) != 0)
        return -1;
    int32_t code = ndb_operation_error(read)->code;
    change->found = code == 0;
    if (code == ERR_ROW_NOT_FOUND) return 0;
    if (code != 0) return -1;
    *value = NULL;
    return column < 0 ? 0 : ndb_operation_value(read, wanted, value, size);
}

static int note_stamp(struct ndb_transaction *transaction, void *context)
{
    struct change *change = context;
    int column =
        ndb_table_find_column(change->table, mc_table_forms[MC_TABLE_ROLES].column[ROLE_STAMP]);
    const void *value = NULL;
    uint32_t size = 0;

    if (read_stamp(change, transaction, NDB_COMMITTED_READ, column, &value, &size) != 0) return -1;
    change->stamp = stamp_of(value, size);
    return 0;
}

/* Another time than it had, also within the smallest unit that the column has. */
static int move_stamp(struct ndb_transaction *transaction, void *context)
{
    struct change *change = context;
    int column =
        ndb_table_find_column(change->table, mc_table_forms[MC_TABLE_ROLES].column[ROLE_STAMP]);
    uint64_t micros = now_micros();
    const void *old = NULL;
    uint8_t value[VALUE_MAX];
    uint32_t size = 0, old_size = 0;

    if (column < 0) {
        change->code = 4004;
        return -1;
    }
    if (read_stamp(change, transaction, NDB_LOCK_EXCLUSIVE, column, &old, &old_size) != 0)
        return -1;
    if (!change->found) return 0;
    for (uint64_t step = 1;; step *= 10) {
        change->code = time_value(change->table, (uint32_t)column, micros, value, &size);
        if (change->code != 0) return -1;
        if (stamp_of(value, size) != stamp_of(old, old_size)) break;
        micros += step;
    }
    struct ndb_operation *update = define_role(change, transaction, NDB_UPDATE, NULL);
    if (update == NULL || ndb_operation_set(update, (uint32_t)column, value, size) != 0) return -1;
    return ndb_execute(transaction, NDB_COMMIT, 0);
}

static int with_role(ndb_t *ndb, const char *role, ndb_transaction_function function,
                     uint64_t *stamp, struct mc_config_error *error)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "%s", role);
    const struct mc_cell cells[] = {{text, (uint32_t)strlen(text)}};
    struct change change = {.number = MC_TABLE_ROLES, .cells = cells};
    ndb_error_t reason = {0};

    if (run_change(ndb, &change, function, &reason) != 0)
        return mc_config_fail_ndb(error, &reason, "table " MC_SCHEMA ".memcache_server_roles");
    if (!change.found)
        return mc_config_fail(
            error, "there is no role \"%s\" in " MC_SCHEMA ".memcache_server_roles", role);
    *stamp = change.stamp;
    return 0;
}

uint64_t mc_config_stamp(ndb_t *ndb, const char *role, struct mc_config_error *error)
{
    uint64_t stamp;

    return with_role(ndb, role, note_stamp, &stamp, error) == 0 ? stamp : 0;
}

int mc_config_touch(ndb_t *ndb, const char *role, struct mc_config_error *error)
{
    uint64_t stamp;

    return with_role(ndb, role, move_stamp, &stamp, error);
}

int mc_config_sign_on(ndb_t *ndb, uint32_t node_id, const char *host, const char *role)
{
    char number[12], host_text[256], role_text[256];
    struct mc_config_error error;
    int32_t code;

    (void)snprintf(number, sizeof(number), "%u", node_id);
    (void)snprintf(host_text, sizeof(host_text), "%s", host);
    (void)snprintf(role_text, sizeof(role_text), "%s", role);
    const struct mc_cell cells[] = {{number, (uint32_t)strlen(number)},
                                    {host_text, (uint32_t)strlen(host_text)},
                                    {role_text, (uint32_t)strlen(role_text)},
                                    {NULL, 0}};
    return mc_row_change(ndb, MC_TABLE_SIGN_ONS, NDB_WRITE, cells, &code, &error);
}
