/* example_event_loop.c -- the library inside the application's own event loop: here poll(2) with a
 * timer. */
/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include "example_common.h"

#define ROWS 200u

struct application;

struct item {
    struct application *app;
    struct account row;
};

struct application {
    struct example *e;
    struct item items[ROWS];
    uint32_t done;
    uint32_t good;
};

static void read_back(int result, struct ndb_transaction *t, void *context)
{
    struct item *item = context;
    item->app->done++;
    if (result == 0 && item->row.balance == (int64_t)item->row.id) item->app->good++;
    ndb_transaction_close(t);
}

/* A callback may begin the next transaction. */
static void written(int result, struct ndb_transaction *t, void *context)
{
    struct item *item = context;
    struct example *e = item->app->e;
    struct account *row = &item->row;
    ndb_transaction_close(t);
    item->row.balance = 0; /* The read brings it again. */
    struct ndb_transaction *next = ndb_transaction_start(e->ndb);
    if (result != 0 || ndb_read(next, e->record, row, e->record, row, NULL) == NULL ||
        ndb_execute_async(next, NDB_COMMIT, 0, read_back, item) != 0) {
        ndb_transaction_close(next);
        item->app->done++;
    }
}

static struct application app;

int main(int argc, char **argv)
{
    struct example e = example_open(argc, argv);
    app.e = &e;

    for (uint32_t i = 0; i < ROWS; i++) {
        struct ndb_transaction *t = ndb_transaction_start(e.ndb);
        struct item *item = &app.items[i];
        item->app = &app;
        item->row = (struct account){.id = 20000 + i, .balance = 20000 + i, .owner = "loop"};
        if (ndb_write(t, e.record, &item->row, NULL) == NULL ||
            ndb_execute_async(t, NDB_COMMIT, 0, written, item) != 0)
            fail("execute", ndb_transaction_error(t));
    }
    /* Any loop will do: wait for the descriptor, at most as long as the library says, then let it
     * work. */
    struct pollfd waiting = {.fd = ndb_fd(e.ndb), .events = POLLIN};
    ndb_process(e.ndb); /* Sends what was queued above. */
    while (app.done < ROWS) {
        if (poll(&waiting, 1, (int)ndb_process_timeout(e.ndb)) < 0) return 1;
        if (ndb_process(e.ndb) < 0) fail("process", ndb_error(e.ndb));
    }
    printf("%u of %u rows written and read back\n", app.good, ROWS);
    uint32_t good = app.good;
    example_close(&e);
    if (good != ROWS) return 1;
    printf("ok\n");
    return 0;
}
