/* lqh_check.c -- DBLQH's invariants over all records; between signals, by the simulator and before
 * a trace. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_read.h"
#include "blocks/dblqh/redo/lqh_log.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "blocks/dblqh/scan/lqh_scan_index.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/copy.h"
#include "signals/tckey.h"

/* Sums that the walks over the records have made. */
struct seen {
    uint32_t waiting;
    uint32_t segments;
    uint32_t changes;
    uint32_t scan_ops;
    uint32_t scan_locks;
    uint32_t scan_programs;
    uint32_t scan_indexes;
    uint32_t scan_ranges;
    uint32_t copy_ops;
    struct lqh_demand demand[LQH_DEMANDS];
};

static void check_op(struct lqh *lqh, const struct lqh_op *op, struct seen *seen)
{
    if (op->state == LQH_OF_COPY) {
        ndbrequire(lqh_copy_get(lqh, op->scan)->op == op->pool.ref);
        seen->copy_ops++;
        return;
    }
    if (op->scan != REF_NONE) {
        ndbrequire(lqh_scan_get(lqh, op->scan)->op == op->pool.ref);
        seen->scan_ops++;
        return;
    }
    ndbrequire(lqh_table_get(lqh, op->table_id)->users > 0); /* I-LQH-3 */
    if (op->demand != 0) {
        struct lqh_demand *demand = &seen->demand[op->demand - 1u];
        demand->operations++;
        demand->changes += op->demand_words != 0;
        demand->redo_words += op->demand_words;
    }
    bool holds_data = op->state == LQH_WAITING || op->state == LQH_DELAYED;
    ndbrequire(holds_data == (op->saved != REF_NONE));
    if (holds_data) {
        ndbrequire(op->change == REF_NONE);
        seen->waiting += op->state == LQH_WAITING;
        for (uint32_t ref = op->saved; ref != REF_NONE;) {
            const struct lqh_segment *segment = pool_find(&lqh->segments, ref);
            ndbrequire(segment != NULL);
            seen->segments++;
            ref = segment->next;
        }
    }
    if (op->state == LQH_PREPARED)
        ndbrequire((op->lock != REF_NONE) == (op->nothing == 0)); /* I-LQH-2 */
    if (op->nothing) ndbrequire(op->change == REF_NONE && op->redo_words == 0);
    if (op->state == LQH_COMMITTED) {
        ndbrequire(op->change == REF_NONE);
        ndbrequire(op->prev_ref != 0 ||
                   op->lock == REF_NONE); /* I-LQH-4: the primary unlocks at COMMIT. */
    }
    if (op->change != REF_NONE) seen->changes++;
}

static void check_scan(struct lqh *lqh, const struct lqh_scan *scan, struct seen *seen)
{
    ndbrequire(lqh_table_get(lqh, scan->table_id)->users > 0);
    ndbrequire((scan->mode == LOCK_COMMITTED) == (scan->locks == REF_NONE));
    if (scan->state == FSCAN_LOCK_WAIT) {
        ndbrequire(lqh_op_get(lqh, scan->op)->lock != REF_NONE);
        seen->waiting++;
    }
    if (scan->locks != REF_NONE) {
        const struct lqh_scan_locks *locks = pool_find(&lqh->scan_locks, scan->locks);
        ndbrequire(locks != NULL && locks->count <= LQH_SCAN_LOCKS);
        seen->scan_locks++;
    }
    if (scan->program != REF_NONE) {
        ndbrequire(pool_find(&lqh->scan_programs, scan->program) != NULL);
        seen->scan_programs++;
    }
    if (scan->index != REF_NONE) {
        const struct lqh_scan_index *index = pool_find(&lqh->scan_indexes, scan->index);
        ndbrequire(index != NULL && index->position.range_at < index->range_words);
        ndbrequire((index->ranges == REF_NONE) == (index->range_words <= LQH_RANGE_WORDS));
        seen->scan_indexes++;
        seen->scan_ranges += index->ranges != REF_NONE;
    }
}

static void check_copy(struct lqh *lqh, const struct lqh_copy_source *copy, struct seen *seen)
{
    uint32_t under_way = copy->sent - copy->confirmed;
    ndbrequire(lqh_table_get(lqh, copy->table_id)->users > 0);
    ndbrequire(under_way <= COPY_WINDOW); /* I-LQH-8: what is locked is on its way. */
    for (uint32_t i = 0; i < COPY_WINDOW; i++) {
        const struct lqh_copy_batch *batch = &copy->batch[(copy->confirmed + i) % COPY_WINDOW];
        ndbrequire(batch->count == 0 || i < under_way); /* A batch may tell of places alone. */
    }
    if (copy->state != COPY_LOCK_WAIT) return;
    ndbrequire(lqh_op_get(lqh, copy->op)->lock !=
               REF_NONE); /* Else only the row waited for is locked. */
    seen->waiting++;
}

void lqh_check(struct block *block)
{
    struct lqh *lqh = lqh_of(block);
    struct seen seen = {0};
    uint64_t users = 0;
    if (lqh->table == NULL) return; /* It is not configured yet. */

    for (struct lqh_op *op = pool_next(&lqh->operations, 0); op != NULL;
         op = pool_next(&lqh->operations, pool_index(op->pool.ref)))
        check_op(lqh, op, &seen);
    for (struct lqh_scan *s = pool_next(&lqh->scans, 0); s != NULL;
         s = pool_next(&lqh->scans, pool_index(s->pool.ref)))
        check_scan(lqh, s, &seen);
    for (struct lqh_copy_source *copy = pool_next(&lqh->copies, 0); copy != NULL;
         copy = pool_next(&lqh->copies, pool_index(copy->pool.ref)))
        check_copy(lqh, copy, &seen);
    for (uint32_t i = 0; i < lqh->table_count; i++) {
        if (lqh->table[i] != NULL) users += lqh->table[i]->users;
    }
    ndbrequire(users == (uint64_t)lqh->operations.in_use - seen.scan_ops - seen.copy_ops +
                            lqh->scans.in_use + lqh->copies.in_use +
                            (lqh->copy.sender != 0)); /* I-LQH-3 */
    ndbrequire(seen.copy_ops == lqh->copies.in_use);
    for (uint32_t i = 0; i < LQH_DEMANDS; i++)
        ndbrequire(seen.demand[i].operations == lqh->demand[i].operations &&
                   seen.demand[i].changes == lqh->demand[i].changes &&
                   seen.demand[i].redo_words == lqh->demand[i].redo_words);
    ndbrequire(lqh->reads.passed[LQH_READ_EXECUTE] == lqh->reads.added ||
               lqh->reads.flush_sent); /* I-LQH-6: none is forgotten. */
    lqh_redo_check(lqh);
    ndbrequire(seen.segments == lqh->segments.in_use);
    ndbrequire(seen.scan_locks == lqh->scan_locks.in_use && seen.scan_ops == seen.scan_locks);
    ndbrequire(seen.scan_programs == lqh->scan_programs.in_use);
    ndbrequire(seen.scan_indexes == lqh->scan_indexes.in_use);
    ndbrequire(seen.scan_ranges == lqh->scan_ranges.in_use);
    ndbrequire(tup_changes_open(lqh->tup) <=
               seen.changes); /* One change per row and transaction. */
    ndbrequire(seen.waiting == 0 || lqh->tick_sent ||
               lqh->ready_sent); /* I-LQH-5: no wait without a timeout. */
}
