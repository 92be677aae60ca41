/* ndb_mgm_rolling.c -- ROLLING RESTART: the data nodes one after the other, so that the cluster
 * goes on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_execute.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/ndb_mgm_print.h"

#define LOOK_MS  100u
#define AWAY_MAX 300u /* Seconds without contact until the node counts as not coming back. */

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static const struct ndb_mgm_node_state *find(const struct ndb_mgm_cluster_state *state, uint32_t id)
{
    for (uint32_t i = 0; i < state->count; i++) {
        if (state->nodes[i].node_id == id) return &state->nodes[i];
    }
    return NULL;
}

/* A data node that is not started, 0 = all are. */
static uint32_t not_started(const struct ndb_mgm_cluster_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        const struct ndb_mgm_node_state *node = &state->nodes[i];
        if (node->type == NDB_MGM_NODE_NDB && node->status != NDB_MGM_STATUS_STARTED)
            return node->node_id;
    }
    return 0;
}

/* The order: by ids, but the president is the last, so that its place is handed over once. */
static uint32_t make_plan(const struct ndb_mgm_cluster_state *state, uint32_t *plan)
{
    uint32_t count = 0;
    uint32_t president = 0;

    for (uint32_t i = 0; i < state->count; i++) {
        const struct ndb_mgm_node_state *node = &state->nodes[i];
        if (node->type != NDB_MGM_NODE_NDB) continue;
        if (node->president && president == 0)
            president = node->node_id;
        else
            plan[count++] = node->node_id;
    }
    if (president != 0) plan[count++] = president;
    return count;
}

/* One line per change. `told`: of the last one. */
static void tell(struct console *console, const struct ndb_mgm_node_state *node, char told[64])
{
    char text[64];
    const char *status = ndb_mgm_status_text(node->status);

    if (node->status != NDB_MGM_STATUS_STARTING)
        (void)snprintf(text, sizeof(text), "%s", status);
    else if (node->start_percent > 0 && node->start_percent < 100)
        (void)snprintf(text, sizeof(text), "%s, phase %u, %u%%", status, node->start_phase,
                       node->start_percent / 10 * 10);
    else
        (void)snprintf(text, sizeof(text), "%s, phase %u", status, node->start_phase);
    if (strcmp(text, told) == 0) return;
    memcpy(told, text, sizeof(text));
    (void)fprintf(console->out, "Node %u: %s\n", node->node_id, text);
    (void)fflush(console->out);
}

/* Until all data nodes are started again, this one too. */
static int wait_for(struct console *console, struct ndb_mgm_cluster_state *state, uint32_t id)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    char told[64] = "";
    double begin = now_s();
    double seen = begin;

    for (;;) {
        if (ndb_mgm_get_status(console->handle, state) != 0) return -1;
        const struct ndb_mgm_node_state *node = find(state, id);
        if (node == NULL) return -1;
        tell(console, node, told);
        if (node->status != NDB_MGM_STATUS_NO_CONTACT) seen = now_s();
        if (not_started(state) == 0) {
            (void)fprintf(console->out, "Node %u has been restarted in %.1f s\n", id,
                          now_s() - begin);
            return 0;
        }
        if (now_s() - seen > AWAY_MAX) {
            (void)fprintf(console->out, "Node %u does not come back: see its log. ", id);
            return 1;
        }
        (void)nanosleep(&pause, NULL);
    }
}

static int refuse(struct console *console, const struct ndb_mgm_cluster_state *state, uint32_t id)
{
    if (find(state, id)->status == NDB_MGM_STATUS_SINGLEUSER) {
        (void)fprintf(console->out, "Rolling restart refused: nobody comes back in single user "
                                    "mode. EXIT SINGLE USER MODE first.\n");
        return NDB_MGM_RESTART_FAILED;
    }
    (void)fprintf(console->out,
                  "Rolling restart refused: node %u is not started, and another one must not be "
                  "missing. Wait until it is, or start it.\n",
                  id);
    return NDB_MGM_RESTART_FAILED;
}

static int restart_one(struct console *console, struct ndb_mgm_cluster_state *state, uint32_t id,
                       uint32_t flags)
{
    if (ndb_mgm_restart(console->handle, &id, 1, flags, NULL) < 0) return -1;
    return wait_for(console, state, id);
}

int console_rolling_restart(struct console *console, uint32_t flags)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    uint32_t plan[NDB_MGM_NODES_MAX];
    int rc = state == NULL ? -1 : ndb_mgm_get_status(console->handle, state);

    if (rc == 0 && not_started(state) != 0) {
        rc = refuse(console, state, not_started(state));
        free(state);
        return rc;
    }
    if (rc == 0 && ndb_mgm_check_restart(console->handle, flags) != 0) {
        (void)fprintf(console->out, "Rolling restart refused: %s\n",
                      ndb_mgm_error_text(console->handle));
        free(state);
        return NDB_MGM_RESTART_FAILED;
    }
    uint32_t count = rc == 0 ? make_plan(state, plan) : 0;
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        (void)fprintf(console->out, "Node %u is being restarted (%u of %u)\n", plan[i], i + 1,
                      count);
        (void)fflush(console->out);
        rc = restart_one(console, state, plan[i], flags);
        if (rc != 0) {
            (void)fprintf(console->out, "Rolling restart stopped at node %u; %u of %u are done\n",
                          plan[i], i, count);
        }
    }
    free(state);
    if (rc == 0) (void)fprintf(console->out, "All %u data nodes have been restarted\n", count);
    return rc;
}
