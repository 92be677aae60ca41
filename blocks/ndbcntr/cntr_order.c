/* cntr_order.c -- the order of the replicas of a node group changes while the cluster runs: nodes
 * that came back get their primaries back, a slow node is the last one. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See docs/protocols/replica_order.md. Member: order.h. President:
 *   IDLE --PREPARE to all--> PREPARING --all hold--> DECIDING --all know--> IDLE (RELEASE)
 *                                +--too late, refused, a loss, somebody joins--> IDLE (ABORT)
 *   new president: ASKING --all have answered, one has decided--> DECIDING
 *                     +-----nobody has--> IDLE (ABORT)
 */
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "signals/takeover.h"

#define HOLD_MS 20u /* Longest wait of a transaction: then the change is given up. */
/* Pause after a loss, after a return, and after a change was given up for the first time. */
#define QUIET_MS  1000u
#define AGAIN_MAX 32000u /* Longest pause: it doubles each time that a change is given up. */

static bool same(const struct order_no *a, const struct order_no *b)
{
    return a->failure_no == b->failure_no && a->count == b->count;
}

static bool newer(const struct order_no *a, const struct order_no *b)
{
    return a->failure_no != b->failure_no ? a->failure_no > b->failure_no : a->count > b->count;
}

static void to_all(struct cntr *cntr, uint32_t gsn, const void *payload, uint32_t words)
{
    struct node_mask all = cntr_alive(cntr);
    signal_broadcast(&cntr->block, &all, BLOCK_NDBCNTR, gsn, PRIO_A, payload, words, NULL, 0);
}

/* --- Which order there shall be. --- */

struct group {
    uint32_t count;
    uint32_t node[ORDER_NODES];
    bool whole; /* All nodes of the group are started. */
};

static void group_get(const struct cntr *cntr, uint32_t number, struct group *group)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    (void)node_config_groups(block_config(&cntr->block), group_of);
    *group = (struct group){.whole = true};
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (group_of[node] != number) continue;
        if (!node_mask_has(&cntr->started, node))
            group->whole = false;
        else if (group->count < ORDER_NODES)
            group->node[group->count++] = node;
    }
}

/* Which places the group wants; false: they stay as they are. Where somebody is missing only a slow
 * node changes its place. */
static bool places_wanted(const struct cntr *cntr, const struct group *group,
                          struct order_places *places)
{
    const struct cntr_order *order = &cntr->order;
    uint32_t slow = 0;
    bool change = false;
    *places = (struct order_places){{0}, {0}};
    for (uint32_t i = 0; i < group->count; i++)
        slow += node_mask_has(&order->slow, group->node[i]);
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t node = group->node[i];
        bool last = slow < group->count && node_mask_has(&order->slow, node);
        places->node[i] = node;
        places->place[i] = last ? PLACE_SLOW : 0;
        change = change || (group->whole ? order->place[node] != places->place[i]
                                         : last != (order->place[node] == PLACE_SLOW));
    }
    return change;
}

/* The change that the first group wants after the one that was tried last. */
static bool find_change(const struct cntr *cntr, struct order_places *places, uint32_t *number)
{
    uint32_t group_of[NODE_ID_MAX + 1];
    uint32_t groups = node_config_groups(block_config(&cntr->block), group_of);
    for (uint32_t i = 1; i <= groups; i++) {
        struct group group;
        *number = (cntr->order.group + i) % groups;
        group_get(cntr, *number, &group);
        if (places_wanted(cntr, &group, places)) return true;
    }
    return false;
}

static bool may_begin(const struct cntr *cntr)
{
    const struct cntr_single *single = &cntr->single;
    if (cntr->state != CNTR_RUNNING || cntr->level != START_STARTED || !cntr_is_president(cntr) ||
        block_config(&cntr->block)->survive == 0)
        return false;
    if (!node_mask_empty(&cntr->rejoin.joined) || cntr->taken_no < cntr->rejoin.failure_no ||
        single->node != 0 || (single->count != 0 && !single->complete))
        return false;
    for (uint32_t node = node_mask_next(&cntr->members, 0); node != 0;
         node = node_mask_next(&cntr->members, node)) {
        if (cntr->peer[node].stop_level != 0 || !node_mask_has(&cntr->started, node)) return false;
    }
    return true;
}

/* --- President. --- */

static void master_move(struct cntr *cntr, enum order_master state)
{
    jam_data(state);
    cntr->order.master = state;
}

/* One that comes before another that is on its way makes that one idle. */
static void look_in(struct cntr *cntr, uint64_t delay_ms)
{
    struct cntr_order *order = &cntr->order;
    uint64_t then = now_ms(&cntr->block) + delay_ms;
    if (order->look_ms != 0 && order->look_ms <= then) return;
    order->look_ms = then;
    cntr_work_later(cntr, CNTR_ORDER_LOOK, (uint32_t)delay_ms);
}

static bool is_due(const struct cntr_order *order, uint64_t now)
{
    return now >= order->quiet_ms && now >= order->retry_ms;
}

/* Something has changed: is there anything to do when it has been quiet for a while? */
void cntr_order_changed(struct cntr *cntr, uint32_t quiet_ms)
{
    struct cntr_order *order = &cntr->order;
    struct order_places places;
    uint32_t number;
    uint64_t due = now_ms(&cntr->block) + quiet_ms;
    order->again_ms = QUIET_MS;
    order->retry_ms = 0;
    if (order->quiet_ms < due) order->quiet_ms = due;
    if (!cntr_is_president(cntr) || cntr->level != START_STARTED ||
        !find_change(cntr, &places, &number))
        return;
    look_in(cntr, order->quiet_ms - now_ms(&cntr->block));
}

static void begin(struct cntr *cntr, const struct order_places *places)
{
    struct cntr_order *order = &cntr->order;
    struct order_no last = newer(&order->no, &order->change.no) ? order->no : order->change.no;
    if (last.failure_no != cntr->rejoin.failure_no)
        last = (struct order_no){.failure_no = cntr->rejoin.failure_no};
    last.count++;
    order->change.no = last;
    order->change.places = *places;
    order->waiting = cntr_alive(cntr);
    order->late_ms = now_ms(&cntr->block) + HOLD_MS;
    master_move(cntr, ORDER_PREPARING);
    struct order_prepare_req req = {.no = order->change.no, .places = *places};
    to_all(cntr, GSN_ORDER_PREPARE_REQ, &req, sizeof(req) / 4u);
    cntr_work_later(cntr, CNTR_ORDER_LATE, HOLD_MS);
}

void cntr_order_look(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    struct order_places places;
    uint32_t number;
    uint64_t now = now_ms(&cntr->block);
    if (order->look_ms == 0 || now < order->look_ms) return;
    order->look_ms = 0;
    if (!cntr_is_president(cntr) || cntr->level != START_STARTED ||
        order->master != ORDER_MASTER_IDLE || !find_change(cntr, &places, &number)) {
        jam();
        return;
    }
    if (!is_due(order, now) || !may_begin(cntr)) {
        uint64_t due = order->quiet_ms > order->retry_ms ? order->quiet_ms : order->retry_ms;
        look_in(cntr, now < due ? due - now : QUIET_MS);
        return;
    }
    jam_data(number);
    order->group = number;
    begin(cntr, &places);
}

/* Nobody has decided: the members go on with the order that there was. */
static void give_up(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    struct order_abort_ord ord = {.no = order->change.no};
    to_all(cntr, GSN_ORDER_ABORT_ORD, &ord, sizeof(ord) / 4u);
    master_move(cntr, ORDER_MASTER_IDLE);
    order->given_up++;
    order->retry_ms = now_ms(&cntr->block) + order->again_ms;
    look_in(cntr, order->again_ms);
    if (order->again_ms < AGAIN_MAX) order->again_ms *= 2u;
    (void)cntr_rejoin_asked(cntr);
}

void cntr_order_give_up(struct cntr *cntr)
{
    if (cntr->order.master != ORDER_PREPARING) return;
    jam();
    give_up(cntr);
}

/* Gives up a change that is late. An older change's CNTR_ORDER_LATE does nothing: there is at least
 * HOLD_MS between two. */
void cntr_order_late(struct cntr *cntr)
{
    if (cntr->order.master != ORDER_PREPARING || now_ms(&cntr->block) < cntr->order.late_ms) return;
    jam();
    give_up(cntr);
}

static void tell(struct cntr *cntr, const struct order_places *places)
{
    for (uint32_t i = 0; i < ORDER_NODES; i++) {
        uint32_t node = places->node[i];
        if (node == 0 || cntr->order.place[node] == places->place[i]) continue;
        bool last = places->place[i] == PLACE_SLOW;
        log_info(&cntr->block,
                 last ? "node %u is slow: it is the last of its node group now"
                      : "node %u has its primaries back",
                 node);
        if (cntr_is_president(cntr))
            event_send(&cntr->block, EVENT_REPLICA_ORDER, node, places->place[i]);
    }
}

/* Who has been lost meanwhile has no place; if it joins again, another one. */
static void leave_out(struct order_places *places, const struct node_mask *keep)
{
    for (uint32_t i = 0; i < ORDER_NODES; i++) {
        if (places->node[i] == 0 || node_mask_has(keep, places->node[i])) continue;
        jam_data(places->node[i]);
        places->node[i] = places->place[i] = 0;
    }
}

static void decide(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    leave_out(&order->change.places, &cntr->started);
    struct order_decide_req req = {.no = order->change.no, .places = order->change.places};
    master_move(cntr, ORDER_DECIDING);
    order->waiting = cntr_alive(cntr);
    to_all(cntr, GSN_ORDER_DECIDE_REQ, &req, sizeof(req) / 4u);
}

static void release(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    struct order_release_ord ord = {.no = order->change.no};
    to_all(cntr, GSN_ORDER_RELEASE_ORD, &ord, sizeof(ord) / 4u);
    master_move(cntr, ORDER_MASTER_IDLE);
    order->done++;
    order->again_ms = QUIET_MS;
    look_in(cntr, 0);
    (void)cntr_rejoin_asked(cntr);
}

/* Somebody has decided: then nothing was under way anywhere. */
static void all_answered(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    bool decided = order->change.no.count != 0;
    jam_data(decided);
    if (order->held.count != 0 && !same(&order->held, &order->change.no)) {
        struct order_abort_ord ord = {.no = order->held};
        to_all(cntr, GSN_ORDER_ABORT_ORD, &ord, sizeof(ord) / 4u);
    }
    if (decided) {
        decide(cntr);
        return;
    }
    master_move(cntr, ORDER_MASTER_IDLE);
    cntr_order_changed(cntr, QUIET_MS);
    (void)cntr_rejoin_asked(cntr);
}

static void goes_on(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    if (!node_mask_empty(&order->waiting)) return;
    if (order->master == ORDER_PREPARING)
        decide(cntr);
    else if (order->master == ORDER_DECIDING)
        release(cntr);
    else if (order->master == ORDER_ASKING)
        all_answered(cntr);
}

static bool answers(const struct cntr *cntr, uint32_t node, enum order_master state,
                    const struct order_no *no)
{
    const struct cntr_order *order = &cntr->order;
    return order->master == state && node_mask_has(&order->waiting, node) &&
           same(no, &order->change.no);
}

void cntr_exec_ORDER_PREPARE_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    uint32_t node = ref_node(sig->sender);
    if (!answers(cntr, node, ORDER_PREPARING, &SIG_PAYLOAD(sig, order_prepare_conf)->no)) {
        jam(); /* This answers a change that was given up. */
        return;
    }
    jam_data(node);
    node_mask_remove(&cntr->order.waiting, node);
    goes_on(cntr);
}

void cntr_exec_ORDER_PREPARE_REF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    uint32_t node = ref_node(sig->sender);
    if (cntr->order.master != ORDER_PREPARING ||
        !same(&SIG_PAYLOAD(sig, order_prepare_ref)->no, &cntr->order.change.no)) {
        jam();
        return;
    }
    jam_data(node);
    give_up(cntr);
}

void cntr_exec_ORDER_DECIDE_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    uint32_t node = ref_node(sig->sender);
    if (!answers(cntr, node, ORDER_DECIDING, &SIG_PAYLOAD(sig, order_decide_conf)->no)) {
        jam();
        return;
    }
    jam_data(node);
    node_mask_remove(&cntr->order.waiting, node);
    goes_on(cntr);
}

void cntr_exec_ORDER_STATE_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_order *order = &cntr->order;
    const struct order_state_conf *conf = SIG_PAYLOAD(sig, order_state_conf);
    uint32_t node = ref_node(sig->sender);
    if (order->master != ORDER_ASKING || conf->failure_no != cntr->rejoin.failure_no ||
        !node_mask_has(&order->waiting, node)) {
        jam();
        return;
    }
    jam_data(conf->state);
    node_mask_remove(&order->waiting, node);
    if (conf->state == ORDER_DECIDED && newer(&conf->no, &order->change.no)) {
        order->change.no = conf->no;
        order->change.places = conf->places;
    } else if (conf->state == ORDER_HOLDING && newer(&conf->no, &order->held)) {
        order->held = conf->no;
    }
    goes_on(cntr);
}

/* --- Member. --- */

static void to_tcs(struct cntr *cntr, uint32_t gsn, const void *payload, uint32_t words)
{
    for (uint32_t i = 1; i <= block_instances(&cntr->block, BLOCK_DBTC); i++)
        signal_send(&cntr->block, cntr_local(cntr, BLOCK_DBTC) + i, gsn, PRIO_A, payload, words,
                    NULL, 0);
}

static void member_move(struct cntr *cntr, enum order_state state)
{
    static const uint32_t edges[ORDER_STATES] = {
        [ORDER_IDLE] = 1u << ORDER_HOLDING,
        [ORDER_HOLDING] = 1u << ORDER_DECIDED | 1u << ORDER_IDLE,
        [ORDER_DECIDED] = 1u << ORDER_IDLE,
    };
    ndbrequire((edges[cntr->order.state] >> state & 1u) != 0); /* I-ORDER-1 */
    jam_data(state);
    cntr->order.state = state;
}

static bool places_good(const struct order_places *places)
{
    for (uint32_t i = 0; i < ORDER_NODES; i++) {
        if (places->node[i] > DATA_NODE_ID_MAX) return false;
    }
    return true;
}

static bool from_president(const struct cntr *cntr, const struct signal *sig)
{
    return ref_node(sig->sender) == cntr->president && cntr->state != CNTR_FAILING;
}

/* This node has dealt with all failures, and nothing else is going on. */
static bool may_hold(const struct cntr *cntr, const struct order_prepare_req *req)
{
    return cntr->state == CNTR_RUNNING && cntr->level == START_STARTED && cntr->single.node == 0 &&
           cntr->order.state == ORDER_IDLE && req->no.failure_no == cntr->rejoin.failure_no &&
           cntr->taken_no >= cntr->rejoin.failure_no && newer(&req->no, &cntr->order.no) &&
           places_good(&req->places);
}

void cntr_exec_ORDER_PREPARE_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_order *order = &cntr->order;
    const struct order_prepare_req *req = SIG_PAYLOAD(sig, order_prepare_req);
    if (!from_president(cntr, sig)) return;
    if (!may_hold(cntr, req)) {
        jam();
        struct order_prepare_ref ref = {.no = req->no};
        sig_send(block, sig->sender, GSN_ORDER_PREPARE_REF, PRIO_A, &ref);
        return;
    }
    member_move(cntr, ORDER_HOLDING);
    order->no = req->no;
    order->places = req->places;
    order->tcs = block_instances(block, BLOCK_DBTC);
    struct order_hold_req hold = {.no = req->no};
    to_tcs(cntr, GSN_ORDER_HOLD_REQ, &hold, sizeof(hold) / 4u);
}

void cntr_exec_ORDER_HOLD_CONF(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_order *order = &cntr->order;
    if (order->state != ORDER_HOLDING ||
        !same(&SIG_PAYLOAD(sig, order_hold_conf)->no, &order->no)) {
        jam(); /* It was given up. */
        return;
    }
    ndbrequire(order->tcs > 0);
    jam_data(order->tcs);
    if (--order->tcs > 0) return;
    struct order_prepare_conf conf = {.no = order->no};
    sig_send(block, block_ref(cntr->president, BLOCK_NDBCNTR, 0), GSN_ORDER_PREPARE_CONF, PRIO_A,
             &conf);
}

static void take(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    leave_out(&order->places, &cntr->members);
    struct order_places_rep rep = {.places = order->places};
    tell(cntr, &order->places);
    for (uint32_t i = 0; i < ORDER_NODES; i++) {
        uint32_t node = order->places.node[i];
        if (node != 0) order->place[node] = order->places.place[i];
    }
    to_tcs(cntr, GSN_ORDER_PLACES_REP, &rep, sizeof(rep) / 4u);
    sig_send(&cntr->block, cntr_local(cntr, BLOCK_DBDICT), GSN_ORDER_PLACES_REP, PRIO_A, &rep);
}

void cntr_exec_ORDER_DECIDE_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    struct cntr_order *order = &cntr->order;
    const struct order_decide_req *req = SIG_PAYLOAD(sig, order_decide_req);
    struct order_decide_conf conf = {.no = req->no};
    if (!from_president(cntr, sig) || newer(&req->no, &order->no) || !places_good(&req->places)) {
        jam();
        return;
    }
    if (same(&req->no, &order->no) && order->state == ORDER_HOLDING && order->tcs == 0) {
        order->places = req->places;
        member_move(cntr, ORDER_DECIDED);
        take(cntr);
    }
    sig_send(block, sig->sender, GSN_ORDER_DECIDE_CONF, PRIO_A, &conf);
}

static void end_hold(struct cntr *cntr)
{
    struct order_hold_end_ord ord = {.no = cntr->order.no};
    member_move(cntr, ORDER_IDLE);
    to_tcs(cntr, GSN_ORDER_HOLD_END_ORD, &ord, sizeof(ord) / 4u);
}

void cntr_exec_ORDER_RELEASE_ORD(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    bool mine = same(&SIG_PAYLOAD(sig, order_release_ord)->no, &cntr->order.no);
    if (!from_president(cntr, sig) || !mine || cntr->order.state != ORDER_DECIDED) return;
    jam();
    end_hold(cntr);
}

void cntr_exec_ORDER_ABORT_ORD(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    /* Or an older one: this node hung, and then a new president asked whom to tell. */
    bool mine = !newer(&cntr->order.no, &SIG_PAYLOAD(sig, order_abort_ord)->no);
    if (!from_president(cntr, sig) || !mine || cntr->order.state != ORDER_HOLDING) return;
    jam();
    end_hold(cntr);
}

static void answer_state(struct cntr *cntr, uint32_t receiver)
{
    const struct cntr_order *order = &cntr->order;
    struct order_state_conf conf = {.failure_no = cntr->rejoin.failure_no,
                                    .state = order->state,
                                    .no = order->no,
                                    .places = order->places};
    jam_data(order->state);
    sig_send(&cntr->block, receiver, GSN_ORDER_STATE_CONF, PRIO_A, &conf);
}

/* Before this node knows of the failure a word of the former president could still come. */
void cntr_exec_ORDER_STATE_REQ(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    uint32_t failure_no = SIG_PAYLOAD(sig, order_state_req)->failure_no;
    jam_data(failure_no);
    cntr->order.asked = 0;
    if (failure_no == cntr->rejoin.failure_no) {
        answer_state(cntr, sig->sender);
    } else if (failure_no > cntr->rejoin.failure_no) {
        cntr->order.asked = sig->sender;
        cntr->order.asked_no = failure_no;
    }
}

/* --- Who comes and goes, who is slow. --- */

/* A node's place after its return, or 0: it is lost. */
void cntr_order_place(struct cntr *cntr, uint32_t node, uint32_t place)
{
    cntr->order.place[node] = place;
    node_mask_remove(&cntr->order.slow, node);
}

static void ask_all(struct cntr *cntr)
{
    struct cntr_order *order = &cntr->order;
    struct order_state_req req = {.failure_no = cntr->rejoin.failure_no};
    master_move(cntr, ORDER_ASKING);
    order->waiting = cntr_alive(cntr);
    memset(&order->change, 0, sizeof(order->change));
    memset(&order->held, 0, sizeof(order->held));
    to_all(cntr, GSN_ORDER_STATE_REQ, &req, sizeof(req) / 4u);
}

void cntr_order_lost(struct cntr *cntr, const struct node_failrep *rep, bool succeeds)
{
    struct cntr_order *order = &cntr->order;
    if (order->asked != 0 && order->asked_no == rep->failure_no) {
        answer_state(cntr, order->asked);
        order->asked = 0;
    }
    node_mask_cut(&order->waiting, &rep->nodes);
    if (succeeds) {
        memset(&order->slow, 0, sizeof(order->slow)); /* QMGR says it again. */
        ask_all(cntr);
    } else if (order->master == ORDER_ASKING) {
        ask_all(cntr);
    } else if (order->master == ORDER_PREPARING) {
        give_up(cntr);
    } else {
        goes_on(cntr);
    }
    cntr_order_changed(cntr, QUIET_MS);
}

bool cntr_order_busy(const struct cntr *cntr)
{
    return cntr->order.master != ORDER_MASTER_IDLE;
}

void cntr_exec_NODE_PACE_REP(struct block *block, const struct signal *sig)
{
    struct cntr *cntr = cntr_of(block);
    const struct node_pace_rep *rep = SIG_PAYLOAD(sig, node_pace_rep);
    ndbrequire(rep->node != 0 && rep->node <= DATA_NODE_ID_MAX);
    if (!cntr_is_president(cntr) || !node_mask_has(&cntr->started, rep->node)) {
        jam();
        return;
    }
    if (node_mask_has(&cntr->order.slow, rep->node) == (rep->slow != 0)) return;
    jam_data(rep->slow);
    if (rep->slow != 0)
        node_mask_add(&cntr->order.slow, rep->node);
    else
        node_mask_remove(&cntr->order.slow, rep->node);
    cntr_order_changed(cntr, 0);
}
