/* qmgr_rejoin.c -- a node joins a running cluster, and one that stops leaves it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * At the president, for a node that asks to join (CM_REGREQ):
 *   NONE --CM_ADD PREPARE to all--> ADDING --all have confirmed: COMMIT to all-->
 *        --all have confirmed that too--> newcomer, NODE_JOINED_REP to NDBCNTR
 * At each other member:
 *   NONE --PREPARE--> ADDING --failure number equal, former life dealt with, link up: CONF-->
 *        --COMMIT--> newcomer, NODE_JOINED_REP to NDBCNTR
 *
 * A newcomer is a member that is not started. It counts in no vote: every failure takes it along,
 * and a join that does not come to its end is a failure of its node. So members never differ on who
 * is one, and nobody has to ask. Started and known to be so by all, it becomes a full member.
 *
 * Here too: which nodes that are no members may link and speak to QMGR alone, and the last word of
 * a node that stops in good order, or before all count it (CM_LEAVE_REP).
 */
#include <string.h>
#include "blocks/qmgr/partition_rule.h"
#include "blocks/qmgr/qmgr_state.h"
#include "signals/rejoin.h"

#define NODE_JOIN_LIMIT_MS 10000u /* Longest time between PREPARE and the last COMMIT. */
#define STRANGER_BEATS     10u    /* A link over which so long nobody asks to join is closed. */
#define STRANGER_BEAT_MS   200u   /* Least interval: a joiner asks that often. */

/* No failure is being dealt with, nobody is suspected. */
static bool quiet(const struct qmgr *qmgr)
{
    struct node_mask condemned;
    const struct qmgr_failure *failure = &qmgr->failure;
    const struct qmgr_reach *reach = &qmgr->reach;
    qmgr_condemned(qmgr, &qmgr->join.members, &condemned);
    return !failure->stopped && !failure->leads && failure->leader == 0 && !failure->open &&
           node_mask_empty(&failure->fenced) && node_mask_empty(&reach->lost) &&
           node_mask_empty(&reach->silent) && node_mask_empty(&condemned);
}

/* What lost nodes left here has been dealt with, as far as this node sees. */
static bool former_life_ended(const struct qmgr *qmgr)
{
    return qmgr->taken_no >= qmgr->failure.number;
}

bool qmgr_is_newcomer(const struct qmgr *qmgr)
{
    return node_mask_has(&qmgr->rejoin.newcomers, qmgr_own(qmgr));
}

void qmgr_newcomers(const struct qmgr *qmgr, struct node_mask *nodes)
{
    *nodes = qmgr->rejoin.newcomers;
    if (qmgr->rejoin.adding != 0) node_mask_add(nodes, qmgr->rejoin.adding);
}

void qmgr_voteless(const struct qmgr *qmgr, struct node_mask *nodes)
{
    uint32_t own = qmgr->peer[qmgr_own(qmgr)].dynamic_id;
    qmgr_newcomers(qmgr, nodes);
    EACH_NODE(node, &qmgr->rejoin.newcomers) {
        if (qmgr->peer[node].dynamic_id < own) node_mask_remove(nodes, node);
    }
}

uint32_t qmgr_end_code(const struct qmgr *qmgr)
{
    uint64_t young = now_ms(&qmgr->block) - qmgr->rejoin.started_ms;
    if (qmgr_is_newcomer(qmgr)) return EXIT_OTHER_NODE_FAILED;
    /* The others had not heard yet that it is started: nothing is wrong with it. */
    return qmgr->rejoin.started_ms != 0 && young < qmgr_silence_ms(qmgr, false)
               ? EXIT_OTHER_NODE_FAILED
               : EXIT_DECLARED_DEAD;
}

/* --- Links of nodes that are no members. --- */

/* A lost node's former link is gone: the next one may come, for QMGR's words only. */
void qmgr_rejoin_open(struct qmgr *qmgr)
{
    const struct node_config *config = block_config(&qmgr->block);
    if (config->survive == 0 || !qmgr_agrees(qmgr) || qmgr->failure.stopped ||
        qmgr_is_newcomer(qmgr))
        return;
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        const struct qmgr_link *link = &qmgr->link[node];
        if (!qmgr_is_data(qmgr, node) || node == config->own_node || link->epoch != 0 ||
            link->pending != 0 || node_mask_has(&qmgr->rejoin.open, node) ||
            node_mask_has(&qmgr->join.members, node) ||
            node_mask_has(&qmgr->failure.fenced, node) || node == qmgr->rejoin.adding)
            continue;
        jam_data(node);
        node_mask_add(&qmgr->rejoin.open, node);
        peer_allow(&qmgr->block, node, 1);
    }
}

void qmgr_rejoin_close(struct qmgr *qmgr, uint32_t node)
{
    node_mask_remove(&qmgr->rejoin.open, node);
    if (block_config(&qmgr->block)->survive != 0) peer_restrict(&qmgr->block, node, 1);
    peer_allow(&qmgr->block, node, 0); /* Again does no harm. */
}

/* Who has a link and does not ask hangs, or is a former life that has not noticed its end. */
static void watch_strangers(struct qmgr *qmgr)
{
    const struct node_config *config = block_config(&qmgr->block);
    uint32_t beat = config->heartbeat_db_db_ms > STRANGER_BEAT_MS ? config->heartbeat_db_db_ms
                                                                  : STRANGER_BEAT_MS;
    EACH_NODE(node, &qmgr->linked) {
        if (!node_mask_has(&qmgr->rejoin.open, node) || node_mask_has(&qmgr->join.members, node) ||
            node == qmgr->rejoin.adding)
            continue;
        if (now_ms(&qmgr->block) - qmgr->rejoin.asked_ms[node] < STRANGER_BEATS * beat) continue;
        jam_data(node);
        qmgr->rejoin.asked_ms[node] = now_ms(&qmgr->block);
        peer_close(&qmgr->block, node, "it does not ask to join");
    }
}

/* --- President. --- */

/* Why the node cannot join the running cluster now, or 0. */
uint32_t qmgr_rejoin_refusal(const struct qmgr *qmgr, uint32_t node, const struct cm_regreq *req)
{
    struct node_mask others = qmgr->join.members;
    struct node_mask begun = qmgr->join.members;
    if (block_config(&qmgr->block)->survive == 0 || !qmgr_agrees(qmgr) ||
        qmgr->start_level != START_STARTED)
        return CM_REF_RUNNING;
    if (qmgr->single_user != 0) return CM_REF_SINGLE_USER;
    node_mask_remove(&others, qmgr_own(qmgr));
    node_mask_cut(&begun, &qmgr->rejoin.newcomers);
    if (node_mask_has(&qmgr->join.members, node) || qmgr->rejoin.adding != 0 || !quiet(qmgr) ||
        !former_life_ended(qmgr) || !node_mask_within(&begun, &qmgr->started) ||
        !node_mask_within(&others, &req->linked))
        return CM_REF_BUSY;
    return qmgr_rejoin_before(qmgr, node) != 0 ? CM_REF_GROUP : 0;
}

/* Who of the node's group is on its way back: one at a time. 0 = nobody. */
uint32_t qmgr_rejoin_before(const struct qmgr *qmgr, uint32_t node)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    (void)node_config_groups(block_config(&qmgr->block), group_of);
    EACH_NODE(other, &qmgr->rejoin.newcomers) {
        if (other != node && group_of[other] == group_of[node]) return other;
    }
    return 0;
}

/* The president has sent CM_REGCONF, PREPARE follows. */
void qmgr_rejoin_begin(struct qmgr *qmgr, uint32_t node)
{
    jam_data(node);
    log_info(&qmgr->block, "node %u joins the running cluster, dynamic id %u", node,
             qmgr->peer[node].dynamic_id);
    qmgr->rejoin.adding = node;
    qmgr->rejoin.since_ms = now_ms(&qmgr->block);
}

/* All have confirmed PREPARE: nothing of its former life is anywhere. */
void qmgr_rejoin_prepared(struct qmgr *qmgr)
{
    if (qmgr->rejoin.adding == 0) return;
    jam_data(qmgr->rejoin.adding);
    peer_restrict(&qmgr->block, qmgr->rejoin.adding, 0);
}

static void joined(struct qmgr *qmgr, uint32_t node)
{
    const struct qmgr_peer *peer = &qmgr->peer[node];
    struct node_joined_rep rep = {
        .incarnation = qmgr->join.incarnation,
        .node = node,
        .dynamic_id = peer->dynamic_id,
        .ldm_count = peer->ldm_count,
        .tc_count = peer->tc_count,
    };
    jam_data(node);
    qmgr->rejoin.adding = 0;
    qmgr->rejoin.owed = 0;
    node_mask_add(&qmgr->rejoin.newcomers, node);
    node_mask_remove(&qmgr->rejoin.open, node);
    qmgr_reach_joined(qmgr, node);
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_NDBCNTR), GSN_NODE_JOINED_REP, PRIO_A, &rep);
}

/* The last COMMIT is confirmed. */
void qmgr_rejoin_added(struct qmgr *qmgr, uint32_t node)
{
    if (qmgr->rejoin.adding != node) return;
    jam_data(node);
    joined(qmgr, node);
    qmgr_arbit_joined(qmgr);
}

/* --- The other members. --- */

static void confirm_if_ready(struct qmgr *qmgr)
{
    uint32_t node = qmgr->rejoin.adding;
    if (!qmgr->rejoin.owed || !quiet(qmgr) || !former_life_ended(qmgr) ||
        !node_mask_has(&qmgr->linked, node))
        return;
    jam_data(node);
    qmgr->rejoin.owed = 0;
    struct cm_add_conf conf = {
        .incarnation = qmgr->join.incarnation, .phase = CM_ADD_PREPARE, .node = node};
    sig_send(&qmgr->block, block_ref(qmgr->join.president, BLOCK_QMGR, 0), GSN_CM_ADD_CONF, PRIO_A,
             &conf);
}

void qmgr_rejoin_prepare(struct qmgr *qmgr, const struct cm_add_req *req)
{
    if (!quiet(qmgr) || req->failure_no != qmgr->failure.number || qmgr->rejoin.adding != 0 ||
        node_mask_has(&qmgr->join.members, req->node)) {
        jam(); /* A failure goes round: it takes the joiner along. */
        return;
    }
    jam_data(req->node);
    qmgr->rejoin.adding = req->node;
    qmgr->rejoin.owed = 1;
    confirm_if_ready(qmgr);
}

/* False: this node knows nothing of it. */
bool qmgr_rejoin_commit(struct qmgr *qmgr, const struct cm_add_req *req)
{
    if (req->node != qmgr->rejoin.adding || qmgr->rejoin.owed || !quiet(qmgr) ||
        req->phase != CM_ADD_COMMIT || req->failure_no != qmgr->failure.number ||
        req->dynamic_id != qmgr->peer[req->node].dynamic_id) {
        jam(); /* Also where its own word of who it is was another one. */
        return false;
    }
    jam_data(req->node);
    peer_restrict(&qmgr->block, req->node, 0);
    node_mask_add(&qmgr->join.members, req->node);
    qmgr->peer[req->node].dynamic_id = req->dynamic_id;
    joined(qmgr, req->node);
    return true;
}

/* --- What happens meanwhile. --- */

/*
 * Who is started is a full member; but it counts itself only when all others count it. While some
 * do and some do not it leaves with whoever is lost: did it go on, its part could win with it, and
 * the others without it.
 */
static void count_started(struct qmgr *qmgr)
{
    struct node_mask *newcomers = &qmgr->rejoin.newcomers;
    struct node_mask full = *newcomers;
    node_mask_keep(&full, &qmgr->started);
    if (!node_mask_empty(&qmgr->rejoin.uncounted)) node_mask_remove(&full, qmgr_own(qmgr));
    EACH_NODE(node, &full) {
        jam_data(node);
        struct cm_counted_rep rep = {.incarnation = qmgr->join.incarnation,
                                     .dynamic_id = qmgr->peer[node].dynamic_id};
        node_mask_remove(newcomers, node);
        if (node != qmgr_own(qmgr))
            sig_send(&qmgr->block, block_ref(node, BLOCK_QMGR, 0), GSN_CM_COUNTED_REP, PRIO_A,
                     &rep);
    }
}

void qmgr_exec_CM_COUNTED_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_counted_rep *rep = SIG_PAYLOAD(sig, cm_counted_rep);
    uint32_t node = ref_node(sig->sender);
    if (!qmgr_talks(qmgr, node, rep->incarnation) || rep->dynamic_id != qmgr->join.dynamic_id) {
        jam();
        return;
    }
    jam_data(node);
    node_mask_remove(&qmgr->rejoin.uncounted, node);
    qmgr_rejoin_check(qmgr);
}

/*
 * This node is started, and who leaves is everybody that does not count it yet: to all that stay it
 * is a full member. Those that leave lack a whole node group, so they do not go on however they
 * count.
 */
bool qmgr_may_stay(const struct qmgr *qmgr, const struct node_mask *leave)
{
    const struct node_mask *uncounted = &qmgr->rejoin.uncounted;
    if (!node_mask_has(&qmgr->started, qmgr_own(qmgr)) || node_mask_has(leave, qmgr_own(qmgr)) ||
        !node_mask_within(uncounted, leave))
        return false;
    /* Another newcomer may have been started at the same moment, and this node has not heard. */
    return node_mask_empty(uncounted) ||
           partition_rule(block_config(&qmgr->block), leave, leave) == ARBIT_LOSE_GROUPS;
}

/* From now on the next link to a data node is one to another life of it, or to one that is no
 * member. */
static void guard_links(struct qmgr *qmgr, bool guard)
{
    if ((qmgr->rejoin.guarded != 0) == guard || block_config(&qmgr->block)->survive == 0) return;
    jam_data(guard);
    qmgr->rejoin.guarded = guard;
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (qmgr_is_data(qmgr, node) && node != qmgr_own(qmgr))
            peer_guard(&qmgr->block, node, guard);
    }
}

/* Links, states and failures have changed. */
void qmgr_rejoin_check(struct qmgr *qmgr)
{
    bool newcomer = qmgr_is_newcomer(qmgr);
    if (qmgr_agrees(qmgr)) guard_links(qmgr, true);
    /* A round that has begun takes them along. */
    if (quiet(qmgr)) count_started(qmgr);
    if (newcomer && !qmgr_is_newcomer(qmgr)) qmgr->rejoin.started_ms = now_ms(&qmgr->block);
    confirm_if_ready(qmgr);
    qmgr_rejoin_open(qmgr);
}

void qmgr_rejoin_linked(struct qmgr *qmgr, uint32_t node)
{
    struct fail_out_rep out = {
        .incarnation = qmgr->join.incarnation, .number = qmgr->failure.number, .agreed = 1};
    if (node_mask_has(&qmgr->rejoin.open, node)) {
        jam_data(node); /* To a former life that hung; a new one is no member of anything yet. */
        sig_send(&qmgr->block, block_ref(node, BLOCK_QMGR, 0), GSN_FAIL_OUT_REP, PRIO_A, &out);
    }
    if (!qmgr->rejoin.guarded) peer_restrict(&qmgr->block, node, 0); /* It came in that moment. */
    qmgr_rejoin_check(qmgr);
}

void qmgr_rejoin_failed(struct qmgr *qmgr, const struct node_mask *nodes)
{
    node_mask_cut(&qmgr->rejoin.newcomers, nodes);
    node_mask_cut(&qmgr->rejoin.uncounted, nodes);
    if (qmgr_is_newcomer(qmgr) && node_mask_empty(&qmgr->rejoin.uncounted) &&
        node_mask_has(&qmgr->started, qmgr_own(qmgr))) {
        jam(); /* qmgr_may_stay(): whoever did not count this node is gone. */
        node_mask_remove(&qmgr->rejoin.newcomers, qmgr_own(qmgr));
        qmgr->rejoin.started_ms = now_ms(&qmgr->block);
    }
    node_mask_cut(&qmgr->rejoin.leaving, nodes);
    node_mask_cut(&qmgr->rejoin.open, nodes);
    if (node_mask_has(nodes, qmgr->rejoin.adding)) {
        jam();
        qmgr->rejoin.adding = 0;
        qmgr->rejoin.owed = 0;
    }
    qmgr_rejoin_open(qmgr);
}

void qmgr_rejoin_reset(struct qmgr *qmgr)
{
    guard_links(qmgr, false);
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (qmgr_is_data(qmgr, node) && node != qmgr_own(qmgr))
            peer_restrict(&qmgr->block, node, 0);
    }
    memset(&qmgr->rejoin, 0, sizeof(qmgr->rejoin));
}

void qmgr_rejoin_tick(struct qmgr *qmgr)
{
    if (!qmgr_agrees(qmgr) || qmgr->failure.stopped) return;
    watch_strangers(qmgr);
    qmgr_rejoin_check(qmgr);
    if (qmgr->president.joiner == 0 || qmgr->rejoin.adding == 0 ||
        now_ms(&qmgr->block) - qmgr->rejoin.since_ms < NODE_JOIN_LIMIT_MS)
        return;
    jam();
    qmgr_suspect(qmgr, qmgr->rejoin.adding, true, "its join takes too long");
}

/* --- The last word of a node that stops. --- */

static void say_that_it_stops(struct qmgr *qmgr)
{
    struct cm_leave_rep leave = {.incarnation = qmgr->join.incarnation, .stops = 1};
    struct node_mask others = qmgr->join.members;
    node_mask_remove(&others, qmgr_own(qmgr));
    signal_broadcast(&qmgr->block, &others, BLOCK_QMGR, GSN_CM_LEAVE_REP, PRIO_A, &leave,
                     sizeof(leave) / 4u, NULL, 0);
}

/* A newcomer: some of the others may have heard that it is started, even before this QMGR has, and
 * count it; they will miss its vote. */
void qmgr_rejoin_stops(struct qmgr *qmgr)
{
    if (!qmgr_is_newcomer(qmgr)) return;
    jam();
    say_that_it_stops(qmgr);
}

void qmgr_exec_CM_STOP_ORD(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    (void)sig;
    if (qmgr->failure.stopped || !qmgr_agrees(qmgr)) {
        jam();
        return;
    }
    jam();
    qmgr->failure.stopped = 1; /* Whatever the others do, this node does not go on. */
    qmgr->ring.broken = 1;
    say_that_it_stops(qmgr);
}
