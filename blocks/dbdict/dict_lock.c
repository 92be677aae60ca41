/* dict_lock.c -- a lost node comes back: the schema stays as it is meanwhile, and the node becomes
 * a member again. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbdict/dict_state.h"

/* --- At the president: no schema transaction until all that come back are started, or lost
 * again. --- */

bool dict_lock_idle(const struct dict *dict)
{
    return dict->master.state == MASTER_IDLE && !dict->local.active &&
           node_mask_empty(&dict->lost.waiting);
}

/* Nothing of other clients is under way at this node as the master. What runs is the allowed
 * client's, if that has begun since: then it is waited for too. */
static void clients_try(struct dict *dict)
{
    if (dict->master.state != MASTER_IDLE || !node_mask_empty(&dict->lost.waiting)) return;
    for (uint32_t i = 0; i < 2; i++) {
        struct dict_drain *drain = &dict->drain[i];
        struct drain_clients_conf conf = {.sender_data = drain->sender_data};
        if (drain->sender == 0) continue;
        jam_data(i);
        sig_send(&dict->block, drain->sender, GSN_DRAIN_CLIENTS_CONF, PRIO_B, &conf);
        drain->sender = 0;
    }
}

void dict_exec_DRAIN_CLIENTS_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    uint32_t number = SIG_PAYLOAD(sig, drain_clients_req)->sender_data;
    struct dict_drain *drain = &dict->drain[number == DRAIN_FOR_STOP];
    jam();
    drain->sender = sig->sender;
    drain->sender_data = number;
    clients_try(dict);
}

void dict_lock_try(struct dict *dict)
{
    struct dict_lock *lock = &dict->lock;
    clients_try(dict);
    if (node_mask_empty(&lock->waiting) || !dict_lock_idle(dict)) return;
    for (uint32_t node = node_mask_next(&lock->waiting, 0); node != 0;
         node = node_mask_next(&lock->waiting, node)) {
        jam_data(node);
        struct schema_lock_conf conf = {.sender_data = lock->sender_data[node], .node = node};
        sig_send(&dict->block, lock->sender, GSN_SCHEMA_LOCK_CONF, PRIO_A, &conf);
    }
    memset(&lock->waiting, 0, sizeof(lock->waiting));
}

bool dict_locked(const struct dict *dict)
{
    return !node_mask_empty(&dict->lock.nodes);
}

void dict_exec_SCHEMA_LOCK_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct schema_lock_req *req = SIG_PAYLOAD(sig, schema_lock_req);
    ndbrequire(req->node != 0 && req->node <= DATA_NODE_ID_MAX);
    jam_data(req->node);
    node_mask_add(&dict->lock.nodes, req->node);
    node_mask_add(&dict->lock.waiting, req->node);
    dict->lock.sender = sig->sender;
    dict->lock.sender_data[req->node] = req->sender_data;
    dict_lock_try(dict);
}

void dict_exec_SCHEMA_UNLOCK_ORD(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    uint32_t node = SIG_PAYLOAD(sig, schema_unlock_ord)->node;
    jam_data(node);
    node_mask_remove(&dict->lock.nodes, node);
    node_mask_remove(&dict->lock.waiting, node);
}

void dict_lock_lost(struct dict *dict, const struct node_mask *nodes)
{
    jam();
    node_mask_cut(&dict->lock.nodes, nodes);
    node_mask_cut(&dict->lock.waiting, nodes);
}

/* --- Members and their places. --- */

/* This is the node that comes back. */
void dict_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct node_include_req *req = SIG_PAYLOAD(sig, node_include_req);
    struct node_include_conf conf = {.sender_data = req->sender_data};
    ndbrequire(req->node == dict_own(dict));
    jam_data(req->rank);
    for (uint32_t i = 0; i + 2 <= sig->section[0].size; i += 2) {
        uint32_t node = sig->section[0].words[i];
        if (node <= DATA_NODE_ID_MAX) dict->place[node] = sig->section[0].words[i + 1];
    }
    for (uint32_t i = 0; sig->section_count > 1 && i + 2 <= sig->section[1].size; i += 2) {
        uint32_t node = sig->section[1].words[i];
        if (node <= DATA_NODE_ID_MAX) dict->place[node] = sig->section[1].words[i + 1];
    }
    dict->place[req->node] = req->rank;
    dict->members = req->alive;
    node_mask_add(&dict->members, req->node);
    dict->president = req->president;
    dict->lost = (struct dict_lost){.failure_no = req->failure_no};
    sig_send(block, sig->sender, GSN_NODE_INCLUDE_CONF, PRIO_B, &conf);
}

void dict_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct node_include_rep *rep = SIG_PAYLOAD(sig, node_include_rep);
    ndbrequire(rep->node != 0 && rep->node <= DATA_NODE_ID_MAX);
    if (rep->node == dict_own(dict) || rep->failure_no < dict->lost.failure_no) {
        jam(); /* Another failure came before this did: then the node begins again. */
        return;
    }
    jam_data(rep->rank);
    node_mask_add(&dict->members, rep->node);
    dict->place[rep->node] = rep->rank;
}

void dict_exec_ORDER_PLACES_REP(struct block *block, const struct signal *sig)
{
    const struct order_places *places = &SIG_PAYLOAD(sig, order_places_rep)->places;
    for (uint32_t i = 0; i < ORDER_NODES; i++) {
        jam_data(places->node[i]);
        if (places->node[i] != 0) dict_of(block)->place[places->node[i]] = places->place[i];
    }
}
