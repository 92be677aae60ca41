/* qmgr_pace.c -- measures how late the own node and some others are; the president gets the row. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Four or six times a second, never in a rhythm: a process that is stopped and goes on by turns may
 * have one. What does not come back counts with its age.
 */
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

#define PACE_TICK_MS    200u
#define PACE_TICK_DRAWN 100u /* The pause is drawn from half of this less to half of this more. */

/* --- Samples. --- */

static void sample(struct pace_samples *samples, uint64_t ms)
{
    samples->ms[samples->count++ % PACE_SAMPLES] = ms < PACE_UNKNOWN ? (uint32_t)ms : PACE_UNKNOWN;
}

/* PACE_UNKNOWN while there are too few. */
static uint32_t middle(const struct pace_samples *samples)
{
    uint32_t sorted[PACE_SAMPLES];
    if (samples->count < PACE_SAMPLES) return PACE_UNKNOWN;
    for (uint32_t i = 0; i < PACE_SAMPLES; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > samples->ms[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = samples->ms[i];
    }
    return sorted[(PACE_SAMPLES - 1u) / 2u];
}

/* --- Inside: the clock, and every thread that does the work. --- */

static uint32_t probe(struct qmgr *qmgr, uint32_t block_no)
{
    struct pace_probe_req req = {.sender_data = qmgr->pace.number};
    uint32_t count = block_instances(&qmgr->block, block_no);
    for (uint32_t instance = 1; instance <= count; instance++)
        sig_send(&qmgr->block, qmgr_local(qmgr, block_no) + instance, GSN_PACE_PROBE_REQ, PRIO_B,
                 &req);
    return count;
}

static void measure_inside(struct qmgr *qmgr)
{
    struct qmgr_pace *pace = &qmgr->pace;
    uint64_t now = now_ms(&qmgr->block);
    uint64_t late = pace->due_ms != 0 && now > pace->due_ms ? now - pace->due_ms : 0;
    uint64_t probes = pace->probes > 0 ? now - pace->probed_ms : pace->probe_ms;
    probes /= 2u; /* A queue is what a busy thread has, too. */
    /* A late tick stands for those that it has kept from coming. */
    for (uint64_t i = 0; i <= late / PACE_TICK_MS && i < PACE_SAMPLES; i++)
        sample(&pace->inside, late > probes ? late : probes);
    if (pace->probes > 0) {
        jam();
        return;
    }
    pace->number++;
    pace->probed_ms = now;
    pace->probes = probe(qmgr, BLOCK_DBTC) + probe(qmgr, BLOCK_DBLQH);
}

void qmgr_exec_PACE_PROBE_CONF(struct block *block, const struct signal *sig)
{
    struct qmgr_pace *pace = &qmgr_of(block)->pace;
    (void)sig;
    ndbrequire(pace->probes > 0);
    if (--pace->probes > 0) return;
    jam();
    pace->probe_ms = (uint32_t)(now_ms(block) - pace->probed_ms);
}

/* --- Reach. --- */

void qmgr_pace_members(const struct qmgr *qmgr, struct node_mask *nodes)
{
    *nodes = qmgr->join.members;
    node_mask_cut(nodes, &qmgr->reach.lost); /* Their loss is agreed on soon. */
    node_mask_cut(nodes, &qmgr->rejoin.newcomers);
    node_mask_cut(nodes, &qmgr->failure.fenced);
    for (uint32_t node = DATA_NODE_ID_MAX + 1u; node <= NODE_ID_MAX; node++)
        node_mask_remove(nodes, node);
}

/* The member with the next greater dynamic id than `id`, around the ring. */
static uint32_t next_in_ring(const struct qmgr *qmgr, const struct node_mask *from, uint32_t id)
{
    uint32_t best = 0;
    uint32_t best_distance = 0;
    EACH_NODE(node, from) {
        uint32_t distance = qmgr->peer[node].dynamic_id - id; /* Modulo 2^32. */
        if (best != 0 && distance >= best_distance) continue;
        best = node;
        best_distance = distance;
    }
    return best;
}

static void ask(struct qmgr *qmgr, uint32_t node)
{
    struct pace_peer *peer = &qmgr->pace.peer[node];
    struct pace_ask_rep rep = {.incarnation = qmgr->join.incarnation};
    if (peer->dynamic_id != qmgr->peer[node].dynamic_id) {
        jam(); /* Another life. */
        *peer = (struct pace_peer){.dynamic_id = qmgr->peer[node].dynamic_id};
    } else {
        uint64_t age = now_ms(&qmgr->block) - peer->asked_ms;
        sample(&peer->samples, peer->owed != 0 ? age : peer->reach_ms);
        if (peer->owed != 0) return;
    }
    peer->number = rep.number = ++qmgr->pace.number;
    peer->owed = 1;
    peer->asked_ms = now_ms(&qmgr->block);
    sig_send(&qmgr->block, block_ref(node, BLOCK_QMGR, 0), GSN_PACE_ASK_REP, PRIO_A, &rep);
}

/* Asks the next ones in the ring, and fills in what is known of them. */
static void measure_reach(struct qmgr *qmgr, struct pace_row *row)
{
    struct node_mask rest;
    uint32_t id = qmgr->join.dynamic_id;
    uint32_t used = 0;
    qmgr_pace_members(qmgr, &rest);
    node_mask_remove(&rest, qmgr_own(qmgr));
    memset(row, 0, sizeof(*row));
    for (uint32_t i = 0; i < PACE_PEERS && !node_mask_empty(&rest); i++) {
        uint32_t node = next_in_ring(qmgr, &rest, id);
        struct pace_peer *peer = &qmgr->pace.peer[node];
        node_mask_remove(&rest, node);
        id = qmgr->peer[node].dynamic_id;
        ask(qmgr, node);
        uint32_t reach = middle(&peer->samples);
        if (reach == PACE_UNKNOWN) continue;
        row->node[used] = node;
        row->reach_ms[used] = reach;
        row->inside_ms[used] = peer->inside_ms;
        used++;
    }
    EACH_NODE(node, &rest)
        qmgr->pace.peer[node].dynamic_id = 0; /* Too far away in the ring now. */
}

void qmgr_exec_PACE_ASK_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct pace_ask_rep *ask_rep = SIG_PAYLOAD(sig, pace_ask_rep);
    uint32_t inside = middle(&qmgr->pace.inside);
    struct pace_answer_rep rep = {
        .incarnation = qmgr->join.incarnation,
        .number = ask_rep->number,
        .inside_ms = inside == PACE_UNKNOWN ? 0 : inside,
    };
    if (!qmgr_talks(qmgr, ref_node(sig->sender), ask_rep->incarnation) || qmgr_hangs(qmgr)) {
        jam();
        return;
    }
    qmgr_heard(qmgr, ref_node(sig->sender));
    sig_send(block, sig->sender, GSN_PACE_ANSWER_REP, PRIO_A, &rep);
}

void qmgr_exec_PACE_ANSWER_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct pace_answer_rep *rep = SIG_PAYLOAD(sig, pace_answer_rep);
    uint32_t node = ref_node(sig->sender);
    if (!qmgr_talks(qmgr, node, rep->incarnation) || node > DATA_NODE_ID_MAX) {
        jam();
        return;
    }
    struct pace_peer *peer = &qmgr->pace.peer[node];
    qmgr_heard(qmgr, node);
    if (peer->owed == 0 || peer->number != rep->number) {
        jam(); /* This answers a question of another life, or an older one. */
        return;
    }
    peer->owed = 0;
    peer->reach_ms = (uint32_t)(now_ms(block) - peer->asked_ms);
    peer->inside_ms = rep->inside_ms;
    qmgr_answered(qmgr, node, peer->reach_ms);
}

/* --- The round. --- */

/* It is started, and there is somebody to compare with. */
static bool measures(const struct qmgr *qmgr)
{
    struct node_mask nodes;
    if (!qmgr_agrees(qmgr) || qmgr_is_newcomer(qmgr) || qmgr->failure.stopped ||
        qmgr->start_level != START_STARTED)
        return false;
    qmgr_pace_members(qmgr, &nodes);
    return node_mask_count(&nodes) > 1 && node_mask_has(&nodes, qmgr_own(qmgr));
}

static void forget(struct qmgr *qmgr)
{
    struct qmgr_pace *pace = &qmgr->pace;
    pace->inside.count = 0;
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++)
        pace->peer[node].dynamic_id = 0;
}

void qmgr_pace_tick(struct qmgr *qmgr)
{
    struct qmgr_pace *pace = &qmgr->pace;
    uint32_t wait_ms = PACE_TICK_MS - PACE_TICK_DRAWN / 2u +
                       (uint32_t)rng_below(block_rng(&qmgr->block), PACE_TICK_DRAWN);
    if (measures(qmgr)) {
        struct pace_row_rep rep = {.incarnation = qmgr->join.incarnation};
        measure_inside(qmgr);
        measure_reach(qmgr, &rep.row);
        if (qmgr_is_president(qmgr)) {
            jam();
            qmgr_pace_row(qmgr, qmgr_own(qmgr), &rep.row);
            qmgr_pace_judge(qmgr);
        } else {
            jam();
            pace->judges = 0;
            sig_send(&qmgr->block, block_ref(qmgr->join.president, BLOCK_QMGR, 0), GSN_PACE_ROW_REP,
                     PRIO_A, &rep);
        }
    } else if (pace->inside.count != 0) {
        jam();
        forget(qmgr);
    }
    pace->due_ms = now_ms(&qmgr->block) + wait_ms;
    qmgr_work_later(qmgr, QMGR_PACE_TICK, wait_ms);
}
