/* api_state.h -- private: the core, what it knows of the nodes, and its clients. Their records
 * stand in api_*_state.h. Everybody else uses api_core.h, api_dict.h, api_tx.h and api_scan.h. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "api/core/api_core.h"
#include "api/core/api_pool.h"
#include "kernel/base/beat_rule.h"
#include "signals/api_reg.h"
#include "signals/arbitrator.h"
#include "signals/takeover.h"
#include "values/errors.h"

struct api_chunk;
struct api_connect;
struct api_scan;
struct api_table;
struct api_tx;
struct api_walk;

/* What a client knows of a data node. The atomics are written by the node's part and read by all
 * clients. */
struct api_node {
    _Atomic uint32_t epoch; /* Epoch of the open link; 0 = there is none. */
    /* enum start_level; START_NOTHING until it has confirmed the registration. */
    _Atomic uint32_t level;
    _Atomic uint32_t tc_count;
    _Atomic uint32_t gone;    /* 1: others say that it is lost, or not started: it sends no rows. */
    _Atomic uint32_t refused; /* The error of its last API_REGREF, 0 = it has confirmed since. */
    _Atomic uint32_t slow;    /* 1: the data nodes have found it slow: others are better asked. */
    uint32_t failure_no; /* The node has lived through the failures of others up to this one. */
    /* The failure with which it was lost; it is not believed before it has lived through that. 0 =
     * none. */
    uint32_t lost_no;
    uint32_t heartbeat_ms;
    uint64_t register_at_ms; /* When the next API_REGREQ is sent. */
    uint64_t heard_ms;       /* When the last API_REGCONF came, or the link came up. */
    struct beat_window late; /* How late the API_REGCONFs were. */
};

#define API_DICT_BUCKETS 256u

/* An arbitrator's answer that waits for ArbitrationDelay. */
#define API_LATE_MAX 8u
struct api_late {
    uint64_t at_ms; /* When the answer is sent; 0 = there is none. */
    uint32_t node;
    uint32_t receiver;
    uint32_t gsn;
    struct arbit_choose_conf conf;
};

struct api_core {
    struct api_config config;
    struct api_host host;
    struct api_node node[NODE_ID_MAX + 1];
    _Atomic uint32_t president;
    /* How often a data node has told of another life of the cluster than `life`. */
    _Atomic uint32_t lives;
    uint32_t life;                /* Life of the cluster that was told of last: api_regconf.life. */
    struct arbitrator arbitrator; /* What the node has said as an arbitrator; of the node's part. */
    struct api_late late[API_LATE_MAX];
    _Atomic uint64_t transid_next;
    _Atomic uint64_t now_ms;        /* Time of the last tick; written by the node's part. */
    _Atomic uint64_t epoch_durable; /* Life << 32 | GCI: all up to here is known to be durable. */
    pthread_mutex_t lock; /* Protects clients[] while it changes, and the dictionary cache. */
    _Atomic(struct api_client *) clients[API_CLIENTS_MAX + 1];
    uint32_t client_last; /* Where the search for a free instance begins. */
    struct api_table *tables[API_DICT_BUCKETS];
    /* Raised, under the lock, when tables may have changed: what was asked for before is not
     * cached. */
    uint64_t changes;
};

#define API_DEADLINE_NONE UINT64_MAX
#define API_CHUNKS_KEPT   16u
#define API_TX_BUCKETS    1024u /* A power of two: the counter in an id spreads evenly. */

struct api_client {
    struct api_core *core;
    uint32_t instance;
    uint32_t own_ref;
    uint64_t now_ms;
    uint64_t next_ms; /* Nothing is due before. */
    struct api_pool ops;
    struct api_pool connects;
    struct api_pool scans;
    struct api_pool dicts;
    struct api_pool durables;
    struct api_connect *free[NODE_ID_MAX + 1];
    struct api_tx *transactions;
    struct api_tx *by_transid[API_TX_BUCKETS]; /* The same transactions by their ids. */
    struct api_tx *tx_free;
    struct api_scan *scan_list;
    struct api_chunk *chunk_free;
    uint32_t chunk_free_count;
    uint32_t pending;       /* Requests that will complete. */
    uint32_t unclean;       /* Connect records CLEANING or RELEASING, scans CLOSING. */
    uint32_t turn;          /* Counter for taking nodes and TC instances in turn. */
    uint32_t company;       /* Node that coordinates what was begun last. */
    uint64_t company_ms;    /* When that was begun. */
    struct api_walk *walks; /* Walks under way, the innermost first. */
    bool go_on;             /* Some scan may send SCAN_NEXTREQ. */
    bool parts;             /* Some transaction has a part of its batch to send. */
    struct api_statistics statistics;
};

/* Private functions, by file. */

/* api_client.c */
void api_pack_head(uint32_t *out, uint32_t gsn, uint32_t receiver, uint32_t sender, uint32_t words,
                   uint32_t sections);
bool api_send(struct api_client *client, uint32_t node, const uint32_t *words, uint32_t count);
/* A signal without sections. */
bool api_send_small(struct api_client *client, uint32_t node, uint32_t gsn, uint32_t receiver,
                    const void *payload, uint32_t words);
/* Ready, and the data nodes have not found it slow. */
bool api_node_fast(const struct api_core *core, uint32_t node);
/* A ready node, if possible a fast one: the neighbour or the next in turn; 0 = none. */
uint32_t api_any_node(struct api_client *client);
uint32_t api_other_node(struct api_client *client, uint32_t than);
uint64_t api_new_transid(struct api_core *core);
uint64_t api_deadline(struct api_client *client, uint32_t timeout_ms);
void api_wake_at(struct api_client *client, uint64_t at_ms);
void api_late(struct api_client *client);

/* api_near.c */
/* For work in one fragment: the primary's node, else one with a backup, else any; 0 = none. */
uint32_t api_fragment_node_near(struct api_client *client, const struct api_table *table,
                                uint32_t fragment);
