/* lcp_format.h -- how checkpoint files look, byte by byte: making and checking their parts. Knows
 * no block. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "kernel/base/u64.h"

/*
 * docs/protocols/checkpoint.md has the picture. All numbers are little-endian words. Functions are
 * pure: they touch nothing but their arguments, so tools and tests use them as the blocks do.
 */
#define LCP_FORMAT      3u     /* Places of rows are part of it: columns, slots of a page. */
#define LCP_LIST_FORMAT 4u     /* Lists have this one; 3 had no life. */
#define LCP_ALIGN       4096u  /* File sizes and writes are multiples of it. */
#define LCP_RAW_TARGET  24576u /* A block is closed when so many bytes of rows are in it. */
#define LCP_RAW_MAX     65536u /* The most bytes of rows in a block: the longest row was last. */
#define LCP_FILES_MAX   8u     /* After eight checkpoints every page has been written again. */
#define LCP_NAME_MAX    64u

#define LCP_DATA_MAGIC  0x4450434Cu /* "LCPD" */
#define LCP_BLOCK_MAGIC 0x4250434Cu /* "LCPB" */
#define LCP_CTL_MAGIC   0x4350434Cu /* "LCPC" */
#define LCP_PART_MAGIC  0x5050434Cu /* "LCPP" */

/* Whose rows a file holds. */
struct lcp_ident {
    uint32_t cluster_lo;
    uint32_t cluster_hi;
    uint32_t node;
    uint32_t table;
    uint32_t version;
    uint32_t fragment;
};

/* What can be wrong; text in lcp_fault_text(). */
enum lcp_fault {
    LCP_GOOD = 0,
    LCP_NO_MAGIC,
    LCP_OTHER_FORMAT,
    LCP_CHECKSUM,
    LCP_OTHER_CLUSTER,
    LCP_OTHER_NODE,
    LCP_OTHER_TABLE, /* Another table, version of it, or fragment. */
    LCP_OTHER_FILE,  /* A file or part of one in the place of another. */
    LCP_ORDER,       /* Blocks or pages in the wrong order. */
    LCP_SIZE,        /* Impossible sizes within. */
    LCP_TRUNCATED,
    LCP_TAIL, /* Something stands behind the end. */
    LCP_COMPRESSION,
    LCP_COUNTS,     /* Sums of rows, pages or blocks differ. */
    LCP_ROW,        /* The table can have no such row. */
    LCP_LACKING,    /* Rows that a newer file counts on are not there. */
    LCP_MISSING,    /* No such file. */
    LCP_STALE,      /* A list that is older than the system files say, or of another life. */
    LCP_AHEAD,      /* A list that is newer than the system files can be. */
    LCP_OTHER_LIFE, /* A former life of the node wrote it, which had another log. */
    LCP_FAULT_COUNT
};
const char *lcp_fault_text(enum lcp_fault fault);
/* As a sentence; `format` is what the file says, and counts for LCP_OTHER_FORMAT. */
#define LCP_FAULT_SIZE 80u
void lcp_fault_say(enum lcp_fault fault, uint32_t format, char text[LCP_FAULT_SIZE]);

/* --- Data files: a head, blocks, the last of which holds the totals; zeros up to a multiple of
 * LCP_ALIGN. --- */

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

/* --- Control files: what makes one state of a fragment. Two per fragment, written in turn, one
 * LCP_ALIGN each. --- */

struct lcp_ctl_file {
    uint32_t seq;
    uint32_t which;
    uint32_t start_gci;
    uint32_t blocks;
    uint32_t pages;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t bytes_lo; /* Bytes of the file without the zeros at the end. */
    uint32_t bytes_hi;
    uint32_t digest_lo;
    uint32_t digest_hi;
    uint32_t deltas; /* Pages among these that are delta pages. */
};
static_assert(sizeof(struct lcp_ctl_file) == 48, "no padding");

struct lcp_ctl {
    uint32_t magic;
    uint32_t sum_lo; /* Checksum of all that follows, up to LCP_ALIGN. */
    uint32_t sum_hi;
    uint32_t format;
    struct lcp_ident ident;
    uint32_t slot;      /* 0 or 1, as in the name. */
    uint32_t seq;       /* Sequence number of the newest file. */
    uint32_t lcp_id;    /* Round of checkpoints. */
    uint32_t start_gci; /* The log from this GCI on repairs the state. */
    uint32_t end_gci;   /* The state is usable once this GCI is durable. */
    /* Pages with numbers below this are in the state; older files may have others. */
    uint32_t pages;
    /* Number of the control file: the greater one of the two is newer; its slot is number % 2. */
    uint32_t number;
    uint32_t file_count;
    struct lcp_ctl_file file[LCP_FILES_MAX]; /* Oldest first. */
    uint32_t part; /* Number of the LDM's newest list when this was written; 0 = there was none. */
    /* Life of the LDM's redo log; 0 = it has none, or who wrote this has not known. */
    uint32_t life;
    uint32_t unused[908];
};
static_assert(sizeof(struct lcp_ctl) == LCP_ALIGN, "one aligned write");

void lcp_ctl_seal(struct lcp_ctl *ctl);
/* `ident` may be NULL: any. */
enum lcp_fault lcp_ctl_check(const struct lcp_ctl *ctl, const struct lcp_ident *ident,
                             uint32_t slot);

/* --- Lists: which fragments of an LDM have a usable checkpoint, and how far back the log goes for
 * those that have none. Two per LDM, written in turn, in blocks of LCP_ALIGN. --- */

struct lcp_part_entry {
    uint32_t place; /* Table (16-31), fragment (0-15). */
    uint32_t version;
    uint32_t number; /* Number of the control file: this one, or a newer one, must be there. */
    uint32_t kbytes; /* KB of the fragment's data files. */
};
#define LCP_PART_ENTRIES 252u
struct lcp_part {
    uint32_t magic;
    uint32_t sum_lo; /* Checksum of all that follows, up to LCP_ALIGN. */
    uint32_t sum_hi;
    uint32_t format;
    uint32_t cluster_lo;
    uint32_t cluster_hi;
    uint32_t node;
    uint32_t instance;
    uint32_t slot_life; /* lcp_part_slot(), lcp_part_life() */
    /* Number of the list: the greater one of the two is newer; its slot is number % 2. */
    uint32_t number;
    uint32_t lcp_id;   /* The round that ended. */
    uint32_t tail_gci; /* Fragments that are not listed have no records of older GCIs. */
    uint32_t block;    /* Number of this block of the list: 0, 1, ... */
    uint32_t blocks;   /* Blocks of the list. */
    uint32_t count;    /* Entries in this block. */
    uint32_t before;   /* Check of the list before this one; 0: there was none, or who wrote it has
                        not known. */
    struct lcp_part_entry entry[LCP_PART_ENTRIES];
};
static_assert(sizeof(struct lcp_part) == LCP_ALIGN, "one aligned block");

/*
 * slot_life:
 *
 *   31                           8 7           0
 *  +------------------------------+-------------+
 *  |  life of the LDM's redo log  |    slot     |   slot: 0 or 1, as in the name; life 0: the log
 *  +------------------------------+-------------+   has none, or the list is of format 3
 */
static inline uint32_t lcp_part_slot_life(uint32_t slot, uint32_t life)
{
    return life << 8 | slot;
}
static inline uint32_t lcp_part_slot(const struct lcp_part *part)
{
    return part->slot_life & 0xFFu;
}
static inline uint32_t lcp_part_life(const struct lcp_part *part)
{
    return part->slot_life >> 8;
}

void lcp_part_seal(struct lcp_part *part);
/* `ident` (its cluster and node) may be NULL, `instance` 0: any. */
enum lcp_fault lcp_part_check(const struct lcp_part *part, const struct lcp_ident *ident,
                              uint32_t instance, uint32_t slot, uint32_t block);
/* The check of a list after one more block; 0 before the first, and never behind it. */
uint32_t lcp_part_chain(uint32_t check, const struct lcp_part *block);

static inline uint32_t lcp_place(uint32_t table, uint32_t fragment)
{
    return table << 16 | fragment;
}

/* --- Names. --- */

#define LCP_DIRECTORY "LCP"
void lcp_data_name(char name[LCP_NAME_MAX], uint32_t table, uint32_t fragment, uint32_t seq);
void lcp_ctl_name(char name[LCP_NAME_MAX], uint32_t table, uint32_t fragment, uint32_t slot);
void lcp_part_name(char name[LCP_NAME_MAX], uint32_t instance, uint32_t slot);
/* The parts of a name without its directory; *seq is the slot of a control file. False: another
 * kind of file. */
bool lcp_name_parse(const char *name, uint32_t *table, uint32_t *fragment, uint32_t *seq,
                    bool *is_ctl);

static inline uint64_t lcp_align(uint64_t bytes)
{
    return (bytes + LCP_ALIGN - 1u) & ~(uint64_t)(LCP_ALIGN - 1u);
}
