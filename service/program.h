/* program.h -- what each program does first and last: its standard streams. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>

/* First in main(), before anything is opened. Standard streams that are closed are opened, so that
 * no socket or file gets their numbers, and with them what is meant for a person; whoever uses one
 * gets EBADF, as before. `path` is argv[0]; its end, the program's name, is returned: argv[0]
 * becomes that where messages begin with it. When the program ends and not all of its standard
 * output has arrived, that is told, and `output_lost` is the exit status in place of 0. Output_lost
 * 0: nobody looks. */
char *program_begin(char *path, int output_lost);
/* Nobody looks any more: a server's exit status says how it ended, whatever became of its lines. */
void program_serves(void);
/* A server passes SIGHUP over, by which operators ask to look at files again, and which nothing here
 * needs: when it is in the background, or no standard stream is a terminal, whose end it would be.
 */
void program_takes_no_hangup(bool background);
