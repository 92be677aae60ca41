/* tup_page_state.h -- private: what a page of rows, or of their variable parts, looks like. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tup_frag;

/* --- Rows. --- */

/*
 * A row: this head, null bits, key columns, then the other fixed columns, largest alignment first,
 * without padding; then the reference of the variable part, which a table may need later. The
 * slot's size is a multiple of 8.
 *
 * A free slot has bits == 0 and the links of the page's free list in `gci`.
 */
struct tup_row {
    uint32_t lock; /* DBACC's: first lock record of the row. */
    uint32_t gci;  /* Epoch of the committed version; while ROW_CHANGED: reference of the change. */
    uint16_t bits; /* enum row_bits */
    uint16_t checksum; /* Checksum of the committed version. */
};
#define ROW_HEAD 12u
static_assert(sizeof(struct tup_row) == ROW_HEAD, "a row's head has no padding");

enum row_bits {
    ROW_USED = 1,
    ROW_CHANGED = 2,  /* A transaction has a change of this row. */
    ROW_INSERTED = 4, /* There is no committed version. */
    ROW_WANTED = 8,   /* Alone: while files are read, the place of a row of an older one. */
};

#define SLOT_END 0xFFFFu

struct fixed_page {
    uint32_t number;
    uint32_t used;       /* Slots in use. */
    uint32_t free_first; /* The first free slot, or SLOT_END. */
    uint32_t next;       /* List of pages with free slots: 1 + number, 0 = none. */
    uint32_t prev;
    uint32_t wanted; /* Slots with ROW_WANTED; they are in use. */
    uint32_t unused[10];
};
#define FIXED_PAGE_HEAD 64u
static_assert(sizeof(struct fixed_page) == FIXED_PAGE_HEAD, "slots begin on a cache line");

/* --- Variable parts. --- */

/*
 * Reference: page << 12 | entry, 0 = none (entries count from 1). A variable part is: for each
 * variable column up to the last one that is not NULL a 16-bit offset of its value, then the values
 * with their length prefixes; NULL takes nothing. The first offset says how many there are, so a
 * part does not change when the table gets more columns, which are NULL in it.
 */
#define VAR_ENTRY_BITS 12u
#define VAR_ENTRIES    ((1u << VAR_ENTRY_BITS) - 1u)
#define VAR_PAGES_MAX  (1u << (32u - VAR_ENTRY_BITS))
#define VAR_HOLES      7u
#define VAR_CLASSES    9u /* Pages with at least 64 << class free bytes. */
#define VAR_NO_CLASS   0xFFu

struct var_page {
    uint32_t number;
    uint32_t entries;    /* Directory entries, used or free; they grow down from the page's end. */
    uint32_t used;       /* Entries in use. */
    uint32_t free_entry; /* First free entry, 0 = none. */
    uint32_t gap;        /* Offset of the contiguous free space, which ends at the directory. */
    uint32_t free_bytes; /* All free space: the gap and the holes. */
    uint32_t next;       /* List of the class: 1 + number. */
    uint32_t prev;
    uint32_t class;
    uint32_t hole[VAR_HOLES]; /* Some of the holes: offset << 16 | size; 0 = none. */
};
#define VAR_PAGE_HEAD 64u
static_assert(sizeof(struct var_page) == VAR_PAGE_HEAD, "one cache line");

/* --- tup_fixed.c: slots. --- */

/* Takes a free slot, or exactly `wanted`; its bits are 0, its lock word is REF_NONE. 0,
 * ERR_NO_MEMORY_DATA, ERR_FIXED_REFERENCE_MAX, ERR_ROW_ID_TAKEN. */
uint32_t tup_slot_take(struct tup_frag *frag, uint32_t wanted, uint32_t *row);
void tup_slot_free(struct tup_frag *frag, uint32_t row);
/* Takes a free slot for a row that an older file has. 0, ERR_NO_MEMORY_DATA, ERR_ROW_ID_TAKEN. */
uint32_t tup_slot_want(struct tup_frag *frag, uint32_t row);
/* The slot is wanted: it is not any more, and the caller's. Any number is safe. */
bool tup_slot_unwant(struct tup_frag *frag, uint32_t row);
void tup_fixed_check(const struct tup_frag *frag);

/* --- tup_checkpoint.c: marks of changed pages. --- */

/* Makes room for the mark of a new page; false without memory. */
bool tup_marks_reserve(struct tup_frag *frag, uint32_t number);
void tup_marks_drop(struct tup_frag *frag);

/* --- tup_need.c: what a restart needs and is not in use. --- */

/* Called before a page is asked for: what is owed of this kind may be it. */
void tup_need_fixed_ahead(struct tup_frag *frag);
void tup_need_var_ahead(struct tup_frag *frag);
/* Called after each page that came, went, or was refused, and each variable part. */
void tup_need_tell(struct tup_frag *frag);
/* The bytes that a variable part counts for. */
uint32_t tup_need_loose(uint32_t size);
/* The fragment goes. */
void tup_need_drop(struct tup_frag *frag);
void tup_need_check(const struct tup_frag *frag);

/* --- tup_var.c: variable parts. --- */

/* The reference of a new part; 0: there is no memory. Other variable parts of the page may move. */
uint32_t tup_var_seize(struct tup_frag *frag, uint32_t size);
void tup_var_release(struct tup_frag *frag, uint32_t ref);
uint8_t *tup_var_get(const struct tup_frag *frag, uint32_t ref, uint32_t *size);
void tup_var_check(const struct tup_frag *frag);
