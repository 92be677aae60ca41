/* ndb_mgm_tell.h -- how the console tells that something has failed, and where. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "tools/ndb_mgm_execute.h"

/* Nothing is waited for any more: what is printed now meets no line about it. */
void console_answered(const struct console *console);
void console_flush(struct console *console);
/* Where errors go: not between the objects of a reader that expects JSON. */
FILE *console_error_out(const struct console *console);
/* The error block: number (0: the handle's) and its text, then what the server said. The error. */
int console_print_error(struct console *console, int failed_code);
/* The same for an order, behind a line of its own. The server has it, or will not get it. */
int console_order_failed(struct console *console, int failed_code, const char *line);
