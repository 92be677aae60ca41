/* qmgr.c -- creates QMGR, opens the links, runs its clocks, and checks its records. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/qmgr_state.h"

void qmgr_work_later(struct qmgr *qmgr, enum qmgr_work work, uint32_t delay_ms)
{
    struct continueb next = {.work = work};
    sig_send_delayed(&qmgr->block, qmgr->block.ref, GSN_CONTINUEB, PRIO_A, &next, delay_ms);
}

static void allow_links(struct qmgr *qmgr, uint32_t type)
{
    const struct node_config *config = block_config(&qmgr->block);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (node == config->own_node || config->node[node].type != type) continue;
        if (qmgr->client[node].state == API_NONE) peer_allow(&qmgr->block, node, 1);
    }
}

/* Management servers may connect from the beginning: they see the node start, or order it to. */
static void qmgr_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    allow_links(qmgr, NODE_MGM);
    qmgr_work_later(qmgr, QMGR_CLIENT_TICK, block_config(block)->heartbeat_db_api_ms);
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void qmgr_exec_CM_KNOWN_ORD(struct block *block, const struct signal *sig)
{
    jam();
    qmgr_of(block)->join.known = *SIG_PAYLOAD(sig, cm_known_ord);
}

static void qmgr_exec_STTOR(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct sttor *req = SIG_PAYLOAD(sig, sttor);
    ndbrequire(req->phase == 1);
    jam();
    qmgr_rejoin_reset(qmgr);
    allow_links(qmgr, NODE_DATA);
    allow_links(qmgr, NODE_API);
    qmgr->join.sttor_owed = 1;
    qmgr->join.sttor_data = req->sender_data;
    qmgr->join.has_data = req->start_type == START_SYSTEM_RESTART         ? CM_DATA_KEPT
                          : req->start_type == START_INITIAL_NODE_RESTART ? CM_DATA_GIVEN_UP
                                                                          : CM_DATA_NONE;
    qmgr->join.aside = req->start_type == START_NODE_RESTART;
    if (!qmgr->ring.tick_running) {
        jam();
        qmgr->ring.tick_running = 1;
        qmgr_work_later(qmgr, QMGR_RING_TICK, block_config(block)->heartbeat_db_db_ms);
    }
    if (!qmgr->arbit.tick_running) {
        jam();
        qmgr->arbit.tick_running = 1;
        qmgr_arbit_tick(qmgr);
    }
    if (!qmgr->pace.tick_running) {
        jam();
        qmgr->pace.tick_running = 1;
        qmgr_pace_tick(qmgr);
    }
    qmgr_join_begin(qmgr);
}

static void qmgr_exec_NODE_STATE_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct node_state_rep *rep = SIG_PAYLOAD(sig, node_state_rep);
    bool changed = (qmgr->start_level == START_STARTED) != (rep->start_level == START_STARTED);
    jam_data(rep->start_level);
    qmgr->start_level = rep->start_level;
    qmgr->single_user = rep->single_user;
    qmgr->start_phase = rep->start_phase;
    qmgr->master = rep->master;
    qmgr->started = rep->started;
    qmgr->taken_no = rep->taken_no;
    qmgr_rejoin_check(qmgr);
    qmgr_arbit_ready(qmgr);
    if (changed) qmgr_clients_tell_level(qmgr);
}

static void qmgr_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    switch ((enum qmgr_work)SIG_PAYLOAD(sig, continueb)->work) {
    case QMGR_JOIN_TICK:
        qmgr_join_tick(qmgr);
        return;
    case QMGR_RING_TICK:
        qmgr_ring_tick(qmgr);
        return;
    case QMGR_CLIENT_TICK:
        qmgr_client_tick(qmgr);
        return;
    case QMGR_REACH_TICK:
        qmgr_reach_tick(qmgr);
        return;
    case QMGR_REACH_NOW:
        qmgr_reach_now(qmgr);
        return;
    case QMGR_FENCE:
        qmgr_failure_fence_now(qmgr);
        return;
    case QMGR_ARBIT_TICK:
        qmgr_arbit_tick(qmgr);
        return;
    case QMGR_PACE_TICK:
        qmgr_pace_tick(qmgr);
        return;
    default:
        ndbrequire(false); /* No other work is ever sent. */
    }
}

/* DUMP 1: the state of membership. */
static void qmgr_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    const struct qmgr *qmgr = qmgr_of(block);
    (void)sig;
    jam();
    log_info(block,
             "join state %u, president %u, dynamic id %u, left %u, right %u, members %u, linked %u",
             qmgr->join.state, qmgr->join.president, qmgr->join.dynamic_id, qmgr->ring.left,
             qmgr->ring.right, node_mask_count(&qmgr->join.members),
             node_mask_count(&qmgr->linked));
    log_info(block,
             "failures %u, check %u, leads %u, leader %u, fenced %u, waits for %u; arbitrator %u, "
             "state %u, ticket %08x%08x",
             qmgr->failure.number, qmgr->reach.running, qmgr->failure.leads, qmgr->failure.leader,
             node_mask_count(&qmgr->failure.fenced), node_mask_count(&qmgr->failure.waiting),
             qmgr->arbit.node, qmgr->arbit.state, qmgr->arbit.ticket[0], qmgr->arbit.ticket[1]);
}

/* I-QMGR-1: a member has a place in the ring. I-QMGR-2: nobody is watched who is not a member. */
static void qmgr_check(struct block *block)
{
    const struct qmgr *qmgr = qmgr_of(block);
    if (qmgr->join.state != JOIN_MEMBER) return;
    ndbrequire(node_mask_has(&qmgr->join.members, qmgr_own(qmgr))); /* I-QMGR-3 */
    ndbrequire(node_mask_has(&qmgr->join.members, qmgr->join.president));
    for (uint32_t node = node_mask_next(&qmgr->join.members, 0); node != 0;
         node = node_mask_next(&qmgr->join.members, node))
        ndbrequire(qmgr->peer[node].dynamic_id != 0); /* I-QMGR-1 */
    ndbrequire(qmgr->ring.left == 0 ||
               node_mask_has(&qmgr->join.members, qmgr->ring.left));            /* I-QMGR-2 */
    ndbrequire(!node_mask_has(&qmgr->failure.fenced, qmgr_own(qmgr)));          /* I-QMGR-5 */
    ndbrequire(node_mask_within(&qmgr->rejoin.newcomers, &qmgr->join.members)); /* I-QMGR-9 */
    ndbrequire(!node_mask_has(&qmgr->join.members, qmgr->rejoin.adding));
    ndbrequire(node_mask_within(&qmgr->pace.aside, &qmgr->pace.slow)); /* I-QMGR-13 */
    ndbrequire(node_mask_within(&qmgr->pace.slow, &qmgr->join.members));
}

static const struct handler qmgr_handlers[] = {
    HANDLER(qmgr, CONTINUEB, continueb),
    HANDLER(qmgr, LINK_UP_REP, link_rep),
    HANDLER(qmgr, LINK_DOWN_REP, link_rep),
    HANDLER(qmgr, READ_CONFIG_REQ, read_config_req),
    HANDLER(qmgr, STTOR, sttor),
    HANDLER(qmgr, NODE_STATE_REP, node_state_rep),
    HANDLER(qmgr, CM_REGREQ, cm_regreq),
    HANDLER(qmgr, CM_REGCONF, cm_regconf),
    HANDLER(qmgr, CM_REGREF, cm_regref),
    HANDLER(qmgr, CM_NODEINFOREQ, cm_nodeinforeq),
    HANDLER(qmgr, CM_NODEINFOCONF, cm_nodeinfoconf),
    HANDLER(qmgr, CM_NODEINFOREF, cm_nodeinforef),
    HANDLER(qmgr, CM_ADD_REQ, cm_add_req),
    HANDLER(qmgr, CM_ADD_CONF, cm_add_conf),
    HANDLER(qmgr, CM_LEAVE_REP, cm_leave_rep),
    HANDLER(qmgr, CM_KNOWN_ORD, cm_known_ord),
    HANDLER(qmgr, CM_STOP_ORD, cm_stop_ord),
    HANDLER(qmgr, CM_COUNTED_REP, cm_counted_rep),
    HANDLER(qmgr, CM_HEARTBEAT, cm_heartbeat),
    HANDLER(qmgr, FAIL_REACH_REP, fail_reach_rep),
    HANDLER(qmgr, FAIL_PREPARE, fail_prepare),
    HANDLER(qmgr, FAIL_CONF, fail_conf),
    HANDLER(qmgr, FAIL_REF, fail_ref),
    HANDLER(qmgr, FAIL_COMMIT, fail_commit),
    HANDLER(qmgr, FAIL_OUT_REP, fail_out_rep),
    HANDLER(qmgr, PACE_ASK_REP, pace_ask_rep),
    HANDLER(qmgr, PACE_ANSWER_REP, pace_answer_rep),
    HANDLER(qmgr, PACE_PROBE_CONF, pace_probe_conf),
    HANDLER(qmgr, PACE_ROW_REP, pace_row_rep),
    HANDLER(qmgr, PACE_SLOW_REP, pace_slow_rep),
    HANDLER(qmgr, ARBIT_START_CONF, arbit_start_conf),
    HANDLER(qmgr, ARBIT_PREP_REQ, arbit_prep_req),
    HANDLER(qmgr, ARBIT_PREP_CONF, arbit_prep_conf),
    HANDLER(qmgr, ARBIT_LOST_REP, arbit_lost_rep),
    HANDLER(qmgr, ARBIT_CHOOSE_CONF, arbit_choose_conf),
    HANDLER(qmgr, ARBIT_CHOOSE_REF, arbit_choose_ref),
    HANDLER(qmgr, API_REGREQ, api_regreq),
    HANDLER(qmgr, ALLOC_NODEID_REQ, alloc_nodeid_req),
    HANDLER(qmgr, API_FAILCONF, api_failconf),
    HANDLER(qmgr, SCHEMA_CHANGED_REP, table_changed_rep),
    HANDLER(qmgr, DUMP_STATE_ORD, dump_state_ord),
};

static const struct block_type qmgr_type = {
    .name = "QMGR",
    .block_no = BLOCK_QMGR,
    .handlers = qmgr_handlers,
    .handler_count = sizeof(qmgr_handlers) / sizeof(qmgr_handlers[0]),
    .check = qmgr_check,
};

struct block *qmgr_create(struct thread *thread, uint32_t instance)
{
    return block_create(thread, &qmgr_type, instance, sizeof(struct qmgr));
}
