/* ndb_select_count.c -- counts the rows of tables. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>

#include "tools/tool_json.h"

struct settings {
    struct tool tool;
    const char *where; /* NULL: all rows. */
    uint32_t parallelism;
    enum ndb_lock_mode lock;
};

enum { KEY_WHERE = TOOL_KEY_OWN };

static const struct argp_option options[] = {
    {"where", KEY_WHERE, "CONDITION", 0,
     "only rows that fit: a = 5 AND (b LIKE 'x%' OR c IN (1, 2)) ...", 0},
    {"parallelism", 'p', "N", 0, "fragments counted at a time with --lock (0: all)", 0},
    {"lock", 'l', "0|1|2", 0, "0 committed read (default), 1 shared lock, 2 exclusive lock", 0},
    {0},
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'p':
        settings->parallelism = (uint32_t)tool_number(argument, 0, 10000, "--parallelism", state);
        return 0;
    case KEY_WHERE:
        settings->where = argument;
        return 0;
    case 'l':
        settings->lock = tool_lock_mode(argument, state);
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

/* Counting without locks is done by the data nodes; with locks the keys have to come here. */
static int count_locked(const struct settings *settings, struct ndb_table *table,
                        const struct ndb_program *filter, uint64_t *rows, ndb_error_t *error)
{
    struct ndb_scan_options scan_options = {
        .lock = settings->lock, .parallelism = settings->parallelism, .program = filter};
    struct ndb_column_info column;
    struct ndb_table_info info;
    uint32_t key = 0;

    ndb_table_describe(table, &info);
    while (key < info.columns && ndb_table_column(table, key, &column) == 0 && !column.primary_key)
        key++;
    struct ndb_scan *scan =
        ndb_scan_start_columns(settings->tool.ndb, table, &key, 1, &scan_options, 0);
    if (scan == NULL) {
        *error = *ndb_error(settings->tool.ndb);
        return -1;
    }
    const void *row;
    int more;
    for (*rows = 0; (more = ndb_scan_next(scan, &row, 0)) == 1;)
        (*rows)++;
    if (more < 0) *error = *ndb_scan_error(scan);
    ndb_scan_close(scan);
    return more;
}

static int count_rows(const struct settings *settings, struct ndb_table *table,
                      const struct ndb_program *filter, uint64_t *rows)
{
    ndb_error_t error = {0};
    uint32_t tries = 0;
    int result;

    do {
        if (settings->lock == NDB_COMMITTED_READ) {
            result = ndb_scan_count_where(settings->tool.ndb, table, filter, rows, 0);
            if (result != 0) error = *ndb_error(settings->tool.ndb);
        } else {
            result = count_locked(settings, table, filter, rows, &error);
        }
    } while (result != 0 && tool_try_again(&error, &tries));
    if (result != 0) tool_print_error(&error);
    return result;
}

static int count_table(void *context, char **argv, cJSON *list)
{
    struct settings *settings = context;
    struct ndb_table *table = tool_open_table(&settings->tool, argv[0]);
    struct ndb_filter *filter = NULL;
    uint64_t rows = 0;
    int result = -1;

    if (table == NULL) return TOOL_FAILED;
    if (settings->where != NULL) filter = tool_filter(&settings->tool, table, settings->where);
    if (settings->where == NULL || filter != NULL)
        result = count_rows(settings, table, ndb_filter_program(filter), &rows);
    ndb_filter_free(filter);
    ndb_table_release(table);
    if (result != 0) return TOOL_FAILED;
    if (settings->tool.format == TOOL_JSON) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "table", argv[0]);
        cJSON_AddNumberToObject(entry, "rows", (double)rows);
        cJSON_AddItemToArray(list, entry);
    } else {
        printf("%" PRIu64 " records in table %s\n", rows, argv[0]);
    }
    return TOOL_OK;
}

static int run(void *settings, int argc, char **argv)
{
    return tool_each(settings, argc, argv, 1, count_table);
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "ndb_select_count",
        .doc = "Counts the rows of tables, or with --where those that fit.",
        .arguments = "TABLE...",
        .needed = "give at least one table",
        .options = options,
        .option = read_option,
        .run = run};
    struct settings settings = {.lock = NDB_COMMITTED_READ};

    return tool_main(&program, &settings, argc, argv);
}
