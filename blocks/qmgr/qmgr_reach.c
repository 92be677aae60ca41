/* qmgr_reach.c -- detection: asks everybody who is still there, and finds out who has to leave. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   IDLE --a suspicion, own or heard of--> CHECK: all members in reach are asked for their rows
 *   CHECK --all have answered or are silent for too long--> reach_rule() over the rows:
 *         --nobody has to leave--> IDLE; a slow node that has answered is taken back
 *         --some have to--> qmgr_failure.c; checks go on until that is agreed on
 *
 * A row says whom its node reaches. How long is too long depends on who suspects and on what would
 * be lost with the silent node (docs/protocols/failure.md, section 1).
 */
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

#define REACH_TICK_MIN_MS 2u
#define REACH_TICK_MAX_MS 20u
#define SETTLE_MS         1u /* Pause after a stall: what waits to be read comes before. */
#define HEARTBEATS_SILENT 4u /* Heartbeats of silence; a neighbour in the ring may miss as many. */

#define PATIENCE 8u /* So many times T2 for a silent node without which nobody can go on. */

#define PROBE_BEATS 8u /* So many heartbeats between two checks without a reason. */

/* A word of that node counts: a member of this incarnation that is not fenced. */
bool qmgr_talks(const struct qmgr *qmgr, uint32_t node, uint32_t incarnation)
{
    return qmgr->join.state == JOIN_MEMBER && !qmgr->join.sttor_owed && !qmgr->failure.stopped &&
           incarnation == qmgr->join.incarnation && node_mask_has(&qmgr->join.members, node) &&
           node != qmgr_own(qmgr) && !node_mask_has(&qmgr->failure.fenced, node);
}

uint32_t qmgr_silence_ms(const struct qmgr *qmgr, bool suspected)
{
    const struct node_config *config = block_config(&qmgr->block);
    uint32_t check = config->connect_check_ms;
    uint32_t beats = HEARTBEATS_SILENT * config->heartbeat_db_db_ms;
    uint32_t patience = qmgr_patience_ms(qmgr);
    if (suspected) return (check != 0 ? check : config->heartbeat_db_db_ms) + patience;
    return (2u * check > beats ? 2u * check : beats) + patience;
}

static uint32_t tick_ms(const struct qmgr *qmgr)
{
    uint32_t tick = qmgr_silence_ms(qmgr, true) / 4u;
    return tick < REACH_TICK_MIN_MS   ? REACH_TICK_MIN_MS
           : tick > REACH_TICK_MAX_MS ? REACH_TICK_MAX_MS
                                      : tick;
}

/* Members that may still be spoken to. */
static struct node_mask others(const struct qmgr *qmgr)
{
    struct node_mask rest = qmgr->join.members;
    node_mask_remove(&rest, qmgr_own(qmgr));
    node_mask_cut(&rest, &qmgr->reach.lost);
    node_mask_cut(&rest, &qmgr->failure.fenced);
    return rest;
}

bool qmgr_reaches(const struct qmgr *qmgr, uint32_t node)
{
    const struct node_mask speak = others(qmgr);
    return node_mask_has(&speak, node) && !node_mask_has(&qmgr->reach.silent, node);
}

void qmgr_condemned(const struct qmgr *qmgr, const struct node_mask *tellers,
                    struct node_mask *condemned)
{
    const struct node_mask heard = others(qmgr);
    *condemned = (struct node_mask){{0}};
    EACH_NODE(node, tellers) {
        if (node_mask_has(&heard, node)) node_mask_join(condemned, &qmgr->reach.fenced_by[node]);
    }
}

static void say(struct qmgr *qmgr, uint32_t node, uint32_t ask, uint32_t answer)
{
    struct fail_reach_rep rep = {
        .incarnation = qmgr->join.incarnation,
        .ask = ask,
        .answer = answer,
        .patience_ms = qmgr_patience_own_ms(qmgr),
        .row = qmgr->reach.map.row[qmgr_own(qmgr)],
        .fenced = qmgr->reach.lost,
        .accused = qmgr->reach.accused[qmgr_own(qmgr)],
        .lost = !node_mask_empty(&qmgr->reach.lost),
    };
    struct node_mask newcomers;
    qmgr_newcomers(qmgr, &newcomers);
    node_mask_keep(&rep.fenced, &newcomers); /* Newcomers are not asked back. */
    node_mask_join(&rep.fenced, &qmgr->failure.fenced);
    sig_send(&qmgr->block, block_ref(node, BLOCK_QMGR, 0), GSN_FAIL_REACH_REP, PRIO_A, &rep);
}

static void ask(struct qmgr *qmgr, uint32_t node)
{
    struct qmgr_reach *reach = &qmgr->reach;
    if (++reach->nonce == 0) reach->nonce = 1;
    reach->ask[node] = reach->nonce;
    reach->asked_ms[node] = now_ms(&qmgr->block);
    node_mask_remove(&reach->heard, node);
    say(qmgr, node, reach->nonce, 0);
}

/* Brings the own row up to date; the others learn of a change. */
static bool update_row(struct qmgr *qmgr, bool tell)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask *row = &reach->map.row[qmgr_own(qmgr)];
    struct node_mask speak = others(qmgr);
    struct node_mask now = speak;
    node_mask_cut(&now, &reach->silent);
    node_mask_add(&now, qmgr_own(qmgr));
    bool changed = !node_mask_equal(&now, row);
    *row = now;
    if (!changed || !tell) return changed;
    jam();
    EACH_NODE(node, &speak)
        say(qmgr, node, 0, 0);
    return true;
}

static void tick_later(struct qmgr *qmgr)
{
    qmgr->reach.tick_running = 1;
    qmgr->reach.tick_due_ms = now_ms(&qmgr->block) + tick_ms(qmgr);
    qmgr_work_later(qmgr, QMGR_REACH_TICK, tick_ms(qmgr));
}

/*
 * This node has not run for a while: it cannot know who has been silent meanwhile, as far as that
 * is more than what it is patient for anyway; or one that stalls all the time would find out
 * nothing. What they have said may still wait to be read.
 */
static void forgive_own_stall(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    uint64_t now = now_ms(&qmgr->block);
    if (!reach->tick_running || now <= reach->tick_due_ms + REACH_TICK_MAX_MS) return;
    jam();
    uint64_t stall = now - reach->tick_due_ms;
    uint64_t patience = qmgr_patience_ms(qmgr);
    uint64_t forgiven = stall > patience ? stall - patience : 0;
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        reach->asked_ms[node] += forgiven;
        if (reach->asked_ms[node] > now) reach->asked_ms[node] = now;
    }
    if (reach->found_ms != 0) reach->found_ms += forgiven;
    if (reach->found_ms > now) reach->found_ms = now;
    if (reach->settles_ms == 0) {
        jam(); /* The tick would be too late: the next stall may begin before. */
        reach->settles_ms = now + SETTLE_MS;
        qmgr_work_later(qmgr, QMGR_REACH_NOW, SETTLE_MS);
    }
    reach->tick_due_ms = now;
    qmgr_beat(qmgr, 0, stall);
}

/* Once only: the next judgement takes place, stall or not. */
static bool settles(struct qmgr *qmgr)
{
    if (now_ms(&qmgr->block) < qmgr->reach.settles_ms) return true;
    qmgr->reach.settles_ms = 0;
    return false;
}

static void begin(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    uint32_t own = qmgr_own(qmgr);
    struct node_mask speak = others(qmgr);
    jam();
    reach->running = 1;
    /* That stall was during a former check. */
    if (reach->settles_ms <= now_ms(&qmgr->block)) reach->settles_ms = 0;
    memset(&reach->map.known, 0, sizeof(reach->map.known));
    memset(&reach->heard, 0, sizeof(reach->heard));
    memset(&reach->told, 0, sizeof(reach->told));
    memset(&reach->found, 0, sizeof(reach->found));
    memset(&reach->losers, 0, sizeof(reach->losers)); /* A former view may have left some. */
    node_mask_add(&reach->map.known, own);
    (void)update_row(qmgr, false);
    EACH_NODE(node, &speak)
        ask(qmgr, node);
    if (!reach->tick_running) tick_later(qmgr);
}

/* Behind what runs now: what is found may lead to the next suspicion. */
static void evaluate_soon(struct qmgr *qmgr)
{
    struct continueb next = {.work = QMGR_REACH_NOW};
    if (qmgr->reach.evaluates) return;
    qmgr->reach.evaluates = true;
    sig_send(&qmgr->block, qmgr->block.ref, GSN_CONTINUEB, PRIO_A, &next);
}

void qmgr_suspect(struct qmgr *qmgr, uint32_t node, bool lost, const char *how)
{
    struct qmgr_reach *reach = &qmgr->reach;
    bool counts = node_mask_has(&qmgr->join.members, node) || node == qmgr->rejoin.adding;
    if (qmgr->failure.stopped || !counts || node_mask_has(&qmgr->failure.fenced, node) ||
        node_mask_has(&reach->lost, node)) {
        jam();
        return;
    }
    if (!lost && reach->running && node_mask_has(&reach->silent, node)) {
        jam(); /* It has been asked; another question would begin the wait anew. */
        return;
    }
    jam_data(node);
    if (reach->first_ms == 0) reach->first_ms = now_ms(&qmgr->block);
    log_warning(&qmgr->block, "node %u is %s: %s", node, lost ? "lost" : "silent", how);
    if (lost) {
        jam(); /* A new link would not bring back what the old one lost. */
        node_mask_add(&reach->lost, node);
        node_mask_remove(&reach->silent, node);
        qmgr_rejoin_close(qmgr, node);
    } else {
        jam();
        node_mask_add(&reach->silent, node);
    }
    if (!reach->running) {
        begin(qmgr);
    } else {
        if (!lost) ask(qmgr, node);
        (void)update_row(qmgr, true);
    }
    evaluate_soon(qmgr);
}

void qmgr_accuse(struct qmgr *qmgr, uint32_t node)
{
    uint32_t *accused = &qmgr->reach.accused[qmgr_own(qmgr)];
    if (*accused != 0 || !node_mask_has(&qmgr->join.members, node)) return;
    jam_data(node);
    *accused = node;
}

void qmgr_dismissed(struct qmgr *qmgr, uint32_t node)
{
    if (!node_mask_has(&qmgr->join.members, node)) return;
    jam_data(node);
    node_mask_add(&qmgr->reach.dismissed, node);
}

/* From time to time without a suspicion: the ring does not use every link in every direction. */
void qmgr_reach_probe(struct qmgr *qmgr)
{
    if (qmgr->reach.running || qmgr->failure.stopped || !qmgr_agrees(qmgr)) return;
    if (++qmgr->reach.beats < PROBE_BEATS) return;
    jam();
    qmgr->reach.beats = 0;
    begin(qmgr);
}

void qmgr_reach_reset(struct qmgr *qmgr)
{
    uint32_t tick_running = qmgr->reach.tick_running;
    uint64_t tick_due_ms = qmgr->reach.tick_due_ms;
    uint32_t nonce = qmgr->reach.nonce;
    memset(&qmgr->reach, 0, sizeof(qmgr->reach));
    qmgr->reach.tick_running = tick_running;
    qmgr->reach.tick_due_ms = tick_due_ms;
    qmgr->reach.nonce = nonce;
}

void qmgr_reach_view(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask known = qmgr->join.members;
    struct node_mask condemned;
    if (qmgr->rejoin.adding != 0) node_mask_add(&known, qmgr->rejoin.adding);
    node_mask_keep(&reach->lost, &known);
    node_mask_keep(&reach->silent, &known);
    node_mask_keep(&reach->dismissed, &known);
    memset(&reach->losers, 0, sizeof(reach->losers));
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (!node_mask_has(&qmgr->join.members, node)) {
            reach->fenced_by[node] = (struct node_mask){{0}};
            qmgr->beat.told_ms[node] = 0;
        }
        node_mask_keep(&reach->fenced_by[node], &known);
        if (!node_mask_has(&qmgr->join.members, node) ||
            !node_mask_has(&qmgr->join.members, reach->accused[node]))
            reach->accused[node] = 0;
    }
    qmgr_condemned(qmgr, &qmgr->join.members, &condemned);
    reach->running = 0;
    if (node_mask_empty(&reach->lost) && node_mask_empty(&reach->silent) &&
        node_mask_empty(&condemned) && node_mask_empty(&qmgr->failure.fenced)) {
        jam();
        return;
    }
    jam();
    begin(qmgr);
    evaluate_soon(qmgr);
}

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

/* While a round takes long, an old answer says nothing: the way may have broken since. */
static void ask_again(struct qmgr *qmgr)
{
    struct node_mask speak = others(qmgr);
    EACH_NODE(node, &speak) {
        uint64_t ago = now_ms(&qmgr->block) - qmgr->reach.asked_ms[node];
        if (node_mask_has(&qmgr->reach.heard, node) && ago >= qmgr_silence_ms(qmgr, false))
            ask(qmgr, node);
        else if (node_mask_has(&qmgr->rejoin.newcomers, node) &&
                 !node_mask_has(&qmgr->reach.heard, node))
            say(qmgr, node, qmgr->reach.ask[node], 0); /* It may have known nobody before. */
    }
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
    struct node_mask wait = others(qmgr);
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
    (void)update_row(qmgr, true);
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
    struct node_mask near = others(qmgr);
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

void qmgr_reach_evaluate(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask leave;
    forgive_own_stall(qmgr);
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

void qmgr_reach_joined(struct qmgr *qmgr, uint32_t node)
{
    (void)update_row(qmgr, true);
    if (!qmgr->reach.running) return;
    jam_data(node);
    ask(qmgr, node);
}

void qmgr_reach_tick(struct qmgr *qmgr)
{
    forgive_own_stall(qmgr);
    qmgr->reach.tick_running = 0;
    if (qmgr->failure.stopped || qmgr->join.state != JOIN_MEMBER) return;
    qmgr_verdict_tick(qmgr);
    if (qmgr->reach.running) ask_again(qmgr);
    qmgr_reach_evaluate(qmgr);
    if (qmgr->reach.tick_running || !qmgr->reach.running || qmgr->failure.stopped) return;
    tick_later(qmgr);
}

/* The node speaks after all. */
static void take_back(struct qmgr *qmgr, uint32_t node)
{
    if (!node_mask_has(&qmgr->reach.silent, node)) return;
    jam_data(node);
    log_warning(&qmgr->block, "node %u is slow: it missed heartbeats, but answers", node);
    node_mask_remove(&qmgr->reach.silent, node);
    if (qmgr->ring.left == node) qmgr->ring.missed = 0;
    (void)update_row(qmgr, true);
}

void qmgr_reach_row(struct qmgr *qmgr, uint32_t node, const struct node_mask *row)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask missing = qmgr->join.members;
    node_mask_cut(&missing, row);
    node_mask_cut(&missing, &qmgr->failure.fenced);
    if (!reach->running) {
        if (node_mask_empty(&missing)) return;
        jam();
        begin(qmgr);
    } else if (node_mask_has(&reach->map.known, node) && !node_mask_has(&reach->told, node)) {
        jam(); /* Only what is new is asked about. */
        node_mask_keep(&missing, &reach->map.row[node]);
    }
    node_mask_remove(&reach->told, node);
    reach->map.row[node] = *row;
    node_mask_add(&reach->map.known, node);
    struct node_mask doubt = others(qmgr);
    node_mask_keep(&doubt, &missing);
    /* It has answered here, but perhaps died since. */
    node_mask_keep(&doubt, &reach->heard);
    EACH_NODE(other, &doubt)
        ask(qmgr, other);
}

/* --- The rows of those that do not reach each other. --- */

static void tell_row_of(struct qmgr *qmgr, uint32_t to, uint32_t of)
{
    struct fail_reach_rep rep = {
        .incarnation = qmgr->join.incarnation,
        .of = of,
        .row = qmgr->reach.map.row[of],
        .accused = qmgr->reach.accused[of],
    };
    jam_data(of);
    sig_send(&qmgr->block, block_ref(to, BLOCK_QMGR, 0), GSN_FAIL_REACH_REP, PRIO_A, &rep);
}

/* Only the oldest of the nodes that hear both tells: that is enough, and makes n * n words and not
 * n times as many. */
static bool tells(const struct qmgr *qmgr, uint32_t a, uint32_t b)
{
    const struct qmgr_reach *reach = &qmgr->reach;
    uint32_t own = qmgr_own(qmgr);
    EACH_NODE(via, &reach->map.row[own]) {
        if (qmgr->peer[via].dynamic_id < qmgr->peer[own].dynamic_id && via != a && via != b &&
            node_mask_has(&reach->map.known, via) && !node_mask_has(&reach->told, via) &&
            node_mask_has(&reach->map.row[via], a) && node_mask_has(&reach->map.row[via], b))
            return false;
    }
    return true;
}

/* To the node, and to those that it does not reach, what this one has heard of each other: they
 * cannot ask, and would count the links between others that are broken for whole. */
static void pass_on(struct qmgr *qmgr, uint32_t node)
{
    const struct qmgr_reach *reach = &qmgr->reach;
    const struct reach *map = &reach->map;
    if (!qmgr_reaches(qmgr, node)) return;
    EACH_NODE(other, &map->known) {
        bool apart =
            !node_mask_has(&map->row[node], other) || !node_mask_has(&map->row[other], node);
        if (!apart || !qmgr_reaches(qmgr, other) || node_mask_has(&reach->told, other) ||
            !tells(qmgr, node, other))
            continue;
        tell_row_of(qmgr, other, node);
        tell_row_of(qmgr, node, other);
    }
}

/* Only of somebody who does not speak for himself. */
static void heard_of(struct qmgr *qmgr, const struct fail_reach_rep *rep)
{
    struct qmgr_reach *reach = &qmgr->reach;
    if (!reach->running || rep->of == qmgr_own(qmgr) || rep->of > DATA_NODE_ID_MAX ||
        !node_mask_has(&qmgr->join.members, rep->of) || qmgr_reaches(qmgr, rep->of)) {
        jam();
        return;
    }
    uint32_t accused = node_mask_has(&qmgr->join.members, rep->accused) ? rep->accused : 0;
    if (node_mask_has(&reach->map.known, rep->of) && reach->accused[rep->of] == accused &&
        node_mask_equal(&reach->map.row[rep->of], &rep->row)) {
        jam();
        return;
    }
    jam();
    reach->map.row[rep->of] = rep->row;
    reach->accused[rep->of] = accused;
    node_mask_add(&reach->map.known, rep->of);
    node_mask_add(&reach->told, rep->of);
    evaluate_soon(qmgr);
}

/* What it says is an answer, or another row than before in this check. */
static bool is_news(const struct qmgr *qmgr, uint32_t node, const struct fail_reach_rep *rep)
{
    const struct reach *map = &qmgr->reach.map;
    return rep->answer != 0 || !node_mask_has(&map->known, node) ||
           node_mask_has(&qmgr->reach.told, node) || !node_mask_equal(&map->row[node], &rep->row);
}

void qmgr_exec_FAIL_REACH_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct fail_reach_rep *rep = SIG_PAYLOAD(sig, fail_reach_rep);
    uint32_t node = ref_node(sig->sender);
    if (!qmgr_talks(qmgr, node, rep->incarnation) || node_mask_has(&qmgr->reach.lost, node) ||
        qmgr_hangs(qmgr)) {
        jam();
        return;
    }
    qmgr_heard(qmgr, node);
    if (node_mask_has(&rep->fenced, qmgr_own(qmgr))) {
        jam();
        qmgr_suspect(qmgr, node, true, "it has fenced this node");
        return;
    }
    if (rep->of != 0) {
        heard_of(qmgr, rep);
        return;
    }
    jam();
    struct node_mask known = qmgr->join.members;
    struct node_mask condemned = rep->fenced;
    qmgr->reach.accused[node] = node_mask_has(&known, rep->accused) ? rep->accused : 0;
    if (qmgr->rejoin.adding != 0) node_mask_add(&known, qmgr->rejoin.adding);
    node_mask_keep(&condemned, &known);
    node_mask_join(&qmgr->reach.fenced_by[node], &condemned);
    qmgr_newcomers(qmgr, &known);
    qmgr->beat.told_ms[node] = node_mask_has(&known, node) ? 0 : rep->patience_ms;
    node_mask_keep(&condemned, &known);
    if (!qmgr->reach.running && !node_mask_empty(&condemned)) begin(qmgr);
    bool news = is_news(qmgr, node, rep);
    qmgr_reach_row(qmgr, node, &rep->row);
    /* Behind the row, which may begin a check: that forgets what was said before. */
    if (rep->lost != 0)
        node_mask_add(&qmgr->reach.losers, node);
    else
        node_mask_remove(&qmgr->reach.losers, node);
    if (!qmgr->reach.running) (void)update_row(qmgr, false); /* Perhaps never made before. */
    if (rep->ask != 0) say(qmgr, node, 0, rep->ask);
    if (rep->answer != 0 && rep->answer == qmgr->reach.ask[node]) {
        jam();
        qmgr_beat(qmgr, node, now_ms(block) - qmgr->reach.asked_ms[node]);
        node_mask_add(&qmgr->reach.heard, node);
        take_back(qmgr, node);
    }
    /* Behind the taking back: the first answer of a node that was silent has its row too. */
    if (news && qmgr->reach.running) pass_on(qmgr, node);
    qmgr_reach_evaluate(qmgr);
}
