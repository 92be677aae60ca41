/* attr.h -- how keys, values and rows stand in sections. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdint.h>

/*
 * KEY section: the values of the primary key columns in table order, each padded with zero bytes to
 * whole words. A fixed column takes its size; a variable one carries its 1- or 2-byte length first,
 * as its stored value does.
 *
 * ATTRINFO section of a write: pairs of an attribute header and the value, padded to whole words.
 * Byte size 0 in a header means NULL (a variable column that is empty still has its length bytes,
 * so sizes never are 0 otherwise).
 *
 * ATTRINFO section of a read: attribute headers (size 0) of the columns wanted, in the order
 * wanted, at most ATTR_READ_MAX; or one header with id ATTR_READ_ALL: every column in table order.
 *
 * Row in TRANSID_AI: one word with the number of words that follow, then pairs as in a write.
 */
#define ATTR_READ_ALL 0xFFF0u
/* A column id that is read alone, in a scan without locks: each fragment sends one row, whose only
 * value is a struct fragment_figures (scan.h). */
#define ATTR_FRAGMENT 0xFFF1u
/* Column ids that may stand among those of a read. ATTR_ROW_ID: two words, page and slot of the row
 * in its fragment; ATTR_ROW_GCI: one word, the GCI of the row's committed version. */
#define ATTR_ROW_ID  0xFFF2u
#define ATTR_ROW_GCI 0xFFF3u
/* A column id that stands first, in a scan of ranges of an index: one word, the number of the range
 * for which the row is given. */
#define ATTR_RANGE    0xFFF4u
#define ATTR_READ_MAX 544u /* 512 columns and a few pseudo columns. */

/*   31        16 15            0
 *  +------------+--------------+
 *  |  column id | size in bytes |
 *  +------------+--------------+  */
static inline uint32_t attr_header(uint32_t column, uint32_t size)
{
    return column << 16 | size;
}
static inline uint32_t attr_column(uint32_t header)
{
    return header >> 16;
}
static inline uint32_t attr_size(uint32_t header)
{
    return header & 0xFFFFu;
}
static inline uint32_t words_of(uint32_t bytes)
{
    return (bytes + 3u) / 4u;
}

/* Partitions: hash of the partition key -> bucket -> partition. The default map is round robin over
 * the partitions. */
#define HASH_MAP_BUCKETS 3840u
