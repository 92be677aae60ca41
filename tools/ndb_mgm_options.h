/* ndb_mgm_options.h -- the command line of the management console. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "tools/ndb_mgm_execute.h"

struct console_options {
    const char *execute; /* NULL: commands come from standard input. */
    char connectstring[1024];
    bool done; /* --help or --version: there is nothing more to do. */
};

/* 0, or -1 when `err` has got what is wrong and what is allowed. Sets the console's retries, prompt
 * and format. */
int console_read_options(struct console *console, struct console_options *options, int argc,
                         char **argv, FILE *err);
