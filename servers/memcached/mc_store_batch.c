/* mc_store_batch.c -- committed reads by primary key, of many requests at once. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Such reads take no lock and wait for nobody. Those that are begun between two calls of
 * mc_store_send() go to the client library in one call, up to MC_BATCH_MAX of them. Each has its
 * own error, and what meets a temporary one begins anew by itself; the answers come when the last
 * one has come.
 */
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_store_private.h"

struct mc_batch {
    struct mc_batch *next; /* Next of all that are not spare, or next of the spare ones. */
    struct mc_batch *prev;
    struct mc_store *store;
    struct ndb_reads *reads; /* Reads under way; NULL: they are being gathered. */
    uint32_t count;
    struct ndb_row_read read[MC_BATCH_MAX];
    uint8_t mask[MC_BATCH_MAX][MC_MASK_BYTES];
    struct mc_work *job[MC_BATCH_MAX];
    void (*then[MC_BATCH_MAX])(struct mc_work *job, const ndb_error_t *error);
};

static struct mc_batch *take(struct mc_store *store)
{
    struct mc_batch *batch = store->spare_batches;
    if (batch != NULL)
        store->spare_batches = batch->next;
    else
        batch = malloc(sizeof *batch);
    if (batch == NULL) return NULL;
    batch->store = store;
    batch->reads = NULL;
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
    static const ndb_error_t none = {0};
    for (uint32_t i = 0; i < batch->count; i++) {
        ndb_error_t own;
        if (batch->read[i].code != 0) ndb_error_lookup(batch->read[i].code, &own);
        batch->then[i](batch->job[i], common != NULL             ? common
                                      : batch->read[i].code == 0 ? &none
                                                                 : &own);
    }
    give(batch);
}

static void ended(void *context)
{
    struct mc_batch *batch = context;
    batch->reads = NULL;
    tell(batch, NULL);
}

bool mc_batch_send(struct mc_store *store)
{
    struct mc_batch *batch = store->gathering;
    if (batch == NULL) return false;
    store->gathering = NULL;
    store->queued = true;
    batch->reads = ndb_reads_begin(store->ndb, batch->read, batch->count,
                                   store->options.deadline_ms, ended, batch);
    if (batch->reads != NULL) return true;
    const ndb_error_t error = *ndb_error(store->ndb);
    tell(batch, &error);
    return true;
}

/* Which columns of the row are wanted. */
static void mask_set(const struct mc_work *job, bool value, uint8_t mask[MC_MASK_BYTES])
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
    if (!mc_records_take(job) || !mc_records_set_key(job)) return false;
    if (store->gathering == NULL) store->gathering = take(store);
    struct mc_batch *batch = store->gathering;
    if (batch == NULL) return false;
    uint32_t at = batch->count++;
    batch->read[at] = (struct ndb_row_read){
        .record = job->records->row, .row = job->row, .mask = batch->mask[at]};
    mask_set(job, value, batch->mask[at]);
    batch->job[at] = job;
    batch->then[at] = then;
    if (batch->count == MC_BATCH_MAX) (void)mc_batch_send(store);
    return true;
}

void mc_batches_free(struct mc_store *store)
{
    store->gathering = NULL;
    while (store->batches != NULL) {
        ndb_reads_drop(store->batches->reads);
        give(store->batches);
    }
    while (store->spare_batches != NULL) {
        struct mc_batch *batch = store->spare_batches;
        store->spare_batches = batch->next;
        free(batch);
    }
}
