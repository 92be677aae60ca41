/* ndb_durable.c -- waiting until an epoch is durable: blocking, and with a callback. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "api/ndb/ndb_private.h"

/* One asynchronous wait. */
struct ndb_durable_wait {
    ndb_t *ndb;
    struct ndb_durable_wait *next;
    struct ndb_durable_wait *prev;
    uint64_t epoch;
    ndb_durable_callback callback;
    void *context;
};

static int check(ndb_t *ndb, uint64_t epoch)
{
    if (epoch == 0) return error_set(&ndb->error, ERR_PARAMETER, "epoch 0: nothing is committed");
    ndb_now(ndb);
    return 0;
}

struct outcome {
    volatile bool done;
    uint32_t error;
};

static void waited(void *context, uint32_t error)
{
    struct outcome *outcome = context;
    outcome->error = error;
    outcome->done = true;
}

int ndb_wait_durable(ndb_t *ndb, uint64_t epoch, uint32_t timeout_ms)
{
    struct outcome outcome = {0};
    if (ndb == NULL) return -1;
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "ndb_wait_durable in a callback");
    if (check(ndb, epoch) != 0) return -1;
    if (api_epoch_is_durable(ndb->client, epoch)) return 0;
    outcome.error = api_wait_durable(ndb->client, epoch, timeout_of(ndb->connection, timeout_ms),
                                     waited, &outcome);
    if (outcome.error == 0) {
        ndb_wait_for(ndb, &outcome.done, UINT64_MAX);
    }
    if (outcome.error == 0) return 0;
    error_set_outcome(&ndb->error, outcome.error, false);
    return -1;
}

static void leave(struct ndb_durable_wait *wait)
{
    ndb_t *ndb = wait->ndb;
    if (wait->prev != NULL) wait->prev->next = wait->next;
    if (wait->next != NULL) wait->next->prev = wait->prev;
    if (ndb->durable_waits == wait) ndb->durable_waits = wait->next;
}

static void called(void *context, uint32_t error)
{
    struct ndb_durable_wait *wait = context;
    ndb_t *ndb = wait->ndb;
    struct error_slot slot;
    leave(wait);
    async_completed(ndb, 1);
    error_set_outcome(&slot, error, false);
    ndb->callback_depth++;
    wait->callback(error == 0 ? 0 : -1, wait->epoch, &slot.error, wait->context);
    ndb->callback_depth--;
    free(wait);
}

int ndb_wait_durable_async(ndb_t *ndb, uint64_t epoch, uint32_t timeout_ms,
                           ndb_durable_callback callback, void *context)
{
    if (ndb == NULL) return -1;
    if (callback == NULL) return error_set(&ndb->error, ERR_NO_CALLBACK, NULL);
    if (check(ndb, epoch) != 0) return -1;
    struct ndb_durable_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL) return error_set(&ndb->error, ERR_API_MEMORY, NULL);
    *wait = (struct ndb_durable_wait){.ndb = ndb,
                                      .next = ndb->durable_waits,
                                      .epoch = epoch,
                                      .callback = callback,
                                      .context = context};
    uint32_t error =
        api_wait_durable(ndb->client, epoch, timeout_of(ndb->connection, timeout_ms), called, wait);
    if (error != 0) {
        free(wait);
        error_set_outcome(&ndb->error, error, false);
        return -1;
    }
    if (wait->next != NULL) wait->next->prev = wait;
    ndb->durable_waits = wait;
    async_begun(ndb);
    return 0;
}

void durable_waits_drop(ndb_t *ndb)
{
    while (ndb->durable_waits != NULL) {
        struct ndb_durable_wait *wait = ndb->durable_waits;
        leave(wait);
        async_completed(ndb, 0);
        free(wait);
    }
}
