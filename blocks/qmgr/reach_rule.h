/* reach_rule.h -- decides who has to leave when not everybody reaches everybody. Pure. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node_config.h"

/* What one node knows. Only the rows of members in `known` count. */
struct reach {
    uint32_t own;
    struct node_mask members;
    struct node_mask gone;    /* Members that leave in any case. */
    struct node_mask accused; /* Members that have broken the protocol, as others that stay say. */
    struct node_mask known;   /* Members whose rows count, the own node included. */
    struct node_mask row[NODE_ID_MAX + 1];
    uint32_t age[NODE_ID_MAX + 1]; /* Dynamic ids: the greater, the younger. */
};

/*
 * *leave: the smallest reasonable set of members without which all that stay reach each other.
 * Includes `gone`, and everybody whom neither the own node nor anyone it reaches can reach. Nodes
 * with the same knowledge get the same answer, whichever of them is `own`. May include the own
 * node.
 */
void reach_rule(const struct node_config *config, const struct reach *reach,
                struct node_mask *leave);
