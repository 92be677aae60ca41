/* ndb_create_table.c -- executes CREATE TABLE statements from the command line or a file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/statements.h"

static int create(struct tool *tool, const char *sql, struct ndb_sql_error *where)
{
    return ndb_table_create(tool->ndb, sql, where, 0);
}

int main(int argc, char **argv)
{
    static const struct statements what = {
        .name = "ndb_create_table",
        .doc =
            "Executes the CREATE TABLE statements of --execute or of a file (- is standard input), "
            "separated by semicolons. It stops at the first one that is refused.",
        .execute = create,
    };
    return statements_main(argc, argv, &what);
}
