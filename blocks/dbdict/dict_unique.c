/* dict_unique.c -- the master's side of a unique index that comes to a table in use: between two
 * rounds its TRIX gives the rows that are there their entries. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * No other node has a part in it, and nothing is kept of how far it is: a new master, which takes
 * the transaction on in the round before, has all of it done again.
 */
#include "blocks/dbdict/dict_state.h"

static uint32_t trix_ref(const struct dict *dict)
{
    return block_ref(dict_own(dict), BLOCK_TRIX, 0);
}

void dict_unique_fill(struct dict *dict)
{
    const struct dict_master *master = &dict->master;
    const struct dict_table *table = dict_table_at(dict, master->table_id);
    uint32_t columns[TABLE_KEY_COLUMNS_MAX];
    struct section sections[2];
    struct table_def *def;
    ndbrequire(table != NULL && dict->local.active && dict->local.made.count == 1);
    dict_store_read(dict, table, sections);
    uint32_t error = table_def_decode(sections[0].words, sections[0].size, master->def_memory,
                                      table_def_size_max(), &def);
    ndbrequire(error == 0);
    for (uint32_t i = 0; i < def->key_count; i++)
        columns[i] = def->key_columns[i];
    const struct section section = {.words = columns, .size = def->key_count};
    struct build_indx_req req = {.sender_data = master->trans_id,
                                 .table_id = master->table_id,
                                 .version = table->version,
                                 .index_id = dict->local.made.table[0]};
    jam_data(req.index_id);
    signal_send(&dict->block, trix_ref(dict), GSN_BUILD_INDX_REQ, PRIO_B, &req, sizeof req / 4u,
                &section, 1);
}

void dict_unique_cancel(struct dict *dict)
{
    struct build_indx_cancel_ord ord = {.sender_data = dict->master.trans_id};
    jam();
    sig_send(&dict->block, trix_ref(dict), GSN_BUILD_INDX_CANCEL_ORD, PRIO_B, &ord);
}

void dict_exec_BUILD_INDX_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    ndbrequire(SIG_PAYLOAD(sig, build_indx_conf)->sender_data == dict->master.trans_id);
    dict_master_filled(dict, 0);
}

void dict_exec_BUILD_INDX_REF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct build_indx_ref *ref = SIG_PAYLOAD(sig, build_indx_ref);
    ndbrequire(ref->sender_data == dict->master.trans_id && ref->error != 0);
    dict_master_filled(dict, ref->error);
}

void dict_exec_BUILD_INDX_REP(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct build_indx_rep *rep = SIG_PAYLOAD(sig, build_indx_rep);
    const struct dict_built built = {.rows = rep->rows_lo | (uint64_t)rep->rows_hi << 32,
                                     .total = rep->total_lo | (uint64_t)rep->total_hi << 32};
    ndbrequire(dict->master.state == MASTER_FILLING);
    dict_alter_progress(dict, dict_own(dict), &built);
}
