/* cntr_rejoin.c -- a lost node comes back: the steps at the president, at the node itself, and at
 * all others. See docs/protocols/node_restart.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * President, one node at a time:
 *   NONE --CNTR_START_REQ--> LOCKING --schema is locked--> ASKING --its number--> STARTING
 *        --CNTR_INCLUDE_REQ--> INCLUDED --CNTR_STARTED_REP--> NONE
 * From each of them to NONE when the node is lost. A president that is lost takes the node along.
 */
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "signals/schema_trans.h"
#include "signals/takeover.h"

#define PROGRESS_LOG_MS 10000u

static void rejoin_move(struct cntr *cntr, enum rejoin_step step)
{
    jam_data(step);
    cntr->rejoin.step = step;
}

/* To all instances of a block. */
static void to_block(struct cntr *cntr, uint32_t block_no, uint32_t gsn, const void *payload,
                     uint32_t words, const struct section *list)
{
    bool single = block_no == BLOCK_DBDIH || block_no == BLOCK_DBDICT;
    uint32_t count = single ? 1 : block_instances(&cntr->block, block_no);
    for (uint32_t i = 1; i <= count; i++)
        signal_send(&cntr->block, cntr_local(cntr, block_no) + (single ? 0 : i), gsn, PRIO_A,
                    payload, words, list, list != NULL ? 1u : 0u);
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
           !node_mask_has(&cntr->started, node);
}

/* The next one, when there is one and nobody is under way. */
static void start_next(struct cntr *cntr)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    bool runs =
        cntr->level == START_STARTED && (cntr->state == CNTR_PHASES || cntr->state == CNTR_RUNNING);
    if (rejoin->node != 0 || cntr->president != cntr_own(cntr) || !runs) return;
    for (uint32_t node = node_mask_next(&rejoin->joined, 0); node != 0;
         node = node_mask_next(&rejoin->joined, node)) {
        if (!may_start(cntr, node)) continue;
        jam_data(node);
        rejoin->node = node;
        rejoin_move(cntr, REJOIN_LOCKING);
        struct schema_lock_req req = {.sender_data = rejoin->rank[node], .node = node};
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_LOCK_REQ, PRIO_B, &req);
        return;
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
    cntr->peer[rep->node].ldm_count = rep->ldm_count;
    log_info(block, "node %u is a member again, %u LDM and %u TC instances", rep->node,
             rep->ldm_count, rep->tc_count);
    start_next(cntr);
}

bool cntr_rejoin_asked(struct cntr *cntr)
{
    if (cntr->level != START_STARTED) return false;
    jam();
    start_next(cntr);
    return true;
}

void cntr_exec_SCHEMA_LOCK_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct schema_lock_conf *conf = SIG_PAYLOAD(sig, schema_lock_conf);
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    if (rejoin->step != REJOIN_LOCKING || conf->node != rejoin->node ||
        conf->sender_data != rejoin->rank[rejoin->node]) {
        jam(); /* It was lost meanwhile. */
        return;
    }
    jam();
    rejoin_move(cntr, REJOIN_ASKING);
    struct schema_info_req req = {.sender_data = conf->sender_data};
    sig_send(block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_INFO_REQ, PRIO_B, &req);
}

/* Pairs { node, rank } of all members that have one. */
static uint32_t list_ranks(const struct cntr *cntr, uint32_t *words)
{
    uint32_t used = 0;
    for (uint32_t node = node_mask_next(&cntr->members, 0); node != 0;
         node = node_mask_next(&cntr->members, node)) {
        if (cntr->rejoin.rank[node] == 0) continue;
        words[used++] = node;
        words[used++] = cntr->rejoin.rank[node];
    }
    return used;
}

static void let_start(struct cntr *cntr, uint64_t schema)
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
    };
    struct section lists[2] = {{.words = &plan->ended.pair[0][0], .size = plan->ended.count * 2u},
                               {.words = words, .size = list_ranks(cntr, words)}};
    rejoin_move(cntr, REJOIN_STARTING);
    log_info(&cntr->block, "node %u starts", cntr->rejoin.node);
    signal_send(&cntr->block, block_ref(cntr->rejoin.node, BLOCK_NDBCNTR, 0), GSN_CNTR_START_CONF,
                PRIO_A, &conf, sizeof(conf) / 4u, lists, 2);
}

void cntr_rejoin_schema(struct cntr *cntr, const struct schema_info_conf *conf)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    if (rejoin->step != REJOIN_ASKING || conf->sender_data != rejoin->rank[rejoin->node]) {
        jam();
        return;
    }
    jam();
    let_start(cntr, conf->sequence_lo | (uint64_t)conf->sequence_hi << 32);
}

void cntr_exec_CNTR_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_include_req *req = SIG_PAYLOAD(sig, cntr_include_req);
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    if (req->incarnation != cntr->incarnation || rejoin->step != REJOIN_STARTING ||
        ref_node(sig->sender) != rejoin->node || req->node != rejoin->node ||
        req->rank != rejoin->rank[rejoin->node]) {
        jam();
        return;
    }
    jam();
    rejoin_move(cntr, REJOIN_INCLUDED);
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
    if (rep->incarnation != cntr->incarnation || node != cntr->rejoin.node ||
        cntr->rejoin.step != REJOIN_INCLUDED) {
        jam();
        return true;
    }
    jam_data(rep->point);
    sig_send(&cntr->block, block_ref(node, BLOCK_NDBCNTR, 0), GSN_CNTR_GOREP, PRIO_A, &go);
    return true;
}

static void nobody_starts(struct cntr *cntr)
{
    cntr->rejoin.node = 0;
    rejoin_move(cntr, REJOIN_NONE);
    start_next(cntr);
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
    if (rejoin->node != node) return;
    struct schema_unlock_ord ord = {.node = node};
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_SCHEMA_UNLOCK_ORD, PRIO_B, &ord);
    nobody_starts(cntr);
}

void cntr_rejoin_lost(struct cntr *cntr, const struct node_failrep *rep)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    rejoin->failure_no = rep->failure_no;
    node_mask_cut(&rejoin->joined, &rep->nodes);
    node_mask_cut(&rejoin->included, &rep->nodes);
    for (uint32_t node = node_mask_next(&rep->nodes, 0); node != 0;
         node = node_mask_next(&rep->nodes, node)) {
        rejoin->rank[node] = 0;
        cntr->peer[node] = (struct cntr_peer){0}; /* Its next life begins anew. */
    }
    if (node_mask_has(&rep->nodes, rejoin->node)) nobody_starts(cntr);
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
    tell_included(cntr, ord->node);
}

/* --- The node that comes back. --- */

/* QMGR: all others are started. */
void cntr_rejoin_member(struct cntr *cntr, const struct members_rep *rep)
{
    cntr->rejoin = (struct cntr_rejoin){
        .running = rep->running, .own_rank = rep->dynamic_id, .failure_no = rep->failure_no};
    cntr->taken_no = rep->failure_no;
    if (!rep->running) return;
    jam_data(rep->failure_no);
    cntr->started = rep->members;
    node_mask_remove(&cntr->started, cntr_own(cntr));
    log_info(&cntr->block, "this node joins a running cluster, node %u is president",
             rep->president);
}

bool cntr_rejoin_plan(struct cntr *cntr, const struct cntr_start_conf *conf,
                      const struct signal *sig)
{
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    if (!rejoin->running || conf->start_type != START_INITIAL_NODE_RESTART ||
        sig->section_count != 2 || conf->schema_node != cntr->president)
        return false;
    const struct section *ended = &sig->section[0];
    const struct section *ranks = &sig->section[1];
    if (cntr_diskless(cntr) ? conf->data_incarnation != 0 || ended->size != 0
                            : conf->data_incarnation == 0)
        return false;
    if (!cntr_ended_good(ended, conf->data_incarnation, conf->gci)) return false;
    if (ranks->size % 2u != 0 || ranks->size > DATA_NODE_ID_MAX * 2u) return false;
    for (uint32_t at = 0; at < ranks->size; at += 2u) {
        uint32_t node = ranks->words[at];
        if (node > DATA_NODE_ID_MAX || !node_mask_has(&cntr->members, node)) return false;
        rejoin->rank[node] = ranks->words[at + 1u];
    }
    return rejoin->rank[cntr_own(cntr)] == rejoin->own_rank;
}

static void include_self(struct cntr *cntr)
{
    static const uint32_t blocks[] = {BLOCK_DBTC, BLOCK_DBLQH, BLOCK_DBDIH, BLOCK_DBDICT};
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    uint32_t words[DATA_NODE_ID_MAX * 2u];
    struct section ranks = {.words = words, .size = list_ranks(cntr, words)};
    struct node_include_req req = {.sender_data = rejoin->own_rank,
                                   .node = cntr_own(cntr),
                                   .rank = rejoin->own_rank,
                                   .failure_no = rejoin->failure_no,
                                   .president = cntr->president,
                                   .alive = cntr->started,
                                   .gci = cntr_has_own_rows(cntr) ? cntr->data.gci : 0};
    rejoin->waiting =
        2u + block_instances(&cntr->block, BLOCK_DBTC) + block_instances(&cntr->block, BLOCK_DBLQH);
    for (uint32_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        to_block(cntr, blocks[i], GSN_NODE_INCLUDE_REQ, &req, sizeof(req) / 4u, &ranks);
}

void cntr_exec_NODE_INCLUDE_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_rejoin *rejoin = &cntr->rejoin;
    ndbrequire(SIG_PAYLOAD(sig, node_include_conf)->sender_data == rejoin->own_rank);
    ndbrequire(rejoin->waiting > 0);
    jam_data(ref_block(sig->sender));
    if (--rejoin->waiting == 0) cntr_step_done(cntr, STEP_INCLUDE_SELF);
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
