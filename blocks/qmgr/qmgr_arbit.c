/* qmgr_arbit.c -- the arbitrator is chosen in advance, known to all members, and handed over. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * President:
 *   INIT, FIND --a candidate--> START --ARBIT_START_CONF--> PREP1 --all--> PREP2 --all--> RUN
 *      ^            no answer ____/   a member is not linked to it ___/                    |
 *      |___________________________ some link to it is lost, a new president ______________/
 * Between PREP1 and PREP2 nobody has an arbitrator; so two members never have two. The president
 * may go back to the former one as long as it has told nobody of the new one: a member that hangs
 * keeps it in PREP1. Where the best one is who it is already, it keeps its ticket: only PREP2.
 */
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

#define ARBIT_TICK_MS   100u
#define ARBIT_ANSWER_MS 1000u  /* Longest wait for a candidate. */
#define ARBIT_FORGET_MS 10000u /* After so long the candidates that were no good are tried again. */

void qmgr_arbit_tell(struct qmgr *qmgr, enum arbit_state state)
{
    struct arbit_state_rep rep = {
        .state = state,
        .node = qmgr->arbit.node,
        .ticket = {qmgr->arbit.ticket[0], qmgr->arbit.ticket[1]},
    };
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_CMVMI), GSN_ARBIT_STATE_REP, PRIO_A, &rep);
}

static void move(struct qmgr *qmgr, enum arbit_state state)
{
    jam_data(state);
    qmgr->arbit.state = state;
    qmgr->arbit.since_ms = now_ms(&qmgr->block);
    qmgr_arbit_tell(qmgr, state);
}

void qmgr_arbit_reset(struct qmgr *qmgr)
{
    uint32_t tick_running = qmgr->arbit.tick_running;
    memset(&qmgr->arbit, 0, sizeof(qmgr->arbit));
    qmgr->arbit.tick_running = tick_running;
}

static bool is_linked(const struct qmgr *qmgr, uint32_t node)
{
    return qmgr->client[node].state == API_REGISTERED;
}

static bool may_be(const struct qmgr *qmgr, uint32_t node, uint32_t rank)
{
    const struct config_node *config = &block_config(&qmgr->block)->node[node];
    return (config->type == NODE_API || config->type == NODE_MGM) &&
           config->arbitration_rank == rank && is_linked(qmgr, node) &&
           !node_mask_has(&qmgr->arbit.bad, node);
}

/* Best first: linked to all, lowest rank, lowest id. */
static uint32_t best(const struct qmgr *qmgr)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t rank = 1; rank <= 2; rank++) {
            for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
                if (pass == 0 && node_mask_has(&qmgr->arbit.poor, node)) continue;
                if (may_be(qmgr, node, rank)) return node;
            }
        }
    }
    return 0;
}

/* Phase 1 for the same node changes nothing: it remembers both tickets, and who asks first with
 * either of them voids the other. */
static void know(struct qmgr_arbit *arbit, uint32_t phase, uint32_t node, const uint32_t ticket[2])
{
    if (phase == 1 && arbit->node == node) return;
    arbit->node = phase == 2 ? node : 0;
    arbit->ticket[0] = phase == 2 ? ticket[0] : 0;
    arbit->ticket[1] = phase == 2 ? ticket[1] : 0;
}

static void prepare(struct qmgr *qmgr, uint32_t phase)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    struct arbit_prep_req req = {
        .incarnation = qmgr->join.incarnation,
        .phase = phase,
        .node = arbit->candidate,
        .ticket = {arbit->ticket_new[0], arbit->ticket_new[1]},
    };
    move(qmgr, phase == 1 ? ARBIT_PREP1 : ARBIT_PREP2);
    if (phase == 1) {
        arbit->former = arbit->node;
        arbit->ticket_former[0] = arbit->ticket[0];
        arbit->ticket_former[1] = arbit->ticket[1];
    } else if (arbit->ticket_new[0] != arbit->ticket[0] ||
               arbit->ticket_new[1] != arbit->ticket[1]) {
        arbit->former = 0;
        arbit->spent = 0;
    }
    know(arbit, phase, arbit->candidate, arbit->ticket_new);
    arbit->unlinked = 0;
    arbit->waiting = qmgr->join.members;
    signal_broadcast(&qmgr->block, &arbit->waiting, BLOCK_QMGR, GSN_ARBIT_PREP_REQ, PRIO_A, &req,
                     sizeof(req) / 4u, NULL, 0);
}

static void find(struct qmgr *qmgr)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    arbit->candidate = best(qmgr);
    if (arbit->candidate == 0) {
        if (arbit->state != ARBIT_FIND) move(qmgr, ARBIT_FIND);
        return;
    }
    jam_data(arbit->candidate);
    if (arbit->candidate == arbit->node && !arbit->spent) {
        jam(); /* Who has joined learns of it, and all say whether they are linked to it. */
        arbit->ticket_new[0] = arbit->ticket[0];
        arbit->ticket_new[1] = arbit->ticket[1];
        prepare(qmgr, 2);
        return;
    }
    arbit->ticket_new[0] = (uint32_t)rng_next(block_rng(&qmgr->block)) | 1u;
    arbit->ticket_new[1] = (uint32_t)rng_next(block_rng(&qmgr->block));
    struct arbit_start_req req = {.ticket = {arbit->ticket_new[0], arbit->ticket_new[1]}};
    move(qmgr, ARBIT_START);
    sig_send(&qmgr->block, qmgr->client[arbit->candidate].ref, GSN_ARBIT_START_REQ, PRIO_A, &req);
}

/* All members have answered. */
static void prepared(struct qmgr *qmgr)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    uint32_t node = arbit->candidate;
    if (arbit->state == ARBIT_PREP2 && arbit->unlinked && !node_mask_has(&arbit->poor, node)) {
        jam(); /* Perhaps there is a better one; until then this one counts. */
        node_mask_add(&arbit->poor, node);
        if (best(qmgr) != node) {
            find(qmgr);
            return;
        }
    }
    if (arbit->state == ARBIT_PREP2) {
        jam();
        move(qmgr, ARBIT_RUN);
        log_info(&qmgr->block, "node %u is the arbitrator, ticket %08x%08x", node,
                 arbit->ticket_new[0], arbit->ticket_new[1]);
        event_send(&qmgr->block, EVENT_ARBIT_STATE, ARBIT_API_START, node, arbit->ticket_new[0],
                   arbit->ticket_new[1]);
        return;
    }
    if (arbit->unlinked && !node_mask_has(&arbit->poor, node)) {
        jam(); /* Perhaps there is a better one. If not this one is taken in the second pass. */
        node_mask_add(&arbit->poor, node);
        find(qmgr);
        return;
    }
    jam();
    prepare(qmgr, 2);
}

static bool presides(const struct qmgr *qmgr)
{
    return qmgr_is_president(qmgr) && qmgr_agrees(qmgr) && !qmgr->failure.stopped &&
           block_config(&qmgr->block)->arbitration == ARBITRATION_DEFAULT;
}

void qmgr_arbit_take_former(struct qmgr *qmgr)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    if (arbit->state == ARBIT_PREP1 && arbit->former != 0) {
        jam_data(arbit->former);
        arbit->node = arbit->former;
        arbit->ticket[0] = arbit->ticket_former[0];
        arbit->ticket[1] = arbit->ticket_former[1];
        move(qmgr, ARBIT_INIT); /* What comes of the preparation does not count any more. */
    }
    arbit->spent = 1;
}

/* As president: the links to the arbitrator are not what they were. */
static void hand_over(struct qmgr *qmgr, uint32_t node)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    jam_data(node);
    log_warning(&qmgr->block, "the arbitrator, node %u, is not linked to all nodes any more", node);
    event_send(&qmgr->block, EVENT_ARBIT_STATE, ARBIT_API_FAIL, node, arbit->ticket[0],
               arbit->ticket[1]);
    node_mask_add(&arbit->poor, node);
    if (!qmgr->failure.asking) find(qmgr);
}

void qmgr_arbit_tick(struct qmgr *qmgr)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    uint64_t now = now_ms(&qmgr->block);
    qmgr_work_later(qmgr, QMGR_ARBIT_TICK, ARBIT_TICK_MS);
    if (!presides(qmgr) || qmgr->failure.asking) return;
    if (now - arbit->forget_ms >= ARBIT_FORGET_MS) {
        bool again = arbit->state == ARBIT_RUN && node_mask_has(&arbit->poor, arbit->node);
        arbit->forget_ms = now;
        memset(&arbit->poor, 0, sizeof(arbit->poor));
        memset(&arbit->bad, 0, sizeof(arbit->bad));
        if (again) move(qmgr, ARBIT_INIT);
    }
    if (arbit->state == ARBIT_START && now - arbit->since_ms >= ARBIT_ANSWER_MS) {
        jam();
        node_mask_add(&arbit->bad, arbit->candidate);
        move(qmgr, ARBIT_INIT);
    }
    if (arbit->state <= ARBIT_FIND) find(qmgr);
}

void qmgr_arbit_view(struct qmgr *qmgr, bool new_president)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    if (!presides(qmgr)) return;
    if (new_president) {
        jam();
        arbit->spent = 1; /* The former one may have asked. */
        find(qmgr);
        return;
    }
    node_mask_keep(&arbit->waiting, &qmgr->join.members);
    bool waits = arbit->state == ARBIT_PREP1 || arbit->state == ARBIT_PREP2;
    if (waits && node_mask_empty(&arbit->waiting)) prepared(qmgr);
}

void qmgr_arbit_ready(struct qmgr *qmgr)
{
    const struct qmgr_arbit *arbit = &qmgr->arbit;
    if (!presides(qmgr) || qmgr->failure.asking || arbit->state > ARBIT_FIND || arbit->node != 0)
        return;
    jam();
    find(qmgr);
}

void qmgr_arbit_joined(struct qmgr *qmgr)
{
    if (presides(qmgr) && qmgr->arbit.state >= ARBIT_FIND) move(qmgr, ARBIT_INIT);
}

void qmgr_arbit_client_down(struct qmgr *qmgr, uint32_t node)
{
    struct qmgr_arbit *arbit = &qmgr->arbit;
    if (node == arbit->node) arbit->spent = 1; /* It may be another process that comes back. */
    if (node == arbit->former) arbit->former = 0;
    if (presides(qmgr)) {
        bool busy = arbit->state >= ARBIT_PREP1 && arbit->state <= ARBIT_START;
        bool counts = busy ? node == arbit->candidate : node == arbit->node;
        if (counts) hand_over(qmgr, node);
        return;
    }
    if (node != arbit->node || qmgr->join.state != JOIN_MEMBER || qmgr_is_president(qmgr)) return;
    jam_data(node);
    struct arbit_lost_rep rep = {
        .incarnation = qmgr->join.incarnation,
        .node = node,
        .ticket = {arbit->ticket[0], arbit->ticket[1]},
    };
    sig_send(&qmgr->block, block_ref(qmgr->join.president, BLOCK_QMGR, 0), GSN_ARBIT_LOST_REP,
             PRIO_A, &rep);
}

void qmgr_exec_ARBIT_START_CONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct arbit_start_conf *conf = SIG_PAYLOAD(sig, arbit_start_conf);
    const struct qmgr_arbit *arbit = &qmgr->arbit;
    if (!presides(qmgr) || arbit->state != ARBIT_START ||
        ref_node(sig->sender) != arbit->candidate || conf->ticket[0] != arbit->ticket_new[0] ||
        conf->ticket[1] != arbit->ticket_new[1] || qmgr->failure.asking) {
        jam();
        return;
    }
    jam();
    prepare(qmgr, 1);
}

void qmgr_exec_ARBIT_PREP_REQ(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct arbit_prep_req *req = SIG_PAYLOAD(sig, arbit_prep_req);
    struct qmgr_arbit *arbit = &qmgr->arbit;
    uint32_t node = ref_node(sig->sender);
    bool own = node == qmgr_own(qmgr);
    if ((!own && !qmgr_talks(qmgr, node, req->incarnation)) || node != qmgr->join.president ||
        req->incarnation != qmgr->join.incarnation || req->node == 0 || req->node > NODE_ID_MAX ||
        qmgr_is_data(qmgr, req->node)) {
        jam();
        return;
    }
    jam_data(req->phase);
    if (!own) know(arbit, req->phase, req->node, req->ticket); /* The president knows already. */
    if (!own) qmgr_arbit_tell(qmgr, arbit->node != 0 ? ARBIT_RUN : ARBIT_FIND);
    struct arbit_prep_conf conf = {
        .incarnation = req->incarnation,
        .phase = req->phase,
        .ticket = {req->ticket[0], req->ticket[1]},
        .linked = is_linked(qmgr, req->node),
    };
    sig_send(block, sig->sender, GSN_ARBIT_PREP_CONF, PRIO_A, &conf);
}

void qmgr_exec_ARBIT_PREP_CONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct arbit_prep_conf *conf = SIG_PAYLOAD(sig, arbit_prep_conf);
    struct qmgr_arbit *arbit = &qmgr->arbit;
    bool waits = (arbit->state == ARBIT_PREP1 && conf->phase == 1) ||
                 (arbit->state == ARBIT_PREP2 && conf->phase == 2);
    if (!presides(qmgr) || !waits || conf->incarnation != qmgr->join.incarnation ||
        conf->ticket[0] != arbit->ticket_new[0] || conf->ticket[1] != arbit->ticket_new[1]) {
        jam();
        return;
    }
    node_mask_remove(&arbit->waiting, ref_node(sig->sender));
    if (!conf->linked) arbit->unlinked = 1;
    if (!node_mask_empty(&arbit->waiting)) return;
    jam();
    prepared(qmgr);
}

void qmgr_exec_ARBIT_LOST_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct arbit_lost_rep *rep = SIG_PAYLOAD(sig, arbit_lost_rep);
    const struct qmgr_arbit *arbit = &qmgr->arbit;
    if (!presides(qmgr) || !qmgr_talks(qmgr, ref_node(sig->sender), rep->incarnation) ||
        rep->node == 0 || rep->node != arbit->node || rep->ticket[0] != arbit->ticket[0] ||
        rep->ticket[1] != arbit->ticket[1] || arbit->state != ARBIT_RUN ||
        node_mask_has(&arbit->poor, arbit->node)) {
        jam();
        return;
    }
    jam();
    hand_over(qmgr, rep->node);
}
