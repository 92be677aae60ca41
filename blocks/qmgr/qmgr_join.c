/* qmgr_join.c -- the joiner's side: looks for the others, follows the president, becomes a member.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nothing here outlives a lost member before the cluster is started: the node leaves the
 * incarnation, tells the others, and begins again with a new attempt. Words of a left incarnation
 * are recognised by its number.
 */
#include <string.h>
#include "blocks/qmgr/qmgr_state.h"

void qmgr_move(struct qmgr *qmgr, enum join_state state)
{
    static const uint32_t edges[JOIN_STATES] = {
        [JOIN_IDLE] = 1u << JOIN_ELECTION,
        [JOIN_ELECTION] = 1u << JOIN_ELECTION | 1u << JOIN_JOINING | 1u << JOIN_MEMBER,
        [JOIN_JOINING] = 1u << JOIN_ELECTION | 1u << JOIN_MEMBER,
        [JOIN_MEMBER] = 1u << JOIN_ELECTION,
    };
    ndbrequire((edges[qmgr->join.state] >> state & 1u) != 0);
    jam_data(state);
    qmgr->join.state = state;
    qmgr->join.since_ms = now_ms(&qmgr->block);
}

/* Nodes in sight that want to start. */
struct node_mask qmgr_in_sight(const struct qmgr *qmgr)
{
    struct node_mask nodes = qmgr->linked;
    EACH_NODE(node, &qmgr->linked) {
        if (qmgr->peer[node].aside) node_mask_remove(&nodes, node);
    }
    return nodes;
}

/* The node that this one would follow: the lowest id in sight. */
uint32_t qmgr_candidate(const struct qmgr *qmgr)
{
    struct node_mask nodes = qmgr_in_sight(qmgr);
    uint32_t lowest = node_mask_next(&nodes, 0);
    uint32_t own = qmgr_own(qmgr);
    return lowest != 0 && lowest < own ? lowest : own;
}

/* Whom it would follow now. Before it takes part it does not know yet whether it will stand aside.
 */
uint32_t qmgr_follows(const struct qmgr *qmgr)
{
    bool elects = qmgr->join.state == JOIN_ELECTION && !qmgr->join.aside;
    return elects ? qmgr_candidate(qmgr) : 0;
}

static void send_to_linked(struct qmgr *qmgr, uint32_t gsn, const void *payload, uint32_t words)
{
    signal_broadcast(&qmgr->block, &qmgr->linked, BLOCK_QMGR, gsn, PRIO_A, payload, words, NULL, 0);
}

void qmgr_join_restart(struct qmgr *qmgr)
{
    struct cm_leave_rep leave = {.incarnation = qmgr->join.incarnation};
    if (leave.incarnation != 0) {
        jam();
        send_to_linked(qmgr, GSN_CM_LEAVE_REP, &leave, sizeof(leave) / 4u);
    }
    qmgr->join.attempt++;
    qmgr->join.incarnation = 0;
    qmgr->join.president = 0;
    qmgr->join.dynamic_id = 0;
    qmgr->join.prepared = 0;
    memset(&qmgr->join.members, 0, sizeof(qmgr->join.members));
    memset(&qmgr->join.waiting, 0, sizeof(qmgr->join.waiting));
    for (uint32_t node = 0; node <= NODE_ID_MAX; node++)
        qmgr->peer[node] =
            (struct qmgr_peer){.aside = qmgr->peer[node].aside, .known = qmgr->peer[node].known};
    qmgr_president_reset(qmgr);
    qmgr_reach_reset(qmgr);
    memset(&qmgr->failure, 0, sizeof(qmgr->failure));
    qmgr_rejoin_reset(qmgr);
    qmgr->join.running = 0;
    qmgr_arbit_reset(qmgr);
    qmgr->ring.broken = 0;
    qmgr_ring_update(qmgr);
    qmgr_move(qmgr, JOIN_ELECTION);
    if (!qmgr->join.tick_running) {
        jam();
        qmgr->join.tick_running = 1;
        qmgr_work_later(qmgr, QMGR_JOIN_TICK, JOIN_TICK_MS);
    }
}

void qmgr_join_begin(struct qmgr *qmgr)
{
    qmgr->join.election_ms = now_ms(&qmgr->block);
    qmgr->join.ticks = 0;
    qmgr->join.told_why = START_SET_READY;
    qmgr_join_restart(qmgr);
    qmgr_election(qmgr);
}

/* One round of asking. Also when a link comes up, so that a start does not wait for the clock. */
void qmgr_join_look(struct qmgr *qmgr)
{
    qmgr_election(qmgr);
    if (qmgr->join.state != JOIN_ELECTION) return;
    struct cm_regreq req = {
        .attempt = qmgr->join.attempt,
        .version = NDB_VERSION,
        .fixed = block_config(&qmgr->block)->fixed,
        .candidate = qmgr_candidate(qmgr),
        .has_data = qmgr->join.has_data,
        .linked = qmgr->linked,
        .aside = qmgr->join.aside,
    };
    if (req.aside) req.known = qmgr->join.known;
    send_to_linked(qmgr, GSN_CM_REGREQ, &req, sizeof(req) / 4u);
}

void qmgr_join_tick(struct qmgr *qmgr)
{
    qmgr->join.ticks++;
    if (qmgr->join.state == JOIN_ELECTION) {
        qmgr_join_look(qmgr);
        qmgr_tell_waiting(qmgr);
    }
    uint32_t limit_ms = qmgr->join.running ? NODE_JOIN_TIMEOUT_MS : JOIN_TIMEOUT_MS;
    if (qmgr->join.state == JOIN_JOINING && now_ms(&qmgr->block) - qmgr->join.since_ms > limit_ms) {
        jam();
        log_warning(&qmgr->block, "joining takes too long, starting over");
        qmgr_join_restart(qmgr);
    }
    if (qmgr->join.state == JOIN_MEMBER) {
        jam();
        qmgr->join.tick_running = 0;
        return;
    }
    bool fast = qmgr->join.ticks < JOIN_TICKS_FAST;
    qmgr_work_later(qmgr, QMGR_JOIN_TICK, fast ? JOIN_TICK_MS : JOIN_TICK_SLOW_MS);
}

/* Lists what those in sight know who stand aside. Returns the words used. */
static uint32_t list_known(const struct qmgr *qmgr, uint32_t *words)
{
    uint32_t used = 0;
    EACH_NODE(node, &qmgr->linked) {
        const struct qmgr_peer *peer = &qmgr->peer[node];
        if (!peer->aside || peer->known.gci == 0) continue;
        words[used] = node;
        memcpy(&words[used + 1u], &peer->known, sizeof(peer->known));
        used += KNOWN_WORDS;
    }
    return used;
}

static void tell_members(struct qmgr *qmgr, uint32_t block_no)
{
    uint32_t known[DATA_NODE_ID_MAX * KNOWN_WORDS];
    uint32_t words[DATA_NODE_ID_MAX * MEMBER_WORDS];
    struct section section = {.words = words, .size = 0};
    const struct node_mask *members = &qmgr->join.members;
    for (uint32_t node = node_mask_next(members, 0); node != 0;
         node = node_mask_next(members, node)) {
        const struct qmgr_peer *peer = &qmgr->peer[node];
        ndbrequire(section.size + MEMBER_WORDS <= DATA_NODE_ID_MAX * MEMBER_WORDS);
        words[section.size++] = node;
        words[section.size++] = peer->dynamic_id;
        words[section.size++] = peer->ldm_count;
        words[section.size++] = peer->tc_count;
    }
    struct members_rep rep = {
        .incarnation = qmgr->join.incarnation,
        .president = qmgr->join.president,
        .dynamic_id = qmgr->join.dynamic_id,
        .members = *members,
        .running = qmgr->join.running,
        .failure_no = qmgr->failure.number,
        .newcomers = qmgr->rejoin.newcomers,
    };
    struct section sections[2] = {section, {.words = known, .size = 0}};
    if (block_no == BLOCK_NDBCNTR && !rep.running) sections[1].size = list_known(qmgr, known);
    signal_send(&qmgr->block, qmgr_local(qmgr, block_no), GSN_MEMBERS_REP, PRIO_A, &rep,
                sizeof(rep) / 4u, sections, sections[1].size != 0 ? 2u : 1u);
}

void qmgr_join_check(struct qmgr *qmgr)
{
    if (qmgr->join.state != JOIN_MEMBER || !qmgr->join.sttor_owed || qmgr->president.joiner != 0)
        return;
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++) {
        if ((qmgr->join.expected.word[i] & ~qmgr->join.members.word[i]) != 0) return;
    }
    jam();
    qmgr->join.sttor_owed = 0;
    event_send(&qmgr->block, EVENT_CM_REGCONF, qmgr_own(qmgr), qmgr->join.president,
               qmgr->join.dynamic_id);
    event_send(&qmgr->block, EVENT_FIND_NEIGHBOURS, qmgr_own(qmgr), qmgr->ring.left,
               qmgr->ring.right, qmgr->join.dynamic_id);
    tell_members(qmgr, BLOCK_DBDIH);
    tell_members(qmgr, BLOCK_DBDICT);
    tell_members(qmgr, BLOCK_CMVMI);
    tell_members(qmgr, BLOCK_NDBCNTR);
    struct sttorry conf = {.sender_data = qmgr->join.sttor_data, .phase = 1};
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_NDBCNTR), GSN_STTORRY, PRIO_A, &conf);
}

/*
 * A node that this one counts on is gone. While the join is under way it starts over; while nobody
 * is started NDBCNTR begins again; after that the members agree on it.
 */
void qmgr_member_lost(struct qmgr *qmgr, uint32_t node, const char *how)
{
    bool concerns = node_mask_has(&qmgr->join.members, node) || node == qmgr->president.joiner ||
                    (node == qmgr->rejoin.adding && node != 0) ||
                    (qmgr->join.state == JOIN_JOINING && node == qmgr->join.president);
    if (!concerns || qmgr->join.state < JOIN_JOINING) return;
    if (qmgr_agrees(qmgr)) {
        jam();
        qmgr_suspect(qmgr, node, true, how);
        return;
    }
    log_warning(&qmgr->block, "node %u is lost: %s", node, how);
    if (qmgr->join.sttor_owed) {
        jam();
        qmgr_join_restart(qmgr);
        return;
    }
    jam();
    qmgr->ring.broken = 1;
    /* Its next life is a stranger to what still runs here; STTOR 1 lets it in again. */
    peer_allow(&qmgr->block, node, 0);
    struct node_failrep rep = {.failure_no = 0, .president = qmgr->join.president};
    node_mask_add(&rep.nodes, node);
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_DBDIH), GSN_NODE_FAILREP, PRIO_A, &rep);
    sig_send(&qmgr->block, qmgr_local(qmgr, BLOCK_NDBCNTR), GSN_NODE_FAILREP, PRIO_A, &rep);
}

/* --- Answers of the others. --- */

static void ask_node_info(struct qmgr *qmgr)
{
    struct cm_nodeinforeq req = {
        .incarnation = qmgr->join.incarnation,
        .dynamic_id = qmgr->join.dynamic_id,
        .version = NDB_VERSION,
        .ldm_count = block_config(&qmgr->block)->ldm_count,
        .tc_count = block_config(&qmgr->block)->tc_count,
    };
    signal_broadcast(&qmgr->block, &qmgr->join.waiting, BLOCK_QMGR, GSN_CM_NODEINFOREQ, PRIO_A,
                     &req, sizeof(req) / 4u, NULL, 0);
}

/* A president that adds this node; in a running cluster it is started itself. */
static bool regconf_sane(const struct qmgr *qmgr, const struct cm_regconf *conf, uint32_t sender)
{
    uint32_t own = qmgr_own(qmgr);
    if (conf->president != sender || conf->incarnation == 0 || conf->dynamic_id == 0 ||
        !node_mask_has(&conf->members, conf->president) || node_mask_has(&conf->members, own))
        return false;
    if (!conf->running) return node_mask_has(&conf->expected, own);
    return node_mask_has(&conf->expected, conf->president) &&
           node_mask_within(&conf->expected, &conf->members);
}

/* The cluster runs: `started` of its members are started, others come back like this node. */
static void join_running(struct qmgr *qmgr, const struct node_mask *started)
{
    qmgr->join.expected = qmgr->join.members;
    node_mask_add(&qmgr->join.expected, qmgr_own(qmgr));
    qmgr->rejoin.newcomers = qmgr->join.members;
    node_mask_cut(&qmgr->rejoin.newcomers, started);
}

void qmgr_exec_CM_REGCONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_regconf *conf = SIG_PAYLOAD(sig, cm_regconf);
    uint32_t own = qmgr_own(qmgr);
    if (qmgr->join.state != JOIN_ELECTION || conf->attempt != qmgr->join.attempt) {
        jam(); /* This answers an attempt that was given up. */
        return;
    }
    struct node_mask known = conf->members;
    bool sane = regconf_sane(qmgr, conf, ref_node(sig->sender));
    for (uint32_t i = 0; i < NODE_MASK_WORDS; i++)
        known.word[i] &= ~qmgr->linked.word[i];
    qmgr->join.incarnation = conf->incarnation;
    if (!sane || !node_mask_empty(&known)) {
        jam(); /* A member that cannot be reached: leave, so that the president knows. */
        log_warning(block, "cannot join: the link to member %u is missing",
                    node_mask_next(&known, 0));
        qmgr_join_restart(qmgr);
        return;
    }
    jam();
    qmgr->join.president = conf->president;
    qmgr->join.dynamic_id = conf->dynamic_id;
    qmgr->join.members = conf->members;
    qmgr->join.waiting = conf->members;
    qmgr->join.expected = conf->expected;
    qmgr->join.running = conf->running;
    qmgr->join.first = 0;
    if (conf->running) join_running(qmgr, &conf->expected);
    qmgr->failure.number = conf->failure_no;
    qmgr->peer[own] = (struct qmgr_peer){
        .dynamic_id = conf->dynamic_id,
        .ldm_count = block_config(block)->ldm_count,
        .tc_count = block_config(block)->tc_count,
    };
    qmgr_move(qmgr, JOIN_JOINING);
    ask_node_info(qmgr);
}

static bool worth_telling(uint32_t cause)
{
    return cause == CM_REF_VERSION || cause == CM_REF_GENERATION || cause == CM_REF_NOT_IN_CONFIG ||
           cause == CM_REF_RUNNING || cause == CM_REF_SINGLE_USER;
}

static const char *cause_text(uint32_t cause)
{
    switch (cause) {
    case CM_REF_VERSION:
        return "it is of another major version";
    case CM_REF_GENERATION:
        return "a parameter differs that all data nodes must have alike; set it back, or restart "
               "all of them";
    case CM_REF_NOT_IN_CONFIG:
        return "this node is not in its configuration";
    case CM_REF_RUNNING:
        return "the cluster runs without this node, which cannot come in now";
    default:
        return "for a reason of its own";
    }
}

void qmgr_exec_CM_REGREF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_regref *ref = SIG_PAYLOAD(sig, cm_regref);
    uint32_t node = ref_node(sig->sender);
    if (qmgr->join.state != JOIN_ELECTION || ref->attempt != qmgr->join.attempt) {
        jam();
        return;
    }
    qmgr->peer[node].agreed = ref->cause == CM_REF_ELECTION ? ref->candidate : 0;
    if (worth_telling(ref->cause) && ref->cause != qmgr->join.last_cause) {
        jam_data(ref->cause);
        if (ref->cause == CM_REF_SINGLE_USER)
            log_warning(block, "this node waits for the end of single user mode (2314)");
        else
            log_warning(block, "node %u refuses to let this node join: %s (cause %u)", node,
                        cause_text(ref->cause), ref->cause);
        event_send(block, EVENT_CM_REGREF, qmgr_own(qmgr), node, ref->cause);
    }
    qmgr->join.last_cause = ref->cause;
    if (ref->cause == CM_REF_GROUP && ref->candidate != qmgr->join.first) {
        jam_data(ref->candidate);
        qmgr->join.first = ref->candidate;
        log_info(block, "node %u of the same node group comes back first: this node waits",
                 ref->candidate);
    }
    qmgr_election(qmgr);
}

/* The ring stands on these numbers: none is 0, no two members have the same. */
static bool place_in_ring(struct qmgr *qmgr, uint32_t node, uint32_t dynamic_id)
{
    const struct node_mask *members = &qmgr->join.members;
    bool fits = dynamic_id != 0;
    for (uint32_t other = node_mask_next(members, 0); other != 0;
         other = node_mask_next(members, other))
        fits = fits && (other == node || qmgr->peer[other].dynamic_id != dynamic_id);
    return fits;
}

static void no_place(struct qmgr *qmgr, const struct signal *sig)
{
    peer_refuse(&qmgr->block, ref_node(sig->sender), "a place in the ring that cannot be");
}

void qmgr_exec_CM_NODEINFOREQ(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_nodeinforeq *req = SIG_PAYLOAD(sig, cm_nodeinforeq);
    if (qmgr->join.state != JOIN_MEMBER || req->incarnation != qmgr->join.incarnation) {
        jam();
        struct cm_nodeinforef ref = {.incarnation = req->incarnation, .cause = CM_REF_ELECTION};
        sig_send(block, sig->sender, GSN_CM_NODEINFOREF, PRIO_A, &ref);
        return;
    }
    uint32_t node = ref_node(sig->sender);
    bool told = node == qmgr->president.joiner;
    if (node_mask_has(&qmgr->join.members, node) || !place_in_ring(qmgr, node, req->dynamic_id) ||
        (told && req->dynamic_id != qmgr->peer[node].dynamic_id)) {
        jam();
        no_place(qmgr, sig);
        return;
    }
    jam();
    const struct qmgr_peer *own = &qmgr->peer[qmgr_own(qmgr)];
    qmgr->peer[node] = (struct qmgr_peer){
        .dynamic_id = req->dynamic_id, .ldm_count = req->ldm_count, .tc_count = req->tc_count};
    struct cm_nodeinfoconf conf = {
        .incarnation = req->incarnation,
        .dynamic_id = own->dynamic_id,
        .version = NDB_VERSION,
        .ldm_count = own->ldm_count,
        .tc_count = own->tc_count,
    };
    sig_send(block, sig->sender, GSN_CM_NODEINFOCONF, PRIO_A, &conf);
}

/* Answers the president's PREPARE when it has come and all members are known. */
static void joiner_prepared(struct qmgr *qmgr)
{
    if (!qmgr->join.prepared || !node_mask_empty(&qmgr->join.waiting)) return;
    jam();
    struct cm_add_conf conf = {
        .incarnation = qmgr->join.incarnation, .phase = CM_ADD_PREPARE, .node = qmgr_own(qmgr)};
    sig_send(&qmgr->block, block_ref(qmgr->join.president, BLOCK_QMGR, 0), GSN_CM_ADD_CONF, PRIO_A,
             &conf);
}

void qmgr_exec_CM_NODEINFOCONF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_nodeinfoconf *conf = SIG_PAYLOAD(sig, cm_nodeinfoconf);
    uint32_t node = ref_node(sig->sender);
    if (qmgr->join.state != JOIN_JOINING || conf->incarnation != qmgr->join.incarnation) {
        jam();
        return;
    }
    if (!node_mask_has(&qmgr->join.members, node) || conf->dynamic_id == qmgr->join.dynamic_id ||
        !place_in_ring(qmgr, node, conf->dynamic_id)) {
        jam();
        no_place(qmgr, sig);
        return;
    }
    jam();
    qmgr->peer[node] = (struct qmgr_peer){
        .dynamic_id = conf->dynamic_id, .ldm_count = conf->ldm_count, .tc_count = conf->tc_count};
    node_mask_remove(&qmgr->join.waiting, node);
    joiner_prepared(qmgr);
}

void qmgr_exec_CM_NODEINFOREF(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    if (qmgr->join.state != JOIN_JOINING ||
        SIG_PAYLOAD(sig, cm_nodeinforef)->incarnation != qmgr->join.incarnation) {
        jam();
        return;
    }
    jam();
    qmgr_join_restart(qmgr);
}

static void commit_self(struct qmgr *qmgr)
{
    node_mask_add(&qmgr->join.members, qmgr_own(qmgr));
    if (qmgr->join.running) {
        jam();
        node_mask_add(&qmgr->rejoin.newcomers, qmgr_own(qmgr));
        qmgr->rejoin.uncounted = qmgr->join.members;
        node_mask_remove(&qmgr->rejoin.uncounted, qmgr_own(qmgr));
    }
    qmgr_move(qmgr, JOIN_MEMBER);
}

void qmgr_exec_CM_ADD_REQ(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_add_req *req = SIG_PAYLOAD(sig, cm_add_req);
    bool own = req->node == qmgr_own(qmgr);
    if (qmgr->join.state < JOIN_JOINING || req->incarnation != qmgr->join.incarnation ||
        ref_node(sig->sender) != qmgr->join.president || !qmgr_is_data(qmgr, req->node) ||
        own != (qmgr->join.state == JOIN_JOINING)) {
        jam(); /* This is a word of an incarnation that was left: the president starts over too. */
        return;
    }
    if (own && qmgr->join.running &&
        (req->failure_no != qmgr->failure.number || req->dynamic_id != qmgr->join.dynamic_id)) {
        jam();
        log_warning(block, "the president has said two things of this node");
        qmgr_join_restart(qmgr);
        return;
    }
    /* The others know it from the joiner, who asks them only after PREPARE was sent; while the
     * cluster runs qmgr_rejoin_commit() looks. */
    bool known = own || (req->phase == CM_ADD_COMMIT && qmgr->join.sttor_owed);
    if (known && (req->dynamic_id == 0 || req->dynamic_id != qmgr->peer[req->node].dynamic_id)) {
        jam();
        no_place(qmgr, sig);
        return;
    }
    if (own && req->phase == CM_ADD_PREPARE) {
        jam();
        qmgr->join.prepared = 1;
        joiner_prepared(qmgr);
        return;
    }
    bool running = !own && !qmgr->join.sttor_owed;
    if (running && req->phase == CM_ADD_PREPARE) {
        qmgr_rejoin_prepare(qmgr, req);
        return;
    }
    if (running && !qmgr_rejoin_commit(qmgr, req)) return;
    if (req->phase == CM_ADD_COMMIT) {
        jam();
        if (own) {
            commit_self(qmgr);
        } else if (!running) {
            node_mask_add(&qmgr->join.members, req->node);
            qmgr->peer[req->node].dynamic_id = req->dynamic_id;
        }
        qmgr_ring_update(qmgr);
    }
    struct cm_add_conf conf = {
        .incarnation = req->incarnation, .phase = req->phase, .node = req->node};
    sig_send(block, sig->sender, GSN_CM_ADD_CONF, PRIO_A, &conf);
    qmgr_join_check(qmgr);
}

void qmgr_exec_CM_LEAVE_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct cm_leave_rep *rep = SIG_PAYLOAD(sig, cm_leave_rep);
    uint32_t node = ref_node(sig->sender);
    if (rep->incarnation == 0 || rep->incarnation != qmgr->join.incarnation) {
        jam();
        return;
    }
    jam();
    if (rep->stops && qmgr_talks(qmgr, node, rep->incarnation))
        node_mask_add(&qmgr->rejoin.leaving, node);
    qmgr_member_lost(qmgr, node, rep->stops ? "it stops" : "it joins anew");
}
