/* tool_connect.c -- how client tools connect, and tell meanwhile what they wait for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/tool_common.h"
#include "service/reach_cluster.h"
#include "service/wait_told.h"
#include "values/errors.h"

#define CONNECT_MS_MIN 1000u
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
    while (reach_server(handle, end_ms) != 0) {
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
    const char *why = reach_why_no_node(tool->connection, &error);

    (void)fprintf(stderr,
                  "Cluster nodes not ready in %u seconds%s%s.\n"
                  "%s'ndb_mgm -e SHOW' tells what they do.\n",
                  TOOL_READY_MS / 1000, why[0] != '\0' ? ": " : "", why,
                  why[0] != '\0' ? "" : "Start them; ");
}

static bool reach(struct tool *tool)
{
    const struct reach_limits limits = {.servers_ms = connect_limit_ms(tool),
                                        .nodes_ms = TOOL_READY_MS};
    struct wait_told *wait = wait_told_begin(tool->name);
    enum reached reached = reach_cluster(tool->connection, tool->connect_string, &limits, wait);

    wait_told_end(wait);
    if (reached == REACHED_NO_SERVER) print_not_connected(tool);
    if (reached == REACHED_NO_NODE) print_not_ready(tool);
    return reached == REACHED;
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
    if (!reach(tool)) return false;
    tool->ndb = ndb_open(tool->connection, tool->database);
    if (tool->ndb == NULL) {
        ndb_connection_error(tool->connection, &error);
        tool_print_error(&error);
        return false;
    }
    return true;
}
