/* ndb_show_tables.c -- lists the tables of the cluster and their indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/tool_json.h"
#include "values/errors.h"

struct settings {
    struct tool tool;
    const char *database; /* NULL: all. */
    const char *table;    /* NULL: all. */
    bool fully_qualified, parsable;
    uint32_t loops;
    uint32_t type; /* Only objects of this type; 0: all. */
};

#define TYPE_SYSTEM_TABLE  1u
#define TYPE_TABLE         2u
#define TYPE_UNIQUE_INDEX  3u
#define TYPE_ORDERED_INDEX 6u

static const struct argp_option options[] = {
    {"database", 'd', "NAME", 0, "only tables of this database (default: all)", 0},
    {"fully-qualified", 'f', NULL, 0, "print names as database/schema/table", 0},
    {"parsable", 'p', NULL, 0, "TAB separated, quoted, without heading", 0},
    {"type", 't', "N", 0,
     "only objects of this type: 1 system tables, 2 tables, 3 unique indexes, 6 ordered indexes",
     0},
    {"loops", 'l', "N", 0, "print N times, a second apart (1)", 0},
    {0},
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'd':
        settings->database = argument;
        return 0;
    case 'f':
        settings->fully_qualified = true;
        return 0;
    case 'p':
        settings->parsable = true;
        return 0;
    case 't':
        settings->type = (uint32_t)tool_number(argument, 1, 99, "--type", state);
        return 0;
    case 'l':
        settings->loops = (uint32_t)tool_number(argument, 1, 1000000, "--loops", state);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "only one table can be given");
        settings->table = argument;
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"Offline", "Offline", "Building", "Dropping",
                                        "Online",  "Backup",  "Broken"};

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "Unknown";
}

/* "database/def/table" in its three parts. */
struct parts {
    char text[132];
    const char *database, *schema, *table;
};

static void split_name(const char *name, struct parts *parts)
{
    (void)snprintf(parts->text, sizeof(parts->text), "%s", name);
    parts->database = parts->text;
    char *first = strchr(parts->text, '/');
    char *second = first == NULL ? NULL : strchr(first + 1, '/');
    if (second == NULL) {
        *parts = (struct parts){.database = "", .schema = "", .table = name};
        return;
    }
    *first = '\0';
    *second = '\0';
    parts->schema = first + 1;
    parts->table = second + 1;
}

static bool is_wanted(const struct settings *settings, const struct parts *parts)
{
    return (settings->database == NULL || strcmp(settings->database, parts->database) == 0) &&
           (settings->table == NULL || strcmp(settings->table, parts->table) == 0);
}

/* A line of the list: a table, or one of its indexes. */
struct object {
    uint32_t id;
    const char *type, *state, *logging;
    const char *database, *schema, *name;
    char full[300]; /* All three. */
};

static void print_text(const struct settings *settings, const struct object *o)
{
    if (settings->parsable && settings->fully_qualified) {
        printf("%u\t'%s'\t'%s'\t'%s'\t'%s'\n", o->id, o->type, o->state, o->logging, o->full);
    } else if (settings->parsable) {
        printf("%u\t'%s'\t'%s'\t'%s'\t'%s'\t'%s'\t'%s'\n", o->id, o->type, o->state, o->logging,
               o->database, o->schema, o->name);
    } else if (settings->fully_qualified) {
        printf("%-5u %-20s %-8s %-7s %s\n", o->id, o->type, o->state, o->logging, o->full);
    } else {
        printf("%-5u %-20s %-8s %-7s %-12s %-8s %s\n", o->id, o->type, o->state, o->logging,
               o->database, o->schema, o->name);
    }
}

static cJSON *object_json(cJSON *list, const struct object *o)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddNumberToObject(object, "id", o->id);
    cJSON_AddStringToObject(object, "type", o->type);
    cJSON_AddStringToObject(object, "state", o->state);
    cJSON_AddStringToObject(object, "logging", o->logging);
    cJSON_AddStringToObject(object, "database", o->database);
    cJSON_AddStringToObject(object, "schema", o->schema);
    cJSON_AddStringToObject(object, "name", o->name);
    cJSON_AddItemToArray(list, object);
    return object;
}

static void show_table(const struct settings *settings, cJSON *list,
                       const struct ndb_table_entry *entry, const struct parts *parts,
                       const char *logging)
{
    bool system = strcmp(parts->database, "sys") == 0; /* The counters of ndb_auto_increment(). */
    struct object o = {.id = entry->table_id,
                       .type = system ? "SystemTable" : "UserTable",
                       .state = state_name(entry->state),
                       .logging = logging,
                       .database = parts->database,
                       .schema = parts->schema,
                       .name = parts->table};

    uint32_t type = system ? TYPE_SYSTEM_TABLE : TYPE_TABLE;
    if (settings->type != 0 && settings->type != type) return;
    (void)snprintf(o.full, sizeof(o.full), "%s", entry->name);
    if (settings->tool.format == TOOL_TEXT) {
        print_text(settings, &o);
        return;
    }
    cJSON *object = object_json(list, &o);
    cJSON_AddNumberToObject(object, "version", entry->version);
    cJSON_AddNumberToObject(object, "fragments", entry->fragments);
}

/* A unique index is a hidden table, and has its number and log. An ordered one is a part of its
 * table, has that one's number, and is made anew at each start: it has no log. */
static void show_index(const struct settings *settings, cJSON *list,
                       const struct ndb_table_entry *entry, const struct ndb_index_info *index,
                       const char *logging)
{
    bool unique = index->table_id != 0;
    uint32_t type = unique ? TYPE_UNIQUE_INDEX : TYPE_ORDERED_INDEX;
    struct object o = {.id = unique ? index->table_id : entry->table_id,
                       .type = unique ? "UniqueHashIndex" : "OrderedIndex",
                       .state = "Online",
                       .logging = unique ? logging : "No",
                       .database = "sys",
                       .schema = "def",
                       .name = index->name};

    if (settings->type != 0 && settings->type != type) return;
    (void)snprintf(o.full, sizeof(o.full), "sys/def/%u/%s", entry->table_id, index->name);
    if (settings->tool.format == TOOL_TEXT)
        print_text(settings, &o);
    else
        cJSON_AddStringToObject(object_json(list, &o), "table", entry->name);
}

/* The table and its indexes; of one that has gone meanwhile only what the list says. False: it
 * cannot be asked for, which has been told. */
static bool show_all(const struct settings *settings, cJSON *list,
                     const struct ndb_table_entry *entry, const struct parts *parts)
{
    ndb_t *ndb = settings->tool.ndb;
    struct ndb_table_info info;
    struct ndb_index_info index;
    const char *logging = "-";

    ndb_table_invalidate(ndb, entry->name); /* What was read the last time may be out of date. */
    struct ndb_table *table = ndb_table_open(ndb, entry->name, 0);
    if (table == NULL && ndb_error(ndb)->code != ERR_NO_SUCH_TABLE) {
        tool_print_error(ndb_error(ndb));
        return false;
    }
    if (table != NULL) {
        ndb_table_describe(table, &info);
        logging = info.logging ? "Yes" : "No";
    }
    show_table(settings, list, entry, parts, logging);
    for (uint32_t i = 0; table != NULL && ndb_table_unique(table, i, &index) == 0; i++)
        show_index(settings, list, entry, &index, logging);
    for (uint32_t i = 0; table != NULL && ndb_table_index(table, i, &index) == 0; i++)
        show_index(settings, list, entry, &index, logging);
    ndb_table_release(table);
    return true;
}

static void print_heading(const struct settings *settings)
{
    if (settings->parsable || settings->tool.format == TOOL_JSON) return;
    if (settings->fully_qualified) {
        printf("%-5s %-20s %-8s %-7s %s\n", "id", "type", "state", "logging", "name");
    } else {
        printf("%-5s %-20s %-8s %-7s %-12s %-8s %s\n", "id", "type", "state", "logging", "database",
               "schema", "name");
    }
}

static int show(const struct settings *settings)
{
    struct ndb_table_entry *entries = NULL;
    uint32_t count = 0;

    if (ndb_table_list(settings->tool.ndb, &entries, &count, 0) != 0) {
        tool_print_error(ndb_error(settings->tool.ndb));
        return TOOL_FAILED;
    }
    cJSON *list = cJSON_CreateArray();
    print_heading(settings);
    bool all = true;
    bool found = settings->table == NULL;
    for (uint32_t i = 0; i < count && all; i++) {
        struct parts parts;
        split_name(entries[i].name, &parts);
        if (!is_wanted(settings, &parts)) continue;
        found = true;
        all = show_all(settings, list, &entries[i], &parts);
    }
    tool_json_end(&settings->tool, list);
    ndb_list_free(entries);
    if (!found) {
        ndb_error_t error;
        char name[300];
        (void)snprintf(name, sizeof(name), "%s%s%s",
                       settings->database == NULL ? "" : settings->database,
                       settings->database == NULL ? "" : "/", settings->table);
        ndb_error_lookup(ERR_NO_SUCH_TABLE, &error);
        error.detail = name;
        tool_print_error(&error);
    }
    return all && found ? TOOL_OK : TOOL_FAILED;
}

static int run(void *context, int argc, char **argv)
{
    const struct settings *settings = context;
    int code = TOOL_OK;

    (void)argc;
    (void)argv;
    for (uint32_t i = 0; i < settings->loops && code == TOOL_OK; i++) {
        if (i > 0) (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        code = show(settings);
    }
    return code;
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "ndb_show_tables",
        .doc = "Lists the tables of the cluster and their indexes.",
        .arguments = "[TABLE]",
        .options = options,
        .option = read_option,
        .run = run};
    struct settings settings = {.loops = 1};

    return tool_main(&program, &settings, argc, argv);
}
