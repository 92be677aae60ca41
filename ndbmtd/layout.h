/* layout.h -- how many threads a node has, what each is for, and which block instance lives where.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node.h"

/*
 * Two layouts. One thread runs every block and polls the sockets (1 or 2 CPUs: a signal never waits
 * for a wake-up). Or they are split:  0 main | 1 rep | ldm ... | tc ... | recv (last; it also
 * writes to the sockets). No block knows the map; it is data here. A ThreadConfig may name send, io
 * and watchdog threads: the recv thread does the work of all send threads, so their number has no
 * effect, nor has nosend.
 */
enum thread_role { ROLE_ALL, ROLE_MAIN, ROLE_REP, ROLE_LDM, ROLE_TC, ROLE_RECV };

#define LDM_COUNT_MAX 24u
#define TC_COUNT_MAX  24u

/* The split layout's thread count for so many instances. */
uint32_t layout_split_threads(uint32_t ldm_count, uint32_t tc_count);

enum thread_role layout_role(const struct node_config *config, uint32_t thread_no);
const char *layout_role_name(enum thread_role role);

/* The thread that owns the sockets. */
uint32_t layout_socket_thread(const struct node_config *config);

/* The thread of a block's instance. */
uint32_t layout_thread_of(const struct node_config *config, uint32_t block_no, uint32_t instance);

/* Sets thread_count, ldm_count and tc_count for a machine with `cpus` CPUs. */
void layout_automatic(struct node_config *config, uint32_t cpus);

/*
 * The same from a ThreadConfig text, as `ldm={count=4},tc={count=2},main,rep,recv`. 0, or -1 with
 * what is wrong and what is allowed in `why`. An empty text means layout_automatic().
 */
int layout_from_text(struct node_config *config, const char *text, uint32_t cpus, char *why,
                     size_t why_size);
