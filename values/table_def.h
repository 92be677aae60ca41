/* table_def.h -- a table: its columns, keys and partitioning; its wire form and its checks. */
/* SPDX-License-Identifier: MIT */
/*
 * One block of memory holds a definition: this struct, its columns, and a heap with names,
 * default values and indexes, linked by offsets. It has no pointers, so it can be copied with
 * memcpy (table_def_bytes() of it), kept in pages or on disk, and needs no malloc. The memory
 * belongs to the caller and must be aligned to 8 bytes. Nothing here is thread safe for writers; a
 * checked definition is only read and may be shared.
 *
 * Life: table_def_init + table_def_set_name + table_def_add_column... + table_def_check (parser,
 * client), or table_def_decode (everyone who receives one; checks by itself).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "values/column_type.h"

enum table_limits {
    TABLE_COLUMNS_MAX = 512,
    TABLE_KEY_COLUMNS_MAX = 32,
    TABLE_KEY_BYTES_MAX = 4092,  /* sum of the longest values of the key columns */
    TABLE_ROW_BYTES_MAX = 30000, /* sum of the longest values, + null bits in whole words */
    TABLE_NAME_MAX = 128,        /* bytes of "database/def/table" together */
    COLUMN_NAME_MAX = 128,       /* bytes */
    TABLE_FRAGMENTS_MAX = 8160,
    TABLE_INDEXES_MAX = 32, /* ordered indexes */
    TABLE_UNIQUE_MAX = 32,  /* unique indexes */
    INDEX_COLUMNS_MAX = 32, /* their longest values together: TABLE_KEY_BYTES_MAX; of all unique
                               indexes of a table: TABLE_ROW_BYTES_MAX */
    /* Words of the KEY sections of all unique indexes of a row: TABLE_ROW_BYTES_MAX and padding. */
    TABLE_UNIQUE_WORDS_MAX = TABLE_ROW_BYTES_MAX / 4 + TABLE_UNIQUE_MAX * INDEX_COLUMNS_MAX,
    INDEX_NAME_MAX = 128,  /* bytes */
    UNIQUE_NAME_MAX = 100, /* bytes; the name of a unique index is a part of that of its table */
    TABLE_INDEX_HEAP_MAX = 16 + 2 * INDEX_COLUMNS_MAX + INDEX_NAME_MAX + 1,
    TABLE_HEAP_MAX = TABLE_COLUMNS_MAX * (COLUMN_NAME_MAX + 1) + TABLE_ROW_BYTES_MAX +
                     (TABLE_INDEXES_MAX + TABLE_UNIQUE_MAX) * TABLE_INDEX_HEAP_MAX
};

/* How many fragments the table gets when fragment_count is 0. Numbers are the field's. */
enum table_balance {
    TABLE_BALANCE_SPECIFIC = -1, /* fragment_count says it */
    TABLE_BALANCE_FOR_RP_BY_LDM = -2,
    TABLE_BALANCE_FOR_RA_BY_LDM = -3,
    TABLE_BALANCE_FOR_RP_BY_NODE = -4,
    TABLE_BALANCE_FOR_RA_BY_NODE = -5,
    TABLE_BALANCE_FOR_RA_BY_LDM_X_2 = -6,
    TABLE_BALANCE_FOR_RA_BY_LDM_X_3 = -7,
    TABLE_BALANCE_FOR_RA_BY_LDM_X_4 = -8
};

enum table_flags {
    TABLE_READ_BACKUP = 1u << 0,      /* committed reads may go to any replica */
    TABLE_FULLY_REPLICATED = 1u << 1, /* every node group has all rows */
    TABLE_ROW_CHECKSUM = 1u << 2,     /* rows carry a checksum */
    TABLE_ROW_GCI = 1u << 3,          /* rows carry their commit epoch */
    TABLE_NO_LOGGING = 1u << 4,       /* schema survives a cluster restart, rows do not */
    TABLE_FLAGS_DEFAULT = TABLE_READ_BACKUP | TABLE_ROW_CHECKSUM | TABLE_ROW_GCI,
    TABLE_FLAGS_ALL = (1u << 5) - 1
};

enum column_flags {
    COLUMN_NULLABLE = 1u << 0,
    COLUMN_PRIMARY_KEY = 1u << 1,
    COLUMN_PARTITION_KEY = 1u << 2, /* only on primary key columns; none at all = all key columns */
    COLUMN_HAS_DEFAULT = 1u << 3,   /* a default that is not NULL */
    COLUMN_AUTO_INCREMENT = 1u << 4, /* an integer column, for numbers that clients take */
    COLUMN_ADDED = 1u << 5,          /* later than the table, behind all others: rows that are older
                                        have nothing of it. Nullable, without a default. */
    COLUMN_FLAGS_ALL = (1u << 6) - 1
};

enum { COLUMN_NOT_IN_KEY = 0xFFFF };

struct table_column {
    struct column_format format;
    uint32_t flags;          /* enum column_flags */
    uint32_t name_offset;    /* place in the heap */
    uint32_t default_offset; /* place in the heap */
    uint16_t name_size;
    uint16_t default_size; /* stored form, 0 without COLUMN_HAS_DEFAULT */
    /* From here on filled in by table_def_check. */
    uint16_t id;         /* position in the table = attribute id */
    uint16_t key_index;  /* position in the primary key, or COLUMN_NOT_IN_KEY */
    uint16_t null_index; /* which null bit; meaningful when nullable */
    uint16_t array;      /* enum column_array */
    uint32_t size_max;   /* bytes of the longest stored value, with length prefix */
};

struct table_def {
    uint32_t table_id;
    uint32_t version;
    uint32_t flags;          /* enum table_flags */
    int32_t balance;         /* enum table_balance */
    uint32_t fragment_count; /* 0: to be decided from balance when the table is created */
    uint32_t column_count;
    uint64_t max_rows; /* a hint, 0 = none */
    /* Storage of this struct. */
    uint32_t column_capacity;
    uint32_t heap_size;
    uint32_t heap_used;
    uint32_t index_count; /* ordered indexes */
    uint32_t index_first; /* heap; index_count says whether there is one */
    uint32_t index_last;
    uint32_t unique_count; /* unique indexes, the same way */
    uint32_t unique_first;
    uint32_t unique_last;
    uint32_t base_id; /* the table whose unique index this table is; 0 = an ordinary table */
    uint32_t base_version;
    uint32_t unused;
    uint16_t database_size;
    uint16_t table_size;
    char database[TABLE_NAME_MAX + 4]; /* NUL terminated */
    char table[TABLE_NAME_MAX + 4];    /* NUL terminated */
    /* Derived, filled in by table_def_check. */
    uint16_t key_columns[TABLE_KEY_COLUMNS_MAX]; /* ids of the primary key columns, table order */
    uint16_t key_count;
    uint16_t partition_key_count; /* columns that choose the partition; = key_count if none named */
    uint32_t key_size_max;        /* bytes: sum over key columns */
    uint32_t row_size_max;        /* bytes: all columns + null bits in words */
    uint32_t fixed_size;          /* bytes: sum over fixed columns */
    uint16_t var_count;           /* columns with a length prefix */
    uint16_t null_count;          /* nullable columns = null bits */
    struct table_column columns[]; /* column_capacity of them, then heap_size bytes of heap */
};

/* Bytes of memory for a definition with room for that many columns and heap bytes (per column
   name + 1, + default values). */
size_t table_def_size(uint32_t column_capacity, uint32_t heap_size);
/* Enough for every definition: what a parser allocates. */
size_t table_def_size_max(void);
/* Bytes that this definition occupies, for memcpy. */
size_t table_def_bytes(const struct table_def *def);

/* Makes an empty definition with default flags in `memory`. NULL if it is too small. */
struct table_def *table_def_init(void *memory, size_t memory_size, uint32_t column_capacity);

/* 0 or ERR_TABLE_NAME_TOO_LONG (also for an empty name). */
uint32_t table_def_set_name(struct table_def *def, const char *database, uint32_t database_size,
                            const char *table, uint32_t table_size);

struct table_column_options {
    const char *name; /* name_size bytes, copied */
    uint32_t name_size;
    struct column_format format;
    uint32_t flags;            /* COLUMN_HAS_DEFAULT is set by default_value != NULL */
    const void *default_value; /* stored form, copied */
    uint32_t default_size;
};

/* 0, ERR_COLUMN_NAME_TOO_LONG, ERR_TOO_MANY_COLUMNS or ERR_DEFINITION_TOO_BIG (heap full). */
uint32_t table_def_add_column(struct table_def *def, const struct table_column_options *options);

/* The column's words in the wire form. Returns their count, 0 if there is no room. */
uint32_t table_column_encode(const struct table_def *def, const struct table_column *column,
                             uint32_t *words, uint32_t words_max);
/* As table_def_add_column, from such words of an untrusted source; else ERR_TABLE_FORMAT. */
uint32_t table_def_append_column(struct table_def *def, const uint32_t *words, uint32_t word_count);
/* Makes columns that were added like those from the beginning, for a table without rows. The
 * definition has to be checked again. */
void table_def_settle(struct table_def *def);

/* 0, ERR_NO_SUCH_COLUMN, ERR_COLUMN_NAME_TOO_LONG or ERR_DEFINITION_TOO_BIG (heap full). Whether
   the name can be, table_def_check finds. */
uint32_t table_def_rename_column(struct table_def *def, uint32_t id, const char *name,
                                 uint32_t name_size);

/* Checks everything that can be wrong with a definition and fills in the derived fields.
   0 or the first error found. */
uint32_t table_def_check(struct table_def *def);

/* As table_def_check; *column is the id of the offending column, or UINT32_MAX. */
uint32_t table_def_check_detail(struct table_def *def, uint32_t *column);

const char *table_column_name(const struct table_def *def, const struct table_column *column);
/* The default value in stored form, or NULL; *size its bytes. */
const void *table_column_default(const struct table_def *def, const struct table_column *column,
                                 uint32_t *size);
/* The column with this name (case of ASCII letters ignored), or NULL. */
const struct table_column *table_def_find(const struct table_def *def, const char *name,
                                          uint32_t name_size);
/* True if the column takes part in choosing the partition. */
bool table_column_partitions(const struct table_def *def, const struct table_column *column);
/* Writes "database/def/table" and a NUL; out has at least TABLE_NAME_MAX + 1 bytes. */
void table_def_internal_name(const struct table_def *def, char *out, uint32_t out_size);
/* "FOR_RP_BY_LDM", ... or NULL. */
const char *table_balance_name(int32_t balance);
/* false if the name is none. */
bool table_balance_find(const char *name, uint32_t name_size, int32_t *balance);

/* Words that table_def_encode needs. */
uint32_t table_def_words(const struct table_def *def);
/* Writes the wire form. Returns the words written, 0 if there is no room. */
uint32_t table_def_encode(const struct table_def *def, uint32_t *words, uint32_t words_max);

/* Bytes of memory that table_def_decode needs for these words, 0 if they are malformed. */
size_t table_def_decode_size(const uint32_t *words, uint32_t word_count);
/* As table_def_decode below, with all of `memory` and the columns that fit as room for additions:
   table_def_size_max() is enough for every one. */
uint32_t table_def_decode_roomy(const uint32_t *words, uint32_t word_count, void *memory,
                                size_t memory_size, struct table_def **def);
/* Reads the wire form from an untrusted source and checks it. 0 and *def (in `memory`), or:
   ERR_TABLE_FORMAT for bad words, ERR_BUFFER_SMALL for too little memory, else as table_def_check.
   Every accepted sequence of words is exactly what table_def_encode gives back. */
uint32_t table_def_decode(const uint32_t *words, uint32_t word_count, void *memory,
                          size_t memory_size, struct table_def **def);
