/* row.h -- the C client API: one row or many by one call, and numbers for new rows. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/transaction.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * table has one), 241 there is a later table of the same number, for which numbers have been taken;
 * or all data nodes were lost since the table was opened, and there is none of its name and number
 * any more (a renamed one has to be opened again). Nobody looks whether the table is there
 * otherwise: of one that was dropped numbers go on, and its rows are refused. After any error it
 * may be called again. The counters are rows of the table sys/SYSTAB_0: who drops or changes that
 * one gives up all this. Own thread.
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
 * What it executes asynchronously is waited for behind it, and callbacks run there. It does not close
 * the transaction (4507). 0: committed. -1 with ndb_error(ndb): it is not, as when fn has rolled it
 * back (4293); or the outcome is unknown, which is never tried again; or it is committed, and rows
 * that its last execute was to read have not come (4115), or fn has given up behind its commit
 * (4293, whose status is unknown then). Own thread.
 */
typedef int (*ndb_transaction_function)(struct ndb_transaction *transaction, void *context);
NDB_API int ndb_run_transaction(ndb_t *ndb, ndb_transaction_function function, void *context,
                                uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif
