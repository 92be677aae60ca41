/* mc_options.h -- what the files that read the command line share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_server.h"

/* mc_options_foreign.c: says that a switch of memcached's, or an option of one, is none here. */
void mc_options_passed_over(const char *what);
/* -o: changes `text`, which stays. 0, or -1 after a line of what is wrong. */
int mc_options_extended(struct mc_options *options, char *text);
