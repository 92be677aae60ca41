/* lqh_ahead.c -- fetches what signals that wait in the queue will need. Changes nothing. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An operation costs three cache misses: index line, row, and the records it left behind. Far ahead
 * the first of a chain of misses is asked for, near ahead what it points to. Nothing here has been
 * checked: a signal from a peer may be nonsense, so every reference is looked up as a stale one
 * would be. Committed reads have their own way, see lqh_read.c.
 */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_outcome.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/dict.h"
#include "signals/lqhkey.h"

/* While the handler of a train is at one entry it asks for the entries so far behind that. */
#define FAR_ENTRIES  8u
#define NEAR_ENTRIES 4u

static void ahead_request(const struct lqh *lqh, const struct lqhkeyreq *req,
                          enum block_ahead_stage stage)
{
    if (req->tc_op == REF_NONE || req->table_id >= lqh->table_count) return;
    const struct lqh_table *table = lqh->table[req->table_id];
    if (table == NULL || table->state != TABLE_ONLINE || req->fragment_id >= table->fragment_count)
        return;
    uint32_t ref = table->frags[req->fragment_id];
    if (ref == REF_NONE) return;
    const struct acc_frag *index = tup_frag_index(tup_frag_get(lqh->tup, ref));
    if (stage == AHEAD_FAR)
        acc_prefetch(index, req->hash);
    else
        acc_prefetch_row(index, req->hash);
}

static void ahead_op(const struct lqh *lqh, uint32_t ref, enum block_ahead_stage stage)
{
    if (stage == AHEAD_FAR) {
        pool_prefetch(&lqh->operations, ref);
        return;
    }
    const struct lqh_op *op = pool_find(&lqh->operations, ref);
    if (op == NULL) return;
    acc_prefetch_lock(lqh->acc, op->lock);
    if (op->change == REF_NONE) return;
    lqh_outcome_ahead(lqh, op);
    tup_prefetch_change(lqh->tup, op->change);
    if (op->state == LQH_PREPARED) tup_prefetch(tup_frag_get(lqh->tup, op->frag), op->row);
}

void lqh_ahead_train(const struct lqh *lqh, const struct signal *sig, uint32_t entry)
{
    uint32_t count = sig->section[0].size / TRAIN_ENTRY_WORDS;
    const uint32_t *words = sig->section[0].words;
    if (entry + FAR_ENTRIES < count)
        ahead_op(lqh, words[(entry + FAR_ENTRIES) * TRAIN_ENTRY_WORDS], AHEAD_FAR);
    if (entry + NEAR_ENTRIES < count)
        ahead_op(lqh, words[(entry + NEAR_ENTRIES) * TRAIN_ENTRY_WORDS], AHEAD_NEAR);
}

void lqh_ahead(const struct block *block, const uint32_t *words, enum block_ahead_stage stage)
{
    const struct lqh *lqh = (const struct lqh *)block;
    uint32_t gsn = kind_gsn(words[0]);
    struct signal sig;
    if (gsn == GSN_LQHKEYREQ && kind_words(words[0]) == sizeof(struct lqhkeyreq) / 4u) {
        ahead_request(lqh, (const struct lqhkeyreq *)(const void *)(words + SIGNAL_HEAD_WORDS),
                      stage);
        return;
    }
    if ((gsn != GSN_COMMIT && gsn != GSN_COMPLETE) || kind_sections(words[0]) != 1) return;
    signal_open(&sig, words);
    uint32_t entries = stage == AHEAD_FAR ? FAR_ENTRIES : NEAR_ENTRIES;
    for (uint32_t i = 0; i < entries && (i + 1) * TRAIN_ENTRY_WORDS <= sig.section[0].size; i++)
        ahead_op(lqh, sig.section[0].words[i * TRAIN_ENTRY_WORDS], stage);
}
