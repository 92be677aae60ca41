/* lcpw_clean.c -- removes files that no state needs any more: superseded ones, and those of
 * dropped tables. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpwriter/lcpw_state.h"

#define CLEAN_STEP 64u /* Records looked at before others have their turn. */

void lcpw_clean_begin(struct lcpw *lcpw)
{
    jam();
    lcpw->drops = false;
    lcpw->cleaning.frag = 0;
    lcpw->cleaning.of = REF_NONE;
    lcpw->state = LCPW_CLEANING;
    lcpw_clean_step(lcpw);
}

/*
 * The name of the record's next file to remove; false when none is left. A dropped one loses its
 * control files first, so that a crash in between leaves no state without its files; then all data
 * files that it can have, one that was just being written too.
 */
static bool file_next(struct lcpw *lcpw, struct lcpw_frag *frag, char name[LCP_NAME_MAX])
{
    if (frag->dropped && !lcpw->cleaning.all) {
        lcpw->cleaning.all = true;
        lcpw->cleaning.step = 0; /* Its superseded files were going, when it was dropped. */
    }
    uint32_t step = lcpw->cleaning.step++;
    uint32_t first = frag->remove_first;
    if (frag->dropped) {
        if (step < 2u) {
            lcp_ctl_name(name, frag->table_id, frag->fragment_id, step);
            return true;
        }
        step -= 2u;
        if (first == 0) first = frag->file_count > 0 ? frag->file[0].seq : frag->seq + 1u;
        if (first + step > frag->seq + 1u) return false;
    } else {
        /* Only what is behind the usable state: a round has ended, and all that it wrote is usable.
         */
        if (first == 0 || lcpw->cleaning.asker == 0) return false;
        if (frag->file_count == 0 || first + step >= frag->file[0].seq) return false;
    }
    lcp_data_name(name, frag->table_id, frag->fragment_id, first + step);
    return true;
}

static void cleaned(struct lcpw *lcpw)
{
    uint32_t asker = lcpw->cleaning.asker;
    struct lcpw_round *round = &lcpw->round;
    lcpw->cleaning.asker = 0;
    if (round->sender != 0 && asker == 0) {
        jam(); /* A round is under way: it goes on. */
        lcpw->state = LCPW_FINDING;
        lcpw_continue(lcpw, 0);
        return;
    }
    lcpw->state = LCPW_IDLE;
    if (asker != 0) {
        struct lcp_usable_conf conf = {.lcp_id = round->lcp_id,
                                       .tail_gci = round->failed == 0 ? round->start_gci : 0,
                                       .failed = lcpw->part.error != 0,
                                       .number = lcpw->part.number,
                                       .check = lcpw->part.check};
        jam();
        round->sender = 0;
        if (conf.tail_gci != 0) {
            struct redo_tail_ord tail = {.gci = conf.tail_gci};
            sig_send(&lcpw->block, lcpw->lqh->ref, GSN_REDO_TAIL_ORD, PRIO_B, &tail);
        }
        sig_send(&lcpw->block, asker, GSN_LCP_USABLE_CONF, PRIO_B, &conf);
    }
    if (lcpw->next_sender != 0) {
        jam();
        uint32_t sender = lcpw->next_sender;
        lcpw->next_sender = 0;
        lcpw_round_begin(lcpw, sender, &lcpw->next_round);
        return;
    }
    if (lcpw->drops) lcpw_clean_begin(lcpw);
}

/* The list could not be written: superseded files and the log's tail stay. */
void lcpw_part_failed(struct lcpw *lcpw)
{
    jam();
    lcpw->round.failed++;
    cleaned(lcpw);
}

/* Gives memory back, with the log's tail, that a restart from the former checkpoint would need. */
static void tell_usable(const struct lcpw *lcpw, const struct lcpw_frag *frag)
{
    struct lqh_frag info;
    if (lcpw->round.failed > 0) return;
    if (!lqh_frag_get(lcpw->lqh, frag->table_id, frag->fragment_id, &info)) return;
    if (info.version != frag->version) return;
    tup_checkpoint_usable(tup_frag_get(lcpw->tup, info.tup_frag));
}

void lcpw_clean_step(struct lcpw *lcpw)
{
    struct lcpw_cleaning *cleaning = &lcpw->cleaning;
    char name[LCP_NAME_MAX];
    ndbrequire(lcpw->state == LCPW_CLEANING);
    for (uint32_t looked = 0; looked < CLEAN_STEP; looked++) {
        /* While files of a record are being removed, it is the one behind which the next one
         * stands. */
        struct lcpw_frag *frag = pool_next(&lcpw->frags, cleaning->frag);
        if (frag == NULL) {
            cleaned(lcpw);
            return;
        }
        if (cleaning->of != frag->pool.ref) { /* Another one may have been put before it. */
            cleaning->of = frag->pool.ref;
            cleaning->step = 0;
            cleaning->all = false;
        }
        if (file_next(lcpw, frag, name)) {
            fs_remove(&lcpw->block, ASK_CLEAN, name, 0);
            return;
        }
        cleaning->of = REF_NONE;
        cleaning->frag = pool_index(frag->pool.ref);
        if (frag->dropped) {
            jam();
            lcpw_frag_release(lcpw, frag);
        } else if (cleaning->asker != 0) {
            frag->remove_first = 0;
            tell_usable(lcpw, frag);
        }
    }
    lcpw_continue(lcpw, 0);
}
