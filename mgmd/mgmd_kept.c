/* mgmd_kept.c -- the generations of the configuration that the server keeps in its directory, and
 * what changes between them mean for data nodes that run with an older one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/message.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"

static void kept_path(const struct mgmd *mgmd, uint32_t generation, char *path, size_t size)
{
    (void)snprintf(path, size, "%sndb_%u_config.bin.%u", mgmd->config_dir, mgmd->own_node,
                   generation);
}

/* The oldest or the newest of the generations from `from` to before `below` of which a file exists;
 * 0 when there is none. */
static uint32_t kept_find(const struct mgmd *mgmd, uint32_t from, uint32_t below, bool newest)
{
    char prefix[64];
    DIR *directory = opendir(mgmd->config_dir);
    uint32_t best = 0;

    int length = snprintf(prefix, sizeof(prefix), "ndb_%u_config.bin.", mgmd->own_node);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        int64_t generation;
        if (strncmp(entry->d_name, prefix, (size_t)length) != 0) continue;
        if (mgm_parse_number(entry->d_name + length, &generation) != 0) continue;
        if (generation < 1 || generation < from || generation >= below) continue;
        if (best == 0 || (newest ? generation > best : generation < best))
            best = (uint32_t)generation;
    }
    if (directory != NULL) (void)closedir(directory);
    return best;
}

uint32_t mgmd_kept_newest(const struct mgmd *mgmd, uint32_t below)
{
    return kept_find(mgmd, 1, below, true);
}

/* The node whose configurations the directory holds; 0: nobody's, or those of several. */
uint32_t mgmd_kept_owner(const struct mgmd *mgmd)
{
    DIR *directory = opendir(mgmd->config_dir);
    uint32_t owner = 0;
    bool several = false;

    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        unsigned node;
        unsigned generation;
        int end = 0;
        if (sscanf(entry->d_name, "ndb_%u_config.bin.%u%n", &node, &generation, &end) != 2 ||
            entry->d_name[end] != '\0')
            continue;
        several |= owner != 0 && owner != node;
        owner = node;
    }
    if (directory != NULL) (void)closedir(directory);
    return several ? 0 : owner;
}

/* A generation that is kept, or NULL with the reason. */
struct cluster_config *mgmd_kept_load(const struct mgmd *mgmd, uint32_t generation, char *why,
                                      size_t why_size)
{
    char path[2300];
    size_t size;

    kept_path(mgmd, generation, path, sizeof(path));
    uint8_t *bytes = mgmd_read_file(path, &size);
    if (bytes == NULL) (void)snprintf(why, why_size, "it cannot be read: %s", strerror(errno));
    struct cluster_config *config =
        bytes == NULL ? NULL : config_decode(bytes, size, why, why_size);
    free(bytes);
    return config;
}

/* The newest cached configuration that can be read; damaged ones are named and skipped. */
struct cluster_config *mgmd_kept_load_newest(struct mgmd *mgmd)
{
    uint32_t generation = UINT32_MAX;
    char path[2300];
    char why[128];

    while ((generation = mgmd_kept_newest(mgmd, generation)) != 0) {
        struct cluster_config *config = mgmd_kept_load(mgmd, generation, why, sizeof(why));
        if (config != NULL) return config;
        kept_path(mgmd, generation, path, sizeof(path));
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR,
                           "Cached configuration %s is not used: %s", path, why);
        (void)fprintf(stderr, "ndb_mgmd: %s is not used: %s\n", path, why);
    }
    return NULL;
}

/* A generation is made once: not with the number of one whose file is damaged, either. */
uint32_t mgmd_kept_next(const struct mgmd *mgmd, const struct cluster_config *config)
{
    uint32_t newest = mgmd_kept_newest(mgmd, UINT32_MAX);

    return (newest > config_generation(config) ? newest : config_generation(config)) + 1;
}

int mgmd_kept_store(struct mgmd *mgmd, const struct cluster_config *config)
{
    char path[2300];
    size_t size;
    uint8_t *bytes = config_encode(config, &size);

    kept_path(mgmd, config_generation(config), path, sizeof(path));
    int rc = bytes == NULL ? -1 : mgmd_write_file(path, bytes, size);
    int why = bytes == NULL ? ENOMEM : errno;
    free(bytes);
    if (rc != 0)
        cluster_log_stderr("the cache %s cannot be written: %s; %s", path, strerror(why),
                           mgmd_write_cure(why));
    errno = why;
    return rc;
}

/* Removes the generations below `below`, but not `kept`: the oldest first, so that whoever is
 * killed meanwhile finds the newest still. 0, or -1: there is one that stays. */
static int kept_clear(struct mgmd *mgmd, uint32_t below, uint32_t kept)
{
    char path[2300];
    uint32_t at = 0;
    uint32_t removed = 0;
    int rc = 0;

    while ((at = kept_find(mgmd, at + 1, below, false)) != 0) {
        kept_path(mgmd, at, path, sizeof(path));
        if (at == kept) continue;
        removed++;
        if (unlink(path) == 0) continue;
        rc = -1;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR, "%s cannot be removed: %s", path,
                           strerror(errno));
        cluster_log_stderr("%s cannot be removed: %s", path, strerror(errno));
    }
    if (removed > 0 && rc == 0)
        (void)mgmd_sync_directory_of(path); /* It was synced a moment ago. */
    return rc;
}

/* This configuration takes the place of all that are kept. They go when it is there: whoever cannot
 * write, or is killed, still has the cluster's id. */
int mgmd_kept_store_alone(struct mgmd *mgmd, const struct cluster_config *config)
{
    if (mgmd_kept_store(mgmd, config) != 0) return -1;
    return kept_clear(mgmd, UINT32_MAX, config_generation(config));
}

void mgmd_kept_forget(struct mgmd *mgmd)
{
    (void)kept_clear(mgmd, config_generation(mgmd->config), 0);
}

int mgmd_kept_behind(struct mgmd *mgmd, uint32_t generation)
{
    uint32_t own = config_generation(mgmd->config);

    if (generation == 0 || generation == UINT32_MAX) return 0;
    if (config_count(mgmd->config, CONFIG_MGMD) > 1) return 0;
    if (generation < own || (generation == own && !mgmd->anew)) {
        char path[2300];
        kept_path(mgmd, generation, path, sizeof(path));
        if (mgmd->anew) (void)mgmd_remove_file(path); /* It is not what that node runs with. */
        return 0;
    }
    config_set_generation(mgmd->config, generation + 1);
    if (mgmd_kept_store(mgmd, mgmd->config) != 0) {
        int error = errno;
        config_set_generation(mgmd->config, own);
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "The data nodes run with generation %u, which is lost, and the cache in "
                           "%s cannot be written (%s): the next change may get a number that is "
                           "taken",
                           generation, mgmd->config_dir, strerror(error));
        return -1;
    }
    (void)kept_clear(mgmd, generation + 1, 0);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "The data nodes run with generation %u, which is lost: the configuration is "
                       "generation %u",
                       generation, config_generation(mgmd->config));
    return 0;
}

/* ---- for data nodes that run ---- */

/* One of another version has other parameters in its digest, or none: its generation counts. */
static bool says_digest(const struct mgmd_node *node)
{
    return node->digest != 0 && node->version == MGMD_VERSION;
}

/* Does the node run with this configuration? Its number says nothing where the content is known: a
 * server gives one to what it has without a kept one. */
bool mgmd_runs_with(const struct mgmd_node *node, const struct cluster_config *config)
{
    if (says_digest(node)) return node->digest == config_content_digest(config);
    return node->generation == config_generation(config);
}

/* What the node runs with, of those that are kept; NULL: none of them, with the reason. */
struct cluster_config *mgmd_running_config(const struct mgmd *mgmd, const struct mgmd_node *node,
                                           char *why, size_t why_size)
{
    struct cluster_config *old = mgmd_kept_load(mgmd, node->generation, why, why_size);
    if (old == NULL && !says_digest(node)) return NULL;
    if (old != NULL && mgmd_runs_with(node, old)) return old;
    if (old != NULL) (void)snprintf(why, why_size, "what has its number here is another one");
    config_free(old);
    for (uint32_t at = mgmd_kept_newest(mgmd, UINT32_MAX); at != 0;
         at = mgmd_kept_newest(mgmd, at)) {
        char other[128];
        old = at == node->generation ? NULL : mgmd_kept_load(mgmd, at, other, sizeof(other));
        if (old != NULL && mgmd_runs_with(node, old)) return old;
        config_free(old);
    }
    return NULL;
}

/* A generation that nodes still run with; NULL: not kept. */
uint8_t *mgmd_config_encode(const struct mgmd *mgmd, uint32_t from_node, size_t *size,
                            uint32_t *generation, char *why, size_t why_size)
{
    *generation = config_generation(mgmd->config);
    if (from_node != 0) {
        *generation = mgmd->nodes[from_node].linked ? mgmd->nodes[from_node].generation : 0;
        if (*generation == 0) {
            (void)snprintf(why, why_size, "node %u is no data node that runs", from_node);
            return NULL;
        }
    }
    char reason[128];
    bool current = from_node == 0 || mgmd_runs_with(&mgmd->nodes[from_node], mgmd->config);
    struct cluster_config *old =
        current ? NULL : mgmd_running_config(mgmd, &mgmd->nodes[from_node], reason, sizeof(reason));
    if (!current && old == NULL) {
        (void)snprintf(why, why_size,
                       "generation %u, which node %u runs with, is not kept here: %s", *generation,
                       from_node, reason);
        return NULL;
    }
    *generation = config_generation(current ? mgmd->config : old);
    uint8_t *bytes = config_encode(current ? mgmd->config : old, size);
    if (bytes == NULL) (void)snprintf(why, why_size, "out of memory");
    config_free(old);
    return bytes;
}

/* Whose configuration the node would come back to: its own, or as long as it has not joined theirs
 * who are started. */
static const struct mgmd_node *comes_back_to(const struct mgmd *mgmd, uint32_t id)
{
    enum ndb_mgm_node_status status = mgmd_data_node_status(mgmd, id);

    if (status != NDB_MGM_STATUS_NOT_STARTED &&
        (status != NDB_MGM_STATUS_STARTING || mgmd->nodes[id].start_phase != 0))
        return &mgmd->nodes[id];
    for (uint32_t other = 1; other <= CONFIG_DATA_NODES_MAX; other++) {
        if (mgmd_node_works(mgmd, other) && mgmd->nodes[other].generation != 0)
            return &mgmd->nodes[other];
    }
    return &mgmd->nodes[id];
}

bool mgmd_config_fits(struct mgmd *mgmd, const struct node_mask *nodes, bool whole, bool initial,
                      char *why, size_t size)
{
    bool fits = true;

    for (uint32_t id = node_mask_next(nodes, 0); id != 0 && fits; id = node_mask_next(nodes, id)) {
        const struct mgmd_node *node = comes_back_to(mgmd, id);
        char what[300] = "";
        char reason[128];
        if (!node->linked || node->generation == 0 || mgmd_runs_with(node, mgmd->config)) continue;
        struct cluster_config *old = mgmd_running_config(mgmd, node, reason, sizeof(reason));
        if (old == NULL && (whole || !says_digest(node)))
            continue; /* The others refuse what does not fit. */
        if (old == NULL) {
            (void)snprintf(
                why, size,
                "Node %u runs with generation %u of a configuration that is not kept "
                "here, and differs from this one: whether node %u could come back alone is "
                "not known. Order it at a management server that has that one, restart "
                "all data nodes together (ALL RESTART), start this server with the file "
                "that they run with, or order RESTART -f, which looks neither at that "
                "nor at whether somebody else has its rows",
                (uint32_t)(node - mgmd->nodes), node->generation, id);
            return false;
        }
        const char *needs = config_restart_needed(old, mgmd->config, id, what, sizeof(what));
        config_free(old);
        fits = false;
        if (strcmp(needs, "IS") == 0 && !(whole && initial))
            (void)snprintf(why, size,
                           "%s. That takes effect only in an initial restart of the whole cluster "
                           "(ALL RESTART -i -f), which empties it; else take the change back",
                           what);
        else if (strcmp(needs, "S") == 0 && !whole)
            (void)snprintf(why, size,
                           "%s. That takes effect only when all data nodes are restarted together "
                           "(ALL RESTART)",
                           what);
        else if (strcmp(needs, "IN") == 0 && !initial)
            (void)snprintf(why, size, "%s. That needs a restart with empty files (-i)%s", what,
                           whole ? ", node by node: ROLLING RESTART -i" : "");
        else
            fits = true;
    }
    return fits;
}
