/* mgmd_peers.c -- the other management servers: who answers, and that all have one configuration.
 */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Every second each server asks the others for their state, in a thread of libuv's pool, because it
 * may have to wait. Who sees a newer generation takes it over. New generations are made by the
 * server with the lowest node id alone, and only when all others answer and have the same one: so
 * there are never two with the same number. See docs/protocols/management.md.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "config/mgm_handle.h"
#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_peers.h"

#define ASK_MS   1000u
#define ALIVE_MS 3500u /* A server is alive for so long after its last answer: three questions. */

/* Another management server. The thread that asks has `handle` and everything under `job`. */
struct mgmd_peer {
    uv_work_t work;
    struct mgmd *mgmd;
    uint32_t node;
    char address[300];
    bool busy;
    bool alive;
    uint64_t seen; /* Loop time of its last answer. */
    uint32_t generation;
    uint64_t equal;   /* Digest of a configuration that says the same as ours. */
    uint64_t foreign; /* Digest of one that cannot be ours: that was told once. */
    ndb_mgm_handle_t *handle;
    /* Cluster that it is sure of, as this server is of its own; 0: it is of none, or of ours. */
    uint64_t other_cluster;
    struct {
        uint32_t own_generation;
        uint64_t own_cluster;
        bool own_fresh;
        uint64_t own_digest;
        uint64_t equal;
        bool answered;
        uint32_t generation;
        uint64_t cluster; /* Cluster that it says; 0: it does not tell. */
        bool fresh;
        uint64_t digest;
        char ports[1024];
        uint8_t *bytes;
        size_t size;
    } job;
};

static uint32_t lowest(const struct cluster_config *config)
{
    return config_section_node(config_next_node(config, 0, CONFIG_MGMD));
}

bool mgmd_leads(const struct mgmd *mgmd)
{
    return lowest(mgmd->config) == mgmd->own_node;
}

static void address_of(const struct config_section *node, char *text, size_t size)
{
    const char *host = config_get_text(node, CFG_MGMD_HostName);

    (void)snprintf(text, size, "[%s]:%u", host[0] == '\0' ? "localhost" : host,
                   (uint32_t)config_get_u64(node, CFG_MGMD_PortNumber));
}

/* ---- asking: in the thread ---- */

static bool asked(struct mgmd_peer *peer)
{
    ndb_mgm_handle_t *handle = peer->handle;
    uint64_t digest = 0;

    if (!ndb_mgm_is_connected(handle) && ndb_mgm_connect(handle, 0, 0) != 0) return false;
    if (mgm_call(handle, ASK_MS, "get mgmd state") != 0) return false;
    if (mgm_reply_number(handle, "nodeid", 0) != peer->node) return false;
    const char *text = mgm_value(&handle->reply, "digest");
    const char *ports = mgm_value(&handle->reply, "ports");
    if (text == NULL || sscanf(text, "%" SCNx64, &digest) != 1) return false;
    peer->job.digest = digest;
    peer->job.generation = (uint32_t)mgm_reply_number(handle, "generation", 0);
    (void)snprintf(peer->job.ports, sizeof(peer->job.ports), "%s", ports == NULL ? "" : ports);
    const char *cluster = mgm_value(&handle->reply, "cluster");
    if (cluster == NULL || sscanf(cluster, "%" SCNu64, &peer->job.cluster) != 1)
        peer->job.cluster = 0;
    peer->job.fresh = mgm_reply_number(handle, "fresh", 0) == 1;
    bool foreign = peer->job.cluster != 0 && peer->job.cluster != peer->job.own_cluster;
    bool newer = peer->job.generation > peer->job.own_generation;
    bool other = peer->job.generation == peer->job.own_generation &&
                 digest != peer->job.own_digest && digest != peer->job.equal;
    bool differs = foreign || digest != peer->job.own_digest;
    bool counts = peer->job.own_fresh && !peer->job.fresh && differs; /* Instead of our own. */
    if (!newer && !other && !counts) return true;
    return ndb_mgm_get_configuration(handle, &peer->job.bytes, &peer->job.size) == 0;
}

static void ask(uv_work_t *work)
{
    struct mgmd_peer *peer = work->data;

    peer->job.answered = asked(peer);
    if (!peer->job.answered && ndb_mgm_is_connected(peer->handle))
        (void)ndb_mgm_disconnect(peer->handle);
}

/* ---- what it says ---- */

static void learn_ports(struct mgmd *mgmd, const char *text)
{
    bool learnt = false;
    unsigned node;
    unsigned port;

    for (const char *at = text; sscanf(at, "%u=%u", &node, &port) == 2;) {
        if (node >= 1 && node <= CONFIG_DATA_NODES_MAX && port >= 1 && port <= 65535 &&
            !mgmd->nodes[node].linked && mgmd->nodes[node].port != port) {
            mgmd->nodes[node].port = (uint16_t)port;
            learnt = true;
        }
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    if (!learnt) return;
    mgmd_ports_store(mgmd);
    mgm_link_update(mgmd->link);
}

/* Same number, other content: both were started for the first time with different files. The one
 * with the higher id gives way. */
static void conflict(struct mgmd *mgmd, const struct mgmd_peer *peer, const char *what)
{
    if (mgmd->own_node < peer->node) return;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ALERT,
                       "Generation %u of management server %u is another configuration (%s). This "
                       "server stops: start it with the same configuration file and --initial",
                       peer->generation, peer->node, what);
    mgmd->failed = true;
    mgmd_exit(mgmd, 0);
}

/* This server is fresh and the other one is not: what that one has counts, cluster, number and all.
 * False: it cannot be taken. */
static bool take_cluster(struct mgmd *mgmd, struct mgmd_peer *peer, struct cluster_config *config,
                         const char *what)
{
    uint64_t own = config_cluster_id(mgmd->config);

    if (mgmd_config_take(mgmd, config, true) != 0) {
        config_free(config);
        return false;
    }
    if (own == config_cluster_id(config))
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "This server goes on with generation %u of management server %u, and "
                           "drops the one that it has begun with (%s)",
                           config_generation(config), peer->node, what);
    else
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "This server goes on with the cluster %" PRIu64
                           " and generation %u of management server %u, and drops the cluster id "
                           "that it has made (%" PRIu64 ")",
                           config_cluster_id(config), config_generation(config), peer->node, own);
    return true;
}

/* Once for each that cannot be taken. */
static bool take_newer(struct mgmd *mgmd, struct mgmd_peer *peer, struct cluster_config *config,
                       const char *what)
{
    int rc = peer->foreign == peer->job.digest ? 1 : mgmd_config_take(mgmd, config, false);

    if (rc > 0) peer->foreign = peer->job.digest;
    if (rc != 0) return false;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "Generation %u is taken over from management server %u (%s)",
                       config_generation(config), peer->node, what);
    return true;
}

/* True: this server has now what the other one has. */
static bool take_config(struct mgmd *mgmd, struct mgmd_peer *peer)
{
    char what[256] = "";
    struct cluster_config *config =
        config_decode(peer->job.bytes, peer->job.size, what, sizeof(what));

    if (config == NULL) {
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR,
                           "The configuration of management server %u cannot be read: %s",
                           peer->node, what);
        return false;
    }
    uint32_t generation = config_generation(config);
    bool same = config_equal(mgmd->config, config, what, sizeof(what));
    bool foreign = config_cluster_id(config) != config_cluster_id(mgmd->config);
    bool differs = foreign || generation != config_generation(mgmd->config) || !same;
    bool taken = false;
    if (differs && mgmd->fresh && !peer->job.fresh) return take_cluster(mgmd, peer, config, what);
    if (differs && !mgmd->fresh && peer->job.fresh) {
        same = false; /* It will take ours. */
    } else if (generation == config_generation(mgmd->config)) {
        if (same)
            peer->equal = peer->job.digest;
        else if (!foreign || mgmd->fresh) /* Two that are sure of two clusters only say so. */
            conflict(mgmd, peer, what);
    } else if (generation > config_generation(mgmd->config)) {
        taken = take_newer(mgmd, peer, config, same ? "the same content" : what);
        same = taken;
    }
    if (!taken) config_free(config);
    return same;
}

static void lost(struct mgmd *mgmd, struct mgmd_peer *peer)
{
    peer->alive = false;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "Management server %u at %s does not answer", peer->node, peer->address);
}

/* Two servers that are both sure of different clusters; once for each id. */
static void tell_other_cluster(struct mgmd *mgmd, struct mgmd_peer *peer)
{
    uint64_t own = config_cluster_id(mgmd->config);
    uint64_t theirs = peer->job.fresh || mgmd->fresh ? 0 : peer->job.cluster;

    if (theirs == own) theirs = 0;
    if (peer->other_cluster == theirs) return;
    peer->other_cluster = theirs;
    if (theirs == 0) return;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ALERT,
                       "Management server %u has the cluster id %" PRIu64 ", this one has %" PRIu64
                       ": stop all management servers, start the one that is right, and then the "
                       "others with empty directories (or all with --initial and --cluster-id=N, "
                       "the id that the data nodes have)",
                       peer->node, theirs, own);
}

static void answered(uv_work_t *work, int status)
{
    struct mgmd_peer *peer = work->data;
    struct mgmd *mgmd = peer->mgmd;

    peer->busy = false;
    if (status == 0 && peer->job.answered && !mgmd->stopping) {
        if (!peer->alive)
            cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                               "Management server %u at %s answers, generation %u", peer->node,
                               peer->address, peer->job.generation);
        peer->alive = true;
        peer->seen = uv_now(mgmd->loop);
        peer->generation = peer->job.generation;
        learn_ports(mgmd, peer->job.ports);
        tell_other_cluster(mgmd, peer);
        bool alike = peer->job.bytes == NULL || take_config(mgmd, peer);
        if (alike && peer->job.cluster == config_cluster_id(mgmd->config) && !peer->job.fresh)
            mgmd_identity_confirm(mgmd);
    } else if (peer->alive && !mgmd->stopping &&
               ndb_mgm_error_code(peer->handle) == NDB_MGM_COULD_NOT_CONNECT) {
        lost(mgmd, peer);
    }
    free(peer->job.bytes);
    peer->job.bytes = NULL;
}

/* ---- all of them ---- */

static struct mgmd_peer *peer_at(struct mgmd *mgmd, uint32_t id)
{
    if (mgmd->peers[id] == NULL) {
        struct mgmd_peer *peer = calloc(1, sizeof(*peer));
        if (peer == NULL) return NULL;
        peer->mgmd = mgmd;
        peer->node = id;
        peer->work.data = peer;
        mgmd->peers[id] = peer;
    }
    return mgmd->peers[id];
}

static void ask_peer(struct mgmd *mgmd, const struct config_section *node)
{
    struct mgmd_peer *peer = peer_at(mgmd, config_section_node(node));
    char address[300];

    if (peer == NULL || peer->busy) return;
    address_of(node, address, sizeof(address));
    if (peer->handle == NULL || strcmp(address, peer->address) != 0) {
        ndb_mgm_destroy_handle(peer->handle);
        peer->handle = ndb_mgm_create_handle();
        (void)snprintf(peer->address, sizeof(peer->address), "%s", address);
        if (peer->handle == NULL || ndb_mgm_set_connectstring(peer->handle, address) != 0) return;
        ndb_mgm_set_timeout(peer->handle, ASK_MS);
        ndb_mgm_set_name(peer->handle, "ndb_mgmd");
    }
    peer->job.own_generation = config_generation(mgmd->config);
    peer->job.own_cluster = config_cluster_id(mgmd->config);
    peer->job.own_fresh = mgmd->fresh;
    peer->job.own_digest = config_digest(mgmd->config);
    peer->job.equal = peer->equal;
    peer->busy = uv_queue_work(mgmd->loop, &peer->work, ask, answered) == 0;
}

bool mgmd_peer_alive(const struct mgmd *mgmd, uint32_t id)
{
    return mgmd->peers[id] != NULL && mgmd->peers[id]->alive;
}

static bool peer_is_alike(const struct mgmd *mgmd, uint32_t id, struct mgmd_unlike *why)
{
    const struct mgmd_peer *peer = mgmd->peers[id];

    if (!mgmd_peer_alive(mgmd, id))
        *why = (struct mgmd_unlike){"does not answer", "start it"};
    else if (peer->other_cluster != 0)
        *why = (struct mgmd_unlike){"has the id of another cluster",
                                    "stop the one that is wrong, and start it with an empty "
                                    "directory"};
    else if (peer->generation != config_generation(mgmd->config))
        *why = (struct mgmd_unlike){"has another generation of the configuration",
                                    "wait until it has taken this one over"};
    else
        return true;
    return false;
}

uint32_t mgmd_peer_missing(const struct mgmd *mgmd, struct mgmd_unlike *why)
{
    for (struct config_section *node = config_next_node(mgmd->config, 0, CONFIG_MGMD); node != NULL;
         node = config_next_node(mgmd->config, config_section_node(node), CONFIG_MGMD)) {
        uint32_t id = config_section_node(node);
        if (id == mgmd->own_node) continue;
        if (!peer_is_alike(mgmd, id, why)) return id;
    }
    return 0;
}

/* Every second. */
void mgmd_peers_tick(struct mgmd *mgmd)
{
    uint64_t now = uv_now(mgmd->loop);

    if (config_count(mgmd->config, CONFIG_MGMD) < 2) return;
    for (struct config_section *node = config_next_node(mgmd->config, 0, CONFIG_MGMD); node != NULL;
         node = config_next_node(mgmd->config, config_section_node(node), CONFIG_MGMD)) {
        uint32_t id = config_section_node(node);
        if (id == mgmd->own_node) continue;
        ask_peer(mgmd, node);
        struct mgmd_peer *peer = mgmd->peers[id];
        if (peer == NULL || !peer->alive || now - peer->seen < ALIVE_MS) continue;
        lost(mgmd, peer);
    }
    mgmd_config_pending(mgmd);
}

void mgmd_peers_free(struct mgmd *mgmd)
{
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        if (mgmd->peers[id] == NULL) continue;
        ndb_mgm_destroy_handle(mgmd->peers[id]->handle);
        free(mgmd->peers[id]);
        mgmd->peers[id] = NULL;
    }
}

/* ---- at the start, before this server answers anybody ---- */

struct cluster_config *mgmd_peers_first(const struct cluster_config *known, uint32_t own_node,
                                        uint32_t *from, bool *fresh)
{
    struct cluster_config *best = NULL;

    for (struct config_section *node = config_next_node(known, 0, CONFIG_MGMD); node != NULL;
         node = config_next_node(known, config_section_node(node), CONFIG_MGMD)) {
        struct mgmd_peer peer = {.node = config_section_node(node)};
        char why[128];
        if (peer.node == own_node) continue;
        address_of(node, peer.address, sizeof(peer.address));
        peer.handle = ndb_mgm_create_handle();
        if (peer.handle == NULL) continue;
        ndb_mgm_set_timeout(peer.handle, ASK_MS);
        if (ndb_mgm_set_connectstring(peer.handle, peer.address) == 0 && asked(&peer) &&
            peer.job.bytes != NULL) {
            struct cluster_config *config =
                config_decode(peer.job.bytes, peer.job.size, why, sizeof(why));
            bool better = best == NULL || (*fresh && !peer.job.fresh) ||
                          (*fresh == peer.job.fresh && config != NULL &&
                           config_generation(config) > config_generation(best));
            if (config != NULL && better) {
                config_free(best);
                best = config;
                *from = peer.node;
                *fresh = peer.job.fresh;
            } else {
                config_free(config);
            }
        }
        free(peer.job.bytes);
        ndb_mgm_destroy_handle(peer.handle);
    }
    return best;
}
