/* qmgr.h -- how data nodes become members of the cluster and watch each other. See
 * docs/protocols/membership.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * All between QMGRs, priority A. `attempt` counts the sender's tries to join, `incarnation` is a
 * random number drawn by the president when it is elected: what belongs to another one is a
 * leftover and is dropped.
 */

/* NDBCNTR to its QMGR, before phase 1 of a node that stands aside: what it knows of the newest
 * data, though it cannot bring it (restart.md). GCI 0: nothing. */
struct cm_known_ord {
    uint32_t incarnation;     /* Incarnation of the newest data. */
    uint32_t gci;             /* Newest GCI of that data; 0: nothing is known. */
    struct node_mask members; /* Nodes that took part in that incarnation. */
};
SIGNAL_STRUCT(cm_known_ord, 10);

/* GIVEN_UP: it was started with --initial. */
enum cm_data { CM_DATA_NONE = 0, CM_DATA_KEPT = 1, CM_DATA_GIVEN_UP = 2 };

/* A node that wants to join asks every data node that it is linked to, again and again until one
 * says CONF. */
struct cm_regreq {
    uint32_t attempt;
    uint32_t version;          /* NDB_VERSION of the sender. */
    uint32_t fixed;            /* Digest of what all must have alike in their configuration. */
    uint32_t candidate;        /* Lowest node id that it sees, itself included. */
    uint32_t has_data;         /* enum cm_data: files that the cluster can come back from. */
    struct node_mask linked;   /* Data nodes to which it has a link. */
    uint32_t aside;            /* 1: it takes no part in a start: it comes when the others run. */
    struct cm_known_ord known; /* If `aside`: what the data of others is judged by. */
};
SIGNAL_STRUCT(cm_regreq, 24);

struct cm_regconf { /* From the president: the join has begun. */
    uint32_t attempt;
    uint32_t incarnation;
    uint32_t president;
    uint32_t dynamic_id;       /* The joiner's dynamic id: its place in the ring. */
    struct node_mask members;  /* Members so far, without the joiner. */
    struct node_mask expected; /* The start is complete when all of these are members; in a running
                                  cluster the members that are started: others come back too. */
    uint32_t running;          /* 1: the cluster is started, the joiner comes back alone. */
    uint32_t failure_no;       /* Failures that the members have seen. */
};
SIGNAL_STRUCT(cm_regconf, 22);

enum cm_ref_cause {
    CM_REF_BUSY = 1,     /* Another node is being added, or a lost one dealt with; ask again. */
    CM_REF_ELECTION = 2, /* No president yet; candidate says whom the sender would follow. */
    CM_REF_NOT_PRESIDENT = 3, /* Ask the president. */
    CM_REF_VERSION = 4,
    CM_REF_GENERATION = 5,
    CM_REF_NOT_IN_CONFIG = 6,
    CM_REF_RUNNING = 7, /* The cluster runs without this node, and it cannot come in now: before
                               the next start, unless the cluster survives failures. */
    /* Nobody comes back in single user mode (the log says 2314); ask again. */
    CM_REF_SINGLE_USER = 8,
    CM_REF_GROUP = 9 /* Another node of the same node group (`candidate`) comes back first. */
};
struct cm_regref {
    uint32_t attempt;
    uint32_t cause; /* enum cm_ref_cause */
    /* Node that the sender would follow; 0: it does not start yet or stands aside. */
    uint32_t candidate;
    uint32_t president; /* 0 = none. */
};
SIGNAL_STRUCT(cm_regref, 4);

/* The joiner tells each member who it is; the member answers who it is itself. */
struct cm_nodeinforeq {
    uint32_t incarnation;
    uint32_t dynamic_id;
    uint32_t version;
    uint32_t ldm_count;
    uint32_t tc_count;
};
SIGNAL_STRUCT(cm_nodeinforeq, 5);
struct cm_nodeinfoconf {
    uint32_t incarnation;
    uint32_t dynamic_id;
    uint32_t version;
    uint32_t ldm_count;
    uint32_t tc_count;
};
SIGNAL_STRUCT(cm_nodeinfoconf, 5);
struct cm_nodeinforef { /* The receiver does not belong to this incarnation: the joiner starts over.
                         */
    uint32_t incarnation;
    uint32_t cause;
};
SIGNAL_STRUCT(cm_nodeinforef, 2);

/*
 * President to all members and the joiner. PREPARE: the joiner answers when it knows every member.
 * COMMIT: from now on the node is a member.
 */
enum cm_add_phase { CM_ADD_PREPARE = 1, CM_ADD_COMMIT = 2 };
struct cm_add_req {
    uint32_t incarnation;
    uint32_t phase;
    uint32_t node;
    uint32_t dynamic_id;
    /* The president's failure number: a member that is not there yet does not confirm. */
    uint32_t failure_no;
};
SIGNAL_STRUCT(cm_add_req, 5);
struct cm_add_conf {
    uint32_t incarnation;
    uint32_t phase;
    uint32_t node;
};
SIGNAL_STRUCT(cm_add_conf, 3);

/* To the right neighbour in the ring, every HeartbeatIntervalDbDb. */
struct cm_heartbeat {
    uint32_t incarnation;
};
SIGNAL_STRUCT(cm_heartbeat, 1);

/* The sender has left this incarnation while starting and joins anew, or it stops, in good order or
 * because a node was lost before all counted it: the others treat it as a lost member. Who stops
 * will not go on: it does not count when the others ask whether they may. */
struct cm_leave_rep {
    uint32_t incarnation;
    uint32_t stops; /* 1: the sender stops; 0: it joins anew. */
};
SIGNAL_STRUCT(cm_leave_rep, 2);

/* To a node that has come back: from now on the sender counts it as a full member. It counts itself
 * when all others do. */
struct cm_counted_rep {
    uint32_t incarnation;
    uint32_t dynamic_id; /* The receiver's dynamic id. */
};
SIGNAL_STRUCT(cm_counted_rep, 2);

/* NDBCNTR to its QMGR: this node stops while the others go on, and it has come to the end. */
struct cm_stop_ord {
    uint32_t unused;
};
SIGNAL_STRUCT(cm_stop_ord, 1);

/*
 * QMGR to NDBCNTR, DBDIH, DBDICT and CMVMI of its node: all expected nodes are members. Section 0:
 * per member, in node id order, MEMBER_WORDS words { node, dynamic id, LDM instances, TC instances
 * }. Section 1, to NDBCNTR before a start: of each node in sight that stands aside and knows of
 * data, KNOWN_WORDS words: its id and a cm_known_ord.
 */
#define MEMBER_WORDS 4u
#define KNOWN_WORDS  11u
struct members_rep {
    uint32_t incarnation;
    uint32_t president;
    uint32_t dynamic_id; /* The own node's dynamic id. */
    struct node_mask members;
    uint32_t running;           /* 1: the cluster is started, this node comes back. */
    uint32_t failure_no;        /* Failures that this incarnation has seen. */
    struct node_mask newcomers; /* With `running`: members that are not started, this one too. */
};
SIGNAL_STRUCT(members_rep, 21);
