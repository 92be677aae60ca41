/* tup_copy.h -- DBTUP: rows are copied to the same place of another replica. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup_read.h"
#include "blocks/dbtup/tup_restore.h"

struct tup;
struct tup_frag;

/* --- Copying rows to the same place of another replica, beside transactions. See
 * docs/protocols/node_restart.md. --- */

/*
 * What the source's walk leaves behind: the committed rows up to `gci`, which the other replica
 * has. In `map`, for each page that has such rows: its number and a bit per slot,
 * tup_copy_map_words() in all.
 */
struct tup_copy_map {
    uint32_t gci;   /* 0: the other replica is empty, there is no map. */
    uint32_t pages; /* The other replica has pages below this. */
    uint32_t *words;
    uint32_t used; /* Words of the map so far. */
    uint32_t rows; /* Rows that it has a bit for. */
    uint32_t sum;  /* Sum of the GCIs of those rows. */
};
uint32_t tup_copy_map_words(const struct tup_frag *frag);

/*
 * From the position on, the next row that is not for the map: newer, or one that is being inserted,
 * changed or deleted. The position stays at it; the caller steps over it. ROW_NONE: *budget places
 * have been looked at, or *end: these were all of both replicas' pages.
 */
uint32_t tup_copy_next(const struct tup_frag *frag, struct tup_scan_position *position,
                       struct tup_copy_map *map, uint32_t *budget, bool *end);

/* How much of `pages` is behind the position, in thousandths. */
uint32_t tup_copy_permille(const struct tup_frag *frag, const struct tup_scan_position *position,
                           uint32_t pages);

/* Numbers of the fragment's pages are below this. */
uint32_t tup_copy_pages(const struct tup_frag *frag);

/* The row's pairs, all columns in table order, and its GCI. The row is locked, so it is committed.
 * `out_max` is at least TUP_ROW_WORDS_MAX. Returns the words; 0: its checksum is wrong. */
uint32_t tup_copy_row(const struct tup_frag *frag, uint32_t row, uint32_t *out, uint32_t out_max,
                      uint32_t *gci);

/* Which rows of the target are old: committed, nobody is at work on them, not newer than `gci`, and
 * their place is not below `told`. `key_def` as in tup_restore_req. */
struct tup_copy_old {
    struct tup_frag *frag;
    const struct table_def *key_def;
    uint32_t gci; /* The newest GCI of old rows; 0: no row is old. */
    struct tup_scan_position told;
};

/* Removes the row if it is old. Any number is safe. */
bool tup_copy_drop(struct tup *tup, const struct tup_copy_old *old, uint32_t row);

/* The places from old->told up to `to` have been told of with this map: what is old there and has
 * no bit is removed, and old->told moves to `to`. */
struct tup_copy_swept {
    uint32_t removed; /* Rows that were removed. */
    uint32_t rows;    /* Old rows with a bit. */
    uint32_t sum;     /* Sum of the GCIs of those rows. */
};
/* 0, or ERR_ROW_ID_TAKEN: the map is malformed. */
uint32_t tup_copy_sweep(struct tup *tup, struct tup_copy_old *old,
                        const struct tup_scan_position *to, const uint32_t *map, uint32_t words,
                        struct tup_copy_swept *swept);

/* Does what tup_restore_put() does, into a place that is free; an old row with the same key goes
 * first. Errors as there; ERR_ROW_ID_TAKEN also when the place is taken, or the key stands in
 * another place. */
uint32_t tup_copy_put(struct tup *tup, const struct tup_restore_req *req,
                      const struct tup_copy_old *old);

/* All rows are here; `gci` is the other replica's tup_checkpoint_gci(). */
void tup_copy_end(struct tup_frag *frag, uint32_t gci);
