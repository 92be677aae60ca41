/* bench_range.c -- the peers of the row range: MariaDB over its socket, LMDB in this process. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_range --path=SOCKET mariadb | --path=DIRECTORY lmdb|lmdb-load [options]
 *
 * Fetches `size` rows between two primary keys of a table of `rows` rows per call, as
 * bench_program's range does, from so many threads, and checks that they are those, in order. The
 * table of MariaDB is made by bench/run; that of LMDB by lmdb-load.
 */
#include <arpa/inet.h>
#include <lmdb.h>
#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/bench_common.h"

struct bench {
    const char *path;
    const char *mode;
    uint32_t threads;
    uint32_t rows;
    uint32_t size;
    double seconds;
    MDB_env *env;
    MDB_dbi dbi;
    atomic_bool stop;
};

struct row {
    uint32_t k;
    int64_t n;
    char v[24];
};

struct worker {
    struct bench *bench;
    pthread_t thread;
    uint32_t no;
    uint64_t done;
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_range: %s: %s\n", what, why);
    exit(1);
}

static uint32_t draw_first(const struct bench *bench, uint64_t *random)
{
    return (uint32_t)(mix(random) % (bench->rows - bench->size + 1));
}

static void check_row(const struct row *row, uint32_t expected)
{
    if (row->k != expected || row->n != expected || row->v[23] != 'x')
        die("row", "not the next one");
}

/* --- MariaDB. --- */

struct session {
    MYSQL *link;
    MYSQL_STMT *statement;
    uint32_t bounds[2];
    MYSQL_BIND parameter[2];
    struct row row;
    MYSQL_BIND column[3];
};

static void session_open(const struct bench *bench, struct session *s)
{
    static const char sql[] = "SELECT k, n, v FROM counter WHERE k BETWEEN ? AND ?";
    memset(s, 0, sizeof *s);
    s->link = mysql_init(NULL);
    if (mysql_real_connect(s->link, NULL, "root", NULL, "bench", 0, bench->path, 0) == NULL)
        die("connect", mysql_error(s->link));
    s->statement = mysql_stmt_init(s->link);
    if (mysql_stmt_prepare(s->statement, sql, sizeof sql - 1) != 0)
        die("prepare", mysql_stmt_error(s->statement));
    for (uint32_t i = 0; i < 2; i++)
        s->parameter[i] =
            (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONG, .buffer = &s->bounds[i], .is_unsigned = 1};
    s->column[0] =
        (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONG, .buffer = &s->row.k, .is_unsigned = 1};
    s->column[1] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &s->row.n};
    s->column[2] = (MYSQL_BIND){
        .buffer_type = MYSQL_TYPE_STRING, .buffer = s->row.v, .buffer_length = sizeof s->row.v};
    if (mysql_stmt_bind_param(s->statement, s->parameter) != 0 ||
        mysql_stmt_bind_result(s->statement, s->column) != 0)
        die("bind", mysql_stmt_error(s->statement));
}

static void session_close(struct session *s)
{
    mysql_stmt_close(s->statement);
    mysql_close(s->link);
}

static void *mariadb_main(void *argument)
{
    struct worker *worker = argument;
    const struct bench *bench = worker->bench;
    uint64_t random = worker->no * 7919u + 1u;
    struct session s;
    session_open(bench, &s);
    while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        uint32_t count = 0;
        int result;
        s.bounds[0] = draw_first(bench, &random);
        s.bounds[1] = s.bounds[0] + bench->size - 1;
        if (mysql_stmt_execute(s.statement) != 0) die("execute", mysql_stmt_error(s.statement));
        while ((result = mysql_stmt_fetch(s.statement)) == 0)
            check_row(&s.row, s.bounds[0] + count++);
        if (result != MYSQL_NO_DATA) die("fetch", mysql_stmt_error(s.statement));
        if (count != bench->size) die("range", "rows are missing");
        worker->done++;
    }
    session_close(&s);
    return NULL;
}

/* --- LMDB. --- */

static void check_lmdb(const char *what, int error)
{
    if (error != 0) die(what, mdb_strerror(error));
}

/* For loading without waiting for the disk: nothing is measured then. */
static void lmdb_open(struct bench *bench, bool load)
{
    MDB_txn *txn;
    check_lmdb("create", mdb_env_create(&bench->env));
    check_lmdb("size", mdb_env_set_mapsize(bench->env, (size_t)4 << 30));
    check_lmdb("open", mdb_env_open(bench->env, bench->path, load ? MDB_NOSYNC : MDB_RDONLY, 0600));
    check_lmdb("begin", mdb_txn_begin(bench->env, NULL, load ? 0 : MDB_RDONLY, &txn));
    check_lmdb("table", mdb_dbi_open(txn, NULL, 0, &bench->dbi));
    check_lmdb("commit", mdb_txn_commit(txn));
}

static void lmdb_load(struct bench *bench)
{
    MDB_txn *txn;
    check_lmdb("begin", mdb_txn_begin(bench->env, NULL, 0, &txn));
    for (uint32_t i = 0; i < bench->rows; i++) {
        uint32_t key = htonl(i); /* Its bytes are in the order of the numbers. */
        struct row row = {.k = i, .n = i};
        memset(row.v, 'x', sizeof row.v);
        MDB_val at = {sizeof key, &key};
        MDB_val value = {sizeof row, &row};
        check_lmdb("put", mdb_put(txn, bench->dbi, &at, &value, MDB_APPEND));
    }
    check_lmdb("commit", mdb_txn_commit(txn));
}

static void *lmdb_main(void *argument)
{
    struct worker *worker = argument;
    const struct bench *bench = worker->bench;
    uint64_t random = worker->no * 7919u + 1u;
    MDB_txn *txn;
    MDB_cursor *cursor;
    check_lmdb("begin", mdb_txn_begin(bench->env, NULL, MDB_RDONLY, &txn));
    check_lmdb("cursor", mdb_cursor_open(txn, bench->dbi, &cursor));
    while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        uint32_t first = draw_first(bench, &random);
        uint32_t key = htonl(first);
        struct row row; /* A copy, as the others make one. */
        MDB_val at = {sizeof key, &key};
        MDB_val value;
        mdb_txn_reset(txn); /* Each call sees what was committed before it. */
        check_lmdb("renew", mdb_txn_renew(txn));
        check_lmdb("renew", mdb_cursor_renew(txn, cursor));
        for (uint32_t i = 0; i < bench->size; i++) {
            check_lmdb("get",
                       mdb_cursor_get(cursor, &at, &value, i == 0 ? MDB_SET_RANGE : MDB_NEXT));
            memcpy(&row, value.mv_data, sizeof row);
            check_row(&row, first + i);
        }
        worker->done++;
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    return NULL;
}

static void run(struct bench *bench, void *(*work)(void *))
{
    struct worker *workers = calloc(bench->threads, sizeof *workers);
    double begin = now_s();
    uint64_t done = 0;
    for (uint32_t i = 0; i < bench->threads; i++) {
        workers[i] = (struct worker){.bench = bench, .no = i};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    bench_pause(bench->seconds);
    atomic_store(&bench->stop, true);
    for (uint32_t i = 0; i < bench->threads; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
    }
    double seconds = now_s() - begin;
    printf("ops_per_s %.0f\nrows_per_s %.0f\n", (double)done / seconds,
           (double)done * bench->size / seconds);
    free(workers);
}

int main(int argc, char **argv)
{
    static struct bench bench = {
        .mode = "", .threads = 8, .rows = 1000000, .size = 100, .seconds = 2};
    const struct bench_option options[] = {
        {"path", 'p', "PATH", "MariaDB's socket, or LMDB's directory", .text = &bench.path},
        {"threads", 't', "N", "callers (8)", .number = &bench.threads, .min = 1, .max = 4096},
        {"rows", 'r', "N", "rows (1000000)", .number = &bench.rows, .min = 1, .max = 1u << 30},
        {"size", 'S', "N", "rows of a range (100)", .number = &bench.size, .min = 1,
         .max = 1u << 30},
        {"seconds", 's', "S", "length (2)", .seconds = &bench.seconds},
        {.name = NULL},
    };
    bench_parse(argc, argv, options, "mariadb|lmdb|lmdb-load", &bench.mode, 1);
    if (bench.size > bench.rows) bench.size = bench.rows;
    if (bench.path == NULL) return 2;
    if (strcmp(bench.mode, "mariadb") == 0) {
        if (mysql_library_init(0, NULL, NULL) != 0) die("MariaDB", "its library cannot be used");
        run(&bench, mariadb_main);
        return 0;
    }
    bool load = strcmp(bench.mode, "lmdb-load") == 0;
    if (!load && strcmp(bench.mode, "lmdb") != 0) return 2;
    lmdb_open(&bench, load);
    if (load)
        lmdb_load(&bench);
    else
        run(&bench, lmdb_main);
    mdb_env_close(bench.env);
    return 0;
}
