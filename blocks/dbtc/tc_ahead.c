/* tc_ahead.c -- fetches the records of operations whose answers wait in the queue. Changes nothing.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/lqhkey.h"

/* While the handler of a train is at one entry it asks for the entries so far behind that. */
#define FAR_ENTRIES  8u
#define NEAR_ENTRIES 4u

static void ahead_op(const struct tc *tc, uint32_t ref, enum block_ahead_stage stage)
{
    if (stage == AHEAD_FAR) {
        pool_prefetch(&tc->operations, ref);
        return;
    }
    const struct tc_op *op = pool_find(&tc->operations, ref);
    if (op != NULL) pool_prefetch(&tc->transactions, op->trans);
}

void tc_ahead_train(const struct tc *tc, const struct signal *sig, uint32_t entry)
{
    uint32_t count = sig->section[0].size / TRAIN_ENTRY_WORDS;
    const uint32_t *words = sig->section[0].words + 1;
    if (entry + FAR_ENTRIES < count)
        ahead_op(tc, words[(entry + FAR_ENTRIES) * TRAIN_ENTRY_WORDS], AHEAD_FAR);
    if (entry + NEAR_ENTRIES < count)
        ahead_op(tc, words[(entry + NEAR_ENTRIES) * TRAIN_ENTRY_WORDS], AHEAD_NEAR);
}

/* The contents of the signal have not been checked. */
void tc_ahead(const struct block *block, const uint32_t *words, enum block_ahead_stage stage)
{
    const struct tc *tc = (const struct tc *)block;
    uint32_t gsn = kind_gsn(words[0]);
    struct signal sig;
    if (gsn == GSN_LQHKEYCONF && kind_words(words[0]) == sizeof(struct lqhkeyconf) / 4u) {
        ahead_op(tc, words[SIGNAL_HEAD_WORDS], stage); /* tc_op comes first. */
        return;
    }
    if ((gsn != GSN_COMMITTED && gsn != GSN_COMPLETED) || kind_sections(words[0]) != 1) return;
    signal_open(&sig, words);
    uint32_t entries = stage == AHEAD_FAR ? FAR_ENTRIES : NEAR_ENTRIES;
    for (uint32_t i = 0; i < entries && (i + 1) * TRAIN_ENTRY_WORDS <= sig.section[0].size; i++)
        ahead_op(tc, sig.section[0].words[i * TRAIN_ENTRY_WORDS + 1], stage);
}
