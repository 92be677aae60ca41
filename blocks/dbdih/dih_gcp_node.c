/* dih_gcp_node.c -- every node's DIH: carries the master's epochs to its TCs and GCIs to its logs,
 * and answers for them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/dbdih/dih_state.h"

void gcp_node_reset(struct dih *dih)
{
    struct gcp_node *node = &dih->gcp_node;
    uint32_t serial = node->serial;
    memset(node, 0, sizeof(*node));
    node->serial = serial + 1; /* What TCs and LQHs still answer is not asked for any more. */
}

static void to_dih(struct dih *dih, uint32_t node, uint32_t gsn, const void *payload,
                   uint32_t words)
{
    signal_send(&dih->block, block_ref(node, BLOCK_DBDIH, 0), gsn, PRIO_A, payload, words, NULL, 0);
}

/* All logs of the node have `gci`; where they end goes along. */
static void logs_saved(struct dih *dih, uint32_t gci)
{
    uint32_t entry[LOG_ENDS_ENTRY_MAX];
    struct gcp_node_saveconf conf = {.incarnation = dih->incarnation, .gci = gci};
    uint32_t words =
        log_ends_entry(entry, dih_own(dih), gci, (const uint32_t(*)[2])dih->gcp_node.save_lsn,
                       block_instances(&dih->block, BLOCK_DBLQH));
    struct section section = {.words = entry, .size = words};
    signal_send(&dih->block, block_ref(dih->gcp_node.saver, BLOCK_DBDIH, 0), GSN_GCP_NODE_SAVECONF,
                PRIO_A, &conf, sizeof(conf) / 4u, &section, 1);
}

/* True for a word of the president in this life of the cluster; what else comes is dropped. */
static bool from_master(struct dih *dih, const struct signal *sig)
{
    bool good =
        dih_of_this_life(dih, sig, sig->payload[0]) && ref_node(sig->sender) == dih->president;
    jam_data(good);
    return good;
}

/* --- To the instances of a block on this node, and their answers. --- */

static void to_instances(struct dih *dih, uint32_t block_no, uint32_t gsn, const void *payload,
                         uint32_t words)
{
    uint32_t count = block_instances(&dih->block, block_no);
    for (uint32_t i = 1; i <= count; i++)
        signal_send(&dih->block, dih_local(dih, block_no) + i, gsn, PRIO_A, payload, words, NULL,
                    0);
}

static struct node_mask instances(const struct dih *dih, uint32_t block_no)
{
    struct node_mask mask;
    memset(&mask, 0, sizeof(mask));
    for (uint32_t i = 1; i <= block_instances(&dih->block, block_no); i++)
        node_mask_add(&mask, i);
    return mask;
}

static void node_move(struct dih *dih, enum gcp_node_state state)
{
    jam_data(state);
    dih->gcp_node.state = state;
    dih->gcp_node.phase_ms = now_ms(&dih->block);
    dih->gcp_node.warned = 0;
}

/* --- Epochs. --- */

/* The first epoch tells the TCs how former lives of the cluster ended. */
static void tcs_go_on(struct dih *dih, bool first)
{
    const struct gcp_node *node = &dih->gcp_node;
    const struct sysfile *now = &dih->sysfile.now;
    struct tc_epoch_req req = {
        .sender_data = node->serial, .gci_hi = node->gci_hi, .gci_lo = node->gci_lo};
    struct section ended = {.words = &now->ended[0].incarnation, .size = now->ended_count * 2u};
    uint32_t sections = first && !dih_diskless(dih) ? 1u : 0u;
    for (uint32_t i = 1; i <= block_instances(&dih->block, BLOCK_DBTC); i++)
        signal_send(&dih->block, dih_local(dih, BLOCK_DBTC) + i, GSN_TC_EPOCH_REQ, PRIO_A, &req,
                    sizeof(req) / 4u, &ended, sections);
}

static void prepared(struct dih *dih)
{
    const struct gcp_node *node = &dih->gcp_node;
    struct gcp_prepareconf conf = {
        .incarnation = dih->incarnation, .gci_hi = node->next_hi, .gci_lo = node->next_lo};
    to_dih(dih, node->asker, GSN_GCP_PREPARECONF, &conf, sizeof(conf) / 4u);
}

static void finished(struct dih *dih)
{
    const struct gcp_node *node = &dih->gcp_node;
    struct gcp_nodefinish conf = {
        .incarnation = dih->incarnation, .gci_hi = node->gci_hi, .gci_lo = node->gci_lo};
    to_dih(dih, node->asker, GSN_GCP_NODEFINISH, &conf, sizeof(conf) / 4u);
}

/* The next micro-epoch, or the next GCI. A new master may leave one out that only some have heard
 * of. */
static bool follows(const struct dih *dih, const struct gcp_prepare *req)
{
    const struct gcp_node *node = &dih->gcp_node;
    uint32_t least = dih->fail.failure_no == 0 ? 1u : 2u;
    if (node->gci_hi == 0) return true; /* The first one, as the master says. */
    if (req->gci_hi == node->gci_hi)
        return req->gci_lo > node->gci_lo && req->gci_lo - node->gci_lo <= least;
    return req->gci_hi > node->gci_hi && req->gci_hi - node->gci_hi <= least &&
           epoch_number(req->gci_lo) < least;
}

void dih_exec_GCP_PREPARE(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct gcp_prepare *req = SIG_PAYLOAD(sig, gcp_prepare);
    if (!from_master(dih, sig)) return;
    node->asker = ref_node(sig->sender);
    bool holds = node->state == GCPN_HOLDING || node->state == GCPN_HELD;
    if (!follows(dih, req) || (node->state != GCPN_IDLE && (!holds || dih->fail.failure_no == 0))) {
        dih_protocol_error(dih, sig->sender, "epoch out of its order"); /* I-GCP-1 */
        return;
    }
    if (epoch_life(req->gci_lo) != epoch_life(epoch_lo(dih_incarnation(dih), 0))) {
        dih_protocol_error(dih, sig->sender, "epoch of another life of the cluster"); /* I-GCP-6 */
        return;
    }
    if (holds) {
        jam(); /* A new master goes on where the former one was. That one may have told others
                  another number, which is why it is gone: nobody has begun with any. */
        node->next_hi = req->gci_hi;
        node->next_lo = req->gci_lo;
        if (node->state == GCPN_HELD) prepared(dih);
        return;
    }
    node->next_hi = req->gci_hi;
    node->next_lo = req->gci_lo;
    node_move(dih, GCPN_HOLDING);
    node->waiting = instances(dih, BLOCK_DBTC);
    struct gcp_hold_req hold = {.sender_data = ++node->serial};
    to_instances(dih, BLOCK_DBTC, GSN_GCP_HOLD_REQ, &hold, sizeof(hold) / 4u);
}

/* An answer of an own TC to the request under way; true when it was the last. */
static bool tc_answered(struct dih *dih, const struct signal *sig)
{
    struct gcp_node *node = &dih->gcp_node;
    if (sig->payload[0] != node->serial) {
        jam(); /* All have joined anew meanwhile. */
        return false;
    }
    ndbrequire(node_mask_has(&node->waiting, ref_instance(sig->sender)));
    node_mask_remove(&node->waiting, ref_instance(sig->sender));
    return node_mask_empty(&node->waiting);
}

void dih_exec_GCP_HOLD_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    if (!tc_answered(dih, sig)) return;
    ndbrequire(node->state == GCPN_HOLDING);
    node_move(dih, GCPN_HELD);
    prepared(dih);
}

void dih_exec_GCP_COMMIT(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct gcp_commit *req = SIG_PAYLOAD(sig, gcp_commit);
    if (!from_master(dih, sig)) return;
    node->asker = ref_node(sig->sender);
    bool again =
        dih->fail.failure_no != 0 && req->gci_hi == node->gci_hi && req->gci_lo == node->gci_lo;
    if (again && (node->state == GCPN_FINISHING || node->state == GCPN_IDLE)) {
        jam();
        if (node->state == GCPN_IDLE) finished(dih);
        return;
    }
    if (node->state != GCPN_HELD || req->gci_hi != node->next_hi || req->gci_lo != node->next_lo) {
        dih_protocol_error(dih, sig->sender, "commit of an epoch that was not prepared");
        return;
    }
    bool first = node->gci_hi == 0;
    node->old_hi = node->gci_hi != 0 ? node->gci_hi : req->gci_hi;
    node->old_lo = node->gci_hi != 0 ? node->gci_lo : 0;
    node->gci_hi = req->gci_hi;
    node->gci_lo = req->gci_lo;
    node_move(dih, GCPN_FINISHING);
    node->waiting = instances(dih, BLOCK_DBTC);
    node->serial++;
    tcs_go_on(dih, first);
}

void dih_exec_TC_EPOCH_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    if (!tc_answered(dih, sig)) return;
    ndbrequire(node->state == GCPN_FINISHING);
    node_move(dih, GCPN_IDLE);
    finished(dih);
}

void dih_exec_EPOCH_COMPLETE_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct epoch_complete_rep *rep = SIG_PAYLOAD(sig, epoch_complete_rep);
    if (!from_master(dih, sig)) return;
    dih->gcp_node.complete_hi = rep->gci_hi;
    dih->gcp_node.complete_lo = rep->gci_lo;
    dih_include_go_on(dih);
}

/* --- Making a GCI durable. --- */

void dih_exec_GCP_NODE_SAVEREQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct gcp_node_savereq *req = SIG_PAYLOAD(sig, gcp_node_savereq);
    if (!from_master(dih, sig)) return;
    node->saver = ref_node(sig->sender);
    node->copier = 0; /* A former master's: the new one has not asked for a copy yet. */
    if (dih->fail.failure_no != 0 && node->save_gci == req->gci) {
        jam(); /* Under way since the former master; the answer goes to the new one now. */
        return;
    }
    if (dih->fail.failure_no != 0 && (node->saved_gci == req->gci || node->copy_gci == req->gci ||
                                      dih->sysfile.now.gci >= req->gci)) {
        jam(); /* The new master may have had the answer already, so nothing may begin anew. */
        logs_saved(dih, req->gci);
        return;
    }
    if (dih_diskless(dih) || node->save_gci != 0 || node->copy_gci != 0 ||
        req->gci <= node->durable || req->gci >= node->gci_hi) {
        dih_protocol_error(dih, sig->sender, "GCI to save out of its order"); /* I-GCP-4 */
        return;
    }
    node->save_gci = req->gci;
    node->save_waiting = instances(dih, BLOCK_DBLQH);
    node->save_ms = now_ms(block);
    node->save_warned = 0;
    struct gcp_savereq save = {.sender_data = dih->incarnation, .gci = req->gci};
    to_instances(dih, BLOCK_DBLQH, GSN_GCP_SAVEREQ, &save, sizeof(save) / 4u);
}

void dih_exec_GCP_SAVECONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct gcp_saveconf *conf = SIG_PAYLOAD(sig, gcp_saveconf);
    uint32_t instance = ref_instance(sig->sender);
    if (conf->sender_data != dih->incarnation || conf->gci != node->save_gci) {
        jam(); /* Asked before all joined anew. */
        return;
    }
    ndbrequire(node_mask_has(&node->save_waiting, instance));
    node_mask_remove(&node->save_waiting, instance);
    if (instance - 1u < SYSFILE_LDM_MAX) {
        node->save_lsn[instance - 1u][0] = conf->lsn_lo;
        node->save_lsn[instance - 1u][1] = conf->lsn_hi;
    }
    if (!node_mask_empty(&node->save_waiting)) return;
    jam();
    uint32_t gci = node->save_gci;
    node->save_gci = 0;
    node->saved_gci = gci;
    logs_saved(dih, gci);
}

/* What may be lost cannot be declared durable: the node stops, and says why. To the others it is
 * lost: a signal that is sent now would not leave this process any more. */
void dih_exec_GCP_SAVEREF(struct block *block, const struct signal *sig)
{
    const struct gcp_saveref *ref = SIG_PAYLOAD(sig, gcp_saveref);
    jam_data(ref->error);
    log_error(block, "LQH %u cannot save GCI %u: error %u, system's error %u",
              ref_instance(sig->sender), ref->gci, ref->error, ref->os_error);
    node_fail(EXIT_GCP_SAVE, __FILE__, __LINE__, "the redo log could not be written");
}

void dih_exec_COPY_GCIREQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct copy_gcireq *req = SIG_PAYLOAD(sig, copy_gcireq);
    if (!from_master(dih, sig)) return;
    node->copier = ref_node(sig->sender);
    if (dih->fail.failure_no != 0 && node->copy_gci == req->gci) {
        jam();
        return;
    }
    if (dih->fail.failure_no != 0 && node->copy_gci == 0 && dih->sysfile.now.gci >= req->gci) {
        jam();
        struct copy_gciconf conf = {.incarnation = dih->incarnation, .gci = req->gci};
        to_dih(dih, node->copier, GSN_COPY_GCICONF, &conf, sizeof(conf) / 4u);
        return;
    }
    if (dih_diskless(dih) || node->save_gci != 0 || node->copy_gci != 0 ||
        req->gci <= node->durable || req->gci >= node->gci_hi || req->gci <= dih->sysfile.now.gci) {
        dih_protocol_error(dih, sig->sender, "GCI for the system file out of its order");
        return;
    }
    struct node_mask members = req->members;
    if (!dih_ends_name_own(dih, &sig->section[0], req->gci) ||
        !dih_ends_name_all(&sig->section[0], &members)) {
        dih_protocol_error(dih, sig->sender, "ends of logs that cannot be");
        return;
    }
    bool copies = dih_include_copies(dih, req->gci, &members);
    if (copies && !node_mask_has(&members, dih_own(dih))) {
        dih_protocol_error(dih, sig->sender, "a system file without the node itself");
        return;
    }
    sysfile_ends(dih, &sig->section[0]); /* Behind all refusals: these ends are of this GCI. */
    if (!copies) {
        struct copy_gciconf conf = {.incarnation = dih->incarnation, .gci = req->gci};
        to_dih(dih, node->copier, GSN_COPY_GCICONF, &conf, sizeof(conf) / 4u);
        return;
    }
    node->copy_gci = req->gci;
    node->copy_ms = now_ms(block);
    sysfile_copy(dih, &members);
}

void gcp_node_copied(struct dih *dih)
{
    struct gcp_node *node = &dih->gcp_node;
    struct copy_gciconf conf = {.incarnation = dih->incarnation, .gci = node->copy_gci};
    if (node->copy_gci == 0) return;
    jam();
    node->copy_gci = 0;
    if (node->copier != 0) to_dih(dih, node->copier, GSN_COPY_GCICONF, &conf, sizeof(conf) / 4u);
}

static void flush_done(struct dih *dih)
{
    struct gcp_node *node = &dih->gcp_node;
    struct gcp_flush_conf conf = {.sender_data = node->flush_data};
    jam();
    sig_send(&dih->block, node->flush_sender, GSN_GCP_FLUSH_CONF, PRIO_A, &conf);
    node->flush_sender = 0;
}

/* A GCI is on its way to the disk; at the president also one that another node has still to write.
 */
static bool saves(const struct dih *dih)
{
    const struct gcp_node *node = &dih->gcp_node;
    const struct gcp_master *master = &dih->gcp_master;
    if (node->save_gci != 0 || node->copy_gci != 0) return true;
    if (dih->president != dih_own(dih) || master->state == GCP_OFF) return false;
    return master->state != GCP_IDLE || master->save_state != SAVE_IDLE;
}

/* Files that will rest for long have the last GCI twice. */
void gcp_node_flushed(struct dih *dih)
{
    const struct gcp_node *node = &dih->gcp_node;
    if (node->flush_sender == 0) return;
    if (node->rest != 0 ? saves(dih) : node->flush_gci > node->durable) return;
    if (sysfile_repeat(dih) || dih->sysfile.writes > 0) {
        jam(); /* It comes back here. */
        return;
    }
    flush_done(dih);
}

void dih_exec_GCP_NODE_DURABLE_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct gcp_node_durable_rep *rep = SIG_PAYLOAD(sig, gcp_node_durable_rep);
    if (!from_master(dih, sig)) return;
    if (dih->fail.failure_no != 0 && rep->gci <= node->durable) {
        jam(); /* The new master tells all what some had heard of the former one. */
        return;
    }
    if (rep->gci <= node->durable || rep->gci >= node->gci_hi) {
        dih_protocol_error(dih, sig->sender, "durable GCI out of its order");
        return;
    }
    node->durable = rep->gci;
    struct gcp_durable_rep out = {.gci = rep->gci};
    to_instances(dih, BLOCK_DBTC, GSN_GCP_DURABLE_REP, &out, sizeof(out) / 4u);
    to_instances(dih, BLOCK_DBLQH, GSN_GCP_DURABLE_REP, &out, sizeof(out) / 4u);
    gcp_node_flushed(dih);
    lcp_node_durable(dih);
    dih_include_durable(dih);
}

/* --- Somebody waits for durability. --- */

void gcp_node_close(struct dih *dih, uint32_t gci)
{
    struct gcp_close_ord ord = {.incarnation = dih->incarnation, .gci = gci};
    if (dih->incarnation == 0) return;
    jam_data(gci);
    to_dih(dih, dih->president, GSN_GCP_CLOSE_ORD, &ord, sizeof(ord) / 4u);
}

void dih_exec_GCP_FORCE_ORD(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    gcp_node_close(dih, SIG_PAYLOAD(sig, gcp_force_ord)->gci);
}

void dih_exec_GCP_FLUSH_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct gcp_flush_req *req = SIG_PAYLOAD(sig, gcp_flush_req);
    ndbrequire(node->flush_sender == 0 || req->rest != 0); /* It may not have waited so long. */
    node->flush_sender = sig->sender;
    node->flush_data = req->sender_data;
    node->rest = req->rest;
    node->flush_gci = node->gci_hi;
    if (dih_diskless(dih) || node->gci_hi == 0) {
        jam();
        flush_done(dih);
        return;
    }
    jam();
    if (node->rest != 0)
        gcp_node_flushed(dih);
    else
        gcp_node_close(dih, node->flush_gci);
}

/* --- Monitor: the master names the node, the node names the instance. --- */

const char *gcp_late_text(uint32_t what)
{
    static const char *const texts[] = {
        [GCP_LATE_HOLD] = "has not held its commits back",
        [GCP_LATE_COMMITS] = "has transactions that do not end",
        [GCP_LATE_LOG] = "has not written its log",
        [GCP_LATE_SYSFILE] = "has not written its system file",
    };
    return what >= GCP_LATE_HOLD && what <= GCP_LATE_SYSFILE ? texts[what] : "is late";
}

_Noreturn static void stop_late(uint32_t what, uint64_t ms)
{
    char text[120];
    (void)snprintf(text, sizeof(text), "the node %s for %u ms", gcp_late_text(what), (uint32_t)ms);
    node_fail(EXIT_GCP_STOP, __FILE__, __LINE__, text);
}

void dih_exec_GCP_STOP_ORD(struct block *block, const struct signal *sig)
{
    const struct gcp_stop_ord *ord = SIG_PAYLOAD(sig, gcp_stop_ord);
    if (!from_master(dih_of(block), sig)) return;
    stop_late(ord->what, ord->ms);
}

/* A disk that does not answer holds all up; the node whose it is does not wait to be told. */
static void look_at_disk(const struct dih *dih, uint64_t now)
{
    const struct gcp_node *node = &dih->gcp_node;
    uint32_t limit_ms = block_config(&dih->block)->gci_timeout_ms;
    if (node->save_gci != 0 && gcp_too_late(now - node->save_ms, limit_ms))
        stop_late(GCP_LATE_LOG, now - node->save_ms);
    if (node->copy_gci != 0 && gcp_too_late(now - node->copy_ms, limit_ms))
        stop_late(GCP_LATE_SYSFILE, now - node->copy_ms);
}

void gcp_node_monitor(struct dih *dih)
{
    struct gcp_node *node = &dih->gcp_node;
    uint64_t now = now_ms(&dih->block);
    bool tc_due = node->state == GCPN_HOLDING || node->state == GCPN_FINISHING;
    if (tc_due && gcp_late(now - node->phase_ms, &node->warned)) {
        jam();
        for (uint32_t i = node_mask_next(&node->waiting, 0); i != 0;
             i = node_mask_next(&node->waiting, i))
            log_warning(&dih->block, "epoch %u/%u: TC %u is late: %s", node->next_hi,
                        epoch_number(node->next_lo), i,
                        node->state == GCPN_HOLDING ? "does not answer"
                                                    : "has transactions that do not end");
    }
    if (node->save_gci != 0 && gcp_late(now - node->save_ms, &node->save_warned)) {
        jam();
        const struct node_mask *waiting = &node->save_waiting;
        for (uint32_t i = node_mask_next(waiting, 0); i != 0; i = node_mask_next(waiting, i))
            log_warning(&dih->block, "GCI %u: LQH %u is late with its log", node->save_gci, i);
    }
    look_at_disk(dih, now);
}
