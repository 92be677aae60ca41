/* lqh_frags.c -- walks the fragments of this instance for checkpoints, and knows which life they
 * are of. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/dblqh/redo/lqh_redo.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/dict.h"
#include "kernel/base/u64.h"

#define WALK_STEP 256u /* Tables and fragments that a call looks at. */

static struct lqh_frag frag_of(const struct lqh_table *table, uint32_t fragment_id)
{
    return (struct lqh_frag){
        .table_id = table->table_id,
        .version = table->version,
        .fragment_id = fragment_id,
        .tup_frag = table->frags[fragment_id],
        .key_def = (const struct table_def *)(const void *)table->key_def,
    };
}

enum lqh_frag_step lqh_frag_next(const struct block *block, struct lqh_frag_position *position,
                                 struct lqh_frag *frag)
{
    const struct lqh *lqh = (const struct lqh *)block;
    for (uint32_t step = 0; step < WALK_STEP; step++) {
        if (position->table_id >= lqh->table_count) return LQH_FRAG_END;
        const struct lqh_table *table = lqh->table[position->table_id];
        /* Being dropped is not yet dropped: until the schema files say so, a crash brings it back.
         */
        bool usable = table != NULL && table->state != TABLE_BUILDING && table->order_sender == 0;
        if (!usable || position->fragment_id >= table->fragment_count) {
            position->table_id++;
            position->fragment_id = 0;
            continue;
        }
        uint32_t fragment_id = position->fragment_id++;
        if (table->frags[fragment_id] == REF_NONE) continue;
        *frag = frag_of(table, fragment_id);
        return LQH_FRAG_FOUND;
    }
    return LQH_FRAG_LATER;
}

bool lqh_frag_get(const struct block *block, uint32_t table_id, uint32_t fragment_id,
                  struct lqh_frag *frag)
{
    const struct lqh *lqh = (const struct lqh *)block;
    const struct lqh_table *table = table_id < lqh->table_count ? lqh->table[table_id] : NULL;
    if (table == NULL || fragment_id >= table->fragment_count ||
        fragment_id >= table->fragment_next)
        return false;
    if (table->frags[fragment_id] == REF_NONE) return false;
    *frag = frag_of(table, fragment_id);
    return true;
}

bool lqh_log_life(const struct block *block, uint32_t *life)
{
    const struct lqh_redo *redo = ((const struct lqh *)(const void *)block)->redo;
    const struct recover_req *req = &redo->recover.req;
    bool running = redo->log.state == REDO_RUNNING;
    uint64_t lsn = running ? redo->log.lsn : u64_of(req->lsn_lo, req->lsn_hi);
    *life = redo_lsn_life(lsn);
    return running || lsn != 0;
}
