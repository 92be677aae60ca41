/* event_report.h -- blocks tell their CMVMI of events, and CMVMI those who want to know. See
 * docs/protocols/management.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * A block to its own CMVMI, and CMVMI to each subscriber whose threshold it passes. Type numbers
 * and the meaning of the words are those of the field's event list; texts are made by the
 * management server. Section 0: free text of InfoEvent and WarningEvent (size in bytes, then the
 * bytes padded to words).
 */
struct event_rep {
    uint32_t type;
    uint32_t node; /* Node where it happened; filled in by CMVMI. */
    uint32_t data[12];
};
SIGNAL_STRUCT(event_rep, 14);
enum event_type {
    EVENT_CONNECTED = 0,
    EVENT_DISCONNECTED = 1,
    EVENT_COMMUNICATION_CLOSED = 2,
    EVENT_COMMUNICATION_OPENED = 3,
    EVENT_GLOBAL_CHECKPOINT_STARTED = 4,
    EVENT_GLOBAL_CHECKPOINT_COMPLETED = 5,
    EVENT_LOCAL_CHECKPOINT_STARTED = 6,
    EVENT_LOCAL_CHECKPOINT_COMPLETED = 7,
    EVENT_START_STARTED = 10,
    EVENT_START_COMPLETED = 11,
    EVENT_START_PHASE_COMPLETED = 13,
    EVENT_CM_REGCONF = 14,
    EVENT_CM_REGREF = 15,
    EVENT_FIND_NEIGHBOURS = 16,
    EVENT_STOP_STARTED = 17,
    EVENT_NODE_FAILREP = 28,
    EVENT_ARBIT_STATE = 29,
    EVENT_ARBIT_RESULT = 30,
    EVENT_TRANS_REPORT_COUNTERS = 35,
    EVENT_OPERATION_REPORT_COUNTERS = 36,
    EVENT_TABLE_CREATED = 37,
    EVENT_MISSED_HEARTBEAT = 44,
    EVENT_DEAD_DUE_TO_HEARTBEAT = 45,
    EVENT_WARNING = 46,
    EVENT_SENT_HEARTBEAT = 47,
    EVENT_INFO = 49,
    EVENT_MEMORY_USAGE = 50,
    EVENT_CONNECTED_API_VERSION = 51,
    EVENT_SINGLE_USER = 52,
    EVENT_STOP_COMPLETED = 53,
    EVENT_STOP_FORCED = 59,
    EVENT_START_REPORT = 60,
    EVENT_CREATE_SCHEMA_OBJECT = 74,
    EVENT_ALTER_SCHEMA_OBJECT = 75,
    EVENT_DROP_SCHEMA_OBJECT = 76,
    EVENT_REPLICA_ORDER = 77,
    EVENT_LOCAL_CHECKPOINT_FAILED = 78,
};

/* Threshold per category 250..262 (nibbles are enough for 0..15, words are simpler). Replaces the
 * former wish. */
#define EVENT_CATEGORIES 13u
struct event_subscribe_req {
    uint32_t sender_data;
    uint32_t level[EVENT_CATEGORIES];
};
SIGNAL_STRUCT(event_subscribe_req, 14);
struct event_subscribe_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(event_subscribe_conf, 1);
