/* dict_alter_node.c -- a node's part in what alters a table in use: the definition that is to be,
 * and what the LQH instances do for it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dict_local.c runs the rounds and asks here what they mean. The new definition stands beside the
 * old one until all that use the table can do with it: docs/protocols/online.md.
 */
#include <string.h>
#include "blocks/dbdict/dict_state.h"

static void send_order(struct dict *dict, const struct node_mask *instances, uint32_t order,
                       const struct section *definition)
{
    struct dict_local *local = &dict->local;
    struct local_index_req req = {.sender_data = local->trans_id,
                                  .table_id = local->table_id,
                                  .index = local->object,
                                  .order = order};
    jam_data(order);
    local->waiting_lqh = *instances;
    for (uint32_t i = node_mask_next(instances, 0); i != 0; i = node_mask_next(instances, i))
        signal_send(&dict->block, block_ref(dict_own(dict), BLOCK_DBLQH, i), GSN_LOCAL_INDEX_REQ,
                    PRIO_B, &req, sizeof(req) / 4u, definition, definition == NULL ? 0 : 1);
}

static bool refuses(const struct dict *dict, uint32_t operation)
{
    if (operation == SCHEMA_CREATE_INDEX || operation == SCHEMA_CREATE_UNIQUE)
        return ERROR_INSERTED(&dict->block, 6005);
    if (operation == SCHEMA_DROP_INDEX || operation == SCHEMA_DROP_UNIQUE)
        return ERROR_INSERTED(&dict->block, 6006);
    return ERROR_INSERTED(&dict->block, 6007);
}

uint32_t dict_alter_prepare(struct dict *dict, const struct signal *sig)
{
    const struct schema_prepare_req *req = SIG_PAYLOAD(sig, schema_prepare_req);
    if (refuses(dict, req->operation)) {
        ERROR_INSERT_CLEAR(&dict->block);
        return ERR_SCHEMA_OBJECT_BUSY;
    }
    uint32_t error = dict_store_stage(dict, req->table_id, req->version, sig->section);
    struct node_mask all = dict_all_instances(dict, BLOCK_DBLQH);
    if (error != 0) return error;
    if (req->operation == SCHEMA_CREATE_UNIQUE) return dict_prepare_unique(dict, sig);
    if (req->operation == SCHEMA_ADD_COLUMN)
        send_order(dict, &all, LOCAL_COLUMN_ADD, &sig->section[0]);
    if (req->operation != SCHEMA_CREATE_INDEX) return 0;
    memset(dict->built, 0, sizeof dict->built);
    send_order(dict, &all, LOCAL_INDEX_ADD, &sig->section[0]);
    return 0;
}

void dict_alter_order(struct dict *dict)
{
    const struct dict_local *local = &dict->local;
    struct node_mask all = dict_all_instances(dict, BLOCK_DBLQH);
    struct node_mask added = local->added_lqh;
    if (local->operation == SCHEMA_RENAME) return; /* The LQHs know no names. */
    if (local->operation == SCHEMA_DROP_UNIQUE || local->operation == SCHEMA_CREATE_UNIQUE) {
        dict_unique_order(dict);
        return;
    }
    if (local->operation == SCHEMA_ADD_COLUMN) {
        /* What there is room for and what nobody can name is as if it were not there. */
        if (local->step == SCHEMA_STEP_ONLINE_LQH)
            send_order(dict, &all, LOCAL_COLUMN_ONLINE, NULL);
        return;
    }
    switch ((enum schema_step)local->step) {
    case SCHEMA_STEP_ONLINE_LQH:
        send_order(dict, &all, LOCAL_INDEX_ONLINE, NULL);
        return;
    case SCHEMA_STEP_DROPPING_LQH:
        send_order(dict, &all, LOCAL_INDEX_DROPPING, NULL);
        return;
    case SCHEMA_STEP_REMOVE:
        send_order(dict, &all, LOCAL_INDEX_DROP, NULL);
        return;
    case SCHEMA_STEP_ABORT:
        send_order(dict, &added, LOCAL_INDEX_DROP, NULL);
        return;
    case SCHEMA_STEP_ONLINE_TC:
    case SCHEMA_STEP_DROPPING_TC:
    case SCHEMA_STEP_WRITE:
    case SCHEMA_STEP_COMPLETE:
    case SCHEMA_STEP_LOOSE:
    case SCHEMA_STEP_FORGET:
    case SCHEMA_STEP_RESERVE:
    case SCHEMA_STEP_DELETES:
    case SCHEMA_STEP_FIRES:
    case SCHEMA_STEP_STRICT:
    default:
        return;
    }
}

void dict_tell_changed(struct dict *dict, uint32_t table_id, uint32_t version)
{
    struct table_changed_rep rep = {.table_id = table_id, .version = version};
    jam_data(version);
    sig_send(&dict->block, block_ref(dict_own(dict), BLOCK_QMGR, 0), GSN_SCHEMA_CHANGED_REP, PRIO_B,
             &rep);
}

void dict_alter_adopt(struct dict *dict)
{
    uint32_t table_id = dict->local.table_id;
    dict_store_adopt(dict, table_id);
    dict_tell_changed(dict, table_id, dict->table[table_id].version);
}

void dict_alter_step_done(struct dict *dict)
{
    uint32_t step = dict->local.step;
    /* Who finds a unique index may ask any node's TC: dict_made_online(). */
    bool later = dict->local.operation == SCHEMA_CREATE_UNIQUE;
    if (step == SCHEMA_STEP_ONLINE_TC && !later) dict_alter_adopt(dict);
    if (step == SCHEMA_STEP_DROPPING_TC) dict_alter_adopt(dict);
    if (step == SCHEMA_STEP_ABORT) dict_store_unstage(dict, dict->local.table_id);
}

void dict_alter_cancel(struct dict *dict)
{
    const struct dict_local *local = &dict->local;
    struct local_index_cancel_ord ord = {.sender_data = local->trans_id};
    if (!local->active || local->step != 0 || local->operation != SCHEMA_CREATE_INDEX) return;
    jam();
    for (uint32_t i = node_mask_next(&local->waiting_lqh, 0); i != 0;
         i = node_mask_next(&local->waiting_lqh, i))
        sig_send(&dict->block, block_ref(dict_own(dict), BLOCK_DBLQH, i),
                 GSN_LOCAL_INDEX_CANCEL_ORD, PRIO_B, &ord);
}

void dict_exec_SCHEMA_CANCEL_ORD(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    uint32_t trans_id = SIG_PAYLOAD(sig, schema_cancel_ord)->trans_id;
    if (!dict_from_master(dict, sig)) return;
    if (dict->local.trans_id == trans_id) dict_alter_cancel(dict);
}

/* --- Answers of the LQH instances. --- */

static void answered(struct dict *dict, const struct signal *sig, uint32_t table_id)
{
    struct dict_local *local = &dict->local;
    uint32_t instance = ref_instance(sig->sender);
    ndbrequire(local->active && local->waits && table_id == local->table_id);
    ndbrequire(node_mask_has(&local->waiting_lqh, instance)); /* I-DICT-4 */
    node_mask_remove(&local->waiting_lqh, instance);
}

void dict_exec_LOCAL_INDEX_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct local_index_conf *conf = SIG_PAYLOAD(sig, local_index_conf);
    answered(dict, sig, conf->table_id);
    if (conf->order == LOCAL_INDEX_ADD)
        node_mask_add(&dict->local.added_lqh, ref_instance(sig->sender));
    jam_data(conf->order);
    dict_local_check(dict);
}

void dict_exec_LOCAL_INDEX_REF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct local_index_ref *ref = SIG_PAYLOAD(sig, local_index_ref);
    answered(dict, sig, ref->table_id);
    ndbrequire(dict->local.step == 0 && ref->error != 0);
    bool first = dict->local.error == 0;
    jam_data(ref->error);
    if (first) dict->local.error = ref->error;
    if (first) dict_alter_cancel(dict);
    dict_local_check(dict);
}

void dict_exec_LOCAL_INDEX_REP(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct dict_local *local = &dict->local;
    const struct local_index_rep *rep = SIG_PAYLOAD(sig, local_index_rep);
    uint32_t instance = ref_instance(sig->sender);
    struct dict_built all = {0};
    ndbrequire(local->active && local->step == 0 && instance <= DICT_LDMS_MAX);
    dict->built[instance] =
        (struct dict_built){.rows = rep->rows_lo | (uint64_t)rep->rows_hi << 32,
                            .total = rep->total_lo | (uint64_t)rep->total_hi << 32};
    for (uint32_t i = 1; i <= DICT_LDMS_MAX; i++) {
        all.rows += dict->built[i].rows;
        all.total += dict->built[i].total;
    }
    if (local->master_ref == 0) return;
    jam();
    struct schema_build_rep told = {.trans_id = local->trans_id,
                                    .rows_lo = (uint32_t)all.rows,
                                    .rows_hi = (uint32_t)(all.rows >> 32),
                                    .total_lo = (uint32_t)all.total,
                                    .total_hi = (uint32_t)(all.total >> 32)};
    sig_send(block, local->master_ref, GSN_SCHEMA_BUILD_REP, PRIO_B, &told);
}
