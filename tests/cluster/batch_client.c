/* batch_client.c -- batches that are larger than the send buffer: one execute, one transaction. For
 * batches.sh. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * batch_client COUNT BUFFER_BYTES
 *   COUNT inserts; then COUNT updates, of which some rows are updated again and some deleted, with
 *   reads among them, asynchronously; then all are read, by ndb_reads_begin() and by locking reads;
 *   then all are deleted and that is rolled back; then all are deleted. Each is one execute.
 * batch_client large COUNT BUFFER_BYTES
 *   COUNT inserts in one execute. Prints the error: number, status, text, detail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ndb/ndb.h>

#define TIMEOUT_MS 60000u

struct row {
    uint32_t key;
    uint32_t value;
    char text[100];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, key, "k"),
    NDB_FIELD(struct row, value, "v"),
    NDB_FIELD(struct row, text, "t"),
};

struct client {
    ndb_t *ndb;
    struct ndb_record *record;
    struct row *rows;
    uint32_t count;
    uint32_t ended;
};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d, status %d: %s %s\n", what, error->code, (int)error->status,
            error->text, error->detail);
    exit(1);
}

static _Noreturn void wrong(const char *what, uint32_t key, uint32_t value)
{
    fprintf(stderr, "%s: row %u has %u\n", what, key, value);
    exit(1);
}

static struct row row_of(uint32_t key, uint32_t value)
{
    struct row row = {.key = key, .value = value};
    memset(row.text, 'a' + (int)(key % 26), sizeof row.text);
    return row;
}

static struct ndb_transaction *begin(struct client *client)
{
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    if (t == NULL) die("start", ndb_error(client->ndb));
    return t;
}

static void defined(struct ndb_transaction *t, const struct ndb_operation *operation)
{
    if (operation == NULL) die("define", ndb_transaction_error(t));
}

static void execute(const char *what, struct ndb_transaction *t, enum ndb_execute_type type)
{
    if (ndb_execute(t, type, TIMEOUT_MS) != 0) die(what, ndb_transaction_error(t));
    printf("%s: done\n", what);
    fflush(stdout);
}

static struct ndb_transaction *insert_all(struct client *client)
{
    struct ndb_transaction *t = begin(client);
    for (uint32_t key = 0; key < client->count; key++) {
        struct row row = row_of(key, 1);
        defined(t, ndb_insert(t, client->record, &row, NULL));
    }
    return t;
}

/* What a row has after the mixed batch; 0: it is gone. */
static uint32_t value_after(uint32_t key)
{
    if (key % 7 == 3) return 0;
    return key % 10 == 5 ? 3 : 2;
}

static void ended(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    if (result != 0) die("mixed", ndb_transaction_error(t));
    client->ended++;
}

static void mixed(struct client *client)
{
    struct ndb_transaction *t = begin(client);
    struct ndb_operation_options lock = {.lock = NDB_LOCK_EXCLUSIVE};
    struct ndb_operation_options shared = {.lock = NDB_LOCK_SHARED};
    for (uint32_t key = 0; key < client->count; key++) {
        struct row row = row_of(key, 2);
        client->rows[key] = row_of(key, 99);
        if (key % 4 == 1)
            defined(t, ndb_read(t, client->record, &client->rows[key], client->record,
                                &client->rows[key], &shared));
        defined(t, ndb_update(t, client->record, &row, client->record, &row, NULL));
        if (key % 4 == 2) /* Sees the update. */
            defined(t, ndb_read(t, client->record, &client->rows[key], client->record,
                                &client->rows[key], &lock));
        row.value = 3;
        if (key % 10 == 5)
            defined(t, ndb_update(t, client->record, &row, client->record, &row, NULL));
        if (key % 7 == 3) defined(t, ndb_delete(t, client->record, &row, NULL));
    }
    if (ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, ended, client) != 0)
        die("mixed", ndb_transaction_error(t));
    while (client->ended == 0)
        if (ndb_poll(client->ndb, 1000, 1) < 0) die("poll", ndb_error(client->ndb));
    for (uint32_t key = 0; key < client->count; key++) {
        uint32_t value = client->rows[key].value;
        if (key % 4 == 1 ? value != 1 : key % 4 == 2 ? value != 2 : value != 99)
            wrong("mixed", key, value);
    }
    ndb_transaction_close(t);
    printf("mixed: done\n");
}

static void reads_ended(void *context)
{
    ((struct client *)context)->ended++;
}

static void read_many(struct client *client)
{
    struct ndb_row_read *reads = calloc(client->count, sizeof *reads);
    if (reads == NULL) abort();
    for (uint32_t key = 0; key < client->count; key++) {
        client->rows[key] = row_of(key, 99);
        reads[key] = (struct ndb_row_read){.record = client->record, .row = &client->rows[key]};
    }
    client->ended = 0;
    if (ndb_reads_begin(client->ndb, reads, client->count, TIMEOUT_MS, reads_ended, client) == NULL)
        die("reads", ndb_error(client->ndb));
    while (client->ended == 0)
        if (ndb_poll(client->ndb, 1000, 1) < 0) die("poll", ndb_error(client->ndb));
    for (uint32_t key = 0; key < client->count; key++) {
        uint32_t value = value_after(key);
        if (reads[key].code != (value == 0 ? 626 : 0))
            wrong("reads", key, (uint32_t)reads[key].code);
        if (value != 0 && client->rows[key].value != value)
            wrong("reads", key, client->rows[key].value);
    }
    free(reads);
    printf("reads: done\n");
}

static void locking_reads(struct client *client)
{
    struct ndb_transaction *t = begin(client);
    struct ndb_operation_options lock = {.lock = NDB_LOCK_SHARED};
    for (uint32_t key = 0; key < client->count; key++) {
        client->rows[key] = row_of(key, 99);
        defined(t, ndb_read(t, client->record, &client->rows[key], client->record,
                            &client->rows[key], &lock));
    }
    execute("locking reads", t, NDB_COMMIT);
    for (uint32_t key = 0; key < client->count; key++) {
        uint32_t value = value_after(key);
        if (client->rows[key].value != (value == 0 ? 99 : value))
            wrong("locking reads", key, client->rows[key].value);
    }
    ndb_transaction_close(t);
}

static void delete_all(struct client *client, enum ndb_execute_type type)
{
    struct ndb_transaction *t = begin(client);
    struct ndb_operation_options options = {.flags = NDB_OP_IGNORE_ERROR};
    for (uint32_t key = 0; key < client->count; key++) {
        struct row row = row_of(key, 0);
        defined(t, ndb_delete(t, client->record, &row, &options));
    }
    execute(type == NDB_COMMIT ? "deletes" : "deletes to be rolled back", t, type);
    if (type != NDB_COMMIT) execute("rollback", t, NDB_ROLLBACK);
    ndb_transaction_close(t);
}

int main(int argc, char **argv)
{
    int large = argc > 1 && strcmp(argv[1], "large") == 0;
    if (argc != 3 + large) return 2;
    struct client client = {.count = (uint32_t)strtoul(argv[1 + large], NULL, 10)};
    struct ndb_connection_options options = {
        .name = "batch_client", .buffer_bytes = (uint32_t)strtoul(argv[2 + large], NULL, 10)};
    struct ndb_cluster_connection *connection = ndb_connection_create(NULL, &options);
    ndb_error_t error;
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    client.ndb = ndb_open(connection, "test");
    struct ndb_table *table = ndb_table_open(client.ndb, "batch", 0);
    if (table == NULL) die("table", ndb_error(client.ndb));
    client.record = ndb_record_create(client.ndb, table, fields, 3, sizeof(struct row));
    if (client.record == NULL) die("record", ndb_error(client.ndb));
    client.rows = calloc(client.count, sizeof *client.rows);
    if (client.rows == NULL) abort();

    struct ndb_transaction *t = insert_all(&client);
    if (large && ndb_execute(t, NDB_COMMIT, TIMEOUT_MS) != 0) {
        const ndb_error_t *e = ndb_transaction_error(t);
        printf("error %d, %s: %s; %s\n", e->code,
               e->status == NDB_STATUS_TEMPORARY ? "temporary" : "permanent", e->text, e->detail);
    } else if (!large) {
        execute("inserts", t, NDB_COMMIT);
    }
    ndb_transaction_close(t);
    if (!large) {
        mixed(&client);
        read_many(&client);
        locking_reads(&client);
        delete_all(&client, NDB_NO_COMMIT);
        read_many(&client);
        delete_all(&client, NDB_COMMIT);
    }
    free(client.rows);
    ndb_record_release(client.record);
    ndb_table_release(table);
    ndb_close(client.ndb);
    ndb_connection_free(connection);
    return 0;
}
