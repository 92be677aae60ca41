/* lqh_include.h -- a lost node comes back: how far it is here, what it does without its rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct lqh;
struct lqh_continueb;
struct lqh_op;
struct lqh_table;
struct node_lost_rep;

/*
 * A node P comes back; what an LQH does that P copies fragments from.
 * WAITING (for LQH_INCLUDE_REP of all TCs) --> ALONE (operations that do not go to P) --> READY.
 */
enum lqh_include_state { INCLUDE_NONE = 0, INCLUDE_WAITING, INCLUDE_ALONE, INCLUDE_READY };

/* What is known of a data node's life. */
struct lqh_life {
    uint32_t rank;      /* Rank of this life; 0: the node was there from the beginning. */
    uint32_t lost_no;   /* Number of the failure that the node was last lost with; 0: none. */
    uint32_t instances; /* Number of TCs that send LQH_INCLUDE_REP from it; 0: it is not known. */
};

/* How far a node that comes back has come here. */
struct lqh_back {
    uint8_t state;                      /* enum lqh_include_state */
    bool taken;                         /* The node is not in fail.lost any more. */
    bool told;                          /* NODE_INCLUDE_REP has come: `others` is known. */
    bool seen;                          /* The walk has found an operation that is in the way. */
    struct node_mask others;            /* The other live nodes, by NODE_INCLUDE_REP. */
    uint32_t tcs[DATA_NODE_ID_MAX + 1]; /* By node: a bit per TC that has sent LQH_INCLUDE_REP. */
};

struct lqh_include {
    struct node_mask nodes; /* Nodes that come back, or have come back and were not lost since. */
    bool any;               /* Whether `nodes` has one. */
    uint32_t copying;       /* At P: number of fragments here that have not been copied. */
    uint32_t conf_to;       /* At P: who gets NODE_INCLUDE_CONF when all fragments are marked. */
    uint32_t conf_data;
    uint32_t gci;          /* At P: newest GCI of the rows from its own files; 0: it has none. */
    struct lqh_back *back; /* Array by node id. */
    struct lqh_life *life; /* Array by node id. */
};

/* lqh_include.c */
void lqh_include_init(struct lqh *lqh);
void lqh_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig);
void lqh_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig);
void lqh_exec_LQH_INCLUDE_REP(struct block *block, const struct signal *sig);
void lqh_include_step(struct lqh *lqh, const struct lqh_continueb *work);
void lqh_include_lost(struct lqh *lqh, const struct node_lost_rep *rep);
void lqh_include_try(struct lqh *lqh); /* The walk for a failure is over. */
void lqh_tc_back(struct lqh *lqh, uint32_t tc_ref);
/* The source of a copy: nothing is under way any more that P does not take part in. Asked again and
 * again: the first question begins the search. */
bool lqh_included(struct lqh *lqh, uint32_t node, uint32_t rank);
bool lqh_fragment_copying(const struct lqh *lqh, uint32_t table_id, uint32_t fragment_id);
void lqh_fragment_copied(struct lqh *lqh, uint32_t table_id, uint32_t fragment_id);
/* It is dropped: none is to be copied. */
void lqh_table_copied(struct lqh *lqh, struct lqh_table *table);
/* CHAIN_SKIP or 0: does a node that comes back execute what is done in this place? */
uint32_t lqh_include_skip(const struct lqh *lqh, const struct lqh_op *op, uint32_t page,
                          uint32_t slot);
/* A write that comes from another replica into a fragment that is being copied. */
bool lqh_copies(const struct lqh *lqh, const struct lqh_op *op);
