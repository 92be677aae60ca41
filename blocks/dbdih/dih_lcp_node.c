/* dih_lcp_node.c -- a node's part of a round of local checkpoints; looks after the fill of its
 * logs. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdih/dih_state.h"
#include "kernel/base/u64.h"
#include "values/errors.h"
#include "signals/node_report.h"
#include "signals/redo.h"

#define LCP_PAUSE_MIN_MS   500u   /* Pause after a round that failed here; doubled each time. */
#define LCP_PAUSE_MAX_MS   4000u  /* Longest pause after rounds that failed here. */
#define LCP_PAUSE_IDLE_MS  60000u /* Pause when nothing was written since, and logs have room. */
#define LCP_FILL_PERCENT   25u    /* Percent of a log from which a checkpoint is due. */
#define LCP_FILL_HIGH      50u    /* Percent from which one is due though it frees little. */
#define LCP_FILL_STUCK     75u    /* Percent from which operations are being held back. */
#define LCP_GROWTH_PERCENT 5u     /* Percent below which growth alone makes none due. */
#define LCP_GROWTH_SHARE   4u /* Growth makes one due from a 4th of the last round's bytes on. */
#define LCP_FREED_PERCENT  5u /* Percent written since the last one, for one by fill. */
/* Starts that the system file remembers until each one begins with a checkpoint. */
#define LCP_STARTS (SYSFILE_ENDED_MAX / 2u)

static void to_ldms(struct dih *dih, uint32_t block_no, uint32_t gsn, const void *payload,
                    uint32_t words)
{
    uint32_t count = block_instances(&dih->block, block_no);
    for (uint32_t instance = 1; instance <= count; instance++)
        signal_send(&dih->block, block_ref(dih_own(dih), block_no, instance), gsn, PRIO_B, payload,
                    words, NULL, 0);
}

static void wait_for_ldms(struct dih *dih)
{
    struct lcp_node *node = &dih->lcp_node;
    uint32_t count = block_instances(&dih->block, BLOCK_LCPWRITER);
    for (uint32_t instance = 1; instance <= count; instance++)
        node_mask_add(&node->waiting, instance);
}

/* How often rows have been refused memory that a restart from the last checkpoints would need. */
static uint32_t memory_held(const struct dih *dih)
{
    return arena_usage(block_arena(&dih->block), RG_DATA).held;
}

/* --- The round. --- */

static void round_begin(struct dih *dih, uint32_t master, const struct lcp_node_req *req)
{
    struct lcp_node *node = &dih->lcp_node;
    jam();
    node->state = LCPN_WRITING;
    node->master = master;
    node->result = (struct lcp_node_conf){.incarnation = req->incarnation, .lcp_id = req->lcp_id};
    node->end_gci = 0;
    node->begin_ms = now_ms(&dih->block);
    dih_include_round_begun(dih);
    wait_for_ldms(dih);
    node->bytes_then = node->bytes;
    node->held = memory_held(dih);
    node->start_gci = dih->gcp_node.complete_hi;
    /* Commits of this GCI may still come, of older ones not. */
    struct lcp_part_req part = {.lcp_id = req->lcp_id,
                                .start_gci = dih->gcp_node.complete_hi,
                                .copied = dih->include.counts};
    to_ldms(dih, BLOCK_LCPWRITER, GSN_LCP_PART_REQ, &part, sizeof(part) / 4u);
}

void dih_exec_LCP_NODE_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct lcp_node *node = &dih->lcp_node;
    const struct lcp_node_req *req = SIG_PAYLOAD(sig, lcp_node_req);
    if (req->incarnation != dih->incarnation || ref_node(sig->sender) != dih->president)
        return; /* A leftover. */
    if (dih_diskless(dih) || dih->gcp_node.complete_hi == 0) {
        dih_protocol_error(dih, sig->sender, "a checkpoint of a node without files");
        return;
    }
    if (node->state != LCPN_IDLE) {
        jam(); /* The round of a former president goes to its end first. */
        node->next = *req;
        node->next_master = sig->sender;
        return;
    }
    round_begin(dih, sig->sender, req);
}

void dih_exec_LCP_PART_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct lcp_node *node = &dih->lcp_node;
    struct lcp_node_conf *result = &node->result;
    const struct lcp_part_conf *conf = SIG_PAYLOAD(sig, lcp_part_conf);
    ndbrequire(node->state == LCPN_WRITING);
    ndbrequire(conf->lcp_id == result->lcp_id);
    ndbrequire(node_mask_has(&node->waiting, ref_instance(sig->sender)));
    node_mask_remove(&node->waiting, ref_instance(sig->sender));
    if (conf->end_gci > node->end_gci) node->end_gci = conf->end_gci;
    result->fragments += conf->fragments;
    result->failed += conf->failed;
    result->kbytes += conf->kbytes;
    result->pages += conf->pages;
    result->deltas += conf->deltas;
    uint64_t rows = u64_of(result->delta_rows_lo, result->delta_rows_hi) +
                    u64_of(conf->delta_rows_lo, conf->delta_rows_hi);
    result->delta_rows_lo = (uint32_t)rows;
    result->delta_rows_hi = (uint32_t)(rows >> 32);
    if (result->error == 0) result->error = conf->error;
    if (!node_mask_empty(&node->waiting)) return;
    jam();
    node->state = LCPN_DURABLE_WAIT;
    if (node->end_gci > dih->gcp_node.durable) gcp_node_close(dih, node->end_gci);
    lcp_node_durable(dih);
}

/* The durable GCI has moved: are the new checkpoints usable? */
void lcp_node_durable(struct dih *dih)
{
    struct lcp_node *node = &dih->lcp_node;
    if (node->state != LCPN_DURABLE_WAIT || node->end_gci > dih->gcp_node.durable) return;
    struct lcp_usable_req req = {.lcp_id = node->result.lcp_id};
    jam();
    node->state = LCPN_CLEANING;
    wait_for_ldms(dih);
    to_ldms(dih, BLOCK_LCPWRITER, GSN_LCP_USABLE_REQ, &req, sizeof(req) / 4u);
}

/* All nodes take part in a round: a disk that takes no checkpoints shall not keep them busy. */
static void pause_if_failed(struct dih *dih)
{
    struct lcp_node *node = &dih->lcp_node;
    uint32_t pause = node->pause_ms * 2u;
    if (pause < LCP_PAUSE_MIN_MS) pause = LCP_PAUSE_MIN_MS;
    if (pause > LCP_PAUSE_MAX_MS) pause = LCP_PAUSE_MAX_MS;
    node->pause_ms = node->result.failed > 0 ? pause : 0;
    node->again_ms = node->last_ms + node->pause_ms;
}

bool lcp_node_pauses(const struct dih *dih)
{
    return now_ms(&dih->block) < dih->lcp_node.again_ms;
}

void dih_exec_LCP_USABLE_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct lcp_node *node = &dih->lcp_node;
    ndbrequire(node->state == LCPN_CLEANING);
    ndbrequire(node_mask_has(&node->waiting, ref_instance(sig->sender)));
    node_mask_remove(&node->waiting, ref_instance(sig->sender));
    const struct lcp_usable_conf *conf = SIG_PAYLOAD(sig, lcp_usable_conf);
    if (conf->failed != 0) node->result.failed++; /* What is on no list is not missed. */
    if (conf->number != 0) dih_list_take(dih, ref_instance(sig->sender), conf->number, conf->check);
    if (!node_mask_empty(&node->waiting)) return;
    jam();
    node->state = LCPN_NAMING;
    if (!dih_lists_name(dih)) lcp_node_named(dih);
}

/* The system files name the new lists, both of them: so the next round's lists are the only ones
 * that they will not know. */
void lcp_node_named(struct dih *dih)
{
    struct lcp_node *node = &dih->lcp_node;
    if (node->state != LCPN_NAMING) return;
    jam();
    node->state = LCPN_IDLE;
    node->last = node->result;
    node->last_ms = now_ms(&dih->block);
    node->last_duration_ms = (uint32_t)(node->last_ms - node->begin_ms);
    pause_if_failed(dih);
    if (node->result.incarnation == dih->incarnation)
        sig_send(&dih->block, node->master, GSN_LCP_NODE_CONF, PRIO_B, &node->result);
    dih_include_round_ended(dih, node->result.failed);
    if (node->next_master == 0) {
        lcp_node_monitor(dih);
        return;
    }
    uint32_t master = node->next_master;
    node->next_master = 0;
    if (node->next.incarnation == dih->incarnation) round_begin(dih, master, &node->next);
}

/* What a lost president has ordered and what has not begun is not begun. */
void lcp_node_lost(struct dih *dih, const struct node_mask *nodes)
{
    struct lcp_node *node = &dih->lcp_node;
    if (node->next_master == 0 || !node_mask_has(nodes, ref_node(node->next_master))) return;
    jam();
    node->next_master = 0;
}

/* --- When is one due? --- */

void lcp_node_want(struct dih *dih, uint32_t reason)
{
    struct lcp_wanted_ord ord = {.incarnation = dih->incarnation, .reason = reason};
    if (dih->president == 0 || dih_diskless(dih)) return;
    jam_data(reason);
    sig_send(&dih->block, block_ref(dih->president, BLOCK_DBDIH, 0), GSN_LCP_WANTED_ORD, PRIO_B,
             &ord);
}

static uint64_t log_bytes(const struct dih *dih)
{
    const struct node_config *config = block_config(&dih->block);
    return (uint64_t)config->redo_files * config->redo_file_bytes;
}

/* Nothing frees the log any more: before writes are refused, the node may have to go. One whose
 * directory is gone goes at once: its log is written to files that have no name any more. */
static void tell_if_stuck(struct dih *dih)
{
    const struct lcp_node *node = &dih->lcp_node;
    uint64_t begun_ms = node->last_ms - node->last_duration_ms;
    struct lcp_stuck_rep rep = {.error = node->last.error,
                                .fill = node->fill,
                                .age_ms = (uint32_t)(now_ms(&dih->block) - begun_ms)};
    bool gone = node->last.error == ERR_FILE_MISSING;
    if (node->last.failed == 0 || (node->fill < LCP_FILL_STUCK && !gone)) return;
    jam_data(node->last.failed);
    sig_send(&dih->block, block_ref(dih_own(dih), BLOCK_NDBCNTR, 0), GSN_LCP_STUCK_REP, PRIO_B,
             &rep);
}

/* All logs have answered. */
static void judge(struct dih *dih)
{
    struct lcp_node *node = &dih->lcp_node;
    uint64_t limit = (uint64_t)4u << block_config(&dih->block)->lcp_growth_log2;
    uint64_t worth = node->last.kbytes * 1024ull / LCP_GROWTH_SHARE;
    /* Records of this GCI may be in the log; a round that begins behind it frees them all. */
    if (node->bytes_sum != node->bytes) node->write_gci = dih->gcp_node.complete_hi + 1u;
    node->bytes = node->bytes_sum;
    tell_if_stuck(dih);
    /* A round that has failed has freed nothing: another one is due though nothing was written, as
     * nothing can be into a full log. */
    if (node->state != LCPN_IDLE) return;
    if (node->start_gci > node->write_gci) {
        bool held = node->fill >= LCP_FILL_STUCK; /* Whoever makes room shall not wait long. */
        uint64_t again_ms = node->last_ms + (held ? 0 : LCP_PAUSE_IDLE_MS);
        if (node->result.failed == 0 || now_ms(&dih->block) < again_ms) return;
    }
    if (lcp_node_pauses(dih)) return;
    /* The tail moves by whole files: a log of few of them stays filled behind a round. */
    uint64_t growth = node->bytes - node->bytes_then;
    bool enough = growth >= log_bytes(dih) / 100u * LCP_FREED_PERCENT;
    if (node->start_gci == 0 || node->result.failed > 0) enough = true;
    /* What may have happened and what not must be known for every start that the log reaches back
     * over: its tail moves before the first of them is forgotten. */
    if (node->start_gci == 0 && dih->sysfile.now.ended_count >= LCP_STARTS &&
        dih->include.state == DIH_INCLUDE_NONE)
        lcp_node_want(dih, LCP_BY_STARTS);
    else if (node->fill >= LCP_FILL_HIGH || (node->fill >= LCP_FILL_PERCENT && enough))
        lcp_node_want(dih, LCP_BY_FILL);
    else if (memory_held(dih) != node->held)
        lcp_node_want(dih, LCP_BY_GROWTH); /* It frees what is kept for a restart from the last. */
    else if (node->fill >= LCP_GROWTH_PERCENT && growth >= limit && growth >= worth)
        lcp_node_want(dih, LCP_BY_GROWTH);
}

/* Every second, when a log says that it holds operations back, and behind a round. Costs nothing
 * while nothing is written and checkpoints succeed. */
void lcp_node_monitor(struct dih *dih)
{
    struct lcp_node *node = &dih->lcp_node;
    if (dih_diskless(dih) || dih->gcp_node.complete_hi == 0 || node->logs_asked > 0) return;
    node->logs_asked = block_instances(&dih->block, BLOCK_DBLQH);
    node->bytes_sum = 0;
    node->fill = 0;
    struct redo_status_req req = {.sender_data = 0};
    to_ldms(dih, BLOCK_DBLQH, GSN_REDO_STATUS_REQ, &req, sizeof(req) / 4u);
}

void dih_exec_REDO_STATUS_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct lcp_node *node = &dih->lcp_node;
    const struct redo_status_conf *conf = SIG_PAYLOAD(sig, redo_status_conf);
    if (conf->sender_data == REDO_STATUS_HINT) {
        jam();
        lcp_node_monitor(dih);
        return;
    }
    ndbrequire(node->logs_asked > 0);
    if (conf->fill > node->fill) node->fill = conf->fill;
    node->bytes_sum += conf->bytes_lo | (uint64_t)conf->bytes_hi << 32;
    if (--node->logs_asked == 0) judge(dih);
}

/* --- For operators. --- */

static_assert((uint32_t)LCPN_IDLE == LCP_REPORT_IDLE &&
                  (uint32_t)LCPN_WRITING == LCP_REPORT_WRITING &&
                  (uint32_t)LCPN_DURABLE_WAIT == LCP_REPORT_WAITING &&
                  (uint32_t)LCPN_CLEANING == LCP_REPORT_CLEANING,
              "states are reported as they are");

void dih_exec_LCP_STATUS_REQ(struct block *block, const struct signal *sig)
{
    const struct dih *dih = dih_of(block);
    const struct lcp_node *node = &dih->lcp_node;
    uint64_t now = now_ms(block);
    bool running = node->state != LCPN_IDLE;
    struct lcp_status_conf conf = {
        .sender_data = SIG_PAYLOAD(sig, lcp_status_req)->sender_data,
        .gci = dih->gcp_node.gci_hi,
        .durable = dih->gcp_node.durable,
        .lcp_state = node->state == LCPN_NAMING ? (uint32_t)LCP_REPORT_CLEANING : node->state,
        .lcp_id = running ? node->result.lcp_id : 0,
        .lcp_ms = running ? (uint32_t)(now - node->begin_ms) : 0,
        .last_id = node->last.lcp_id,
        .last_age_ms = node->last.lcp_id != 0 ? (uint32_t)(now - node->last_ms) : 0,
        .last_ms = node->last_duration_ms,
        .last_fragments = node->last.fragments,
        .last_failed = node->last.failed,
        .last_kbytes = node->last.kbytes,
    };
    jam();
    sig_send(block, sig->sender, GSN_LCP_STATUS_CONF, PRIO_B, &conf);
}
