/* scenario.h -- a small cluster with known limits for scripted scenarios. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ndbmtd/layout.h"
#include "values/errors.h"
#include "signals/print.h"
#include "tests/sim/works.h"

/* Two data nodes with two replicas, one client with one session, no faults, no small limits. */
static inline struct run *scenario_new(uint64_t seed)
{
    struct run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    swarm_draw(&run->swarm, seed);
    struct swarm *swarm = &run->swarm;
    memset(&swarm->config, 0, sizeof swarm->config);
    swarm->data_nodes = swarm->replicas = 2;
    swarm->id_first = swarm->id_step = 1;
    swarm->ldm = 2;
    swarm->tc = 1;
    swarm->clients = swarm->sessions = 1;
    swarm->faults = 0;
    swarm->tiny = swarm->small_data = false;
    swarm->table_flags = TABLE_FLAGS_DEFAULT;
    node_config_defaults(&swarm->config);
    swarm->config.replicas = 2;
    swarm->config.cluster_id = swarm->options.cluster_id;
    swarm->config.ldm_count = swarm->ldm;
    swarm->config.tc_count = swarm->tc;
    swarm->config.thread_count = 1;
    swarm->config.overflow_segments = 8;
    swarm->config.deadlock_timeout_ms = 50;
    swarm->config.node[1].type = swarm->config.node[2].type = NODE_DATA;
    swarm->config.node[CLIENT_NODE].type = NODE_API;
    return run;
}

/* Ends it; nothing may be left and nothing may have failed. */
static inline void scenario_end(struct run *run)
{
    run_end(run);
    assert_string_equal(sim_failure_text(run->world), "");
    run_free(run);
    free(run);
}
