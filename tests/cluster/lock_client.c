/* lock_client.c -- holds the lock of a row, or deletes one that others lock now and then.
 *
 * lock_client TABLE COLUMN KEY [insert|read]: inserts the row into a table of database test whose
 * other columns may be NULL, or locks the one that is there, says "locked", and rolls back when its
 * standard input ends.
 * lock_client TABLE COLUMN KEY delete: deletes the row, in as many tries as it takes, and says
 * "deleted". */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ndb/ndb.h>

#define TIMEOUT_MS 60000u

struct row {
    int32_t key;
};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

/* False: with a temporary error. */
static bool deletes(ndb_t *ndb, struct ndb_record *record, const struct row *row)
{
    struct ndb_transaction *transaction = ndb_transaction_start(ndb);
    if (transaction == NULL) die("start", ndb_error(ndb));
    bool done = ndb_delete(transaction, record, row, NULL) != NULL &&
                ndb_execute(transaction, NDB_COMMIT, TIMEOUT_MS) == 0;
    if (!done && ndb_transaction_error(transaction)->status != NDB_STATUS_TEMPORARY)
        die("delete", ndb_transaction_error(transaction));
    ndb_transaction_close(transaction);
    return done;
}

static void hold(ndb_t *ndb, struct ndb_record *record, const struct row *row, bool insert)
{
    static const struct ndb_operation_options exclusive = {.lock = NDB_LOCK_EXCLUSIVE};
    struct row read;
    struct ndb_transaction *transaction = ndb_transaction_start(ndb);
    if (transaction == NULL) die("start", ndb_error(ndb));
    struct ndb_operation *operation =
        insert ? ndb_insert(transaction, record, row, NULL)
               : ndb_read(transaction, record, row, record, &read, &exclusive);
    if (operation == NULL || ndb_execute(transaction, NDB_NO_COMMIT, TIMEOUT_MS) != 0)
        die("lock", ndb_transaction_error(transaction));
    printf("locked\n");
    (void)fflush(stdout);
    while (getchar() != EOF) {
    }
    ndb_transaction_close(transaction); /* Rolled back. */
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) return 2;
    const char *what = argc == 5 ? argv[4] : "insert";
    const struct ndb_field fields[] = {NDB_FIELD(struct row, key, argv[2])};
    const struct row row = {.key = (int32_t)strtol(argv[3], NULL, 10)};
    struct ndb_cluster_connection *connection = ndb_connection_create(NULL, NULL);
    ndb_t *ndb = NULL;

    if (connection == NULL || ndb_connection_connect(connection, TIMEOUT_MS) != 0 ||
        ndb_connection_wait_until_ready(connection, TIMEOUT_MS) < 0 ||
        (ndb = ndb_open(connection, "test")) == NULL) {
        fprintf(stderr, "no connection\n");
        return 1;
    }
    struct ndb_table *table = ndb_table_open(ndb, argv[1], TIMEOUT_MS);
    if (table == NULL) die("table", ndb_error(ndb));
    struct ndb_record *record = ndb_record_create(ndb, table, fields, 1, sizeof(row));
    if (record == NULL) die("record", ndb_error(ndb));
    if (strcmp(what, "delete") == 0) {
        while (!deletes(ndb, record, &row)) {
        }
        printf("deleted\n");
    } else {
        hold(ndb, record, &row, strcmp(what, "insert") == 0);
    }
    ndb_record_release(record);
    ndb_table_release(table);
    ndb_close(ndb);
    ndb_connection_free(connection);
    return 0;
}
