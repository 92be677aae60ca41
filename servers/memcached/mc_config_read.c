/* mc_config_read.c -- reads the tables of schema ndbmemcache. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "servers/memcached/mc_config_rows.h"
#include "values/errors.h"

#define AGAIN_MS 5000u /* How long temporary errors are tried again. */
#define PAUSE_MS 50

const struct mc_table_form mc_table_forms[MC_TABLES] = {
    [MC_TABLE_META] = {"meta", 2, 2, MC_NO_COLUMN, {"application", "metadata_version"}},
    [MC_TABLE_CLUSTERS] =
        {"ndb_clusters", 3, 1, MC_NO_COLUMN, {"cluster_id", "ndb_connectstring", "microsec_rtt"}},
    [MC_TABLE_ROLES] = {"memcache_server_roles",
                        4,
                        1,
                        ROLE_STAMP,
                        {"role_name", "role_id", "max_tps", "update_timestamp"}},
    [MC_TABLE_POLICIES] = {"cache_policies",
                           5,
                           1,
                           MC_NO_COLUMN,
                           {"policy_name", "get_policy", "set_policy", "delete_policy",
                            "flush_from_db"}},
    [MC_TABLE_CONTAINERS] = {"containers",
                             10,
                             1,
                             CONTAINER_LARGE,
                             {"name", "db_schema", "db_table", "key_columns", "value_columns",
                              "flags", "increment_column", "cas_column", "expire_time_column",
                              "large_values_table"}},
    [MC_TABLE_PREFIXES] = {"key_prefixes",
                           5,
                           2,
                           MC_NO_COLUMN,
                           {"server_role_id", "key_prefix", "cluster_id", "policy", "container"}},
    [MC_TABLE_SIGN_ONS] = {"last_memcached_signon",
                           4,
                           1,
                           MC_NO_COLUMN,
                           {"ndb_node_id", "hostname", "server_role", "signon_time"}},
};

int mc_config_fail(struct mc_config_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    return -1;
}

int mc_config_fail_ndb(struct mc_config_error *error, const ndb_error_t *reason, const char *format,
                       ...)
{
    va_list arguments;
    char what[sizeof(error->text) / 2];
    bool detail = reason->detail != NULL && reason->detail[0] != '\0';

    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return mc_config_fail(error, "%s: %d: %s%s%s", what, reason->code, reason->text,
                          detail ? ": " : "", detail ? reason->detail : "");
}

bool mc_config_again(const ndb_error_t *error, uint64_t *until_ms)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    bool other = error->code == ERR_SCHEMA_VERSION || error->code == ERR_TABLE_DROPPING_TC ||
                 error->code == ERR_UNKNOWN_TABLE_TC;
    struct timespec now;

    if (error->status != NDB_STATUS_TEMPORARY && !other) return false;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    if (*until_ms == 0) *until_ms = now_ms + AGAIN_MS;
    if (now_ms >= *until_ms) return false;
    (void)nanosleep(&pause, NULL);
    return true;
}

struct ndb_table *mc_config_open(ndb_t *ndb, const char *name, ndb_error_t *reason)
{
    struct ndb_table *table;
    uint64_t until_ms = 0;

    do {
        ndb_table_invalidate(ndb, name);
        table = ndb_table_open(ndb, name, 0);
        if (table == NULL) *reason = *ndb_error(ndb);
    } while (table == NULL && mc_config_again(reason, &until_ms));
    return table;
}

static bool add_cells(struct mc_rows *rows, uint32_t columns)
{
    if (rows->count < rows->room) return true;
    uint32_t room = rows->room == 0 ? 16 : 2 * rows->room;
    struct mc_cell *cells = realloc(rows->cells, sizeof(*cells) * room * columns);
    if (cells == NULL) return false;
    rows->cells = cells;
    rows->room = room;
    rows->columns = columns;
    return true;
}

static bool copy_cell(struct mc_cell *cell, const void *text, uint32_t size)
{
    *cell = (struct mc_cell){0};
    if (text == NULL) return true;
    cell->text = malloc((size_t)size + 1);
    if (cell->text == NULL) return false;
    memcpy(cell->text, text, size);
    cell->text[size] = '\0';
    cell->size = size;
    return true;
}

bool mc_rows_add(struct mc_rows *rows, uint32_t columns, const struct mc_cell *cells)
{
    bool done = true;

    if (!add_cells(rows, columns)) return false;
    struct mc_cell *row = rows->cells + (size_t)rows->count * columns;
    for (uint32_t i = 0; i < columns; i++)
        done = copy_cell(&row[i], cells[i].text, cells[i].size) && done;
    rows->count++; /* Also when a copy failed: what there is of the row is freed with the others. */
    return done;
}

void mc_rows_free(struct mc_rows *rows)
{
    for (uint32_t i = 0; i < rows->count * rows->columns; i++)
        free(rows->cells[i].text);
    free(rows->cells);
    *rows = (struct mc_rows){0};
}

/* What stands in a row as text. Bytes of chars are taken as they are. */
static bool cell_of_value(const struct ndb_table *table, uint32_t id, const uint8_t *value,
                          uint32_t size, struct mc_cell *cell)
{
    struct ndb_column_info column;

    if (value == NULL || ndb_table_column(table, id, &column) != 0) return copy_cell(cell, NULL, 0);
    if (column.prefix_bytes != 0)
        return copy_cell(cell, value + column.prefix_bytes, size - column.prefix_bytes);
    if (column.type == NDB_CHAR) {
        while (size > 0 && value[size - 1] == ' ')
            size--;
        return copy_cell(cell, value, size);
    }
    uint32_t room = ndb_value_print_size(table, id) + 1;
    char *text = malloc(room);
    if (text == NULL) return false;
    int length = ndb_value_print(table, id, value, size, 0, text, room);
    bool done = copy_cell(cell, text, length < 0 ? 0 : (uint32_t)length);
    free(text);
    return done;
}

static bool add_row(struct mc_rows *rows, const struct mc_table_form *form,
                    const struct ndb_table *table, const struct ndb_scan *scan, const int *columns)
{
    if (!add_cells(rows, form->columns)) return false;
    struct mc_cell *row = rows->cells + (size_t)rows->count * form->columns;
    bool done = true;
    for (uint32_t i = 0; i < form->columns; i++) {
        const void *value = NULL;
        uint32_t size = 0;
        if (columns[i] >= 0) (void)ndb_scan_value(scan, (uint32_t)columns[i], &value, &size);
        done =
            cell_of_value(table, columns[i] < 0 ? 0 : (uint32_t)columns[i], value, size, &row[i]) &&
            done;
    }
    rows->count++;
    return done;
}

static int find_columns(const struct mc_table_form *form, const struct ndb_table *table,
                        int *columns, struct mc_config_error *error)
{
    for (uint32_t i = 0; i < form->columns; i++) {
        columns[i] = ndb_table_find_column(table, form->column[i]);
        if (columns[i] < 0 && i != form->optional)
            return mc_config_fail(error, "table " MC_SCHEMA ".%s has no column %s", form->name,
                                  form->column[i]);
    }
    return 0;
}

/* One try. 0; -1: failed; 1: the scan's error is in *reason. */
static int scan_rows(ndb_t *ndb, const struct mc_table_form *form, struct ndb_table *table,
                     struct mc_rows *rows, ndb_error_t *reason, struct mc_config_error *error)
{
    int columns[MC_CELLS_MAX], got;
    const void *row;

    if (find_columns(form, table, columns, error) != 0) return -1;
    struct ndb_scan *scan = ndb_scan_start_columns(ndb, table, NULL, 0, NULL, 0);
    if (scan == NULL) {
        *reason = *ndb_error(ndb);
        return 1;
    }
    while ((got = ndb_scan_next(scan, &row, 0)) == 1) {
        if (!add_row(rows, form, table, scan, columns)) {
            ndb_scan_close(scan);
            return mc_config_fail(error, "out of memory");
        }
    }
    *reason = *ndb_scan_error(scan);
    reason->detail = "";
    ndb_scan_close(scan);
    return got == 0 ? 0 : 1;
}

int mc_rows_read(ndb_t *ndb, enum mc_table number, struct mc_rows *rows,
                 struct mc_config_error *error)
{
    const struct mc_table_form *form = &mc_table_forms[number];
    ndb_error_t reason;
    char name[80];
    uint64_t until_ms = 0;
    int result;

    (void)snprintf(name, sizeof(name), MC_SCHEMA "/%s", form->name);
    do {
        mc_rows_free(rows);
        struct ndb_table *table = mc_config_open(ndb, name, &reason);
        result = table == NULL ? 1 : scan_rows(ndb, form, table, rows, &reason, error);
        ndb_table_release(table);
    } while (result == 1 && mc_config_again(&reason, &until_ms));
    if (result == 1)
        (void)mc_config_fail_ndb(
            error, &reason, "table " MC_SCHEMA ".%s%s", form->name,
            reason.code == ERR_NO_SUCH_TABLE ? " (ndb_memcached_config bootstrap makes it)" : "");
    if (result != 0) mc_rows_free(rows);
    return result == 0 ? 0 : -1;
}

int mc_tables_read(ndb_t *ndb, struct mc_tables *tables, struct mc_config_error *error)
{
    for (uint32_t i = 0; i < MC_TABLE_SIGN_ONS; i++) {
        if (mc_rows_read(ndb, (enum mc_table)i, &tables->of[i], error) == 0) continue;
        mc_tables_free(tables);
        return -1;
    }
    return 0;
}

void mc_tables_free(struct mc_tables *tables)
{
    for (uint32_t i = 0; i < MC_TABLES; i++)
        mc_rows_free(&tables->of[i]);
}

const struct mc_cell *mc_rows_cell(const struct mc_rows *rows, uint32_t row, uint32_t column)
{
    return &rows->cells[(size_t)row * rows->columns + column];
}

const char *mc_rows_text(const struct mc_rows *rows, uint32_t row, uint32_t column)
{
    const char *text = mc_rows_cell(rows, row, column)->text;

    return text == NULL ? "" : text;
}

uint32_t mc_rows_number(const struct mc_rows *rows, uint32_t row, uint32_t column)
{
    return (uint32_t)strtoul(mc_rows_text(rows, row, column), NULL, 10);
}

uint32_t mc_rows_find(const struct mc_rows *rows, uint32_t column, const char *text)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        if (strcmp(mc_rows_text(rows, i, column), text) == 0) return i;
    }
    return UINT32_MAX;
}

uint32_t mc_rows_find_number(const struct mc_rows *rows, uint32_t column, uint32_t number)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        if (mc_rows_number(rows, i, column) == number) return i;
    }
    return UINT32_MAX;
}

const char *mc_config_shown(const char *bytes, uint32_t size, char out[MC_SHOWN_MAX])
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < size && i < MC_KEY_MAX; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\';
        used += (uint32_t)snprintf(out + used, MC_SHOWN_MAX - used, plain ? "%c" : "\\x%02x",
                                   (unsigned char)bytes[i]);
    }
    out[used] = '\0';
    return out;
}
