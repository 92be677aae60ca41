/* ndb_mgm_execute.h -- carries out console commands over one connection. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "ndb/mgm.h"

struct wait_told;

struct console {
    ndb_mgm_handle_t *handle;
    struct wait_told *wait; /* It tells what the command that is carried out waits for. */
    FILE *out;
    int out_error; /* Why `out` has not got everything, an errno. */
    bool json;
    bool terminal; /* Ctrl-C ends a command, and not the console. */
    bool quit;
    int retries;
    char prompt[128];
    char servers[1024]; /* The connect string, "" = the environment's. */
    int status;         /* Error of the last command that failed, 0 = none. */
};

#define CONSOLE_PROMPT      "ndb_mgm> "
#define CONSOLE_INTERRUPTED 130 /* The exit code that shells have for it. */

/* Executes one line. 0, or the error's number (also kept in status). */
int console_execute(struct console *console, const char *line);
/* Executes "a; b; c": a ';' separates, whatever stands around it, and so does the end of a line. A
 * '#' in front of a command, or behind a blank and not in quotes, makes the rest of its line a
 * comment. At a terminal Ctrl-C ends what one of them waits for, and drops those that follow, also
 * when it comes between two of them. */
int console_execute_all(struct console *console, const char *lines);
/* Connects if needed, and says so. 0, or the error. */
int console_connect(struct console *console);

/* ROLLING RESTART of these data nodes (count 0: of all), with NDB_MGM_FLAG_s of RESTART: one after
 * the other, and says what it waits for. Loses no node over a lost management server. 0; -1 with
 * the handle's error; else an error that it has told, CONSOLE_INTERRUPTED after Ctrl-C. */
int console_rolling_restart(struct console *console, const uint32_t *nodes, uint32_t count,
                            uint32_t flags);
