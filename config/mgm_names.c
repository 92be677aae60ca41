/* mgm_names.c -- names of categories, severities, states and errors, for server, library and
 * console. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "ndb/mgm.h"

static const char *const categories[NDB_MGM_CATEGORIES] = {
    "STARTUP", "SHUTDOWN", "STATISTICS", "CHECKPOINT", "NODERESTART", "CONNECTION", "INFO",
    "WARNING", "ERROR",    "CONGESTION", "DEBUG",      "BACKUP",      "SCHEMA"};
static const char *const severities[] = {"ON",    "DEBUG",    "INFO",  "WARNING",
                                         "ERROR", "CRITICAL", "ALERT", "ALL"};
static const char *const types[] = {"NDB", "API", "MGM"};
static const struct {
    const char *name;
    const char *text;
} states[] = {{"UNKNOWN", "unknown state"},    {"NO_CONTACT", "not connected"},
              {"NOT_STARTED", "not started"},  {"STARTING", "starting"},
              {"STARTED", "started"},          {"SHUTTING_DOWN", "shutting down"},
              {"RESTARTING", "restarting"},    {"SINGLEUSER", "single user mode"},
              {"RESUME", "resume mode"},       {"CONNECTED", "connected"},
              {"NO_ANSWER", "does not answer"}};

static int find(const char *const *names, int count, const char *name)
{
    for (int i = 0; name != NULL && i < count; i++) {
        if (strcasecmp(names[i], name) == 0) return i;
    }
    return -1;
}

const char *ndb_mgm_category_name(enum ndb_mgm_category category)
{
    uint32_t index = (uint32_t)category - NDB_MGM_CATEGORY_FIRST;

    return index < NDB_MGM_CATEGORIES ? categories[index] : NULL;
}

int ndb_mgm_category_number(const char *name)
{
    int index = find(categories, NDB_MGM_CATEGORIES, name);

    return index < 0 ? -1 : NDB_MGM_CATEGORY_FIRST + index;
}

const char *ndb_mgm_severity_name(enum ndb_mgm_severity severity)
{
    return (uint32_t)severity <= NDB_MGM_SEVERITY_ALL ? severities[severity] : NULL;
}

int ndb_mgm_severity_number(const char *name)
{
    return find(severities, NDB_MGM_SEVERITY_ALL + 1, name);
}

const char *ndb_mgm_status_text(enum ndb_mgm_node_status status)
{
    return (uint32_t)status <= NDB_MGM_STATUS_NO_ANSWER ? states[status].text : states[0].text;
}

const char *ndb_mgm_status_name(enum ndb_mgm_node_status status)
{
    return (uint32_t)status <= NDB_MGM_STATUS_NO_ANSWER ? states[status].name : states[0].name;
}

int ndb_mgm_status_number(const char *name)
{
    for (int i = 0; name != NULL && i <= NDB_MGM_STATUS_NO_ANSWER; i++) {
        if (strcasecmp(states[i].name, name) == 0) return i;
    }
    return -1;
}

const char *ndb_mgm_type_name(enum ndb_mgm_node_type type)
{
    return (uint32_t)type <= NDB_MGM_NODE_MGM ? types[type] : NULL;
}

int ndb_mgm_type_number(const char *name)
{
    return find(types, NDB_MGM_NODE_MGM + 1, name);
}

const char *ndb_mgm_error_message(int code)
{
    static const struct {
        int code;
        const char *text;
    } texts[] = {
        {NDB_MGM_OK, "No error"},
        {NDB_MGM_ILLEGAL_CONNECT_STRING, "Illegal connect string"},
        {NDB_MGM_ILLEGAL_SERVER_REPLY, "Illegal reply from server"},
        {NDB_MGM_OUT_OF_MEMORY, "Out of memory"},
        {NDB_MGM_SERVER_NOT_CONNECTED, "Management server not connected"},
        {NDB_MGM_COULD_NOT_CONNECT, "Could not connect to management server"},
        {NDB_MGM_ALREADY_CONNECTED, "Already connected"},
        {NDB_MGM_ALLOCID_ERROR, "Could not allocate node id"},
        {NDB_MGM_ALLOCID_CONFIG_MISMATCH, "Node id does not fit the configuration"},
        {NDB_MGM_ALLOCID_RETRY, "No node id is free now"},
        {NDB_MGM_START_FAILED, "Start failed"},
        {NDB_MGM_STOP_FAILED, "Stop failed"},
        {NDB_MGM_RESTART_FAILED, "Restart failed"},
        {NDB_MGM_ENTER_SINGLE_FAILED, "Could not enter single user mode"},
        {NDB_MGM_EXIT_SINGLE_FAILED, "Could not exit single user mode"},
        {NDB_MGM_CONFIG_CHANGE_FAILED, "Configuration change failed"},
        {NDB_MGM_GET_CONFIG_FAILED, "Get configuration failed"},
        {5000, "No contact with the process"},
        {NDB_MGM_USAGE_ERROR, "Usage error"},
        {5002, "Node is not a data node"},
        {5005, "Message could not be sent or its answer received"},
        {5024, "Shutdown does not start in time"},
        {5025, "Shutdown does not finish in time"},
        {5026, "Node shutdown is in progress"},
        {5027, "System shutdown is in progress"},
        {5028, "Operation would stop the cluster"},
        {5030, "There are no data nodes"},
        {5031, "Several nodes can only be stopped with the abort option"},
        {5062, "Node is not an API node"},
        {5063, "Nodes are starting or stopping"},
        {299, "Single user mode is on for another node"},
        {5064, "Operation would destroy the last copy of rows; with -f it is done"},
        {5065, "Single user mode was ordered otherwise before it was complete"},
        {5066, "There is no such node"},
    };

    for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].code == code) return texts[i].text;
    }
    return "Unknown error";
}
