/* tup_indexes_state.h -- private: indexes are kept in step with the rows, and come and go. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup_state.h"

/* --- tup_index.c: ordered indexes follow the rows. See docs/protocols/index.md. --- */

/* Takes the indexes from the definition; false without memory. */
bool tup_uniques_define(struct tup *tup, struct tup_table *table, const struct table_def *def);
void tup_uniques_drop(struct tup *tup, const struct tup_table *table);
bool tup_indexes_define(struct tup *tup, struct tup_table *table, const struct table_def *def);
void tup_indexes_forget(struct tup *tup, struct tup_table *table);
/* Has the change's copy an entry of its own in the index? */
bool tup_copy_has_entry(const struct tup *tup, const struct tup_frag *frag,
                        const struct tup_change *change, const struct tux_index *index);
/* Makes the fragment's ordered indexes, all or none; false without records. */
bool tup_indexes_create(struct tup *tup, struct tup_frag *frag);
/* Gives back a bounded part of them; true when none is left. */
bool tup_indexes_drop_step(struct tup *tup, struct tup_frag *frag);

/* Room for one entry more in each, until the trim; false without memory. */
static inline bool tup_index_reserve(struct tup *tup, struct tup_frag *frag)
{
    return frag->ordered == NULL || tux_reserve(tup->tux, frag->ordered);
}
static inline void tup_index_trim(struct tup *tup, const struct tup_frag *frag)
{
    if (frag->ordered != NULL) tux_trim(tup->tux);
}
/* Do the parsed values touch a key? */
bool tup_index_touched(const struct tup *tup, const struct tup_table *table);
/* The entries of the image that this row has, or got just now. An addition was reserved, and
 * trims. */
void tup_index_add(struct tup *tup, struct tup_frag *frag, uint32_t row);
void tup_index_remove(struct tup *tup, struct tup_frag *frag, uint32_t row);
/* Around each change of the version that `change` makes; leave is followed by enter, which is
 * reserved and trims. */
void tup_index_leave(struct tup *tup, struct tup_frag *frag, const struct tup_change *change);
void tup_index_enter(struct tup *tup, struct tup_frag *frag, const struct tup_change *change);
/* The copy is about to become the row, or to go. */
void tup_index_commit(struct tup *tup, struct tup_frag *frag, const struct tup_change *change);
void tup_index_abort(struct tup *tup, struct tup_frag *frag, const struct tup_change *change);
void tup_index_check(const struct tup *tup, const struct tup_frag *frag);

/* --- tup_index_build.c: indexes come and go. --- */

/* Adds one to the table's indexes; false without memory. */
bool tup_index_define(struct tup *tup, struct tup_table *table, const struct table_def *def,
                      const struct table_index *index, enum tup_index_state state);
struct tup_index *tup_index_find(const struct tup_table *table, uint32_t id);
/* The fragment's part of the index; NULL: it is not made yet, or gone. */
struct tux_index *tup_index_of_frag(const struct tup_frag *frag, const struct tup_index *index);
