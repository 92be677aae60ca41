/* ndb_mgm_terminal.h -- the console's lines from a terminal: editing, Tab, Ctrl-C, history. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "ndb/mgm.h"

/* Begins with the lines of former consoles. Tab offers the nodes that `handle` tells of, while it
 * is connected. One terminal in a process. */
void terminal_open(ndb_mgm_handle_t *handle);
/* The next line, which the caller frees; NULL at the end of input. Ctrl-C drops what was typed. */
char *terminal_read(const char *prompt);
/* Prints a line of an event: above the line that is being typed, which stays as it is. Any thread,
 * between terminal_open() and terminal_close(). */
void terminal_tell(const char *line);
void terminal_close(void);
