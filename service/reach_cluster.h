/* reach_cluster.h -- connects a program to a cluster, and tells meanwhile what is waited for. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What somebody who waits needs to know is the reason: refused, no management server, no free node
 * id, which data node is in which state and why there is no link to it. All programs that wait for
 * a cluster do it here, and so say the same.
 */
#pragma once
#include <stdint.h>
#include "ndb/connection.h"
#include "ndb/mgm.h"

/* Longest question to a management server. */
#define REACH_CALL_MS 5000u

struct reach_limits {
    uint32_t servers_ms; /* Longest wait for a management server; NDB_NO_TIMEOUT: for ever. */
    uint32_t nodes_ms;   /* Then for the first data node, likewise; each is tried once at least. */
};

enum reached { REACHED, REACHED_NO_SERVER, REACHED_NO_NODE };

struct wait_told;

/*
 * Connects `connection`, made from `connect_string`, and waits until a data node is ready; `wait`,
 * which may be NULL, tells what for. When it is not REACHED, ndb_connection_error() says why.
 */
enum reached reach_cluster(struct ndb_cluster_connection *connection, const char *connect_string,
                           const struct reach_limits *limits, struct wait_told *wait);
/* What the library knows of why no data node is ready, a part of `error`'s detail; "" if nothing. */
const char *reach_why_no_node(struct ndb_cluster_connection *connection, ndb_error_t *error);

/* Tries each management server of the handle once, none of them longer than its part of the time
 * until `end_ms` of the monotonic clock. Later calls last no longer than REACH_CALL_MS. */
int reach_server(ndb_mgm_handle_t *handle, uint64_t end_ms);
