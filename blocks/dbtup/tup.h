/* tup.h -- DBTUP: the rows of fragments and their changes. Plain calls inside one LDM instance
 * group. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbacc/acc.h"
#include "values/table_def.h"

/*
 * The neighbour's handle is block_neighbour(block, BLOCK_DBTUP), cast to struct tup *. Not
 * thread-safe, as acc.h.
 *
 * The life of a write in LQH:
 *
 *   row = acc_find(tup_frag_index(frag), hash, key, words)
 *   row == ROW_NONE   insert, write: tup_insert(), which also locks the new row. Else
 *                     ERR_ROW_NOT_FOUND.
 *   row found         acc_lock(exclusive), perhaps wait and start again; then tup_insert,
 *                     tup_update, tup_write, tup_delete.
 *   commit            tup_commit(change), then acc_unlock(lock) when the protocol allows it.
 *   abort             tup_abort(change), then acc_unlock(lock).
 *   operation failed  nothing has changed; the lock that LQH took for it is given back with
 *                     acc_unlock().
 */
struct tup;
struct tup_frag; /* Rows and index of one fragment. Handlers look it up by its reference and do not
                    keep the pointer. */

struct block *tup_create(struct thread *thread, uint32_t instance);

/* --- Tables and fragments. --- */

/* Makes the table's descriptor; `def` was checked and is not needed afterwards. *table is its
 * reference. 0 or ERR_TUP_TABLES. */
uint32_t tup_table_create(struct tup *tup, const struct table_def *def, uint32_t *table);

/* Adds an empty fragment with its indexes; *frag is its reference. Fragment ids are the caller's
 * business. 0, ERR_FRAGMENT_RECORDS_TUP, or ERR_INDEX_FRAGMENT_RECORDS. */
uint32_t tup_frag_create(struct tup *tup, uint32_t table, uint32_t fragment_id, uint32_t *frag);

/*
 * Gives back a bounded part of the table's memory (all fragments, then the descriptor); true when
 * nothing is left. The table has no open changes and no locks, and is not used between the steps.
 */
bool tup_table_drop_step(struct tup *tup, uint32_t table);

/* The fragment of a reference from tup_frag_create(). The pointer may be used until the handler
 * returns. */
struct tup_frag *tup_frag_get(struct tup *tup, uint32_t frag);

/* Its index, for acc_find() and acc_lock(). */
struct acc_frag *tup_frag_index(const struct tup_frag *frag);

/* --- Row ids: page << k | slot with k by table. The same on all replicas. --- */

uint32_t tup_row_page(const struct tup_frag *frag, uint32_t row);
uint32_t tup_row_slot(const struct tup_frag *frag, uint32_t row);
/* The row id of a place that comes from outside; ROW_NONE when the table can have no such row. */
uint32_t tup_row_id(const struct tup_frag *frag, uint32_t page, uint32_t slot);

/* --- Reading. --- */

/* Words that any row needs as pairs (ATTR_READ_ALL): what a caller's buffer should hold. */
#define TUP_ROW_WORDS_MAX 9216u

struct tup_read {
    struct tup_frag *frag;
    uint32_t row;      /* Row id from acc_find() or a scan, in this handler or under a lock. */
    uint32_t transid1; /* Transaction whose changes are seen; of others the committed version is. */
    uint32_t transid2;
    const uint32_t *attr; /* ATTRINFO of a read (attr.h); may be empty: no output, but
                             ERR_ROW_NOT_FOUND when there is no row. */
    uint32_t attr_words;
};

/*
 * Writes the columns asked for as pairs (attr.h, without the leading count). 0 and *words; or
 * ERR_ROW_NOT_FOUND (no row for this transaction), ERR_DATA_CORRUPT (malformed request, unknown
 * column), ERR_READS_TOO_MANY (more than out_max words or ATTR_READ_MAX columns).
 */
uint32_t tup_read(struct tup *tup, const struct tup_read *read, uint32_t *out, uint32_t out_max,
                  uint32_t *words);

/* Primary key of a row that tup_read() would find, as a KEY section. Returns its words, 0 if they
 * exceed out_max. */
uint32_t tup_read_key(struct tup *tup, const struct tup_read *read, uint32_t *out,
                      uint32_t out_max);

/* 0: nothing but the row's absence can make tup_read() of these columns fail. Or ERR_DATA_CORRUPT,
 * ERR_READS_TOO_MANY. */
uint32_t tup_read_check(const struct tup_frag *frag, const uint32_t *attr, uint32_t words);

/* --- Programs, see docs/protocols/program.md. --- */

/* May the program be run on rows of this fragment? Everything in it is checked; `stores`: it may
 * store. Errors as program_check(). */
uint32_t tup_program_check(const struct tup_frag *frag, const uint32_t *words, uint32_t count,
                           bool stores);

enum tup_program_end { TUP_PROGRAM_OK = 0, TUP_PROGRAM_STORED, TUP_PROGRAM_REFUSED };

struct tup_program {
    struct tup_frag *frag;
    uint32_t row; /* A row as in struct tup_read. */
    uint32_t transid1;
    uint32_t transid2;
    const uint32_t *words; /* Has passed tup_program_check(). */
    uint32_t *out;         /* Gets pairs of what it stores; with out_max 0 it must not store. */
    uint32_t out_max;
    uint32_t stored;          /* Result: words in `out`. */
    uint32_t steps;           /* Result: instructions that were executed. */
    enum tup_program_end end; /* Result: how it has ended. */
    uint32_t code;            /* Result, REFUSED: the error with which it refuses. */
};

/* Runs it on the version of the row that the transaction sees; changes nothing. 0; or
 * ERR_ROW_NOT_FOUND, ERR_TUP_TOO_MUCH_DATA, ERR_NULL_FOR_NOT_NULL_UPDATE, ERR_TUP_REQUEST_879
 * (it computes with NULL), ERR_INSTRUCTION_LIMIT, ERR_VALUE_OUT_OF_RANGE. */
uint32_t tup_program_run(struct tup *tup, struct tup_program *program);

/* GCI (high half) of the row's committed version; 0 when it has none. */
uint32_t tup_row_gci(struct tup *tup, const struct tup_frag *frag, uint32_t row);

/* The fragment's ordered index with this id in the definition; NULL if there is none that may be
 * scanned. */
struct tux_index;
struct tux_index *tup_frag_ordered(const struct tup_frag *frag, uint32_t id);

/* --- Columns that are added while the table is used: docs/protocols/online.md. --- */

/* Room for the last column of `def`, which has one more than the table and was checked; nobody can
 * name it yet. What an earlier call has made room for is replaced. 0 or ERR_TUP_TABLES. */
uint32_t tup_column_prepare(struct tup *tup, uint32_t table, const struct table_def *def);
/* The table has it, as its last one of so many. All rows that are there have NULL in it. */
void tup_column_online(struct tup *tup, uint32_t table, uint32_t column_count);

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
/* Rows that a build has to look at, nearly. */
uint64_t tup_frag_rows(const struct tup_frag *frag);

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

/* --- Scanning in row id order. --- */

/* Where a scan is; zeroed: at the start. Survives inserts, deletes and page reuse; rows added
 * behind it are missed. */
struct tup_scan_position {
    uint32_t page;
    uint32_t slot;
};

/*
 * Up to `max` row ids that exist for this transaction, from the position on, which moves behind
 * them. Looks at no more than about `budget` slots. Returns how many; *end is set when the
 * fragment's end is reached. Rows returned are being prefetched; read them in this handler, or lock
 * them and look again (tup_row_alive).
 */
uint32_t tup_scan_next(struct tup *tup, const struct tup_frag *frag,
                       struct tup_scan_position *position, uint32_t transid1, uint32_t transid2,
                       uint32_t *rows, uint32_t max, uint32_t budget, bool *end);

/* Does the same for counting: returns how many rows, without their ids. */
uint32_t tup_scan_count(struct tup *tup, const struct tup_frag *frag,
                        struct tup_scan_position *position, uint32_t transid1, uint32_t transid2,
                        uint32_t budget, bool *end);

/* Does a row id from earlier still name a row that this transaction sees? Any number is safe. */
bool tup_row_alive(struct tup *tup, const struct tup_frag *frag, uint32_t row, uint32_t transid1,
                   uint32_t transid2);

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

static inline bool tup_position_below(const struct tup_scan_position *a,
                                      const struct tup_scan_position *b)
{
    return a->page < b->page || (a->page == b->page && a->slot < b->slot);
}

/* --- Figures. --- */

struct tup_frag_figures {
    uint64_t rows;        /* Committed rows. */
    uint64_t commits;     /* Changes of rows that were committed since the fragment is here. */
    uint32_t fixed_pages; /* Pages of 32 KB with fixed parts. */
    uint32_t var_pages;   /* Pages of 32 KB with variable parts. */
    uint32_t index_pages; /* Pages of 32 KB of the hash index. */
    uint32_t row_bytes;   /* Bytes of a row's fixed part, with its head. */
    uint64_t var_bytes;   /* Bytes of variable parts. */
    uint64_t rows_max;    /* How many rows the row id can address. */
};
void tup_frag_figures_get(const struct tup_frag *frag, struct tup_frag_figures *figures);
uint32_t tup_changes_open(const struct tup *tup);

/*
 * Ask the memory for the variable part of a row that was in the index a moment ago: for the entry
 * that says where it stands, when the row itself has come (tup_prefetch()), then for the part, when
 * the entry has.
 */
void tup_prefetch_var_entry(const struct tup_frag *frag, uint32_t row);
void tup_prefetch_var(const struct tup_frag *frag, uint32_t row);

/* Asks the memory for a change record that is used a little later; the reference may be stale. */
void tup_prefetch_change(const struct tup *tup, uint32_t change);

/* --- Only for ACC. --- */

/* Does this row (committed or not) have that key? */
bool tup_key_equal(const struct tup_frag *frag, uint32_t row, const uint32_t *key,
                   uint32_t key_words);
/* The row's lock word: the reference of its first lock record, REF_NONE = not locked. */
uint32_t *tup_lock_word(const struct tup_frag *frag, uint32_t row);
void tup_prefetch(const struct tup_frag *frag, uint32_t row);

/* --- Only for TUX. --- */

/* The image of a row, or of the copy that a transaction is making of it. */
const uint8_t *tup_index_image(const struct tup_frag *frag, uint32_t row, bool copy);
/* A column's value in an image; NULL has size 0. */
const uint8_t *tup_index_value(const struct tup_frag *frag, const uint8_t *image, uint32_t column,
                               uint32_t *size);
