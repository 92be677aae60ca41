/* order.h -- the order of the replicas of a node group changes while the cluster runs. See
 * docs/protocols/replica_order.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * The replicas of a fragment are its list in the distribution, sorted by the places of their nodes,
 * the first live one is its primary. A node's place is 0, or PLACE_SLOW, or after its return the
 * dynamic id that it has joined with, which is greater.
 */
#define PLACE_SLOW  1u
#define ORDER_NODES 4u /* Nodes of one node group: REPLICAS_MAX. */

/* Who gets which place; the rest is 0. */
struct order_places {
    uint32_t node[ORDER_NODES];
    uint32_t place[ORDER_NODES];
};

/* Number of a change: the failure number at the president that has begun it, then a count. */
struct order_no {
    uint32_t failure_no;
    uint32_t count;
};

/* --- Between NDBCNTRs, priority A. President to all members, and back. --- */

/* Begin nothing, and answer when nothing is under way; REF: not now. */
struct order_prepare_req {
    struct order_no no;
    struct order_places places;
};
SIGNAL_STRUCT(order_prepare_req, 10);
struct order_prepare_conf {
    struct order_no no;
};
SIGNAL_STRUCT(order_prepare_conf, 2);
struct order_prepare_ref {
    struct order_no no;
};
SIGNAL_STRUCT(order_prepare_ref, 2);
/* Nothing is under way anywhere: this is the order from now on. */
struct order_decide_req {
    struct order_no no;
    struct order_places places;
};
SIGNAL_STRUCT(order_decide_req, 10);
struct order_decide_conf {
    struct order_no no;
};
SIGNAL_STRUCT(order_decide_conf, 2);
/* All have it: go on. */
struct order_release_ord {
    struct order_no no;
};
SIGNAL_STRUCT(order_release_ord, 2);
/* Given up: go on with the order that there was. */
struct order_abort_ord {
    struct order_no no;
};
SIGNAL_STRUCT(order_abort_ord, 2);
/* A new president: what is under way? CONF when the failure is known. */
struct order_state_req {
    uint32_t failure_no;
};
SIGNAL_STRUCT(order_state_req, 1);
struct order_state_conf {
    uint32_t failure_no;
    uint32_t state; /* enum order_state */
    struct order_no no;
    struct order_places places;
};
SIGNAL_STRUCT(order_state_conf, 12);

/*
 * States of a member:
 *   ORDER_IDLE --PREPARE--> ORDER_HOLDING --DECIDE--> ORDER_DECIDED --RELEASE--> ORDER_IDLE
 *                                 +-------ABORT--------------------------------> ORDER_IDLE
 */
enum order_state { ORDER_IDLE = 0, ORDER_HOLDING = 1, ORDER_DECIDED = 2, ORDER_STATES };

/* --- NDBCNTR to its TCs. --- */

/* CONF when no transaction and no scan is left. */
struct order_hold_req {
    struct order_no no;
};
SIGNAL_STRUCT(order_hold_req, 2);
struct order_hold_conf {
    struct order_no no;
};
SIGNAL_STRUCT(order_hold_conf, 2);
struct order_hold_end_ord {
    struct order_no no;
};
SIGNAL_STRUCT(order_hold_end_ord, 2);
/* The places from now on; DICT of the node gets them too. */
struct order_places_rep {
    struct order_places places;
};
SIGNAL_STRUCT(order_places_rep, 8);
