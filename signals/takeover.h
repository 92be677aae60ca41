/* takeover.h -- DBTC and DBLQH end what a lost data node had under way. See
 * docs/protocols/takeover.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/lqhkey.h"

/* NDBCNTR to DIH and all TC and LQH instances: data nodes are lost, and fenced. Prio A. */
struct node_lost_rep {
    uint32_t failure_no;    /* 1, 2, ... the same order on all survivors. */
    uint32_t president;     /* President among those that go on. */
    struct node_mask nodes; /* Nodes lost with this failure. */
    struct node_mask alive; /* Data nodes that go on, this one included. */
};
SIGNAL_STRUCT(node_lost_rep, 18);

/* LQH to all LQHs of the other survivors, prio B: behind all that it passed on along chains. */
struct lqh_flush_rep {
    uint32_t failure_no;
    uint32_t instances; /* LQHs of the sender's node. */
};
SIGNAL_STRUCT(lqh_flush_rep, 2);

/* LQH to the take-over TC: an operation of a lost TC. Prio B. */
struct lqh_orphan_rep {
    uint32_t failure_no;
    uint32_t pass;         /* Pass of the LQH_ORPHAN_REQ that is answered; 0: none is. */
    uint32_t requested_by; /* Sender of that request; 0: there is none. */
    uint32_t tc_ref;
    uint32_t tc_trans;
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t api_ref;
    uint32_t lqh_op;
    uint32_t nodes;     /* As in LQHKEYREQ. */
    uint32_t committed; /* 1: it is committed; 0: prepared. */
    uint32_t gci_hi;    /* Epoch of the commit. */
    uint32_t gci_lo;
};
SIGNAL_STRUCT(lqh_orphan_rep, 14);

/* LQH to all TCs of the survivors: all reports of this failure have been sent. */
struct lqh_fail_end_rep {
    uint32_t failure_no;
    uint32_t instances;
};
SIGNAL_STRUCT(lqh_fail_end_rep, 2);

/* The take-over TC's memory was short: all LQHs report its orphans once more. */
struct lqh_orphan_req {
    uint32_t failure_no;
    uint32_t pass;
};
SIGNAL_STRUCT(lqh_orphan_req, 2);
struct lqh_orphan_conf {
    uint32_t failure_no;
    uint32_t pass;
};
SIGNAL_STRUCT(lqh_orphan_conf, 2);

enum resolve_action {
    RESOLVE_COMMIT = 1,   /* Commits what is prepared; a backup keeps its lock. */
    RESOLVE_COMPLETE = 2, /* Completes what is committed. */
    RESOLVE_ABORT = 3,    /* Aborts what is prepared, or waits. */
};

/* TC to the LQH of one replica: end this operation in this way, if it is there. Prio B. */
struct op_resolve_req {
    uint32_t failure_no;
    uint32_t sender_data; /* Returned unchanged. */
    uint32_t action;      /* enum resolve_action */
    uint32_t tc_ref;      /* TC whose operation it is. */
    uint32_t tc_op;
    uint32_t transid1;
    uint32_t lqh_op; /* Operation record; REF_NONE: it is found by tc_ref and tc_op. */
    uint32_t gci_hi; /* RESOLVE_COMMIT: epoch of the commit. */
    uint32_t gci_lo;
};
SIGNAL_STRUCT(op_resolve_req, 9);
struct op_resolve_conf { /* All as in the request. */
    uint32_t failure_no;
    uint32_t sender_data;
    uint32_t tc_ref;
};
SIGNAL_STRUCT(op_resolve_conf, 3);

/* The take-over TC to the client whose TC was lost. Prio B. */
struct tckey_failconf {
    uint32_t transid1;
    uint32_t transid2;
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(tckey_failconf, 4);
struct tckey_failref {
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
};
SIGNAL_STRUCT(tckey_failref, 3);

/* TC to its node's DIH: nothing of the lost nodes up to this failure is left to do here. DIH to
 * NDBCNTR when all TCs have said so. */
struct takeover_end_rep {
    uint32_t failure_no;
};
SIGNAL_STRUCT(takeover_end_rep, 1);
