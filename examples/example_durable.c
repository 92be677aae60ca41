/* example_durable.c -- commits in memory, commits on disk, and waiting for an epoch. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include "example_common.h"

#define ROWS 100u

/* One row in one transaction; its epoch, and whether the commit was on disk when it was answered.
 */
static uint64_t put(struct example *e, const struct account *row, enum ndb_execute_type type,
                    int *durable)
{
    struct ndb_transaction *t = ndb_transaction_start(e->ndb);
    if (t == NULL || ndb_write(t, e->record, row, NULL) == NULL)
        fail("define", ndb_transaction_error(t));
    if (ndb_execute(t, type, 0) != 0) fail("commit", ndb_transaction_error(t));
    uint64_t epoch = ndb_transaction_epoch(t);
    *durable = ndb_transaction_durable(t);
    ndb_transaction_close(t);
    return epoch;
}

static void epoch_durable(int result, uint64_t epoch, const ndb_error_t *error, void *context)
{
    uint64_t *seen = context;
    if (result != 0) fail("wait", error);
    *seen = epoch;
}

/* A cluster without files has nothing to wait for, and says so before it changes anything. */
static bool without_files(struct example *e, const struct account *row)
{
    struct ndb_transaction *t = ndb_transaction_start(e->ndb);
    bool refused = false;
    if (t == NULL || ndb_write(t, e->record, row, NULL) == NULL)
        fail("define", ndb_transaction_error(t));
    if (ndb_execute(t, NDB_COMMIT_DURABLE, 0) != 0) {
        if (ndb_transaction_error(t)->code != 246) fail("commit", ndb_transaction_error(t));
        refused = true;
    }
    ndb_transaction_close(t);
    return refused;
}

int main(int argc, char **argv)
{
    struct example e = example_open(argc, argv);
    struct account row = {.id = 20000, .owner = "durable"};
    uint64_t last = 0;
    uint64_t seen = 0;
    int durable = 0;

    if (without_files(&e, &row)) {
        printf("the cluster has no files\n");
        last = put(&e, &row, NDB_COMMIT, &durable);
        if (ndb_wait_durable(e.ndb, last, 0) == 0 || ndb_error(e.ndb)->code != 246) return 1;
        example_close(&e);
        printf("ok\n");
        return 0;
    }
    /* One commit that is answered when all replicas have it on disk. */
    put(&e, &row, NDB_COMMIT_DURABLE, &durable);
    if (!durable) return 1;
    /* Many that are answered from memory, and one wait for all of them: the last epoch is the
     * highest. */
    for (uint32_t i = 0; i < ROWS; i++) {
        row.id = 20001 + i;
        last = put(&e, &row, NDB_COMMIT, &durable);
    }
    if (ndb_wait_durable(e.ndb, last, 0) != 0) fail("wait", ndb_error(e.ndb));
    /* The same without waiting. */
    last = put(&e, &row, NDB_COMMIT, &durable);
    if (ndb_wait_durable_async(e.ndb, last, 0, epoch_durable, &seen) != 0)
        fail("wait", ndb_error(e.ndb));
    while (ndb_pending(e.ndb) > 0) {
        if (ndb_poll(e.ndb, 10000, 1) < 0) fail("poll", ndb_error(e.ndb));
    }
    if (seen != last) return 1;
    /* An epoch of the future is a mistake, not something to wait for. */
    if (ndb_wait_durable(e.ndb, UINT64_MAX, 0) == 0 || ndb_error(e.ndb)->code != 247) return 1;
    printf("%u commits are durable up to epoch %u/%u\n", ROWS + 2, (uint32_t)(last >> 32),
           (uint32_t)last);
    example_close(&e);
    printf("ok\n");
    return 0;
}
