/* mgmd_nodes.c -- what the management server knows about each node: it asks the data nodes, takes
 * what they send, and answers what state a node is in. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_peers.h"
#include "signals/event_log.h"
#include "signals/event_report.h"
#include "signals/event_text.h"
#include "signals/management.h"
#include "signals/node_report.h"

uint16_t mgmd_node_port(const struct mgmd *mgmd, uint32_t node)
{
    const struct config_section *section = config_node(mgmd->config, node);

    if (mgmd->nodes[node].port != 0) return mgmd->nodes[node].port;
    if (section == NULL) return 0; /* It has left the configuration, and runs still. */
    return (uint16_t)config_get_u64(section, CFG_NDBD_ServerPort);
}

void mgmd_nodes_start(struct mgmd *mgmd)
{
    for (uint32_t id = 0; id <= CONFIG_NODES_MAX; id++) {
        struct mgmd_node *node = &mgmd->nodes[id];
        memset(node->log_level, 7, sizeof(node->log_level));
        node->log_level[NDB_MGM_CATEGORY_ERROR - NDB_MGM_CATEGORY_FIRST] = 15;
        node->log_level[NDB_MGM_CATEGORY_CONNECTION - NDB_MGM_CATEGORY_FIRST] = 8;
        node->log_level[NDB_MGM_CATEGORY_BACKUP - NDB_MGM_CATEGORY_FIRST] = 15;
        node->nodegroup = CONFIG_NODEGROUP_NONE;
    }
}

static bool hangs(const struct mgmd_node *node)
{
    return node->linked && node->unanswered >= MGMD_UNANSWERED;
}

bool mgmd_node_hangs(const struct mgmd *mgmd, uint32_t id)
{
    return hangs(&mgmd->nodes[id]);
}

bool mgmd_node_serves(const struct mgmd *mgmd, uint32_t id)
{
    const struct mgmd_node *node = &mgmd->nodes[id];
    bool started = node->start_level == START_STARTED || node->start_level == START_SINGLEUSER;

    return node->linked && node->status_known && started;
}

bool mgmd_node_works(const struct mgmd *mgmd, uint32_t id)
{
    return mgmd_node_serves(mgmd, id) && !mgmd_node_hangs(mgmd, id);
}

static enum ndb_mgm_node_status data_node_status(const struct mgmd_node *node)
{
    if (hangs(node)) return NDB_MGM_STATUS_NO_ANSWER;
    if (!node->linked || !node->status_known) return NDB_MGM_STATUS_NO_CONTACT;
    switch (node->start_level) {
    case START_NOTHING:
    case START_CMVMI:
        return NDB_MGM_STATUS_NOT_STARTED;
    case START_STARTING:
        return NDB_MGM_STATUS_STARTING;
    case START_STARTED:
        return NDB_MGM_STATUS_STARTED;
    case START_SINGLEUSER:
        return NDB_MGM_STATUS_SINGLEUSER;
    case START_STOPPING_1:
    case START_STOPPING_2:
    case START_STOPPING_3:
    case START_STOPPING_4:
        return NDB_MGM_STATUS_SHUTTING_DOWN;
    default:
        return NDB_MGM_STATUS_UNKNOWN;
    }
}

enum ndb_mgm_node_status mgmd_data_node_status(const struct mgmd *mgmd, uint32_t id)
{
    return data_node_status(&mgmd->nodes[id]);
}

enum ndb_mgm_node_status mgmd_node_status(const struct mgmd *mgmd, uint32_t id)
{
    const struct config_section *node = config_node(mgmd->config, id);

    if (node == NULL) return NDB_MGM_STATUS_UNKNOWN;
    if (config_section_kind(node) == CONFIG_NDBD) return mgmd_data_node_status(mgmd, id);
    if (id == mgmd->own_node || mgmd_peer_alive(mgmd, id)) return NDB_MGM_STATUS_CONNECTED;
    for (uint32_t data = 1; data <= CONFIG_DATA_NODES_MAX; data++) {
        if (mgmd->nodes[data].linked && node_mask_has(&mgmd->nodes[data].clients, id)) {
            return NDB_MGM_STATUS_CONNECTED;
        }
    }
    return NDB_MGM_STATUS_NO_CONTACT;
}

/* Does it say that it leads the others, as far as is known? */
static bool says_it_leads(const struct mgmd *mgmd, uint32_t id)
{
    const struct mgmd_node *node = &mgmd->nodes[id];

    return node->linked && node->status_known && node->president == id && !hangs(node);
}

bool mgmd_node_leads(const struct mgmd *mgmd, uint32_t id)
{
    if (!says_it_leads(mgmd, id)) return false;
    for (uint32_t other = 1; other <= CONFIG_DATA_NODES_MAX; other++) {
        if (says_it_leads(mgmd, other) &&
            mgmd->nodes[other].unanswered < mgmd->nodes[id].unanswered)
            return false;
    }
    return true;
}

uint32_t mgmd_president(const struct mgmd *mgmd)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd_node_serves(mgmd, id) && mgmd_node_leads(mgmd, id)) return id;
    }
    return 0;
}

uint32_t mgmd_single_user(const struct mgmd *mgmd)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        const struct mgmd_node *node = &mgmd->nodes[id];
        if (node->linked && node->status_known && node->single_user != 0 && !hangs(node))
            return node->single_user;
    }
    return 0;
}

static void send_register(struct mgmd *mgmd, uint32_t node)
{
    struct api_regreq req = {.sender_data = node,
                             .version = MGMD_VERSION,
                             .generation = config_generation(mgmd->config)};

    (void)mgm_link_send(mgmd->link, node, BLOCK_QMGR, GSN_API_REGREQ, PRIO_A, &req,
                        sizeof(req) / 4);
}

static void ask_status(struct mgmd *mgmd, uint32_t node)
{
    struct node_status_req req = {.sender_data = node};

    mgmd->nodes[node].unanswered++;
    if (mgmd->nodes[node].unanswered == MGMD_UNANSWERED)
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "Node %u does not answer: it hangs, or is starved", node);
    (void)mgm_link_send(mgmd->link, node, BLOCK_CMVMI, GSN_NODE_STATUS_REQ, PRIO_B, &req,
                        sizeof(req) / 4);
}

void mgmd_node_link_up(struct mgmd *mgmd, uint32_t id)
{
    struct mgmd_node *node = &mgmd->nodes[id];
    uint32_t data[EVENT_WORDS] = {id};

    node->linked = true;
    node->linked_once = true;
    node->status_known = false;
    node->stopping = false;
    node->unanswered = 0;
    node->connect_count++;
    mgm_link_address(mgmd->link, id, node->address, sizeof(node->address));
    mgmd_event(mgmd, EVENT_CONNECTED, mgmd->own_node, data, EVENT_WORDS, "");
    send_register(mgmd, id);
    mgmd_subscribe(mgmd, id);
    ask_status(mgmd, id);
    mgm_link_flush(mgmd->link);
}

void mgmd_node_link_down(struct mgmd *mgmd, uint32_t id, const char *reason)
{
    struct mgmd_node *node = &mgmd->nodes[id];
    uint32_t data[EVENT_WORDS] = {id};

    node->linked = false;
    node->status_known = false;
    node->dynamic_id = 0;
    node->address[0] = '\0';
    node->clients = (struct node_mask){{0}};
    if (!mgmd->stopping) {
        mgmd_event(mgmd, EVENT_DISCONNECTED, mgmd->own_node, data, EVENT_WORDS, "");
        if (!node->stopping && reason != NULL && reason[0] != '\0') {
            cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "Link to node %u ended: %s", id,
                               reason);
        }
    }
    mgmd_requests_link_down(mgmd, id);
}

/* A start that takes long shows that it goes on. */
static void log_progress(struct mgmd *mgmd, uint32_t id)
{
    struct mgmd_node *node = &mgmd->nodes[id];
    const struct config_section *section = config_node(mgmd->config, id);
    uint64_t interval = /* It may have left the configuration. */
        section == NULL ? 0 : config_get_u64(section, CFG_NDBD_StartupStatusReportFrequency) * 1000;
    uint64_t now = uv_now(mgmd->loop);
    char left[48] = "";
    char line[128];

    if (data_node_status(node) != NDB_MGM_STATUS_STARTING || node->start_percent == 0 ||
        node->start_percent >= 100 || interval == 0) {
        node->progress_told = now;
        return;
    }
    if (now < node->progress_told + interval) return;
    node->progress_told = now;
    if (node->start_left_s != 0)
        (void)snprintf(left, sizeof(left), ", %u s left", node->start_left_s);
    (void)snprintf(line, sizeof(line), "%u%% of the data read back%s", node->start_percent, left);
    cluster_log_write(mgmd->log, NDB_MGM_SEVERITY_INFO, id, line);
}

#define COMPARE_MS 60000u /* Pause between two tries to store what follows from a comparison. */

/* Compares ours with the configuration that the node runs with; once, or again when what follows
 * could not be stored. */
static void compare(struct mgmd *mgmd, struct mgmd_node *node)
{
    uint64_t now = uv_now(mgmd->loop);

    if (node->configured || node->compared == node->generation || now < node->compare_ms) return;
    if (mgmd_kept_behind(mgmd, node->generation) == 0)
        node->compared = node->generation;
    else
        node->compare_ms = now + COMPARE_MS;
}

static void take_status(struct mgmd *mgmd, uint32_t id, const struct signal *sig)
{
    const struct node_status_conf *conf = SIG_PAYLOAD(sig, node_status_conf);
    struct mgmd_node *node = &mgmd->nodes[id];

    if (hangs(node))
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "Node %u answers again", id);
    node->unanswered = 0;
    node->status_known = true;
    node->start_level = conf->start_level;
    node->start_phase = conf->start_phase;
    node->start_percent = conf->start_percent;
    node->start_left_s = conf->start_left_s;
    node->nodegroup = conf->nodegroup;
    node->president = conf->president;
    node->dynamic_id = conf->dynamic_id;
    node->version = conf->version;
    node->arbit_state = conf->arbit_state;
    node->arbit_node = conf->arbit_node;
    node->single_user = conf->single_user;
    node->slow = conf->slow;
    node->generation = conf->generation;
    node->digest = sig->words >= sizeof(*conf) / 4 ? conf->digest : 0;
    node->clients = conf->connected;
    if (conf->start_level == START_STARTED) mgmd_identity_confirm_by_node(mgmd);
    compare(mgmd, node);
    log_progress(mgmd, id);
}

#define TAKES(gsn, type, function)                                                                 \
    {                                                                                              \
        GSN_##gsn, sizeof(struct type) / 4, function                                               \
    }

/* What a data node may send, and how long it is at least. Registration answers are not here: they
 * say nothing that the status does not. */
static const struct {
    uint32_t gsn;
    uint32_t words_min;
    void (*take)(struct mgmd *mgmd, uint32_t id, const struct signal *sig);
} taken[] = {
    /* Data nodes of before the digest end with the word before it. */
    {GSN_NODE_STATUS_CONF, offsetof(struct node_status_conf, digest) / 4, take_status},
    TAKES(ARBIT_START_REQ, arbit_start_req, mgmd_arbitrate),
    TAKES(ARBIT_CHOOSE_REQ, arbit_choose_req, mgmd_arbitrate),
    TAKES(EVENT_REP, event_rep, mgmd_take_event),
    TAKES(MEMORY_REPORT_CONF, memory_report_conf, mgmd_requests_signal),
    TAKES(DISK_REPORT_CONF, disk_report_conf, mgmd_requests_signal),
    TAKES(THREAD_REPORT_CONF, thread_report_conf, mgmd_requests_signal),
    TAKES(EVENT_LOG_REP, event_log_rep, mgmd_requests_signal),
    TAKES(EVENT_LOG_CONF, event_log_conf, mgmd_requests_signal),
    TAKES(STOP_CONF, stop_conf, mgmd_requests_signal),
    TAKES(STOP_REF, stop_ref, mgmd_requests_signal),
    TAKES(ALLOC_NODEID_CONF, alloc_nodeid_conf, mgmd_requests_signal),
    TAKES(ALLOC_NODEID_REF, alloc_nodeid_ref, mgmd_requests_signal),
    TAKES(SINGLE_USER_CONF, single_user_conf, mgmd_requests_signal),
    TAKES(SINGLE_USER_REF, single_user_ref, mgmd_requests_signal),
};

bool mgmd_node_signal(struct mgmd *mgmd, uint32_t id, const struct signal *sig)
{
    for (uint32_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        if (taken[i].gsn != sig->gsn) continue;
        if (sig->words < taken[i].words_min) return false;
        taken[i].take(mgmd, id, sig);
        return true;
    }
    return true;
}

void mgmd_nodes_tick(struct mgmd *mgmd)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (!mgmd->nodes[id].linked) continue;
        ask_status(mgmd, id);
        if (mgmd->tick % 5 == id % 5) send_register(mgmd, id);
    }
    mgm_link_flush(mgmd->link);
    if (mgmd->tick % 10 == 0) mgmd_note_used_ids(mgmd);
}
