/* index_fixture.h -- a table of 600 rows with an ordered index over v and k, in four fragments, and
 * scans of that index, for tests of TC and LQH. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "values/scan_range.h"
#include "tests/unit/support/tc_fixture.h"

#define FRAGMENTS 4u
#define ROWS      600u
#define VALUES    97u /* Values of v: several rows have the same one. */
#define RANGES    45u /* Ranges of a scan, at most; their numbers are NUMBER apart. */
#define NUMBER    5u
extern uint32_t index_value[ROWS]; /* v of each row, as committed. */
int index_start(void **state);
int index_stop(void **state);

struct scan {
    struct trx trx;
    bool descending;
    bool ranged;  /* Rows tell their range. */
    bool several; /* Rows do not tell their range, but there are several ranges. */
    uint32_t told;
    uint32_t got;
    uint32_t error;
    bool end;
    uint32_t seen[ROWS];
    uint32_t seen_in[ROWS][RANGES]; /* How often each row was seen in each range, by its place. */
    uint32_t last[FRAGMENTS];       /* 1 + v of the last row, and its range. */
    uint32_t last_range[FRAGMENTS];
    uint32_t fragments; /* Fragments that have reported their end. */
    uint32_t more[FRAGMENTS];
    uint32_t more_count;
};

struct options {
    enum lock_mode mode;
    uint32_t batch_rows;
    uint32_t limit;
    bool count;
    bool ranged;
    const uint32_t *program;
    uint32_t program_words;
};

/* v from `low` to `high`. */
uint32_t index_make_range(uint32_t *words, const uint32_t *low, const uint32_t *high,
                          bool exclusive, bool descending);
struct scan index_s_open(const struct options *options, const uint32_t *range, uint32_t words);
void index_s_collect(struct scan *scan);
void index_s_next(struct scan *scan);
void index_s_finish(struct scan *scan);
void index_set_value(uint32_t key, uint32_t v);
