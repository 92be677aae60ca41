/* mgmd_node_commands.c -- the commands of processes that are nodes: they ask for an id, for the
 * configuration and for ports, and tell where they listen, what they have and how they ended. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_session.h"
#include "signals/event_log.h"
#include "signals/event_report.h"
#include "values/errors.h"

void mgmd_reply_nodeid(struct mgmd_session *session, uint32_t id, const char *name)
{
    struct mgmd *mgmd = mgmd_session_owner(session);

    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO, "Node id %u given to %.64s at %s", id,
                       name, mgmd_session_address(session));
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "nodeid: %u\ngeneration: %u\n", id, config_generation(mgmd->config));
    mgmd_reply_end(session);
}

void mgmd_get_nodeid(struct mgmd_session *session)
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
    if (!mgmd_read_number(session, "nodeid", 0, CONFIG_NODES_MAX, 0, &wanted)) return;
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

void mgmd_free_nodeid(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t id;

    if (!mgmd_read_number(session, "nodeid", 1, CONFIG_NODES_MAX, -1, &id)) return;
    if (id < 1 || mgmd->nodes[id].holder != mgmd_session_id(session)) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "this session does not hold that node id");
        return;
    }
    mgmd->nodes[id].holder = 0;
    mgmd_reply_ok(session);
}

void mgmd_get_config(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    char why[200] = "out of memory";
    uint32_t generation;
    int64_t from;
    size_t size;

    if (!mgmd_read_number(session, "from_node", 0, CONFIG_NODES_MAX, 0, &from)) return;
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

#define PARAM_PORT 406 /* The link parameter that names the listening port. */

void mgmd_set_connection_parameter(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t node1;
    int64_t node2;
    int64_t param;
    int64_t value;

    if (!mgmd_read_number(session, "node1", 1, CONFIG_NODES_MAX, -1, &node1)) return;
    if (!mgmd_read_number(session, "node2", 0, CONFIG_NODES_MAX, 0, &node2)) return;
    if (!mgmd_read_number(session, "param", PARAM_PORT, PARAM_PORT, PARAM_PORT, &param)) return;
    if (!mgmd_read_number(session, "value", 1, 65535, -1, &value)) return;
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

void mgmd_get_connection_parameter(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t node1;
    int64_t param;

    if (!mgmd_read_number(session, "node1", 1, CONFIG_NODES_MAX, -1, &node1)) return;
    if (!mgmd_read_number(session, "param", PARAM_PORT, PARAM_PORT, PARAM_PORT, &param)) return;
    const struct config_section *node =
        node1 < 1 ? NULL : config_node(mgmd->config, (uint32_t)node1);
    if (node == NULL || config_section_kind(node) != CONFIG_NDBD) {
        mgmd_reply_error(session, ERR_MGM_NOT_DATA_NODE, "node1 is needed: a data node");
        return;
    }
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "value: %u\n", mgmd_node_port(mgmd, (uint32_t)node1));
    mgmd_reply_end(session);
}

void mgmd_report_stop(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *text = mgm_value(mgmd_session_request(session), "text");
    int64_t node;
    int64_t word[4];

    if (!mgmd_read_number(session, "node", 1, CONFIG_DATA_NODES_MAX, 0, &node)) return;
    if (!mgmd_read_number(session, "action", 0, 7, 0, &word[0])) return;
    if (!mgmd_read_number(session, "signal", 0, 255, 0, &word[1])) return;
    if (!mgmd_read_number(session, "error", 0, UINT32_MAX, 0, &word[2])) return;
    if (!mgmd_read_number(session, "startphase", 0, 255, 255, &word[3])) return;
    const struct config_section *section =
        node == 0 ? NULL : config_node(mgmd->config, (uint32_t)node);
    if (section == NULL || config_section_kind(section) != CONFIG_NDBD) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "node is needed: a data node");
        return;
    }
    uint32_t data[4] = {(uint32_t)word[0], (uint32_t)word[1], (uint32_t)word[2], (uint32_t)word[3]};
    mgmd_event(mgmd, EVENT_STOP_FORCED, (uint32_t)node, data, 4, text == NULL ? "" : text);
    mgmd_reply_ok(session);
}

void mgmd_claim_cluster(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    const char *text = mgm_value(mgmd_session_request(session), "cluster");
    uint64_t cluster;
    int64_t node;
    char why[400];

    if (!mgmd_read_number(session, "node", 1, CONFIG_DATA_NODES_MAX, 0, &node)) return;
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
        mgmd_reply_ok(session);
}
