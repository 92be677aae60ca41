/* layout.h -- how many threads a node has, what each is for, and which block instance lives where.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node.h"

/*
 * Two layouts. One thread runs every block and polls the sockets (1 or 2 CPUs: a signal never waits
 * for a wake-up). Or they are split:  0 main | 1 rep | ldm ... | tc ... | recv ...  The threads of
 * the kernel end there; send threads, which run no block, follow:  | send ...  No block knows the
 * map; it is data here.
 *
 * A link belongs to one recv thread, which reads it, and is written by one send thread or, where
 * there is none, by its recv thread. Other threads never write to a socket, so nosend changes
 * nothing.
 */
enum thread_role { ROLE_ALL, ROLE_MAIN, ROLE_REP, ROLE_LDM, ROLE_TC, ROLE_RECV, ROLE_SEND };

#define LDM_COUNT_MAX  24u
#define TC_COUNT_MAX   24u
#define RECV_COUNT_MAX 14u
#define SEND_COUNT_MAX 16u
#define WORKERS_MAX    (THREADS_MAX + SEND_COUNT_MAX)

/* The split layout's thread count for so many instances and one recv thread. */
uint32_t layout_split_threads(uint32_t ldm_count, uint32_t tc_count);

/* All threads of the layout: the kernel's and the send threads. */
uint32_t layout_workers(const struct node_config *config);

enum thread_role layout_role(const struct node_config *config, uint32_t thread_no);
const char *layout_role_name(enum thread_role role);

/* The first thread that owns sockets: it also listens. */
uint32_t layout_socket_thread(const struct node_config *config);
uint32_t layout_recv_count(const struct node_config *config);

/* The thread that reads the link to `peer`, and the one that writes it (maybe the same). */
uint32_t layout_link_thread(const struct node_config *config, uint32_t peer);
uint32_t layout_writer_thread(const struct node_config *config, uint32_t peer);

/* The thread of a block's instance. */
uint32_t layout_thread_of(const struct node_config *config, uint32_t block_no, uint32_t instance);

/* Sets thread_count, ldm_count, tc_count and send_count for a machine with `cpus` CPUs. */
void layout_automatic(struct node_config *config, uint32_t cpus);

/* The same for MaxNoOfExecutionThreads. */
void layout_from_limit(struct node_config *config, uint32_t threads);

/*
 * The same from a ThreadConfig text, as `ldm={count=4},tc={count=2},main,rep,recv,send`. 0, or -1
 * with what is wrong and what is allowed in `why`. An empty text means layout_automatic().
 */
int layout_from_text(struct node_config *config, const char *text, uint32_t cpus, char *why,
                     size_t why_size);
