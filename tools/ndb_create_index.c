/* ndb_create_index.c -- executes CREATE INDEX statements from the command line or a file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "tools/statements.h"

/* On standard error, so that it does not get among results. */
static void tell(void *context, uint64_t rows, uint64_t total)
{
    const struct tool *tool = context;

    if (tool->format != TOOL_TEXT || total == 0) return;
    (void)fprintf(stderr, "%llu of %llu rows (%llu %%)\n", (unsigned long long)rows,
                  (unsigned long long)total, (unsigned long long)(rows * 100u / total));
}

static int create(struct tool *tool, const char *sql, struct ndb_sql_error *where)
{
    const struct ndb_progress progress = {.tell = tell, .context = tool};

    return ndb_index_create(tool->ndb, sql, where, &progress, 0);
}

int main(int argc, char **argv)
{
    static const struct statements what = {
        .name = "ndb_create_index",
        .doc = "Executes the CREATE INDEX and CREATE UNIQUE INDEX statements of --execute or of a "
               "file (- is standard input), separated by semicolons: ordered and unique indexes of "
               "tables that may be in use. It stops at the first one that is refused.",
        .execute = create,
    };
    return statements_main(argc, argv, &what);
}
