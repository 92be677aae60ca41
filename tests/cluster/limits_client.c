/* limits_client.c -- fills a cluster up to its limits and says which errors it met. For the tests
 * of this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * limits_client MODE FIRST COUNT [BATCH]
 *
 * NDB_CONNECTSTRING names the cluster; rows have 16 + 84 bytes. Modes:
 *
 *   load, verify, delete   rows FIRST..FIRST+COUNT-1, BATCH per call; every value is checked
 *   absent                 none of these rows exists
 *   scan                   a full scan, every value checked; COUNT rows are expected
 *   open                   COUNT transactions with one insert each are held open at the same time,
 *                          then rolled back
 *   big                    one transaction with COUNT inserts, then rollback
 *   read                   reads rows FIRST..FIRST+COUNT-1 for ever, BATCH per call
 *
 * Prints one line "MODE: good=N bad=N seconds=S rate=R" and one "error CODE: N CLASS, STATUS" per
 * number met. Exit code 0 when there was no error, 3 when there were errors, 1 when something is
 * wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>

#define BATCH_MAX 4096u
#define CODES_MAX 32u

struct row {
    char key[16];
    char value[84];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, key, "k"),
    NDB_FIELD(struct row, value, "v"),
};

struct client {
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
    uint64_t good;
    uint64_t bad;
    struct {
        int32_t code;
        uint64_t count;
    } errors[CODES_MAX];
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "%s: error %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static void count_error(struct client *client, int32_t code)
{
    client->bad++;
    for (uint32_t i = 0; i < CODES_MAX; i++) {
        if (client->errors[i].count != 0 && client->errors[i].code != code) continue;
        client->errors[i].code = code;
        client->errors[i].count++;
        return;
    }
}

/* Key: the number in hexadecimal; value: 84 bytes that only this number has. */
static void row_make(struct row *row, uint64_t number, int with_value)
{
    uint64_t state = number * 0x9E3779B97F4A7C15u + 1;
    for (uint32_t i = 0; i < 16; i++)
        row->key[i] = "0123456789abcdef"[(number >> (60 - 4 * i)) & 15];
    if (!with_value) {
        memset(row->value, 0, sizeof row->value);
        return;
    }
    for (uint32_t at = 0; at < sizeof row->value; at += 4) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t part = (uint32_t)(state >> 32);
        memcpy(row->value + at, &part, 4);
    }
}

static void check_row(const struct row *row, uint64_t number)
{
    struct row expected;
    row_make(&expected, number, 1);
    if (memcmp(&expected, row, sizeof expected) == 0) return;
    fprintf(stderr, "row %llu has a wrong value\n", (unsigned long long)number);
    exit(1);
}

static void open_client(struct client *client)
{
    ndb_error_t error;
    struct ndb_connection_options options = {.name = "limits_client", .default_timeout_ms = 30000};
    client->connection = ndb_connection_create(NULL, &options);
    if (ndb_connection_connect(client->connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(client->connection, 30000) < 0) {
        ndb_connection_error(client->connection, &error);
        die("connect", &error);
    }
    client->ndb = ndb_open(client->connection, "test");
    if (ndb_table_create(client->ndb,
                         "CREATE TABLE IF NOT EXISTS limits (k BINARY(16) NOT NULL PRIMARY KEY, v "
                         "BINARY(84) NOT NULL)",
                         NULL, 0) != 0)
        die("create table", ndb_error(client->ndb));
    client->table = ndb_table_open(client->ndb, "limits", 0);
    if (client->table == NULL) die("open table", ndb_error(client->ndb));
    client->record = ndb_record_create(client->ndb, client->table, fields, 2, sizeof(struct row));
    if (client->record == NULL) die("record", ndb_error(client->ndb));
}

static void close_client(struct client *client)
{
    ndb_record_release(client->record);
    ndb_table_release(client->table);
    ndb_close(client->ndb);
    ndb_connection_free(client->connection);
}

/* Many rows in calls of `batch`. `expected`: the code that counts as good. */
static void run_batches(struct client *client, const char *mode, uint64_t first, uint64_t count,
                        uint32_t batch)
{
    static struct row rows[BATCH_MAX];
    static int32_t codes[BATCH_MAX];
    int load = strcmp(mode, "load") == 0;
    int delete = strcmp(mode, "delete") == 0;
    int32_t wanted = strcmp(mode, "absent") == 0 ? 626 : 0;
    for (uint64_t at = 0; at < count; at += batch) {
        uint32_t n = count - at < batch ? (uint32_t)(count - at) : batch;
        for (uint32_t i = 0; i < n; i++)
            row_make(&rows[i], first + at + i, load);
        int result =
            load || delete
                ? ndb_change_many(client->ndb, load ? NDB_WRITE : NDB_DELETE, client->record, rows,
                                  sizeof rows[0], n, codes, 0)
                : ndb_read_many(client->ndb, client->record, rows, sizeof rows[0], n, codes, 0);
        if (result < 0) die(mode, ndb_error(client->ndb));
        for (uint32_t i = 0; i < n; i++) {
            if (codes[i] != wanted) {
                count_error(client, codes[i]);
                continue;
            }
            if (!load && !delete &&wanted == 0) check_row(&rows[i], first + at + i);
            client->good++;
        }
    }
}

static uint64_t number_of_key(const char *key)
{
    char text[17] = {0};
    memcpy(text, key, 16);
    return strtoull(text, NULL, 16);
}

static void run_scan(struct client *client, uint64_t count)
{
    const void *row = NULL;
    int result = 0;
    struct ndb_scan *scan = ndb_scan_start(client->ndb, client->record, NULL, 0);
    if (scan == NULL) die("scan", ndb_error(client->ndb));
    while ((result = ndb_scan_next(scan, &row, 0)) == 1) {
        check_row(row, number_of_key(((const struct row *)row)->key));
        client->good++;
    }
    if (result < 0) die("scan", ndb_scan_error(scan));
    ndb_scan_close(scan);
    if (client->good == count) return;
    fprintf(stderr, "%llu rows instead of %llu\n", (unsigned long long)client->good,
            (unsigned long long)count);
    exit(1);
}

static void run_open(struct client *client, uint64_t first, uint64_t count)
{
    struct row row;
    struct ndb_transaction **open = calloc(count, sizeof *open);
    for (uint64_t i = 0; i < count; i++) {
        row_make(&row, first + i, 1);
        open[i] = ndb_transaction_start(client->ndb);
        if (open[i] == NULL) die("start", ndb_error(client->ndb));
        if (ndb_insert(open[i], client->record, &row, NULL) == NULL ||
            ndb_execute(open[i], NDB_NO_COMMIT, 0) != 0)
            count_error(client, ndb_transaction_error(open[i])->code);
        else
            client->good++;
    }
    for (uint64_t i = 0; i < count; i++)
        ndb_transaction_close(open[i]);
    free(open);
}

static void run_big(struct client *client, uint64_t first, uint64_t count)
{
    struct row row;
    struct ndb_transaction *transaction = ndb_transaction_start(client->ndb);
    if (transaction == NULL) die("start", ndb_error(client->ndb));
    for (uint64_t i = 0; i < count; i++) {
        row_make(&row, first + i, 1);
        if (ndb_insert(transaction, client->record, &row, NULL) != NULL) continue;
        count_error(client, ndb_transaction_error(transaction)->code);
        ndb_transaction_close(transaction);
        return;
    }
    if (ndb_execute(transaction, NDB_NO_COMMIT, 0) != 0)
        count_error(client, ndb_transaction_error(transaction)->code);
    else
        client->good = count;
    ndb_transaction_close(transaction);
}

static int report(const struct client *client, const char *mode, double seconds)
{
    printf("%s: good=%llu bad=%llu seconds=%.2f rate=%.0f\n", mode,
           (unsigned long long)client->good, (unsigned long long)client->bad, seconds,
           (double)(client->good + client->bad) / seconds);
    for (uint32_t i = 0; i < CODES_MAX && client->errors[i].count != 0; i++) {
        static const char *const statuses[] = {"success", "temporary", "permanent", "unknown"};
        ndb_error_t error;
        ndb_error_lookup(client->errors[i].code, &error);
        printf("error %d: %llu %s, %s\n", error.code, (unsigned long long)client->errors[i].count,
               error.class_name, statuses[error.status]);
    }
    return client->bad == 0 ? 0 : 3;
}

int main(int argc, char **argv)
{
    struct client client = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: limits_client load|verify|delete|absent|scan|open|big|read FIRST "
                        "COUNT [BATCH]\n");
        return 2;
    }
    const char *mode = argv[1];
    uint64_t first = strtoull(argv[2], NULL, 10);
    uint64_t count = strtoull(argv[3], NULL, 10);
    uint32_t batch = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 256;
    if (batch == 0 || batch > BATCH_MAX) batch = BATCH_MAX;
    open_client(&client);
    double start = now_s();
    if (strcmp(mode, "scan") == 0)
        run_scan(&client, count);
    else if (strcmp(mode, "open") == 0)
        run_open(&client, first, count);
    else if (strcmp(mode, "big") == 0)
        run_big(&client, first, count);
    else
        do
            run_batches(&client, mode, first, count, batch);
        while (strcmp(mode, "read") == 0);
    int result = report(&client, mode, now_s() - start);
    close_client(&client);
    return result;
}
