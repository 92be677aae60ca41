/* ndb_mgm_wait.h -- what a console command waits for is told, and Ctrl-C ends the wait. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/ndb_mgm_execute.h"

/* From here on, for all commands of a line, the first Ctrl-C ends what a command waits for, and not
 * the console; the second one ends it. A call that waits for the server fails then: its connection
 * is given up. */
void console_interrupts_begin(ndb_mgm_handle_t *handle);
void console_interrupts_end(void);
/* Has a Ctrl-C come? What follows on the line is not carried out then. */
bool console_interrupted(void);
/* One has come to a command that has a way of its own to be interrupted. */
void console_interrupt(void);

/* What the next call of the handle waits for: the server itself; these data nodes (none: the server
 * again), "node 1's answer" or "node 1 to stop". */
void console_wait_server(const struct console *console);
void console_wait_answers(const struct console *console, const uint32_t *nodes, uint32_t count);
void console_wait_ends(const struct console *console, const uint32_t *nodes, uint32_t count);
