/* wait_told.h -- tells on standard error what a program waits for, and why. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A second after something is waited for it is told, and again when the reason changes, but not
 * more than once a second: a line each, or on a terminal one line that changes and is gone at the
 * end. What is too long for the terminal's line stands above it, and stays. What takes no second is
 * not told. A thread tells it: calls that block may take longer.
 */
#pragma once

struct wait_told;

/* What helps when no management server can be reached: a line behind the reason. */
#define WAIT_TOLD_CURE                                                                             \
    "Start ndb_mgmd there (end it first when it runs and does not answer), or name another "       \
    "address with --ndb-connectstring or in NDB_CONNECTSTRING.\n"

/* `name` is the program's, and lives as long. NULL when there is no memory: nothing is told then.
 */
struct wait_told *wait_told_begin(const char *name);
/* What is waited for and why, from now on: "a management server: ...". "": nothing. */
void wait_told_for(struct wait_told *wait, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What is said first of management servers: no answer yet from those of `connect_string`, NULL or
 * "": from the environment's. */
void wait_told_for_servers(struct wait_told *wait, const char *connect_string);
/* The connect string that is in use when a program was given this one, as above. */
const char *wait_told_servers(const char *connect_string);
/* Nothing is waited for any more. NULL is allowed, as it is above. */
void wait_told_end(struct wait_told *wait);
