/* tc_takeover.c -- ends the transactions of a lost TC: rebuilt from what replicas report, committed
 * if any of them has, else aborted; their clients are told. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* The sequence, and why the decision is right, stand in docs/protocols/takeover.md. */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/failure/tc_takeover.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/takeover.h"
#include "values/errors.h"

/* So many records are there always, whatever has used up the memory: a transaction of so many
 * operations needs no parts. */
#define ORPHANS_KEPT    64u
#define ORPHAN_OPS_KEPT 1000u

#define AGAIN_MS 10u /* Time until the next pass when memory was short. */

void tc_takeover_init(struct tc *tc)
{
    const struct node_config *config = block_config(&tc->block);
    struct arena *arena = block_arena(&tc->block);
    tc->takeover.list = block_alloc(&tc->block, RG_TRANSACTION, TC_ORPHAN_LISTS * sizeof(uint32_t));
    pool_init(&tc->orphans, arena, RG_TRANSACTION, sizeof(struct tc_orphan),
              config->transactions_max);
    pool_init(&tc->orphan_ops, arena, RG_TRANSACTION, sizeof(struct tc_orphan_op),
              config->operations_max);
    block_reserved(RG_TRANSACTION, pool_reserve(&tc->orphans, ORPHANS_KEPT));
    block_reserved(RG_TRANSACTION, pool_reserve(&tc->orphan_ops, ORPHAN_OPS_KEPT));
}

static uint32_t *list_of(const struct tc *tc, uint32_t tc_ref, uint32_t tc_trans)
{
    uint32_t hash = (tc_trans ^ tc_ref * 0x9E3779B1u) * 0x85EBCA6Bu;
    return &tc->takeover.list[hash >> 16 & (TC_ORPHAN_LISTS - 1)];
}

static struct tc_orphan *orphan_get(struct tc *tc, uint32_t ref)
{
    struct tc_orphan *orphan = pool_find(&tc->orphans, ref);
    ndbrequire(orphan != NULL);
    return orphan;
}

static struct tc_orphan_op *orphan_op_get(struct tc *tc, uint32_t ref)
{
    struct tc_orphan_op *op = pool_find(&tc->orphan_ops, ref);
    ndbrequire(op != NULL);
    return op;
}

static void list_remove(struct tc *tc, const struct tc_orphan *orphan)
{
    uint32_t *at = list_of(tc, orphan->tc_ref, orphan->tc_trans);
    while (*at != orphan->pool.ref) {
        ndbrequire(*at != REF_NONE);
        at = &orphan_get(tc, *at)->list_next;
    }
    *at = orphan->list_next;
}

/* A few operations at a time; true when the orphan is gone. */
static bool drop_step(struct tc *tc, struct tc_orphan *orphan)
{
    for (uint32_t i = 0; i < TC_STEP_OPS; i++) {
        if (orphan->op_first == REF_NONE) {
            pool_release(&tc->orphans, orphan);
            return true;
        }
        struct tc_orphan_op *op = orphan_op_get(tc, orphan->op_first);
        orphan->op_first = op->next;
        pool_release(&tc->orphan_ops, op);
    }
    return false;
}

/* --- Passes. --- */

bool tc_takeover_done(const struct tc *tc)
{
    const struct tc_takeover *takeover = &tc->takeover;
    return takeover->walked && takeover->active == 0 && !takeover->again;
}

static void begin_pass(struct tc *tc)
{
    struct tc_takeover *takeover = &tc->takeover;
    takeover->deciding = false;
    takeover->walked = false;
    takeover->again = false;
    takeover->asked = 0;
    takeover->ended = 0;
}

static void forget(struct tc *tc, uint32_t index)
{
    struct tc_takeover *takeover = &tc->takeover;
    for (uint32_t i = 0; i < TC_STEP_OPS; i++) {
        struct tc_orphan *orphan = pool_next(&tc->orphans, index);
        if (orphan == NULL) {
            jam();
            takeover->forgetting = false;
            return;
        }
        if (orphan->failure_no != takeover->failure_no && !drop_step(tc, orphan)) break;
        if (orphan->failure_no == takeover->failure_no) index = pool_index(orphan->pool.ref);
    }
    tc_continue(tc, TC_WORK_FORGET, 0, index, 0);
}

/* What was rebuilt after the failure before is forgotten; it is reported again. */
void tc_takeover_restart(struct tc *tc, uint32_t failure_no)
{
    struct tc_takeover *takeover = &tc->takeover;
    jam_data(failure_no);
    takeover->failure_no = failure_no;
    takeover->pass = 0;
    takeover->active = 0;
    takeover->parts = false;
    begin_pass(tc);
    memset(takeover->list, 0, TC_ORPHAN_LISTS * sizeof(uint32_t));
    if (tc->orphans.in_use > 0 && !takeover->forgetting) {
        takeover->forgetting = true;
        tc_continue(tc, TC_WORK_FORGET, 0, 0, 0);
    }
}

void tc_takeover_reported(struct tc *tc)
{
    struct tc_takeover *takeover = &tc->takeover;
    ndbrequire(takeover->failure_no == tc->fail.failure_no);
    jam_data(takeover->active);
    takeover->deciding = true;
    tc_continue(tc, TC_WORK_ORPHANS, takeover->failure_no, 0, 0);
}

static void ask_again(struct tc *tc)
{
    struct tc_takeover *takeover = &tc->takeover;
    const struct tc_fail *fail = &tc->fail;
    begin_pass(tc);
    takeover->pass++;
    jam_data(takeover->pass);
    struct lqh_orphan_req req = {.failure_no = takeover->failure_no, .pass = takeover->pass};
    for (uint32_t node = node_mask_next(&fail->alive, 0); node != 0;
         node = node_mask_next(&fail->alive, node)) {
        for (uint32_t i = 1; i <= fail->ended[node].instances; i++) {
            takeover->asked++;
            sig_send(&tc->block, block_ref(node, BLOCK_DBLQH, i), GSN_LQH_ORPHAN_REQ, PRIO_B, &req);
        }
    }
}

/* A pass has ended nothing: the next one ends a part of one orphan, or again whole ones. */
static void change_way(struct tc_takeover *takeover)
{
    jam_data(takeover->parts);
    takeover->parts = !takeover->parts;
    takeover->part_phase = ORPHAN_BACKUPS;
    takeover->part_tc = 0;
}

static void end_if_done(struct tc *tc)
{
    struct tc_takeover *takeover = &tc->takeover;
    if (!takeover->walked || takeover->active > 0) return;
    if (takeover->parts) takeover->again = true;
    if (takeover->again) {
        jam();
        if (takeover->ended == 0) change_way(takeover);
        struct tc_continueb work = {
            .work = TC_WORK_ORPHANS, .ref = takeover->failure_no, .which = 1};
        sig_send_delayed(&tc->block, tc->block.ref, GSN_CONTINUEB, PRIO_B, &work, AGAIN_MS);
        return;
    }
    tc_nodefail_check(tc);
}

void tc_exec_LQH_ORPHAN_CONF(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    struct tc_takeover *takeover = &tc->takeover;
    const struct lqh_orphan_conf *conf = SIG_PAYLOAD(sig, lqh_orphan_conf);
    if (conf->failure_no != takeover->failure_no || conf->pass != takeover->pass ||
        takeover->asked == 0) {
        jam();
        return;
    }
    takeover->asked--;
    if (takeover->asked == 0) tc_takeover_reported(tc);
}

/* --- Reports. --- */

static struct tc_orphan *find_orphan(struct tc *tc, const struct lqh_orphan_rep *rep)
{
    for (uint32_t ref = *list_of(tc, rep->tc_ref, rep->tc_trans); ref != REF_NONE;) {
        struct tc_orphan *orphan = orphan_get(tc, ref);
        if (orphan->tc_ref == rep->tc_ref && orphan->tc_trans == rep->tc_trans &&
            orphan->transid1 == rep->transid1 && orphan->transid2 == rep->transid2)
            return orphan;
        ref = orphan->list_next;
    }
    return NULL;
}

/* Once memory has been short, no more transactions begin in this pass: they would not be whole. */
static struct tc_orphan *new_orphan(struct tc *tc, const struct lqh_orphan_rep *rep)
{
    struct tc_takeover *takeover = &tc->takeover;
    bool other = takeover->part_tc != 0 &&
                 (takeover->part_tc != rep->tc_ref || takeover->part_trans != rep->tc_trans);
    if (takeover->parts ? other : takeover->again) return NULL;
    struct tc_orphan *orphan = pool_seize(&tc->orphans);
    if (orphan == NULL) return NULL;
    takeover->part_tc = rep->tc_ref;
    takeover->part_trans = rep->tc_trans;
    uint32_t *list = list_of(tc, rep->tc_ref, rep->tc_trans);
    orphan->list_next = *list;
    *list = orphan->pool.ref;
    orphan->failure_no = rep->failure_no;
    orphan->tc_ref = rep->tc_ref;
    orphan->tc_trans = rep->tc_trans;
    orphan->transid1 = rep->transid1;
    orphan->transid2 = rep->transid2;
    orphan->api_ref = rep->api_ref;
    tc->takeover.active++;
    return orphan;
}

/* Is the node the one where new operations on the row begin? */
static bool is_primary(const struct tc *tc, uint32_t nodes, uint32_t node)
{
    for (uint32_t i = 0; i < REPLICAS_MAX; i++) {
        uint32_t replica = replica_node(nodes, i);
        if (replica == node) return true;
        if (replica != 0 && !node_mask_has(&tc->fail.lost, replica)) return false;
    }
    return false;
}

/*
 * Does the pass keep this report? In parts, the first passes keep backups, then acting primaries,
 * then what is committed, as many as there is memory for, in as many passes as that takes. So the
 * order is that of a take-over of the whole.
 */
static bool of_this_part(const struct tc *tc, uint32_t sender, const struct lqh_orphan_rep *rep)
{
    if (!tc->takeover.parts) return true;
    bool complete = tc->takeover.part_phase == ORPHAN_COMPLETING;
    bool primary = tc->takeover.part_phase == ORPHAN_PRIMARIES;
    if (complete || rep->committed != 0) return complete && rep->committed != 0;
    return is_primary(tc, rep->nodes, ref_node(sender)) == primary;
}

static void note_commit(struct tc_orphan *orphan, const struct lqh_orphan_rep *rep)
{
    if (rep->committed == 0) return;
    orphan->committed = 1;
    orphan->gci_hi = rep->gci_hi;
    orphan->gci_lo = rep->gci_lo;
}

static void add_report(struct tc *tc, uint32_t sender, const struct lqh_orphan_rep *rep)
{
    struct tc_orphan *orphan = find_orphan(tc, rep);
    if (orphan == NULL) orphan = new_orphan(tc, rep);
    if (orphan != NULL) {
        note_commit(orphan, rep);
        if (!of_this_part(tc, sender, rep)) return;
    }
    struct tc_orphan_op *op = orphan == NULL ? NULL : pool_seize(&tc->orphan_ops);
    if (op == NULL) {
        jam();
        tc->takeover.again = true;
        if (orphan == NULL) return;
        orphan->incomplete = !tc->takeover.parts;
        orphan->more = 1;
        return;
    }
    op->orphan = orphan->pool.ref;
    op->next = orphan->op_first;
    orphan->op_first = op->pool.ref;
    op->lqh_ref = sender;
    op->lqh_op = rep->lqh_op;
    op->tc_op = rep->tc_op;
    op->primary = rep->nodes; /* Replicas, until BACKUPS: who is lost may not be known yet. */
}

void tc_exec_LQH_ORPHAN_REP(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    struct tc_takeover *takeover = &tc->takeover;
    const struct lqh_orphan_rep *rep = SIG_PAYLOAD(sig, lqh_orphan_rep);
    if (ref_block(sig->sender) != BLOCK_DBLQH || ref_block(rep->tc_ref) != BLOCK_DBTC) {
        tc_protocol_error(tc, sig->sender, "LQH_ORPHAN_REP with impossible references");
        return;
    }
    if (rep->failure_no > takeover->failure_no) {
        jam(); /* The sender has heard of it earlier than we. */
        tc_takeover_restart(tc, rep->failure_no);
    }
    bool due = rep->failure_no == takeover->failure_no && rep->pass == takeover->pass &&
               rep->requested_by == (rep->pass == 0 ? 0 : tc->block.ref) && !takeover->deciding;
    if (!due) {
        jam();
        return;
    }
    add_report(tc, sig->sender, rep);
}

/* --- The end of a transaction. --- */

static void tell_client(struct tc *tc, const struct tc_orphan *orphan)
{
    if (ref_block(orphan->api_ref) != BLOCK_API ||
        (peer_class(&tc->block, ref_node(orphan->api_ref)) & FROM_CLIENTS) == 0) {
        jam();
        return;
    }
    if (orphan->committed) {
        jam();
        struct tckey_failconf conf = {.transid1 = orphan->transid1,
                                      .transid2 = orphan->transid2,
                                      .gci_hi = orphan->gci_hi,
                                      .gci_lo = orphan->gci_lo};
        sig_send(&tc->block, orphan->api_ref, GSN_TCKEY_FAILCONF, PRIO_B, &conf);
        return;
    }
    jam();
    struct tckey_failref ref = {
        .transid1 = orphan->transid1, .transid2 = orphan->transid2, .error = ERR_NODE_FAILED_4028};
    sig_send(&tc->block, orphan->api_ref, GSN_TCKEY_FAILREF, PRIO_B, &ref);
}

static void end_orphan(struct tc *tc, struct tc_orphan *orphan)
{
    list_remove(tc, orphan);
    ndbrequire(tc->takeover.active > 0);
    tc->takeover.active--;
    orphan->failure_no = 0; /* It has ended, though its operations may take some steps to go. */
    if (!drop_step(tc, orphan) && !tc->takeover.forgetting) {
        tc->takeover.forgetting = true;
        tc_continue(tc, TC_WORK_FORGET, 0, 0, 0);
    }
    end_if_done(tc);
}

static void begin_phase(struct tc *tc, struct tc_orphan *orphan, enum tc_orphan_phase phase)
{
    orphan->phase = phase;
    orphan->cursor = orphan->op_first;
    tc_continue(tc, TC_WORK_ORPHAN, tc->takeover.failure_no, orphan->pool.ref, 0);
}

/* What was kept of this part has been ended; the rest of it follows, or the next part. */
static void end_part(struct tc *tc, struct tc_orphan *orphan)
{
    struct tc_takeover *takeover = &tc->takeover;
    jam_data(orphan->phase);
    takeover->ended++;
    if (!orphan->more && orphan->phase == ORPHAN_PRIMARIES) tell_client(tc, orphan);
    if (!orphan->more) takeover->part_phase++;
    uint32_t last = orphan->committed ? ORPHAN_COMPLETING : ORPHAN_PRIMARIES;
    if (takeover->part_phase > last) change_way(takeover);
    end_orphan(tc, orphan);
}

static void next_phase(struct tc *tc, struct tc_orphan *orphan)
{
    if (tc->takeover.parts) {
        end_part(tc, orphan);
        return;
    }
    jam_data(orphan->phase);
    if (orphan->phase == ORPHAN_BACKUPS) {
        begin_phase(tc, orphan, ORPHAN_PRIMARIES);
        return;
    }
    if (orphan->phase == ORPHAN_PRIMARIES) {
        tell_client(tc, orphan);
        if (orphan->committed) {
            begin_phase(tc, orphan, ORPHAN_COMPLETING);
            return;
        }
    }
    tc->takeover.ended++;
    end_orphan(tc, orphan);
}

static void order(struct tc *tc, struct tc_orphan *orphan, const struct tc_orphan_op *op)
{
    bool complete = orphan->phase == ORPHAN_COMPLETING;
    uint32_t action = orphan->committed ? RESOLVE_COMMIT : RESOLVE_ABORT;
    struct op_resolve_req req = {.failure_no = tc->takeover.failure_no,
                                 .sender_data = op->pool.ref,
                                 .action = complete ? (uint32_t)RESOLVE_COMPLETE : action,
                                 .tc_ref = orphan->tc_ref,
                                 .tc_op = op->tc_op,
                                 .transid1 = orphan->transid1,
                                 .lqh_op = op->lqh_op,
                                 .gci_hi = orphan->gci_hi,
                                 .gci_lo = orphan->gci_lo};
    orphan->waiting++;
    sig_send(&tc->block, op->lqh_ref, GSN_OP_RESOLVE_REQ, PRIO_B, &req);
}

static void step_orphan(struct tc *tc, struct tc_orphan *orphan)
{
    for (uint32_t i = 0; i < TC_STEP_OPS && orphan->cursor != REF_NONE; i++) {
        struct tc_orphan_op *op = orphan_op_get(tc, orphan->cursor);
        orphan->cursor = op->next;
        if (orphan->phase == ORPHAN_BACKUPS)
            op->primary = is_primary(tc, op->primary, ref_node(op->lqh_ref));
        if (orphan->phase == ORPHAN_COMPLETING ||
            (op->primary != 0) == (orphan->phase == ORPHAN_PRIMARIES))
            order(tc, orphan, op);
    }
    if (orphan->cursor != REF_NONE)
        tc_continue(tc, TC_WORK_ORPHAN, tc->takeover.failure_no, orphan->pool.ref, 0);
    else if (orphan->waiting == 0)
        next_phase(tc, orphan);
}

void tc_takeover_resolved(struct tc *tc, const struct op_resolve_conf *conf)
{
    if (conf->failure_no != tc->takeover.failure_no) {
        jam();
        return;
    }
    const struct tc_orphan_op *op = pool_find(&tc->orphan_ops, conf->sender_data);
    struct tc_orphan *orphan = op == NULL ? NULL : pool_find(&tc->orphans, op->orphan);
    if (orphan == NULL || orphan->failure_no != conf->failure_no || orphan->waiting == 0) {
        jam();
        return;
    }
    orphan->waiting--;
    if (orphan->waiting == 0 && orphan->cursor == REF_NONE) next_phase(tc, orphan);
}

/* --- The decisions. --- */

static void step_orphans(struct tc *tc, uint32_t index)
{
    struct tc_takeover *takeover = &tc->takeover;
    for (uint32_t i = 0; i < TC_STEP_RECORDS; i++) {
        struct tc_orphan *orphan = pool_next(&tc->orphans, index);
        if (orphan == NULL) {
            jam();
            takeover->walked = true;
            end_if_done(tc);
            return;
        }
        index = pool_index(orphan->pool.ref);
        if (orphan->failure_no != takeover->failure_no || orphan->phase != ORPHAN_COLLECTING)
            continue;
        if (orphan->incomplete)
            end_orphan(tc, orphan); /* The next pass rebuilds it. */
        else
            begin_phase(tc, orphan, takeover->parts ? takeover->part_phase : ORPHAN_BACKUPS);
    }
    tc_continue(tc, TC_WORK_ORPHANS, takeover->failure_no, index, 0);
}

void tc_takeover_step(struct tc *tc, const struct tc_continueb *work)
{
    if (work->work == TC_WORK_FORGET) {
        forget(tc, work->index);
        return;
    }
    if (work->ref != tc->takeover.failure_no) {
        jam();
        return;
    }
    if (work->work == TC_WORK_ORPHANS && work->which == 1) {
        if (tc->takeover.walked) ask_again(tc);
    } else if (work->work == TC_WORK_ORPHANS) {
        step_orphans(tc, work->index);
    } else {
        struct tc_orphan *orphan = pool_find(&tc->orphans, work->index);
        if (orphan != NULL && orphan->failure_no == work->ref) step_orphan(tc, orphan);
    }
}
