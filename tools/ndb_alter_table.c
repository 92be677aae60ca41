/* ndb_alter_table.c -- executes statements that change tables in use. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/statements.h"

static int alter(struct tool *tool, const char *sql, struct ndb_sql_error *where)
{
    return ndb_table_alter(tool->ndb, sql, where, 0);
}

int main(int argc, char **argv)
{
    static const struct statements what = {
        .name = "ndb_alter_table",
        .doc = "Executes the ALTER TABLE, RENAME TABLE and TRUNCATE TABLE statements of --execute "
               "or of a file (- is standard input), separated by semicolons, on tables that may "
               "be in use. It stops at the first one that is refused.",
        .execute = alter,
    };
    return statements_main(argc, argv, &what);
}
