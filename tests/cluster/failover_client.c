/* failover_client.c -- a bank that goes on while data nodes are lost, and the proof that it was one
 * bank all the time. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * failover_client [--threads=N] [--seconds=N] [--deadline=MS] [--accounts=N] [--strict]
 *
 * NDB_CONNECTSTRING names the cluster. Each transfer reads two accounts with exclusive locks,
 * changes both and inserts its line into a journal, as one transaction; after a temporary error it
 * is tried again until its deadline. A transfer of unknown outcome is asked for. Each thread keeps
 * in memory what became of each of its transfers.
 *
 * At the end (or after SIGTERM): every transfer that was answered has its line, none that failed
 * has one, the balances are what the journal makes of them, and no call took longer than its
 * deadline and a second. Prints one line per finding and
 *   failover: commits=... failed=... unknown=... gap_ms=... call_ms=...
 * where gap_ms is the longest time between two successful transfers of all threads, and failed
 * counts transfers that did not succeed before their deadline: with --strict they are an error.
 */
#include <argp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <ndb/ndb.h>
#include "tests/cluster/schema_again.h"

#define THREADS_MAX   16u
#define TRANSFERS_MAX 2000000u /* Per thread. */
#define INITIAL       1000
#define SLACK_MS      1000u
#define CHECK_MS      60000u
#define ASK_MS        10000u /* Longer than any failure takes to be agreed on. */

struct account {
    uint32_t id;
    int64_t balance;
};

struct line { /* A line of the journal. */
    uint64_t id;
    uint32_t from;
    uint32_t to;
    int32_t amount;
};

static const struct ndb_field account_fields[] = {
    NDB_FIELD(struct account, id, "id"),
    NDB_FIELD(struct account, balance, "balance"),
};

static const struct ndb_field line_fields[] = {
    NDB_FIELD(struct line, id, "id"),
    NDB_FIELD(struct line, from, "src"),
    NDB_FIELD(struct line, to, "dst"),
    NDB_FIELD(struct line, amount, "amount"),
};

enum fate { NEVER = 0, HAPPENED, FAILED, UNKNOWN };

struct worker {
    uint32_t number;
    pthread_t thread;
    uint8_t *fate; /* enum fate of each transfer. */
    uint32_t transfers;
    uint64_t counts[4]; /* Transfers by enum fate. */
    uint64_t asked[4];  /* What the cluster said of those that were unknown first. */
    uint64_t retries;
    double longest_s;
    int32_t errors[8]; /* First codes of failed transfers. */
};

struct transfer {
    struct line line;
    struct account source;
    struct account target;
};

static struct {
    struct ndb_cluster_connection *connection;
    struct ndb_record *account;
    struct ndb_record *line;
    struct ndb_table *journal;
    uint32_t threads;
    uint32_t seconds;
    uint32_t deadline_ms;
    uint32_t accounts;
    const char *database;
    bool strict;
    atomic_bool stop;
    pthread_mutex_t lock; /* Guards the next three. */
    double last_s;
    double gap_s;
    double gap_at_s;
} bank = {.threads = 4,
          .seconds = 10,
          .deadline_ms = 10000,
          .accounts = 1000,
          .database = "test",
          .lock = PTHREAD_MUTEX_INITIALIZER};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void on_signal(int number)
{
    (void)number;
    atomic_store(&bank.stop, true);
}

static _Noreturn void die(const char *what, const ndb_error_t *error)
{
    fprintf(stderr, "failover_client: %s: error %d: %s %s\n", what, error->code, error->text,
            error->detail);
    exit(1);
}

/* ---- The tables. ---- */

static struct ndb_table *make_table(ndb_t *ndb, const char *name, const char *sql)
{
    time_t end = time(NULL) + SCHEMA_LIMIT_S;
    while (ndb_table_drop(ndb, name, 0) != 0 && schema_again(ndb, end))
        continue; /* It need not be there. */
    while (ndb_table_create(ndb, sql, NULL, 0) != 0) {
        if (!schema_again(ndb, end)) die(name, ndb_error(ndb));
    }
    struct ndb_table *table = ndb_table_open(ndb, name, 0);
    if (table == NULL) die(name, ndb_error(ndb));
    return table;
}

static ndb_t *open_bank(void)
{
    ndb_error_t error;
    struct ndb_connection_options options = {.name = "failover_client",
                                             .default_timeout_ms = CHECK_MS};
    bank.connection = ndb_connection_create(NULL, &options);
    if (ndb_connection_connect(bank.connection, 30000) != 0 ||
        ndb_connection_wait_until_ready(bank.connection, 30000) < 0) {
        ndb_connection_error(bank.connection, &error);
        die("connect", &error);
    }
    ndb_t *ndb = ndb_open(bank.connection, bank.database);
    struct ndb_table *table = make_table(ndb, "bank_account",
                                         "CREATE TABLE bank_account (id INT UNSIGNED NOT NULL "
                                         "PRIMARY KEY, balance BIGINT NOT NULL)");
    bank.account = ndb_record_create(ndb, table, account_fields, 2, sizeof(struct account));
    ndb_table_release(table);
    bank.journal = make_table(ndb, "bank_journal",
                              "CREATE TABLE bank_journal (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, "
                              "src INT UNSIGNED NOT NULL, dst INT UNSIGNED NOT NULL, "
                              "amount INT NOT NULL)");
    bank.line = ndb_record_create(ndb, bank.journal, line_fields, 4, sizeof(struct line));
    if (bank.account == NULL || bank.line == NULL) die("record", ndb_error(ndb));
    struct account *all = calloc(bank.accounts, sizeof *all);
    for (uint32_t i = 0; i < bank.accounts; i++)
        all[i] = (struct account){.id = i, .balance = INITIAL};
    if (ndb_change_many(ndb, NDB_INSERT, bank.account, all, sizeof *all, bank.accounts, NULL, 0) !=
        (int)bank.accounts)
        die("load", ndb_error(ndb));
    free(all);
    return ndb;
}

/* ---- Transfers. ---- */

/* One attempt: 0 = committed, else why not. */
static int attempt(struct ndb_transaction *t, struct transfer *job, uint32_t timeout_ms)
{
    const struct ndb_operation_options exclusive = {.lock = NDB_LOCK_EXCLUSIVE};
    job->source.id = job->line.from;
    job->target.id = job->line.to;
    if (ndb_read(t, bank.account, &job->source, bank.account, &job->source, &exclusive) == NULL ||
        ndb_read(t, bank.account, &job->target, bank.account, &job->target, &exclusive) == NULL ||
        ndb_execute(t, NDB_NO_COMMIT, timeout_ms) != 0)
        return ndb_transaction_error(t)->code;
    job->source.balance -= job->line.amount;
    job->target.balance += job->line.amount;
    if (ndb_update(t, bank.account, &job->source, bank.account, &job->source, NULL) == NULL ||
        ndb_update(t, bank.account, &job->target, bank.account, &job->target, NULL) == NULL ||
        ndb_insert(t, bank.line, &job->line, NULL) == NULL ||
        ndb_execute(t, NDB_COMMIT, timeout_ms) != 0)
        return ndb_transaction_error(t)->code;
    return 0;
}

static void note_success(void)
{
    double now = now_s();
    pthread_mutex_lock(&bank.lock);
    if (now - bank.last_s > bank.gap_s) {
        bank.gap_s = now - bank.last_s;
        bank.gap_at_s = now;
    }
    bank.last_s = now;
    pthread_mutex_unlock(&bank.lock);
}

/* The call that just ended may not have been longer than its deadline and some slack. */
static void note_call(struct worker *worker, double begin, uint32_t limit_ms, const char *what)
{
    double took = now_s() - begin;
    if (took > worker->longest_s) worker->longest_s = took;
    if (took * 1000 > limit_ms + SLACK_MS)
        printf("wrong: %s took %.0f ms with a deadline of %u ms\n", what, took * 1000, limit_ms);
}

static void note_error(struct worker *worker, int32_t code)
{
    for (uint32_t i = 0; i < 8; i++) {
        if (worker->errors[i] == code) return;
        if (worker->errors[i] != 0) continue;
        worker->errors[i] = code;
        return;
    }
}

/* What the cluster knows of a transfer whose outcome was unknown. */
static enum fate ask(struct worker *worker, struct ndb_transaction *t)
{
    double begin = now_s();
    int outcome = ndb_transaction_outcome(t, ASK_MS);
    note_call(worker, begin, ASK_MS, "asking for the outcome");
    enum fate fate = outcome < 0 ? UNKNOWN : outcome > 0 ? HAPPENED : NEVER;
    worker->asked[fate]++;
    return fate;
}

static enum fate transfer(struct worker *worker, ndb_t *ndb, struct transfer *job)
{
    double begin = now_s();
    uint32_t pause_us = 500;
    for (;;) {
        double left = bank.deadline_ms / 1000.0 - (now_s() - begin);
        uint32_t left_ms = left > 0.001 ? (uint32_t)(left * 1000) : 1;
        struct ndb_transaction *t = ndb_transaction_start(ndb);
        if (t == NULL) die("start", ndb_error(ndb));
        double call = now_s();
        int32_t code = attempt(t, job, left_ms);
        note_call(worker, call, 2 * left_ms, "a transfer");
        enum ndb_error_status status = ndb_transaction_error(t)->status;
        enum fate fate = code == 0                        ? HAPPENED
                         : status == NDB_STATUS_UNKNOWN   ? ask(worker, t)
                         : status == NDB_STATUS_TEMPORARY ? NEVER
                                                          : FAILED;
        ndb_transaction_close(t);
        if (fate == HAPPENED || fate == UNKNOWN) return fate;
        note_error(worker, code);
        if (fate == FAILED || now_s() - begin > bank.deadline_ms / 1000.0) return FAILED;
        worker->retries++;
        usleep(pause_us);
        if (pause_us < 20000) pause_us *= 2;
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t state = 88172645463325252u + worker->number * 7919u;
    ndb_t *ndb = ndb_open(bank.connection, bank.database);
    if (ndb == NULL) exit(1);
    while (!atomic_load(&bank.stop) && worker->transfers < TRANSFERS_MAX) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t from = (uint32_t)(state >> 33) % bank.accounts;
        uint32_t to = (from + 1 + (uint32_t)(state >> 20) % (bank.accounts - 1)) % bank.accounts;
        struct transfer job = {.line = {.id = (uint64_t)worker->number << 32 | worker->transfers,
                                        .from = from < to ? from : to, /* No deadlocks. */
                                        .to = from < to ? to : from,
                                        .amount = (int32_t)(state >> 45) % 100 - 50}};
        enum fate fate = transfer(worker, ndb, &job);
        worker->fate[worker->transfers++] = (uint8_t)fate;
        worker->counts[fate]++;
        if (fate == HAPPENED) note_success();
    }
    ndb_close(ndb);
    return NULL;
}

/* ---- The proof. ---- */

static bool check_line(const struct line *line, struct worker *workers, int64_t *balances)
{
    uint32_t number = (uint32_t)(line->id >> 32);
    uint32_t at = (uint32_t)line->id;
    if (number >= bank.threads || at >= workers[number].transfers || line->from >= bank.accounts ||
        line->to >= bank.accounts) {
        printf("wrong: the journal has transfer %u of thread %u\n", at, number);
        return false;
    }
    balances[line->from] -= line->amount;
    balances[line->to] += line->amount;
    uint8_t *fate = &workers[number].fate[at];
    if (*fate == FAILED || *fate == NEVER) {
        printf("wrong: transfer %u of thread %u was aborted, and it is there\n", at, number);
        return false;
    }
    *fate = NEVER; /* Seen. */
    return true;
}

static uint64_t check_journal(ndb_t *ndb, struct worker *workers, int64_t *balances)
{
    uint64_t wrong = 0;
    const void *row = NULL;
    int more;
    struct ndb_scan *scan = ndb_scan_start(ndb, bank.line, NULL, CHECK_MS);
    if (scan == NULL) die("scan", ndb_error(ndb));
    while ((more = ndb_scan_next(scan, &row, CHECK_MS)) == 1)
        wrong += !check_line(row, workers, balances);
    if (more < 0) die("scan of the journal", ndb_scan_error(scan));
    ndb_scan_close(scan);
    for (uint32_t i = 0; i < bank.threads; i++) {
        for (uint32_t at = 0; at < workers[i].transfers; at++) {
            if (workers[i].fate[at] != HAPPENED) continue;
            printf("wrong: transfer %u of thread %u was committed, and it is lost\n", at, i);
            wrong++;
        }
    }
    return wrong;
}

static uint64_t check_accounts(ndb_t *ndb, const int64_t *balances)
{
    uint64_t wrong = 0;
    int64_t sum = 0;
    uint32_t rows = 0;
    const void *row = NULL;
    int more;
    struct ndb_scan *scan = ndb_scan_start(ndb, bank.account, NULL, CHECK_MS);
    if (scan == NULL) die("scan", ndb_error(ndb));
    while ((more = ndb_scan_next(scan, &row, CHECK_MS)) == 1) {
        const struct account *account = row;
        rows++;
        sum += account->balance;
        if (account->id < bank.accounts && account->balance == balances[account->id]) continue;
        if (wrong++ < 5)
            printf("wrong: account %u has %lld, its transfers make %lld\n", account->id,
                   (long long)account->balance, (long long)balances[account->id]);
    }
    if (more < 0) die("scan of the accounts", ndb_scan_error(scan));
    ndb_scan_close(scan);
    if (rows != bank.accounts || sum != (int64_t)bank.accounts * INITIAL) {
        printf("wrong: %u accounts have %lld together\n", rows, (long long)sum);
        wrong++;
    }
    return wrong;
}

static uint64_t prove(ndb_t *ndb, struct worker *workers)
{
    int64_t *balances = calloc(bank.accounts, sizeof *balances);
    for (uint32_t i = 0; i < bank.accounts; i++)
        balances[i] = INITIAL;
    uint64_t wrong = check_journal(ndb, workers, balances);
    wrong += check_accounts(ndb, balances);
    free(balances);
    return wrong;
}

static int report(ndb_t *ndb, struct worker *workers, double begin)
{
    struct worker sum = {.number = 0};
    for (uint32_t i = 0; i < bank.threads; i++) {
        for (uint32_t fate = 0; fate < 4; fate++) {
            sum.counts[fate] += workers[i].counts[fate];
            sum.asked[fate] += workers[i].asked[fate];
        }
        sum.retries += workers[i].retries;
        if (workers[i].longest_s > sum.longest_s) sum.longest_s = workers[i].longest_s;
        for (uint32_t e = 0; e < 8 && workers[i].errors[e] != 0; e++)
            note_error(&sum, workers[i].errors[e]);
    }
    printf("errors met:");
    for (uint32_t e = 0; e < 8 && sum.errors[e] != 0; e++)
        printf(" %d", sum.errors[e]);
    printf("\nasked for: %llu committed, %llu not committed, %llu not known; gap at %.3f s\n",
           (unsigned long long)sum.asked[HAPPENED], (unsigned long long)sum.asked[NEVER],
           (unsigned long long)sum.asked[UNKNOWN], bank.gap_at_s - begin);
    uint64_t wrong = prove(ndb, workers);
    bool late = sum.longest_s * 1000 > 2 * bank.deadline_ms + ASK_MS + SLACK_MS;
    printf(
        "failover: commits=%llu failed=%llu unknown=%llu retries=%llu gap_ms=%.1f call_ms=%.1f\n",
        (unsigned long long)sum.counts[HAPPENED], (unsigned long long)sum.counts[FAILED],
        (unsigned long long)sum.counts[UNKNOWN], (unsigned long long)sum.retries, bank.gap_s * 1000,
        sum.longest_s * 1000);
    if (bank.strict && sum.counts[FAILED] + sum.counts[UNKNOWN] > 0) wrong++;
    return wrong == 0 && !late ? 0 : 1;
}

static int run(void)
{
    static struct worker workers[THREADS_MAX];
    ndb_t *ndb = open_bank();
    signal(SIGTERM, on_signal);
    signal(SIGALRM, on_signal);
    double begin = bank.last_s = now_s();
    (void)alarm(bank.seconds);
    printf("running\n");
    fflush(stdout);
    for (uint32_t i = 0; i < bank.threads; i++) {
        workers[i].number = i;
        workers[i].fate = calloc(TRANSFERS_MAX, 1);
        if (workers[i].fate == NULL ||
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            exit(1);
    }
    for (uint32_t i = 0; i < bank.threads; i++)
        pthread_join(workers[i].thread, NULL);
    int result = report(ndb, workers, begin);
    ndb_table_release(bank.journal);
    ndb_record_release(bank.account);
    ndb_record_release(bank.line);
    ndb_close(ndb);
    ndb_connection_free(bank.connection);
    for (uint32_t i = 0; i < bank.threads; i++)
        free(workers[i].fate);
    return result;
}

static const struct argp_option option_table[] = {
    {"threads", 't', "N", 0, "Threads of the load (4)", 0},
    {"seconds", 's', "N", 0, "How long; 0 = until SIGTERM (10)", 0},
    {"deadline", 'd', "MS", 0, "Of each transfer (10000)", 0},
    {"accounts", 'a', "N", 0, "Accounts of the bank (1000)", 0},
    {"database", 'D', "NAME", 0, "Of its tables, which are made anew (test)", 0},
    {"strict", 'x', NULL, 0, "A transfer that does not succeed is an error", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 't':
        bank.threads = (uint32_t)atoi(text);
        if (bank.threads < 1 || bank.threads > THREADS_MAX) argp_error(state, "threads: 1..16");
        return 0;
    case 's':
        bank.seconds = (uint32_t)atoi(text);
        return 0;
    case 'd':
        bank.deadline_ms = (uint32_t)atoi(text);
        return 0;
    case 'a':
        bank.accounts = (uint32_t)atoi(text);
        if (bank.accounts < 2) argp_error(state, "accounts: at least 2");
        return 0;
    case 'D':
        bank.database = text;
        return 0;
    case 'x':
        bank.strict = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        option_table, parse_option, "",  "A bank that goes on while data nodes are lost.",
        NULL,         NULL,         NULL};
    if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0) return 2;
    return run();
}
