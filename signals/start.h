/* start.h -- how NDBCNTR starts the blocks of its node, and how they learn of failures and of the
 * node's state. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* To every registered block instance once, first of all: pools and tables are made here, from
 * block_config(). */
struct read_config_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(read_config_req, 1);
struct read_config_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(read_config_conf, 1);

/*
 * A start phase begins; the block answers when its part is done. Only to blocks that have something
 * to do in it (the table is in ndbcntr). When a node is lost before anyone is started, the phases
 * from 1 on come again.
 */
struct sttor {
    uint32_t sender_data;
    uint32_t phase;
    uint32_t start_type; /* enum start_type */
};
SIGNAL_STRUCT(sttor, 3);
struct sttorry {
    uint32_t sender_data;
    uint32_t phase;
};
SIGNAL_STRUCT(sttorry, 2);
enum start_type {
    START_INITIAL = 0,
    START_SYSTEM_RESTART = 1,
    START_NODE_RESTART = 2,
    START_INITIAL_NODE_RESTART = 3
};

/* NDBCNTR to QMGR, CMVMI, DICT and every TC instance: the node's state has changed. Priority A. */
struct node_state_rep {
    uint32_t start_level;     /* enum start_level of api_reg.h. */
    uint32_t start_phase;     /* Last start phase that was completed. */
    uint32_t master;          /* President's node id, 0 = none yet. */
    struct node_mask started; /* Data nodes known to be started, this one included. */
    uint32_t start_type;      /* enum start_type; known from phase 2 on. */
    /* Percent of the data that has been read back (phase 4); 100 afterwards. */
    uint32_t start_percent;
    uint32_t start_left_s; /* Seconds that reading will take, estimated; 0 = not known. */
    uint32_t taken_no;     /* What failures up to this one left here has been dealt with. */
    uint32_t single_user;  /* The only client node that may begin something new; 0 = all may. */
};
SIGNAL_STRUCT(node_state_rep, 16);

/*
 * NDBCNTR to every TC instance when the node stops (its level is START_STOPPING_2 then: new
 * transactions are refused). CONF when no transaction and no scan is left in the instance; NDBCNTR
 * does not wait for ever.
 */
struct tc_drain_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(tc_drain_req, 1);
struct tc_drain_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(tc_drain_conf, 1);

/*
 * NDBCNTR to every TC instance and DICT, behind a NODE_STATE_REP with single_user: end what other
 * clients than `node` have under way, by force after `grace_ms`. CONF when nothing is left. A newer
 * request replaces the one before; NODE_STATE_REP without single_user ends it. To DICT alone also
 * when this node stops, with DRAIN_FOR_STOP, beside the other: CONF when no change of the schema is
 * under way here.
 */
#define DRAIN_FOR_STOP UINT32_MAX
struct drain_clients_req {
    uint32_t sender_data;
    uint32_t node;
    uint32_t grace_ms;
};
SIGNAL_STRUCT(drain_clients_req, 3);
struct drain_clients_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(drain_clients_conf, 1);

/*
 * QMGR to every TC instance, DICT and CMVMI: the client node is gone (link down or heartbeats
 * missed). They end all that belongs to it: transactions aborted, scans closed, records freed; then
 * CONF. The node may register again after that.
 */
struct api_failreq {
    uint32_t sender_data;
    uint32_t node;
};
SIGNAL_STRUCT(api_failreq, 2);
struct api_failconf {
    uint32_t sender_data;
    uint32_t node;
};
SIGNAL_STRUCT(api_failconf, 2);

/* QMGR to DIH and NDBCNTR: data nodes have failed. */
struct node_failrep {
    uint32_t failure_no; /* 1, 2, ... the same on all nodes that go on; 0: nobody is started yet. */
    uint32_t verdict;    /* 0: this part goes on; else it may not, and the exit code says why. */
    uint32_t president;  /* President among those that are left. */
    struct node_mask nodes;
};
SIGNAL_STRUCT(node_failrep, 11);
