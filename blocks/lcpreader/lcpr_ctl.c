/* lcpr_ctl.c -- reads both control files of a fragment and chooses the state to go on from. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/lcpreader/lcpr_state.h"
#include "values/errors.h"

static void slot_open(struct lcpr *lcpr)
{
    char name[LCP_NAME_MAX];
    lcp_ctl_name(name, lcpr->req.table_id, lcpr->req.fragment_id, lcpr->slot);
    lcpr->state = LCPR_CTL_OPENING;
    fs_open(&lcpr->block, ASK_CTL_OPEN, name, FS_READ | FS_SYNC);
}

void lcpr_ctl_begin(struct lcpr *lcpr)
{
    lcpr->slot = 0;
    lcpr->found[0] = lcpr->found[1] = CTL_ABSENT;
    lcpr->ctl_failure[0] = lcpr->ctl_failure[1] = (struct lcpr_failure){.error = 0};
    lcpr->chosen = NULL;
    slot_open(lcpr);
}

static void slot_note(struct lcpr *lcpr, uint32_t error, enum lcp_fault fault)
{
    struct lcpr_failure *failure = &lcpr->ctl_failure[lcpr->slot];
    lcpr->found[lcpr->slot] = CTL_UNREADABLE;
    *failure = (struct lcpr_failure){
        .error = error, .fault = fault, .format = lcpr->ctl[lcpr->slot]->format};
    lcp_ctl_name(failure->name, lcpr->req.table_id, lcpr->req.fragment_id, lcpr->slot);
}

void lcpr_ctl_opened(struct lcpr *lcpr, uint32_t file, uint64_t size)
{
    ndbrequire(lcpr->state == LCPR_CTL_OPENING);
    lcpr->file = file;
    if (size != LCP_ALIGN) {
        jam();
        slot_note(lcpr, ERR_CHECKPOINT_DAMAGED, size < LCP_ALIGN ? LCP_TRUNCATED : LCP_TAIL);
        lcpr->state = LCPR_CTL_CLOSING;
        fs_close(&lcpr->block, ASK_CTL_CLOSE, file);
        return;
    }
    struct fs_piece piece = fs_piece_of(&lcpr->block, lcpr->ctl[lcpr->slot], LCP_ALIGN);
    lcpr->state = LCPR_CTL_READING;
    fs_read(&lcpr->block, ASK_CTL_READ, file, 0, &piece, 1, 0);
}

static void slot_judge(struct lcpr *lcpr)
{
    const struct lcp_ctl *ctl = lcpr->ctl[lcpr->slot];
    enum lcp_fault fault = lcp_ctl_check(ctl, &lcpr->ident, lcpr->slot);
    if (fault == LCP_GOOD && !lcpr_of_this_life(lcpr, ctl->life)) fault = LCP_OTHER_LIFE;
    if (fault == LCP_OTHER_TABLE && ctl->ident.table == lcpr->ident.table &&
        ctl->ident.fragment == lcpr->ident.fragment) {
        jam(); /* A former table of this number, whose files were being removed. */
        lcpr->found[lcpr->slot] = CTL_FORMER;
    } else if (fault != LCP_GOOD) {
        jam();
        slot_note(lcpr, ERR_CHECKPOINT_DAMAGED, fault);
    } else {
        jam(); /* One that ended later than the cluster did has rows that were lost. */
        lcpr->found[lcpr->slot] = ctl->end_gci <= lcpr->req.gci ? CTL_USABLE : CTL_UNUSABLE;
    }
}

void lcpr_ctl_read(struct lcpr *lcpr)
{
    ndbrequire(lcpr->state == LCPR_CTL_READING);
    slot_judge(lcpr);
    lcpr->state = LCPR_CTL_CLOSING;
    fs_close(&lcpr->block, ASK_CTL_CLOSE, lcpr->file);
}

/* The next control file that is not to be used goes; then the data files' turn comes. */
static void remove_next(struct lcpr *lcpr)
{
    char name[LCP_NAME_MAX];
    while (lcpr->remove_next < 2u) {
        uint32_t slot = lcpr->remove_next++;
        if (lcpr->found[slot] == CTL_ABSENT || lcpr->ctl[slot] == lcpr->chosen) continue;
        /* A good one that is only older is the next to be overwritten: it does no harm. */
        if (lcpr->found[slot] == CTL_USABLE) continue;
        lcp_ctl_name(name, lcpr->req.table_id, lcpr->req.fragment_id, slot);
        lcpr->state = LCPR_REMOVING;
        fs_remove(&lcpr->block, ASK_REMOVE, name, 0);
        return;
    }
    if (lcpr->chosen == NULL) {
        jam();
        lcpr_done(lcpr);
        return;
    }
    lcpr->file_next = lcpr->chosen->file_count;
    lcpr_file_begin(lcpr);
}

/* The lists name a control file that is not there, or the control file a list that is not. */
static bool listed_missing(struct lcpr *lcpr)
{
    const struct restore_frag_req *req = &lcpr->req;
    uint32_t listed = lcpw_frag_listed(lcpr->lcpw, req->table_id, req->version, req->fragment_id);
    struct lcpr_failure *failure = &lcpr->failure;
    if (lcpr->chosen != NULL && lcpr->chosen->part > lcpr->list_number) {
        jam();
        *failure = (struct lcpr_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = LCP_MISSING};
        lcp_part_name(failure->name, ref_instance(lcpr->block.ref), lcpr->chosen->part % 2u);
        return true;
    }
    if (listed == 0 || (lcpr->chosen != NULL && lcpr->chosen->number >= listed)) return false;
    jam();
    uint32_t slot = listed % 2u;
    *failure = lcpr->ctl_failure[slot];
    if (failure->error != 0) return true;
    bool absent = lcpr->found[slot] == CTL_ABSENT;
    *failure = (struct lcpr_failure){.error = ERR_CHECKPOINT_DAMAGED,
                                     .fault = absent ? LCP_MISSING : LCP_OTHER_FILE};
    lcp_ctl_name(failure->name, req->table_id, req->fragment_id, slot);
    return true;
}

/*
 * Control files are written in turn, each only when the one before has become usable. So of two
 * that are there one is usable; a lone one that is not is of the fragment's first checkpoint, which
 * never came to count.
 */
static void choose(struct lcpr *lcpr)
{
    uint32_t first_bad = lcpr->found[0] == CTL_UNREADABLE ? 0u : 1u;
    uint32_t bad =
        (lcpr->found[0] == CTL_UNREADABLE ? 1u : 0u) + (lcpr->found[1] == CTL_UNREADABLE ? 1u : 0u);
    for (uint32_t slot = 0; slot < 2u; slot++) {
        const struct lcpr_failure *failure = &lcpr->ctl_failure[slot];
        bool fatal = failure->error != 0 &&
                     (failure->error != ERR_CHECKPOINT_DAMAGED || lcpr_foreign(failure->fault));
        if (fatal) {
            lcpr->failure = *failure;
            lcpr_done(lcpr);
            return;
        }
        if (lcpr->found[slot] != CTL_USABLE) continue;
        if (lcpr->chosen == NULL || lcpr->ctl[slot]->number > lcpr->chosen->number)
            lcpr->chosen = lcpr->ctl[slot];
    }
    if (listed_missing(lcpr)) {
        lcpr_done(lcpr);
        return;
    }
    bool absent = lcpr->found[0] == CTL_ABSENT || lcpr->found[1] == CTL_ABSENT;
    bool former = lcpr->found[0] == CTL_FORMER || lcpr->found[1] == CTL_FORMER;
    if (lcpr->chosen == NULL && !absent && !former) {
        jam();
        if (bad > 0) {
            lcpr->failure = lcpr->ctl_failure[first_bad];
        } else {
            lcpr->failure =
                (struct lcpr_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = LCP_MISSING};
            lcp_ctl_name(lcpr->failure.name, lcpr->req.table_id, lcpr->req.fragment_id, 0);
        }
        lcpr_done(lcpr);
        return;
    }
    lcpr->remove_next = 0;
    remove_next(lcpr);
}

void lcpr_ctl_closed(struct lcpr *lcpr)
{
    ndbrequire(lcpr->state == LCPR_CTL_CLOSING || lcpr->state == LCPR_CTL_OPENING);
    if (lcpr->slot == 0) {
        lcpr->slot = 1;
        slot_open(lcpr);
        return;
    }
    choose(lcpr);
}

void lcpr_removed(struct lcpr *lcpr)
{
    ndbrequire(lcpr->state == LCPR_REMOVING);
    remove_next(lcpr);
}

void lcpr_ctl_error(struct lcpr *lcpr, uint32_t ask, uint32_t error)
{
    char name[LCP_NAME_MAX];
    if (ask == ASK_CTL_OPEN) {
        jam();
        if (error != ERR_FILE_MISSING) slot_note(lcpr, error, LCP_GOOD);
        lcpr_ctl_closed(lcpr);
        return;
    }
    if (ask == ASK_CTL_READ) {
        jam();
        slot_note(lcpr, error, LCP_GOOD);
        lcpr->state = LCPR_CTL_CLOSING;
        fs_close(&lcpr->block, ASK_CTL_CLOSE, lcpr->file);
        return;
    }
    if (ask == ASK_CTL_CLOSE) {
        lcpr_ctl_closed(lcpr);
        return;
    }
    jam(); /* A state that must not count can not be removed. */
    lcp_ctl_name(name, lcpr->req.table_id, lcpr->req.fragment_id, lcpr->remove_next - 1u);
    lcpr_fail(lcpr, name, error, LCP_GOOD, 0);
    lcpr_done(lcpr);
}
