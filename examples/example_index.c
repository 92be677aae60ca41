/* example_index.c -- an index that is made while its table is used, a range of it, and increments
 * of one row. */
/* SPDX-License-Identifier: MIT */
/*
 * Usage: example_index [CONNECT-STRING]
 * On the package table that sandbox.sh loads: the index is made while another thread changes rows;
 * then the library says which way leads to the rows of a condition, and they are read in the
 * index's order. Then threads increment a counter, each taking numbers for rows of its own. It
 * checks what it sees: exit code 1 when anything is not as it must be.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime and sigaction, with -std=c11, too. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "example_common.h"

#define INDEX      "by_section"
#define COUNTER    "example_index_counter" /* Nobody else's. */
#define THREADS    4u
#define INCREMENTS 250u /* Increments by each thread. */
#define SHOWN      5u

/* A row as this program wants it. */
struct package {
    char name[121];
    char architecture[21];
    char section[61];
    uint32_t installed_kb;
};

static const struct ndb_field package_fields[] = {
    NDB_FIELD_STRING(struct package, name, "name"),
    NDB_FIELD_STRING(struct package, architecture, "architecture"),
    NDB_FIELD_STRING(struct package, section, "section"),
    NDB_FIELD(struct package, installed_kb, "installed_kb"),
};

static struct ndb_cluster_connection *connection;

static _Noreturn void wrong(const char *what)
{
    printf("MISMATCH: %s\n", what);
    exit(1);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct ndb_table *open_table(ndb_t *ndb, const char *name)
{
    struct ndb_table *table = ndb_table_open(ndb, name, 0);
    if (table == NULL) fail(name, ndb_error(ndb));
    return table;
}

static struct ndb_record *package_record(ndb_t *ndb, struct ndb_table *table)
{
    struct ndb_record *record =
        ndb_record_create(ndb, table, package_fields,
                          sizeof package_fields / sizeof package_fields[0], sizeof(struct package));
    if (record == NULL) fail("record", ndb_error(ndb));
    return record;
}

/* ---- 1. An index is made, the table is in use ---- */

struct user {
    pthread_t thread;
    atomic_bool stop;
    atomic_uint changes;
};

static struct package some_package(ndb_t *ndb, const struct ndb_record *record)
{
    const struct ndb_scan_options options = {.limit = 1};
    struct package package;
    struct ndb_scan *scan = ndb_scan_start(ndb, record, &options, 0);
    if (scan == NULL || ndb_scan_next_copy(scan, &package, 0) != 1) wrong("the table is empty");
    ndb_scan_close(scan);
    return package;
}

/* Changes a column of the index to and fro, until it is told to stop. */
static void *use_table(void *context)
{
    struct user *user = context;
    ndb_t *ndb = ndb_open(connection, "sandbox");
    struct ndb_table *table = open_table(ndb, "package");
    struct ndb_record *record = package_record(ndb, table);
    struct package package = some_package(ndb, record);
    const struct ndb_field key[] = {
        NDB_FIELD_STRING(struct package, name, "name"),
        NDB_FIELD_STRING(struct package, architecture, "architecture"),
    };
    struct ndb_record *key_record = ndb_record_create(ndb, table, key, 2, sizeof package);
    uint32_t column = (uint32_t)ndb_table_find_column(table, "installed_kb");
    int64_t sum = 0;
    while (!atomic_load(&user->stop) || sum != 0) {
        int64_t value;
        int64_t add = sum == 0 ? 1 : -1;
        if (ndb_increment(ndb, key_record, &package, column, add, &value, 0) != 0)
            fail("a change while the index is made", ndb_error(ndb));
        sum += add;
        atomic_fetch_add(&user->changes, 1);
    }
    ndb_record_release(key_record);
    ndb_record_release(record);
    ndb_table_release(table);
    ndb_close(ndb);
    return NULL;
}

/* While rows are changed to and fro nobody ends this program in the middle: the end comes later. A
 * handler, since signals that are blocked here would come to a thread of the library. */
static volatile sig_atomic_t ended_by;

static void end_later(int number)
{
    ended_by = number;
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDS = sizeof ends / sizeof ends[0] };

static void delay_end(struct sigaction former[ENDS])
{
    const struct sigaction action = {.sa_handler = end_later, .sa_flags = SA_RESTART};
    for (int i = 0; i < ENDS; i++)
        sigaction(ends[i], &action, &former[i]);
}

static void allow_end(const struct sigaction former[ENDS])
{
    for (int i = 0; i < ENDS; i++)
        sigaction(ends[i], &former[i], NULL);
    if (ended_by != 0) raise(ended_by);
}

static void stop_user(struct user *user)
{
    atomic_store(&user->stop, true);
    pthread_join(user->thread, NULL);
}

static void make_index(ndb_t *ndb)
{
    struct user user = {.changes = 0};
    struct sigaction former[ENDS];
    (void)ndb_index_drop(ndb, "package", INDEX, 0); /* An earlier run may have left it. */
    delay_end(former);
    if (pthread_create(&user.thread, NULL, use_table, &user) != 0) wrong("no thread");
    while (atomic_load(&user.changes) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    uint32_t before = atomic_load(&user.changes);
    double begin_ms = now_ms();
    int result = ndb_index_create(ndb, "CREATE INDEX " INDEX " ON package (section, installed_kb)",
                                  NULL, NULL, 0);
    double took_ms = now_ms() - begin_ms;
    uint32_t changes = atomic_load(&user.changes) - before;
    stop_user(&user); /* Before anything else: the row has to be as it was. */
    allow_end(former);
    if (result != 0) fail("index", ndb_error(ndb));
    printf("Index " INDEX " (section, installed_kb) made in %.0f ms; another thread changed rows "
           "%u times meanwhile\n",
           took_ms, changes);
}

/* ---- 2. A range of it ---- */

/* section = 'libs' AND installed_kb >= 1000, the biggest first. */
static void show_range(ndb_t *ndb)
{
    const uint32_t least = 1000;
    struct ndb_table *table = open_table(ndb, "package"); /* It knows the index now. */
    struct ndb_record *record = package_record(ndb, table);
    const uint32_t equal = (uint32_t)ndb_table_find_column(table, "section");
    const uint32_t range = (uint32_t)ndb_table_find_column(table, "installed_kb");
    const struct ndb_condition_columns condition = {
        .equal = &equal, .equal_count = 1, .range = &range, .range_count = 1};
    struct ndb_access access;
    if (ndb_table_access(table, &condition, &access) != 0 || access.kind != NDB_ACCESS_INDEX ||
        access.columns != 1 || !access.range || strcmp(access.name, INDEX) != 0)
        wrong("the index does not fit");
    printf("section = 'libs' AND installed_kb >= %u: index %s fits, %u column fixed and a range\n",
           least, access.name, access.columns);
    const struct ndb_bound values[] = {ndb_bound_text("libs"), ndb_bound_uint(least)};
    struct ndb_range *wanted =
        ndb_range_where(ndb, table, "section = ? AND installed_kb >= ?", values, 2, NULL);
    if (wanted == NULL) fail("range", ndb_error(ndb));
    ndb_range_get(wanted)->descending = true;
    const struct ndb_scan_options options = {.range = ndb_range_get(wanted), .limit = SHOWN};
    const void *row;
    uint32_t last = UINT32_MAX;
    uint64_t count = 0;
    struct ndb_scan *scan = ndb_scan_start(ndb, record, &options, 0);
    if (scan == NULL) fail("range", ndb_error(ndb));
    while (ndb_scan_next(scan, &row, 0) == 1) {
        const struct package *package = row;
        printf("    %-40s %8u kB\n", package->name, package->installed_kb);
        if (strcmp(package->section, "libs") != 0 || package->installed_kb > last ||
            package->installed_kb < least)
            wrong("a row that is not of the range, or not in its order");
        last = package->installed_kb;
    }
    ndb_scan_close(scan);
    if (ndb_scan_count_range(ndb, table, ndb_range_get(wanted), NULL, &count, 0) != 0)
        fail("count", ndb_error(ndb));
    printf("    ... of %" PRIu64 ", counted in the data nodes\n", count);
    ndb_range_free(wanted);
    ndb_record_release(record);
    ndb_table_release(table);
}

/* ---- 3. Increments and numbers ---- */

struct counter {
    uint32_t id;
    int64_t value;
};

static const struct ndb_field counter_fields[] = {
    NDB_FIELD(struct counter, id, "id"),
    NDB_FIELD(struct counter, value, "value"),
};

struct worker {
    pthread_t thread;
    uint32_t shared; /* The row that all increment. */
    uint64_t number; /* Number of the row that is its own. */
};

/* Takes a number of the table and inserts a row with it. */
static uint32_t add_row(ndb_t *ndb, const struct ndb_table *table, const struct ndb_record *record)
{
    struct counter counter = {.value = 0};
    uint64_t number;
    if (ndb_auto_increment(ndb, table, NULL, &number, 0) != 0) fail("number", ndb_error(ndb));
    counter.id = (uint32_t)number;
    if (ndb_insert_row(ndb, record, &counter, 0) != 0) fail("insert", ndb_error(ndb));
    return counter.id;
}

static void *increment(void *context)
{
    struct worker *worker = context;
    const struct counter key = {.id = worker->shared};
    ndb_t *ndb = ndb_open(connection, "sandbox");
    struct ndb_table *table = open_table(ndb, COUNTER);
    struct ndb_record *record = ndb_record_create(ndb, table, counter_fields, 2, sizeof key);
    for (uint32_t i = 0; i < INCREMENTS; i++) {
        int64_t value;
        if (ndb_increment(ndb, record, &key, 1, 1, &value, 0) != 0)
            fail("increment", ndb_error(ndb));
    }
    worker->number = add_row(ndb, table, record);
    ndb_record_release(record);
    ndb_table_release(table);
    ndb_close(ndb);
    return NULL;
}

static void make_counters(ndb_t *ndb)
{
    (void)ndb_table_drop(ndb, COUNTER, 0); /* An earlier run may have left it. */
    if (ndb_table_create(ndb,
                         "CREATE TABLE " COUNTER " (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, "
                         "value BIGINT NOT NULL)",
                         NULL, 0) != 0)
        fail("table", ndb_error(ndb));
}

static void increment_all(ndb_t *ndb)
{
    struct worker workers[THREADS];
    make_counters(ndb);
    struct ndb_table *table = open_table(ndb, COUNTER);
    struct ndb_record *record =
        ndb_record_create(ndb, table, counter_fields, 2, sizeof(struct counter));
    struct counter counter = {.id = add_row(ndb, table, record)};
    double begin_ms = now_ms();
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shared = counter.id};
        if (pthread_create(&workers[i].thread, NULL, increment, &workers[i]) != 0)
            wrong("no thread");
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    double took_ms = now_ms() - begin_ms;
    if (ndb_read_row(ndb, record, &counter, 0) != 0) fail("read", ndb_error(ndb));
    printf("%u threads incremented one row %u times each in %.0f ms: it holds %" PRId64 "\n",
           THREADS, INCREMENTS, took_ms, counter.value);
    if (counter.value != THREADS * INCREMENTS) wrong("increments were lost, or made twice");
    printf("Each inserted a row of its own, with a number of its own range:");
    for (uint32_t i = 0; i < THREADS; i++)
        printf(" %" PRIu64, workers[i].number);
    printf("\n");
    ndb_record_release(record);
    ndb_table_release(table);
}

int main(int argc, char **argv)
{
    ndb_error_t error;
    connection = ndb_connection_create(argc > 1 ? argv[1] : NULL, NULL);
    if (ndb_connection_connect(connection, 20000) != 0 ||
        ndb_connection_wait_until_ready(connection, 20000) < 0) {
        ndb_connection_error(connection, &error);
        fail("connect", &error);
    }
    ndb_t *ndb = ndb_open(connection, "sandbox");
    make_index(ndb);
    show_range(ndb);
    increment_all(ndb);
    ndb_close(ndb);
    ndb_connection_free(connection);
    return 0;
}
