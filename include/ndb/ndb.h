/* ndb.h -- the C client API: connections, dictionary, transactions, scans, asynchronous calls. It
 * includes program.h: programs and filters that run where the rows are. */
/* SPDX-License-Identifier: MIT */
/*
 * Link with -lndbclient (pkg-config ndbclient). Conventions of the whole interface:
 *
 * Results: int functions return 0, or -1 with an error to be read from the object (ndb_error(),
 * ndb_transaction_error(), ...); pointer functions return NULL instead of -1. Nothing here aborts
 * the program: a wrong argument is an error 4xxx like any other. NULL objects are accepted by all
 * *_free, *_close and *_release functions.
 *
 * Time: every call that waits takes timeout_ms: 0 = the connection's default (10 s unless set
 * otherwise), NDB_NO_TIMEOUT = for ever. When it expires the call fails with 4012, the time is up;
 * whether a commit happened is then unknown (status NDB_STATUS_UNKNOWN), anything else has not
 * happened.
 *
 * Threads: "any thread": may be called at any time from any thread. "own thread": the object and
 * everything made from it must be used by one thread at a time. A connection is for all threads; an
 * ndb_t, its transactions, operations and scans belong to one thread; tables and records are shared
 * freely.
 *
 * Memory: objects belong to the library until their close function. Rows belong to the application;
 * a row given to a write is copied when the operation is defined, a row given to a read is filled
 * when it is executed.
 *
 * Values stand in rows in their stored form, see NDB_FIELD below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndb/member.h"
#include "ndb/version.h"

#ifdef __cplusplus
/* ndb_error and ndb_statistics are functions and structs, as C allows. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#endif

#define NDB_API __attribute__((visibility("default")))

#define NDB_NO_TIMEOUT UINT32_MAX

/* The version of the library that is running, as NDB_CLIENT_VERSION and as text. Any thread. */
NDB_API uint32_t ndb_version(void);
NDB_API const char *ndb_version_string(void);

struct ndb_cluster_connection;
typedef struct ndb ndb_t;
struct ndb_table;
struct ndb_record;
struct ndb_transaction;
struct ndb_operation;
struct ndb_scan;
struct ndb_program;
struct ndb_filter;

/* ---- Errors ---- */

enum ndb_error_status {
    NDB_STATUS_SUCCESS = 0,
    NDB_STATUS_TEMPORARY =
        1, /* Nothing has happened; the same transaction may succeed when it is tried again. */
    NDB_STATUS_PERMANENT = 2, /* Nothing has happened, and trying again will not help. */
    NDB_STATUS_UNKNOWN = 3    /* The transaction may have been committed or not. */
};

enum ndb_error_class {
    NDB_CLASS_NONE = 0,
    NDB_CLASS_APPLICATION = 1,
    NDB_CLASS_NO_DATA = 2,    /* 626: no such row. */
    NDB_CLASS_CONSTRAINT = 3, /* 630: the row exists already, ... */
    NDB_CLASS_SCHEMA = 4,
    NDB_CLASS_USER = 5,
    NDB_CLASS_SPACE = 6,
    NDB_CLASS_TEMPORARY_RESOURCE = 7,
    NDB_CLASS_NODE_RECOVERY = 8,
    NDB_CLASS_OVERLOAD = 9,
    NDB_CLASS_TIMEOUT = 10,
    NDB_CLASS_UNKNOWN_RESULT = 11,
    NDB_CLASS_INTERNAL = 12,
    NDB_CLASS_NOT_IMPLEMENTED = 13,
    NDB_CLASS_UNKNOWN_CODE = 14,
    NDB_CLASS_SHUTDOWN = 15,
    NDB_CLASS_CONFIGURATION = 16,
    NDB_CLASS_EXISTS = 17,
    NDB_CLASS_INTERNAL_TEMPORARY = 18,
    NDB_CLASS_COMMITTED = 19 /* 4115: it has happened, and not all that it read is known. */
};

typedef struct ndb_error {
    int32_t code; /* 0 = no error; the numbers are in <ndb/errors.def>. */
    enum ndb_error_status status;
    enum ndb_error_class classification;
    const char *class_name; /* "Temporary Resource error"; a constant. */
    const char *text;       /* One sentence; a constant. */
    const char *detail; /* "" or what exactly, valid as long as the object it came from is not used
                           again. */
} ndb_error_t;

/* Fills `error` for a number. Any thread. */
NDB_API void ndb_error_lookup(int32_t code, ndb_error_t *error);

/* ---- Connection ---- */

struct ndb_connection_options {
    const char *name;            /* Shown by the cluster; NULL = "ndbclient". */
    uint32_t node_id;            /* Ask for this node id; 0 = any free one. */
    uint32_t default_timeout_ms; /* Time for calls with timeout 0; 0 = 10000. */
    uint32_t spin_us;            /* Longest wait without sleep; 0 = 50, UINT32_MAX = never spin. */
    uint32_t flush_bytes; /* Asynchronous requests are sent when so many bytes wait; 0 = 32768. */
    /* Requests not yet sent, per data node: more are refused, error 4022; 0 = 8 MB. Batches are
     * sent in parts, when there is room. */
    uint32_t buffer_bytes;
    bool no_reconnect; /* Do not come back by itself after all links were lost. */
};

/*
 * Makes a connection object; no input or output yet. connect_string:
 * "host[:port][,host[:port]...][,nodeid=N]" of the management servers; NULL = the environment's
 * NDB_CONNECTSTRING, else localhost:1186. options NULL = defaults. NULL only when memory is out; a
 * malformed string is reported by ndb_connection_connect. Any thread.
 */
NDB_API struct ndb_cluster_connection *ndb_connection_create(
    const char *connect_string, const struct ndb_connection_options *options);

/* Gets node id and configuration from a management server and starts connecting to the data nodes.
   Tries until the time is up; a server that takes the connection and then says nothing can make
   that three seconds longer. Errors: 4269 no management server, 4118 malformed connect string,
   1701 and 1704 node id refused. */
NDB_API int ndb_connection_connect(struct ndb_cluster_connection *connection, uint32_t timeout_ms);

/* Waits until data nodes accept transactions: for the first one as long as timeout_ms says, then
   for the others a second at most. Returns the number of configured data nodes that are not yet
   started: 0 = all are ready, > 0 = some are, -1 = none (error 4009, the cluster is out of reach;
   its detail says why the last attempt at a link failed: that a node belongs to another cluster,
   too). Any thread. */
NDB_API int ndb_connection_wait_until_ready(struct ndb_cluster_connection *connection,
                                            uint32_t timeout_ms);

/* Closes all links and frees the connection. Every ndb_t must be closed before; those that are not
   are closed here. Tables and records may be released later. */
NDB_API void ndb_connection_free(struct ndb_cluster_connection *connection);

/* Copies the last error of a connection call made by any thread. */
NDB_API void ndb_connection_error(struct ndb_cluster_connection *connection, ndb_error_t *error);

/* 0 before ndb_connection_connect. Any thread. */
NDB_API uint32_t ndb_connection_node_id(const struct ndb_cluster_connection *connection);
/* Data nodes in the configuration, and those that accept transactions now. Any thread. */
NDB_API uint32_t ndb_connection_data_nodes(const struct ndb_cluster_connection *connection);
NDB_API uint32_t ndb_connection_ready_nodes(const struct ndb_cluster_connection *connection);
/* Another number than before: all data nodes were lost at once, and the cluster has come back with
   what was durable, or with nothing. Whoever keeps what it has read or written forgets it then. It
   changes before the first data node is ready again. 0: none has been yet. Any thread. */
NDB_API uint32_t ndb_connection_lives(const struct ndb_cluster_connection *connection);
/* The ready data node with the next higher id, 0 = no more; start with 0. Any thread. */
NDB_API uint32_t ndb_connection_next_ready_node(const struct ndb_cluster_connection *connection,
                                                uint32_t node_id);

struct ndb_statistics {
    uint64_t transactions_started, transactions_committed, transactions_aborted;
    uint64_t transactions_unknown;      /* Outcome not known. */
    uint64_t key_operations, rows_read; /* Rows by key and by scan. */
    uint64_t scans, scan_batches;
    uint64_t scans_pruned;      /* Scans whose ranges let fragments be left out. */
    uint64_t fragments_scanned; /* Fragments that the cluster has read to their end for scans. */
    uint64_t dictionary_requests;
    uint64_t retries; /* Tries again, by ndb_run_transaction and transparent ones. */
    uint64_t timeouts;
    uint64_t late_answers; /* Dropped: late, foreign or forged. */
    uint64_t bytes_sent, bytes_received, sends, polls;
    uint64_t waits, wait_ns; /* Blocking calls that waited, and how long in all. */
};
/* Sum over all ndb_t of the connection, closed ones too. Any thread. */
NDB_API void ndb_connection_statistics(struct ndb_cluster_connection *connection,
                                       struct ndb_statistics *statistics);

/* ---- ndb_t: one thread's access ---- */

/* database is put before table names without one; NULL = "test". At most 4711 per connection, more
 * are refused (4105). Any thread. */
NDB_API ndb_t *ndb_open(struct ndb_cluster_connection *connection, const char *database);
/* Rolls back and closes what is still open. Own thread. */
NDB_API void ndb_close(ndb_t *ndb);
/* The error of the last failed call on this ndb_t; never NULL. Own thread. */
NDB_API const ndb_error_t *ndb_error(const ndb_t *ndb);
/* This ndb_t only. Own thread. */
NDB_API void ndb_statistics(const ndb_t *ndb, struct ndb_statistics *statistics);

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
/* How far a long change has come: rows of how many, at most twice a second. */
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

/* ---- Values ---- */

/* "Varchar(20;utf8mb4_bin)". Returns the length without NUL. Any thread. */
NDB_API uint32_t ndb_column_type_text(const struct ndb_table *table, uint32_t id, char *text,
                                      uint32_t size);

enum ndb_print_flags {
    NDB_PRINT_QUOTE = 1, /* Character and binary values between double quotes. */
    NDB_PRINT_HEX = 2    /* Binary values always as 0x... */
};
/* A stored value as text and a NUL. Returns the length, or -1: the buffer is too small (4278) or
 * the value malformed. Any thread. */
NDB_API int ndb_value_print(const struct ndb_table *table, uint32_t column, const void *value,
                            uint32_t value_size, uint32_t flags, char *text, uint32_t text_size);
/* Buffer that is always large enough for ndb_value_print of this column. Any thread. */
NDB_API uint32_t ndb_value_print_size(const struct ndb_table *table, uint32_t column);
/* Text to a stored value; *size is set. Returns 0 or the error's number: 4216 too long, 4313 not of
 * the column's type, 4314 out of its range, 4278 the buffer is too small. Any thread. */
NDB_API int ndb_value_parse(const struct ndb_table *table, uint32_t column, const char *text,
                            uint32_t text_size, void *value, uint32_t value_capacity,
                            uint32_t *size);
/* Is this a value of the column? 0 or the error's number. Any thread. */
NDB_API int ndb_value_check(const struct ndb_table *table, uint32_t column, const void *value,
                            uint32_t size);

/* Writes the form that all values have which equal this one as keys and in conditions (letters that
 * its collation does not tell apart, blanks at the end, a zero with a sign): two values are equal
 * exactly when their forms are the same bytes. The form is a stored value of the column, too, and
 * fits into info.size bytes; *size is set. 0 or the error's number, also that of ndb_value_check.
 * Any thread. */
NDB_API int ndb_value_form(const struct ndb_table *table, uint32_t column, const void *value,
                           uint32_t value_size, void *form, uint32_t form_capacity, uint32_t *size);

/* ---- Records: where columns stand in the application's rows ---- */

/*
 * A row is any struct. A member holds the stored form of its column:
 *
 *   integers, float, double    the C type of that size (little endian); medium integers are 3 bytes
 *   char(n), binary(n)         char[n], padded with blanks / zero bytes
 *   decimals, dates, bits      uint8_t[size]
 *   varchar, varbinary         1 length byte (2 bytes little endian for the long ones), then the
 *                              content; the member has room for prefix + length bytes
 *                              (struct { uint8_t length; char data[20]; })
 *
 * With NDB_FIELD_CSTRING a char, varchar or binary column stands in a char[] member as a
 * NUL-terminated string instead: the library adds and removes prefix or padding; the member's size
 * bounds it (4216 when a value does not fit).
 */
#define NDB_NOT_NULLABLE  UINT32_MAX
#define NDB_FIELD_CSTRING 1u

struct ndb_field {
    const char *column; /* Name of the column; NULL: column_id says which. */
    uint32_t column_id;
    uint32_t offset; /* Offset of the member in the row. */
    uint32_t size; /* Size of the member; 0 = the column's (cannot be 0 with NDB_FIELD_CSTRING). */
    uint32_t null_offset; /* Byte that holds the null bit, NDB_NOT_NULLABLE = no null bit. A
                             nullable column without one cannot be NULL in this row: reading a NULL
                             is error 4203. */
    uint32_t null_bit;    /* 0..7; the bit is set when the value is NULL. */
    uint32_t flags;       /* NDB_FIELD_CSTRING */
    enum ndb_member_kind kind;
};

/* A column and the member that holds it. */
#define NDB_FIELD(type, member, column_name)                                                       \
    NDB_FIELD_OF(type, member, column_name, NDB_NOT_NULLABLE, 0u, 0u)
/* The same for a nullable column: its null bit is bit `bit` of byte array or integer member
 * `null_member`. */
#define NDB_FIELD_NULL(type, member, column_name, null_member, bit)                                \
    NDB_FIELD_OF(type, member, column_name, NDB_UINT32(offsetof(type, null_member) + (bit) / 8u),  \
                 (bit) % 8u, 0u)
/* A column that stands in a char[] as a NUL-terminated string. */
#define NDB_FIELD_STRING(type, member, column_name)                                                \
    NDB_FIELD_OF(type, member, column_name, NDB_NOT_NULLABLE, 0u, NDB_FIELD_CSTRING)
#define NDB_FIELD_STRING_NULL(type, member, column_name, null_member, bit)                         \
    NDB_FIELD_OF(type, member, column_name, NDB_UINT32(offsetof(type, null_member) + (bit) / 8u),  \
                 (bit) % 8u, NDB_FIELD_CSTRING)

/*
 * Compiles a mapping. `row_size` = sizeof the row. A member whose kind is told has just the type
 * and size that its column's stored form has: int32_t for INT, uint32_t for INT UNSIGNED, double
 * for DOUBLE; uint8_t[], or a struct of that size, for any type; an integer or bool for TINYINT.
 * Those of varchar and varbinary, and those that are not told, may be larger. Errors (in
 * ndb_error(ndb), whose detail names table, column, its type, the member's, and what would fit):
 * 4004 no such column, 4289 column given twice, 4330 member of another type or size, 4291 outside
 * the row, or sharing bytes of it with another member. Own thread of `ndb`; the record itself is
 * for any thread.
 */
NDB_API struct ndb_record *ndb_record_create(ndb_t *ndb, struct ndb_table *table,
                                             const struct ndb_field *fields, uint32_t count,
                                             uint32_t row_size);
/*
 * A record for keys of a unique index (ndb_table_find_unique()), with at least all of its columns:
 * as key_record of reads, updates and deletes it says which row by that key. Errors as above, and
 * 4243 no such index, 4292 a column of it is missing.
 */
NDB_API struct ndb_record *ndb_record_create_unique(ndb_t *ndb, struct ndb_table *table,
                                                    uint32_t unique, const struct ndb_field *fields,
                                                    uint32_t count, uint32_t row_size);
/* A record of all columns with offsets chosen by the library: see ndb_record_row_size,
 * ndb_record_field. */
NDB_API struct ndb_record *ndb_record_create_default(ndb_t *ndb, struct ndb_table *table);
/* Any thread, when no operation uses it any more. */
NDB_API void ndb_record_release(struct ndb_record *record);
/* Any thread. */
NDB_API uint32_t ndb_record_row_size(const struct ndb_record *record);
/* -1 when the record does not have the column. Any thread. */
NDB_API int ndb_record_field(const struct ndb_record *record, uint32_t column,
                             struct ndb_field *field);
/* Puts a stored value (or NULL: value NULL) into a row / text through ndb_value_parse. 0 or the
 * error's number. */
NDB_API int ndb_row_set(const struct ndb_record *record, void *row, uint32_t column,
                        const void *value, uint32_t size);
NDB_API int ndb_row_parse(const struct ndb_record *record, void *row, uint32_t column,
                          const char *text, uint32_t text_size);
/* The stored value in a row; *value NULL when it is NULL. 0 or the error's number. Not for
 * NDB_FIELD_CSTRING. */
NDB_API int ndb_row_get(const struct ndb_record *record, const void *row, uint32_t column,
                        const void **value, uint32_t *size);

/* ---- Transactions ---- */

enum ndb_lock_mode {
    NDB_LOCK_SHARED = 0,
    NDB_LOCK_EXCLUSIVE = 1,
    NDB_COMMITTED_READ =
        2 /* No lock; sees the newest committed row, and not what this transaction has changed. */
};

/* NDB_COMMIT: answered when all replicas have the commit in memory. NDB_COMMIT_DURABLE: when it is
   on their disks too, so that it survives the loss of the whole cluster; commits that wait at the
   same time share the writes. That holds whoever answers: if the coordinator is lost meanwhile and
   another node tells of the commit, ndb_execute() waits, within its time, until it is durable. */
enum ndb_execute_type {
    NDB_NO_COMMIT = 1,
    NDB_COMMIT = 2,
    NDB_ROLLBACK = 3,
    NDB_COMMIT_DURABLE = 4
};

enum ndb_operation_flags {
    NDB_OP_IGNORE_ERROR =
        1, /* A refused operation leaves the transaction alive. The default of reads. */
    NDB_OP_ABORT_ON_ERROR =
        2,            /* A refused operation aborts the transaction. The default of all others. */
    NDB_OP_NOWAIT = 4 /* A locked row is an error (635) at once. */
};

struct ndb_operation_options {
    enum ndb_lock_mode lock; /* Reads only. Options NULL = NDB_COMMITTED_READ. */
    uint32_t flags;          /* enum ndb_operation_flags */
    const uint8_t *mask; /* Columns wanted or set: bit (id % 8) of byte (id / 8). NULL = all of the
                            record. Key columns are always part of a write's key. */
    /*
     * A program that the data node runs on the row, with the operation's lock held; not for
     * inserts. What each operation does with it stands in <ndb/program.h>. It is copied.
     */
    const struct ndb_program *program;
    /* With a program, of a change: the row as the operation leaves it (a deleted one as it was) is
       filled into `result` by this record, in the same round trip. Both or none. */
    const struct ndb_record *result_record;
    void *result;
    const uint8_t *result_mask; /* Columns of result_record that are wanted, as `mask`. */
};

/* Begins a transaction; nothing is sent. Its node is chosen by the key of its first operation. Own
 * thread. */
NDB_API struct ndb_transaction *ndb_transaction_start(ndb_t *ndb);
/* The same, coordinated by data node `node` if that is ready (see
 * ndb_connection_next_ready_node()); if not, or with 0, the node is chosen by the key. */
NDB_API struct ndb_transaction *ndb_transaction_start_at(ndb_t *ndb, uint32_t node);
/* Rolls back what is not committed (without waiting for it) and frees the transaction and its
 * operations. */
NDB_API void ndb_transaction_close(struct ndb_transaction *transaction);

/*
 * Define one operation; it is sent by the next execute. The key is taken from key_row by
 * key_record, which has all primary key columns, or for reads, updates and deletes is one of a
 * unique index: then the row is found by that key, in the same round trip, a committed read takes a
 * shared lock, and a NULL in the key is error 4203. Reads fill `row` by `record` (may be NULL: only
 * lock the row); with the same record and row for both, the key members are the key. A committed
 * read takes no part in the transaction: it sees nothing that this has changed and not committed,
 * and may see what the same execute commits. Writes take all columns of record (but see mask).
 * Result: the operation, which lives until the transaction is closed, or NULL with the error in
 * ndb_transaction_error(). Own thread.
 */
NDB_API struct ndb_operation *ndb_read(struct ndb_transaction *transaction,
                                       const struct ndb_record *key_record, const void *key_row,
                                       const struct ndb_record *record, void *row,
                                       const struct ndb_operation_options *options);
/* Columns that are not in the record get their default or NULL (839 if neither exists: `detail`
 * names the table and, unless a mask left it out, the column). 630: row exists. 893, of updates and
 * writes too: a unique index has such a row already; the transaction is aborted whatever the flags,
 * and `detail` of the error is the index's name. */
NDB_API struct ndb_operation *ndb_insert(struct ndb_transaction *transaction,
                                         const struct ndb_record *record, const void *row,
                                         const struct ndb_operation_options *options);
/* 626: no such row. */
NDB_API struct ndb_operation *ndb_update(struct ndb_transaction *transaction,
                                         const struct ndb_record *key_record, const void *key_row,
                                         const struct ndb_record *record, const void *row,
                                         const struct ndb_operation_options *options);
/* Inserts the row, or updates the given columns if it exists. */
NDB_API struct ndb_operation *ndb_write(struct ndb_transaction *transaction,
                                        const struct ndb_record *record, const void *row,
                                        const struct ndb_operation_options *options);
/* 626: no such row. */
NDB_API struct ndb_operation *ndb_delete(struct ndb_transaction *transaction,
                                         const struct ndb_record *key_record, const void *key_row,
                                         const struct ndb_operation_options *options);

enum ndb_operation_type {
    NDB_READ = 0,
    NDB_UPDATE = 1,
    NDB_INSERT = 2,
    NDB_DELETE = 3,
    NDB_WRITE = 4
};

/* The same column by column, for programs that learn the table at run time: set all key columns
   and, for writes, the values; for reads name the columns wanted. Values are in stored form,
   copied; value NULL = NULL. Own thread. */
NDB_API struct ndb_operation *ndb_operation_define(struct ndb_transaction *transaction,
                                                   struct ndb_table *table,
                                                   enum ndb_operation_type type,
                                                   const struct ndb_operation_options *options);
NDB_API int ndb_operation_set(struct ndb_operation *operation, uint32_t column, const void *value,
                              uint32_t size);
NDB_API int ndb_operation_set_by_name(struct ndb_operation *operation, const char *column,
                                      const void *value, uint32_t size);
NDB_API int ndb_operation_get(struct ndb_operation *operation, uint32_t column);
/* Changes name columns with ndb_operation_get too, when they have a program: they are as the
   operation leaves them. After execute: the value of a column named by ndb_operation_get; *value
   NULL when it is NULL. Valid until the transaction is closed. */
NDB_API int ndb_operation_value(const struct ndb_operation *operation, uint32_t column,
                                const void **value, uint32_t *size);

/* Sends the operations defined since the last execute and waits for all answers. There may be any
   number of them: what does not fit into the send buffer is sent by and by, as one transaction all
   the same. More than a coordinator can have are refused with the permanent error 234, and more
   changes than MaxDMLOperationsPerTransaction with 261; the detail says how many fit. 0: done (and
   committed, if asked for); single operations may still have an error when it did not abort:
   ndb_operation_error. -1: the transaction is aborted, or its outcome is unknown, or it is
   committed and rows that it was to read have not come (4115; when it has changed nothing, what the
   read ended with: 4119 and 4012, temporary); see ndb_transaction_error. One that has only read is
   never of unknown outcome. With NDB_COMMIT_DURABLE 4012 and 4009 may be of one
   that is committed and not known to be durable: ndb_transaction_outcome() tells its epoch,
   ndb_wait_durable() waits for it; 248 (aborted): all nodes were lost before it was durable. Own
   thread. */
NDB_API int ndb_execute(struct ndb_transaction *transaction, enum ndb_execute_type type,
                        uint32_t timeout_ms);

/* Never NULL; code 0 when there was no error. */
NDB_API const ndb_error_t *ndb_transaction_error(const struct ndb_transaction *transaction);
/* The operation that aborted the transaction, or NULL. */
NDB_API const struct ndb_operation *ndb_transaction_error_operation(
    const struct ndb_transaction *transaction);
/* The same of one operation. */
NDB_API const ndb_error_t *ndb_operation_error(const struct ndb_operation *operation);
/*
 * 64-bit epoch of the commit (GCI in the high half), 0 before, and after a transaction that only
 * read. Epochs order all commits of the cluster: one that was asked for after another was answered
 * has no smaller epoch, as long as the cluster is not lost: after a system restart the GCIs that
 * were not durable come again, but the lower half names the start of the cluster (bits 16-31) that
 * the epoch belongs to, so no epoch comes twice.
 */
NDB_API uint64_t ndb_transaction_epoch(const struct ndb_transaction *transaction);
/* The level that the answer of the commit has reached. 1: the commit is known to be on the disks of
   all replicas, as it always is when NDB_COMMIT_DURABLE was answered with 0 and has changed
   something; 0: in their memory only, also when ndb_transaction_outcome() has told of it
   (ndb_wait_durable() with its epoch waits until that has changed), or not committed. */
NDB_API int ndb_transaction_durable(const struct ndb_transaction *transaction);
/* API block << 52 | node id << 40 | counter, as other reports of the cluster show it. */
NDB_API uint64_t ndb_transaction_id(const struct ndb_transaction *transaction);
/*
 * For a transaction whose last execute ended with NDB_STATUS_UNKNOWN (4009 the coordinator was
 * lost, 4012 the time was up): asks the cluster what has become of it, and again until the time is
 * up. 1: it was committed, and ndb_transaction_epoch() tells its epoch; 0: it was not, and never
 * will be; -1: not known, see ndb_error(): 4012 it is not decided yet or nobody can be asked, it
 * may be asked again; 4009 it is too long ago. The nodes remember about the last 60,000 commits of
 * each of their LDM instances. A transaction that has changed nothing counts as not committed. Own
 * thread.
 */
NDB_API int ndb_transaction_outcome(struct ndb_transaction *transaction, uint32_t timeout_ms);
/* The data node that coordinates it, 0 before the first execute. */
NDB_API uint32_t ndb_transaction_node(const struct ndb_transaction *transaction);

/* ---- Durability of commits made before ---- */

/*
 * Waits until `epoch` and all before it are on the disks of all replicas: then every commit with
 * such an epoch, whoever made it, survives the loss of the whole cluster. The cluster is told to
 * hurry, so many commits in memory and one wait cost about one commit to disk. `epoch` comes from
 * ndb_transaction_epoch(), of any connection. 0, or -1 with ndb_error(ndb): 246 the cluster has no
 * files, 247 no such epoch has begun, 4012 the time is up (nothing is lost, it may be asked again),
 * 248 the epoch was lost in a system restart: its commits have to be made again, 249 (unknown
 * outcome) that is more than 64 restarts ago and nobody can say. An epoch may be kept and asked for
 * by another program, and after the cluster was lost and has come back; while no data node can be
 * reached the call waits for one. Own thread.
 */
NDB_API int ndb_wait_durable(ndb_t *ndb, uint64_t epoch, uint32_t timeout_ms);

/* result 0, or -1 with *error, which lives as long as the call. Rules as for ndb_callback. */
typedef void (*ndb_durable_callback)(int result, uint64_t epoch, const ndb_error_t *error,
                                     void *context);
/* The same without waiting; counts as one completion for ndb_poll and in ndb_pending. -1: refused
   at once, the callback will not run. It does not run either when `ndb` is closed before. Own
   thread. */
NDB_API int ndb_wait_durable_async(ndb_t *ndb, uint64_t epoch, uint32_t timeout_ms,
                                   ndb_durable_callback callback, void *context);

/* ---- Short forms ---- */

/* One row, one transaction each, committed; options as above. 0, or -1 with ndb_error(ndb). The
   row's key members say which row; `record` has all key columns, or but for inserts and writes is
   one of a unique index. 893: `detail` is the index's name. Own thread. */
NDB_API int ndb_read_row(ndb_t *ndb, const struct ndb_record *record, void *row,
                         uint32_t timeout_ms);
NDB_API int ndb_insert_row(ndb_t *ndb, const struct ndb_record *record, const void *row,
                           uint32_t timeout_ms);
NDB_API int ndb_update_row(ndb_t *ndb, const struct ndb_record *record, const void *row,
                           uint32_t timeout_ms);
NDB_API int ndb_write_row(ndb_t *ndb, const struct ndb_record *record, const void *row,
                          uint32_t timeout_ms);
NDB_API int ndb_delete_row(ndb_t *ndb, const struct ndb_record *record, const void *row,
                           uint32_t timeout_ms);

/* Adds `delta` to an integer column of the row with that key and returns what it is then, in one
   transaction and one round trip; again after temporary errors, as ndb_run_transaction. 626: no
   such row; 4314: it would leave the column's range; 879: it is NULL. Own thread. */
NDB_API int ndb_increment(ndb_t *ndb, const struct ndb_record *key_record, const void *key_row,
                          uint32_t column, int64_t delta, int64_t *value, uint32_t timeout_ms);

/* ---- Numbers for new rows ---- */

struct ndb_increment_options {
    uint32_t prefetch; /* Numbers that are taken from the cluster at a time; 0 = 32. */
    uint32_t step;     /* Only numbers start + n * step are given; 0 = 1. */
    uint64_t start;    /* The first number; 0 = 1. */
};
/*
 * Gives the next number of a table, for the key of a new row. No number of a table is given twice:
 * not to another ndb_t, program or node, whatever `options` they have, and not after the loss of
 * nodes or of the whole cluster either. (A cluster that begins anew, without disks or after
 * --initial, has lost the table with its numbers: they begin anew, too, and an ndb_t forgets what
 * it has left of former ones when it finds the new cluster.) An ndb_t takes a range of numbers (one
 * round trip; it is on disk before the first one is given) and gives them one by one. Those that it
 * has not given when it is closed are nobody's, so there are gaps; numbers of two ndb_t's are not
 * in the order of time. The row is not looked at: who inserts numbers of another source, too, calls
 * ndb_auto_increment_set(). Errors: 4314 no numbers are left (for the AUTO_INCREMENT column, if the
 * table has one), 241 there is a later table of the same number, for which numbers have been taken.
 * Nobody looks whether the table is there otherwise: of one that was dropped numbers go on, and its
 * rows are refused. After any error it may be called again. The counters are rows of the table
 * sys/SYSTAB_0: who drops or changes that one gives up all this. Own thread.
 */
NDB_API int ndb_auto_increment(ndb_t *ndb, const struct ndb_table *table,
                               const struct ndb_increment_options *options, uint64_t *value,
                               uint32_t timeout_ms);
/* No number below `least` is taken any more; a smaller one may still be given by another ndb_t that
   had taken it before. Own thread. */
NDB_API int ndb_auto_increment_set(ndb_t *ndb, const struct ndb_table *table, uint64_t least,
                                   uint32_t timeout_ms);
/* The number that this ndb_t would give next, if no other one takes any. Own thread. */
NDB_API int ndb_auto_increment_read(ndb_t *ndb, const struct ndb_table *table, uint64_t *value,
                                    uint32_t timeout_ms);

/*
 * A number that tells this cluster's data from that of any other cluster, and of this one before it
 * began anew (without disks, or by --initial), when tables may get the numbers and versions again
 * that others had: for programs that keep what they have done to a table. It is drawn when it is
 * asked for the first time, and stands in a row of sys/SYSTAB_0: who drops or changes that one
 * gives it up. Own thread.
 */
NDB_API int ndb_cluster_identity(ndb_t *ndb, uint64_t *identity, uint32_t timeout_ms);

/*
 * Many independent rows in one call: `count` rows of `stride` bytes. Reads are committed reads,
 * each for itself; with the record of a unique index they are one transaction with shared locks, so
 * that another's lock is waited for, and an error other than 626 (no such row) ends all of them.
 * Writes are one transaction per row (each row commits or fails alone). codes[i] (may be NULL) gets
 * each row's error number, 0 = done. Returns the number of rows without error; -1 (ndb_error): an
 * argument is wrong, and codes are as they were, or no row can be read, and all codes say why. Rows
 * lie `stride` bytes behind each other, which is not less than the record's row has. Own thread.
 */
NDB_API int ndb_read_many(ndb_t *ndb, const struct ndb_record *record, void *rows, uint32_t stride,
                          uint32_t count, int32_t *codes, uint32_t timeout_ms);
NDB_API int ndb_change_many(ndb_t *ndb, enum ndb_operation_type type,
                            const struct ndb_record *record, const void *rows, uint32_t stride,
                            uint32_t count, int32_t *codes, uint32_t timeout_ms);

/*
 * Runs fn(transaction, context) in a new transaction and again in another one, after a random and
 * growing pause, whenever it failed with a temporary error, until it succeeds or the time is up. fn
 * defines and executes; it returns 0, or -1 to give up. If it has not committed, a commit follows.
 * 0, or -1 with ndb_error(ndb): an unknown outcome is never tried again. Own thread.
 */
typedef int (*ndb_transaction_function)(struct ndb_transaction *transaction, void *context);
NDB_API int ndb_run_transaction(ndb_t *ndb, ndb_transaction_function function, void *context,
                                uint32_t timeout_ms);

/* ---- Asynchronous calls ---- */

/* result 0 or -1, as ndb_execute would return. Runs inside ndb_poll, ndb_process or any waiting
   call on the same ndb_t. It may define, execute asynchronously and close; calls that wait are
   refused in it (4507). */
typedef void (*ndb_callback)(int result, struct ndb_transaction *transaction, void *context);

/* Queues the operations defined so far; they are sent when flush_bytes wait, by ndb_flush, or by
   the next call that waits. -1: refused at once, the callback will not run. Own thread. */
NDB_API int ndb_execute_async(struct ndb_transaction *transaction, enum ndb_execute_type type,
                              uint32_t timeout_ms, ndb_callback callback, void *context);

/*
 * Many rows by primary key in one call: committed reads, each for itself, as ndb_read_many() does
 * them, and at a fraction of what operations cost. `record` has all columns of the primary key,
 * which the row's members hold; the row is filled with those of the record's columns that `mask`
 * names (bit of the column's number, as in ndb_operation_options; NULL: all). When the last one has
 * ended, each `code` is set (0, 626: no such row, or another error's number; others than 0 leave
 * the row as it was or filled in part) and done(context) is called once, by the rules for
 * ndb_callback. Until then reads, records and rows stay where they are; masks are not needed after
 * the call. Returns a handle that ends with the callback, or NULL with ndb_error(): nothing was
 * begun. Own thread.
 */
struct ndb_row_read {
    const struct ndb_record *record;
    void *row;
    const uint8_t *mask;
    int32_t code;
};
struct ndb_reads;
typedef void (*ndb_reads_callback)(void *context);
NDB_API struct ndb_reads *ndb_reads_begin(ndb_t *ndb, struct ndb_row_read *reads, uint32_t count,
                                          uint32_t timeout_ms, ndb_reads_callback done,
                                          void *context);
/* Reads under way that nobody wants any more: `done` is not called. NULL is allowed. Own thread. */
NDB_API void ndb_reads_drop(struct ndb_reads *reads);

/* Sends what is queued. Own thread. */
NDB_API int ndb_flush(ndb_t *ndb);
/* Sends what is queued, waits until at least min_completions callbacks have run (0: does not wait)
   or the time is up. Returns how many ran, -1 on error. Here timeout_ms 0 does not wait. Own
   thread. */
NDB_API int ndb_poll(ndb_t *ndb, uint32_t timeout_ms, uint32_t min_completions);
/* Asynchronous transactions, scans and waits that have not completed. Own thread. */
NDB_API uint32_t ndb_pending(const ndb_t *ndb);

/* A descriptor that is readable when ndb_process has work; for poll, epoll, libuv in the
   application's loop. Belongs to the ndb_t. -1: no descriptor left. Own thread. */
NDB_API int ndb_fd(ndb_t *ndb);
/* Moves data and runs callbacks without waiting. Call it when ndb_fd is readable, after queueing,
   and at least every ndb_process_timeout milliseconds (for deadlines). Returns how many callbacks
   ran. Own thread. */
NDB_API int ndb_process(ndb_t *ndb);
NDB_API uint32_t ndb_process_timeout(const ndb_t *ndb);

/* ---- Scans ---- */

/* One end of a range of an ordered index. NULL comes before all other values. */
struct ndb_index_bound {
    uint32_t columns; /* The first so many columns of the index; 0 = no bound on this side. */
    const void *const *value; /* Values of these columns, in stored form; a NULL pointer is NULL. */
    const uint32_t *size;     /* Bytes of each value. */
    bool exclusive;           /* Rows with just these values are not wanted. */
};

/* The scan has something for ndb_scan_try_next. Rules as for ndb_callback; it may also start scans
   and close them, this one, too. */
typedef void (*ndb_scan_callback)(struct ndb_scan *scan, void *context);

#define NDB_RANGES_MAX 256u /* Ranges in one scan. */

/*
 * Rows between two bounds in the order of an ordered index (ndb_table_find_index()), equal keys in
 * any order. a = 5: both bounds 5. a > 5: low bound 5, exclusive. a < 5 as in SQL, without NULLs:
 * high bound 5, exclusive, and low bound NULL, exclusive. A row whose key does not change while the
 * scan runs is given once; one whose key changes may be given at its old place, its new one, both
 * or none. Where low and high bound have the same values in all columns of the partition key, only
 * the fragment that has these rows is read.
 */
struct ndb_index_range {
    uint32_t index;
    struct ndb_index_bound low, high;
    bool descending;
    bool unordered; /* In order only among the rows of each fragment: nothing waits for a slow one.
                     */
};

/* A value of a condition, by the C type that it comes from. */
enum ndb_bound_kind {
    NDB_BOUND_INT = 0,
    NDB_BOUND_UINT = 1,
    NDB_BOUND_DOUBLE = 2,
    NDB_BOUND_TEXT = 3,
    NDB_BOUND_STORED = 4
};
struct ndb_bound {
    enum ndb_bound_kind kind;
    uint32_t size; /* Bytes of a text or a stored value. */
    union {
        int64_t integer;
        uint64_t natural;
        double real;
        const void *bytes;
    } value;
};
/* Integers: for integers, decimals, float, double and year. Any thread. */
NDB_API struct ndb_bound ndb_bound_int(int64_t value);
NDB_API struct ndb_bound ndb_bound_uint(uint64_t value);
/* For float and double. Any thread. */
NDB_API struct ndb_bound ndb_bound_double(double value);
/* For char and binary types, dates, times and decimals, as ndb_value_parse() reads it. The text is
   not copied: it stays until the call that gets the bound has returned. Any thread. */
NDB_API struct ndb_bound ndb_bound_text(const char *text);
/* The stored form of any type, as in a row. Not copied either. Any thread. */
NDB_API struct ndb_bound ndb_bound_stored(const void *value, uint32_t size);

/*
 * A range as a condition, without arrays of pointers:
 *
 *   const struct ndb_bound ends[] = {ndb_bound_int(5), ndb_bound_int(9)};
 *   struct ndb_range *range = ndb_range_where(ndb, table, "id BETWEEN ? AND ?", ends, 2, &where);
 *   const struct ndb_scan_options options = {.range = ndb_range_get(range)};
 *
 * The condition has =, <, <=, >, >=, BETWEEN, IS NULL and IS NOT NULL, joined by AND; each ? is the
 * next of the `count` bounds (NULL when there are none), and values may stand in the text, as for
 * ndb_filter_where(). An ordered index is found for it: its first columns are those of the
 * condition, all but the last equal to a value. The rows of the range are just those for which the
 * condition is true, and where a column has several bounds the narrowest ones count. NULL with
 * ndb_error(ndb): 4243 no such index, 4313 a value that is not of its column's type, 4314 or 4216
 * one that the column cannot have, 4004 no such column, 4118 more or fewer bounds than question
 * marks, 4247 another condition. The detail names the column and its type; `where` (may be NULL)
 * tells where in the text. Free the range, after the calls that use it have returned: a scan copies
 * it when it starts. Own thread of `ndb`; the range itself is for any thread.
 */
struct ndb_range;
NDB_API struct ndb_range *ndb_range_where(ndb_t *ndb, const struct ndb_table *table,
                                          const char *condition, const struct ndb_bound *bounds,
                                          uint32_t count, struct ndb_sql_error *where);
/* For ndb_scan_options and ndb_scan_count_range(); lives as long as the range. `descending` and
   `unordered` may be set. NULL of NULL. Any thread. */
NDB_API struct ndb_index_range *ndb_range_get(struct ndb_range *range);
/* Any thread. */
NDB_API void ndb_range_free(struct ndb_range *range);

struct ndb_scan_options {
    enum ndb_lock_mode lock; /* Options NULL = NDB_COMMITTED_READ. Rows of locking scans stay locked
                                until the next batch is fetched. */
    uint32_t parallelism;    /* Fragments read at a time, 0 = all. */
    uint32_t batch_rows; /* Rows of a batch per fragment, 0 = the cluster's default; at most 992. */
    uint32_t batch_bytes; /* Bytes of a batch per fragment, 0 = the cluster's default. */
    const uint8_t *mask;  /* Columns of the record wanted, as in ndb_operation_options. */
    const struct ndb_program *program;   /* Only rows that it does not refuse, see
                                            ndb_filter_program(); it must not store. Copied. */
    uint32_t limit;                      /* Rows that are given at most; 0 = all. */
    const struct ndb_index_range *range; /* Rows in the order of an index; NULL = the table's in any
                                            order. Copied. Errors: 4243 no such index, 4259 a bound
                                            with wrong values, or an ordered scan of more than 256
                                            fragments. `parallelism` is of no use to an
                                            ordered one. */
    /* So many ranges stand there, at most NDB_RANGES_MAX; 0 = one. They are read in this order,
       each in its own; a row that several of them hold is given once for each (ndb_scan_range()).
       All have the same index, `descending` and `unordered`, and together, with 8 bytes for each
       and 4 for each value, at most 15600 bytes: else 4259. */
    uint32_t range_count;
    /* NULL, or the scan is asynchronous: rows are taken by ndb_scan_try_next, and each time that it
       has said NDB_SCAN_NOT_YET, and once after the start, `ready` runs when there is something.
       Each run counts as one completion for ndb_poll, and who waits for it in ndb_pending. */
    ndb_scan_callback ready;
    void *context;
};

/* What a scan by columns can give besides columns: where the row is, two uint32_t (page and slot in
   its fragment), and the GCI (uint32_t) of the commit that has changed it last. */
#define NDB_ROW_ID  0xFFF2u
#define NDB_ROW_GCI 0xFFF3u

/* Begins a scan of the table, or of a range of an index, that maps rows by `record`. Own thread. */
NDB_API struct ndb_scan *ndb_scan_start(ndb_t *ndb, const struct ndb_record *record,
                                        const struct ndb_scan_options *options,
                                        uint32_t timeout_ms);
/* The same for a list of column ids (count 0: all columns), NDB_ROW_ID and NDB_ROW_GCI among them:
   values are read by ndb_scan_value. */
NDB_API struct ndb_scan *ndb_scan_start_columns(ndb_t *ndb, struct ndb_table *table,
                                                const uint32_t *columns, uint32_t count,
                                                const struct ndb_scan_options *options,
                                                uint32_t timeout_ms);
/* 1: *row is the next row, laid out as the record says, valid until the next call on this scan
   (*row is NULL for scans by columns). 0: end. -1: error. `timeout_ms` bounds this call; a scan
   whose wait expires is closed. Own thread. */
NDB_API int ndb_scan_next(struct ndb_scan *scan, const void **row, uint32_t timeout_ms);
/* The same into the application's memory (record's row size). */
NDB_API int ndb_scan_next_copy(struct ndb_scan *scan, void *row, uint32_t timeout_ms);
#define NDB_SCAN_NOT_YET 2
/* As ndb_scan_next, without waiting and also in callbacks; NDB_SCAN_NOT_YET: nothing has come yet.
   Batches are asked for ahead of the rows given: what the application does meanwhile (ndb_process
   moves data) costs no waiting. The timeout given at the start bounds each wait for something new;
   then the scan has the error 4012. Own thread. */
NDB_API int ndb_scan_try_next(struct ndb_scan *scan, const void **row);
/* A column of the current row, without copying; *value NULL when it is NULL. */
NDB_API int ndb_scan_value(const struct ndb_scan *scan, uint32_t column, const void **value,
                           uint32_t *size);
/* The fragment that the current row came from. */
NDB_API uint32_t ndb_scan_fragment(const struct ndb_scan *scan);
/* The range for which the current row is given: its place in ndb_scan_options.range. */
NDB_API uint32_t ndb_scan_range(const struct ndb_scan *scan);
/* Never NULL; code 0 when there was no error. */
NDB_API const ndb_error_t *ndb_scan_error(const struct ndb_scan *scan);
/* Ends the scan (also before its end; without waiting for the cluster) and frees it. */
NDB_API void ndb_scan_close(struct ndb_scan *scan);
/* Counts the rows of a table without fetching them. 0 or -1 with ndb_error(ndb). Own thread. */
NDB_API int ndb_scan_count(ndb_t *ndb, struct ndb_table *table, uint64_t *count,
                           uint32_t timeout_ms);
/* The rows that the program does not refuse (NULL = all), counted in the data nodes. */
NDB_API int ndb_scan_count_where(ndb_t *ndb, struct ndb_table *table,
                                 const struct ndb_program *program, uint64_t *count,
                                 uint32_t timeout_ms);
/* The same of a range of an index. */
NDB_API int ndb_scan_count_range(ndb_t *ndb, struct ndb_table *table,
                                 const struct ndb_index_range *range,
                                 const struct ndb_program *program, uint64_t *count,
                                 uint32_t timeout_ms);
/* The same of several ranges, see ndb_scan_options: rows that several ranges hold count for each.
 */
NDB_API int ndb_scan_count_ranges(ndb_t *ndb, struct ndb_table *table,
                                  const struct ndb_index_range *ranges, uint32_t range_count,
                                  const struct ndb_program *program, uint64_t *count,
                                  uint32_t timeout_ms);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#include "ndb/program.h"
