/* fetch.c -- how a data node comes to its node id and its configuration: from which management
 * server, and how long it asks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ndbmtd/life.h"
#include "service/notify.h"
#include "service/wait_told.h"

#define MGM_CONNECT_MS 10000u /* A server that hangs still takes connections. */
#define MGM_CALL_MS    60000u

static int get_configuration(struct process *process)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    char why[256];
    if (ndb_mgm_get_configuration(process->mgm, &bytes, &size) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "No configuration: %s",
                    ndb_mgm_error_text(process->mgm));
        return -1;
    }
    process->cluster = config_decode(bytes, size, why, sizeof why);
    free(bytes);
    if (process->cluster == NULL)
        process_log(process, LOG_LEVEL_ERROR, "The configuration is damaged: %s", why);
    return process->cluster == NULL ? -1 : 0;
}

/* A management server that has lost its directory takes its cluster's id from the node's files, but
 * not from files that are to be removed. 1: it has, and has another configuration now; 0: nothing
 * has changed; -1: who knows. */
static int claim_cluster(struct process *process)
{
    uint64_t files = files_cluster(process);
    uint64_t own = config_cluster_id(process->cluster);
    process->bare = files == 0;
    if (files == 0 || process->initial) return 0;
    int rc = ndb_mgm_claim_cluster(process->mgm, process->config.own_node, files);
    int code = rc == 0 ? 0 : ndb_mgm_error_code(process->mgm);
    if (files == own) { /* It may be unconfirmed. One that does not know what that is, is not. */
        if (code != NDB_MGM_CONFIG_CHANGE_FAILED) return 0;
        process_log(process, LOG_LEVEL_WARNING, "The configuration has changed meanwhile: %s",
                    ndb_mgm_error_text(process->mgm));
        return -1;
    }
    if (rc != 0) {
        process_log(process, LOG_LEVEL_ERROR, "%s", ndb_mgm_error_text(process->mgm));
        return code == NDB_MGM_CONFIG_CHANGE_FAILED || code == NDB_MGM_USAGE_ERROR ? 0 : -1;
    }
    process_log(process, LOG_LEVEL_WARNING,
                "the management server had begun a new cluster (%llu); it goes on with that of the "
                "node's files (%llu)",
                (unsigned long long)own, (unsigned long long)files);
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    process->cluster = NULL;
    return 1;
}

/* No management server answers, or somebody else does, or the one that does cannot write its files
 * or is about to change its configuration. */
static bool may_pass(int code)
{
    return code == NDB_MGM_COULD_NOT_CONNECT || code == NDB_MGM_SERVER_NOT_CONNECTED ||
           code == NDB_MGM_ILLEGAL_SERVER_REPLY || code == NDB_MGM_GET_CONFIG_FAILED ||
           code == NDB_MGM_CONFIG_CHANGE_FAILED;
}

/* Says what is waited for, and again when the reason changes. */
static void tell_wait(struct process *process, char *told, size_t size)
{
    const char *why = ndb_mgm_error_text(process->mgm);
    if (strncmp(told, why, size - 1) == 0) return;
    snprintf(told, size, "%s", why);
    process_log(process, LOG_LEVEL_WARNING, "the node waits for a management server: %s", told);
    service_status("Waiting for a management server: %s", told);
}

/* Tries as often as the options say. Where a person may look, who does not answer is told before it
 * is given up. */
static int connect_server(struct process *process, const struct options *options)
{
    struct wait_told *wait = process->log == NULL ? wait_told_begin("ndbmtd") : NULL;
    char told[256] = "";
    int rc;
    ndb_mgm_set_timeout(process->mgm, MGM_CONNECT_MS);
    for (int round = 0;; round++) {
        /* Later the log has said why. */
        if (round == 0) wait_told_for_servers(wait, options->connect_string);
        rc = ndb_mgm_connect(process->mgm, 0, 0);
        wait_told_for(wait, "%s", ""); /* Why not is told by the log. */
        if (rc == 0) break;
        if (options->retries >= 0 && round >= options->retries) break; /* -1: for ever. */
        tell_wait(process, told, sizeof told);
        sleep(options->delay_s > 0 ? options->delay_s : 1);
    }
    wait_told_end(wait);
    ndb_mgm_set_timeout(process->mgm, MGM_CALL_MS);
    return rc;
}

/* Connects to a management server, gets (or confirms) the node id and the configuration. Messages
 * go to stderr or the log. */
static int fetch_configuration(struct process *process, const struct options *options,
                               uint32_t wanted, int id_wait)
{
    ndb_mgm_handle_t *mgm = ndb_mgm_create_handle();
    if (mgm == NULL) return -1;
    process->mgm = mgm;
    ndb_mgm_set_name(mgm, "ndbmtd");
    if (ndb_mgm_set_connectstring(mgm, options->connect_string) != 0 ||
        connect_server(process, options) != 0) {
        process_log(process, LOG_LEVEL_ERROR, "Could not connect to a management server: %s",
                    ndb_mgm_error_text(mgm));
        return -1;
    }
    if (wanted == 0) wanted = ndb_mgm_configured_nodeid(mgm);
    int node_id = ndb_mgm_alloc_nodeid(mgm, NDB_MGM_NODE_NDB, wanted, NULL);
    for (int again = 0;
         node_id < 0 && again < id_wait && ndb_mgm_error_code(mgm) == NDB_MGM_ALLOCID_RETRY;
         again++) {
        usleep(100000);
        node_id = ndb_mgm_alloc_nodeid(mgm, NDB_MGM_NODE_NDB, wanted, NULL);
    }
    if (node_id < 0) {
        const char *host = ndb_mgm_connected_host(mgm);
        uint16_t port = ndb_mgm_connected_port(mgm);
        process_log(process, LOG_LEVEL_ERROR,
                    "No node id from the management server at %s port %u: %s", host, port,
                    ndb_mgm_error_text(mgm));
        service_status("No node id from the management server at %s port %u: %s", host, port,
                       ndb_mgm_error_text(mgm));
        return -1;
    }
    process->config.own_node = (uint32_t)node_id;
    if (get_configuration(process) != 0) return -1;
    int claimed = claim_cluster(process);
    return claimed > 0 ? get_configuration(process) : claimed;
}

/* The server has no id to give yet: a former life seems to hold it, or a name cannot be looked up.
 */
static bool id_is_refused(int code)
{
    return code == NDB_MGM_ALLOCID_RETRY || code == NDB_MGM_ALLOCID_CONFIG_MISMATCH;
}

/* Why there is no configuration; what was begun is forgotten, for another try. */
static int forget_try(struct process *process)
{
    int code = process->mgm == NULL ? 0 : ndb_mgm_error_code(process->mgm);
    ndb_mgm_destroy_handle(process->mgm);
    process->mgm = NULL;
    config_free((struct cluster_config *)(uintptr_t)process->cluster);
    process->cluster = NULL;
    return code;
}

/* Under an angel the node has been wanted and is wanted still: while it gets no configuration it
 * waits for one, as long as it takes, and that is no failed start. SIGTERM ends the wait. */
int fetch_patiently(struct process *process, const struct options *options)
{
    for (;;) {
        if (fetch_configuration(process, options, process->config.own_node, ID_WAIT_RESTART) == 0)
            return 0;
        int code = forget_try(process);
        bool waits = may_pass(code) || (options->retries < 0 && id_is_refused(code));
        if (process->angel_pipe < 0 || !waits) return -1;
        process_log(process, LOG_LEVEL_WARNING,
                    "the node waits for a management server: it needs its configuration to start");
        sleep(code == NDB_MGM_COULD_NOT_CONNECT || code == NDB_MGM_SERVER_NOT_CONNECTED ? 1 : 5);
    }
}

/* The user looks: what goes wrong is said, and the program ends. With --connect-retries=-1 it is a
 * service, and nobody looks: what may pass is waited for. */
int fetch_first(struct process *process, const struct options *options, int id_wait)
{
    for (uint32_t pause_s = 1;; pause_s = pause_s < 32 ? 2 * pause_s : 60) {
        if (fetch_configuration(process, options, options->node_id, id_wait) == 0) return 0;
        int code = forget_try(process);
        if (options->retries >= 0 || !(may_pass(code) || id_is_refused(code))) return -1;
        process_log(process, LOG_LEVEL_WARNING, "it is tried again in %u s", pause_s);
        sleep(pause_s);
    }
}
