/* qmgr_api.c -- clients and management servers: registration, heartbeats, and the cleaning up after
 * them. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   NONE --link--> LINKED --API_REGREQ--> REGISTERED
 *    ^                \________ link down ____/
 *    |                             v
 *    |___ all API_FAILCONF ___ FAILING
 *
 * The host refuses a client from the moment its link went down until peer_allow(): an order to
 * refuse it would come late, and cut the link of the next process that was given the node id.
 */
#include "blocks/qmgr/qmgr_state.h"
#include "values/errors.h"
#include "signals/event_report.h"
#include "signals/management.h"

void qmgr_client_up(struct qmgr *qmgr, uint32_t node)
{
    struct qmgr_client *client = &qmgr->client[node];
    ndbrequire(client->state == API_NONE); /* I-QMGR-4 */
    jam();
    *client = (struct qmgr_client){.state = API_LINKED};
}

static void ask_to_clean(struct qmgr *qmgr, uint32_t node)
{
    struct qmgr_client *client = &qmgr->client[node];
    struct api_failreq req = {.sender_data = node, .node = node};
    uint32_t tc_count = block_instances(&qmgr->block, BLOCK_DBTC);
    for (uint32_t instance = 1; instance <= tc_count; instance++) {
        node_mask_add(&client->waiting_tc, instance);
        sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_DBTC) + instance, GSN_API_FAILREQ, PRIO_B,
                 &req);
    }
    client->waiting_dict = 1;
    client->waiting_cmvmi = 1;
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_DBDICT), GSN_API_FAILREQ, PRIO_B, &req);
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_CMVMI), GSN_API_FAILREQ, PRIO_B, &req);
}

void qmgr_client_down(struct qmgr *qmgr, uint32_t node)
{
    struct qmgr_client *client = &qmgr->client[node];
    if (client->state == API_NONE || client->state == API_FAILING) {
        jam();
        return;
    }
    jam();
    *client = (struct qmgr_client){.state = API_FAILING};
    event_send(&qmgr->block, EVENT_COMMUNICATION_CLOSED, node);
    ask_to_clean(qmgr, node);
    qmgr_verdict_client_down(qmgr, node);
    qmgr_arbit_client_down(qmgr, node);
}

void qmgr_exec_API_FAILCONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct api_failconf *conf = SIG_PAYLOAD(sig, api_failconf);
    uint32_t node = conf->node;
    ndbrequire(node <= NODE_ID_MAX);
    struct qmgr_client *client = &qmgr->client[node];
    ndbrequire(client->state == API_FAILING); /* I-QMGR-4 */
    uint32_t from = ref_block(sig->sender);
    if (from == BLOCK_DBTC) node_mask_remove(&client->waiting_tc, ref_instance(sig->sender));
    if (from == BLOCK_DBDICT) client->waiting_dict = 0;
    if (from == BLOCK_CMVMI) client->waiting_cmvmi = 0;
    if (!node_mask_empty(&client->waiting_tc) || client->waiting_dict || client->waiting_cmvmi)
        return;
    jam();
    *client = (struct qmgr_client){.state = API_NONE};
    event_send(block, EVENT_COMMUNICATION_OPENED, node);
    peer_allow(block, node, 1);
}

/* It speaks. */
static void client_heard(struct qmgr *qmgr, struct qmgr_client *client)
{
    uint64_t now = now_ms(&qmgr->block);
    uint32_t interval = block_config(&qmgr->block)->heartbeat_db_api_ms;
    uint64_t due = client->heard_ms + interval;
    if (client->heard_ms != 0) beat_note(&client->late, now, now > due ? now - due : 0, interval);
    client->heard_ms = now;
    client->missed = 0;
}

/* Intervals more than in quiet times, begun ones too: it is starved, or this node is. */
static uint32_t client_missed_more(const struct qmgr *qmgr, const struct qmgr_client *client)
{
    uint32_t interval = block_config(&qmgr->block)->heartbeat_db_api_ms;
    uint32_t own = qmgr_patience_own_ms(qmgr);
    uint32_t late = beat_patience_ms(beat_figures(&client->late, now_ms(&qmgr->block)), interval);
    return ((late > own ? late : own) + interval - 1u) / interval;
}

/* However late it comes, an own stall is one interval: what clients have said meanwhile is read
 * before the next one. */
void qmgr_client_tick(struct qmgr *qmgr)
{
    qmgr_work_later(qmgr, QMGR_CLIENT_TICK, block_config(&qmgr->block)->heartbeat_db_api_ms);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        struct qmgr_client *client = &qmgr->client[node];
        if (client->state != API_LINKED && client->state != API_REGISTERED) continue;
        uint32_t dead = MISSED_DEAD + client_missed_more(qmgr, client);
        client->missed++;
        if (client->missed >= dead) {
            jam_data(node);
            log_warning(&qmgr->block, "node %u is declared dead: its heartbeats are missing", node);
            event_send(&qmgr->block, EVENT_DEAD_DUE_TO_HEARTBEAT, node);
            peer_close(&qmgr->block, node, "heartbeats missed");
        } else if (client->missed >= MISSED_WARNING + dead - MISSED_DEAD) {
            jam_data(node);
            event_send(&qmgr->block, EVENT_MISSED_HEARTBEAT, node, client->missed - 1);
        }
    }
}

/* Their links to a node that hangs stay open, and its heartbeats are slow to be missed. */
void qmgr_clients_tell(struct qmgr *qmgr, uint32_t failure_no, const struct node_mask *nodes)
{
    struct api_node_lost_rep rep = {.failure_no = failure_no, .nodes = *nodes};
    if (block_config(&qmgr->block)->survive == 0) return; /* All stop. */
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        const struct qmgr_client *client = &qmgr->client[node];
        if (client->state != API_REGISTERED) continue;
        jam_data(node);
        sig_send(&qmgr->block, client->ref, GSN_API_NODE_LOST_REP, PRIO_A, &rep);
    }
}

void qmgr_exec_SCHEMA_CHANGED_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct table_changed_rep *rep = SIG_PAYLOAD(sig, table_changed_rep);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        const struct qmgr_client *client = &qmgr->client[node];
        bool api = block_config(block)->node[node].type == NODE_API;
        if (client->state != API_REGISTERED || !api) continue;
        jam_data(node);
        sig_send(block, client->ref, GSN_TABLE_CHANGED_REP, PRIO_B, rep);
    }
}

static void refuse(struct qmgr *qmgr, const struct signal *sig, uint32_t error)
{
    struct api_regref ref = {.sender_data = SIG_PAYLOAD(sig, api_regreq)->sender_data,
                             .error = error};
    sig_send(&qmgr->block, sig->sender, GSN_API_REGREF, PRIO_A, &ref);
}

static void first_registration(struct qmgr *qmgr, uint32_t ref, const struct api_regreq *req)
{
    uint32_t node = ref_node(ref);
    struct qmgr_client *client = &qmgr->client[node];
    uint32_t generation = block_config(&qmgr->block)->generation;
    client->state = API_REGISTERED;
    client->ref = ref;
    client->version = req->version;
    event_send(&qmgr->block, EVENT_CONNECTED_API_VERSION, node, req->version);
    if (req->generation == generation) return;
    jam();
    log_warning(&qmgr->block, "node %u has configuration generation %u, this node %u", node,
                req->generation, generation);
}

static void confirm(struct qmgr *qmgr, const struct qmgr_client *client)
{
    const struct node_config *config = block_config(&qmgr->block);
    struct api_regconf conf = {
        .sender_data = client->data,
        .version = NDB_VERSION,
        .heartbeat_ms = config->heartbeat_db_api_ms,
        .start_level = qmgr->start_level,
        .start_phase = qmgr->start_phase,
        .president = qmgr->master,
        .life = qmgr->join.incarnation,
        .tc_count = block_instances(&qmgr->block, BLOCK_DBTC),
        .failure_no = qmgr->failure.number,
        .started = qmgr->started,
        .slow = qmgr->pace.slow,
    };
    sig_send(&qmgr->block, client->ref, GSN_API_REGCONF, PRIO_A, &conf);
}

/* The answer to their last word has changed: they shall not wait for the next one to use this node,
 * or to leave it alone. */
void qmgr_clients_tell_level(struct qmgr *qmgr)
{
    if (block_config(&qmgr->block)->survive == 0) return;
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (qmgr->client[node].state != API_REGISTERED) continue;
        jam_data(node);
        confirm(qmgr, &qmgr->client[node]);
    }
}

void qmgr_exec_API_REGREQ(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct api_regreq *req = SIG_PAYLOAD(sig, api_regreq);
    const struct node_config *config = block_config(block);
    uint32_t node = ref_node(sig->sender);
    struct qmgr_client *client = &qmgr->client[node];
    if (config->node[node].type != NODE_API && config->node[node].type != NODE_MGM) {
        jam();
        refuse(qmgr, sig, ERR_NODE_TYPE);
        return;
    }
    if (NDB_VERSION_MAJOR(req->version) != NDB_VERSION_MAJOR(NDB_VERSION)) {
        jam();
        refuse(qmgr, sig, ERR_QMGR_UNDEFINED);
        if (client->version != req->version) /* It asks again and again. */
            log_warning(block, "node %u speaks another major version (%x)", node, req->version);
        client->version = req->version;
        if (client->state != API_NONE) client_heard(qmgr, client); /* It is refused, not dead. */
        return;
    }
    if (client->state == API_FAILING) {
        jam();
        refuse(qmgr, sig, ERR_NODE_FAILURE_HANDLING);
        return;
    }
    if (client->state == API_NONE) {
        jam(); /* It waited in the queue while the end of its link, and the cleaning up, came past.
                */
        return;
    }
    if (client->state != API_REGISTERED) {
        jam();
        first_registration(qmgr, sig->sender, req);
        qmgr_arbit_ready(qmgr);
    }
    client_heard(qmgr, client);
    client->data = req->sender_data;
    confirm(qmgr, client);
}

/* Several management servers give away node ids, each by itself: the data nodes see to it that no
 * two give the same. */
void qmgr_exec_ALLOC_NODEID_REQ(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct alloc_nodeid_req *req = SIG_PAYLOAD(sig, alloc_nodeid_req);
    uint32_t by = ref_node(sig->sender);
    bool good = req->node <= NODE_ID_MAX && block_config(block)->node[req->node].type == NODE_API;
    struct qmgr_reserved *reserved = &qmgr->reserved[good ? req->node : 0];
    if (good && req->hold_ms == 0) {
        jam();
        if (reserved->by == by) reserved->until_ms = 0;
        return;
    }
    if (!good || qmgr->client[req->node].state != API_NONE ||
        (reserved->by != by && reserved->until_ms > now_ms(block))) {
        jam_data(req->node);
        struct alloc_nodeid_ref ref = {.sender_data = req->sender_data,
                                       .error = ERR_NODE_ID_RESERVED};
        sig_send(block, sig->sender, GSN_ALLOC_NODEID_REF, PRIO_A, &ref);
        return;
    }
    jam_data(req->node);
    *reserved = (struct qmgr_reserved){.by = by, .until_ms = now_ms(block) + req->hold_ms};
    struct alloc_nodeid_conf conf = {.sender_data = req->sender_data};
    sig_send(block, sig->sender, GSN_ALLOC_NODEID_CONF, PRIO_A, &conf);
}
