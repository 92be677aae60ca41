/* tc_nodefail.h -- data nodes that are lost: what is known of them, and what becomes of own
 * transactions that had replicas there. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_continueb;
struct tc_op;
struct tc_trans;

#define TC_LQHS_MAX 24u /* Most LQHs of a node: LDM_COUNT_MAX. */

/* Up to which failure the LQHs of a node have reported, and what else is known of its life. */
struct tc_lost_life {
    uint32_t rank;      /* Rank of this life; 0: the node was there from the beginning. */
    uint32_t place;     /* Its place among the replicas: order.h. */
    uint32_t lost_no;   /* Number of the failure that the node was last lost with; 0: none. */
    uint32_t back_no;   /* Number of the last failure before it came back. */
    uint32_t instances; /* Number of its LQHs; 0: it is not known. */
    uint32_t failure_no[TC_LQHS_MAX + 1]; /* Up to which failure each has reported. */
};

/* The loss of data nodes; see docs/protocols/takeover.md. */
struct tc_fail {
    bool any;            /* Some node is lost: look at the masks. */
    bool placed;         /* Some node's place is not 0: replicas are to be sorted. */
    bool marking;        /* Not all transactions that have lost a replica are aborted yet. */
    bool resolving;      /* All LQHs have reported: broken operations are ended by orders. */
    uint32_t failure_no; /* Number of the newest failure; 0: there was none. */
    uint32_t reported;   /* Number of the failure for which TAKEOVER_END_REP was sent last. */
    struct node_mask lost;
    struct node_mask alive;
    struct tc_lost_life *ended; /* Array by node id. */
};

/* tc_nodefail.c */
void tc_nodefail_init(struct tc *tc);
void tc_exec_NODE_LOST_REP(struct block *block, const struct signal *sig);
void tc_exec_LQH_FAIL_END_REP(struct block *block, const struct signal *sig);
void tc_nodefail_step(struct tc *tc, const struct tc_continueb *work);
void tc_nodefail_check(struct tc *tc); /* Something has ended: is that all? */
bool tc_any_lost(const struct tc *tc, uint32_t nodes);
bool tc_has_broken(struct tc *tc, const struct tc_trans *trans);
/* The live nodes of a fragment in the order of their places, packed as in LQHKEYREQ. */
uint32_t tc_live_nodes(const struct tc *tc, const uint8_t *nodes);

/* tc_resolve.c */
void tc_resolve(struct tc *tc, struct tc_op *op); /* Orders what its state waits for. */
void tc_resolve_if_due(struct tc *tc, struct tc_op *op);
void tc_exec_OP_RESOLVE_CONF(struct block *block, const struct signal *sig);
