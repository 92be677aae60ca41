/* ndb_drop_index.c -- drops ordered indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "tools/tool_json.h"

struct settings {
    struct tool tool;
    int first; /* Index of the first table in argv. */
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &settings->tool;
        return 0;
    case ARGP_KEY_ARGS:
        settings->first = state->next;
        if ((state->argc - state->next) % 2 != 0)
            argp_error(state, "give a table and an index, or several such pairs");
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "give a table and an index");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int drop(struct tool *tool, const char *table, const char *index, cJSON *list)
{
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

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&tool_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.parser = read_option,
                                     .args_doc = "TABLE INDEX [TABLE INDEX]...",
                                     .children = children,
                                     .doc = "Drops ordered indexes. Their tables may be in use."};
    struct settings settings = {0};

    tool_init(&settings.tool, "ndb_drop_index");
    if (argp_parse(&argp, argc, argv, 0, NULL, &settings) != 0) return TOOL_USAGE;
    if (!tool_connect(&settings.tool)) return tool_close(&settings.tool, TOOL_FAILED);

    int code = TOOL_OK;
    cJSON *list = cJSON_CreateArray();
    for (int i = settings.first; i + 1 < argc && code == TOOL_OK; i += 2)
        code = drop(&settings.tool, argv[i], argv[i + 1], list);
    tool_json_end(&settings.tool, list);
    return tool_close(&settings.tool, code);
}
