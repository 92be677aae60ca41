/* notify.h -- what a program tells the service manager that has started it: that it is ready, how
 * far it is, that it is alive. Without one nothing happens. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * Sends lines NAME=VALUE to the socket in $NOTIFY_SOCKET, as systemd's sd_notify(3) describes them:
 * STOPPING=1. Waits half a second at most for a manager that is busy. Any thread.
 */
void service_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The program is ready, with this status. Never waits: while the manager is busy it is owed, and
 * service_alive() says it. Any thread. */
void service_ready(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* How far the program is, for people. Never waits: a manager that is busy does not get it. Any
 * thread. */
void service_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says that the program is alive, if the manager wants to hear that ($WATCHDOG_USEC), and at most
 * as often as it needs to. It is called every `every_ms`; a manager that waits for less than twice
 * as long is told not to wait. One thread. */
void service_alive(uint32_t every_ms);
/* Until the next service_alive() nobody can say it: the manager does not wait for it. */
void service_not_watched(void);
