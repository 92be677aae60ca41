/* example_async.c -- many transactions in flight from one thread, each with a callback. */
/* SPDX-License-Identifier: MIT */
#include "example_common.h"

#define ROWS   1000u
#define WINDOW 100u /* Calls in flight, at most. */

struct work {
    uint32_t good;
    uint32_t bad;
};

static void written(int result, struct ndb_transaction *t, void *context)
{
    struct work *work = context;
    if (result == 0) {
        work->good++;
    } else {
        work->bad++;
        fprintf(stderr, "error %d: %s\n", ndb_transaction_error(t)->code,
                ndb_transaction_error(t)->text);
    }
    ndb_transaction_close(t);
}

int main(int argc, char **argv)
{
    struct example e = example_open(argc, argv);
    struct work work = {0};
    struct account row = {.owner = "async"};

    for (uint32_t i = 0; i < ROWS; i++) {
        struct ndb_transaction *t = ndb_transaction_start(e.ndb);
        row.id = 10000 + i;
        row.balance = i;
        /* The row is copied here: one variable serves for all. */
        if (t == NULL || ndb_write(t, e.record, &row, NULL) == NULL)
            fail("define", ndb_transaction_error(t));
        if (ndb_execute_async(t, NDB_COMMIT, 0, written, &work) != 0)
            fail("execute", ndb_transaction_error(t));
        if (ndb_pending(e.ndb) >= WINDOW && ndb_poll(e.ndb, 10000, WINDOW / 2) < 0)
            fail("poll", ndb_error(e.ndb));
    }
    while (ndb_pending(e.ndb) > 0) {
        if (ndb_poll(e.ndb, 10000, ndb_pending(e.ndb)) < 0) fail("poll", ndb_error(e.ndb));
    }
    printf("%u written, %u failed\n", work.good, work.bad);
    example_close(&e);
    if (work.good != ROWS) return 1;
    printf("ok\n");
    return 0;
}
