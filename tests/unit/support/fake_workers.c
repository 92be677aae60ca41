/* fake_workers.c -- stand-ins for DBTC, DBLQH and TRIX: they answer the dictionary, NDBCNTR and
 * QMGR as a test wishes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/fake_workers.h"

static struct fake_worker *fake_of(struct block *block)
{
    return (struct fake_worker *)(void *)block;
}

static void fake_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    fake_of(block)->configured++;
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void fake_exec_NODE_STATE_REP(struct block *block, const struct signal *sig)
{
    fake_of(block)->level = SIG_PAYLOAD(sig, node_state_rep)->start_level;
}

static void fake_exec_API_FAILREQ(struct block *block, const struct signal *sig)
{
    const struct api_failreq *req = SIG_PAYLOAD(sig, api_failreq);
    struct api_failconf conf = {.sender_data = req->sender_data, .node = req->node};
    fake_of(block)->api_failed = req->node;
    if (!fake_of(block)->hold) sig_send(block, sig->sender, GSN_API_FAILCONF, PRIO_B, &conf);
}

static void fake_exec_TC_DRAIN_REQ(struct block *block, const struct signal *sig)
{
    struct tc_drain_conf conf = {.sender_data = 0};
    fake_of(block)->drains++;
    if (!fake_of(block)->hold) sig_send(block, sig->sender, GSN_TC_DRAIN_CONF, PRIO_B, &conf);
}

static void fake_exec_DRAIN_CLIENTS_REQ(struct block *block, const struct signal *sig)
{
    struct drain_clients_conf conf = {.sender_data =
                                          SIG_PAYLOAD(sig, drain_clients_req)->sender_data};
    sig_send(block, sig->sender, GSN_DRAIN_CLIENTS_CONF, PRIO_B, &conf);
}

static void fake_exec_GCP_HOLD_REQ(struct block *block, const struct signal *sig)
{
    struct gcp_hold_conf conf = {.sender_data = SIG_PAYLOAD(sig, gcp_hold_req)->sender_data};
    fake_of(block)->held = true;
    sig_send(block, sig->sender, GSN_GCP_HOLD_CONF, PRIO_A, &conf);
}

static void fake_exec_TC_EPOCH_REQ(struct block *block, const struct signal *sig)
{
    struct fake_worker *fake = fake_of(block);
    const struct tc_epoch_req *req = SIG_PAYLOAD(sig, tc_epoch_req);
    struct tc_epoch_conf conf = {.sender_data = req->sender_data};
    ndbrequire(fake->held);
    fake->held = false;
    fake->gci_hi = req->gci_hi;
    fake->gci_lo = req->gci_lo;
    if (sig->section_count == 1) {
        ndbrequire(sig->section[0].size <= 128);
        fake->lists++;
        fake->ended_count = sig->section[0].size / 2u;
        memcpy(fake->ended, sig->section[0].words, sig->section[0].size * 4u);
    }
    fake->epochs++;
    if (!fake->hold_epochs) sig_send(block, sig->sender, GSN_TC_EPOCH_CONF, PRIO_A, &conf);
}

uint32_t fake_redo_node;

uint32_t fake_redo_fill = 60;

uint32_t fake_redo_bytes;

static void fake_exec_REDO_STATUS_REQ(struct block *block, const struct signal *sig)
{
    struct redo_status_conf conf = {.sender_data = SIG_PAYLOAD(sig, redo_status_req)->sender_data,
                                    .fill =
                                        ref_node(block->ref) == fake_redo_node ? fake_redo_fill : 0,
                                    .bytes_lo = (uint32_t)now_ms(block)};
    if (fake_redo_bytes != 0) {
        if (fake_redo_node == 0) conf.fill = fake_redo_fill;
        conf.bytes_lo = fake_redo_bytes;
    }
    sig_send(block, sig->sender, GSN_REDO_STATUS_CONF, PRIO_B, &conf);
}

static void fake_exec_GCP_SAVEREQ(struct block *block, const struct signal *sig)
{
    struct fake_worker *fake = fake_of(block);
    const struct gcp_savereq *req = SIG_PAYLOAD(sig, gcp_savereq);
    struct gcp_saveconf conf = {
        .sender_data = req->sender_data, .gci = req->gci, .lsn_lo = fake->lsn};
    struct gcp_saveref ref = {req->sender_data, req->gci, fake->save_error, 5};
    fake->saved = req->gci;
    if (fake->save_error != 0)
        sig_send(block, sig->sender, GSN_GCP_SAVEREF, PRIO_A, &ref);
    else if (!fake->hold_save)
        sig_send(block, sig->sender, GSN_GCP_SAVECONF, PRIO_A, &conf);
}

static void fake_exec_GCP_DURABLE_REP(struct block *block, const struct signal *sig)
{
    fake_of(block)->durable = SIG_PAYLOAD(sig, gcp_durable_rep)->gci;
}

static void fake_exec_REDO_OPEN_REQ(struct block *block, const struct signal *sig)
{
    const struct redo_open_req *req = SIG_PAYLOAD(sig, redo_open_req);
    struct redo_open_conf conf = {.sender_data = req->sender_data};
    fake_of(block)->redo_created = req->create;
    fake_of(block)->redo_opened++;
    if (req->others != 0 && fake_of(block)->open_fails != 0) {
        struct recover_ref ref = {.code = fake_of(block)->open_fails};
        sig_send(block, sig->sender, GSN_RECOVER_REF, PRIO_B, &ref);
        return;
    }
    sig_send(block, sig->sender, GSN_REDO_OPEN_CONF, PRIO_B, &conf);
}

static void fake_exec_RECOVER_REQ(struct block *block, const struct signal *sig)
{
    const struct recover_req *req = SIG_PAYLOAD(sig, recover_req);
    struct fake_worker *fake = fake_of(block);
    struct recover_conf conf = {.sender_data = req->sender_data};
    fake->recover = *req;
    fake->recover_ended = sig->section_count == 1 ? sig->section[0].size / 2u : 0;
    fake->recover_sender = sig->sender;
    if (req->running != 0 && fake->recover_fails != 0) {
        struct recover_ref ref = {.code = fake->recover_fails};
        sig_send(block, sig->sender, GSN_RECOVER_REF, PRIO_B, &ref);
        return;
    }
    if (!fake->hold_recover) sig_send(block, sig->sender, GSN_RECOVER_CONF, PRIO_B, &conf);
}

static void fake_exec_LOCAL_TABLE_ADD_REQ(struct block *block, const struct signal *sig)
{
    const struct local_table_add_req *req = SIG_PAYLOAD(sig, local_table_add_req);
    struct fake_worker *fake = fake_of(block);
    ndbrequire(req->table_id < FAKE_TABLES && fake->state[req->table_id] == 0);
    if (fake->refuse_add != 0 && fake->refuse_after > 0) {
        fake->refuse_after--;
    } else if (fake->refuse_add != 0) {
        struct local_table_add_ref ref = {req->sender_data, req->table_id, fake->refuse_add};
        fake->refuse_add = 0;
        sig_send(block, sig->sender, GSN_LOCAL_TABLE_ADD_REF, PRIO_B, &ref);
        return;
    }
    fake->state[req->table_id] = 1;
    struct local_table_add_conf conf = {req->sender_data, req->table_id};
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_ADD_CONF, PRIO_B, &conf);
}

static void fake_exec_LOCAL_TABLE_STATE_REQ(struct block *block, const struct signal *sig)
{
    const struct local_table_state_req *req = SIG_PAYLOAD(sig, local_table_state_req);
    struct fake_worker *fake = fake_of(block);
    ndbrequire(req->table_id < FAKE_TABLES && fake->state[req->table_id] != 0);
    if (req->order == LOCAL_TABLE_ONLINE) {
        ndbrequire(fake->state[req->table_id] == 1);
        if (fake->before != NULL && fake->before->state[req->table_id] != 2) fake->early++;
        fake->state[req->table_id] = 2;
    } else if (req->order == LOCAL_TABLE_DROPPING) {
        ndbrequire(fake->state[req->table_id] == 2);
        fake->state[req->table_id] = 3;
    } else {
        /* Once it was online, never without DROPPING; or its base table has forgotten it. */
        ndbrequire(fake->state[req->table_id] != 2 || fake->unique[req->table_id] == UNIQUE_GONE);
        fake->state[req->table_id] = 0;
        fake->unique[req->table_id] = 0;
        fake->columns[req->table_id] = 0;
    }
    struct local_table_state_conf conf = {req->sender_data, req->table_id, req->order};
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_STATE_CONF, PRIO_B, &conf);
}

/* An index is built at once, or not before the cancel. */
static void fake_build(struct fake_worker *fake, uint32_t receiver,
                       const struct local_index_req *req, uint32_t error)
{
    struct local_index_conf conf = {req->sender_data, req->table_id, req->order};
    struct local_index_ref ref = {req->sender_data, req->table_id, error};
    fake->building_for = 0;
    fake->index[req->table_id] = error == 0;
    if (error == 0)
        sig_send(&fake->block, receiver, GSN_LOCAL_INDEX_CONF, PRIO_B, &conf);
    else
        sig_send(&fake->block, receiver, GSN_LOCAL_INDEX_REF, PRIO_B, &ref);
}

static void fake_column(struct fake_worker *fake, uint32_t receiver,
                        const struct local_index_req *req)
{
    struct local_index_conf conf = {req->sender_data, req->table_id, req->order};
    struct local_index_ref ref = {req->sender_data, req->table_id, fake->refuse_index};
    ndbrequire(fake->state[req->table_id] == 2);
    fake->refuse_index = 0;
    if (ref.error != 0) {
        sig_send(&fake->block, receiver, GSN_LOCAL_INDEX_REF, PRIO_B, &ref);
        return;
    }
    ndbrequire(req->order == LOCAL_COLUMN_ADD || fake->column_room == 1 + req->table_id);
    fake->column_room = req->order == LOCAL_COLUMN_ADD ? 1 + req->table_id : 0;
    fake->columns[req->table_id] += req->order == LOCAL_COLUMN_ONLINE;
    sig_send(&fake->block, receiver, GSN_LOCAL_INDEX_CONF, PRIO_B, &conf);
}

static void fake_exec_LOCAL_INDEX_REQ(struct block *block, const struct signal *sig)
{
    const struct local_index_req *req = SIG_PAYLOAD(sig, local_index_req);
    struct fake_worker *fake = fake_of(block);
    struct local_index_conf conf = {req->sender_data, req->table_id, req->order};
    struct local_index_rep rep = {.sender_data = req->sender_data, .rows_lo = 5, .total_lo = 10};
    static const uint8_t before[] = {0, 0, 1, 2, 3};
    if (req->order >= LOCAL_COLUMN_ADD) {
        fake_column(fake, sig->sender, req);
        return;
    }
    ndbrequire(req->table_id < FAKE_TABLES && fake->state[req->table_id] == 2);
    ndbrequire(fake->building_for == 0);
    uint32_t *index = &fake->index[req->table_id];
    ndbrequire(*index == before[req->order] || (req->order == LOCAL_INDEX_DROP && *index == 1));
    if (req->order == LOCAL_INDEX_ADD) {
        sig_send(block, sig->sender, GSN_LOCAL_INDEX_REP, PRIO_B, &rep);
        if (!fake->hold_index) {
            fake_build(fake, sig->sender, req, fake->refuse_index);
            fake->refuse_index = 0;
            return;
        }
        fake->building = *req;
        fake->building_for = sig->sender;
        return;
    }
    *index = req->order == LOCAL_INDEX_DROP ? 0 : req->order;
    sig_send(block, sig->sender, GSN_LOCAL_INDEX_CONF, PRIO_B, &conf);
}

/* Closed before it is loose, silent before it is gone, and all of that before its table is. */
static void fake_exec_LOCAL_UNIQUE_REQ(struct block *block, const struct signal *sig)
{
    const struct local_unique_req *req = SIG_PAYLOAD(sig, local_unique_req);
    struct fake_worker *fake = fake_of(block);
    struct local_unique_conf conf = {req->sender_data, req->table_id, req->state};
    /* By the state ordered: those that may have been before it. */
    static const uint32_t before_tc[UNIQUE_STATES] = {
        [UNIQUE_KNOWN] = 1u << 0,
        [UNIQUE_FIRES] = 1u << UNIQUE_KNOWN,
        [UNIQUE_STRICT] = 1u << UNIQUE_FIRES,
        [UNIQUE_CLOSED] = 1u << 0 | 1u << UNIQUE_STRICT,
        [UNIQUE_LOOSE] = 1u << UNIQUE_CLOSED | 1u << UNIQUE_FIRES,
        [UNIQUE_SILENT] = 1u << UNIQUE_LOOSE,
        [UNIQUE_GONE] = 1u << UNIQUE_SILENT | 1u << UNIQUE_KNOWN | 1u << 0};
    static const uint32_t before_lqh[UNIQUE_STATES] = {
        [UNIQUE_KNOWN] = 1u << 0,
        [UNIQUE_DELETES] = 1u << UNIQUE_KNOWN,
        [UNIQUE_FIRES] = 1u << UNIQUE_DELETES,
        [UNIQUE_SILENT] = 1u << 0 | 1u << UNIQUE_FIRES,
        [UNIQUE_GONE] = 1u << UNIQUE_SILENT | 1u << UNIQUE_KNOWN | 1u << 0};
    const uint32_t *before = ref_block(block->ref) == BLOCK_DBTC ? before_tc : before_lqh;
    bool known = req->state == UNIQUE_KNOWN;
    ndbrequire(req->table_id < FAKE_TABLES && fake->state[req->table_id] == 2);
    ndbrequire(req->index_id < FAKE_TABLES && req->state < UNIQUE_STATES);
    ndbrequire(fake->state[req->index_id] > 0 || req->state == UNIQUE_GONE);
    ndbrequire(sig->section_count == (known ? 1u : 0u));
    ndbrequire((before[req->state] >> fake->unique[req->index_id] & 1u) != 0);
    if (known && fake->refuse_known != 0) {
        struct local_unique_ref ref = {req->sender_data, req->table_id, fake->refuse_known};
        fake->refuse_known = 0;
        sig_send(block, sig->sender, GSN_LOCAL_UNIQUE_REF, PRIO_B, &ref);
        return;
    }
    fake->unique[req->index_id] = fake->state[req->index_id] > 0 ? req->state : 0;
    sig_send(block, sig->sender, GSN_LOCAL_UNIQUE_CONF, PRIO_B, &conf);
}

static void fake_fill(struct fake_worker *fake, uint32_t error)
{
    struct build_indx_conf conf = {.sender_data = fake->filling};
    struct build_indx_ref ref = {.sender_data = fake->filling, .error = error};
    uint32_t receiver = fake->filling_for;
    fake->filling_for = 0;
    if (error == 0)
        sig_send(&fake->block, receiver, GSN_BUILD_INDX_CONF, PRIO_B, &conf);
    else
        sig_send(&fake->block, receiver, GSN_BUILD_INDX_REF, PRIO_B, &ref);
}

static void fake_exec_BUILD_INDX_REQ(struct block *block, const struct signal *sig)
{
    struct fake_worker *fake = fake_of(block);
    uint32_t error = fake->refuse_fill;
    ndbrequire(fake->filling_for == 0);
    fake->fills++;
    fake->filling_for = sig->sender;
    fake->filling = SIG_PAYLOAD(sig, build_indx_req)->sender_data;
    fake->refuse_fill = 0;
    if (!fake->hold_fill) fake_fill(fake, error);
}

static void fake_exec_BUILD_INDX_CANCEL_ORD(struct block *block, const struct signal *sig)
{
    (void)sig;
    if (fake_of(block)->filling_for != 0) fake_fill(fake_of(block), ERR_SCHEMA_ABORTED);
}

static void fake_exec_LOCAL_INDEX_CANCEL_ORD(struct block *block, const struct signal *sig)
{
    struct fake_worker *fake = fake_of(block);
    (void)sig;
    if (fake->building_for != 0)
        fake_build(fake, fake->building_for, &fake->building, ERR_SCHEMA_ABORTED);
}

static void fake_exec_NODE_LOST_REP(struct block *block, const struct signal *sig)
{
    fake_of(block)->nodes_lost = SIG_PAYLOAD(sig, node_lost_rep)->failure_no;
    struct takeover_end_rep rep = {.failure_no = fake_of(block)->nodes_lost};
    fake_of(block)->alive = SIG_PAYLOAD(sig, node_lost_rep)->alive;
    if (ref_block(block->ref) != BLOCK_DBTC || fake_of(block)->hold_takeover) return;
    sig_send(block, block_ref(ref_node(block->ref), BLOCK_DBDIH, 0), GSN_TAKEOVER_END_REP, PRIO_A,
             &rep);
}

static void fake_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    const struct node_include_req *req = SIG_PAYLOAD(sig, node_include_req);
    struct node_include_conf conf = {.sender_data = req->sender_data};
    fake_of(block)->include = *req;
    fake_of(block)->alive = req->alive;
    if (!fake_of(block)->hold_include)
        sig_send(block, sig->sender, GSN_NODE_INCLUDE_CONF, PRIO_B, &conf);
}

static void fake_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    fake_of(block)->included = *SIG_PAYLOAD(sig, node_include_rep);
    fake_of(block)->alive = SIG_PAYLOAD(sig, node_include_rep)->alive;
}

static void fake_exec_ORDER_HOLD_REQ(struct block *block, const struct signal *sig)
{
    struct order_hold_conf conf = {.no = SIG_PAYLOAD(sig, order_hold_req)->no};
    fake_of(block)->holds++;
    sig_send(block, sig->sender, GSN_ORDER_HOLD_CONF, PRIO_A, &conf);
}

static void fake_exec_ORDER_PLACES_REP(struct block *block, const struct signal *sig)
{
    fake_of(block)->places = SIG_PAYLOAD(sig, order_places_rep)->places;
}

static void fake_exec_ORDER_HOLD_END_ORD(struct block *block, const struct signal *sig)
{
    (void)sig;
    fake_of(block)->holds--;
}

static void fake_exec_PACE_PROBE_REQ(struct block *block, const struct signal *sig)
{
    struct pace_probe_conf conf = {.sender_data = SIG_PAYLOAD(sig, pace_probe_req)->sender_data};
    if (!fake_of(block)->hold_probe)
        sig_send(block, sig->sender, GSN_PACE_PROBE_CONF, PRIO_A, &conf);
}

/* Everything is on disk. */
static void fake_exec_WAIT_DURABLE_REQ(struct block *block, const struct signal *sig)
{
    struct wait_durable_conf conf = {.sender_data =
                                         SIG_PAYLOAD(sig, wait_durable_req)->sender_data};
    sig_send(block, sig->sender, GSN_WAIT_DURABLE_CONF, PRIO_B, &conf);
}

static const struct handler fake_handlers[] = {
    HANDLER(fake, WAIT_DURABLE_REQ, wait_durable_req),
    HANDLER(fake, PACE_PROBE_REQ, pace_probe_req),
    HANDLER(fake, READ_CONFIG_REQ, read_config_req),
    HANDLER(fake, NODE_STATE_REP, node_state_rep),
    HANDLER(fake, API_FAILREQ, api_failreq),
    HANDLER(fake, TC_DRAIN_REQ, tc_drain_req),
    HANDLER(fake, DRAIN_CLIENTS_REQ, drain_clients_req),
    HANDLER(fake, LOCAL_TABLE_ADD_REQ, local_table_add_req),
    HANDLER(fake, LOCAL_TABLE_STATE_REQ, local_table_state_req),
    HANDLER(fake, LOCAL_INDEX_REQ, local_index_req),
    HANDLER(fake, LOCAL_UNIQUE_REQ, local_unique_req),
    HANDLER(fake, LOCAL_INDEX_CANCEL_ORD, local_index_cancel_ord),
    HANDLER(fake, BUILD_INDX_REQ, build_indx_req),
    HANDLER(fake, BUILD_INDX_CANCEL_ORD, build_indx_cancel_ord),
    HANDLER(fake, GCP_HOLD_REQ, gcp_hold_req),
    HANDLER(fake, TC_EPOCH_REQ, tc_epoch_req),
    HANDLER(fake, GCP_SAVEREQ, gcp_savereq),
    HANDLER(fake, REDO_STATUS_REQ, redo_status_req),
    HANDLER(fake, GCP_DURABLE_REP, gcp_durable_rep),
    HANDLER(fake, REDO_OPEN_REQ, redo_open_req),
    HANDLER(fake, RECOVER_REQ, recover_req),
    HANDLER(fake, NODE_LOST_REP, node_lost_rep),
    HANDLER(fake, NODE_INCLUDE_REQ, node_include_req),
    HANDLER(fake, NODE_INCLUDE_REP, node_include_rep),
    HANDLER(fake, ORDER_HOLD_REQ, order_hold_req),
    HANDLER(fake, ORDER_PLACES_REP, order_places_rep),
    HANDLER(fake, ORDER_HOLD_END_ORD, order_hold_end_ord),
};

const struct block_type fake_tc_type = {"DBTC", BLOCK_DBTC, fake_handlers, FAKE_HANDLERS, NULL};

const struct block_type fake_lqh_type = {"DBLQH", BLOCK_DBLQH, fake_handlers, FAKE_HANDLERS, NULL};

const struct block_type fake_trix_type = {"TRIX", BLOCK_TRIX, fake_handlers, FAKE_HANDLERS, NULL};

struct fake_worker *fake_trix(struct fake_cluster *fc, uint32_t node)
{
    return fake_of(node_block(fc->node[node].node, BLOCK_TRIX, 0));
}

struct fake_worker *fake_tc(struct fake_cluster *fc, uint32_t node, uint32_t instance)
{
    return fake_of(node_block(fc->node[node].node, BLOCK_DBTC, instance));
}

struct fake_worker *fake_lqh(struct fake_cluster *fc, uint32_t node, uint32_t instance)
{
    return fake_of(node_block(fc->node[node].node, BLOCK_DBLQH, instance));
}

void fake_data_node(struct fake_cluster *fc, uint32_t id, const struct node_config *config)
{
    struct node *node = fc_create(fc, id, config);
    if (node == NULL) abort();
    struct thread *main_thread = node_thread(node, 0);
    struct thread *worker = node_thread(node, config->thread_count - 1);
    cmvmi_create(main_thread, 0);
    qmgr_create(main_thread, 0);
    fs_create(main_thread, 0);
    cntr_create(main_thread, 0);
    dih_create(main_thread, 0);
    dict_create(main_thread, 0);
    block_create(main_thread, &fake_trix_type, 0, sizeof(struct fake_worker));
    for (uint32_t i = 1; i <= config->tc_count; i++)
        block_create(worker, &fake_tc_type, i, sizeof(struct fake_worker));
    for (uint32_t i = 1; i <= config->ldm_count; i++)
        block_create(worker, &fake_lqh_type, i, sizeof(struct fake_worker));
}

struct node_config fake_config(uint32_t nodes, uint32_t replicas)
{
    struct node_config config;
    memset(&config, 0, sizeof config);
    node_config_defaults(&config);
    config.replicas = replicas;
    config.cluster_id = 1;
    config.generation = 1;
    config.thread_count = 2;
    config.tc_count = 2;
    config.ldm_count = 2;
    config.heartbeat_db_db_ms = 100;
    config.heartbeat_db_api_ms = 100;
    config.tables_max = FAKE_TABLES - 1u;
    config.overflow_segments = 8;
    config.job_queue_words = 1u << 17; /* The largest signal fits, even where the ring wraps. */
    config.memory.pages_max[RG_DATA] = 64;
    for (uint32_t id = 1; id <= nodes; id++)
        config.node[id] = (struct config_node){.type = NODE_DATA, .nodegroup = (id - 1) / replicas};
    config.node[6].type = NODE_API;
    config.node[7].type = NODE_API;
    config.node[8].type = NODE_MGM;
    return config;
}
