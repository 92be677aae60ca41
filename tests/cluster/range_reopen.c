/* range_reopen.c -- a table that is opened again after somebody else has changed its indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <time.h>
#include "tests/cluster/range_client.h"

#define TOLD_LIMIT_S 60 /* Until a client has heard of a change that another one has seen end. */

/* Opened by who keeps the definition; nobody invalidates it. */
static bool knows_index(ndb_t *ndb)
{
    struct ndb_table *table = ndb_table_open(ndb, "ranged", 0);
    if (table == NULL) die("table", ndb_error(ndb));
    bool known = ndb_table_find_index(table, "later") >= 0;
    ndb_table_release(table);
    return known;
}

static void want_known(ndb_t *ndb, bool known, const char *what)
{
    const struct timespec pause = {0, 20000000};
    time_t end = time(NULL) + TOLD_LIMIT_S;
    while (knows_index(ndb) != known && time(NULL) <= end)
        (void)nanosleep(&pause, NULL);
    want(what, knows_index(ndb), known);
}

void check_reopen(struct client *client)
{
    struct ndb_cluster_connection *elsewhere = connect_cluster();
    ndb_t *ndb = ndb_open(elsewhere, "test");
    want("the index before", knows_index(client->ndb), false);
    for (uint32_t turn = 0; turn < 3; turn++) {
        if (ndb_index_create(ndb, "CREATE INDEX later ON ranged (number)", NULL, NULL, 0) != 0)
            die("create index", ndb_error(ndb));
        want_known(client->ndb, true, "the index that somebody else has created");
        if (ndb_index_drop(ndb, "ranged", "later", 0) != 0) die("drop index", ndb_error(ndb));
        want_known(client->ndb, false, "the index that somebody else has dropped");
    }
    ndb_close(ndb);
    ndb_connection_free(elsewhere);
}
