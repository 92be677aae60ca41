/* mgmd_session.h -- the sessions of clients: where they come from, their requests, replies and
 * event streams. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "config/message.h"
#include "ndb/mgm.h"

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

struct cluster_config;
struct mgmd;
struct mgmd_session;

/* ---- mgmd_listen.c ---- */
/* Takes the port where the own section of `config` or --bind-address says, unless the server has it
 * already. Nobody gets in yet, and nobody else can take it. 0, or -1 with the reason. */
int mgmd_take_port(struct mgmd *mgmd, const struct cluster_config *config, char *why, size_t size);
/* Opens the port that was taken. 0, or -1 with the reason. */
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
