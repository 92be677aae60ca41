/* mgm_configuration.h -- the C management API: the configuration and node ids. A part of mgm.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/mgm_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Configuration and node ids ---- */

/* The encoded configuration (config_decode() reads it), malloc'ed: free() it. */
NDB_MGM_EXPORT int ndb_mgm_get_configuration(ndb_mgm_handle_t *handle, uint8_t **bytes,
                                             size_t *size);
/* The same, as this data node runs with it (0: the newest). */
NDB_MGM_EXPORT int ndb_mgm_get_configuration_of(ndb_mgm_handle_t *handle, uint32_t node_id,
                                                uint8_t **bytes, size_t *size);
/* Reads config.ini again on the server. The new generation, or -1. `file` NULL: the one it was
 * started with. */
NDB_MGM_EXPORT int ndb_mgm_reload_config(ndb_mgm_handle_t *handle, const char *file);

/* A node id of this type; `wanted` 0 takes any. Held until the handle disconnects, then for as long
 * as the node is linked. The id, or -1 (1103: worth trying again). `host` NULL: the address of this
 * connection. */
NDB_MGM_EXPORT int ndb_mgm_alloc_nodeid(ndb_mgm_handle_t *handle, enum ndb_mgm_node_type type,
                                        uint32_t wanted, const char *host);
/* Gives it back before the handle disconnects. */
NDB_MGM_EXPORT int ndb_mgm_free_nodeid(ndb_mgm_handle_t *handle, uint32_t node_id);
/* The node id of the server itself, or -1. */
NDB_MGM_EXPORT int ndb_mgm_get_mgmd_nodeid(ndb_mgm_handle_t *handle);

/* Port on which `node1` listens for `node2` (0: for anybody). set also tells the other servers of
 * the connect string, as far as they answer. get: the port, 0 while unknown, or -1. */
NDB_MGM_EXPORT int ndb_mgm_set_connection_port(ndb_mgm_handle_t *handle, uint32_t node1,
                                               uint32_t node2, uint32_t port);
NDB_MGM_EXPORT int ndb_mgm_get_connection_port(ndb_mgm_handle_t *handle, uint32_t node1,
                                               uint32_t node2);

#ifdef __cplusplus
}
#endif
