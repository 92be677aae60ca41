/* management.h -- management servers and CMVMI: events, status, memory, dump, stop. See
 * docs/protocols/start.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/api_reg.h"

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

/* Debug orders: data[0] is the code, the rest its arguments. CMVMI hands it to the block that owns
 * the code. */
struct dump_state_ord {
    uint32_t count;
    uint32_t data[24];
};
SIGNAL_STRUCT(dump_state_ord, 25);

struct node_status_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(node_status_req, 1);
struct node_status_conf {
    uint32_t sender_data;
    uint32_t start_level;
    uint32_t start_phase;
    uint32_t start_type;
    uint32_t nodegroup; /* NODEGROUP_NONE = none. */
    uint32_t president;
    uint32_t dynamic_id;
    uint32_t version;
    struct node_mask connected; /* Clients and management servers linked to this node. */
    uint32_t start_percent;     /* As in NODE_STATE_REP. */
    uint32_t start_left_s;
    uint32_t arbit_state; /* enum arbit_state of arbit.h, as far as the node knows. */
    uint32_t arbit_node;  /* 0 = none. */
    uint32_t single_user; /* Client that may work alone, 0 = all may. */
    uint32_t generation;  /* Generation of the configuration that the node runs with. */
    uint32_t slow;        /* 1: the members have found it slow (pace.md). */
    uint32_t digest;      /* Digest of that configuration's content; 0: it is not told. */
};
SIGNAL_STRUCT(node_status_conf, 24);

struct memory_report_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(memory_report_req, 1);
/* Section 0: per resource group 5 words: pages used, max, reserved, high, failed, in the order of
 * enum resource_group; then 2 words: pages of RG_DATA that hold rows, pages that hold hash index
 * and its bookkeeping: together all pages used. */
struct memory_report_conf {
    uint32_t sender_data;
    uint32_t page_size;
    uint32_t groups;
};
SIGNAL_STRUCT(memory_report_conf, 3);

/* CMVMI to each TUP instance: how many pages hold rows? Asked again with `next` as position until
 * that is 0. */
struct ldm_memory_req {
    uint32_t sender_data;
    uint32_t position; /* 0 = from the beginning. */
};
SIGNAL_STRUCT(ldm_memory_req, 2);
struct ldm_memory_conf {
    uint32_t sender_data;
    uint32_t next;      /* Position to go on with; 0 = that was all. */
    uint32_t row_pages; /* Pages that hold rows in the fragments looked at in this step. */
};
SIGNAL_STRUCT(ldm_memory_conf, 3);

/*
 * How full redo logs and how old checkpoints are: a management server to CMVMI, which asks its LQHs
 * (REDO_STATUS_REQ) and its DIH. Section 0 of the CONF: per log part DISK_REPORT_WORDS words, those
 * of redo_status_conf without sender_data; missing in a diskless node.
 */
struct disk_report_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(disk_report_req, 1);
#define DISK_REPORT_WORDS 15u
struct disk_report_conf {
    uint32_t sender_data;
    uint32_t diskless;
    uint32_t parts;
    uint32_t gci;         /* GCI that commits have now. */
    uint32_t durable;     /* Newest GCI that survives the loss of the cluster. */
    uint32_t lcp_state;   /* enum lcp_report_state */
    uint32_t lcp_id;      /* Local checkpoint under way; 0 = none. */
    uint32_t lcp_ms;      /* Milliseconds since it began. */
    uint32_t last_id;     /* Last completed one; 0 = none since the node started. */
    uint32_t last_age_ms; /* Milliseconds since it was completed. */
    uint32_t last_ms;     /* Milliseconds that it took. */
    uint32_t last_fragments;
    uint32_t last_failed; /* Fragments that keep their former checkpoint. */
    uint32_t last_kbytes;
};
SIGNAL_STRUCT(disk_report_conf, 14);
enum lcp_report_state {
    LCP_REPORT_IDLE = 0,
    LCP_REPORT_WRITING,
    LCP_REPORT_WAITING, /* It waits for its last GCI to become durable. */
    LCP_REPORT_CLEANING /* Replaced files are removed. */
};

/*
 * What the threads of the node's process have done since it began; times in microseconds. Section 0
 * of the CONF: a struct thread_use for each of them in the order of their numbers, and a last one,
 * "process", for all that the process has used, its other threads too. None where there are no
 * threads of an operating system.
 */
struct thread_report_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(thread_report_req, 1);
struct thread_report_conf {
    uint32_t sender_data;
    uint32_t threads; /* Structs in the section. */
};
SIGNAL_STRUCT(thread_report_conf, 2);
#define THREAD_NAME_BYTES 8u
#define THREAD_USES_MAX   96u
struct thread_use {
    uint32_t name[THREAD_NAME_BYTES / 4u]; /* Name, padded with zero bytes, one at least. */
    uint32_t at[2];     /* Time of the report since the process began. Low word, high word. */
    uint32_t user[2];   /* Time on a CPU outside of the kernel, as the operating system counts. */
    uint32_t system[2]; /* Time on a CPU in the kernel, as the operating system counts. */
    uint32_t work[2];   /* Time at work, as the thread measures; 0 for "process". */
    uint32_t spin[2];   /* Time spent looking for work, the same. */
    uint32_t sleep[2];  /* Time asleep, the same. */
};
SIGNAL_STRUCT(thread_use, 14);

/* CMVMI to its DIH. */
struct lcp_status_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(lcp_status_req, 1);
struct lcp_status_conf { /* As in disk_report_conf. */
    uint32_t sender_data;
    uint32_t gci;
    uint32_t durable;
    uint32_t lcp_state;
    uint32_t lcp_id;
    uint32_t lcp_ms;
    uint32_t last_id;
    uint32_t last_age_ms;
    uint32_t last_ms;
    uint32_t last_fragments;
    uint32_t last_failed;
    uint32_t last_kbytes;
};
SIGNAL_STRUCT(lcp_status_conf, 12);

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
