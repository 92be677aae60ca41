/* ndb_drop_index.c -- drops ordered and unique indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "tools/tool_json.h"

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    if (key == ARGP_KEY_ARGS && (state->argc - state->next) % 2 != 0)
        argp_error(state, "give a table and an index, or several such pairs");
    return tool_option(key, argument, state);
}

static int drop(void *settings, char **argv, cJSON *list)
{
    struct tool *tool = settings;
    const char *table = argv[0];
    const char *index = argv[1];
    char name[300];

    tool_table_name(tool, table, name, sizeof(name));
    if (tool->format == TOOL_TEXT) printf("Dropping index %s/%s...", table, index);
    bool dropped = ndb_index_drop(tool->ndb, name, index, 0) == 0;
    if (tool->format == TOOL_TEXT) {
        printf(dropped ? "OK\n" : "\n");
    } else {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "table", table);
        cJSON_AddStringToObject(entry, "index", index);
        cJSON_AddBoolToObject(entry, "dropped", dropped);
        cJSON_AddItemToArray(list, entry);
    }
    if (!dropped) tool_print_error(ndb_error(tool->ndb));
    return dropped ? TOOL_OK : TOOL_FAILED;
}

static int drop_all(void *settings, int argc, char **argv)
{
    return tool_each(settings, argc, argv, 2, drop);
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "ndb_drop_index",
        .doc = "Drops ordered and unique indexes. Their tables may be in use.",
        .arguments = "TABLE INDEX [TABLE INDEX]...",
        .needed = "give a table and an index",
        .option = read_option,
        .run = drop_all};
    struct tool tool = {0};

    return tool_main(&program, &tool, argc, argv);
}
