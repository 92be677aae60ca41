/* qmgr_verdict.c -- the leader of a round decides whether this part of the cluster may go on. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/partition_rule.h"
#include "blocks/qmgr/qmgr_state.h"

#define STAND_BACK_MS 100u /* So much later than those that have thrown this node out. */

/* Where all leave in good order some are the last, and that is nothing to be alarmed about. */
static void tell_result(struct qmgr *qmgr, enum arbit_code code)
{
    if (qmgr->start_level == START_STOPPING_4) return;
    event_send(&qmgr->block, EVENT_ARBIT_RESULT, code, qmgr->arbit.node, qmgr->arbit.ticket[0],
               qmgr->arbit.ticket[1]);
}

static void decide(struct qmgr *qmgr, enum arbit_code code)
{
    static const char *const why[] = {
        [ARBIT_LOSE_NODES] = "less than half of the nodes are left",
        [ARBIT_WIN_NODES] = "more than half of the nodes are left",
        [ARBIT_WIN_GROUPS] = "a whole node group is left",
        [ARBIT_LOSE_GROUPS] = "a node group is missing",
        [ARBIT_WIN_CHOOSE] = "the arbitrator says yes",
        [ARBIT_LOSE_CHOOSE] = "the arbitrator says no, or nothing",
        [ARBIT_LOSE_NORUN] = "half of the nodes are left, and no arbitrator is available",
        [ARBIT_LOSE_NOCFG] = "half of the nodes are left, and no arbitrator is configured",
        [ARBIT_WIN_WAIT] = "half of the nodes are left, and the configuration lets them go on",
    };
    qmgr->failure.asking = qmgr->failure.behind = 0;
    log_info(&qmgr->block, "%u of %u nodes have failed: %s", node_mask_count(&qmgr->failure.fenced),
             node_mask_count(&qmgr->join.members), why[code]);
    tell_result(qmgr, code);
    if (arbit_wins(code)) qmgr_arbit_tell(qmgr, qmgr->arbit.node != 0 ? ARBIT_RUN : ARBIT_FIND);
    qmgr_failure_decided(qmgr, code);
}

static bool configured(const struct qmgr *qmgr)
{
    const struct node_config *config = block_config(&qmgr->block);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (config->node[node].type != NODE_DATA && config->node[node].arbitration_rank != 0)
            return true;
    }
    return false;
}

static void ask(struct qmgr *qmgr)
{
    const struct qmgr_arbit *arbit = &qmgr->arbit;
    qmgr_arbit_take_former(qmgr);
    struct arbit_choose_req req = {
        .attempt = qmgr->failure.attempt,
        .ticket = {arbit->ticket[0], arbit->ticket[1]},
        .survivors = qmgr->join.members,
    };
    if (arbit->node == 0 || qmgr->client[arbit->node].state != API_REGISTERED) {
        jam();
        decide(qmgr, configured(qmgr) ? ARBIT_LOSE_NORUN : ARBIT_LOSE_NOCFG);
        return;
    }
    jam();
    node_mask_cut(&req.survivors, &qmgr->failure.fenced);
    qmgr->failure.asking = 1;
    qmgr->failure.asked_ms = now_ms(&qmgr->block);
    tell_result(qmgr, ARBIT_PARTITIONING);
    qmgr_arbit_tell(qmgr, ARBIT_CHOOSE);
    sig_send(&qmgr->block, qmgr->client[arbit->node].ref, GSN_ARBIT_CHOOSE_REQ, PRIO_A, &req);
}

/* The others have thrown this node out: most likely for what it has said. They may ask first. */
static bool stands_back(const struct qmgr *qmgr)
{
    return node_mask_within(&qmgr->failure.fenced, &qmgr->reach.dismissed);
}

enum arbit_code qmgr_rule(const struct qmgr *qmgr, const struct node_mask *leave)
{
    /* Who is not started has no rows, and who has said that it stops will not go on. */
    struct node_mask before = qmgr->join.members;
    struct node_mask voteless;
    qmgr_voteless(qmgr, &voteless);
    node_mask_cut(&before, &voteless);
    node_mask_cut(&before, &qmgr->failure.newcomers);
    node_mask_cut(&before, &qmgr->rejoin.leaving);
    struct node_mask alive = before;
    node_mask_cut(&alive, leave);
    return partition_rule(block_config(&qmgr->block), &before, &alive);
}

void qmgr_verdict(struct qmgr *qmgr)
{
    const struct node_config *config = block_config(&qmgr->block);
    enum arbit_code code = qmgr_rule(qmgr, &qmgr->failure.fenced);
    if (code != ARBIT_PARTITIONING) {
        jam();
        decide(qmgr, code);
    } else if (config->arbitration == ARBITRATION_NONE) {
        jam();
        decide(qmgr, ARBIT_WIN_WAIT);
    } else if (config->arbitration == ARBITRATION_EXTERNAL) {
        jam();
        qmgr->failure.asking = 1;
        qmgr->failure.asked_ms = now_ms(&qmgr->block);
        log_warning(&qmgr->block, "half of the nodes are left: waiting for external arbitration");
    } else if (stands_back(qmgr)) {
        jam();
        qmgr->failure.asking = qmgr->failure.behind = 1;
        qmgr->failure.asked_ms = now_ms(&qmgr->block);
    } else {
        jam();
        ask(qmgr);
    }
}

void qmgr_verdict_tick(struct qmgr *qmgr)
{
    const struct node_config *config = block_config(&qmgr->block);
    if (qmgr->failure.asking && qmgr->failure.behind) {
        if (now_ms(&qmgr->block) - qmgr->failure.asked_ms < STAND_BACK_MS) return;
        jam();
        qmgr->failure.behind = 0;
        ask(qmgr);
        return;
    }
    if (!qmgr->failure.asking ||
        now_ms(&qmgr->block) - qmgr->failure.asked_ms < config->arbitration_timeout_ms)
        return;
    jam();
    decide(qmgr, config->arbitration == ARBITRATION_EXTERNAL ? ARBIT_WIN_WAIT : ARBIT_LOSE_CHOOSE);
}

void qmgr_verdict_client_down(struct qmgr *qmgr, uint32_t node)
{
    if (!qmgr->failure.asking || qmgr->arbit.node != node ||
        block_config(&qmgr->block)->arbitration != ARBITRATION_DEFAULT)
        return;
    jam();
    decide(qmgr, ARBIT_LOSE_NORUN);
}

static bool is_answer(const struct qmgr *qmgr, const struct signal *sig, uint32_t attempt,
                      const uint32_t ticket[2])
{
    const struct qmgr_arbit *arbit = &qmgr->arbit;
    return qmgr->failure.asking && attempt == qmgr->failure.attempt &&
           ref_node(sig->sender) == arbit->node && ticket[0] == arbit->ticket[0] &&
           ticket[1] == arbit->ticket[1];
}

void qmgr_exec_ARBIT_CHOOSE_CONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct arbit_choose_conf *conf = SIG_PAYLOAD(sig, arbit_choose_conf);
    if (!is_answer(qmgr, sig, conf->attempt, conf->ticket)) {
        jam();
        return;
    }
    decide(qmgr, ARBIT_WIN_CHOOSE);
}

void qmgr_exec_ARBIT_CHOOSE_REF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct arbit_choose_ref *ref = SIG_PAYLOAD(sig, arbit_choose_ref);
    if (!is_answer(qmgr, sig, ref->attempt, ref->ticket)) {
        jam();
        return;
    }
    decide(qmgr, ARBIT_LOSE_CHOOSE);
}
