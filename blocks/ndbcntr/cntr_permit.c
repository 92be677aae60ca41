/* cntr_permit.c -- a node that is to stop alone, or cannot free its redo log, asks the others
 * first: two of a group for which that comes at the same moment do not both go. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * It asks all started nodes, and stops when all have said yes. Each of them says no if a node group
 * were left without a node: it counts those that stop, those that it has said yes to, and itself if
 * it stops or asks too. Of two that ask each other the lower id has the right of way, so the higher
 * one does not count itself then.
 *
 * Why a group does not lose its last node: be all of them allowed to go, and `a` the lowest of
 * them. Each of the others has asked `a`, or `a` has asked it before it counted as started (then it
 * was not counted on). `a` never steps back for one of them; what came last at `a`, their questions
 * or its own order, was judged with all the others known, and refused.
 */
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "values/errors.h"

static bool leaves(const struct cntr *cntr, uint32_t node)
{
    return cntr->peer[node].stop_level != 0 || cntr->peer[node].may_leave != 0;
}

/* Each node group has a started node that stays; of this one `own_stays` says so. */
static bool groups_kept(const struct cntr *cntr, uint32_t asks, bool own_stays)
{
    const struct node_config *config = block_config(&cntr->block);
    uint32_t group_of[NODE_ID_MAX + 1];
    struct node_mask kept = {{0}}; /* Groups, by number + 1. */
    uint32_t groups = node_config_groups(config, group_of);
    for (uint32_t node = node_mask_next(&cntr->started, 0); node != 0;
         node = node_mask_next(&cntr->started, node)) {
        bool stays = node == cntr_own(cntr) ? own_stays : node != asks && !leaves(cntr, node);
        if (stays && group_of[node] != NODEGROUP_NONE) node_mask_add(&kept, group_of[node] + 1u);
    }
    return node_mask_count(&kept) == groups;
}

bool cntr_others_go_on(const struct cntr *cntr)
{
    if (block_config(&cntr->block)->survive == 0) return false;
    return groups_kept(cntr, cntr_own(cntr), false);
}

static void to_asked(struct cntr *cntr, const struct cntr_leave_req *req)
{
    signal_broadcast(&cntr->block, &cntr->permit.asked, BLOCK_NDBCNTR, GSN_CNTR_LEAVE_REQ, PRIO_A,
                     req, sizeof(*req) / 4u, NULL, 0);
}

/* Answers who has given the order, if anybody has. */
void cntr_permit_end(struct cntr *cntr, uint32_t error)
{
    struct cntr_permit *permit = &cntr->permit;
    struct stop_conf conf = {.sender_data = permit->client_data};
    struct stop_ref ref = {.sender_data = permit->client_data, .error = error};
    if (permit->client == 0) return;
    jam_data(error);
    if (permit->stuck)
        jam();
    else if (error == 0)
        sig_send(&cntr->block, permit->client, GSN_STOP_CONF, PRIO_B, &conf);
    else
        sig_send(&cntr->block, permit->client, GSN_STOP_REF, PRIO_B, &ref);
    permit->client = 0;
    permit->stuck = 0;
    memset(&permit->waiting, 0, sizeof(permit->waiting));
}

static void stays(struct cntr *cntr)
{
    struct cntr_leave_req req = {.serial = cntr->permit.serial, .stays = 1};
    jam();
    if (!cntr->permit.stuck) /* Else it asks again and again. */
        log_info(&cntr->block,
                 "this node does not stop: a node group would be left without a node");
    to_asked(cntr, &req);
    cntr_permit_end(cntr, ERR_MGM_WOULD_STOP_CLUSTER);
}

/* All have said yes, as far as they are there: who was lost since may have been the one to stay. */
static void look(struct cntr *cntr)
{
    struct cntr_permit *permit = &cntr->permit;
    if (permit->client == 0 || !node_mask_empty(&permit->waiting)) return;
    if (!cntr_others_go_on(cntr)) {
        stays(cntr);
        return;
    }
    jam();
    if (permit->stuck)
        cntr_stuck_leave(cntr);
    else
        cntr_stop_begin(cntr, permit->flags);
}

static void ask(struct cntr *cntr, uint32_t client)
{
    struct cntr_permit *permit = &cntr->permit;
    struct cntr_leave_req req = {.serial = ++permit->serial};
    ndbrequire(permit->client == 0);
    jam_data(req.serial);
    permit->client = client;
    permit->asked = cntr->started;
    node_mask_remove(&permit->asked, cntr_own(cntr));
    permit->waiting = permit->asked;
    to_asked(cntr, &req);
    look(cntr);
}

void cntr_permit_ask(struct cntr *cntr, const struct stop_req *order, uint32_t client)
{
    struct cntr_permit *permit = &cntr->permit;
    if (permit->stuck) cntr_permit_end(cntr, 0); /* The order takes the place of the own wish. */
    permit->client_data = order->sender_data;
    permit->flags = order->flags;
    ask(cntr, client);
}

void cntr_permit_ask_stuck(struct cntr *cntr)
{
    cntr->permit.stuck = 1;
    ask(cntr, cntr_local(cntr, BLOCK_NDBCNTR));
}

void cntr_permit_lost(struct cntr *cntr, const struct node_mask *nodes)
{
    node_mask_cut(&cntr->permit.asked, nodes);
    node_mask_cut(&cntr->permit.waiting, nodes);
    look(cntr);
}

void cntr_exec_CNTR_LEAVE_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_leave_req *req = SIG_PAYLOAD(sig, cntr_leave_req);
    const struct cntr_permit *permit = &cntr->permit;
    uint32_t node = ref_node(sig->sender);
    if (req->stays != 0) {
        jam_data(node);
        cntr->peer[node].may_leave = 0;
        return;
    }
    bool asks = permit->client != 0;
    bool steps_back = asks && node < cntr_own(cntr) && node_mask_has(&permit->asked, node);
    bool own_stays =
        (cntr->state == CNTR_PHASES || cntr->state == CNTR_RUNNING) && (!asks || steps_back);
    bool all_stop = cntr->state == CNTR_STOPPING && (cntr->stop.flags & STOP_SYSTEM) != 0;
    struct cntr_leave_conf conf = {.serial = req->serial,
                                   .may = all_stop || groups_kept(cntr, node, own_stays)};
    jam_data(conf.may);
    cntr->peer[node].may_leave = conf.may;
    sig_send(block, sig->sender, GSN_CNTR_LEAVE_CONF, PRIO_A, &conf);
}

void cntr_exec_CNTR_LEAVE_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_permit *permit = &cntr->permit;
    const struct cntr_leave_conf *conf = SIG_PAYLOAD(sig, cntr_leave_conf);
    uint32_t node = ref_node(sig->sender);
    if (permit->client == 0 || conf->serial != permit->serial ||
        !node_mask_has(&permit->waiting, node)) {
        jam(); /* Another one has refused already, or all stop meanwhile. */
        return;
    }
    jam_data(node);
    node_mask_remove(&permit->waiting, node);
    if (conf->may == 0)
        stays(cntr);
    else
        look(cntr);
}
