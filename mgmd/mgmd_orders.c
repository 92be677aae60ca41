/* mgmd_orders.c -- orders to data nodes: stop, restart, start, single user mode, dump. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_session.h"
#include "signals/management.h"
#include "values/errors.h"

bool mgmd_is_data_node(const struct mgmd *mgmd, uint32_t id)
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

/* One that has left the configuration and runs still is one of all that run. */
static void all_data_nodes(const struct mgmd *mgmd, bool linked_only, struct node_mask *nodes)
{
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if (mgmd->nodes[id].linked || (mgmd_is_data_node(mgmd, id) && !linked_only))
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
        if (!mgmd_is_data_node(mgmd, id) && !mgmd->nodes[id].linked) {
            mgmd_reply_wrong_node(session, id, ERR_MGM_NOT_DATA_NODE);
            return false;
        }
        if (linked_only && !mgmd->nodes[id].linked) {
            mgmd_reply_wrong_node(session, id, ERR_MGM_NO_CONTACT);
            return false;
        }
        node_mask_add(nodes, id);
    }
    return true;
}

/* An order for data nodes that named this server only, or found none. */
static void refuse(struct mgmd_session *session, bool self)
{
    if (self)
        mgmd_reply_wrong_node(session, mgmd_session_owner(session)->own_node,
                              ERR_MGM_NOT_DATA_NODE);
    else
        mgmd_reply_error(session, ERR_MGM_NO_DATA_NODES, "%s",
                         ndb_mgm_error_message(ERR_MGM_NO_DATA_NODES));
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

/* A spare node has no rows, so nobody needs it. */
static bool is_spare(const struct mgmd *mgmd, uint32_t id)
{
    return mgmd->nodes[id].status_known && mgmd->nodes[id].nodegroup == CONFIG_NODEGROUP_NONE;
}

/* Does another one of its node group work, that is not among `nodes`? */
static bool has_mate(const struct mgmd *mgmd, uint32_t id, const struct node_mask *nodes)
{
    for (uint32_t peer = 1; peer <= CONFIG_DATA_NODES_MAX; peer++) {
        if (!node_mask_has(nodes, peer) && !is_spare(mgmd, peer) && mgmd_node_works(mgmd, peer) &&
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
        if (is_spare(mgmd, id)) continue;
        if (!mgmd_is_data_node(mgmd, id)) continue; /* It has left: there is no way back. */
        if (config_get_u64(node, CFG_NDBD_Diskless) == 0 && !has_mate(mgmd, id, nodes)) return id;
    }
    return 0;
}

/* A started data node whose node group would be gone without `nodes`; 0 = none. Each node refuses
 * for itself; of several some would have left by then. */
static uint32_t group_gone(const struct mgmd *mgmd, const struct node_mask *nodes)
{
    for (uint32_t id = node_mask_next(nodes, 0); id != 0; id = node_mask_next(nodes, id)) {
        if (mgmd_node_works(mgmd, id) && !is_spare(mgmd, id) && !has_mate(mgmd, id, nodes))
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
        mgmd_reply_error(session, ERR_MGM_STARTING,
                         "Cannot restart nodes in single user mode: nobody comes back before EXIT "
                         "SINGLE USER MODE");
        return false;
    }
    return true;
}

/* Looks whether the nodes may end, before anything is sent. False: the error was sent. */
static bool may_end(struct mgmd_session *session, const struct node_mask *nodes, bool self,
                    bool restart, uint32_t flags)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    bool whole = whole_cluster(mgmd, nodes);
    bool force = (flags & STOP_FORCE) != 0;
    uint32_t count = node_mask_count(nodes);

    if (self && restart) {
        mgmd_reply_error(session, ERR_MGM_NOT_DATA_NODE,
                         "Node %u: a management server is stopped and started by hand",
                         mgmd->own_node);
        return false;
    }
    if (restart && !may_restart(session, nodes, whole, flags)) return false;
    if (count == 0 && !self && restart) {
        mgmd_reply_error(session, ERR_MGM_NO_DATA_NODES, "%s",
                         ndb_mgm_error_message(ERR_MGM_NO_DATA_NODES));
        return false;
    }
    uint32_t last = (flags & STOP_INITIAL) != 0 && !force ? last_copy(mgmd, nodes) : 0;
    if (count > 1 && !whole && !force) {
        uint32_t gone = group_gone(mgmd, nodes);
        if ((flags & STOP_ABORT) == 0) {
            mgmd_reply_error(session, ERR_MGM_NEEDS_ABORT, "%s",
                             ndb_mgm_error_message(ERR_MGM_NEEDS_ABORT));
            return false;
        }
        if (gone != 0 && last == 0) {
            mgmd_reply_error(
                session, ERR_MGM_WOULD_STOP_CLUSTER,
                "Node %u: %s: with the others that are named all started nodes of node "
                "group %u would be gone. Take fewer, or all nodes (ALL)",
                gone, ndb_mgm_error_message(ERR_MGM_WOULD_STOP_CLUSTER),
                mgmd->nodes[gone].nodegroup);
            return false;
        }
    }
    if (last == 0) return true;
    mgmd_reply_error(session, ERR_MGM_LAST_COPY, "Node %u: %s", last,
                     ndb_mgm_error_message(ERR_MGM_LAST_COPY));
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
        request->done++; /* Its link ended this moment, which is what was wanted. */
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
        if (mgmd->nodes[id].linked) continue;
        const char *host = config_get_text(config_node(mgmd->config, id), CFG_NDBD_HostName);
        if (!command_is_all(session)) {
            mgmd_reply_error(
                session, ERR_MGM_NO_CONTACT, "Node %u: %s: start ndbmtd --ndb-nodeid=%u on %s", id,
                ndb_mgm_error_message(ERR_MGM_NO_CONTACT), id, host[0] != '\0' ? host : "its host");
            return;
        }
        node_mask_remove(&nodes, id);
    }
    if (self || node_mask_empty(&nodes)) {
        refuse(session, self);
        return;
    }
    for (uint32_t id = node_mask_next(&nodes, 0); id != 0; id = node_mask_next(&nodes, id)) {
        if (mgmd_data_node_status(mgmd, id) != NDB_MGM_STATUS_NOT_STARTED) continue;
        started += mgm_link_send(mgmd->link, id, BLOCK_CMVMI, GSN_START_ORD, PRIO_B, &ord,
                                 sizeof(ord) / 4) == 0;
    }
    mgm_link_flush(mgmd->link);
    if (started == 0) {
        mgmd_reply_error(session, ERR_MGM_STARTING, "No node is waiting to be started");
        return;
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "started: %u\n", started);
    mgmd_reply_end(session);
}

/* ---- single user mode ---- */

void mgmd_single_user_send(struct mgmd *mgmd, struct mgmd_request *request)
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
        mgmd_reply_wrong_node(session, (uint32_t)id, ERR_MGM_NOT_API);
        return;
    }
    if (mgmd_president(mgmd) == 0) {
        mgmd_reply_error(session, ERR_MGM_NO_DATA_NODES, "%s",
                         ndb_mgm_error_message(ERR_MGM_NO_DATA_NODES));
        return;
    }
    struct mgmd_request *request = mgmd_request_new(session, MGMD_ANSWER_MS);
    if (request == NULL) return;
    request->kind = MGMD_REQUEST_SINGLE;
    request->single_user = (uint32_t)id;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "Single user mode for node %u ordered from %s%s", (uint32_t)id,
                       mgmd_session_address(session), enter ? "" : " (0: exit)");
    mgmd_single_user_send(mgmd, request);
    mgmd_request_go(session);
}

void mgmd_take_single_user(struct mgmd *mgmd, uint32_t node, const struct signal *sig)
{
    struct mgmd_request *request = mgmd_request_find(mgmd, sig->payload[0], MGMD_REQUEST_SINGLE);

    if (request == NULL || !node_mask_has(&request->waiting, node)) return;
    node_mask_remove(&request->waiting, node);
    if (sig->gsn == GSN_SINGLE_USER_CONF)
        request->done = 1;
    else if (SIG_PAYLOAD(sig, single_user_ref)->error != ERR_MGM_SEND) /* Else it does not lead. */
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
        refuse(session, self);
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
