/* ndb_delete_all.c -- deletes all rows of tables and keeps the tables. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scan reads the keys, transactions with a batch of deletes each follow it, several at a time. A
 * row that somebody else has deleted meanwhile is no error. What fails with a temporary error is
 * left where it is, and a further pass over the table finds it again.
 *
 * Rows whose deletion was not on disk are back when all data nodes were lost and have returned, also
 * in a table that was done before. So all tables are emptied again then, and at the end it waits
 * until all is on disk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/tool_durable.h"
#include "tools/tool_json.h"
#include "tools/tool_progress.h"
#include "values/errors.h"

#define BATCH_ROWS 32u /* No more than the least MaxDMLOperationsPerTransaction. */
/* Batches on their way at a time: 512 of a node's 32768 operation records. */
#define BATCHES_MAX 16u

struct settings {
    struct tool tool;
    bool transactional;
    uint64_t epoch; /* The newest commit, of all tables; 0: none. */
};

enum { KEY_TUPSCAN = TOOL_KEY_OWN };

static const struct argp_option options[] = {
    {"transactional", 't', NULL, 0,
     "all rows of a table in one transaction; it needs operation records for all of them (234 when "
     "there are never so many, 261 when MaxDMLOperationsPerTransaction allows fewer)",
     0},
    {"tupscan", KEY_TUPSCAN, NULL, 0, "read the rows in the order of their storage (always so)", 0},
    {0},
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    (void)argument;
    switch (key) {
    case 't':
        settings->transactional = true;
        return 0;
    case KEY_TUPSCAN:
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

struct work {
    ndb_t *ndb;
    struct ndb_record *keys; /* Key columns only. */
    uint64_t deleted;
    uint64_t epoch;    /* The newest commit. */
    bool again;        /* Some batch met an error: there may be rows left. */
    bool failed;       /* Some batch met an error that is not temporary. */
    ndb_error_t error; /* The last temporary one, or the first other. */
    uint32_t waiting;  /* Batches on their way. */
};

struct batch {
    struct work *work;
    struct ndb_transaction *transaction;
    uint32_t rows;
    struct ndb_operation *operations[BATCH_ROWS];
};

static void note_error(struct work *work, const ndb_error_t *error)
{
    if (work->failed) return;
    work->error = *error;
    work->error.detail = ""; /* Ends with the transaction. */
    work->failed = error->status != NDB_STATUS_TEMPORARY;
    work->again = true;
}

/* Counts what a committed batch has deleted; single deletes may have been refused. */
static void count_batch(struct batch *batch)
{
    batch->work->epoch =
        tool_newer_epoch(batch->work->epoch, ndb_transaction_epoch(batch->transaction));
    for (uint32_t i = 0; i < batch->rows; i++) {
        const ndb_error_t *error = ndb_operation_error(batch->operations[i]);
        if (error->code == 0) {
            batch->work->deleted++;
        } else if (error->code != ERR_ROW_NOT_FOUND) {
            note_error(batch->work, error);
        }
    }
    tool_progress_tell("ndb_delete_all", batch->work->deleted, "rows deleted");
}

static void batch_done(int result, struct ndb_transaction *transaction, void *context)
{
    struct batch *batch = context;

    if (result == 0) {
        count_batch(batch);
    } else {
        note_error(batch->work, ndb_transaction_error(transaction));
    }
    batch->work->waiting--;
    ndb_transaction_close(transaction);
    free(batch);
}

/* Another batch with a transaction of its own, or NULL with the error noted. */
static struct batch *batch_begin(struct work *work)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    ndb_error_t memory = {.text = "Out of memory", .status = NDB_STATUS_PERMANENT};

    if (batch == NULL) {
        note_error(work, &memory);
        return NULL;
    }
    batch->work = work;
    batch->transaction = ndb_transaction_start(work->ndb);
    if (batch->transaction != NULL) return batch;
    note_error(work, ndb_error(work->ndb));
    free(batch);
    return NULL;
}

static bool batch_add(struct batch *batch, const void *row)
{
    static const struct ndb_operation_options ignore = {.flags = NDB_OP_IGNORE_ERROR};
    struct ndb_operation *operation =
        ndb_delete(batch->transaction, batch->work->keys, row, &ignore);

    if (operation == NULL) {
        note_error(batch->work, ndb_transaction_error(batch->transaction));
        return false;
    }
    batch->operations[batch->rows++] = operation;
    return true;
}

/* Sends a batch, which is its callback's from then on. */
static void batch_send(struct batch *batch)
{
    struct work *work = batch->work;

    work->waiting++;
    if (ndb_execute_async(batch->transaction, NDB_COMMIT, 0, batch_done, batch) != 0)
        batch_done(-1, batch->transaction, batch);
}

/* One pass over the table with many small transactions. False: work->error tells why not. */
static void delete_in_batches(struct work *work, struct ndb_scan *scan)
{
    struct batch *batch = NULL;
    const void *row;
    int more = 1;

    while (!work->failed && (more = ndb_scan_next(scan, &row, 0)) == 1) {
        if (batch == NULL) batch = batch_begin(work);
        if (batch == NULL || !batch_add(batch, row)) break;
        if (batch->rows < BATCH_ROWS) continue;
        batch_send(batch);
        batch = NULL;
        while (work->waiting >= BATCHES_MAX && ndb_poll(work->ndb, TOOL_TIMEOUT_MS, 1) > 0)
            continue;
    }
    if (more < 0) note_error(work, ndb_scan_error(scan));
    if (batch != NULL) batch_send(batch);
    (void)ndb_flush(work->ndb);
    while (work->waiting > 0 && ndb_poll(work->ndb, TOOL_TIMEOUT_MS, 1) >= 0)
        continue;
}

/* Executes what a batch of the one transaction holds. */
static bool execute_part(struct batch *batch, enum ndb_execute_type type)
{
    if (ndb_execute(batch->transaction, type, 0) != 0) {
        note_error(batch->work, ndb_transaction_error(batch->transaction));
        return false;
    }
    count_batch(batch);
    batch->rows = 0;
    return !batch->work->again;
}

/* All rows in one transaction: nothing is deleted unless everything is. */
static void delete_in_one(struct work *work, struct ndb_scan *scan)
{
    struct batch *batch = batch_begin(work);
    const void *row;
    int more = 1;

    if (batch == NULL) return;
    work->deleted = 0;
    while ((more = ndb_scan_next(scan, &row, 0)) == 1) {
        if (!batch_add(batch, row)) break;
        if (batch->rows == BATCH_ROWS && !execute_part(batch, NDB_NO_COMMIT)) break;
    }
    if (more < 0) note_error(work, ndb_scan_error(scan));
    if (!work->again) (void)execute_part(batch, NDB_COMMIT);
    ndb_transaction_close(batch->transaction);
    free(batch);
}

static struct ndb_record *key_record(ndb_t *ndb, struct ndb_table *table)
{
    struct ndb_table_info info;
    struct ndb_column_info column;
    uint32_t count = 0;
    uint32_t offset = 0;

    ndb_table_describe(table, &info);
    struct ndb_field *fields = calloc(info.columns, sizeof(*fields));
    if (fields == NULL) return NULL;
    for (uint32_t i = 0; i < info.columns; i++) {
        if (ndb_table_column(table, i, &column) != 0 || !column.primary_key) continue;
        fields[count++] = (struct ndb_field){
            .column_id = i, .offset = offset, .size = column.size, .null_offset = NDB_NOT_NULLABLE};
        offset += column.size;
    }
    struct ndb_record *record = ndb_record_create(ndb, table, fields, count, offset);
    free(fields);
    return record;
}

static void delete_pass(const struct settings *settings, struct work *work)
{
    struct ndb_scan *scan = ndb_scan_start(work->ndb, work->keys, NULL, 0);

    if (scan == NULL) {
        note_error(work, ndb_error(work->ndb));
    } else if (settings->transactional) {
        delete_in_one(work, scan);
    } else {
        delete_in_batches(work, scan);
    }
    ndb_scan_close(scan);
}

/* Were all data nodes lost since, or are they? */
static bool is_lost(const struct settings *settings, uint32_t lives)
{
    const struct ndb_cluster_connection *connection = settings->tool.connection;

    return ndb_connection_lives(connection) != lives || ndb_connection_ready_nodes(connection) == 0;
}

/* 0, or -1 with the error printed behind what stands on standard output. */
static int delete_rows(struct settings *settings, struct ndb_table *table, uint64_t *deleted)
{
    struct work work = {.ndb = settings->tool.ndb, .keys = key_record(settings->tool.ndb, table)};
    uint32_t lives = ndb_connection_lives(settings->tool.connection);
    uint32_t tries = 0;

    if (work.keys == NULL) {
        tool_print_error(ndb_error(work.ndb));
        return -1;
    }
    do {
        work.again = false;
        delete_pass(settings, &work);
    } while (work.again && !work.failed && tool_try_again(&work.error, &tries));
    tool_progress_end();
    *deleted = work.deleted;
    settings->epoch = tool_newer_epoch(settings->epoch, work.epoch);
    if (work.again) {
        if (settings->tool.format == TOOL_TEXT) printf("FAILED\n");
        (void)fflush(stdout);
        tool_print_error(&work.error);
        if (!settings->transactional)
            (void)fprintf(stderr, "%" PRIu64 " rows were deleted before that%s\n", work.deleted,
                          is_lost(settings, lives)
                              ? "; what was not on disk may come back with the data nodes"
                              : "");
    }
    ndb_record_release(work.keys);
    return work.again ? -1 : 0;
}

static int delete_all(void *context, char **argv, cJSON *list)
{
    struct settings *settings = context;
    const char *name = argv[0];
    struct ndb_table *table = tool_open_table(&settings->tool, name);
    uint64_t deleted = 0;

    if (table == NULL) return TOOL_FAILED;
    if (settings->tool.format == TOOL_TEXT) {
        printf("Deleting all from %s%s ...", name,
               settings->transactional ? "" : " (non-transactional)");
        (void)fflush(stdout);
    }
    int result = delete_rows(settings, table, &deleted);
    ndb_table_release(table);
    if (result != 0) return TOOL_FAILED;
    if (settings->tool.format == TOOL_JSON) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "table", name);
        cJSON_AddNumberToObject(entry, "deleted", (double)deleted);
        cJSON_AddItemToArray(list, entry);
    } else {
        printf("\n%s: %" PRIu64 " row%s deleted\n", name, deleted, deleted == 1 ? "" : "s");
    }
    return TOOL_OK;
}

/* Until the deletions are on disk, or *lost. */
static int keep_deletions(struct settings *settings, bool *lost)
{
    ndb_error_t error = {0};
    uint32_t tries = 0;
    int result;

    while ((result = tool_durable(&settings->tool, &settings->epoch, &error)) == 0) {
        *lost = settings->epoch == 0;
        if (*lost) return TOOL_OK;
        if (error.code != ERR_REQUEST_TIMEOUT && tool_try_again(&error, &tries)) continue;
        tool_print_error(&error);
        break;
    }
    if (result == 1) return TOOL_OK;
    (void)fprintf(stderr, "Whether the deletions are on disk is not known\n");
    return TOOL_FAILED;
}

static int run(void *context, int argc, char **argv)
{
    struct settings *settings = context;
    cJSON *list = cJSON_CreateArray();
    int code = TOOL_OK;
    bool lost;

    do {
        uint32_t lives = ndb_connection_lives(settings->tool.connection);
        lost = false;
        for (int i = 0; i < argc && code == TOOL_OK; i++)
            code = delete_all(settings, argv + i, list);
        if (code == TOOL_OK) code = keep_deletions(settings, &lost);
        if (lives != ndb_connection_lives(settings->tool.connection)) lost = true;
        lost = lost && code == TOOL_OK;
        if (lost)
            (void)fprintf(stderr, "All data nodes were lost meanwhile: rows whose deletion was not "
                                  "on disk are back; all is deleted again\n");
    } while (lost);
    tool_json_end(&settings->tool, list);
    return code;
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "ndb_delete_all",
        .doc = "Deletes all rows of tables; the tables stay. Without --transactional the rows go "
               "in many small transactions. It stops at the first table that fails.",
        .arguments = "TABLE...",
        .needed = "give at least one table",
        .options = options,
        .option = read_option,
        .run = run};
    struct settings settings = {0};

    return tool_main(&program, &settings, argc, argv);
}
