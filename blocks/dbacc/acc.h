/* acc.h -- DBACC: hash index from key hash to row id, and row locks. Plain calls inside one LDM
 * instance group. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/tckey.h"

/*
 * The neighbour's handle is block_neighbour(block, BLOCK_DBACC), cast to struct acc *. Nothing here
 * is thread-safe: only blocks of the same instance group, hence of the same thread, may call.
 * Nothing here sends signals, calls back into LQH, or recurses.
 */
struct acc;
struct acc_frag; /* The index of one fragment; made by tup_frag_create(), found by tup_frag_index().
                  */
struct tup_frag;
struct tup;

#define ROW_NONE 0xFFFFFFFFu /* No row id is this. */

/* Makes the block's instance. Its pools are made at READ_CONFIG_REQ. */
struct block *acc_create(struct thread *thread, uint32_t instance);

/* --- Index. --- */

/*
 * The row with this key, or ROW_NONE. Rows inserted by a transaction that has not committed are
 * found too; TUP decides who sees them. `hash` is the low half of key_hash(); `key` (key_words
 * words) has passed key_split().
 */
uint32_t acc_find(const struct acc_frag *frag, uint32_t hash, const uint32_t *key,
                  uint32_t key_words);

/* Fetches the cache line that acc_find() will look at. Call it for the operations of a batch before
 * executing them. */
void acc_prefetch(const struct acc_frag *frag, uint32_t hash);

/* The row that probably has the key, by that line alone; ROW_NONE: it names none. Until the next
 * change of the fragment. */
uint32_t acc_likely_row(const struct acc_frag *frag, uint32_t hash);

/* The second stage: fetches the row of acc_likely_row(). */
void acc_prefetch_row(const struct acc_frag *frag, uint32_t hash);

/* --- Row locks: shared or exclusive, owned by a transaction, one lock record per operation. --- */

struct acc_lock_req {
    uint32_t transid1;
    uint32_t transid2;
    uint32_t op;         /* Caller's operation record; comes back in struct acc_ready. */
    enum lock_mode mode; /* LOCK_SHARED or LOCK_EXCLUSIVE. */
    bool nowait;         /* Instead of a wait the error is ERR_NOWAIT_LOCK. */
    uint64_t now_ms;
};

#define ACC_WAIT 0xFFFFFFFFu /* Result of acc_lock(), not an error. */

/*
 * Locks an existing row. Returns
 *   0                   the lock is held; *lock is its reference, to be given to acc_unlock() once
 *   ACC_WAIT            the operation stands in the row's queue; *lock is the place in the queue.
 *                       The operation comes back through acc_ready_next(), or leaves by
 *                       acc_unlock(*lock)
 *   ERR_NOWAIT_LOCK     `nowait`, and the lock is not free
 *   ERR_LQH_OPERATIONS  there is no lock record
 * After an error *lock is REF_NONE and nothing has changed. A transaction that holds a lock on the
 * row gets another one at once if it is shared, if it holds an exclusive one, or if nobody else
 * holds one (upgrade); otherwise an upgrade waits before all other waiters. Nobody else overtakes.
 */
uint32_t acc_lock(struct acc *acc, struct acc_frag *frag, uint32_t row,
                  const struct acc_lock_req *req, uint32_t *lock);

/*
 * Gives back a lock, or leaves the queue, or takes back a grant that was not fetched yet. Waiters
 * that may go on now are put on the ready list. `lock` was returned by acc_lock() or by TUP and has
 * not been reported as gone by acc_ready_next(). A lock whose row has vanished meanwhile is still
 * given back like any other.
 */
void acc_unlock(struct acc *acc, uint32_t lock);

/* An operation that need not wait any longer. */
struct acc_ready {
    uint32_t op;
    uint32_t lock;  /* The lock, which is held now, by its old reference; REF_NONE: it has left the
                      queue. */
    uint32_t error; /* 0, or ERR_LOCK_TIMEOUT: it has waited too long; lock is REF_NONE. */
};

/*
 * Takes the next operation from the ready list, in the order in which they became ready; false when
 * it is empty. With error 0 the operation is executed again from acc_find() on: with a lock the row
 * is still there (acc_lock() is not called again); without one the row has vanished. LQH drains the
 * list after everything that unlocks, commits, aborts.
 */
bool acc_ready_next(struct acc *acc, struct acc_ready *ready);
bool acc_ready_empty(const struct acc *acc);

/*
 * Moves waiters that have waited for deadlock_timeout_ms to the ready list with ERR_LOCK_TIMEOUT;
 * at most `max` of them. Returns how many. Call it every 10 ms or so.
 */
uint32_t acc_lock_tick(struct acc *acc, uint64_t now_ms, uint32_t max);

/* Lock records in use (held and waiting), and waiting. */
uint32_t acc_locks_in_use(const struct acc *acc);
uint32_t acc_locks_waiting(const struct acc *acc);

/* Asks the memory for a lock record that is used a little later; the reference may be stale. */
void acc_prefetch_lock(const struct acc *acc, uint32_t lock);

/* --- Only for TUP, which keeps rows and index together. --- */

/* A new empty index over the rows of `rows`. NULL when there is no record for it. */
struct acc_frag *acc_frag_create(struct acc *acc, struct tup_frag *rows);
/* Gives back a bounded part of the memory; true when nothing is left and `frag` is gone. */
bool acc_frag_drop_step(struct acc *acc, struct acc_frag *frag);
/* Adds an element, whose row is not there yet. 0, ERR_INDEX_MEMORY, or ERR_HASH_MAXIMUM: too many
 * equal hashes. */
uint32_t acc_insert(struct acc *acc, struct acc_frag *frag, uint32_t hash, uint32_t row);
/* Removes the element of (hash, row), which is there. */
void acc_remove(struct acc *acc, struct acc_frag *frag, uint32_t hash, uint32_t row);
/* The row is about to be freed: its holders keep their references, its waiters become ready in
 * order. */
void acc_row_gone(struct acc *acc, struct acc_frag *frag, uint32_t row);
/* Calls visit(context, hash, row) for every element, bucket by bucket. For checks. */
void acc_frag_walk(const struct acc_frag *frag,
                   void (*visit)(void *context, uint32_t hash, uint32_t row), void *context);
uint64_t acc_frag_elements(const struct acc_frag *frag);
uint32_t acc_frag_pages(
    const struct acc_frag *frag); /* Pages of 32 KB; shared overflow pages are not counted. */
