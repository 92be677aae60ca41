/* reach_rule.c -- decides who has to leave when not everybody reaches everybody. Pure. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/reach_rule.h"
#include <string.h>

/* Neither end says that it does not reach the other. Who has not spoken is taken to reach all. */
static bool joined(const struct reach *reach, uint32_t a, uint32_t b)
{
    if (a == b) return true;
    if (node_mask_has(&reach->known, a) && !node_mask_has(&reach->row[a], b)) return false;
    return !node_mask_has(&reach->known, b) || node_mask_has(&reach->row[b], a);
}

/* Whom the own node reaches, and whom those reach. */
static void in_sight(const struct reach *reach, struct node_mask *seen)
{
    struct node_mask near = {{0}};
    struct node_mask rest = reach->members;
    node_mask_cut(&rest, &reach->gone);
    EACH_NODE(node, &rest) {
        if (joined(reach, reach->own, node)) node_mask_add(&near, node);
    }
    *seen = near;
    EACH_NODE(far, &rest) {
        if (node_mask_has(&near, far)) continue;
        EACH_NODE(via, &near) {
            bool says = via != reach->own && node_mask_has(&reach->known, via);
            if (says && joined(reach, via, far)) node_mask_add(seen, far);
        }
    }
}

static uint32_t broken_links(const struct reach *reach, const struct node_mask *alive,
                             uint32_t node)
{
    uint32_t broken = 0;
    EACH_NODE(other, alive)
        broken += !joined(reach, node, other);
    return broken;
}

/* Its node group has somebody else. */
static bool is_spare(const uint32_t *group_of, const struct node_mask *alive, uint32_t node)
{
    if (group_of[node] == NODEGROUP_NONE) return true;
    EACH_NODE(other, alive) {
        if (other != node && group_of[other] == group_of[node]) return true;
    }
    return false;
}

/* 0 when all reach each other. */
static uint32_t next_to_leave(const struct reach *reach, const uint32_t *group_of,
                              const struct node_mask *alive)
{
    uint32_t best = 0;
    uint32_t best_broken = 0;
    bool best_spare = false;
    bool best_accused = false;
    EACH_NODE(node, alive) {
        uint32_t broken = broken_links(reach, alive, node);
        if (broken == 0) continue;
        bool spare = is_spare(group_of, alive, node);
        bool accused = node_mask_has(&reach->accused, node);
        bool worse = spare != best_spare       ? spare
                     : accused != best_accused ? accused
                     : broken != best_broken   ? broken > best_broken
                                               : reach->age[node] > reach->age[best];
        if (best != 0 && !worse) continue;
        best = node;
        best_broken = broken;
        best_spare = spare;
        best_accused = accused;
    }
    return best;
}

void reach_rule(const struct node_config *config, const struct reach *reach,
                struct node_mask *leave)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    struct node_mask alive;
    (void)node_config_groups(config, group_of);
    in_sight(reach, &alive);
    for (;;) {
        uint32_t node = next_to_leave(reach, group_of, &alive);
        if (node == 0) break;
        node_mask_remove(&alive, node);
    }
    *leave = reach->members;
    node_mask_cut(leave, &alive);
}
