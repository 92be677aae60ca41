/* api_merge.h -- the rows of all fragments of an index scan in one order. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/core/api_scan_state.h"
#include "values/scan_range.h"
#include "values/table_index.h"

/*
 * Each fragment is a source of rows in order. A row can be given out when every source has one, or
 * is over. Chunks belong to the merge from api_merge_add() until api_merge_next() or
 * api_merge_drop() gives them back by `release`.
 */
struct api_merge;

/* A scan of ranges asks for the next batch, of 64 KB at most, while fewer words than these wait to
 * be taken: all that is read in vain when the application has enough. */
#define API_SCAN_AHEAD_WORDS 16384u

typedef void api_merge_release(struct api_scan *scan, struct api_chunk *chunk);

/* Adds to `attrs` (ATTRINFO of a read, room for INDEX_COLUMNS_MAX more) the index's columns that it
 * does not name; returns the words then. */
uint32_t api_merge_attrs(const struct table_index *index, uint32_t *attrs, uint32_t words);

/* In which order rows are given out: by range, then by the index's columns. */
struct api_merge_order {
    struct table_index index;
    bool descending; /* Within each range. */
    bool ranged;     /* Rows tell their range. */
    /* Columns at the beginning of each row that the application has asked for; 0 = all are. */
    uint32_t wanted;
};

/* NULL without memory. */
struct api_merge *api_merge_new(const struct api_table *table, const struct api_merge_order *order);
void api_merge_free(struct api_merge *merge);

void api_merge_add(struct api_merge *merge, struct api_chunk *chunk);
void api_merge_drop(struct api_merge *merge, struct api_scan *scan, api_merge_release *release);
/* Has the fragment so few rows here that it may be asked for more? */
bool api_merge_hungry(const struct api_merge *merge, uint32_t fragment, bool locked);
/* Has each source that api_merge_next() would wait for a whole batch now, or its end? */
bool api_merge_ready(const struct api_merge *merge, const struct api_scan *scan);
/* The next row; WAIT: a source has none now; END: all are over; ERROR: a row is malformed. */
enum api_scan_step api_merge_next(struct api_merge *merge, struct api_scan *scan,
                                  struct api_row *row, api_merge_release *release);
