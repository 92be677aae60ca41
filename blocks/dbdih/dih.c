/* dih.c -- creates DBDIH, learns the members, answers the dictionary's questions about
 * distribution, hands the epoch protocol its start, its timers and its losses. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdih/dih_state.h"
#include "values/errors.h"
#include "signals/management.h"
#include "signals/node_report.h"
#include "signals/redo.h"
#include "signals/schema_restart.h"

#define MONITOR_MS 1000u
#define DUMP_LCP   7099u /* A local checkpoint now. */
#define DUMP_EPOCH 7110u /* A new micro-epoch now. */
#define DUMP_GCI   7111u /* Close the GCI now. */

void dih_work_later(struct dih *dih, enum dih_work work, uint32_t data, uint32_t delay_ms)
{
    struct dih_continueb next = {.work = work, .data = data};
    sig_send_delayed(&dih->block, dih->block.ref, GSN_CONTINUEB, PRIO_A, &next, delay_ms);
}

/* What a peer does wrong costs it its link; what this node does wrong stops it. */
void dih_protocol_error(struct dih *dih, uint32_t sender, const char *what)
{
    jam();
    if (ref_node(sender) == dih_own(dih)) node_fail(EXIT_PEER_PROTOCOL, __FILE__, __LINE__, what);
    peer_refuse(&dih->block, ref_node(sender), what);
}

bool dih_of_this_life(struct dih *dih, const struct signal *sig, uint32_t incarnation)
{
    uint32_t node = ref_node(sig->sender);
    if (dih->incarnation == 0 || node > DATA_NODE_ID_MAX) return false;
    if (incarnation == dih->incarnation) {
        if (node_mask_has(&dih->members, node)) node_mask_add(&dih->alike, node);
        return true;
    }
    jam();
    if (node_mask_has(&dih->alike, node))
        dih_protocol_error(dih, sig->sender, "a word of another life of the cluster");
    return false;
}

void dih_sttorry(struct dih *dih, uint32_t sender, uint32_t phase)
{
    struct sttorry conf = {.sender_data = phase, .phase = phase};
    sig_send(&dih->block, sender, GSN_STTORRY, PRIO_B, &conf);
}

static void dih_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    dih_work_later(dih_of(block), DIH_WORK_MONITOR, 0, MONITOR_MS);
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void dih_exec_MEMBERS_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct members_rep *rep = SIG_PAYLOAD(sig, members_rep);
    const struct section *list = &sig->section[0];
    ndbrequire(list->size % MEMBER_WORDS == 0);
    jam();
    gcp_master_stop(dih);
    lcp_master_stop(dih);
    gcp_node_reset(dih);
    dih_fail_reset(dih);
    dih_include_reset(dih);
    dih->incarnation = rep->incarnation;
    dih->alike = (struct node_mask){{0}};
    dih->president = rep->president;
    dih->members = rep->members;
    for (uint32_t at = 0; at < list->size; at += MEMBER_WORDS) {
        uint32_t node = list->words[at];
        uint32_t ldm_count = list->words[at + 2];
        ndbrequire(node <= NODE_ID_MAX);
        dih->ldm_count[node] = ldm_count == 0 ? 1 : ldm_count;
    }
    dih_form_groups(dih);
    log_info(block, "%u node groups", dih->groups);
}

/* Phase 0: the system files. Phase 6: the president's DIH begins to number epochs; the first one is
 * everywhere before any node opens its TCs. */
static void dih_exec_STTOR(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct sttor *req = SIG_PAYLOAD(sig, sttor);
    if (req->phase == 0 && !dih_diskless(dih)) {
        jam();
        sysfile_read(dih, sig->sender, req->sender_data);
        return;
    }
    if (req->phase == 6 && dih->president == dih_own(dih) && dih->incarnation != 0) {
        jam();
        gcp_master_begin(dih, sig->sender, req->sender_data);
        return;
    }
    jam();
    dih_sttorry(dih, sig->sender, req->phase);
}

/* What the loss means is NDBCNTR's to decide; NODE_LOST_REP follows if the cluster goes on. */
static void dih_exec_NODE_FAILREP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct node_failrep *rep = SIG_PAYLOAD(sig, node_failrep);
    if (rep->failure_no != 0 && rep->verdict == 0 && block_config(block)->survive != 0 &&
        dih->gcp_node.gci_hi != 0 && dih->gcp_master.sttor_owed == 0) {
        jam();
        return;
    }
    jam();
    gcp_master_stop(dih);
    lcp_master_stop(dih);
    dih->incarnation = 0; /* What is under way is a leftover; all join anew, or the node ends. */
}

static void dih_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct dih_continueb *work = SIG_PAYLOAD(sig, dih_continueb);
    switch ((enum dih_work)work->work) {
    case DIH_WORK_EPOCH:
        gcp_master_tick(dih, work->data);
        return;
    case DIH_WORK_MONITOR:
        gcp_master_monitor(dih);
        gcp_node_monitor(dih);
        lcp_node_monitor(dih);
        dih_include_monitor(dih);
        dih_work_later(dih, DIH_WORK_MONITOR, 0, MONITOR_MS);
        return;
    case DIH_WORK_SYSFILE:
        sysfile_tick(dih, work->data);
        return;
    default:
        ndbrequire(false); /* No other work is ever sent. */
    }
}

static uint32_t check_fragments(const struct dih *dih, uint32_t partitions, uint32_t copies)
{
    if (partitions == 0 || partitions > TABLE_FRAGMENTS_MAX || ERROR_INSERTED(&dih->block, 7001))
        return ERR_TOO_MANY_FRAGMENTS;
    return partitions * (1u + copies) > TABLE_FRAGMENTS_MAX ? ERR_FULLY_REPLICATED_FRAGMENTS : 0;
}

static void dih_exec_CREATE_FRAG_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct create_frag_req *req = SIG_PAYLOAD(sig, create_frag_req);
    uint32_t partitions = dih_fragment_count(dih, (int32_t)req->balance, req->fragment_count);
    uint32_t copies = (req->flags & TABLE_FULLY_REPLICATED) != 0 ? dih->groups - 1u : 0;
    uint32_t error = check_fragments(dih, partitions, copies);
    if (error != 0) {
        jam_data(error);
        struct create_frag_ref ref = {.sender_data = req->sender_data, .error = error};
        sig_send(block, sig->sender, GSN_CREATE_FRAG_REF, PRIO_B, &ref);
        return;
    }
    jam_data(copies);
    struct section section = {.words = dih->words, .size = dih_place(dih, partitions, copies)};
    struct create_frag_conf conf = {.sender_data = req->sender_data,
                                    .fragment_count = partitions * (1u + copies)};
    signal_send(block, sig->sender, GSN_CREATE_FRAG_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                &section, 1);
}

static void dump_groups(const struct dih *dih)
{
    for (uint32_t group = 0; group < dih->groups; group++) {
        for (uint32_t i = 0; i < dih->group[group].count; i++) {
            uint32_t node = dih->group[group].node[i];
            log_info(&dih->block, "node group %u: node %u, %u LDM instances", group, node,
                     dih->ldm_count[node]);
        }
    }
}

/* DUMP 16: node groups. 7099: a local checkpoint at once. 7110, 7111: a new epoch or GCI at once;
 * also tells where the protocol is. */
static void dih_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct gcp_node *node = &dih->gcp_node;
    uint32_t code = SIG_PAYLOAD(sig, dump_state_ord)->data[0];
    jam_data(code);
    if (code == DUMP_LCP) {
        lcp_node_want(dih, LCP_BY_OPERATOR);
        return;
    }
    if (code != DUMP_EPOCH && code != DUMP_GCI) {
        dump_groups(dih);
        return;
    }
    log_info(block,
             "life %u: epoch %u/%u, complete %u/%u, durable %u; node state %u, master state %u, "
             "save %u",
             epoch_life(node->gci_lo), node->gci_hi, epoch_number(node->gci_lo), node->complete_hi,
             epoch_number(node->complete_lo), node->durable, node->state, dih->gcp_master.state,
             dih->gcp_master.save_state);
    gcp_node_close(dih, code == DUMP_GCI ? node->gci_hi : 0);
}

static const struct handler dih_handlers[] = {
    HANDLER(dih, READ_CONFIG_REQ, read_config_req),
    HANDLER(dih, MEMBERS_REP, members_rep),
    HANDLER(dih, CREATE_FRAG_REQ, create_frag_req),
    HANDLER(dih, STTOR, sttor),
    HANDLER(dih, NODE_FAILREP, node_failrep),
    HANDLER(dih, CONTINUEB, dih_continueb),
    HANDLER(dih, NODE_LOST_REP, node_lost_rep),
    HANDLER(dih, TAKEOVER_END_REP, takeover_end_rep),
    HANDLER(dih, GCP_TAKEOVER_REP, gcp_takeover_rep),
    HANDLER(dih, GCP_STATE_REQ, gcp_state_req),
    HANDLER(dih, GCP_STATE_CONF, gcp_state_conf),
    HANDLER(dih, NODE_INCLUDE_REQ, node_include_req),
    HANDLER(dih, NODE_INCLUDE_REP, node_include_rep),
    HANDLER(dih, GCP_INCLUDE_ORD, gcp_include_ord),
    HANDLER(dih, GCP_WHOLE_REP, gcp_whole_rep),
    HANDLER(dih, DIH_COMPLETE_REQ, dih_complete_req),
    HANDLER(dih, GCP_PREPARE, gcp_prepare),
    HANDLER(dih, GCP_PREPARECONF, gcp_prepareconf),
    HANDLER(dih, GCP_COMMIT, gcp_commit),
    HANDLER(dih, GCP_NODEFINISH, gcp_nodefinish),
    HANDLER(dih, EPOCH_COMPLETE_REP, epoch_complete_rep),
    HANDLER(dih, GCP_NODE_SAVEREQ, gcp_node_savereq),
    HANDLER(dih, GCP_NODE_SAVECONF, gcp_node_saveconf),
    HANDLER(dih, COPY_GCIREQ, copy_gcireq),
    HANDLER(dih, COPY_GCICONF, copy_gciconf),
    HANDLER(dih, GCP_NODE_DURABLE_REP, gcp_node_durable_rep),
    HANDLER(dih, GCP_CLOSE_ORD, gcp_close_ord),
    HANDLER(dih, GCP_STOP_ORD, gcp_stop_ord),
    HANDLER(dih, GCP_HOLD_CONF, gcp_hold_conf),
    HANDLER(dih, TC_EPOCH_CONF, tc_epoch_conf),
    HANDLER(dih, GCP_SAVECONF, gcp_saveconf),
    HANDLER(dih, GCP_SAVEREF, gcp_saveref),
    HANDLER(dih, GCP_FORCE_ORD, gcp_force_ord),
    HANDLER(dih, GCP_FLUSH_REQ, gcp_flush_req),
    HANDLER(dih, SYSFILE_INFO_REQ, sysfile_info_req),
    HANDLER(dih, SYSFILE_START_REQ, sysfile_start_req),
    HANDLER(dih, SYSFILE_ENDS_REQ, sysfile_ends_req),
    HANDLER(dih, LOG_ENDS_REQ, log_ends_req),
    HANDLER(dih, LOG_ENDS_CONF, log_ends_conf),
    HANDLER(dih, SYSFILE_VOID_REQ, sysfile_void_req),
    HANDLER(dih, LCP_WANTED_ORD, lcp_wanted_ord),
    HANDLER(dih, LCP_NODE_REQ, lcp_node_req),
    HANDLER(dih, LCP_NODE_CONF, lcp_node_conf),
    HANDLER(dih, LCP_PART_CONF, lcp_part_conf),
    HANDLER(dih, LCP_USABLE_CONF, lcp_usable_conf),
    HANDLER(dih, LCP_LIST_REQ, lcp_list_req),
    HANDLER(dih, SCHEMA_WRITTEN_ORD, schema_written_ord),
    HANDLER(dih, REDO_STATUS_CONF, redo_status_conf),
    HANDLER(dih, LCP_STATUS_REQ, lcp_status_req),
    HANDLER(dih, FSOPENCONF, fsopenconf),
    HANDLER(dih, FSOPENREF, fs_ref),
    HANDLER(dih, FSCLOSECONF, fs_conf),
    HANDLER(dih, FSCLOSEREF, fs_ref),
    HANDLER(dih, FSREADCONF, fs_io_conf),
    HANDLER(dih, FSREADREF, fs_ref),
    HANDLER(dih, FSWRITECONF, fs_io_conf),
    HANDLER(dih, FSWRITEREF, fs_ref),
    HANDLER(dih, DUMP_STATE_ORD, dump_state_ord),
};

static const struct block_type dih_type = {
    .name = "DBDIH",
    .block_no = BLOCK_DBDIH,
    .handlers = dih_handlers,
    .handler_count = sizeof(dih_handlers) / sizeof(dih_handlers[0]),
};

struct block *dih_create(struct thread *thread, uint32_t instance)
{
    return block_create(thread, &dih_type, instance, sizeof(struct dih));
}
