/* tool_json.c -- how the client tools print with --format=json. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/tool_json.h"

#include <stdio.h>
#include <stdlib.h>

void tool_json_end(const struct tool *tool, cJSON *value)
{
    char *text = tool->format == TOOL_JSON ? cJSON_Print(value) : NULL;

    if (text != NULL) printf("%s\n", text);
    free(text);
    cJSON_Delete(value);
}

int tool_each(void *settings, int argc, char **argv, int per,
              int (*one)(void *settings, char **argv, cJSON *list))
{
    cJSON *list = cJSON_CreateArray();
    int code = TOOL_OK;

    for (int i = 0; i + per <= argc && code == TOOL_OK; i += per)
        code = one(settings, argv + i, list);
    tool_json_end(settings, list);
    return code;
}
