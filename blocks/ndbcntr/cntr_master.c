/* cntr_master.c -- the president's NDBCNTR: lets all nodes pass a meeting point when the last one
 * has come. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/ndbcntr/cntr_state.h"

static bool all_there(const struct cntr *cntr, uint32_t point)
{
    const struct node_mask *members = &cntr->members;
    for (uint32_t node = node_mask_next(members, 0); node != 0;
         node = node_mask_next(members, node)) {
        const struct cntr_peer *peer = &cntr->peer[node];
        if (peer->incarnation != cntr->incarnation || peer->point < point) return false;
    }
    return true;
}

static void let_go(struct cntr *cntr, uint32_t point)
{
    if (point == POINT_START) {
        jam();
        struct cntr_start_conf conf = {.incarnation = cntr->incarnation,
                                       .start_type = START_INITIAL};
        signal_broadcast(&cntr->block, &cntr->members, BLOCK_NDBCNTR, GSN_CNTR_START_CONF, PRIO_A,
                         &conf, sizeof(conf) / 4u, NULL, 0);
        return;
    }
    jam_data(point);
    struct cntr_gorep rep = {.incarnation = cntr->incarnation, .point = point};
    signal_broadcast(&cntr->block, &cntr->members, BLOCK_NDBCNTR, GSN_CNTR_GOREP, PRIO_A, &rep,
                     sizeof(rep) / 4u, NULL, 0);
}

/*
 * A member may come before this node's own QMGR has told that all have joined; its word is kept
 * with its incarnation. This node's own word comes last in that case, so checking after each word
 * is enough.
 */
static void arrived(struct cntr *cntr, uint32_t node, uint32_t incarnation, uint32_t point)
{
    struct cntr_peer *peer = &cntr->peer[node];
    peer->incarnation = incarnation;
    peer->point = point;
    if (cntr->president != cntr_own(cntr) || incarnation != cntr->incarnation) {
        jam();
        return;
    }
    if (all_there(cntr, point)) let_go(cntr, point);
}

void cntr_exec_CNTR_START_REQ(struct block *block, const struct signal *sig)
{
    arrived(cntr_of(block), ref_node(sig->sender), SIG_PAYLOAD(sig, cntr_start_req)->incarnation,
            POINT_START);
}

void cntr_exec_CNTR_WAITREP(struct block *block, const struct signal *sig)
{
    const struct cntr_waitrep *rep = SIG_PAYLOAD(sig, cntr_waitrep);
    arrived(cntr_of(block), ref_node(sig->sender), rep->incarnation, rep->point);
}
