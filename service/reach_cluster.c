/* reach_cluster.c -- connects a program to a cluster, and tells meanwhile what is waited for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/reach_cluster.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "service/wait_told.h"
#include "values/errors.h"

#define GRACE_MS 2000u /* Longest wait for the rest, when the first data node is ready. */
#define SLICE_MS 300u  /* One call; then the reason is looked at. */
#define LOOK_MS  1000u /* Time between two looks at what the data nodes do. */

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int reach_server(ndb_mgm_handle_t *handle, uint64_t end_ms)
{
    uint32_t count = ndb_mgm_address_count(handle);
    uint64_t now = now_ms();
    uint64_t left = end_ms > now && count > 0 ? (end_ms - now) / count : 0;

    if (left < SLICE_MS) left = SLICE_MS;
    ndb_mgm_set_timeout(handle, left < REACH_CALL_MS ? (uint32_t)left : REACH_CALL_MS);
    int rc = ndb_mgm_connect(handle, 0, 0);
    ndb_mgm_set_timeout(handle, REACH_CALL_MS);
    return rc;
}

/* One attempt, and what it is about. */
struct reach {
    struct ndb_cluster_connection *connection;
    const char *servers; /* As the user has named them. */
    struct wait_told *wait;
};

static int connect_in(const struct reach *reach, uint32_t limit_ms)
{
    uint64_t end_ms = limit_ms == NDB_NO_TIMEOUT ? UINT64_MAX : now_ms() + limit_ms;
    ndb_error_t error;

    while (ndb_connection_connect(reach->connection, SLICE_MS) != 0) {
        ndb_connection_error(reach->connection, &error);
        if (now_ms() >= end_ms) return -1;
        if (error.code == ERR_API_NO_MANAGEMENT)
            wait_told_for(reach->wait, "a management server: %s", error.detail);
        else if (error.code == ERR_NODE_ID_RESERVED)
            wait_told_for(reach->wait, "a node id from the management server at %s: %s",
                          reach->servers, error.detail);
        else
            return -1;
    }
    return 0;
}

/* " (node 1: STARTING, node 2: NO_CONTACT)", as far as somebody knows it. */
static void describe_nodes(ndb_mgm_handle_t *mgm, char *text, size_t size)
{
    struct ndb_mgm_cluster_state cluster;
    size_t used = 0;

    text[0] = '\0';
    if (mgm == NULL) return;
    if (!ndb_mgm_is_connected(mgm) && reach_server(mgm, now_ms() + SLICE_MS) != 0) return;
    if (ndb_mgm_get_status(mgm, &cluster) != 0) return;
    for (uint32_t i = 0; i < cluster.count && used < size; i++) {
        const struct ndb_mgm_node_state *node = &cluster.nodes[i];
        if (node->type != NDB_MGM_NODE_NDB) continue;
        used += (size_t)snprintf(text + used, size - used, "%snode %u: %s", used == 0 ? " (" : ", ",
                                 node->node_id, ndb_mgm_status_name(node->status));
    }
    if (used > 0 && used < size) (void)snprintf(text + used, size - used, ")");
}

const char *reach_why_no_node(struct ndb_cluster_connection *connection, ndb_error_t *error)
{
    ndb_connection_error(connection, error);
    const char *why = strstr(error->detail, "; ");
    return why != NULL ? why + 2 : "";
}

static void tell_no_node(const struct reach *reach, ndb_mgm_handle_t *mgm)
{
    char nodes[400];
    ndb_error_t error;
    const char *why = reach_why_no_node(reach->connection, &error);

    describe_nodes(mgm, nodes, sizeof(nodes));
    wait_told_for(reach->wait, "a data node of the cluster at %s: none of %u is ready%s%s%s",
                  reach->servers, ndb_connection_data_nodes(reach->connection), nodes,
                  why[0] != '\0' ? "; " : "", why);
}

/* One ready node is enough to work with; the others are given a short time to follow. */
static int wait_for_nodes(const struct reach *reach, uint32_t limit_ms, ndb_mgm_handle_t *mgm)
{
    uint64_t begin_ms = now_ms();
    uint64_t look_ms = begin_ms + LOOK_MS / 2; /* In time for what is told after a second. */

    wait_told_for(reach->wait, "a data node of the cluster at %s: none of %u is ready",
                  reach->servers, ndb_connection_data_nodes(reach->connection));
    do {
        int missing = ndb_connection_wait_until_ready(reach->connection, SLICE_MS);
        if (missing > 0) {
            wait_told_for(reach->wait, "%s", "");
            (void)ndb_connection_wait_until_ready(reach->connection, GRACE_MS);
        }
        if (missing >= 0) return 0;
        if (reach->wait == NULL || now_ms() < look_ms) continue;
        tell_no_node(reach, mgm);
        look_ms = now_ms() + LOOK_MS;
    } while (limit_ms == NDB_NO_TIMEOUT || now_ms() - begin_ms < limit_ms);
    return -1;
}

enum reached reach_cluster(struct ndb_cluster_connection *connection, const char *connect_string,
                           const struct reach_limits *limits, struct wait_told *wait)
{
    const struct reach reach = {
        .connection = connection, .servers = wait_told_servers(connect_string), .wait = wait};

    wait_told_for_servers(wait, connect_string);
    if (connect_in(&reach, limits->servers_ms) != 0) return REACHED_NO_SERVER;
    ndb_mgm_handle_t *mgm = ndb_mgm_create_handle();
    if (mgm != NULL) (void)ndb_mgm_set_connectstring(mgm, connect_string);
    int rc = wait_for_nodes(&reach, limits->nodes_ms, mgm);
    ndb_mgm_destroy_handle(mgm);
    return rc == 0 ? REACHED : REACHED_NO_NODE;
}
