/* mgmd_change.c -- how the configuration of a server that runs becomes another one: its file is
 * read again, or another server has a newer one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/config_parse.h"
#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "mgmd/mgmd_peers.h"

/* Why another server's configuration cannot be this one's, or NULL. */
const char *mgmd_config_not_ours(const struct mgmd *mgmd, const struct cluster_config *theirs,
                                 uint64_t cluster_id)
{
    const struct config_section *own = config_node(theirs, mgmd->own_node);

    if (config_cluster_id(theirs) != cluster_id) return "is of another cluster";
    if (own == NULL || config_section_kind(own) != CONFIG_MGMD)
        return "has no [ndb_mgmd] section for this one any more";
    return NULL;
}

/* Gives the new configuration its generation and identity and stores it; generation 1 alone. */
int mgmd_config_adopt(struct mgmd *mgmd, struct cluster_config *config,
                      const struct cluster_config *cached, uint32_t generation)
{
    config_set_generation(config, generation);
    mgmd_identity_give(mgmd, config, cached);
    return generation == 1 ? mgmd_kept_store_alone(mgmd, config) : mgmd_kept_store(mgmd, config);
}

int mgmd_config_take(struct mgmd *mgmd, struct cluster_config *config, bool any_cluster)
{
    bool same = config_cluster_id(config) == config_cluster_id(mgmd->config);
    uint64_t wanted = config_cluster_id(any_cluster ? config : mgmd->config);
    const char *why = mgmd_config_not_ours(mgmd, config, wanted);

    if (why != NULL) {
        bool leaves = same || any_cluster;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ALERT,
                           "Generation %u of another management server %s%s",
                           config_generation(config), why, leaves ? ". This server stops" : "");
        if (leaves) mgmd_exit(mgmd, 0);
        return 1;
    }
    /* From a server that is sure of its cluster: what this server has made by itself counts no
     * more. */
    if ((any_cluster ? mgmd_kept_store_alone(mgmd, config) : mgmd_kept_store(mgmd, config)) != 0)
        return -1;
    config_free(mgmd->config);
    mgmd->config = config;
    mgm_link_update(mgmd->link);
    return 0;
}

/* What the file said at the start counts no more: it has been read again. */
static void forget_pending(struct mgmd *mgmd)
{
    if (mgmd->pending == NULL) return;
    config_free(mgmd->pending);
    mgmd->pending = NULL;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_INFO,
                       "The change that waited for all management servers is dropped: the file has "
                       "been read again");
}

void mgmd_config_pending(struct mgmd *mgmd)
{
    struct mgmd_unlike unlike;
    uint32_t missing = mgmd_peer_missing(mgmd, &unlike);
    uint64_t now = uv_now(mgmd->loop);

    if (mgmd->pending == NULL) return;
    if (missing != 0) {
        if (now < mgmd->pending_told) return;
        mgmd->pending_told = now + 60000;
        cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                           "The change of the configuration waits for management server %u, which "
                           "%s: %s",
                           missing, unlike.what, unlike.cure);
        return;
    }
    struct cluster_config *config = mgmd->pending;
    mgmd->pending = NULL;
    if (mgmd_config_adopt(mgmd, config, mgmd->config, mgmd_kept_next(mgmd, mgmd->config)) != 0) {
        config_free(config);
        return;
    }
    config_free(mgmd->config);
    mgmd->config = config;
    mgm_link_update(mgmd->link);
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING, "The changed file is generation %u now",
                       config_generation(config));
}

/* 0, or -1 with the reason why this server cannot change the configuration now. */
static int may_change(const struct mgmd *mgmd, char *why, size_t size)
{
    struct mgmd_unlike unlike;

    if (config_count(mgmd->config, CONFIG_MGMD) < 2) return 0;
    if (!mgmd_leads(mgmd)) {
        (void)snprintf(why, size, "the configuration is changed at management server %u",
                       config_section_node(config_next_node(mgmd->config, 0, CONFIG_MGMD)));
        return -1;
    }
    uint32_t missing = mgmd_peer_missing(mgmd, &unlike);
    if (missing == 0) return 0;
    (void)snprintf(why, size,
                   "management server %u %s, and all must have the same configuration: %s, then "
                   "repeat",
                   missing, unlike.what, unlike.cure);
    return -1;
}

/* A file that this server can be a part of, or NULL with the reason. */
static struct cluster_config *read_own(const struct mgmd *mgmd, const char *file, char *why,
                                       size_t why_size)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_file(file, &report);
    const char *error = config_report_error(&report);

    if (config == NULL)
        (void)snprintf(why, why_size, "%s", error == NULL ? "out of memory" : error);
    config_report_clear(&report);
    if (config == NULL) return NULL;
    const struct config_section *own = config_node(config, mgmd->own_node);
    if (own != NULL && config_section_kind(own) == CONFIG_MGMD) return config;
    (void)snprintf(why, why_size, "%s has no [ndb_mgmd] section for node %u", file, mgmd->own_node);
    config_free(config);
    return NULL;
}

int mgmd_config_reload(struct mgmd *mgmd, const char *file, char *why, size_t why_size)
{
    char what[256] = "";

    if (file == NULL) file = mgmd->options.config_file;
    if (file == NULL) {
        (void)snprintf(why, why_size, "the server was started without a configuration file");
        return -1;
    }
    struct cluster_config *config = read_own(mgmd, file, why, why_size);
    if (config == NULL) return -1;
    if (config_equal(mgmd->config, config, what, sizeof(what))) {
        config_free(config);
        forget_pending(mgmd);
        return 0;
    }
    if (may_change(mgmd, why, why_size) != 0) {
        config_free(config);
        return -1;
    }
    if (mgmd_config_adopt(mgmd, config, mgmd->config, mgmd_kept_next(mgmd, mgmd->config)) != 0) {
        (void)snprintf(why, why_size, "the cache in %s cannot be written: %s", mgmd->config_dir,
                       strerror(errno));
        config_free(config);
        return -1;
    }
    forget_pending(mgmd);
    config_free(mgmd->config);
    mgmd->config = config;
    cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_WARNING,
                       "%s was reloaded and is generation %u (%s)", file, config_generation(config),
                       what);
    mgm_link_update(mgmd->link);
    return 0;
}
