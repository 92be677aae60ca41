/* dict_unique_node.c -- a node's part in what happens to a unique index of a table in use: the
 * states that its TC and LQH instances get. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index's own table is dropped as one of a drop's group, but only by the last round: what comes
 * before, TC and LQH do for the base table. Which state means what: docs/protocols/unique_index.md.
 */
#include "blocks/dbdict/dict_state.h"

static void order(struct dict *dict, uint32_t block_no, enum unique_state state)
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
        sig_send(&dict->block, block_ref(dict_own(dict), block_no, i), GSN_LOCAL_UNIQUE_REQ, PRIO_B,
                 &req);
}

void dict_unique_order(struct dict *dict)
{
    switch ((enum schema_step)dict->local.step) {
    case SCHEMA_STEP_DROPPING_TC:
        order(dict, BLOCK_DBTC, UNIQUE_CLOSED);
        return;
    case SCHEMA_STEP_LOOSE:
        order(dict, BLOCK_DBTC, UNIQUE_LOOSE);
        return;
    case SCHEMA_STEP_DROPPING_LQH:
        order(dict, BLOCK_DBLQH, UNIQUE_SILENT);
        return;
    case SCHEMA_STEP_FORGET:
        order(dict, BLOCK_DBTC, UNIQUE_GONE);
        order(dict, BLOCK_DBLQH, UNIQUE_GONE);
        return;
    case SCHEMA_STEP_WRITE:
    case SCHEMA_STEP_ONLINE_LQH:
    case SCHEMA_STEP_ONLINE_TC:
    case SCHEMA_STEP_REMOVE: /* Its table goes: dict_local.c. */
    case SCHEMA_STEP_ABORT:  /* Nobody has been told anything. */
    case SCHEMA_STEP_COMPLETE:
    default:
        return;
    }
}

void dict_exec_LOCAL_UNIQUE_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_local *local = &dict->local;
    const struct local_unique_conf *conf = SIG_PAYLOAD(sig, local_unique_conf);
    bool of_tc = ref_block(sig->sender) == BLOCK_DBTC;
    struct node_mask *waiting = of_tc ? &local->waiting_tc : &local->waiting_lqh;
    uint32_t instance = ref_instance(sig->sender);
    ndbrequire(of_tc || ref_block(sig->sender) == BLOCK_DBLQH);
    ndbrequire(local->active && local->waits && conf->table_id == local->table_id);
    ndbrequire(node_mask_has(waiting, instance)); /* I-DICT-4 */
    node_mask_remove(waiting, instance);
    jam_data(conf->state);
    dict_local_check(dict);
}
