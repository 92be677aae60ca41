/* tup_table_state.h -- private: tables, their fragments, and the way to a row of one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <string.h>
#include "blocks/dbtup/tup_frag.h"
#include "blocks/dbtup/tup_page_state.h"
#include "kernel/base/page_dir.h"
#include "kernel/base/pool.h"
#include "kernel/block.h"
#include "values/table_def.h"

struct tup;
struct tux_columns;
struct tux_index;

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

struct tup_table *tup_table_get(const struct tup *tup, uint32_t ref);

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
