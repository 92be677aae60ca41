/* unique_create.c -- unique indexes are made of a table that has rows, and is in use. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "tests/cluster/schema_again.h"
#include "tests/cluster/unique_client.h"

#define NAME_TAKEN 4244
#define NO_INDEX   4243
#define NO_TABLE   723

#define LATER "CREATE UNIQUE INDEX later ON people (a)"

static void tell(void *context, uint64_t rows, uint64_t total)
{
    (void)context;
    want("no more rows than there are", rows <= total, true);
}

/* The error's number. */
static int create_index(ndb_t *ndb, const char *sql)
{
    const struct ndb_progress progress = {.tell = tell};
    time_t end = time(NULL) + SCHEMA_LIMIT_S;
    while (ndb_index_create(ndb, sql, NULL, &progress, 0) != 0) {
        if (!schema_again(ndb, end)) return ndb_error(ndb)->code;
    }
    return 0;
}

static void drop_index(struct client *client)
{
    time_t end = time(NULL) + SCHEMA_LIMIT_S;
    while (ndb_index_drop(client->ndb, "people", "later", 0) != 0) {
        if (!schema_again(client->ndb, end)) die("drop index", ndb_error(client->ndb));
    }
}

/* Neither the index nor the table that it would be. */
static void want_gone(struct client *client)
{
    struct ndb_table_info info;
    char name[64];
    client_reopen(client);
    want("an index that is not there", client->later == NULL, true);
    want("it is dropped", ndb_index_drop(client->ndb, "people", "later", 0), -1);
    want("its error", ndb_error(client->ndb)->code, NO_INDEX);
    ndb_table_describe(client->table, &info);
    snprintf(name, sizeof name, "sys/def/NDB$UNIQUE_%u_later", info.table_id);
    ndb_table_invalidate(client->ndb, name); /* Nobody is told of tables that are indexes. */
    want("its table", ndb_table_open(client->ndb, name, 0) == NULL, true);
    want("the error", ndb_error(client->ndb)->code, NO_TABLE);
}

/* As make_rows() made it, but for `a`. */
static void put_a(struct client *client, uint32_t id, int32_t a)
{
    struct row row = row_of(id, id);
    row.a = a;
    if (ndb_update_row(client->ndb, client->record, &row, 0) != 0)
        die("a row gets another a", ndb_error(client->ndb));
}

static void check_names(struct client *client)
{
    static const struct {
        const char *sql;
        int code;
    } cases[] = {
        {"CREATE UNIQUE INDEX EMAIL ON people (a)", NAME_TAKEN},
        {"CREATE UNIQUE INDEX by_b ON people (a)", NAME_TAKEN}, /* An ordered one. */
        {"CREATE INDEX email ON people (a)", NAME_TAKEN},
        {"CREATE UNIQUE INDEX IF NOT EXISTS email ON people (a)", 0},
        {"CREATE UNIQUE INDEX IF NOT EXISTS by_b ON people (a)", 0},
        {"CREATE UNIQUE INDEX later ON people (a, z)", 4004},
        {"CREATE UNIQUE INDEX later ON people (a, A)", 4258},
        {"CREATE UNIQUE INDEX later ON nobody (a)", NO_TABLE},
        {"CREATE UNIQUE INDEX later ON people (b)", DUPLICATE},
        {"CREATE UNIQUE INDEX later USING HASH ON test.people (b) USING HASH;", DUPLICATE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        want(cases[i].sql, create_index(client->ndb, cases[i].sql), cases[i].code);
    want_gone(client);
    verify_rows(client);
}

/* Two of all rows have one key; then none; then an index refuses that there are. */
static void check_one_duplicate(struct client *client)
{
    struct client before; /* This client does not know the index. */
    struct row row = row_of(7, 7);
    put_a(client, 7, 5);
    want("two rows have one key", create_index(client->ndb, LATER), DUPLICATE);
    want_gone(client);
    put_a(client, 6, 5); /* Nothing is left that would refuse another one. */
    want("three rows have one key", create_index(client->ndb, LATER), DUPLICATE);
    put_a(client, 7, 7);
    put_a(client, 6, 6);
    client_open(&before);
    want("no two rows have one key", create_index(client->ndb, LATER), 0);
    client_reopen(client);
    want("the index is there", client->later != NULL, true);
    verify_rows(client);
    want("it is made again", create_index(client->ndb, LATER), NAME_TAKEN);
    want("only if it is not there",
         create_index(client->ndb, "CREATE UNIQUE INDEX IF NOT EXISTS later ON people (a)"), 0);
    row.a = 5;
    check_duplicate(client, row, "later");
    check_duplicate(&before, row, "");
    row.nulls = 2;
    if (ndb_update_row(before.ndb, before.record, &row, 0) != 0) die("NULL", ndb_error(before.ndb));
    verify_rows(client);
    put_a(&before, 5, 1000000); /* What one row gives up another one can take. */
    put_a(client, 7, 5);
    verify_rows(client);
    put_a(&before, 7, 7);
    put_a(client, 5, 5);
    client_close(&before);
    drop_index(client);
    want_gone(client);
    put_a(client, 7, 5);
    put_a(client, 7, 7);
}

/* --- While a transaction is open. --- */

struct creation {
    pthread_t thread;
    ndb_t *ndb;
    int code;
};

static void *create_in_thread(void *context)
{
    struct creation *creation = context;
    creation->code = create_index(creation->ndb, LATER);
    return NULL;
}

/* The index is made while row 7 has the key of row 5, or has had it, in a transaction that ends
 * so. */
static void check_open(struct client *client, enum ndb_execute_type ends, int code)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    struct creation creation = {.ndb = ndb_open(connection, "test")};
    struct row row = row_of(7, 7);
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    row.a = 5;
    ndb_update(t, client->record, &row, client->record, &row, NULL);
    if (ndb_execute(t, NDB_NO_COMMIT, 0) != 0) die("an update", ndb_transaction_error(t));
    pthread_create(&creation.thread, NULL, create_in_thread, &creation);
    (void)nanosleep(&pause, NULL); /* It waits for the transaction, or will find what that did. */
    if (ndb_execute(t, ends, 0) != 0) die("the transaction ends", ndb_transaction_error(t));
    ndb_transaction_close(t);
    pthread_join(creation.thread, NULL);
    want("an index that is made meanwhile", creation.code, code);
    ndb_close(creation.ndb);
    client_reopen(client);
    want("it is there", client->later != NULL, code == 0);
    verify_rows(client);
}

int create(void)
{
    struct client client;
    make_rows(&client);
    check_names(&client);
    check_one_duplicate(&client);
    check_open(&client, NDB_COMMIT, DUPLICATE);
    put_a(&client, 7, 7);
    check_open(&client, NDB_ROLLBACK, 0);
    drop_index(&client);
    want_gone(&client);
    client_close(&client);
    printf("create: all is right\n");
    return 0;
}
