/* tool_wait.h -- tells on standard error what a tool waits for, and why. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A second after something is waited for it is told, and again when the reason changes, but not
 * more than once a second: a line each, or on a terminal one line that changes and is gone at the
 * end. What takes no second is not told. A thread tells it: calls that block may take longer.
 */
#pragma once

struct tool_wait;

/* `name` is the tool's, and lives as long. NULL when there is no memory: nothing is told then. */
struct tool_wait *tool_wait_begin(const char *name);
/* What is waited for and why, from now on: "a management server: ...". "": nothing. */
void tool_wait_for(struct tool_wait *wait, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Nothing is waited for any more. NULL is allowed, as it is above. */
void tool_wait_end(struct tool_wait *wait);
