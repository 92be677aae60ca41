/* top_use.h -- what threads did between two reports. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <ndb/mgm.h>

#include "tools/tool_json.h"

#define TOP_REST UINT32_MAX /* All other threads of the process: files, watchdog. */

/* In percent of the time. */
struct top_use {
    uint32_t number;
    char name[12];
    double user, system, idle;
    double work, spin, sleep; /* As the thread measures. */
};

struct top {
    uint64_t elapsed_us;
    double all; /* The whole process, user and system. */
    uint32_t count;
    struct top_use use[NDB_MGM_THREADS_MAX];
};

/* A node that has been started again meanwhile has done all since then. With `sort` the busiest
 * come first. */
void top_compare(const struct ndb_mgm_threads *before, const struct ndb_mgm_threads *now, bool sort,
                 struct top *top);
