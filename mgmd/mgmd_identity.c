/* mgmd_identity.c -- which server of which cluster this is: who makes the cluster's id, and whose
 * counts. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * A server without any kept configuration cannot tell a new cluster from one whose server has lost
 * its directory. So it makes an id, and is *fresh* until somebody confirms it: a data node that is
 * started or has files of it, the operator, or another management server that is not fresh. As long
 * as it is fresh the first data node that is of another cluster, by its files or as it runs, gives
 * its id to the server. That it is fresh is kept beside the configurations, in a file with the id
 * that it is about. See docs/protocols/management.md.
 */
#include <ifaddrs.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "signals/api_reg.h"

/* Data nodes that run have been met within this time: they tell their ports every second. */
#define CLAIM_MS 5000u

/* ---- the cluster ---- */

/* What two clusters that were made from one file do not have in common: where their files are, and
 * where they listen. */
static uint64_t mix_place(const struct config_section *node, uint64_t id)
{
    char text[2400];
    bool server = config_section_kind(node) == CONFIG_MGMD;
    bool data = config_section_kind(node) == CONFIG_NDBD;
    int length =
        snprintf(text, sizeof(text), "%u %u %s %llu %s %s", config_section_node(node),
                 (uint32_t)config_section_kind(node), config_get_text(node, CFG_NDBD_HostName),
                 server ? (unsigned long long)config_get_u64(node, CFG_MGMD_PortNumber) : 0,
                 server || data ? config_get_text(node, CFG_NDBD_DataDir) : "",
                 data ? config_get_text(node, CFG_NDBD_FileSystemPath) : "");

    if (length >= (int)sizeof(text)) length = (int)sizeof(text) - 1;
    return XXH3_64bits_withSeed(text, (size_t)length, id);
}

/* One server draws its cluster's id. Several must come to the same one without talking: from the
 * name and the list of nodes. */
static uint64_t make_id(const struct cluster_config *config)
{
    const char *name = config_get_text(config_system(config), CFG_SYSTEM_Name);
    uint64_t id = 0;

    if (config_count(config, CONFIG_MGMD) == 1) {
        (void)uv_random(NULL, NULL, &id, sizeof(id), 0, NULL);
    } else {
        id = XXH3_64bits(name, strlen(name));
        for (struct config_section *node = config_next_node(config, 0, CONFIG_NONE); node != NULL;
             node = config_next_node(config, config_section_node(node), CONFIG_NONE))
            id = mix_place(node, id);
    }
    return id == 0 ? 1 : id;
}

static void made_name(const struct cluster_config *config, char *name, size_t size)
{
    (void)snprintf(name, size, "MC_%016" PRIx64, config_cluster_id(config));
}

static void give_name(struct cluster_config *config)
{
    char name[32];

    if (config_get_text(config_system(config), CFG_SYSTEM_Name)[0] != '\0') return;
    made_name(config, name, sizeof(name));
    (void)config_set_text(config_system(config), CFG_SYSTEM_Name, name);
}

/* Another id; the name follows if it was made from the former one. */
static void set_id(struct cluster_config *config, uint64_t cluster_id)
{
    char name[32];

    made_name(config, name, sizeof(name));
    config_set_cluster_id(config, cluster_id);
    if (strcmp(config_get_text(config_system(config), CFG_SYSTEM_Name), name) != 0) return;
    made_name(config, name, sizeof(name));
    (void)config_set_text(config_system(config), CFG_SYSTEM_Name, name);
}

void mgmd_identity_give(const struct mgmd *mgmd, struct cluster_config *config,
                        const struct cluster_config *cached)
{
    uint64_t wanted = mgmd->options.cluster_id;

    if (cached != NULL && (wanted == 0 || wanted == config_cluster_id(cached))) {
        config_set_cluster_id(config, config_cluster_id(cached));
        if (config_get_text(config_system(config), CFG_SYSTEM_Name)[0] == '\0')
            (void)config_set_text(config_system(config), CFG_SYSTEM_Name,
                                  config_get_text(config_system(cached), CFG_SYSTEM_Name));
    } else {
        config_set_cluster_id(config, wanted != 0 ? wanted : make_id(config));
    }
    give_name(config);
}

static void mark_path(const struct mgmd *mgmd, char *path, size_t size)
{
    (void)snprintf(path, size, "%sndb_%u_new_cluster", mgmd->config_dir, mgmd->own_node);
}

int mgmd_identity_begin(struct mgmd *mgmd, const struct cluster_config *config)
{
    char path[2300];
    char text[32];

    mark_path(mgmd, path, sizeof(path));
    int length = snprintf(text, sizeof(text), "%" PRIu64 "\n", config_cluster_id(config));
    if (mgmd_write_file(path, text, (size_t)length) == 0) return 0;
    (void)fprintf(stderr, "ndb_mgmd: %s cannot be written: %s; %s\n", path, strerror(errno),
                  mgmd_write_cure(errno));
    return -1;
}

bool mgmd_identity_fresh(const struct mgmd *mgmd, const struct cluster_config *config)
{
    char path[2300];
    uint64_t id = 0;

    mark_path(mgmd, path, sizeof(path));
    FILE *in = mgmd_open_file(path);
    if (in == NULL) return false;
    if (fscanf(in, "%" SCNu64, &id) != 1) id = 0;
    (void)fclose(in);
    return id == config_cluster_id(config);
}

void mgmd_identity_confirm(struct mgmd *mgmd)
{
    char path[2300];

    if (!mgmd->fresh) return;
    mgmd->fresh = false;
    mark_path(mgmd, path, sizeof(path));
    if (mgmd_remove_file(path) != 0)
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "%s cannot be removed (%s): this server takes its cluster id for "
                           "unconfirmed when it starts again",
                           path, strerror(errno));
}

/* A data node that is started and runs with a configuration that this server neither has nor had,
 * 0 = none. *newest is the greatest number that one with the present content has. */
static uint32_t unlike_node(const struct mgmd *mgmd, uint32_t *newest)
{
    char why[128];

    *newest = 0;
    for (uint32_t id = 1; id <= CONFIG_DATA_NODES_MAX; id++) {
        const struct mgmd_node *node = &mgmd->nodes[id];
        if (!node->linked || !node->status_known || node->start_level != START_STARTED) continue;
        /* Another version has other parameters in its digest, and its number says too little. */
        if (node->digest == 0 || node->version != MGMD_VERSION) continue;
        if (mgmd_runs_with(node, mgmd->config)) {
            if (node->generation > *newest) *newest = node->generation;
            continue;
        }
        struct cluster_config *kept = mgmd_running_config(mgmd, node, why, sizeof(why));
        if (kept == NULL) return id;
        config_free(kept);
    }
    return 0;
}

static void tell_unlike(struct mgmd *mgmd, uint32_t id)
{
    struct mgmd_node *node = &mgmd->nodes[id];

    if (node->unlike_told == node->digest) return;
    node->unlike_told = node->digest;
    cluster_log_printf(
        mgmd->log, NDB_MGM_SEVERITY_ALERT,
        "Node %u runs with generation %u of another configuration than this server's, "
        "which was begun without a kept one: start the management server that has "
        "it, and this one takes it. If there is none, start this one with --initial "
        "and the file that the data nodes were started with",
        id, node->generation);
}

/* With several servers the id says nothing about the rest, which follows from the list of nodes:
 * what data nodes run with another server has. What they run with is this one's own when content
 * and number are, or when it only lacks the number. An only server goes on with what it has, under
 * a new number. */
void mgmd_identity_confirm_by_node(struct mgmd *mgmd)
{
    uint32_t newest = 0;
    uint32_t own = config_generation(mgmd->config);

    if (!mgmd->fresh) return;
    if (config_count(mgmd->config, CONFIG_MGMD) > 1) {
        uint32_t unlike = unlike_node(mgmd, &newest);
        if (unlike != 0) {
            tell_unlike(mgmd, unlike);
            return;
        }
    }
    if (newest > own) {
        config_set_generation(mgmd->config, newest);
        if (mgmd_kept_store(mgmd, mgmd->config) != 0) {
            config_set_generation(mgmd->config, own);
            return;
        }
        cluster_log_printf(
            mgmd->log, NDB_MGM_SEVERITY_INFO,
            "The data nodes run with this configuration as generation %u: it is that "
            "one here, too",
            newest);
    }
    mgmd_identity_confirm(mgmd);
}

/* Files have this id. Data nodes that run may not have been met yet, when there are any: with
 * several servers, which could be wrong about the rest, it is waited for them. */
static void confirm_by_files(struct mgmd *mgmd)
{
    if (config_count(mgmd->config, CONFIG_MGMD) == 1)
        mgmd_identity_confirm(mgmd);
    else if (mgmd->fresh && mgmd->claimed_ms == 0)
        mgmd->claimed_ms = uv_now(mgmd->loop);
}

void mgmd_identity_tick(struct mgmd *mgmd)
{
    if (mgmd->claimed_ms == 0 || uv_now(mgmd->loop) < mgmd->claimed_ms + CLAIM_MS) return;
    mgmd->claimed_ms = 0;
    mgmd_identity_confirm_by_node(mgmd);
}

/* Once for each node and id. */
static void tell_foreign(struct mgmd *mgmd, uint32_t node, uint64_t cluster_id, const char *why)
{
    if (mgmd->nodes[node].foreign == cluster_id) return;
    mgmd->nodes[node].foreign = cluster_id;
    cluster_log_write(mgmd->log, NDB_MGM_SEVERITY_ALERT, 0, why);
    cluster_log_stderr("%s", why);
}

int mgmd_identity_claim(struct mgmd *mgmd, uint32_t node, uint64_t cluster_id, bool runs, char *why,
                        size_t size)
{
    const char *does = runs ? "runs" : "has files";
    bool alone = config_count(mgmd->config, CONFIG_MGMD) == 1;
    uint64_t own = config_cluster_id(mgmd->config);
    uint32_t newest;

    if (cluster_id == own) {
        confirm_by_files(mgmd);
        return 0;
    }
    if (!mgmd->fresh || cluster_id == 0 || mgmd->claimed_ms != 0 ||
        unlike_node(mgmd, &newest) != 0) {
        (void)snprintf(
            why, size,
            "Node %u %s with the cluster id %" PRIu64 ", this management server has %" PRIu64
            ". If the node's is the right one, stop %s with --initial --cluster-id=%" PRIu64
            "; else the node has another cluster's files",
            node, does, cluster_id, own,
            alone ? "this server and start it" : "all management servers and start them",
            cluster_id);
        tell_foreign(mgmd, node, cluster_id, why);
        return -1;
    }
    set_id(mgmd->config, cluster_id);
    if (mgmd_kept_store(mgmd, mgmd->config) != 0) {
        int error = errno;
        set_id(mgmd->config, own);
        (void)snprintf(why, size,
                       "Node %u %s with the cluster id %" PRIu64
                       ", which this server would take, but the cache in %s cannot be written (%s)",
                       node, does, cluster_id, mgmd->config_dir, strerror(error));
        tell_foreign(mgmd, node, cluster_id, why);
        return 1;
    }
    (void)snprintf(why, size,
                   "Node %u %s with the cluster id %" PRIu64
                   ": this management server goes on with it, and drops the id that it has made "
                   "(%" PRIu64 ")",
                   node, does, cluster_id, own);
    cluster_log_write(mgmd->log, NDB_MGM_SEVERITY_WARNING, 0, why);
    cluster_log_stderr("%s", why);
    mgmd_kept_forget(mgmd); /* What has the dropped id. */
    mgmd_identity_confirm(mgmd);
    mgm_link_update(mgmd->link);
    return 0;
}

/* ---- which server ---- */

static bool host_is_here(const char *host)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    struct ifaddrs *interfaces = NULL;
    char own[256] = "";
    bool found = false;

    if (host[0] == '\0' || strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0)
        return true;
    (void)gethostname(own, sizeof(own) - 1);
    if (strcasecmp(own, host) == 0) return true;
    if (getaddrinfo(host, NULL, &hints, &list) != 0) return false;
    if (getifaddrs(&interfaces) == 0) {
        for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
            for (const struct ifaddrs *own_at = interfaces; own_at != NULL;
                 own_at = own_at->ifa_next) {
                char a[NI_MAXHOST] = "a";
                char b[NI_MAXHOST] = "b";
                if (own_at->ifa_addr == NULL || own_at->ifa_addr->sa_family != at->ai_family)
                    continue;
                (void)getnameinfo(at->ai_addr, at->ai_addrlen, a, sizeof(a), NULL, 0,
                                  NI_NUMERICHOST);
                (void)getnameinfo(own_at->ifa_addr, at->ai_addrlen, b, sizeof(b), NULL, 0,
                                  NI_NUMERICHOST);
                found |= strcmp(a, b) == 0;
            }
        }
        freeifaddrs(interfaces);
    }
    freeaddrinfo(list);
    return found;
}

uint32_t mgmd_find_own_node(const struct mgmd *mgmd, const struct cluster_config *config)
{
    uint32_t found = 0;
    uint32_t count = 0;

    for (struct config_section *node = config_next_node(config, 0, CONFIG_MGMD); node != NULL;
         node = config_next_node(config, config_section_node(node), CONFIG_MGMD)) {
        uint32_t id = config_section_node(node);
        if (mgmd->options.node_id != 0 && id != mgmd->options.node_id) continue;
        if (mgmd->options.node_id == 0 && !host_is_here(config_get_text(node, CFG_MGMD_HostName)))
            continue;
        found = id;
        count++;
    }
    if (count == 1) return found;
    const char *wrong = mgmd->options.node_id != 0 ? "--ndb-nodeid names no [ndb_mgmd] section"
                        : count == 0 ? "no [ndb_mgmd] section has a HostName of this machine"
                                     : "several [ndb_mgmd] sections are for this machine";
    (void)fprintf(stderr, "ndb_mgmd: %s; choose one with --ndb-nodeid:", wrong);
    for (struct config_section *node = config_next_node(config, 0, CONFIG_MGMD); node != NULL;
         node = config_next_node(config, config_section_node(node), CONFIG_MGMD)) {
        const char *host = config_get_text(node, CFG_MGMD_HostName);
        (void)fprintf(stderr, " %u (HostName=%s)", config_section_node(node), host);
    }
    (void)fprintf(stderr, "\n");
    return 0;
}
