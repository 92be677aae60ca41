/* anew_client.c -- outlives a cluster: whatever it does by a table of the former one is refused.
 *
 * anew_client CONNECT_STRING: makes test.former, says "ready", and goes on when there is a line on
 * its standard input. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "ndb/ndb.h"

#define PATIENCE_MS 60000u

struct row {
    uint32_t id;
    int64_t value;
};
static const struct ndb_field fields[] = {NDB_FIELD(struct row, id, "id"),
                                          NDB_FIELD(struct row, value, "value")};
static struct ndb_cluster_connection *connection;
static ndb_t *ndb;
static int wrong;

static void need(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "%s: error %d, %s\n", what, ndb_error(ndb)->code, ndb_error(ndb)->text);
    exit(1);
}

/* ERR_SCHEMA_VERSION: the table is another one; ERR_UNKNOWN_TABLE_TC: no table has that number. */
static void refused(int result, const char *what)
{
    int32_t code = result == 0 ? 0 : ndb_error(ndb)->code;
    printf("%s: %" PRId32 "\n", what, code);
    if (code != 241 && code != 284) wrong++;
}

int main(int argc, char **argv)
{
    char line[8];
    uint64_t rows;
    struct row row = {1, 111};
    connection = ndb_connection_create(argc > 1 ? argv[1] : NULL, NULL);
    need(connection != NULL && ndb_connection_connect(connection, PATIENCE_MS) == 0 &&
             ndb_connection_wait_until_ready(connection, PATIENCE_MS) >= 0 &&
             (ndb = ndb_open(connection, "test")) != NULL,
         "connect");
    need(ndb_table_create(ndb, "CREATE TABLE former (id INT UNSIGNED PRIMARY KEY, value BIGINT)",
                          NULL, PATIENCE_MS) == 0,
         "create");
    struct ndb_table *table = ndb_table_open(ndb, "former", PATIENCE_MS);
    struct ndb_record *record = ndb_record_create(ndb, table, fields, 2, sizeof row);
    need(record != NULL && ndb_insert_row(ndb, record, &row, PATIENCE_MS) == 0, "insert");
    uint32_t lives = ndb_connection_lives(connection);
    printf("ready\n");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) return 1;
    while (ndb_connection_lives(connection) == lives) /* The caller has a deadline. */
        (void)ndb_connection_wait_until_ready(connection, 1000);
    need(ndb_connection_wait_until_ready(connection, PATIENCE_MS) >= 0, "again");
    row = (struct row){77, -1};
    refused(ndb_insert_row(ndb, record, &row, PATIENCE_MS), "insert");
    row = (struct row){5, -1};
    refused(ndb_read_row(ndb, record, &row, PATIENCE_MS), "read");
    refused(ndb_write_row(ndb, record, &row, PATIENCE_MS), "write");
    refused(ndb_delete_row(ndb, record, &row, PATIENCE_MS), "delete");
    refused(ndb_scan_count(ndb, table, &rows, PATIENCE_MS), "count");
    ndb_record_release(record);
    ndb_table_release(table);
    ndb_close(ndb);
    ndb_connection_free(connection);
    return wrong == 0 ? 0 : 1;
}
