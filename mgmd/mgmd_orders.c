/* mgmd_orders.c -- commands that data nodes answer: stop, restart, start, dump, node ids. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * A request lives from the command until all nodes have answered, ended, or the time is over; then
 * its session gets one reply. The session may be gone by then: the order goes on without it.
 *
 *   stop: waiting --STOP_CONF--> leaving --link down--> done        waiting --STOP_REF--> error
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mgmd/mgmd.h"
#include "signals/management.h"

struct mgmd_request *mgmd_request_new(struct mgmd_session *session, uint64_t wait_ms)
{
    struct mgmd *mgmd = mgmd_session_owner(session);

    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        struct mgmd_request *request = &mgmd->requests[i];
        if (request->kind != MGMD_REQUEST_NONE) continue;
        *request = (struct mgmd_request){.id = ++mgmd->request_last,
                                         .session = mgmd_session_id(session),
                                         .deadline = uv_now(mgmd->loop) + wait_ms};
        return request;
    }
    mgmd_reply_error(session, 5005, "too many orders are being executed; retry");
    return NULL;
}

struct mgmd_request *mgmd_request_find(struct mgmd *mgmd, uint32_t id, enum mgmd_request_kind kind)
{
    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        if (mgmd->requests[i].kind == kind && mgmd->requests[i].id == id) return &mgmd->requests[i];
    }
    return NULL;
}

void mgmd_request_text(struct mgmd_request *request, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length >= (int)sizeof(line)) length = (int)sizeof(line) - 1;
    char *text =
        length < 0 ? NULL : realloc(request->text, request->text_size + (size_t)length + 1);
    if (text == NULL) return;
    memcpy(text + request->text_size, line, (size_t)length);
    request->text = text;
    request->text_size += (size_t)length;
}

static bool is_report(const struct mgmd_request *request)
{
    return request->kind == MGMD_REQUEST_MEMORY || request->kind == MGMD_REQUEST_DISK ||
           request->kind == MGMD_REQUEST_THREADS || request->kind == MGMD_REQUEST_EVENTS;
}

void mgmd_request_error(struct mgmd_request *request, uint32_t node, uint32_t error)
{
    if (is_report(request)) {
        mgmd_request_text(request, "node.%u.error: %u\n", node, error);
        request->done++;
        return;
    }
    if (error == 5005 && node != 0) /* All of them are named: reply_silent(). */
        mgmd_request_text(request, "%s%u", request->text_size == 0 ? "" : ", ", node);
    if (request->error != 0) return;
    request->error = error == 0 ? 5005 : error;
    request->error_node = node;
}

/* Why the cluster cannot go on without the node, and what to do about it. */
static void reply_needed(struct mgmd_session *session, uint32_t id, uint32_t error)
{
    const struct mgmd *mgmd = mgmd_session_owner(session);
    char mates[200] = "";
    size_t used = 0;

    for (uint32_t mate = 1; mate <= CONFIG_DATA_NODES_MAX && used + 40 < sizeof(mates); mate++) {
        const struct config_section *node = config_node(mgmd->config, mate);
        enum ndb_mgm_node_status status = mgmd_node_status(mgmd, mate);
        if (mate == id || node == NULL || config_section_kind(node) != CONFIG_NDBD) continue;
        if (config_get_u64(node, CFG_NDBD_Nodegroup) != mgmd->nodes[id].nodegroup) continue;
        if (status == NDB_MGM_STATUS_STARTED) {
            mgmd_reply_error(session, (int)error,
                             "Node %u: %s: the data nodes that are left could not go on", id,
                             ndb_mgm_error_message((int)error));
            return;
        }
        used += (size_t)snprintf(mates + used, sizeof(mates) - used, "%snode %u is %s",
                                 used == 0 ? "" : ", ", mate, ndb_mgm_status_text(status));
    }
    mgmd_reply_error(session, (int)error,
                     "Node %u: %s: it is the last one of node group %u that is started%s%s. Start "
                     "another one first, or stop all nodes (ALL STOP)",
                     id, ndb_mgm_error_message((int)error), mgmd->nodes[id].nodegroup,
                     used == 0 ? "" : "; ", mates);
}

/* A node that hangs finds its order when it goes on. */
static void reply_silent(struct mgmd_session *session, const struct mgmd_request *request)
{
    bool several = request->text != NULL && memchr(request->text, ',', request->text_size) != NULL;
    char order[80] = "";

    if (request->kind == MGMD_REQUEST_STOP)
        (void)snprintf(order, sizeof(order), ". %s told to %s, and %s",
                       several ? "They were" : "It was", request->restart ? "restart" : "stop",
                       several ? "do when they go on" : "does when it goes on");
    if (request->text == NULL)
        mgmd_reply_error(session, (int)request->error, "The data nodes do not answer%s", order);
    else
        mgmd_reply_error(session, (int)request->error, "Node%s %.*s do%s not answer%s",
                         several ? "s" : "", (int)request->text_size, request->text,
                         several ? "" : "es", order);
}

static void reply_now(struct mgmd_session *session, const struct mgmd_request *request)
{
    if (request->kind == MGMD_REQUEST_NODEID) {
        if (request->error == 0)
            mgmd_reply_nodeid(session, request->node_id, request->name);
        else
            mgmd_reply_error(session, NDB_MGM_ALLOCID_RETRY,
                             "node id %u is in use, or another management server gives it away",
                             request->node_id);
        return;
    }
    if (request->error == 5028) {
        reply_needed(session, request->error_node, request->error);
        return;
    }
    if (request->error == 5005) {
        reply_silent(session, request);
        return;
    }
    if (request->error != 0) {
        mgmd_reply_error(session, (int)request->error, "Node %u: %s", request->error_node,
                         ndb_mgm_error_message((int)request->error));
        return;
    }
    mgmd_reply_begin(session, "Ok");
    if (request->kind == MGMD_REQUEST_SINGLE) {
        mgmd_reply_end(session);
        return;
    }
    if (is_report(request)) {
        mgmd_reply(session, "nodes: %u\n", request->done);
    } else {
        mgmd_reply(session, "%s: %u\ndisconnect: %d\n", request->restart ? "restarted" : "stopped",
                   request->done, request->then_exit);
    }
    if (request->text != NULL) mgmd_reply_text(session, request->text, request->text_size);
    mgmd_reply_end(session);
}

/* Do all started data nodes say what the president has confirmed? STATUS and SHOW do after that. */
static bool single_user_seen(const struct mgmd *mgmd, const struct mgmd_request *request)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        const struct mgmd_node *node = &mgmd->nodes[id];
        if (!node->linked || !node->status_known) continue;
        if (node->start_level != START_STARTED && node->start_level != START_SINGLEUSER) continue;
        if (node->single_user != request->single_user ||
            (node->start_level == START_SINGLEUSER) != (request->single_user != 0))
            return false;
    }
    return true;
}

/* Ends the request when nobody is awaited any more. The record is free before the session goes on.
 */
void mgmd_request_finish(struct mgmd *mgmd, struct mgmd_request *request)
{
    if (!node_mask_empty(&request->waiting) || !node_mask_empty(&request->leaving)) return;
    if (request->kind == MGMD_REQUEST_SINGLE && request->error == 0 &&
        (request->done == 0 || !single_user_seen(mgmd, request)))
        return;
    struct mgmd_session *session = mgmd_session(mgmd, request->session);
    bool then_exit = request->then_exit && request->error == 0;
    if (session != NULL) reply_now(session, request);
    free(request->text);
    *request = (struct mgmd_request){.kind = MGMD_REQUEST_NONE};
    if (session != NULL) mgmd_session_resume(session);
    if (then_exit) mgmd_exit(mgmd, 100);
}

/* Everything was sent: hear the answers. Without any node to wait for, the next tick answers. */
void mgmd_request_go(struct mgmd_session *session)
{
    mgmd_session_wait(session);
    mgm_link_flush(mgmd_session_owner(session)->link);
}

static bool is_data_node(const struct mgmd *mgmd, uint32_t id)
{
    const struct config_section *node = config_node(mgmd->config, id);

    return node != NULL && config_section_kind(node) == CONFIG_NDBD;
}

/* Cuts the next id off "1 2,3". 0, or -1: that is none. */
static int next_id(const char **text, uint32_t *id)
{
    char item[8];
    int64_t number;
    size_t length = strcspn(*text, " ,");

    if (length == 0 || length >= sizeof(item)) return -1;
    memcpy(item, *text, length);
    item[length] = '\0';
    *text += length;
    *text += strspn(*text, " ,");
    if (mgm_parse_number(item, &number) != 0 || number < 1 || number > CONFIG_NODES_MAX) return -1;
    *id = (uint32_t)number;
    return 0;
}

static void all_data_nodes(const struct mgmd *mgmd, bool linked_only, struct node_mask *nodes)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (is_data_node(mgmd, id) && (!linked_only || mgmd->nodes[id].linked))
            node_mask_add(nodes, id);
    }
}

/* The nodes of a request: "node: 1 2,3", or all data nodes. False: the error was sent. */
bool mgmd_read_nodes(struct mgmd_session *session, bool all, bool linked_only,
                     struct node_mask *nodes, bool *self)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *text = mgm_value(mgmd_session_request(session), "node");

    *nodes = (struct node_mask){{0}};
    *self = false;
    if (all || text == NULL || strcmp(text, "0") == 0) {
        all_data_nodes(mgmd, linked_only, nodes);
        return true;
    }
    while (*text != '\0') {
        uint32_t id;
        if (next_id(&text, &id) != 0) {
            mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "node is wrong (allowed: ids 1..255)");
            return false;
        }
        if (id == mgmd->own_node) {
            *self = true;
            continue;
        }
        if (!is_data_node(mgmd, id)) {
            mgmd_reply_error(session, 5002, "Node %u: %s", id, ndb_mgm_error_message(5002));
            return false;
        }
        if (linked_only && !mgmd->nodes[id].linked) {
            mgmd_reply_error(session, 5000, "Node %u: %s", id, ndb_mgm_error_message(5000));
            return false;
        }
        node_mask_add(nodes, id);
    }
    return true;
}

static bool flag(struct mgmd_session *session, const char *name)
{
    const char *text = mgm_value(mgmd_session_request(session), name);

    return text != NULL && strcmp(text, "1") == 0;
}

/* Are all linked data nodes among these? Then the last of a node group may go too. */
static bool whole_cluster(const struct mgmd *mgmd, const struct node_mask *nodes)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd->nodes[id].linked && !node_mask_has(nodes, id)) return false;
    }
    return true;
}

/* Is another one of its node group started, and not among `nodes`? */
static bool has_mate(const struct mgmd *mgmd, uint32_t id, const struct node_mask *nodes)
{
    for (uint32_t peer = 1; peer <= CONFIG_DATA_NODES_MAX; peer++) {
        if (!node_mask_has(nodes, peer) && is_data_node(mgmd, peer) &&
            mgmd_node_status(mgmd, peer) == NDB_MGM_STATUS_STARTED &&
            mgmd->nodes[peer].nodegroup == mgmd->nodes[id].nodegroup)
            return true;
    }
    return false;
}

/* A data node whose rows nobody else would have if all of `nodes` began with empty files; 0 = none.
 */
static uint32_t last_copy(const struct mgmd *mgmd, const struct node_mask *nodes)
{
    for (uint32_t id = node_mask_next(nodes, 0); id != 0; id = node_mask_next(nodes, id)) {
        const struct config_section *node = config_node(mgmd->config, id);
        if (config_get_u64(node, CFG_NDBD_Diskless) == 0 && !has_mate(mgmd, id, nodes)) return id;
    }
    return 0;
}

/* A started data node whose node group would be gone without `nodes`; 0 = none. Each node refuses
 * for itself; of several some would have left by then. */
static uint32_t group_gone(const struct mgmd *mgmd, const struct node_mask *nodes)
{
    for (uint32_t id = node_mask_next(nodes, 0); id != 0; id = node_mask_next(nodes, id)) {
        if (mgmd_node_status(mgmd, id) == NDB_MGM_STATUS_STARTED && !has_mate(mgmd, id, nodes))
            return id;
    }
    return 0;
}

/* May these data nodes be restarted? False: the error was sent. */
static bool may_restart(struct mgmd_session *session, const struct node_mask *nodes, bool whole,
                        uint32_t flags)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    char why[500];

    if ((flags & STOP_FORCE) == 0 &&
        !mgmd_config_fits(mgmd, nodes, whole, (flags & STOP_INITIAL) != 0, why, sizeof(why))) {
        mgmd_reply_error(session, NDB_MGM_RESTART_FAILED, "%s", why);
        return false;
    }
    if (!whole && mgmd_single_user(mgmd) != 0) {
        mgmd_reply_error(session, 5063,
                         "Cannot restart nodes in single user mode: nobody comes back before EXIT "
                         "SINGLE USER MODE");
        return false;
    }
    return true;
}

/* Before anything is sent. False: the error was sent. */
static bool may_end(struct mgmd_session *session, const struct node_mask *nodes, bool self,
                    bool restart, uint32_t flags)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    bool whole = whole_cluster(mgmd, nodes);
    bool force = (flags & STOP_FORCE) != 0;
    uint32_t count = node_mask_count(nodes);

    if (self && restart) {
        mgmd_reply_error(session, 5002,
                         "Node %u: a management server is stopped and started by hand",
                         mgmd->own_node);
        return false;
    }
    if (restart && !may_restart(session, nodes, whole, flags)) return false;
    if (count == 0 && !self && restart) {
        mgmd_reply_error(session, 5030, "%s", ndb_mgm_error_message(5030));
        return false;
    }
    uint32_t last = (flags & STOP_INITIAL) != 0 && !force ? last_copy(mgmd, nodes) : 0;
    if (count > 1 && !whole && !force) {
        uint32_t gone = group_gone(mgmd, nodes);
        if ((flags & STOP_ABORT) == 0) {
            mgmd_reply_error(session, 5031, "%s", ndb_mgm_error_message(5031));
            return false;
        }
        if (gone != 0 && last == 0) {
            mgmd_reply_error(
                session, 5028,
                "Node %u: %s: with the others that are named all started nodes of node "
                "group %u would be gone. Take fewer, or all nodes (ALL)",
                gone, ndb_mgm_error_message(5028), mgmd->nodes[gone].nodegroup);
            return false;
        }
    }
    if (last == 0) return true;
    mgmd_reply_error(session, 5064, "Node %u: %s", last, ndb_mgm_error_message(5064));
    return false;
}

static void order_end(struct mgmd_session *session, bool all, bool restart, uint32_t flags)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *types = mgm_value(mgmd_session_request(session), "stop");
    struct node_mask nodes = {{0}};
    bool self = false;

    if (all && types != NULL && strstr(types, "db") == NULL) {
        self = strstr(types, "mgm") != NULL;
    } else {
        if (!mgmd_read_nodes(session, all, true, &nodes, &self)) return;
        if (all && types != NULL && strstr(types, "mgm") != NULL) self = true;
    }
    if (!may_end(session, &nodes, self, restart, flags)) return;
    uint32_t count = node_mask_count(&nodes);
    bool whole = whole_cluster(mgmd, &nodes);
    struct mgmd_request *request = mgmd_request_new(session, MGMD_STOP_MS);
    if (request == NULL) return;
    request->kind = MGMD_REQUEST_STOP;
    request->restart = restart;
    request->then_exit = self;
    request->done = self ? 1 : 0;
    struct stop_req req = {.sender_data = request->id,
                           .flags = flags | (restart ? STOP_RESTART : 0) |
                                    (all || (whole && count > 1) ? STOP_SYSTEM : 0)};
    for (uint32_t id = node_mask_next(&nodes, 0); id != 0; id = node_mask_next(&nodes, id)) {
        request->asked++;
        node_mask_add(&request->waiting, id);
        if (mgm_link_send(mgmd->link, id, BLOCK_CMVMI, GSN_STOP_REQ, PRIO_B, &req,
                          sizeof(req) / 4) == 0) {
            continue;
        }
        node_mask_remove(&request->waiting, id);
        request->done++; /* Its link ended this moment: what was wanted. */
    }
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "%s of %u node(s) ordered from %s",
                       restart ? "Restart" : "Stop", count + (self ? 1 : 0),
                       mgmd_session_address(session));
    mgmd_request_go(session);
}

static bool command_is_all(const struct mgmd_session *session)
{
    const char *command = mgm_command(mgmd_session_request(session));
    size_t length = strlen(command);

    return length > 4 && strcasecmp(command + length - 4, " all") == 0;
}

void mgmd_order_stop(struct mgmd_session *session)
{
    uint32_t flags =
        (flag(session, "abort") ? STOP_ABORT : 0) | (flag(session, "force") ? STOP_FORCE : 0);

    order_end(session, command_is_all(session), false, flags);
}

void mgmd_order_restart(struct mgmd_session *session)
{
    uint32_t flags = (flag(session, "abort") ? STOP_ABORT : 0) |
                     (flag(session, "force") ? STOP_FORCE : 0) |
                     (flag(session, "nostart") ? STOP_NO_START : 0) |
                     (flag(session, "initialstart") ? STOP_INITIAL : 0);

    order_end(session, command_is_all(session), true, flags);
}

void mgmd_order_check(struct mgmd_session *session)
{
    struct node_mask nodes;
    bool self;
    char why[500];

    if (!mgmd_read_nodes(session, false, true, &nodes, &self)) return;
    if (!mgmd_config_fits(mgmd_session_owner(session), &nodes, false, flag(session, "initialstart"),
                          why, sizeof(why))) {
        mgmd_reply_error(session, NDB_MGM_RESTART_FAILED, "%s", why);
        return;
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply_end(session);
}

void mgmd_order_start(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    struct start_ord ord = {.unused = 0};
    struct node_mask nodes;
    bool self;
    uint32_t started = 0;

    if (!mgmd_read_nodes(session, command_is_all(session), false, &nodes, &self)) return;
    for (uint32_t id = node_mask_next(&nodes, 0); id != 0; id = node_mask_next(&nodes, id)) {
        const char *host = config_get_text(config_node(mgmd->config, id), CFG_NDBD_HostName);
        if (mgmd->nodes[id].linked) continue;
        if (!command_is_all(session)) {
            mgmd_reply_error(session, 5000, "Node %u: %s: start ndbmtd --ndb-nodeid=%u on %s", id,
                             ndb_mgm_error_message(5000), id, host[0] != '\0' ? host : "its host");
            return;
        }
        node_mask_remove(&nodes, id);
    }
    if (self || node_mask_empty(&nodes)) {
        mgmd_reply_error(session, self ? 5002 : 5030, "%s",
                         ndb_mgm_error_message(self ? 5002 : 5030));
        return;
    }
    for (uint32_t id = node_mask_next(&nodes, 0); id != 0; id = node_mask_next(&nodes, id)) {
        if (mgmd_node_status(mgmd, id) != NDB_MGM_STATUS_NOT_STARTED) continue;
        started += mgm_link_send(mgmd->link, id, BLOCK_CMVMI, GSN_START_ORD, PRIO_B, &ord,
                                 sizeof(ord) / 4) == 0;
    }
    mgm_link_flush(mgmd->link);
    if (started == 0) {
        mgmd_reply_error(session, 5063, "No node is waiting to be started");
        return;
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "started: %u\n", started);
    mgmd_reply_end(session);
}

/* ---- node ids, with several management servers ---- */

static void nodeid_send(struct mgmd *mgmd, struct mgmd_request *request, uint32_t hold_ms)
{
    struct alloc_nodeid_req req = {
        .sender_data = request->id, .node = request->node_id, .hold_ms = hold_ms};

    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        enum ndb_mgm_node_status status =
            is_data_node(mgmd, id) ? mgmd_node_status(mgmd, id) : NDB_MGM_STATUS_NO_CONTACT;
        if (status != NDB_MGM_STATUS_STARTED && status != NDB_MGM_STATUS_SINGLEUSER) continue;
        if (mgm_link_send(mgmd->link, id, BLOCK_QMGR, GSN_ALLOC_NODEID_REQ, PRIO_A, &req,
                          sizeof(req) / 4) != 0 ||
            hold_ms == 0)
            continue;
        node_mask_add(&request->waiting, id);
        request->asked++;
    }
    mgm_link_flush(mgmd->link);
}

bool mgmd_order_nodeid(struct mgmd_session *session, uint32_t id, bool any, const char *host,
                       const char *name)
{
    struct mgmd *mgmd = mgmd_session_owner(session);

    if (config_count(mgmd->config, CONFIG_MGMD) < 2 || mgmd_president(mgmd) == 0) return false;
    struct mgmd_request *request = mgmd_request_new(session, MGMD_ASK_ID_MS);
    if (request == NULL) return true;
    request->kind = MGMD_REQUEST_NODEID;
    request->node_id = id;
    request->any = any;
    (void)snprintf(request->host, sizeof(request->host), "%s", host);
    (void)snprintf(request->name, sizeof(request->name), "%.64s", name);
    nodeid_send(mgmd, request, MGMD_HOLD_ID_MS);
    mgmd_request_go(session);
    return true;
}

void mgmd_order_nodeid_free(struct mgmd *mgmd, uint32_t id)
{
    struct mgmd_request nobody = {.node_id = id};

    if (config_count(mgmd->config, CONFIG_MGMD) > 1 && !mgmd->stopping)
        nodeid_send(mgmd, &nobody, 0);
}

/* Somebody has it: the next one that is free, or none. */
static void nodeid_next(struct mgmd *mgmd, struct mgmd_request *request)
{
    struct mgmd_session *session = mgmd_session(mgmd, request->session);
    uint32_t refused = request->node_id;
    char why[400];
    int code;

    nodeid_send(mgmd, request, 0);
    request->waiting = (struct node_mask){{0}};
    if (mgmd->nodes[refused].holder == request->session) mgmd->nodes[refused].holder = 0;
    mgmd->nodes[refused].kept_until = uv_now(mgmd->loop) + MGMD_ASK_ID_MS;
    uint32_t id = session == NULL || !request->any
                      ? 0
                      : mgmd_alloc_id(mgmd, session, NDB_MGM_NODE_API, 0, request->host, &code, why,
                                      sizeof(why));
    if (id == 0) {
        request->error = NDB_MGM_ALLOCID_RETRY;
        return;
    }
    request->node_id = id;
    request->id = ++mgmd->request_last; /* Answers about the other one do not count any more. */
    request->asked = request->done = 0;
    nodeid_send(mgmd, request, MGMD_HOLD_ID_MS);
}

static void take_nodeid(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    struct mgmd_request *request = mgmd_request_find(mgmd, sig->payload[0], MGMD_REQUEST_NODEID);

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (sig->gsn == GSN_ALLOC_NODEID_REF)
        nodeid_next(mgmd, request);
    else
        request->done++;
    mgmd_request_finish(mgmd, request);
}

/* Some have not answered: most of them are enough, because two servers' majorities meet. */
static void nodeid_late(struct mgmd *mgmd, struct mgmd_request *request)
{
    if (2 * request->done > request->asked) return;
    nodeid_send(mgmd, request, 0);
    if (mgmd->nodes[request->node_id].holder == request->session)
        mgmd->nodes[request->node_id].holder = 0;
    request->error = NDB_MGM_ALLOCID_RETRY;
}

/* ---- single user mode ---- */

/* To whoever leads now; again when that one is lost, or has not led. */
static void single_user_send(struct mgmd *mgmd, struct mgmd_request *request)
{
    uint32_t president = mgmd_president(mgmd);
    struct single_user_req req = {.sender_data = request->id, .node = request->single_user};

    if (president == 0 || mgm_link_send(mgmd->link, president, BLOCK_CMVMI, GSN_SINGLE_USER_REQ,
                                        PRIO_B, &req, sizeof(req) / 4) != 0)
        return;
    node_mask_add(&request->waiting, president);
    mgm_link_flush(mgmd->link);
}

void mgmd_order_single_user(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const struct mgm_parser *parser = mgmd_session_request(session);
    bool enter = strcasecmp(mgm_command(parser), "enter single user") == 0;
    int64_t id = 0;

    if (enter && (mgm_number(parser, "nodeId", 1, CONFIG_NODES_MAX, 0, &id) != 0 || id == 0)) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "nodeId is needed (allowed range 1..%u)",
                         CONFIG_NODES_MAX);
        return;
    }
    const struct config_section *node = enter ? config_node(mgmd->config, (uint32_t)id) : NULL;
    if (enter && (node == NULL || config_section_kind(node) != CONFIG_API)) {
        mgmd_reply_error(session, 5062, "Node %d: %s", (int)id, ndb_mgm_error_message(5062));
        return;
    }
    if (mgmd_president(mgmd) == 0) {
        mgmd_reply_error(session, 5030, "%s", ndb_mgm_error_message(5030));
        return;
    }
    struct mgmd_request *request = mgmd_request_new(session, MGMD_ANSWER_MS);
    if (request == NULL) return;
    request->kind = MGMD_REQUEST_SINGLE;
    request->single_user = (uint32_t)id;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "Single user mode for node %u ordered from %s%s", (uint32_t)id,
                       mgmd_session_address(session), enter ? "" : " (0: exit)");
    single_user_send(mgmd, request);
    mgmd_request_go(session);
}

static void take_single_user(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    struct mgmd_request *request = mgmd_request_find(mgmd, sig->payload[0], MGMD_REQUEST_SINGLE);

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (sig->gsn == GSN_SINGLE_USER_CONF)
        request->done = 1;
    else if (SIG_PAYLOAD(sig, single_user_ref)->error != 5005) /* Else it does not lead. */
        mgmd_request_error(request, node, SIG_PAYLOAD(sig, single_user_ref)->error);
    mgmd_request_finish(mgmd, request);
}

void mgmd_order_dump(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *args = mgm_value(mgmd_session_request(session), "args");
    struct dump_state_ord ord = {.count = 0};
    struct node_mask nodes;
    bool self;

    if (!mgmd_read_nodes(session, false, true, &nodes, &self)) return;
    while (args != NULL && *args != '\0') {
        char item[16];
        int64_t value;
        size_t length = strcspn(args, " ,");
        if (length >= sizeof(item) || ord.count == 24) break;
        memcpy(item, args, length);
        item[length] = '\0';
        args += length;
        args += strspn(args, " ,");
        if (mgm_parse_number(item, &value) != 0 || value < 0 || value > UINT32_MAX) {
            ord.count = 0;
            break;
        }
        ord.data[ord.count++] = (uint32_t)value;
    }
    if (node_mask_empty(&nodes)) {
        mgmd_reply_error(session, self ? 5002 : 5030, "%s",
                         ndb_mgm_error_message(self ? 5002 : 5030));
        return;
    }
    if (ord.count == 0 || *args != '\0') {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "args is wrong (allowed: 1..24 numbers of range 0..4294967295)");
        return;
    }
    for (uint32_t id = node_mask_next(&nodes, 0); id != 0; id = node_mask_next(&nodes, id)) {
        (void)mgm_link_send(mgmd->link, id, BLOCK_CMVMI, GSN_DUMP_STATE_ORD, PRIO_B, &ord,
                            sizeof(ord) / 4);
    }
    mgm_link_flush(mgmd->link);
    mgmd_reply_begin(session, "Ok");
    mgmd_reply_end(session);
}

/* ---- answers ---- */

void mgmd_requests_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    if (mgmd_reports_signal(mgmd, node, sig)) return;
    if (sig->gsn == GSN_ALLOC_NODEID_CONF || sig->gsn == GSN_ALLOC_NODEID_REF) {
        take_nodeid(mgmd, node, sig);
        return;
    }
    if (sig->gsn == GSN_SINGLE_USER_CONF || sig->gsn == GSN_SINGLE_USER_REF) {
        take_single_user(mgmd, node, sig);
        return;
    }
    /* STOP_CONF and STOP_REF begin with sender_data. */
    struct mgmd_request *request = mgmd_request_find(mgmd, sig->payload[0], MGMD_REQUEST_STOP);
    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (sig->gsn == GSN_STOP_CONF) {
        node_mask_add(&request->leaving, node);
        mgmd->nodes[node].stopping = true;
    } else {
        mgmd_request_error(request, node, SIG_PAYLOAD(sig, stop_ref)->error);
    }
    mgmd_request_finish(mgmd, request);
}

void mgmd_requests_link_down(struct mgmd *mgmd, uint32_t node)
{
    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        struct mgmd_request *request = &mgmd->requests[i];
        bool waited = node_mask_has(&request->waiting, node);
        if (request->kind == MGMD_REQUEST_NONE) continue;
        if (!waited && !node_mask_has(&request->leaving, node)) continue;
        node_mask_remove(&request->waiting, node);
        node_mask_remove(&request->leaving, node);
        if (request->kind == MGMD_REQUEST_SINGLE) continue; /* The next president is asked. */
        if (is_report(request))
            mgmd_request_error(request, node, 5000);
        else
            request->done++;
        /* Finished by the next tick: this may run inside a command. */
    }
}

/* A node that works accepts an order to stop soon, however long the stop itself takes. */
static void stop_late(struct mgmd_request *request, uint64_t now)
{
    if (now < request->deadline - MGMD_STOP_MS + MGMD_ANSWER_MS) return;
    for (uint32_t id = node_mask_next(&request->waiting, 0); id != 0;
         id = node_mask_next(&request->waiting, id))
        mgmd_request_error(request, id, 5005);
    request->waiting = (struct node_mask){{0}};
}

void mgmd_requests_tick(struct mgmd *mgmd)
{
    uint64_t now = uv_now(mgmd->loop);

    for (uint32_t i = 0; i < MGMD_REQUESTS_MAX; i++) {
        struct mgmd_request *request = &mgmd->requests[i];
        if (request->kind == MGMD_REQUEST_NONE) continue;
        if (request->kind == MGMD_REQUEST_STOP) stop_late(request, now);
        if (now >= request->deadline && request->kind == MGMD_REQUEST_NODEID) {
            nodeid_late(mgmd, request);
            request->waiting = (struct node_mask){{0}};
        } else if (now >= request->deadline) {
            for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
                if (node_mask_has(&request->waiting, id)) mgmd_request_error(request, id, 5005);
                if (node_mask_has(&request->leaving, id)) mgmd_request_error(request, id, 5025);
            }
            if (request->kind == MGMD_REQUEST_SINGLE) mgmd_request_error(request, 0, 5005);
            request->waiting = (struct node_mask){{0}};
            request->leaving = (struct node_mask){{0}};
        } else if (request->kind == MGMD_REQUEST_SINGLE && request->done == 0 &&
                   node_mask_empty(&request->waiting)) {
            single_user_send(mgmd, request);
        }
        mgmd_request_finish(mgmd, request);
    }
}
