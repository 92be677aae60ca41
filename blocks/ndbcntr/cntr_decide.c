/* cntr_decide.c -- the president's decision: initial start or system restart, at which GCI, and who
 * cannot take part. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the incarnation counts before the GCI: two starts in a row always have a node in common
 * (QMGR: a whole node group, or all nodes), so the newest incarnation is among those that came. A
 * node that it left out may have a higher GCI: one that its system file got when others' had not
 * yet; nobody was told that it is durable. A GCI that any system file has is in all logs
 * (I-CNTR-4).
 */
#include "blocks/ndbcntr/cntr_decide.h"
#include <string.h>
#include "signals/start.h"

/* It brings data, and keeps it. */
static bool keeps_data(const struct cntr_fact *fact)
{
    return fact->has_data != 0 && (fact->flags & (CNTR_START_INITIAL | CNTR_START_ASIDE)) == 0;
}

/* What it has may be lost: the operator has said so. */
static bool given_up(const struct cntr_fact *fact)
{
    uint32_t both = CNTR_START_INITIAL | CNTR_START_ACCEPT_LOSS;
    return (fact->flags & both) == both;
}

static bool newer(const struct cntr_fact *fact, const struct cntr_fact *than)
{
    if (than == NULL || fact->incarnation > than->incarnation) return true;
    return fact->incarnation == than->incarnation && fact->gci > than->gci;
}

static bool current(const struct cntr_fact *fact, const struct cntr_fact *newest)
{
    return fact->has_data != 0 && node_mask_has(&newest->members, fact->node) &&
           fact->gci <= newest->gci && newest->gci - fact->gci <= 1u;
}

/* The newest data that anybody here knows of, whether it brings it, would remove it, or has found
 * it damaged: what stays is judged by it. */
static const struct cntr_fact *newest_known(const struct cntr_fact *facts, uint32_t count)
{
    const struct cntr_fact *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct cntr_fact *at = &facts[i];
        if (at->has_data != 0 && !given_up(at) && newer(at, best)) best = at;
    }
    /* GCI 0: a first start that was not completed; nothing can have been stored. */
    return best != NULL && best->gci != 0 ? best : NULL;
}

/* The newest of what stays and is current; NULL = nothing. */
static const struct cntr_fact *newest_kept(const struct cntr_fact *facts, uint32_t count,
                                           const struct cntr_fact *known)
{
    const struct cntr_fact *best = NULL;
    for (uint32_t i = 0; i < count && known != NULL; i++) {
        const struct cntr_fact *at = &facts[i];
        if (keeps_data(at) && current(at, known) && newer(at, best)) best = at;
    }
    return best;
}

/* Node groups that have a current copy which stays. */
static struct node_mask groups_kept(const struct cntr_fact *facts, uint32_t count,
                                    const struct cntr_fact *known, const uint32_t *group_of)
{
    struct node_mask kept;
    memset(&kept, 0, sizeof(kept));
    for (uint32_t i = 0; i < count && known != NULL; i++) {
        const struct cntr_fact *at = &facts[i];
        uint32_t group = group_of[at->node];
        if (group == NODEGROUP_NONE || !keeps_data(at) || !current(at, known)) continue;
        if (at->ldm_data == at->ldm_now) node_mask_add(&kept, group);
    }
    return kept;
}

/* enum cntr_start_ref_reason, or 0. `known`: the newest data, NULL = all start anew. */
static uint32_t why_not(const struct cntr_fact *fact, const struct cntr_fact *known,
                        const struct node_mask *kept, const uint32_t *group_of)
{
    uint32_t group = group_of[fact->node];
    if ((fact->flags & CNTR_START_ASIDE) != 0 || known == NULL) return 0;
    if (!keeps_data(fact)) {
        bool copy = group != NODEGROUP_NONE && current(fact, known);
        bool last = copy && !node_mask_has(kept, group) && !given_up(fact);
        return last ? CNTR_REF_LAST_COPY : CNTR_REF_NO_DATA;
    }
    if (!current(fact, known)) return CNTR_REF_STALE;
    return fact->ldm_data != fact->ldm_now ? CNTR_REF_LDM : 0;
}

/* An initial start needs all configured nodes: an absent one may have data. */
static void look_for_all(const struct node_config *config, const struct cntr_fact *facts,
                         uint32_t count, struct cntr_decision *decision)
{
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (config->node[node].type == NODE_DATA) node_mask_add(&decision->missing, node);
    }
    for (uint32_t i = 0; i < count; i++) {
        if ((facts[i].flags & CNTR_START_ASIDE) == 0)
            node_mask_remove(&decision->missing, facts[i].node);
    }
}

/* Adds to `missing` the nodes that had a current copy of a node group that has none now. */
static void look_for_groups(const struct cntr_fact *known, const struct node_mask *kept,
                            const uint32_t *group_of, struct cntr_decision *decision)
{
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        uint32_t group = group_of[node];
        if (group == NODEGROUP_NONE || node_mask_has(kept, group)) continue;
        if (node_mask_has(&known->members, node)) node_mask_add(&decision->missing, node);
    }
}

static void choose_schema(const struct cntr_fact *facts, uint32_t count,
                          struct cntr_decision *decision)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!keeps_data(&facts[i]) || decision->refused[facts[i].node] != 0) continue;
        if (decision->schema_node != 0 && facts[i].schema <= decision->schema) continue;
        decision->schema_node = facts[i].node;
        decision->schema = facts[i].schema;
    }
}

void cntr_decide(const struct node_config *config, const struct cntr_fact *facts, uint32_t count,
                 struct cntr_decision *decision)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    const struct cntr_fact *known = newest_known(facts, count);
    const struct cntr_fact *newest = newest_kept(facts, count, known);
    bool refused = false;
    (void)node_config_groups(config, group_of);
    memset(decision, 0, sizeof(*decision));
    struct node_mask kept = groups_kept(facts, count, known, group_of);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t reason = why_not(&facts[i], known, &kept, group_of);
        decision->refused[facts[i].node] = reason;
        refused |= reason != 0;
        if (facts[i].has_data != 0 && facts[i].incarnation > decision->incarnation)
            decision->incarnation = facts[i].incarnation;
    }
    decision->incarnation++;
    decision->start_type = START_INITIAL;
    if (known == NULL) {
        look_for_all(config, facts, count, decision);
    } else {
        look_for_groups(known, &kept, group_of, decision);
        /* Who is refused is told of the newest data. Without it nothing can be stored behind it, so
         * when nobody is, what stays is at most one GCI older, and that was not declared. */
        if (newest == NULL || refused) newest = known;
        decision->start_type = START_SYSTEM_RESTART;
        decision->newest = newest->node;
        decision->newest_incarnation = newest->incarnation;
        decision->gci = newest->gci;
        choose_schema(facts, count, decision);
    }
    decision->verdict = refused                                ? CNTR_REFUSE
                        : !node_mask_empty(&decision->missing) ? CNTR_MISSING
                                                               : CNTR_START_NOW;
}
