/* mgmd_commands.h -- the commands of the management protocol, each of which answers the session's
 * request. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

struct mgmd_session;

/* ---- mgmd_commands.c ---- */

/* Executes the command that the session's request names. False: there is no such command. */
bool mgmd_execute(struct mgmd_session *session);

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
