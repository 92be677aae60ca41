/* lqh_scan_lock.c -- locking scans: each row is locked before it is read; a locked one is waited
 * for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_program.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "blocks/dblqh/scan/lqh_scan_index.h"
#include "signals/tckey.h"
#include "values/errors.h"

#define SLOTS_PER_ROW 8u

static struct lqh_scan_locks *locks_get(struct lqh *lqh, const struct lqh_scan *scan)
{
    struct lqh_scan_locks *locks = pool_find(&lqh->scan_locks, scan->locks);
    ndbrequire(locks != NULL);
    return locks;
}

/* A locking scan needs an operation record, which stands in lock queues for it, and a place for the
 * batch's locks. */
uint32_t lqh_scan_lock_begin(struct lqh *lqh, struct lqh_scan *scan)
{
    struct lqh_op *op = pool_seize(&lqh->operations);
    if (op == NULL) return ERR_LQH_OPERATIONS;
    struct lqh_scan_locks *locks = pool_seize(&lqh->scan_locks);
    if (locks == NULL) {
        pool_release(&lqh->operations, op);
        return ERR_LQH_SCAN_RECORDS;
    }
    op->scan = scan->pool.ref;
    op->state = LQH_PREPARED;
    scan->op = op->pool.ref;
    scan->locks = locks->pool.ref;
    return 0;
}

void lqh_scan_unlock_batch(struct lqh *lqh, struct lqh_scan *scan)
{
    if (scan->locks == REF_NONE) return;
    struct lqh_scan_locks *locks = locks_get(lqh, scan);
    for (uint32_t i = 0; i < locks->count; i++)
        acc_unlock(lqh->acc, locks->lock[i]);
    locks->count = 0;
}

void lqh_scan_lock_end(struct lqh *lqh, struct lqh_scan *scan)
{
    if (scan->locks == REF_NONE) return;
    lqh_scan_unlock_batch(lqh, scan);
    pool_release(&lqh->scan_locks, locks_get(lqh, scan));
    struct lqh_op *op = lqh_op_get(lqh, scan->op);
    if (op->lock != REF_NONE) acc_unlock(lqh->acc, op->lock); /* It still stood in a queue. */
    pool_release(&lqh->operations, op);
    scan->locks = REF_NONE;
    scan->op = REF_NONE;
}

/* The row is locked by `lock`: read it, or give the lock back when the row is not there for this
 * transaction. */
static uint32_t take_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                         uint32_t row, uint32_t lock, struct lqh_rows *rows)
{
    uint32_t error = tup_row_alive(lqh->tup, frag, row, scan->tc_frag, lqh_scan_owner(scan))
                         ? 0
                         : ERR_ROW_NOT_FOUND;
    bool fits = true;
    struct tup_program program = lqh_scan_program(lqh, scan, frag);
    if (error == 0 && scan->index != REF_NONE && !lqh_scan_index_same(lqh, scan, frag, row))
        error = ERR_ROW_NOT_FOUND; /* Another place of the index has it now. */
    if (error == 0) error = lqh_scan_fit(lqh, scan, &program, row, rows, &fits);
    if (error == 0 && !fits) error = ERR_ROW_NOT_FOUND;
    if (error == 0) error = lqh_scan_read(lqh, scan, frag, row, rows);
    if (error != 0) {
        acc_unlock(lqh->acc, lock);
        return error == ERR_ROW_NOT_FOUND ? 0 : error;
    }
    struct lqh_scan_locks *locks = locks_get(lqh, scan);
    ndbrequire(locks->count < LQH_SCAN_LOCKS); /* batch_rows is not more. */
    locks->lock[locks->count++] = lock;
    return 0;
}

static uint32_t lock_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                         uint32_t row, uint32_t *lock)
{
    struct acc_lock_req req = {.transid1 = scan->tc_frag,
                               .transid2 = lqh_scan_owner(scan),
                               .op = scan->op,
                               .mode = (enum lock_mode)scan->mode,
                               .now_ms = now_ms(&lqh->block)};
    return acc_lock(lqh->acc, tup_frag_index(frag), row, &req, lock);
}

/* Locks and reads one row. 0, ACC_WAIT, or an error. */
static uint32_t step_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag,
                         uint32_t row, struct lqh_rows *rows)
{
    uint32_t lock;
    uint32_t result = lock_row(lqh, scan, frag, row, &lock);
    if (result == 0) return take_row(lqh, scan, frag, row, lock, rows);
    if (result == ACC_WAIT) {
        lqh_op_get(lqh, scan->op)->lock = lock;
        scan->wait_row = row;
    }
    return result;
}

/* The next row; ROW_NONE: a few places had none, or it is the end. */
static uint32_t next_row(struct lqh *lqh, struct lqh_scan *scan, struct tup_frag *frag, bool *end)
{
    uint32_t row;
    if (scan->index != REF_NONE) return lqh_scan_index_row(lqh, scan, frag, end);
    uint32_t count = tup_scan_next(lqh->tup, frag, &scan->position, scan->tc_frag,
                                   lqh_scan_owner(scan), &row, 1, SLOTS_PER_ROW, end);
    return count > 0 ? row : ROW_NONE;
}

void lqh_scan_lock_step(struct lqh *lqh, struct lqh_scan *scan)
{
    struct tup_frag *frag = tup_frag_get(lqh->tup, scan->frag);
    uint32_t step = block_config(&lqh->block)->scan_step_rows;
    struct lqh_rows rows = {0};
    uint32_t result = 0;
    bool end = false;

    for (uint32_t i = 0; i < step && result == 0 && !end && !lqh_scan_full(scan, &rows) &&
                         rows.steps < LQH_FILTER_STEPS;
         i++) {
        uint32_t row = next_row(lqh, scan, frag, &end);
        if (row != ROW_NONE) result = step_row(lqh, scan, frag, row, &rows);
    }
    if (result == ACC_WAIT) end = false; /* The row waited for comes first. */
    scan->end = end;
    lqh_scan_send_rows(lqh, scan, &rows);
    if (result == ACC_WAIT) {
        jam();
        scan->state = FSCAN_LOCK_WAIT;
        lqh_lock_waits(lqh);
    } else if (result != 0) {
        jam();
        lqh_scan_fail(lqh, scan, result);
    } else if (end || lqh_scan_full(scan, &rows)) {
        jam();
        lqh_scan_deliver(lqh, scan);
    } else {
        lqh_continue(lqh, LQH_WORK_SCAN, scan->pool.ref);
    }
}

void lqh_scan_lock_ready(struct lqh *lqh, struct lqh_scan *scan, const struct acc_ready *ready)
{
    struct lqh_op *op = lqh_op_get(lqh, scan->op);
    struct lqh_rows rows = {0};
    uint32_t error = ready->error == ERR_LOCK_TIMEOUT ? ERR_SCAN_TIMEOUT : ready->error;

    ndbrequire(scan->state == FSCAN_LOCK_WAIT && op->lock != REF_NONE);
    op->lock = REF_NONE;
    scan->state = FSCAN_READING;
    if (error == 0 && ready->lock != REF_NONE) {
        jam();
        error = take_row(lqh, scan, tup_frag_get(lqh->tup, scan->frag), scan->wait_row, ready->lock,
                         &rows);
    }
    if (error != 0) {
        lqh_scan_fail(lqh, scan, error);
        return;
    }
    lqh_scan_send_rows(lqh, scan, &rows);
    if (lqh_scan_full(scan, &rows)) {
        jam();
        lqh_scan_deliver(lqh, scan);
        return;
    }
    lqh_continue(lqh, LQH_WORK_SCAN, scan->pool.ref);
}
