/* async.h -- the C client API: calls that do not wait, for event loops. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/row.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Asynchronous calls ---- */

/* result 0 or -1, as ndb_execute would return. Runs inside ndb_poll, ndb_process or any waiting
   call on the same ndb_t. It may define, execute asynchronously and close, but not close or execute
   what a call waits for just then; that, and calls that wait, are refused in it (4507, 4100). */
typedef void (*ndb_callback)(int result, struct ndb_transaction *transaction, void *context);

/* Queues the operations defined so far; they are sent when flush_bytes wait, by ndb_flush, or by
   the next call that waits; of what does not fit into the send buffer the rest in ndb_poll,
   ndb_process or such a call. -1: refused at once, the callback will not run. Own thread. */
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
/* Sends what is queued, waits until at least min_completions callbacks have run (0: does not wait),
   nothing is pending any more, or the time is up. Returns how many ran, -1 on error. Here
   timeout_ms 0 does not wait. Own thread. */
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

#ifdef __cplusplus
}
#endif
