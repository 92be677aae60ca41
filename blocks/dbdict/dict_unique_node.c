/* dict_unique_node.c -- a node's part in what happens to a unique index of a table in use: the
 * states that its TC and LQH instances get. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index's own table is made and dropped as one of a group, in the first and the last round:
 * what is between, TC and LQH do for the base table. Which state means what:
 * docs/protocols/unique_index.md.
 */
#include "blocks/dbdict/dict_state.h"

static void order(struct dict *dict, uint32_t block_no, enum unique_state state,
                  const struct section *definition)
{
    struct dict_local *local = &dict->local;
    struct local_unique_req req = {.sender_data = local->trans_id,
                                   .table_id = local->table_id,
                                   .index_id = local->object,
                                   .state = state};
    struct node_mask all = dict_all_instances(dict, block_no);
    jam_data(state);
    *(block_no == BLOCK_DBTC ? &local->waiting_tc : &local->waiting_lqh) = all;
    for (uint32_t i = node_mask_next(&all, 0); i != 0; i = node_mask_next(&all, i))
        signal_send(&dict->block, block_ref(dict_own(dict), block_no, i), GSN_LOCAL_UNIQUE_REQ,
                    PRIO_B, &req, sizeof req / 4u, definition, definition == NULL ? 0 : 1);
}

static void order_both(struct dict *dict, enum unique_state state)
{
    order(dict, BLOCK_DBTC, state, NULL);
    order(dict, BLOCK_DBLQH, state, NULL);
}

void dict_unique_known(struct dict *dict)
{
    struct section sections[2];
    dict_store_read_next(dict, &dict->table[dict->local.table_id], sections);
    dict->local.has_index = 1;
    order(dict, BLOCK_DBTC, UNIQUE_KNOWN, &sections[0]);
    order(dict, BLOCK_DBLQH, UNIQUE_KNOWN, &sections[0]);
}

void dict_unique_order(struct dict *dict)
{
    switch ((enum schema_step)dict->local.step) {
    case SCHEMA_STEP_DELETES:
        order(dict, BLOCK_DBLQH, UNIQUE_DELETES, NULL);
        return;
    case SCHEMA_STEP_FIRES:
        order_both(dict, UNIQUE_FIRES);
        return;
    case SCHEMA_STEP_STRICT:
        order(dict, BLOCK_DBTC, UNIQUE_STRICT, NULL);
        return;
    case SCHEMA_STEP_DROPPING_TC:
        order(dict, BLOCK_DBTC, UNIQUE_CLOSED, NULL);
        return;
    case SCHEMA_STEP_LOOSE:
        order(dict, BLOCK_DBTC, UNIQUE_LOOSE, NULL);
        return;
    case SCHEMA_STEP_DROPPING_LQH:
        order_both(dict, UNIQUE_SILENT);
        return;
    case SCHEMA_STEP_FORGET:
        order_both(dict, UNIQUE_GONE);
        return;
    case SCHEMA_STEP_RESERVE:
    case SCHEMA_STEP_WRITE:
    case SCHEMA_STEP_ONLINE_LQH: /* The table of the index comes: dict_local.c. */
    case SCHEMA_STEP_ONLINE_TC:
    case SCHEMA_STEP_REMOVE: /* The table of the index goes: dict_local.c. */
    case SCHEMA_STEP_ABORT:
    case SCHEMA_STEP_COMPLETE:
    default:
        return;
    }
}

static struct node_mask *answered(struct dict_local *local, const struct signal *sig,
                                  uint32_t table_id)
{
    bool of_tc = ref_block(sig->sender) == BLOCK_DBTC;
    struct node_mask *waiting = of_tc ? &local->waiting_tc : &local->waiting_lqh;
    uint32_t instance = ref_instance(sig->sender);
    ndbrequire(of_tc || ref_block(sig->sender) == BLOCK_DBLQH);
    ndbrequire(local->active && local->waits && table_id == local->table_id);
    ndbrequire(node_mask_has(waiting, instance)); /* I-DICT-4 */
    return waiting;
}

void dict_exec_LOCAL_UNIQUE_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct local_unique_conf *conf = SIG_PAYLOAD(sig, local_unique_conf);
    node_mask_remove(answered(&dict->local, sig, conf->table_id), ref_instance(sig->sender));
    jam_data(conf->state);
    dict_local_check(dict);
}

/* It stays known to those that have not refused, until FORGET. */
void dict_exec_LOCAL_UNIQUE_REF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct local_unique_ref *ref = SIG_PAYLOAD(sig, local_unique_ref);
    node_mask_remove(answered(&dict->local, sig, ref->table_id), ref_instance(sig->sender));
    ndbrequire(dict->local.step == 0 && ref->error != 0);
    jam_data(ref->error);
    if (dict->local.error == 0) dict->local.error = ref->error;
    dict_local_check(dict);
}
