/* dih_lcp_master.c -- the president starts a round of local checkpoints on all nodes, and knows
 * when it has ended. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/cmvmi/event.h"
#include "blocks/dbdih/dih_state.h"
#include "kernel/base/u64.h"

/* A member is lost, or all join anew: what the nodes still answer belongs to a former incarnation.
 */
void lcp_master_stop(struct dih *dih)
{
    dih->lcp_master = (struct lcp_master){.last_id = dih->lcp_master.last_id};
}

static void ask(struct dih *dih, const struct node_mask *nodes)
{
    struct lcp_node_req req = {.incarnation = dih->incarnation, .lcp_id = dih->lcp_master.lcp_id};
    signal_broadcast(&dih->block, nodes, BLOCK_DBDIH, GSN_LCP_NODE_REQ, PRIO_B, &req,
                     sizeof(req) / 4u, NULL, 0);
}

/* `alone`: of these nodes; empty: of all. Who is still being copied to has no part unless its own
 * log wants that (`from`): the round would not count, and it would have to wait for its end. */
static void round_start(struct dih *dih, uint32_t reason, uint32_t from, struct node_mask alone)
{
    struct lcp_master *master = &dih->lcp_master;
    struct node_mask all = dih->members;
    if (!node_mask_has(&dih->include.partial, from)) node_mask_cut(&all, &dih->include.partial);
    static const char *const names[] = {"",          "the log has grown",      "the log fills up",
                                        "asked for", "many starts lie behind", "a node comes back"};
    jam_data(reason);
    /* GCIs grow over all starts, and so do the numbers of rounds. */
    uint32_t id = dih->gcp_node.complete_hi;
    if (id <= master->last_id) id = master->last_id + 1u;
    struct lcp_master former = *master;
    *master = (struct lcp_master){.lcp_id = id,
                                  .last_id = id,
                                  .wanted = former.wanted,
                                  .alone = alone,
                                  .waiting = node_mask_empty(&alone) ? all : alone,
                                  .begin_ms = now_ms(&dih->block)};
    master->took = master->waiting;
    log_info(&dih->block, "local checkpoint %u starts: %s", master->lcp_id, names[reason]);
    event_send(&dih->block, EVENT_LOCAL_CHECKPOINT_STARTED, master->lcp_id, dih->gcp_node.durable,
               dih->gcp_node.durable);
    ask(dih, &master->waiting);
}

/* A node comes back and has all rows. When it has no part in the round under way, of others that
 * come back or of all that were there when it began, it takes part now; what a part of it has
 * written began before it had all rows. */
static void wanted_by_node(struct dih *dih, uint32_t node)
{
    struct lcp_master *master = &dih->lcp_master;
    struct node_mask nodes = {0};
    node_mask_add(&nodes, node);
    if (master->lcp_id == 0) {
        jam();
        round_start(dih, LCP_BY_NODE, node, nodes);
    } else if (node_mask_has(&master->took, node)) {
        jam();
        node_mask_add(&master->wanted_nodes, node);
    } else {
        jam_data(node);
        if (!node_mask_empty(&master->alone)) node_mask_add(&master->alone, node);
        node_mask_add(&master->took, node);
        node_mask_add(&master->waiting, node);
        ask(dih, &nodes);
    }
}

void dih_exec_LCP_WANTED_ORD(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct lcp_master *master = &dih->lcp_master;
    const struct lcp_wanted_ord *ord = SIG_PAYLOAD(sig, lcp_wanted_ord);
    if (ord->incarnation != dih->incarnation) return; /* A leftover. */
    if (ord->reason < LCP_BY_GROWTH || ord->reason > LCP_BY_NODE || dih_diskless(dih)) {
        dih_protocol_error(dih, sig->sender, "a checkpoint is wanted for no reason");
        return;
    }
    if (dih->president != dih_own(dih) || dih->gcp_master.state == GCP_OFF ||
        dih->gcp_node.complete_hi == 0)
        return;
    if (ord->reason == LCP_BY_NODE) {
        jam();
        wanted_by_node(dih, ref_node(sig->sender));
        return;
    }
    if (master->lcp_id != 0) {
        jam(); /* Logs are asked about again when this one has ended; an operator's wish is kept. */
        if (ord->reason == LCP_BY_OPERATOR) master->wanted = ord->reason;
        return;
    }
    round_start(dih, ord->reason, ref_node(sig->sender), (struct node_mask){0});
}

static void round_end(struct dih *dih)
{
    const struct lcp_master *master = &dih->lcp_master;
    log_info(
        &dih->block,
        "local checkpoint %u has ended: %u fragment replicas, %u failed, %u KB, %u whole pages, "
        "%u pages with their changed rows (%llu), %u ms",
        master->lcp_id, master->fragments, master->failed, master->kbytes,
        master->pages - master->deltas, master->deltas, (unsigned long long)master->delta_rows,
        (uint32_t)(now_ms(&dih->block) - master->begin_ms));
    event_send(&dih->block, EVENT_LOCAL_CHECKPOINT_COMPLETED, master->lcp_id, master->failed);
    uint32_t wanted = master->wanted;
    struct node_mask nodes = master->wanted_nodes;
    lcp_master_stop(dih);
    if (!node_mask_empty(&nodes)) {
        jam();
        dih->lcp_master.wanted = wanted;
        round_start(dih, LCP_BY_NODE, 0, nodes);
    } else if (wanted != 0) {
        jam();
        round_start(dih, wanted, 0, nodes);
    }
}

void dih_exec_LCP_NODE_CONF(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    struct lcp_master *master = &dih->lcp_master;
    const struct lcp_node_conf *conf = SIG_PAYLOAD(sig, lcp_node_conf);
    uint32_t node = ref_node(sig->sender);
    if (conf->incarnation != dih->incarnation || master->lcp_id == 0 ||
        conf->lcp_id != master->lcp_id)
        return;
    if (!node_mask_has(&master->waiting, node)) {
        dih_protocol_error(dih, sig->sender, "a checkpoint has ended twice");
        return;
    }
    jam();
    node_mask_remove(&master->waiting, node);
    master->fragments += conf->fragments;
    master->failed += conf->failed;
    master->kbytes += conf->kbytes;
    master->pages += conf->pages;
    master->deltas += conf->deltas;
    master->delta_rows += u64_of(conf->delta_rows_lo, conf->delta_rows_hi);
    if (conf->failed > 0) {
        event_send(block, EVENT_LOCAL_CHECKPOINT_FAILED, conf->lcp_id, conf->failed, node,
                   conf->error);
        log_warning(block,
                    "local checkpoint %u: %u fragments of node %u keep their former one, error %u",
                    conf->lcp_id, conf->failed, node, conf->error);
    }
    if (node_mask_empty(&master->waiting)) round_end(dih);
}

/* A round of the former president may have begun somewhere with a number that did not come here. */
void lcp_master_take(struct dih *dih)
{
    uint32_t seen = dih->lcp_node.result.lcp_id;
    if (seen < dih->gcp_node.complete_hi) seen = dih->gcp_node.complete_hi;
    jam_data(seen);
    lcp_master_stop(dih);
    if (dih->lcp_master.last_id <= seen) dih->lcp_master.last_id = seen + 1u;
}

/* The rest goes on without them. */
void lcp_master_lost(struct dih *dih, const struct node_mask *nodes)
{
    struct lcp_master *master = &dih->lcp_master;
    if (master->lcp_id == 0) return;
    jam();
    node_mask_cut(&master->waiting, nodes);
    node_mask_cut(&master->wanted_nodes, nodes);
    node_mask_cut(&master->alone, nodes);
    node_mask_cut(&master->took, nodes);
    if (node_mask_empty(&master->waiting)) round_end(dih);
}
