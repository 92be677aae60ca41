/* dih_fragment.c -- which node keeps which fragment: node groups, fragment counts, placement, hash
 * map. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placement: fragment f lives in LDM instance 1 + f modulo the node's number of LDMs, that is
 * given. Free to choose are the node group and the primary within it: always the one with the least
 * of all so far, then the least in that LDM. For the default fragment counts that makes everything
 * exactly even, for odd ones as even as can be. A copy of a fully replicated table's partition goes
 * so many groups behind that of its partition as it is the first, second, ... copy.
 */
#include <string.h>
#include "blocks/dbdih/dih_state.h"

/* --- Node groups. --- */

/*
 * All configured nodes have their places, the absent ones too: they come back with the next start,
 * or when the cluster runs. Without files and without a way back only members: the groups that have
 * some, numbered without gaps.
 */
void dih_form_groups(struct dih *dih)
{
    const struct node_config *config = block_config(&dih->block);
    uint32_t group_of[NODE_ID_MAX + 1];
    uint32_t number[NODE_ID_MAX + 1]; /* 1 + the number here of a configured group. */
    node_config_groups(config, group_of);
    memset(number, 0, sizeof(number));
    memset(dih->group, 0, sizeof(dih->group));
    dih->groups = 0;
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        uint32_t id = group_of[node];
        if (id == NODEGROUP_NONE) continue;
        if (!node_mask_has(&dih->members, node)) {
            if (dih_diskless(dih) && config->survive == 0) continue;
            dih->ldm_count[node] = config->ldm_count; /* Its own is not known. */
        }
        ndbrequire(id < NODE_GROUPS_MAX);
        if (number[id] == 0) number[id] = ++dih->groups;
        struct dih_group *group = &dih->group[number[id] - 1];
        ndbrequire(group->count < REPLICAS_MAX);
        group->node[group->count++] = node;
    }
}

/* --- Fragment counts. --- */

static uint32_t ldm_least(const struct dih *dih)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t group = 0; group < dih->groups; group++) {
        for (uint32_t i = 0; i < dih->group[group].count; i++) {
            uint32_t count = dih->ldm_count[dih->group[group].node[i]];
            if (count < least) least = count;
        }
    }
    return least == UINT32_MAX ? 0 : least;
}

/* RP: a primary for every replica's node; RA: any replica may be read, so one per node group will
 * do. */
uint32_t dih_fragment_count(const struct dih *dih, int32_t balance, uint32_t wanted)
{
    uint32_t replicas = block_config(&dih->block)->replicas;
    uint32_t ldm = ldm_least(dih);
    switch (balance) {
    case TABLE_BALANCE_SPECIFIC:
        return wanted;
    case TABLE_BALANCE_FOR_RP_BY_LDM:
        return dih->groups * replicas * ldm;
    case TABLE_BALANCE_FOR_RA_BY_LDM:
        return dih->groups * ldm;
    case TABLE_BALANCE_FOR_RP_BY_NODE:
        return dih->groups * replicas;
    case TABLE_BALANCE_FOR_RA_BY_NODE:
        return dih->groups;
    case TABLE_BALANCE_FOR_RA_BY_LDM_X_2:
        return dih->groups * ldm * 2u;
    case TABLE_BALANCE_FOR_RA_BY_LDM_X_3:
        return dih->groups * ldm * 3u;
    case TABLE_BALANCE_FOR_RA_BY_LDM_X_4:
        return dih->groups * ldm * 4u;
    default:
        return 0;
    }
}

/* --- Placement. --- */

static uint32_t ldm_slot(const struct dih *dih, uint32_t node, uint32_t fragment)
{
    return fragment % dih->ldm_count[node] % LDM_SLOTS;
}

/* Fragments of the group's first node in the LDM where this one would go. */
static uint32_t load_in_ldm(const struct dih *dih, const struct dih_group *group, uint32_t fragment)
{
    return dih->replicas[group->node[0]][ldm_slot(dih, group->node[0], fragment)];
}

static struct dih_group *choose_group(struct dih *dih, uint32_t fragment)
{
    struct dih_group *best = &dih->group[0];
    for (uint32_t i = 1; i < dih->groups; i++) {
        struct dih_group *group = &dih->group[i];
        if (group->fragments > best->fragments) continue;
        if (group->fragments == best->fragments &&
            load_in_ldm(dih, group, fragment) >= load_in_ldm(dih, best, fragment))
            continue;
        best = group;
    }
    return best;
}

static uint32_t choose_primary(struct dih *dih, const struct dih_group *group, uint32_t fragment)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < group->count; i++) {
        uint32_t node = group->node[i];
        uint32_t than = group->node[best];
        if (dih->primaries[node] > dih->primaries[than]) continue;
        if (dih->primaries[node] == dih->primaries[than] &&
            dih->primaries_ldm[node][ldm_slot(dih, node, fragment)] >=
                dih->primaries_ldm[than][ldm_slot(dih, than, fragment)])
            continue;
        best = i;
    }
    return best;
}

static uint32_t group_of_node(const struct dih *dih, uint32_t node)
{
    for (uint32_t group = 0; group < dih->groups; group++) {
        for (uint32_t i = 0; i < dih->group[group].count; i++) {
            if (dih->group[group].node[i] == node) return group;
        }
    }
    ndbrequire(false); /* It has just been placed. */
}

/* `first`: where the replicas of fragment 0 stand. */
static struct dih_group *group_of_copy(struct dih *dih, uint32_t fragment, uint32_t partitions,
                                       const uint32_t *first)
{
    uint32_t replicas = block_config(&dih->block)->replicas;
    uint32_t group = group_of_node(dih, first[(size_t)(fragment % partitions) * replicas]);
    return &dih->group[(group + fragment / partitions) % dih->groups];
}

/* The replicas of one fragment: primary first, the others of its group in turn after it, 0 where a
 * node is missing. */
static void place_fragment(struct dih *dih, struct dih_group *group, uint32_t fragment,
                           uint32_t *replicas)
{
    uint32_t first = choose_primary(dih, group, fragment);
    uint32_t primary = group->node[first];
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t node = group->node[(first + i) % group->count];
        replicas[i] = node;
        dih->replicas[node][ldm_slot(dih, node, fragment)]++;
    }
    group->fragments++;
    dih->primaries[primary]++;
    dih->primaries_ldm[primary][ldm_slot(dih, primary, fragment)]++;
}

/* The number of buckets nearest to the default that the fragments divide evenly; even, as two share
 * a word. */
static uint32_t bucket_count(uint32_t fragments)
{
    uint32_t step = fragments % 2u == 0 ? fragments : fragments * 2u;
    return step >= HASH_MAP_BUCKETS ? step : HASH_MAP_BUCKETS / step * step;
}

static uint32_t write_hash_map(uint32_t fragments, uint32_t *words)
{
    uint32_t buckets = bucket_count(fragments);
    for (uint32_t bucket = 0; bucket < buckets; bucket += 2)
        words[bucket / 2] = bucket % fragments | (bucket + 1) % fragments << 16;
    return buckets;
}

uint32_t dih_place(struct dih *dih, uint32_t partitions, uint32_t copies)
{
    uint32_t replicas = block_config(&dih->block)->replicas;
    uint32_t fragments = partitions * (1u + copies);
    ndbrequire(partitions > 0 && fragments <= TABLE_FRAGMENTS_MAX);
    ndbrequire(dih->groups > copies && replicas > 0 && replicas <= REPLICAS_MAX); /* I-DIH-1 */
    memset(dih->primaries, 0, sizeof(dih->primaries));
    memset(dih->replicas, 0, sizeof(dih->replicas));
    memset(dih->primaries_ldm, 0, sizeof(dih->primaries_ldm));
    memset(dih->words, 0, (DISTRIBUTION_HEAD_WORDS + (size_t)fragments * replicas) * 4u);
    for (uint32_t group = 0; group < dih->groups; group++)
        dih->group[group].fragments = 0;

    uint32_t *first = dih->words + DISTRIBUTION_HEAD_WORDS;
    uint32_t *at = first;
    for (uint32_t fragment = 0; fragment < fragments; fragment++, at += replicas) {
        struct dih_group *group = fragment < partitions
                                      ? choose_group(dih, fragment)
                                      : group_of_copy(dih, fragment, partitions, first);
        place_fragment(dih, group, fragment, at);
    }
    uint32_t buckets = write_hash_map(partitions, at);
    dih->words[0] = fragments;
    dih->words[1] = replicas;
    dih->words[2] = buckets;
    return DISTRIBUTION_HEAD_WORDS + fragments * replicas + buckets / 2u;
}
