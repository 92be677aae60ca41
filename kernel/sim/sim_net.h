/* sim_net.h -- private: what the files of the virtual network share. The rest of kernel/sim uses
 * sim_state.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/sim/sim_state.h"

static inline struct sim_pair *sim_pair_of(struct sim_process *process, uint32_t peer)
{
    return &process->world->pair[process->id][peer];
}

static inline struct rng *sim_net_rng(struct sim_world *world)
{
    return &world->rng[SIM_RNG_NETWORK];
}

/* sim_stream.c */
/* Makes the stream of a new connection: empty, and nothing holds it up. */
void sim_stream_open(struct sim_stream *stream);
/* What was written up to here arrives after the latency, never before what was written earlier. */
void sim_stream_push(struct sim_world *world, struct sim_stream *stream);
/* So many bytes may still be written. */
uint64_t sim_stream_room(const struct sim_world *world, const struct sim_stream *stream);
/* The caller has seen that there is room. They are not under way before sim_stream_push(). */
void sim_stream_write(struct sim_world *world, struct sim_stream *stream, const void *bytes,
                      uint64_t size);
/* Bytes that have arrived by now. */
uint64_t sim_stream_arrived(struct sim_world *world, struct sim_stream *stream);
/* How many of them are given at a time. */
uint64_t sim_stream_chunk(struct sim_world *world, uint64_t available);
/* Gives up to `size` bytes to the link. */
void sim_stream_give(struct sim_stream *stream, struct link *link, uint64_t size);
/* The sender is gone or the line is cut: a random prefix of what is under way arrives, then the
 * end. */
void sim_stream_truncate(struct sim_world *world, struct sim_stream *stream);

/* sim_end.c */
/* The end of a new connection in `process`; with `peer` it begins its handshake. */
void sim_end_open(struct sim_end *end, struct sim_process *process, struct sim_process *peer);
/* Moves a link's output into its stream as far as there is room. */
void sim_end_write(struct sim_end *end);
/* The last words (a goodbye, best effort) go out when `flush` is set, the stream ends, the process
 * learns of it. */
void sim_end_close(struct sim_end *end, bool flush);

/* sim_route.c */
/* Tries to connect again after a pause, each longer than the last. */
void sim_route_retry(struct sim_route *route);
