/* management.h -- management servers order what nodes have to do, by way of CMVMI or QMGR. See
 * docs/protocols/start.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* Debug orders: data[0] is the code, the rest its arguments. CMVMI hands it to the block that owns
 * the code. */
struct dump_state_ord {
    uint32_t count;
    uint32_t data[24];
};
SIGNAL_STRUCT(dump_state_ord, 25);

/*
 * Stop or restart this node; sent to CMVMI, which hands it to NDBCNTR. Flags below. CONF when
 * accepted (the node then goes through the stop levels and its process ends); REF when refused,
 * with ERR_MGM_SYSTEM_STOPPING, ERR_MGM_WOULD_STOP_CLUSTER, ERR_MGM_STARTING or another error.
 */
struct stop_req {
    uint32_t sender_data;
    uint32_t flags;
    uint32_t client_ref; /* Who gets the answer, filled in by CMVMI; 0 from a client. */
};
SIGNAL_STRUCT(stop_req, 3);
#define STOP_SYSTEM   1u /* All data nodes are stopping: the last of a node group may go too. */
#define STOP_RESTART  2u
#define STOP_NO_START 4u  /* -n */
#define STOP_INITIAL  8u  /* -i */
#define STOP_ABORT    16u /* -a: do not wait for transactions. */
#define STOP_FORCE    32u /* -f: even if the cluster cannot go on without the node. */
struct stop_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(stop_conf, 1);
struct stop_ref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(stop_ref, 2);

/* Single user mode for the client `node`, or its end (0); to the president's CMVMI, which hands it
 * to NDBCNTR. CONF when no other client has anything under way. REF with ERR_MGM_STARTING,
 * ERR_MGM_NODE_STOPPING, ERR_MGM_NOT_API, ERR_SINGLE_USER_MODE, ERR_MGM_SINGLE_REPLACED (something
 * else was ordered meanwhile), or ERR_MGM_SEND: ask the president, or again. */
struct single_user_req {
    uint32_t sender_data;
    uint32_t node;
    uint32_t client_ref; /* Who gets the answer, filled in by CMVMI; 0 from a client. */
};
SIGNAL_STRUCT(single_user_req, 3);
struct single_user_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(single_user_conf, 1);
struct single_user_ref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(single_user_ref, 2);

/* A management server to QMGR of all started data nodes, where there are several servers: nobody
 * else is given this client's node id for so long; 0 gives it back, without an answer. REF when a
 * process has it, or another server has asked. */
struct alloc_nodeid_req {
    uint32_t sender_data;
    uint32_t node;
    uint32_t hold_ms;
};
SIGNAL_STRUCT(alloc_nodeid_req, 3);
struct alloc_nodeid_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(alloc_nodeid_conf, 1);
struct alloc_nodeid_ref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(alloc_nodeid_ref, 2);

/* Starts a node that waits after a restart with -n. */
struct start_ord {
    uint32_t unused;
};
SIGNAL_STRUCT(start_ord, 1);
