/* restore_part.c -- reads both lists of the LDM's checkpoints before the first fragment: what must
 * be there, and how far the log goes back. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists are written in turn, so one of the two is whole after any crash. A whole one says that the
 * one before it was there too: if it is not, a file is missing. An entry of a list that is torn is
 * still true: control files are usable before they are listed.
 *
 * Whether there must be one, and which, the system files say: DIH is asked.
 */
#include "blocks/restore/restore_state.h"
#include "values/errors.h"

static void slot_open(struct restore *restore)
{
    char name[LCP_NAME_MAX];
    struct restore_part *part = &restore->part[restore->slot];
    lcp_part_name(name, ref_instance(restore->block.ref), restore->slot);
    *part = (struct restore_part){.found = CTL_ABSENT};
    restore->state = RESTORE_PART_OPENING;
    fs_open(&restore->block, ASK_PART_OPEN, name, FS_READ | FS_DIRECT | FS_SYNC);
}

void restore_part_begin(struct restore *restore)
{
    restore->slot = 0;
    restore->ctl_failure[0] = restore->ctl_failure[1] = (struct restore_failure){.error = 0};
    slot_open(restore);
}

static void slot_close(struct restore *restore)
{
    restore->state = RESTORE_PART_CLOSING;
    fs_close(&restore->block, ASK_PART_CLOSE, restore->file);
}

static void slot_note(struct restore *restore, uint32_t error, enum lcp_fault fault,
                      uint64_t offset)
{
    struct restore_failure *failure = &restore->ctl_failure[restore->slot];
    restore->part[restore->slot].found = CTL_UNREADABLE;
    if (failure->error != 0) return;
    *failure = (struct restore_failure){.error = error, .fault = fault, .offset = offset};
    lcp_part_name(failure->name, ref_instance(restore->block.ref), restore->slot);
}

static void chunk_read(struct restore *restore)
{
    uint64_t left = restore->size - restore->asked;
    uint32_t bytes = left < RESTORE_READ ? (uint32_t)left : RESTORE_READ;
    struct fs_piece piece = fs_piece_of(&restore->block, restore->buffer[0], bytes);
    restore->state = RESTORE_PART_READING;
    fs_read(&restore->block, ASK_PART_READ, restore->file, restore->asked, &piece, 1, 0);
}

void restore_part_opened(struct restore *restore, uint32_t file, uint64_t size)
{
    ndbrequire(restore->state == RESTORE_PART_OPENING);
    restore->file = file;
    restore->size = size;
    restore->asked = 0;
    if (size == 0 || size % LCP_ALIGN != 0) {
        jam();
        slot_note(restore, ERR_CHECKPOINT_DAMAGED, LCP_TRUNCATED, size);
        slot_close(restore);
        return;
    }
    chunk_read(restore);
}

/* False: the list is not whole. */
static bool block_take(struct restore *restore, const struct lcp_part *block)
{
    struct restore_part *part = &restore->part[restore->slot];
    uint32_t no = (uint32_t)(restore->asked / LCP_ALIGN);
    const struct lcp_ident own = backup_ident(&restore->block, 0, 0, 0);
    uint32_t instance = ref_instance(restore->block.ref);
    enum lcp_fault fault = lcp_part_check(block, &own, instance, restore->slot, no);
    if (fault == LCP_GOOD && no > 0 && block->number != part->number) fault = LCP_OTHER_FILE;
    if (fault == LCP_GOOD && (uint64_t)block->blocks * LCP_ALIGN != restore->size)
        fault = restore->size < (uint64_t)block->blocks * LCP_ALIGN ? LCP_TRUNCATED : LCP_TAIL;
    if (fault == LCP_GOOD && !restore_of_this_life(restore, lcp_part_life(block)))
        fault = LCP_OTHER_LIFE;
    if (fault != LCP_GOOD) {
        slot_note(restore, ERR_CHECKPOINT_DAMAGED, fault, restore->asked);
        restore->ctl_failure[restore->slot].format = block->format;
        return false;
    }
    part->number = block->number;
    part->check = lcp_part_chain(no > 0 ? part->check : 0, block);
    part->before = block->before;
    part->tail_gci = block->tail_gci;
    for (uint32_t i = 0; i < block->count; i++) {
        if (backup_frag_list(restore->backup, &block->entry[i])) continue;
        slot_note(restore, ERR_TABLE_RECORDS, LCP_GOOD, restore->asked);
        return false;
    }
    return true;
}

void restore_part_read(struct restore *restore, uint32_t bytes)
{
    ndbrequire(restore->state == RESTORE_PART_READING);
    for (uint32_t at = 0; at < bytes; at += LCP_ALIGN) {
        const void *block = restore->buffer[0] + at;
        if (!block_take(restore, block)) {
            slot_close(restore);
            return;
        }
        restore->asked += LCP_ALIGN;
    }
    if (restore->asked < restore->size) {
        chunk_read(restore);
        return;
    }
    restore->part[restore->slot].found = CTL_USABLE;
    slot_close(restore);
}

static bool fatal(const struct restore_failure *failure)
{
    return failure->error != 0 &&
           (failure->error != ERR_CHECKPOINT_DAMAGED || restore_foreign(failure->fault));
}

static void slot_missing(struct restore *restore, uint32_t slot)
{
    restore->failure =
        (struct restore_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = LCP_MISSING};
    lcp_part_name(restore->failure.name, ref_instance(restore->block.ref), slot);
}

/* Fills restore->failure, or names the newest list. */
static void choose(struct restore *restore)
{
    const struct restore_part *part = restore->part;
    const struct restore_failure *failure = restore->ctl_failure;
    for (uint32_t slot = 0; slot < 2u; slot++) {
        if (!fatal(&failure[slot])) continue;
        restore->failure = failure[slot];
        if (part[slot ^ 1u].found == CTL_USABLE) restore->list_number = part[slot ^ 1u].number;
        return;
    }
    uint32_t good = part[0].found == CTL_USABLE ? 0 : 1u;
    if (part[1].found == CTL_USABLE && part[1].number > part[0].number) good = 1u;
    uint32_t other = good ^ 1u;
    if (part[good].found != CTL_USABLE) {
        /* Nothing yet, or the very first one (number 1, slot 1) never came to be. */
        if (part[0].found == CTL_ABSENT) return;
        restore->failure = failure[0];
        return;
    }
    if (part[other].found == CTL_ABSENT && part[good].number > 1u) {
        slot_missing(restore, other);
        return;
    }
    if (part[other].found == CTL_UNREADABLE)
        log_warning(&restore->block, "checkpoint list %s, byte %llu: %s; the other one counts",
                    failure[other].name, (unsigned long long)failure[other].offset,
                    lcp_fault_text(failure[other].fault));
    restore->list = good;
    restore->list_number = part[good].number;
    restore->tail_gci = part[good].tail_gci;
}

void restore_part_closed(struct restore *restore)
{
    if (restore->slot == 0) {
        restore->slot = 1;
        slot_open(restore);
        return;
    }
    jam();
    restore->list_number = 0;
    restore->tail_gci = 0;
    choose(restore);
    restore->lists_read = true;
    if (restore->failure.error != 0) {
        restore_go(restore);
        return;
    }
    const struct restore_part *part = &restore->part[restore->list];
    struct lcp_list_req req = {.number = restore->list_number};
    if (restore->list_number != 0) {
        req.check = part->check;
        req.before = part->before;
    }
    restore->state = RESTORE_PART_ASKING;
    sig_send(&restore->block, block_ref(ref_node(restore->block.ref), BLOCK_DBDIH, 0),
             GSN_LCP_LIST_REQ, PRIO_B, &req);
}

/* The list that is named is the file that is wrong, unless it is the system files. */
static void not_recorded(struct restore *restore, const struct lcp_list_conf *conf)
{
    uint32_t number = conf->verdict == SYSFILE_LIST_AHEAD ? restore->list_number : conf->number;
    uint32_t slot = number % 2u;
    enum lcp_fault fault = conf->verdict == SYSFILE_LIST_AHEAD ? LCP_AHEAD : LCP_STALE;
    jam_data(conf->verdict);
    if (restore->part[slot].found == CTL_ABSENT) fault = LCP_MISSING;
    restore->failure = restore->ctl_failure[slot];
    if (restore->failure.error != 0) return;
    restore->failure = (struct restore_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = fault};
    lcp_part_name(restore->failure.name, ref_instance(restore->block.ref), slot);
}

void restore_part_judged(struct restore *restore, const struct lcp_list_conf *conf)
{
    ndbrequire(restore->state == RESTORE_PART_ASKING);
    if (conf->verdict != SYSFILE_LIST_GOOD) {
        not_recorded(restore, conf);
    } else if (restore->list_number != 0) {
        jam();
        backup_part_restored(restore->backup, restore->list_number,
                             restore->part[restore->list].check, restore->tail_gci);
    }
    restore_go(restore);
}

void restore_part_error(struct restore *restore, uint32_t ask, uint32_t error)
{
    jam_data(ask);
    if (ask == ASK_PART_OPEN && error == ERR_FILE_MISSING) {
        restore_part_closed(restore);
        return;
    }
    if (ask != ASK_PART_CLOSE) slot_note(restore, error, LCP_GOOD, restore->asked);
    if (ask == ASK_PART_READ)
        slot_close(restore);
    else
        restore_part_closed(restore);
}
