/* tool_connect.c -- how client tools connect, and tell meanwhile what they wait for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/tool_common.h"
#include "service/wait_told.h"
#include "values/errors.h"

#define GRACE_MS       2000u /* Longest wait for the rest, when the first data node is ready. */
#define CONNECT_MS_MIN 1000u
#define SLICE_MS       300u /* One call; then the reason is looked at. */
#define CALL_MS_MIN    300u
#define LOOK_MS        1000u /* Time between two looks at what the data nodes do. */
#define PAUSE_MS       100

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t end_of(uint32_t limit_ms)
{
    return limit_ms == NDB_NO_TIMEOUT ? UINT64_MAX : now_ms() + limit_ms;
}

/* So long are the management servers tried. */
static uint32_t connect_limit_ms(const struct tool *tool)
{
    if (tool->retries < 0) return NDB_NO_TIMEOUT;
    uint64_t wait_ms = (uint64_t)tool->retries * tool->delay_s * 1000;
    if (wait_ms < CONNECT_MS_MIN) return CONNECT_MS_MIN;
    return wait_ms >= NDB_NO_TIMEOUT ? NDB_NO_TIMEOUT - 1 : (uint32_t)wait_ms;
}

const char *tool_servers(const struct tool *tool)
{
    return wait_told_servers(tool->connect_string);
}

/* ---- To management servers only. ---- */

bool tool_try_mgm(ndb_mgm_handle_t *handle, uint64_t end_ms)
{
    uint32_t count = ndb_mgm_address_count(handle);
    uint64_t now = now_ms();
    uint64_t left = end_ms > now && count > 0 ? (end_ms - now) / count : 0;

    if (left < CALL_MS_MIN) left = CALL_MS_MIN;
    ndb_mgm_set_timeout(handle, left < TOOL_CALL_MS ? (uint32_t)left : TOOL_CALL_MS);
    bool connected = ndb_mgm_connect(handle, 0, 0) == 0;
    ndb_mgm_set_timeout(handle, TOOL_CALL_MS);
    return connected;
}

static bool connect_mgm(const struct tool *tool, ndb_mgm_handle_t *handle, uint32_t limit_ms,
                        struct wait_told *wait)
{
    bool once = tool->retries == 0 || limit_ms == 0;
    uint32_t option_ms = once ? NDB_NO_TIMEOUT : connect_limit_ms(tool);
    if (limit_ms == 0 || limit_ms > option_ms) limit_ms = option_ms;
    uint64_t end_ms = end_of(limit_ms);

    ndb_mgm_set_name(handle, tool->name);
    if (ndb_mgm_set_connectstring(handle, tool->connect_string) != 0) return false;
    wait_told_for_servers(wait, tool->connect_string);
    while (!tool_try_mgm(handle, end_ms)) {
        if (once || now_ms() + PAUSE_MS >= end_ms) return false;
        wait_told_for(wait, "a management server: %s", ndb_mgm_error_text(handle));
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
    return true;
}

bool tool_connect_mgm(const struct tool *tool, ndb_mgm_handle_t *handle, uint32_t limit_ms)
{
    struct wait_told *wait = wait_told_begin(tool->name);
    bool connected = connect_mgm(tool, handle, limit_ms, wait);

    wait_told_end(wait);
    if (!connected)
        (void)fprintf(stderr, "Unable to connect to management server.\n%d: %s\n" WAIT_TOLD_CURE,
                      ndb_mgm_error_code(handle), ndb_mgm_error_text(handle));
    return connected;
}

/* ---- To the cluster. ---- */

/* Tries for as long as the options say. */
static bool connect_cluster(struct tool *tool, struct wait_told *wait)
{
    uint64_t end_ms = end_of(connect_limit_ms(tool));
    ndb_error_t error;

    wait_told_for_servers(wait, tool->connect_string);
    while (ndb_connection_connect(tool->connection, SLICE_MS) != 0) {
        ndb_connection_error(tool->connection, &error);
        if (now_ms() >= end_ms) return false;
        if (error.code == ERR_API_NO_MANAGEMENT)
            wait_told_for(wait, "a management server: %s", error.detail);
        else if (error.code == ERR_NODE_ID_RESERVED)
            wait_told_for(wait, "a node id from the management server at %s: %s",
                          tool_servers(tool), error.detail);
        else
            return false;
    }
    return true;
}

/* "none of 2 is ready (node 1: STARTING, node 2: NO_CONTACT)", as far as somebody knows it. */
static void describe_nodes(struct tool *tool, ndb_mgm_handle_t *mgm, char *text, size_t size)
{
    static struct ndb_mgm_cluster_state cluster;
    int used =
        snprintf(text, size, "none of %u is ready", ndb_connection_data_nodes(tool->connection));
    const char *before = " (";

    if (mgm == NULL) return;
    if (!ndb_mgm_is_connected(mgm) && !tool_try_mgm(mgm, now_ms() + SLICE_MS)) return;
    if (ndb_mgm_get_status(mgm, &cluster) != 0) return;
    for (uint32_t i = 0; i < cluster.count && (size_t)used < size; i++) {
        const struct ndb_mgm_node_state *node = &cluster.nodes[i];
        if (node->type != NDB_MGM_NODE_NDB) continue;
        used += snprintf(text + used, size - (size_t)used, "%snode %u: %s", before, node->node_id,
                         ndb_mgm_status_name(node->status));
        before = ", ";
    }
    if ((size_t)used < size && before[0] == ',')
        (void)snprintf(text + used, size - (size_t)used, ")");
}

/* What the library knows of why there is none: behind what it says itself, "" if nothing. */
static const char *why_no_node(struct tool *tool, ndb_error_t *error)
{
    ndb_connection_error(tool->connection, error);
    const char *why = strstr(error->detail, "; ");
    return why != NULL ? why + 2 : "";
}

/* One ready node is enough to work with; the others are given a short time to follow. */
static bool wait_for_nodes(struct tool *tool, ndb_mgm_handle_t *mgm, struct wait_told *wait)
{
    uint64_t end_ms = now_ms() + TOOL_READY_MS;
    uint64_t look_ms = now_ms() + LOOK_MS / 2; /* In time for what is told after a second. */
    char text[400];
    ndb_error_t error;

    wait_told_for(wait, "a data node of the cluster at %s: none of %u is ready", tool_servers(tool),
                  ndb_connection_data_nodes(tool->connection));
    while (now_ms() < end_ms) {
        int missing = ndb_connection_wait_until_ready(tool->connection, SLICE_MS);
        if (missing > 0) {
            wait_told_for(wait, "%s", "");
            (void)ndb_connection_wait_until_ready(tool->connection, GRACE_MS);
        }
        if (missing >= 0) return true;
        if (now_ms() < look_ms) continue;
        describe_nodes(tool, mgm, text, sizeof(text));
        const char *why = why_no_node(tool, &error);
        wait_told_for(wait, "a data node of the cluster at %s: %s%s%s", tool_servers(tool), text,
                      why[0] != '\0' ? "; " : "", why);
        look_ms = now_ms() + LOOK_MS;
    }
    return false;
}

static void print_not_connected(struct tool *tool)
{
    ndb_error_t error;

    ndb_connection_error(tool->connection, &error);
    (void)fputs(error.code == ERR_API_NO_MANAGEMENT ? "Unable to connect to management server.\n"
                : error.code == ERR_NODE_ID_RESERVED || error.code == ERR_NODE_TYPE
                    ? "No node id from the management server.\n"
                    : "Unable to connect to the cluster.\n",
                stderr);
    tool_print_error(&error);
    if (error.code == ERR_API_NO_MANAGEMENT) (void)fputs(WAIT_TOLD_CURE, stderr);
}

static void print_not_ready(struct tool *tool)
{
    ndb_error_t error;
    const char *why = why_no_node(tool, &error);

    (void)fprintf(stderr,
                  "Cluster nodes not ready in %u seconds%s%s.\n"
                  "%s'ndb_mgm -e SHOW' tells what they do.\n",
                  TOOL_READY_MS / 1000, why[0] != '\0' ? ": " : "", why,
                  why[0] != '\0' ? "" : "Start them; ");
}

static bool reach_cluster(struct tool *tool)
{
    struct wait_told *wait = wait_told_begin(tool->name);
    ndb_mgm_handle_t *mgm = ndb_mgm_create_handle();
    bool connected = connect_cluster(tool, wait);
    bool ready = connected;

    if (mgm != NULL) (void)ndb_mgm_set_connectstring(mgm, tool->connect_string);
    if (connected) ready = wait_for_nodes(tool, mgm, wait);
    wait_told_end(wait);
    ndb_mgm_destroy_handle(mgm);
    if (!connected)
        print_not_connected(tool);
    else if (!ready)
        print_not_ready(tool);
    return ready;
}

bool tool_connect(struct tool *tool)
{
    struct ndb_connection_options settings = {
        .name = tool->name, .node_id = tool->node_id, .default_timeout_ms = TOOL_TIMEOUT_MS};
    ndb_error_t error;

    tool->connection = ndb_connection_create(tool->connect_string, &settings);
    if (tool->connection == NULL) {
        (void)fprintf(stderr, "Out of memory.\n");
        return false;
    }
    if (!reach_cluster(tool)) return false;
    tool->ndb = ndb_open(tool->connection, tool->database);
    if (tool->ndb == NULL) {
        ndb_connection_error(tool->connection, &error);
        tool_print_error(&error);
        return false;
    }
    return true;
}
