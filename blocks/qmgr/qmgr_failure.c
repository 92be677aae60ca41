/* qmgr_failure.c -- agreement: those that stay fence those that leave, then all report it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 *   leader:  found --FAIL_PREPARE--> all have confirmed --qmgr_verdict.c--> FAIL_COMMIT --> agreed
 *              ^________ a greater set: FAIL_REF, another one is lost _____/
 *   others:  FAIL_PREPARE --fence, FAIL_CONF--> FAIL_COMMIT --> agreed
 *              ^____ a greater set, of this leader or of the next one
 * What is fenced stays fenced; a round ends with a commit, or with the end of this node.
 */
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

#define FENCE_DELAY_MS 1u /* For FAIL_OUT_REP to leave before its link is closed. */
#define PATIENCE       3u /* Times T2: longest wait for somebody else's step. */

bool qmgr_agrees(const struct qmgr *qmgr)
{
    return qmgr->join.state == JOIN_MEMBER && !qmgr->join.sttor_owed &&
           (!node_mask_empty(&qmgr->started) || qmgr_is_newcomer(qmgr));
}

static uint32_t oldest(const struct qmgr *qmgr, const struct node_mask *nodes)
{
    uint32_t best = 0;
    EACH_NODE(node, nodes) {
        if (best == 0 || qmgr->peer[node].dynamic_id < qmgr->peer[best].dynamic_id) best = node;
    }
    return best;
}

/* Keeps of the nodes that another one names those that can fail. A node that joins is perhaps not
 * known here. */
static void keep_data_nodes(const struct qmgr *qmgr, struct node_mask *nodes)
{
    EACH_NODE(node, nodes) {
        if (!qmgr_is_data(qmgr, node)) node_mask_remove(nodes, node);
    }
}

static void to_qmgrs(struct qmgr *qmgr, const struct node_mask *nodes, uint32_t gsn,
                     const void *payload, uint32_t words)
{
    signal_broadcast(&qmgr->block, nodes, BLOCK_QMGR, gsn, PRIO_A, payload, words, NULL, 0);
}

static struct node_mask that_stay(const struct qmgr *qmgr)
{
    struct node_mask stay = qmgr->join.members;
    node_mask_cut(&stay, &qmgr->failure.fenced);
    return stay;
}

static void report(struct qmgr *qmgr, const struct node_failrep *rep)
{
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_DBDIH), GSN_NODE_FAILREP, PRIO_A, rep);
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_NDBCNTR), GSN_NODE_FAILREP, PRIO_A, rep);
}

void qmgr_failure_stop(struct qmgr *qmgr, uint32_t exit_code, const char *why)
{
    if (qmgr->failure.stopped) return;
    jam_data(exit_code);
    struct node_failrep rep = {.failure_no = qmgr->failure.number + 1u,
                               .verdict = exit_code,
                               .president = qmgr->join.president,
                               .nodes = qmgr->failure.fenced};
    qmgr->failure.stopped = 1;
    qmgr->failure.leads = 0;
    qmgr->ring.broken = 1;
    log_error(&qmgr->block, "this node stops: %s", why);
    qmgr_arbit_tell(qmgr, ARBIT_CRASH);
    qmgr_rejoin_stops(qmgr);
    report(qmgr, &rep);
}

/* --- Fencing. --- */

static void fence(struct qmgr *qmgr, const struct node_mask *nodes)
{
    EACH_NODE(node, nodes) {
        jam_data(node);
        qmgr_rejoin_close(qmgr, node);
    }
    node_mask_join(&qmgr->failure.fenced, nodes);
    qmgr_ring_update(qmgr);
}

/* Whoever leaves and can be told is told; its link is closed a moment later. Its words do not count
 * from now on. */
static void fence_after_word(struct qmgr *qmgr, const struct node_mask *leave)
{
    struct node_mask all = qmgr->failure.fenced;
    node_mask_join(&all, leave);
    struct fail_out_rep out = {.incarnation = qmgr->join.incarnation,
                               .number = qmgr->failure.number + 1u,
                               .verdict = qmgr_rule(qmgr, &all)};
    struct node_mask there = *leave;
    node_mask_keep(&there, &qmgr->linked);
    node_mask_cut(&there, &qmgr->reach.lost);
    node_mask_cut(&there, &qmgr->failure.fenced);
    if (!node_mask_empty(&there)) {
        jam();
        to_qmgrs(qmgr, &there, GSN_FAIL_OUT_REP, &out, sizeof(out) / 4u);
        if (!qmgr->failure.open) qmgr_work_later(qmgr, QMGR_FENCE, FENCE_DELAY_MS);
        qmgr->failure.open = 1;
    }
    if (!qmgr->failure.open) {
        fence(qmgr, leave);
        return;
    }
    node_mask_join(&qmgr->failure.fenced, leave);
    qmgr_ring_update(qmgr);
}

/* --- A failure is agreed. --- */

static void agreed(struct qmgr *qmgr, const struct node_mask *nodes)
{
    struct qmgr_failure *failure = &qmgr->failure;
    uint32_t president = qmgr->join.president;
    struct node_failrep rep = {.failure_no = ++failure->number, .nodes = *nodes};
    jam_data(rep.failure_no);
    log_info(&qmgr->block, "failure %u: agreed on, after %llu ms", rep.failure_no,
             (unsigned long long)(qmgr->reach.first_ms == 0
                                      ? 0
                                      : now_ms(&qmgr->block) - qmgr->reach.first_ms));
    qmgr->reach.first_ms = 0;
    failure->last = *nodes;
    EACH_NODE(node, &qmgr->join.members) {
        if (qmgr->peer[node].dynamic_id >= qmgr->president.dynamic_next)
            qmgr->president.dynamic_next = qmgr->peer[node].dynamic_id + 1u;
    }
    node_mask_cut(&qmgr->join.members, nodes);
    node_mask_cut(&failure->fenced, nodes);
    EACH_NODE(node, nodes)
        qmgr->peer[node] = (struct qmgr_peer){0};
    failure->leads = 0;
    failure->leader = 0;
    failure->newcomers = (struct node_mask){{0}};
    failure->conf_owed = 0;
    failure->asking = 0;
    failure->again = 0;
    failure->told = (struct node_mask){{0}};
    qmgr->join.president = oldest(qmgr, &qmgr->join.members);
    if (node_mask_has(nodes, qmgr->president.joiner)) qmgr->president.joiner = 0;
    qmgr_rejoin_failed(qmgr, nodes);
    rep.president = qmgr->join.president;
    qmgr_ring_update(qmgr);
    qmgr_clients_tell(qmgr, failure->number, nodes);
    report(qmgr, &rep);
    qmgr_arbit_view(qmgr, president != qmgr->join.president);
    qmgr_reach_view(qmgr);
}

/* --- The leader. --- */

static void try_decide(struct qmgr *qmgr)
{
    struct qmgr_failure *failure = &qmgr->failure;
    if (!failure->leads || failure->open || failure->asking ||
        !node_mask_empty(&failure->waiting)) {
        jam();
        return;
    }
    jam();
    qmgr_verdict(qmgr);
}

static void confirm(struct qmgr *qmgr)
{
    struct qmgr_failure *failure = &qmgr->failure;
    struct fail_conf conf = {
        .incarnation = qmgr->join.incarnation,
        .number = failure->number + 1u,
        .attempt = failure->conf_attempt,
    };
    if (!failure->conf_owed || failure->open) return;
    jam();
    qmgr_voteless(qmgr, &conf.newcomers);
    failure->conf_owed = 0;
    sig_send(&qmgr->block, block_ref(failure->leader, BLOCK_QMGR, 0), GSN_FAIL_CONF, PRIO_A, &conf);
}

void qmgr_failure_fence_now(struct qmgr *qmgr)
{
    if (!qmgr->failure.open) return;
    qmgr->failure.open = 0;
    EACH_NODE(node, &qmgr->failure.fenced)
        qmgr_rejoin_close(qmgr, node);
    if (qmgr->failure.stopped) return;
    confirm(qmgr);
    try_decide(qmgr);
}

static void lead(struct qmgr *qmgr, const struct node_mask *leave)
{
    struct qmgr_failure *failure = &qmgr->failure;
    jam();
    failure->newcomers = (struct node_mask){{0}};
    fence_after_word(qmgr, leave);
    failure->leads = 1;
    failure->conf_owed = 0;
    failure->leader = qmgr_own(qmgr);
    failure->asking = failure->behind = 0;
    failure->attempt++;
    failure->again = 0;
    failure->lead_ms = now_ms(&qmgr->block);
    failure->waiting = that_stay(qmgr);
    node_mask_remove(&failure->waiting, qmgr_own(qmgr));
    struct fail_prepare prepare = {
        .incarnation = qmgr->join.incarnation,
        .number = failure->number + 1u,
        .attempt = failure->attempt,
        .verdict = qmgr_rule(qmgr, &failure->fenced),
        .nodes = failure->fenced,
        .last = failure->last,
    };
    to_qmgrs(qmgr, &failure->waiting, GSN_FAIL_PREPARE, &prepare, sizeof(prepare) / 4u);
    try_decide(qmgr);
}

void qmgr_failure_found(struct qmgr *qmgr, const struct node_mask *leave)
{
    struct qmgr_failure *failure = &qmgr->failure;
    bool overdue = now_ms(&qmgr->block) - qmgr->reach.found_ms >
                   (uint64_t)PATIENCE * qmgr_silence_ms(qmgr, false);
    struct node_mask stay = qmgr->join.members;
    node_mask_cut(&stay, leave);
    if (node_mask_has(leave, qmgr_own(qmgr))) {
        jam(); /* The others will say so; or there is nobody who could. */
        if (overdue)
            qmgr_failure_stop(qmgr, qmgr_end_code(qmgr), "it has lost its links to the others");
        return;
    }
    uint32_t leader = oldest(qmgr, &stay);
    if (leader == qmgr_own(qmgr)) {
        bool again = failure->again && now_ms(&qmgr->block) != failure->lead_ms;
        if (failure->leads && node_mask_equal(leave, &failure->fenced) && !again) return;
        jam();
        lead(qmgr, leave);
    } else if (overdue &&
               !(failure->leader == leader && node_mask_equal(leave, &failure->fenced))) {
        jam();
        qmgr_suspect(qmgr, leader, true, "it does not lead");
    }
}

/* Some of the others may have said why. */
static void stop_in_lost_part(struct qmgr *qmgr)
{
    bool told = !node_mask_empty(&qmgr->failure.told);
    qmgr_failure_stop(qmgr, told ? qmgr_end_code(qmgr) : EXIT_ARBIT_SHUTDOWN,
                      told ? "others have fenced it, and it may not go on without them"
                           : "the cluster is divided, it is in a lost part");
}

void qmgr_failure_decided(struct qmgr *qmgr, uint32_t code)
{
    struct qmgr_failure *failure = &qmgr->failure;
    struct node_mask stay = that_stay(qmgr);
    struct node_mask nodes = failure->fenced;
    struct fail_commit commit = {
        .incarnation = qmgr->join.incarnation,
        .number = failure->number + 1u,
        .verdict = code,
        .nodes = nodes,
    };
    jam_data(code);
    node_mask_remove(&stay, qmgr_own(qmgr));
    to_qmgrs(qmgr, &stay, GSN_FAIL_COMMIT, &commit, sizeof(commit) / 4u);
    if (arbit_wins(code)) {
        jam();
        agreed(qmgr, &nodes);
    } else {
        jam();
        stop_in_lost_part(qmgr);
    }
}

void qmgr_exec_FAIL_CONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct fail_conf *conf = SIG_PAYLOAD(sig, fail_conf);
    struct qmgr_failure *failure = &qmgr->failure;
    uint32_t node = ref_node(sig->sender);
    if (!qmgr_talks(qmgr, node, conf->incarnation) || !failure->leads ||
        conf->attempt != failure->attempt || conf->number != failure->number + 1u) {
        jam();
        return;
    }
    jam_data(node);
    node_mask_remove(&failure->waiting, node);
    node_mask_join(&failure->newcomers, &conf->newcomers);
    node_mask_keep(&failure->newcomers, &failure->fenced);
    try_decide(qmgr);
}

/* Somebody has seen a commit that this leader has not: it makes up for it, for the others too. */
static void catch_up(struct qmgr *qmgr, const struct node_mask *nodes)
{
    struct node_mask stay = that_stay(qmgr);
    struct fail_commit commit = {
        .incarnation = qmgr->join.incarnation,
        .number = qmgr->failure.number + 1u,
        .verdict = ARBIT_WIN_CHOOSE,
        .nodes = *nodes,
    };
    jam();
    node_mask_remove(&stay, qmgr_own(qmgr));
    node_mask_cut(&stay, nodes);
    to_qmgrs(qmgr, &stay, GSN_FAIL_COMMIT, &commit, sizeof(commit) / 4u);
    fence(qmgr, nodes);
    agreed(qmgr, nodes);
}

void qmgr_exec_FAIL_REF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct fail_ref *ref = SIG_PAYLOAD(sig, fail_ref);
    struct qmgr_failure *failure = &qmgr->failure;
    uint32_t node = ref_node(sig->sender);
    struct node_mask nodes = ref->nodes;
    keep_data_nodes(qmgr, &nodes);
    if (!qmgr_talks(qmgr, node, ref->incarnation) || !failure->leads ||
        ref->attempt != failure->attempt || ref->number != failure->number + 1u) {
        jam();
        return;
    }
    jam_data(ref->cause);
    failure->again = 1;
    switch ((enum fail_ref_cause)ref->cause) {
    case FAIL_REF_COMMITTED:
        if (node_mask_has(&nodes, qmgr_own(qmgr)) || node_mask_empty(&nodes)) {
            jam();
            qmgr_failure_stop(qmgr, qmgr_end_code(qmgr), "the others have gone on without it");
            return;
        }
        catch_up(qmgr, &nodes);
        return;
    case FAIL_REF_LARGER:
        if (node_mask_has(&nodes, qmgr_own(qmgr))) {
            jam();
            qmgr_suspect(qmgr, node, true, "it has fenced this node");
            return;
        }
        node_mask_join(&qmgr->reach.fenced_by[node], &nodes);
        qmgr_reach_evaluate(qmgr);
        return;
    case FAIL_REF_BROKEN:
        qmgr_reach_row(qmgr, node, &nodes);
        qmgr_reach_evaluate(qmgr);
        return;
    default:
        jam();
        return;
    }
}

/* --- The others. --- */

static void refuse(struct qmgr *qmgr, const struct signal *sig, enum fail_ref_cause cause,
                   const struct node_mask *nodes)
{
    const struct fail_prepare *req = SIG_PAYLOAD(sig, fail_prepare);
    struct fail_ref ref = {
        .incarnation = req->incarnation,
        .number = req->number,
        .attempt = req->attempt,
        .cause = cause,
        .nodes = *nodes,
    };
    jam_data(cause);
    sig_send(&qmgr->block, sig->sender, GSN_FAIL_REF, PRIO_A, &ref);
}

/* All members older than the leader are in the set. */
static bool may_lead(const struct qmgr *qmgr, uint32_t node, const struct node_mask *leave)
{
    EACH_NODE(other, &qmgr->join.members) {
        if (qmgr->peer[other].dynamic_id < qmgr->peer[node].dynamic_id &&
            !node_mask_has(leave, other))
            return false;
    }
    return true;
}

/* The leader is one ahead: it has seen a commit that this node has not. */
static bool made_up(struct qmgr *qmgr, uint32_t node, const struct fail_prepare *req)
{
    struct node_mask last = req->last;
    keep_data_nodes(qmgr, &last);
    if (req->number == qmgr->failure.number + 1u) return true;
    if (req->number != qmgr->failure.number + 2u || node_mask_empty(&last) ||
        node_mask_has(&last, qmgr_own(qmgr)) || node_mask_has(&last, node)) {
        jam();
        return false;
    }
    jam();
    fence(qmgr, &last);
    agreed(qmgr, &last);
    return true;
}

/* The set would stop the cluster, and has nodes in it that this one reaches: with the leader out
 * instead of those the cluster could go on. So the leader did not know of other losses when it
 * fenced them, and what it has fenced it cannot take back. Nodes that it does not count yet, while
 * this one does, are in no part's way: it decides without their votes. */
static bool in_the_way(const struct qmgr *qmgr, uint32_t node, const struct node_mask *leave,
                       uint32_t verdict)
{
    struct node_mask without_it = *leave;
    enum arbit_code code = qmgr_rule(qmgr, leave);
    if (arbit_wins(code) || code == ARBIT_PARTITIONING) return false;
    if (arbit_wins(verdict) || verdict == ARBIT_PARTITIONING) return false;
    EACH_NODE(other, leave) {
        if (qmgr_reaches(qmgr, other)) node_mask_remove(&without_it, other);
    }
    if (node_mask_equal(&without_it, leave)) return false;
    node_mask_add(&without_it, node);
    code = qmgr_rule(qmgr, &without_it);
    return arbit_wins(code) || code == ARBIT_PARTITIONING;
}

/* False: it has been refused. */
static bool agrees_to(struct qmgr *qmgr, const struct signal *sig, const struct node_mask *leave)
{
    struct node_mask must;
    struct node_mask stay = qmgr->join.members;
    struct node_mask row = qmgr->reach.map.row[qmgr_own(qmgr)];
    if (!qmgr->reach.running) row = qmgr->join.members; /* Nothing is known to be wrong. */
    qmgr_newcomers(qmgr, &must);
    if (qmgr_may_stay(qmgr, leave)) node_mask_remove(&must, qmgr_own(qmgr));
    node_mask_join(&must, &qmgr->failure.fenced);
    node_mask_cut(&stay, leave);
    if (!node_mask_within(&must, leave)) {
        refuse(qmgr, sig, FAIL_REF_LARGER, &must);
        return false;
    }
    if (!may_lead(qmgr, ref_node(sig->sender), leave) || !node_mask_within(&stay, &row)) {
        refuse(qmgr, sig, FAIL_REF_BROKEN, &row);
        return false;
    }
    const struct fail_prepare *req = SIG_PAYLOAD(sig, fail_prepare);
    if (in_the_way(qmgr, ref_node(sig->sender), leave, req->verdict)) {
        jam();
        qmgr_suspect(qmgr, ref_node(sig->sender), true,
                     "it has fenced nodes that are there, and without which nobody could go on");
        return false;
    }
    return true;
}

void qmgr_exec_FAIL_PREPARE(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct fail_prepare *req = SIG_PAYLOAD(sig, fail_prepare);
    struct qmgr_failure *failure = &qmgr->failure;
    uint32_t node = ref_node(sig->sender);
    if (!qmgr_talks(qmgr, node, req->incarnation) || qmgr_hangs(qmgr)) {
        jam();
        return;
    }
    if (req->number == failure->number && !node_mask_empty(&failure->last)) {
        jam();
        refuse(qmgr, sig, FAIL_REF_COMMITTED, &failure->last);
        return;
    }
    if (!made_up(qmgr, node, req)) return;
    struct node_mask leave = req->nodes;
    keep_data_nodes(qmgr, &leave);
    if (node_mask_has(&leave, qmgr_own(qmgr))) {
        jam();
        qmgr_failure_stop(qmgr, qmgr_end_code(qmgr), "the others have declared it dead");
        return;
    }
    if (!agrees_to(qmgr, sig, &leave)) return;
    jam_data(node);
    fence_after_word(qmgr, &leave);
    failure->leads = 0;
    failure->newcomers = (struct node_mask){{0}};
    failure->asking = 0;
    failure->leader = node;
    failure->conf_owed = 1;
    failure->conf_attempt = req->attempt;
    confirm(qmgr);
}

void qmgr_exec_FAIL_COMMIT(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct fail_commit *commit = SIG_PAYLOAD(sig, fail_commit);
    struct node_mask nodes = commit->nodes;
    keep_data_nodes(qmgr, &nodes);
    if (!qmgr_talks(qmgr, ref_node(sig->sender), commit->incarnation) ||
        commit->number != qmgr->failure.number + 1u || node_mask_empty(&nodes)) {
        jam();
        return;
    }
    if (!arbit_wins(commit->verdict)) {
        jam_data(commit->verdict);
        stop_in_lost_part(qmgr);
        return;
    }
    if (node_mask_has(&nodes, qmgr_own(qmgr))) {
        jam();
        qmgr_failure_stop(qmgr, qmgr_end_code(qmgr), "the others have gone on without it");
        return;
    }
    jam();
    fence(qmgr, &nodes);
    agreed(qmgr, &nodes);
}

/* One more has fenced this node: could those that have go on by themselves? Where half of the nodes
 * asks nobody one half's first word is enough, or both halves would go on. A newcomer leaves with
 * whoever is lost, so with them too, unless all others count it already. */
static bool told_enough(struct qmgr *qmgr, uint32_t node, uint32_t verdict)
{
    struct node_mask rest = qmgr->join.members;
    node_mask_add(&qmgr->failure.told, node);
    node_mask_cut(&rest, &qmgr->failure.told);
    enum arbit_code code = qmgr_rule(qmgr, &rest);
    bool asks = block_config(&qmgr->block)->arbitration == ARBITRATION_DEFAULT;
    bool half = code == ARBIT_PARTITIONING || verdict == ARBIT_PARTITIONING;
    if (qmgr_is_newcomer(qmgr) && !qmgr_may_stay(qmgr, &qmgr->failure.told)) return true;
    return arbit_wins(code) || (half && !asks);
}

void qmgr_exec_FAIL_OUT_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct fail_out_rep *rep = SIG_PAYLOAD(sig, fail_out_rep);
    if (!qmgr_talks(qmgr, ref_node(sig->sender), rep->incarnation)) {
        jam();
        return;
    }
    if (!rep->agreed && !told_enough(qmgr, ref_node(sig->sender), rep->verdict)) {
        jam();
        qmgr_suspect(qmgr, ref_node(sig->sender), true, "it has fenced this node");
        return;
    }
    jam();
    qmgr_failure_stop(qmgr, qmgr_end_code(qmgr), "the others have declared it dead");
}
