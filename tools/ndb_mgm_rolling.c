/* ndb_mgm_rolling.c -- ROLLING RESTART: the data nodes one after the other, so that the cluster
 * goes on. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Everything that has to be known stands in the cluster itself: whether a node has been restarted
 * is seen by its dynamic id, which a node gets anew whenever it joins. So nothing is lost with the
 * management server, or with this process: what is left is named, and the command takes it.
 */
#include "tools/ndb_mgm_execute.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/ndb_mgm_wait.h"

#define LOOK_MS  100u
#define AWAY_MAX 300u /* Seconds without contact until a node, or all servers, count as gone. */
#define GRACE_S  3u   /* A node that has just ended may be back in a moment. */
/* So often it is said that a node is away, and where the reason may be found. */
#define AWAY_S    15u
#define HANGING_S 5u /* An order whose server was lost has had no effect after so long. */

enum wait { WAIT_DONE, WAIT_AGAIN, WAIT_FAILED, WAIT_INTERRUPTED };

struct rolling {
    struct console *console;
    struct ndb_mgm_cluster_state *state;
    uint32_t flags;
    uint32_t plan[NDB_MGM_NODES_MAX];
    uint32_t count;
    uint32_t done;
    double begin;
    char told[96]; /* The last line about a node. */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void pause_ms(uint32_t ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

    (void)nanosleep(&pause, NULL);
}

static const struct ndb_mgm_node_state *find(const struct ndb_mgm_cluster_state *state, uint32_t id)
{
    for (uint32_t i = 0; i < state->count; i++) {
        if (state->nodes[i].node_id == id) return &state->nodes[i];
    }
    return NULL;
}

/* A data node that is not started, NULL = all are. */
static const struct ndb_mgm_node_state *not_started(const struct ndb_mgm_cluster_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        const struct ndb_mgm_node_state *node = &state->nodes[i];
        if (node->type == NDB_MGM_NODE_NDB && node->status != NDB_MGM_STATUS_STARTED) return node;
    }
    return NULL;
}

/* Lost management servers come back, or there are others: until AWAY_MAX any of them will do. */
static int connect_again(struct rolling *rolling)
{
    ndb_mgm_handle_t *handle = rolling->console->handle;
    double begin = now_s();

    if (ndb_mgm_is_connected(handle)) return -1; /* Another error than a lost connection. */
    (void)fprintf(rolling->console->out, "No management server answers: waiting for one\n");
    (void)fflush(rolling->console->out);
    while (ndb_mgm_connect(handle, 0, 0) != 0) {
        if (interrupted || now_s() - begin > AWAY_MAX) return -1;
        pause_ms(500);
    }
    (void)fprintf(rolling->console->out, "Connected to management server at %s port %u again\n",
                  ndb_mgm_connected_host(handle), ndb_mgm_connected_port(handle));
    return 0;
}

static int look(struct rolling *rolling)
{
    while (ndb_mgm_get_status(rolling->console->handle, rolling->state) != 0) {
        if (connect_again(rolling) != 0) return -1;
    }
    return 0;
}

/* One line per change. */
static void tell(struct rolling *rolling, const struct ndb_mgm_node_state *node, const char *why)
{
    char text[96];
    char left[32] = "";
    const char *status = ndb_mgm_status_text(node->status);
    bool reading = node->start_percent > 0 && node->start_percent < 100;

    if (node->status != NDB_MGM_STATUS_STARTING)
        (void)snprintf(text, sizeof(text), "%sNode %u: %s", why, node->node_id, status);
    else if (reading)
        (void)snprintf(text, sizeof(text), "%sNode %u: %s, phase %u, %u%% of the data read back",
                       why, node->node_id, status, node->start_phase,
                       node->start_percent / 10 * 10);
    else
        (void)snprintf(text, sizeof(text), "%sNode %u: %s, phase %u", why, node->node_id, status,
                       node->start_phase);
    if (strcmp(text, rolling->told) == 0) return;
    memcpy(rolling->told, text, sizeof(text));
    if (reading && node->status == NDB_MGM_STATUS_STARTING && node->start_left_s != 0)
        (void)snprintf(left, sizeof(left), ", %u s left", node->start_left_s);
    (void)fprintf(rolling->console->out, "%s%s\n", text, left);
    (void)fflush(rolling->console->out);
}

/* Nothing comes from it. */
static bool is_away(const struct ndb_mgm_node_state *node)
{
    return node->status == NDB_MGM_STATUS_NO_CONTACT || node->status == NDB_MGM_STATUS_NO_ANSWER;
}

/* Is a restart in turn refused for what has changed in the configuration? Who is new in it, or has
 * begun with it, has no place before all are restarted. The handle has the reason then. */
static bool needs_all(const struct rolling *rolling)
{
    ndb_mgm_handle_t *handle = rolling->console->handle;

    return ndb_mgm_check_restart(handle, rolling->flags) != 0 &&
           ndb_mgm_error_code(handle) == NDB_MGM_RESTART_FAILED;
}

/* For the reason that needs_all() has found. */
static int refuse_changed(struct rolling *rolling)
{
    (void)fprintf(rolling->console->out, "Rolling restart refused: %s\n",
                  ndb_mgm_error_text(rolling->console->handle));
    return NDB_MGM_RESTART_FAILED;
}

static int refuse(struct rolling *rolling, const struct ndb_mgm_node_state *node)
{
    FILE *out = rolling->console->out;

    if (node->status != NDB_MGM_STATUS_SINGLEUSER && needs_all(rolling))
        return refuse_changed(rolling);
    (void)fprintf(out, "Rolling restart refused: ");
    if (node->status == NDB_MGM_STATUS_SINGLEUSER)
        (void)fprintf(out, "nobody comes back in single user mode. EXIT SINGLE USER MODE first.\n");
    else if (node->status == NDB_MGM_STATUS_NOT_STARTED)
        (void)fprintf(out,
                      "node %u is not started, and another one must not be missing. It waits for: "
                      "%u START\n",
                      node->node_id, node->node_id);
    else if (node->status == NDB_MGM_STATUS_NO_ANSWER)
        (void)fprintf(out,
                      "node %u does not answer, and another one must not be missing. End its "
                      "process when it does not go on\n",
                      node->node_id);
    else
        (void)fprintf(out,
                      "node %u is not connected, and another one must not be missing. Start ndbmtd "
                      "--ndb-nodeid=%u on %s\n",
                      node->node_id, node->node_id,
                      node->host[0] != '\0' ? node->host : "its host");
    return NDB_MGM_RESTART_FAILED;
}

/* Until all data nodes are started: one that is on its way is waited for, others are not. -1: no
 * server answers, or Ctrl-C. */
static int all_are_there(struct rolling *rolling)
{
    double away = now_s();
    double asked = 0;

    for (;;) {
        if (look(rolling) != 0) return -1;
        const struct ndb_mgm_node_state *node = not_started(rolling->state);
        if (node == NULL) return 0;
        bool comes = node->status != NDB_MGM_STATUS_SINGLEUSER &&
                     node->status != NDB_MGM_STATUS_NOT_STARTED && !is_away(node);
        if (comes) away = now_s();
        if (interrupted) return -1;
        if (now_s() - away > GRACE_S || node->status == NDB_MGM_STATUS_SINGLEUSER)
            return refuse(rolling, node);
        if (comes && now_s() - asked > 1) {
            if (needs_all(rolling)) return refuse_changed(rolling);
            asked = now_s();
        }
        if (comes) tell(rolling, node, "Waiting for ");
        pause_ms(LOOK_MS);
    }
}

/* The order: by ids, but the president is the last, so that its place is handed over once. Only
 * those of `nodes`, if there are any. The id of one that is no data node, or 0. */
static uint32_t make_plan(struct rolling *rolling, const uint32_t *nodes, uint32_t count)
{
    uint32_t president = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct ndb_mgm_node_state *node = find(rolling->state, nodes[i]);
        if (node == NULL || node->type != NDB_MGM_NODE_NDB) return nodes[i];
    }
    for (uint32_t i = 0; i < rolling->state->count; i++) {
        const struct ndb_mgm_node_state *node = &rolling->state->nodes[i];
        bool wanted = count == 0;
        for (uint32_t j = 0; j < count; j++)
            wanted |= nodes[j] == node->node_id;
        if (node->type != NDB_MGM_NODE_NDB || !wanted) continue;
        if (node->president && president == 0)
            president = node->node_id;
        else
            rolling->plan[rolling->count++] = node->node_id;
    }
    if (president != 0) rolling->plan[rolling->count++] = president;
    return 0;
}

/* Until all data nodes are started again, and this one has joined anew. `sure`: the server has said
 * that it went down. */
static enum wait wait_for(struct rolling *rolling, uint32_t id, uint32_t dynamic_id, bool sure)
{
    double seen = now_s();
    double same = seen;
    double said = AWAY_S;

    for (;;) {
        if (look(rolling) != 0) return interrupted ? WAIT_INTERRUPTED : WAIT_FAILED;
        const struct ndb_mgm_node_state *own = find(rolling->state, id);
        const struct ndb_mgm_node_state *missing = not_started(rolling->state);
        if (own == NULL) return WAIT_FAILED;
        bool again = own->status == NDB_MGM_STATUS_STARTED && own->dynamic_id == dynamic_id;
        if (own->status != NDB_MGM_STATUS_STARTED) missing = own;
        if (missing == NULL && !again) return WAIT_DONE;
        if (!again) same = now_s();
        if (again && !sure && now_s() - same > HANGING_S) return WAIT_AGAIN;
        if (missing != NULL) tell(rolling, missing, missing == own ? "" : "Waiting for ");
        if (missing == NULL || !is_away(missing)) {
            seen = now_s();
            said = AWAY_S;
        } else if (now_s() - seen > said) {
            (void)fprintf(rolling->console->out,
                          "Node %u: away for %.0f s; if it fails, its log and the cluster log say "
                          "why\n",
                          missing->node_id, said);
            (void)fflush(rolling->console->out);
            said += AWAY_S;
        }
        if (interrupted) return WAIT_INTERRUPTED;
        if (now_s() - seen > AWAY_MAX) {
            (void)fprintf(rolling->console->out, "Node %u does not come back: see its log\n",
                          missing->node_id);
            return WAIT_FAILED;
        }
        pause_ms(LOOK_MS);
    }
}

static enum wait restart_one(struct rolling *rolling, uint32_t id)
{
    const struct ndb_mgm_node_state *node = find(rolling->state, id);
    uint32_t dynamic_id = node == NULL ? 0 : node->dynamic_id;
    enum wait result;

    do {
        bool sure = ndb_mgm_restart(rolling->console->handle, &id, 1, rolling->flags, NULL) >= 0;
        if (!sure && ndb_mgm_is_connected(rolling->console->handle)) return WAIT_FAILED;
        result = wait_for(rolling, id, dynamic_id, sure);
    } while (result == WAIT_AGAIN);
    return result;
}

static void tell_done(struct rolling *rolling, uint32_t id, double begin)
{
    FILE *out = rolling->console->out;
    double now = now_s();

    rolling->done++;
    (void)fprintf(out, "Node %u has been restarted in %.1f s", id, now - begin);
    if (rolling->done < rolling->count)
        (void)fprintf(out, "; %u of %u (%u%%), about %.0f s for the others", rolling->done,
                      rolling->count, rolling->done * 100 / rolling->count,
                      (now - rolling->begin) / rolling->done * (rolling->count - rolling->done));
    (void)fprintf(out, "\n");
    (void)fflush(out);
}

/* How to do the rest. After Ctrl-C the node that is under way comes back by itself. */
static void tell_rest(struct rolling *rolling, uint32_t first)
{
    FILE *out = rolling->console->out;

    if (first >= rolling->count) return;
    (void)fprintf(out, "To go on: ROLLING RESTART%s",
                  (rolling->flags & NDB_MGM_FLAG_INITIAL) != 0 ? " -i" : "");
    for (uint32_t i = first; i < rolling->count; i++)
        (void)fprintf(out, " %u", rolling->plan[i]);
    (void)fprintf(out, "\n");
}

static int roll(struct rolling *rolling)
{
    FILE *out = rolling->console->out;
    enum wait result = WAIT_DONE;

    rolling->begin = now_s();
    while (rolling->done < rolling->count) {
        uint32_t id = rolling->plan[rolling->done];
        double begin = now_s();
        if (interrupted) break;
        (void)fprintf(out, "Node %u is being restarted (%u of %u)\n", id, rolling->done + 1,
                      rolling->count);
        (void)fflush(out);
        result = restart_one(rolling, id);
        if (result != WAIT_DONE) break;
        tell_done(rolling, id, begin);
    }
    if (rolling->done == rolling->count) {
        (void)fprintf(out, "All %u data nodes have been restarted, in %.1f s\n", rolling->count,
                      now_s() - rolling->begin);
        return 0;
    }
    if (result == WAIT_FAILED) {
        (void)fprintf(out, "Rolling restart stopped at node %u; %u of %u are done\n",
                      rolling->plan[rolling->done], rolling->done, rolling->count);
        tell_rest(rolling, rolling->done);
        return ndb_mgm_error_code(rolling->console->handle) != 0 ? -1 : NDB_MGM_RESTART_FAILED;
    }
    (void)fprintf(out, "Interrupted: %u of %u are done", rolling->done, rolling->count);
    if (result == WAIT_INTERRUPTED)
        (void)fprintf(out, "; node %u is being restarted, and comes back by itself unless it fails",
                      rolling->plan[rolling->done]);
    (void)fprintf(out, "\n");
    tell_rest(rolling, rolling->done + (result == WAIT_INTERRUPTED));
    return CONSOLE_INTERRUPTED;
}

static int prepare_and_roll(struct rolling *rolling, const uint32_t *nodes, uint32_t count)
{
    int rc = all_are_there(rolling);

    if (rc != 0 && interrupted) {
        (void)fprintf(rolling->console->out, "Interrupted: no node has been restarted\n");
        return CONSOLE_INTERRUPTED;
    }
    if (rc != 0) return rc;
    if (ndb_mgm_check_restart(rolling->console->handle, rolling->flags) != 0) {
        (void)fprintf(rolling->console->out, "Rolling restart refused: %s\n",
                      ndb_mgm_error_text(rolling->console->handle));
        return NDB_MGM_RESTART_FAILED;
    }
    uint32_t wrong = make_plan(rolling, nodes, count);
    if (wrong != 0) {
        (void)fprintf(rolling->console->out,
                      find(rolling->state, wrong) == NULL
                          ? "Rolling restart refused: there is no node %u\n"
                          : "Rolling restart refused: node %u is not a data node\n",
                      wrong);
        return NDB_MGM_RESTART_FAILED;
    }
    return roll(rolling);
}

int console_rolling_restart(struct console *console, const uint32_t *nodes, uint32_t count,
                            uint32_t flags)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    struct rolling rolling = {.console = console, .state = state, .flags = flags};
    struct sigaction ours = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;

    if (state == NULL) return NDB_MGM_OUT_OF_MEMORY;
    interrupted = 0;
    (void)sigaction(SIGINT, &ours, &before); /* A second Ctrl-C ends the console. */
    int rc = prepare_and_roll(&rolling, nodes, count);
    (void)sigaction(SIGINT, &before, NULL);
    free(state);
    if (interrupted) console_interrupt(); /* It may have come too late for this command. */
    return rc;
}
