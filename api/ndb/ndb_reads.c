/* ndb_reads.c -- many rows read by primary key without waiting: one call, one callback. */
/* SPDX-License-Identifier: MIT */
/*
 * Committed reads have nothing in common but the call: one transaction record of the core carries
 * them all, and each goes to a node that has its row. No object stands for a single read.
 */
#include <stdlib.h>
#include "api/ndb/ndb_blame.h"
#include "api/ndb/ndb_private.h"
#include "api/ndb/record_state.h"

struct ndb_reads {
    ndb_t *ndb;
    struct ndb_reads *next; /* Next one of the ndb_t (prev too). */
    struct ndb_reads *prev;
    struct api_tx *tx;
    struct ndb_row_read *read;
    uint32_t count;
    ndb_reads_callback done;
    void *context;
};

#define CODE_PENDING INT32_MIN /* It has an operation, in the order of the reads. */

static uint32_t row_in(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    return record_unpack(api_op_context(op), pairs, words, api_op_context2(op));
}

/* 0 or an error number. */
static uint32_t define(struct api_tx *tx, const struct ndb_row_read *read)
{
    const struct ndb_record *record = read->record;
    uint32_t error = 0;
    if (record == NULL || read->row == NULL) return ERR_RECORD_NULL;
    if (record->unique != 0) return ERR_RECORD_NOT_KEY;
    uint32_t *out = api_op_begin(tx, record->key_words_max + record->count + 2);
    if (out == NULL) return ERR_API_MEMORY;
    uint32_t key_words = record_pack_key(record, read->row, out, &error);
    if (key_words == 0) return error;
    const struct api_op_options options = {
        .table = record->table,
        .operation = OP_READ,
        .lock = LOCK_COMMITTED,
        .flags = KEY_IGNORE_ERROR,
        .row = row_in,
        .context = (void *)(uintptr_t)record,
        .context2 = read->row,
    };
    uint32_t attr_words = record_pack_read(record, read->mask, out + key_words);
    return api_op_end(tx, &options, key_words, attr_words) == NULL ? ERR_API_MEMORY : 0;
}

static void leave(struct ndb_reads *reads)
{
    ndb_t *ndb = reads->ndb;
    api_tx_close(reads->tx);
    if (reads->next != NULL) reads->next->prev = reads->prev;
    if (reads->prev != NULL)
        reads->prev->next = reads->next;
    else
        ndb->reads = reads->next;
}

static void ended(void *context, struct api_tx *tx)
{
    struct ndb_reads *reads = context;
    ndb_t *ndb = reads->ndb;
    const struct api_op *op = api_tx_first(tx);
    for (uint32_t i = 0; i < reads->count; i++) {
        if (reads->read[i].code != CODE_PENDING) continue;
        reads->read[i].code = (int32_t)api_op_error(op);
        op = api_op_next(op);
    }
    leave(reads);
    async_completed(ndb, 1);
    ndb->callback_depth++;
    reads->done(reads->context);
    ndb->callback_depth--;
    free(reads);
}

static bool define_all(struct ndb_reads *reads)
{
    bool any = false;
    for (uint32_t i = 0; i < reads->count; i++) {
        uint32_t error = define(reads->tx, &reads->read[i]);
        reads->read[i].code = error == 0 ? CODE_PENDING : (int32_t)error;
        any |= error == 0;
    }
    return any;
}

static struct ndb_reads *create(ndb_t *ndb)
{
    struct ndb_reads *reads = calloc(1, sizeof *reads);
    if (reads != NULL) reads->tx = api_tx_start(ndb->client);
    if (reads == NULL || reads->tx == NULL) {
        free(reads);
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    reads->ndb = ndb;
    reads->next = ndb->reads;
    if (reads->next != NULL) reads->next->prev = reads;
    ndb->reads = reads;
    return reads;
}

struct ndb_reads *ndb_reads_begin(ndb_t *ndb, struct ndb_row_read *read, uint32_t count,
                                  uint32_t timeout_ms, ndb_reads_callback done, void *context)
{
    if (ndb == NULL) return NULL;
    if (read == NULL || count == 0 || done == NULL) {
        error_set(&ndb->error, done == NULL ? ERR_NO_CALLBACK : ERR_PARAMETER, NULL);
        return NULL;
    }
    ndb_now(ndb);
    struct ndb_reads *reads = create(ndb);
    if (reads == NULL) return NULL;
    reads->read = read;
    reads->count = count;
    reads->done = done;
    reads->context = context;
    uint32_t error = (uint32_t)ERR_API_MEMORY;
    if (define_all(reads)) {
        async_begun(ndb);
        error = api_tx_execute(reads->tx, API_COMMIT, timeout_of(ndb->connection, timeout_ms),
                               ended, reads);
        if (error == 0) {
            async_push(ndb);
            return reads;
        }
        async_completed(ndb, 0);
    } else {
        error = (uint32_t)read[0].code;
    }
    for (uint32_t i = 0; i < count; i++)
        if (read[i].code == CODE_PENDING) read[i].code = (int32_t)error;
    error_set_outcome(&ndb->error, error, false);
    blame_record(&ndb->error, error, read[0].record, read[0].row, false);
    leave(reads);
    free(reads);
    return NULL;
}

void ndb_reads_drop(struct ndb_reads *reads)
{
    if (reads == NULL) return;
    async_completed(reads->ndb, 0);
    leave(reads);
    free(reads);
}

void reads_drop_all(ndb_t *ndb)
{
    while (ndb->reads != NULL)
        ndb_reads_drop(ndb->reads);
}
