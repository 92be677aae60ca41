/* import_totals.c -- what an import has done with a file, as a line and as JSON. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/import_totals.h"

#include <inttypes.h>

#define MEGABYTE (1024.0 * 1024.0)

void import_totals_print(const char *database, const char *table,
                         const struct import_totals *totals)
{
    double seconds = totals->seconds > 0.001 ? totals->seconds : 0.001;
    /* Bytes of the rows that are in the table. */
    uint64_t bytes = totals->rows > 0 ? totals->bytes : 0;

    char news[80] = "";

    if (totals->run > 1)
        (void)snprintf(news, sizeof(news), " (run %u, %" PRIu64 " new)", totals->run, totals->rows);
    printf("%s.%s: %" PRIu64 " rows imported%s, %" PRIu64 " rejected, %" PRIu64
           " tried again, %s, %.2f s, %.0f rows/s, %.1f MB/s\n",
           database, table, totals->rows_before + totals->rows, news,
           totals->rejected_before + totals->rejected, totals->retries,
           totals->on_disk ? "on disk" : "not known to be on disk", totals->seconds,
           (double)totals->rows / seconds, (double)bytes / MEGABYTE / seconds);
    (void)fflush(stdout);
}

void import_totals_add(cJSON *list, const char *database, const char *table, const char *path,
                       const struct import_totals *totals)
{
    cJSON *entry = cJSON_CreateObject();

    cJSON_AddStringToObject(entry, "database", database);
    cJSON_AddStringToObject(entry, "table", table);
    cJSON_AddStringToObject(entry, "file", path);
    cJSON_AddNumberToObject(entry, "rows", (double)(totals->rows_before + totals->rows));
    cJSON_AddNumberToObject(entry, "rejected",
                            (double)(totals->rejected_before + totals->rejected));
    cJSON_AddNumberToObject(entry, "run", totals->run);
    cJSON_AddNumberToObject(entry, "rows_of_run", (double)totals->rows);
    cJSON_AddNumberToObject(entry, "rejected_of_run", (double)totals->rejected);
    cJSON_AddNumberToObject(entry, "retries", (double)totals->retries);
    cJSON_AddNumberToObject(entry, "bytes", (double)totals->bytes);
    cJSON_AddNumberToObject(entry, "seconds", totals->seconds);
    cJSON_AddBoolToObject(entry, "complete", totals->complete);
    cJSON_AddBoolToObject(entry, "on_disk", totals->on_disk);
    cJSON_AddItemToArray(list, entry);
}
