/* example_common.h -- what all examples need: connect, a table, an error message. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <ndb/ndb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* One row of table `accounts`. A member has its column's type: INT UNSIGNED, BIGINT, and a string,
 * which becomes a C string. */
struct account {
    uint32_t id;
    int64_t balance;
    char owner[129]; /* 32 characters of up to four bytes, and the NUL. */
};

static const struct ndb_field account_fields[] = {
    NDB_FIELD(struct account, id, "id"),
    NDB_FIELD(struct account, balance, "balance"),
    NDB_FIELD_STRING(struct account, owner, "owner"),
};

struct example {
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
};

static inline void fail(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

/* argv[1]: the connect string; without it NDB_CONNECTSTRING or localhost. */
static inline struct example example_open(int argc, char **argv)
{
    struct example e = {0};
    ndb_error_t error;
    e.connection = ndb_connection_create(argc > 1 ? argv[1] : NULL, NULL);
    if (ndb_connection_connect(e.connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(e.connection, 30000) < 0) {
        ndb_connection_error(e.connection, &error);
        fail("connect", &error);
    }
    e.ndb = ndb_open(e.connection, "example");
    if (ndb_table_create(
            e.ndb,
            "CREATE TABLE IF NOT EXISTS accounts (id INT UNSIGNED NOT NULL PRIMARY KEY, "
            "balance BIGINT NOT NULL, owner VARCHAR(32) CHARACTER SET utf8mb4)",
            NULL, 0) != 0)
        fail("create table", ndb_error(e.ndb));
    e.table = ndb_table_open(e.ndb, "accounts", 0);
    if (e.table == NULL) fail("open table", ndb_error(e.ndb));
    e.record = ndb_record_create(e.ndb, e.table, account_fields, 3, sizeof(struct account));
    if (e.record == NULL) fail("record", ndb_error(e.ndb));
    return e;
}

static inline void example_close(struct example *e)
{
    ndb_record_release(e->record);
    ndb_table_release(e->table);
    ndb_close(e->ndb);
    ndb_connection_free(e->connection);
}
