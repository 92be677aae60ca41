/* cmvmi.c -- answers management servers: status, dump orders, stop and start. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "signals/arbit.h"
#include "signals/pace.h"
#include "signals/qmgr.h"
#include "signals/start.h"
#include "blocks/cmvmi/cmvmi_state.h"

#define MEMORY_TICK_MS 1000u

static void cmvmi_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    struct continueb tick = {.work = CMVMI_MEMORY_TICK};
    jam();
    sig_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &tick, MEMORY_TICK_MS);
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void cmvmi_exec_NODE_STATE_REP(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    const struct node_state_rep *rep = SIG_PAYLOAD(sig, node_state_rep);
    jam_data(rep->start_level);
    if (rep->start_level == START_STARTED) arena_started(block_arena(block));
    cmvmi->start_level = rep->start_level;
    cmvmi->start_type = rep->start_type;
    cmvmi->start_percent = rep->start_percent;
    cmvmi->start_left_s = rep->start_left_s;
    cmvmi->start_phase = rep->start_phase;
    cmvmi->president = rep->master;
    cmvmi->single_user = rep->single_user;
}

static void cmvmi_exec_MEMBERS_REP(struct block *block, const struct signal *sig)
{
    jam();
    cmvmi_of(block)->dynamic_id = SIG_PAYLOAD(sig, members_rep)->dynamic_id;
}

static void cmvmi_exec_ARBIT_STATE_REP(struct block *block, const struct signal *sig)
{
    const struct arbit_state_rep *rep = SIG_PAYLOAD(sig, arbit_state_rep);
    jam_data(rep->state);
    cmvmi_of(block)->arbit_state = rep->state;
    cmvmi_of(block)->arbit_node = rep->node;
}

static void cmvmi_exec_NODE_PACE_REP(struct block *block, const struct signal *sig)
{
    jam();
    cmvmi_of(block)->slow = SIG_PAYLOAD(sig, node_pace_rep)->slow;
}

static void cmvmi_exec_API_FAILREQ(struct block *block, const struct signal *sig)
{
    const struct api_failreq *req = SIG_PAYLOAD(sig, api_failreq);
    struct api_failconf conf = {.sender_data = req->sender_data, .node = req->node};
    jam();
    cmvmi_listener_gone(cmvmi_of(block), req->node);
    sig_send(block, sig->sender, GSN_API_FAILCONF, PRIO_B, &conf);
}

/* Ways to see what a failing node leaves behind: a check that fails, and a handler that does not
 * end in time. Here, because this signal comes ten times a second and from outside. */
static void fail_on_purpose(struct block *block)
{
    ndbrequire(!ERROR_INSERTED(block, 9999)); /* This fails on purpose. */
    if (ERROR_INSERTED(block, 9998)) {
        ERROR_INSERT_CLEAR(block);
        node_loop(block, block->error_extra);
    }
}

static void cmvmi_exec_NODE_STATUS_REQ(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    const struct node_config *config = block_config(block);
    struct node_status_conf conf = {
        .sender_data = SIG_PAYLOAD(sig, node_status_req)->sender_data,
        .start_level = cmvmi->start_level,
        .start_phase = cmvmi->start_phase,
        .start_type = cmvmi->start_type,
        .nodegroup = config->node[config->own_node].nodegroup,
        .president = cmvmi->president,
        .dynamic_id = cmvmi->dynamic_id,
        .version = NDB_VERSION,
        .start_percent = cmvmi->start_percent,
        .start_left_s = cmvmi->start_left_s,
        .arbit_state = cmvmi->arbit_state,
        .arbit_node = cmvmi->arbit_node,
        .single_user = cmvmi->single_user,
        .generation = config->generation,
        .digest = config->digest,
        .slow = cmvmi->slow,
    };
    jam();
    fail_on_purpose(block);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if ((peer_class(block, node) & FROM_CLIENTS) != 0) node_mask_add(&conf.connected, node);
    }
    sig_send(block, sig->sender, GSN_NODE_STATUS_CONF, PRIO_B, &conf);
}

static void cmvmi_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    const struct continueb *work = SIG_PAYLOAD(sig, continueb);
    ndbrequire(work->work == CMVMI_MEMORY_TICK);
    cmvmi_memory_tick(cmvmi_of(block));
    sig_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, work, MEMORY_TICK_MS);
}

/* --- Dump orders: code -> block. The codes are listed in docs/protocols/management.md. --- */

#define DUMP_MEMORY     1000u
#define DUMP_MEMORY_ACC 1001u
#define DUMP_EVENTS     2605u
#define DUMP_TAMPER     9000u

static const struct dump_route {
    uint32_t code;
    uint32_t block_no;
} dump_routes[] = {
    {1, BLOCK_QMGR},      {13, BLOCK_NDBCNTR}, {16, BLOCK_DBDIH},   {17, BLOCK_DBDIH},
    {1228, BLOCK_DBDICT}, {7099, BLOCK_DBDIH}, {7110, BLOCK_DBDIH}, {7111, BLOCK_DBDIH},
    {2300, BLOCK_DBLQH},  {2353, BLOCK_DBLQH}, {2500, BLOCK_DBTC},  {2555, BLOCK_DBTC},
};

/* Sends to the block's only instance, or to all instances. */
static void dump_to(struct cmvmi *cmvmi, uint32_t block_no, const struct dump_state_ord *ord)
{
    bool single = block_no != BLOCK_DBTC && block_no != BLOCK_DBLQH;
    uint32_t first = single ? 0 : 1;
    uint32_t last = single ? 0 : block_instances(&cmvmi->block, block_no);
    for (uint32_t i = first; i <= last; i++)
        sig_send(&cmvmi->block, cmvmi_local(cmvmi, block_no) + i, GSN_DUMP_STATE_ORD, PRIO_B, ord);
}

/* DUMP 9000 <block number> <error insert> [value]: arms all instances of the block; number 0
 * disarms. */
static void dump_tamper(struct cmvmi *cmvmi, const struct dump_state_ord *ord)
{
    struct tamper_ord tamper = {.number = ord->data[2], .extra = ord->count > 3 ? ord->data[3] : 0};
    uint32_t block_no = ord->data[1];
    uint32_t instances = block_no < BLOCK_COUNT ? block_instances(&cmvmi->block, block_no) : 0;
    bool single = (block_no >= BLOCK_CMVMI && block_no <= BLOCK_DBDICT) || block_no == BLOCK_NDBFS;
    if (single) {
        jam();
        sig_send(&cmvmi->block, cmvmi_local(cmvmi, block_no), GSN_TAMPER_ORD, PRIO_A, &tamper);
    } else if (instances == 0) {
        jam();
        log_warning(&cmvmi->block, "dump 9000: no block %u on this node", block_no);
    }
    for (uint32_t i = 1; i <= instances; i++)
        sig_send(&cmvmi->block, cmvmi_local(cmvmi, block_no) + i, GSN_TAMPER_ORD, PRIO_A, &tamper);
}

static void cmvmi_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    const struct dump_state_ord *ord = SIG_PAYLOAD(sig, dump_state_ord);
    if (ord->count == 0 || ord->count > sizeof(ord->data) / 4u) {
        jam();
        log_warning(block, "dump order without a code");
        return;
    }
    uint32_t code = ord->data[0];
    jam_data(code);
    for (uint32_t i = 0; i < sizeof(dump_routes) / sizeof(dump_routes[0]); i++) {
        if (dump_routes[i].code != code) continue;
        jam();
        dump_to(cmvmi, dump_routes[i].block_no, ord);
        return;
    }
    if (code == DUMP_MEMORY || code == DUMP_MEMORY_ACC) {
        jam();
        cmvmi_memory_dump(cmvmi);
    } else if (code == DUMP_EVENTS) {
        jam();
        log_info(block, "%u events so far", cmvmi->event_next);
    } else if (code == DUMP_TAMPER && ord->count >= 3) {
        jam();
        dump_tamper(cmvmi, ord);
    } else {
        jam();
        log_warning(block, "dump code %u is unknown", code);
    }
}

/* --- Stop and start are NDBCNTR's; the client talks to CMVMI alone. --- */

static void cmvmi_exec_STOP_REQ(struct block *block, const struct signal *sig)
{
    struct stop_req req = *SIG_PAYLOAD(sig, stop_req);
    jam();
    req.client_ref = sig->sender;
    sig_send(block, cmvmi_local(cmvmi_of(block), BLOCK_NDBCNTR), GSN_STOP_REQ, PRIO_A, &req);
}

/* The host wants the node to end in good order: the operating system has told it to. There is
 * nobody to take a refusal: the others cannot go on without this node, and will see it go. */
static void cmvmi_exec_IO_DONE_REP(struct block *block, const struct signal *sig)
{
    struct stop_req req = {.flags = STOP_FORCE, .client_ref = block->ref};
    ndbrequire(SIG_PAYLOAD(sig, io_done_rep)->tag == CMVMI_HOST_STOP);
    jam();
    sig_send(block, cmvmi_local(cmvmi_of(block), BLOCK_NDBCNTR), GSN_STOP_REQ, PRIO_A, &req);
}

static void cmvmi_exec_STOP_CONF(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
    jam();
}

/* It is ending already, or its blocks are not configured yet: then there is nothing to bring to an
 * end. */
static void cmvmi_exec_STOP_REF(struct block *block, const struct signal *sig)
{
    jam_data(SIG_PAYLOAD(sig, stop_ref)->error);
    if (cmvmi_of(block)->start_level == START_NOTHING) node_stopped(block, 0);
}

static void cmvmi_exec_SINGLE_USER_REQ(struct block *block, const struct signal *sig)
{
    struct single_user_req req = *SIG_PAYLOAD(sig, single_user_req);
    jam();
    req.client_ref = sig->sender;
    sig_send(block, cmvmi_local(cmvmi_of(block), BLOCK_NDBCNTR), GSN_SINGLE_USER_REQ, PRIO_A, &req);
}

static void cmvmi_exec_START_ORD(struct block *block, const struct signal *sig)
{
    jam();
    sig_send(block, cmvmi_local(cmvmi_of(block), BLOCK_NDBCNTR), GSN_START_ORD, PRIO_A,
             SIG_PAYLOAD(sig, start_ord));
}

static const struct handler cmvmi_handlers[] = {
    HANDLER(cmvmi, CONTINUEB, continueb),
    HANDLER(cmvmi, READ_CONFIG_REQ, read_config_req),
    HANDLER(cmvmi, NODE_STATE_REP, node_state_rep),
    HANDLER(cmvmi, MEMBERS_REP, members_rep),
    HANDLER(cmvmi, API_FAILREQ, api_failreq),
    HANDLER(cmvmi, ARBIT_STATE_REP, arbit_state_rep),
    HANDLER(cmvmi, NODE_PACE_REP, node_pace_rep),
    HANDLER(cmvmi, EVENT_REP, event_rep),
    HANDLER(cmvmi, EVENT_SUBSCRIBE_REQ, event_subscribe_req),
    HANDLER(cmvmi, EVENT_LOG_REQ, event_log_req),
    HANDLER(cmvmi, SET_LOGLEVEL_ORD, set_loglevel_ord),
    HANDLER(cmvmi, NODE_STATUS_REQ, node_status_req),
    HANDLER(cmvmi, MEMORY_REPORT_REQ, memory_report_req),
    HANDLER(cmvmi, LDM_MEMORY_CONF, ldm_memory_conf),
    HANDLER(cmvmi, DISK_REPORT_REQ, disk_report_req),
    HANDLER(cmvmi, THREAD_REPORT_REQ, thread_report_req),
    HANDLER(cmvmi, REDO_STATUS_CONF, redo_status_conf),
    HANDLER(cmvmi, LCP_STATUS_CONF, lcp_status_conf),
    HANDLER(cmvmi, DUMP_STATE_ORD, dump_state_ord),
    HANDLER(cmvmi, STOP_REQ, stop_req),
    HANDLER(cmvmi, IO_DONE_REP, io_done_rep),
    HANDLER(cmvmi, STOP_CONF, stop_conf),
    HANDLER(cmvmi, STOP_REF, stop_ref),
    HANDLER(cmvmi, START_ORD, start_ord),
    HANDLER(cmvmi, SINGLE_USER_REQ, single_user_req),
};

static const struct block_type cmvmi_type = {
    .name = "CMVMI",
    .block_no = BLOCK_CMVMI,
    .handlers = cmvmi_handlers,
    .handler_count = sizeof(cmvmi_handlers) / sizeof(cmvmi_handlers[0]),
};

struct block *cmvmi_create(struct thread *thread, uint32_t instance)
{
    struct block *block = block_create(thread, &cmvmi_type, instance, sizeof(struct cmvmi));
    struct cmvmi *cmvmi = cmvmi_of(block);
    _Static_assert(sizeof(cmvmi->own_level) == sizeof(block_config(block)->event_level), "alike");
    memcpy(cmvmi->own_level, block_config(block)->event_level, sizeof(cmvmi->own_level));
    return block;
}
