/* api_reg.h -- clients and management servers register with QMGR; the same pair is their heartbeat.
 * See docs/protocols/membership.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "ndb/version.h"
#include "signals/gsn.h"

/* major << 16 | minor << 8 | build. Nodes of one major version understand each other. */
#define NDB_VERSION          ((uint32_t)NDB_CLIENT_VERSION)
#define NDB_VERSION_MAJOR(v) ((v) >> 16)

/* A client sends this every HeartbeatIntervalDbApi or more often to every data node that it is
 * linked to. Prio A. */
struct api_regreq {
    uint32_t sender_data;
    uint32_t version;    /* NDB_VERSION of the client. */
    uint32_t generation; /* Generation of the client's configuration; a mismatch is logged. */
};
SIGNAL_STRUCT(api_regreq, 3);

enum start_level {
    START_NOTHING = 0,
    START_CMVMI = 1,
    START_STARTING = 2,
    START_STARTED = 3,
    START_SINGLEUSER = 4,
    START_STOPPING_1 = 5,
    START_STOPPING_2 = 6,
    START_STOPPING_3 = 7,
    START_STOPPING_4 = 8
};

struct api_regconf {
    uint32_t sender_data;
    uint32_t version;
    /* The client registers again after so many milliseconds at the latest. */
    uint32_t heartbeat_ms;
    uint32_t start_level; /* enum start_level: transactions are accepted in START_STARTED. */
    uint32_t start_phase; /* Last start phase that the sender has completed. */
    uint32_t president;   /* Node id of the president (schema changes go there), 0 = none yet. */
    uint32_t life;        /* QMGR's incarnation: another number in another life of the cluster. */
    uint32_t tc_count;    /* TC instances 1..tc_count. */
    uint32_t failure_no;  /* The sender has lived through the failures of others up to this one. */
    struct node_mask started; /* Data nodes that the sender knows to be started. */
    struct node_mask slow;    /* Started nodes that others are better asked than (pace.md). */
};
SIGNAL_STRUCT(api_regconf, 25);
struct api_regref {
    uint32_t sender_data;
    uint32_t error;
};
SIGNAL_STRUCT(api_regref, 2);

/* QMGR to all registered clients and management servers: the others go on without these data nodes.
 * Whoever hangs keeps its links, so nobody would notice otherwise. Prio A. */
struct api_node_lost_rep {
    uint32_t failure_no;
    struct node_mask nodes;
};
SIGNAL_STRUCT(api_node_lost_rep, 9);

/* SCHEMA_CHANGED_REP: DICT to the own QMGR, which tells all registered clients by
 * TABLE_CHANGED_REP: the table has a new version; what they remember of it is old. */
struct table_changed_rep {
    uint32_t table_id;
    uint32_t version;
};
SIGNAL_STRUCT(table_changed_rep, 2);
