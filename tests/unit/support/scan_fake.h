/* scan_fake.h -- scans of the client core against a scripted server: what it sends, what the server
 * answers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "signals/scan.h"
#include "tests/unit/support/api_fake.h"
#include "values/scan_range.h"

#define SCAN_OF(words) ((const struct scan_tabreq *)(const void *)((words) + SIGNAL_HEAD_WORDS))
#define NO_V           UINT32_MAX

struct scan_run {
    uint32_t ready;
    struct api_scan *scan;
    uint32_t api_scan;
    uint64_t transid;
    uint32_t node;
};

void scan_on_ready(void *context, struct api_scan *scan);

struct scan_begin_step {
    enum lock_mode lock;
    bool count;
    struct scan_run *run;
};

struct scan_run scan_begin_step(struct fake *fake, struct api_table *table,
                                const struct scan_begin_step *step);
#define scan_begin(fake, table, ...)                                                               \
    scan_begin_step((fake), (table), &(struct scan_begin_step){__VA_ARGS__})

/* `count` rows of one fragment: column 0 = first, first + 1, ... */
struct scan_rows_step {
    uint32_t node;
    uint32_t fragment;
    uint32_t first;
    uint32_t count;
};

void scan_rows_step(struct fake *fake, const struct scan_run *run,
                    const struct scan_rows_step *step);
#define scan_rows(fake, run, ...)                                                                  \
    scan_rows_step((fake), (run), &(struct scan_rows_step){__VA_ARGS__})
void scan_conf(struct fake *fake, const struct scan_run *run, uint32_t flags,
               const uint32_t *entries, uint32_t words);
void scan_idle(struct fake *fake);
uint32_t scan_take(struct scan_run *run);
enum api_scan_step scan_peek(struct scan_run *run);

/* Asks for id alone; v, which gives the order, is read as well. */
void scan_begin_merged(struct fake *fake, struct api_table *table, enum lock_mode lock,
                       uint32_t flags, struct scan_run *run);

/* Rows (id, v) of a fragment. */
void scan_merged_rows(struct fake *fake, const struct scan_run *run, uint32_t fragment,
                      const uint32_t (*row)[2], uint32_t count);
