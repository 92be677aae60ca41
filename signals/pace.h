/* pace.h -- how the members of a started cluster find out who is slow. See docs/protocols/pace.md.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* Each member asks so many others: the next ones in the ring. */
#define PACE_PEERS 7u

/* QMGR to QMGR, priority A. Words of another incarnation, and of nodes that are no members, are
 * dropped. */
struct pace_ask_rep {
    uint32_t incarnation;
    uint32_t number; /* Number of the question; the answer has it too. */
};
SIGNAL_STRUCT(pace_ask_rep, 2);
struct pace_answer_rep {
    uint32_t incarnation;
    uint32_t number;
    uint32_t inside_ms; /* How late things are inside the answering node. */
};
SIGNAL_STRUCT(pace_answer_rep, 3);

/* What one node sees of others; node 0: the rest is empty. */
struct pace_row {
    uint32_t node[PACE_PEERS];
    uint32_t reach_ms[PACE_PEERS];  /* Milliseconds there and back. */
    uint32_t inside_ms[PACE_PEERS]; /* How late things are inside them, as they say. */
};

/* To the president, after each round of questions. */
struct pace_row_rep {
    uint32_t incarnation;
    struct pace_row row;
};
SIGNAL_STRUCT(pace_row_rep, 22);

/* President to all members, when it changes and every second. */
struct pace_slow_rep {
    uint32_t incarnation;
    struct node_mask slow;
    struct node_mask aside; /* Slow nodes that others of their node group can stand in for. */
};
SIGNAL_STRUCT(pace_slow_rep, 17);

/* QMGR to the TC and LQH instances of its node, priority B, and back at priority A: behind what
 * waits for their threads. */
struct pace_probe_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(pace_probe_req, 1);
struct pace_probe_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(pace_probe_conf, 1);

/* QMGR to NDBCNTR of its node, on all nodes: a node stands aside, or not any longer. A node that
 * has failed is forgotten without it. A new president's QMGR says it again. To CMVMI: the own node
 * is slow. */
struct node_pace_rep {
    uint32_t node;
    uint32_t slow; /* 1 = slow, 0 = well again. */
};
SIGNAL_STRUCT(node_pace_rep, 2);
