/* mc_store_batch.c -- committed reads by primary key, of many requests at once. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Such reads take no lock and wait for nobody, and each goes straight to a node that has its row:
 * a transaction of them is only the envelope in which the client library takes them. So reads that
 * are begun between two calls of mc_store_send() share one, up to MC_BATCH_MAX. Each has its own
 * error, and what meets a temporary one begins anew by itself; the answers come when the last one
 * has come.
 */
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_store_private.h"

struct mc_batch {
    struct mc_batch *next; /* Under way (prev too), or spare ones. */
    struct mc_batch *prev;
    struct mc_store *store;
    struct ndb_transaction *transaction;
    uint32_t count;
    struct mc_read {
        struct mc_work *job;
        struct ndb_operation *operation;
        void (*then)(struct mc_work *job, const ndb_error_t *error);
    } read[MC_BATCH_MAX];
};

static struct mc_batch *take(struct mc_store *store)
{
    struct mc_batch *batch = store->spare_batches;
    if (batch != NULL) {
        store->spare_batches = batch->next;
    } else {
        batch = malloc(sizeof *batch);
        if (batch == NULL) return NULL;
    }
    batch->transaction = ndb_transaction_start(store->ndb);
    if (batch->transaction == NULL) {
        batch->next = store->spare_batches;
        store->spare_batches = batch;
        return NULL;
    }
    batch->store = store;
    batch->count = 0;
    batch->prev = NULL;
    batch->next = store->batches;
    if (batch->next != NULL) batch->next->prev = batch;
    store->batches = batch;
    return batch;
}

static void give(struct mc_batch *batch)
{
    struct mc_store *store = batch->store;
    ndb_transaction_close(batch->transaction);
    if (batch->prev != NULL)
        batch->prev->next = batch->next;
    else
        store->batches = batch->next;
    if (batch->next != NULL) batch->next->prev = batch->prev;
    batch->next = store->spare_batches;
    store->spare_batches = batch;
}

/* To all of them the same, or to each its own. */
static void tell(struct mc_batch *batch, const ndb_error_t *common)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct mc_read *read = &batch->read[i];
        read->then(read->job, common != NULL ? common : ndb_operation_error(read->operation));
    }
    give(batch);
}

static void executed(int result, struct ndb_transaction *transaction, void *context)
{
    (void)result;
    (void)transaction;
    tell(context, NULL);
}

void mc_batch_send(struct mc_store *store)
{
    struct mc_batch *batch = store->gathering;
    if (batch == NULL) return;
    store->gathering = NULL;
    store->queued = true;
    if (ndb_execute_async(batch->transaction, NDB_COMMIT, store->options.deadline_ms, executed,
                          batch) == 0)
        return;
    ndb_error_t error = *ndb_transaction_error(batch->transaction);
    if (error.code == 0) ndb_error_lookup(CODE_NO_CLIENT_MEMORY, &error);
    tell(batch, &error);
}

/* Which columns of the row are wanted. */
static void mask_of(const struct mc_work *job, bool value, uint8_t mask[MC_MASK_BYTES])
{
    uint32_t columns[MC_ROW_COLUMNS];
    uint32_t count = mc_row_columns(job, value, columns);
    memset(mask, 0, MC_MASK_BYTES);
    for (uint32_t i = 0; i < count; i++)
        mask[columns[i] / 8u] = (uint8_t)(mask[columns[i] / 8u] | 1u << columns[i] % 8u);
}

bool mc_batch_read(struct mc_work *job, bool value,
                   void (*then)(struct mc_work *job, const ndb_error_t *error))
{
    struct mc_store *store = job->store;
    uint8_t mask[MC_MASK_BYTES];
    const struct ndb_operation_options options = {
        .lock = NDB_COMMITTED_READ, .flags = NDB_OP_IGNORE_ERROR, .mask = mask};
    if (!mc_records_take(job) || !mc_records_set_key(job)) return false;
    if (store->gathering == NULL) store->gathering = take(store);
    struct mc_batch *batch = store->gathering;
    if (batch == NULL) return false;
    mask_of(job, value, mask);
    const struct ndb_record *record = job->records->row;
    struct ndb_operation *operation =
        ndb_read(batch->transaction, record, job->row, record, job->row, &options);
    if (operation == NULL) { /* The transaction is spoiled: so that others have one of their own. */
        mc_batch_send(store);
        return false;
    }
    batch->read[batch->count++] =
        (struct mc_read){.job = job, .operation = operation, .then = then};
    if (batch->count == MC_BATCH_MAX) mc_batch_send(store);
    return true;
}

void mc_batches_free(struct mc_store *store)
{
    store->gathering = NULL;
    while (store->batches != NULL)
        give(store->batches);
    while (store->spare_batches != NULL) {
        struct mc_batch *batch = store->spare_batches;
        store->spare_batches = batch->next;
        free(batch);
    }
}
