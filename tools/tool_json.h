/* tool_json.h -- how the client tools print with --format=json. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cjson/cJSON.h>

#include "tools/tool_common.h"

/* Calls `one` for each `per` arguments, until it fails; what it adds to the list is printed as
 * tool_json_end() does. The exit code. */
int tool_each(void *settings, int argc, char **argv, int per,
              int (*one)(void *settings, char **argv, cJSON *list));

/* Prints what a tool has gathered if its format is JSON, and frees it in any case. */
void tool_json_end(const struct tool *tool, cJSON *value);
