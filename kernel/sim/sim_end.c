/* sim_end.c -- an end of a connection: a real link object, between its process and the streams. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "kernel/sim/sim_net.h"

/* Pause between two looks at a handshake. */
#define HANDSHAKE_TICK_US 500000u

/* --- What a link calls back. --- */

static enum link_refusal on_check(void *context, struct link *link, const struct link_peer *peer,
                                  uint32_t *epoch_last)
{
    struct sim_end *end = context;
    struct sim_world *world = end->process->world;
    (void)link;
    if (peer->node == 0 || peer->node >= SIM_NODES || world->process[peer->node] == NULL)
        return LINK_REFUSED_UNKNOWN;
    struct sim_pair *pair = sim_pair_of(end->process, peer->node);
    if (peer->role != world->process[peer->node]->role) return LINK_REFUSED_ROLE;
    if (pair->end != NULL) return LINK_REFUSED_CONNECTED;
    if (!pair->allowed) return LINK_REFUSED_NOT_ALLOWED;
    *epoch_last = pair->epoch_last;
    return LINK_ACCEPTED;
}

static uint32_t class_of_role(uint32_t role)
{
    return role == LINK_ROLE_DATA ? FROM_DATA : role == LINK_ROLE_API ? FROM_API : FROM_MGM;
}

static void on_up(void *context, struct link *link, const struct link_peer *peer)
{
    struct sim_end *end = context;
    struct sim_process *process = end->process;
    struct sim_pair *pair = sim_pair_of(process, peer->node);
    if (pair->end != NULL) { /* Two handshakes crossed; the first one counts. */
        link_close(link, "connected already");
        return;
    }
    end->peer = peer->node;
    end->epoch = peer->epoch;
    node_mask_remove(&end->process->unheard, end->peer);
    pair->epoch_last = peer->epoch;
    pair->end = end;
    if (end->side == 0) end->conn->route->retry_us = 0;
    if (process->calls != NULL) {
        process->calls->link_up(process->context, peer->node, peer->epoch);
        sim_task_ready(process->world, &process->task);
        return;
    }
    node_link_up(process->node, process->data.link_thread, peer->node, class_of_role(peer->role),
                 peer->epoch);
    sim_node_touched(process);
}

static bool client_signals(struct sim_process *process, struct sim_end *end, const uint32_t *words,
                           uint32_t count)
{
    for (uint32_t at = 0; at < count; at += words[at + 3])
        sim_seen(process, 0, words + at);
    bool good = process->calls->signals(process->context, end->peer, end->epoch, words, count);
    sim_task_ready(process->world, &process->task);
    return good;
}

/* What was delivered is the link's; changes are made in a copy. */
static const uint32_t *tampered(struct sim_world *world, uint32_t peer, const uint32_t *words,
                                uint32_t count)
{
    struct sim_process *sender = world->process[peer];
    if (world->options.tamper == NULL || sender == NULL || sender->calls != NULL) return words;
    if (count > world->tampered_size) {
        free(world->tampered);
        world->tampered = sim_alloc((size_t)count * 4u);
        world->tampered_size = count;
    }
    memcpy(world->tampered, words, (size_t)count * 4u);
    world->options.tamper(world->options.context, world->tampered, count);
    return world->tampered;
}

static bool on_signals(void *context, struct link *link, const uint32_t *words, uint32_t count)
{
    struct sim_end *end = context;
    struct sim_process *process = end->process;
    (void)link;
    if (process->calls != NULL) return client_signals(process, end, words, count);
    words = tampered(process->world, end->peer, words, count);
    bool good =
        node_deliver(process->node, process->data.link_thread, end->peer, end->epoch, words, count);
    sim_node_touched(process);
    return good;
}

static void on_level(void *context, struct link *link, enum link_level level)
{
    struct sim_end *end = context;
    struct sim_process *process = end->process;
    (void)link;
    if (end->peer == 0 || !process->alive) return;
    if (process->node != NULL)
        node_link_level(process->node, end->peer, level);
    else if (process->calls != NULL && process->calls->level != NULL)
        process->calls->level(process->context, end->peer, level);
}

static const struct link_callbacks callbacks = {
    .check = on_check,
    .up = on_up,
    .signals = on_signals,
    .level = on_level,
};

/* --- Its beginning and its end. --- */

void sim_end_open(struct sim_end *end, struct sim_process *process, struct sim_process *peer)
{
    struct sim_world *world = process->world;
    struct link_options options = {
        .calls = &callbacks,
        .context = end,
        .own_node = process->id,
        .own_role = process->role,
        .cluster_id = world->options.cluster_id,
        .incarnation = process->incarnation,
        .connect = end->side == 0,
        .send_buffer_bytes = world->options.send_buffer_bytes,
    };
    if (options.connect) {
        options.peer = peer->id;
        options.peer_role = peer->role;
        options.epoch_last = sim_pair_of(process, peer->id)->epoch_last;
    }
    end->process = process;
    end->peer = end->epoch = 0;
    end->link = link_create(&options);
    if (end->link == NULL) abort();
    link_start(end->link, world->now_us / 1000u);
    sim_task_ready(world, &end->task);
}

/* Moves a link's output into its stream as far as there is room. */
void sim_end_write(struct sim_end *end)
{
    struct sim_world *world = end->process->world;
    struct sim_stream *stream = &end->conn->stream[end->side];
    struct link_bytes piece[8];
    uint64_t wrote = 0;
    while (sim_stream_room(world, stream) > 0 && !stream->ended) {
        uint32_t count = link_output(end->link, piece, 8);
        uint64_t taken = 0;
        for (uint32_t i = 0; i < count && sim_stream_room(world, stream) > 0; i++) {
            uint64_t size = piece[i].size < sim_stream_room(world, stream)
                                ? piece[i].size
                                : sim_stream_room(world, stream);
            sim_stream_write(world, stream, piece[i].at, size);
            taken += size;
        }
        if (taken == 0) break;
        link_sent(end->link, taken);
        wrote += taken;
    }
    if (wrote > 0) sim_stream_push(world, stream);
}

static void conn_free_if_dead(struct sim_conn *conn)
{
    if (conn->end[0].link != NULL || conn->end[1].link != NULL) return;
    for (uint32_t side = 0; side < 2; side++) {
        struct sim_stream *stream = &conn->stream[side];
        sim_task_off(conn->world, &stream->task);
        sim_task_off(conn->world, &conn->end[side].task);
        free(stream->bytes);
        stream->bytes = NULL;
    }
    conn->used = false;
}

/* The last words (a goodbye, best effort) go out, the stream ends, the process learns of it. */
void sim_end_close(struct sim_end *end, bool flush)
{
    struct sim_conn *conn = end->conn;
    struct sim_world *world = conn->world;
    struct sim_process *process = end->process;
    struct sim_stream *out = &conn->stream[end->side];
    if (flush) sim_end_write(end);
    struct link_bytes unsent;
    bool dismissed = link_dismissed(end->link);
    bool heard = dismissed || end->epoch == 0 || !world->process[end->peer]->alive;
    if (flush && !heard && link_output(end->link, &unsent, 1) > 0)
        node_mask_add(&process->unheard, end->peer);
    if (!out->ended) {
        out->ended = true;
        sim_stream_push(world, out);
    }
    uint32_t epoch = end->epoch;
    if (end->peer != 0 && sim_pair_of(process, end->peer)->end == end)
        sim_pair_of(process, end->peer)->end = NULL;
    end->epoch = 0;
    link_destroy(end->link);
    end->link = NULL;
    sim_task_off(world, &end->task);
    struct sim_stream *in = &conn->stream[1 - end->side];
    in->head = in->tail; /* Nobody reads it any more. */
    if (end->side == 0) {
        conn->route->conn = NULL;
        if (process->alive) sim_route_retry(conn->route);
    }
    uint32_t peer = end->peer;
    conn_free_if_dead(conn);
    if (epoch == 0 || !process->alive) return;
    if (!sim_net_welcome(world, peer)) sim_pair_of(process, peer)->allowed = false;
    world->link_downs++;
    if (process->calls != NULL) {
        process->calls->link_down(process->context, peer, epoch);
        sim_task_ready(world, &process->task);
        return;
    }
    if (dismissed) node_link_dismissed(process->node, peer, epoch);
    node_link_down(process->node, process->data.link_thread, peer, epoch);
    sim_node_touched(process);
}

/* Runs code that may call into the node of an end: the node may fail in it. */
static void guarded_close(struct sim_end *end)
{
    struct sim_process *process = end->process;
    struct sim_world *world = process->world;
    world->running = process;
    if (setjmp(world->on_fail) == 0) sim_end_close(end, true);
    sim_sweep(world, process);
}

void sim_run_end(struct sim_world *world, struct sim_end *end)
{
    if (end->link == NULL) return;
    if (end->process->hang_until > world->now_us) {
        sim_task_at(world, &end->task, end->process->hang_until);
        return;
    }
    link_tick(end->link, world->now_us / 1000u);
    enum link_state state = link_state(end->link);
    if (state == LINK_CLOSING) {
        guarded_close(end);
        return;
    }
    sim_end_write(end);
    if (state != LINK_OPEN) sim_task_at(world, &end->task, world->now_us + HANDSHAKE_TICK_US);
}

/* --- What arrives. --- */

static void deliver(struct sim_world *world, struct sim_stream *stream, uint64_t available)
{
    struct sim_end *to = &stream->conn->end[1 - stream->side];
    struct sim_end *from = &stream->conn->end[stream->side];
    struct sim_process *process = to->process;
    world->running = process;
    if (setjmp(world->on_fail) == 0) {
        if (available > 0)
            sim_stream_give(stream, to->link, sim_stream_chunk(world, available));
        else
            link_broken(to->link, NULL);
        if (link_state(to->link) == LINK_CLOSING) sim_end_close(to, true);
    }
    sim_sweep(world, process);
    if (to->link != NULL && link_has_output(to->link)) sim_task_ready(world, &to->task);
    if (from->link != NULL && link_has_output(from->link)) sim_task_ready(world, &from->task);
}

/* A crowded node does not read from its clients for the moment. */
static bool paused(const struct sim_end *to)
{
    return to->process->node != NULL && to->peer != 0 && to->epoch != 0 &&
           to->process->world->process[to->peer]->role != LINK_ROLE_DATA &&
           node_congested(to->process->node);
}

void sim_run_stream(struct sim_world *world, struct sim_stream *stream)
{
    struct sim_conn *conn = stream->conn;
    struct sim_end *to = &conn->end[1 - stream->side];
    if (!conn->used || to->link == NULL) return;
    uint64_t until = stream->stall_until;
    if (to->process->hang_until > until) until = to->process->hang_until;
    if (until > world->now_us) {
        sim_task_at(world, &stream->task, until);
        return;
    }
    uint64_t available = sim_stream_arrived(world, stream);
    if (available > 0 && paused(to)) {
        sim_task_at(world, &stream->task, world->now_us + 20u);
        return;
    }
    bool over = stream->ended && stream->segment_count == 0 && stream->head == stream->tail;
    if (available > 0 || over) deliver(world, stream, available);
    if (!conn->used || to->link == NULL) return;
    if (stream->head < stream->arrived || (stream->ended && stream->segment_count == 0))
        sim_task_ready(world, &stream->task);
    else if (stream->segment_count > 0)
        sim_task_at(world, &stream->task, stream->segment[stream->segment_first].arrive_us);
}
