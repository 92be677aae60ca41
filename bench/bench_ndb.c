/* bench_ndb.c -- our side of the benchmarks: one workload per run, every answer verified, prints
 * operations per second. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>
#include "bench/bench_common.h"

/*
 * Keys are 16 bytes of text, values (32 bytes unless said otherwise) made from the key, as
 * bench_peer.c stores them in the other systems. Modes: create, load, read (batch 1: one row per
 * call; else ndb_read_many), write (the same; with --durable each call is answered when it is on
 * disk), change (every tenth row gets another value), scan, txn (transactions of `batch` updates),
 * first (waits as long as it takes until one row can be read).
 */
#define KEY_SIZE  16u
#define VALUE_MAX 1024u
#define FIRST_S   3600.0 /* Longest wait for the first row. */

/* A call that is refused by a temporary error is made again after a random pause, twice as long
 * each time, until this time is over: far more than the cluster takes to get out of what may hold
 * it up, be it starved itself. */
#define GIVE_UP_S      30.0
#define PAUSE_FIRST_US 500u
#define PAUSE_MAX_US   64000u

struct bench {
    const char *connect;
    const char *mode;
    const char *table;
    uint32_t threads;
    uint32_t batch;
    uint32_t rows;
    uint32_t value; /* Bytes of the value. */
    bool durable;
    bool noise;         /* Values that do not compress. */
    uint32_t window_ms; /* 0, or one line for each such time. */
    uint32_t rate;      /* Calls per second of all threads; 0: as many as it can. */
    double seconds;
    struct ndb_cluster_connection *connection;
    atomic_bool stop;
    atomic_bool go;
    atomic_uint ready;
};

/* What an application does about temporary errors: the same again, see refused(). */
struct again {
    uint64_t retries;  /* Calls that were made again, in the whole run. */
    double until;      /* 0, or the call under way was refused and is given up then. */
    uint32_t pause_us; /* Pause before the call is made again. */
};

struct worker {
    struct bench *bench;
    uint32_t no;
    atomic_uint_fast64_t done;
    uint64_t *latency_ns; /* Samples of blocking calls, with all attempts. */
    uint32_t samples;
    pthread_t thread;
    ndb_t *ndb;
    struct ndb_record *record;
    uint32_t timeout_ms; /* Timeout of calls of many rows; 0: that of the connection. */
    char *rows;          /* `batch` of them. */
    int32_t *codes;      /* The code of each row. */
    uint64_t random;
    struct again again;
};

#define SAMPLES_MAX 200000u

static uint32_t row_size(const struct bench *bench)
{
    return KEY_SIZE + bench->value;
}

/* A value that says which key it belongs to, so that a wrong answer is seen; `turn`, which is below
 * 26, makes it another one. */
static void make_value(const struct bench *bench, char *row, uint32_t turn)
{
    memcpy(row + KEY_SIZE, row, KEY_SIZE);
    row[KEY_SIZE + 16] = (char)('a' + turn % 26);
    if (bench->noise) {
        make_noise(row + KEY_SIZE + 17, bench->value - 17, key_seed(row) + turn);
        return;
    }
    for (uint32_t i = 16; i < bench->value; i++)
        row[KEY_SIZE + i] = (char)('a' + (turn + i - 16) % 26);
}

static void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "bench_ndb: %s: %d: %s %s\n", what, error->code, error->text, error->detail);
    exit(1);
}

/*
 * Temporary errors are a part of every application's life: two transactions that lock rows in each
 * other's way end by a lock timeout, and so may whoever stands behind them. Nothing has happened
 * then; returns when the call may be made again, and counts it. Any other error ends the run.
 */
static void refused(struct worker *worker, const char *what, const ndb_error_t *error)
{
    struct again *again = &worker->again;
    double now = now_s();
    if (error->status != NDB_STATUS_TEMPORARY || (again->until != 0 && now > again->until))
        die(what, error);
    if (again->until == 0) {
        again->until = now + GIVE_UP_S;
        again->pause_us = PAUSE_FIRST_US;
    }
    uint64_t pause_us = again->pause_us / 2 + mix(&worker->random) % (again->pause_us / 2 + 1);
    bench_pause((double)pause_us / 1e6);
    if (again->pause_us < PAUSE_MAX_US) again->pause_us *= 2;
    again->retries++;
}

static struct ndb_record *row_record(ndb_t *ndb, const struct bench *bench)
{
    struct ndb_table *table = ndb_table_open(ndb, bench->table, 0);
    if (table == NULL) die("table", ndb_error(ndb));
    const struct ndb_field fields[] = {
        {.column = "k", .size = KEY_SIZE, .null_offset = NDB_NOT_NULLABLE},
        {.column = "v", .offset = KEY_SIZE, .size = bench->value, .null_offset = NDB_NOT_NULLABLE},
    };
    struct ndb_record *record = ndb_record_create(ndb, table, fields, 2, row_size(bench));
    if (record == NULL) die("record", ndb_error(ndb));
    ndb_table_release(table);
    return record;
}

static void verify(const struct bench *bench, const char *row)
{
    char expected[KEY_SIZE + VALUE_MAX];
    memcpy(expected, row, KEY_SIZE);
    make_value(bench, expected, (uint32_t)(row[KEY_SIZE + 16] - 'a'));
    if (memcmp(expected, row, row_size(bench)) == 0) return;
    fprintf(stderr, "bench_ndb: wrong value for %.16s: %.32s\n", row, row + KEY_SIZE);
    exit(1);
}

static void wait_for_go(struct bench *bench)
{
    atomic_fetch_add(&bench->ready, 1);
    while (!atomic_load(&bench->go))
        bench_pause(0.001);
}

static void sample(struct worker *worker, double begin)
{
    if (worker->samples < SAMPLES_MAX)
        worker->latency_ns[worker->samples++] = (uint64_t)((now_s() - begin) * 1e9);
}

static char *row_at(const struct worker *worker, uint32_t i)
{
    return worker->rows + (size_t)i * row_size(worker->bench);
}

/* One attempt of a transaction that updates `count` rows; with --durable it is on disk when it is
 * answered. How it ended. */
static ndb_error_t update_rows(struct worker *worker, uint32_t count)
{
    bool durable = worker->bench->durable;
    struct ndb_transaction *transaction = ndb_transaction_start(worker->ndb);
    if (transaction == NULL) return *ndb_error(worker->ndb);
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++) {
        const char *row = row_at(worker, i);
        good = ndb_update(transaction, worker->record, row, worker->record, row, NULL) != NULL;
    }
    good = good && ndb_execute(transaction, durable ? NDB_COMMIT_DURABLE : NDB_COMMIT, 0) == 0;
    ndb_error_t error = {0};
    if (!good) {
        error = *ndb_transaction_error(transaction);
        error.detail = ""; /* It goes with the transaction. */
    } else if (durable && !ndb_transaction_durable(transaction)) {
        fprintf(stderr, "bench_ndb: a durable commit was answered before it was durable\n");
        exit(1);
    }
    ndb_transaction_close(transaction);
    return error;
}

/* Transactions of `batch` updates each. */
static void one_transaction(struct worker *worker)
{
    struct bench *bench = worker->bench;
    /* Ascending keys from a random start: workers seldom deadlock. They do, because the rows of one
     * transaction are locked in several LDMs at the same time. */
    uint32_t first = (uint32_t)(mix(&worker->random) % (bench->rows - bench->batch + 1));
    for (uint32_t i = 0; i < bench->batch; i++) {
        make_key(row_at(worker, i), first + i);
        make_value(bench, row_at(worker, i), 0);
    }
    for (;;) {
        ndb_error_t error = update_rows(worker, bench->batch);
        if (error.code == 0) break;
        refused(worker, "txn", &error);
    }
    worker->again.until = 0;
    worker->done += bench->batch;
}

/* One call, one row. */
static void one_row(struct worker *worker, bool write)
{
    struct bench *bench = worker->bench;
    for (;;) {
        ndb_error_t error = {0};
        if (write && bench->durable)
            error = update_rows(worker, 1);
        else if (write && ndb_update_row(worker->ndb, worker->record, worker->rows, 0) != 0)
            error = *ndb_error(worker->ndb);
        else if (!write && ndb_read_row(worker->ndb, worker->record, worker->rows, 0) != 0)
            error = *ndb_error(worker->ndb);
        if (error.code == 0) break;
        refused(worker, bench->mode, &error);
    }
    worker->again.until = 0;
    if (!write) verify(bench, worker->rows);
}

/* One attempt of a call of many rows. Those that were read are verified; those that were refused,
 * and may be asked for again, are at the front then. How many those are, and why. */
static uint32_t some_rows(struct worker *worker, enum ndb_operation_type type, uint32_t count,
                          ndb_error_t *error)
{
    struct bench *bench = worker->bench;
    uint32_t size = row_size(bench);
    bool read = type == NDB_READ;
    int done = read ? ndb_read_many(worker->ndb, worker->record, worker->rows, size, count,
                                    worker->codes, worker->timeout_ms)
                    : ndb_change_many(worker->ndb, type, worker->record, worker->rows, size, count,
                                      worker->codes, worker->timeout_ms);
    if (done < 0) {
        *error = *ndb_error(worker->ndb);
        return count;
    }
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (worker->codes[i] == 0) {
            if (read) verify(bench, row_at(worker, i));
            continue;
        }
        ndb_error_lookup(worker->codes[i], error);
        if (error->status != NDB_STATUS_TEMPORARY) die(bench->mode, error);
        memmove(row_at(worker, left++), row_at(worker, i), size);
    }
    if ((uint32_t)done == count - left) return left;
    fprintf(stderr, "bench_ndb: %d of %u rows, but %u were refused\n", done, count, left);
    exit(1);
}

static void many_rows(struct worker *worker, enum ndb_operation_type type, uint32_t count)
{
    while (count > 0) {
        ndb_error_t error = {0};
        count = some_rows(worker, type, count, &error);
        if (count > 0) refused(worker, worker->bench->mode, &error);
    }
    worker->again.until = 0;
}

/* One batch of random rows. */
static void one_batch(struct worker *worker)
{
    struct bench *bench = worker->bench;
    bool write = strcmp(bench->mode, "write") == 0;
    for (uint32_t i = 0; i < bench->batch; i++) {
        uint64_t number = mix(&worker->random);
        make_key(row_at(worker, i), (uint32_t)(number % bench->rows));
        if (write) make_value(bench, row_at(worker, i), (uint32_t)(number >> 32) % 26);
    }
    if (bench->batch == 1) {
        double begin = now_s();
        one_row(worker, write);
        sample(worker, begin);
    } else {
        many_rows(worker, write ? NDB_UPDATE : NDB_READ, bench->batch);
    }
    worker->done += bench->batch;
}

static void one_scan(struct worker *worker)
{
    struct bench *bench = worker->bench;
    struct ndb_table *table = ndb_table_open(worker->ndb, bench->table, 0);
    uint64_t count = 0;
    while (table == NULL || ndb_scan_count(worker->ndb, table, &count, 60000) != 0) {
        refused(worker, "scan", ndb_error(worker->ndb));
        if (table == NULL) table = ndb_table_open(worker->ndb, bench->table, 0);
    }
    worker->again.until = 0;
    if (count != bench->rows) {
        fprintf(stderr, "bench_ndb: scan saw %llu of %u rows\n", (unsigned long long)count,
                bench->rows);
        exit(1);
    }
    ndb_table_release(table);
    worker->done += count;
}

static void worker_open(struct worker *worker, uint32_t rows)
{
    struct bench *bench = worker->bench;
    /* Another one in each run: an update to what is there already writes nothing. */
    worker->random = (uint64_t)(now_s() * 1e9) + worker->no * 7919u;
    worker->ndb = ndb_open(bench->connection, "bench");
    worker->record = row_record(worker->ndb, bench);
    worker->rows = calloc(rows, row_size(bench));
    worker->codes = calloc(rows, sizeof *worker->codes);
}

static void worker_close(struct worker *worker)
{
    ndb_record_release(worker->record);
    ndb_close(worker->ndb);
    free(worker->codes);
    free(worker->rows);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct bench *bench = worker->bench;
    double due = 0;
    worker_open(worker, bench->batch);
    worker->latency_ns = malloc(SAMPLES_MAX * sizeof(uint64_t));
    wait_for_go(bench);
    while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        bench_wait_for_turn(bench->rate, bench->threads, &due);
        if (strcmp(bench->mode, "scan") == 0)
            one_scan(worker);
        else if (strcmp(bench->mode, "txn") == 0)
            one_transaction(worker);
        else
            one_batch(worker);
    }
    worker_close(worker);
    return NULL;
}

static void print_latency(struct worker *workers, uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += workers[i].samples;
    if (total == 0) return;
    uint64_t *all = malloc(total * sizeof *all);
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(all + at, workers[i].latency_ns, workers[i].samples * sizeof *all);
        at += workers[i].samples;
    }
    bench_print_latency(all, total);
    free(all);
}

static void print_done(uint64_t done, double seconds, uint64_t retries)
{
    printf("ops_per_s %.0f\noperations %llu\nretries %llu\n", (double)done / seconds,
           (unsigned long long)done, (unsigned long long)retries);
}

/* Until the time is over, or SIGTERM: with windows, what was done in each. */
static void watch(const struct bench *bench, struct worker *workers, double begin)
{
    uint64_t last = 0;
    double next = begin;
    while (now_s() - begin < bench->seconds && !bench_enough()) {
        next += (bench->window_ms != 0 ? bench->window_ms : 10u) / 1e3;
        bench_pause(next - now_s());
        if (bench->window_ms == 0) continue;
        uint64_t done = 0;
        for (uint32_t i = 0; i < bench->threads; i++)
            done += atomic_load_explicit(&workers[i].done, memory_order_relaxed);
        bench_print_window(done - last);
        last = done;
    }
}

static void run_workers(struct bench *bench)
{
    struct worker *workers = calloc(bench->threads, sizeof *workers);
    for (uint32_t i = 0; i < bench->threads; i++) {
        workers[i].bench = bench;
        workers[i].no = i;
        pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
    }
    while (atomic_load(&bench->ready) < bench->threads)
        bench_pause(0.001);
    double begin = now_s();
    atomic_store(&bench->go, true);
    watch(bench, workers, begin);
    atomic_store(&bench->stop, true);
    uint64_t done = 0;
    uint64_t retries = 0;
    for (uint32_t i = 0; i < bench->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
        retries += workers[i].again.retries;
    }
    print_done(done, now_s() - begin, retries);
    print_latency(workers, bench->threads);
    for (uint32_t i = 0; i < bench->threads; i++)
        free(workers[i].latency_ns);
    free(workers);
}

static void create_table(struct bench *bench)
{
    char sql[256];
    struct ndb_sql_error where;
    snprintf(
        sql, sizeof sql,
        "CREATE TABLE IF NOT EXISTS %s (k BINARY(16) NOT NULL PRIMARY KEY, v BINARY(%u) NOT NULL)",
        bench->table, bench->value);
    ndb_t *ndb = ndb_open(bench->connection, "bench");
    struct worker worker = {.bench = bench};
    while (ndb_table_create(ndb, sql, &where, 30000) != 0 && ndb_error(ndb)->code != 721)
        refused(&worker, "create", ndb_error(ndb));
    ndb_close(ndb);
}

/* All rows; or, as `change`, each tenth one with another value. */
static void load(struct bench *bench, uint32_t step)
{
    enum { CHUNK = 1000 };
    struct worker worker = {.bench = bench, .timeout_ms = 60000};
    worker_open(&worker, CHUNK);
    double begin = now_s();
    uint32_t turn = step == 1 ? 0 : 1u + (uint32_t)(begin * 1000) % 25u;
    uint32_t total = (bench->rows + step - 1u) / step;
    for (uint32_t first = 0; first < total; first += CHUNK) {
        uint32_t count = total - first < CHUNK ? total - first : CHUNK;
        for (uint32_t i = 0; i < count; i++) {
            make_key(row_at(&worker, i), (first + i) * step);
            make_value(bench, row_at(&worker, i), turn);
        }
        many_rows(&worker, NDB_WRITE, count);
    }
    print_done(total, now_s() - begin, worker.again.retries);
    worker_close(&worker);
}

/* How long a starting cluster takes until a row can be read. */
static void first(struct bench *bench)
{
    char row[KEY_SIZE + VALUE_MAX];
    double begin = now_s();
    for (;;) {
        ndb_t *ndb = ndb_open(bench->connection, "bench");
        struct ndb_table *table = ndb == NULL ? NULL : ndb_table_open(ndb, bench->table, 1000);
        ndb_table_release(table);
        if (table != NULL) {
            struct ndb_record *record = row_record(ndb, bench);
            make_key(row, bench->rows - 1);
            int result = ndb_read_row(ndb, record, row, 1000);
            ndb_record_release(record);
            if (result == 0) verify(bench, row);
            if (result == 0) printf("seconds %.3f\n", now_s() - begin);
            if (result != 0 && ndb_error(ndb)->status != NDB_STATUS_TEMPORARY)
                die("first row", ndb_error(ndb));
            ndb_close(ndb);
            if (result == 0) return;
            continue;
        }
        if (ndb != NULL && ndb_error(ndb)->status == NDB_STATUS_PERMANENT)
            die("table", ndb_error(ndb));
        ndb_close(ndb);
    }
}

static void read_options(struct bench *bench, int argc, char **argv)
{
    const struct bench_option options[] = {
        {"connect", 'c', "STRING", "management server", .text = &bench->connect},
        {"threads", 't', "N", "blocking threads (1)", .number = &bench->threads, .min = 1,
         .max = 4096},
        {"batch", 'b', "N", "rows per call or transaction (1)", .number = &bench->batch, .min = 1,
         .max = 1u << 20},
        {"rows", 'r', "N", "rows in the table (100000)", .number = &bench->rows, .min = 1,
         .max = 1u << 30},
        {"seconds", 's', "S", "length of the run (2)", .seconds = &bench->seconds},
        {"value", 'v', "N", "bytes of a value (32)", .number = &bench->value, .min = 17,
         .max = VALUE_MAX},
        {"durable", 'd', NULL, "commits are answered when they are on disk",
         .flag = &bench->durable},
        {"noise", 'n', NULL, "values that do not compress", .flag = &bench->noise},
        {"window", 'W', "MS", "what was done in each such time; SIGTERM ends the run",
         .number = &bench->window_ms, .max = 60000},
        {"rate", 'R', "N", "calls per second of all threads (as many as it can)",
         .number = &bench->rate, .max = 10000000},
        {"table", 'T', "NAME", "table (kv)", .text = &bench->table},
        {.name = NULL},
    };
    bench_parse(argc, argv, options, "create|load|change|read|write|scan|txn|first", &bench->mode,
                1);
}

static void connect_to(struct bench *bench)
{
    ndb_error_t error;
    uint32_t wait_ms = strcmp(bench->mode, "first") == 0 ? (uint32_t)(FIRST_S * 1000) : 30000;
    bench->connection = ndb_connection_create(bench->connect, NULL);
    if (bench->connection != NULL && ndb_connection_connect(bench->connection, wait_ms) == 0 &&
        ndb_connection_wait_until_ready(bench->connection, wait_ms) >= 0)
        return;
    ndb_connection_error(bench->connection, &error);
    die("connect", &error);
}

int main(int argc, char **argv)
{
    struct bench bench = {.threads = 1,
                          .batch = 1,
                          .rows = 100000,
                          .seconds = 2,
                          .value = 32,
                          .mode = "read",
                          .table = "kv"};
    read_options(&bench, argc, argv);
    bench_end_by_signal();
    connect_to(&bench);
    if (strcmp(bench.mode, "create") == 0)
        create_table(&bench);
    else if (strcmp(bench.mode, "load") == 0)
        load(&bench, 1);
    else if (strcmp(bench.mode, "change") == 0)
        load(&bench, 10);
    else if (strcmp(bench.mode, "first") == 0)
        first(&bench);
    else
        run_workers(&bench);
    ndb_connection_free(bench.connection);
    return 0;
}
