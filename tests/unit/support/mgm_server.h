/* mgm_server.h -- a real ndb_mgmd in a directory of its own, and data nodes that only answer
 * signals. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "config/config.h"
#include "ndb/mgm.h"
#include "signals/event_log.h"
#include "tests/unit/support/temp_directory.h"
#include "transporters/transporter.h"

#define ROWS_PAGES 40u

struct server {
    char directory[TEMP_DIRECTORY_SIZE];
    pid_t pid;
    uint16_t port;
    ndb_mgm_handle_t *handle;
};

/* ---- a server in its own directory ---- */

void server_write_config(const struct server *server, const char *extra);

/* Starts it and reads the port from its first line. Returns the exit status when it ends at once,
 * else -1. */
int server_launch(struct server *server, const char *option);
ndb_mgm_handle_t *server_connect_to(const struct server *server);
int server_setup(void **state);
void server_stop_server(struct server *server);
int server_teardown(void **state);
bool server_file_exists(const struct server *server, const char *name);

/* ---- a data node that only answers its management server ---- */

pid_t server_start_fake_of(const struct server *server, uint32_t node, uint32_t level,
                           uint64_t cluster);
pid_t server_start_fake(const struct server *server, uint32_t node, uint32_t level);

/* Asks until the node has this status. Every question waits for an answer, so this needs no pause.
 */
void server_await_status(struct server *server, uint32_t node, enum ndb_mgm_node_status status);
void server_reap(pid_t pid, int wanted);

/* What the server gives a node; the caller frees it. */
struct cluster_config *server_configuration_of(const struct server *server);
uint32_t server_generation_of(const struct server *server, uint64_t *cluster);
bool server_log_has(const struct server *server, const char *text);
