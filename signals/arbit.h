/* arbit.h -- the arbitrator: chosen in advance, asked when a cluster is divided in halves. See
 * docs/protocols/failure.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* The field's numbers, for events. */
enum arbit_code {
    ARBIT_NO_CODE = 0,
    ARBIT_API_START = 31,    /* The arbitrator has begun. */
    ARBIT_API_FAIL = 32,     /* The arbitrator is lost. */
    ARBIT_LOSE_NODES = 41,   /* Less than half of the nodes are left. */
    ARBIT_WIN_NODES = 42,    /* More than half of the nodes are left. */
    ARBIT_WIN_GROUPS = 43,   /* All nodes of a node group are left. */
    ARBIT_LOSE_GROUPS = 44,  /* No node of a node group is left. */
    ARBIT_PARTITIONING = 45, /* Half of the nodes are left: the arbitrator decides. */
    ARBIT_WIN_CHOOSE = 46,   /* The arbitrator said yes. */
    ARBIT_LOSE_CHOOSE = 47,  /* The arbitrator said no, or nothing in time. */
    ARBIT_LOSE_NORUN = 48,   /* There is no arbitrator now. */
    ARBIT_LOSE_NOCFG = 49,   /* No arbitrator is configured. */
    /* Half goes on: Arbitration=Disabled, or WaitExternal and its time is over. */
    ARBIT_WIN_WAIT = 50
};
static inline bool arbit_wins(uint32_t code)
{
    return code == ARBIT_WIN_NODES || code == ARBIT_WIN_GROUPS || code == ARBIT_WIN_CHOOSE ||
           code == ARBIT_WIN_WAIT;
}

enum arbit_state {
    ARBIT_NULL = 0,
    ARBIT_INIT = 1,
    ARBIT_FIND = 2,   /* There is no candidate, or none that works. */
    ARBIT_PREP1 = 3,  /* Members forget the old arbitrator. */
    ARBIT_PREP2 = 4,  /* Members learn the new arbitrator. */
    ARBIT_START = 5,  /* The candidate learns its ticket. */
    ARBIT_RUN = 6,    /* There is an arbitrator. */
    ARBIT_CHOOSE = 7, /* The arbitrator is being asked. */
    ARBIT_CRASH = 8   /* This part of the cluster stops. */
};

/* President to the candidate. CONF with the same ticket: it will answer to it from now on. */
struct arbit_start_req {
    uint32_t ticket[2];
};
SIGNAL_STRUCT(arbit_start_req, 2);
struct arbit_start_conf {
    uint32_t ticket[2];
};
SIGNAL_STRUCT(arbit_start_conf, 2);

/* President to all members. */
struct arbit_prep_req {
    uint32_t incarnation;
    uint32_t phase; /* 1: nobody is the arbitrator; 2: `node` is. */
    uint32_t node;
    uint32_t ticket[2];
};
SIGNAL_STRUCT(arbit_prep_req, 5);
struct arbit_prep_conf {
    uint32_t incarnation;
    uint32_t phase;
    uint32_t ticket[2];
    uint32_t linked; /* 1: the sender is linked to the arbitrator. */
};
SIGNAL_STRUCT(arbit_prep_conf, 5);

/* Member to president: its link to the arbitrator is down. */
struct arbit_lost_rep {
    uint32_t incarnation;
    uint32_t node;
    uint32_t ticket[2];
};
SIGNAL_STRUCT(arbit_lost_rep, 4);

/* May these go on? CONF yes, REF no. */
struct arbit_choose_req {
    uint32_t attempt; /* Number of the question; the answer has it too. */
    uint32_t ticket[2];
    struct node_mask survivors;
};
SIGNAL_STRUCT(arbit_choose_req, 11);
struct arbit_choose_conf {
    uint32_t attempt;
    uint32_t ticket[2];
};
SIGNAL_STRUCT(arbit_choose_conf, 3);
struct arbit_choose_ref {
    uint32_t attempt;
    uint32_t ticket[2];
};
SIGNAL_STRUCT(arbit_choose_ref, 3);

/* QMGR to its CMVMI: for status reports. */
struct arbit_state_rep {
    uint32_t state; /* enum arbit_state */
    uint32_t node;  /* 0 = none. */
    uint32_t ticket[2];
};
SIGNAL_STRUCT(arbit_state_rep, 4);
