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
    uint32_t ask;    /* Not 0: to be answered with this number. */
    uint32_t answer; /* Not 0: the number of the question. */
    uint32_t of;     /* Not 0: this node's row, as it has told the sender; the rest is 0. */
    struct node_mask row;
    struct node_mask fenced; /* By the sender, in the round under way. */
    uint32_t patience_ms;    /* By the delays that the sender has seen. */
    uint32_t accused; /* To this node the sender has closed the link for what it sent; or 0. */
    uint32_t lost;    /* 1: some that it does not reach are lost to it for good. */
};
SIGNAL_STRUCT(fail_reach_rep, 23);

/* Leader to all that stay: fence `nodes`. */
struct fail_prepare {
    uint32_t incarnation;
    uint32_t number;  /* Of this failure: 1 + that of the leader's last one. */
    uint32_t attempt; /* The leader's count of its FAIL_PREPAREs. */
    uint32_t verdict; /* enum arbit_code by the votes that the leader counts, before it asks. */
    struct node_mask nodes;
    struct node_mask last; /* Nodes of the failure before, number - 1. */
};
SIGNAL_STRUCT(fail_prepare, 20);
struct fail_conf {
    uint32_t incarnation;
    uint32_t number;
    uint32_t attempt;
    struct node_mask newcomers; /* To the sender, which will not count them before this is over. */
};
SIGNAL_STRUCT(fail_conf, 11);
enum fail_ref_cause {
    FAIL_REF_COMMITTED = 1, /* The sender has committed `number` with `nodes`. */
    FAIL_REF_LARGER = 2,    /* It has fenced `nodes` in this round. */
    FAIL_REF_BROKEN = 3     /* It reaches only `nodes`. */
};
struct fail_ref {
    uint32_t incarnation;
    uint32_t number; /* COMMITTED: the sender's last one; else as asked. */
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
