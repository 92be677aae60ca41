/* ndb_mgm_reports.h -- commands of the console that ask and change nothing. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "tools/ndb_mgm_execute.h"
#include "tools/ndb_mgm_parse.h"

/* All data nodes that the management server has a link to, or has none to: orders to all do not
 * reach these, and they may be alive. `nodes` has room for all; their number. */
uint32_t console_find_nodes(const struct console *console, bool linked, uint32_t *nodes);
/* Those that a command is for, as far as they can be waited for. */
uint32_t console_find_asked(const struct console *console, const struct console_command *command,
                            uint32_t *nodes);

/* SHOW, STATUS, REPORT MEMORY, REPORT REDO and CHECKPOINT, REPORT EVENTLOG. 0, or the error, which
 * is told. */
int console_show(struct console *console);
int console_status(struct console *console, const struct console_command *command);
int console_report_memory(struct console *console, const struct console_command *command);
int console_report_disk(struct console *console, const struct console_command *command);
int console_report_events(struct console *console, const struct console_command *command);
