/* mgmd_commands.h -- the commands of the management protocol, each of which answers the session's
 * request. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mgmd_session;

/* ---- mgmd_commands.c ---- */

/* Executes the command that the session's request names. False: there is no such command. */
bool mgmd_execute(struct mgmd_session *session);
/* Reads a number of the request, `missing` if there is none. False: it is wrong, and the session
 * has the error. */
bool mgmd_read_number(struct mgmd_session *session, const char *name, int64_t min, int64_t max,
                      int64_t missing, int64_t *value);
/* The whole reply: "Ok". */
void mgmd_reply_ok(struct mgmd_session *session);

/* ---- mgmd_node_commands.c ---- */

/* Sends the answer of get nodeid. */
void mgmd_reply_nodeid(struct mgmd_session *session, uint32_t id, const char *name);
void mgmd_get_nodeid(struct mgmd_session *session);
void mgmd_free_nodeid(struct mgmd_session *session);
void mgmd_get_config(struct mgmd_session *session);
void mgmd_set_connection_parameter(struct mgmd_session *session);
void mgmd_get_connection_parameter(struct mgmd_session *session);
/* A data node that failed cannot tell of its end over its link: its angel does, here. */
void mgmd_report_stop(struct mgmd_session *session);
/* A data node's files are of this cluster: a server that is fresh goes on with it. */
void mgmd_claim_cluster(struct mgmd_session *session);

/* ---- mgmd_status.c ---- */

void mgmd_get_status(struct mgmd_session *session);

/* ---- mgmd_log_commands.c ---- */

void mgmd_get_info_clusterlog(struct mgmd_session *session);
void mgmd_set_logfilter(struct mgmd_session *session);
void mgmd_get_cluster_loglevel(struct mgmd_session *session);
void mgmd_set_cluster_loglevel(struct mgmd_session *session);
/* Sets the levels of the data nodes' own logs, until they end. */
void mgmd_set_loglevel(struct mgmd_session *session);
void mgmd_listen_event(struct mgmd_session *session);

/* ---- mgmd_orders.c ---- */

void mgmd_order_stop(struct mgmd_session *session);
void mgmd_order_restart(struct mgmd_session *session);
void mgmd_order_check(struct mgmd_session *session); /* Would the nodes work after a restart? */
void mgmd_order_start(struct mgmd_session *session);
void mgmd_order_dump(struct mgmd_session *session);
void mgmd_order_single_user(struct mgmd_session *session);

/* ---- mgmd_reports.c ---- */

void mgmd_order_memory(struct mgmd_session *session);
void mgmd_order_disk(struct mgmd_session *session);
void mgmd_order_threads(struct mgmd_session *session);
void mgmd_order_events(struct mgmd_session *session);
