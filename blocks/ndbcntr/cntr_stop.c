/* cntr_stop.c -- stops the node in good order, and decides what the loss of a node means. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stop of all nodes: each refuses new transactions, waits for the end of its own, and has the
 * last commits made durable (STOPPING_3). When all are there no GCI begins any more, the
 * president's DIH first; when it has none under way, and the own system files are written,
 * STOPPING_4. Who knows that all are there leaves: no node loses a replica under a transaction that
 * still runs, and all files say the same.
 */
#include "blocks/ndbcntr/cntr_state.h"
#include "values/errors.h"
#include "signals/takeover.h"
#include "signals/gcp_local.h"

#define STUCK_TURN_MS   500u  /* The lower id goes first; asking decides. */
#define STUCK_FORGET_MS 5000u /* Without LCP_STUCK_REP: it was another time. */

static void tell_stop(struct cntr *cntr)
{
    struct cntr_stop_rep rep = {.flags = cntr->stop.flags, .level = cntr->level};
    cntr_to_members(cntr, GSN_CNTR_STOP_REP, &rep, sizeof(rep) / 4u);
}

static void set_level(struct cntr *cntr, enum start_level level)
{
    jam_data(level);
    cntr->level = level;
    cntr_tell_state(cntr);
}

static void drain(struct cntr *cntr)
{
    uint32_t tc_count = block_instances(&cntr->block, BLOCK_DBTC);
    struct tc_drain_req req = {.sender_data = 0};
    for (uint32_t i = 1; i <= tc_count; i++) {
        node_mask_add(&cntr->stop.waiting_tc, i);
        sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBTC) + i, GSN_TC_DRAIN_REQ, PRIO_B, &req);
    }
    /* The president's client would not know what became of the change that it has asked for. */
    struct drain_clients_req schema = {.sender_data = DRAIN_FOR_STOP};
    cntr->stop.schema = 1;
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_DRAIN_CLIENTS_REQ, PRIO_A, &schema);
}

void cntr_stop_begin(struct cntr *cntr, uint32_t flags)
{
    cntr_permit_end(cntr, 0); /* All stop while this one asks whether it may. */
    cntr_move(cntr, CNTR_STOPPING);
    cntr->stop.flags = flags;
    cntr->stop.step = STOP_DRAIN;
    cntr->stop.since_ms = now_ms(&cntr->block);
    cntr_order_give_up(cntr);
    log_info(&cntr->block, "stopping, flags %u", flags);
    event_send(&cntr->block, EVENT_STOP_STARTED, (flags & STOP_SYSTEM) != 0 ? 1u : 0u);
    set_level(cntr, START_STOPPING_1);
    tell_stop(cntr);
    set_level(cntr, START_STOPPING_2);
    if ((flags & STOP_ABORT) == 0) drain(cntr);
    cntr_work_later(cntr, CNTR_STOP_TICK, 0);
}

/* The others need not know of it, or can do nothing about it. */
static bool needs_nobody(const struct cntr *cntr, uint32_t flags)
{
    return cntr->level != START_STARTED || (flags & (STOP_SYSTEM | STOP_FORCE)) != 0;
}

/* 0, or why the node may not stop. */
static uint32_t stop_refusal(const struct cntr *cntr, uint32_t flags)
{
    switch ((enum cntr_state)cntr->state) {
    case CNTR_CONFIG:
        return ERR_MGM_STARTING;
    case CNTR_FAILING:
        return ERR_MGM_SYSTEM_STOPPING;
    case CNTR_STOPPING:
        /* The order to all nodes may have come from another node first, or come while this one
         * stops alone: it follows it. */
        if ((flags & STOP_SYSTEM) != 0) return 0;
        return (cntr->stop.flags & STOP_SYSTEM) != 0 ? ERR_MGM_SYSTEM_STOPPING
                                                     : ERR_MGM_NODE_STOPPING;
    case CNTR_PHASES:
    case CNTR_RUNNING:
        if (needs_nobody(cntr, flags)) return 0;
        if (cntr->permit.client != 0 && !cntr->permit.stuck) return ERR_MGM_NODE_STOPPING;
        return cntr_others_go_on(cntr) ? 0 : ERR_MGM_WOULD_STOP_CLUSTER;
    case CNTR_WAIT_ORDER:
    case CNTR_STATES:
    default:
        return 0;
    }
}

/* The node stops already. A stop of all takes the place of one of this node alone: it shall not
 * come back by itself when the others do not. */
static void stop_joined(struct cntr *cntr, uint32_t flags)
{
    jam_data(flags);
    if ((flags & STOP_SYSTEM) == 0) return;
    if ((cntr->stop.flags & STOP_SYSTEM) == 0) {
        log_info(&cntr->block, "all nodes stop, flags %u", flags);
        cntr->stop.flags = flags | (cntr->stop.flags & STOP_ABORT);
        return;
    }
    cntr->stop.flags |= flags;
}

void cntr_exec_STOP_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct stop_req *req = SIG_PAYLOAD(sig, stop_req);
    bool relayed = ref_node(sig->sender) == cntr_own(cntr) && req->client_ref != 0;
    uint32_t client = relayed ? req->client_ref : sig->sender;
    uint32_t error = stop_refusal(cntr, req->flags);
    bool stops = cntr->state == CNTR_STOPPING;
    if (error != 0) {
        jam_data(error);
        struct stop_ref ref = {.sender_data = req->sender_data, .error = error};
        sig_send(block, client, GSN_STOP_REF, PRIO_B, &ref);
        return;
    }
    if (!stops && !needs_nobody(cntr, req->flags)) {
        jam();
        cntr_permit_ask(cntr, req, client);
        return;
    }
    jam();
    struct stop_conf conf = {.sender_data = req->sender_data};
    sig_send(block, client, GSN_STOP_CONF, PRIO_B, &conf);
    if (stops) {
        stop_joined(cntr, req->flags);
        return;
    }
    if (cntr->level == START_STARTED && (req->flags & STOP_SYSTEM) == 0 && !cntr_others_go_on(cntr))
        log_warning(block, "the other nodes cannot go on without this one");
    cntr_stop_begin(cntr, req->flags);
}

void cntr_exec_TC_DRAIN_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    ndbrequire(cntr->state == CNTR_STOPPING);
    jam();
    node_mask_remove(&cntr->stop.waiting_tc, ref_instance(sig->sender));
}

/* What was committed shall be there after the next start. Not where epochs do not run: the node was
 * never started, an order to stop at once, or a lost member. */
static void flush(struct cntr *cntr, bool rest)
{
    struct gcp_flush_req req = {.sender_data = cntr->stop.step, .rest = rest};
    bool epochs = node_mask_has(&cntr->started, cntr_own(cntr)) && node_mask_empty(&cntr->gone);
    if ((cntr->stop.flags & STOP_ABORT) != 0 || cntr->stop.cut_off || !epochs) return;
    jam();
    cntr->stop.flushing = 1;
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDIH), GSN_GCP_FLUSH_REQ, PRIO_A, &req);
}

void cntr_exec_GCP_FLUSH_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    jam();
    if (SIG_PAYLOAD(sig, gcp_flush_conf)->sender_data == cntr->stop.step) cntr->stop.flushing = 0;
}

/* Another node stops. When all nodes stop, this one does not wait for its own order: its sender may
 * be gone. */
void cntr_exec_CNTR_STOP_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct cntr_stop_rep *rep = SIG_PAYLOAD(sig, cntr_stop_rep);
    uint32_t node = ref_node(sig->sender);
    jam_data(node);
    cntr->peer[node].stop_level = rep->level;
    cntr_order_give_up(cntr);
    log_info(block, "node %u stops, level %u", node, rep->level);
    if ((rep->flags & STOP_SYSTEM) == 0) return;
    if (cntr->state == CNTR_PHASES || cntr->state == CNTR_RUNNING) {
        jam();
        cntr_stop_begin(cntr, rep->flags);
    } else if (cntr->state == CNTR_STOPPING && (cntr->stop.flags & STOP_SYSTEM) == 0) {
        stop_joined(cntr, rep->flags);
    }
}

/* All members have come to this level or are gone. */
static bool all_at(const struct cntr *cntr, uint32_t level)
{
    const struct node_mask *members = &cntr->members;
    uint32_t own = cntr_own(cntr);
    if ((cntr->stop.flags & STOP_SYSTEM) == 0) return true;
    for (uint32_t node = node_mask_next(members, 0); node != 0;
         node = node_mask_next(members, node)) {
        if (node == own || node_mask_has(&cntr->gone, node)) continue;
        if (cntr->peer[node].stop_level < level) return false;
    }
    return true;
}

/* All are there, and the president's DIH begins nothing new: the own one has written the last that
 * comes. */
static bool may_rest(const struct cntr *cntr)
{
    uint32_t president = cntr->president;
    if (!all_at(cntr, START_STOPPING_3)) return false;
    return president == cntr_own(cntr) || node_mask_has(&cntr->gone, president) ||
           !node_mask_has(&cntr->members, president) ||
           cntr->peer[president].stop_level >= START_STOPPING_4;
}

/* Nothing is committed any more that a lost node could lack: it stays a member of the system files.
 */
static bool all_flushed(const struct cntr *cntr)
{
    return (cntr->stop.flags & STOP_SYSTEM) != 0 && cntr->level >= START_STOPPING_3 &&
           all_at(cntr, START_STOPPING_3);
}

static void next_step(struct cntr *cntr, enum stop_step step)
{
    jam_data(step);
    cntr->stop.step = step;
    cntr->stop.since_ms = now_ms(&cntr->block);
}

static void come_to_end(struct cntr *cntr)
{
    set_level(cntr, START_STOPPING_4);
    next_step(cntr, STOP_LEAVE);
}

/* The others go on: they need not find out that this node is gone, nor ask whether they may. */
static void say_farewell(struct cntr *cntr)
{
    struct cm_stop_ord ord = {.unused = 0};
    if ((cntr->stop.flags & STOP_SYSTEM) != 0 || block_config(&cntr->block)->survive == 0) return;
    jam();
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_QMGR), GSN_CM_STOP_ORD, PRIO_A, &ord);
}

/* The step under way is not done, and may still take its time. */
static bool step_waits(const struct cntr *cntr)
{
    uint64_t waited = now_ms(&cntr->block) - cntr->stop.since_ms;
    switch ((enum stop_step)cntr->stop.step) {
    case STOP_DRAIN:
        return (!node_mask_empty(&cntr->stop.waiting_tc) || cntr->stop.schema) &&
               waited < DRAIN_LIMIT_MS && !cntr->stop.cut_off;
    case STOP_FLUSH:
        return cntr->stop.flushing && waited < FLUSH_LIMIT_MS;
    case STOP_MEET:
        return !may_rest(cntr) && waited < LEAVE_LIMIT_MS && !cntr->stop.cut_off;
    case STOP_REST:
        return cntr->stop.flushing && waited < LEAVE_LIMIT_MS;
    case STOP_LEAVE:
        return !all_at(cntr, START_STOPPING_4) && waited < LEAVE_LIMIT_MS && !cntr->stop.cut_off;
    case STOP_END:
    default:
        return false;
    }
}

static void leave(struct cntr *cntr)
{
    jam();
    say_farewell(cntr);
    /* The event's words: 1 restarting, 2 no start, 4 initial; and the signal that ended the
     * process. */
    uint32_t action = (cntr->stop.flags & (STOP_RESTART | STOP_NO_START | STOP_INITIAL)) >> 1;
    event_send(&cntr->block, EVENT_STOP_COMPLETED, action, 0u);
    next_step(cntr, STOP_END);
}

void cntr_stop_tick(struct cntr *cntr)
{
    uint32_t delay_ms = STOP_TICK_MS;
    bool waits = step_waits(cntr);
    switch (waits ? 0 : cntr->stop.step) {
    case STOP_DRAIN:
        next_step(cntr, STOP_FLUSH);
        flush(cntr, false);
        break;
    case STOP_FLUSH:
        if (cntr->stop.flushing) log_warning(&cntr->block, "the last commits are not durable");
        cntr->stop.flushing = 0;
        set_level(cntr, START_STOPPING_3);
        next_step(cntr, STOP_MEET);
        if ((cntr->stop.flags & STOP_SYSTEM) == 0) come_to_end(cntr);
        tell_stop(cntr);
        break;
    case STOP_MEET:
        next_step(cntr, STOP_REST);
        flush(cntr, true);
        break;
    case STOP_REST:
        come_to_end(cntr);
        tell_stop(cntr);
        break;
    case STOP_LEAVE:
        leave(cntr);
        delay_ms = STOP_DELAY_MS;
        break;
    case STOP_END:
        jam();
        log_info(&cntr->block, "stopped");
        node_stopped(&cntr->block, cntr->stop.flags);
        return;
    default:
        ndbrequire(waits); /* There are no other steps. */
    }
    cntr_work_later(cntr, CNTR_STOP_TICK, delay_ms);
}

/* --- Lost nodes. --- */

void cntr_fail(struct cntr *cntr)
{
    ndbrequire(cntr->state == CNTR_FAILING);
    if (cntr->exit_code == EXIT_LCP_STUCK)
        node_fail(EXIT_LCP_STUCK, __FILE__, __LINE__,
                  "checkpoints fail, the redo log is filling up, and other nodes have the data");
    if (cntr->exit_code == EXIT_OTHER_NODE_FAILED)
        node_fail(EXIT_OTHER_NODE_FAILED, __FILE__, __LINE__,
                  "a node was lost before this one was started");
    if (cntr->exit_code == EXIT_DECLARED_DEAD)
        node_fail(EXIT_DECLARED_DEAD, __FILE__, __LINE__, "the other nodes declared this one dead");
    node_fail(EXIT_ARBIT_SHUTDOWN, __FILE__, __LINE__, "contact with a started data node was lost");
}

/* Nothing new begins while the event is on its way. */
static void fail_soon(struct cntr *cntr, uint32_t exit_code)
{
    jam_data(exit_code);
    cntr->exit_code = exit_code;
    cntr_permit_end(cntr, ERR_MGM_SYSTEM_STOPPING);
    cntr_move(cntr, CNTR_FAILING);
    set_level(cntr, START_STOPPING_2);
    cntr_work_later(cntr, CNTR_FAIL, FAIL_DELAY_MS);
}

static void tell_failed(struct cntr *cntr, const struct node_failrep *rep)
{
    for (uint32_t node = node_mask_next(&rep->nodes, 0); node != 0;
         node = node_mask_next(&rep->nodes, node))
        event_send(&cntr->block, EVENT_NODE_FAILREP, node, rep->failure_no);
}

/* The cluster goes on without them. */
static void go_on(struct cntr *cntr, const struct node_failrep *rep)
{
    jam_data(rep->failure_no);
    node_mask_cut(&cntr->members, &rep->nodes);
    node_mask_cut(&cntr->started, &rep->nodes);
    bool succeeds = cntr->president != rep->president && rep->president == cntr_own(cntr);
    cntr->president = rep->president;
    cntr->failed_ms = now_ms(&cntr->block);
    cntr_rejoin_lost(cntr, rep);
    log_info(&cntr->block, "failure %u: %u nodes are left, node %u is president", rep->failure_no,
             node_mask_count(&cntr->members), rep->president);
    cntr_tell_state(cntr);
    struct node_lost_rep lost = {.failure_no = rep->failure_no,
                                 .president = rep->president,
                                 .nodes = rep->nodes,
                                 .alive = cntr_alive(cntr)};
    static const uint32_t blocks[] = {BLOCK_DBTC, BLOCK_DBLQH};
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDIH), GSN_NODE_LOST_REP, PRIO_A, &lost);
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_NODE_LOST_REP, PRIO_A, &lost);
    for (uint32_t b = 0; b < 2; b++) {
        for (uint32_t i = 1; i <= block_instances(&cntr->block, blocks[b]); i++)
            sig_send(&cntr->block, cntr_local(cntr, blocks[b]) + i, GSN_NODE_LOST_REP, PRIO_A,
                     &lost);
    }
    cntr_single_lost(cntr, &rep->nodes);
    cntr_permit_lost(cntr, &rep->nodes);
    cntr_order_lost(cntr, rep, succeeds);
}

/* Somebody is started, so the order to be so was given: it is only that it has not come here, and
 * who gave it may be lost. */
static bool survives_start(struct cntr *cntr, const struct node_failrep *rep)
{
    if (block_config(&cntr->block)->survive == 0 || rep->failure_no == 0) return false;
    if (cntr_rejoins(cntr)) return false; /* This one has nothing of its own. */
    return cntr_start_ends(cntr);
}

/* What a failure means to this node. `verdict`: it is in a part of the cluster that may not go on.
 */
static void decide_failure(struct cntr *cntr, const struct node_failrep *rep)
{
    tell_failed(cntr, rep);
    if (rep->verdict == EXIT_OTHER_NODE_FAILED ||
        (cntr_rejoins(cntr) && cntr->level != START_STARTED)) {
        jam(); /* No error: it begins again, as a new process. */
        log_warning(&cntr->block, "a node was lost before this one was started");
        fail_soon(cntr, EXIT_OTHER_NODE_FAILED);
    } else if (rep->verdict != 0) {
        jam();
        log_error(&cntr->block, "this node is cut off: it stops");
        fail_soon(cntr, rep->verdict);
    } else if (cntr->level != START_STARTED && !survives_start(cntr, rep)) {
        jam();
        cntr_start_again(cntr);
    } else if (block_config(&cntr->block)->survive != 0) {
        jam();
        go_on(cntr, rep);
    } else {
        jam();
        cntr->lost_node = node_mask_next(&rep->nodes, 0);
        log_error(&cntr->block, "lost contact with node %u: this node stops", cntr->lost_node);
        fail_soon(cntr, EXIT_ARBIT_SHUTDOWN);
    }
}

void cntr_exec_NODE_FAILREP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct node_failrep *rep = SIG_PAYLOAD(sig, node_failrep);
    switch ((enum cntr_state)cntr->state) {
    case CNTR_STOPPING:
        jam();
        if (!all_flushed(cntr) && rep->verdict == 0 && rep->failure_no != 0 &&
            block_config(block)->survive != 0 && node_mask_has(&cntr->started, cntr_own(cntr))) {
            tell_failed(cntr, rep);
            go_on(cntr, rep);
            return;
        }
        node_mask_join(&cntr->gone, &rep->nodes);
        cntr->stop.flushing = 0;                       /* Without them no epoch ends any more. */
        if (rep->verdict != 0) cntr->stop.cut_off = 1; /* Nor anything else for this node. */
        return;
    case CNTR_PHASES:
    case CNTR_RUNNING:
        if (rep->verdict == 0 && node_mask_empty(&cntr->members)) {
            jam(); /* It has begun again meanwhile. */
            return;
        }
        decide_failure(cntr, rep);
        return;
    case CNTR_FAILING:
        jam();
        return;
    case CNTR_CONFIG:
    case CNTR_WAIT_ORDER:
    case CNTR_STATES:
    default:
        ndbrequire(false); /* Nobody is a member before phase 1. */
    }
}

/* --- A node that cannot free its redo log. --- */

/* Started nodes of the own group: those with a lower id, and all others. */
static void count_group(const struct cntr *cntr, uint32_t own, uint32_t *before, uint32_t *others)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    (void)node_config_groups(block_config(&cntr->block), group_of);
    *before = 0;
    *others = 0;
    for (uint32_t node = node_mask_next(&cntr->started, 0); node != 0;
         node = node_mask_next(&cntr->started, node)) {
        if (node == own || group_of[node] != group_of[own]) continue;
        if (cntr->peer[node].stop_level != 0) continue; /* It is leaving too. */
        *before += node < own;
        ++*others;
    }
}

/* `node` will be started: is it the first one that has the rows, too? */
void cntr_mate_started(struct cntr *cntr, uint32_t node)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    uint32_t before;
    uint32_t others;
    (void)node_config_groups(block_config(&cntr->block), group_of);
    count_group(cntr, cntr_own(cntr), &before, &others);
    if (others != 0 || node == cntr_own(cntr) || group_of[node] != group_of[cntr_own(cntr)]) return;
    jam_data(node);
    cntr->mate_ms = now_ms(&cntr->block);
}

/*
 * A log that is full refuses writes, those of the other replicas too. As long as others have the
 * rows this node is worth less than its absence. Of several in the same situation one goes at a
 * time, the lowest id first, and the last one stays: who may go has the word of the others, as with
 * an order to stop (cntr_permit.c), because the loss of one may be known late. A round that
 * failed while it was the last one is no reason to leave who has just come back: its disk may have
 * room again, and the next round, which DIH wants soon, tells. But a directory that is gone does
 * not come back by itself.
 */
void cntr_exec_LCP_STUCK_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct lcp_stuck_rep *rep = SIG_PAYLOAD(sig, lcp_stuck_rep);
    uint64_t now = now_ms(block);
    uint32_t before;
    uint32_t others;
    if (cntr->stuck_ms == 0 || now - cntr->stuck_last_ms > STUCK_FORGET_MS) cntr->stuck_ms = now;
    cntr->stuck_last_ms = now;
    cntr->stuck = *rep;
    count_group(cntr, block_config(block)->own_node, &before, &others);
    bool alone = now - rep->age_ms < cntr->mate_ms && rep->error != ERR_FILE_MISSING;
    if (block_config(block)->survive == 0 || cntr->state != CNTR_RUNNING ||
        cntr->level != START_STARTED || others == 0 || alone || cntr->permit.client != 0 ||
        now - cntr->stuck_ms < (uint64_t)before * STUCK_TURN_MS) {
        jam_data(others);
        return;
    }
    jam();
    cntr_permit_ask_stuck(cntr);
}

/* It is no loss that the others have to judge: of three that have the rows two may go together. */
void cntr_stuck_leave(struct cntr *cntr)
{
    log_error(&cntr->block, "checkpoints fail with error %u, and the redo log is %u %% full",
              cntr->stuck.error, cntr->stuck.fill);
    say_farewell(cntr);
    fail_soon(cntr, EXIT_LCP_STUCK);
}
