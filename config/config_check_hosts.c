/* config_check_hosts.c -- the rules of where nodes are: their hosts, node groups and arbitrators,
 * and what is lost with a host. */
/* SPDX-License-Identifier: MIT */
#include "config/config_check.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool host_text_ok(const char *host)
{
    for (const char *c = host; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr(".-:_%", *c) == NULL) return false;
    }
    return host[0] != '-';
}

static bool is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

bool config_same_host(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0 || (is_loopback(a) && is_loopback(b));
}

const char *config_host_of(const struct config_section *node)
{
    return config_get_text(node, CFG_NDBD_HostName); /* 5 in all three kinds. */
}

void config_check_host_names(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NONE) {
        const char *host = config_host_of(node);
        if (host_text_ok(host)) continue;
        REPORT(check, true, node, CFG_NDBD_HostName,
               "\"%.64s\" is no host name (allowed: letters, digits, . - _ :)", host);
    }
}

/* What is no host name has been reported. */
void config_check_hosts(struct check *check)
{
    const struct config_section *loopback = NULL;
    const struct config_section *real = NULL;

    FOR_NODES(node, check, CONFIG_NONE) {
        const char *host = config_host_of(node);
        if (host[0] == '\0' || !host_text_ok(host)) continue;
        if (is_loopback(host))
            loopback = node;
        else
            real = node;
    }
    if (loopback == NULL || real == NULL) return;
    REPORT(check, true, loopback, CFG_NDBD_HostName,
           "\"%s\" is this machine only, but node %u is on \"%s\" (allowed: loopback names for all "
           "nodes or for none)",
           config_host_of(loopback), config_section_node(real), config_host_of(real));
}

/* What is at risk when a host is lost is told when all hosts have names. */
static bool hosts_known(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NONE) {
        if (!host_text_ok(config_host_of(node))) return false;
    }
    return true;
}

static bool all_loopback(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NONE) {
        if (config_host_of(node)[0] != '\0' && !is_loopback(config_host_of(node))) return false;
    }
    return true;
}

void config_check_replicas(struct check *check, uint64_t *replicas)
{
    const struct config_section *first = config_next_node(check->config, 0, CONFIG_NDBD);

    *replicas = first == NULL ? 1 : config_get_u64(first, CFG_NDBD_NoOfReplicas);
    FOR_NODES(node, check, CONFIG_NDBD) {
        uint64_t mine = config_get_u64(node, CFG_NDBD_NoOfReplicas);
        if (mine == *replicas) continue;
        REPORT(check, true, node, CFG_NDBD_NoOfReplicas,
               "%u differs from node %u (allowed: %u, the same for all data nodes)", (uint32_t)mine,
               config_section_node(first), (uint32_t)*replicas);
    }
}

/* Nodes without a group fill the groups in id order, `replicas` nodes each. */
static void assign_groups(struct check *check, uint64_t replicas, uint32_t *members)
{
    FOR_NODES(node, check, CONFIG_NDBD) {
        uint64_t group = config_get_u64(node, CFG_NDBD_Nodegroup);
        if (group < CONFIG_NODEGROUPS_MAX * 2) members[group]++;
    }
    FOR_NODES(node, check, CONFIG_NDBD) {
        uint32_t group = 0;
        if (config_get_u64(node, CFG_NDBD_Nodegroup) != CONFIG_NODEGROUP_UNSET) continue;
        while (group < CONFIG_NODEGROUPS_MAX * 2 && members[group] >= replicas)
            group++;
        if (group == CONFIG_NODEGROUPS_MAX * 2) continue; /* Reported as too many groups. */
        members[group]++;
        uint32_t line = config_section_line(node);
        (void)config_set_u64(node, CFG_NDBD_Nodegroup, group);
        config_set_line(node, CFG_NDBD_Nodegroup, line);
    }
}

void config_check_groups(struct check *check, uint64_t replicas)
{
    uint32_t members[CONFIG_NODEGROUPS_MAX * 2] = {0};
    bool told[CONFIG_NODEGROUPS_MAX * 2] = {false};

    assign_groups(check, replicas, members);
    FOR_NODES(node, check, CONFIG_NDBD) {
        uint64_t group = config_get_u64(node, CFG_NDBD_Nodegroup);
        if (group == CONFIG_NODEGROUP_NONE) continue;
        if (group >= CONFIG_NODEGROUPS_MAX) {
            REPORT(check, true, node, CFG_NDBD_Nodegroup,
                   "node group %u is too high (allowed range 0..%u, or 65536 for none)",
                   (uint32_t)group, CONFIG_NODEGROUPS_MAX - 1);
            continue;
        }
        if (members[group] == replicas || told[group]) continue;
        told[group] = true;
        REPORT(check, true, node, CFG_NDBD_Nodegroup,
               "node group %u has %u nodes (allowed: %u, one for each of NoOfReplicas)",
               (uint32_t)group, members[group], (uint32_t)replicas);
    }
    if (config_count(check->config, CONFIG_NDBD) > 0 && members[0] == 0) {
        const struct config_section *node = config_next_node(check->config, 0, CONFIG_NDBD);
        REPORT(check, true, node, CFG_NDBD_Nodegroup,
               "no node belongs to node group 0 (allowed: groups are numbered from 0)");
    }
}

void config_warn_group_hosts(struct check *check, uint64_t replicas)
{
    if (replicas < 2 || !hosts_known(check) || all_loopback(check)) return;
    FOR_NODES(node, check, CONFIG_NDBD) {
        FOR_NODES(other, check, CONFIG_NDBD) {
            if (config_section_node(other) <= config_section_node(node)) continue;
            uint64_t group = config_get_u64(node, CFG_NDBD_Nodegroup);
            if (group == CONFIG_NODEGROUP_NONE ||
                group != config_get_u64(other, CFG_NDBD_Nodegroup)) {
                continue;
            }
            if (!config_same_host(config_host_of(node), config_host_of(other))) continue;
            REPORT(check, false, other, CFG_NDBD_Nodegroup,
                   "nodes %u and %u of node group %u are both on \"%s\": losing this host stops "
                   "the cluster",
                   config_section_node(node), config_section_node(other), (uint32_t)group,
                   config_host_of(node));
        }
    }
}

/* Returns true when an arbitrator of rank 1 or 2 exists on a host without data nodes. */
static bool warn_arbitrators(struct check *check, enum config_kind kind, uint32_t rank_id,
                             bool *found)
{
    bool safe = false;

    FOR_NODES(node, check, kind) {
        if (config_get_u64(node, rank_id) == 0) continue;
        *found = true;
        bool shared = false;
        FOR_NODES(data, check, CONFIG_NDBD)
            shared |= config_same_host(config_host_of(node), config_host_of(data));
        if (!shared)
            safe = true;
        else if (config_is_set(node, CFG_NDBD_HostName)) {
            REPORT(check, false, node, rank_id,
                   "arbitrator %u is on \"%s\" like a data node: losing this host may stop the "
                   "cluster",
                   config_section_node(node), config_host_of(node));
        }
    }
    return safe;
}

/* Could an arbitrator be asked when this host is gone? */
static bool arbitrator_elsewhere(struct check *check, const char *host)
{
    FOR_NODES(mgm, check, CONFIG_MGMD) {
        if (config_get_u64(mgm, CFG_MGMD_ArbitrationRank) != 0 &&
            !config_same_host(config_host_of(mgm), host))
            return true;
    }
    FOR_NODES(api, check, CONFIG_API) {
        if (config_get_u64(api, CFG_API_ArbitrationRank) != 0 &&
            !config_same_host(config_host_of(api), host))
            return true;
    }
    return false;
}

/* No node of this one's node group is on the host. */
static bool group_is_elsewhere(struct check *check, const struct config_section *node,
                               const char *host)
{
    uint64_t group = config_get_u64(node, CFG_NDBD_Nodegroup);

    if (group == CONFIG_NODEGROUP_NONE) return false;
    FOR_NODES(mate, check, CONFIG_NDBD) {
        if (config_get_u64(mate, CFG_NDBD_Nodegroup) == group &&
            config_same_host(config_host_of(mate), host))
            return false;
    }
    return true;
}

/* Warns by the rule of docs/protocols/failure.md. What has all copies on one host is told of
 * elsewhere. */
static void warn_host(struct check *check, const struct config_section *node)
{
    const char *host = config_host_of(node);
    uint32_t here = 0;
    uint32_t left = 0;
    bool whole = false;

    FOR_NODES(other, check, CONFIG_NDBD) {
        if (config_same_host(host, config_host_of(other))) {
            here++;
            if (config_section_node(other) < config_section_node(node)) return; /* Was told. */
        } else {
            left++;
            whole |= group_is_elsewhere(check, other, host);
        }
    }
    if (whole || left > here || left == 0) return;
    if (left == here && arbitrator_elsewhere(check, host)) return;
    REPORT(check, false, node, CFG_NDBD_HostName, "losing host \"%s\" stops the cluster: %s", host,
           left == here ? "half of its data nodes are left, and no arbitrator is elsewhere"
                        : "less than half of its data nodes are left");
}

static void warn_host_loss(struct check *check)
{
    FOR_NODES(node, check, CONFIG_NDBD)
        warn_host(check, node);
}

void config_check_arbitration(struct check *check)
{
    bool found = false;

    if (config_count(check->config, CONFIG_NDBD) < 2) return;
    if (!hosts_known(check) || all_loopback(check)) return;
    (void)warn_arbitrators(check, CONFIG_MGMD, CFG_MGMD_ArbitrationRank, &found);
    (void)warn_arbitrators(check, CONFIG_API, CFG_API_ArbitrationRank, &found);
    const struct config_section *mgm = config_next_node(check->config, 0, CONFIG_MGMD);
    if (!found && mgm != NULL) {
        REPORT(check, false, mgm, CFG_MGMD_ArbitrationRank,
               "no node has a rank above 0: a network partition stops the cluster");
    }
    warn_host_loss(check);
}
