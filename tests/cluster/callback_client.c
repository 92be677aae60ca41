/* callback_client.c -- calls on what is being executed, and callbacks that close what a call waits
 * for. For batches.sh, with its table. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndb/ndb.h>

#define TIMEOUT_MS 60000u
#define TRIES      1000u
#define READS      4000u
#define MANY       40000u

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

/* What has nothing to send ends at once; its callback runs in a call that may run some, all the
 * same, or never when it is closed before. */
static void end_at_once(struct client *client)
{
    static const enum ndb_execute_type types[] = {NDB_NO_COMMIT, NDB_COMMIT, NDB_ROLLBACK};
    for (uint32_t i = 0; i < 2 * sizeof types / sizeof types[0]; i++) {
        struct ndb_transaction *t = i % 2 == 0 ? begin(client) : begin_write(client, 1);
        enum ndb_execute_type type = i % 2 == 0 ? types[i / 2] : NDB_ROLLBACK;
        client->ended = 0;
        want("an asynchronous execute", ndb_execute_async(t, type, TIMEOUT_MS, ended, client), 0);
        want("callbacks inside of it", client->ended, 0);
        want("pending", ndb_pending(client->ndb), 1);
        want("an execute before the callback", ndb_execute(t, NDB_ROLLBACK, TIMEOUT_MS), -1);
        want("its error", ndb_transaction_error(t)->code, 4100);
        want("when is there work", ndb_process_timeout(client->ndb), 0);
        want("completions",
             i % 2 == 0 ? ndb_poll(client->ndb, TIMEOUT_MS, 1) : ndb_process(client->ndb), 1);
        want("callbacks", client->ended, 1);
        want("an execute behind it", ndb_execute(t, NDB_ROLLBACK, TIMEOUT_MS),
             type == NDB_COMMIT ? -1 : 0);
        ndb_transaction_close(t);
    }
    struct ndb_transaction *first = begin(client);
    struct ndb_transaction *second = begin(client);
    struct ndb_transaction *third = begin(client);
    client->ended = 0;
    want("a first one", ndb_execute_async(first, NDB_COMMIT, TIMEOUT_MS, ended, client), 0);
    want("a second one", ndb_execute_async(second, NDB_COMMIT, TIMEOUT_MS, ended, client), 0);
    want("a third one", ndb_execute_async(third, NDB_COMMIT, TIMEOUT_MS, ended, client), 0);
    ndb_transaction_close(second);
    ndb_transaction_close(third);
    want("pending behind two closes", ndb_pending(client->ndb), 1);
    poll_all(client);
    want("callbacks behind two closes", client->ended, 1);
    ndb_transaction_close(first);
}

#define CHAIN 100000u /* Calls inside each other would need more stack than there is. */

static void next_of_chain(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    want("a link of the chain", result, 0);
    ndb_transaction_close(t);
    if (++client->ended == CHAIN) return;
    t = begin(client);
    want("the next one", ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, next_of_chain, client), 0);
}

static void chain(struct client *client)
{
    struct ndb_transaction *t = begin(client);
    client->ended = 0;
    want("the first one", ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, next_of_chain, client), 0);
    want("a poll of a chain", ndb_poll(client->ndb, NDB_NO_TIMEOUT, CHAIN), CHAIN);
    want("pending behind the chain", ndb_pending(client->ndb), 0);
}

/* What a callback tries to begin is refused: nothing is left to wait for. */
static void begin_in_vain(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    struct row row = {.key = 1};
    struct ndb_row_read read = {.record = NULL, .row = &row};
    (void)t;
    want("the first one's result", result, 0);
    want("an execute that is refused",
         ndb_execute_async(client->other, NDB_COMMIT, TIMEOUT_MS, ended, client), -1);
    want("reads that are refused",
         ndb_reads_begin(client->ndb, &read, 1, TIMEOUT_MS, reads_ended, client) == NULL, 1);
}

static void poll_in_vain(struct client *client)
{
    const struct ndb_operation_options options = {.flags = UINT32_MAX};
    struct row row = {.key = 1};
    struct ndb_transaction *t = begin_write(client, 5);
    client->other = begin(client);
    want("wrong options", ndb_insert(client->other, client->record, &row, &options) == NULL, 1);
    want("an asynchronous execute",
         ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, begin_in_vain, client), 0);
    want("a poll for more", ndb_poll(client->ndb, NDB_NO_TIMEOUT, 4), 1);
    want("pending behind it", ndb_pending(client->ndb), 0);
    ndb_transaction_close(client->other);
    ndb_transaction_close(t);
}

/* What the function of ndb_run_transaction() must not do, and how it may end. */
enum run {
    RUN_CLOSES,
    RUN_ASYNC,
    RUN_ASYNC_AND_FAILS,
    RUN_ROLLS_BACK,
    RUN_COMMITS_AND_FAILS,
    RUN_FAILS
};

struct run_job {
    struct client *client;
    enum run run;
    uint32_t tries;
    uint32_t unknown; /* The first one whose outcome is unknown, from 1 on. */
};

static int run_function(struct ndb_transaction *t, void *context)
{
    struct run_job *job = context;
    struct row row = {.key = 9, .value = job->run};
    ndb_t *ndb = job->client->ndb;
    if (ndb_write(t, job->client->record, &row, NULL) == NULL)
        die("write", ndb_transaction_error(t));
    switch (job->run) {
    case RUN_CLOSES:
        ndb_transaction_close(t);
        want("the error of a close in the function", ndb_error(ndb)->code, 4507);
        return 0;
    case RUN_ASYNC:
    case RUN_ASYNC_AND_FAILS:
        job->client->executed = t; /* The callback tries to close it. */
        want("an asynchronous execute in the function",
             ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, ended, job->client), 0);
        return job->run == RUN_ASYNC ? 0 : -1;
    case RUN_ROLLS_BACK:
        want("a rollback", ndb_execute(t, NDB_ROLLBACK, TIMEOUT_MS), 0);
        return 0;
    case RUN_COMMITS_AND_FAILS:
        want("a commit", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), 0);
        return -1;
    case RUN_FAILS:
        break;
    }
    return -1;
}

static void run_all(struct client *client)
{
    static const struct {
        int result;
        int32_t code;
        enum ndb_error_status status;
        int row; /* Is it there? */
    } wanted[] = {
        [RUN_CLOSES] = {0, 0, NDB_STATUS_SUCCESS, 1},
        [RUN_ASYNC] = {0, 0, NDB_STATUS_SUCCESS, 1},
        [RUN_ASYNC_AND_FAILS] = {-1, 4293, NDB_STATUS_UNKNOWN, 1},
        [RUN_ROLLS_BACK] = {-1, 4293, NDB_STATUS_PERMANENT, 0},
        [RUN_COMMITS_AND_FAILS] = {-1, 4293, NDB_STATUS_UNKNOWN, 1},
        [RUN_FAILS] = {-1, 4293, NDB_STATUS_PERMANENT, 0},
    };
    for (enum run run = RUN_CLOSES; run <= RUN_FAILS; run++) {
        struct run_job job = {client, run, 0, 0};
        struct row row = {.key = 9};
        client->ended = 0;
        want("a run", ndb_run_transaction(client->ndb, run_function, &job, TIMEOUT_MS),
             wanted[run].result);
        if (wanted[run].result != 0) {
            want("its error", ndb_error(client->ndb)->code, wanted[run].code);
            want("its status", ndb_error(client->ndb)->status, wanted[run].status);
        }
        client->executed = NULL;
        want("its callbacks", client->ended, run == RUN_ASYNC || run == RUN_ASYNC_AND_FAILS);
        want("pending behind a run", ndb_pending(client->ndb), 0);
        want("is its row there", ndb_read_row(client->ndb, client->record, &row, TIMEOUT_MS) == 0,
             wanted[run].row);
        if (wanted[run].row) {
            want("whose is it", row.value, run);
            want("a delete", ndb_delete_row(client->ndb, client->record, &row, TIMEOUT_MS), 0);
        }
    }
}

/* The wait of the asynchronous one is over when the next call begins: its callback runs in that
 * call's wait, so that it cannot close what the call executes. */
static void late_callback(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    (void)t;
    client->ended++;
    want("one that has waited too long", result, -1);
    ndb_transaction_close(client->executed);
    client->refused += ndb_error(client->ndb)->code == 4507;
}

static void pause_ms(uint32_t ms)
{
    struct timespec left = {.tv_nsec = (long)ms * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

static void end_late(struct client *client)
{
    struct ndb_transaction *first = begin_locking(client, 2);
    struct ndb_transaction *late = begin_write(client, 3);
    struct ndb_transaction *t = begin(client);
    struct row row = {.key = 10, .value = 4};
    client->ended = client->refused = 0;
    client->executed = t;
    if (ndb_insert(t, client->record, &row, NULL) == NULL) die("insert", ndb_transaction_error(t));
    want("one that waits too long", ndb_execute_async(late, NDB_COMMIT, 1, late_callback, client),
         0);
    want("a flush", ndb_flush(client->ndb), 0);
    pause_ms(20); /* Its time is up, and nobody has looked. */
    want("an execute", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), 0);
    client->executed = NULL;
    poll_all(client);
    want("callbacks", client->ended, 1);
    want("closes that were refused", client->refused, 1);
    want("what is committed", ndb_read_row(client->ndb, client->record, &row, TIMEOUT_MS), 0);
    want("a delete", ndb_delete_row(client->ndb, client->record, &row, TIMEOUT_MS), 0);
    ndb_transaction_close(t);
    ndb_transaction_close(late);
    ndb_transaction_close(first);
}

/* An unknown outcome is not made a temporary error by a second call, and nothing is done twice. */
static int run_unknown(struct ndb_transaction *t, void *context)
{
    struct run_job *job = context;
    struct row row = {.key = 100 + job->tries++};
    if (ndb_insert(t, job->client->record, &row, NULL) == NULL)
        die("insert", ndb_transaction_error(t));
    int result = ndb_execute(t, NDB_COMMIT_DURABLE, 1);
    if (result == 0 || ndb_transaction_error(t)->status != NDB_STATUS_UNKNOWN) return result;
    job->unknown = job->tries;
    want("a rollback", ndb_execute(t, NDB_ROLLBACK, TIMEOUT_MS), -1);
    want("its status", ndb_transaction_error(t)->status, NDB_STATUS_UNKNOWN);
    want("a commit again", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), -1);
    want("its status", ndb_transaction_error(t)->status, NDB_STATUS_UNKNOWN);
    want("an insert", ndb_insert(t, job->client->record, NULL, NULL) == NULL, 1);
    return -1;
}

static void stay_unknown(struct client *client)
{
    struct run_job job = {client, RUN_FAILS, 0, 0};
    for (uint32_t i = 0; i < TRIES && job.unknown == 0; i++) {
        job.tries = 0;
        if (ndb_run_transaction(client->ndb, run_unknown, &job, TIMEOUT_MS) != 0)
            want("the status of the run", ndb_error(client->ndb)->status, NDB_STATUS_UNKNOWN);
        if (job.unknown != 0) want("is it the last one", job.unknown, job.tries);
        for (uint32_t key = 100; key < 100 + job.tries; key++) {
            struct row row = {.key = key};
            (void)ndb_delete_row(client->ndb, client->record, &row, TIMEOUT_MS);
        }
    }
    want("was an outcome unknown", job.unknown != 0, 1);
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

/* A call that is wrong in itself takes nothing from what the transaction has, and has become. */
static void refuse_wrong_call(struct client *client)
{
    struct ndb_transaction *t = begin_write(client, 7);
    want("an outcome of none", ndb_transaction_outcome(t, TIMEOUT_MS), -1);
    want("its error", ndb_transaction_error(t)->code, 4100);
    want("an execute of no type", ndb_execute(t, (enum ndb_execute_type)99, TIMEOUT_MS), -1);
    want("its error", ndb_transaction_error(t)->code, 4118);
    want("the commit behind it", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), 0);
    want("a second one", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), -1);
    want("its error", ndb_transaction_error(t)->code, 4114);
    want("the outcome", ndb_transaction_outcome(t, TIMEOUT_MS), 1);
    want("the error behind it", ndb_transaction_error(t)->code, 0);
    ndb_transaction_close(t);
}

/* What has only read is not committed when a read has failed, and has no epoch. */
static void read_only(struct client *client, uint32_t key, int result)
{
    struct ndb_operation_options locks = {.lock = NDB_LOCK_EXCLUSIVE};
    struct ndb_operation_options aborts = {.lock = NDB_COMMITTED_READ,
                                           .flags = NDB_OP_ABORT_ON_ERROR};
    struct row rows[2] = {{.key = 1}, {.key = key}};
    struct ndb_transaction *t = begin(client);
    if (ndb_read(t, client->record, &rows[0], client->record, &rows[0], &locks) == NULL ||
        ndb_read(t, client->record, &rows[1], client->record, &rows[1], &aborts) == NULL)
        die("read", ndb_transaction_error(t));
    want("reads", ndb_execute(t, NDB_COMMIT, TIMEOUT_MS), result);
    want("their error", ndb_transaction_error(t)->code, result == 0 ? 0 : 626);
    want("their outcome", ndb_transaction_outcome(t, TIMEOUT_MS), result == 0);
    want("their epoch", (int64_t)ndb_transaction_epoch(t), 0);
    ndb_transaction_close(t);
}

/* Both errors of an execute say the same, whatever the ndb_t's was before. */
static void say_the_same(struct client *client)
{
    struct ndb_transaction *first = begin_locking(client, 5);
    struct ndb_transaction *t = begin_write(client, 6);
    ndb_error_t said;
    for (uint32_t i = 0; i < TRIES && ndb_error(client->ndb)->code != 4012; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "none%u", i);
        ndb_table_release(ndb_table_open(client->ndb, name, 1));
    }
    want("a lock that is waited for", ndb_execute(t, NDB_COMMIT, 50), -1);
    said = *ndb_error(client->ndb);
    want("its error", said.code, 4012);
    want("its status", said.status, ndb_transaction_error(t)->status);
    want("its class", said.classification, ndb_transaction_error(t)->classification);
    want("its detail", strcmp(said.detail, ndb_transaction_error(t)->detail), 0);
    ndb_transaction_close(t);
    ndb_transaction_close(first);
}

/* A scan that goes on well has no error of a call that was refused in between. */
static void next_in_callback(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    (void)t;
    want("a write", result, 0);
    want("a row in a callback", ndb_scan_next(client->scanned, NULL, TIMEOUT_MS), -1);
    want("its error", ndb_scan_error(client->scanned)->code, 4507);
}

static void scan_on(struct client *client)
{
    struct ndb_transaction *t = begin_write(client, 7);
    struct ndb_scan *scan = ndb_scan_start(client->ndb, client->record, NULL, TIMEOUT_MS);
    if (scan == NULL) die("scan", ndb_error(client->ndb));
    client->scanned = scan;
    if (ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, next_in_callback, client) != 0)
        die("asynchronous execute", ndb_transaction_error(t));
    poll_all(client);
    client->scanned = NULL;
    want("a row", ndb_scan_next(scan, NULL, TIMEOUT_MS), 1);
    want("the scan's error", ndb_scan_error(scan)->code, 0);
    ndb_scan_close(scan);
    ndb_transaction_close(t);
}

/* What is begun asynchronously goes out by flush_bytes, not one by one. */
static void count_read(int result, struct ndb_transaction *t, void *context)
{
    struct client *client = context;
    client->ended += result == 0;
    ndb_transaction_close(t);
}

static void send_together(struct client *client, struct ndb_cluster_connection *connection)
{
    struct row rows[READS];
    struct ndb_statistics before, behind;
    client->ended = 0;
    ndb_connection_statistics(connection, &before);
    for (uint32_t i = 0; i < READS; i++) {
        struct ndb_transaction *t = begin(client);
        rows[i].key = 1;
        if (ndb_read(t, client->record, &rows[i], client->record, &rows[i], NULL) == NULL ||
            ndb_execute_async(t, NDB_COMMIT, TIMEOUT_MS, count_read, client) != 0)
            die("asynchronous read", ndb_transaction_error(t));
    }
    ndb_connection_statistics(connection, &behind);
    want("are few sends enough", behind.sends - before.sends < READS / 4, 1);
    poll_all(client);
    want("reads", client->ended, READS);
}

/* How far a change of a table has come is told as in any callback. */
static void tell(void *context, uint64_t rows, uint64_t total)
{
    struct client *client = context;
    struct row row = {.key = 1};
    (void)rows;
    (void)total;
    client->ended++;
    want("a read", ndb_read_row(client->ndb, client->record, &row, NDB_NO_TIMEOUT), -1);
    want("its error", ndb_error(client->ndb)->code, 4507);
    ndb_close(client->ndb);
    want("the error of the close", ndb_error(client->ndb)->code, 4507);
}

static void change_many(struct client *client, enum ndb_operation_type type, uint32_t first)
{
    struct row *rows = calloc(MANY, sizeof *rows);
    if (rows == NULL) exit(1);
    for (uint32_t i = 0; i < MANY; i++)
        rows[i] = (struct row){.key = first + i, .value = i};
    want("rows that are changed",
         ndb_change_many(client->ndb, type, client->record, rows, sizeof *rows, MANY, NULL,
                         TIMEOUT_MS),
         MANY);
    free(rows);
}

/* It is told twice a second, so the table grows until the change takes so long. */
static void tell_progress(struct client *client)
{
    struct ndb_progress progress = {.tell = tell, .context = client};
    uint32_t rows = 0;
    client->ended = 0;
    while (client->ended == 0 && rows < 10 * MANY) {
        change_many(client, NDB_WRITE, 1000 + rows);
        rows += MANY;
        if (ndb_index_create(client->ndb, "CREATE UNIQUE INDEX told ON batch (v, k)", NULL,
                             &progress, TIMEOUT_MS) != 0 ||
            ndb_index_drop(client->ndb, "batch", "told", TIMEOUT_MS) != 0)
            die("index", ndb_error(client->ndb));
    }
    want("was progress told", client->ended != 0, 1);
    while (rows > 0)
        change_many(client, NDB_DELETE, 1000 + (rows -= MANY));
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
    end_at_once(&client);
    chain(&client);
    poll_in_vain(&client);
    run_all(&client);
    end_late(&client);
    stay_unknown(&client);
    no_ranges(&client);
    refuse_wrong_call(&client);
    read_only(&client, 1, 0);
    read_only(&client, 2, -1);
    say_the_same(&client);
    scan_on(&client);
    send_together(&client, connection);
    tell_progress(&client);
    delete_row(&client);
    ndb_record_release(client.record);
    ndb_table_release(client.table);
    ndb_close(client.ndb);
    ndb_connection_free(connection);
    return 0;
}
