/* sim_trace.h -- the hash over everything that was executed: two runs are equal when it is. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdint.h>

struct XXH3_state_s;

struct sim_trace {
    struct XXH3_state_s *state;
    uint64_t signals;
};

void sim_trace_init(struct sim_trace *trace);
void sim_trace_free(struct sim_trace *trace);

/* Adds one executed signal: when, where, and all its words. */
void sim_trace_add(struct sim_trace *trace, uint64_t now_us, uint32_t node, uint32_t thread_no,
                   const uint32_t *words);

uint64_t sim_trace_hash(const struct sim_trace *trace);
