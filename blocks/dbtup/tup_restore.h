/* tup_restore.h -- DBTUP: rows into files and back, by row id: checkpoints and restoring. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "values/table_def.h"

struct tup;
struct tup_frag;

/* --- Restoring rows from files, by row id, while the fragment has no changes and no locks. --- */

struct tup_restore_req {
    struct tup_frag *frag;
    const struct table_def *key_def; /* Definition of the table; key_def_make() is enough. */
    uint32_t row;                    /* Row id; any number is safe. */
    uint32_t gci;                    /* GCI (high half) of the version. */
    const uint32_t *attr; /* Pairs, unchecked; for tup_restore_put() all columns in table order. */
    uint32_t attr_words;
    uint32_t hash; /* Hash of the key, if `hashed`. */
    bool hashed;   /* tup_restore_ahead() has set `hash`. */
};

/* tup_restore_put() of this row follows soon: asks the memory for its place in the index. */
void tup_restore_ahead(struct tup_restore_req *req);

/*
 * Each may be repeated. Errors, with nothing changed but that `put` may have removed a row with
 * another key from the place: ERR_NO_MEMORY_DATA, ERR_INDEX_MEMORY, ERR_INDEX_MEMORY_ORDERED,
 * ERR_HASH_MAXIMUM (no room); ERR_ROW_ID_TAKEN (the table can have no such row); what a malformed
 * or impossible value can give (ERR_DATA_CORRUPT, ERR_TUP_TOO_MUCH_DATA, ERR_NULL_FOR_NOT_NULL,
 * ERR_NULL_FOR_NOT_NULL_UPDATE, ERR_KEY_UPDATE, ERR_KEY_LENGTH, ERR_VALUE_*). put: the row is there
 * afterwards, as given, whatever was in its place. update: changes these columns if there is a row.
 * delete: there is no row afterwards. While restoring, two rows may have one key until the log has
 * been replayed.
 */
uint32_t tup_restore_put(struct tup *tup, const struct tup_restore_req *req);
uint32_t tup_restore_update(struct tup *tup, const struct tup_restore_req *req);
uint32_t tup_restore_delete(struct tup *tup, const struct tup_restore_req *req);

/* --- Checkpoints: the pages of rows that have changed, and their committed rows, in row id order:
 * all of a page, or those that have changed since the checkpoint before and the places of the
 * others. docs/protocols/checkpoint.md has the proof. --- */

/* What a checkpoint writes, `which` 0..7: changed pages, and all of every eighth page beginning
 * with that one. TUP_CHECKPOINT_ALL: all pages. */
#define TUP_CHECKPOINT_CLASSES 8u
#define TUP_CHECKPOINT_ALL     255u
#define TUP_KEPT_WORDS         64u /* Words of a bit per slot: no page has more slots. */

struct tup_checkpoint {
    uint32_t which;
    uint32_t pages; /* Pages with numbers below this existed at the beginning. */
    uint32_t since; /* Versions put into rows since the checkpoint before have no older GCI. */
    uint32_t next;  /* Number of the page that is looked at next. */
    uint32_t page;  /* Number of the page being read. */
    uint32_t slot;
    uint32_t looked;     /* Slots that the last call has looked at. */
    bool delta;          /* Only those rows of the page are written that have changed. */
    uint32_t kept_words; /* `delta`: words of `kept`. */
    /* `delta`, after the page's last row: a bit per slot whose row the files before have. */
    uint32_t kept[TUP_KEPT_WORDS];
};
enum tup_checkpoint_step { TUP_CHECKPOINT_PAGE = 1, TUP_CHECKPOINT_LATER, TUP_CHECKPOINT_END };
/*
 * A round of checkpoints begins: a restart from them repeats the log from here on, whichever
 * fragment is written when. Later all of them are usable; this is said for each fragment, before
 * the next round. Till then pages that have gone are kept for a restart from those before.
 */
void tup_checkpoint_round(struct tup *tup);
void tup_checkpoint_usable(struct tup_frag *frag);

void tup_checkpoint_begin(struct tup_frag *frag, struct tup_checkpoint *at, uint32_t which);

/*
 * Goes to the next page to be written (PAGE) and takes its mark away: what changes from now on
 * marks it again. A page that has become empty counts as well. LATER: bounded work is done, call
 * again.
 */
enum tup_checkpoint_step tup_checkpoint_page(struct tup *tup, struct tup_frag *frag,
                                             struct tup_checkpoint *at);

/*
 * The next committed row of that page as pairs, all columns in table order; of a delta page the
 * next one that has changed. 0 = no more. The page may change or go between the calls. `out_max` is
 * at least TUP_ROW_WORDS_MAX.
 */
struct tup_checkpoint_row {
    uint32_t slot;
    uint32_t gci;
    uint32_t damaged; /* 1: its checksum is wrong. */
};
uint32_t tup_checkpoint_row(struct tup *tup, const struct tup_frag *frag, struct tup_checkpoint *at,
                            uint32_t *out, uint32_t out_max, struct tup_checkpoint_row *found);

/*
 * For restoring: the kept slots of a delta page, `words` words of bits, become wanted, and
 * tup_restore_put() fills them. 0, ERR_NO_MEMORY_DATA, or ERR_ROW_ID_TAKEN: there are no such
 * slots, or they have rows.
 */
uint32_t tup_checkpoint_want(struct tup_frag *frag, uint32_t page, const uint32_t *bits,
                             uint32_t words);
bool tup_checkpoint_wants(const struct tup_frag *frag, uint32_t row); /* Any number is safe. */
/* Number of wanted slots of the page; with `bits`, of those with a bit. */
uint32_t tup_checkpoint_wanted(const struct tup_frag *frag, uint32_t page, const uint32_t *bits,
                               uint32_t words);
uint32_t tup_checkpoint_wanted_all(const struct tup_frag *frag);

/* The pages below `pages` are as the files have them. */
void tup_checkpoint_clear(struct tup_frag *frag, uint32_t pages);
/* Marks the page; *first: it was not marked. 0, ERR_NO_MEMORY_DATA (for its mark), or
 * ERR_ROW_ID_TAKEN: there can be no such page. */
uint32_t tup_checkpoint_cover(struct tup_frag *frag, uint32_t page, bool *first);

/* Newest GCI of all commits here, those that deleted rows included; 0 = none since the node
 * started. */
uint32_t tup_checkpoint_gci(const struct tup_frag *frag);
