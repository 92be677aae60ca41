/* connection.h -- the C client API: connections to a cluster, and one thread's access. A part of ndb.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/error.h"

#ifdef __cplusplus
/* ndb_error and ndb_statistics are functions and structs, as C allows. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#endif

/* ---- Connection ---- */

struct ndb_connection_options {
    const char *name;            /* Shown by the cluster; NULL = "ndbclient". */
    uint32_t node_id;            /* Ask for this node id; 0 = any free one. */
    uint32_t default_timeout_ms; /* Time for calls with timeout 0; 0 = 10000. */
    uint32_t spin_us;            /* Longest wait without sleep; 0 = 50, UINT32_MAX = never spin. */
    uint32_t flush_bytes; /* Asynchronous requests are sent when so many bytes wait; 0 = 32768. */
    /* Requests not yet sent, per data node: more are refused, error 4022; 0 = 8 MB. Batches are
     * sent in parts, when there is room. */
    uint32_t buffer_bytes;
    bool no_reconnect; /* Do not come back by itself after all links were lost. */
};

/*
 * Makes a connection object; no input or output yet. connect_string:
 * "host[:port][,host[:port]...][,nodeid=N]" of the management servers; NULL = the environment's
 * NDB_CONNECTSTRING, else localhost:1186. options NULL = defaults. NULL only when memory is out; a
 * malformed string is reported by ndb_connection_connect. Any thread.
 */
NDB_API struct ndb_cluster_connection *ndb_connection_create(
    const char *connect_string, const struct ndb_connection_options *options);

/* Gets node id and configuration from a management server and starts connecting to the data nodes.
   Tries until the time is up; a server that takes the connection and then says nothing can make
   that three seconds longer. Errors: 4269 no management server, 4118 malformed connect string,
   1701 and 1704 node id refused. */
NDB_API int ndb_connection_connect(struct ndb_cluster_connection *connection, uint32_t timeout_ms);

/* Waits until data nodes accept transactions: for the first one as long as timeout_ms says, then
   for the others a second at most. Returns the number of configured data nodes that are not yet
   started: 0 = all are ready, > 0 = some are, -1 = none (error 4009, the cluster is out of reach;
   its detail says why the last attempt at a link failed: that a node belongs to another cluster,
   too). Any thread. */
NDB_API int ndb_connection_wait_until_ready(struct ndb_cluster_connection *connection,
                                            uint32_t timeout_ms);

/* Closes all links and frees the connection. Every ndb_t must be closed before; those that are not
   are closed here. Tables and records may be released later. */
NDB_API void ndb_connection_free(struct ndb_cluster_connection *connection);

/* Copies the last error of a connection call made by any thread. */
NDB_API void ndb_connection_error(struct ndb_cluster_connection *connection, ndb_error_t *error);

/* 0 before ndb_connection_connect. Any thread. */
NDB_API uint32_t ndb_connection_node_id(const struct ndb_cluster_connection *connection);
/* Data nodes in the configuration, and those that accept transactions now. Any thread. */
NDB_API uint32_t ndb_connection_data_nodes(const struct ndb_cluster_connection *connection);
NDB_API uint32_t ndb_connection_ready_nodes(const struct ndb_cluster_connection *connection);
/* Another number than before: all data nodes were lost at once, and the cluster has come back with
   what was durable, or with nothing. Whoever keeps what it has read or written forgets it then. It
   changes before the first data node is ready again. 0: none has been yet. Any thread. */
NDB_API uint32_t ndb_connection_lives(const struct ndb_cluster_connection *connection);
/* The ready data node with the next higher id, 0 = no more; start with 0. Any thread. */
NDB_API uint32_t ndb_connection_next_ready_node(const struct ndb_cluster_connection *connection,
                                                uint32_t node_id);

struct ndb_statistics {
    uint64_t transactions_started, transactions_committed, transactions_aborted;
    uint64_t transactions_unknown;      /* Outcome not known. */
    uint64_t key_operations, rows_read; /* Rows by key and by scan. */
    uint64_t scans, scan_batches;
    uint64_t scans_pruned;      /* Scans whose ranges let fragments be left out. */
    uint64_t fragments_scanned; /* Fragments that the cluster has read to their end for scans. */
    uint64_t dictionary_requests;
    uint64_t retries; /* Tries again, by ndb_run_transaction and transparent ones. */
    uint64_t timeouts;
    uint64_t late_answers; /* Dropped: late, foreign or forged. */
    uint64_t bytes_sent, bytes_received, sends, polls;
    uint64_t waits, wait_ns; /* Blocking calls that waited, and how long in all. */
};
/* Sum over all ndb_t of the connection, closed ones too. Any thread. */
NDB_API void ndb_connection_statistics(struct ndb_cluster_connection *connection,
                                       struct ndb_statistics *statistics);

/* ---- ndb_t: one thread's access ---- */

/* database is put before table names without one; NULL = "test". At most 4711 per connection, more
 * are refused (4105). Any thread. */
NDB_API ndb_t *ndb_open(struct ndb_cluster_connection *connection, const char *database);
/* Rolls back and closes what is still open. In a callback, and in the function of
 * ndb_run_transaction(), it is refused: all stays, and ndb_error() is 4507. Own thread. */
NDB_API void ndb_close(ndb_t *ndb);
/* The error of the last failed call on this ndb_t; never NULL. Own thread. */
NDB_API const ndb_error_t *ndb_error(const ndb_t *ndb);
/* This ndb_t only. Own thread. */
NDB_API void ndb_statistics(const ndb_t *ndb, struct ndb_statistics *statistics);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
