/* ndb_drop_table.c -- drops tables with their rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "tools/tool_json.h"

static int drop(void *settings, char **argv, cJSON *list)
{
    struct tool *tool = settings;
    const char *argument = argv[0];
    char name[300];

    tool_table_name(tool, argument, name, sizeof(name));
    if (tool->format == TOOL_TEXT) printf("Dropping table %s...", argument);
    bool dropped = ndb_table_drop(tool->ndb, name, 0) == 0;
    if (tool->format == TOOL_TEXT) {
        printf(dropped ? "OK\n" : "\n");
    } else {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "table", argument);
        cJSON_AddBoolToObject(entry, "dropped", dropped);
        cJSON_AddItemToArray(list, entry);
    }
    if (!dropped) tool_print_error(ndb_error(tool->ndb));
    return dropped ? TOOL_OK : TOOL_FAILED;
}

static int drop_all(void *settings, int argc, char **argv)
{
    return tool_each(settings, argc, argv, 1, drop);
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {.name = "ndb_drop_table",
                                                .doc = "Drops tables with all their rows.",
                                                .arguments = "TABLE...",
                                                .needed = "give at least one table",
                                                .run = drop_all};
    struct tool tool = {0};

    return tool_main(&program, &tool, argc, argv);
}
