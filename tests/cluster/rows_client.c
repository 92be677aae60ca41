/* rows_client.c -- executes of so many reads that their rows are more than a data node keeps for a
 * client. For batches.sh. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rows_client COUNT [UNIQUE]
 *   ROWS rows are written; then COUNT times one of them is read in one execute, without and with a
 *   lock: all are read, and none is refused. With the name of a unique index of the key: each row is
 *   read alone, by that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ndb/ndb.h>

#define ROWS       200u
#define BYTES      3000u
#define TIMEOUT_MS 60000u

struct row {
    uint32_t key;
    char text[BYTES];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, key, "k"),
    NDB_FIELD(struct row, text, "t"),
};

struct client {
    ndb_t *ndb;
    struct ndb_record *record;
    struct row *rows; /* What is read of each. */
    uint32_t count;
};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d, status %d: %s %s\n", what, error->code, (int)error->status,
            error->text, error->detail);
    exit(1);
}

static struct row row_of(uint32_t key)
{
    struct row row = {.key = key};
    memset(row.text, 'a' + (int)(key % 26), sizeof row.text);
    return row;
}

static void write_all(const struct client *client)
{
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    if (t == NULL) die("start", ndb_error(client->ndb));
    for (uint32_t key = 0; key < ROWS; key++) {
        struct row row = row_of(key);
        if (ndb_write(t, client->record, &row, NULL) == NULL)
            die("write", ndb_transaction_error(t));
    }
    if (ndb_execute(t, NDB_COMMIT, TIMEOUT_MS) != 0) die("writes", ndb_transaction_error(t));
    ndb_transaction_close(t);
}

static void read_all(const struct client *client, enum ndb_lock_mode lock, const char *what)
{
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    struct ndb_operation_options options = {.lock = lock};
    const struct ndb_operation **reads = calloc(client->count, sizeof *reads);
    if (t == NULL || reads == NULL) die("start", ndb_error(client->ndb));
    for (uint32_t key = 0; key < ROWS; key++)
        client->rows[key] = (struct row){.key = key};
    for (uint32_t i = 0; i < client->count; i++) {
        struct row *row = &client->rows[i % ROWS];
        reads[i] = ndb_read(t, client->record, row, client->record, row, &options);
        if (reads[i] == NULL) die("read", ndb_transaction_error(t));
    }
    if (ndb_execute(t, NDB_COMMIT, TIMEOUT_MS) != 0) die(what, ndb_transaction_error(t));
    for (uint32_t i = 0; i < client->count; i++) {
        const ndb_error_t *error = ndb_operation_error(reads[i]);
        if (error->code != 0) die(what, error);
    }
    for (uint32_t key = 0; key < ROWS; key++) {
        struct row row = row_of(key);
        if (memcmp(&row, &client->rows[key], sizeof row) == 0) continue;
        fprintf(stderr, "%s: row %u is another one\n", what, key);
        exit(1);
    }
    printf("%s: done\n", what);
    fflush(stdout);
    free(reads);
    ndb_transaction_close(t);
}

static void read_each(const struct client *client, struct ndb_table *table, const char *unique)
{
    int index = ndb_table_find_unique(table, unique);
    if (index < 0) {
        fprintf(stderr, "no index %s\n", unique);
        exit(1);
    }
    struct ndb_record *record = ndb_record_create_unique(client->ndb, table, (uint32_t)index,
                                                         fields, 2, sizeof(struct row));
    if (record == NULL) die("record", ndb_error(client->ndb));
    for (uint32_t key = 0; key < ROWS; key++) {
        struct row row = {.key = key};
        if (ndb_read_row(client->ndb, record, &row, TIMEOUT_MS) != 0)
            die("one read", ndb_error(client->ndb));
    }
    printf("each row by %s: done\n", unique);
    ndb_record_release(record);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) return 2;
    struct client client = {.count = (uint32_t)strtoul(argv[1], NULL, 10)};
    struct ndb_connection_options options = {.name = "rows_client"};
    struct ndb_cluster_connection *connection = ndb_connection_create(NULL, &options);
    ndb_error_t error;
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    client.ndb = ndb_open(connection, "test");
    struct ndb_table *table = ndb_table_open(client.ndb, "wide", 0);
    if (table == NULL) die("table", ndb_error(client.ndb));
    client.record = ndb_record_create(client.ndb, table, fields, 2, sizeof(struct row));
    client.rows = calloc(ROWS, sizeof *client.rows);
    if (client.record == NULL || client.rows == NULL) die("record", ndb_error(client.ndb));
    write_all(&client);
    if (argc == 3) {
        read_each(&client, table, argv[2]);
    } else {
        read_all(&client, NDB_COMMITTED_READ, "reads");
        read_all(&client, NDB_LOCK_SHARED, "reads with shared locks");
        read_all(&client, NDB_LOCK_EXCLUSIVE, "reads with exclusive locks");
    }
    free(client.rows);
    ndb_record_release(client.record);
    ndb_table_release(table);
    ndb_close(client.ndb);
    ndb_connection_free(connection);
    return 0;
}
