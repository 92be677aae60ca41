/* qmgr_reach_rows.c -- the rows in a check: what each says of whom it reaches, and who hears it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/qmgr_state.h"

/* The node speaks after all. */
static void take_back(struct qmgr *qmgr, uint32_t node)
{
    if (!node_mask_has(&qmgr->reach.silent, node)) return;
    jam_data(node);
    log_warning(&qmgr->block, "node %u is slow: it missed heartbeats, but answers", node);
    node_mask_remove(&qmgr->reach.silent, node);
    if (qmgr->ring.left == node) qmgr->ring.missed = 0;
    (void)qmgr_reach_update_row(qmgr, true);
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
        qmgr_reach_begin(qmgr);
    } else if (node_mask_has(&reach->map.known, node) && !node_mask_has(&reach->told, node)) {
        jam(); /* Only what is new is asked about. */
        node_mask_keep(&missing, &reach->map.row[node]);
    }
    node_mask_remove(&reach->told, node);
    reach->map.row[node] = *row;
    node_mask_add(&reach->map.known, node);
    struct node_mask doubt = qmgr_reach_others(qmgr);
    node_mask_keep(&doubt, &missing);
    /* It has answered here, but perhaps died since. */
    node_mask_keep(&doubt, &reach->heard);
    EACH_NODE(other, &doubt)
        qmgr_reach_ask(qmgr, other);
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
    qmgr_reach_evaluate_soon(qmgr);
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
    if (!qmgr->reach.running && !node_mask_empty(&condemned)) qmgr_reach_begin(qmgr);
    bool news = is_news(qmgr, node, rep);
    qmgr_reach_row(qmgr, node, &rep->row);
    /* Behind the row, which may begin a check: that forgets what was said before. */
    if (rep->lost != 0)
        node_mask_add(&qmgr->reach.losers, node);
    else
        node_mask_remove(&qmgr->reach.losers, node);
    if (!qmgr->reach.running)
        (void)qmgr_reach_update_row(qmgr, false); /* Perhaps never made before. */
    if (rep->ask != 0) qmgr_reach_say(qmgr, node, 0, rep->ask);
    if (rep->answer != 0 && rep->answer == qmgr->reach.ask[node]) {
        jam();
        qmgr_answered(qmgr, node, now_ms(block) - qmgr->reach.asked_ms[node]);
        node_mask_add(&qmgr->reach.heard, node);
        take_back(qmgr, node);
    }
    /* Behind the taking back: the first answer of a node that was silent has its row too. */
    if (news && qmgr->reach.running) pass_on(qmgr, node);
    qmgr_reach_evaluate(qmgr);
}
