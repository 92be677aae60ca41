/* dih_include.c -- a node that comes back is taken into the epochs and saves of the cluster, and
 * into the system files when it has everything. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * P is the node that comes back, M the president. Between two epochs and two saves M counts P among
 * the members; until P has all rows the system files do not name it: a crash of all leaves it
 * outside, and its copy begins anew. See docs/protocols/gcp.md.
 */
#include <string.h>
#include "blocks/dbdih/dih_state.h"

#define ROUNDS_TRIED 5u /* Checkpoints of a node that comes back; then it begins again. */

static void include_move(struct dih *dih, enum dih_include_state state)
{
    jam_data(state);
    dih->include.state = state;
}

void dih_include_reset(struct dih *dih)
{
    memset(&dih->include, 0, sizeof(dih->include));
}

/* --- P: it becomes ready, and hears where the cluster is. --- */

void dih_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct node_include_req *req = SIG_PAYLOAD(sig, node_include_req);
    struct node_include_conf conf = {.sender_data = req->sender_data};
    ndbrequire(req->node == dih_own(dih) && dih->gcp_node.gci_hi == 0);
    dih_include_reset(dih);
    include_move(dih, DIH_INCLUDE_WAITING);
    dih->members = req->alive;
    node_mask_add(&dih->members, dih_own(dih));
    dih->president = req->president;
    dih->fail.failure_no = req->failure_no;
    /* Nothing of a former life counts; its files are gone. */
    memset(&dih->sysfile.now, 0, sizeof(dih->sysfile.now));
    dih->sysfile.has_data = 0;
    sig_send(block, sig->sender, GSN_NODE_INCLUDE_CONF, PRIO_B, &conf);
}

static bool list_good(const struct signal *sig, const struct gcp_include_ord *ord)
{
    const struct section *list = &sig->section[0];
    if (sig->section_count == 0) return true;
    if (list->size % 2u != 0 || list->size > SYSFILE_ENDED_MAX * 2u) return false;
    for (uint32_t at = 0; at < list->size; at += 2u) {
        bool last = at + 2u == list->size;
        if (list->words[at] >= (last ? ord->data_incarnation : list->words[at + 2u])) return false;
        if (list->words[at + 1u] > (last ? ord->restart_gci : list->words[at + 3u])) return false;
    }
    return true;
}

static bool order_good(const struct dih *dih, const struct signal *sig)
{
    const struct gcp_include_ord *ord = SIG_PAYLOAD(sig, gcp_include_ord);
    bool files = ord->data_incarnation != 0 && sig->section_count == 1;
    if (dih_diskless(dih) ? ord->data_incarnation != 0 || sig->section_count != 0 : !files)
        return false;
    if (ord->gci_hi == 0 || ord->restart_gci >= ord->gci_hi || ord->durable >= ord->gci_hi)
        return false;
    if (ord->complete_hi > ord->gci_hi || ord->complete_hi == 0) return false;
    if (epoch_life(ord->gci_lo) != epoch_life(epoch_lo(ord->data_incarnation, 0))) return false;
    return list_good(sig, ord);
}

/* The first GCP_PREPARE follows. */
void dih_exec_GCP_INCLUDE_ORD(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct gcp_node *node = &dih->gcp_node;
    const struct gcp_include_ord *ord = SIG_PAYLOAD(sig, gcp_include_ord);
    if (dih->incarnation == 0 || ord->incarnation != dih->incarnation ||
        ref_node(sig->sender) != dih->president)
        return; /* A leftover. */
    if (dih->include.state != DIH_INCLUDE_WAITING || !order_good(dih, sig)) {
        dih_protocol_error(dih, sig->sender, "an order to take part that cannot be");
        return;
    }
    dih->restart_gci = ord->restart_gci;
    node->durable = ord->durable;
    node->complete_hi = ord->complete_hi;
    node->complete_lo = ord->complete_lo;
    dih->include.floor_hi = ord->gci_hi;
    dih->include.floor_lo = ord->gci_lo;
    dih->include.floor_gci = ord->gci_hi;
    if (!dih_diskless(dih)) sysfile_life(dih, ord->data_incarnation, &sig->section[0]);
    log_info(block, "this node takes part in epochs: %u/%u is open", ord->gci_hi,
             epoch_number(ord->gci_lo));
    include_move(dih, DIH_INCLUDE_PARTIAL);
    if (dih->include.complete_sender != 0) dih_include_complete(dih);
}

/* --- P: it has all rows. --- */

void dih_exec_DIH_COMPLETE_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct dih_include *include = &dih->include;
    ndbrequire(include->state == DIH_INCLUDE_WAITING || include->state == DIH_INCLUDE_PARTIAL);
    ndbrequire(include->complete_sender == 0);
    include->complete_sender = sig->sender;
    include->complete_data = SIG_PAYLOAD(sig, dih_complete_req)->sender_data;
    if (include->state == DIH_INCLUDE_PARTIAL) dih_include_complete(dih);
}

/* What begins from now on counts. */
void dih_include_complete(struct dih *dih)
{
    struct dih_include *include = &dih->include;
    const struct gcp_node *node = &dih->gcp_node;
    include_move(dih, DIH_IN_CHECKING);
    if (node->gci_hi != 0) {
        bool prepares = node->state == GCPN_HOLDING || node->state == GCPN_HELD;
        include->floor_hi = prepares ? node->next_hi : node->gci_hi;
        include->floor_lo = prepares ? node->next_lo : node->gci_lo;
        include->floor_gci = node->gci_hi;
    }
    if (dih_diskless(dih)) return;
    gcp_node_close(dih, include->floor_gci);
    dih_include_monitor(dih);
}

/* The wish for a round; again when the last one could not write all fragments. */
void dih_include_monitor(struct dih *dih)
{
    struct dih_include *include = &dih->include;
    if (include->state != DIH_IN_CHECKING || include->asked || dih_diskless(dih)) return;
    if (lcp_node_pauses(dih)) return;
    jam();
    include->asked = true;
    lcp_node_want(dih, LCP_BY_NODE);
}

void dih_include_round_begun(struct dih *dih)
{
    dih->include.counts = dih->include.state == DIH_IN_CHECKING;
}

void dih_include_round_ended(struct dih *dih, uint32_t failed)
{
    struct dih_include *include = &dih->include;
    if (!include->counts) return;
    jam_data(failed);
    include->counts = false;
    if (failed == 0) {
        include->checkpointed = true;
    } else {
        include->asked = false;
        /* A file that could not be written once is not written again by this process. */
        if (++include->rounds_failed >= ROUNDS_TRIED)
            node_fail(EXIT_LCP_STUCK, __FILE__, __LINE__,
                      "the checkpoint of a node that comes back fails again and again");
    }
    dih_include_go_on(dih);
}

/* An epoch is complete, a GCI is durable, a round has ended: is that all? */
void dih_include_go_on(struct dih *dih)
{
    struct dih_include *include = &dih->include;
    const struct gcp_node *node = &dih->gcp_node;
    if (include->state != DIH_IN_CHECKING) return;
    bool epoch = node->complete_hi > include->floor_hi ||
                 (node->complete_hi == include->floor_hi && node->complete_lo > include->floor_lo);
    bool files = dih_diskless(dih) ||
                 (include->checkpointed && node->durable >= include->floor_gci); /* I-GCP-8 */
    if (!epoch || !files) return;
    struct dih_complete_conf conf = {.sender_data = include->complete_data};
    include_move(dih, dih_diskless(dih) ? DIH_INCLUDE_NONE : DIH_INCLUDE_WHOLE);
    sig_send(&dih->block, include->complete_sender, GSN_DIH_COMPLETE_CONF, PRIO_B, &conf);
}

/* --- P: its system files. --- */

/* What NDBCNTR's request says is older than what this DIH has seen itself. */
void dih_include_files(struct dih *dih, const struct signal *sig)
{
    struct dih_include *include = &dih->include;
    const struct sysfile_start_req *req = SIG_PAYLOAD(sig, sysfile_start_req);
    include->files_sender = sig->sender;
    include->files_data = req->sender_data;
    include_move(dih, DIH_IN_WRITING);
    uint32_t gci = dih->gcp_node.durable;
    sysfile_join(dih, include->saved > gci ? include->saved : gci);
}

void dih_include_written(struct dih *dih)
{
    struct gcp_whole_rep rep = {.incarnation = dih->incarnation};
    if (dih->include.state != DIH_IN_WRITING) return;
    include_move(dih, DIH_IN_UNNAMED);
    sig_send(&dih->block, block_ref(dih->president, BLOCK_DBDIH, 0), GSN_GCP_WHOLE_REP, PRIO_A,
             &rep);
}

/* `gci` goes into the system files of all that are in `members`. False: this node has none yet. The
 * GCI counts in its files whether it is named or not: its logs have it. */
bool dih_include_copies(struct dih *dih, uint32_t gci, struct node_mask *members)
{
    struct dih_include *include = &dih->include;
    if (include->state == DIH_INCLUDE_NONE || include->state == DIH_INCLUDE_NAMED) return true;
    include->saved = gci;
    if (include->state < DIH_IN_WRITING) return false;
    if (!node_mask_has(members, dih_own(dih))) {
        jam();
        node_mask_add(members, dih_own(dih));
    } else {
        include_move(dih, DIH_INCLUDE_NAMED);
        include->named_gci = gci;
    }
    return true;
}

/* A crash of all finds this node among the current ones from now on. */
void dih_include_durable(struct dih *dih)
{
    struct dih_include *include = &dih->include;
    dih_include_go_on(dih);
    if (include->state != DIH_INCLUDE_NAMED || dih->gcp_node.durable < include->named_gci) return;
    struct sysfile_start_conf conf = {.sender_data = include->files_data};
    include_move(dih, DIH_INCLUDE_NONE);
    log_info(&dih->block, "the system files name this node from GCI %u on", include->named_gci);
    sig_send(&dih->block, include->files_sender, GSN_SYSFILE_START_CONF, PRIO_A, &conf);
}

/* --- The others: M takes P in. --- */

void dih_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct node_include_rep *rep = SIG_PAYLOAD(sig, node_include_rep);
    ndbrequire(rep->node != 0 && rep->node <= DATA_NODE_ID_MAX);
    jam_data(rep->node);
    if (rep->node == dih_own(dih)) return;
    if (dih->president != dih_own(dih)) {
        node_mask_add(&dih->members, rep->node);
        return;
    }
    node_mask_add(&dih->include.joining, rep->node);
    gcp_master_include(dih);
}

void dih_exec_GCP_WHOLE_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    uint32_t node = ref_node(sig->sender);
    if (SIG_PAYLOAD(sig, gcp_whole_rep)->incarnation != dih->incarnation) return;
    if (!node_mask_has(&dih->include.partial, node)) {
        dih_protocol_error(dih, sig->sender, "it has all rows, which nobody asked");
        return;
    }
    node_mask_remove(&dih->include.partial, node);
    log_info(block, "node %u has all rows", node);
    gcp_master_force(dih);
}

/* What M knows of nodes that come back; they end by themselves when another one is lost. */
void dih_include_lost(struct dih *dih, const struct node_mask *nodes, bool new_master)
{
    struct dih_include *include = &dih->include;
    node_mask_cut(&include->partial, nodes);
    if (new_master) memset(&include->partial, 0, sizeof(include->partial));
    node_mask_cut(&include->joining, nodes);
    node_mask_cut(&dih->members, &include->joining);
}
