/* rejoin_fixture.c -- a cluster whose nodes are lost and come back: real membership, start sequence
 * and epochs; fake workers, dictionary and checkpoints. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/rejoin_fixture.h"
#include "signals/schema_restart.h"

/* --- A dictionary that has what it is asked for. --- */

static struct fake_dict *fake_dict_of(struct block *block)
{
    return (struct fake_dict *)(void *)block;
}

static void dict_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void dict_exec_MEMBERS_REP(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
}

static void dict_exec_NODE_STATE_REP(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
}

static void dict_exec_API_FAILREQ(struct block *block, const struct signal *sig)
{
    const struct api_failreq *req = SIG_PAYLOAD(sig, api_failreq);
    struct api_failconf conf = {.sender_data = req->sender_data, .node = req->node};
    sig_send(block, sig->sender, GSN_API_FAILCONF, PRIO_B, &conf);
}

static void dict_exec_STTOR(struct block *block, const struct signal *sig)
{
    struct sttorry conf = {.sender_data = 0, .phase = SIG_PAYLOAD(sig, sttor)->phase};
    sig_send(block, sig->sender, GSN_STTORRY, PRIO_B, &conf);
}

static void dict_exec_SCHEMA_INFO_REQ(struct block *block, const struct signal *sig)
{
    struct schema_info_conf conf = {.sender_data = SIG_PAYLOAD(sig, schema_info_req)->sender_data};
    sig_send(block, sig->sender, GSN_SCHEMA_INFO_CONF, PRIO_A, &conf);
}

static void dict_exec_SCHEMA_RESTART_REQ(struct block *block, const struct signal *sig)
{
    const struct schema_restart_req *req = SIG_PAYLOAD(sig, schema_restart_req);
    struct schema_restart_conf conf = {.sender_data = req->sender_data};
    if (req->start_type >= START_NODE_RESTART) fake_dict_of(block)->restarts++;
    sig_send(block, sig->sender, GSN_SCHEMA_RESTART_CONF, PRIO_A, &conf);
}

static void dict_exec_SCHEMA_ONLINE_REQ(struct block *block, const struct signal *sig)
{
    struct schema_online_conf conf = {.sender_data =
                                          SIG_PAYLOAD(sig, schema_online_req)->sender_data};
    fake_dict_of(block)->online++;
    sig_send(block, sig->sender, GSN_SCHEMA_ONLINE_CONF, PRIO_A, &conf);
}

static void dict_exec_SCHEMA_LOCK_REQ(struct block *block, const struct signal *sig)
{
    const struct schema_lock_req *req = SIG_PAYLOAD(sig, schema_lock_req);
    struct schema_lock_conf conf = {.sender_data = req->sender_data, .node = req->node};
    ndbrequire(!node_mask_has(&fake_dict_of(block)->locked, req->node));
    node_mask_add(&fake_dict_of(block)->locked, req->node);
    fake_dict_of(block)->locks++;
    fake_dict_of(block)->lock_data = req->sender_data;
    if (!fake_dict_of(block)->hold_lock)
        sig_send(block, sig->sender, GSN_SCHEMA_LOCK_CONF, PRIO_B, &conf);
}

static void dict_exec_SCHEMA_UNLOCK_ORD(struct block *block, const struct signal *sig)
{
    uint32_t node = SIG_PAYLOAD(sig, schema_unlock_ord)->node;
    node_mask_remove(&fake_dict_of(block)->locked, node);
}

static void dict_exec_NODE_LOST_REP(struct block *block, const struct signal *sig)
{
    const struct node_lost_rep *rep = SIG_PAYLOAD(sig, node_lost_rep);
    fake_dict_of(block)->nodes_lost = rep->failure_no;
    node_mask_cut(&fake_dict_of(block)->locked, &rep->nodes);
}

static void dict_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct node_include_conf conf = {.sender_data =
                                         SIG_PAYLOAD(sig, node_include_req)->sender_data};
    fake_dict_of(block)->include = *SIG_PAYLOAD(sig, node_include_req);
    sig_send(block, sig->sender, GSN_NODE_INCLUDE_CONF, PRIO_B, &conf);
}

static void dict_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    fake_dict_of(block)->included = *SIG_PAYLOAD(sig, node_include_rep);
}

static void dict_exec_COPY_START_REQ(struct block *block, const struct signal *sig)
{
    struct copy_start_conf conf = {.sender_data = SIG_PAYLOAD(sig, copy_start_req)->sender_data};
    struct copy_progress_rep rep = {.percent = 40, .left_s = 3};
    ndbrequire(fake_dict_of(block)->include.node != 0 && fake_dict_of(block)->online == 1);
    fake_dict_of(block)->copies++;
    sig_send(block, sig->sender, GSN_COPY_PROGRESS_REP, PRIO_B, &rep);
    if (!fake_dict_of(block)->hold_copy)
        sig_send(block, sig->sender, GSN_COPY_START_CONF, PRIO_B, &conf);
}

void rejoin_dict_drained(struct fake_dict *dict)
{
    if (dict->hold_drain || dict->drain_sender == 0) return;
    sig_send(&dict->block, dict->drain_sender, GSN_DRAIN_CLIENTS_CONF, PRIO_B, &dict->drain);
    dict->drain_sender = 0;
}

static void dict_exec_DRAIN_CLIENTS_REQ(struct block *block, const struct signal *sig)
{
    struct fake_dict *dict = fake_dict_of(block);
    dict->drain_sender = sig->sender;
    dict->drain.sender_data = SIG_PAYLOAD(sig, drain_clients_req)->sender_data;
    rejoin_dict_drained(dict);
}

static void dict_exec_ORDER_PLACES_REP(struct block *block, const struct signal *sig)
{
    fake_dict_of(block)->places = SIG_PAYLOAD(sig, order_places_rep)->places;
}

static const struct handler dict_handlers[] = {
    HANDLER(dict, READ_CONFIG_REQ, read_config_req),
    HANDLER(dict, MEMBERS_REP, members_rep),
    HANDLER(dict, NODE_STATE_REP, node_state_rep),
    HANDLER(dict, API_FAILREQ, api_failreq),
    HANDLER(dict, STTOR, sttor),
    HANDLER(dict, DRAIN_CLIENTS_REQ, drain_clients_req),
    HANDLER(dict, SCHEMA_INFO_REQ, schema_info_req),
    HANDLER(dict, SCHEMA_RESTART_REQ, schema_restart_req),
    HANDLER(dict, SCHEMA_ONLINE_REQ, schema_online_req),
    HANDLER(dict, SCHEMA_LOCK_REQ, schema_lock_req),
    HANDLER(dict, SCHEMA_UNLOCK_ORD, schema_unlock_ord),
    HANDLER(dict, NODE_LOST_REP, node_lost_rep),
    HANDLER(dict, NODE_INCLUDE_REQ, node_include_req),
    HANDLER(dict, NODE_INCLUDE_REP, node_include_rep),
    HANDLER(dict, COPY_START_REQ, copy_start_req),
    HANDLER(dict, ORDER_PLACES_REP, order_places_rep),
};

static const struct block_type dict_type = {"DBDICT", BLOCK_DBDICT, dict_handlers,
                                            sizeof dict_handlers / sizeof dict_handlers[0], NULL};

/* --- Checkpoints that are written at once, or when the test says so. --- */

uint32_t rejoin_hold_checkpoint;

uint32_t rejoin_fail_checkpoint;

uint32_t rejoin_checkpoints;

uint32_t rejoin_checkpoint_mbytes;

struct fake_backup {
    struct block block;
    struct lcp_part_conf held;
};

static void lcpw_exec_LCP_PART_REQ(struct block *block, const struct signal *sig)
{
    const struct lcp_part_req *req = SIG_PAYLOAD(sig, lcp_part_req);
    struct lcp_part_conf conf = {.lcp_id = req->lcp_id, .end_gci = req->start_gci, .fragments = 1};
    rejoin_checkpoints++;
    conf.kbytes = rejoin_checkpoint_mbytes * 1024u;
    if (ref_node(block->ref) == rejoin_fail_checkpoint) {
        conf.failed = 1;
        conf.error = 2810;
    }
    ((struct fake_backup *)(void *)block)->held = conf;
    if (ref_node(block->ref) != rejoin_hold_checkpoint)
        sig_send(block, sig->sender, GSN_LCP_PART_CONF, PRIO_B, &conf);
}

static void lcpw_exec_LCP_USABLE_REQ(struct block *block, const struct signal *sig)
{
    struct lcp_usable_conf conf = {.lcp_id = SIG_PAYLOAD(sig, lcp_usable_req)->lcp_id};
    sig_send(block, sig->sender, GSN_LCP_USABLE_CONF, PRIO_B, &conf);
}

static const struct handler lcpw_handlers[] = {
    HANDLER(dict, READ_CONFIG_REQ, read_config_req),
    HANDLER(lcpw, LCP_PART_REQ, lcp_part_req),
    HANDLER(lcpw, LCP_USABLE_REQ, lcp_usable_req),
};

static const struct block_type lcpw_type = {"LCPWRITER", BLOCK_LCPWRITER, lcpw_handlers, 3, NULL};

/* --- Nodes. --- */

struct node_config rejoin_config;

void rejoin_make_node(uint32_t id)
{
    struct fc_node *at = &fc_fc->node[id];
    if (at->node != NULL) node_destroy(at->node);
    at->dead = false;
    at->stopped = false;
    at->exit_code = 0;
    memset(at->allowed, 0, sizeof at->allowed);
    at->host.io_submit = fake_disk_submit;
    struct node *node = fc_create(fc_fc, id, &rejoin_config);
    struct thread *main_thread = node_thread(node, 0);
    struct thread *worker = node_thread(node, 1);
    cmvmi_create(main_thread, 0);
    qmgr_create(main_thread, 0);
    fs_create(main_thread, 0);
    cntr_create(main_thread, 0);
    dih_create(main_thread, 0);
    block_create(main_thread, &dict_type, 0, sizeof(struct fake_dict));
    block_create(main_thread, &fake_trix_type, 0, sizeof(struct fake_worker));
    block_create(worker, &fake_tc_type, 1, sizeof(struct fake_worker));
    block_create(worker, &fake_lqh_type, 1, sizeof(struct fake_worker));
    if (!rejoin_config.diskless) block_create(worker, &lcpw_type, 1, sizeof(struct fake_backup));
}

void rejoin_backup_go_on(uint32_t id)
{
    struct fake_backup *backup =
        (struct fake_backup *)(void *)node_block(fc_fc->node[id].node, BLOCK_LCPWRITER, 1);
    sig_send(&backup->block, block_ref(id, BLOCK_DBDIH, 0), GSN_LCP_PART_CONF, PRIO_B,
             &backup->held);
}

struct qmgr *rejoin_qmgr_at(uint32_t id)
{
    return qmgr_of(node_block(fc_fc->node[id].node, BLOCK_QMGR, 0));
}

struct cntr *rejoin_cntr_at(uint32_t id)
{
    return cntr_of(node_block(fc_fc->node[id].node, BLOCK_NDBCNTR, 0));
}

struct fake_dict *rejoin_dict_at(uint32_t id)
{
    return fake_dict_of(node_block(fc_fc->node[id].node, BLOCK_DBDICT, 0));
}

bool rejoin_is_started(uint32_t id)
{
    return fc_alive(fc_fc, id) && fake_tc(fc_fc, id, 1)->level == START_STARTED;
}

bool rejoin_all_started(uint32_t nodes)
{
    for (uint32_t id = 1; id <= nodes; id++) {
        if (!rejoin_is_started(id)) return false;
        if (node_mask_count(&rejoin_cntr_at(id)->started) != nodes) return false;
        if (node_mask_count(&rejoin_qmgr_at(id)->join.members) != nodes) return false;
    }
    return true;
}

void rejoin_run_until_started(uint32_t nodes, uint32_t limit_ms)
{
    for (uint32_t i = 0; i < limit_ms / 5u && !rejoin_all_started(nodes); i++)
        fc_run(fc_fc, 5);
    for (uint32_t id = 1; id <= nodes; id++) {
        if (!rejoin_is_started(id))
            print_message("node %u: dead %u code %u %s\n", id, fc_fc->node[id].dead,
                          fc_fc->node[id].exit_code, fc_fc->node[id].failure);
    }
    assert_true(rejoin_all_started(nodes));
    fc_check(fc_fc);
}

void rejoin_configure(uint32_t nodes, uint32_t replicas)
{
    rejoin_config = fake_config(nodes, replicas);
    rejoin_config.survive = 1;
    rejoin_config.diskless = 1;
    rejoin_config.tc_count = 1;
    rejoin_config.ldm_count = 1;
    rejoin_config.heartbeat_db_db_ms = HEARTBEAT_MS;
    rejoin_config.arbitration = ARBITRATION_NONE;
    /* There is an API node less. */
    if (nodes == 6)
        rejoin_config.node[6] = (struct config_node){.type = NODE_DATA, .nodegroup = 5 / replicas};
}

void rejoin_start(uint32_t nodes, uint32_t replicas)
{
    rejoin_configure(nodes, replicas);
    for (uint32_t id = 1; id <= nodes; id++)
        rejoin_make_node(id);
    rejoin_run_until_started(nodes, 1000);
}

void rejoin_again(void)
{
    fc_check(fc_fc);
    fc_destroy(fc_fc);
    fc_init(fc_fc);
    fc_fc->verbose = getenv("FC_VERBOSE") != NULL;
}

void rejoin_check_whole(uint32_t nodes)
{
    uint32_t number = rejoin_qmgr_at(1)->failure.number;
    for (uint32_t id = 1; id <= nodes; id++) {
        const struct qmgr *qmgr = rejoin_qmgr_at(id);
        const struct cntr *cntr = rejoin_cntr_at(id);
        assert_int_equal(qmgr->failure.number, number);
        assert_int_equal(cntr->rejoin.failure_no, number);
        assert_int_equal(qmgr->join.president, rejoin_qmgr_at(1)->join.president);
        assert_int_equal(cntr->president, qmgr->join.president);
        assert_true(node_mask_empty(&qmgr->rejoin.newcomers));
        assert_int_equal(qmgr->rejoin.adding, 0);
        assert_true(node_mask_empty(&cntr->rejoin.joined));
        assert_true(node_mask_empty(&cntr->rejoin.included));
        assert_true(node_mask_empty(&rejoin_dict_at(id)->locked));
        for (uint32_t other = 1; other <= nodes; other++) {
            assert_int_equal(cntr->rejoin.step[other], REJOIN_NONE);
            assert_int_equal(cntr->rejoin.rank[other], rejoin_cntr_at(1)->rejoin.rank[other]);
            assert_int_equal(qmgr->peer[other].dynamic_id,
                             rejoin_qmgr_at(1)->peer[other].dynamic_id);
        }
    }
}

/* --- Steps. --- */

uint32_t rejoin_cursor;

void rejoin_one_step(uint32_t nodes)
{
    uint32_t all = nodes + nodes * nodes;
    uint32_t at = rejoin_cursor++ % all;
    fc_links(fc_fc);
    if (at < nodes)
        fc_run_node(fc_fc, at + 1);
    else
        fc_deliver(fc_fc, (at - nodes) / nodes + 1, (at - nodes) % nodes + 1);
    if (at == all - 1) fc_fc->now++;
}

void rejoin_all_come_back(uint32_t nodes)
{
    for (uint32_t round = 0; round < 40 && !rejoin_all_started(nodes); round++) {
        for (uint32_t id = 1; id <= nodes; id++) {
            if (fc_fc->node[id].dead) rejoin_make_node(id);
        }
        fc_run(fc_fc, 200);
    }
    rejoin_run_until_started(nodes, 5);
    rejoin_check_whole(nodes);
}
