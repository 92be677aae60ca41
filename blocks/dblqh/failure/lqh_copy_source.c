/* lqh_copy_source.c -- gives the rows of a fragment to a node that comes back: in row id order,
 * each under a lock until it is there. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a row is read here its lock is held, so it is committed, and all that changes it later goes
 * through the chain with the other node behind this one: it arrives there behind the row. A copy
 * that waits for a lock has sent what it holds, so nobody waits for it in turn. What is done here
 * in a place that the walk has not come to is nothing at the other node (lqh_copy_told()).
 */
#include <string.h>
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/scan/lqh_scan.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/copy.h"
#include "signals/tckey.h"
#include "values/errors.h"
#include "kernel/base/page_dir.h"

#define INCLUDE_MS  10u   /* Time between two looks whether the copy may begin. */
#define MEMORY_MS   10u   /* Time between two tries when there is no lock record. */
#define BATCH_WORDS 4096u /* The row that reaches this is the batch's last. */
#define STEP_PLACES 4096u
#define IS_COPY     0x00C00000u /* No block has such a number. */

/* While transactions are executed here, they have the time: the least share, times the pace. */
#define BUSY_STEP_ROWS    32u   /* Rows of a step; then others have their turn. */
#define BUSY_STEP_PLACES  1024u /* Places of a step. */
#define BUSY_SHARE_ROWS   16u   /* Rows per millisecond of all copies: one or two percent. */
#define BUSY_SHARE_WORDS  1024u /* Words per millisecond of all copies. */
#define BUSY_SHARE_PLACES 1024u /* Places per millisecond of all copies. */

/* lqh->out has the rows, then the map, which has at most two words per place that was looked at. */
#define MAP_AT (BATCH_WORDS + COPY_ROW_HEAD_WORDS + TUP_ROW_WORDS_MAX)
static_assert(MAP_AT + 2u * STEP_PLACES <= LQH_OUT_WORDS, "the map fits behind the rows");

/* What has been gathered in lqh->out. */
struct copy_gathered {
    uint32_t rows;
    uint32_t words;
    struct tup_copy_map map;
};

static struct lqh_copy_batch *batch_at(struct lqh_copy_source *copy, uint32_t number)
{
    return &copy->batch[number % COPY_WINDOW];
}

static void unlock_batch(struct lqh *lqh, struct lqh_copy_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        acc_unlock(lqh->acc, batch->lock[i]);
    batch->count = 0;
}

struct lqh_copy_source *lqh_copy_get(struct lqh *lqh, uint32_t ref)
{
    struct lqh_copy_source *copy = pool_find(&lqh->copies, ref);
    ndbrequire(copy != NULL);
    return copy;
}

/* The caller lets those go on who waited for its locks: lqh_run_ready(). */
static void source_release(struct lqh *lqh, struct lqh_copy_source *copy)
{
    struct lqh_op *op = lqh_op_get(lqh, copy->op);
    uint32_t table_id = copy->table_id;
    for (uint32_t i = 0; i < COPY_WINDOW; i++)
        unlock_batch(lqh, &copy->batch[i]);
    if (op->lock != REF_NONE) acc_unlock(lqh->acc, op->lock);
    pool_release(&lqh->operations, op);
    pool_release(&lqh->copies, copy);
    lqh_table_leave(lqh, table_id);
}

static void refuse(struct lqh *lqh, uint32_t target_ref, uint32_t target, uint32_t error)
{
    jam_data(error);
    struct copy_fragref ref = {.target = target, .error = error};
    sig_send(&lqh->block, target_ref, GSN_COPY_FRAGREF, PRIO_B, &ref);
}

static void source_fail(struct lqh *lqh, struct lqh_copy_source *copy, uint32_t error)
{
    refuse(lqh, copy->target_ref, copy->target, error);
    source_release(lqh, copy);
}

/* What is done here from now on is executed there. */
static void given(struct lqh *lqh, const struct lqh_copy_source *copy)
{
    struct lqh_table *table = lqh_table_get(lqh, copy->table_id);
    if (table->given_rank != copy->rank) memset(table->given, 0, sizeof table->given);
    table->given_rank = copy->rank;
    table->given[copy->fragment_id / 32u] |= 1u << copy->fragment_id % 32u;
}

static void finish(struct lqh *lqh, struct lqh_copy_source *copy)
{
    struct copy_fragconf conf = {.target = copy->target,
                                 .rows_lo = (uint32_t)copy->rows,
                                 .rows_hi = (uint32_t)(copy->rows >> 32),
                                 .gci = tup_checkpoint_gci(tup_frag_get(lqh->tup, copy->frag))};
    jam();
    given(lqh, copy);
    sig_send(&lqh->block, copy->target_ref, GSN_COPY_FRAGCONF, PRIO_B, &conf);
    source_release(lqh, copy);
}

/* Chooses what comes next in a copy that does not wait for a lock. */
static void go_on(struct lqh *lqh, struct lqh_copy_source *copy)
{
    if (copy->end) {
        copy->state = COPY_ENDING;
        if (copy->sent == copy->confirmed) finish(lqh, copy);
    } else if (copy->sent - copy->confirmed == COPY_WINDOW) {
        copy->state = COPY_FULL;
    } else {
        copy->state = COPY_READING;
        lqh_continue(lqh, LQH_WORK_COPY, copy->pool.ref);
    }
}

/* --- Rows. --- */

/* Returns 0, ACC_WAIT or ERR_LQH_OPERATIONS. */
static uint32_t lock_row(struct lqh *lqh, const struct lqh_copy_source *copy,
                         const struct tup_frag *frag, uint32_t row, uint32_t *lock)
{
    struct acc_lock_req req = {.transid1 = copy->pool.ref,
                               .transid2 = lqh->block.ref | IS_COPY,
                               .op = copy->op,
                               .mode = LOCK_SHARED,
                               .now_ms = now_ms(&lqh->block)};
    return acc_lock(lqh->acc, tup_frag_index(frag), row, &req, lock);
}

/* Puts the locked row at the position into the batch; the lock goes with it. 0 or ERR_CHECKSUM. */
static uint32_t take_row(struct lqh *lqh, struct lqh_copy_source *copy, const struct tup_frag *frag,
                         uint32_t row, uint32_t lock, struct copy_gathered *got)
{
    struct lqh_copy_batch *batch = batch_at(copy, copy->sent);
    uint32_t *at = lqh->out + got->words;
    ndbrequire(batch->count < COPY_BATCH_ROWS && batch->count == got->rows);
    batch->lock[batch->count++] = lock;
    uint32_t words = tup_copy_row(frag, row, at + COPY_ROW_HEAD_WORDS, TUP_ROW_WORDS_MAX, &at[2]);
    if (words == 0) return ERR_CHECKSUM;
    at[0] = words | tup_row_slot(frag, row) << 16;
    at[1] = tup_row_page(frag, row);
    got->rows++;
    got->words += COPY_ROW_HEAD_WORDS + words;
    copy->position.slot++;
    return 0;
}

/*
 * Takes up to `max` rows from the position on, and looks at up to *places places, which are counted
 * down. 0; ACC_WAIT: the row at the position is waited for; or an error. A row that is being
 * changed when the walk gets here is waited for even if the version before is not new: what was
 * done to it was nothing at the other node.
 */
static uint32_t take_rows(struct lqh *lqh, struct lqh_copy_source *copy,
                          const struct tup_frag *frag, uint32_t max, uint32_t *places,
                          struct copy_gathered *got)
{
    while (got->rows < max && got->words < BATCH_WORDS) {
        uint32_t lock;
        uint32_t row = tup_copy_next(frag, &copy->position, &got->map, places, &copy->end);
        if (row == ROW_NONE) return 0;
        uint32_t result = lock_row(lqh, copy, frag, row, &lock);
        if (result == ACC_WAIT) lqh_op_get(lqh, copy->op)->lock = lock;
        if (result == 0) result = take_row(lqh, copy, frag, row, lock, got);
        if (result != 0) return result;
    }
    return 0;
}

/* The row at the position, whose lock was waited for, and got. Whoever changed it may have aborted:
 * then it is like others that the other node has. */
static uint32_t take_waited(struct lqh *lqh, struct lqh_copy_source *copy,
                            const struct tup_frag *frag, struct copy_gathered *got)
{
    struct lqh_op *op = lqh_op_get(lqh, copy->op);
    uint32_t lock = op->lock;
    uint32_t row = tup_row_id(frag, copy->position.page, copy->position.slot);
    if (lock == REF_NONE) return 0;
    op->lock = REF_NONE;
    if (copy->gci != 0 && tup_row_gci(lqh->tup, frag, row) <= copy->gci) {
        jam();
        acc_unlock(lqh->acc, lock);
        return 0;
    }
    jam();
    return take_row(lqh, copy, frag, row, lock, got);
}

static bool moved(const struct lqh_copy_source *copy, const struct tup_scan_position *from)
{
    return copy->position.page != from->page || copy->position.slot != from->slot;
}

/* An empty node has nothing to learn of places without rows. */
static void send_rows(struct lqh *lqh, struct lqh_copy_source *copy, const struct tup_frag *frag,
                      const struct tup_scan_position *from, const struct copy_gathered *got)
{
    if (got->rows == 0 && (copy->gci == 0 || !moved(copy, from))) return;
    struct copy_rows_rep rep = {.target = copy->target,
                                .source = copy->pool.ref,
                                .batch = copy->sent,
                                .rows = got->rows,
                                .permille = tup_copy_permille(frag, &copy->position, copy->pages),
                                .to_page = copy->position.page,
                                .to_slot = copy->position.slot,
                                .same = got->map.rows,
                                .sum = got->map.sum};
    struct section section[2] = {{.words = lqh->out, .size = got->words},
                                 {.words = got->map.words, .size = got->map.used}};
    signal_send(&lqh->block, copy->target_ref, GSN_COPY_ROWS_REP, PRIO_B, &rep, sizeof rep / 4u,
                section, copy->gci != 0 ? 2 : 1);
    copy->rows += got->rows;
    copy->sent++;
}

bool lqh_copy_told(const struct lqh *lqh, uint32_t rank, uint32_t table_id, uint32_t fragment_id,
                   uint32_t page, uint32_t slot)
{
    const struct lqh_table *table = lqh->table[table_id];
    const struct tup_scan_position at = {page, slot};
    if (table->given_rank == rank &&
        (table->given[fragment_id / 32u] >> fragment_id % 32u & 1u) != 0)
        return true;
    const struct lqh_copy_source *copy = pool_next(&lqh->copies, 0);
    for (; copy != NULL; copy = pool_next(&lqh->copies, pool_index(copy->pool.ref))) {
        if (copy->table_id == table_id && copy->fragment_id == fragment_id && copy->rank == rank)
            return copy->end || tup_position_below(&at, &copy->position);
    }
    return false;
}

static bool is_busy(struct lqh *lqh)
{
    struct lqh_copy_share *share = &lqh->copy_share;
    uint64_t now = now_ms(&lqh->block);
    if (share->ms != now) share->rows = share->words = share->places = 0;
    share->ms = now;
    share->times = lqh_copy_pace(&lqh->block, COPY_PACE_MAX);
    return share->times != COPY_PACE_FREE;
}

static bool share_is_used(const struct lqh *lqh)
{
    const struct lqh_copy_share *share = &lqh->copy_share;
    return share->rows >= BUSY_SHARE_ROWS * share->times ||
           share->words >= BUSY_SHARE_WORDS * share->times ||
           share->places >= BUSY_SHARE_PLACES * share->times;
}

/* Rows that a step may take: what is left of this millisecond's share. */
static uint32_t busy_rows(const struct lqh *lqh)
{
    const struct lqh_copy_share *share = &lqh->copy_share;
    uint32_t left = BUSY_SHARE_ROWS * share->times - share->rows;
    return left < BUSY_STEP_ROWS ? left : BUSY_STEP_ROWS;
}

/* Goes on from the result of a step. */
static void stepped(struct lqh *lqh, struct lqh_copy_source *copy, uint32_t result)
{
    if (result == ACC_WAIT) {
        jam();
        copy->state = COPY_LOCK_WAIT;
        lqh_lock_waits(lqh);
    } else if (result == ERR_LQH_OPERATIONS) {
        jam();
        copy->state = COPY_MEMORY_WAIT;
        lqh_continue_later(lqh, LQH_WORK_COPY, copy->pool.ref, MEMORY_MS);
    } else if (result != 0) {
        jam();
        source_fail(lqh, copy, result);
    } else {
        go_on(lqh, copy);
    }
    lqh_run_ready(lqh);
}

static void read_step(struct lqh *lqh, struct lqh_copy_source *copy)
{
    const struct tup_frag *frag = tup_frag_get(lqh->tup, copy->frag);
    struct copy_gathered got = {
        .map = {.gci = copy->gci, .pages = copy->pages, .words = lqh->out + MAP_AT}};
    const struct tup_scan_position from = copy->position;
    if (peer_level(&lqh->block, ref_node(copy->target_ref)) >= LINK_HIGH) {
        jam(); /* What transactions send there has the room. */
        lqh_continue_later(lqh, LQH_WORK_COPY, copy->pool.ref, LQH_HOLD_BACK_MS);
        return;
    }
    bool busy = is_busy(lqh);
    if (busy && share_is_used(lqh)) {
        lqh_continue_later(lqh, LQH_WORK_COPY, copy->pool.ref, 1);
        return;
    }
    uint32_t rows = busy ? busy_rows(lqh) : COPY_BATCH_ROWS;
    uint32_t places = busy ? BUSY_STEP_PLACES : STEP_PLACES;
    uint32_t left = places;
    uint32_t result = take_waited(lqh, copy, frag, &got);
    if (result == 0) result = take_rows(lqh, copy, frag, rows, &left, &got);
    send_rows(lqh, copy, frag, &from, &got);
    lqh->copy_share.rows += got.rows;
    lqh->copy_share.words += got.words;
    lqh->copy_share.places += places - left;
    stepped(lqh, copy, result);
}

void lqh_copy_lock_ready(struct lqh *lqh, struct lqh_copy_source *copy,
                         const struct acc_ready *ready)
{
    struct lqh_op *op = lqh_op_get(lqh, copy->op);
    ndbrequire(copy->state == COPY_LOCK_WAIT && op->lock != REF_NONE);
    /* REF_NONE: the row is gone, or it took too long and whoever has it has his own timeout. The
     * position is still at it: the place is looked at again. */
    op->lock = ready->lock;
    go_on(lqh, copy);
}

/* --- The steps. --- */

/* What is under way without the other node ends first: it would not hear of it. */
static void include_step(struct lqh *lqh, struct lqh_copy_source *copy)
{
    if (!lqh_included(lqh, ref_node(copy->target_ref), copy->rank)) {
        lqh_continue_later(lqh, LQH_WORK_COPY, copy->pool.ref, INCLUDE_MS);
        return;
    }
    jam();
    go_on(lqh, copy);
}

void lqh_copy_step(struct lqh *lqh, uint32_t ref)
{
    struct lqh_copy_source *copy = pool_find(&lqh->copies, ref);
    if (copy == NULL) return; /* It has ended meanwhile. */
    if (peer_epoch(&lqh->block, ref_node(copy->target_ref)) != copy->epoch) {
        jam(); /* NODE_LOST_REP follows, or came before COPY_FRAGREQ had its turn. */
        source_release(lqh, copy);
        lqh_run_ready(lqh);
        return;
    }
    switch ((enum lqh_copy_state)copy->state) {
    case COPY_EXCLUDED:
        include_step(lqh, copy);
        return;
    case COPY_MEMORY_WAIT:
        go_on(lqh, copy);
        return;
    case COPY_READING:
        read_step(lqh, copy);
        return;
    case COPY_LOCK_WAIT:
    case COPY_FULL:
    case COPY_ENDING:
        break;
    }
    ndbrequire(false); /* Only the others have a CONTINUEB on its way. */
}

/* --- The other node's requests. --- */

static uint32_t new_source(struct lqh *lqh, const struct signal *sig,
                           struct lqh_copy_source **result)
{
    const struct copy_fragreq *req = SIG_PAYLOAD(sig, copy_fragreq);
    uint32_t error;
    struct lqh_table *table =
        lqh_table_usable(lqh, req->table_id, req->version, req->fragment_id, &error);
    if (table == NULL) return error;
    struct lqh_copy_source *copy = pool_seize(&lqh->copies);
    if (copy == NULL) return ERR_LQH_SCAN_RECORDS;
    struct lqh_op *op = pool_seize(&lqh->operations);
    if (op == NULL) {
        pool_release(&lqh->copies, copy);
        return ERR_LQH_OPERATIONS;
    }
    table->users++;
    op->scan = copy->pool.ref;
    op->state = LQH_OF_COPY;
    copy->state = COPY_EXCLUDED;
    copy->target_ref = sig->sender;
    copy->target = req->target;
    copy->epoch = peer_epoch(&lqh->block, ref_node(sig->sender));
    copy->rank = req->rank;
    copy->gci = req->gci;
    copy->pages = req->pages;
    copy->table_id = req->table_id;
    copy->fragment_id = req->fragment_id;
    copy->frag = table->frags[req->fragment_id];
    copy->op = op->pool.ref;
    *result = copy;
    return 0;
}

bool lqh_copy_peer(const struct lqh *lqh, uint32_t ref)
{
    return block_config(&lqh->block)->survive != 0 && ref_block(ref) == BLOCK_DBLQH &&
           ref_instance(ref) != 0 && ref_node(ref) <= DATA_NODE_ID_MAX;
}

/* Who has rows has them on pages that there can be. */
static bool pages_possible(const struct copy_fragreq *req)
{
    return req->gci == 0 ? req->pages == 0 : req->pages <= PAGE_DIR_MAX;
}

void lqh_exec_COPY_FRAGREQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    struct lqh_copy_source *copy = NULL;
    if (!lqh_copy_peer(lqh, sig->sender) || !pages_possible(SIG_PAYLOAD(sig, copy_fragreq))) {
        lqh_protocol_error(lqh, sig->sender, "COPY_FRAGREQ that cannot be");
        return;
    }
    uint32_t error = new_source(lqh, sig, &copy);
    if (error != 0) {
        refuse(lqh, sig->sender, SIG_PAYLOAD(sig, copy_fragreq)->target, error);
        return;
    }
    jam();
    lqh_copy_step(lqh, copy->pool.ref);
}

void lqh_exec_COPY_ROWS_CONF(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct copy_rows_conf *conf = SIG_PAYLOAD(sig, copy_rows_conf);
    struct lqh_copy_source *copy = pool_find(&lqh->copies, conf->source);
    if (copy == NULL || copy->target_ref != sig->sender || copy->target != conf->target) {
        jam(); /* Its node is lost, or the copy was given up. */
        return;
    }
    if (conf->batch != copy->confirmed || copy->sent == copy->confirmed) {
        lqh_protocol_error(lqh, sig->sender, "COPY_ROWS_CONF for another batch");
        return;
    }
    unlock_batch(lqh, batch_at(copy, copy->confirmed));
    copy->confirmed++;
    if (copy->state == COPY_FULL || copy->state == COPY_ENDING) go_on(lqh, copy);
    lqh_run_ready(lqh);
}

/* --- Ends. --- */

void lqh_copy_node_lost(struct lqh *lqh)
{
    struct lqh_copy_source *copy = pool_next(&lqh->copies, 0);
    while (copy != NULL) {
        uint32_t at = pool_index(copy->pool.ref);
        if (node_mask_has(&lqh->fail.lost, ref_node(copy->target_ref))) {
            jam();
            source_release(lqh, copy);
        }
        copy = pool_next(&lqh->copies, at);
    }
    lqh_run_ready(lqh);
}

/* Whoever asked for the rows is lost: else the schema would be locked. */
void lqh_copy_table_dropped(struct lqh *lqh, uint32_t table_id)
{
    struct lqh_copy_source *copy = pool_next(&lqh->copies, 0);
    while (copy != NULL) {
        uint32_t at = pool_index(copy->pool.ref);
        if (copy->table_id == table_id) {
            jam();
            source_fail(lqh, copy, ERR_TABLE_DROPPING);
        }
        copy = pool_next(&lqh->copies, at);
    }
    lqh_run_ready(lqh);
}
