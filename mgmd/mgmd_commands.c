/* mgmd_commands.c -- the commands of the management protocol by name, and those that are about the
 * server itself and its sessions. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <strings.h>

#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_session.h"

struct command {
    const char *name;
    void (*execute)(struct mgmd_session *session);
};

bool mgmd_read_number(struct mgmd_session *session, const char *name, int64_t min, int64_t max,
                      int64_t missing, int64_t *value)
{
    if (mgm_number(mgmd_session_request(session), name, min, max, missing, value) == 0) return true;
    mgmd_reply_error(session, NDB_MGM_USAGE_ERROR, "%s is wrong (allowed range %lld..%lld)", name,
                     (long long)min, (long long)max);
    return false;
}

void mgmd_reply_ok(struct mgmd_session *session)
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

static void bye(struct mgmd_session *session)
{
    mgmd_session_end(session);
}

static const struct command commands[] = {
    {"get version", get_version},
    {"get nodeid", mgmd_get_nodeid},
    {"free nodeid", mgmd_free_nodeid},
    {"get config", mgmd_get_config},
    {"get config_v2", mgmd_get_config},
    {"reload config", reload_config},
    {"get status", mgmd_get_status},
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
    {"get info clusterlog", mgmd_get_info_clusterlog},
    {"set logfilter", mgmd_set_logfilter},
    {"get cluster loglevel", mgmd_get_cluster_loglevel},
    {"set cluster loglevel", mgmd_set_cluster_loglevel},
    {"set loglevel", mgmd_set_loglevel},
    {"listen event", mgmd_listen_event},
    {"set connection parameter", mgmd_set_connection_parameter},
    {"get connection parameter", mgmd_get_connection_parameter},
    {"get mgmd nodeid", get_mgmd_nodeid},
    {"get mgmd state", get_mgmd_state},
    {"get session id", get_session_id},
    {"list sessions", list_sessions},
    {"check connection", mgmd_reply_ok},
    {"purge stale sessions", purge_stale_sessions},
    {"report stop", mgmd_report_stop},
    {"claim cluster", mgmd_claim_cluster},
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
