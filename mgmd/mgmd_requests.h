/* mgmd_requests.h -- requests of sessions that data nodes answer, and who makes them. Private to
 * mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/bitmask.h"
#include "kernel/base/signal.h"

#define MGMD_REQUESTS_MAX 64u
#define MGMD_ANSWER_MS    30000u
#define MGMD_STOP_MS      600000u
#define MGMD_LOST_BEATS   5u     /* A data node is lost after so many intervals without one. */
#define MGMD_HOLD_ID_MS   10000u /* Data nodes hold an id so long for its client. */
#define MGMD_ASK_ID_MS    2000u

struct mgmd;
struct mgmd_session;

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

/* ---- mgmd_requests.c: answers and link losses move the requests on ---- */
void mgmd_requests_signal(struct mgmd *mgmd, uint32_t node, const struct signal *sig);
void mgmd_requests_link_down(struct mgmd *mgmd, uint32_t node);
void mgmd_requests_tick(struct mgmd *mgmd);

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

/* ---- mgmd_nodeids.c ---- */

/* The id that this session holds: do the data nodes agree? False: they need not be asked. */
bool mgmd_order_nodeid(struct mgmd_session *session, uint32_t id, bool any, const char *host,
                       const char *name);
/* The session that held the id has ended. */
void mgmd_order_nodeid_free(struct mgmd *mgmd, uint32_t id);
void mgmd_take_nodeid(struct mgmd *mgmd, uint32_t node, const struct signal *sig);
/* Some have not answered: most of them are enough, because two servers' majorities meet. */
void mgmd_nodeid_late(struct mgmd *mgmd, struct mgmd_request *request);
