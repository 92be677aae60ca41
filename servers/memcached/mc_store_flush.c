/* mc_store_flush.c -- FLUSH_ALL: a scan gives the rows' keys, transactions delete them. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows of one transaction are deleted whatever they are by now. A row with parts is deleted in a
 * transaction of its own, if its value is still the one that the scan has seen: then these are all
 * its parts. What could not be deleted is looked for again, from the beginning, as long as there
 * are rows that can.
 */
#include <stdlib.h>
#include "servers/memcached/mc_store_large.h"
#include "servers/memcached/mc_store_private.h"

#define BATCHES 16u /* Transactions at a time. */
#define ROWS    32u /* Rows of each transaction. */

struct batch {
    struct mc_work *job;
    struct ndb_transaction *transaction; /* NULL: it is free. */
    bool sent;
    uint32_t rows;
    struct ndb_operation *operation[ROWS];
    uint32_t id, parts, at; /* Id, parts and next part of the one row that has parts. */
};

struct mc_flush {
    bool scanned; /* The scan has come to its end. */
    bool again;   /* Some rows are left. */
    ndb_error_t error;
    uint64_t deleted;
    uint32_t column_count, key_count;
    uint32_t columns[MC_COLUMNS_MAX + 2]; /* The primary key's, and where the parts are. */
    struct batch batch[BATCHES];
};

static void pump(struct mc_work *job);

void mc_flush_free(struct mc_work *job)
{
    if (job->flush == NULL) return;
    for (uint32_t i = 0; i < BATCHES; i++)
        ndb_transaction_close(job->flush->batch[i].transaction);
    free(job->flush);
    job->flush = NULL;
}

static void note(struct mc_work *job, const ndb_error_t *error)
{
    struct mc_flush *flush = job->flush;
    bool again = error->status != NDB_STATUS_PERMANENT || error->code == CODE_CHANGED ||
                 error->code == CODE_NO_ROW;
    if (again) {
        flush->again = true;
        mc_store_count(job->store, error->code);
    } else if (flush->error.code == 0) {
        flush->error = *error;
    }
}

/* ---- Deleting ---- */

static void take_results(struct batch *batch)
{
    for (uint32_t i = 0; i < batch->rows; i++) {
        const ndb_error_t *error = ndb_operation_error(batch->operation[i]);
        if (error->code == 0)
            batch->job->flush->deleted++;
        else if (error->code != CODE_NO_ROW)
            note(batch->job, error);
    }
}

static void delete_parts(struct batch *batch);

static void deleted(int result, struct ndb_transaction *transaction, void *context)
{
    struct batch *batch = context;
    struct mc_work *job = batch->job;
    if (result != 0) {
        note(job, ndb_transaction_error(transaction));
    } else if (batch->at < batch->parts) {
        delete_parts(batch);
        return;
    } else {
        take_results(batch);
    }
    ndb_transaction_close(transaction);
    batch->transaction = NULL;
    pump(job);
}

static void send(struct batch *batch)
{
    enum ndb_execute_type type = batch->at < batch->parts ? NDB_NO_COMMIT : NDB_COMMIT;
    batch->sent = true;
    if (ndb_execute_async(batch->transaction, type, batch->job->store->options.deadline_ms, deleted,
                          batch) == 0)
        return;
    note(batch->job, ndb_transaction_error(batch->transaction));
    ndb_transaction_close(batch->transaction);
    batch->transaction = NULL;
}

static void delete_parts(struct batch *batch)
{
    const struct ndb_operation_options options = {.flags = NDB_OP_IGNORE_ERROR};
    for (uint32_t i = 0; i < MC_PARTS_AT_ONCE && batch->at < batch->parts; i++)
        (void)mc_part_operation(batch->job->container, batch->transaction, NDB_DELETE, batch->id,
                                batch->at++, &options);
    send(batch);
    if (batch->transaction == NULL) pump(batch->job);
}

/* The row's value is the one that the scan has seen. NULL: no memory. */
static struct ndb_program *same_parts(struct mc_work *job, struct batch *batch)
{
    enum { FIRST = 1 };
    const struct mc_container *container = job->container;
    const uint32_t columns[] = {container->ext_id_column, container->ext_size_column};
    struct ndb_program *program = ndb_program_create(job->store->ndb, container->table);
    uint32_t bytes;
    if (program == NULL) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const void *value;
        uint32_t size;
        if (mc_row_value(job, columns[i], &value, &size) && value != NULL)
            ndb_program_branch_value(program, columns[i], NDB_EQ, value, size, FIRST + i);
        else
            ndb_program_branch_null(program, columns[i], true, FIRST + i);
        ndb_program_refuse(program, CODE_CHANGED);
        ndb_program_label(program, FIRST + i);
    }
    ndb_program_exit_ok(program);
    ndb_program_finish(program);
    if (mc_row_external(job, &batch->id, &bytes))
        batch->parts = (bytes + container->part_bytes - 1) / container->part_bytes;
    return program;
}

/* The scan's row. False: it could not be defined. */
static bool add_row(struct mc_work *job, struct batch *batch)
{
    const struct mc_flush *flush = job->flush;
    bool parts = job->container->parts != NULL;
    struct ndb_program *program = parts ? same_parts(job, batch) : NULL;
    const struct ndb_operation_options options = {
        .flags = parts ? NDB_OP_ABORT_ON_ERROR : NDB_OP_IGNORE_ERROR, .program = program};
    struct ndb_operation *operation = NULL;
    if (!parts || program != NULL)
        operation =
            ndb_operation_define(batch->transaction, job->container->table, NDB_DELETE, &options);
    ndb_program_free(program);
    for (uint32_t i = 0; operation != NULL && i < flush->key_count; i++) {
        const void *value;
        uint32_t size;
        if (!mc_row_value(job, flush->columns[i], &value, &size) ||
            ndb_operation_set(operation, flush->columns[i], value, size) != 0)
            return false;
    }
    if (operation != NULL) batch->operation[batch->rows++] = operation;
    return operation != NULL;
}

/* ---- The scan ---- */

/* One that is being filled, or a new one; NULL: all are on their way. */
static struct batch *open_batch(struct mc_work *job)
{
    struct batch *empty = NULL;
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct batch *batch = &job->flush->batch[i];
        if (batch->transaction != NULL && !batch->sent) return batch;
        if (batch->transaction == NULL && empty == NULL) empty = batch;
    }
    if (empty == NULL) return NULL;
    *empty = (struct batch){.job = job, .transaction = ndb_transaction_start(job->store->ndb)};
    if (empty->transaction != NULL) return empty;
    note(job, ndb_error(job->store->ndb));
    job->flush->scanned = true;
    return NULL;
}

static void send_open(struct mc_work *job)
{
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct batch *batch = &job->flush->batch[i];
        if (batch->transaction == NULL || batch->sent) continue;
        if (batch->rows > 0) {
            send(batch);
        } else {
            ndb_transaction_close(batch->transaction);
            batch->transaction = NULL;
        }
    }
}

static bool is_idle(const struct mc_flush *flush)
{
    for (uint32_t i = 0; i < BATCHES; i++) {
        if (flush->batch[i].transaction != NULL) return false;
    }
    return true;
}

/* Takes a row from the scan. False: there is none now. */
static bool take_row(struct mc_work *job, struct batch *batch)
{
    const void *row;
    int result = ndb_scan_try_next(job->scan, &row);
    if (result == NDB_SCAN_NOT_YET) return false;
    if (result != 1) {
        if (result < 0) note(job, ndb_scan_error(job->scan));
        job->flush->scanned = true;
        return false;
    }
    if (!add_row(job, batch)) {
        ndb_error_t memory;
        ndb_error_lookup(CODE_NO_CLIENT_MEMORY, &memory);
        note(job, &memory);
        job->flush->scanned = true;
        return false;
    }
    if (batch->rows == ROWS || job->container->parts != NULL) send(batch);
    return true;
}

static void finish(struct mc_work *job)
{
    const ndb_error_t error = job->flush->error;
    bool again = job->flush->again;
    if (error.code != 0) {
        mc_work_fail(job, &error);
    } else if (!again) {
        mc_work_end(job, MC_OK, NULL);
    } else {
        if (job->flush->deleted > 0) {
            job->deadline_ms = mc_store_now_ms() + job->store->options.deadline_ms;
            job->pause_ms = 0;
        }
        mc_work_again(job, "some rows could not be deleted");
    }
}

static void pump(struct mc_work *job)
{
    while (!job->flush->scanned) {
        struct batch *batch = open_batch(job);
        if (batch == NULL || !take_row(job, batch)) break;
    }
    send_open(job);
    if (job->flush->scanned && is_idle(job->flush)) finish(job);
}

static void ready(struct ndb_scan *scan, void *context)
{
    (void)scan;
    pump(context);
}

void mc_flush_begin(struct mc_work *job)
{
    struct ndb_column_info info;
    const struct mc_container *container = job->container;
    const struct ndb_scan_options options = {
        .lock = NDB_COMMITTED_READ, .ready = ready, .context = job};
    struct mc_flush *flush = calloc(1, sizeof *flush);
    if (flush == NULL) {
        mc_work_end(job, MC_NO_MEMORY, NULL);
        return;
    }
    job->flush = flush;
    for (uint32_t i = 0; ndb_table_column(container->table, i, &info) == 0; i++) {
        if (info.primary_key && flush->key_count < MC_COLUMNS_MAX)
            flush->columns[flush->key_count++] = i;
    }
    flush->column_count = flush->key_count;
    if (container->parts != NULL) {
        flush->columns[flush->column_count++] = container->ext_id_column;
        flush->columns[flush->column_count++] = container->ext_size_column;
    }
    job->scan =
        ndb_scan_start_columns(job->store->ndb, container->table, flush->columns,
                               flush->column_count, &options, job->store->options.deadline_ms);
    if (job->scan != NULL) return;
    ndb_error_t error = *ndb_error(job->store->ndb);
    mc_work_fail(job, &error);
}
