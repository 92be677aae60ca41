/* cntr_rejoin.c -- a lost node comes back: the steps at the president, at the node itself, and at
 * all others. See docs/protocols/node_restart.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * President, for each node that comes back:
 *   NONE --CNTR_START_REQ--> LOCKING --schema is locked--> ASKING --its number--> STARTING
 *        --CNTR_INCLUDE_REQ--> INCLUDED --CNTR_STARTED_REP--> NONE
 * From each of them to NONE when the node is lost. A president that is lost takes the nodes along.
 * What the president says of the nodes that come back, to them and to all others, has one order.
 */
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "signals/schema_restart.h"
#include "signals/takeover.h"

#define PROGRESS_LOG_MS 10000u
#define QUIET_AGAIN_MS  1000u /* Pause from the end of a return until primaries are handed back. */

static void rejoin_move(struct cntr *cntr, uint32_t node, enum rejoin_step step)
{
    jam_data(step);
    cntr->rejoin.step[node] = (uint8_t)step;
}

/* Sends to all instances of a block. */
static void to_block(struct cntr *cntr, uint32_t block_no, uint32_t gsn, const void *payload,
                     uint32_t words, const struct section *lists)
{
    bool single = block_no == BLOCK_DBDIH || block_no == BLOCK_DBDICT;
    uint32_t count = single ? 1 : block_instances(&cntr->block, block_no);
    for (uint32_t i = 1; i <= count; i++)
        signal_send(&cntr->block, cntr_local(cntr, block_no) + (single ? 0 : i), gsn, PRIO_A,
                    payload, words, lists, lists != NULL ? 2u : 0u);
}

/* Started nodes and those that the chains of writes have. */
struct node_mask cntr_alive(const struct cntr *cntr)
{
    struct node_mask out = cntr->rejoin.joined;
    struct node_mask alive = cntr->members;
    node_mask_cut(&out, &cntr->rejoin.included);
    node_mask_cut(&alive, &out);
    return alive;
}

/* --- President. --- */

static bool may_start(const struct cntr *cntr, uint32_t node)
{
    const struct cntr_peer *peer = &cntr->peer[node];
    return peer->incarnation == cntr->incarnation && peer->point == POINT_START &&
           cntr->rejoin.step[node] == REJOIN_NONE && !node_mask_has(&cntr->started, node);
}

/* All that have asked: QMGR lets one of each node group in at a time. */
static void start_waiting(struct cntr *cntr)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    bool runs =
        cntr->level == START_STARTED && (cntr->state == CNTR_PHASES || cntr->state == CNTR_RUNNING);
    if (!cntr_is_president(cntr) || !runs || cntr_order_busy(cntr)) return;
    for (uint32_t node = node_mask_next(&rejoin->joined, 0); node != 0;
         node = node_mask_next(&rejoin->joined, node)) {
        if (!may_start(cntr, node)) continue;
        jam_data(node);
        rejoin_move(cntr, node, REJOIN_LOCKING);
        struct schema_lock_req req = {.sender_data = rejoin->rank[node], .node = node};
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_LOCK_REQ, PRIO_B, &req);
    }
}

void cntr_exec_NODE_JOINED_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct node_joined_rep *rep = SIG_PAYLOAD(sig, node_joined_rep);
    ndbrequire(rep->incarnation == cntr->incarnation && rep->node <= DATA_NODE_ID_MAX);
    jam_data(rep->node);
    node_mask_add(&cntr->members, rep->node);
    node_mask_add(&cntr->rejoin.joined, rep->node);
    cntr->rejoin.rank[rep->node] = rep->dynamic_id;
    cntr_order_place(cntr, rep->node, rep->dynamic_id);
    cntr_order_give_up(cntr);
    cntr->peer[rep->node].ldm_count = rep->ldm_count;
    log_info(block, "node %u is a member again, %u LDM and %u TC instances", rep->node,
             rep->ldm_count, rep->tc_count);
    cntr_single_joined(cntr, rep->node);
    start_waiting(cntr);
}

bool cntr_rejoin_asked(struct cntr *cntr)
{
    if (cntr->level != START_STARTED) return false;
    jam();
    start_waiting(cntr);
    return true;
}

/* Who is at this step and has this rank; 0 = nobody, it was lost meanwhile. */
static uint32_t who_is_at(const struct cntr *cntr, enum rejoin_step step, uint32_t rank)
{
    const struct cntr_rejoin *rejoin = &cntr->rejoin;
    for (uint32_t node = node_mask_next(&rejoin->joined, 0); node != 0;
         node = node_mask_next(&rejoin->joined, node)) {
        if (rejoin->step[node] == step && rejoin->rank[node] == rank) return node;
    }
    return 0;
}

static void unlock(struct cntr *cntr, uint32_t node)
{
    struct schema_unlock_ord ord = {.node = node};
    jam_data(node);
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_UNLOCK_ORD, PRIO_B, &ord);
}

void cntr_exec_SCHEMA_LOCK_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct schema_lock_conf *conf = SIG_PAYLOAD(sig, schema_lock_conf);
    uint32_t node = who_is_at(cntr, REJOIN_LOCKING, conf->sender_data);
    if (node == 0) {
        jam(); /* DICT may have heard of its loss before the request. */
        if (cntr->rejoin.step[conf->node] == REJOIN_NONE) unlock(cntr, conf->node);
        return;
    }
    jam_data(node);
    rejoin_move(cntr, node, REJOIN_ASKING);
    struct schema_info_req req = {.sender_data = conf->sender_data};
    sig_send(block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_INFO_REQ, PRIO_B, &req);
}

/* Pairs { node, rank } of those that have one. */
static uint32_t list_ranks(const struct cntr *cntr, const struct node_mask *nodes, uint32_t *words)
{
    uint32_t used = 0;
    for (uint32_t node = node_mask_next(nodes, 0); node != 0; node = node_mask_next(nodes, node)) {
        if (cntr->rejoin.rank[node] == 0) continue;
        words[used++] = node;
        words[used++] = cntr->rejoin.rank[node];
    }
    return used;
}

/* Pairs { node, place } of those whose place is not their rank. */
static uint32_t list_places(const struct cntr *cntr, const struct node_mask *nodes, uint32_t *words)
{
    uint32_t used = 0;
    for (uint32_t node = node_mask_next(nodes, 0); node != 0; node = node_mask_next(nodes, node)) {
        if (cntr->order.place[node] == cntr->rejoin.rank[node]) continue;
        words[used++] = node;
        words[used++] = cntr->order.place[node];
    }
    return used;
}

/* Others are on their way at the same time. */
static void tell_company(struct cntr *cntr, uint32_t node)
{
    uint32_t others = 0;
    for (uint32_t other = node_mask_next(&cntr->rejoin.joined, 0); other != 0;
         other = node_mask_next(&cntr->rejoin.joined, other))
        others += other != node && cntr->rejoin.step[other] >= REJOIN_STARTING;
    if (others == 0) return;
    jam_data(others);
    log_info(&cntr->block, "node %u comes back at the same time as %u other%s", node, others,
             others == 1 ? "" : "s");
}

static void let_start(struct cntr *cntr, uint32_t node, uint64_t schema)
{
    const struct cntr_plan *plan = &cntr->plan;
    uint32_t words[DATA_NODE_ID_MAX * 2u];
    struct cntr_start_conf conf = {
        .incarnation = cntr->incarnation,
        .start_type = START_INITIAL_NODE_RESTART,
        .gci = plan->gci,
        .data_incarnation = plan->incarnation,
        .schema_node = cntr_own(cntr),
        .schema_lo = (uint32_t)schema,
        .schema_hi = (uint32_t)(schema >> 32),
        .joined = cntr->rejoin.joined,
        .included = cntr->rejoin.included,
    };
    uint32_t places[DATA_NODE_ID_MAX * 2u];
    struct section lists[3] = {
        {.words = &plan->ended.pair[0][0], .size = plan->ended.count * 2u},
        {.words = words, .size = list_ranks(cntr, &cntr->members, words)},
        {.words = places, .size = list_places(cntr, &cntr->members, places)}};
    rejoin_move(cntr, node, REJOIN_STARTING);
    log_info(&cntr->block, "node %u starts", node);
    tell_company(cntr, node);
    signal_send(&cntr->block, block_ref(node, BLOCK_NDBCNTR, 0), GSN_CNTR_START_CONF, PRIO_A, &conf,
                sizeof(conf) / 4u, lists, 3);
}

void cntr_rejoin_schema(struct cntr *cntr, const struct schema_info_conf *conf)
{
    uint32_t node = who_is_at(cntr, REJOIN_ASKING, conf->sender_data);
    if (node == 0) {
        jam();
        return;
    }
    jam_data(node);
    let_start(cntr, node, conf->sequence_lo | (uint64_t)conf->sequence_hi << 32);
}

void cntr_exec_CNTR_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_include_req *req = SIG_PAYLOAD(sig, cntr_include_req);
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    uint32_t node = ref_node(sig->sender);
    if (req->incarnation != cntr->incarnation || !node_mask_has(&rejoin->joined, node) ||
        rejoin->step[node] != REJOIN_STARTING || req->node != node ||
        req->rank != rejoin->rank[node]) {
        jam();
        return;
    }
    jam_data(node);
    rejoin_move(cntr, node, REJOIN_INCLUDED);
    struct cntr_include_ord ord = {
        .incarnation = req->incarnation, .node = req->node, .rank = req->rank};
    signal_broadcast(block, &cntr->members, BLOCK_NDBCNTR, GSN_CNTR_INCLUDE_ORD, PRIO_A, &ord,
                     sizeof(ord) / 4u, NULL, 0);
}

/* A meeting point of a node that comes back: all others have passed it long ago. */
bool cntr_rejoin_meets(struct cntr *cntr, uint32_t node, const struct cntr_waitrep *rep)
{
    if (cntr->level != START_STARTED || !node_mask_has(&cntr->rejoin.joined, node)) return false;
    struct cntr_gorep go = {.incarnation = rep->incarnation, .point = rep->point};
    if (rep->incarnation != cntr->incarnation || cntr->rejoin.step[node] != REJOIN_INCLUDED) {
        jam();
        return true;
    }
    jam_data(rep->point);
    sig_send(&cntr->block, block_ref(node, BLOCK_NDBCNTR, 0), GSN_CNTR_GOREP, PRIO_A, &go);
    return true;
}

/* It may have become one before it knew those who have come since. */
static void pass_on_started(struct cntr *cntr, uint32_t node)
{
    const struct cntr_rejoin *rejoin = &cntr->rejoin;
    struct cntr_started_rep rep = {.incarnation = cntr->incarnation, .node = node};
    for (uint32_t other = node_mask_next(&rejoin->joined, 0); other != 0;
         other = node_mask_next(&rejoin->joined, other)) {
        if (rejoin->step[other] < REJOIN_STARTING) continue; /* CNTR_START_CONF will say so. */
        jam_data(other);
        sig_send(&cntr->block, block_ref(other, BLOCK_NDBCNTR, 0), GSN_CNTR_STARTED_REP, PRIO_A,
                 &rep);
    }
}

/* --- All that are started. --- */

void cntr_rejoin_started(struct cntr *cntr, uint32_t node)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    if (!node_mask_has(&rejoin->joined, node)) return;
    jam_data(node);
    node_mask_remove(&rejoin->joined, node);
    node_mask_remove(&rejoin->included, node);
    log_info(&cntr->block, "node %u is started again", node);
    cntr_order_changed(cntr, QUIET_AGAIN_MS);
    if (rejoin->step[node] == REJOIN_NONE) return; /* This is not the president. */
    unlock(cntr, node);
    rejoin_move(cntr, node, REJOIN_NONE);
    pass_on_started(cntr, node);
}

void cntr_rejoin_lost(struct cntr *cntr, const struct node_failrep *rep)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    rejoin->failure_no = rep->failure_no;
    node_mask_cut(&rejoin->joined, &rep->nodes);
    node_mask_cut(&rejoin->included, &rep->nodes);
    node_mask_cut(&rejoin->late, &rep->nodes);
    for (uint32_t node = node_mask_next(&rep->nodes, 0); node != 0 && node <= DATA_NODE_ID_MAX;
         node = node_mask_next(&rep->nodes, node)) {
        rejoin->rank[node] = 0;
        cntr_order_place(cntr, node, 0);
        rejoin->step[node] = REJOIN_NONE;
        cntr->peer[node] = (struct cntr_peer){0}; /* Its next life begins anew. */
    }
}

static void tell_included(struct cntr *cntr, uint32_t node)
{
    static const uint32_t blocks[] = {BLOCK_DBLQH, BLOCK_DBDIH, BLOCK_DBDICT, BLOCK_DBTC};
    struct node_include_rep rep = {.node = node,
                                   .rank = cntr->rejoin.rank[node],
                                   .failure_no = cntr->rejoin.failure_no,
                                   .alive = cntr_alive(cntr)};
    for (uint32_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        to_block(cntr, blocks[i], GSN_NODE_INCLUDE_REP, &rep, sizeof(rep) / 4u, NULL);
}

void cntr_exec_CNTR_INCLUDE_ORD(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_include_ord *ord = SIG_PAYLOAD(sig, cntr_include_ord);
    if (ord->incarnation != cntr->incarnation || ref_node(sig->sender) != cntr->president) {
        jam();
        return;
    }
    if (ord->node == cntr_own(cntr) && cntr->state == CNTR_PHASES &&
        cntr->start.wait == WAIT_STEP && cntr->start.step == STEP_INCLUDE) {
        jam();
        cntr_step_done(cntr, STEP_INCLUDE);
        return;
    }
    if (!node_mask_has(&cntr->rejoin.joined, ord->node) ||
        cntr->rejoin.rank[ord->node] != ord->rank ||
        node_mask_has(&cntr->rejoin.included, ord->node)) {
        jam();
        return;
    }
    jam_data(ord->node);
    node_mask_add(&cntr->rejoin.included, ord->node);
    if (!cntr_rejoins(cntr) || cntr->rejoin.ready == READY_NOW)
        tell_included(cntr, ord->node);
    else if (cntr->rejoin.ready == READY_SOON)
        node_mask_add(&cntr->rejoin.late, ord->node);
}

/* --- The node that comes back. --- */

/* QMGR: all others are started. */
void cntr_rejoin_member(struct cntr *cntr, const struct members_rep *rep)
{
    cntr->rejoin = (struct cntr_rejoin){
        .running = rep->running, .own_rank = rep->dynamic_id, .failure_no = rep->failure_no};
    cntr->taken_no = rep->failure_no;
    memset(&cntr->order, 0, sizeof(cntr->order));
    if (!rep->running) return;
    jam_data(rep->failure_no);
    cntr->started = rep->members;
    node_mask_cut(&cntr->started, &rep->newcomers);
    cntr->rejoin.joined = rep->newcomers;
    node_mask_remove(&cntr->rejoin.joined, cntr_own(cntr));
    log_info(&cntr->block, "this node joins a running cluster, node %u is president",
             rep->president);
}

/*
 * The president's view of the others that come back. Whom it does not know yet has joined since,
 * and is known here by its rank; whom it does not count among them any more is started.
 */
static void take_company(struct cntr *cntr, const struct cntr_start_conf *conf,
                         const struct section *ranks)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    struct node_mask since = {0};
    for (uint32_t node = node_mask_next(&rejoin->joined, 0); node != 0;
         node = node_mask_next(&rejoin->joined, node)) {
        bool listed = false;
        for (uint32_t at = 0; at < ranks->size; at += 2u)
            listed = listed || ranks->words[at] == node;
        if (rejoin->rank[node] != 0 && !listed) node_mask_add(&since, node);
    }
    node_mask_join(&cntr->started, &rejoin->joined);
    rejoin->joined = conf->joined;
    node_mask_remove(&rejoin->joined, cntr_own(cntr));
    node_mask_join(&rejoin->joined, &since);
    node_mask_join(&rejoin->included, &conf->included);
    node_mask_keep(&rejoin->included, &rejoin->joined);
    node_mask_cut(&cntr->started, &rejoin->joined);
    cntr_tell_state(cntr);
}

static bool pairs_good(const struct cntr *cntr, const struct section *pairs)
{
    if (pairs->size % 2u != 0 || pairs->size > DATA_NODE_ID_MAX * 2u) return false;
    for (uint32_t at = 0; at < pairs->size; at += 2u) {
        uint32_t node = pairs->words[at];
        if (node > DATA_NODE_ID_MAX || !node_mask_has(&cntr->members, node)) return false;
    }
    return true;
}

bool cntr_rejoin_plan(struct cntr *cntr, const struct cntr_start_conf *conf,
                      const struct signal *sig)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    if (!rejoin->running || conf->start_type != START_INITIAL_NODE_RESTART ||
        sig->section_count != 3 || conf->schema_node != cntr->president)
        return false;
    const struct section *ended = &sig->section[0];
    const struct section *ranks = &sig->section[1];
    const struct section *places = &sig->section[2];
    if (cntr_diskless(cntr) ? conf->data_incarnation != 0 || ended->size != 0
                            : conf->data_incarnation == 0)
        return false;
    if (!cntr_ended_good(ended, conf->data_incarnation, conf->gci)) return false;
    if (!pairs_good(cntr, ranks) || !pairs_good(cntr, places)) return false;
    if (!node_mask_within(&conf->joined, &cntr->members) ||
        !node_mask_within(&conf->included, &conf->joined) ||
        node_mask_has(&conf->included, cntr_own(cntr)))
        return false;
    take_company(cntr, conf, ranks);
    for (uint32_t at = 0; at < ranks->size; at += 2u) {
        rejoin->rank[ranks->words[at]] = ranks->words[at + 1u];
        cntr->order.place[ranks->words[at]] = ranks->words[at + 1u];
    }
    for (uint32_t at = 0; at < places->size; at += 2u)
        cntr->order.place[places->words[at]] = places->words[at + 1u];
    return rejoin->rank[cntr_own(cntr)] == rejoin->own_rank;
}

static void include_self(struct cntr *cntr)
{
    static const uint32_t blocks[] = {BLOCK_DBTC, BLOCK_DBLQH, BLOCK_DBDIH, BLOCK_DBDICT};
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    uint32_t words[DATA_NODE_ID_MAX * 2u];
    struct node_mask alive = cntr_alive(cntr);
    uint32_t places[DATA_NODE_ID_MAX * 2u];
    struct section lists[2] = {{.words = words, .size = list_ranks(cntr, &alive, words)},
                               {.words = places, .size = list_places(cntr, &alive, places)}};
    struct node_include_req req = {.sender_data = rejoin->own_rank,
                                   .node = cntr_own(cntr),
                                   .rank = rejoin->own_rank,
                                   .failure_no = rejoin->failure_no,
                                   .president = cntr->president,
                                   .alive = alive,
                                   .gci = cntr_has_own_rows(cntr) ? cntr->data.gci : 0};
    node_mask_remove(&req.alive, cntr_own(cntr));
    rejoin->ready = READY_SOON;
    rejoin->waiting =
        2u + block_instances(&cntr->block, BLOCK_DBTC) + block_instances(&cntr->block, BLOCK_DBLQH);
    for (uint32_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        to_block(cntr, blocks[i], GSN_NODE_INCLUDE_REQ, &req, sizeof(req) / 4u, lists);
}

void cntr_exec_NODE_INCLUDE_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    ndbrequire(SIG_PAYLOAD(sig, node_include_conf)->sender_data == rejoin->own_rank);
    ndbrequire(rejoin->waiting > 0);
    jam_data(ref_block(sig->sender));
    if (--rejoin->waiting > 0) return;
    rejoin->ready = READY_NOW;
    for (uint32_t node = node_mask_next(&rejoin->late, 0); node != 0;
         node = node_mask_next(&rejoin->late, node))
        tell_included(cntr, node);
    memset(&rejoin->late, 0, sizeof(rejoin->late));
    cntr_step_done(cntr, STEP_INCLUDE_SELF);
}

static void ask_include(struct cntr *cntr)
{
    struct cntr_include_req req = {
        .incarnation = cntr->incarnation, .node = cntr_own(cntr), .rank = cntr->rejoin.own_rank};
    sig_send(&cntr->block, block_ref(cntr->president, BLOCK_NDBCNTR, 0), GSN_CNTR_INCLUDE_REQ,
             PRIO_A, &req);
}

static void begin_copy(struct cntr *cntr)
{
    struct copy_start_req req = {.sender_data = cntr->rejoin.own_rank};
    cntr->recover.begin_ms = now_ms(&cntr->block);
    cntr->recover.logged_ms = cntr->recover.begin_ms;
    cntr->recover.percent_now = cntr_has_own_rows(cntr) ? cntr->recover.percent_now : 0;
    log_info(&cntr->block, "this node takes part in writes, %s being copied",
             cntr_has_own_rows(cntr) ? "what has changed is" : "the rows are");
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_COPY_START_REQ, PRIO_B, &req);
}

void cntr_rejoin_step(struct cntr *cntr, enum cntr_step step)
{
    struct dih_complete_req complete = {.sender_data = cntr->rejoin.own_rank};
    if (step == STEP_INCLUDE_SELF)
        include_self(cntr);
    else if (step == STEP_INCLUDE)
        ask_include(cntr);
    else if (step == STEP_COPY)
        begin_copy(cntr);
    else
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDIH), GSN_DIH_COMPLETE_REQ, PRIO_B,
                 &complete);
}

void cntr_exec_COPY_PROGRESS_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_recover *recover = &cntr->recover;
    const struct copy_progress_rep *rep = SIG_PAYLOAD(sig, copy_progress_rep);
    uint64_t now = now_ms(block);
    if (cntr->start.wait != WAIT_STEP || cntr->start.step != STEP_COPY) return;
    jam_data(rep->percent);
    recover->percent_now = cntr_progress(cntr, rep->percent < 100u ? rep->percent : 100u);
    recover->left_s = rep->left_s;
    cntr_tell_progress(cntr);
    if (now - recover->logged_ms < PROGRESS_LOG_MS) return;
    recover->logged_ms = now;
    log_info(block, "%u %% of the rows are copied, about %u s left", recover->percent_now,
             recover->left_s);
}

void cntr_exec_COPY_START_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_recover *recover = &cntr->recover;
    jam();
    recover->percent_now = 100;
    recover->left_s = 0;
    cntr_tell_progress(cntr);
    cntr_rows_are_here(cntr, SIG_PAYLOAD(sig, copy_start_conf));
    cntr_step_done(cntr, STEP_COPY);
}

void cntr_exec_DIH_COMPLETE_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    jam();
    cntr_step_done(cntr_of(block), STEP_COMPLETE);
}
