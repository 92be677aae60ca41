/* tup_change_state.h -- private: what a transaction does to a row, and the versions of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtup/tup_change.h"
#include "blocks/dbtup/tup_table_state.h"
#include "kernel/base/pool.h"

struct tup;

#define CHANGE_INLINE 64u

/*
 * What one transaction does to one row. The committed version stays in the row; the new one is the
 * copy. A row without committed version is changed in place. The copy is a whole row; its variable
 * part, if it differs, is already there.
 *
 *   existed  exists                commit                     abort
 *      0       1     insert        row becomes visible        row goes
 *      0       0     ins, delete   row goes                   row goes
 *      1       1     update        copy replaces row          copy goes
 *      1       0     delete        row goes                   nothing
 */
struct tup_change {
    struct pool_record record;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t frag;
    uint32_t row;
    uint32_t hash;
    uint32_t gci;        /* GCI of the committed version. */
    uint32_t operations; /* Operations that have to commit or abort yet. */
    uint8_t existed;     /* See the table above. */
    uint8_t exists;
    uint8_t done; /* 1: committed or aborted; it waits for the other operations. */
    uint8_t has_copy;
    uint32_t copy; /* Heap reference when the row does not fit in `inline_copy`. */
    uint32_t unused;
    uint8_t inline_copy[CHANGE_INLINE];
};

/* An ATTRINFO that has been checked. */
struct tup_attr {
    const uint32_t *words;
    uint32_t size;
    uint32_t var_seen; /* 1: it names a variable column. */
    uint64_t seen[SEEN_WORDS];
    /* New values of variable columns, valid where `seen`; of size 0: NULL. */
    const uint8_t *var_at[TABLE_COLUMNS_MAX];
    uint16_t var_size[TABLE_COLUMNS_MAX];
};

/* --- tup_attr.c: checking and applying values. --- */

/* ATTR_WRITE: an update that may repeat the key. */
enum attr_use { ATTR_INSERT, ATTR_UPDATE, ATTR_WRITE };

/* Checks pairs into tup->attr. 0 or an error. */
uint32_t tup_attr_parse(struct tup *tup, const struct tup_frag *frag,
                        const struct tup_change_req *req, enum attr_use use);
/* Size of the variable part that `base` with the parsed values over it will have. */
uint32_t tup_attr_var_size(const struct tup *tup, const struct tup_table *table,
                           const uint8_t *base, uint32_t base_size);
void tup_attr_var_build(const struct tup *tup, const struct tup_table *table, const uint8_t *base,
                        uint32_t base_size, uint8_t *to, uint32_t to_size);
/* Sets fixed columns and null bits of a row image. */
void tup_attr_apply(const struct tup *tup, const struct tup_table *table, uint8_t *image);
/* The value of variable column `index` in a variable part; size 0 = NULL, and so is the pointer. */
const uint8_t *tup_var_value(const uint8_t *part, uint32_t part_size, uint32_t index,
                             uint32_t *size);

/* --- tup_change.c: parts of a change that restoring rows needs too. --- */

/* A new row's image from defaults, key and parsed values; its variable part is `var`. */
void tup_image_fill(const struct tup *tup, const struct tup_frag *frag,
                    const struct tup_change_req *req, uint8_t *image, uint32_t var);
/* Room for a new row's variable part (*var, 0 = needs none). False without memory. */
bool tup_new_var_seize(const struct tup *tup, struct tup_frag *frag, uint32_t *var);
/* A new variable part for `image` with the parsed values over it. False without memory. */
bool tup_update_var_seize(const struct tup *tup, struct tup_frag *frag, const uint8_t *image,
                          uint32_t *var);
/* The row is a committed one: the only way for a version to become that. */
void tup_row_settle(struct tup_frag *frag, struct tup_row *row, uint32_t gci);

/* --- tup_read.c: images as pairs; the caller's room is enough for any row. --- */

void tup_pairs_all(const struct tup_frag *frag, const uint8_t *image, uint32_t *out,
                   uint32_t out_max, uint32_t *words);
/* Columns whose bytes in `to` are others than in `from`. False when a key column is among them. */
bool tup_pairs_changed(const struct tup_frag *frag, const uint8_t *from, const uint8_t *to,
                       uint32_t *out, uint32_t out_max, uint32_t *words);

/* --- Versions of a row. --- */

uint16_t tup_checksum(const struct tup_frag *frag, const struct tup_row *row);
/* The version of the row that a transaction sees, or NULL. */
const uint8_t *tup_version(const struct tup *tup, const struct tup_frag *frag,
                           const struct tup_row *row, uint32_t transid1, uint32_t transid2);
uint8_t *tup_copy_of(const struct tup *tup, const struct tup_table *table,
                     const struct tup_change *change);
