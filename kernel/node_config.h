/* node_config.h -- what a node is told when it is made: the cluster's nodes, limits, times. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/arena.h"
#include "kernel/base/bitmask.h"
#include "kernel/base/signal.h"

enum node_type { NODE_NONE = 0, NODE_DATA = 1, NODE_API = 2, NODE_MGM = 3 };

#define NODEGROUP_NONE 65536u

struct config_node {
    uint32_t type;      /* enum node_type; NODE_NONE = no such node. */
    uint32_t nodegroup; /* Node group of a data node; NODEGROUP_NONE = a spare node. */
    /* Rank of any other node: 0 never an arbitrator, 1 preferred, 2 in reserve. */
    uint32_t arbitration_rank;
};

/* Arbitration: how halves of a cluster are told apart. */
enum arbitration_method { ARBITRATION_NONE = 0, ARBITRATION_DEFAULT = 1, ARBITRATION_EXTERNAL = 2 };

#define EVENT_LEVELS 13u /* Categories of events (include/ndb/mgm.h), from the first. */

/*
 * Read-only after node_create(). Every limit is a value, not a constant, so that the simulator runs
 * the same object code with tiny ones. Times in milliseconds.
 */
struct node_config {
    uint32_t own_node;
    uint32_t replicas;
    uint64_t cluster_id;
    uint32_t generation; /* Generation of the configuration. */
    uint32_t digest;     /* Digest of the configuration's content. */
    uint32_t fixed; /* Digest of what all data nodes must have alike; it outlives generations. */
    struct config_node node[NODE_ID_MAX + 1];

    uint32_t diskless;      /* 1: no files; all rows are gone when the cluster stops. */
    uint32_t initial_start; /* --initial: the node's files are removed before it starts. */
    /* --i-accept-data-loss: also if the files are a node group's last. */
    uint32_t accept_data_loss;

    /* Layout. */
    uint32_t thread_count;
    uint32_t ldm_count;
    uint32_t tc_count;
    uint32_t send_count; /* Threads of the host that only write to sockets; they run no block. */

    /* Times. */
    uint32_t heartbeat_db_db_ms;
    uint32_t heartbeat_db_api_ms;
    uint32_t connect_check_ms;       /* ConnectCheckIntervalDelay: 0 = from the heartbeats. */
    uint32_t arbitration;            /* enum arbitration_method */
    uint32_t arbitration_timeout_ms; /* ArbitrationTimeout */
    uint32_t stand_aside; /* 1: a former life has found its files damaged, they are of no use. */
    /* 1: the node goes on when others fail; 0: it stops with EXIT_ARBIT_SHUTDOWN. */
    uint32_t survive;
    /* TransactionDeadlockDetectionTimeout: longest wait for a row lock. */
    uint32_t deadlock_timeout_ms;
    uint32_t inactive_timeout_ms; /* TransactionInactiveTimeout: 0 = for ever. */
    uint32_t epoch_ms;            /* TimeBetweenEpochs: between micro-epochs. */
    uint32_t gci_ms;              /* TimeBetweenGlobalCheckpoints. */
    uint32_t gci_timeout_ms;      /* TimeBetweenGlobalCheckpointsTimeout: who is late is stopped. */
    uint32_t epoch_timeout_ms;    /* TimeBetweenEpochsTimeout: who is late is stopped; 0 = never. */
    /* TimeBetweenLocalCheckpoints: 4-byte words of log, as a power of two. */
    uint32_t lcp_growth_log2;
    /* Speed of checkpoints, KB per second and node: while the log has room, when it is half full.
     */
    uint32_t lcp_speed_min_kb;             /* MinDiskWriteSpeed */
    uint32_t lcp_speed_max_kb;             /* MaxDiskWriteSpeed */
    uint32_t start_partial_timeout_ms;     /* StartPartialTimeout: 0 = for ever. */
    uint32_t start_partitioned_timeout_ms; /* StartPartitionedTimeout: 0 = for ever. */
    uint32_t start_failure_timeout_ms;     /* StartFailureTimeout: 0 = never. */
    uint32_t event_level[EVENT_LEVELS];    /* LogLevel*: events of each category up to this level go
                                              to the node's own log; 0 = none. */
    uint32_t no_start; /* 1: waits for START_ORD before phase 0 (a restart with -n). */

    /* Limits. */
    struct arena_limits memory;
    uint32_t transactions_max; /* Transactions per TC instance. */
    uint32_t operations_max;   /* Operations per TC instance, and per LDM instance. */
    uint32_t changes_max;      /* MaxDMLOperationsPerTransaction. */
    uint32_t scans_max;        /* Scans per TC instance. */
    uint32_t frag_scans_max;   /* Scans of fragments per LDM instance. */
    uint32_t tables_max;
    uint32_t batch_rows;     /* BatchSize: rows per fragment and batch. */
    uint32_t batch_bytes;    /* BatchByteSize. */
    uint32_t scan_step_rows; /* Rows a scan, or the building of an index, handles before it lets
                                others run. */

    uint32_t redo_files;        /* NoOfFragmentLogFiles: per LDM instance; 3..256. */
    uint32_t redo_file_bytes;   /* FragmentLogFileSize: a multiple of 4096. */
    uint32_t redo_buffer_bytes; /* RedoBuffer: per LDM instance; a multiple of 4096. */
    uint32_t redo_zero;         /* InitFragmentLogFiles: 1 = full, 0 = sparse. */

    uint32_t open_files_max;    /* MaxNoOfOpenFiles. */
    uint32_t file_requests_max; /* File operations under way or waiting, of all files. */
    uint32_t file_queue_max;    /* File operations under way or waiting, of one file. */

    /* Words of the ring between two threads, per priority; power of two. */
    uint32_t job_queue_words;
    uint32_t job_queue_signals; /* More signals than this in a ring go to the overflow segments. */
    /* Segments per thread, at least one for each queue that it fills; each holds SIGNAL_EXTENT_MAX
     * words at least. */
    uint32_t overflow_segments;
    uint32_t delayed_max; /* Delayed signals per thread. */
    uint32_t flush_words; /* A link's words are handed to the transporter when so many wait. */
};

/* Fills in defaults for everything but own_node, node[] and cluster_id. */
void node_config_defaults(struct node_config *config);

/*
 * The node groups of all configured data nodes, present or not: group_of[node] becomes a number
 * from 0 on without gaps, NODEGROUP_NONE for a spare node and for what is no data node. Returns
 * their number. Where the configuration's groups have more nodes than there are replicas, nodes
 * fill groups in id order.
 */
uint32_t node_config_groups(const struct node_config *config, uint32_t group_of[NODE_ID_MAX + 1]);
