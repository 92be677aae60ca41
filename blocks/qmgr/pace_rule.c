/* pace_rule.c -- decides who is slow, and for how long it has to be. Pure functions. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/pace_rule.h"
#include <string.h>

/* Some figures, in order. */
struct figures {
    uint32_t count;
    uint32_t ms[DATA_NODE_ID_MAX + 1];
};

static void figures_add(struct figures *figures, uint32_t ms)
{
    uint32_t at = figures->count++;
    for (; at > 0 && figures->ms[at - 1] > ms; at--)
        figures->ms[at] = figures->ms[at - 1];
    figures->ms[at] = ms;
}

/* The lower median of the figures. */
static uint32_t median(const struct figures *figures)
{
    return figures->count == 0 ? PACE_UNKNOWN : figures->ms[(figures->count - 1u) / 2u];
}

/* What the better third of those says who look; one alone may be the slow one itself. */
static uint32_t better_third(const struct figures *figures)
{
    return figures->count < 2 ? PACE_UNKNOWN : figures->ms[(figures->count - 1u) / 3u];
}

/* The column of `node` in that row, PACE_PEERS when it is not there. */
static uint32_t column_of(const struct pace_row *row, uint32_t node)
{
    uint32_t at = 0;
    while (at < PACE_PEERS && row->node[at] != node)
        at++;
    return at;
}

static uint32_t limit(uint32_t typical_ms)
{
    if (typical_ms == PACE_UNKNOWN) return PACE_UNKNOWN;
    if (typical_ms > PACE_UNKNOWN / PACE_FACTOR - 1u) return PACE_UNKNOWN;
    return typical_ms * PACE_FACTOR > PACE_LEAST_MS ? typical_ms * PACE_FACTOR : PACE_LEAST_MS;
}

static bool is_over(const struct pace_map *map, uint32_t node, uint32_t ms, uint32_t typical_ms)
{
    uint32_t least = limit(typical_ms);
    if (ms == PACE_UNKNOWN || least == PACE_UNKNOWN) return false;
    return ms >= (node_mask_has(&map->slow, node) ? least / 2u : least);
}

/* --- Inside: as the node itself has told those that asked it. --- */

static void judge_inside(const struct pace_map *map, struct pace_view *view)
{
    struct figures all = {0};
    EACH_NODE(node, &map->members) {
        struct figures said = {0};
        EACH_NODE(by, &map->known) {
            uint32_t at = column_of(&map->row[by], node);
            if (by != node && at < PACE_PEERS) figures_add(&said, map->row[by].inside_ms[at]);
        }
        view->of[node].inside_ms = median(&said);
        if (said.count > 0) figures_add(&all, view->of[node].inside_ms);
    }
    view->typical.inside_ms = all.count < 2 ? PACE_UNKNOWN : median(&all);
    EACH_NODE(node, &map->members) {
        if (is_over(map, node, view->of[node].inside_ms, view->typical.inside_ms))
            node_mask_add(&view->over, node);
    }
}

/* --- Reach: as others see it that are not over themselves. --- */

/* One alone that is not over tells apart what is said of both ends, so the others count with it. */
static uint32_t seen_reach(const struct pace_map *map, const struct pace_view *view, uint32_t node)
{
    struct figures by_all = {0};
    struct figures by_good = {0};
    EACH_NODE(by, &map->known) {
        uint32_t at = column_of(&map->row[by], node);
        if (by == node || at == PACE_PEERS) continue;
        figures_add(&by_all, map->row[by].reach_ms[at]);
        if (!node_mask_has(&view->over, by)) figures_add(&by_good, map->row[by].reach_ms[at]);
    }
    if (by_good.count == 0) return PACE_UNKNOWN;
    return better_third(by_good.count > 1 ? &by_good : &by_all);
}

/* The slowest first: as long as it counts as an observer it makes all others look slow. */
static void judge_reach(const struct pace_map *map, struct pace_view *view)
{
    for (;;) {
        struct figures all = {0};
        uint32_t worst = 0;
        EACH_NODE(node, &map->members) {
            struct pace_figures *of = &view->of[node];
            of->reach_ms = seen_reach(map, view, node);
            if (of->reach_ms != PACE_UNKNOWN) figures_add(&all, of->reach_ms);
        }
        view->typical.reach_ms = median(&all);
        EACH_NODE(node, &map->members) {
            uint32_t ms = view->of[node].reach_ms;
            if (node_mask_has(&view->over, node)) continue;
            if (!is_over(map, node, ms, view->typical.reach_ms)) continue;
            if (worst == 0 || ms > view->of[worst].reach_ms) worst = node;
        }
        if (worst == 0) return;
        node_mask_add(&view->over, worst);
    }
}

/* --- Links: both ends say it, and both are well otherwise. --- */

static void judge_links(const struct pace_map *map, struct pace_view *view)
{
    uint32_t least = limit(view->typical.reach_ms);
    if (least == PACE_UNKNOWN) return;
    EACH_NODE(a, &map->known) {
        for (uint32_t i = 0; i < PACE_PEERS; i++) {
            uint32_t b = map->row[a].node[i];
            uint32_t ms = map->row[a].reach_ms[i];
            if (b <= a || b > DATA_NODE_ID_MAX || !node_mask_has(&map->known, b)) continue;
            uint32_t back = column_of(&map->row[b], a);
            if (back < PACE_PEERS && map->row[b].reach_ms[back] < ms)
                ms = map->row[b].reach_ms[back];
            if (node_mask_has(&view->over, a) || node_mask_has(&view->over, b)) continue;
            if (ms < least || ms <= view->link_ms) continue;
            view->link_a = a;
            view->link_b = b;
            view->link_ms = ms;
        }
    }
}

void pace_rule(const struct pace_map *map, struct pace_view *view)
{
    memset(view, 0, sizeof(*view));
    judge_inside(map, view);
    judge_reach(map, view);
    judge_links(map, view);
}

/* --- Over time. --- */

bool pace_step(struct pace_state *state, bool slow, bool over, uint64_t now_ms)
{
    uint64_t wait = slow ? (uint64_t)PACE_WELL_MS << state->relapses : PACE_SLOW_MS;
    if (over == slow) {
        state->turning = 0;
        return slow;
    }
    if (!state->turning) {
        state->turning = 1;
        state->since_ms = now_ms;
    }
    if (now_ms - state->since_ms < wait) return slow;
    state->turning = 0;
    if (slow) {
        state->well_ms = now_ms;
        return false;
    }
    if (state->well_ms == 0 || now_ms - state->well_ms >= PACE_FORGET_MS)
        state->relapses = 0;
    else if (state->relapses < PACE_DOUBLED)
        state->relapses++;
    return true;
}

/* A member of that group which is not slow. */
static bool has_well(const uint32_t *group_of, const struct node_mask *members,
                     const struct node_mask *slow, uint32_t group)
{
    EACH_NODE(node, members) {
        if (group_of[node] == group && !node_mask_has(slow, node)) return true;
    }
    return false;
}

void pace_aside(const struct node_config *config, const struct node_mask *members,
                const struct node_mask *slow, struct node_mask *aside)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    struct node_mask taken = {{0}}; /* Node groups of which a node stands aside. */
    struct node_mask before = *aside;
    (void)node_config_groups(config, group_of);
    memset(aside, 0, sizeof(*aside));
    node_mask_keep(&before, slow);
    for (uint32_t turn = 0; turn < 2; turn++) {
        const struct node_mask *from = turn == 0 ? &before : slow;
        EACH_NODE(node, from) {
            uint32_t group = group_of[node];
            if (group == NODEGROUP_NONE || !node_mask_has(members, node)) continue;
            if (node_mask_has(&taken, group) || !has_well(group_of, members, slow, group)) continue;
            node_mask_add(&taken, group);
            node_mask_add(aside, node);
        }
    }
}
