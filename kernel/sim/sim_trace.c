/* sim_trace.c -- XXH3 over time, node, thread, references, payload and sections of every executed
 * signal. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/sim/sim_trace.h"
#include <stdlib.h>
#include <xxhash.h>

void sim_trace_init(struct sim_trace *trace)
{
    trace->state = XXH3_createState();
    if (trace->state == NULL) abort();
    XXH3_64bits_reset(trace->state);
    trace->signals = 0;
}

void sim_trace_free(struct sim_trace *trace)
{
    XXH3_freeState(trace->state);
    trace->state = NULL;
}

void sim_trace_add(struct sim_trace *trace, uint64_t now_us, uint32_t node, uint32_t thread_no,
                   const uint32_t *words)
{
    uint32_t head[4] = {(uint32_t)now_us, (uint32_t)(now_us >> 32), node, thread_no};
    XXH3_64bits_update(trace->state, head, sizeof head);
    XXH3_64bits_update(trace->state, words, (size_t)words[3] * 4u);
    trace->signals++;
}

uint64_t sim_trace_hash(const struct sim_trace *trace)
{
    return XXH3_64bits_digest(trace->state);
}
