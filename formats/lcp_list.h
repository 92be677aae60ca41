/* lcp_list.h -- the lists of checkpoints: which fragments of an LDM have a usable one, and how far
 * back the log goes for those that have none. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* There are two per LDM, written in turn, in blocks of LCP_ALIGN. */
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "formats/lcp_format.h"

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
