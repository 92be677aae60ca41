/* lcp_data.h -- the data files of checkpoints: a head and blocks of rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* The last block holds the totals; zeros follow up to a multiple of LCP_ALIGN. */
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "formats/lcp_format.h"

struct lcp_data_head {
    uint32_t magic;
    uint32_t sum_lo; /* Checksum of all that follows in the head. */
    uint32_t sum_hi;
    uint32_t format;
    struct lcp_ident ident;
    uint32_t seq; /* Sequence number of the file; its name has it too. */
    /* Pages that were written: those that changed and every eighth, from this one on; 255: all. */
    uint32_t which;
    uint32_t start_gci;
    uint32_t lcp_id;
    uint32_t unused[18];
};
#define LCP_DATA_HEAD 128u
static_assert(sizeof(struct lcp_data_head) == LCP_DATA_HEAD, "no padding");

enum lcp_block_kind { LCP_BLOCK_PLAIN = 1, LCP_BLOCK_ZSTD = 2, LCP_BLOCK_END = 3 };

struct lcp_block_head {
    uint32_t magic;
    uint32_t sum_lo; /* Checksum of all that follows; the sum of the file's head is its seed. */
    uint32_t sum_hi;
    uint32_t number; /* Number of the block: 1, 2, ... */
    uint32_t kind;   /* enum lcp_block_kind */
    uint32_t size;   /* Bytes that follow this head. */
    uint32_t raw;    /* Bytes when decompressed. */
    uint32_t rows;
};
#define LCP_BLOCK_HEAD 32u
static_assert(sizeof(struct lcp_block_head) == LCP_BLOCK_HEAD, "no padding");

struct lcp_totals {
    uint32_t blocks; /* Blocks, this one included. */
    uint32_t pages;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t deltas; /* Pages among these that are delta pages. */
};
#define LCP_TOTALS 20u
static_assert(sizeof(struct lcp_totals) == LCP_TOTALS, "no padding");

/*
 * Rows in a block:
 *
 *   31  30  29  28      24 23                       0
 *  +------+---+---+-------+--------------------------+
 *  |   1  | C | D |   0   |       page number        |   the rows that follow are of this page;
 *  +------+---+---+-------+--------------------------+
 *  |   2  |  words of pairs (14) |     slot (16)     |   then the GCI, then the pairs
 *  +------+----------------------+-------------------+
 *  |   3  |   words of bits (14) |         0         |   then a bit per slot from 0 on
 *  +------+----------------------+-------------------+
 *
 * C: the block begins in the middle of a page, an earlier one has its first rows. D: a delta page:
 * its rows are those that have changed, and behind them, once, stand the slots that it keeps: their
 * rows are in older files.
 */
static inline uint32_t lcp_page_word(uint32_t page, bool more, bool delta)
{
    return 1u << 30 | (more ? 1u << 29 : 0u) | (delta ? 1u << 28 : 0u) | page;
}
static inline uint32_t lcp_kept_word(uint32_t words)
{
    return 3u << 30 | words << 16;
}
static inline uint32_t lcp_row_word(uint32_t slot, uint32_t words)
{
    return 2u << 30 | words << 16 | slot;
}

/* Fills a head from its other fields. Returns the sum: the blocks' seed, and the digest to begin
 * with. */
uint64_t lcp_data_head_seal(struct lcp_data_head *head);
/* `ident` and `seq` as expected; NULL, 0: any. */
enum lcp_fault lcp_data_head_check(const struct lcp_data_head *head, const struct lcp_ident *ident,
                                   uint32_t seq);
uint64_t lcp_data_head_sum(const struct lcp_data_head *head);

/* The bytes stand behind the head, head->size of them. Returns the sum. */
uint64_t lcp_block_seal(struct lcp_block_head *head, uint64_t seed);
/* Sizes and order; before the content is there. */
enum lcp_fault lcp_block_head_check(const struct lcp_block_head *head, uint32_t number);
enum lcp_fault lcp_block_check(const struct lcp_block_head *head, uint64_t seed, uint64_t *sum);

/* The digest of a file after one more part with this sum. */
uint64_t lcp_digest(uint64_t digest, uint64_t sum);

/* One row or page after the other. */
struct lcp_cursor {
    const uint32_t *at;
    const uint32_t *end;
    int64_t page;       /* Page of the rows; -1 before the file's first one. */
    uint32_t slot_next; /* Slots come in order. */
    bool delta;         /* The page is a delta page. */
    bool kept;          /* The slots that the delta page keeps have come. */
    uint32_t pages;
    uint32_t deltas;
    uint64_t rows;
};
struct lcp_item {
    bool is_page;
    bool is_kept; /* `pairs` are the bits of the slots that a delta page keeps. */
    bool more;    /* The page goes on from the block before. */
    bool delta;
    uint32_t page;
    uint32_t slot;
    uint32_t gci;
    uint32_t words;
    const uint32_t *pairs;
};
/* False at the end of the block, or with *fault. The cursor goes on with the next block's words. */
bool lcp_cursor_next(struct lcp_cursor *cursor, struct lcp_item *item, enum lcp_fault *fault);
/* A page may end here: the next one begins, or the file ends. */
static inline bool lcp_cursor_page_whole(const struct lcp_cursor *cursor)
{
    return !cursor->delta || cursor->kept;
}
