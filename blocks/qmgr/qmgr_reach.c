/* qmgr_reach.c -- detection: after a suspicion everybody who is still there is asked. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   IDLE --a suspicion, own or heard of--> CHECK: all members in reach are asked for their rows
 *   CHECK --all have answered or are silent for too long--> reach_rule() over the rows:
 *         --nobody has to leave--> IDLE; a slow node that has answered is taken back
 *         --some have to--> qmgr_failure.c; checks go on until that is agreed on
 *
 * A row says whom its node reaches. How long is too long depends on who suspects and on what would
 * be lost with the silent node (docs/protocols/failure.md, section 1). What the rows say stands in
 * qmgr_reach_rows.c, who has to leave in qmgr_reach_judge.c.
 */
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

#define REACH_TICK_MIN_MS 2u
#define REACH_TICK_MAX_MS 20u
#define SETTLE_MS         1u /* Pause after a stall: what waits to be read comes before. */
#define HEARTBEATS_SILENT 4u /* Heartbeats of silence; a neighbour in the ring may miss as many. */

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

struct node_mask qmgr_reach_others(const struct qmgr *qmgr)
{
    struct node_mask rest = qmgr->join.members;
    node_mask_remove(&rest, qmgr_own(qmgr));
    node_mask_cut(&rest, &qmgr->reach.lost);
    node_mask_cut(&rest, &qmgr->failure.fenced);
    return rest;
}

bool qmgr_reaches(const struct qmgr *qmgr, uint32_t node)
{
    const struct node_mask speak = qmgr_reach_others(qmgr);
    return node_mask_has(&speak, node) && !node_mask_has(&qmgr->reach.silent, node);
}

void qmgr_condemned(const struct qmgr *qmgr, const struct node_mask *tellers,
                    struct node_mask *condemned)
{
    const struct node_mask heard = qmgr_reach_others(qmgr);
    *condemned = (struct node_mask){{0}};
    EACH_NODE(node, tellers) {
        if (node_mask_has(&heard, node)) node_mask_join(condemned, &qmgr->reach.fenced_by[node]);
    }
}

void qmgr_reach_say(struct qmgr *qmgr, uint32_t node, uint32_t ask, uint32_t answer)
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

void qmgr_reach_ask(struct qmgr *qmgr, uint32_t node)
{
    struct qmgr_reach *reach = &qmgr->reach;
    if (++reach->nonce == 0) reach->nonce = 1;
    reach->ask[node] = reach->nonce;
    reach->asked_ms[node] = now_ms(&qmgr->block);
    node_mask_remove(&reach->heard, node);
    qmgr_reach_say(qmgr, node, reach->nonce, 0);
}

bool qmgr_reach_update_row(struct qmgr *qmgr, bool tell)
{
    struct qmgr_reach *reach = &qmgr->reach;
    struct node_mask *row = &reach->map.row[qmgr_own(qmgr)];
    struct node_mask speak = qmgr_reach_others(qmgr);
    struct node_mask now = speak;
    node_mask_cut(&now, &reach->silent);
    node_mask_add(&now, qmgr_own(qmgr));
    bool changed = !node_mask_equal(&now, row);
    *row = now;
    if (!changed || !tell) return changed;
    jam();
    EACH_NODE(node, &speak)
        qmgr_reach_say(qmgr, node, 0, 0);
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
void qmgr_reach_forgive_stall(struct qmgr *qmgr)
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
    qmgr_answered(qmgr, 0, stall);
}

void qmgr_reach_begin(struct qmgr *qmgr)
{
    struct qmgr_reach *reach = &qmgr->reach;
    uint32_t own = qmgr_own(qmgr);
    struct node_mask speak = qmgr_reach_others(qmgr);
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
    (void)qmgr_reach_update_row(qmgr, false);
    EACH_NODE(node, &speak)
        qmgr_reach_ask(qmgr, node);
    if (!reach->tick_running) tick_later(qmgr);
}

/* Behind what runs now: what is found may lead to the next suspicion. */
void qmgr_reach_evaluate_soon(struct qmgr *qmgr)
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
        qmgr_reach_begin(qmgr);
    } else {
        if (!lost) qmgr_reach_ask(qmgr, node);
        (void)qmgr_reach_update_row(qmgr, true);
    }
    qmgr_reach_evaluate_soon(qmgr);
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
    qmgr_reach_begin(qmgr);
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
    qmgr_reach_begin(qmgr);
    qmgr_reach_evaluate_soon(qmgr);
}

/* While a round takes long, an old answer says nothing: the way may have broken since. */
static void ask_again(struct qmgr *qmgr)
{
    struct node_mask speak = qmgr_reach_others(qmgr);
    EACH_NODE(node, &speak) {
        uint64_t ago = now_ms(&qmgr->block) - qmgr->reach.asked_ms[node];
        if (node_mask_has(&qmgr->reach.heard, node) && ago >= qmgr_silence_ms(qmgr, false))
            qmgr_reach_ask(qmgr, node);
        /* A newcomer may have known nobody before. */
        else if (node_mask_has(&qmgr->rejoin.newcomers, node) &&
                 !node_mask_has(&qmgr->reach.heard, node))
            qmgr_reach_say(qmgr, node, qmgr->reach.ask[node], 0);
    }
}

void qmgr_reach_joined(struct qmgr *qmgr, uint32_t node)
{
    (void)qmgr_reach_update_row(qmgr, true);
    if (!qmgr->reach.running) return;
    jam_data(node);
    qmgr_reach_ask(qmgr, node);
}

void qmgr_reach_tick(struct qmgr *qmgr)
{
    qmgr_reach_forgive_stall(qmgr);
    qmgr->reach.tick_running = 0;
    if (qmgr->failure.stopped || qmgr->join.state != JOIN_MEMBER) return;
    qmgr_verdict_tick(qmgr);
    if (qmgr->reach.running) ask_again(qmgr);
    qmgr_reach_evaluate(qmgr);
    if (qmgr->reach.tick_running || !qmgr->reach.running || qmgr->failure.stopped) return;
    tick_later(qmgr);
}
