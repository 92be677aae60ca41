/* lcp_format.h -- how checkpoint files look, byte by byte: making and checking their parts. Knows
 * no block. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
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
