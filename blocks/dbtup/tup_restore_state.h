/* tup_restore_state.h -- private: rows by place, for restoring them and for copying them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup_change_state.h"
#include "blocks/dbtup/tup_restore.h"

struct tup;

/* Words of the longest key, with every column's padding. */
#define TUP_KEY_WORDS_MAX (TABLE_KEY_BYTES_MAX / 4u + 2u * TABLE_KEY_COLUMNS_MAX)

struct tup_restore_key {
    uint32_t words;
    uint32_t word[TUP_KEY_WORDS_MAX];
};

/* Collects the key columns out of all columns in table order, as a KEY section. */
uint32_t tup_key_collect(const struct tup_table *table, const struct tup_restore_req *req,
                         struct tup_restore_key *key);
/* The parts of it that tup_attr_parse() takes. */
struct tup_change_req tup_restore_change(const struct tup_restore_req *req);
/* Hash of the key of the row in this place: low half of key_hash(). */
uint32_t tup_row_hash(struct tup *tup, struct tup_frag *frag, const struct table_def *key_def,
                      uint32_t row_id);
/* Removes a committed row that nobody has locked; `hash` is that of its key. */
void tup_row_drop(struct tup *tup, struct tup_frag *frag, uint32_t row_id, uint32_t hash);
/* Puts a row into a free place; `parsed` has gone through tup_attr_parse(). 0, ERR_NO_MEMORY_DATA,
 * ERR_ROW_ID_TAKEN, ERR_INDEX_MEMORY, ERR_INDEX_MEMORY_ORDERED, ERR_HASH_MAXIMUM. */
uint32_t tup_row_add(struct tup *tup, const struct tup_restore_req *req,
                     const struct tup_change_req *parsed, uint32_t hash);
