/* bench_takeover.c -- thousands of open transactions of one coordinator, which is then killed: what
 * becomes of each, and whether the rows say the same. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_takeover CONNECT NODE PID [TRANSACTIONS]
 *
 * Each transaction updates a row of its own and waits. Then half of them are committed in one go,
 * and the process PID (data node NODE) is killed while they are on their way. Every transaction
 * must have a definite outcome, and its row must be as that says. Prints how many there are of
 * each, and "client_ms", the time from the kill until the client knew all of them.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ndb/ndb.h>
#include "bench/bench_common.h"

#define LIMIT_MS 30000u
#define OLD      1
#define NEW      2

struct row {
    uint32_t id;
    int32_t value;
};

static const struct ndb_field fields[] = {
    NDB_FIELD(struct row, id, "id"),
    NDB_FIELD(struct row, value, "value"),
};

enum fate { OPEN = 0, COMMITTED, ABORTED, UNKNOWN };

struct job {
    struct ndb_transaction *transaction;
    enum fate fate;
};

static struct {
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
    struct ndb_record *record;
    struct job *jobs;
    struct row *rows;
    uint32_t count;
    uint32_t failed; /* Operations that failed and must not. */
} takeover = {.count = 10000};

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "bench_takeover: %s: %d: %s %s\n", what, error->code, error->text,
            error->detail);
    exit(1);
}

static void load(const char *connect)
{
    ndb_error_t error;
    takeover.connection = ndb_connection_create(connect, NULL);
    if (takeover.connection == NULL || ndb_connection_connect(takeover.connection, LIMIT_MS) != 0 ||
        ndb_connection_wait_until_ready(takeover.connection, LIMIT_MS) < 0) {
        ndb_connection_error(takeover.connection, &error);
        die("connect", &error);
    }
    ndb_t *ndb = takeover.ndb = ndb_open(takeover.connection, "bench");
    (void)ndb_table_drop(ndb, "takeover", 0);
    if (ndb_table_create(ndb,
                         "CREATE TABLE takeover (id INT UNSIGNED NOT NULL PRIMARY KEY, "
                         "value INT NOT NULL)",
                         NULL, 0) != 0)
        die("create", ndb_error(ndb));
    struct ndb_table *table = ndb_table_open(ndb, "takeover", 0);
    takeover.record = ndb_record_create(ndb, table, fields, 2, sizeof(struct row));
    ndb_table_release(table);
    if (takeover.record == NULL) die("record", ndb_error(ndb));
    for (uint32_t i = 0; i < takeover.count; i++)
        takeover.rows[i] = (struct row){.id = i, .value = OLD};
    if (ndb_change_many(ndb, NDB_INSERT, takeover.record, takeover.rows, sizeof(struct row),
                        takeover.count, NULL, LIMIT_MS) != (int)takeover.count)
        die("load", ndb_error(ndb));
}

/* ---- Open, commit, ask. ---- */

static void on_prepared(int result, struct ndb_transaction *transaction, void *context)
{
    (void)context;
    if (result == 0) return;
    if (takeover.failed++ == 0)
        fprintf(stderr, "bench_takeover: update: %d\n", ndb_transaction_error(transaction)->code);
}

static void open_all(uint32_t node)
{
    for (uint32_t i = 0; i < takeover.count; i++) {
        struct row *row = &takeover.rows[i];
        struct ndb_transaction *t = ndb_transaction_start_at(takeover.ndb, node);
        if (t == NULL) die("start", ndb_error(takeover.ndb));
        row->value = NEW;
        if (ndb_update(t, takeover.record, row, takeover.record, row, NULL) == NULL ||
            ndb_execute_async(t, NDB_NO_COMMIT, LIMIT_MS, on_prepared, NULL) != 0)
            die("update", ndb_transaction_error(t));
        takeover.jobs[i].transaction = t;
        if (i % 100 == 99) ndb_poll(takeover.ndb, LIMIT_MS, ndb_pending(takeover.ndb));
    }
    ndb_poll(takeover.ndb, LIMIT_MS, ndb_pending(takeover.ndb));
    if (takeover.failed > 0) exit(1);
    for (uint32_t i = 0; i < takeover.count; i++) {
        if (ndb_transaction_node(takeover.jobs[i].transaction) == node) continue;
        fprintf(stderr, "bench_takeover: a transaction is at another node\n");
        exit(1);
    }
}

static void on_ended(int result, struct ndb_transaction *transaction, void *context)
{
    struct job *job = context;
    job->fate = result == 0                                                        ? COMMITTED
                : ndb_transaction_error(transaction)->status == NDB_STATUS_UNKNOWN ? UNKNOWN
                                                                                   : ABORTED;
}

static void commit_async(struct job *job)
{
    if (ndb_execute_async(job->transaction, NDB_COMMIT, LIMIT_MS, on_ended, job) != 0)
        job->fate = ABORTED; /* Refused at once: it has been aborted. */
}

static void wait_for_all(void)
{
    while (ndb_pending(takeover.ndb) > 0) {
        if (ndb_poll(takeover.ndb, LIMIT_MS, ndb_pending(takeover.ndb)) <= 0)
            die("poll", ndb_error(takeover.ndb));
    }
}

/* Those that were not told are asked for; the answer of the cluster is final. */
static uint32_t ask_for_unknown(void)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < takeover.count; i++) {
        struct job *job = &takeover.jobs[i];
        if (job->fate != UNKNOWN) continue;
        int outcome = ndb_transaction_outcome(job->transaction, LIMIT_MS);
        if (outcome < 0) die("outcome", ndb_error(takeover.ndb));
        job->fate = outcome == 1 ? COMMITTED : ABORTED;
        asked++;
    }
    return asked;
}

/* Every row is as its transaction's outcome says. */
static void verify(void)
{
    uint32_t wrong = 0;
    if (ndb_read_many(takeover.ndb, takeover.record, takeover.rows, sizeof(struct row),
                      takeover.count, NULL, LIMIT_MS) != (int)takeover.count)
        die("read", ndb_error(takeover.ndb));
    for (uint32_t i = 0; i < takeover.count; i++)
        wrong += takeover.rows[i].value != (takeover.jobs[i].fate == COMMITTED ? NEW : OLD);
    if (wrong == 0) return;
    fprintf(stderr, "bench_takeover: %u rows are not as their transactions have ended\n", wrong);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench_takeover CONNECT NODE PID [TRANSACTIONS]\n");
        return 2;
    }
    if (argc > 4) takeover.count = (uint32_t)atoi(argv[4]);
    takeover.jobs = calloc(takeover.count, sizeof *takeover.jobs);
    takeover.rows = calloc(takeover.count, sizeof *takeover.rows);
    if (takeover.jobs == NULL || takeover.rows == NULL) return 1;
    load(argv[1]);
    open_all((uint32_t)atoi(argv[2]));
    for (uint32_t i = 0; i < takeover.count; i += 2)
        commit_async(&takeover.jobs[i]);
    ndb_flush(takeover.ndb);
    double begin = now_s();
    if (kill((pid_t)atoi(argv[3]), SIGKILL) != 0) perror("kill");
    wait_for_all();
    for (uint32_t i = 1; i < takeover.count; i += 2)
        commit_async(&takeover.jobs[i]); /* Too late: their coordinator is lost. */
    ndb_flush(takeover.ndb);
    wait_for_all();
    uint32_t asked = ask_for_unknown();
    double end = now_s();
    uint32_t committed = 0;
    for (uint32_t i = 0; i < takeover.count; i++)
        committed += takeover.jobs[i].fate == COMMITTED;
    verify();
    printf("transactions %u\ncommitted %u\naborted %u\nasked %u\nclient_ms %.1f\n", takeover.count,
           committed, takeover.count - committed, asked, (end - begin) * 1e3);
    return 0;
}
