/* mgm.h -- the C management API: talk to ndb_mgmd about configuration, nodes, events. */
/* SPDX-License-Identifier: MIT
 *
 * A handle is one connection to one management server. It may be used by one thread at a time;
 * different handles are independent. Calls block, at most for the handle's timeout. Functions
 * return 0 (or a count) or -1; ndb_mgm_error_code() and _text() then say why. Nothing here prints,
 * exits or raises signals.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NDB_MGM_EXPORT __attribute__((visibility("default")))
#else
#define NDB_MGM_EXPORT
#endif

#define NDB_MGM_DEFAULT_PORT 1186
#define NDB_MGM_NODES_MAX    255

typedef struct ndb_mgm_handle ndb_mgm_handle_t;

enum ndb_mgm_error {
    NDB_MGM_OK = 0,
    NDB_MGM_ILLEGAL_CONNECT_STRING = 1001,
    NDB_MGM_ILLEGAL_SERVER_REPLY = 1006,
    NDB_MGM_OUT_OF_MEMORY = 1009,
    NDB_MGM_SERVER_NOT_CONNECTED = 1010,
    NDB_MGM_COULD_NOT_CONNECT = 1011,
    NDB_MGM_ALREADY_CONNECTED = 1017,
    NDB_MGM_ALLOCID_ERROR = 1101,
    NDB_MGM_ALLOCID_CONFIG_MISMATCH = 1102,
    NDB_MGM_ALLOCID_RETRY = 1103, /* A slot may soon be free: try again. */
    NDB_MGM_START_FAILED = 2001,
    NDB_MGM_STOP_FAILED = 2002,
    NDB_MGM_RESTART_FAILED = 2003,
    NDB_MGM_ENTER_SINGLE_FAILED = 4001,
    NDB_MGM_EXIT_SINGLE_FAILED = 4002,
    NDB_MGM_CONFIG_CHANGE_FAILED = 4011,
    NDB_MGM_GET_CONFIG_FAILED = 4012,
    NDB_MGM_USAGE_ERROR = 5001
};

enum ndb_mgm_node_type { NDB_MGM_NODE_NDB = 0, NDB_MGM_NODE_API = 1, NDB_MGM_NODE_MGM = 2 };

/* States of data nodes; a client or management server is CONNECTED, or NO_CONTACT. */
enum ndb_mgm_node_status {
    NDB_MGM_STATUS_UNKNOWN = 0,    /* The server tells a state that this library has no name for. */
    NDB_MGM_STATUS_NO_CONTACT = 1, /* It is not linked, or has not told its state yet. */
    NDB_MGM_STATUS_NOT_STARTED = 2,   /* It waits for START. */
    NDB_MGM_STATUS_STARTING = 3,      /* It is in a start phase. */
    NDB_MGM_STATUS_STARTED = 4,       /* It works. */
    NDB_MGM_STATUS_SHUTTING_DOWN = 5, /* It was ordered to stop. */
    NDB_MGM_STATUS_RESTARTING = 6,    /* Not told by these servers. */
    NDB_MGM_STATUS_SINGLEUSER = 7,    /* It works for one client only. */
    NDB_MGM_STATUS_RESUME = 8,        /* Not told by these servers. */
    NDB_MGM_STATUS_CONNECTED = 9,     /* A client or management server is there. */
    NDB_MGM_STATUS_NO_ANSWER = 10     /* It is linked, and has not answered for seconds. */
};

enum ndb_mgm_severity {
    NDB_MGM_SEVERITY_ON = 0, /* The master switch. */
    NDB_MGM_SEVERITY_DEBUG = 1,
    NDB_MGM_SEVERITY_INFO = 2,
    NDB_MGM_SEVERITY_WARNING = 3,
    NDB_MGM_SEVERITY_ERROR = 4,
    NDB_MGM_SEVERITY_CRITICAL = 5,
    NDB_MGM_SEVERITY_ALERT = 6,
    NDB_MGM_SEVERITY_ALL = 7
};
#define NDB_MGM_SEVERITIES 7

enum ndb_mgm_category {
    NDB_MGM_CATEGORY_STARTUP = 250,
    NDB_MGM_CATEGORY_SHUTDOWN = 251,
    NDB_MGM_CATEGORY_STATISTICS = 252,
    NDB_MGM_CATEGORY_CHECKPOINT = 253,
    NDB_MGM_CATEGORY_NODERESTART = 254,
    NDB_MGM_CATEGORY_CONNECTION = 255,
    NDB_MGM_CATEGORY_INFO = 256,
    NDB_MGM_CATEGORY_WARNING = 257,
    NDB_MGM_CATEGORY_ERROR = 258,
    NDB_MGM_CATEGORY_CONGESTION = 259,
    NDB_MGM_CATEGORY_DEBUG = 260,
    NDB_MGM_CATEGORY_BACKUP = 261,
    NDB_MGM_CATEGORY_SCHEMA = 262
};
#define NDB_MGM_CATEGORY_FIRST 250
#define NDB_MGM_CATEGORIES     13

struct ndb_mgm_node_state {
    uint32_t node_id;
    enum ndb_mgm_node_type type;
    enum ndb_mgm_node_status status;
    uint32_t start_phase;   /* Last start phase that was completed. */
    uint32_t dynamic_id;    /* Order of joining; 0 = not joined. */
    uint32_t node_group;    /* Node group of a data node; 65536: none. */
    uint32_t version;       /* major << 16 | minor << 8 | build; 0 while unknown. */
    uint32_t connect_count; /* Times that it connected to this server. */
    uint32_t start_percent; /* While it starts: percent of its data that has been read back. */
    uint32_t start_left_s;  /* Seconds that reading will take, estimated; 0 = not known. */
    int president;          /* 1: this data node leads. */
    uint32_t arbit_state;   /* Data nodes: 0 none, 6 there is an arbitrator, else one is chosen. */
    uint32_t arbitrator;    /* Data nodes: node id of the arbitrator, 0 = none. */
    int slow;               /* 1: this data node is slow; others are asked in its place. */
    int is_single_user;     /* 1: this client alone may work (single user mode). */
    char address[64];       /* Address of the connected process; empty when unknown. */
    char host[256];         /* Host of the configuration; empty: any. */
};

struct ndb_mgm_cluster_state {
    uint32_t count;
    struct ndb_mgm_node_state nodes[NDB_MGM_NODES_MAX];
};

#define NDB_MGM_GROUPS_MAX 16
struct ndb_mgm_memory_group {
    uint64_t used; /* Pages in use; all figures are pages, but `failed` is requests. */
    uint64_t max;
    uint64_t reserved;
    uint64_t high;
    uint64_t failed;
};

struct ndb_mgm_memory {
    uint32_t node_id;
    uint32_t error;      /* 0, or why this node did not answer: 5000 no contact, 5005 no answer. */
    uint32_t page_size;  /* Bytes. */
    uint64_t data_used;  /* Pages that hold rows. */
    uint64_t index_used; /* Pages that hold hash indexes. */
    uint64_t total;      /* Pages of DataMemory. */
    uint32_t group_count;
    struct ndb_mgm_memory_group groups[NDB_MGM_GROUPS_MAX];
};

/* One part of a node's redo log. */
struct ndb_mgm_log_part {
    uint32_t state;     /* 0 closed, 1-2 being opened, 3-7 being replayed, 8 running. */
    uint32_t percent;   /* Percent of opening or replaying that is done. */
    uint32_t fill;      /* Percent of the files that checkpoints have not freed yet. */
    uint32_t files;     /* Files of the part. */
    uint32_t file_kb;   /* KB of each file. */
    uint32_t head_file; /* File that is being written. */
    uint32_t head_mb;   /* MB of that file before the place of writing. */
    uint32_t tail_file; /* Oldest file that is needed. */
    uint32_t delayed;   /* Operations held back until there is room. */
    uint64_t lsn;       /* Number of the last page that is durable. */
    uint64_t records;   /* Records written since the node started. */
    uint64_t bytes;     /* Bytes written since the node started. */
};

enum ndb_mgm_lcp_state {
    NDB_MGM_LCP_IDLE = 0,
    NDB_MGM_LCP_WRITING = 1,
    NDB_MGM_LCP_WAITING = 2, /* It is written, and waits for its last GCI to become durable. */
    NDB_MGM_LCP_CLEANING = 3 /* Replaced files are removed. */
};

#define NDB_MGM_LOG_PARTS_MAX 64
struct ndb_mgm_disk {
    uint32_t node_id;
    uint32_t error;    /* 0, or why this node did not answer: 5000 no contact, 5005 no answer. */
    uint32_t diskless; /* 1: the node keeps nothing on disk. */
    uint32_t gci;      /* GCI that commits have now. */
    uint32_t durable;  /* Newest GCI that survives the loss of the whole cluster. */
    enum ndb_mgm_lcp_state lcp_state;
    uint32_t lcp_id;      /* Local checkpoint under way, 0 = none. */
    uint32_t lcp_ms;      /* Milliseconds since it began. */
    uint32_t last_id;     /* Last completed one, 0 = none since the node started. */
    uint32_t last_age_ms; /* Milliseconds since it was completed. */
    uint32_t last_ms;     /* Milliseconds that it took. */
    uint32_t last_fragments;
    uint32_t last_failed; /* Fragments that keep their former checkpoint. */
    uint32_t last_kbytes; /* KB that it has written. */
    uint32_t part_count;
    struct ndb_mgm_log_part parts[NDB_MGM_LOG_PARTS_MAX];
};

/* A thread of a data node; microseconds since its process began. */
struct ndb_mgm_thread {
    char name[12];  /* "main", "ldm", ...; "process" is the whole process, other threads too. */
    uint64_t at_us; /* Time of this report. */
    uint64_t user_us, system_us;         /* Time on a CPU, as the operating system counts. */
    uint64_t work_us, spin_us, sleep_us; /* Time as the thread measures it; 0 of the process. */
};

#define NDB_MGM_THREADS_MAX 96
struct ndb_mgm_threads {
    uint32_t node_id;
    uint32_t error; /* 0, or why this node did not answer: 5000 no contact, 5005 no answer. */
    uint32_t thread_count; /* The last one is the process. */
    struct ndb_mgm_thread threads[NDB_MGM_THREADS_MAX];
};

/* Flags of stop and restart. */
#define NDB_MGM_FLAG_NOSTART 1u
#define NDB_MGM_FLAG_INITIAL 2u
#define NDB_MGM_FLAG_ABORT   4u
#define NDB_MGM_FLAG_FORCE   8u

#define NDB_MGM_EVENTS_MAX 8192u /* Events in one report. */

struct ndb_mgm_event {
    uint32_t type;
    uint64_t time;        /* Time of the event, seconds since 1970. */
    uint32_t time_ms;     /* Milliseconds of that second; 0 from ndb_mgm_next_event(). */
    uint32_t source_node; /* Node that the event is from. */
    enum ndb_mgm_category category;
    enum ndb_mgm_severity severity;
    char text[512];
    uint32_t order; /* Place among the same node's events; only from ndb_mgm_report_events(). */
};

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
 * long as the handle. */
NDB_MGM_EXPORT int ndb_mgm_error_code(const ndb_mgm_handle_t *handle);
NDB_MGM_EXPORT const char *ndb_mgm_error_text(const ndb_mgm_handle_t *handle);
/* The fixed text of a code; never NULL. */
NDB_MGM_EXPORT const char *ndb_mgm_error_message(int code);

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
