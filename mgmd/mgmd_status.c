/* mgmd_status.c -- get status: what the server says of each node. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <strings.h>

#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_peers.h"
#include "mgmd/mgmd_session.h"

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

void mgmd_get_status(struct mgmd_session *session)
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
