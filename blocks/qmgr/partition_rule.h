/* partition_rule.h -- decides whether the part of the cluster that is left may go on. Pure. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node_config.h"
#include "signals/arbit.h"

/*
 * `before`: members of the last view; `alive`: those of them that are left. Of two disjoint sets
 * `alive` of one `before` at most one gets ARBIT_WIN_..., and then the other gets ARBIT_LOSE_...;
 * two get ARBIT_PARTITIONING only together. Returns one of ARBIT_LOSE_NODES, _LOSE_GROUPS,
 * _WIN_NODES, _WIN_GROUPS, _PARTITIONING.
 */
enum arbit_code partition_rule(const struct node_config *config, const struct node_mask *before,
                               const struct node_mask *alive);
