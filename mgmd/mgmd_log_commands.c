/* mgmd_log_commands.c -- the commands about events: which ones are logged, by the server and by
 * data nodes, and who listens to them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_commands.h"
#include "mgmd/mgmd_session.h"
#include "signals/event_log.h"
#include "values/errors.h"

void mgmd_get_info_clusterlog(struct mgmd_session *session)
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

void mgmd_set_logfilter(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t level;
    int64_t enable;

    if (!mgmd_read_number(session, "level", 0, NDB_MGM_SEVERITY_ALL, 0, &level)) return;
    if (!mgmd_read_number(session, "enable", -1, 1, -1, &enable)) return;
    enum ndb_mgm_severity severity = (enum ndb_mgm_severity)level;
    bool value = enable == -1 ? !cluster_log_enabled(mgmd->log, severity) : enable == 1;
    cluster_log_enable(mgmd->log, severity, value);
    mgmd_reply_begin(session, "Ok");
    mgmd_reply(session, "value: %d\n", value);
    mgmd_reply_end(session);
}

void mgmd_get_cluster_loglevel(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int64_t node;

    if (!mgmd_read_number(session, "node", 0, CONFIG_NODES_MAX, mgmd->own_node, &node)) return;
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

void mgmd_set_cluster_loglevel(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int category = category_of(mgm_value(mgmd_session_request(session), "category"));
    int64_t node;
    int64_t level;

    if (!mgmd_read_number(session, "node", 0, CONFIG_NODES_MAX, 0, &node)) return;
    if (!mgmd_read_number(session, "level", 0, 15, 7, &level)) return;
    if (category < 0) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "category is unknown (allowed: STARTUP ... SCHEMA)");
        return;
    }
    if (node != 0 && config_node(mgmd->config, (uint32_t)node) == NULL) {
        mgmd_reply_wrong_node(session, (uint32_t)node, ERR_MGM_NO_SUCH_NODE);
        return;
    }
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        if (node != 0 && id != (uint32_t)node) continue;
        mgmd->nodes[id].log_level[category - NDB_MGM_CATEGORY_FIRST] = (uint8_t)level;
    }
    mgmd_nodes_subscribe(mgmd);
    mgmd_reply_ok(session);
}

void mgmd_set_loglevel(struct mgmd_session *session)
{
    struct mgmd *mgmd = mgmd_session_owner(session);
    int category = category_of(mgm_value(mgmd_session_request(session), "category"));
    int64_t node;
    int64_t level;
    uint32_t sent = 0;

    if (!mgmd_read_number(session, "node", 0, CONFIG_NODES_MAX, 0, &node)) return;
    if (!mgmd_read_number(session, "level", 0, 15, 7, &level)) return;
    if (category < 0) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "category is unknown (allowed: STARTUP ... SCHEMA)");
        return;
    }
    if (node != 0 && !mgmd_is_data_node(mgmd, (uint32_t)node)) {
        mgmd_reply_wrong_node(session, (uint32_t)node, ERR_MGM_NOT_DATA_NODE);
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
            mgmd_reply_wrong_node(session, (uint32_t)node, ERR_MGM_NO_CONTACT);
        else
            mgmd_reply_error(session, ERR_MGM_NO_DATA_NODES, "%s",
                             ndb_mgm_error_message(ERR_MGM_NO_DATA_NODES));
        return;
    }
    mgmd_reply_ok(session);
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

void mgmd_listen_event(struct mgmd_session *session)
{
    const char *filter = mgm_value(mgmd_session_request(session), "filter");
    uint32_t levels[NDB_MGM_CATEGORIES] = {0};
    int64_t parsable;

    if (!mgmd_read_number(session, "parsable", 0, 1, 0, &parsable)) return;
    if (filter == NULL) {
        for (uint32_t i = 0; i < NDB_MGM_CATEGORIES; i++)
            levels[i] = 8;
    } else if (!parse_filter(filter, levels)) {
        mgmd_reply_error(session, NDB_MGM_USAGE_ERROR,
                         "filter is wrong (allowed: CATEGORY=0..15 ...)");
        return;
    }
    mgmd_reply_ok(session);
    mgmd_session_listen(session, levels, parsable == 1);
}
