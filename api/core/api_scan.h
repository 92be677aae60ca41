/* api_scan.h -- the client's scans of tables and indexes: started, read row by row, closed. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "signals/tckey.h"

struct api_client;
struct api_table;
struct api_scan;

struct api_scan_options {
    struct api_table *table;
    enum lock_mode lock;
    uint32_t parallelism;
    uint32_t batch_rows;
    uint32_t batch_bytes;
    const uint32_t *attrs; /* ATTRINFO section; count 0 = only count rows. */
    uint32_t attr_words;
    const uint32_t *program; /* NULL = all rows. */
    uint32_t program_words;
    /* Encoded ranges (values/scan_range.h): rows of these parts of an ordered index; NULL = of the
     * table. With SCAN_MERGED and attrs rows are given out range by range and in the index's order,
     * else each fragment's are. */
    const uint32_t *range;
    uint32_t range_words;
    uint32_t limit; /* The most rows that are given out, or counted; 0 = all. */
    bool copies;    /* With a fully replicated table: rows of the copies, too; not with ranges. */
    /* Something changed: rows, end or error. At most once until api_scan_next() has returned
     * API_SCAN_WAIT. */
    void (*ready)(void *context, struct api_scan *scan);
    void *context;
};

enum api_scan_step { API_SCAN_ROW = 1, API_SCAN_END = 0, API_SCAN_WAIT = 2, API_SCAN_ERROR = -1 };

struct api_row {
    const uint32_t *pairs; /* Valid until the next api_scan_next() or close. */
    uint32_t words;
    uint32_t fragment; /* Partition; with `copies` fragment. */
    uint32_t range;    /* The number of the range for which it is given; 0 without ranges. */
};

/* NULL and *error when refused. `timeout_ms` is the longest time without progress. */
struct api_scan *api_scan_start(struct api_client *client, const struct api_scan_options *options,
                                uint32_t timeout_ms, uint32_t *error);
enum api_scan_step api_scan_next(struct api_scan *scan, struct api_row *row);
/* A new longest wait, from now. */
void api_scan_set_timeout(struct api_scan *scan, uint32_t timeout_ms);
uint32_t api_scan_error(const struct api_scan *scan);
uint64_t api_scan_rows(const struct api_scan *scan); /* Announced by the cluster so far, up to the
                                                        limit; all of them at the end. */
void *api_scan_context(const struct api_scan *scan);
struct api_table *api_scan_table(const struct api_scan *scan);
/* Ends it, also before its end, without waiting: the server is told, the record is freed when it
 * has answered. */
void api_scan_close(struct api_scan *scan);
