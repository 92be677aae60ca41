/* mc_tool.h -- what the commands of ndb_memcached_config share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_config_rows.h"

enum mc_tool_exit { MC_TOOL_OK = 0, MC_TOOL_FAILED = 1, MC_TOOL_USAGE = 2 };

#define MC_TOOL_CLUSTERS_MAX 16u

struct mc_tool_cluster {
    char connect_string[129];
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
};

struct mc_tool {
    const char *connect_string;
    uint32_t node_id;
    int retries; /* -1: for ever. */
    uint32_t delay_s;
    bool json, force, flush_from_db;
    const char *cluster, *max_tps, *table, *key, *value, *flags, *increment, *cas, *expire, *large;
    const struct mc_tool_command *command;
    int argc; /* The command's arguments. */
    char **argv;
    uint32_t cluster_count; /* The primary one, and those of ndb_clusters that were asked for. */
    struct mc_tool_cluster clusters[MC_TOOL_CLUSTERS_MAX];
    ndb_t *ndb;  /* The primary cluster's. */
    void *watch; /* What the caller of mc_tool_source() gave for its `log`. */
    struct mc_config_error error;
};

struct mc_tool_command {
    const char *name;
    int arguments_min, arguments_max;
    int (*run)(struct mc_tool *tool); /* The exit code. */
};

/* Prints tool->error on standard error. Returns MC_TOOL_FAILED. */
int mc_tool_fail(const struct mc_tool *tool);
/* Where configurations are loaded from. The context of `log` is the tool, with `watch`. */
struct mc_config_source mc_tool_source(struct mc_tool *tool,
                                       void (*log)(void *context, const char *line), void *watch);

/* The commands. */
int mc_tool_bootstrap(struct mc_tool *tool);
int mc_tool_show(struct mc_tool *tool);
int mc_tool_check(struct mc_tool *tool);
int mc_tool_add_prefix(struct mc_tool *tool);
int mc_tool_drop_prefix(struct mc_tool *tool);
int mc_tool_add_container(struct mc_tool *tool);
int mc_tool_drop_container(struct mc_tool *tool);
int mc_tool_add_policy(struct mc_tool *tool);
int mc_tool_drop_policy(struct mc_tool *tool);
int mc_tool_add_role(struct mc_tool *tool);
int mc_tool_drop_role(struct mc_tool *tool);
int mc_tool_add_cluster(struct mc_tool *tool);
int mc_tool_drop_cluster(struct mc_tool *tool);
int mc_tool_reload(struct mc_tool *tool);
