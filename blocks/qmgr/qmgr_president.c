/* qmgr_president.c -- elects the president; as president, adds one node after the other. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

/* --- Which nodes make up the start? --- */

struct group_count {
    uint32_t all;
    uint32_t here; /* Nodes of it in sight that have data. */
};

/* Files are what a node brings; without files nodes have nothing to lose. enum cm_data. */
static uint32_t data_of(const struct qmgr *qmgr, uint32_t node)
{
    if (block_config(&qmgr->block)->diskless) return CM_DATA_KEPT;
    return node == qmgr_own(qmgr) ? qmgr->join.has_data : qmgr->peer[node].has_data;
}

static bool has_data(const struct qmgr *qmgr, uint32_t node)
{
    return data_of(qmgr, node) == CM_DATA_KEPT;
}
static void count_groups(const struct qmgr *qmgr, const struct node_mask *here,
                         struct group_count *groups, bool *represented, bool *whole)
{
    const struct node_config *config = block_config(&qmgr->block);
    uint32_t group_of[NODE_ID_MAX + 1];
    uint32_t count = node_config_groups(config, group_of);
    memset(groups, 0, (NODE_ID_MAX + 1u) * sizeof(groups[0]));
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (group_of[node] == NODEGROUP_NONE) continue;
        groups[group_of[node]].all++;
        groups[group_of[node]].here += node_mask_has(here, node) && has_data(qmgr, node);
    }
    *represented = count > 0;
    *whole = false;
    for (uint32_t group = 0; group < count; group++) {
        *represented &= groups[group].here > 0;
        *whole |= groups[group].here == groups[group].all;
    }
}

static bool passed(uint64_t waited, uint32_t limit_ms)
{
    return limit_ms != 0 && waited >= limit_ms;
}

/*
 * All data nodes, or after StartPartialTimeout those in sight: every node group must be represented
 * by a node with data, and one must be there whole. Two parts of a divided cluster cannot both
 * fulfil that, so never do two clusters start; and two starts in a row have a node in common that
 * knows of the first. StartPartitionedTimeout does without the whole group: the operator knows that
 * the others are gone. A start without any data is never partial: an absent node may have some. But
 * who gives data up while all others stand aside is not kept waiting: the decision refuses it.
 */
static enum start_set start_set(const struct qmgr *qmgr, struct node_mask *expected,
                                struct node_mask *missing)
{
    const struct node_config *config = block_config(&qmgr->block);
    struct group_count groups[NODE_ID_MAX + 1];
    uint64_t waited = now_ms(&qmgr->block) - qmgr->join.election_ms;
    bool any = false;
    bool absent = false;
    bool given_up = false;
    bool represented;
    bool whole;
    memset(missing, 0, sizeof(*missing));
    *expected = qmgr_in_sight(qmgr);
    node_mask_add(expected, config->own_node);
    for (uint32_t node = 1; node <= NODE_ID_MAX; node++) {
        if (config->node[node].type != NODE_DATA) continue;
        bool here = node_mask_has(expected, node);
        if (!here) node_mask_add(missing, node);
        absent |= !here && !node_mask_has(&qmgr->linked, node);
        any |= here && has_data(qmgr, node);
        given_up |= here && data_of(qmgr, node) == CM_DATA_GIVEN_UP;
    }
    if (node_mask_empty(missing)) return START_SET_READY;
    if (!any) return given_up && !absent ? START_SET_READY : START_SET_EMPTY;
    count_groups(qmgr, expected, groups, &represented, &whole);
    if (!represented) return given_up && !absent ? START_SET_READY : START_SET_GROUP;
    if (!absent) return START_SET_READY; /* The others wait here, for this start. */
    if (!passed(waited, config->start_partial_timeout_ms)) return START_SET_TIME;
    if (!whole && !passed(waited, config->start_partitioned_timeout_ms))
        return START_SET_PARTITIONED;
    return START_SET_READY;
}

static void list_nodes(const struct node_mask *nodes, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t node = node_mask_next(nodes, 0); node != 0; node = node_mask_next(nodes, node)) {
        int added = snprintf(text + used, size - used, "%s%u", used == 0 ? "" : ", ", node);
        if (added < 0 || used + (size_t)added >= size) return;
        used += (size_t)added;
    }
}

void qmgr_tell_waiting(struct qmgr *qmgr)
{
    static const char *const why[] = {
        "",
        "nobody here has data, and a first start needs all nodes",
        "a node group has no node with data here",
        "they may still come (StartPartialTimeout)",
        "without a whole node group the others could be a cluster too (StartPartitionedTimeout)",
    };
    const struct node_config *config = block_config(&qmgr->block);
    struct node_mask expected;
    struct node_mask missing;
    char nodes[128];
    enum start_set set = start_set(qmgr, &expected, &missing);
    if (qmgr->join.state != JOIN_ELECTION || set == START_SET_READY || qmgr->join.aside) return;
    if (now_ms(&qmgr->block) - qmgr->join.election_ms < WAIT_TOLD_MS) return;
    if (set == qmgr->join.told_why && node_mask_equal(&missing, &qmgr->join.told_missing)) return;
    jam_data(set);
    qmgr->join.told_why = set;
    qmgr->join.told_missing = missing;
    list_nodes(&missing, nodes, sizeof(nodes));
    bool forever = config->start_partial_timeout_ms == 0 ||
                   (set == START_SET_PARTITIONED && config->start_partitioned_timeout_ms == 0);
    log_info(&qmgr->block, "the start waits for nodes %s: %s%s", nodes, why[set],
             forever && set >= START_SET_TIME ? ", for ever" : "");
}

/* --- Election. --- */

static void become_president(struct qmgr *qmgr, const struct node_mask *expected)
{
    uint32_t own = qmgr_own(qmgr);
    jam();
    qmgr->join.incarnation = (uint32_t)rng_next(block_rng(&qmgr->block)) | 1u;
    qmgr->join.president = own;
    qmgr->join.dynamic_id = 1;
    qmgr->join.expected = *expected;
    memset(&qmgr->join.members, 0, sizeof(qmgr->join.members));
    node_mask_add(&qmgr->join.members, own);
    qmgr->peer[own] = (struct qmgr_peer){
        .dynamic_id = 1,
        .ldm_count = block_config(&qmgr->block)->ldm_count,
        .tc_count = block_config(&qmgr->block)->tc_count,
    };
    qmgr->president.dynamic_next = 2;
    qmgr_move(qmgr, JOIN_MEMBER);
    log_info(&qmgr->block, "this node is president, %u nodes make up the cluster",
             node_mask_count(expected));
    qmgr_ring_update(qmgr);
    qmgr_join_check(qmgr);
}

/* The lowest node in sight becomes president when all that are needed are there and all in sight
 * would follow it. */
void qmgr_election(struct qmgr *qmgr)
{
    uint32_t own = qmgr_own(qmgr);
    struct node_mask expected;
    struct node_mask missing;
    struct node_mask sight = qmgr_in_sight(qmgr);
    if (qmgr->join.state != JOIN_ELECTION || qmgr_candidate(qmgr) != own) return;
    if (qmgr->join.aside) return;
    if (start_set(qmgr, &expected, &missing) != START_SET_READY) return;
    for (uint32_t node = node_mask_next(&sight, 0); node != 0;
         node = node_mask_next(&sight, node)) {
        if (qmgr->peer[node].agreed != own) return;
    }
    become_president(qmgr, &expected);
}

void qmgr_president_reset(struct qmgr *qmgr)
{
    memset(&qmgr->president, 0, sizeof(qmgr->president));
}

/* --- Adding a node. --- */

static void send_add(struct qmgr *qmgr, enum cm_add_phase phase)
{
    uint32_t joiner = qmgr->president.joiner;
    struct cm_add_req req = {
        .incarnation = qmgr->join.incarnation,
        .phase = phase,
        .node = joiner,
        .dynamic_id = qmgr->peer[joiner].dynamic_id,
        .failure_no = qmgr->failure.number,
    };
    qmgr->president.phase = phase;
    qmgr->president.waiting = qmgr->join.members;
    node_mask_add(&qmgr->president.waiting, joiner);
    node_mask_remove(&qmgr->president.waiting, qmgr_own(qmgr));
    signal_broadcast(&qmgr->block, &qmgr->president.waiting, BLOCK_QMGR, GSN_CM_ADD_REQ, PRIO_A,
                     &req, sizeof(req) / 4u, NULL, 0);
}

static void begin_join(struct qmgr *qmgr, uint32_t joiner, const struct cm_regreq *req)
{
    jam_data(joiner);
    qmgr->president.joiner = joiner;
    qmgr->president.attempt = req->attempt;
    qmgr->peer[joiner].dynamic_id = qmgr->president.dynamic_next++;
    struct cm_regconf conf = {
        .attempt = req->attempt,
        .incarnation = qmgr->join.incarnation,
        .president = qmgr_own(qmgr),
        .dynamic_id = qmgr->peer[joiner].dynamic_id,
        .members = qmgr->join.members,
        .expected = qmgr->join.expected,
        .running = !qmgr->join.sttor_owed,
        .failure_no = qmgr->failure.number,
    };
    if (conf.running) {
        jam();
        conf.expected = conf.members;
        node_mask_cut(&conf.expected, &qmgr->rejoin.newcomers);
        qmgr_rejoin_begin(qmgr, joiner);
    }
    sig_send(&qmgr->block, block_ref(joiner, BLOCK_QMGR, 0), GSN_CM_REGCONF, PRIO_A, &conf);
    send_add(qmgr, CM_ADD_PREPARE);
}

/* Why the node cannot join now, or 0. */
static uint32_t refusal(const struct qmgr *qmgr, uint32_t node, const struct cm_regreq *req)
{
    if (!qmgr_is_data(qmgr, node)) return CM_REF_NOT_IN_CONFIG;
    if (NDB_VERSION_MAJOR(req->version) != NDB_VERSION_MAJOR(NDB_VERSION)) return CM_REF_VERSION;
    if (req->fixed != block_config(&qmgr->block)->fixed) return CM_REF_GENERATION;
    if (qmgr->join.state <= JOIN_ELECTION) return CM_REF_ELECTION;
    if (!qmgr_is_president(qmgr)) return CM_REF_NOT_PRESIDENT;
    if (!qmgr->join.sttor_owed) return qmgr_rejoin_refusal(qmgr, node, req);
    if (!node_mask_has(&qmgr->join.expected, node)) return CM_REF_RUNNING;
    if (qmgr->president.joiner != 0 || node_mask_has(&qmgr->join.members, node)) return CM_REF_BUSY;
    return 0;
}

/* What it was answered over a slow link came behind words of a former incarnation, with which it
 * had begun anew: it takes no answer to its former try, and whoever waits for it waits in vain. */
static bool has_given_up(const struct qmgr *qmgr, uint32_t node, const struct cm_regreq *req)
{
    return qmgr->join.sttor_owed && node == qmgr->president.joiner &&
           req->attempt != qmgr->president.attempt;
}

/* Nobody of the node group has rows that the others could get: they would wait for ever, each for
 * the others. */
static void tell_all_aside(struct qmgr *qmgr)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    if (!qmgr->join.aside || qmgr->join.told_aside) return;
    (void)node_config_groups(block_config(&qmgr->block), group_of);
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        bool partner = node != qmgr_own(qmgr) && group_of[node] == group_of[qmgr_own(qmgr)];
        if (partner && !qmgr->peer[node].aside) return;
    }
    jam();
    qmgr->join.told_aside = 1;
    log_warning(&qmgr->block,
                "all nodes of this node group stand aside, and none has rows that it may start "
                "with: each one's log says why. Bring the files that are named there back from a "
                "copy of the file system. Or start with the older rows of a node whose files are "
                "whole: start the others with --initial --i-accept-data-loss");
}

void qmgr_exec_CM_REGREQ(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_regreq *req = SIG_PAYLOAD(sig, cm_regreq);
    uint32_t node = ref_node(sig->sender);
    if (has_given_up(qmgr, node, req)) {
        jam();
        qmgr_member_lost(qmgr, node, "it joins anew");
    }
    uint32_t cause = refusal(qmgr, node, req);
    if (req->aside > block_config(block)->survive) {
        jam(); /* The others would start without it, and it could not come later. */
        peer_close(block, node, "a node that stands aside where nobody can");
        return;
    }
    if (node <= DATA_NODE_ID_MAX) qmgr->rejoin.asked_ms[node] = now_ms(block);
    if (cause == 0) {
        begin_join(qmgr, node, req);
        return;
    }
    jam_data(cause);
    struct cm_regref ref = {
        .attempt = req->attempt,
        .cause = cause,
        .candidate = qmgr_follows(qmgr),
        .president = qmgr->join.president,
    };
    if (cause == CM_REF_GROUP) ref.candidate = qmgr_rejoin_before(qmgr, node);
    sig_send(block, sig->sender, GSN_CM_REGREF, PRIO_A, &ref);
    if (node_mask_has(&qmgr->linked, node)) {
        qmgr->peer[node].aside = req->aside;
        qmgr->peer[node].known = req->known;
        tell_all_aside(qmgr);
    }
    if (cause == CM_REF_ELECTION && node_mask_has(&qmgr->linked, node)) {
        jam(); /* Who asks is in election too: its candidate counts as much as an answer's. */
        qmgr->peer[node].agreed = req->candidate;
        qmgr->peer[node].has_data = req->has_data;
        qmgr_election(qmgr);
    }
}

void qmgr_exec_CM_ADD_CONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_add_conf *conf = SIG_PAYLOAD(sig, cm_add_conf);
    if (!qmgr_is_president(qmgr) || conf->incarnation != qmgr->join.incarnation ||
        conf->node != qmgr->president.joiner || conf->phase != qmgr->president.phase) {
        jam();
        return;
    }
    node_mask_remove(&qmgr->president.waiting, ref_node(sig->sender));
    if (!node_mask_empty(&qmgr->president.waiting)) return;
    if (conf->phase == CM_ADD_PREPARE) {
        jam();
        qmgr_rejoin_prepared(qmgr);
        send_add(qmgr, CM_ADD_COMMIT);
        return;
    }
    jam();
    node_mask_add(&qmgr->join.members, conf->node);
    qmgr->president.joiner = 0;
    qmgr_rejoin_added(qmgr, conf->node);
    qmgr_ring_update(qmgr);
    qmgr_join_check(qmgr);
}
