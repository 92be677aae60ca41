/* mc_reload.c -- the configuring thread: connects to the cluster, takes the role's configuration,
 * and a new one when the role's row was touched. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "servers/memcached/mc_server.h"
#include "service/reach_cluster.h"
#include "service/wait_told.h"
#include "values/errors.h"

#define CONNECT_MS 10000u
#define AGAIN_MS   1000u /* Once the log has told that a cluster cannot be reached. */
#define POLL_MS    1000u
#define STOP_MS    500

/* What only this thread uses. */
struct configurer {
    struct mc_server *server;
    ndb_t *ndb[MC_CLUSTERS_MAX];
};

static struct configurer configurer;

static void log_line(void *context, const char *line)
{
    (void)context;
    mc_log("%s", line);
}

struct mc_config *mc_reload_take(struct mc_server *server)
{
    pthread_mutex_lock(&server->lock);
    struct mc_config *config = mc_config_hold(server->config);
    pthread_mutex_unlock(&server->lock);
    return config;
}

/* ---- Clusters. ---- */

/* One sentence: who does not answer, and what the client library says about it. */
static void tell_unreachable(const char *connect_string, const ndb_error_t *error)
{
    const char *where = connect_string[0] == '\0' ? "localhost:1186" : connect_string;
    if (error->code == 0 ||
        error->code == ERR_CLUSTER_FAILURE) /* Its text is about transactions. */
        mc_log("cluster at %s cannot be reached: %s", where,
               error->detail[0] == '\0' ? "no data node is ready" : error->detail);
    else
        mc_log("cluster at %s cannot be reached: error %d, %s%s%s%s", where, error->code,
               error->text, error->detail[0] == '\0' ? "" : " (", error->detail,
               error->detail[0] == '\0' ? "" : ")");
}

static struct ndb_cluster_connection *connect_to(const char *connect_string, bool again)
{
    uint32_t connect_ms = again ? AGAIN_MS : CONNECT_MS;
    const struct ndb_connection_options options = {.name = "ndb_memcached"};
    ndb_error_t error;
    struct ndb_cluster_connection *connection =
        ndb_connection_create(connect_string[0] == 0 ? NULL : connect_string, &options);
    if (connection == NULL) {
        mc_log("no memory, or a wrong connect string: %s", connect_string);
        return NULL;
    }
    /* Before the first one is there somebody may look; later the log tells what matters. */
    struct wait_told *wait =
        configurer.server->cluster_count == 0 ? wait_told_begin("ndb_memcached") : NULL;
    const struct reach_limits limits = {.servers_ms = connect_ms, .nodes_ms = connect_ms};
    bool ready = reach_cluster(connection, connect_string, &limits, wait) == REACHED;
    wait_told_end(wait);
    if (ready) return connection;
    ndb_connection_error(connection, &error);
    if (!again) tell_unreachable(connect_string, &error);
    ndb_connection_free(connection);
    return NULL;
}

/* The index of the connection with that string; clusters are never given up. MC_CLUSTERS_MAX: none.
 */
static uint32_t cluster_index(struct mc_server *server, const char *text, bool again)
{
    for (uint32_t i = 0; i < server->cluster_count; i++)
        if (strcmp(server->cluster_text[i], text) == 0) return i;
    if (server->cluster_count == MC_CLUSTERS_MAX) return MC_CLUSTERS_MAX;
    struct ndb_cluster_connection *connection = connect_to(text, again);
    if (connection == NULL) return MC_CLUSTERS_MAX;
    ndb_t *ndb = ndb_open(connection, MC_SCHEMA);
    if (ndb == NULL) {
        ndb_error_t error;
        ndb_connection_error(connection, &error);
        tell_unreachable(text, &error);
        ndb_connection_free(connection);
        return MC_CLUSTERS_MAX;
    }
    uint32_t index = server->cluster_count;
    snprintf(server->cluster_text[index], sizeof server->cluster_text[index], "%s", text);
    configurer.ndb[index] = ndb;
    pthread_mutex_lock(&server->lock);
    server->cluster[index] = connection;
    server->cluster_count = index + 1;
    pthread_mutex_unlock(&server->lock);
    return index;
}

static const char *cluster_text_of(const struct mc_server *server, const struct mc_cluster *cluster)
{
    return cluster->connect_string[0] == 0 ? server->options.connect_string
                                           : cluster->connect_string;
}

static ndb_t *connect_for(void *context, const struct mc_cluster *cluster)
{
    struct mc_server *server = context;
    uint32_t index = cluster_index(server, cluster_text_of(server, cluster), false);
    return index == MC_CLUSTERS_MAX ? NULL : configurer.ndb[index];
}

/* Prefixes name clusters by their place in the configuration; from here on by that of the
 * connection. */
static void name_connections(struct mc_server *server, struct mc_config *config)
{
    for (uint32_t i = 0; i < config->prefix_count; i++) {
        struct mc_prefix *prefix = &config->prefixes[i];
        if (prefix->container == NULL) continue;
        prefix->cluster = cluster_index(
            server, cluster_text_of(server, &config->clusters[prefix->cluster]), false);
    }
}

void mc_reload_watch(struct mc_server *server)
{
    uint32_t count = atomic_load(&server->cluster_count);
    for (uint32_t i = 0; i < count; i++) {
        bool lost = ndb_connection_ready_nodes(server->cluster[i]) == 0;
        if (lost == server->cluster_lost[i]) continue;
        const char *text = server->cluster_text[i];
        server->cluster_lost[i] = lost;
        mc_log("cluster at %s %s", text[0] == '\0' ? "localhost:1186" : text,
               lost ? "is lost: no data node can be reached" : "can be reached again");
    }
}

/* ---- Configurations. ---- */

static void publish(struct mc_server *server, struct mc_config *config)
{
    pthread_mutex_lock(&server->lock);
    struct mc_config *old = server->config;
    server->config = config;
    pthread_mutex_unlock(&server->lock);
    mc_config_release(old);
}

static int load(struct mc_server *server)
{
    struct mc_config_error error;
    const struct mc_config_source source = {
        .primary = configurer.ndb[0], .connect = connect_for, .log = log_line, .context = server};
    struct mc_config *config =
        mc_config_load(&source, server->options.role, server->config_number + 1, &error);
    if (config == NULL) {
        mc_log("%s", error.text);
        return -1;
    }
    name_connections(server, config);
    server->config_number++;
    publish(server, config);
    return 0;
}

static void sign_on(struct mc_server *server)
{
    char host[256];
    uint32_t node = ndb_connection_node_id(server->cluster[0]);
    if (gethostname(host, sizeof host) != 0) strcpy(host, "localhost");
    host[sizeof host - 1] = 0;
    if (mc_config_sign_on(configurer.ndb[0], node, host, server->options.role) != 0)
        mc_log("the sign-on cannot be noted: %s", ndb_error(configurer.ndb[0])->text);
}

int mc_reload_first(struct mc_server *server)
{
    struct mc_config_error error;
    configurer.server = server;
    if (cluster_index(server, server->options.connect_string, false) != 0) return -1;
    if (server->options.bootstrap) {
        if (mc_config_bootstrap(configurer.ndb[0], log_line, NULL, &error) == 0) return 0;
        mc_log("%s", error.text);
        return -1;
    }
    if (load(server) != 0) return -1;
    sign_on(server);
    return 0;
}

static void reload(struct mc_server *server, const char *why)
{
    mc_log("%s %s", why, server->options.role);
    if (load(server) != 0) {
        mc_log("The configuration stays as it was");
        return;
    }
    for (uint32_t i = 0; i < server->options.threads; i++)
        uv_async_send(&server->workers[i].wake);
    mc_log("ONLINE RECONFIGURATION COMPLETE");
}

static bool is_touched(struct mc_server *server, uint64_t *tried)
{
    struct mc_config_error error;
    if (!server->options.reconf) return false;
    uint64_t stamp = mc_config_stamp(configurer.ndb[0], server->options.role, &error);
    if (stamp == 0 || stamp == server->config->stamp || stamp == *tried) return false;
    *tried = stamp; /* A wrong one is not tried again and again. */
    return true;
}

/* A cluster whose prefixes were refused since it could not be reached is there now. */
static bool is_reached(struct mc_server *server)
{
    const struct mc_config *config = server->config;
    uint32_t known = server->cluster_count;
    for (uint32_t i = 1; config->unreachable && i < config->cluster_count; i++)
        (void)cluster_index(server, cluster_text_of(server, &config->clusters[i]), true);
    return server->cluster_count > known;
}

static void *configurer_main(void *argument)
{
    struct mc_server *server = argument;
    uint64_t tried = 0;
    while (!atomic_load(&server->stopping)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += POLL_MS / 1000;
        pthread_mutex_lock(&server->lock);
        if (!atomic_load(&server->stopping))
            pthread_cond_timedwait(&server->configurer_wake, &server->lock, &until);
        pthread_mutex_unlock(&server->lock);
        if (atomic_load(&server->stopping)) break;
        if (is_touched(server, &tried))
            reload(server, "Received update to server role");
        else if (atomic_exchange(&server->reload, false))
            reload(server, "A table has changed that belongs to server role");
        else if (is_reached(server))
            reload(server, "A cluster can be reached now for server role");
    }
    return NULL;
}

int mc_reload_start(struct mc_server *server)
{
    int error = pthread_create(&server->configurer, NULL, configurer_main, server);
    if (error == 0) return 0;
    mc_log("the thread that looks for changes cannot be started: %s", strerror(error));
    return -1;
}

bool mc_reload_stop(struct mc_server *server)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += STOP_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&server->lock);
    pthread_cond_signal(&server->configurer_wake);
    pthread_mutex_unlock(&server->lock);
    if (pthread_timedjoin_np(server->configurer, NULL, &until) != 0) return false;
    mc_config_release(server->config);
    for (uint32_t i = 0; i < server->cluster_count; i++) {
        ndb_close(configurer.ndb[i]);
        ndb_connection_free(server->cluster[i]);
    }
    return true;
}
