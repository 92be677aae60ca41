/* lqh_redo_admit.c -- operations and the redo log: room at prepare, back-pressure, the record at
 * COMMIT. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/redo/lqh_redo.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/redo/lqh_log.h"
#include "signals/lqhkey.h"
#include "values/errors.h"

void lqh_redo_commit(struct lqh *lqh, struct lqh_op *op, const struct commit_train *commit)
{
    struct tup_change_pairs pairs;
    enum tup_change_kind kind =
        tup_change_pairs(lqh->tup, op->change, lqh->out, TUP_ROW_WORDS_MAX, &pairs);
    if (kind != TUP_NOTHING && !ERROR_INSERTED(&lqh->block, 5020)) {
        const struct redo_record record = {
            .kind = kind,
            .table_id = op->table_id,
            .fragment_id = op->fragment_id,
            .version = op->version,
            .gci_hi = commit->gci_hi,
            .gci_lo = commit->gci_lo,
            .row = pairs.row,
            .hash = pairs.hash,
            .pair_words = pairs.words,
            .pairs = lqh->out,
        };
        if (!redo_append(&lqh->redo->log, &record))
            node_fail(EXIT_REDO_FULL, __FILE__, __LINE__,
                      "no room in the redo log for a prepared operation");
    }
    lqh_redo_leave(lqh, op);
}

void lqh_redo_leave(struct lqh *lqh, struct lqh_op *op)
{
    if (op->redo_words == 0) return;
    redo_release(&lqh->redo->log, op->redo_words);
    op->redo_words = 0;
}

/* Most words that the operation's record may need at commit. */
static uint32_t words_of_op(struct lqh *lqh, const struct lqh_op *op, uint32_t key_words,
                            uint32_t attr_words)
{
    if (key_operation_of(op->request_info) == OP_DELETE) return REDO_RECORD_HEAD;
    /* An instruction of one word may store a value of two. */
    if ((op->request_info & KEY_PROGRAM) != 0) attr_words *= 2u;
    return REDO_RECORD_HEAD +
           tup_change_words_max(tup_frag_get(lqh->tup, op->frag), key_words, attr_words);
}

static void delay_tick_send(struct lqh *lqh)
{
    if (lqh->redo->delay_sent) return;
    lqh->redo->delay_sent = true;
    lqh_continue_later(lqh, LQH_WORK_REDO_DELAY, REF_NONE, REDO_DELAY_MS);
}

static void delay_add(struct lqh *lqh, struct lqh_op *op)
{
    struct lqh_redo *redo = lqh->redo;
    jam();
    if (redo->delay_first == REF_NONE) redo->moved_ms = now_ms(&lqh->block);
    op->state = LQH_DELAYED;
    op->delay_next = REF_NONE;
    op->delayed_ms = (uint32_t)now_ms(&lqh->block);
    if (redo->delay_last != REF_NONE)
        lqh_op_get(lqh, redo->delay_last)->delay_next = op->pool.ref;
    else
        redo->delay_first = op->pool.ref;
    redo->delay_last = op->pool.ref;
    redo->delayed++;
    delay_tick_send(lqh);
}

/* DIH looks at the logs once a second, which is long for one that is almost full. */
static void hint(struct lqh *lqh)
{
    struct lqh_redo *redo = lqh->redo;
    uint64_t now = now_ms(&lqh->block);
    if (now - redo->hint_ms < REDO_HINT_MS) return;
    jam();
    redo->hint_ms = now;
    struct redo_status_conf conf = {.sender_data = REDO_STATUS_HINT};
    sig_send(&lqh->block, block_ref(lqh->own_node, BLOCK_DBDIH, 0), GSN_REDO_STATUS_CONF, PRIO_B,
             &conf);
}

/*
 * 0: go on. An error: refuse. LQH_HELD_BACK: it comes back later. Once one is held back all that
 * come after it are, so that operations on a row keep their order; reads with locks too, which may
 * be of rows that those write.
 */
uint32_t lqh_redo_admit(struct lqh *lqh, struct lqh_op *op, const struct lqh_data *data)
{
    struct lqh_redo *redo = lqh->redo;
    bool read = key_operation_of(op->request_info) == OP_READ;
    bool queue = redo->delay_first != REF_NONE;
    uint32_t words = 0;
    if (!read) {
        words = words_of_op(lqh, op, data->key_words, data->attr_words);
        if (lqh_demand_redo(lqh, op, words)) {
            jam();
            return ERR_TRANSACTION_TOO_BIG;
        }
        enum redo_room room = redo_room(&redo->log, words);
        if (room == REDO_SLOW || room == REDO_FULL) hint(lqh);
        if (room == REDO_FULL) return ERR_REDO_FULL;
        /* Only the primary slows down: what it has let pass, the others take. */
        if (room == REDO_WAIT || (room == REDO_SLOW && op->prev_ref == 0)) queue = true;
    }
    if (queue) {
        if (!lqh_save(lqh, op, data)) return ERR_LQH_SIGNAL_MEMORY;
        delay_add(lqh, op);
        return LQH_HELD_BACK;
    }
    if (!read) {
        redo_reserve(&redo->log, words);
        op->redo_words = words;
    }
    return 0;
}

/*
 * What is prepared may fill the memory by itself, and never be committed without those that wait
 * here, or at another node whose memory is full of what waits here in turn. Nobody has found room
 * for long then: all that have waited for as long are refused, not one of them each time, or a
 * large transaction would take hours to end.
 */
static bool is_stuck(const struct lqh *lqh, const struct lqh_op *op)
{
    uint32_t limit_ms = block_config(&lqh->block)->deadlock_timeout_ms;
    uint64_t now = now_ms(&lqh->block);
    return now - lqh->redo->moved_ms > limit_ms && (uint32_t)now - op->delayed_ms > limit_ms;
}

/* Lets the first operation that is held back go on. False: it must wait. */
static bool delay_leave(struct lqh *lqh, struct lqh_op *op)
{
    struct lqh_redo *redo = lqh->redo;
    uint32_t error = 0;
    if (key_operation_of(op->request_info) != OP_READ) {
        uint32_t words = words_of_op(lqh, op, op->key_words, op->attr_words);
        enum redo_room room = redo_room(&redo->log, words);
        if (room == REDO_WAIT && !is_stuck(lqh, op)) return false;
        if (room == REDO_WAIT) {
            jam();
            error = ERR_REDO_BUFFER_FULL;
        } else if (room == REDO_FULL) {
            error = ERR_REDO_FULL;
        } else {
            redo_reserve(&redo->log, words);
            op->redo_words = words;
            redo->moved_ms =
                now_ms(&lqh->block); /* A read needs no room, and says nothing of it. */
        }
    }
    redo->delay_first = op->delay_next;
    if (redo->delay_first == REF_NONE) redo->delay_last = REF_NONE;
    redo->delayed--;
    lqh_op_undelay(lqh, op, error);
    return true;
}

/* The fuller the log, the fewer pass: at 75 % about 30,000 a second, near the end a few hundred. */
void lqh_redo_delay_tick(struct lqh *lqh)
{
    struct lqh_redo *redo = lqh->redo;
    uint32_t fill = redo_fill(&redo->log);
    uint32_t budget = fill <= 75u ? REDO_DELAY_STEP : (100u - fill) * REDO_DELAY_STEP / 25u + 1u;
    redo->delay_sent = false;
    redo_push(&redo->log);
    while (budget-- > 0 && redo->delay_first != REF_NONE) {
        if (!delay_leave(lqh, lqh_op_get(lqh, redo->delay_first))) break;
    }
    lqh_run_ready(lqh);
    if (redo->delay_first != REF_NONE) delay_tick_send(lqh);
}

void lqh_redo_check(struct lqh *lqh)
{
    const struct lqh_redo *redo = lqh->redo;
    if (redo == NULL) return;
    redo_check_state(&redo->log);
    ndbrequire(redo->delayed == 0 ||
               redo->delay_sent); /* I-LQH-7: who is held back has a turn to come. */
    ndbrequire(redo->save_count == 0 || redo->log.busy);
}
