/* lqh_nodefail.h -- data nodes that are lost: what is known of them, and what becomes of the
 * operations that they took part in. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct lqh;
struct lqh_continueb;
struct lqh_op;

#define LQH_INDEX_SIZE    4096u /* Lists of operations that TCs resolve; power of two. */
#define LQH_INSTANCES_MAX 24u   /* Most instances of DBLQH, or of DBTC, on a node. */

/* Up to which failure an LQH has sent LQH_FLUSH_REP. */
struct lqh_flushed {
    uint32_t instances; /* Instances of DBLQH on the node; 0: their number is not known. */
    uint32_t failure_no[LQH_INSTANCES_MAX + 1];
};

/* What the loss of data nodes asks for; see docs/protocols/takeover.md. */
struct lqh_fail {
    bool any;            /* Some node is lost: look at the masks. */
    bool reported;       /* The walk for failure_no is over. */
    bool walking;        /* The walk for failure_no is under way. */
    uint32_t failure_no; /* Number of the newest failure; 0: there was none. */
    struct node_mask lost;
    struct node_mask lost_tcs; /* Nodes whose TCs' operations are orphans. One that comes back stays
                                  in here until a TC of its new life speaks. */
    struct node_mask alive;
    struct lqh_flushed *flushed; /* Array by node id. */
    uint32_t *index;             /* First operations of LQH_INDEX_SIZE lists. */
};

/* lqh_nodefail.c */
void lqh_nodefail_init(struct lqh *lqh);
void lqh_exec_NODE_LOST_REP(struct block *block, const struct signal *sig);
void lqh_exec_LQH_FLUSH_REP(struct block *block, const struct signal *sig);
void lqh_exec_LQH_ORPHAN_REQ(struct block *block, const struct signal *sig);
void lqh_nodefail_step(struct lqh *lqh, const struct lqh_continueb *work);
/* Is the TC, or one of these replicas, lost? See lqh_doomed(). */
bool lqh_lost(const struct lqh *lqh, uint32_t tc_ref, uint32_t nodes);
/* Drops an operation that waits for a lock. */
void lqh_op_drop_waiting(struct lqh *lqh, struct lqh_op *op);

/* lqh_resolve.c */
void lqh_index_add(struct lqh *lqh, struct lqh_op *op);
void lqh_index_remove(struct lqh *lqh, struct lqh_op *op);
void lqh_exec_OP_RESOLVE_REQ(struct block *block, const struct signal *sig);
