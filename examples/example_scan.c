/* example_scan.c -- counts a table, then reads all of it: into structs, and column by column. */
/* SPDX-License-Identifier: MIT */
#include "example_common.h"

#define ROWS 300u

int main(int argc, char **argv)
{
    struct example e = example_open(argc, argv);
    static struct account rows[ROWS];
    uint64_t count = 0;
    uint64_t seen = 0;
    const void *row = NULL;
    int result;

    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct account){.id = 40000 + i, .balance = 1, .owner = "scan"};
    if (ndb_change_many(e.ndb, NDB_WRITE, e.record, rows, sizeof rows[0], ROWS, NULL, 0) !=
        (int)ROWS)
        return 1;

    if (ndb_scan_count(e.ndb, e.table, &count, 0) != 0) fail("count", ndb_error(e.ndb));

    struct ndb_scan *scan = ndb_scan_start(e.ndb, e.record, NULL, 0);
    if (scan == NULL) fail("scan", ndb_error(e.ndb));
    while ((result = ndb_scan_next(scan, &row, 0)) == 1) {
        const struct account *account = row; /* Valid until the next call. */
        if (account->id >= 40000 && account->id < 40000 + ROWS) seen++;
    }
    if (result < 0) fail("next", ndb_scan_error(scan));
    ndb_scan_close(scan);
    printf("%llu rows, %llu of ours\n", (unsigned long long)count, (unsigned long long)seen);
    if (seen != ROWS || count < ROWS) return 1;

    /* One column, without a record; the first three rows only. */
    uint32_t column = (uint32_t)ndb_table_find_column(e.table, "owner");
    scan = ndb_scan_start_columns(e.ndb, e.table, &column, 1, NULL, 0);
    if (scan == NULL) fail("scan", ndb_error(e.ndb));
    for (uint32_t i = 0; i < 3 && ndb_scan_next(scan, NULL, 0) == 1; i++) {
        const void *value;
        uint32_t size;
        char text[256];
        if (ndb_scan_value(scan, column, &value, &size) != 0) return 1;
        if (value != NULL &&
            ndb_value_print(e.table, column, value, size, 0, text, sizeof text) >= 0)
            printf("owner %s\n", text);
    }
    ndb_scan_close(scan); /* Before its end: the cluster is told. */
    example_close(&e);
    printf("ok\n");
    return 0;
}
