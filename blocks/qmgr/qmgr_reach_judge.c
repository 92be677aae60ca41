/* qmgr_reach_judge.c -- the end of a check: who has not answered, and who has to leave for it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/qmgr_state.h"

#define PATIENCE 8u /* So many times T2 for a silent node without which nobody can go on. */

/* Others are heard only when they reach most of the members: one that hears nobody suspects all,
 * and would leave them little time to answer each other. */
static bool may_accuse(const struct qmgr *qmgr, uint32_t from)
{
    struct node_mask row = qmgr->reach.map.row[from];
    if (from == qmgr_own(qmgr)) return true;
    node_mask_keep(&row, &qmgr->join.members);
    return !node_mask_has(&qmgr->reach.lost, from) &&
           2u * node_mask_count(&row) > node_mask_count(&qmgr->join.members);
}

static bool suspected(const struct qmgr *qmgr, uint32_t node)
{
    const struct reach *map = &qmgr->reach.map;
    EACH_NODE(from, &map->known) {
        if (node_mask_has(&qmgr->join.members, from) && !node_mask_has(&map->row[from], node) &&
            !node_mask_has(&qmgr->reach.told, from) && may_accuse(qmgr, from))
            return true;
    }
    return false;
}

/* It answers, but has not taken this node back yet: perhaps it has not read what this one said
 * after a hang. What it says within T1 counts. */
static bool may_take_back(const struct qmgr *qmgr, uint32_t node)
{
    const struct qmgr_reach *reach = &qmgr->reach;
    return node_mask_has(&reach->heard, node) &&
           !node_mask_has(&reach->map.row[node], qmgr_own(qmgr)) &&
           now_ms(&qmgr->block) - reach->asked_ms[node] < qmgr_silence_ms(qmgr, true);
}

/* How long its answer may take. Behind a starved node's question there may be two that are starved,
 * so who says other things meanwhile gets the patience twice; and not for ever, because it may not
 * hear this node. */
static uint32_t answer_ms(const struct qmgr *qmgr, uint32_t node)
{
    uint32_t limit = qmgr_silence_ms(qmgr, suspected(qmgr, node));
    bool speaks = now_ms(&qmgr->block) - qmgr->beat.heard_ms[node] < limit;
    return limit + (speaks ? qmgr_patience_ms(qmgr) : 0);
}

/* Everybody has answered or is silent. */
static bool complete(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask wait = qmgr_reach_others(qmgr);
    bool all = true;
    EACH_NODE(node, &wait)
        all = all && !may_take_back(qmgr, node);
    node_mask_cut(&wait, &reach->heard);
    EACH_NODE(node, &wait) {
        uint64_t waited = now_ms(&qmgr->block) - reach->asked_ms[node];
        if (waited < answer_ms(qmgr, node)) {
            all = false;
        } else if (!node_mask_has(&reach->silent, node)) {
            jam_data(node);
            if (reach->first_ms == 0) reach->first_ms = now_ms(&qmgr->block);
            log_warning(&qmgr->block, "node %u does not answer", node);
            node_mask_add(&reach->silent, node);
        }
    }
    (void)qmgr_reach_update_row(qmgr, true);
    return all;
}

/* Who accuses each other is as good as the other. Who is to leave himself has no word in it. */
static void draw_accused(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask speak = qmgr->join.members;
    reach->map.accused = (struct node_mask){{0}};
    node_mask_cut(&speak, &reach->map.gone);
    EACH_NODE(from, &speak) {
        uint32_t accused = reach->accused[from];
        if (accused == 0 || reach->accused[accused] == from) continue;
        jam_data(accused);
        node_mask_add(&reach->map.accused, accused);
    }
}

static void draw_map(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    reach->map.own = qmgr_own(qmgr);
    reach->map.members = qmgr->join.members;
    reach->map.gone = qmgr->failure.fenced;
    if (node_mask_has(&reach->lost, qmgr->rejoin.adding))
        node_mask_add(&reach->map.gone, qmgr->rejoin.adding);
    node_mask_keep(&reach->map.known, &qmgr->join.members);
    EACH_NODE(node, &qmgr->join.members)
        reach->map.age[node] = qmgr->peer[node].dynamic_id;
    draw_accused(qmgr);
}

/*
 * What those that stay have fenced leaves too, until that changes nothing any more. What somebody
 * has fenced who leaves himself is spared.
 *
 * Newcomers do not spare anybody from leaving, and leave with whoever does; so does a node whose
 * join was broken off, here or elsewhere.
 */
static void who_leaves(struct qmgr *qmgr, struct node_mask *leave)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask newcomers;
    struct node_mask condemned;
    qmgr_newcomers(qmgr, &newcomers);
    draw_map(qmgr);
    for (;;) {
        struct node_mask stay = qmgr->join.members;
        reach_rule(block_config(&qmgr->block), &reach->map, leave);
        node_mask_join(leave, &reach->map.gone);
        node_mask_cut(&stay, leave);
        qmgr_condemned(qmgr, &stay, &condemned);
        if (node_mask_within(&condemned, &reach->map.gone)) break;
        jam();
        node_mask_join(&reach->map.gone, &condemned);
    }
    if (node_mask_empty(leave) || node_mask_empty(&newcomers) || qmgr_is_newcomer(qmgr)) return;
    jam();
    node_mask_join(&reach->map.gone, &newcomers);
    reach_rule(block_config(&qmgr->block), &reach->map, leave);
    node_mask_join(leave, &reach->map.gone);
}

/* Only newcomers, and all have a link to them as far as this node knows: perhaps some of the others
 * have not heard of them yet. */
static bool may_be_new(const struct qmgr *qmgr, const struct node_mask *leave)
{
    const struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask condemned;
    qmgr_condemned(qmgr, &qmgr->join.members, &condemned);
    EACH_NODE(node, leave) {
        if (!node_mask_has(&qmgr->rejoin.newcomers, node) || node_mask_has(&reach->lost, node) ||
            node_mask_has(&reach->silent, node) || node_mask_has(&condemned, node) ||
            node_mask_has(&qmgr->failure.fenced, node))
            return false;
    }
    return now_ms(&qmgr->block) - reach->found_ms < qmgr_silence_ms(qmgr, true);
}

/* They are silent, but nobody's link to them is down, as far as this node hears; and neither those
 * that stay nor those that leave could go on alone. So nothing is lost by waiting for an answer: no
 * other part goes on meanwhile. */
static bool may_wait(const struct qmgr *qmgr, const struct node_mask *leave)
{
    const struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask gone;
    struct node_mask stay = qmgr->join.members;
    qmgr_condemned(qmgr, &stay, &gone);
    node_mask_join(&gone, &reach->lost);
    node_mask_join(&gone, &reach->losers);
    node_mask_join(&gone, &qmgr->failure.fenced);
    node_mask_cut(&stay, leave);
    if (!node_mask_empty(&gone) ||
        now_ms(&qmgr->block) - reach->found_ms >= PATIENCE * qmgr_silence_ms(qmgr, false))
        return false;
    enum arbit_code code = qmgr_rule(qmgr, leave);
    enum arbit_code code_of_others = qmgr_rule(qmgr, &stay);
    return code != ARBIT_PARTITIONING && !arbit_wins(code) && !arbit_wins(code_of_others);
}

/* This node reaches it, or one that stays says so. */
static bool is_reached(const struct qmgr *qmgr, uint32_t node, const struct node_mask *leave)
{
    const struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask near = qmgr_reach_others(qmgr);
    if (qmgr_reaches(qmgr, node)) return true;
    node_mask_cut(&near, &reach->silent);
    node_mask_cut(&near, leave);
    node_mask_keep(&near, &reach->map.known);
    EACH_NODE(via, &near) {
        if (node_mask_has(&reach->map.row[via], node)) return true;
    }
    return false;
}

/*
 * Somebody who is reached would have to leave for a broken link. But a node that dies is missed by
 * some a moment before the others, and until those have noticed its links look like broken links of
 * living nodes; and of a node that is being cut off one link breaks after the other.
 */
static bool may_be_more(const struct qmgr *qmgr, const struct node_mask *leave)
{
    const struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask doubt = *leave;
    struct node_mask condemned;
    qmgr_condemned(qmgr, &qmgr->join.members, &condemned);
    node_mask_cut(&doubt, &qmgr->failure.fenced);
    node_mask_cut(&doubt, &condemned);
    node_mask_cut(&doubt, &qmgr->rejoin.newcomers);
    if (now_ms(&qmgr->block) - reach->found_ms >= qmgr_silence_ms(qmgr, true)) return false;
    EACH_NODE(node, &doubt) {
        if (node != qmgr_own(qmgr) && is_reached(qmgr, node, leave)) return true;
    }
    return false;
}

/* A check may take long among starved nodes: what it has found before may be over meanwhile, also
 * when the last word brings the same again. As long as one of those has to leave still the time
 * goes on: else a node whose words come and go would keep a dead one. */
static void look_again(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask still = reach->found;
    struct node_mask leave;
    if (node_mask_empty(&still)) return;
    who_leaves(qmgr, &leave);
    node_mask_keep(&still, &leave);
    if (!node_mask_empty(&still)) return;
    jam();
    reach->found = (struct node_mask){{0}};
}

/* Once only: the next judgement takes place, stall or not. */
static bool settles(struct qmgr *qmgr)
{
    if (now_ms(&qmgr->block) < qmgr->reach.settles_ms) return true;
    qmgr->reach.settles_ms = 0;
    return false;
}

void qmgr_reach_evaluate(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask leave;
    qmgr_reach_forgive_stall(qmgr);
    if (!reach->running || qmgr->failure.stopped || settles(qmgr)) return;
    if (!complete(qmgr)) {
        look_again(qmgr);
        return;
    }
    who_leaves(qmgr, &leave);
    if (node_mask_empty(&leave)) {
        jam();
        reach->first_ms = 0;
        reach->running = 0;
        return;
    }
    jam();
    if (qmgr_is_newcomer(qmgr) && !qmgr_may_stay(qmgr, &leave)) {
        jam(); /* Whoever it is: what this node has so far is of no use. */
        qmgr_failure_stop(qmgr, EXIT_OTHER_NODE_FAILED, "a node was lost before it was started");
        return;
    }
    if (!node_mask_equal(&leave, &reach->found)) {
        jam();
        reach->found = leave;
        reach->found_ms = now_ms(&qmgr->block);
    }
    if (may_be_new(qmgr, &leave) || may_wait(qmgr, &leave) || may_be_more(qmgr, &leave)) return;
    qmgr_failure_found(qmgr, &leave);
}

void qmgr_reach_now(struct qmgr *qmgr)
{
    qmgr->reach.evaluates = false;
    qmgr_reach_evaluate(qmgr);
}
