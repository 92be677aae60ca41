/* ndb_waiter.c -- waits until the data nodes are in a state: started, not started, no contact. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ndb/mgm.h"
#include "tools/tool_json.h"
#include "service/reach_cluster.h"
#include "service/wait_told.h"

#define POLL_MS       50 /* Pause between two looks at the cluster. */
#define CALL_MS_MIN   300u
#define TIMEOUT_S_MAX 1000000u

struct settings {
    struct tool tool;
    enum ndb_mgm_node_status wanted;
    uint32_t timeout_s;
    uint32_t verbose;
    bool waited[NDB_MGM_NODES_MAX + 1];   /* --wait-nodes */
    bool left_out[NDB_MGM_NODES_MAX + 1]; /* --nowait-nodes */
    bool has_waited, has_left_out;
};

enum { KEY_NOT_STARTED = TOOL_KEY_OWN, KEY_SINGLE_USER, KEY_NOWAIT };

static const struct argp_option options[] = {
    {"no-contact", 'n', NULL, 0, "wait until no data node is in contact", 0},
    {"not-started", KEY_NOT_STARTED, NULL, 0, "wait until they wait for START", 0},
    {"single-user", KEY_SINGLE_USER, NULL, 0, "wait for single user mode", 0},
    {"timeout", 't', "SECONDS", 0, "longest wait, that for a management server included (120)", 0},
    {"wait-nodes", 'w', "ID,...", 0, "wait for these nodes only", 0},
    {"nowait-nodes", KEY_NOWAIT, "ID,...", 0, "wait for all but these nodes", 0},
    {"verbose", 'v', "0|1|2", 0, "how much to print (1)", 0},
    {0},
};

static void read_nodes(char *list, bool *nodes, const char *option, struct argp_state *state)
{
    char *rest = NULL;

    for (char *one = strtok_r(list, ", ", &rest); one != NULL; one = strtok_r(NULL, ", ", &rest))
        nodes[tool_number(one, 1, NDB_MGM_NODES_MAX, option, state)] = true;
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case 'n':
        settings->wanted = NDB_MGM_STATUS_NO_CONTACT;
        return 0;
    case KEY_NOT_STARTED:
        settings->wanted = NDB_MGM_STATUS_NOT_STARTED;
        return 0;
    case KEY_SINGLE_USER:
        settings->wanted = NDB_MGM_STATUS_SINGLEUSER;
        return 0;
    case 't':
        settings->timeout_s = (uint32_t)tool_number(argument, 0, TIMEOUT_S_MAX, "--timeout", state);
        return 0;
    case 'w':
        settings->has_waited = true;
        read_nodes(argument, settings->waited, "--wait-nodes", state);
        return 0;
    case KEY_NOWAIT:
        settings->has_left_out = true;
        read_nodes(argument, settings->left_out, "--nowait-nodes", state);
        return 0;
    case 'v':
        settings->verbose = (uint32_t)tool_number(argument, 0, 2, "--verbose", state);
        return 0;
    case ARGP_KEY_END:
        if (settings->has_waited && settings->has_left_out)
            argp_error(state, "--wait-nodes and --nowait-nodes exclude each other");
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_waited_for(const struct settings *settings, const struct ndb_mgm_node_state *node)
{
    if (node->type != NDB_MGM_NODE_NDB || node->node_id > NDB_MGM_NODES_MAX) return false;
    if (settings->has_waited) return settings->waited[node->node_id];
    return !settings->left_out[node->node_id];
}

static bool is_data_node(const struct ndb_mgm_cluster_state *cluster, uint32_t id)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->nodes[i].node_id == id) return cluster->nodes[i].type == NDB_MGM_NODE_NDB;
    }
    return false;
}

/* The first of these nodes behind `before` that the cluster does not have, 0: it has all. */
static uint32_t find_unknown(const struct ndb_mgm_cluster_state *cluster, const bool *nodes,
                             uint32_t before)
{
    for (uint32_t id = before + 1; id <= NDB_MGM_NODES_MAX; id++) {
        if (nodes[id] && !is_data_node(cluster, id)) return id;
    }
    return 0;
}

static bool is_any_waited_for(const struct settings *settings,
                              const struct ndb_mgm_cluster_state *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (is_waited_for(settings, &cluster->nodes[i])) return true;
    }
    return false;
}

/* Prints what has changed since the last look and tells whether all are as wanted. */
static bool look(const struct settings *settings, const struct ndb_mgm_cluster_state *cluster,
                 enum ndb_mgm_node_status *last)
{
    bool all = true;
    bool print = settings->verbose > 0 && settings->tool.format == TOOL_TEXT;

    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct ndb_mgm_node_state *node = &cluster->nodes[i];
        if (!is_waited_for(settings, node)) continue;
        bool done = node->status == settings->wanted;
        if (print && last[node->node_id] != node->status) {
            printf("Node %u: %s", node->node_id, ndb_mgm_status_name(node->status));
            if (!done) printf(" (waiting for %s)", ndb_mgm_status_name(settings->wanted));
            (void)putchar('\n');
            (void)fflush(stdout);
        }
        last[node->node_id] = node->status;
        all = all && done;
    }
    return all;
}

static void print_clock(const struct settings *settings)
{
    char text[16];
    struct tm parts;
    time_t now = time(NULL);

    if (settings->verbose < 2 || settings->tool.format != TOOL_TEXT) return;
    (void)strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&now, &parts));
    printf("[%s] Waiting for cluster enter state %s\n", text,
           ndb_mgm_status_name(settings->wanted));
    (void)fflush(stdout);
}

static void print_json(const struct tool *tool, const struct ndb_mgm_cluster_state *cluster,
                       bool reached)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *nodes = cJSON_AddArrayToObject(object, "nodes");

    cJSON_AddBoolToObject(object, "reached", reached);
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->nodes[i].type != NDB_MGM_NODE_NDB) continue;
        cJSON *node = cJSON_CreateObject();
        cJSON_AddNumberToObject(node, "id", cluster->nodes[i].node_id);
        cJSON_AddStringToObject(node, "status", ndb_mgm_status_name(cluster->nodes[i].status));
        cJSON_AddItemToArray(nodes, node);
    }
    tool_json_end(tool, object);
}

/* The nodes that are not as wanted, behind what has just been printed on standard error. */
static void print_others(const struct settings *settings,
                         const struct ndb_mgm_cluster_state *cluster)
{
    const char *before = ": ";

    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct ndb_mgm_node_state *node = &cluster->nodes[i];
        if (!is_waited_for(settings, node) || node->status == settings->wanted) continue;
        (void)fprintf(stderr, "%snode %u is %s", before, node->node_id,
                      ndb_mgm_status_name(node->status));
        before = ", ";
    }
}

static void print_not_reached(const struct settings *settings, ndb_mgm_handle_t *mgm,
                              const struct ndb_mgm_cluster_state *cluster)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "Not all nodes are %s after %u s", ndb_mgm_status_name(settings->wanted),
                  settings->timeout_s);
    if (ndb_mgm_is_connected(mgm))
        print_others(settings, cluster);
    else
        (void)fprintf(stderr, ": no management server: %s", ndb_mgm_error_text(mgm));
    (void)fputc('\n', stderr);
}

/* Asks for the nodes' states; a lost connection is made again. False: no answer. */
static bool ask(ndb_mgm_handle_t *mgm, struct ndb_mgm_cluster_state *cluster, uint64_t end_ms,
                struct wait_told *wait)
{
    uint64_t now = now_ms();
    uint64_t left = end_ms > now + CALL_MS_MIN ? end_ms - now : CALL_MS_MIN;

    if (ndb_mgm_is_connected(mgm) || reach_server(mgm, end_ms) == 0) {
        ndb_mgm_set_timeout(mgm, left < REACH_CALL_MS ? (uint32_t)left : REACH_CALL_MS);
        if (ndb_mgm_get_status(mgm, cluster) == 0) {
            wait_told_for(wait, "%s", "");
            return true;
        }
    }
    wait_told_for(wait, "a management server: %s", ndb_mgm_error_text(mgm));
    return false;
}

/* Waits until `end_ms`. */
static int wait_for_state(const struct settings *settings, ndb_mgm_handle_t *mgm, uint64_t end_ms)
{
    static struct ndb_mgm_cluster_state cluster;
    enum ndb_mgm_node_status last[NDB_MGM_NODES_MAX + 1] = {0};
    struct wait_told *wait = wait_told_begin(settings->tool.name);
    uint64_t clock_ms = 0;
    bool reached = false;
    uint32_t unknown = 0;
    bool none = false;
    const bool *asked = settings->has_waited ? settings->waited : settings->left_out;

    for (;;) {
        bool answered = ask(mgm, &cluster, end_ms, wait);
        if (answered) {
            unknown = find_unknown(&cluster, asked, 0);
            none = !is_any_waited_for(settings, &cluster);
        }
        if (unknown != 0 || none) break;
        reached = answered && look(settings, &cluster, last);
        if (reached || now_ms() >= end_ms) break;
        if (now_ms() >= clock_ms) {
            print_clock(settings);
            clock_ms = now_ms() + 1000;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
    wait_told_end(wait);
    if (unknown != 0) {
        (void)fprintf(stderr, "%s: --%s-nodes: there is no data node %u\n", settings->tool.name,
                      settings->has_waited ? "wait" : "nowait", unknown);
        return TOOL_FAILED;
    }
    if (none) {
        (void)fprintf(stderr, "%s: --%s-nodes: no data node is left to wait for\n",
                      settings->tool.name, settings->has_waited ? "wait" : "nowait");
        return TOOL_FAILED;
    }
    if (settings->tool.format == TOOL_JSON) print_json(&settings->tool, &cluster, reached);
    if (!reached) print_not_reached(settings, mgm, &cluster);
    return reached ? TOOL_OK : TOOL_FAILED;
}

static int run(void *context, ndb_mgm_handle_t *mgm)
{
    const struct settings *settings = context;
    uint64_t limit_ms = (uint64_t)settings->timeout_s * 1000;
    uint64_t end_ms = now_ms() + limit_ms;

    if (settings->verbose > 0 && settings->tool.format == TOOL_TEXT) {
        printf("Connecting to management server at %s\n", tool_servers(&settings->tool));
        (void)fflush(stdout);
    }
    if (!tool_connect_mgm(&settings->tool, mgm, (uint32_t)limit_ms)) return TOOL_NOT_CONNECTED;
    return wait_for_state(settings, mgm, end_ms);
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "ndb_waiter",
        .doc = "Waits until all data nodes are started, or in the state that an option names.",
        .options = options,
        .option = read_option,
        .ask = run};
    struct settings settings = {.wanted = NDB_MGM_STATUS_STARTED, .timeout_s = 120, .verbose = 1};

    return tool_main(&program, &settings, argc, argv);
}
