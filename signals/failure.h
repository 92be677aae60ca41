/* failure.h -- how the members of a started cluster agree on who has failed. See
 * docs/protocols/failure.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * All between QMGRs of data nodes, priority A. Words of another incarnation, and of nodes that the
 * receiver has fenced, are dropped.
 */

/* Whom the sender reaches, itself included. */
struct fail_reach_rep {
    uint32_t incarnation;
    uint32_t ask;    /* Number of a question that is to be answered; 0: none. */
    uint32_t answer; /* Number of the question that this answers; 0: none. */
    /* 0: `row` is the sender's; else that of this node, as it told, and the rest is 0. */
    uint32_t of;
    struct node_mask row; /* Nodes that are reached. */
    /* Nodes fenced by the sender in the round under way; newcomers lost to it, too. */
    struct node_mask fenced;
    uint32_t patience_ms; /* Patience of the sender, by the delays that it has seen itself. */
    uint32_t accused; /* Node to which the sender has closed the link for what it sent; 0: none. */
    uint32_t lost;    /* 1: some nodes that the sender does not reach are lost to it for good. */
};
SIGNAL_STRUCT(fail_reach_rep, 23);

/* Leader to all that stay: fence `nodes`. */
struct fail_prepare {
    uint32_t incarnation;
    uint32_t number;  /* Number of this failure: 1 + that of the leader's last one. */
    uint32_t attempt; /* The leader's count of its FAIL_PREPAREs. */
    /* enum arbit_code by the votes that the leader counts, before it asks anybody. */
    uint32_t verdict;
    struct node_mask nodes;
    struct node_mask last; /* Nodes of the failure before: `number` - 1. */
};
SIGNAL_STRUCT(fail_prepare, 20);
struct fail_conf {
    uint32_t incarnation;
    uint32_t number;
    uint32_t attempt;
    /* Members without a vote for the sender, until this failure is behind it. */
    struct node_mask newcomers;
};
SIGNAL_STRUCT(fail_conf, 11);
enum fail_ref_cause {
    FAIL_REF_COMMITTED = 1, /* The sender has committed `number` with `nodes`. */
    FAIL_REF_LARGER = 2,    /* The sender has fenced `nodes` in this round. */
    FAIL_REF_BROKEN = 3     /* The sender reaches only `nodes`. */
};
struct fail_ref {
    uint32_t incarnation;
    uint32_t number; /* COMMITTED: number of the sender's last failure; else that of the request. */
    uint32_t attempt;
    uint32_t cause; /* enum fail_ref_cause */
    struct node_mask nodes;
};
SIGNAL_STRUCT(fail_ref, 12);

/* Leader to all that stay, and later to one that missed it. */
struct fail_commit {
    uint32_t incarnation;
    uint32_t number;
    uint32_t verdict; /* enum arbit_code */
    struct node_mask nodes;
};
SIGNAL_STRUCT(fail_commit, 11);

/* To those that leave, from each that stays. The receiver stops when that is agreed, or when those
 * that have said so would go on by themselves, or where half of the nodes may go on without asking
 * anybody, and those that stay with the sender are half. Until then the sender counts as lost: it
 * may be the only one that thinks so, as who hears nobody any more thinks that all others leave. */
struct fail_out_rep {
    uint32_t incarnation;
    uint32_t number;
    uint32_t agreed;  /* 1: the failure `number` is behind the sender; 0: it is under way. */
    uint32_t verdict; /* Under way: enum arbit_code of those that stay, before any arbitrator. */
};
SIGNAL_STRUCT(fail_out_rep, 4);
