/* tool_progress.h -- how far long work is, for a person at a terminal. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdint.h>

/* On a terminal (standard error) a line that changes a few times a second, from the first second
 * on: "ndb_delete_all: 36576 rows deleted". It stays when the program is killed. One thread. */
void tool_progress_tell(const char *tool, uint64_t count, const char *what);
/* The line goes, if there is one: before anything else is printed, and at the end of the work. */
void tool_progress_end(void);
