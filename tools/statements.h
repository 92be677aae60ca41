/* statements.h -- tools that execute SQL statements of the command line or a file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "tools/tool_json.h"

struct statements {
    const char *name; /* The tool's name. */
    const char *doc;
    /* Executes one; 0, or -1 with the ndb_t's error, and in *where what is wrong with the
     * statement.
     */
    int (*execute)(struct tool *tool, const char *sql, struct ndb_sql_error *where);
};

/* The whole main() of such a tool: its exit code. */
int statements_main(int argc, char **argv, const struct statements *what);
