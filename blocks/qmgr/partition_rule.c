/* partition_rule.c -- decides whether the part of the cluster that is left may go on. Pure. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/partition_rule.h"
#include <string.h>

struct group_part {
    uint32_t all; /* Nodes of the group by the configuration. */
    uint32_t alive;
};

enum arbit_code partition_rule(const struct node_config *config, const struct node_mask *before,
                               const struct node_mask *alive)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    struct group_part part[NODE_ID_MAX + 1];
    uint32_t groups = node_config_groups(config, group_of);
    bool whole = false;
    memset(part, 0, sizeof(part));
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (group_of[node] == NODEGROUP_NONE) continue;
        part[group_of[node]].all++;
        part[group_of[node]].alive += node_mask_has(alive, node);
    }
    for (uint32_t group = 0; group < groups; group++) {
        if (part[group].alive == 0) return ARBIT_LOSE_GROUPS; /* Its rows are not here. */
        whole |= part[group].alive == part[group].all;
    }
    if (whole) return ARBIT_WIN_GROUPS; /* Nobody else can have that group. */
    uint32_t left = node_mask_count(alive);
    uint32_t were = node_mask_count(before);
    if (2u * left > were) return ARBIT_WIN_NODES;
    return 2u * left < were ? ARBIT_LOSE_NODES : ARBIT_PARTITIONING;
}
