/* redo_format.h -- pages and records of the redo log: encoding and checking, without I/O. See
 * docs/protocols/redo.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * A log part is a ring of files of equal size, counted in blocks of 4 KB. A page takes 1 to 8
 * blocks: as many as its words need, never across a file's end. A page that has been written is
 * never written again before its file's next lap, so a torn write can hurt nothing that was durable
 * before. Records follow one another without gaps, over the ends of pages.
 */
#define REDO_MAGIC            0x4F444552u /* "REDO" */
#define REDO_VERSION          2u /* Records name places of rows: columns and slots count. */
#define REDO_BLOCK_BYTES      4096u
#define REDO_BLOCK_WORDS      (REDO_BLOCK_BYTES / 4u)
#define REDO_PAGE_BLOCKS      8u
#define REDO_PAGE_WORDS       (REDO_PAGE_BLOCKS * REDO_BLOCK_WORDS)
#define REDO_PAGE_HEAD        24u /* Words of a page's head. */
#define REDO_RECORD_HEAD      7u  /* Words of a record's head. */
#define REDO_RECORD_WORDS_MAX 9300u
#define REDO_FILES_MAX        256u

/* In file and memory: little-endian words. */
struct redo_page_head {
    uint32_t magic;
    uint32_t version;
    uint32_t check_lo; /* XXH3-64 of what follows the head to the last block's end; seed: XXH3-64 of
                          the head with zeros here. */
    uint32_t check_hi;
    uint32_t cluster_lo;
    uint32_t cluster_hi;
    uint32_t node;
    uint32_t part;
    uint32_t files;       /* Files of the log part. */
    uint32_t file_blocks; /* Blocks in each file. */
    uint32_t file;        /* File that this page stands in. */
    uint32_t block;       /* Block of the file that the page begins at. */
    uint32_t incarnation; /* Incarnation of the cluster: each start makes it greater. */
    uint32_t words;      /* Words in use, this head included; the rest of the last block is zero. */
    uint32_t first;      /* Word at which the first record begins; 0 = none begins here. */
    uint32_t gci_before; /* Highest GCI of all records that began before this page. */
    uint32_t gci_max;    /* Highest GCI of all records that began before the end of this page. */
    uint32_t lsn_lo;     /* Page number over all laps, and life: redo_lsn_pages(). */
    uint32_t lsn_hi;
    uint32_t prev_lo; /* Check of the page before; 0 at the very first one. */
    uint32_t prev_hi;
    uint32_t synced_lo; /* This page number and all below were durable when this page was made. */
    uint32_t synced_hi;
    uint32_t unused;
};

enum redo_fault {
    REDO_GOOD = 0,
    REDO_EMPTY,   /* Nothing was ever written here: zeros. */
    REDO_NO_PAGE, /* No page begins here. */
    REDO_OTHER_VERSION,
    REDO_MALFORMED, /* The figures of the page contradict each other. */
    REDO_CUT,       /* The page is longer than the words given. */
    REDO_BAD_CHECK,
    REDO_OTHER_CLUSTER,
    REDO_OTHER_NODE,
    REDO_OTHER_PART,
    REDO_OTHER_SHAPE, /* Number or size of files has been changed. */
    REDO_OTHER_PLACE, /* A page that belongs to another file or offset. */
    REDO_NOT_NEXT,    /* A good page, but not the one that follows. */
    REDO_BAD_RECORD,
    REDO_LOST_START, /* The log does not reach back to where it is needed from. */
    REDO_FORGOTTEN,  /* The record is of an incarnation older than the list of those that ended. */
    REDO_AHEAD,      /* The GCI cannot be: what the system files say is older than the log. */
    REDO_BAD_SIZE,   /* The file's size is another one. */
    REDO_OTHER_LIFE, /* The node's files have been made anew since. */
    REDO_MISSING,    /* There is no such file. */
    REDO_FAULT_COUNT
};
const char *redo_fault_name(enum redo_fault fault);
/* As a sentence; `version` is what the file says, or 0, and counts for REDO_OTHER_VERSION. */
#define REDO_FAULT_SIZE 96u
void redo_fault_say(enum redo_fault fault, uint32_t version, char text[REDO_FAULT_SIZE]);

static inline uint64_t redo_lsn(const struct redo_page_head *head)
{
    return head->lsn_lo | (uint64_t)head->lsn_hi << 32;
}
/*
 * The low bits of an lsn count the log's pages over all laps, from 1. Above them stands the log's
 * life, which is another one each time that its files are made, so a log of a former life of the
 * node is known by any page number that a system file has of the log that must be there.
 */
#define REDO_LSN_PAGE_BITS 40u
#define REDO_LIFE_MAX      0xFFFFFFu /* 0: made before logs had lives. */
static inline uint64_t redo_lsn_pages(uint64_t lsn)
{
    return lsn & ((1ull << REDO_LSN_PAGE_BITS) - 1u);
}
/* The lsn before the first page of the same life. */
static inline uint64_t redo_lsn_base(uint64_t lsn)
{
    return lsn - redo_lsn_pages(lsn);
}
static inline uint32_t redo_lsn_life(uint64_t lsn)
{
    return (uint32_t)(lsn >> REDO_LSN_PAGE_BITS);
}
static inline uint64_t redo_check(const struct redo_page_head *head)
{
    return head->check_lo | (uint64_t)head->check_hi << 32;
}
static inline uint64_t redo_synced(const struct redo_page_head *head)
{
    return head->synced_lo | (uint64_t)head->synced_hi << 32;
}
static inline uint32_t redo_blocks(uint32_t words)
{
    return (words + REDO_BLOCK_WORDS - 1u) / REDO_BLOCK_WORDS;
}

/* Whose page is expected where. node == 0: any cluster, node, part and shape (tools). */
struct redo_place {
    uint64_t cluster;
    uint32_t node;
    uint32_t part;
    uint32_t files;
    uint32_t file_blocks;
    uint32_t file;
    uint32_t block;
};

/* Clears the rest of the last block, fills magic, version and check. The head's other words and the
 * records are there. */
void redo_page_seal(uint32_t *page);

/*
 * Looks at a page of which `words` words are given: first whether it is whole, then whether it
 * belongs here. REDO_CUT when it may be good but more words are needed.
 */
enum redo_fault redo_page_verify(const uint32_t *page, uint32_t words,
                                 const struct redo_place *place);

/* The page before. */
struct redo_chain {
    uint64_t lsn;
    uint64_t check;
    uint32_t incarnation;
};

/* Is this good page the next one? The chain moves on to it then. Numbers that were used by pages
 * which a restart has left out are not used again. */
bool redo_chain_next(struct redo_chain *chain, const struct redo_page_head *head);
/* The chain that ends with this page. */
struct redo_chain redo_chain_at(const struct redo_page_head *head);

/* --- Records. --- */

/*
 *   word 0  tag 0xD5 (24-31), kind (16-23), words of the record, this head included (0-15)
 *   word 1  table (16-31), fragment (0-15)
 *   word 2  version of the table
 *   word 3  GCI       word 4  micro-epoch
 *   word 5  row id    word 6  key hash
 *   ...     attribute pairs: all columns of an insert, the changed ones of an update
 */
enum redo_kind { REDO_INSERT = 1, REDO_UPDATE = 2, REDO_DELETE = 3 };

struct redo_record {
    uint32_t kind; /* enum redo_kind */
    uint32_t table_id;
    uint32_t fragment_id;
    uint32_t version;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t row;
    uint32_t hash;
    uint32_t pair_words;
    const uint32_t *pairs;
};

/* Writes the record's REDO_RECORD_HEAD words; the pairs follow them. */
void redo_record_head_put(const struct redo_record *record, uint32_t *out);
/* Opens a record of `words` words; false when it is malformed. Its pairs point into `from`; they
 * lie within it. */
bool redo_record_open(const uint32_t *from, uint32_t words, struct redo_record *record);

/* Takes records out of pages that follow one another, whether they cross pages or not. */
struct redo_reader {
    const uint32_t *page;
    uint32_t at; /* Next word of the page. */
    uint32_t end;
    uint32_t incarnation;
    uint32_t started; /* The beginning of a record has been seen. */
    uint32_t have;    /* Words of an unfinished record in `buffer`. */
    uint32_t buffer[REDO_RECORD_WORDS_MAX];
};
void redo_reader_init(struct redo_reader *reader);
/*
 * Goes on with a page that has been verified and is the next one (or the first one: the end of a
 * record that began before is skipped). It stays in place until redo_reader_next() has said 0.
 * False: its records do not fit to the page before.
 */
bool redo_reader_page(struct redo_reader *reader, const uint32_t *page);
/* 1: *record is the next one, valid until the next call. 0: the page has no more. -1: malformed. */
int redo_reader_next(struct redo_reader *reader, struct redo_record *record);
/* The head of a record whose end has not come yet; false when there is none or too little of it. */
bool redo_reader_unfinished(const struct redo_reader *reader, struct redo_record *record);
