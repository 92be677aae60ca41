/* backup_clean.c -- removes files that no state needs any more: superseded ones, and those of
 * dropped tables. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/backup/backup_state.h"

#define CLEAN_STEP 64u /* Records looked at before others have their turn. */

void backup_clean_begin(struct backup *backup)
{
    jam();
    backup->drops = false;
    backup->cleaning.frag = 0;
    backup->cleaning.of = REF_NONE;
    backup->state = BACKUP_CLEANING;
    backup_clean_step(backup);
}

/*
 * The name of the record's next file to remove; false when none is left. A dropped one loses its
 * control files first, so that a crash in between leaves no state without its files; then all data
 * files that it can have, one that was just being written too.
 */
static bool file_next(struct backup *backup, struct backup_frag *frag, char name[LCP_NAME_MAX])
{
    if (frag->dropped && !backup->cleaning.all) {
        backup->cleaning.all = true;
        backup->cleaning.step = 0; /* Its superseded files were going, when it was dropped. */
    }
    uint32_t step = backup->cleaning.step++;
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
        if (first == 0 || backup->cleaning.asker == 0) return false;
        if (frag->file_count == 0 || first + step >= frag->file[0].seq) return false;
    }
    lcp_data_name(name, frag->table_id, frag->fragment_id, first + step);
    return true;
}

static void cleaned(struct backup *backup)
{
    uint32_t asker = backup->cleaning.asker;
    struct backup_round *round = &backup->round;
    backup->cleaning.asker = 0;
    if (round->sender != 0 && asker == 0) {
        jam(); /* A round is under way: it goes on. */
        backup->state = BACKUP_FINDING;
        backup_continue(backup, 0);
        return;
    }
    backup->state = BACKUP_IDLE;
    if (asker != 0) {
        struct lcp_usable_conf conf = {.lcp_id = round->lcp_id,
                                       .tail_gci = round->failed == 0 ? round->start_gci : 0,
                                       .failed = backup->part.error != 0,
                                       .number = backup->part.number,
                                       .check = backup->part.check};
        jam();
        round->sender = 0;
        if (conf.tail_gci != 0) {
            struct redo_tail_ord tail = {.gci = conf.tail_gci};
            sig_send(&backup->block, backup->lqh->ref, GSN_REDO_TAIL_ORD, PRIO_B, &tail);
        }
        sig_send(&backup->block, asker, GSN_LCP_USABLE_CONF, PRIO_B, &conf);
    }
    if (backup->next_sender != 0) {
        jam();
        uint32_t sender = backup->next_sender;
        backup->next_sender = 0;
        backup_round_begin(backup, sender, &backup->next_round);
        return;
    }
    if (backup->drops) backup_clean_begin(backup);
}

/* The list could not be written: superseded files and the log's tail stay. */
void backup_part_failed(struct backup *backup)
{
    jam();
    backup->round.failed++;
    cleaned(backup);
}

/* Gives memory back, with the log's tail, that a restart from the former checkpoint would need. */
static void tell_usable(const struct backup *backup, const struct backup_frag *frag)
{
    struct lqh_frag info;
    if (backup->round.failed > 0) return;
    if (!lqh_frag_get(backup->lqh, frag->table_id, frag->fragment_id, &info)) return;
    if (info.version != frag->version) return;
    tup_checkpoint_usable(tup_frag_get(backup->tup, info.tup_frag));
}

void backup_clean_step(struct backup *backup)
{
    struct backup_cleaning *cleaning = &backup->cleaning;
    char name[LCP_NAME_MAX];
    ndbrequire(backup->state == BACKUP_CLEANING);
    for (uint32_t looked = 0; looked < CLEAN_STEP; looked++) {
        /* While files of a record are being removed, it is the one behind which the next one
         * stands. */
        struct backup_frag *frag = pool_next(&backup->frags, cleaning->frag);
        if (frag == NULL) {
            cleaned(backup);
            return;
        }
        if (cleaning->of != frag->pool.ref) { /* Another one may have been put before it. */
            cleaning->of = frag->pool.ref;
            cleaning->step = 0;
            cleaning->all = false;
        }
        if (file_next(backup, frag, name)) {
            fs_remove(&backup->block, ASK_CLEAN, name, 0);
            return;
        }
        cleaning->of = REF_NONE;
        cleaning->frag = pool_index(frag->pool.ref);
        if (frag->dropped) {
            jam();
            backup_frag_release(backup, frag);
        } else if (cleaning->asker != 0) {
            frag->remove_first = 0;
            tell_usable(backup, frag);
        }
    }
    backup_continue(backup, 0);
}
