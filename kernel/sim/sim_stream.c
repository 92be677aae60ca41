/* sim_stream.c -- bytes under way in one direction: written at one end, late, given to the other in
 * chunks, stalled or cut. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "kernel/sim/sim_net.h"

static uint64_t latency(struct sim_world *world)
{
    uint32_t least = world->options.latency_min_us;
    uint32_t most = world->options.latency_max_us;
    return least + rng_below(sim_net_rng(world), (uint64_t)(most - least) + 1u);
}

void sim_stream_open(struct sim_stream *stream)
{
    stream->bytes = sim_alloc(stream->conn->world->options.stream_bytes);
    stream->head = stream->arrived = stream->tail = 0;
    stream->segment_first = stream->segment_count = 0;
    stream->last_arrive = stream->stall_until = 0;
    stream->sent = stream->slow_until = 0;
    stream->ended = false;
}

/* What was written up to here arrives after the latency, never before what was written earlier. */
void sim_stream_push(struct sim_world *world, struct sim_stream *stream)
{
    uint64_t arrive = world->now_us + latency(world);
    if (stream->slow_until > world->now_us) arrive += stream->slow_delay_us;
    if (arrive < stream->last_arrive) arrive = stream->last_arrive;
    if (stream->slow_until > world->now_us)
        arrive += (stream->tail - stream->sent) * 1000000u / stream->slow_bytes_s;
    stream->sent = stream->tail;
    stream->last_arrive = arrive;
    if (stream->segment_count == SIM_SEGMENTS) {
        struct sim_segment *last =
            &stream->segment[(stream->segment_first + SIM_SEGMENTS - 1) % SIM_SEGMENTS];
        *last = (struct sim_segment){arrive, stream->tail};
    } else {
        uint32_t at = (stream->segment_first + stream->segment_count++) % SIM_SEGMENTS;
        stream->segment[at] = (struct sim_segment){arrive, stream->tail};
    }
    sim_task_at(world, &stream->task, arrive);
}

void sim_stream_write(struct sim_world *world, struct sim_stream *stream, const void *bytes,
                      uint64_t size)
{
    uint64_t mask = world->options.stream_bytes - 1;
    const uint8_t *from = bytes;
    while (size > 0) {
        uint64_t at = stream->tail & mask;
        uint64_t run = mask + 1 - at < size ? mask + 1 - at : size;
        memcpy(stream->bytes + at, from, run);
        stream->tail += run;
        from += run;
        size -= run;
    }
}

uint64_t sim_stream_room(const struct sim_world *world, const struct sim_stream *stream)
{
    return world->options.stream_bytes - (stream->tail - stream->head);
}

/* Bytes that have arrived by now. */
uint64_t sim_stream_arrived(struct sim_world *world, struct sim_stream *stream)
{
    while (stream->segment_count > 0) {
        const struct sim_segment *first = &stream->segment[stream->segment_first];
        if (first->arrive_us > world->now_us) break;
        stream->arrived = first->end;
        stream->segment_first = (stream->segment_first + 1) % SIM_SEGMENTS;
        stream->segment_count--;
    }
    return stream->arrived - stream->head;
}

uint64_t sim_stream_chunk(struct sim_world *world, uint64_t available)
{
    uint64_t drawn = rng_next(sim_net_rng(world));
    if ((uint32_t)(drawn % 100u) >= world->options.chunk_percent) return available;
    uint64_t most = (drawn >> 8 & 3u) == 0 && available > 16
                        ? 16
                        : available; /* Now and then a few bytes only. */
    return 1u + (drawn >> 16) % most;
}

/* Gives up to `size` bytes to the link. */
void sim_stream_give(struct sim_stream *stream, struct link *link, uint64_t size)
{
    uint64_t mask = stream->conn->world->options.stream_bytes - 1;
    while (size > 0) {
        uint32_t space = 0;
        void *to = link_receive_space(link, &space);
        uint64_t at = stream->head & mask;
        uint64_t run = size < space ? size : space;
        if (run > mask + 1 - at) run = mask + 1 - at;
        memcpy(to, stream->bytes + at, run);
        stream->head += run;
        size -= run;
        if (!link_received(link, (uint32_t)run)) return;
    }
}

/* The sender is gone or the line is cut: a random prefix of what is under way arrives, then the
 * end. */
void sim_stream_truncate(struct sim_world *world, struct sim_stream *stream)
{
    if (stream->ended) return;
    uint64_t waiting = stream->tail - stream->head;
    uint64_t kept = rng_below(sim_net_rng(world), waiting + 1);
    stream->tail = stream->sent = stream->head + kept;
    if (stream->arrived > stream->tail) stream->arrived = stream->tail;
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        struct sim_segment *segment = &stream->segment[(stream->segment_first + i) % SIM_SEGMENTS];
        if (segment->end > stream->tail) segment->end = stream->tail;
    }
    stream->ended = true;
    sim_stream_push(world, stream);
}

void sim_link_calm(struct sim_world *world, struct sim_stream *stream)
{
    stream->stall_until = stream->slow_until = 0;
    if (stream->last_arrive > world->now_us) stream->last_arrive = world->now_us;
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        struct sim_segment *segment = &stream->segment[(stream->segment_first + i) % SIM_SEGMENTS];
        if (segment->arrive_us > world->now_us) segment->arrive_us = world->now_us;
    }
}
