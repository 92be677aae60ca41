/* mgmd_nodes.c -- what the management server knows about each node: ids, state, events. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_peers.h"
#include "mgmd/mgmd_session.h"
#include "signals/event_log.h"
#include "signals/event_report.h"
#include "signals/event_text.h"
#include "signals/management.h"
#include "signals/node_report.h"

/* ---- node ids ---- */

/* Is a process with this id linked, to us or to a data node? */
static bool id_linked(const struct mgmd *mgmd, uint32_t id)
{
    if (mgmd->nodes[id].linked || id == mgmd->own_node) return true;
    for (uint32_t node = 1; node <= CONFIG_DATA_NODES_MAX; node++) {
        if (mgmd->nodes[node].linked && node_mask_has(&mgmd->nodes[node].clients, id)) return true;
    }
    return false;
}

/* Is the id in use: held by a session, or linked? A session that has held it for long without any
 * use lets go of it when somebody asks. */
static bool id_taken(const struct mgmd *mgmd, uint32_t id)
{
    const struct mgmd_node *node = &mgmd->nodes[id];
    bool unused = uv_now(mgmd->loop) >= node->unused_since + MGMD_UNUSED_ID_MS;

    return id_linked(mgmd, id) || (node->holder != 0 && !unused);
}

/* An id counts as used while a process is linked with it, and while there is nobody that a client
 * could link to. */
static void note_used_ids(struct mgmd *mgmd)
{
    bool started = mgmd_president(mgmd) != 0;

    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        struct mgmd_node *node = &mgmd->nodes[id];
        if (node->holder == 0) continue;
        const struct config_section *section = config_node(mgmd->config, id);
        bool data = section != NULL && config_section_kind(section) == CONFIG_NDBD;
        if (id_linked(mgmd, id) || (!data && !started)) node->unused_since = uv_now(mgmd->loop);
    }
}

static bool loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0 || strncmp(host, "::ffff:127.", 11) == 0;
}

/* Does the slot's host name stand for this address or name? */
static bool host_matches(const char *slot, const char *host)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    bool found = false;

    if (slot[0] == '\0' || strcasecmp(slot, host) == 0) return true;
    if (loopback(slot) && loopback(host)) return true;
    if (strncmp(host, "::ffff:", 7) == 0) host += 7;
    if (getaddrinfo(slot, NULL, &hints, &list) != 0) return false;
    for (const struct addrinfo *at = list; at != NULL && !found; at = at->ai_next) {
        char text[NI_MAXHOST];
        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST) ==
            0) {
            found = strcmp(text, host) == 0;
        }
    }
    freeaddrinfo(list);
    return found;
}

static enum config_kind kind_of_type(enum ndb_mgm_node_type type)
{
    switch (type) {
    case NDB_MGM_NODE_NDB:
        return CONFIG_NDBD;
    case NDB_MGM_NODE_API:
        return CONFIG_API;
    case NDB_MGM_NODE_MGM:
        break;
    }
    return CONFIG_MGMD;
}

/* "1, 2", as far as there is room. */
static void name_ids(const struct mgmd *mgmd, enum config_kind kind, char *text, size_t size)
{
    const struct config_section *node = config_next_node(mgmd->config, 0, kind);
    size_t used = 0;

    text[0] = '\0';
    for (; node != NULL && used + sizeof ", 255, ..." <= size;
         node = config_next_node(mgmd->config, config_section_node(node), kind))
        used += (size_t)snprintf(text + used, size - used, "%s%u", used == 0 ? "" : ", ",
                                 config_section_node(node));
    if (node != NULL) (void)snprintf(text + used, size - used, ", ...");
}

static uint32_t alloc_wanted(struct mgmd *mgmd, enum config_kind kind, uint32_t wanted,
                             const char *host, int *code, char *why, size_t size)
{
    const struct config_section *node = config_node(mgmd->config, wanted);

    *code = NDB_MGM_ALLOCID_CONFIG_MISMATCH;
    if (node == NULL || config_section_kind(node) != kind) {
        char ids[64];
        name_ids(mgmd, kind, ids, sizeof(ids));
        (void)snprintf(why, size, "node id %u is not configured as [%s] (which has: %s)", wanted,
                       config_kind_name(kind), ids[0] != '\0' ? ids : "none");
        return 0;
    }
    if (!host_matches(config_get_text(node, CFG_NDBD_HostName), host)) {
        (void)snprintf(why, size, "node id %u belongs to host \"%.100s\", not to \"%.100s\"",
                       wanted, config_get_text(node, CFG_NDBD_HostName), host);
        return 0;
    }
    if (id_taken(mgmd, wanted)) {
        *code = NDB_MGM_ALLOCID_RETRY;
        (void)snprintf(why, size, "node id %u is already in use", wanted);
        return 0;
    }
    return wanted;
}

uint32_t mgmd_alloc_id(struct mgmd *mgmd, struct mgmd_session *session, enum ndb_mgm_node_type type,
                       uint32_t wanted, const char *host, int *code, char *why, size_t why_size)
{
    enum config_kind kind = kind_of_type(type);
    uint32_t id = 0;
    uint32_t unused = 0; /* Held in vain: better than none. */
    bool fits = false;

    if (wanted != 0) {
        id = alloc_wanted(mgmd, kind, wanted, host, code, why, why_size);
    } else {
        for (struct config_section *node = config_next_node(mgmd->config, 0, kind);
             node != NULL && id == 0;
             node = config_next_node(mgmd->config, config_section_node(node), kind)) {
            if (config_get_u64(node, CFG_NDBD_Dedicated) != 0) continue;
            if (!host_matches(config_get_text(node, CFG_NDBD_HostName), host)) continue;
            fits = true;
            uint32_t slot = config_section_node(node);
            if (mgmd->nodes[slot].kept_until > uv_now(mgmd->loop) || id_taken(mgmd, slot)) continue;
            if (mgmd->nodes[slot].holder == 0)
                id = slot;
            else if (unused == 0)
                unused = slot;
        }
        if (id == 0) id = unused;
        *code = fits ? NDB_MGM_ALLOCID_RETRY : NDB_MGM_ALLOCID_CONFIG_MISMATCH;
        (void)snprintf(why, why_size,
                       fits ? "no [%s] slot is free for host \"%.100s\""
                            : "no [%s] slot is configured for host \"%.100s\"",
                       config_kind_name(kind), host);
    }
    if (id == 0) return 0;
    mgmd->nodes[id].holder = mgmd_session_id(session);
    mgmd->nodes[id].unused_since = uv_now(mgmd->loop);
    mgmd->nodes[id].linked_once = false;
    mgmd->nodes[id].kept_until = 0;
    if (kind != CONFIG_NDBD) { /* A data node's comes from its link. */
        (void)snprintf(mgmd->nodes[id].address, sizeof(mgmd->nodes[id].address), "%s",
                       mgmd_session_address(session));
    }
    return id;
}

/* A data node's angel asks for an id, ends its session, and its worker then asks for this id: in
 * between it is not given to another process. Once the node was linked there is nothing to wait
 * for. */
void mgmd_free_ids(struct mgmd *mgmd, uint32_t session)
{
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        struct mgmd_node *node = &mgmd->nodes[id];
        const struct config_section *section = config_node(mgmd->config, id);
        if (node->holder != session) continue;
        node->holder = 0;
        if (section != NULL && config_section_kind(section) == CONFIG_API)
            mgmd_order_nodeid_free(mgmd, id);
        if (section == NULL || config_section_kind(section) != CONFIG_NDBD || node->linked_once)
            continue;
        node->kept_until = uv_now(mgmd->loop) + MGMD_KEEP_ID_MS;
    }
}

/* ---- state ---- */

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

enum ndb_mgm_node_status mgmd_node_status(const struct mgmd *mgmd, uint32_t id)
{
    const struct config_section *node = config_node(mgmd->config, id);

    if (node == NULL) return NDB_MGM_STATUS_UNKNOWN;
    if (config_section_kind(node) == CONFIG_NDBD) return data_node_status(&mgmd->nodes[id]);
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

static void subscribe(struct mgmd *mgmd, uint32_t node)
{
    struct event_subscribe_req req = {.sender_data = node};

    for (uint32_t i = 0; i < NDB_MGM_CATEGORIES; i++)
        req.level[i] = mgmd->nodes[node].log_level[i];
    mgmd_listeners_levels(mgmd, req.level);
    (void)mgm_link_send(mgmd->link, node, BLOCK_CMVMI, GSN_EVENT_SUBSCRIBE_REQ, PRIO_B, &req,
                        sizeof(req) / 4);
}

void mgmd_nodes_subscribe(struct mgmd *mgmd)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd->nodes[id].linked) subscribe(mgmd, id);
    }
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
    subscribe(mgmd, id);
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
    uint64_t interval = config_get_u64(section, CFG_NDBD_StartupStatusReportFrequency) * 1000;
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

void mgmd_event_text(const struct signal *sig, char *text, size_t size)
{
    text[0] = '\0';
    if (sig->section_count != 1 || sig->section[0].size < 1) return;
    size_t room = 4 * (size_t)(sig->section[0].size - 1);
    size_t length = sig->section[0].words[0];
    if (length > room) length = room;
    if (length > size - 1) length = size - 1;
    memcpy(text, sig->section[0].words + 1, length);
    text[length] = '\0';
}

static void take_event(struct mgmd *mgmd, uint32_t id, const struct signal *sig)
{
    const struct event_rep *rep = SIG_PAYLOAD(sig, event_rep);
    char text[MGMD_EVENT_TEXT_MAX];

    mgmd_event_text(sig, text, sizeof(text));
    mgmd_event(mgmd, rep->type, id, rep->data, EVENT_WORDS, text);
}

/* An answer that waits for ArbitrationDelay. */
struct late_answer {
    uv_timer_t timer;
    struct mgmd *mgmd;
    uint32_t node;
    bool yes;
    struct arbit_choose_conf conf;
};

static void send_choice(struct mgmd *mgmd, uint32_t node, bool yes,
                        const struct arbit_choose_conf *conf)
{
    (void)mgm_link_send(mgmd->link, node, BLOCK_QMGR,
                        yes ? GSN_ARBIT_CHOOSE_CONF : GSN_ARBIT_CHOOSE_REF, PRIO_A, conf,
                        sizeof(*conf) / 4);
    mgm_link_flush(mgmd->link);
}

static void free_late(uv_handle_t *handle)
{
    free(handle->data);
}

static void answer_late(uv_timer_t *timer)
{
    struct late_answer *late = timer->data;

    if (!late->mgmd->stopping) send_choice(late->mgmd, late->node, late->yes, &late->conf);
    uv_close((uv_handle_t *)timer, free_late);
}

/* The first to ask has the yes, however late it is told. */
static void answer_choice(struct mgmd *mgmd, uint32_t node, bool yes,
                          const struct arbit_choose_conf *conf)
{
    uint64_t delay =
        config_get_u64(config_node(mgmd->config, mgmd->own_node), CFG_MGMD_ArbitrationDelay);
    struct late_answer *late = delay == 0 ? NULL : calloc(1, sizeof(*late));

    if (late == NULL) {
        send_choice(mgmd, node, yes, conf);
        return;
    }
    late->mgmd = mgmd;
    late->node = node;
    late->yes = yes;
    late->conf = *conf;
    late->timer.data = late;
    (void)uv_timer_init(mgmd->loop, &late->timer);
    (void)uv_timer_start(&late->timer, answer_late, delay, 0);
    uv_unref((uv_handle_t *)&late->timer);
}

/* This server is the cluster's arbitrator (docs/protocols/failure.md). */
static void arbitrate(struct mgmd *mgmd, uint32_t id, const struct signal *sig)
{
    if (sig->gsn == GSN_ARBIT_START_REQ) {
        const struct arbit_start_req *req = SIG_PAYLOAD(sig, arbit_start_req);
        struct arbit_start_conf conf = {{req->ticket[0], req->ticket[1]}};
        arbitrator_start(&mgmd->arbitrator, req);
        (void)mgm_link_send(mgmd->link, id, BLOCK_QMGR, GSN_ARBIT_START_CONF, PRIO_A, &conf,
                            sizeof(conf) / 4);
    } else {
        const struct arbit_choose_req *req = SIG_PAYLOAD(sig, arbit_choose_req);
        struct arbit_choose_conf answer = {req->attempt, {req->ticket[0], req->ticket[1]}};
        bool yes = arbitrator_choose(&mgmd->arbitrator, req);
        _Static_assert(sizeof(answer) == sizeof(struct arbit_choose_ref), "alike");
        bool leaves = mgmd_node_status(mgmd, id) == NDB_MGM_STATUS_SHUTTING_DOWN;
        cluster_log_printf(mgmd->log, leaves ? NDB_MGM_SEVERITY_INFO : NDB_MGM_SEVERITY_ALERT,
                           "Node %u asks whether %u nodes may go on: %s", id,
                           node_mask_count(&req->survivors), yes ? "yes" : "no");
        answer_choice(mgmd, id, yes, &answer);
    }
    mgm_link_flush(mgmd->link);
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
    TAKES(ARBIT_START_REQ, arbit_start_req, arbitrate),
    TAKES(ARBIT_CHOOSE_REQ, arbit_choose_req, arbitrate),
    TAKES(EVENT_REP, event_rep, take_event),
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
    const struct config_section *section = config_node(mgmd->config, id);

    if (section == NULL || config_section_kind(section) != CONFIG_NDBD) return false;
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
    if (mgmd->tick % 10 == 0) note_used_ids(mgmd);
}

/* ---- events ---- */

void mgmd_event(struct mgmd *mgmd, uint32_t type, uint32_t source, const uint32_t *data,
                uint32_t words, const char *text)
{
    const struct event_kind *kind = event_kind(type);
    struct ndb_mgm_event event = {.type = type,
                                  .source_node = source,
                                  .category = kind->category,
                                  .severity = kind->severity};
    uint32_t all[EVENT_WORDS] = {0};
    uint32_t index = (uint32_t)kind->category - NDB_MGM_CATEGORY_FIRST;
    uv_timeval64_t now = {0, 0};

    (void)uv_gettimeofday(&now);
    event.time = (uint64_t)now.tv_sec;
    memcpy(all, data, 4 * (size_t)(words < EVENT_WORDS ? words : EVENT_WORDS));
    event_format(type, all, text, event.text, sizeof(event.text));
    if (kind->threshold <= mgmd->nodes[source].log_level[index]) {
        cluster_log_write(mgmd->log, event.severity, source, event.text);
    }
    mgmd_listeners_event(mgmd, &event, kind->threshold);
}
