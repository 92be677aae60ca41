/* mgm_base.h -- the C management API: what all its parts need. A part of mgm.h. */
/* SPDX-License-Identifier: MIT */
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

/* Owned by one thread at a time. With NULL for it a function does nothing and returns -1, or what
 * it returns for "none"; an argument that is missing, or a text of several lines, is 5001. */
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

#ifdef __cplusplus
}
#endif
