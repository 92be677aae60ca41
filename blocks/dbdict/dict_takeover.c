/* dict_takeover.c -- members are lost and the others go on: a schema transaction without its master
 * gets a new one. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The former master ordered WRITE, or DROPPING_TC, when all had prepared, and each later step when
 * all had done the one before. So if all that are left have prepared, or one of them is further on,
 * the transaction goes on: a lost node may have done more than they. Otherwise nobody has done
 * more than to prepare, and it goes back. Who is on the way back has been told so when all were
 * ready for it.
 */
#include <string.h>
#include "blocks/dbdict/dict_state.h"

/* --- What every node does. --- */

static void answer(struct dict *dict, uint32_t receiver)
{
    const struct dict_local *local = &dict->local;
    struct schema_takeover_conf conf = {.failure_no = dict->lost.failure_no};
    if (local->active) {
        jam_data(local->step);
        conf.active = 1;
        conf.trans_id = local->trans_id;
        conf.operation = local->operation;
        conf.table_id = local->table_id;
        conf.step = local->step;
        conf.done = !local->waits && local->error == 0;
    }
    sig_send(&dict->block, receiver, GSN_SCHEMA_TAKEOVER_CONF, PRIO_B, &conf);
}

/* The sender may have heard of the failure earlier than this node has. */
void dict_exec_SCHEMA_TAKEOVER_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    uint32_t failure_no = SIG_PAYLOAD(sig, schema_takeover_req)->failure_no;
    if (ref_block(sig->sender) != BLOCK_DBDICT) return;
    if (failure_no > dict->lost.failure_no) {
        jam();
        dict->lost.asked_no = failure_no;
        dict->lost.asked_by = sig->sender;
        return;
    }
    jam();
    if (failure_no == dict->lost.failure_no && ref_node(sig->sender) == dict->president)
        answer(dict, sig->sender);
}

/* --- What the new master does. --- */

static void ask(struct dict *dict)
{
    struct dict_lost *lost = &dict->lost;
    struct schema_takeover_req req = {.failure_no = lost->failure_no};
    jam_data(lost->failure_no);
    lost->waiting = dict->members;
    lost->without = lost->back = (struct node_mask){{0}};
    lost->abort = false;
    lost->ready = true;
    memset(&lost->trans, 0, sizeof(lost->trans));
    signal_broadcast(&dict->block, &dict->members, BLOCK_DBDICT, GSN_SCHEMA_TAKEOVER_REQ, PRIO_B,
                     &req, sizeof(req) / 4u, NULL, 0);
}

static bool follows(uint32_t operation, uint32_t step, uint32_t later)
{
    return later != 0 && (later == schema_step_after(operation, step) ||
                          later == schema_step_back(operation, step));
}

/* Some have it, and others have not had it yet, or have ended it. */
static bool may_lack(const struct schema_takeover_conf *conf)
{
    uint32_t next = schema_step_after(conf->operation, conf->step);
    return conf->step == 0 || next == 0 || schema_step_after(conf->operation, next) == 0;
}

/* Can another node be there, as far as this one is? A round begins when all have done the one
 * before, so nobody is further ahead or behind than that. Who has no transaction has ended it, or
 * has never had it. */
static bool in_step(const struct dict_local *own, const struct schema_takeover_conf *conf)
{
    uint32_t operation = conf->operation;
    if (!own->active) return may_lack(conf);
    if (own->trans_id != conf->trans_id || own->operation != operation) return false;
    bool prepared = own->step != 0 || (!own->waits && own->error == 0);
    if (!prepared && conf->step != 0) return conf->step == schema_step_back(operation, 0);
    return conf->step == own->step || follows(operation, own->step, conf->step) ||
           follows(operation, conf->step, own->step);
}

static bool possible(const struct dict *dict, const struct schema_takeover_conf *conf)
{
    const struct dict_lost *lost = &dict->lost;
    if (!conf->active) return true;
    if (conf->operation == 0 || conf->operation >= SCHEMA_OPERATIONS) return false;
    if (schema_step_rank(conf->operation, conf->step) == UINT32_MAX) return false;
    if (!in_step(&dict->local, conf)) return false;
    return !lost->trans.active ||
           (lost->trans.trans_id == conf->trans_id && lost->trans.operation == conf->operation);
}

/* Nor are those that answer further apart: else one of them was told what others were not. */
static bool is_apart(const struct dict_lost *lost, const struct schema_takeover_conf *conf)
{
    const struct schema_takeover_conf *first = &lost->trans;
    if (!conf->active) return first->active && !may_lack(first);
    if (!node_mask_empty(&lost->without) && !may_lack(conf)) return true;
    return first->active && conf->step != first->step &&
           !follows(conf->operation, first->step, conf->step) &&
           !follows(conf->operation, conf->step, first->step);
}

/* Nobody has gone on before all had prepared: so who has ended it, or is on the way back, was
 * misled. Whoever is refused is lost, and all are asked anew. */
static void refuse_misled(struct dict *dict, uint32_t node, const struct schema_takeover_conf *conf)
{
    struct node_mask misled = dict->lost.without;
    node_mask_join(&misled, &dict->lost.back);
    if (!conf->active || node_mask_empty(&misled) ||
        schema_step_rank(conf->operation, conf->step) >= SCHEMA_RANK_BACK) {
        jam_data(conf->step);
        misled = (struct node_mask){{0}};
        node_mask_add(&misled, node);
    }
    node_mask_remove(&misled, dict_own(dict));
    for (uint32_t id = node_mask_next(&misled, 0); id != 0; id = node_mask_next(&misled, id))
        peer_refuse(&dict->block, id, "a schema transaction that others are not at");
}

static void take_state(struct dict_lost *lost, const struct schema_takeover_conf *conf,
                       uint32_t node)
{
    if (!conf->active) {
        node_mask_add(&lost->without, node);
        lost->ready = false; /* It never came here, or it has ended here. */
        return;
    }
    uint32_t rank = schema_step_rank(conf->operation, conf->step);
    if (rank >= SCHEMA_RANK_BACK) {
        lost->abort = true;
        node_mask_add(&lost->back, node);
    }
    if (conf->step == 0 && !conf->done) lost->ready = false;
    bool further = rank > schema_step_rank(conf->operation, lost->trans.step);
    uint32_t table_id = conf->table_id != 0 ? conf->table_id : lost->trans.table_id;
    if (!lost->trans.active || further) lost->trans = *conf;
    lost->trans.table_id = table_id;
}

void dict_exec_SCHEMA_TAKEOVER_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_lost *lost = &dict->lost;
    const struct schema_takeover_conf *conf = SIG_PAYLOAD(sig, schema_takeover_conf);
    uint32_t node = ref_node(sig->sender);
    if (conf->failure_no != lost->failure_no || !node_mask_has(&lost->waiting, node)) {
        jam();
        return;
    }
    if (!possible(dict, conf)) {
        jam();
        ndbrequire(node != dict_own(dict));
        peer_refuse(block, node, "a schema transaction that cannot be");
        return;
    }
    if (is_apart(lost, conf)) {
        refuse_misled(dict, node, conf);
        return;
    }
    take_state(lost, conf, node);
    node_mask_remove(&lost->waiting, node);
    if (!node_mask_empty(&lost->waiting)) return;
    if (!lost->trans.active) {
        jam();
        dict_lock_try(dict);
        return;
    }
    jam();
    dict_master_take(dict, &lost->trans, !lost->abort && (lost->trans.step != 0 || lost->ready));
}

/* --- The loss. --- */

void dict_exec_NODE_LOST_REP(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_lost *lost = &dict->lost;
    struct dict_local *local = &dict->local;
    const struct node_lost_rep *rep = SIG_PAYLOAD(sig, node_lost_rep);
    bool new_master = node_mask_has(&rep->nodes, dict->president);
    bool taking = !node_mask_empty(&lost->waiting);
    ndbrequire(rep->failure_no > lost->failure_no); /* I-FAIL-1 */
    jam_data(rep->failure_no);
    lost->failure_no = rep->failure_no;
    dict->president = rep->president;
    dict->master_node = rep->president;
    dict->members = rep->alive;
    dict_lock_lost(dict, &rep->nodes);
    if (local->active && node_mask_has(&rep->nodes, ref_node(local->master_ref)))
        local->master_ref = 0;
    if (lost->asked_no == lost->failure_no) answer(dict, lost->asked_by);
    if (dict->president != dict_own(dict)) return;
    if (new_master || taking)
        ask(dict);
    else
        dict_master_lost(dict);
}
