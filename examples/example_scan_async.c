/* example_scan_async.c -- several scans at the same time, from one thread: their rows come by
 * callbacks. */
/* SPDX-License-Identifier: MIT */
#include "example_common.h"

#define ROWS  400u
#define SCANS 4u

struct sum {
    uint64_t rows;
    int64_t balance;
    int result; /* 1: not at its end yet. */
};

/* Runs whenever something has come: takes all of it. */
static void more(struct ndb_scan *scan, void *context)
{
    struct sum *sum = context;
    const void *row;
    while ((sum->result = ndb_scan_try_next(scan, &row)) == 1) {
        const struct account *account = row; /* Valid until the next call. */
        if (account->id < 60000 || account->id >= 60000 + ROWS) continue;
        sum->rows++;
        sum->balance += account->balance;
    }
    if (sum->result == NDB_SCAN_NOT_YET) return; /* And comes back. */
    if (sum->result < 0) fprintf(stderr, "scan: %s\n", ndb_scan_error(scan)->text);
    ndb_scan_close(scan);
}

int main(int argc, char **argv)
{
    struct example e = example_open(argc, argv);
    static struct account rows[ROWS];
    struct sum sums[SCANS] = {0};

    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct account){.id = 60000 + i, .balance = i, .owner = "async"};
    if (ndb_change_many(e.ndb, NDB_WRITE, e.record, rows, sizeof rows[0], ROWS, NULL, 0) !=
        (int)ROWS)
        return 1;

    for (uint32_t i = 0; i < SCANS; i++) {
        const struct ndb_scan_options options = {
            .lock = NDB_COMMITTED_READ, .ready = more, .context = &sums[i]};
        if (ndb_scan_start(e.ndb, e.record, &options, 0) == NULL) fail("scan", ndb_error(e.ndb));
    }
    while (ndb_pending(e.ndb) > 0) /* Or in a loop of your own, see example_event_loop.c. */
        if (ndb_poll(e.ndb, 1000, 1) < 0) fail("poll", ndb_error(e.ndb));

    for (uint32_t i = 0; i < SCANS; i++) {
        printf("scan %u: %llu rows, balance %lld\n", i, (unsigned long long)sums[i].rows,
               (long long)sums[i].balance);
        if (sums[i].result != 0 || sums[i].rows != ROWS || sums[i].balance != ROWS * (ROWS - 1) / 2)
            return 1;
    }
    example_close(&e);
    printf("ok\n");
    return 0;
}
