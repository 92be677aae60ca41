/* lqh_include.c -- a lost node comes back: it takes part again, at itself without its rows yet, and
 * others find out when its copy may begin. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * P is in the chains of one TC earlier than in those of another. What S executes meanwhile without
 * P must be in the copy: so S begins to copy when all TCs have said that P is in their chains, then
 * when the operations without P have ended. What goes to P has CHAIN_SKIP, and P does nothing,
 * until the copy is past the row's place. See docs/protocols/node_restart.md.
 */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/failure/lqh_nodefail.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "blocks/dblqh/key/lqh_outcome.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/rejoin.h"
#include "signals/takeover.h"

#define STEP_TABLES 64u
#define STEP_OPS    128u
#define AGAIN_MS    10u

void lqh_include_init(struct lqh *lqh)
{
    lqh->include.life =
        block_alloc(&lqh->block, RG_TRANSACTION, (DATA_NODE_ID_MAX + 1) * sizeof(struct lqh_life));
    lqh->include.back =
        block_alloc(&lqh->block, RG_TRANSACTION, (DATA_NODE_ID_MAX + 1) * sizeof(struct lqh_back));
}

static void look_at_masks(struct lqh *lqh)
{
    struct lqh_fail *fail = &lqh->fail;
    fail->any = !node_mask_empty(&fail->lost) || !node_mask_empty(&fail->lost_tcs);
}

/* --- At P. --- */

static void conf(struct lqh *lqh)
{
    struct node_include_conf conf = {.sender_data = lqh->include.conf_data};
    jam_data(lqh->include.copying);
    sig_send(&lqh->block, lqh->include.conf_to, GSN_NODE_INCLUDE_CONF, PRIO_B, &conf);
}

static void mark_table(struct lqh *lqh, struct lqh_table *table)
{
    for (uint32_t f = 0; f < table->fragment_count; f++) {
        if (table->frags[f] == REF_NONE) continue;
        table->copying[f / 32u] |= 1u << f % 32u;
        lqh->include.copying++;
    }
}

static void step_copying(struct lqh *lqh, uint32_t table_id)
{
    for (uint32_t i = 0; i < STEP_TABLES; i++, table_id++) {
        if (table_id >= lqh->table_count) {
            conf(lqh);
            return;
        }
        if (lqh->table[table_id] != NULL) mark_table(lqh, lqh->table[table_id]);
    }
    lqh_continue(lqh, LQH_WORK_COPYING, table_id);
}

void lqh_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    struct lqh_fail *fail = &lqh->fail;
    const struct node_include_req *req = SIG_PAYLOAD(sig, node_include_req);
    const struct node_config *config = block_config(block);
    ndbrequire(req->node == lqh->own_node && lqh->operations.in_use == 0);
    ndbrequire(lqh->include.copying == 0);
    jam_data(req->rank);
    fail->failure_no = req->failure_no;
    fail->reported = true;
    fail->alive = req->alive;
    node_mask_add(&fail->alive, req->node);
    node_mask_cut(&fail->lost, &fail->alive);
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (config->node[node].type == NODE_DATA && !node_mask_has(&fail->alive, node))
            node_mask_add(&fail->lost, node);
    }
    fail->lost_tcs = fail->lost;
    look_at_masks(lqh);
    lqh->include.conf_to = sig->sender;
    lqh->include.conf_data = req->sender_data;
    lqh->include.gci = req->gci;
    for (uint32_t i = 0; i + 2 <= sig->section[0].size; i += 2) {
        uint32_t node = sig->section[0].words[i];
        if (node <= DATA_NODE_ID_MAX) lqh->include.life[node].rank = sig->section[0].words[i + 1];
    }
    lqh->include.life[req->node].rank = req->rank;
    step_copying(lqh, 0);
}

bool lqh_fragment_copying(const struct lqh *lqh, uint32_t table_id, uint32_t fragment_id)
{
    const struct lqh_table *table = table_id < lqh->table_count ? lqh->table[table_id] : NULL;
    return table != NULL && fragment_id < table->fragment_count &&
           (table->copying[fragment_id / 32u] >> fragment_id % 32u & 1u) != 0;
}

void lqh_fragment_copied(struct lqh *lqh, uint32_t table_id, uint32_t fragment_id)
{
    ndbrequire(lqh_fragment_copying(lqh, table_id, fragment_id) && lqh->include.copying > 0);
    jam();
    lqh->table[table_id]->copying[fragment_id / 32u] &= ~(1u << fragment_id % 32u);
    lqh->include.copying--;
    lqh_outcome_forget(lqh);
}

void lqh_table_copied(struct lqh *lqh, struct lqh_table *table)
{
    for (uint32_t f = 0; lqh->include.copying > 0 && f < table->fragment_count; f++) {
        if (lqh_fragment_copying(lqh, table->table_id, f))
            lqh_fragment_copied(lqh, table->table_id, f);
    }
}

/* What TC itself sends here does not count: P is the last of each chain while it has no rows. */
bool lqh_copies(const struct lqh *lqh, const struct lqh_op *op)
{
    return op->prev_ref != 0 && lqh_fragment_copying(lqh, op->table_id, op->fragment_id) &&
           key_operation_of(op->request_info) != OP_READ;
}

/* --- At the others: P takes part. --- */

/* What P's former life has left must have been reported before. What P has said of a loss stays: it
 * may have heard of the next one already, and the numbers of its former life are below that. */
void lqh_include_try(struct lqh *lqh)
{
    struct lqh_include *include = &lqh->include;
    struct lqh_fail *fail = &lqh->fail;
    if (fail->failure_no != 0 && !fail->reported) return;
    for (uint32_t node = node_mask_next(&include->nodes, 0); node != 0;
         node = node_mask_next(&include->nodes, node)) {
        if (include->back[node].taken) continue;
        jam_data(node);
        include->back[node].taken = true;
        node_mask_remove(&fail->lost, node);
        node_mask_add(&fail->alive, node);
    }
    look_at_masks(lqh);
}

static void back_move(struct lqh *lqh, uint32_t node, enum lqh_include_state state)
{
    jam_data(state);
    lqh->include.back[node].state = (uint8_t)state;
}

/* A TC, or NDBCNTR, whoever is first. */
static void hear_of(struct lqh *lqh, uint32_t node, uint32_t rank, uint32_t failure_no)
{
    struct lqh_include *include = &lqh->include;
    struct lqh_life *life = &include->life[node];
    if (node == lqh->own_node || life->lost_no > failure_no || rank <= life->rank) {
        jam(); /* Known, or lost again meanwhile. */
        return;
    }
    jam_data(rank);
    life->rank = rank;
    include->back[node] = (struct lqh_back){.state = INCLUDE_NONE};
    back_move(lqh, node, INCLUDE_WAITING);
    node_mask_add(&include->nodes, node);
    include->any = true;
    lqh_include_try(lqh);
}

void lqh_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct node_include_rep *rep = SIG_PAYLOAD(sig, node_include_rep);
    ndbrequire(rep->node != 0 && rep->node <= DATA_NODE_ID_MAX);
    hear_of(lqh, rep->node, rep->rank, rep->failure_no);
    struct lqh_back *back = &lqh->include.back[rep->node];
    if (back->state == INCLUDE_NONE || lqh->include.life[rep->node].rank != rep->rank) return;
    back->told = true;
    back->others = rep->alive;
    node_mask_remove(&back->others, rep->node);
    /* Nobody was lost so far: those that are here. */
    if (lqh->fail.failure_no == 0) lqh->fail.alive = rep->alive;
}

void lqh_exec_LQH_INCLUDE_REP(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct lqh_include_rep *rep = SIG_PAYLOAD(sig, lqh_include_rep);
    uint32_t sender = ref_node(sig->sender);
    uint32_t instance = ref_instance(sig->sender);
    if (!lqh_is_tc(sig->sender) || instance > rep->instances ||
        rep->instances > LQH_INSTANCES_MAX || sender > DATA_NODE_ID_MAX || rep->node == 0 ||
        rep->node > DATA_NODE_ID_MAX) {
        lqh_protocol_error(lqh, sig->sender, "LQH_INCLUDE_REP of an impossible sender");
        return;
    }
    lqh->include.life[sender].instances = rep->instances;
    hear_of(lqh, rep->node, rep->rank, rep->failure_no);
    if (lqh->include.life[rep->node].rank != rep->rank) return;
    jam_data(sender);
    lqh->include.back[rep->node].tcs[sender] |=
        1u << instance; /* It comes once for each key of ours. */
}

void lqh_include_lost(struct lqh *lqh, const struct node_lost_rep *rep)
{
    struct lqh_include *include = &lqh->include;
    for (uint32_t node = node_mask_next(&rep->nodes, 0); node != 0 && node <= DATA_NODE_ID_MAX;
         node = node_mask_next(&rep->nodes, node)) {
        include->life[node].lost_no = rep->failure_no;
        back_move(lqh, node, INCLUDE_NONE);
    }
    node_mask_cut(&include->nodes, &rep->nodes);
    include->any = !node_mask_empty(&include->nodes);
    for (uint32_t node = node_mask_next(&include->nodes, 0); node != 0;
         node = node_mask_next(&include->nodes, node)) {
        struct lqh_back *back = &include->back[node];
        node_mask_cut(&back->others, &rep->nodes);
        for (uint32_t lost = node_mask_next(&rep->nodes, 0); lost != 0 && lost <= DATA_NODE_ID_MAX;
             lost = node_mask_next(&rep->nodes, lost))
            back->tcs[lost] = 0; /* TCs of its next life have not sent theirs. */
    }
}

/* The first request of a TC that has come back: what its former life had here has long ended. */
void lqh_tc_back(struct lqh *lqh, uint32_t tc_ref)
{
    struct lqh_fail *fail = &lqh->fail;
    uint32_t node = ref_node(tc_ref);
    if (!node_mask_has(&fail->lost_tcs, node) || node_mask_has(&fail->lost, node)) return;
    jam_data(node);
    node_mask_remove(&fail->lost_tcs, node);
    look_at_masks(lqh);
}

/* --- When the copy may begin. --- */

/* One node of a group comes back at a time, and the youngest in the chain is the only one that may
 * not have all rows yet. */
uint32_t lqh_include_skip(const struct lqh *lqh, const struct lqh_op *op, uint32_t page,
                          uint32_t slot)
{
    const struct lqh_include *include = &lqh->include;
    uint32_t back = 0;
    if (__builtin_expect(!include->any, 1) || op->prev_ref != 0) return 0;
    for (uint32_t i = 1; i < REPLICAS_MAX; i++) {
        uint32_t node = replica_node(op->nodes, i);
        if (node == 0 || !node_mask_has(&include->nodes, node)) continue;
        if (back == 0 || include->life[node].rank > include->life[back].rank) back = node;
    }
    if (back == 0) return 0;
    if (include->back[back].state == INCLUDE_READY &&
        lqh_copy_told(lqh, include->life[back].rank, op->table_id, op->fragment_id, page, slot))
        return 0;
    return CHAIN_SKIP;
}

static bool all_tcs_told(const struct lqh *lqh, uint32_t back)
{
    const struct lqh_include *include = &lqh->include;
    const struct node_mask *others = &include->back[back].others;
    for (uint32_t node = node_mask_next(others, 0); node != 0;
         node = node_mask_next(others, node)) {
        const struct lqh_life *life = &include->life[node];
        if (life->instances == 0) return false;
        for (uint32_t i = 1; i <= life->instances; i++) {
            if ((include->back[back].tcs[node] >> i & 1u) == 0) return false;
        }
    }
    return true;
}

static void walk(struct lqh *lqh, uint32_t node, uint32_t ref, uint32_t delay_ms)
{
    struct lqh_back *back = &lqh->include.back[node];
    struct lqh_continueb work = {.work = LQH_WORK_INCLUDE,
                                 .ref = ref,
                                 .failure_no = node,
                                 .to = lqh->include.life[node].rank,
                                 .pass = back->state};
    if (ref == 0) back->seen = false;
    if (delay_ms > 0)
        sig_send_delayed(&lqh->block, lqh->block.ref, GSN_CONTINUEB, PRIO_B, &work, delay_ms);
    else
        sig_send(&lqh->block, lqh->block.ref, GSN_CONTINUEB, PRIO_B, &work);
}

static bool in_the_way(uint32_t node, const struct lqh_op *op)
{
    if (op->scan != REF_NONE || key_operation_of(op->request_info) == OP_READ) return false;
    for (uint32_t i = 0; i < REPLICAS_MAX; i++) {
        if (replica_node(op->nodes, i) == node) return false;
    }
    return true;
}

static void walked(struct lqh *lqh, uint32_t node)
{
    const struct lqh_back *back = &lqh->include.back[node];
    if (back->seen) {
        jam();
        walk(lqh, node, 0, AGAIN_MS);
        return;
    }
    back_move(lqh, node, INCLUDE_READY);
}

void lqh_include_step(struct lqh *lqh, const struct lqh_continueb *work)
{
    struct lqh_include *include = &lqh->include;
    if (work->work == LQH_WORK_COPYING) {
        step_copying(lqh, work->ref);
        return;
    }
    uint32_t node = work->failure_no;
    struct lqh_back *back = &include->back[node];
    if (work->to != include->life[node].rank || work->pass != back->state) {
        jam(); /* P has been lost again. */
        return;
    }
    uint32_t ref = work->ref;
    for (uint32_t i = 0; i < STEP_OPS; i++) {
        const struct lqh_op *op = pool_next(&lqh->operations, ref);
        if (op == NULL || back->seen) {
            walked(lqh, node);
            return;
        }
        ref = pool_index(op->pool.ref);
        back->seen = in_the_way(node, op);
    }
    walk(lqh, node, ref, 0);
}

bool lqh_included(struct lqh *lqh, uint32_t node, uint32_t rank)
{
    const struct lqh_back *back = &lqh->include.back[node];
    if (back->state == INCLUDE_NONE || lqh->include.life[node].rank != rank || !back->told ||
        !back->taken)
        return false;
    if (back->state == INCLUDE_WAITING && all_tcs_told(lqh, node)) {
        back_move(lqh, node, INCLUDE_ALONE);
        walk(lqh, node, 0, 0);
    }
    return back->state == INCLUDE_READY;
}
