/* outcome.h -- a client asks what has become of a transaction whose commit was not answered. See
 * docs/protocols/client.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * Client to a TC: to the coordinator while it is linked to it, else to any. That one passes it on
 * to the TC that has taken over (with client_ref), and the answer back. Prio B. A temporary error
 * in REF: it is not decided yet, or not to be asked here; ERR_CLUSTER_FAILURE: it is too long ago.
 */
struct outcome_req {
    uint32_t sender_data;
    uint32_t client_ref; /* Who wants to know; 0 from the client itself. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t tc_ref; /* The coordinator. */
    /* Milliseconds: the transaction began at most so long before the answer comes. */
    uint32_t age_ms;
};
SIGNAL_STRUCT(outcome_req, 6);
struct outcome_conf {
    uint32_t sender_data;
    uint32_t client_ref;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t committed; /* 1: it was committed; 0: it was not, and never will be. */
    uint32_t gci_hi;    /* Epoch of the commit. */
    uint32_t gci_lo;
};
SIGNAL_STRUCT(outcome_conf, 7);
struct outcome_ref {
    uint32_t sender_data;
    uint32_t client_ref;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t error;
};
SIGNAL_STRUCT(outcome_ref, 5);

/* TC to LQH: has this transaction committed anything there? Prio B. */
struct outcome_ask_req {
    uint32_t sender_data;
    uint32_t transid1;
    uint32_t transid2;
    uint32_t age_ms;
};
SIGNAL_STRUCT(outcome_ask_req, 4);
struct outcome_ask_conf {
    uint32_t sender_data;
    uint32_t instances; /* LQHs of the sender's node. */
    uint32_t committed;
    uint32_t covers; /* 1: the sender would know of a commit of the last age_ms. */
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(outcome_ask_conf, 6);
