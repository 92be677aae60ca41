/* scan_range.h -- which parts of an ordered index a scan reads, and in which direction: section 2
 * of SCAN_TABREQ and SCAN_FRAGREQ. See docs/protocols/index.md. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "values/table_def.h"

/*
 * One range or several, one behind the other, each in words:
 *
 *   31     24 23       16 15        8 7        0
 *  +---------+-----------+-----------+----------+
 *  | number  |  version  |   flags   |  index   |   index: its id in the table's definition
 *  +---------+-----------+-----------+----------+
 *  |  high: exclusive, columns | low: exclusive, columns |   16 bits each; exclusive is bit 15
 *  +---------------------------+-------------------------+
 *  |  with SCAN_ONE_PARTITION: partition    |   high half of the hash of the partition key
 *  +---------------------------+-------------------------+
 *  then for each value of the low bound and of the high one: its size in bytes (0 = NULL) in one
 * word, the stored form, padded to words.
 *
 * A bound is about the first columns of the index; none at all: there is no bound on that side.
 * NULL comes before all other values. Ranges of one scan are of the same index and have the same
 * flags but for SCAN_ONE_PARTITION; their numbers grow.
 */
#define SCAN_RANGE_VERSION 1u
#define SCAN_RANGE_HEAD    2u
#define SCAN_RANGE_WORDS_MAX                                                                       \
    (SCAN_RANGE_HEAD + 1u + 2u * (2u * INDEX_COLUMNS_MAX + TABLE_KEY_BYTES_MAX / 4u))
#define SCAN_RANGES_MAX       256u  /* Ranges of one scan: a number has 8 bits. */
#define SCAN_RANGES_WORDS_MAX 3900u /* Words of all of them; two records of TC fit into a page. */
static_assert(SCAN_RANGE_WORDS_MAX <= SCAN_RANGES_WORDS_MAX, "every range fits");

enum scan_range_flags {
    SCAN_DESCENDING = 1u << 0,
    SCAN_MERGED = 1u << 1, /* The client puts all fragments in one order: it needs all of them at
                              the same time. */
    /* All rows that the range can have are in the partition that the client has computed. */
    SCAN_ONE_PARTITION = 1u << 2,
    SCAN_RANGE_FLAGS_ALL = (1u << 3) - 1
};

struct scan_value {
    const uint8_t *bytes;
    uint32_t size; /* 0: NULL. */
};

struct scan_bound {
    uint32_t columns;
    bool exclusive;
    struct scan_value value[INDEX_COLUMNS_MAX];
};

struct scan_range {
    uint32_t number; /* The client's number for it, below SCAN_RANGES_MAX. */
    uint32_t index;
    uint32_t flags;     /* enum scan_range_flags */
    uint32_t partition; /* With SCAN_ONE_PARTITION: hash_map_bucket() makes a bucket of it. */
    struct scan_bound low;
    struct scan_bound high;
};

/* Flags and number of an encoded range that has SCAN_RANGE_HEAD words at least. */
uint32_t scan_range_flags(const uint32_t *words);
uint32_t scan_range_number(const uint32_t *words);
/* Returns the words written; 0: they do not fit. */
uint32_t scan_range_encode(const struct scan_range *range, uint32_t *words, uint32_t words_max);
/* The first range of these words, from an untrusted source: values point into `words`, and are not
 * checked. Returns its words; 0: malformed. */
uint32_t scan_range_decode(const uint32_t *words, uint32_t count, struct scan_range *range);
/* Are these the ranges of one scan? From an untrusted source; values are not checked. Returns how
 * many there are; 0: they are not. */
uint32_t scan_ranges_count(const uint32_t *words, uint32_t count);
/* The number of the last of them, which is the highest one. They have been counted. */
uint32_t scan_ranges_last(const uint32_t *words, uint32_t count);
/* Values alone, as a bound has them: for who remembers a key. */
uint32_t scan_values_encode(const struct scan_value *values, uint32_t count, uint32_t *words,
                            uint32_t words_max);
bool scan_values_decode(const uint32_t *words, uint32_t count, struct scan_value *values,
                        uint32_t columns, uint32_t *used);
