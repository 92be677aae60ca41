/* tc_order.c -- the order of the replicas changes: nothing begins until all that was under way has
 * ended everywhere. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between ORDER_HOLD_REQ and ORDER_HOLD_END_ORD requests that begin a transaction or a scan wait in
 * a queue, with all that the same connect record gets behind them. What is under way goes on, and
 * may begin operations. So there is nothing here that two orders could concern. See
 * docs/protocols/replica_order.md.
 */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_commit.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/scan/tc_scan.h"
#include "blocks/dbtc/schema/tc_order.h"
#include "signals/order.h"
#include "signals/scan.h"
#include "values/errors.h"

#define LOOK_MS      1u
#define STEP_RELEASE 16u

/* A part of the queue. A request is not cut: one that does not fit is refused. */
struct held_page {
    struct held_page *next;
    uint32_t begin; /* Words before the first request that is left. */
    uint32_t end;   /* Words in use. */
    uint32_t words[];
};
#define HELD_PAGE_WORDS ((PAGE_SIZE_BYTES - (uint32_t)sizeof(struct held_page)) / 4u)

/* --- Places. --- */

void tc_place_set(struct tc *tc, uint32_t node, uint32_t place)
{
    struct tc_fail *fail = &tc->fail;
    fail->ended[node].place = place;
    fail->placed = false;
    for (uint32_t i = 1; i <= DATA_NODE_ID_MAX; i++)
        fail->placed = fail->placed || fail->ended[i].place != 0;
}

void tc_exec_ORDER_PLACES_REP(struct block *block, const struct signal *sig)
{
    const struct order_places *places = &SIG_PAYLOAD(sig, order_places_rep)->places;
    ndbrequire(tc_of(block)->order.holding && tc_of(block)->order.sender == 0);
    for (uint32_t i = 0; i < ORDER_NODES; i++) {
        jam_data(places->node[i]);
        if (places->node[i] != 0) tc_place_set(tc_of(block), places->node[i], places->place[i]);
    }
}

/* --- The queue. --- */

static uint32_t extent_of(const struct signal *sig)
{
    uint32_t words = SIGNAL_HEAD_WORDS + sig->words + sig->section_count;
    for (uint32_t i = 0; i < sig->section_count; i++)
        words += sig->section[i].size;
    return words;
}

static uint32_t *room_for(struct tc *tc, uint32_t words)
{
    struct tc_order *order = &tc->order;
    struct held_page *page = order->last;
    if (words > HELD_PAGE_WORDS) return NULL;
    if (page == NULL || HELD_PAGE_WORDS - page->end < words) {
        page = arena_page(block_arena(&tc->block), RG_TRANSACTION);
        if (page == NULL) return NULL;
        jam();
        page->next = NULL;
        page->begin = page->end = 0;
        if (order->last != NULL)
            ((struct held_page *)order->last)->next = page;
        else
            order->first = page;
        order->last = page;
    }
    page->end += words;
    return page->words + page->end - words;
}

static bool keep(struct tc *tc, const struct signal *sig)
{
    uint32_t extent = extent_of(sig);
    uint32_t *to = room_for(tc, extent);
    if (to == NULL) return false;
    *to++ = signal_kind(sig->gsn, sig->words, sig->section_count, PRIO_B, sig->trace);
    *to++ = sig->receiver;
    *to++ = sig->sender;
    *to++ = extent;
    memcpy(to, sig->payload, sig->words * 4u);
    to += sig->words;
    for (uint32_t i = 0; i < sig->section_count; i++)
        *to++ = sig->section[i].size;
    for (uint32_t i = 0; i < sig->section_count; i++) {
        memcpy(to, sig->section[i].words, (size_t)sig->section[i].size * 4u);
        to += sig->section[i].size;
    }
    tc->order.count++;
    return true;
}

static void drop_page(struct tc *tc)
{
    struct tc_order *order = &tc->order;
    struct held_page *page = order->first;
    order->first = page->next;
    if (order->first == NULL) order->last = NULL;
    arena_page_release(block_arena(&tc->block), RG_TRANSACTION, page);
}

/* --- Without memory: the transaction or scan has never begun. --- */

static void refuse_trans(struct tc *tc, struct tc_connect *connect, const struct signal *sig)
{
    /* TCKEYREQ, TC_COMMITREQ and TCROLLBACKREQ have their transaction in different places. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t api_op = REF_NONE;
    if (sig->gsn == GSN_TCKEYREQ) {
        transid1 = SIG_PAYLOAD(sig, tckeyreq)->transid1;
        transid2 = SIG_PAYLOAD(sig, tckeyreq)->transid2;
        api_op = SIG_PAYLOAD(sig, tckeyreq)->api_op;
    } else {
        transid1 = SIG_PAYLOAD(sig, tc_commitreq)->transid1;
        transid2 = SIG_PAYLOAD(sig, tc_commitreq)->transid2;
    }
    connect->last_transid1 = transid1;
    connect->last_transid2 = transid2;
    connect->last_error = ERR_TC_TRANSACTIONS;
    struct tc_reason reason = {.error = ERR_TC_TRANSACTIONS, .api_op = api_op};
    tc_rollback_rep(tc, connect, transid1, transid2, &reason);
}

static void refuse_scan(struct tc *tc, struct tc_connect *connect, const struct signal *sig)
{
    struct scan_tabref ref = {.error = ERR_TC_TRANSACTIONS};
    if (sig->gsn == GSN_SCAN_TABREQ) {
        const struct scan_tabreq *req = SIG_PAYLOAD(sig, scan_tabreq);
        ref.api_scan = req->api_scan;
        ref.transid1 = req->transid1;
        ref.transid2 = req->transid2;
    } else {
        const struct scan_nextreq *req = SIG_PAYLOAD(sig, scan_nextreq);
        ref.api_scan = req->api_scan;
        ref.transid1 = req->transid1;
        ref.transid2 = req->transid2;
    }
    connect->last_transid1 = ref.transid1;
    connect->last_transid2 = ref.transid2;
    sig_send(&tc->block, sig->sender, GSN_SCAN_TABREF, PRIO_B, &ref);
}

/* True: it has been answered. What the record has in the queue is left out later. */
static bool overrun(struct tc *tc, struct tc_connect *connect, const struct signal *sig)
{
    jam_data(sig->gsn);
    connect->held_drop += connect->held;
    connect->held = 0;
    if (sig->gsn == GSN_TCRELEASEREQ || sig->gsn == GSN_TCROLLBACKREQ) return false;
    if (sig->gsn == GSN_SCAN_TABREQ || sig->gsn == GSN_SCAN_NEXTREQ)
        refuse_scan(tc, connect, sig);
    else
        refuse_trans(tc, connect, sig);
    return true;
}

bool tc_order_holds(struct tc *tc, const struct signal *sig, uint32_t tc_connect, bool begins)
{
    struct tc_connect *connect = tc_connect_find(tc, tc_connect, sig->sender);
    if (tc->order.running || connect == NULL) return false;
    bool first = tc->order.holding && begins && connect->trans == REF_NONE &&
                 connect->scan == REF_NONE && !connect->releasing;
    if (connect->held == 0 && !first) return false;
    if (!keep(tc, sig)) return overrun(tc, connect, sig);
    jam();
    connect->held++;
    return true;
}

static void execute(struct tc *tc, const struct signal *sig)
{
    struct block *block = &tc->block;
    tc->order.running = true;
    switch (sig->gsn) {
    case GSN_TCKEYREQ:
        tc_exec_TCKEYREQ(block, sig);
        break;
    case GSN_TC_COMMITREQ:
        tc_exec_TC_COMMITREQ(block, sig);
        break;
    case GSN_TCROLLBACKREQ:
        tc_exec_TCROLLBACKREQ(block, sig);
        break;
    case GSN_SCAN_TABREQ:
        tc_exec_SCAN_TABREQ(block, sig);
        break;
    case GSN_SCAN_NEXTREQ:
        tc_exec_SCAN_NEXTREQ(block, sig);
        break;
    case GSN_TCRELEASEREQ:
        tc_exec_TCRELEASEREQ(block, sig);
        break;
    default:
        ndbrequire(false); /* No others are kept. */
    }
    tc->order.running = false;
}

/* All requests that are kept begin with their connect record. */
static void execute_first(struct tc *tc)
{
    struct held_page *page = tc->order.first;
    struct signal sig;
    signal_open(&sig, page->words + page->begin);
    page->begin += page->words[page->begin + 3u];
    tc->order.count--;
    struct tc_connect *connect = tc_connect_find(tc, sig.payload[0], sig.sender);
    if (connect == NULL) {
        jam(); /* Its client has gone. */
    } else if (connect->held_drop > 0) {
        jam();
        connect->held_drop--;
    } else {
        ndbrequire(connect->held > 0);
        connect->held--;
        execute(tc, &sig);
    }
    if (page->begin == page->end) drop_page(tc);
}

void tc_order_release(struct tc *tc)
{
    struct tc_order *order = &tc->order;
    order->releasing = false;
    for (uint32_t i = 0; i < STEP_RELEASE && !order->holding; i++) {
        if (order->count == 0) {
            jam();
            order->on = false;
            return;
        }
        execute_first(tc);
    }
    if (order->holding) return;
    order->releasing = true;
    tc_continue(tc, TC_WORK_ORDER_RELEASE, REF_NONE, 0, 0);
}

/* --- NDBCNTR's orders. --- */

static bool nothing_left(const struct tc *tc)
{
    return tc->transactions.in_use == 0 && tc->scans.in_use == 0 && tc->orphans.in_use == 0 &&
           tc->fail.reported == tc->fail.failure_no && node_mask_empty(&tc->include.nodes);
}

void tc_order_step(struct tc *tc, uint32_t serial)
{
    struct tc_order *order = &tc->order;
    if (serial != order->serial || !order->holding || order->sender == 0) {
        jam(); /* It was given up. */
        return;
    }
    if (!nothing_left(tc)) {
        tc_continue_later(tc, TC_WORK_ORDER, serial, LOOK_MS);
        return;
    }
    jam();
    struct order_hold_conf conf = {.no = {order->number[0], order->number[1]}};
    sig_send(&tc->block, order->sender, GSN_ORDER_HOLD_CONF, PRIO_A, &conf);
    order->sender = 0;
}

void tc_exec_ORDER_HOLD_REQ(struct block *block, const struct signal *sig)
{
    struct tc_order *order = &tc_of(block)->order;
    const struct order_hold_req *req = SIG_PAYLOAD(sig, order_hold_req);
    ndbrequire(!order->holding);
    jam();
    order->on = order->holding = true;
    order->serial++;
    order->sender = sig->sender;
    order->number[0] = req->no.failure_no;
    order->number[1] = req->no.count;
    tc_order_step(tc_of(block), order->serial);
}

void tc_exec_ORDER_HOLD_END_ORD(struct block *block, const struct signal *sig)
{
    struct tc_order *order = &tc_of(block)->order;
    (void)sig;
    ndbrequire(order->holding);
    jam_data(order->count);
    order->holding = false;
    order->sender = 0;
    if (!order->releasing) tc_order_release(tc_of(block));
}
