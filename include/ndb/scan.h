/* scan.h -- the C client API: rows of a table, or of ranges of an index. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/async.h"

#ifdef __cplusplus
extern "C" {
#endif

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
       and 4 for each value, at most 15600 bytes: else 4259, as for a number without ranges. */
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
   (*row is NULL for scans by columns). 0: end. -1: error, in ndb_scan_error(); a call in a callback
   is refused with 4507, which ndb_error() has, too, and alone has when a call waits for this scan.
   `timeout_ms` bounds this call; a scan whose wait expires is closed. Own thread. */
NDB_API int ndb_scan_next(struct ndb_scan *scan, const void **row, uint32_t timeout_ms);
/* The same into the application's memory (record's row size). */
NDB_API int ndb_scan_next_copy(struct ndb_scan *scan, void *row, uint32_t timeout_ms);
#define NDB_SCAN_NOT_YET 2
/* As ndb_scan_next, without waiting and also in callbacks; NDB_SCAN_NOT_YET: nothing has come yet.
   Batches are asked for ahead of the rows given: what the application does meanwhile (ndb_process
   moves data) costs no waiting. The timeout given at the start bounds each wait for something new;
   then the scan has the error 4012. Refused while a call waits for this scan: 4507 in ndb_error().
   Own thread. */
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
/* Ends the scan (also before its end; without waiting for the cluster) and frees it. In a callback
 * not that which a call waits for: it stays, and ndb_error() is 4507. */
NDB_API void ndb_scan_close(struct ndb_scan *scan);
/* Counts the rows of a table without fetching them. 0 or -1 with ndb_error(ndb). Own thread. */
NDB_API int ndb_scan_count(ndb_t *ndb, struct ndb_table *table, uint64_t *count,
                           uint32_t timeout_ms);
/* The rows that the program does not refuse (NULL = all), counted in the data nodes. */
NDB_API int ndb_scan_count_where(ndb_t *ndb, struct ndb_table *table,
                                 const struct ndb_program *program, uint64_t *count,
                                 uint32_t timeout_ms);
/* The same of a range of an index; NULL = all rows. */
NDB_API int ndb_scan_count_range(ndb_t *ndb, struct ndb_table *table,
                                 const struct ndb_index_range *range,
                                 const struct ndb_program *program, uint64_t *count,
                                 uint32_t timeout_ms);
/* The same of several ranges, see ndb_scan_options: rows that several ranges hold count for each. A
 * number without ranges is an error (4259). */
NDB_API int ndb_scan_count_ranges(ndb_t *ndb, struct ndb_table *table,
                                  const struct ndb_index_range *ranges, uint32_t range_count,
                                  const struct ndb_program *program, uint64_t *count,
                                  uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif
