/* program_client.c -- programs and filters through the public interface, and one hot row under
 * failures. For the tests of this folder. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * program_client check            everything once; exit code 1 when something is wrong
 * program_client hammer THREADS SECONDS
 *                                 increments of one row by so many threads, each of its own ndb_t;
 *                                 then the row must hold as many as were answered, and at most
 *                                 those of unknown outcome more; no value was given out twice
 *
 * NDB_CONNECTSTRING names the cluster.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>

#define THREADS_MAX 64u
#define VALUES_MAX  4000000u
#define ROWS        300

struct row {
    uint32_t id;
    int64_t number;
    uint64_t stamp;
    char text[40];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, id, "id"),
    NDB_FIELD(struct row, number, "number"),
    NDB_FIELD(struct row, stamp, "stamp"),
    NDB_FIELD_STRING(struct row, text, "text"),
};
enum { ID, NUMBER, STAMP, TEXT };

static struct ndb_cluster_connection *connection;

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    printf("%s: %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

static void want(const char *what, int64_t is, int64_t should)
{
    if (is == should) return;
    printf("%s: %lld instead of %lld\n", what, (long long)is, (long long)should);
    exit(1);
}

struct client {
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
};

static void client_open(struct client *client)
{
    client->ndb = ndb_open(connection, "test");
    client->table = ndb_table_open(client->ndb, "program", 0);
    if (client->table == NULL) die("table", ndb_error(client->ndb));
    client->record = ndb_record_create(client->ndb, client->table, fields, 4, sizeof(struct row));
    if (client->record == NULL) die("record", ndb_error(client->ndb));
}

static void client_close(struct client *client)
{
    ndb_record_release(client->record);
    ndb_table_release(client->table);
    ndb_close(client->ndb);
}

static void make_rows(struct client *client)
{
    static struct row rows[ROWS];
    static const char sql[] =
        "CREATE TABLE program (id INT UNSIGNED NOT NULL PRIMARY KEY, number BIGINT NOT NULL, "
        "stamp BIGINT UNSIGNED NOT NULL, text VARCHAR(10) NOT NULL)";
    client->ndb = ndb_open(connection, "test");
    ndb_table_drop(client->ndb, "program", 0);
    if (ndb_table_create(client->ndb, sql, NULL, 0) != 0) die("create", ndb_error(client->ndb));
    ndb_close(client->ndb);
    client_open(client);
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = (struct row){.id = i, .number = (int64_t)i * 10, .stamp = 1000};
        snprintf(rows[i].text, sizeof rows[i].text, "row %c%u", 'a' + i % 3, i % 7);
    }
    want("rows inserted",
         ndb_change_many(client->ndb, NDB_INSERT, client->record, rows, sizeof rows[0], ROWS, NULL,
                         0),
         ROWS);
}

/* --- Operations. --- */

/* One operation, committed. Returns its error's number. */
static int execute(struct client *client, enum ndb_operation_type type, const struct row *row,
                   const struct ndb_program *program, struct row *result)
{
    const struct ndb_operation_options options = {
        .program = program,
        .result_record = result == NULL ? NULL : client->record,
        .result = result,
    };
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    const struct ndb_operation *operation =
        type == NDB_UPDATE  ? ndb_update(t, client->record, row, client->record, row, &options)
        : type == NDB_WRITE ? ndb_write(t, client->record, row, &options)
                            : ndb_delete(t, client->record, row, &options);
    if (operation == NULL) die("operation", ndb_transaction_error(t));
    int code = ndb_execute(t, NDB_COMMIT, 0) == 0 ? 0 : ndb_transaction_error(t)->code;
    ndb_transaction_close(t);
    return code;
}

static struct ndb_program *finished(struct ndb_program *program)
{
    if (ndb_program_finish(program) != 0) die("program", ndb_program_error(program));
    return program;
}

static void check_increment(struct client *client)
{
    const struct row key = {.id = 5};
    int64_t value = 0;
    if (ndb_increment(client->ndb, client->record, &key, NUMBER, 7, &value, 0) != 0)
        die("increment", ndb_error(client->ndb));
    want("increment", value, 57);
    if (ndb_increment(client->ndb, client->record, &key, NUMBER, -7, &value, 0) != 0)
        die("decrement", ndb_error(client->ndb));
    want("decrement", value, 50);
    const struct row none = {.id = 100000};
    want("increment of no row",
         ndb_increment(client->ndb, client->record, &none, NUMBER, 1, &value, 0), -1);
    want("its error", ndb_error(client->ndb)->code, 626);
    want("increment of text", ndb_increment(client->ndb, client->record, &key, TEXT, 1, &value, 0),
         -1);
    want("its error", ndb_error(client->ndb)->code, 4539);
    /* Out of range: nothing happens. */
    want("increment too far",
         ndb_increment(client->ndb, client->record, &key, NUMBER, INT64_MAX, &value, 0), -1);
    want("its error", ndb_error(client->ndb)->code, 4314);
}

/* Written when it is newer, or new. */
static void check_write_if_newer(struct client *client)
{
    struct row row = {.id = 1000, .number = 1, .stamp = 50, .text = "first"};
    struct row got;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t stamp = 50 + 10 * (uint64_t)(i == 2 ? 0 : i); /* 50, 60, 50 */
        struct ndb_program *p = ndb_program_create(client->ndb, client->table);
        ndb_program_branch_value(p, STAMP, NDB_LT, &stamp, 8, 1);
        ndb_program_refuse(p, 6050);
        ndb_program_label(p, 1);
        ndb_program_exit_ok(p);
        row.stamp = stamp;
        row.number = i;
        int code = execute(client, NDB_WRITE, &row, finished(p), &got);
        want("write if newer", code, i == 2 ? 6050 : 0);
        if (i < 2) want("what is written", got.number, i);
        ndb_program_free(p);
    }
    if (ndb_read_row(client->ndb, client->record, &got, 0) != 0)
        die("read", ndb_error(client->ndb));
    want("newest", got.number, 1);
}

static void check_delete(struct client *client)
{
    const struct row key = {.id = 1000};
    struct row got = {0};
    struct ndb_filter *filter = ndb_filter_create(client->ndb, client->table);
    ndb_filter_begin(filter, NDB_OR);
    ndb_filter_text(filter, STAMP, NDB_GT, "1000", 4);
    ndb_filter_text(filter, TEXT, NDB_LIKE, "x%", 2);
    ndb_filter_end(filter);
    want("delete of what does not fit",
         execute(client, NDB_DELETE, &key, ndb_filter_program(filter), NULL), 626);
    ndb_filter_free(filter);
    filter = ndb_filter_create(client->ndb, client->table);
    ndb_filter_text(filter, TEXT, NDB_LIKE, "f_rst", 5);
    want("delete of what fits", execute(client, NDB_DELETE, &key, ndb_filter_program(filter), &got),
         0);
    want("the deleted row", got.number, 1);
    want("delete again", execute(client, NDB_DELETE, &key, NULL, NULL), 626);
    ndb_filter_free(filter);
}

/* Column by column, as programs that learn the table at run time do it. */
static void check_by_column(struct client *client)
{
    const uint32_t id = 6;
    const void *value;
    uint32_t size;
    int64_t number;
    struct ndb_program *p = ndb_program_create(client->ndb, client->table);
    ndb_program_load(p, 0, NUMBER);
    ndb_program_compute(p, NDB_MULTIPLY, 0, 0, 0);
    ndb_program_store(p, NUMBER, 0);
    ndb_program_store_value(p, TEXT, "\003sqr", 4);
    ndb_program_exit_ok(p);
    const struct ndb_operation_options options = {.program = finished(p)};
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    struct ndb_operation *operation = ndb_operation_define(t, client->table, NDB_UPDATE, &options);
    ndb_program_free(p); /* It was copied. */
    ndb_operation_set(operation, ID, &id, sizeof id);
    ndb_operation_get(operation, NUMBER);
    ndb_operation_get(operation, TEXT);
    if (ndb_execute(t, NDB_COMMIT, 0) != 0) die("by column", ndb_transaction_error(t));
    want("number came", ndb_operation_value(operation, NUMBER, &value, &size), 0);
    memcpy(&number, value, sizeof number);
    want("square", number, 3600);
    want("text came", ndb_operation_value(operation, TEXT, &value, &size), 0);
    want("text", memcmp(value, "\003sqr", 4), 0);
    ndb_transaction_close(t);
}

/* --- Scans. --- */

static uint32_t scan_rows(struct client *client, const struct ndb_program *program, uint32_t limit,
                          enum ndb_lock_mode lock)
{
    const struct ndb_scan_options options = {.lock = lock, .program = program, .limit = limit};
    struct ndb_scan *scan = ndb_scan_start(client->ndb, client->record, &options, 0);
    const void *row;
    uint32_t count = 0;
    int result;
    if (scan == NULL) die("scan", ndb_error(client->ndb));
    while ((result = ndb_scan_next(scan, &row, 0)) == 1) {
        count++;
        if (program == NULL) continue;
        const struct row *found = row;
        if (found->number < 1000 || strncmp(found->text, "row b", 5) != 0) {
            printf("row %u does not fit\n", found->id);
            exit(1);
        }
    }
    if (result != 0) die("scan", ndb_scan_error(scan));
    ndb_scan_close(scan);
    return count;
}

static void check_scans(struct client *client)
{
    uint32_t expected = 0;
    uint64_t count = 0;
    const int64_t least = 1000;
    const uint32_t few[] = {7, 8, 9, 100000};
    for (uint32_t i = 0; i < ROWS; i++)
        expected += i >= 100 && i % 3 == 1;
    struct ndb_filter *filter = ndb_filter_create(client->ndb, client->table);
    ndb_filter_compare(filter, NUMBER, NDB_GE, &least, sizeof least);
    ndb_filter_text(filter, TEXT, NDB_LIKE, "row b%", 6);
    const struct ndb_program *program = ndb_filter_program(filter);
    if (program == NULL) die("filter", ndb_filter_error(filter));
    for (int lock = NDB_LOCK_SHARED; lock <= NDB_COMMITTED_READ; lock++) {
        enum ndb_lock_mode mode = (enum ndb_lock_mode)lock;
        want("rows that fit", scan_rows(client, program, 0, mode), expected);
        want("the first of them", scan_rows(client, program, 5, mode), 5);
        want("more than there are", scan_rows(client, program, 1000, mode), expected);
        want("any", scan_rows(client, NULL, 17, mode), 17);
    }
    if (ndb_scan_count_where(client->ndb, client->table, program, &count, 0) != 0)
        die("count", ndb_error(client->ndb));
    want("counted", (int64_t)count, expected);
    ndb_filter_free(filter);
    filter = ndb_filter_create(client->ndb, client->table);
    ndb_filter_in(filter, ID, false, few, sizeof few[0], 4);
    if (ndb_scan_count_where(client->ndb, client->table, ndb_filter_program(filter), &count, 0))
        die("count", ndb_error(client->ndb));
    want("in", (int64_t)count, 3);
    ndb_filter_free(filter);
}

static int check(void)
{
    struct client client;
    make_rows(&client);
    check_increment(&client);
    check_write_if_newer(&client);
    check_delete(&client);
    check_by_column(&client);
    client_close(&client);
    make_rows(&client);
    check_scans(&client);
    client_close(&client);
    printf("programs and filters: all is right\n");
    return 0;
}

/* --- One hot row. --- */

struct hammer {
    pthread_t thread;
    double seconds;
    uint64_t good, unknown, failed;
    int32_t last_code; /* Code of the last failed one. */
    uint32_t values;
    int64_t *value;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *hammer_main(void *argument)
{
    struct hammer *hammer = argument;
    struct client client;
    const struct row key = {.id = 0};
    client_open(&client);
    double end = now_s() + hammer->seconds;
    while (now_s() < end) {
        int64_t value;
        if (ndb_increment(client.ndb, client.record, &key, NUMBER, 1, &value, 20000) == 0) {
            hammer->good++;
            if (hammer->values < VALUES_MAX / THREADS_MAX) hammer->value[hammer->values++] = value;
        } else if (ndb_error(client.ndb)->status == NDB_STATUS_UNKNOWN) {
            hammer->unknown++;
        } else if (ndb_error(client.ndb)->code == 4115) { /* Committed; the value was lost. */
            hammer->good++;
        } else if (ndb_error(client.ndb)->status == NDB_STATUS_TEMPORARY) {
            hammer->failed++;
            hammer->last_code = ndb_error(client.ndb)->code;
        } else {
            die("increment", ndb_error(client.ndb));
        }
    }
    client_close(&client);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void no_value_twice(struct hammer *hammer, uint32_t threads)
{
    int64_t *all = malloc(VALUES_MAX * sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < threads; i++) {
        memcpy(all + count, hammer[i].value, hammer[i].values * sizeof *all);
        count += hammer[i].values;
    }
    qsort(all, count, sizeof *all, by_value);
    for (uint32_t i = 1; i < count; i++) {
        if (all[i] == all[i - 1]) want("a value given out twice", all[i], -1);
    }
    free(all);
}

static int hammer(uint32_t threads, double seconds)
{
    static struct hammer hammers[THREADS_MAX];
    struct client client;
    uint64_t good = 0, unknown = 0, failed = 0;
    make_rows(&client);
    for (uint32_t i = 0; i < threads; i++) {
        hammers[i].seconds = seconds;
        hammers[i].value = malloc(VALUES_MAX / THREADS_MAX * sizeof(int64_t));
        pthread_create(&hammers[i].thread, NULL, hammer_main, &hammers[i]);
    }
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(hammers[i].thread, NULL);
        good += hammers[i].good;
        unknown += hammers[i].unknown;
        failed += hammers[i].failed;
    }
    for (uint32_t i = 0; i < threads; i++) {
        if (hammers[i].failed == 0) continue;
        printf("thread %u: %llu failed, the last one with %d\n", i,
               (unsigned long long)hammers[i].failed, hammers[i].last_code);
    }
    struct row row = {.id = 0};
    if (ndb_read_row(client.ndb, client.record, &row, 30000) != 0)
        die("read", ndb_error(client.ndb));
    printf("hammer: good=%llu unknown=%llu failed=%llu value=%lld rate=%.0f\n",
           (unsigned long long)good, (unsigned long long)unknown, (unsigned long long)failed,
           (long long)row.number, (double)good / seconds);
    if (row.number < (int64_t)good || row.number > (int64_t)(good + unknown))
        want("the row's number", row.number, (int64_t)good);
    no_value_twice(hammers, threads);
    client_close(&client);
    return good > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    connection = ndb_connection_create(NULL, NULL);
    ndb_error_t error;
    if (ndb_connection_connect(connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(connection, 30000) < 0) {
        ndb_connection_error(connection, &error);
        die("connect", &error);
    }
    int result = 2;
    if (argc == 2 && strcmp(argv[1], "check") == 0) result = check();
    if (argc == 4 && strcmp(argv[1], "hammer") == 0 && atoi(argv[2]) <= (int)THREADS_MAX)
        result = hammer((uint32_t)atoi(argv[2]), atof(argv[3]));
    ndb_connection_free(connection);
    return result;
}
