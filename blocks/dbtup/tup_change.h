/* tup_change.h -- DBTUP: rows are changed, and the changes commit or abort. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tup;
struct tup_frag;

/* --- Changing. All checks come first: an error means that nothing has changed. --- */

struct tup_change_req {
    struct tup_frag *frag;
    uint32_t row;    /* Row id from acc_find(), exclusively locked by this transaction; or ROW_NONE
                     (insert, write). */
    uint32_t wanted; /* New rows on a backup: the row id that the primary chose; else ROW_NONE. */
    uint32_t hash;   /* Low half of key_hash(). */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t op;         /* Caller's operation record, for the lock of a new row. */
    const uint32_t *key; /* KEY section that has passed key_split(). */
    uint32_t key_words;
    const uint32_t *attr; /* Pairs (attr.h), unchecked. */
    uint32_t attr_words;
};

struct tup_changed {
    uint32_t change; /* The transaction's change of the row, which counts its operations: each
                        commits or aborts it once. */
    uint32_t row;    /* Row id of the new or the changed row, which goes to the backups. */
    uint32_t lock;   /* New rows (row was ROW_NONE): the exclusive lock of this operation; else
                        REF_NONE. */
    bool inserted;   /* tup_write(): there was no row. */
};

/*
 * Columns that are not named take their default, else NULL. With a row: it must have been deleted
 * by the same transaction. Errors: ERR_ROW_EXISTS; ERR_NO_MEMORY_DATA, ERR_INDEX_MEMORY,
 * ERR_INDEX_MEMORY_ORDERED, ERR_HASH_MAXIMUM, ERR_FIXED_REFERENCE_MAX (no room for the row);
 * ERR_ROW_ID_TAKEN (`wanted` is taken); ERR_LQH_OPERATIONS, ERR_COPY_MEMORY (no record);
 * ERR_NULL_FOR_NOT_NULL; ERR_DATA_CORRUPT (unknown column or malformed pairs);
 * ERR_TUP_TOO_MUCH_DATA; ERR_KEY_UPDATE (a key column whose value is not the key's);
 * ERR_KEY_LENGTH (a malformed key); ERR_VALUE_* of column_check().
 */
uint32_t tup_insert(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed);

/*
 * Changes the named columns. Errors as tup_insert(), and ERR_ROW_NOT_FOUND,
 * ERR_NULL_FOR_NOT_NULL_UPDATE, ERR_KEY_UPDATE (any key column), ERR_CHECKSUM (the row is damaged).
 */
uint32_t tup_update(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed);

/* tup_update() if the transaction sees the row (key columns may be named as in an insert), else
 * tup_insert(). */
uint32_t tup_write(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed);

/* Errors: ERR_ROW_NOT_FOUND, ERR_LQH_OPERATIONS. `attr` is not looked at. */
uint32_t tup_delete(struct tup *tup, const struct tup_change_req *req, struct tup_changed *changed);

/*
 * Commits one operation: the first one of a change makes the transaction's final version the
 * committed one with epoch `gci` (high half), the others only give back their count. Never fails. A
 * row that is gone for good leaves the index, its waiters become ready (acc_ready_next), its slot
 * is free. Locks stay with their operations.
 */
void tup_commit(struct tup *tup, uint32_t change, uint32_t gci);

/*
 * Aborts one operation: the first one of a change restores the committed version. So all operations
 * of the transaction on that row are to be aborted; single ones cannot be.
 */
void tup_abort(struct tup *tup, uint32_t change);

/* What the committed change does to the row; for the redo log and subscribers. Before tup_commit().
 */
enum tup_change_kind { TUP_INSERTED = 1, TUP_UPDATED = 2, TUP_DELETED = 3, TUP_NOTHING = 4 };
enum tup_change_kind tup_change_kind_of(struct tup *tup, uint32_t change);

/*
 * What the redo log writes for one operation, called before its tup_commit(): an inserted row's
 * columns, all of them in table order; an updated one's whose bytes change; none of a deleted one.
 * TUP_NOTHING: another operation on the row has committed the change already, or there is nothing
 * to say. `out_max` is at least TUP_ROW_WORDS_MAX.
 */
struct tup_change_pairs {
    uint32_t row;
    uint32_t hash;
    uint32_t words; /* Words written to `out`. */
};
enum tup_change_kind tup_change_pairs(struct tup *tup, uint32_t change, uint32_t *out,
                                      uint32_t out_max, struct tup_change_pairs *pairs);

/* More words than any change needs whose key and values have so many; see tup_change_pairs(). */
uint32_t tup_change_words_max(const struct tup_frag *frag, uint32_t key_words, uint32_t attr_words);

/* Asks the memory for a change record that is used a little later; the reference may be stale. */
void tup_prefetch_change(const struct tup *tup, uint32_t change);

uint32_t tup_changes_open(const struct tup *tup);
