/* tup_row.h -- DBTUP: what neighbours ask of a row without reading it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tup_frag;

/* Asks the memory for the row. */
void tup_prefetch(const struct tup_frag *frag, uint32_t row);

/*
 * Ask the memory for the variable part of a row that was in the index a moment ago: for the entry
 * that says where it stands, when the row itself has come (tup_prefetch()), then for the part, when
 * the entry has.
 */
void tup_prefetch_var_entry(const struct tup_frag *frag, uint32_t row);
void tup_prefetch_var(const struct tup_frag *frag, uint32_t row);

/* --- Only for ACC. --- */

/* Does this row (committed or not) have that key? */
bool tup_key_equal(const struct tup_frag *frag, uint32_t row, const uint32_t *key,
                   uint32_t key_words);
/* The row's lock word: the reference of its first lock record, REF_NONE = not locked. */
uint32_t *tup_lock_word(const struct tup_frag *frag, uint32_t row);

/* --- Only for TUX. --- */

/* The image of a row, or of the copy that a transaction is making of it. */
const uint8_t *tup_index_image(const struct tup_frag *frag, uint32_t row, bool copy);
/* A column's value in an image; NULL has size 0. */
const uint8_t *tup_index_value(const struct tup_frag *frag, const uint8_t *image, uint32_t column,
                               uint32_t *size);
