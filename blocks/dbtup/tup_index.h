/* tup_index.h -- DBTUP: the indexes of a table come and go; keys of unique indexes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup_read.h"
#include "values/table_def.h"

struct tup;
struct tup_frag;

/* The fragment's ordered index with this id in the definition; NULL if there is none that may be
 * scanned. */
struct tux_index;
struct tux_index *tup_frag_ordered(const struct tup_frag *frag, uint32_t id);

/* --- Ordered indexes that come and go while the table is used: docs/protocols/online.md. --- */

enum tup_index_state {
    TUP_INDEX_NONE = 0,
    TUP_INDEX_BUILDING,
    TUP_INDEX_USABLE,
    TUP_INDEX_DROPPING
};

enum tup_index_state tup_index_state_of(struct tup *tup, uint32_t table, uint32_t id);
void tup_index_state_set(struct tup *tup, uint32_t table, uint32_t id, enum tup_index_state state);
/* The table gets the index that has this id in `def`, of which nothing else is taken: BUILDING.
 * The columns are those of the table. 0 or an error. */
uint32_t tup_index_create(struct tup *tup, uint32_t table, const struct table_def *def,
                          uint32_t id);

/* How far the building of one fragment's index has come; zeroed: it begins. */
struct tup_index_build {
    uint32_t begun;
    uint32_t page;
    uint32_t slot;
    uint64_t rows;
};

/*
 * Looks at up to `slots` places of the fragment and adds the rows' entries to the index; *end: the
 * index has all of them. 0; or ERR_INDEX_MEMORY_ORDERED, ERR_INDEX_FRAGMENT_RECORDS, after which
 * tup_index_drop_step() is called.
 */
uint32_t tup_index_build_step(struct tup *tup, struct tup_frag *frag, uint32_t id,
                              struct tup_index_build *build, uint32_t slots, bool *end);
/* Gives back a bounded part of the fragment's index; true when nothing is left. */
bool tup_index_drop_step(struct tup *tup, struct tup_frag *frag, uint32_t id);
/* The index has gone from all fragments: the table knows it no more. */
void tup_index_forget(struct tup *tup, uint32_t table, uint32_t id);

/* --- Unique indexes: tables of their own, which TC maintains. See docs/protocols/unique_index.md.
 */

/* How many unique indexes the table has, whatever they fire. */
uint32_t tup_unique_count(const struct tup_frag *frag);
/* Indexes that are made with their table fire for all; one that is added, for nothing at first. */
enum tup_unique_fires { UNIQUE_FIRES_NOTHING = 0, UNIQUE_FIRES_DELETES, UNIQUE_FIRES_ALL };
/* Adds the index whose table is `index_id`, as the definition has it. 0 or an error. */
uint32_t tup_unique_add(struct tup *tup, uint32_t table, const struct table_def *def,
                        uint32_t index_id);
void tup_unique_set(struct tup *tup, uint32_t table, uint32_t index_id,
                    enum tup_unique_fires fires);
/* Removes the index; the numbers of others change. */
void tup_unique_remove(struct tup *tup, uint32_t table, uint32_t index_id);
enum tup_unique_fires tup_unique_fires_of(const struct tup_frag *frag, uint32_t number,
                                          uint32_t *index_id);
/*
 * The row's key in unique index `number`, as the transaction sees the row, as a KEY section of the
 * index's table. Returns its words, at most those of TABLE_KEY_BYTES_MAX and padding; 0: the row
 * has no entry, because it is not there or a value is NULL. `attr` is not looked at.
 */
uint32_t tup_unique_key(struct tup *tup, const struct tup_read *read, uint32_t number,
                        uint32_t *out);
/* Are two such keys the same for the index? */
bool tup_unique_equal(const struct tup_frag *frag, uint32_t number, const uint32_t *a,
                      uint32_t a_words, const uint32_t *b, uint32_t b_words);
