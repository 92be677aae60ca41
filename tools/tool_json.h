/* tool_json.h -- how the client tools print with --format=json. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cjson/cJSON.h>

#include "tools/tool_common.h"

/* Prints what a tool has gathered if its format is JSON, and frees it in any case. */
void tool_json_end(const struct tool *tool, cJSON *value);
