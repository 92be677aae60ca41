/* cntr.h -- NDBCNTRs start and stop the cluster together. See docs/protocols/start.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * After phase 1, to the president's NDBCNTR: may I start? CONF to all when all members have asked.
 * A node that loses a member while starting leaves the incarnation; a request of a left incarnation
 * is not answered any more.
 */
struct cntr_start_req {
    uint32_t incarnation;
    uint32_t flags;            /* enum cntr_start_flag */
    uint32_t has_data;         /* 1: the rest says what the node has on disk; 0: it has nothing. */
    uint32_t gci;              /* Newest GCI that the data can be restored to. */
    uint32_t data_incarnation; /* Incarnation of the data: each start makes it greater. */
    uint32_t ldm_count; /* LDM instances that wrote the data; without data the configured number. */
    uint32_t schema_lo; /* Sequence of the dictionary's newest image; 0 = none. */
    uint32_t schema_hi;
    struct node_mask members; /* Nodes that took part in data_incarnation. */
};
SIGNAL_STRUCT(cntr_start_req, 16); /* Section 0: pairs { former incarnation, GCI at its end }. */
enum cntr_start_flag {
    CNTR_START_INITIAL = 1,
    CNTR_START_ACCEPT_LOSS = 2,
    CNTR_START_ASIDE = 4 /* It knows of this data, and cannot bring it: a node that stands aside. */
};
struct cntr_start_conf {
    uint32_t incarnation;
    uint32_t start_type; /* enum start_type */
    uint32_t gci;        /* The cluster comes back with what this GCI had; 0 = empty. */
    /* Incarnation of the data from now on; a start makes it greater than all before. */
    uint32_t data_incarnation;
    uint32_t schema_node; /* Node with the newest image of the dictionary; 0 = nobody. */
    uint32_t schema_lo;
    uint32_t schema_hi;
    uint32_t newest;         /* System restart: the node whose system file has `gci`. */
    struct node_mask joined; /* Node restart: members that are not started. */
    /* Node restart: those of `joined` that are in the chains of writes. */
    struct node_mask included;
};
/* Section 0: as above, the newest node's and its own end; in a node restart those of the running
 * incarnation. A node restart has two more: 1 pairs { node, rank } of rejoin.h, 2 pairs { node,
 * place } of order.h for those whose place is not their rank. */
SIGNAL_STRUCT(cntr_start_conf, 24);

/* The node cannot start with this data; it stops and says what the operator is to do. */
enum cntr_start_ref_reason {
    CNTR_REF_STALE = 1,     /* Others have gone on without this node. */
    CNTR_REF_NO_DATA = 2,   /* It is empty, others have data. */
    CNTR_REF_LDM = 3,       /* Its data was written with another number of LDM instances. */
    CNTR_REF_LAST_COPY = 4, /* --initial would destroy the last copy of a node group. */
    CNTR_REF_NO_COPY = 5    /* `node`'s node group has no copy among those that have come. */
};
struct cntr_start_ref {
    uint32_t incarnation;
    uint32_t reason; /* enum cntr_start_ref_reason */
    uint32_t node;   /* Node whose data counts; CNTR_REF_NO_COPY: a node whose data is missing. */
    uint32_t gci;    /* Newest GCI of the data that counts. */
    uint32_t data_incarnation;
};
SIGNAL_STRUCT(cntr_start_ref, 5);

/* Meeting point: "I have reached the end of phase `point`" to the president; GO to all when all
 * members have. */
struct cntr_waitrep {
    uint32_t incarnation;
    uint32_t point;
};
SIGNAL_STRUCT(cntr_waitrep, 2);
struct cntr_gorep {
    uint32_t incarnation;
    uint32_t point;
};
SIGNAL_STRUCT(cntr_gorep, 2);

/* To all members: the sender is started. The president passes it on to those who are on their way:
 * the sender may not have known them. */
struct cntr_started_rep {
    uint32_t incarnation;
    uint32_t node;
};
SIGNAL_STRUCT(cntr_started_rep, 2);

/*
 * To all members: the newest change of single user mode that the sender knows of
 * (docs/protocols/single_user.md). Changes are ordered by failure_no, then count.
 */
struct cntr_single_rep {
    uint32_t failure_no; /* Failure number at the president that gave the number. */
    uint32_t count;
    uint32_t node; /* The only client that may work; 0: all may. */
    uint32_t done; /* 0, or 1 + the last failure the sender had dealt with when nothing of others
                      was left at it. */
    uint32_t complete; /* 1: the sender knows that all started members were done. */
};
SIGNAL_STRUCT(cntr_single_rep, 5);

/*
 * To all started nodes: may the sender stop alone? Or, after that: it stays. The answer says
 * whether a node of each node group stays then, as far as its sender knows
 * (blocks/ndbcntr/cntr_permit.c).
 */
struct cntr_leave_req {
    uint32_t serial; /* Number of the sender's question; the answer has it too. */
    uint32_t stays;  /* 1: the sender stays, nothing is asked. */
};
SIGNAL_STRUCT(cntr_leave_req, 2);
struct cntr_leave_conf {
    uint32_t serial;
    uint32_t may; /* 1: a node of each node group stays. */
};
SIGNAL_STRUCT(cntr_leave_conf, 2);

/*
 * To all members: the sender stops and has reached this level. With STOP_SYSTEM the receiver stops
 * too; nobody leaves before all have reached START_STOPPING_4 or the time for it is over.
 */
struct cntr_stop_rep {
    uint32_t flags; /* STOP_... of management.h */
    uint32_t level; /* enum start_level */
};
SIGNAL_STRUCT(cntr_stop_rep, 2);
