/* mgm_orders.c -- orders that management servers give to nodes: start, stop, restart, and others. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "config/mgm_handle.h"

static int list_nodes(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count, char *text,
                      size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    if (nodes == NULL && count > 0)
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "A count without its numbers");
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%u", i == 0 ? "" : ",", nodes[i]);
        if (used + 12 > size)
            return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "Too many nodes are named");
    }
    return 0;
}

static uint64_t long_wait(const ndb_mgm_handle_t *handle)
{
    return mgm_wait(handle) * MGM_STOP_FACTOR;
}

int ndb_mgm_start(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count)
{
    char list[1000];

    if (list_nodes(handle, nodes, count, list, sizeof(list)) != 0) return -1;
    int rc = count == 0 ? mgm_call(handle, mgm_wait(handle), "start all")
                        : mgm_call(handle, mgm_wait(handle), "start\nnode: %s", list);
    return rc != 0 ? -1 : (int)mgm_reply_number(handle, "started", 0);
}

int ndb_mgm_stop(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count, uint32_t flags,
                 int *disconnect)
{
    char list[1000];

    if (disconnect != NULL) *disconnect = 0;
    if (list_nodes(handle, nodes, count, list, sizeof(list)) != 0) return -1;
    if (mgm_call(handle, long_wait(handle), "%s%s%s\nabort: %d\nforce: %d\nstop: db",
                 count == 0 ? "stop all" : "stop", count == 0 ? "" : "\nnode: ", list,
                 (flags & NDB_MGM_FLAG_ABORT) != 0, (flags & NDB_MGM_FLAG_FORCE) != 0) != 0) {
        return -1;
    }
    if (disconnect != NULL) *disconnect = mgm_reply_number(handle, "disconnect", 0) == 1;
    return (int)mgm_reply_number(handle, "stopped", 0);
}

int ndb_mgm_restart(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count, uint32_t flags,
                    int *disconnect)
{
    char list[1000];

    if (disconnect != NULL) *disconnect = 0;
    if (list_nodes(handle, nodes, count, list, sizeof(list)) != 0) return -1;
    if (mgm_call(handle, long_wait(handle),
                 "%s%s%s\nabort: %d\nforce: %d\nnostart: %d\ninitialstart: %d",
                 count == 0 ? "restart all" : "restart node", count == 0 ? "" : "\nnode: ", list,
                 (flags & NDB_MGM_FLAG_ABORT) != 0, (flags & NDB_MGM_FLAG_FORCE) != 0,
                 (flags & NDB_MGM_FLAG_NOSTART) != 0, (flags & NDB_MGM_FLAG_INITIAL) != 0) != 0) {
        return -1;
    }
    if (disconnect != NULL) *disconnect = mgm_reply_number(handle, "disconnect", 0) == 1;
    return (int)mgm_reply_number(handle, "restarted", 0);
}

int ndb_mgm_check_restart(ndb_mgm_handle_t *handle, uint32_t flags)
{
    return mgm_call(handle, mgm_wait(handle), "check restart\ninitialstart: %d",
                    (flags & NDB_MGM_FLAG_INITIAL) != 0);
}

/* Waits until the server that was stopped has closed the connection. */
static void wait_for_end(ndb_mgm_handle_t *handle)
{
    uint64_t deadline = mgm_now_ms() + 5000;

    while (mgm_receive(handle, deadline) == 0)
        handle->in_used = 0;
    if (handle->socket >= 0) (void)ndb_mgm_disconnect(handle);
    handle->error = 0;
    handle->error_text[0] = '\0';
}

/* Stops one other management server over a connection of its own; one that cannot be reached is
 * down. */
static int stop_server(const ndb_mgm_handle_t *handle, const char *host, uint32_t port)
{
    ndb_mgm_handle_t *other = ndb_mgm_create_handle();
    char address[300];
    int rc = 0;

    if (other == NULL) return 0;
    (void)snprintf(address, sizeof(address), "[%s]:%u", host[0] == '\0' ? "localhost" : host, port);
    other->timeout_ms = handle->timeout_ms;
    if (ndb_mgm_set_connectstring(other, address) == 0 && ndb_mgm_connect(other, 0, 0) == 0) {
        rc = mgm_call(other, other->timeout_ms, "stop all\nstop: mgm") == 0;
        if (rc == 1) wait_for_end(other);
    }
    ndb_mgm_destroy_handle(other);
    return rc;
}

int ndb_mgm_shutdown(ndb_mgm_handle_t *handle)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    uint32_t ports[NDB_MGM_NODES_MAX + 1] = {0};
    int own = ndb_mgm_get_mgmd_nodeid(handle);
    int count = -1;

    if (state == NULL) return mgm_fail(handle, NDB_MGM_OUT_OF_MEMORY, "Out of memory");
    if (own >= 0 && ndb_mgm_get_status(handle, state) == 0) {
        for (uint32_t i = 0; i < state->count; i++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "node.%u.port", state->nodes[i].node_id);
            ports[state->nodes[i].node_id] = (uint32_t)mgm_reply_number(handle, name, 0);
        }
        count = mgm_call(handle, long_wait(handle), "stop all\nstop: db") != 0
                    ? -1
                    : (int)mgm_reply_number(handle, "stopped", 0);
    }
    for (uint32_t i = 0; count >= 0 && i < state->count; i++) {
        const struct ndb_mgm_node_state *node = &state->nodes[i];
        if (node->type != NDB_MGM_NODE_MGM || node->node_id == (uint32_t)own) continue;
        count += stop_server(handle, node->host, ports[node->node_id]);
    }
    if (count >= 0 && mgm_call(handle, mgm_wait(handle), "stop all\nstop: mgm") == 0) {
        count++;
        wait_for_end(handle);
    }
    free(state);
    return count;
}

int ndb_mgm_enter_single_user(ndb_mgm_handle_t *handle, uint32_t node_id)
{
    return mgm_call(handle, mgm_wait(handle), "enter single user\nnodeId: %u", node_id);
}

int ndb_mgm_exit_single_user(ndb_mgm_handle_t *handle)
{
    return mgm_call(handle, mgm_wait(handle), "exit single user");
}

int ndb_mgm_purge_stale_sessions(ndb_mgm_handle_t *handle, char *list, size_t size)
{
    if (list == NULL && size > 0)
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "No place for the list");
    if (mgm_call(handle, mgm_wait(handle), "purge stale sessions") != 0) return -1;
    const char *purged = mgm_value(&handle->reply, "purged");
    (void)snprintf(list, size, "%s", purged == NULL ? "" : purged);
    return 0;
}

int ndb_mgm_report_stop(ndb_mgm_handle_t *handle, uint32_t node_id, uint32_t action,
                        uint32_t signal_number, uint32_t exit_code, uint32_t start_phase,
                        const char *text)
{
    if (!mgm_is_line(handle, "text", text)) return -1;
    return mgm_call(handle, mgm_wait(handle),
                    "report stop\nnode: %u\naction: %u\nsignal: %u\nerror: %u\nstartphase: %u\n"
                    "text: %s",
                    node_id, action, signal_number, exit_code, start_phase, text);
}

int ndb_mgm_claim_cluster(ndb_mgm_handle_t *handle, uint32_t node_id, uint64_t cluster_id)
{
    return mgm_call(handle, mgm_wait(handle), "claim cluster\nnode: %u\ncluster: %llu", node_id,
                    (unsigned long long)cluster_id);
}

int ndb_mgm_dump_state(ndb_mgm_handle_t *handle, uint32_t node_id, const uint32_t *args,
                       uint32_t count)
{
    char list[400];

    if (count == 0 || count > 24) {
        return mgm_fail(handle, NDB_MGM_USAGE_ERROR, "DUMP takes 1..24 numbers");
    }
    if (list_nodes(handle, args, count, list, sizeof(list)) != 0) return -1;
    return mgm_call(handle, mgm_wait(handle), "dump state\nnode: %u\nargs: %s", node_id, list);
}
