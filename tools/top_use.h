/* top_use.h -- what threads did between two reports. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <ndb/mgm.h>

#include "tools/tool_json.h"

#define TOP_REST UINT32_MAX /* All other threads of the process: files, watchdog. */

/* What a thread did, in percent of the time. */
struct top_use {
    uint32_t number;
    char name[12];
    double user, system, idle;
    double work, spin, sleep; /* What the thread measures itself. */
};

struct top {
    uint64_t elapsed_us;
    double all; /* The whole process, user and system. */
    uint32_t count;
    struct top_use use[NDB_MGM_THREADS_MAX];
};

/* Busiest first: for the operating system the least idle, as they measure those who work most. */
enum top_sort { TOP_BY_NUMBER, TOP_BY_CPU, TOP_BY_WORK };

/* `passed_us` microseconds of this program's clock went by between the two reports, at least. A
 * node that has been started again meanwhile, so that its own clock began anew, has done all since
 * then. */
void top_compare(const struct ndb_mgm_threads *before, const struct ndb_mgm_threads *now,
                 uint64_t passed_us, enum top_sort sort, struct top *top);

/* How many of the threads there is room for on a screen of so many lines, below `above` lines and
 * with one that says how many more there are; all when they fit. */
uint32_t top_shown(const struct top *top, uint32_t lines, uint32_t above);
