/* lqh_recover.c -- a restart of one LQH instance: checkpoints of its fragments, one after the
 * other, then the log; progress and figures. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "blocks/lcpwriter/lcpw.h"
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/dblqh/redo/lqh_redo.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/redo/lqh_log.h"
#include "blocks/ndbfs/fs_client.h"
#include "blocks/lcpreader/lcpr.h"
#include "values/errors.h"
#include "signals/lcp.h"

#define RECOVER_REP_MS 250u
/* While a GCI is being saved the next one runs, and the system files may have neither of them. */
#define GCI_AHEAD 2u

static struct lqh_recover *recover_of(struct lqh *lqh)
{
    return &lqh->redo->recover;
}

/* --- Progress. --- */

/* Measured in bytes; without a list of them (the first checkpoint was under way), in tables. */
static uint32_t restore_percent(const struct lqh *lqh)
{
    const struct lqh_recover *recover = &lqh->redo->recover;
    const struct block *restore = block_neighbour(&lqh->block, BLOCK_LCPREADER);
    uint64_t all = lcpw_listed_bytes(block_neighbour(&lqh->block, BLOCK_LCPWRITER));
    uint64_t done = recover->bytes + (recover->asked ? lcpr_bytes(restore) : 0);
    if (all == 0) return recover->position.table_id * 100u / lqh->table_count;
    return done < all ? (uint32_t)(done * 100u / all) : 99u;
}

static void report(struct lqh *lqh)
{
    struct lqh_recover *recover = recover_of(lqh);
    bool log = recover->state == RECOVER_REPLAYING;
    struct recover_rep rep = {.sender_data = recover->req.sender_data,
                              .step = log ? RECOVER_LOG : RECOVER_CHECKPOINTS,
                              .percent = log ? lqh->redo->percent : restore_percent(lqh)};
    sig_send(&lqh->block, recover->sender, GSN_RECOVER_REP, PRIO_B, &rep);
}

void lqh_recover_tick(struct lqh *lqh)
{
    if (recover_of(lqh)->state == RECOVER_IDLE) return;
    report(lqh);
    lqh_continue_later(lqh, LQH_WORK_RECOVER_TICK, REF_NONE, RECOVER_REP_MS);
}

/* --- The end. --- */

static void send_conf(struct lqh *lqh)
{
    struct lqh_recover *recover = recover_of(lqh);
    const struct redo_log *log = &lqh->redo->log;
    struct recover_conf conf = {
        .sender_data = recover->req.sender_data,
        .fragments = recover->fragments,
        .rows_lo = (uint32_t)recover->rows,
        .rows_hi = (uint32_t)(recover->rows >> 32),
        .kbytes = recover->kbytes,
        .applied_lo = (uint32_t)log->applied,
        .applied_hi = (uint32_t)(log->applied >> 32),
        .skipped_lo = (uint32_t)log->skipped,
        .skipped_hi = (uint32_t)(log->skipped >> 32),
        .restore_ms = (uint32_t)(recover->restored_ms - recover->begin_ms),
        .replay_ms = (uint32_t)(now_ms(&lqh->block) - recover->restored_ms),
    };
    recover->state = RECOVER_IDLE;
    lqh->redo->others = 0;
    sig_send(&lqh->block, recover->sender, GSN_RECOVER_CONF, PRIO_B, &conf);
}

void lqh_recover_replayed(struct lqh *lqh)
{
    ndbrequire(recover_of(lqh)->state == RECOVER_REPLAYING);
    jam();
    send_conf(lqh);
}

/* The log, the checkpoints or the rows in them are of no use. */
void lqh_recover_fail(struct lqh *lqh, uint32_t code, const char *text)
{
    struct lqh_redo *redo = lqh->redo;
    struct recover_ref ref = {.sender_data = redo->recover.req.sender_data, .code = code};
    if (redo->others == 0) node_fail(code, __FILE__, __LINE__, text);
    jam_data(code);
    if (redo->given_up) return;
    redo->given_up = true;
    redo->recover.state = RECOVER_IDLE;
    log_error(&lqh->block, "%s", text);
    sig_send(&lqh->block, redo->others, GSN_RECOVER_REF, PRIO_B, &ref);
}

/* What can be done about a file that is damaged or missing. */
void lqh_recover_advice(const struct lqh *lqh, char *text, size_t size)
{
    if (lqh->redo->others != 0) {
        text[0] = '\0'; /* The node is restored from others. */
        return;
    }
    if (block_config(&lqh->block)->replicas > 1)
        snprintf(text, size,
                 "; if another node of this node group has the data, restart this node with "
                 "--initial; if none has, bring the file back from a copy of the file system, or "
                 "start with the older rows of another one: this node with --initial "
                 "--i-accept-data-loss");
    else
        snprintf(text, size,
                 "; no other node has these rows: bring the file back from a copy of the file "
                 "system, or give the node's rows up with --initial --i-accept-data-loss");
}

static uint32_t exit_of(const struct restore_frag_ref *ref)
{
    switch ((enum lcp_fault)ref->fault) {
    case LCP_AHEAD:
        return EXIT_SYSFILE_DAMAGED;
    case LCP_OTHER_FORMAT:
        return EXIT_LCP_FOREIGN;
    case LCP_OTHER_CLUSTER:
    case LCP_OTHER_NODE: /* Where this node's list names the file, nothing of others is lost. */
        return ref->listed != 0 ? EXIT_LCP_DAMAGED : EXIT_LCP_FOREIGN;
    case LCP_GOOD: /* No damage, an error. */
        return lqh_recover_no_memory(ref->error) ? EXIT_RECOVER_MEMORY : EXIT_LCP_IO;
    case LCP_ROW:
        return lqh_recover_no_memory(ref->error) ? EXIT_RECOVER_MEMORY : EXIT_LCP_DAMAGED;
    case LCP_NO_MAGIC:
    case LCP_CHECKSUM:
    case LCP_OTHER_TABLE:
    case LCP_OTHER_FILE:
    case LCP_ORDER:
    case LCP_SIZE:
    case LCP_TRUNCATED:
    case LCP_TAIL:
    case LCP_COMPRESSION:
    case LCP_COUNTS:
    case LCP_LACKING:
    case LCP_MISSING:
    case LCP_STALE:
    case LCP_OTHER_LIFE:
    case LCP_FAULT_COUNT:
        break;
    }
    return EXIT_LCP_DAMAGED;
}

bool lqh_recover_no_memory(uint32_t error)
{
    return error == ERR_NO_MEMORY_DATA || error == ERR_INDEX_MEMORY ||
           error == ERR_INDEX_MEMORY_ORDERED || error == ERR_TABLE_RECORDS;
}

void lqh_exec_RESTORE_FRAG_REF(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct restore_frag_ref *ref = SIG_PAYLOAD(sig, restore_frag_ref);
    const struct lqh_frag *frag = &recover_of(lqh)->frag;
    char name[FS_NAME_BYTES + 1];
    char advice[256] = "";
    char where[48] = ""; /* When all fragments are back it is about none of them. */
    char why[96];
    char fault[LCP_FAULT_SIZE];
    uint32_t code = exit_of(ref);
    lcp_fault_say(ref->fault, ref->format, fault);
    fs_ref_name(sig, name);
    bool damage = code == EXIT_LCP_DAMAGED || code == EXIT_SYSFILE_DAMAGED;
    if (damage) lqh_recover_advice(lqh, advice, sizeof advice);
    snprintf(why, sizeof why, "error %u, %s", ref->error, error_get(ref->error)->text);
    if (recover_of(lqh)->asked)
        snprintf(where, sizeof where, "table %u, fragment %u, ", frag->table_id, frag->fragment_id);
    snprintf(lqh->redo->text, sizeof lqh->redo->text, "%scheckpoint file %s, offset %llu: %s%s",
             where, name, (unsigned long long)u64_of(ref->offset_lo, ref->offset_hi),
             damage || code == EXIT_LCP_FOREIGN ? fault : why, advice);
    lqh_recover_fail(lqh, code, lqh->redo->text);
}

/* --- Checkpoints. --- */

static void replay(struct lqh *lqh)
{
    struct lqh_recover *recover = recover_of(lqh);
    struct redo_replay replay = {
        .start_gci = recover->start_gci,
        .keep_gci = recover->keep_gci,
        .keeps = true,
        .restart_gci = recover->req.restart_gci,
        .incarnation = recover->req.incarnation,
        .running = recover->req.running != 0,
        .gci_ahead = GCI_AHEAD,
        .lsn_known = recover->req.lsn_lo | (uint64_t)recover->req.lsn_hi << 32,
        .lsn_older = recover->req.lsn_older != 0,
        .ended_count = recover->ended_count,
    };
    for (uint32_t i = 0; i < recover->ended_count; i++)
        replay.ended[i] = recover->ended[i];
    recover->state = RECOVER_REPLAYING;
    recover->restored_ms = now_ms(&lqh->block);
    log_info(&lqh->block,
             "checkpoints of %u fragments read: %llu rows, %u KB, %u ms; the log is needed from "
             "GCI %u to %u",
             recover->fragments, (unsigned long long)recover->rows, recover->kbytes,
             (uint32_t)(recover->restored_ms - recover->begin_ms), replay.start_gci,
             replay.restart_gci);
    lqh->redo->percent = lqh->redo->percent_logged = 0;
    redo_replay(&lqh->redo->log, &replay);
}

/* Has LCPREADER read the next fragment, one at a time. */
void lqh_recover_step(struct lqh *lqh)
{
    struct lqh_recover *recover = recover_of(lqh);
    const struct block *restore = block_neighbour(&lqh->block, BLOCK_LCPREADER);
    ndbrequire(recover->state == RECOVER_RESTORING && restore != NULL);
    enum lqh_frag_step step = lqh_frag_next(&lqh->block, &recover->position, &recover->frag);
    if (step == LQH_FRAG_LATER) {
        lqh_continue(lqh, LQH_WORK_RECOVER, REF_NONE);
        return;
    }
    recover->asked = step == LQH_FRAG_FOUND;
    if (step == LQH_FRAG_END) {
        struct restore_end_req req = {.sender_data = recover->req.sender_data};
        jam();
        sig_send(&lqh->block, restore->ref, GSN_RESTORE_END_REQ, PRIO_B, &req);
        return;
    }
    struct restore_frag_req req = {.sender_data = recover->req.sender_data,
                                   .table_id = recover->frag.table_id,
                                   .version = recover->frag.version,
                                   .fragment_id = recover->frag.fragment_id,
                                   .gci = recover->req.restart_gci};
    sig_send(&lqh->block, restore->ref, GSN_RESTORE_FRAG_REQ, PRIO_B, &req);
}

void lqh_exec_RESTORE_FRAG_CONF(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    struct lqh_recover *recover = recover_of(lqh);
    const struct restore_frag_conf *conf = SIG_PAYLOAD(sig, restore_frag_conf);
    jam_data(conf->found);
    recover->fragments += conf->found;
    recover->rows += u64_of(conf->rows_lo, conf->rows_hi);
    recover->kbytes += conf->kbytes;
    recover->bytes += (uint64_t)conf->kbytes * 1024u;
    if (conf->start_gci < recover->start_gci) recover->start_gci = conf->start_gci;
    lqh_recover_step(lqh);
}

void lqh_exec_RESTORE_END_CONF(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct restore_end_conf *conf = SIG_PAYLOAD(sig, restore_end_conf);
    uint32_t removed = conf->removed;
    jam();
    recover_of(lqh)->keep_gci = conf->tail_gci;
    if (removed > 0) log_info(block, "%u checkpoint files that nobody needs removed", removed);
    replay(lqh);
}

static void take_ended(struct lqh_recover *recover, const struct signal *sig)
{
    uint32_t words = sig->section_count > 0 ? sig->section[0].size : 0;
    ndbrequire(words % 2u == 0 && words / 2u <= REDO_ENDED_MAX);
    recover->ended_count = 0;
    for (uint32_t at = 0; at < words; at += 2u)
        recover->ended[recover->ended_count++] = (struct redo_ended){
            .incarnation = sig->section[0].words[at], .gci = sig->section[0].words[at + 1u]};
}

void lqh_exec_RECOVER_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct recover_req *req = SIG_PAYLOAD(sig, recover_req);
    if (lqh->redo == NULL) {
        struct recover_conf conf = {.sender_data = req->sender_data};
        sig_send(block, sig->sender, GSN_RECOVER_CONF, PRIO_B, &conf);
        return;
    }
    struct lqh_recover *recover = recover_of(lqh);
    ndbrequire(recover->state == RECOVER_IDLE && lqh->redo->order_sender == 0);
    *recover = (struct lqh_recover){.sender = sig->sender,
                                    .req = *req,
                                    .start_gci = req->restart_gci + 1u,
                                    .begin_ms = now_ms(block)};
    recover->restored_ms = recover->begin_ms;
    if (lqh->redo->created) {
        jam(); /* All files are new. */
        redo_begin(&lqh->redo->log, req->incarnation);
        send_conf(lqh);
        return;
    }
    jam();
    take_ended(recover, sig);
    recover->state = RECOVER_RESTORING;
    lqh_continue_later(lqh, LQH_WORK_RECOVER_TICK, REF_NONE, RECOVER_REP_MS);
    lqh_recover_step(lqh);
}
