/* port_finder.c -- tells the management server our port, and asks it for the ports of the nodes we
 * connect to. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "ndbmtd/process.h"

/*
 * A data node listens on its ServerPort, or on any free port, and says so to the management server.
 * Those that connect to it ask there. A restarted node has another port, so asking never ends; it
 * becomes slow when all ports are known, and fast again for a while when a node is lost.
 */
#define ASK_OFTEN_MS   50u
#define ASK_SELDOM_MS  1000u
#define ASK_OFTEN_LOST 100u /* Times: an angel brings its node back within these. */

static bool wait_ms(struct process *process, uint32_t milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += milliseconds / 1000u;
    until.tv_nsec += (long)(milliseconds % 1000u) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&process->port_lock);
    if (!process->port_stop)
        pthread_cond_timedwait(&process->port_changed, &process->port_lock, &until);
    bool stop = process->port_stop;
    pthread_mutex_unlock(&process->port_lock);
    return !stop;
}

/* Tells the server where this node listens, unless it knows: it may have begun anew, or somebody
 * else may have told it something else. */
static int tell_own(struct process *process)
{
    uint32_t own = process->config.own_node;

    if (ndb_mgm_get_connection_port(process->mgm, own, 0) == process->port) return 0;
    return ndb_mgm_set_connection_port(process->mgm, own, 0, process->port);
}

static bool reconnect(struct process *process)
{
    return ndb_mgm_is_connected(process->mgm) || ndb_mgm_connect(process->mgm, 0, 0) == 0;
}

/* Asks for all ports. True when every one is known. */
static bool ask_all(struct process *process, uint16_t *known)
{
    bool complete = true;
    (void)tell_own(process); /* A server that does not take it now is asked again. */
    for (uint32_t node = 1; node < process->config.own_node; node++) {
        if (process->config.node[node].type != NODE_DATA) continue;
        int port = ndb_mgm_get_connection_port(process->mgm, node, process->config.own_node);
        if (port <= 0) {
            complete = false;
            continue;
        }
        if (known[node] != (uint16_t)port) host_os_peer_port(process, node, (uint16_t)port);
        known[node] = (uint16_t)port;
    }
    return complete;
}

static uint32_t pause_ms(struct process *process, bool complete)
{
    pthread_mutex_lock(&process->port_lock);
    bool lost = process->port_asks > 0;
    if (lost) process->port_asks--;
    pthread_mutex_unlock(&process->port_lock);
    if (!ndb_mgm_is_connected(process->mgm)) return ASK_SELDOM_MS;
    return complete && !lost ? ASK_SELDOM_MS : ASK_OFTEN_MS;
}

void port_finder_lost(struct process *process)
{
    pthread_mutex_lock(&process->port_lock);
    process->port_asks = ASK_OFTEN_LOST;
    pthread_cond_signal(&process->port_changed);
    pthread_mutex_unlock(&process->port_lock);
}

/*
 * A management server that had lost its directory may have given this node the id of a cluster that
 * it has dropped since, for that of other data nodes. A node that had nothing, and is not started,
 * has stored nothing of it: it begins anew, with what the server says now, unless that is a fresh
 * server again, which says something else within seconds. One that has files is not asked for its
 * opinion: fetch.c.
 */
#define SAID_AGAIN 5u /* Times, a second apart. */

struct said {
    uint64_t asked_ns;
    uint64_t cluster;
    uint32_t times;
};

static void follow_cluster(struct process *process, struct said *said)
{
    char text[160];
    uint8_t *bytes = NULL;
    size_t size = 0;
    char why[256];
    uint64_t own = config_cluster_id(process->cluster);
    if (!process->bare) return;
    if (process_now_ns() < said->asked_ns + ASK_SELDOM_MS * 1000000ull) return;
    said->asked_ns = process_now_ns();
    if (ndb_mgm_get_configuration(process->mgm, &bytes, &size) != 0) return;
    struct cluster_config *config = config_decode(bytes, size, why, sizeof why);
    free(bytes);
    uint64_t theirs = config == NULL ? own : config_cluster_id(config);
    config_free(config);
    said->times = theirs == said->cluster ? said->times + 1 : 1;
    said->cluster = theirs;
    if (theirs == own || said->times < SAID_AGAIN || !process->bare) return;
    snprintf(text, sizeof text,
             "the management server goes on with the cluster %llu instead of %llu; this node has "
             "nothing of either",
             (unsigned long long)theirs, (unsigned long long)own);
    struct node_failure failure = {
        .exit_code = EXIT_OTHER_NODE_FAILED, .file = __FILE__, .line = __LINE__, .text = text};
    process_fail(process, &failure);
}

static void *port_finder_main(void *argument)
{
    struct process *process = argument;
    uint16_t known[NODE_ID_MAX + 1] = {0};
    struct said said = {0};
    bool complete;
    do {
        complete = reconnect(process) && ask_all(process, known);
        if (ndb_mgm_is_connected(process->mgm)) follow_cluster(process, &said);
    } while (wait_ms(process, pause_ms(process, complete)));
    return NULL;
}

int port_finder_start(struct process *process)
{
    if (ndb_mgm_set_connection_port(process->mgm, process->config.own_node, 0, process->port) !=
        0) {
        process_log(process, LOG_LEVEL_WARNING, "the management server did not take our port: %s",
                    ndb_mgm_error_text(process->mgm));
    }
    int error = pthread_create(&process->port_finder, NULL, port_finder_main, process);
    if (error != 0) return error;
    pthread_setname_np(process->port_finder, "ndb_ports");
    return 0;
}

void port_finder_stop(struct process *process)
{
    pthread_mutex_lock(&process->port_lock);
    process->port_stop = true;
    pthread_cond_signal(&process->port_changed);
    pthread_mutex_unlock(&process->port_lock);
    pthread_join(process->port_finder, NULL);
}
