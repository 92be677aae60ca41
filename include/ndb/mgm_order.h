/* mgm_order.h -- the C management API: status of nodes, and orders to them. A part of mgm.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/mgm_report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and orders ---- */

/* All nodes of the configuration, in order of their ids. `state` is the caller's (about 100 KB). */
NDB_MGM_EXPORT int ndb_mgm_get_status(ndb_mgm_handle_t *handle,
                                      struct ndb_mgm_cluster_state *state);
/* The memory of one data node, or of all (0). Fills at most `room` records; the number, or -1. */
NDB_MGM_EXPORT int ndb_mgm_report_memory(ndb_mgm_handle_t *handle, uint32_t node_id,
                                         struct ndb_mgm_memory *reports, uint32_t room);
/* The same for redo logs and local checkpoints. */
NDB_MGM_EXPORT int ndb_mgm_report_disk(ndb_mgm_handle_t *handle, uint32_t node_id,
                                       struct ndb_mgm_disk *reports, uint32_t room);
/* The same for what threads have done; two reports tell what they do. */
NDB_MGM_EXPORT int ndb_mgm_report_threads(ndb_mgm_handle_t *handle, uint32_t node_id,
                                          struct ndb_mgm_threads *reports, uint32_t room);

/* The last events that the node (0: all that answer) has kept, at most 128 of each, the oldest
 * first. Fills at most `room` records; the number, or -1. */
NDB_MGM_EXPORT int ndb_mgm_report_events(ndb_mgm_handle_t *handle, uint32_t node_id,
                                         struct ndb_mgm_event *events, uint32_t room);

/* `count` 0: all data nodes. The number of nodes, or -1. `*disconnect` (may be NULL): 1 when the
 * server itself is among them and the handle should disconnect. Stop and restart return when the
 * nodes are down. */
NDB_MGM_EXPORT int ndb_mgm_start(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count);
NDB_MGM_EXPORT int ndb_mgm_stop(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count,
                                uint32_t flags, int *disconnect);
NDB_MGM_EXPORT int ndb_mgm_restart(ndb_mgm_handle_t *handle, const uint32_t *nodes, uint32_t count,
                                   uint32_t flags, int *disconnect);
/* Would all data nodes work after a restart one by one (NDB_MGM_FLAG_INITIAL: with empty files),
 * with what has changed in the configuration? 0, or -1 with the reason. */
NDB_MGM_EXPORT int ndb_mgm_check_restart(ndb_mgm_handle_t *handle, uint32_t flags);
/* Stops all data nodes and then the management servers. The number of nodes, or -1. */
NDB_MGM_EXPORT int ndb_mgm_shutdown(ndb_mgm_handle_t *handle);
/* Single user mode: only clients of this API node may begin transactions, others are refused (299).
 * Returns when nothing of others is under way any more (30 s at most). Exit ends it. 0 or -1. */
NDB_MGM_EXPORT int ndb_mgm_enter_single_user(ndb_mgm_handle_t *handle, uint32_t node_id);
NDB_MGM_EXPORT int ndb_mgm_exit_single_user(ndb_mgm_handle_t *handle);
/* Node ids held by sessions whose process has no link are free again: `list` gets their ids,
 * separated by blanks. 0 or -1. */
NDB_MGM_EXPORT int ndb_mgm_purge_stale_sessions(ndb_mgm_handle_t *handle, char *list, size_t size);
/* For a data node's angel: the process of node `node_id` has ended by a failure. `action`: 1
 * restarting, 2 no start, 4 initial; the operating system's signal or 0; the exit code; the start
 * phase, 255 when it was started; the exit code's text. Goes to the cluster log and to listeners.
 */
NDB_MGM_EXPORT int ndb_mgm_report_stop(ndb_mgm_handle_t *handle, uint32_t node_id, uint32_t action,
                                       uint32_t signal_number, uint32_t exit_code,
                                       uint32_t start_phase, const char *text);
/* For data nodes: this node's files are of the cluster with this id, the server's configuration of
 * another one. 0: the server had made its id and goes on with this one: get the configuration
 * again. */
NDB_MGM_EXPORT int ndb_mgm_claim_cluster(ndb_mgm_handle_t *handle, uint32_t node_id,
                                         uint64_t cluster_id);
/* Sends a DUMP order (docs/protocols/management.md) to a data node: its code and what belongs
 * to it, 1 to 24 words. What it shows stands in the logs of the node and the cluster. */
NDB_MGM_EXPORT int ndb_mgm_dump_state(ndb_mgm_handle_t *handle, uint32_t node_id,
                                      const uint32_t *args, uint32_t count);

#ifdef __cplusplus
}
#endif
