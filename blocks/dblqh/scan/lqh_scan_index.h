/* lqh_scan_index.h -- scans of ranges of an ordered index: where they are, and the next rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtux/tux.h"

struct lqh;
struct lqh_rows;
struct lqh_scan;

#define LQH_RANGE_WORDS 256u /* Words in lqh_scan_index; more ranges take a second record. */

/* Where a scan is in an ordered index. */
struct lqh_scan_index {
    struct pool_record pool;
    uint32_t id; /* Id of the index in the table's definition. */
    uint32_t range_words;
    uint32_t ranges; /* lqh_scan_ranges with the ranges that do not fit here, else REF_NONE. */
    struct tux_position position;
    uint32_t range[LQH_RANGE_WORDS];
};

struct lqh_scan_ranges {
    struct pool_record pool;
    uint32_t range[SCAN_RANGES_WORDS_MAX];
};

/* lqh_scan_index.c: scans of ranges of an index. The third section of SCAN_FRAGREQ. */
uint32_t lqh_scan_index_begin(struct lqh *lqh, struct lqh_scan *scan, const struct signal *sig);
void lqh_scan_index_end(struct lqh *lqh, struct lqh_scan *scan);
/* Does what lqh_scan_filter_group() does, with the entries of the ranges. */
uint32_t lqh_scan_index_group(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                              struct lqh_rows *rows);
/* The number of the range for which rows are given now. */
uint32_t lqh_scan_index_range(struct lqh *lqh, const struct lqh_scan *scan);
/* Locking scans: the next row, ROW_NONE when there is none just now. */
uint32_t lqh_scan_index_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                            bool *end);
/* Is the index that it scans being dropped, or not there any more? */
bool lqh_scan_index_gone(struct lqh *lqh, const struct lqh_scan *scan);
/* Has the row, which was waited for, still the key with which it was found? */
bool lqh_scan_index_same(struct lqh *lqh, const struct lqh_scan *scan, const struct tup_frag *frag,
                         uint32_t row);
