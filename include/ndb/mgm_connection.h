/* mgm_connection.h -- the C management API: handles and connections. A part of mgm.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/mgm_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Handle and connection ---- */

/* NULL when memory is out. Destroy disconnects; it takes NULL too. */
NDB_MGM_EXPORT ndb_mgm_handle_t *ndb_mgm_create_handle(void);
NDB_MGM_EXPORT void ndb_mgm_destroy_handle(ndb_mgm_handle_t *handle);

/* "[nodeid=N,][bind-address=H,]host[:port][,host[:port]...]", also with ';' or blanks between the
 * parts and [addr]:port for IPv6. NULL or "": the environment's NDB_CONNECTSTRING, then
 * localhost:1186. */
NDB_MGM_EXPORT int ndb_mgm_set_connectstring(ndb_mgm_handle_t *handle, const char *connectstring);

/* Whether `connectstring` can be read at all; nothing is connected to. 0, or -1 with the reason in
 * `why` (256 bytes hold any), headed by where the text comes from: `option` as the program calls it
 * on its command line, or NDB_CONNECTSTRING when `connectstring` is NULL or "". Any thread. */
NDB_MGM_EXPORT int ndb_mgm_check_connectstring(const char *connectstring, const char *option,
                                               char *why, size_t why_size);

/* Node id named in the connect string; 0 when none. */
NDB_MGM_EXPORT uint32_t ndb_mgm_configured_nodeid(const ndb_mgm_handle_t *handle);
/* Number of addresses in the connect string. */
NDB_MGM_EXPORT uint32_t ndb_mgm_address_count(const ndb_mgm_handle_t *handle);

/* Longest wait of one call in milliseconds (default 60000; stop and restart wait ten times longer).
 */
NDB_MGM_EXPORT void ndb_mgm_set_timeout(ndb_mgm_handle_t *handle, uint32_t milliseconds);
/* Sent with get nodeid, shown in the server's log. */
NDB_MGM_EXPORT void ndb_mgm_set_name(ndb_mgm_handle_t *handle, const char *name);

/* Tries the addresses in order, `retries` more rounds with `delay_s` between (-1: for ever). */
NDB_MGM_EXPORT int ndb_mgm_connect(ndb_mgm_handle_t *handle, int retries, uint32_t delay_s);
/* Tries only the index-th address (from 0), once. */
NDB_MGM_EXPORT int ndb_mgm_connect_to(ndb_mgm_handle_t *handle, uint32_t index);
/* Gives back a node id that no node uses yet. -1 when it was not connected (1010). */
NDB_MGM_EXPORT int ndb_mgm_disconnect(ndb_mgm_handle_t *handle);
/* 1 or 0: the server may have closed the connection of a client that was silent for long. What was
 * closed needs no ndb_mgm_disconnect() before the next ndb_mgm_connect(). */
NDB_MGM_EXPORT int ndb_mgm_is_connected(const ndb_mgm_handle_t *handle);
/* Host and port of the connect string's address that is in use; host lives as long as the
 * connection. "" and 0 when not connected. */
NDB_MGM_EXPORT const char *ndb_mgm_connected_host(const ndb_mgm_handle_t *handle);
NDB_MGM_EXPORT uint16_t ndb_mgm_connected_port(const ndb_mgm_handle_t *handle);
/* The socket, to wait on together with others; -1 when not connected. It belongs to the handle. */
NDB_MGM_EXPORT int ndb_mgm_socket(const ndb_mgm_handle_t *handle);

/* Code and text of the last call that failed. The text includes what the server said; both live as
 * long as the handle. 5001 of NULL. */
NDB_MGM_EXPORT int ndb_mgm_error_code(const ndb_mgm_handle_t *handle);
NDB_MGM_EXPORT const char *ndb_mgm_error_text(const ndb_mgm_handle_t *handle);
/* The fixed text of a code; never NULL. */
NDB_MGM_EXPORT const char *ndb_mgm_error_message(int code);

#ifdef __cplusplus
}
#endif
