/* callback_client.c -- calls on what is being executed, and callbacks that close what a call waits
 * for. For batches.sh, with its table. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ndb/ndb.h>

#define TIMEOUT_MS 60000u
#define TRIES      1000u

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
    struct ndb_table *table;
    struct ndb_record *record;
    uint32_t ended;   /* Callbacks that have run. */
    uint32_t refused; /* Closes that were refused in them. */
    /* The one that a call waits for while a callback may run. */
    struct ndb_transaction *executed;
    struct ndb_scan *scanned;
    /* What a callback closes, and does it begin and drop reads, too? */
    struct ndb_transaction *other;
    uint32_t drops;
};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static void want(const char *what, int64_t is, int64_t wanted)
{
    if (is == wanted) return;
    fprintf(stderr, "%s is %lld, not %lld\n", what, (long long)is, (long long)wanted);
    exit(1);
}

static struct ndb_transaction *begin(struct client *client)
{
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    if (t == NULL) die("start", ndb_error(client->ndb));
    return t;
}

static struct ndb_transaction *begin_write(struct client *client, uint32_t value)
{
    struct ndb_transaction *t = begin(client);
    struct row row = {.key = 1, .value = value};
    if (ndb_write(t, client->record, &row, NULL) == NULL) die("write", ndb_transaction_error(t));
    return t;
}

/* Its write is executed: it has the row's lock until it ends. */
static struct ndb_transaction *begin_locking(struct client *client, uint32_t value)
{
    struct ndb_transaction *t = begin_write(client, value);
    if (ndb_execute(t, NDB_NO_COMMIT, TIMEOUT_MS) != 0)
        die("locking write", ndb_transaction_error(t));
    return t;
}

static void poll_all(struct client *client)
{
    while (ndb_pending(client->ndb) > 0)
        (void)ndb_poll(client->ndb, TIMEOUT_MS, 1);
}

static void ended(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    client->ended++;
    if (result != 0) die("the asynchronous one", ndb_transaction_error(t));
    if (client->executed != NULL) {
        ndb_transaction_close(client->executed);
        want("the error of the close", ndb_error(client->ndb)->code, 4507);
        client->refused++;
    }
    if (client->scanned != NULL) {
        ndb_scan_close(client->scanned);
        want("the error of the scan's close", ndb_error(client->ndb)->code, 4507);
        want("a row in a callback", ndb_scan_next(client->scanned, NULL, TIMEOUT_MS), -1);
        want("its error", ndb_error(client->ndb)->code, 4507);
        want("a try in a callback", ndb_scan_try_next(client->scanned, NULL), -1);
        want("its error", ndb_error(client->ndb)->code, 4507);
        want("what the scan keeps", ndb_scan_error(client->scanned)->code, 0);
        client->refused++;
    }
}

static void begin_async(struct client *client, struct ndb_transaction *t)
{
    if (ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, ended, client) != 0)
        die("asynchronous execute", ndb_transaction_error(t));
}

/* A call on a transaction that is being executed is refused, and takes nothing from who waits. */
static void execute_twice(struct client *client)
{
    struct ndb_transaction *t = begin_write(client, 1);
    client->ended = 0;
    if (ndb_execute_async(t, NDB_NO_COMMIT, TIMEOUT_MS, ended, client) != 0)
        die("asynchronous execute", ndb_transaction_error(t));
    want("a second execute", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), -1);
    want("its error", ndb_transaction_error(t)->code, 4100);
    want("a second asynchronous execute",
         ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, ended, client), -1);
    want("pending", ndb_pending(client->ndb), 1);
    want("completions", ndb_poll(client->ndb, TIMEOUT_MS, 1), 1);
    want("callbacks", client->ended, 1);
    want("pending at the end", ndb_pending(client->ndb), 0);
    want("the error that is left", ndb_transaction_error(t)->code, 0);
    want("a commit behind that", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), 0);
    ndb_transaction_close(t);
}

/* A refused call says nothing of the batch, and hides no operation of it that could not be defined:
 * the others are not committed without it. */
enum wrong { WRONG_OPTIONS, WRONG_COLUMN, TOO_LATE };

static void refuse_then_define(struct client *client, enum wrong wrong)
{
    struct ndb_transaction *t = begin(client);
    struct row row = {.key = 7, .value = 7};
    const uint32_t other = 8;
    const struct ndb_operation_options options = {.flags = UINT32_MAX};
    struct ndb_operation *op = NULL;
    want("an asynchronous execute without a callback",
         ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, NULL, NULL), -1);
    want("its error", ndb_transaction_error(t)->code != 0, 1);
    want("the same in the ndb_t", ndb_error(client->ndb)->code, ndb_transaction_error(t)->code);
    if (wrong == WRONG_OPTIONS) {
        want("wrong options", ndb_insert(t, client->record, &row, &options) == NULL, 1);
    } else {
        op = ndb_operation_define(t, client->table, NDB_INSERT, NULL);
        if (op == NULL) die("define", ndb_transaction_error(t));
        want("the key's column", ndb_operation_set(op, 0, &other, sizeof other), 0);
        want("a column too long, or not",
             ndb_operation_set(op, 1, &row, wrong == TOO_LATE ? 4 : 77),
             wrong == TOO_LATE ? 0 : -1);
        want("the last column", ndb_operation_set(op, 2, row.text, sizeof row.text), 0);
    }
    if (ndb_insert(t, client->record, &row, NULL) == NULL) die("insert", ndb_transaction_error(t));
    if (wrong == TOO_LATE)
        want("a column of the one before", ndb_operation_set(op, 1, &other, sizeof other), -1);
    int32_t defined = ndb_transaction_error(t)->code;
    want("a commit of what is not whole", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), -1);
    want("is it told", ndb_error(client->ndb)->code != 0, 1);
    if (wrong != WRONG_COLUMN)
        want("the error of the commit", ndb_transaction_error(t)->code, defined);
    ndb_transaction_close(t);
    want("a read of what was in it", ndb_read_row(client->ndb, client->record, &row, TIMEOUT_MS),
         -1);
    want("there is no such row", ndb_error(client->ndb)->code, 626);
}

/* The callback runs inside the wait for the row's lock, as a rule. */
static void close_executed(struct client *client)
{
    client->refused = 0;
    for (uint32_t i = 0; i < TRIES && client->refused == 0; i++) {
        struct ndb_transaction *first = begin_locking(client, 2);
        struct ndb_transaction *second = begin_write(client, 3);
        begin_async(client, first);
        client->executed = second;
        if (ndb_execute(second, NDB_COMMIT, TIMEOUT_MS) != 0)
            die("second write", ndb_transaction_error(second));
        client->executed = NULL;
        poll_all(client);
        ndb_transaction_close(first);
        ndb_transaction_close(second);
    }
    want("was a close tried in a wait", client->refused != 0, 1);
}

static void close_scanned(struct client *client)
{
    const struct ndb_scan_options options = {.lock = NDB_LOCK_EXCLUSIVE};
    client->refused = 0;
    for (uint32_t i = 0; i < TRIES && client->refused == 0; i++) {
        struct ndb_transaction *first = begin_locking(client, 4);
        struct ndb_scan *scan = ndb_scan_start(client->ndb, client->record, &options, TIMEOUT_MS);
        if (scan == NULL) die("scan", ndb_error(client->ndb));
        begin_async(client, first);
        client->scanned = scan;
        want("a row", ndb_scan_next(scan, NULL, TIMEOUT_MS), 1);
        client->scanned = NULL;
        poll_all(client);
        ndb_scan_close(scan);
        ndb_transaction_close(first);
    }
    want("was a scan's close tried in a wait", client->refused != 0, 1);
}

static void reads_ended(void *context)
{
    (void)context;
    want("callbacks of reads that were dropped", 1, 0);
}

static void close_other(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    struct row row = {.key = 1};
    struct ndb_row_read read = {.record = client->record, .row = &row};
    struct ndb_reads *reads = NULL;
    (void)t;
    want("the first one's result", result, 0);
    if (client->drops)
        reads = ndb_reads_begin(client->ndb, &read, 1, TIMEOUT_MS, reads_ended, client);
    want("are there reads", reads != NULL, client->drops);
    ndb_transaction_close(client->other);
    ndb_reads_drop(reads);
}

/* The last that a poll waits for is closed or dropped in a callback: nothing is left to wait for.
 */
static void close_polled(struct client *client)
{
    for (client->drops = 0; client->drops < 2; client->drops++) {
        struct ndb_transaction *first = begin_locking(client, 5);
        client->other = begin_write(client, 6); /* It waits for the row's lock. */
        begin_async(client, client->other);
        if (ndb_execute_async(first, NDB_COMMIT, TIMEOUT_MS, close_other, client) != 0)
            die("first commit", ndb_transaction_error(first));
        want("a poll", ndb_poll(client->ndb, NDB_NO_TIMEOUT, 4) > 0, 1);
        want("pending behind the poll", ndb_pending(client->ndb), 0);
        ndb_transaction_close(first);
    }
}

static void no_ranges(struct client *client)
{
    const struct ndb_scan_options options = {.range_count = 1};
    uint64_t count = 0;
    want("a scan of ranges that are not there",
         ndb_scan_start(client->ndb, client->record, &options, TIMEOUT_MS) == NULL, 1);
    want("its error", ndb_error(client->ndb)->code, 4259);
    want("a count of them",
         ndb_scan_count_ranges(client->ndb, client->table, NULL, 2, NULL, &count, TIMEOUT_MS), -1);
    want("its error", ndb_error(client->ndb)->code, 4259);
    want("a count of all",
         ndb_scan_count_range(client->ndb, client->table, NULL, NULL, &count, TIMEOUT_MS), 0);
    want("rows", (int64_t)count, 1);
}

static void delete_row(struct client *client)
{
    struct ndb_transaction *t = begin(client);
    struct row row = {.key = 1};
    if (ndb_delete(t, client->record, &row, NULL) == NULL ||
        ndb_execute(t, NDB_COMMIT, TIMEOUT_MS) != 0)
        die("delete", ndb_transaction_error(t));
    ndb_transaction_close(t);
}

int main(void)
{
    struct client client = {.ndb = NULL};
    struct ndb_connection_options options = {.name = "callback_client"};
    struct ndb_cluster_connection *connection = ndb_connection_create(NULL, &options);
    ndb_error_t error;
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    client.ndb = ndb_open(connection, "test");
    client.table = ndb_table_open(client.ndb, "batch", 0);
    if (client.table == NULL) die("table", ndb_error(client.ndb));
    client.record = ndb_record_create(client.ndb, client.table, fields, 3, sizeof(struct row));
    if (client.record == NULL) die("record", ndb_error(client.ndb));
    execute_twice(&client);
    refuse_then_define(&client, WRONG_OPTIONS);
    refuse_then_define(&client, WRONG_COLUMN);
    refuse_then_define(&client, TOO_LATE);
    close_executed(&client);
    close_scanned(&client);
    close_polled(&client);
    no_ranges(&client);
    delete_row(&client);
    ndb_record_release(client.record);
    ndb_table_release(client.table);
    ndb_close(client.ndb);
    ndb_connection_free(connection);
    return 0;
}
