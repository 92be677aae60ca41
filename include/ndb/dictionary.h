/* dictionary.h -- the C client API: tables, columns, indexes and fragments. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/connection.h"

#ifdef __cplusplus
/* ndb_error and ndb_statistics are functions and structs, as C allows. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#endif

/* ---- Dictionary ---- */

/* Numbers are those of the dictionary. */
enum ndb_column_type {
    NDB_TINYINT = 1,
    NDB_TINYUNSIGNED = 2,
    NDB_SMALLINT = 3,
    NDB_SMALLUNSIGNED = 4,
    NDB_MEDIUMINT = 5,
    NDB_MEDIUMUNSIGNED = 6,
    NDB_INT = 7,
    NDB_UNSIGNED = 8,
    NDB_BIGINT = 9,
    NDB_BIGUNSIGNED = 10,
    NDB_FLOAT = 11,
    NDB_DOUBLE = 12,
    NDB_CHAR = 14,
    NDB_VARCHAR = 15,
    NDB_BINARY = 16,
    NDB_VARBINARY = 17,
    NDB_DATETIME = 18,
    NDB_DATE = 19,
    NDB_BIT = 22,
    NDB_LONGVARCHAR = 23,
    NDB_LONGVARBINARY = 24,
    NDB_TIME = 25,
    NDB_YEAR = 26,
    NDB_TIMESTAMP = 27,
    NDB_DECIMAL = 29,
    NDB_DECIMALUNSIGNED = 30,
    NDB_TIME2 = 31,
    NDB_DATETIME2 = 32,
    NDB_TIMESTAMP2 = 33
};

struct ndb_column_info {
    const char *name; /* Lives as long as the table object. */
    uint32_t id;
    enum ndb_column_type type;
    const char *collation; /* "utf8mb4_bin", ...; "" when the type has none. */
    uint32_t length;       /* Char and binary types: bytes; bit: bits; others 1. */
    uint32_t precision,
        scale; /* Decimals; precision of time2, datetime2, timestamp2: fraction digits. */
    uint32_t prefix_bytes; /* 0 fixed size; 1 or 2 length bytes before the content. */
    uint32_t size;         /* Bytes of the longest stored value, prefix included. */
    bool nullable, primary_key, partition_key;
    bool auto_increment;       /* For numbers of ndb_auto_increment(), by the table's definition. */
    const void *default_value; /* Stored form, or NULL. */
    uint32_t default_size;
    bool dynamic; /* Added to the table later: in the rows' variable part whatever its type. */
};

struct ndb_table_info {
    const char *database, *name; /* Live as long as the table object. */
    uint32_t table_id, version;
    uint32_t columns, key_columns;
    uint32_t fragments, replicas, hash_map_buckets;
    uint32_t row_size_max; /* Bytes of the longest row. */
    const char *balance;   /* "FOR_RP_BY_LDM", ... */
    bool read_backup, fully_replicated, logging, row_gci, row_checksum;
    uint64_t max_rows;
    uint32_t indexes;        /* Ordered indexes. */
    uint32_t unique_indexes; /* Unique indexes, with numbers of their own. */
    /* As many as fragments; fewer of a fully replicated table in several node groups: there
       fragment f is the partition f, or (from number `partitions` on) a copy of partition f %
       partitions. */
    uint32_t partitions;
    /* Part of the version that stays when columns and indexes come or names change. The same
     * table_id with another one is another table: it was truncated, or dropped and made anew. */
    uint32_t version_major;
};

#define NDB_INDEX_COLUMNS_MAX 32
/* An ordered or a unique index. */
struct ndb_index_info {
    const char *name; /* Lives as long as the table object. */
    uint32_t number;  /* Number of the index, from 0, in the order of the definition. */
    uint32_t columns;
    uint32_t column[NDB_INDEX_COLUMNS_MAX]; /* Column ids, most significant first. */
    uint32_t table_id; /* Id of the hidden table that a unique index is; else 0. */
    /* Version of that hidden table; of an ordered index, which has none, its table's. */
    uint32_t version;
};

/*
 * The table by name: "table", "database/table" or "database/def/table". From the connection's
 * cache, or from the cluster. Release each one. Errors: 723 no such table. Own thread of `ndb`.
 */
NDB_API struct ndb_table *ndb_table_open(ndb_t *ndb, const char *name, uint32_t timeout_ms);
/* Any thread. Records keep their table alive by themselves. */
NDB_API void ndb_table_release(struct ndb_table *table);
/* Drops the cached definition, so that the next ndb_table_open reads it again. Own thread. */
NDB_API void ndb_table_invalidate(ndb_t *ndb, const char *name);

/* Where in a statement an error is: what cannot be read, or the name that is taken, too long or not
   there. */
struct ndb_sql_error {
    uint32_t line, column; /* Position, from 1; 0 = none. */
    char message[256];     /* "at 'WORD'", and what the error's text does not say; without the
                              position, which the error's detail begins with. */
};
/* Executes one CREATE TABLE statement. A table name without database gets the ndb_t's. `where` may
   be NULL; else it tells what is wrong with the statement. With AUTO_INCREMENT = n numbers begin at
   n, as by ndb_auto_increment_set() when the table is there; if that fails, the error's detail says
   that the table is made. Errors: 721 exists already, 4xxx wrong definition. Own thread. */
NDB_API int ndb_table_create(ndb_t *ndb, const char *sql, struct ndb_sql_error *where,
                             uint32_t timeout_ms);
/* How far a long change has come: rows of how many, at most twice a second. The rules for
 * ndb_callback hold: nothing that waits is called in it (4507). */
struct ndb_progress {
    void (*tell)(void *context, uint64_t rows, uint64_t total);
    void *context;
};
/*
 * Executes one statement that makes an index of a table, which may be in use meanwhile:
 *   CREATE INDEX i ON t (a, b): an ordered one
 *   CREATE UNIQUE INDEX i ON t (a, b): a unique one, as UNIQUE in CREATE TABLE makes it
 *
 * All data nodes have the index then, or nothing is left of it. The timeout is counted from the
 * last sign of progress: `progress` hears how many of the rows have been gone through. It and
 * `where` may be NULL. Tables that are open do not know the index; ndb_table_open() gives one that
 * does.
 *
 * A row with a NULL in one of its columns has no entry in a unique index. When two others have the
 * same key it is not made (893). While it is being made, rows are read and changed as ever, but
 * keys are unique already: who would give a row a key that has an entry gets 893, perhaps without
 * the index's name in `detail`, also if the index is not made in the end. It takes memory and a
 * number like a table (MaxNoOfTables).
 *
 * Errors: 893 two rows with one key, 4244 there is an index of this name, ordered or unique (with
 * IF NOT EXISTS that is none), 902 no memory, 707 no table number, 723 no such table, 4xxx wrong
 * definition. Not now, try again: 701 another change of a table is under way, 711 a data node comes
 * back, 283 the table is being dropped or truncated. Own thread.
 */
NDB_API int ndb_index_create(ndb_t *ndb, const char *sql, struct ndb_sql_error *where,
                             const struct ndb_progress *progress, uint32_t timeout_ms);
/* An ordered or a unique index; the table may be in use meanwhile. Scans of an ordered one end with
   910, the index is being dropped. Who looks for a row by a unique one gets 283, it is being
   dropped, later 1232 or 241, it is gone; a transaction that has found one by it is waited for, but
   aborted (283) when it does nothing for TransactionDeadlockDetectionTimeout. Errors: 723 no table,
   4243 no index. Own thread. */
NDB_API int ndb_index_drop(ndb_t *ndb, const char *table, const char *index, uint32_t timeout_ms);
/*
 * Executes one statement that changes a table which may be in use:
 *   ALTER TABLE t RENAME [TO] u, RENAME TABLE t TO u; in another database too: RENAME TO db.u
 *   ALTER TABLE t RENAME COLUMN a TO b
 *   ALTER TABLE t ADD [COLUMN] c INT: as the last one, NULL in all rows that are there, at once;
 *     it can be NULL, and has no default and no key
 *   TRUNCATE TABLE t: all rows go at once, an empty table takes its place; what was committed
 *     before, by whomever, is durable then
 *
 * All of it is done on all data nodes or nothing. Whoever has a table open that is renamed, or gets
 * a column, goes on as before; ndb_table_open() knows what is new. Who has one open that is
 * truncated gets 283, 284 or 241, the table is being dropped, unknown or another one, and opens it
 * again. Errors: 723 no such table, 721 the name is taken, 4004 no such column, 720 the column's
 * name is taken, 741 a column that cannot be added; 241 others have changed the table again and
 * again meanwhile: try again. Own thread.
 */
NDB_API int ndb_table_alter(ndb_t *ndb, const char *sql, struct ndb_sql_error *where,
                            uint32_t timeout_ms);
/* Where the first statement of `sql` ends: behind its semicolon (quotes and comments are seen), or
   at the end of the text. NULL when only blanks and comments are left. For programs that read files
   of statements. Any thread. */
NDB_API const char *ndb_sql_statement_end(const char *sql);
/* Drops the table with its rows. Everything that was committed before, by whomever, is durable when
   it is gone: rows may be copied elsewhere before. Own thread. */
NDB_API int ndb_table_drop(ndb_t *ndb, const char *name, uint32_t timeout_ms);

struct ndb_table_entry {
    uint32_t table_id, version, fragments;
    uint32_t state; /* 4 = online. */
    char name[132]; /* "database/def/table" */
};
/* All tables in id order; *entries is one block for ndb_list_free. Own thread. */
NDB_API int ndb_table_list(ndb_t *ndb, struct ndb_table_entry **entries, uint32_t *count,
                           uint32_t timeout_ms);
NDB_API void ndb_list_free(struct ndb_table_entry *entries);

/* Any thread. */
NDB_API void ndb_table_describe(const struct ndb_table *table, struct ndb_table_info *info);
/* -1 when there is no such column. Any thread. */
NDB_API int ndb_table_column(const struct ndb_table *table, uint32_t id,
                             struct ndb_column_info *info);
/* The column's id by name (ASCII case ignored), or -1. Any thread. */
NDB_API int ndb_table_find_column(const struct ndb_table *table, const char *name);
/* Index number 0 .. ndb_table_info.indexes-1; -1 when there is no such one. Any thread. */
NDB_API int ndb_table_index(const struct ndb_table *table, uint32_t number,
                            struct ndb_index_info *info);
/* The index's number by name (ASCII case ignored), or -1. Any thread. */
NDB_API int ndb_table_find_index(const struct ndb_table *table, const char *name);
/* The same of unique indexes, number 0 .. ndb_table_info.unique_indexes-1. Any thread. */
NDB_API int ndb_table_unique(const struct ndb_table *table, uint32_t number,
                             struct ndb_index_info *info);
NDB_API int ndb_table_find_unique(const struct ndb_table *table, const char *name);

/* ---- Which index fits a condition ---- */

/* The columns of conditions that are joined by AND. Others do not matter here. */
struct ndb_condition_columns {
    const uint32_t *equal; /* Ids of columns that are equal to a value. */
    uint32_t equal_count;
    const uint32_t *null; /* Ids of columns that are NULL. */
    uint32_t null_count;
    /* Ids of columns that are less or greater than a value, or between two. */
    const uint32_t *range;
    uint32_t range_count;
};
enum ndb_access_kind {
    NDB_ACCESS_PRIMARY_KEY = 0, /* At most one row: ndb_read() by primary key. */
    /* At most one row: by unique index `number` (ndb_record_create_unique()). */
    NDB_ACCESS_UNIQUE = 1,
    NDB_ACCESS_INDEX = 2, /* A range of ordered index `number` (struct ndb_index_range). */
    NDB_ACCESS_SCAN = 3   /* All rows have to be looked at, with a filter. */
};
struct ndb_access {
    enum ndb_access_kind kind;
    uint32_t number;
    const char *name; /* Name of the index, "PRIMARY" or "". Lives as long as the table object. */
    /* The first so many columns of the index are fixed: both bounds have their values. */
    uint32_t columns;
    bool range;        /* The next column has a range: one bound more, or two. */
    bool one_fragment; /* The fixed columns fix the partition: one fragment is read. */
};
/*
 * The best way to the rows of a condition: by key when one is fixed, else the ordered index of
 * which most columns are fixed, a range behind them, and the fewest fragments are read. Of equal
 * ones the first. What the way does not say of the condition is up to a filter. -1: no table, or a
 * column that it does not have. Any thread.
 */
NDB_API int ndb_table_access(const struct ndb_table *table,
                             const struct ndb_condition_columns *condition,
                             struct ndb_access *access);

/* ---- Fragments ---- */

/* The node that stores replica number `replica` of a fragment, in the order of the
 * distribution (0 = primary, unless its node is lost, has just come back or is slow); 0 = none. Any
 * thread. */
NDB_API uint32_t ndb_table_fragment_node(const struct ndb_table *table, uint32_t fragment,
                                         uint32_t replica);
/* What the replica of a fragment that reads are sent to has and takes. */
struct ndb_fragment_info {
    uint64_t rows;
    uint64_t commits; /* Rows changed by commits since its node began to serve the fragment. */
    uint64_t fixed_bytes, var_bytes, index_bytes; /* Memory: whole pages. */
    uint64_t var_used_bytes;                      /* Bytes of var_bytes that rows use. */
};
/* Asks the data nodes about the fragments 0 .. count-1 of the table (count: at least
 * ndb_table_info.fragments). 0 or -1 with ndb_error(ndb). Own thread. */
NDB_API int ndb_table_fragments(ndb_t *ndb, struct ndb_table *table,
                                struct ndb_fragment_info *fragments, uint32_t count,
                                uint32_t timeout_ms);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
