/* bench_program.c -- our side of the rows increment, filter_scan, range and index_build. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_program --connect=STRING create|increment|filter|range [options]
 *
 * create makes `rows` counters, with --indexed an ordered index of their keys, too; increment adds
 * 1 to a random one of the first `hot` per call, from so many threads, each waiting for its answer,
 * and checks the sum at the end; filter fetches the one row in a hundred whose number fits, again
 * and again, and prints the rows that were looked at; range fetches `size` rows between two keys
 * per call, from so many threads, and checks that they are those, in order.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ndb/ndb.h>
#include "bench/bench_common.h"

struct bench {
    const char *connect;
    const char *mode;
    uint32_t threads;
    uint32_t rows;
    uint32_t hot;
    uint32_t size; /* Rows of a range. */
    uint32_t rate; /* Increments per second of all threads; 0: as many as they can. */
    bool indexed;
    double seconds;
    struct ndb_cluster_connection *connection;
    atomic_bool stop;
};

struct row {
    uint32_t k;
    int64_t n;
    char v[24];
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, k, "k"),
    NDB_FIELD(struct row, n, "n"),
    NDB_FIELD(struct row, v, "v"),
};
enum { COLUMN_N = 1 };

struct worker {
    struct bench *bench;
    pthread_t thread;
    uint32_t no;
    uint64_t done;
};

struct session {
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "bench_program: %s: %d: %s %s\n", what, error->code, error->text,
            error->detail);
    exit(1);
}

static struct session session_open(const struct bench *bench)
{
    struct session s = {.ndb = ndb_open(bench->connection, "bench")};
    s.table = ndb_table_open(s.ndb, "counter", 0);
    if (s.table == NULL) die("table", ndb_error(s.ndb));
    s.record = ndb_record_create(s.ndb, s.table, fields, 3, sizeof(struct row));
    if (s.record == NULL) die("record", ndb_error(s.ndb));
    return s;
}

static void session_close(struct session *s)
{
    ndb_record_release(s->record);
    ndb_table_release(s->table);
    ndb_close(s->ndb);
}

static void create(const struct bench *bench)
{
    enum { CHUNK = 1000 };
    static struct row rows[CHUNK];
    char sql[200];
    snprintf(sql, sizeof sql,
             "CREATE TABLE counter (k INT UNSIGNED NOT NULL PRIMARY KEY, n BIGINT NOT NULL, "
             "v BINARY(24) NOT NULL%s)",
             bench->indexed ? ", INDEX by_k (k)" : "");
    ndb_t *ndb = ndb_open(bench->connection, "bench");
    if (ndb_table_create(ndb, sql, NULL, 30000) != 0) die("create", ndb_error(ndb));
    ndb_close(ndb);
    struct session s = session_open(bench);
    for (uint32_t first = 0; first < bench->rows; first += CHUNK) {
        uint32_t count = bench->rows - first < CHUNK ? bench->rows - first : CHUNK;
        for (uint32_t i = 0; i < count; i++) {
            rows[i] = (struct row){.k = first + i, .n = first + i};
            memset(rows[i].v, 'x', sizeof rows[i].v);
        }
        if (ndb_change_many(s.ndb, NDB_INSERT, s.record, rows, sizeof rows[0], count, NULL,
                            60000) != (int)count)
            die("load", ndb_error(s.ndb));
    }
    session_close(&s);
}

/* --- Increments. --- */

static struct ndb_program *add_one(struct session *s)
{
    struct ndb_program *p = ndb_program_create(s->ndb, s->table);
    ndb_program_add(p, COLUMN_N, 1);
    ndb_program_exit_ok(p);
    if (ndb_program_finish(p) != 0) die("program", ndb_program_error(p));
    return p;
}

struct increment {
    struct session *session;
    const struct ndb_program *program;
    struct row row; /* The row with its key. */
    struct row now;
};

static int try_increment(struct ndb_transaction *t, void *context)
{
    static const uint8_t number[1] = {1u << COLUMN_N};
    struct increment *inc = context;
    struct ndb_record *record = inc->session->record;
    const struct ndb_operation_options options = {.program = inc->program,
                                                  .result_record = record,
                                                  .result = &inc->now,
                                                  .result_mask = number};
    if (ndb_update(t, record, &inc->row, NULL, NULL, &options) == NULL) return -1;
    return ndb_execute(t, NDB_COMMIT, 0);
}

/* One call: the new value comes back with it. Who has waited too long for the row asks again. */
static int64_t increment(struct session *s, const struct ndb_program *program, uint32_t key)
{
    struct increment inc = {.session = s, .program = program, .row = {.k = key}};
    if (ndb_run_transaction(s->ndb, try_increment, &inc, 0) != 0)
        die("increment", ndb_error(s->ndb));
    return inc.now.n;
}

static void *increment_main(void *argument)
{
    struct worker *worker = argument;
    struct bench *bench = worker->bench;
    struct session s = session_open(bench);
    struct ndb_program *program = add_one(&s);
    uint64_t random = worker->no * 7919u + 1u;
    int64_t last = -1;
    double due = now_s();
    while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        int64_t value = increment(&s, program, (uint32_t)(mix(&random) % bench->hot));
        if (bench->hot == 1 && value <= last) {
            fprintf(stderr, "bench_program: %lld after %lld\n", (long long)value, (long long)last);
            exit(1);
        }
        last = value;
        worker->done++;
        if (bench->rate == 0) continue;
        due +=
            (double)bench->threads / bench->rate; /* Late ones are made up for, as pgbench does. */
        bench_pause(due - now_s());
    }
    ndb_program_free(program);
    session_close(&s);
    return NULL;
}

/* The sum of the counters that are incremented. */
static int64_t sum(const struct bench *bench)
{
    struct session s = session_open(bench);
    struct ndb_scan *at = ndb_scan_start(s.ndb, s.record, NULL, 0);
    const void *row;
    int64_t total = 0;
    int result;
    if (at == NULL) die("sum", ndb_error(s.ndb));
    while ((result = ndb_scan_next(at, &row, 0)) == 1) {
        const struct row *counter = row;
        if (counter->k < bench->hot) total += counter->n;
    }
    if (result != 0) die("sum", ndb_scan_error(at));
    ndb_scan_close(at);
    session_close(&s);
    return total;
}

/* Runs so many threads until the time is up, or SIGTERM comes; what they have done, and how long it
 * took. */
static uint64_t run_workers(struct bench *bench, void *(*work)(void *), double *seconds)
{
    struct worker *workers = calloc(bench->threads, sizeof *workers);
    double begin = now_s();
    uint64_t done = 0;
    for (uint32_t i = 0; i < bench->threads; i++) {
        workers[i] = (struct worker){.bench = bench, .no = i};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    while (now_s() - begin < bench->seconds && !bench_enough())
        bench_pause(0.01);
    atomic_store(&bench->stop, true);
    for (uint32_t i = 0; i < bench->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
    }
    *seconds = now_s() - begin;
    free(workers);
    return done;
}

static void increments(struct bench *bench)
{
    double seconds;
    int64_t before = sum(bench);
    printf("running\n");
    uint64_t done = run_workers(bench, increment_main, &seconds);
    if (sum(bench) != before + (int64_t)done) {
        fprintf(stderr, "bench_program: the sum is wrong\n");
        exit(1);
    }
    struct ndb_statistics statistics;
    ndb_connection_statistics(bench->connection, &statistics);
    printf("ops_per_s %.0f\nretries %llu\n", (double)done / seconds,
           (unsigned long long)statistics.retries);
}

/* --- Scans. --- */

static uint32_t scan(struct session *s, const struct ndb_program *program, int64_t below)
{
    const struct ndb_scan_options options = {.lock = NDB_COMMITTED_READ, .program = program};
    struct ndb_scan *at = ndb_scan_start(s->ndb, s->record, &options, 0);
    const void *row;
    uint32_t count = 0;
    int result;
    if (at == NULL) die("scan", ndb_error(s->ndb));
    while ((result = ndb_scan_next(at, &row, 0)) == 1) {
        if (((const struct row *)row)->n >= below) die("a row that does not fit", ndb_error(NULL));
        count++;
    }
    if (result != 0) die("scan", ndb_scan_error(at));
    ndb_scan_close(at);
    return count;
}

static void filters(const struct bench *bench)
{
    struct session s = session_open(bench);
    const int64_t below = bench->rows / 100;
    struct ndb_filter *filter = ndb_filter_create(s.ndb, s.table);
    ndb_filter_compare(filter, COLUMN_N, NDB_LT, &below, sizeof below);
    const struct ndb_program *program = ndb_filter_program(filter);
    if (program == NULL) die("filter", ndb_filter_error(filter));
    uint64_t looked = 0;
    double begin = now_s();
    while (now_s() - begin < bench->seconds) {
        if (scan(&s, program, below) != (uint32_t)below) die("rows", ndb_error(NULL));
        looked += bench->rows;
    }
    double seconds = now_s() - begin;
    printf("ops_per_s %.0f\nns_per_row %.2f\n", (double)looked / seconds,
           seconds * 1e9 / (double)looked);
    ndb_filter_free(filter);
    session_close(&s);
}

/* --- Ranges. --- */

/* The rows of `size` keys from `first` on, by the index and in its order. */
static void fetch_range(struct session *s, uint32_t index, uint32_t first, uint32_t size)
{
    const uint32_t last = first + size - 1;
    const void *const low[] = {&first};
    const void *const high[] = {&last};
    const uint32_t bytes[] = {sizeof first};
    const struct ndb_index_range range = {.index = index,
                                          .low = {.columns = 1, .value = low, .size = bytes},
                                          .high = {.columns = 1, .value = high, .size = bytes}};
    const struct ndb_scan_options options = {.lock = NDB_COMMITTED_READ, .range = &range};
    struct ndb_scan *at = ndb_scan_start(s->ndb, s->record, &options, 0);
    const void *row;
    uint32_t count = 0;
    int result;
    if (at == NULL) die("range", ndb_error(s->ndb));
    while ((result = ndb_scan_next(at, &row, 0)) == 1) {
        if (((const struct row *)row)->k != first + count++)
            die("a row that is not the next one", ndb_error(NULL));
    }
    if (result != 0) die("range", ndb_scan_error(at));
    if (count != size) die("rows are missing", ndb_error(NULL));
    ndb_scan_close(at);
}

static void *range_main(void *argument)
{
    struct worker *worker = argument;
    struct bench *bench = worker->bench;
    struct session s = session_open(bench);
    uint64_t random = worker->no * 7919u + 1u;
    int index = ndb_table_find_index(s.table, "by_k");
    if (index < 0) die("no index by_k", ndb_error(NULL));
    while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        uint32_t first = (uint32_t)(mix(&random) % (bench->rows - bench->size + 1));
        fetch_range(&s, (uint32_t)index, first, bench->size);
        worker->done++;
    }
    session_close(&s);
    return NULL;
}

static void ranges(struct bench *bench)
{
    double seconds;
    if (bench->size > bench->rows) bench->size = bench->rows;
    uint64_t done = run_workers(bench, range_main, &seconds);
    printf("ops_per_s %.0f\nrows_per_s %.0f\n", (double)done / seconds,
           (double)done * bench->size / seconds);
}

static void read_options(struct bench *bench, int argc, char **argv)
{
    const struct bench_option options[] = {
        {"connect", 'c', "STRING", "management server", .text = &bench->connect},
        {"threads", 't', "N", "callers (50)", .number = &bench->threads, .min = 1, .max = 4096},
        {"rows", 'r', "N", "rows (1000000)", .number = &bench->rows, .min = 1, .max = 1u << 30},
        {"hot", 'h', "N", "rows that are incremented (1)", .number = &bench->hot, .min = 1,
         .max = 1u << 30},
        {"size", 'S', "N", "rows of a range (100)", .number = &bench->size, .min = 1,
         .max = 1u << 30},
        {"indexed", 'i', NULL, "create: with an index of the keys", .flag = &bench->indexed},
        {"rate", 'R', "N", "increments per second of all threads (as many as it can)",
         .number = &bench->rate, .max = 10000000},
        {"seconds", 's', "S", "length (2)", .seconds = &bench->seconds},
        {.name = NULL},
    };
    bench_parse(argc, argv, options, "create|increment|filter|range", &bench->mode, 1);
}

int main(int argc, char **argv)
{
    static struct bench bench = {
        .mode = "", .threads = 50, .rows = 1000000, .hot = 1, .size = 100, .seconds = 2};
    read_options(&bench, argc, argv);
    ndb_error_t error;
    bench_end_by_signal();
    bench.connection = ndb_connection_create(bench.connect, NULL);
    if (ndb_connection_connect(bench.connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(bench.connection, 30000) < 0) {
        ndb_connection_error(bench.connection, &error);
        die("connect", &error);
    }
    if (strcmp(bench.mode, "create") == 0)
        create(&bench);
    else if (strcmp(bench.mode, "increment") == 0)
        increments(&bench);
    else if (strcmp(bench.mode, "filter") == 0)
        filters(&bench);
    else if (strcmp(bench.mode, "range") == 0)
        ranges(&bench);
    else
        return 2;
    ndb_connection_free(bench.connection);
    return 0;
}
