/* mgm_log.h -- the C management API: the cluster log and events. A part of mgm.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/mgm_report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cluster log and events ---- */

/* Severity filter of the cluster log. enable: 1, 0, -1 toggle. The new value, or -1. */
NDB_MGM_EXPORT int ndb_mgm_set_logfilter(ndb_mgm_handle_t *handle, enum ndb_mgm_severity severity,
                                         int enable);
/* Fills one value per severity, ON first. */
NDB_MGM_EXPORT int ndb_mgm_get_logfilter(ndb_mgm_handle_t *handle, int enabled[NDB_MGM_SEVERITIES]);
/* Threshold of the cluster log for a category; node 0 means all nodes. */
NDB_MGM_EXPORT int ndb_mgm_set_cluster_loglevel(ndb_mgm_handle_t *handle, uint32_t node_id,
                                                enum ndb_mgm_category category, uint32_t level);
/* The same for what a data node writes to its own log, until it ends (then 0: nothing). */
NDB_MGM_EXPORT int ndb_mgm_set_node_loglevel(ndb_mgm_handle_t *handle, uint32_t node_id,
                                             enum ndb_mgm_category category, uint32_t level);
/* Fills one threshold per category, STARTUP first. */
NDB_MGM_EXPORT int ndb_mgm_get_cluster_loglevel(ndb_mgm_handle_t *handle,
                                                uint32_t levels[NDB_MGM_CATEGORIES]);

/* Turns the handle into a listener: from now on only ndb_mgm_next_event() and disconnect are
 * allowed. One level per category: 0 nothing to 15 everything. */
NDB_MGM_EXPORT int ndb_mgm_listen_events(ndb_mgm_handle_t *handle,
                                         const uint32_t levels[NDB_MGM_CATEGORIES]);
/* 1: `event` is filled; 0: nothing within the time; -1: connection lost. */
NDB_MGM_EXPORT int ndb_mgm_next_event(ndb_mgm_handle_t *handle, struct ndb_mgm_event *event,
                                      uint32_t timeout_ms);

/* Names: "STARTUP", "INFO", "started", "STARTED", "NDB". NULL or -1 when unknown; any case. */
NDB_MGM_EXPORT const char *ndb_mgm_category_name(enum ndb_mgm_category category);
NDB_MGM_EXPORT int ndb_mgm_category_number(const char *name);
NDB_MGM_EXPORT const char *ndb_mgm_severity_name(enum ndb_mgm_severity severity);
NDB_MGM_EXPORT int ndb_mgm_severity_number(const char *name);
NDB_MGM_EXPORT const char *ndb_mgm_status_text(enum ndb_mgm_node_status status);
NDB_MGM_EXPORT const char *ndb_mgm_status_name(enum ndb_mgm_node_status status);
NDB_MGM_EXPORT int ndb_mgm_status_number(const char *name);
NDB_MGM_EXPORT const char *ndb_mgm_type_name(enum ndb_mgm_node_type type);
NDB_MGM_EXPORT int ndb_mgm_type_number(const char *name);

#ifdef __cplusplus
}
#endif
