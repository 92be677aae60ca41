/* lcpr_part.c -- reads both lists of the LDM's checkpoints before the first fragment: what must
 * be there, and how far the log goes back. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists are written in turn, so one of the two is whole after any crash. A whole one says that the
 * one before it was there too: if it is not, a file is missing. An entry of a list that is torn is
 * still true: control files are usable before they are listed.
 *
 * Whether there must be one, and which, the system files say: DIH is asked.
 */
#include "blocks/lcpreader/lcpr_state.h"
#include "values/errors.h"

static void slot_open(struct lcpr *lcpr)
{
    char name[LCP_NAME_MAX];
    struct lcpr_part *part = &lcpr->part[lcpr->slot];
    lcp_part_name(name, ref_instance(lcpr->block.ref), lcpr->slot);
    *part = (struct lcpr_part){.found = CTL_ABSENT};
    lcpr->state = LCPR_PART_OPENING;
    fs_open(&lcpr->block, ASK_PART_OPEN, name, FS_READ | FS_DIRECT | FS_SYNC);
}

void lcpr_part_begin(struct lcpr *lcpr)
{
    lcpr->slot = 0;
    lcpr->ctl_failure[0] = lcpr->ctl_failure[1] = (struct lcpr_failure){.error = 0};
    slot_open(lcpr);
}

static void slot_close(struct lcpr *lcpr)
{
    lcpr->state = LCPR_PART_CLOSING;
    fs_close(&lcpr->block, ASK_PART_CLOSE, lcpr->file);
}

static void slot_note(struct lcpr *lcpr, uint32_t error, enum lcp_fault fault, uint64_t offset)
{
    struct lcpr_failure *failure = &lcpr->ctl_failure[lcpr->slot];
    lcpr->part[lcpr->slot].found = CTL_UNREADABLE;
    if (failure->error != 0) return;
    *failure = (struct lcpr_failure){.error = error, .fault = fault, .offset = offset};
    lcp_part_name(failure->name, ref_instance(lcpr->block.ref), lcpr->slot);
}

static void chunk_read(struct lcpr *lcpr)
{
    uint64_t left = lcpr->size - lcpr->asked;
    uint32_t bytes = left < LCPR_READ ? (uint32_t)left : LCPR_READ;
    struct fs_piece piece = fs_piece_of(&lcpr->block, lcpr->buffer[0], bytes);
    lcpr->state = LCPR_PART_READING;
    fs_read(&lcpr->block, ASK_PART_READ, lcpr->file, lcpr->asked, &piece, 1, 0);
}

void lcpr_part_opened(struct lcpr *lcpr, uint32_t file, uint64_t size)
{
    ndbrequire(lcpr->state == LCPR_PART_OPENING);
    lcpr->file = file;
    lcpr->size = size;
    lcpr->asked = 0;
    if (size == 0 || size % LCP_ALIGN != 0) {
        jam();
        slot_note(lcpr, ERR_CHECKPOINT_DAMAGED, LCP_TRUNCATED, size);
        slot_close(lcpr);
        return;
    }
    chunk_read(lcpr);
}

/* False: the list is not whole. */
static bool block_take(struct lcpr *lcpr, const struct lcp_part *block)
{
    struct lcpr_part *part = &lcpr->part[lcpr->slot];
    uint32_t no = (uint32_t)(lcpr->asked / LCP_ALIGN);
    const struct lcp_ident own = lcpw_ident(&lcpr->block, 0, 0, 0);
    uint32_t instance = ref_instance(lcpr->block.ref);
    enum lcp_fault fault = lcp_part_check(block, &own, instance, lcpr->slot, no);
    if (fault == LCP_GOOD && no > 0 && block->number != part->number) fault = LCP_OTHER_FILE;
    if (fault == LCP_GOOD && (uint64_t)block->blocks * LCP_ALIGN != lcpr->size)
        fault = lcpr->size < (uint64_t)block->blocks * LCP_ALIGN ? LCP_TRUNCATED : LCP_TAIL;
    if (fault == LCP_GOOD && !lcpr_of_this_life(lcpr, lcp_part_life(block))) fault = LCP_OTHER_LIFE;
    if (fault != LCP_GOOD) {
        slot_note(lcpr, ERR_CHECKPOINT_DAMAGED, fault, lcpr->asked);
        lcpr->ctl_failure[lcpr->slot].format = block->format;
        return false;
    }
    part->number = block->number;
    part->check = lcp_part_chain(no > 0 ? part->check : 0, block);
    part->before = block->before;
    part->tail_gci = block->tail_gci;
    for (uint32_t i = 0; i < block->count; i++) {
        if (lcpw_frag_list(lcpr->lcpw, &block->entry[i])) continue;
        slot_note(lcpr, ERR_TABLE_RECORDS, LCP_GOOD, lcpr->asked);
        return false;
    }
    return true;
}

void lcpr_part_read(struct lcpr *lcpr, uint32_t bytes)
{
    ndbrequire(lcpr->state == LCPR_PART_READING);
    for (uint32_t at = 0; at < bytes; at += LCP_ALIGN) {
        const void *block = lcpr->buffer[0] + at;
        if (!block_take(lcpr, block)) {
            slot_close(lcpr);
            return;
        }
        lcpr->asked += LCP_ALIGN;
    }
    if (lcpr->asked < lcpr->size) {
        chunk_read(lcpr);
        return;
    }
    lcpr->part[lcpr->slot].found = CTL_USABLE;
    slot_close(lcpr);
}

static bool fatal(const struct lcpr_failure *failure)
{
    return failure->error != 0 &&
           (failure->error != ERR_CHECKPOINT_DAMAGED || lcpr_foreign(failure->fault));
}

static void slot_missing(struct lcpr *lcpr, uint32_t slot)
{
    lcpr->failure = (struct lcpr_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = LCP_MISSING};
    lcp_part_name(lcpr->failure.name, ref_instance(lcpr->block.ref), slot);
}

/* Fills lcpr->failure, or names the newest list. */
static void choose(struct lcpr *lcpr)
{
    const struct lcpr_part *part = lcpr->part;
    const struct lcpr_failure *failure = lcpr->ctl_failure;
    for (uint32_t slot = 0; slot < 2u; slot++) {
        if (!fatal(&failure[slot])) continue;
        lcpr->failure = failure[slot];
        if (part[slot ^ 1u].found == CTL_USABLE) lcpr->list_number = part[slot ^ 1u].number;
        return;
    }
    uint32_t good = part[0].found == CTL_USABLE ? 0 : 1u;
    if (part[1].found == CTL_USABLE && part[1].number > part[0].number) good = 1u;
    uint32_t other = good ^ 1u;
    if (part[good].found != CTL_USABLE) {
        /* Nothing yet, or the very first one (number 1, slot 1) never came to be. */
        if (part[0].found == CTL_ABSENT) return;
        lcpr->failure = failure[0];
        return;
    }
    if (part[other].found == CTL_ABSENT && part[good].number > 1u) {
        slot_missing(lcpr, other);
        return;
    }
    if (part[other].found == CTL_UNREADABLE)
        log_warning(&lcpr->block, "checkpoint list %s, byte %llu: %s; the other one counts",
                    failure[other].name, (unsigned long long)failure[other].offset,
                    lcp_fault_text(failure[other].fault));
    lcpr->list = good;
    lcpr->list_number = part[good].number;
    lcpr->tail_gci = part[good].tail_gci;
}

void lcpr_part_closed(struct lcpr *lcpr)
{
    if (lcpr->slot == 0) {
        lcpr->slot = 1;
        slot_open(lcpr);
        return;
    }
    jam();
    lcpr->list_number = 0;
    lcpr->tail_gci = 0;
    choose(lcpr);
    lcpr->lists_read = true;
    if (lcpr->failure.error != 0) {
        lcpr_go(lcpr);
        return;
    }
    const struct lcpr_part *part = &lcpr->part[lcpr->list];
    struct lcp_list_req req = {.number = lcpr->list_number};
    if (lcpr->list_number != 0) {
        req.check = part->check;
        req.before = part->before;
    }
    lcpr->state = LCPR_PART_ASKING;
    sig_send(&lcpr->block, block_ref(ref_node(lcpr->block.ref), BLOCK_DBDIH, 0), GSN_LCP_LIST_REQ,
             PRIO_B, &req);
}

/* The list that is named is the file that is wrong, unless it is the system files. */
static void not_recorded(struct lcpr *lcpr, const struct lcp_list_conf *conf)
{
    uint32_t number = conf->verdict == SYSFILE_LIST_AHEAD ? lcpr->list_number : conf->number;
    uint32_t slot = number % 2u;
    enum lcp_fault fault = conf->verdict == SYSFILE_LIST_AHEAD ? LCP_AHEAD : LCP_STALE;
    jam_data(conf->verdict);
    if (lcpr->part[slot].found == CTL_ABSENT) fault = LCP_MISSING;
    lcpr->failure = lcpr->ctl_failure[slot];
    if (lcpr->failure.error != 0) return;
    lcpr->failure = (struct lcpr_failure){.error = ERR_CHECKPOINT_DAMAGED, .fault = fault};
    lcp_part_name(lcpr->failure.name, ref_instance(lcpr->block.ref), slot);
}

void lcpr_part_judged(struct lcpr *lcpr, const struct lcp_list_conf *conf)
{
    ndbrequire(lcpr->state == LCPR_PART_ASKING);
    if (conf->verdict != SYSFILE_LIST_GOOD) {
        not_recorded(lcpr, conf);
    } else if (lcpr->list_number != 0) {
        jam();
        lcpw_part_restored(lcpr->lcpw, lcpr->list_number, lcpr->part[lcpr->list].check,
                           lcpr->tail_gci);
    }
    lcpr_go(lcpr);
}

void lcpr_part_error(struct lcpr *lcpr, uint32_t ask, uint32_t error)
{
    jam_data(ask);
    if (ask == ASK_PART_OPEN && error == ERR_FILE_MISSING) {
        lcpr_part_closed(lcpr);
        return;
    }
    if (ask != ASK_PART_CLOSE) slot_note(lcpr, error, LCP_GOOD, lcpr->asked);
    if (ask == ASK_PART_READ)
        slot_close(lcpr);
    else
        lcpr_part_closed(lcpr);
}
