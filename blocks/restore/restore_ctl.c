/* restore_ctl.c -- reads both control files of a fragment and chooses the state to go on from. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/restore/restore_state.h"
#include "values/errors.h"

static void slot_open(struct restore *restore)
{
    char name[LCP_NAME_MAX];
    lcp_ctl_name(name, restore->req.table_id, restore->req.fragment_id, restore->slot);
    restore->state = RESTORE_CTL_OPENING;
    fs_open(&restore->block, ASK_CTL_OPEN, name, FS_READ | FS_SYNC);
}

void restore_ctl_begin(struct restore *restore)
{
    restore->slot = 0;
    restore->found[0] = restore->found[1] = CTL_ABSENT;
    restore->ctl_failure[0] = restore->ctl_failure[1] = (struct restore_failure){.error = 0};
    restore->chosen = NULL;
    slot_open(restore);
}

static void slot_note(struct restore *restore, uint32_t error, enum lcp_fault fault)
{
    struct restore_failure *failure = &restore->ctl_failure[restore->slot];
    restore->found[restore->slot] = CTL_UNREADABLE;
    *failure = (struct restore_failure){
        .error = error, .fault = fault, .format = restore->ctl[restore->slot]->format};
    lcp_ctl_name(failure->name, restore->req.table_id, restore->req.fragment_id, restore->slot);
}

void restore_ctl_opened(struct restore *restore, uint32_t file, uint64_t size)
{
    ndbrequire(restore->state == RESTORE_CTL_OPENING);
    restore->file = file;
    if (size != LCP_ALIGN) {
        jam();
        slot_note(restore, ERR_CHECKPOINT_DAMAGED, size < LCP_ALIGN ? LCP_TRUNCATED : LCP_TAIL);
        restore->state = RESTORE_CTL_CLOSING;
        fs_close(&restore->block, ASK_CTL_CLOSE, file);
        return;
    }
    struct fs_piece piece = fs_piece_of(&restore->block, restore->ctl[restore->slot], LCP_ALIGN);
    restore->state = RESTORE_CTL_READING;
    fs_read(&restore->block, ASK_CTL_READ, file, 0, &piece, 1, 0);
}

static void slot_judge(struct restore *restore)
{
    const struct lcp_ctl *ctl = restore->ctl[restore->slot];
    enum lcp_fault fault = lcp_ctl_check(ctl, &restore->ident, restore->slot);
    if (fault == LCP_GOOD && !restore_of_this_life(restore, ctl->life)) fault = LCP_OTHER_LIFE;
    if (fault == LCP_OTHER_TABLE && ctl->ident.table == restore->ident.table &&
        ctl->ident.fragment == restore->ident.fragment) {
        jam(); /* A former table of this number, whose files were being removed. */
        restore->found[restore->slot] = CTL_FORMER;
    } else if (fault != LCP_GOOD) {
        jam();
        slot_note(restore, ERR_CHECKPOINT_DAMAGED, fault);
    } else {
        jam(); /* One that ended later than the cluster did has rows that were lost. */
        restore->found[restore->slot] =
            ctl->end_gci <= restore->req.gci ? CTL_USABLE : CTL_UNUSABLE;
    }
}

void restore_ctl_read(struct restore *restore)
{
    ndbrequire(restore->state == RESTORE_CTL_READING);
    slot_judge(restore);
    restore->state = RESTORE_CTL_CLOSING;
    fs_close(&restore->block, ASK_CTL_CLOSE, restore->file);
}

/* The next control file that is not to be used goes; then the data files' turn comes. */
static void remove_next(struct restore *restore)
{
    char name[LCP_NAME_MAX];
    while (restore->remove_next < 2u) {
        uint32_t slot = restore->remove_next++;
        if (restore->found[slot] == CTL_ABSENT || restore->ctl[slot] == restore->chosen) continue;
        /* A good one that is only older is the next to be overwritten: it does no harm. */
        if (restore->found[slot] == CTL_USABLE) continue;
        lcp_ctl_name(name, restore->req.table_id, restore->req.fragment_id, slot);
        restore->state = RESTORE_REMOVING;
        fs_remove(&restore->block, ASK_REMOVE, name, 0);
        return;
    }
    if (restore->chosen == NULL) {
        jam();
        restore_done(restore);
        return;
    }
    restore->file_next = restore->chosen->file_count;
    restore_file_begin(restore);
}

/* The lists name a control file that is not there, or the control file a list that is not. */
static bool listed_missing(struct restore *restore)
{
    const struct restore_frag_req *req = &restore->req;
    uint32_t listed =
        backup_frag_listed(restore->backup, req->table_id, req->version, req->fragment_id);
    struct restore_failure *failure = &restore->failure;
    if (restore->chosen != NULL && restore->chosen->part > restore->list_number) {
        jam();
        *failure = (struct restore_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = LCP_MISSING};
        lcp_part_name(failure->name, ref_instance(restore->block.ref), restore->chosen->part % 2u);
        return true;
    }
    if (listed == 0 || (restore->chosen != NULL && restore->chosen->number >= listed)) return false;
    jam();
    uint32_t slot = listed % 2u;
    *failure = restore->ctl_failure[slot];
    if (failure->error != 0) return true;
    bool absent = restore->found[slot] == CTL_ABSENT;
    *failure = (struct restore_failure){.error = ERR_CHECKPOINT_DAMAGED,
                                        .fault = absent ? LCP_MISSING : LCP_OTHER_FILE};
    lcp_ctl_name(failure->name, req->table_id, req->fragment_id, slot);
    return true;
}

/*
 * Control files are written in turn, each only when the one before has become usable. So of two
 * that are there one is usable; a lone one that is not is of the fragment's first checkpoint, which
 * never came to count.
 */
static void choose(struct restore *restore)
{
    uint32_t first_bad = restore->found[0] == CTL_UNREADABLE ? 0u : 1u;
    uint32_t bad = (restore->found[0] == CTL_UNREADABLE ? 1u : 0u) +
                   (restore->found[1] == CTL_UNREADABLE ? 1u : 0u);
    for (uint32_t slot = 0; slot < 2u; slot++) {
        const struct restore_failure *failure = &restore->ctl_failure[slot];
        bool fatal = failure->error != 0 &&
                     (failure->error != ERR_CHECKPOINT_DAMAGED || restore_foreign(failure->fault));
        if (fatal) {
            restore->failure = *failure;
            restore_done(restore);
            return;
        }
        if (restore->found[slot] != CTL_USABLE) continue;
        if (restore->chosen == NULL || restore->ctl[slot]->number > restore->chosen->number)
            restore->chosen = restore->ctl[slot];
    }
    if (listed_missing(restore)) {
        restore_done(restore);
        return;
    }
    bool absent = restore->found[0] == CTL_ABSENT || restore->found[1] == CTL_ABSENT;
    bool former = restore->found[0] == CTL_FORMER || restore->found[1] == CTL_FORMER;
    if (restore->chosen == NULL && !absent && !former) {
        jam();
        if (bad > 0) {
            restore->failure = restore->ctl_failure[first_bad];
        } else {
            restore->failure =
                (struct restore_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = LCP_MISSING};
            lcp_ctl_name(restore->failure.name, restore->req.table_id, restore->req.fragment_id, 0);
        }
        restore_done(restore);
        return;
    }
    restore->remove_next = 0;
    remove_next(restore);
}

void restore_ctl_closed(struct restore *restore)
{
    ndbrequire(restore->state == RESTORE_CTL_CLOSING || restore->state == RESTORE_CTL_OPENING);
    if (restore->slot == 0) {
        restore->slot = 1;
        slot_open(restore);
        return;
    }
    choose(restore);
}

void restore_removed(struct restore *restore)
{
    ndbrequire(restore->state == RESTORE_REMOVING);
    remove_next(restore);
}

void restore_ctl_error(struct restore *restore, uint32_t ask, uint32_t error)
{
    char name[LCP_NAME_MAX];
    if (ask == ASK_CTL_OPEN) {
        jam();
        if (error != ERR_FILE_MISSING) slot_note(restore, error, LCP_GOOD);
        restore_ctl_closed(restore);
        return;
    }
    if (ask == ASK_CTL_READ) {
        jam();
        slot_note(restore, error, LCP_GOOD);
        restore->state = RESTORE_CTL_CLOSING;
        fs_close(&restore->block, ASK_CTL_CLOSE, restore->file);
        return;
    }
    if (ask == ASK_CTL_CLOSE) {
        restore_ctl_closed(restore);
        return;
    }
    jam(); /* A state that must not count can not be removed. */
    lcp_ctl_name(name, restore->req.table_id, restore->req.fragment_id, restore->remove_next - 1u);
    restore_fail(restore, name, error, LCP_GOOD, 0);
    restore_done(restore);
}
