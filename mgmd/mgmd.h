/* mgmd.h -- the management server's state, shared by its files. Private. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * One thread, one libuv loop. mgmd_main.c starts it, mgmd_session.c talks to clients, those that
 * mgmd_commands.h names answer them, mgmd_nodes.c knows the nodes, mgm_link.c carries signals to
 * data nodes. What the files offer each other is in a header for each of these stories.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/config.h"
#include "mgmd/cluster_log.h"
#include "mgmd/mgmd_lock.h"
#include "mgmd/mgmd_nodes.h"
#include "mgmd/mgmd_requests.h"
#include "ndb/version.h"
#include "signals/arbitrator.h"

#define MGMD_VERSION      ((uint32_t)NDB_CLIENT_VERSION) /* major << 16 | minor << 8 | build */
#define MGMD_VERSION_TEXT "ndb-" NDB_CLIENT_VERSION_STRING

#define MGMD_LISTENERS    11u /* Listeners: for each address of a HostName, and three. */
#define MGMD_SESSIONS_MAX 256u
#define MGMD_TICK_MS      100u

struct mgm_link;
struct mgmd_peer;
struct mgmd_session;

struct mgmd_options {
    const char *config_file; /* NULL: config.ini in the working directory, if there. */
    const char *config_dir;  /* NULL: the node's DataDir. */
    const char *bind_address;
    uint32_t node_id;
    uint64_t cluster_id; /* Id of the cluster; 0: the one that is kept, or a new one. */
    bool initial;
    bool reload;
    bool nodaemon;
    bool print_config;
    bool verbose;
};

struct mgmd {
    uv_loop_t *loop;
    struct mgmd_options options;
    struct cluster_config *config;
    bool fresh; /* The cluster's id was made here, and nobody has confirmed it: mgmd_identity.c. */
    uint64_t claimed_ms; /* Loop time: files with this id were told of; 0: not, or it counts. */
    bool anew; /* It started without kept configurations, so what it made may have old numbers. */
    struct cluster_config *pending; /* The file's configuration, until all servers are there. */
    uint64_t pending_until; /* No node ids are given out until then, or until it has happened. */
    uint64_t pending_told;  /* Loop time of the next line about who is missing. */
    struct mgmd_peer *peers[CONFIG_NODES_MAX + 1]; /* Other management servers; NULL: it is none. */
    struct cluster_log *log;
    char directory[1100];  /* DataDir, with slash. */
    char config_dir[1100]; /* Directory of the configurations, with slash. */
    struct mgmd_lock lock; /* What is this node's there is this process's. */
    uint32_t own_node;
    uint16_t port;
    bool stopping;
    bool failed; /* The exit status is 1. */
    struct mgmd_node nodes[CONFIG_NODES_MAX + 1];
    struct mgmd_session *sessions[MGMD_SESSIONS_MAX];
    uint32_t sessions_max; /* Sessions that there may be: as many as there are descriptors for. */
    uint32_t session_count;
    uint32_t session_last;
    uint32_t pushed_out; /* Sessions that were pushed out since that was last told. */
    uint64_t crowd_told;
    bool accept_again; /* There was no memory for a newcomer. */
    struct mgmd_request requests[MGMD_REQUESTS_MAX];
    uint32_t request_last;
    uint32_t tick;
    struct mgm_link *link;
    struct arbitrator arbitrator;
    /* Listeners, those that could not be made too: mgmd_listen.c. */
    uv_tcp_t listener[MGMD_LISTENERS];
    uint32_t listeners;
    int listener_name[MGMD_LISTENERS]; /* Keeps others from its address; 0: there is none. */
    uint32_t listener_beside; /* That of 127.0.0.1, which it can do without; 0: there is none. */
    uv_timer_t timer;
    uv_timer_t exit_timer;
    uv_signal_t signals[2];
};

/* ---- mgmd_main.c ---- */
/* Ends the loop in an orderly way after `delay_ms`. */
void mgmd_exit(struct mgmd *mgmd, uint64_t delay_ms);
/* Tells that the server stops, as it has not got its port. */
void mgmd_no_port(struct mgmd *mgmd, const char *why);
