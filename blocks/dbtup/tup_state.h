/* tup_state.h -- private: DBTUP's instance, tables, fragments, rows, changes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <string.h>
#include "blocks/dbtup/tup.h"
#include "blocks/dbtux/tux.h"
#include "kernel/base/page_dir.h"
#include "values/attr.h"

/* --- Memory of any size up to a page, by size class. --- */

#define HEAP_CLASSES 10u /* 64 bytes .. 32 KB, with the pool's record head. */

struct tup_heap {
    struct pool pool[HEAP_CLASSES];
};

void tup_heap_init(struct tup_heap *heap, struct arena *arena, enum resource_group group);
/* Zeroed memory of `size` bytes (at most PAGE_SIZE_BYTES - 8), or NULL; *ref gives it back or finds
 * it again. */
void *tup_heap_seize(struct tup_heap *heap, uint32_t size, uint32_t *ref);
void *tup_heap_get(const struct tup_heap *heap, uint32_t size, uint32_t ref);
void tup_heap_release(struct tup_heap *heap, uint32_t size, uint32_t ref);
uint32_t tup_heap_in_use(const struct tup_heap *heap);

/* --- Rows. --- */

/*
 * A row: this head, null bits, key columns, then the other fixed columns, largest alignment first,
 * without padding; then the reference of the variable part, which a table may need later. The
 * slot's size is a multiple of 8.
 *
 * A free slot has bits == 0 and the links of the page's free list in `gci`.
 */
struct tup_row {
    uint32_t lock; /* DBACC's: first lock record of the row. */
    uint32_t gci;  /* Epoch of the committed version; while ROW_CHANGED: reference of the change. */
    uint16_t bits; /* enum row_bits */
    uint16_t checksum; /* Checksum of the committed version. */
};
#define ROW_HEAD 12u
static_assert(sizeof(struct tup_row) == ROW_HEAD, "a row's head has no padding");

enum row_bits {
    ROW_USED = 1,
    ROW_CHANGED = 2,  /* A transaction has a change of this row. */
    ROW_INSERTED = 4, /* There is no committed version. */
    ROW_WANTED = 8,   /* Alone: while files are read, the place of a row of an older one. */
};

#define SLOT_END 0xFFFFu

struct fixed_page {
    uint32_t number;
    uint32_t used;       /* Slots in use. */
    uint32_t free_first; /* The first free slot, or SLOT_END. */
    uint32_t next;       /* List of pages with free slots: 1 + number, 0 = none. */
    uint32_t prev;
    uint32_t wanted; /* Slots with ROW_WANTED; they are in use. */
    uint32_t unused[10];
};
#define FIXED_PAGE_HEAD 64u
static_assert(sizeof(struct fixed_page) == FIXED_PAGE_HEAD, "slots begin on a cache line");

/* --- Variable parts. --- */

/*
 * Reference: page << 12 | entry, 0 = none (entries count from 1). A variable part is: for each
 * variable column up to the last one that is not NULL a 16-bit offset of its value, then the values
 * with their length prefixes; NULL takes nothing. The first offset says how many there are, so a
 * part does not change when the table gets more columns, which are NULL in it.
 */
#define VAR_ENTRY_BITS 12u
#define VAR_ENTRIES    ((1u << VAR_ENTRY_BITS) - 1u)
#define VAR_PAGES_MAX  (1u << (32u - VAR_ENTRY_BITS))
#define VAR_HOLES      7u
#define VAR_CLASSES    9u /* Pages with at least 64 << class free bytes. */
#define VAR_NO_CLASS   0xFFu

struct var_page {
    uint32_t number;
    uint32_t entries;    /* Directory entries, used or free; they grow down from the page's end. */
    uint32_t used;       /* Entries in use. */
    uint32_t free_entry; /* First free entry, 0 = none. */
    uint32_t gap;        /* Offset of the contiguous free space, which ends at the directory. */
    uint32_t free_bytes; /* All free space: the gap and the holes. */
    uint32_t next;       /* List of the class: 1 + number. */
    uint32_t prev;
    uint32_t class;
    uint32_t hole[VAR_HOLES]; /* Some of the holes: offset << 16 | size; 0 = none. */
};
#define VAR_PAGE_HEAD 64u
static_assert(sizeof(struct var_page) == VAR_PAGE_HEAD, "one cache line");

/* --- Tables. --- */

/* VAR: in the variable part; also columns of fixed size that were added. */
enum column_kind { COLUMN_KIND_4, COLUMN_KIND_8, COLUMN_KIND_FIXED, COLUMN_KIND_VAR };

struct tup_column {
    uint8_t kind;  /* enum column_kind */
    uint8_t plain; /* Any bytes of the right size are a value. */
    uint8_t bytewise;
    uint8_t nullable;
    uint16_t size;      /* Bytes of the value, or of the longest one (VAR). */
    uint16_t offset;    /* Place of the value from the row's start; not VAR. */
    uint16_t null_byte; /* Place of its null bit from the row's start. */
    uint8_t null_mask;  /* 0: it has no null bit; an added one is NULL when it takes nothing. */
    uint8_t in_key;
    uint16_t var_index;
    uint8_t integer; /* 1: an integer type. */
    uint8_t sign;    /* 1: an integer type with negative numbers. */
    struct column_format format;
};

#define SEEN_WORDS (TABLE_COLUMNS_MAX / 64u)

struct tup_unique {
    uint32_t table_id; /* Table of the index. */
    uint32_t fires;    /* enum tup_unique_fires */
    uint16_t count;
    uint16_t column[INDEX_COLUMNS_MAX];
};

struct tup_table {
    struct pool_record record;
    uint32_t table_id;
    uint32_t column_count;
    /* Layout. */
    uint32_t data_size; /* Bytes of a slot that are used. */
    uint32_t row_size;  /* Bytes of a slot. */
    uint32_t slots;     /* Slots of a page. */
    uint32_t slot_bits;
    uint32_t pages_max;
    uint32_t null_bytes;
    uint32_t var_offset; /* Place of the variable part's reference from the row's start. */
    uint32_t var_count;  /* Number of variable columns. */
    uint32_t checksum;   /* 1: rows carry a checksum. */
    /* Keys. */
    uint32_t key_count;
    uint32_t key_fixed;  /* 1: all key columns are fixed and compare by bytes. */
    uint32_t key_single; /* key_fixed with only one key column: its bytes; else 0. */
    uint16_t key_columns[TABLE_KEY_COLUMNS_MAX];
    /* Columns and defaults, each in one piece of `descriptors`. */
    struct tup_column *columns; /* Perhaps one more than column_count, which is to be added. */
    uint8_t *default_row;       /* A new row before its columns are set. */
    uint8_t *default_var;       /* Variable part of such a row; NULL when no default is variable. */
    uint32_t default_var_size;
    uint32_t columns_size;
    uint32_t columns_ref;
    uint32_t defaults_size;
    uint32_t defaults_ref;
    uint64_t required[SEEN_WORDS];  /* Columns that an insert must name. */
    uint64_t defaulted[SEEN_WORDS]; /* Columns whose default is not NULL. */
    uint32_t frag;                  /* First fragment, linked by tup_frag.next. */
    uint64_t indexed[SEEN_WORDS];   /* Columns that stand in an ordered index. */
    struct tup_index *index;        /* The first of its ordered indexes. */
    /* Columns of its unique indexes, whose entries are TC's. */
    struct tup_unique *uniques;
    uint32_t unique_count;
    uint32_t uniques_room; /* Number of unique indexes that `uniques` has room for. */
    uint32_t uniques_ref;
};

/* What is known of an ordered index; its struct tux_columns stand behind it. */
struct tup_index {
    struct tup_index *next;
    uint32_t id;    /* Id of the index in the definition. */
    uint32_t state; /* enum tup_index_state */
    uint32_t ref;   /* Reference of this in `descriptors`. */
    uint32_t size;  /* Bytes of this, with its struct tux_columns. */
};

static inline struct tux_columns *tup_index_columns(const struct tup_index *index)
{
    return (struct tux_columns *)(void *)(uintptr_t)(index + 1);
}

/* Marks of pages that have changed since a checkpoint: a bit per page number. */
#define MARKS_INLINE 128u /* Marks in the fragment itself: 4 MB of rows. */
/* Marks in a page; such pages are made when they are first needed. */
#define MARKS_PER_PAGE (PAGE_SIZE_BYTES * 8u)
#define MARK_PAGES     (PAGE_DIR_MAX / MARKS_PER_PAGE)

/*
 * What a restart needs for the rows, in pages. It reads what the last usable checkpoint has and
 * then repeats the log, so it comes by all that was there since that checkpoint began; and it packs
 * variable parts in another order.
 */
struct tup_need {
    uint32_t fixed;      /* Most pages of rows since the last usable round of checkpoints began. */
    uint32_t var;        /* Most pages of variable parts since then, packed as badly as can be. */
    uint32_t fixed_next; /* Most pages of rows since round `round` began. */
    uint32_t var_next;   /* Most pages of variable parts since then, packed as badly as can be. */
    uint32_t fixed_seen; /* Pages of rows at the last look. */
    uint32_t var_seen;   /* Pages of variable parts at the last look, packed as badly as can be. */
    uint32_t round;      /* The round since which fixed_next and var_next count. */
    uint64_t var_loose;  /* Bytes of all variable parts, packed as badly as can be. */
    uint32_t owed[ARENA_OWED_KINDS]; /* Pages that the arena was last told are owed. */
};

struct tup_frag {
    struct pool_record record;
    struct tup *tup;
    struct tup_table *table;   /* Lives longer than this. */
    struct acc_frag *index;    /* Lives exactly as long as this. */
    struct tux_index *ordered; /* Chain of its ordered indexes; NULL without any. */
    struct tux_index *going; /* An index that is being dropped, and has left the chain; or NULL. */
    uint32_t fragment_id;
    uint32_t next; /* The table's next fragment. */
    struct page_dir fixed;
    uint32_t free_page; /* First page with free slots: 1 + number. */
    struct page_dir var;
    uint32_t var_list[VAR_CLASSES]; /* First page of each class: 1 + number, 0 = none. */
    uint64_t var_bytes;             /* Bytes of variable parts. */
    uint64_t rows;                  /* Committed rows. */
    uint64_t commits;    /* Changes of rows that were committed since the fragment is here. */
    uint32_t changes;    /* Open changes. */
    uint32_t dropping;   /* 1: it is dropped in steps; rows and index do not agree any more. */
    uint32_t index_gone; /* `dropping`: the index has been dropped. */
    uint32_t gci_newest; /* Newest GCI of what was committed or copied to here; 0: none was. */
    uint32_t gci_low;    /* Oldest GCI of versions put into rows since a checkpoint began. */
    uint32_t wanted;     /* Slots of all pages with ROW_WANTED. */
    struct tup_need need;
    uint64_t marks_inline[MARKS_INLINE / 64u];
    uint64_t *marks[MARK_PAGES];
};

/* --- Changes. --- */

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

struct tup {
    struct block block;
    struct arena *arena;
    struct acc *acc;
    struct tux *tux; /* NULL: no table can have an ordered index. */
    struct pool tables;
    struct pool frags;
    struct pool changes;
    struct tup_heap copies;      /* Copies of rows that are too large for the change record. */
    struct tup_heap descriptors; /* Columns, defaults and indexes of tables. */
    bool checkpoints;            /* Changed pages are marked. */
    uint32_t round;              /* Counts the rounds of checkpoints that have begun. */
    uint8_t *scratch;            /* A page for compaction. */
    struct tup_attr attr;        /* ATTRINFO of the request being executed. */
};

struct tup_limits {
    uint32_t tables_max;
    uint32_t frags_max;
    uint32_t changes_max;
    bool checkpoints;
};

/* Prepares everything but the block's head; also for tests. False without memory. */
bool tup_init(struct tup *tup, struct arena *arena, struct acc *acc,
              const struct tup_limits *limits);
void tup_check(struct block *block);

/* --- tup_fixed.c: slots. --- */

/* Takes a free slot, or exactly `wanted`; its bits are 0, its lock word is REF_NONE. 0,
 * ERR_NO_MEMORY_DATA, ERR_FIXED_REFERENCE_MAX, ERR_ROW_ID_TAKEN. */
uint32_t tup_slot_take(struct tup_frag *frag, uint32_t wanted, uint32_t *row);
void tup_slot_free(struct tup_frag *frag, uint32_t row);
/* Takes a free slot for a row that an older file has. 0, ERR_NO_MEMORY_DATA, ERR_ROW_ID_TAKEN. */
uint32_t tup_slot_want(struct tup_frag *frag, uint32_t row);
/* The slot is wanted: it is not any more, and the caller's. Any number is safe. */
bool tup_slot_unwant(struct tup_frag *frag, uint32_t row);
void tup_fixed_check(const struct tup_frag *frag);

/* --- tup_checkpoint.c: marks of changed pages. --- */

bool tup_marks_reserve(
    struct tup_frag *frag,
    uint32_t number); /* Makes room for the mark of a new page; false without memory. */
void tup_marks_drop(struct tup_frag *frag);

/* --- tup_need.c: what a restart needs and is not in use. --- */

/* Called before a page is asked for: what is owed of this kind may be it. */
void tup_need_fixed_ahead(struct tup_frag *frag);
void tup_need_var_ahead(struct tup_frag *frag);
/* Called after each page that came, went, or was refused, and each variable part. */
void tup_need_tell(struct tup_frag *frag);
/* The bytes that a variable part counts for. */
uint32_t tup_need_loose(uint32_t size);
/* The fragment goes. */
void tup_need_drop(struct tup_frag *frag);
void tup_need_check(const struct tup_frag *frag);

/* --- tup_var.c: variable parts. --- */

/* The reference of a new part; 0: there is no memory. Other variable parts of the page may move. */
uint32_t tup_var_seize(struct tup_frag *frag, uint32_t size);
void tup_var_release(struct tup_frag *frag, uint32_t ref);
uint8_t *tup_var_get(const struct tup_frag *frag, uint32_t ref, uint32_t *size);
void tup_var_check(const struct tup_frag *frag);

struct tup_table *tup_table_get(const struct tup *tup, uint32_t ref);

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

/* --- tup_restore.c, for tup_copy.c too. --- */

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

/* --- Shared. --- */

uint16_t tup_checksum(const struct tup_frag *frag, const struct tup_row *row);
/* The version of the row that a transaction sees, or NULL. */
const uint8_t *tup_version(const struct tup *tup, const struct tup_frag *frag,
                           const struct tup_row *row, uint32_t transid1, uint32_t transid2);
uint8_t *tup_copy_of(const struct tup *tup, const struct tup_table *table,
                     const struct tup_change *change);

static inline struct tup_row *slot_at(const struct tup_table *table, void *page, uint32_t slot)
{
    return (struct tup_row *)(void *)((uint8_t *)page + FIXED_PAGE_HEAD +
                                      (size_t)slot * table->row_size);
}

/* A row that is known to be there. */
static inline struct tup_row *row_at(const struct tup_frag *frag, uint32_t row)
{
    const struct tup_table *table = frag->table;
    return slot_at(table, page_dir_at(&frag->fixed, row >> table->slot_bits),
                   row & ((1u << table->slot_bits) - 1u));
}

/* The word with the mark of a page; NULL when it has no room, then nobody wants marks. */
static inline uint64_t *tup_marks_of(struct tup_frag *frag, uint32_t number)
{
    if (number < MARKS_INLINE) return &frag->marks_inline[number / 64u];
    uint64_t *page = frag->marks[number / MARKS_PER_PAGE];
    return page == NULL ? NULL : &page[number % MARKS_PER_PAGE / 64u];
}

/* The committed rows of this page have changed. */
static inline void tup_mark_page(struct tup_frag *frag, uint32_t number)
{
    uint64_t *word = tup_marks_of(frag, number);
    if (word != NULL) *word |= 1ull << (number & 63u);
}

static inline void tup_mark_row(struct tup_frag *frag, uint32_t row)
{
    tup_mark_page(frag, row >> frag->table->slot_bits);
}

static inline uint32_t image_var(const struct tup_table *table, const uint8_t *image)
{
    uint32_t ref;
    memcpy(&ref, image + table->var_offset, sizeof ref);
    return ref;
}

static inline void image_var_set(const struct tup_table *table, uint8_t *image, uint32_t ref)
{
    memcpy(image + table->var_offset, &ref, sizeof ref);
}

static inline struct tup_change *change_get(const struct tup *tup, uint32_t ref)
{
    struct tup_change *change = pool_find(&tup->changes, ref);
    ndbrequire(change != NULL);
    return change;
}
