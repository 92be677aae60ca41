/* config_check.h -- what the files of the rules share: a check under way, and the rules of another
 * file. Private to config/config_check*.c. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "config/config.h"

/* A configuration that is checked. `file` is for messages. */
struct check {
    struct cluster_config *config;
    const char *file;
    struct config_report *report;
};

#define FOR_NODES(node, check, kind)                                                               \
    for (struct config_section *node = config_next_node((check)->config, 0, (kind)); node != NULL; \
         node = config_next_node((check)->config, config_section_node(node), (kind)))

/* Adds an error or a warning about a parameter of the section to the report. */
#define REPORT(check, is_error, section, id, ...)                                                  \
    config_report_add((check)->report, (is_error), (check)->file, config_line((section), (id)),    \
                      config_kind_name(config_section_kind(section)),                              \
                      config_param(config_section_kind(section), (id))->name, __VA_ARGS__)

/* ---- config_check_hosts.c ---- */

/* The name of the host that a node of any kind is on; "": it has none. */
const char *config_host_of(const struct config_section *node);
/* Do both names stand for one host? All names of the loopback do. */
bool config_same_host(const char *a, const char *b);
/* Each HostName has only the characters of host names; also in a file with other errors. */
void config_check_host_names(struct check *check);
/* Either all nodes are on the loopback, or none is. */
void config_check_hosts(struct check *check);
/* All data nodes have the NoOfReplicas of the first one, which is in `replicas` then. */
void config_check_replicas(struct check *check, uint64_t *replicas);
/* Gives a node group to each data node without one; every group is full, and they are numbered
 * from 0. */
void config_check_groups(struct check *check, uint64_t replicas);
/* Warns of a node group that has several of its nodes on one host. */
void config_warn_group_hosts(struct check *check, uint64_t replicas);
/* Warns of arbitrators that share a host with a data node, and of hosts whose loss stops the
 * cluster. */
void config_check_arbitration(struct check *check);
