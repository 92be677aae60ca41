/* qmgr_link.c -- turns the kernel's reports about links into "this node is here" and "this node is
 * gone". */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/qmgr/qmgr_state.h"

/*
 * A lost link is reported once per thread, behind everything that it delivered to that thread. The
 * next link's LINK_UP_REP (priority A) may overtake those reports: it then waits in `pending`.
 */
static void link_up(struct qmgr *qmgr, uint32_t node)
{
    event_send(&qmgr->block, EVENT_CONNECTED, node);
    if (!qmgr_is_data(qmgr, node)) {
        jam();
        qmgr_client_up(qmgr, node);
        return;
    }
    jam();
    node_mask_add(&qmgr->linked, node);
    qmgr->peer[node].agreed = 0;
    if (node <= DATA_NODE_ID_MAX) qmgr->rejoin.asked_ms[node] = now_ms(&qmgr->block);
    if (qmgr->join.state == JOIN_ELECTION) qmgr_join_look(qmgr);
    qmgr_rejoin_linked(qmgr, node);
}

static void link_lost(struct qmgr *qmgr, uint32_t node, uint32_t end)
{
    bool refused = end == LINK_END_REFUSED;
    event_send(&qmgr->block, EVENT_DISCONNECTED, node);
    if (!qmgr_is_data(qmgr, node)) {
        jam();
        qmgr_client_down(qmgr, node);
        return;
    }
    jam();
    node_mask_remove(&qmgr->linked, node);
    qmgr->peer[node].aside = 0;
    qmgr->peer[node].known.gci = 0;
    qmgr->peer[node].agreed = 0;
    if (refused) qmgr_accuse(qmgr, node);
    if (end == LINK_END_DISMISSED) qmgr_dismissed(qmgr, node);
    qmgr_member_lost(qmgr, node, refused ? "it breaks the protocol" : "its link is down");
    qmgr_rejoin_open(qmgr);
}

void qmgr_exec_LINK_UP_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct link_rep *rep = SIG_PAYLOAD(sig, link_rep);
    ndbrequire(rep->node <= NODE_ID_MAX);
    struct qmgr_link *link = &qmgr->link[rep->node];
    for (uint32_t i = 0; i < DOWN_SLOTS; i++) {
        if (link->down[i].epoch != rep->epoch) continue;
        jam(); /* Opened and lost before this report came. */
        return;
    }
    if (link->epoch != 0) {
        jam();
        link->pending = rep->epoch;
        return;
    }
    jam();
    link->epoch = rep->epoch;
    link->sender_class = rep->sender_class;
    link_up(qmgr, rep->node);
}

/* The record that counts the reports of one epoch. */
static struct link_down *down_of(struct qmgr_link *link, uint32_t epoch)
{
    for (uint32_t i = 0; i < DOWN_SLOTS; i++) {
        if (link->down[i].epoch == epoch) return &link->down[i];
    }
    struct link_down *down = &link->down[link->down_next++ % DOWN_SLOTS];
    *down = (struct link_down){.epoch = epoch};
    return down;
}

void qmgr_exec_LINK_DOWN_REP(struct block *block, const struct signal *sig)
{
    struct qmgr *qmgr = qmgr_of(block);
    const struct link_rep *rep = SIG_PAYLOAD(sig, link_rep);
    ndbrequire(rep->node <= NODE_ID_MAX);
    struct qmgr_link *link = &qmgr->link[rep->node];
    struct link_down *down = down_of(link, rep->epoch);
    if (++down->count < rep->threads) return;
    if (link->pending == rep->epoch) {
        jam(); /* It never became the link that QMGR acts on. */
        link->pending = 0;
        return;
    }
    if (link->epoch != rep->epoch) return;
    jam();
    link->epoch = 0;
    link_lost(qmgr, rep->node, rep->end);
    if (link->pending != 0) {
        jam();
        link->epoch = link->pending;
        link->pending = 0;
        link_up(qmgr, rep->node);
    }
}
