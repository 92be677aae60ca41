/* mgmd.h -- the management server's state, shared by its files. Private. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * One thread, one libuv loop. mgmd_main.c starts it, mgmd_session.c talks to clients,
 * mgmd_commands*.c answer them, mgmd_nodes.c knows the nodes, mgm_link.c carries signals to data
 * nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "kernel/base/bitmask.h"
#include "kernel/base/signal.h"
#include "mgmd/cluster_log.h"
#include "config/config.h"
#include "config/message.h"
#include "ndb/mgm.h"
#include "ndb/version.h"
#include "signals/arbitrator.h"

#define MGMD_VERSION      ((uint32_t)NDB_CLIENT_VERSION) /* major << 16 | minor << 8 | build */
#define MGMD_VERSION_TEXT "ndb-" NDB_CLIENT_VERSION_STRING

#define MGMD_LISTENERS    11u /* Listeners: for each address of a HostName, and three. */
#define MGMD_SESSIONS_MAX 256u
#define MGMD_SESSIONS_MIN 16u /* Sessions however few files the process may open. */
#define MGMD_SESSION_IN   8192u
#define MGMD_SESSION_OUT_MAX                                                                       \
    (4u << 20) /* Unsent bytes before a session is cut off; holds any one reply. */
#define MGMD_LISTENER_OUT_MAX (1u << 20)
#define MGMD_SESSION_UNREAD_MAX                                                                    \
    (64u << 10) /* No further request is read while so much waits for the reader. */
#define MGMD_SESSION_IDLE_MS 600000u
#define MGMD_STRANGER_MS     10000u /* Wait for the first request, and for each to be complete. */
#define MGMD_UNREAD_MS       30000u /* A session that takes nothing for so long is cut off. */
#define MGMD_CROWD_TOLD_MS   60000u
#define MGMD_TICK_MS         100u
#define MGMD_ANSWER_MS       30000u
#define MGMD_STOP_MS         600000u
#define MGMD_LOST_BEATS      5u /* A data node is lost after so many intervals without one. */
#define MGMD_REQUESTS_MAX    64u
#define MGMD_UNANSWERED      30u    /* Status requests, a tick apart: a silent node hangs. */
#define MGMD_HOLD_ID_MS      10000u /* Data nodes hold an id so long for its client. */
#define MGMD_ASK_ID_MS       2000u
#define MGMD_UNUSED_ID_MS    10000u /* A session keeps an id so long that is not linked. */
#define MGMD_KEEP_ID_MS      2000u  /* An id is kept from the angel's session to the worker's. */

struct mgm_link;
struct mgmd_peer;
struct mgmd_session;

/* What the server knows about one node id. Status words are those of NODE_STATUS_CONF. */
struct mgmd_node {
    bool linked;
    bool status_known;
    bool stopping;       /* It was ordered to stop by us; its end is no surprise. */
    uint32_t unanswered; /* Requests for its status since the last answer. */
    uint32_t connect_count;
    uint32_t start_level;
    uint32_t start_phase;
    uint32_t start_percent;
    uint32_t start_left_s;
    uint64_t progress_told; /* Loop time of the last line about it. */
    uint32_t nodegroup;
    uint32_t president;
    uint32_t dynamic_id;
    uint32_t version;
    uint32_t arbit_state; /* enum arbit_state, as this data node knows it. */
    uint32_t arbit_node;
    uint32_t generation;      /* Generation of the configuration that this data node runs with. */
    uint32_t slow;            /* 1: the data nodes have found it slow. */
    uint32_t single_user;     /* Client that may work alone, as this data node knows; 0 = none. */
    struct node_mask clients; /* Nodes linked to this data node. */
    uint32_t holder;          /* Session that holds the id, 0 = none. */
    uint64_t unused_since;    /* Loop time: since then nobody has used the id that is held. */
    bool linked_once;         /* Its node has linked since the id was given. */
    uint64_t kept_until;      /* Loop time: until then only given to who asks for this id. */
    uint64_t foreign;         /* Id of another cluster that this data node is of: told once. */
    uint32_t digest;      /* Digest of the configuration that it runs with; 0: it is not known. */
    uint32_t unlike_told; /* Digest that was told as that of another configuration. */
    bool configured;      /* It has its configuration from here. */
    uint32_t compared;    /* Its generation, not from here, that ours has been compared with. */
    uint64_t compare_ms;  /* Loop time: not compared before; what followed was not stored. */
    uint16_t port;        /* Port where it listens; 0 = not known. */
    char address[64];
    uint8_t log_level[NDB_MGM_CATEGORIES];
};

enum mgmd_request_kind {
    MGMD_REQUEST_NONE,
    MGMD_REQUEST_MEMORY,
    MGMD_REQUEST_DISK,
    MGMD_REQUEST_THREADS,
    MGMD_REQUEST_EVENTS,
    MGMD_REQUEST_STOP,
    MGMD_REQUEST_SINGLE,
    MGMD_REQUEST_NODEID
};

/* An order to data nodes whose answers are awaited on behalf of a session. */
struct mgmd_request {
    enum mgmd_request_kind kind;
    uint32_t id;      /* sender_data */
    uint32_t session; /* Gets the reply if it still exists. */
    uint64_t deadline;
    struct node_mask waiting; /* Nodes that have not answered. */
    struct node_mask leaving; /* Nodes that accepted and whose link is still up. */
    uint32_t asked;
    uint32_t done;
    uint32_t error; /* First error; 0 = none. */
    uint32_t error_node;
    bool restart;
    uint32_t single_user; /* SINGLE: client that may work alone, 0 = all. */
    uint32_t node_id;     /* NODEID: id that is asked about. */
    bool any;             /* NODEID: another id would do. */
    char host[128];       /* NODEID: host of the client that wants it. */
    char name[68];
    bool then_exit; /* The server itself stops after the reply. */
    char *text;     /* Collected reply lines. */
    size_t text_size;
    uint32_t lines; /* EVENTS: lines so far. */
};

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
    uv_timer_t timer;
    uv_timer_t exit_timer;
    uv_signal_t signals[2];
};

/* ---- mgmd_choose.c: which configuration a server starts with ---- */

/* Loads what is kept and the file, decides, stores a new generation. 0, or -1 with messages on
 * standard error. */
int mgmd_config_start(struct mgmd *mgmd);
/* A file's configuration, NULL: it is wrong. What is to say of it is on the standard error. */
struct cluster_config *mgmd_read_config(const char *file);

/* ---- mgmd_change.c: how it becomes another one ---- */

/* Reads the file again (`file` NULL: as started). 0, or -1 with the reason in `why`. */
int mgmd_config_reload(struct mgmd *mgmd, const char *file, char *why, size_t why_size);
/* Another server's newer configuration becomes this one's, which owns it then; `any_cluster`: also
 * if it has another id. 0; -1: it cannot be stored now; 1: it is of another cluster, or without
 * this server, which stops then. */
int mgmd_config_take(struct mgmd *mgmd, struct cluster_config *config, bool any_cluster);
/* The changed file of the start becomes the configuration when all servers are there. */
void mgmd_config_pending(struct mgmd *mgmd);
/* Gives the new configuration its generation and identity (`cached`'s, or a new one) and stores
 * it; generation 1 alone. 0, or -1. */
int mgmd_config_adopt(struct mgmd *mgmd, struct cluster_config *config,
                      const struct cluster_config *cached, uint32_t generation);
/* Why another server's configuration cannot be this one's, or NULL. */
const char *mgmd_config_not_ours(const struct mgmd *mgmd, const struct cluster_config *theirs,
                                 uint64_t cluster_id);

/* ---- mgmd_kept.c: the generations that are kept in the server's directory ---- */

/* The number of the newest below `below`, 0: none. Its file may be damaged. */
uint32_t mgmd_kept_newest(const struct mgmd *mgmd, uint32_t below);
/* One of the generations that are kept, or NULL with the reason. */
struct cluster_config *mgmd_kept_load(const struct mgmd *mgmd, uint32_t generation, char *why,
                                      size_t why_size);
/* The newest that can be read; damaged ones are named and skipped. NULL: there is none. */
struct cluster_config *mgmd_kept_load_newest(struct mgmd *mgmd);
/* The node whose configurations the directory holds; 0: nobody's, or those of several. */
uint32_t mgmd_kept_owner(const struct mgmd *mgmd);
/* The content digest of one that is kept, 0: none. */
uint32_t mgmd_kept_digest(const struct mgmd *mgmd, uint32_t generation);
/* The number of the one that follows `config`. */
uint32_t mgmd_kept_next(const struct mgmd *mgmd, const struct cluster_config *config);
/* Writes the configuration into the directory, under its generation. 0, or -1 with errno. */
int mgmd_kept_store(struct mgmd *mgmd, const struct cluster_config *config);
/* Writes it in the place of all that are kept. 0, or -1 with errno. */
int mgmd_kept_store_alone(struct mgmd *mgmd, const struct cluster_config *config);
/* Removes the generations before the present one. */
void mgmd_kept_forget(struct mgmd *mgmd);
/* A data node runs with this generation, which it does not have from here. If that is one of
 * former files, and its number may be one of ours, ours comes behind it. 0, or -1: that could not
 * be stored, and is to be tried again. */
int mgmd_kept_behind(struct mgmd *mgmd, uint32_t generation);
/* The configuration in its binary form, malloc'ed, and its generation: the newest one, or that of a
 * data node (`from_node` not 0). NULL with the reason. */
uint8_t *mgmd_config_encode(const struct mgmd *mgmd, uint32_t from_node, size_t *size,
                            uint32_t *generation, char *why, size_t why_size);
/* Would these data nodes work after a restart (one by one, or the `whole` cluster at once), with
 * what has changed since they began? False with the reason. */
bool mgmd_config_fits(struct mgmd *mgmd, const struct node_mask *nodes, bool whole, bool initial,
                      char *why, size_t size);

/* ---- mgmd_files.c ---- */

/* A whole file, malloc'ed. NULL with errno. */
uint8_t *mgmd_read_file(const char *path, size_t *size);
/* Writes a file so that its name never stands for half of it, or removes one; it is so after a
 * power cut, too. 0, or -1 with errno. */
int mgmd_write_file(const char *path, const void *bytes, size_t size);
int mgmd_remove_file(const char *path);
/* Makes what was renamed or removed beside `path` outlive a power cut. 0, or -1 with errno. */
int mgmd_sync_directory_of(const char *path);
/* Ports that data nodes told, kept over a restart of the server. */
void mgmd_ports_load(struct mgmd *mgmd);
void mgmd_ports_store(const struct mgmd *mgmd);

/* ---- mgmd_identity.c: which server, of which cluster ---- */

/* The id and name of the configuration's cluster: `cached`'s, or, without one, a new one. */
void mgmd_identity_give(const struct mgmd *mgmd, struct cluster_config *config,
                        const struct cluster_config *cached);
/* A new cluster begins with this configuration: remembers that nobody has confirmed its id. 0, or
 * -1 with a message. */
int mgmd_identity_begin(struct mgmd *mgmd, const struct cluster_config *config);
bool mgmd_identity_fresh(const struct mgmd *mgmd, const struct cluster_config *config);
/* Another server has the same id, or the operator says it: it stays. */
void mgmd_identity_confirm(struct mgmd *mgmd);
/* A data node is started with this id. */
void mgmd_identity_confirm_by_node(struct mgmd *mgmd);
/* Called every second. */
void mgmd_identity_tick(struct mgmd *mgmd);
/* A data node, which `runs` or has files, is of this cluster. 0: so is this server, by now; -1: it
 * is not, 1: it cannot store that it would be, with the reason. */
int mgmd_identity_claim(struct mgmd *mgmd, uint32_t node, uint64_t cluster_id, bool runs, char *why,
                        size_t size);

/* The own node: the id given, or the only management server of the configuration that is for this
 * host. 0 with a message. */
uint32_t mgmd_find_own_node(const struct mgmd *mgmd, const struct cluster_config *config);

/* ---- mgmd_listen.c ---- */
/* Begins to listen where the own section or --bind-address says. 0, or libuv's error. */
int mgmd_listen(struct mgmd *mgmd, char *why, size_t size);
void mgmd_listen_close(struct mgmd *mgmd);

/* ---- mgmd_session.c ---- */
/* How many sessions there may be; before the first one. */
void mgmd_sessions_limit(struct mgmd *mgmd);
/* A listener's callback: somebody has connected. */
void mgmd_session_accept(uv_stream_t *server, int status);
void mgmd_sessions_tick(struct mgmd *mgmd);
void mgmd_sessions_close(struct mgmd *mgmd);
struct mgmd_session *mgmd_session(struct mgmd *mgmd, uint32_t id);
uint32_t mgmd_session_id(const struct mgmd_session *session);
struct mgmd *mgmd_session_owner(const struct mgmd_session *session);
const struct mgm_parser *mgmd_session_request(const struct mgmd_session *session);
const char *mgmd_session_address(const struct mgmd_session *session);
/* Appends to the reply; sent with the next return to the loop. */
void mgmd_reply(struct mgmd_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mgmd_reply_text(struct mgmd_session *session, const char *text, size_t size);
/* "<command> reply", "result: ..." ; the caller adds its lines and ends with mgmd_reply_end(). */
void mgmd_reply_begin(struct mgmd_session *session, const char *result);
void mgmd_reply_end(struct mgmd_session *session);
void mgmd_reply_error(struct mgmd_session *session, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The order is not for this node, as `code` says, or there is no such node. */
void mgmd_reply_wrong_node(struct mgmd_session *session, uint32_t id, int code);
/* The request is answered later: nothing more is read until mgmd_session_resume(). */
void mgmd_session_wait(struct mgmd_session *session);
void mgmd_session_resume(struct mgmd_session *session);
void mgmd_session_end(struct mgmd_session *session);
void mgmd_session_listen(struct mgmd_session *session, const uint32_t *levels, bool parsable);
/* Sends an event to the listeners whose level it passes. */
void mgmd_listeners_event(struct mgmd *mgmd, const struct ndb_mgm_event *event, uint32_t threshold);
/* Raises levels[] to what the listeners want. */
void mgmd_listeners_levels(const struct mgmd *mgmd, uint32_t *levels);
void mgmd_sessions_list(struct mgmd *mgmd, struct mgmd_session *to);

/* ---- mgmd_requests.c, for those who ask data nodes ---- */

/* A free record; NULL when there is none: the session has the error then. */
struct mgmd_request *mgmd_request_new(struct mgmd_session *session, uint64_t wait_ms);
struct mgmd_request *mgmd_request_find(struct mgmd *mgmd, uint32_t id, enum mgmd_request_kind kind);
/* A line of the reply; cut at 511 bytes. */
void mgmd_request_text(struct mgmd_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mgmd_request_error(struct mgmd_request *request, uint32_t node, uint32_t error);
/* Replies, and frees the record, when nobody is awaited any more. */
void mgmd_request_finish(struct mgmd *mgmd, struct mgmd_request *request);
/* Everything was sent: hear the answers. Without any node to wait for, the next tick answers. */
void mgmd_request_go(struct mgmd_session *session);

/* ---- mgmd_orders.c ---- */

bool mgmd_is_data_node(const struct mgmd *mgmd, uint32_t id);
/* The nodes of a request: "node: 1 2,3", or all data nodes. False: the error was sent. */
bool mgmd_read_nodes(struct mgmd_session *session, bool all, bool linked_only,
                     struct node_mask *nodes, bool *self);
/* Sends the order to whoever leads now; again when that one is lost, or has not led. */
void mgmd_single_user_send(struct mgmd *mgmd, struct mgmd_request *request);
/* Takes the answer of that node. */
void mgmd_take_single_user(struct mgmd *mgmd, uint32_t node, const struct signal *sig);

/* ---- mgmd_reports.c ---- */

/* True when it was the answer of a report. */
bool mgmd_reports_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig);

/* ---- mgmd_commands.c, mgmd_orders.c, mgmd_reports.c ---- */
bool mgmd_execute(struct mgmd_session *session); /* False: there is no such command. */
void mgmd_order_stop(struct mgmd_session *session);
void mgmd_order_restart(struct mgmd_session *session);
void mgmd_order_check(struct mgmd_session *session); /* Would the nodes work after a restart? */
void mgmd_order_start(struct mgmd_session *session);
void mgmd_order_memory(struct mgmd_session *session);
void mgmd_order_disk(struct mgmd_session *session);
void mgmd_order_threads(struct mgmd_session *session);
void mgmd_order_events(struct mgmd_session *session);
void mgmd_order_dump(struct mgmd_session *session);
void mgmd_order_single_user(struct mgmd_session *session);

/* ---- mgmd_nodeids.c ---- */

/* The id that this session holds: do the data nodes agree? False: they need not be asked. */
bool mgmd_order_nodeid(struct mgmd_session *session, uint32_t id, bool any, const char *host,
                       const char *name);
/* The session that held the id has ended. */
void mgmd_order_nodeid_free(struct mgmd *mgmd, uint32_t id);
void mgmd_take_nodeid(struct mgmd *mgmd, uint32_t node, const struct signal *sig);
/* Some have not answered: most of them are enough, because two servers' majorities meet. */
void mgmd_nodeid_late(struct mgmd *mgmd, struct mgmd_request *request);
/* Sends the answer of get nodeid. */
void mgmd_reply_nodeid(struct mgmd_session *session, uint32_t id, const char *name);

/* ---- mgmd_requests.c: answers and link losses move the requests on ---- */
void mgmd_requests_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig);
void mgmd_requests_link_down(struct mgmd *mgmd, uint32_t node);
void mgmd_requests_tick(struct mgmd *mgmd);

/* ---- mgmd_nodes.c ---- */
void mgmd_nodes_start(struct mgmd *mgmd);
/* A data node is linked, and has not answered for seconds: what it said last is not so any more.
 * Requests are counted, not time, so that a server that has hung itself does not blame others. */
bool mgmd_node_hangs(const struct mgmd *mgmd, uint32_t node);
/* It is started as it has said last, whether it hangs by now or not. */
bool mgmd_node_serves(const struct mgmd *mgmd, uint32_t node);
/* It says that it leads the others. While a leader that hangs is not yet known to hang, its
 * successor says so, too: the one that has answered later leads. */
bool mgmd_node_leads(const struct mgmd *mgmd, uint32_t node);
/* A started data node that leads, 0 = none is known. */
uint32_t mgmd_president(const struct mgmd *mgmd);
/* The client that may work alone, 0 = all may. */
uint32_t mgmd_single_user(const struct mgmd *mgmd);
enum ndb_mgm_node_status mgmd_node_status(const struct mgmd *mgmd, uint32_t node);
/* The id, or 0 with an error code and its reason. */
uint32_t mgmd_alloc_id(struct mgmd *mgmd, struct mgmd_session *session, enum ndb_mgm_node_type type,
                       uint32_t wanted, const char *host, int *code, char *why, size_t why_size);
void mgmd_free_ids(struct mgmd *mgmd, uint32_t session);
void mgmd_node_link_up(struct mgmd *mgmd, uint32_t node);
void mgmd_node_link_down(struct mgmd *mgmd, uint32_t node, const char *reason);
/* A signal from a data node, checked by the link; false closes the link. */
bool mgmd_node_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig);
void mgmd_nodes_tick(struct mgmd *mgmd);
void mgmd_nodes_subscribe(struct mgmd *mgmd);
/* The free text of an event signal: section 0 is its size in bytes, then the bytes. Cut to what
 * fits; anything else reads as "". */
#define MGMD_EVENT_TEXT_MAX 512u
void mgmd_event_text(const struct signal *sig, char *text, size_t size);
void mgmd_event(struct mgmd *mgmd, uint32_t type, uint32_t source, const uint32_t *data,
                uint32_t words, const char *text);

/* ---- mgmd_peers.c ---- */
/* Does this server make the changes of the configuration? The lowest id does. */
bool mgmd_leads(const struct mgmd *mgmd);
bool mgmd_peer_alive(const struct mgmd *mgmd, uint32_t id);
/* Why the configuration cannot be changed with another server, and what helps. */
struct mgmd_unlike {
    const char *what;
    const char *cure;
};
/* A server that is not like this one, with the reason; 0 = all are. */
uint32_t mgmd_peer_missing(const struct mgmd *mgmd, struct mgmd_unlike *why);
void mgmd_peers_tick(struct mgmd *mgmd);
void mgmd_peers_free(struct mgmd *mgmd);
/* Asks the servers of `known` once and gives the newest configuration, which is the caller's, whose
 * it is, and whether that server is fresh: then nobody else has any. NULL: nobody answers. Waits.
 */
struct cluster_config *mgmd_peers_first(const struct cluster_config *known, uint32_t own_node,
                                        uint32_t *from, bool *fresh);

/* ---- mgm_link.c ---- */
struct mgm_link *mgm_link_start(struct mgmd *mgmd);
/* Tells the link where data nodes are; again after each change of ports or configuration. */
void mgm_link_update(struct mgm_link *link);
/* Sends a signal without sections to a block of a data node. -1 when there is no link. */
int mgm_link_send(struct mgm_link *link, uint32_t node, uint32_t block, uint32_t gsn, uint32_t prio,
                  const void *payload, uint32_t words);
void mgm_link_flush(struct mgm_link *link);
bool mgm_link_is_hello(const void *bytes, uint32_t size);
void mgm_link_adopt(struct mgm_link *link, int descriptor, const void *bytes, uint32_t size);
void mgm_link_address(struct mgm_link *link, uint32_t node, char *address, uint32_t size);
void mgm_link_stop(struct mgm_link *link);
bool mgm_link_stopped(const struct mgm_link *link);
void mgm_link_free(struct mgm_link *link);

/* ---- mgmd_main.c ---- */
/* Ends the loop in an orderly way after `delay_ms`. */
void mgmd_exit(struct mgmd *mgmd, uint64_t delay_ms);
