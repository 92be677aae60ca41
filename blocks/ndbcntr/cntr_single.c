/* cntr_single.c -- single user mode: one client works alone. See docs/protocols/single_user.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The president gives a change its number; whoever hears of a newer one takes it and passes it on
 * to all. So nobody has to take anything over.
 *   OPEN --node n--> CLOSING --all started members are done--> SINGLE --node 0--> OPEN
 */
#include "blocks/ndbcntr/cntr_state.h"
#include "values/errors.h"
#include "signals/takeover.h"

enum { TOLD_ENTERING = 0, TOLD_ENTERED = 1, TOLD_EXITING = 2 }; /* The event's first word. */

bool cntr_single_on(const struct cntr *cntr)
{
    return cntr->single.node != 0 && cntr->single.complete != 0;
}

/* 0 (all of them), or a client of the configuration. */
static bool is_client(const struct cntr *cntr, uint32_t node)
{
    if (node == 0) return true;
    return node <= NODE_ID_MAX && block_config(&cntr->block)->node[node].type == NODE_API;
}

static bool is_started(const struct cntr *cntr)
{
    return node_mask_has(&cntr->started, cntr_own(cntr));
}

static struct cntr_single_rep what_i_know(const struct cntr *cntr)
{
    const struct cntr_single *single = &cntr->single;
    return (struct cntr_single_rep){.failure_no = single->failure_no,
                                    .count = single->count,
                                    .node = single->node,
                                    .done = single->done[cntr_own(cntr)],
                                    .complete = single->complete};
}

static void tell_members(struct cntr *cntr)
{
    struct cntr_single_rep rep = what_i_know(cntr);
    cntr_to_members(cntr, GSN_CNTR_SINGLE_REP, &rep, sizeof(rep) / 4u);
}

static void answer(struct cntr *cntr)
{
    struct cntr_single *single = &cntr->single;
    struct single_user_conf conf = {.sender_data = single->client_data};
    if (single->client == 0) return;
    jam();
    sig_send(&cntr->block, single->client, GSN_SINGLE_USER_CONF, PRIO_B, &conf);
    single->client = 0;
}

/* Somebody has ordered something else (5065); or the same, which is waited for by one (5005: who
 * hears that asks again). */
static void replaced(struct cntr *cntr, uint32_t node)
{
    struct cntr_single *single = &cntr->single;
    struct single_user_ref ref = {.sender_data = single->client_data,
                                  .error = node == single->node ? ERR_MGM_SEND
                                                                : ERR_MGM_SINGLE_REPLACED};
    if (single->client == 0) return;
    jam_data(node);
    sig_send(&cntr->block, single->client, GSN_SINGLE_USER_REF, PRIO_B, &ref);
    single->client = 0;
}

static void completed(struct cntr *cntr)
{
    struct cntr_single *single = &cntr->single;
    jam_data(single->node);
    single->complete = 1;
    log_info(&cntr->block, "single user mode: %s for node %u", single->node != 0 ? "on" : "off",
             single->node);
    if (cntr_is_president(cntr) && single->node != 0)
        event_send(&cntr->block, EVENT_SINGLE_USER, TOLD_ENTERED, single->node);
    cntr_tell_state(cntr);
    answer(cntr);
}

/* All started members are done, each with all failures that this one knows of? */
static void look(struct cntr *cntr)
{
    struct cntr_single *single = &cntr->single;
    if (single->count == 0 || single->complete || !is_started(cntr)) return;
    for (uint32_t node = node_mask_next(&cntr->started, 0); node != 0;
         node = node_mask_next(&cntr->started, node)) {
        if (single->done[node] <= cntr->rejoin.failure_no) return;
    }
    completed(cntr);
}

/* Nothing of others is left here, and nothing of theirs that lost nodes had. */
static void look_at_own(struct cntr *cntr)
{
    struct cntr_single *single = &cntr->single;
    uint32_t *own = &single->done[cntr_own(cntr)];
    uint32_t failure_no = cntr->rejoin.failure_no;
    bool taken = cntr->taken_no >= failure_no;
    if (single->count == 0 || single->complete || *own > failure_no) return;
    if (single->node != 0 && (!single->drained || !taken)) return;
    jam_data(failure_no);
    *own = failure_no + 1u;
    tell_members(cntr);
    look(cntr);
}

static void drain(struct cntr *cntr)
{
    struct cntr_single *single = &cntr->single;
    uint32_t tc_count = block_instances(&cntr->block, BLOCK_DBTC);
    struct drain_clients_req req = {
        .sender_data = ++single->drain, .node = single->node, .grace_ms = SINGLE_GRACE_MS};
    jam_data(single->node);
    single->drained = 0;
    single->waiting = tc_count + 1u;
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_DRAIN_CLIENTS_REQ, PRIO_A, &req);
    for (uint32_t i = 1; i <= tc_count; i++)
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBTC) + i, GSN_DRAIN_CLIENTS_REQ, PRIO_A,
                 &req);
}

void cntr_exec_DRAIN_CLIENTS_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_single *single = &cntr->single;
    if (SIG_PAYLOAD(sig, drain_clients_conf)->sender_data == DRAIN_FOR_STOP) {
        jam();
        cntr->stop.schema = 0;
        return;
    }
    if (SIG_PAYLOAD(sig, drain_clients_conf)->sender_data != single->drain ||
        single->waiting == 0) {
        jam(); /* This confirms an older order. */
        return;
    }
    jam_data(single->waiting);
    if (--single->waiting != 0) return;
    single->drained = 1;
    look_at_own(cntr);
}

/* A change that this node has not known: all will know it, whoever is lost now. */
static void take(struct cntr *cntr, const struct cntr_single_rep *rep)
{
    struct cntr_single *single = &cntr->single;
    jam_data(rep->node);
    *single = (struct cntr_single){.failure_no = rep->failure_no,
                                   .count = rep->count,
                                   .node = rep->node,
                                   .drain = single->drain + 1u,
                                   .client = single->client,
                                   .client_data = single->client_data};
    log_info(&cntr->block, "single user mode: change %u.%u, node %u", rep->failure_no, rep->count,
             rep->node);
    cntr_order_give_up(cntr);
    cntr_tell_state(cntr);
    tell_members(cntr);
    if (rep->node != 0) drain(cntr);
    look_at_own(cntr);
}

static bool is_newer(const struct cntr_single *single, const struct cntr_single_rep *rep)
{
    if (rep->failure_no != single->failure_no) return rep->failure_no > single->failure_no;
    return rep->count > single->count;
}

/* Before this node is a member it is told too: then it only remembers. */
void cntr_exec_CNTR_SINGLE_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_single *single = &cntr->single;
    const struct cntr_single_rep *rep = SIG_PAYLOAD(sig, cntr_single_rep);
    uint32_t node = ref_node(sig->sender);
    if (rep->count == 0 || !is_client(cntr, rep->node) || node > DATA_NODE_ID_MAX ||
        cntr->state == CNTR_FAILING) {
        jam();
        return;
    }
    if (is_newer(single, rep)) {
        if (rep->node != single->node) replaced(cntr, rep->node);
        take(cntr, rep);
    }
    if (rep->failure_no != single->failure_no || rep->count != single->count) {
        jam(); /* An older one: the sender hears of this node's, or has. */
        return;
    }
    jam_data(rep->done);
    if (rep->done > single->done[node]) single->done[node] = rep->done;
    /* What was complete stays so. Who comes back had nothing of others, and cannot find out by the
     * failures up to which each was done: they were before its time. */
    if (rep->complete != 0 && !single->complete)
        completed(cntr);
    else
        look(cntr);
}

/* --- Who comes and goes. --- */

void cntr_single_joined(struct cntr *cntr, uint32_t node)
{
    struct cntr_single_rep rep = what_i_know(cntr);
    if (cntr->single.count == 0) return;
    jam_data(node);
    sig_send(&cntr->block, block_ref(node, BLOCK_NDBCNTR, 0), GSN_CNTR_SINGLE_REP, PRIO_A, &rep);
}

/* What a lost node had under way may be committed by whoever takes over: all look again. */
void cntr_single_lost(struct cntr *cntr, const struct node_mask *nodes)
{
    struct cntr_single *single = &cntr->single;
    for (uint32_t node = node_mask_next(nodes, 0); node != 0 && node <= DATA_NODE_ID_MAX;
         node = node_mask_next(nodes, node))
        single->done[node] = 0;
    if (single->count == 0) return;
    if (single->complete) {
        jam(); /* Somebody may have missed that, and now waits for words of all about this loss. */
        tell_members(cntr);
        return;
    }
    jam();
    if (single->node != 0) drain(cntr);
    look_at_own(cntr);
}

void cntr_single_taken(struct cntr *cntr)
{
    look_at_own(cntr);
}

void cntr_single_started(struct cntr *cntr)
{
    look(cntr);
}

/* --- The operator. --- */

/* 0, or why not now. */
static uint32_t refusal(const struct cntr *cntr, uint32_t node)
{
    const struct cntr_single *single = &cntr->single;
    if (cntr->state == CNTR_STOPPING || cntr->state == CNTR_FAILING) return ERR_MGM_NODE_STOPPING;
    if (cntr->level != START_STARTED) return ERR_MGM_STARTING;
    if (!cntr_is_president(cntr)) return ERR_MGM_SEND;
    if (node == 0 || node == single->node) return 0;
    if (single->node != 0) return ERR_SINGLE_USER_MODE;
    for (uint32_t peer = node_mask_next(&cntr->members, 0); peer != 0;
         peer = node_mask_next(&cntr->members, peer)) {
        if (!node_mask_has(&cntr->started, peer) || cntr->peer[peer].stop_level != 0)
            return ERR_MGM_STARTING;
    }
    return 0;
}

static void change(struct cntr *cntr, uint32_t node)
{
    const struct cntr_single *single = &cntr->single;
    struct cntr_single_rep rep = {.failure_no = cntr->rejoin.failure_no, .count = 1, .node = node};
    if (single->count != 0 && single->failure_no >= rep.failure_no) {
        rep.failure_no = single->failure_no;
        rep.count = single->count + 1u;
    }
    event_send(&cntr->block, EVENT_SINGLE_USER, node != 0 ? TOLD_ENTERING : TOLD_EXITING, node);
    take(cntr, &rep);
}

void cntr_exec_SINGLE_USER_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_single *single = &cntr->single;
    const struct single_user_req *req = SIG_PAYLOAD(sig, single_user_req);
    bool relayed = ref_node(sig->sender) == cntr_own(cntr) && req->client_ref != 0;
    bool own = ref_node(sig->sender) == cntr_own(cntr); /* Then nobody takes the answer. */
    uint32_t client = relayed ? req->client_ref : own ? 0 : sig->sender;
    uint32_t error = is_client(cntr, req->node) ? refusal(cntr, req->node) : ERR_MGM_NOT_API;
    if (error != 0) {
        jam_data(error);
        struct single_user_ref ref = {.sender_data = req->sender_data, .error = error};
        if (client != 0) sig_send(block, client, GSN_SINGLE_USER_REF, PRIO_B, &ref);
        return;
    }
    replaced(cntr, req->node);
    single->client = client;
    single->client_data = req->sender_data;
    if (req->node != single->node) {
        jam();
        change(cntr, req->node);
    } else if (single->complete || single->count == 0) {
        jam();
        answer(cntr);
    }
}
