/* tool_progress.h -- how far long work is, for a person at a terminal. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Zeroed. */
struct tool_progress {
    uint64_t next_ms; /* When it is told again. */
    bool shown;
};

/* On a terminal (standard error) a line that changes a few times a second, from the first second
 * on: "ndb_delete_all: 36576 rows deleted". It stays when the program is killed. */
void tool_progress_tell(struct tool_progress *progress, const char *tool, uint64_t count,
                        const char *what);
/* The line goes; what comes next begins at its place. */
void tool_progress_end(struct tool_progress *progress);
