/* transaction.h -- the C client API: transactions, their operations, and their durability. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * operations. In a callback not that which a call waits for: it stays, and ndb_error() is 4507. */
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
 * ndb_transaction_error(): from then on the transaction can only be rolled back. What is defined too
 * late, while a commit is on its way or behind it, takes nothing of that back. Own thread.
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
   and, for writes, the values; for reads name the columns wanted; all of it before the next
   operation is defined (else 4200, and nothing of the batch is sent). Values are in stored form,
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

/* Sends the operations defined since the last execute and waits for all answers. Those on one row
   are done in the order in which they were defined; rows are done side by side, so a value of a
   unique index that one row gives up for another takes an execute with NDB_NO_COMMIT between (else
   893 may be the answer). There may be any number of operations: what does not fit into the send buffer is sent by and by, as one transaction all
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

/* Never NULL; code 0 when there was no error. An execute, or a question for the outcome, that is
   refused for what it is called with, in or on (4100, 4114, 4118, 4507, or without a callback) is
   told of until the next call that executes, asks or defines; what was defined, and how the
   transaction has ended, stays. */
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
 * each of their LDM instances. A transaction that has changed nothing counts as not committed,
 * unless its execute has said 0. Own thread.
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

#ifdef __cplusplus
}
#endif
