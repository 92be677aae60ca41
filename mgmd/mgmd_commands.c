/* mgmd_commands.c -- the management protocol's commands that are answered at once. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_peers.h"
#include "mgmd/mgmd_session.h"
#include "signals/event_log.h"

#define PARAM_PORT 406 /* The link parameter that names the listening port. */

struct command {
    const char *name;
    void (*execute)(struct mgmd_session *session);
};

/* Reads a number of the request; answers with an error and returns false when it is wrong. */
static bool number(struct mgmd_session *session, const char *name, int64_t min, int64_t max,
                   int64_t missing, int64_t *value)
{
    if (mgm_number(mgmd_session_request(session), name, min, max, missing, value) == 0) return true;
    mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "%s is wrong (allowed range %lld..%lld)", name,
                     (long long)min, (long long)max);
    return false;
}

static void ok(struct mgmd_session *session)
{
    mgmd_reply_begin(session, "Ok");
    mgmd_reply_end(session);
}

static void get_version(struct mgmd_session *session)
{
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "id: %u\nmajor: %u\nminor: %u\nbuild: %u\nstring: %s\n", MGMD_VERSION,
               MGMD_VERSION >> 16, MGMD_VERSION >> 8 & 255, MGMD_VERSION & 255, MGMD_VERSION_TEXT);
    mgmd_reply_end(session);
}

void mgmd_reply_nodeid(struct mgmd_session *session, uint32_t id, const char *name)
{
    struct mgmd *mgmd = mgmd_session_owner(session);

    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "Node id %u given to %.64s at %s", id,
                       name, mgmd_session_address(session));
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "nodeid: %u\ngeneration: %u\n", id, config_generation(mgmd->config));
    mgmd_reply_end(session);
}

static void get_nodeid(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const struct mgm_parser *request = mgmd_session_request(session);
    const char *type_text = mgm_value(request, "nodetype");
    const char *host = mgm_value(request, "host");
    const char *name = mgm_value(request, "name");
    int type = type_text == NULL ? -1 : ndb_mgm_type_number(type_text);
    int64_t wanted;
    int64_t type_value;
    char why[400];
    int code;

    if (type_text != NULL && type < 0 && mgm_parse_number(type_text, &type_value) == 0 &&
        type_value >= 0 && type_value <= NDB_MGM_NODE_MGM) {
        type = (int)type_value;
    }
    if (type < 0) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "nodetype is wrong (allowed: NDB, API, MGM)");
        return;
    }
    if (!number(session, "nodeid", 0, CONFIG_NODES_MAX, 0, &wanted)) return;
    if (mgmd->pending != NULL && uv_now(mgmd->loop) < mgmd->pending_until) {
        mgmd_reply_error(session, NDB_MGM_ALLOCID_RETRY,
                         "a change of the configuration waits for the other management servers");
        return;
    }
    if (host == NULL || host[0] == '\0') host = mgmd_session_address(session);
    uint32_t id = mgmd_alloc_id(mgmd, session, (enum ndb_mgm_node_type)type, (uint32_t)wanted, host,
                                &code, why, sizeof(why));
    if (id == 0) {
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "Node id for %.64s at %s refused: %s", name == NULL ? "a process" : name,
                           mgmd_session_address(session), why);
        mgmd_reply_error(session, code, "%s", why);
        return;
    }
    if (name == NULL) name = "a process";
    if (type == NDB_MGM_NODE_API && mgmd_order_nodeid(session, id, wanted == 0, host, name)) return;
    mgmd_reply_nodeid(session, id, name);
}

static void free_nodeid(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t id;

    if (!number(session, "nodeid", 1, CONFIG_NODES_MAX, -1, &id)) return;
    if (id < 1 || mgmd->nodes[id].holder != mgmd_session_id(session)) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "this session does not hold that node id");
        return;
    }
    mgmd->nodes[id].holder = 0;
    ok(session);
}

static void get_config(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    char why[200] = "out of memory";
    uint32_t generation;
    int64_t from;
    size_t size;

    if (!number(session, "from_node", 0, CONFIG_NODES_MAX, 0, &from)) return;
    uint8_t *bytes = mgmd_config_encode(mgmd, (uint32_t)from, &size, &generation, why, sizeof(why));
    char *text = bytes == NULL ? NULL : config_base64_encode(bytes, size);
    free(bytes);
    if (text == NULL) {
        mgmd_reply_error(session, NDB_MGM_GET_CONFIG_FAILED, "%s", why);
        return;
    }
    for (uint32_t node = 1; from == 0 && node <= CONFIG_DATA_NODES_MAX; node++)
        mgmd->nodes[node].configured |=
            mgmd->nodes[node].holder == mgmd_session_id(session) && mgmd->nodes[node].holder != 0;
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session,
               "generation: %u\nContent-Length: %zu\nContent-Type: ndbconfig/octet-stream\n"
               "Content-Transfer-Encoding: base64\n\n",
               generation, strlen(text));
    mgmd_reply_text(session, text, strlen(text));
    mgmd_reply_text(session, "\n\n", 2);
    free(text);
}

static void reload_config(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *file = mgm_value(mgmd_session_request(session), "config_filename");
    char why[400];

    if (mgmd_config_reload(mgmd, file, why, sizeof(why)) != 0) {
        mgmd_reply_error(session, NDB_MGM_CONFIG_CHANGE_FAILED, "%s", why);
        return;
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "generation: %u\n", config_generation(mgmd->config));
    mgmd_reply_end(session);
}

static enum ndb_mgm_node_type type_of(const struct config_section *section)
{
    if (config_section_kind(section) == CONFIG_NDBD) return NDB_MGM_NODE_NDB;
    return config_section_kind(section) == CONFIG_API ? NDB_MGM_NODE_API : NDB_MGM_NODE_MGM;
}

/* What only data nodes have. */
static void reply_data_node(struct mgmd_session *session, const struct config_section *section)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    uint32_t id = config_section_node(section);
    const struct mgmd_node *node = &mgmd->nodes[id];
    bool known = node->status_known && !mgmd_node_hangs(mgmd, id);
    uint32_t group =
        known ? node->nodegroup : (uint32_t)config_get_u64(section, CFG_NDBD_Nodegroup);

    mgmd_reply(session,
               "node.%u.startphase: %u\nnode.%u.dynamic_id: %u\nnode.%u.node_group: %u\n"
               "node.%u.connect_count: %u\nnode.%u.president: %d\n",
               id, known ? node->start_phase : 0, id, node->dynamic_id, id, group, id,
               node->connect_count, id, mgmd_node_leads(mgmd, id));
    mgmd_reply(session, "node.%u.start_percent: %u\nnode.%u.start_left: %u\n", id,
               known ? node->start_percent : 0, id, known ? node->start_left_s : 0);
    mgmd_reply(session, "node.%u.arbit_state: %u\nnode.%u.arbitrator: %u\n", id,
               known ? node->arbit_state : 0, id, known ? node->arbit_node : 0);
    mgmd_reply(session, "node.%u.slow: %d\n", id, known && node->slow != 0);
}

static void reply_node(struct mgmd_session *session, const struct config_section *section)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    uint32_t id = config_section_node(section);
    const struct mgmd_node *node = &mgmd->nodes[id];
    enum ndb_mgm_node_status status = mgmd_node_status(mgmd, id);
    bool data = type_of(section) == NDB_MGM_NODE_NDB;
    uint32_t version =
        id == mgmd->own_node || status == NDB_MGM_STATUS_CONNECTED ? MGMD_VERSION : 0;
    const char *address = node->address;

    if (data) version = node->status_known ? node->version : 0;
    if (id == mgmd->own_node || (!data && mgmd_peer_alive(mgmd, id))) {
        address = config_get_text(section, CFG_MGMD_HostName);
        if (address[0] == '\0' || strcasecmp(address, "localhost") == 0) address = "127.0.0.1";
    }
    mgmd_reply(session, "node.%u.type: %s\nnode.%u.status: %s\nnode.%u.version: %u\n", id,
               ndb_mgm_type_name(type_of(section)), id, ndb_mgm_status_name(status), id, version);
    if (data) reply_data_node(session, section);
    if (type_of(section) == NDB_MGM_NODE_API)
        mgmd_reply(session, "node.%u.is_single_user: %d\n", id, mgmd_single_user(mgmd) == id);
    if (type_of(section) == NDB_MGM_NODE_MGM) {
        uint32_t port = id == mgmd->own_node
                            ? mgmd->port
                            : (uint32_t)config_get_u64(section, CFG_MGMD_PortNumber);
        mgmd_reply(session, "node.%u.port: %u\n", id, port);
    }
    mgmd_reply(session, "node.%u.address: %s\nnode.%u.host: %s\n", id, address, id,
               config_get_text(section, CFG_NDBD_HostName));
}

static void get_status(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *types = mgm_value(mgmd_session_request(session), "types");
    uint32_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            mgmd_reply_begin(session, "Ok");
            mgmd_reply(session, "nodes: %u\n", count);
        }
        for (struct config_section *node = config_next_node(mgmd->config, 0, CONFIG_NONE);
             node != NULL;
             node = config_next_node(mgmd->config, config_section_node(node), CONFIG_NONE)) {
            if (types != NULL && strcasestr(types, ndb_mgm_type_name(type_of(node))) == NULL)
                continue;
            if (pass == 0)
                count++;
            else
                reply_node(session, node);
        }
    }
    mgmd_reply_end(session);
}

/* ---- log ---- */

static void get_info_clusterlog(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);

    mgmd_reply_begin(session, "Ok");
    for (uint32_t i = 0; i < NDB_MGM_SEVERITIES; i++) {
        enum ndb_mgm_severity severity = (enum ndb_mgm_severity)i;
        mgmd_reply(session, "%s: %d\n", i == 0 ? "enabled" : ndb_mgm_severity_name(severity),
                   cluster_log_enabled(mgmd->log, severity));
    }
    mgmd_reply_end(session);
}

static void set_logfilter(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t level;
    int64_t enable;

    if (!number(session, "level", 0, NDB_MGM_SEVERITY_ALL, 0, &level)) return;
    if (!number(session, "enable", -1, 1, -1, &enable)) return;
    enum ndb_mgm_severity severity = (enum ndb_mgm_severity)level;
    bool value = enable == -1 ? !cluster_log_enabled(mgmd->log, severity) : enable == 1;
    cluster_log_enable(mgmd->log, severity, value);
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "value: %d\n", value);
    mgmd_reply_end(session);
}

static void get_cluster_loglevel(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t node;

    if (!number(session, "node", 0, CONFIG_NODES_MAX, mgmd->own_node, &node)) return;
    mgmd_reply_begin(session, "Ok");
    for (uint32_t i = 0; i < NDB_MGM_CATEGORIES; i++) {
        mgmd_reply(session, "%s: %u\n",
                   ndb_mgm_category_name((enum ndb_mgm_category)(NDB_MGM_CATEGORY_FIRST + i)),
                   mgmd->nodes[node].log_level[i]);
    }
    mgmd_reply_end(session);
}

/* A category by name or number; -1 when it is none. */
static int category_of(const char *text)
{
    int64_t value;

    if (text == NULL) return -1;
    if (mgm_parse_number(text, &value) == 0) {
        return value >= NDB_MGM_CATEGORY_FIRST &&
                       value < NDB_MGM_CATEGORY_FIRST + NDB_MGM_CATEGORIES
                   ? (int)value
                   : -1;
    }
    return ndb_mgm_category_number(text);
}

static void set_cluster_loglevel(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int category = category_of(mgm_value(mgmd_session_request(session), "category"));
    int64_t node;
    int64_t level;

    if (!number(session, "node", 0, CONFIG_NODES_MAX, 0, &node)) return;
    if (!number(session, "level", 0, 15, 7, &level)) return;
    if (category < 0) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "category is unknown (allowed: STARTUP ... SCHEMA)");
        return;
    }
    if (node != 0 && config_node(mgmd->config, (uint32_t)node) == NULL) {
        mgmd_reply_wrong_node(session, (uint32_t)node, 5066);
        return;
    }
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        if (node != 0 && id != (uint32_t)node) continue;
        mgmd->nodes[id].log_level[category - NDB_MGM_CATEGORY_FIRST] = (uint8_t)level;
    }
    mgmd_nodes_subscribe(mgmd);
    ok(session);
}

/* Sets the levels of the data nodes' own logs, until they end. */
static void set_loglevel(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int category = category_of(mgm_value(mgmd_session_request(session), "category"));
    int64_t node;
    int64_t level;
    uint32_t sent = 0;

    if (!number(session, "node", 0, CONFIG_NODES_MAX, 0, &node)) return;
    if (!number(session, "level", 0, 15, 7, &level)) return;
    if (category < 0) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "category is unknown (allowed: STARTUP ... SCHEMA)");
        return;
    }
    if (node != 0 && !mgmd_is_data_node(mgmd, (uint32_t)node)) {
        mgmd_reply_wrong_node(session, (uint32_t)node, 5002);
        return;
    }
    struct set_loglevel_ord ord = {.category = (uint32_t)category, .level = (uint32_t)level};
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        if ((node != 0 && id != (uint32_t)node) || !mgmd->nodes[id].linked) continue;
        sent += mgm_link_send(mgmd->link, id, BLOCK_CMVMI, GSN_SET_LOGLEVEL_ORD, PRIO_B, &ord,
                              sizeof(ord) / 4) == 0;
    }
    mgm_link_flush(mgmd->link);
    if (sent == 0) {
        if (node != 0)
            mgmd_reply_wrong_node(session, (uint32_t)node, 5000);
        else
            mgmd_reply_error(session, 5030, "%s", ndb_mgm_error_message(5030));
        return;
    }
    ok(session);
}

/* "STARTUP=7 CONNECTION=8"; categories that are not named stay 0. */
static bool parse_filter(const char *text, uint32_t *levels)
{
    while (*text != '\0') {
        char name[32];
        size_t length = strcspn(text, "=");
        size_t stop = strcspn(text, " ,");
        int64_t level = -1;
        char value[8];
        if (length >= sizeof(name) || length >= stop || stop - length - 1 >= sizeof(value))
            return false;
        memcpy(name, text, length);
        name[length] = '\0';
        memcpy(value, text + length + 1, stop - length - 1);
        value[stop - length - 1] = '\0';
        int category = category_of(name);
        if (category < 0 || mgm_parse_number(value, &level) != 0 || level < 0 || level > 15)
            return false;
        levels[category - NDB_MGM_CATEGORY_FIRST] = (uint32_t)level;
        text += stop;
        text += strspn(text, " ,");
    }
    return true;
}

static void listen_event(struct mgmd_session *session)
{
    const char *filter = mgm_value(mgmd_session_request(session), "filter");
    uint32_t levels[NDB_MGM_CATEGORIES] = {0};
    int64_t parsable;

    if (!number(session, "parsable", 0, 1, 0, &parsable)) return;
    if (filter == NULL) {
        for (uint32_t i = 0; i < NDB_MGM_CATEGORIES; i++)
            levels[i] = 8;
    } else if (!parse_filter(filter, levels)) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "filter is wrong (allowed: CATEGORY=0..15 ...)");
        return;
    }
    ok(session);
    mgmd_session_listen(session, levels, parsable == 1);
}

/* ---- ports and sessions ---- */

static void set_connection_parameter(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t node1;
    int64_t node2;
    int64_t param;
    int64_t value;

    if (!number(session, "node1", 1, CONFIG_NODES_MAX, -1, &node1)) return;
    if (!number(session, "node2", 0, CONFIG_NODES_MAX, 0, &node2)) return;
    if (!number(session, "param", PARAM_PORT, PARAM_PORT, PARAM_PORT, &param)) return;
    if (!number(session, "value", 1, 65535, -1, &value)) return;
    const struct config_section *node =
        node1 < 1 ? NULL : config_node(mgmd->config, (uint32_t)node1);
    if (node == NULL || config_section_kind(node) != CONFIG_NDBD || value < 1) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "node1 and value are needed: a data node and its port (1..65535)");
        return;
    }
    if (mgmd->nodes[node1].port != (uint16_t)value) {
        /* A node that is linked here is where this server knows it to be; others would not find it
         * any more. Of one that is not, whoever knows it may say so: it looks, and says it again.
         */
        if (mgmd->nodes[node1].linked && mgmd->nodes[node1].holder != mgmd_session_id(session)) {
            mgmd_reply_error(session, NDB_MGM_CONFIG_CHANGE_FAILED,
                             "node %d is linked: where it listens is known", (int)node1);
            return;
        }
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                           "Node %d listens on port %d, as told from %s", (int)node1, (int)value,
                           mgmd_session_address(session));
        mgmd->nodes[node1].port = (uint16_t)value;
        mgmd_ports_store(mgmd);
        mgm_link_update(mgmd->link);
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "message: Success\n");
    mgmd_reply_end(session);
}

static void get_connection_parameter(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t node1;
    int64_t param;

    if (!number(session, "node1", 1, CONFIG_NODES_MAX, -1, &node1)) return;
    if (!number(session, "param", PARAM_PORT, PARAM_PORT, PARAM_PORT, &param)) return;
    const struct config_section *node =
        node1 < 1 ? NULL : config_node(mgmd->config, (uint32_t)node1);
    if (node == NULL || config_section_kind(node) != CONFIG_NDBD) {
        mgmd_reply_error(session, 5002, "node1 is needed: a data node");
        return;
    }
    uint32_t port = (uint32_t)config_get_u64(node, CFG_NDBD_ServerPort);
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "value: %u\n", port != 0 ? port : mgmd->nodes[node1].port);
    mgmd_reply_end(session);
}

static void get_mgmd_nodeid(struct mgmd_session *session)
{
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "nodeid: %u\n", mgmd_session_owner(session)->own_node);
    mgmd_reply_end(session);
}

/* Tells the other management servers the state of this one: docs/protocols/management.md. */
static void get_mgmd_state(struct mgmd_session *session)
{
    const struct mgmd *mgmd = mgmd_session_owner(session);
    char ports[900] = "";
    size_t used = 0;

    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX && used + 12 < sizeof(ports); id++) {
        if (mgmd->nodes[id].port == 0 || !mgmd->nodes[id].linked) continue;
        used += (size_t)snprintf(ports + used, sizeof(ports) - used, "%u=%u ", id,
                                 mgmd->nodes[id].port);
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session,
               "nodeid: %u\ngeneration: %u\ndigest: %016llx\ncluster: %llu\nfresh: %d\nports: %s\n",
               mgmd->own_node, config_generation(mgmd->config),
               (unsigned long long)config_digest(mgmd->config),
               (unsigned long long)config_cluster_id(mgmd->config), mgmd->fresh, ports);
    mgmd_reply_end(session);
}

static void get_session_id(struct mgmd_session *session)
{
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "id: %u\n", mgmd_session_id(session));
    mgmd_reply_end(session);
}

static void list_sessions(struct mgmd_session *session)
{
    mgmd_reply_begin(session, "Ok");
    mgmd_sessions_list(mgmd_session_owner(session), session);
    mgmd_reply_end(session);
}

/* Ids held by sessions whose node never linked are given back; the session itself stays. */
static void purge_stale_sessions(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    char list[1200] = "";
    size_t used = 0;

    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        if (mgmd->nodes[id].holder == 0 || mgmd_node_status(mgmd, id) > NDB_MGM_STATUS_NO_CONTACT)
            continue;
        mgmd->nodes[id].holder = 0;
        used +=
            (size_t)snprintf(list + used, sizeof(list) - used, "%s%u", used == 0 ? "" : " ", id);
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "purged: %s\n", list);
    mgmd_reply_end(session);
}

/* A data node that failed cannot tell of its end over its link: its angel does, here. */
static void report_stop(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *text = mgm_value(mgmd_session_request(session), "text");
    int64_t node;
    int64_t word[4];

    if (!number(session, "node", 1, CONFIG_DATA_NODES_MAX, 0, &node)) return;
    if (!number(session, "action", 0, 7, 0, &word[0])) return;
    if (!number(session, "signal", 0, 255, 0, &word[1])) return;
    if (!number(session, "error", 0, UINT32_MAX, 0, &word[2])) return;
    if (!number(session, "startphase", 0, 255, 255, &word[3])) return;
    const struct config_section *section =
        node == 0 ? NULL : config_node(mgmd->config, (uint32_t)node);
    if (section == NULL || config_section_kind(section) != CONFIG_NDBD) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "node is needed: a data node");
        return;
    }
    uint32_t data[4] = {(uint32_t)word[0], (uint32_t)word[1], (uint32_t)word[2], (uint32_t)word[3]};
    mgmd_event(mgmd, EVENT_STOP_FORCED, (uint32_t)node, data, 4, text == NULL ? "" : text);
    ok(session);
}

/* A data node's files are of this cluster: a server that is fresh goes on with it. */
static void claim_cluster(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *text = mgm_value(mgmd_session_request(session), "cluster");
    uint64_t cluster;
    int64_t node;
    char why[400];

    if (!number(session, "node", 1, CONFIG_DATA_NODES_MAX, 0, &node)) return;
    const struct config_section *section = config_node(mgmd->config, (uint32_t)node);
    if (section == NULL || config_section_kind(section) != CONFIG_NDBD ||
        mgmd->nodes[node].holder != mgmd_session_id(session) || mgm_parse_id(text, &cluster) != 0) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "node, a data node whose id this session holds, and cluster are needed");
        return;
    }
    int rc = mgmd_identity_claim(mgmd, (uint32_t)node, cluster, false, why, sizeof(why));
    if (rc != 0)
        mgmd_reply_error(session, rc < 0 ? NDB_MGM_CONFIG_CHANGE_FAILED : NDB_MGM_GET_CONFIG_FAILED,
                         "%s", why);
    else
        ok(session);
}

static void bye(struct mgmd_session *session)
{
    mgmd_session_end(session);
}

static const struct command commands[] = {
    {"get version", get_version},
    {"get nodeid", get_nodeid},
    {"free nodeid", free_nodeid},
    {"get config", get_config},
    {"get config_v2", get_config},
    {"reload config", reload_config},
    {"get status", get_status},
    {"report memory", mgmd_order_memory},
    {"report disk", mgmd_order_disk},
    {"report threads", mgmd_order_threads},
    {"report events", mgmd_order_events},
    {"stop", mgmd_order_stop},
    {"stop v2", mgmd_order_stop},
    {"stop all", mgmd_order_stop},
    {"restart node", mgmd_order_restart},
    {"restart node v2", mgmd_order_restart},
    {"restart all", mgmd_order_restart},
    {"check restart", mgmd_order_check},
    {"start", mgmd_order_start},
    {"start all", mgmd_order_start},
    {"enter single user", mgmd_order_single_user},
    {"exit single user", mgmd_order_single_user},
    {"dump state", mgmd_order_dump},
    {"get info clusterlog", get_info_clusterlog},
    {"set logfilter", set_logfilter},
    {"get cluster loglevel", get_cluster_loglevel},
    {"set cluster loglevel", set_cluster_loglevel},
    {"set loglevel", set_loglevel},
    {"listen event", listen_event},
    {"set connection parameter", set_connection_parameter},
    {"get connection parameter", get_connection_parameter},
    {"get mgmd nodeid", get_mgmd_nodeid},
    {"get mgmd state", get_mgmd_state},
    {"get session id", get_session_id},
    {"list sessions", list_sessions},
    {"check connection", ok},
    {"purge stale sessions", purge_stale_sessions},
    {"report stop", report_stop},
    {"claim cluster", claim_cluster},
    {"bye", bye},
    {"end session", bye},
};

bool mgmd_execute(struct mgmd_session *session)
{
    const char *name = mgm_command(mgmd_session_request(session));

    for (uint32_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcasecmp(commands[i].name, name) != 0) continue;
        commands[i].execute(session);
        return true;
    }
    mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "unknown command \"%.64s\"", name);
    return false;
}
