/* example_batch.c -- many rows in one call, and many operations in one transaction. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include "example_common.h"

#define ROWS 500u

int main(int argc, char **argv)
{
    struct example e = example_open(argc, argv);
    static struct account rows[ROWS];
    static int32_t codes[ROWS];

    /* Independent rows: each commits by itself, all travel together. */
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct account){.id = 30000 + i, .balance = 2 * (int64_t)i, .owner = "batch"};
    int good = ndb_change_many(e.ndb, NDB_WRITE, e.record, rows, sizeof rows[0], ROWS, codes, 0);
    if (good != (int)ROWS) {
        for (uint32_t i = 0; i < ROWS; i++) {
            if (codes[i] != 0) fprintf(stderr, "row %u: error %d\n", i, codes[i]);
        }
        return 1;
    }

    /* Read them back; only the key members have to be set. */
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct account){.id = 30000 + i};
    good = ndb_read_many(e.ndb, e.record, rows, sizeof rows[0], ROWS, codes, 0);
    if (good < 0) fail("read", ndb_error(e.ndb));
    for (uint32_t i = 0; i < ROWS; i++) {
        if (codes[i] != 0 || rows[i].balance != 2 * (int64_t)i ||
            strcmp(rows[i].owner, "batch") != 0)
            return 1;
    }
    printf("%d rows written and read\n", good);

    /* All or nothing: one transaction with many operations. */
    struct ndb_transaction *t = ndb_transaction_start(e.ndb);
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i].balance++;
        if (ndb_update(t, e.record, &rows[i], e.record, &rows[i], NULL) == NULL)
            fail("update", ndb_transaction_error(t));
    }
    if (ndb_execute(t, NDB_COMMIT, 0) != 0) fail("commit", ndb_transaction_error(t));
    printf("%u rows updated in epoch %u/%u\n", ROWS, (uint32_t)(ndb_transaction_epoch(t) >> 32),
           (uint32_t)ndb_transaction_epoch(t));
    ndb_transaction_close(t);
    example_close(&e);
    printf("ok\n");
    return 0;
}
