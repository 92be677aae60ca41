/* dict.c -- creates DBDICT, learns the node's state, and checks its records. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdict/dict_state.h"
#include "signals/schema_restart.h"

static void dict_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    dict_store_init(dict_of(block));
    dict_file_init(dict_of(block));
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void dict_exec_NODE_STATE_REP(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct node_state_rep *rep = SIG_PAYLOAD(sig, node_state_rep);
    jam_data(rep->start_level);
    dict->start_level = rep->start_level;
    dict->master_node = rep->master;
    dict->single_user = rep->single_user;
    /* This node leaves, or all do: what takes long is not waited for. */
    if (rep->start_level > START_SINGLEUSER) dict_master_cancel(dict);
}

static void dict_exec_MEMBERS_REP(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    jam();
    dict->members = SIG_PAYLOAD(sig, members_rep)->members;
    dict->president = SIG_PAYLOAD(sig, members_rep)->president;
    dict->lost = (struct dict_lost){.failure_no = 0};
    dict->trans_seen = dict->refused_id = 0;
}

/* Phase 0: what is in the schema files. */
static void dict_exec_STTOR(struct block *block, const struct signal *sig)
{
    const struct sttor *req = SIG_PAYLOAD(sig, sttor);
    jam_data(req->phase);
    ndbrequire(req->phase == 0);
    dict_file_read(dict_of(block), sig->sender, req->sender_data);
}

void dict_sttorry(struct dict *dict)
{
    struct sttorry conf = {.sender_data = dict->file.sttor_data, .phase = 0};
    jam();
    sig_send(&dict->block, dict->file.sttor_sender, GSN_STTORRY, PRIO_B, &conf);
}

/* A client's death does not stop its schema transaction; only the answer is not sent. */
static void dict_exec_API_FAILREQ(struct block *block, const struct signal *sig)
{
    const struct api_failreq *req = SIG_PAYLOAD(sig, api_failreq);
    struct api_failconf conf = {.sender_data = req->sender_data, .node = req->node};
    jam();
    dict_master_client_gone(dict_of(block), req->node);
    sig_send(block, sig->sender, GSN_API_FAILCONF, PRIO_B, &conf);
}

static void dict_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    uint32_t work = SIG_PAYLOAD(sig, continueb)->work;
    ndbrequire(work == DICT_WORK_COPY_TICK || work == DICT_WORK_GROUPS || work == DICT_WORK_SETTLE);
    if (work == DICT_WORK_COPY_TICK)
        dict_copy_tick(dict_of(block));
    else if (work == DICT_WORK_GROUPS)
        dict_group_step(dict_of(block));
    else
        dict_master_settle(dict_of(block));
}

/* DUMP 1228: what is going on. */
static void dict_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    const struct dict *dict = dict_of(block);
    (void)sig;
    jam();
    log_info(
        block,
        "%u tables, %u chunks; master state %u step %u table %u; local active %u step %u table %u; "
        "schema number %llu, files %u, start %u, locked for %u nodes",
        dict->tables, dict->chunks.in_use, dict->master.state, dict->master.step,
        dict->master.table_id, dict->local.active, dict->local.step, dict->local.table_id,
        (unsigned long long)dict->file.sequence, dict->file.state, dict->restart.state,
        node_mask_count(&dict->lock.nodes));
}

void dict_usage_get(const struct block *block, struct dict_usage *usage)
{
    const struct dict *dict = (const struct dict *)(const void *)block;
    usage->tables = dict->tables;
    usage->chunks = dict->chunks.in_use;
    usage->busy = dict->master.state != MASTER_IDLE || dict->local.active;
}

/* I-DICT-5: the files are written for one reason: a step of a transaction here, or the start; in
 * rest both copies have the schema as it is. */
static void check_file(const struct dict *dict)
{
    bool writes = dict->file.state > SCHEMA_FILE_READY;
    bool room = dict->file.state >= SCHEMA_FILE_ROOM_OPENING;
    bool step = dict->local.active && dict->local.waits && schema_step_writes(dict->local.step);
    bool prepares = dict->local.active && dict->local.waits && dict->local.step == 0;
    ndbrequire(!room || (prepares && schema_grows(dict->local.operation)));
    ndbrequire((writes && !room) == (dict->restart.state == RESTART_WRITING ||
                                     (step && dict->file.state != SCHEMA_FILE_CLOSED)));
    ndbrequire(!dict_restart_runs(dict) || !dict->local.active);
    if (dict->restart.state == RESTART_DONE && !writes && !dict_diskless(dict))
        ndbrequire(dict_file_equal(dict));
}

/*
 * I-DICT-1: every table's pieces are there, and no others. I-DICT-2: the table count is right.
 * I-DICT-6: a table has a version, so that the files tell of it. I-DICT-8: a unique index has a
 * table.
 */
static void dict_check(struct block *block)
{
    struct dict *dict = dict_of(block);
    uint32_t tables = 0;
    uint32_t chunks = 0;
    if (dict->table == NULL) return;
    for (uint32_t id = 1; id < dict->table_count; id++) {
        const struct dict_table *table = &dict->table[id];
        if (table->state == TABLE_UNDEFINED) continue;
        uint32_t words = table->def_words + table->distribution_words;
        tables++;
        ndbrequire(table->version != 0); /* I-DICT-6 */
        chunks += (words + DICT_CHUNK_WORDS - 1) / DICT_CHUNK_WORDS;
        words = table->next.def_words + table->next.distribution_words;
        chunks += (words + DICT_CHUNK_WORDS - 1) / DICT_CHUNK_WORDS;
        ndbrequire(words == 0 || (dict->local.active && dict->local.table_id == id));
        bool replaces = dict->local.active && dict->local.operation == SCHEMA_TRUNCATE;
        ndbrequire(table->named ? dict_table_by_name(dict, table->name, table->name_size) == id
                                : replaces); /* I-DICT-2 */
        if (dict->restart.state == RESTART_DONE && table->base_id != 0)
            ndbrequire(dict_table_at(dict, table->base_id) != NULL); /* I-DICT-8 */
    }
    ndbrequire(chunks == dict->chunks.in_use); /* I-DICT-1 */
    ndbrequire(tables == dict->tables);        /* I-DICT-2 */
    check_file(dict);
}

static const struct handler dict_handlers[] = {
    HANDLER(dict, READ_CONFIG_REQ, read_config_req),
    HANDLER(dict, STTOR, sttor),
    HANDLER(dict, NODE_STATE_REP, node_state_rep),
    HANDLER(dict, MEMBERS_REP, members_rep),
    HANDLER(dict, NODE_LOST_REP, node_lost_rep),
    HANDLER(dict, SCHEMA_TAKEOVER_REQ, schema_takeover_req),
    HANDLER(dict, SCHEMA_TAKEOVER_CONF, schema_takeover_conf),
    HANDLER(dict, API_FAILREQ, api_failreq),
    HANDLER(dict, DUMP_STATE_ORD, dump_state_ord),
    HANDLER(dict, CREATE_TABLE_REQ, create_table_req),
    HANDLER(dict, DROP_TABLE_REQ, drop_table_req),
    HANDLER(dict, ALTER_TABLE_REQ, alter_table_req),
    HANDLER(dict, GET_TABINFO_REQ, get_tabinfo_req),
    HANDLER(dict, LIST_TABLES_REQ, list_tables_req),
    HANDLER(dict, CREATE_FRAG_CONF, create_frag_conf),
    HANDLER(dict, CREATE_FRAG_REF, create_frag_ref),
    HANDLER(dict, SCHEMA_PREPARE_REQ, schema_prepare_req),
    HANDLER(dict, SCHEMA_PREPARE_CONF, schema_prepare_conf),
    HANDLER(dict, SCHEMA_PREPARE_REF, schema_prepare_ref),
    HANDLER(dict, SCHEMA_STEP_REQ, schema_step_req),
    HANDLER(dict, SCHEMA_STEP_CONF, schema_step_conf),
    HANDLER(dict, LOCAL_TABLE_ADD_CONF, local_table_add_conf),
    HANDLER(dict, LOCAL_TABLE_ADD_REF, local_table_add_ref),
    HANDLER(dict, LOCAL_TABLE_STATE_CONF, local_table_state_conf),
    HANDLER(dict, LOCAL_INDEX_CONF, local_index_conf),
    HANDLER(dict, LOCAL_INDEX_REF, local_index_ref),
    HANDLER(dict, LOCAL_INDEX_REP, local_index_rep),
    HANDLER(dict, LOCAL_UNIQUE_CONF, local_unique_conf),
    HANDLER(dict, LOCAL_UNIQUE_REF, local_unique_ref),
    HANDLER(dict, BUILD_INDX_CONF, build_indx_conf),
    HANDLER(dict, BUILD_INDX_REF, build_indx_ref),
    HANDLER(dict, BUILD_INDX_REP, build_indx_rep),
    HANDLER(dict, SCHEMA_BUILD_REP, schema_build_rep),
    HANDLER(dict, WAIT_DURABLE_CONF, wait_durable_conf),
    HANDLER(dict, WAIT_DURABLE_REF, wait_durable_ref),
    HANDLER(dict, SCHEMA_CANCEL_ORD, schema_cancel_ord),
    HANDLER(dict, SCHEMA_INFO_REQ, schema_info_req),
    HANDLER(dict, SCHEMA_RESTART_REQ, schema_restart_req),
    HANDLER(dict, SCHEMA_COPY_REQ, schema_copy_req),
    HANDLER(dict, SCHEMA_COPY_CONF, schema_copy_conf),
    HANDLER(dict, SCHEMA_ONLINE_REQ, schema_online_req),
    HANDLER(dict, CONTINUEB, continueb),
    HANDLER(dict, SCHEMA_LOCK_REQ, schema_lock_req),
    HANDLER(dict, DRAIN_CLIENTS_REQ, drain_clients_req),
    HANDLER(dict, SCHEMA_UNLOCK_ORD, schema_unlock_ord),
    HANDLER(dict, NODE_INCLUDE_REQ, node_include_req),
    HANDLER(dict, NODE_INCLUDE_REP, node_include_rep),
    HANDLER(dict, ORDER_PLACES_REP, order_places_rep),
    HANDLER(dict, COPY_START_REQ, copy_start_req),
    HANDLER(dict, COPY_TABLE_CONF, copy_table_conf),
    HANDLER(dict, COPY_TABLE_REF, copy_table_ref),
    HANDLER(dict, COPY_PART_REP, copy_part_rep),
    HANDLER(dict, FSOPENCONF, fsopenconf),
    HANDLER(dict, FSOPENREF, fs_ref),
    HANDLER(dict, FSREADCONF, fs_io_conf),
    HANDLER(dict, FSREADREF, fs_ref),
    HANDLER(dict, FSWRITECONF, fs_io_conf),
    HANDLER(dict, FSWRITEREF, fs_ref),
    HANDLER(dict, FSPREALLOCATECONF, fs_conf),
    HANDLER(dict, FSPREALLOCATEREF, fs_ref),
    HANDLER(dict, FSCLOSECONF, fs_conf),
    HANDLER(dict, FSCLOSEREF, fs_ref),
};

static const struct block_type dict_type = {
    .name = "DBDICT",
    .block_no = BLOCK_DBDICT,
    .handlers = dict_handlers,
    .handler_count = sizeof(dict_handlers) / sizeof(dict_handlers[0]),
    .check = dict_check,
};

static const struct block_pool dict_pools[] = {
    BLOCK_POOL(dict, chunks),
};

struct block *dict_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &dict_type, instance, sizeof(struct dict));
    block->pools = dict_pools;
    block->pool_count = sizeof dict_pools / sizeof dict_pools[0];
    return block;
}
