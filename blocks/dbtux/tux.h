/* tux.h -- DBTUX: ordered indexes over the rows of fragments. Plain calls inside one LDM instance
 * group. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "values/scan_range.h"

/*
 * The neighbour's handle is block_neighbour(block, BLOCK_DBTUX), cast to struct tux *. Nothing here
 * is thread-safe, sends signals, or recurses.
 *
 * An index has an entry for each version of a row that can be seen: that of the row itself, and,
 * while a transaction has made another version with another key, that of the copy (docs/protocols/
 * index.md). An entry is a row id and the digest of its key; values stay in the row.
 */
struct tux;
struct tux_index; /* An index of one fragment. */
struct tup_frag;

struct block *tux_create(struct thread *thread, uint32_t instance);

#define TUX_COLUMNS_MAX 32u
#define TUX_NODE_NONE   0u

struct tux_column {
    uint16_t id;
    uint8_t nullable;
    uint8_t bits;  /* Bits of its prefix: column_sort_prefix(). */
    uint8_t exact; /* 1: equal prefixes mean equal values. */
    uint8_t unused[3];
    struct column_format format;
};

/* What is indexed; belongs to the table, and lives longer than its indexes. */
struct tux_columns {
    uint32_t count;
    uint32_t exact; /* 1: equal digests mean equal keys. */
    struct tux_column column[];
};

static inline uint32_t tux_columns_size(uint32_t count)
{
    return (uint32_t)(sizeof(struct tux_columns) + count * sizeof(struct tux_column));
}

/* Fills in a column whose id, format and nullability are given; the last one makes *columns
 * complete. */
void tux_column_add(struct tux_columns *columns, uint32_t id, const struct column_format *format,
                    bool nullable);

/* --- Only for TUP, which keeps rows and indexes together. --- */

/* A new empty index over the rows of `rows`, put before `next` in a fragment's chain; NULL without
 * a record. */
struct tux_index *tux_index_create(struct tux *tux, struct tup_frag *rows,
                                   const struct tux_columns *columns, struct tux_index *next);
struct tux_index *tux_index_next(const struct tux_index *index);
/* Takes it out of the chain that begins with `first`; returns the chain's beginning. */
struct tux_index *tux_index_unlink(struct tux_index *first, struct tux_index *index);
/* While an index is being built only rows with smaller ids than this are in it: tux_add(),
 * tux_remove() and tux_settle() of others do nothing. */
#define TUX_NO_BORDER UINT64_MAX
void tux_border_set(struct tux_index *index, uint64_t border);
uint64_t tux_border(const struct tux_index *index);
/* Gives back a bounded part of the memory; true when nothing is left and `index` is gone. */
bool tux_index_drop_step(struct tux *tux, struct tux_index *index);

/* Room for one tux_add() to each index of the chain, until tux_trim(). False: there is no memory
 * (ERR_INDEX_MEMORY_ORDERED), and nothing has changed. */
bool tux_reserve(struct tux *tux, struct tux_index *first);
/* Makes room for two tux_add() to this index only. */
bool tux_reserve_build(struct tux *tux, struct tux_index *index);
/* Ends a reservation, whether it was used or not. */
void tux_trim(struct tux *tux);

/* Adds the entry of the row, or of its copy, with the key that it has now. */
void tux_add(struct tux *tux, struct tux_index *index, uint32_t row, bool copy);
void tux_remove(struct tux *tux, struct tux_index *index, uint32_t row, bool copy);
/* The entry of the copy becomes that of the row, which is about to be the same. The row has no
 * other one in this index. */
void tux_settle(struct tux *tux, struct tux_index *index, uint32_t row);

/* --- Seeking and walking. --- */

/* Among entries whose values equal the given ones: before all, behind all, or the place of one
 * entry. */
enum tux_place { TUX_BEFORE, TUX_BEHIND, TUX_AT };

struct tux_search {
    const struct scan_value *value; /* Values of the first `count` columns. */
    uint32_t count;
    enum tux_place place;
    uint32_t row; /* TUX_AT, with values of all columns: the row of the entry. */
    bool copy;    /* TUX_AT: whether the entry is that of the row's copy. */
};

/* A place between entries, or rather before one. Good until the next change of any index. */
struct tux_cursor {
    uint32_t leaf; /* TUX_NODE_NONE: the end. */
    uint32_t at;
};

struct tux_entry {
    uint32_t row;
    bool copy;
};

/* A cursor at the first entry that is not before the place; of the empty search (count 0),
 * TUX_BEFORE: at the first one. */
struct tux_cursor tux_seek(const struct tux_index *index, const struct tux_search *search);
/* The entry at the cursor, which moves to the next one; false at the end. */
bool tux_next(const struct tux_index *index, struct tux_cursor *cursor, struct tux_entry *entry);
/* The entry before the cursor, which moves to it; false at the beginning. */
bool tux_previous(const struct tux_index *index, struct tux_cursor *cursor,
                  struct tux_entry *entry);
/* Do the row's (or its copy's) values come before (< 0) or behind the place? */
int tux_compare(const struct tux_index *index, const struct tux_entry *entry,
                const struct tux_search *search);

/* --- Scanning ranges, in steps. --- */

/* Longest key, with a word for the size of each value. */
#define TUX_KEY_WORDS_MAX (2u * TUX_COLUMNS_MAX + TABLE_KEY_BYTES_MAX / 4u)

/* Where a scan of checked ranges is; zeroed: at the beginning. It is remembered by key, so it
 * survives every change of the index. */
struct tux_position {
    uint32_t range_at; /* Where the range stands among the words of all of them. */
    uint32_t begun;    /* 1: it is at the entry whose row, copy and key follow. */
    uint32_t row;
    uint32_t copy;
    uint32_t key_words;
    uint32_t key[TUX_KEY_WORDS_MAX];
};

/* Are these ranges (scan_range.h) of that index? 0, or ERR_BOUNDS. */
uint32_t tux_ranges_check(const struct tux_columns *columns, const uint32_t *ranges,
                          uint32_t words);
/*
 * Gets up to `max` entries of the position's range in its direction from behind the position on,
 * which stays: see tux_scan_moved(). Returns how many; *end: there are no more behind them in this
 * range, always told when fewer than `max` are returned. Copies are among them.
 */
uint32_t tux_scan_next(const struct tux_index *index, const uint32_t *ranges, uint32_t words,
                       const struct tux_position *position, struct tux_entry *entries, uint32_t max,
                       bool *end);
/* Goes to the beginning of the next range. False: there is none, and the position stays. */
bool tux_scan_next_range(const uint32_t *ranges, uint32_t words, struct tux_position *position);
/* The position is at this entry, which tux_scan_next() has just returned. */
void tux_scan_moved(const struct tux_index *index, struct tux_position *position,
                    const struct tux_entry *entry);
/* Has the row still the key of the position, which is at its entry? */
bool tux_scan_same(const struct tux_index *index, const struct tux_position *position,
                   uint32_t row);

const struct tux_columns *tux_index_columns(const struct tux_index *index);
/* Number of entries, and bytes of the nodes that hold them. */
uint64_t tux_entries(const struct tux_index *index);
uint64_t tux_index_bytes(const struct tux_index *index);
uint32_t tux_pages(const struct tux *tux); /* Pages of 32 KB of all indexes of the instance. */

/* The invariants of the index; visit(context, entry) is called for each entry in order. For checks.
 */
void tux_index_check(const struct tux_index *index,
                     void (*visit)(void *context, const struct tux_entry *entry), void *context);
