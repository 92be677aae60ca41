/* sim_net.c -- the network: byte streams with latency, chunks, stalls and cuts between two real
 * link objects. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "kernel/sim/sim_state.h"

#define RETRY_FIRST_US    10000u
#define RETRY_LAST_US     1500000u
#define HANDSHAKE_TICK_US 500000u

static struct sim_pair *pair_of(struct sim_process *process, uint32_t peer)
{
    return &process->world->pair[process->id][peer];
}

static struct rng *net_rng(struct sim_world *world)
{
    return &world->rng[SIM_RNG_NETWORK];
}

static uint64_t latency(struct sim_world *world)
{
    uint32_t least = world->options.latency_min_us;
    uint32_t most = world->options.latency_max_us;
    return least + rng_below(net_rng(world), (uint64_t)(most - least) + 1u);
}

/* --- What a link calls back. --- */

static enum link_refusal on_check(void *context, struct link *link, const struct link_peer *peer,
                                  uint32_t *epoch_last)
{
    struct sim_end *end = context;
    struct sim_world *world = end->process->world;
    (void)link;
    if (peer->node == 0 || peer->node >= SIM_NODES || world->process[peer->node] == NULL)
        return LINK_REFUSED_UNKNOWN;
    struct sim_pair *pair = pair_of(end->process, peer->node);
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
    struct sim_pair *pair = pair_of(process, peer->node);
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

/* --- Streams. --- */

/* What was written up to here arrives after the latency, never before what was written earlier. */
static void push_segment(struct sim_world *world, struct sim_stream *stream)
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

static void write_bytes(struct sim_world *world, struct sim_stream *stream, const void *bytes,
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

static uint64_t room_of(const struct sim_world *world, const struct sim_stream *stream)
{
    return world->options.stream_bytes - (stream->tail - stream->head);
}

/* Moves a link's output into its stream as far as there is room. */
static void write_output(struct sim_end *end)
{
    struct sim_world *world = end->process->world;
    struct sim_stream *stream = &end->conn->stream[end->side];
    struct link_bytes piece[8];
    uint64_t wrote = 0;
    while (room_of(world, stream) > 0 && !stream->ended) {
        uint32_t count = link_output(end->link, piece, 8);
        uint64_t taken = 0;
        for (uint32_t i = 0; i < count && room_of(world, stream) > 0; i++) {
            uint64_t size =
                piece[i].size < room_of(world, stream) ? piece[i].size : room_of(world, stream);
            write_bytes(world, stream, piece[i].at, size);
            taken += size;
        }
        if (taken == 0) break;
        link_sent(end->link, taken);
        wrote += taken;
    }
    if (wrote > 0) push_segment(world, stream);
}

/* Bytes that have arrived by now. */
static uint64_t arrived(struct sim_world *world, struct sim_stream *stream)
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

/* The sender is gone or the line is cut: a random prefix of what is under way arrives, then the
 * end. */
static void truncate(struct sim_world *world, struct sim_stream *stream)
{
    if (stream->ended) return;
    uint64_t waiting = stream->tail - stream->head;
    uint64_t kept = rng_below(net_rng(world), waiting + 1);
    stream->tail = stream->sent = stream->head + kept;
    if (stream->arrived > stream->tail) stream->arrived = stream->tail;
    for (uint32_t i = 0; i < stream->segment_count; i++) {
        struct sim_segment *segment = &stream->segment[(stream->segment_first + i) % SIM_SEGMENTS];
        if (segment->end > stream->tail) segment->end = stream->tail;
    }
    stream->ended = true;
    push_segment(world, stream);
}

/* --- Ends. --- */

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

static void retry_later(struct sim_route *route)
{
    struct sim_world *world = route->from->world;
    route->retry_us = route->retry_us == 0 ? RETRY_FIRST_US : route->retry_us * 2;
    if (route->retry_us > RETRY_LAST_US) route->retry_us = RETRY_LAST_US;
    uint64_t jitter = rng_below(net_rng(world), route->retry_us / 4 + 1);
    sim_task_at(world, &route->task, world->now_us + route->retry_us + jitter);
}

/* The last words (a goodbye, best effort) go out, the stream ends, the process learns of it. */
static void end_close(struct sim_end *end, bool flush)
{
    struct sim_conn *conn = end->conn;
    struct sim_world *world = conn->world;
    struct sim_process *process = end->process;
    struct sim_stream *out = &conn->stream[end->side];
    if (flush) write_output(end);
    struct link_bytes unsent;
    bool dismissed = link_dismissed(end->link);
    bool heard = dismissed || end->epoch == 0 || !world->process[end->peer]->alive;
    if (flush && !heard && link_output(end->link, &unsent, 1) > 0)
        node_mask_add(&process->unheard, end->peer);
    if (!out->ended) {
        out->ended = true;
        push_segment(world, out);
    }
    uint32_t epoch = end->epoch;
    if (end->peer != 0 && pair_of(process, end->peer)->end == end)
        pair_of(process, end->peer)->end = NULL;
    end->epoch = 0;
    link_destroy(end->link);
    end->link = NULL;
    sim_task_off(world, &end->task);
    struct sim_stream *in = &conn->stream[1 - end->side];
    in->head = in->tail; /* Nobody reads it any more. */
    if (end->side == 0) {
        conn->route->conn = NULL;
        if (process->alive) retry_later(conn->route);
    }
    uint32_t peer = end->peer;
    conn_free_if_dead(conn);
    if (epoch == 0 || !process->alive) return;
    if (!sim_net_welcome(world, peer)) pair_of(process, peer)->allowed = false;
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
    if (setjmp(world->on_fail) == 0) end_close(end, true);
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
    write_output(end);
    if (state != LINK_OPEN) sim_task_at(world, &end->task, world->now_us + HANDSHAKE_TICK_US);
}

static uint64_t draw_chunk(struct sim_world *world, uint64_t available)
{
    uint64_t drawn = rng_next(net_rng(world));
    if ((uint32_t)(drawn % 100u) >= world->options.chunk_percent) return available;
    uint64_t most = (drawn >> 8 & 3u) == 0 && available > 16
                        ? 16
                        : available; /* Now and then a few bytes only. */
    return 1u + (drawn >> 16) % most;
}

/* Gives up to `size` bytes to the link. */
static void give(struct sim_stream *stream, struct link *link, uint64_t size)
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

static void deliver(struct sim_world *world, struct sim_stream *stream, uint64_t available)
{
    struct sim_end *to = &stream->conn->end[1 - stream->side];
    struct sim_end *from = &stream->conn->end[stream->side];
    struct sim_process *process = to->process;
    world->running = process;
    if (setjmp(world->on_fail) == 0) {
        if (available > 0)
            give(stream, to->link, draw_chunk(world, available));
        else
            link_broken(to->link, NULL);
        if (link_state(to->link) == LINK_CLOSING) end_close(to, true);
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
    uint64_t available = arrived(world, stream);
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

/* --- Connecting. --- */

static struct sim_conn *conn_new(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->conn_count; i++) {
        if (!world->conn[i]->used) return world->conn[i];
    }
    struct sim_conn *conn = sim_alloc(sizeof *conn);
    conn->world = world;
    for (uint32_t side = 0; side < 2; side++) {
        conn->end[side].conn = conn->stream[side].conn = conn;
        conn->end[side].side = conn->stream[side].side = side;
        sim_task_add(world, &conn->end[side].task, TASK_END, &conn->end[side]);
        sim_task_add(world, &conn->stream[side].task, TASK_DELIVER, &conn->stream[side]);
    }
    world->conn = realloc(world->conn, (world->conn_count + 1) * sizeof(struct sim_conn *));
    if (world->conn == NULL) abort();
    world->conn[world->conn_count++] = conn;
    return conn;
}

static void end_open(struct sim_end *end, struct sim_process *process, struct sim_process *peer)
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
        options.epoch_last = pair_of(process, peer->id)->epoch_last;
    }
    end->process = process;
    end->peer = end->epoch = 0;
    end->link = link_create(&options);
    if (end->link == NULL) abort();
    link_start(end->link, world->now_us / 1000u);
    sim_task_ready(world, &end->task);
}

static void stream_open(struct sim_stream *stream)
{
    stream->bytes = sim_alloc(stream->conn->world->options.stream_bytes);
    stream->head = stream->arrived = stream->tail = 0;
    stream->segment_first = stream->segment_count = 0;
    stream->last_arrive = stream->stall_until = 0;
    stream->sent = stream->slow_until = 0;
    stream->ended = false;
}

void sim_run_route(struct sim_world *world, struct sim_route *route)
{
    if (route->conn != NULL || !route->from->alive) return;
    if (!pair_of(route->from, route->to->id)->allowed) return; /* sim_net_allow() wakes it. */
    if (!route->to->alive) {
        retry_later(route);
        return;
    }
    struct sim_conn *conn = conn_new(world);
    conn->used = true;
    conn->route = route;
    route->conn = conn;
    stream_open(&conn->stream[0]);
    stream_open(&conn->stream[1]);
    end_open(&conn->end[0], route->from, route->to);
    end_open(&conn->end[1], route->to, route->from);
}

static void route_add(struct sim_world *world, struct sim_process *from, struct sim_process *to)
{
    struct sim_route *route = sim_alloc(sizeof *route);
    route->from = from;
    route->to = to;
    sim_task_add(world, &route->task, TASK_ROUTE, route);
    world->route = realloc(world->route, (world->route_count + 1) * sizeof(struct sim_route *));
    if (world->route == NULL) abort();
    world->route[world->route_count++] = route;
    sim_task_at(world, &route->task, world->now_us + 1 + rng_below(net_rng(world), RETRY_FIRST_US));
}

void sim_routes_add(struct sim_world *world, struct sim_process *process)
{
    for (uint32_t id = 1; id < SIM_NODES; id++) {
        struct sim_process *other = world->process[id];
        if (other == NULL || other == process) continue;
        bool own_data = process->role == LINK_ROLE_DATA;
        bool other_data = other->role == LINK_ROLE_DATA;
        if (!own_data && !other_data) continue;
        bool connects = own_data != other_data ? other_data : process->id > other->id;
        route_add(world, connects ? process : other, connects ? other : process);
    }
}

/* --- What processes ask for. --- */

bool sim_net_send(struct sim_process *process, uint32_t peer, uint32_t epoch, const uint32_t *words,
                  uint32_t count)
{
    struct sim_end *end = peer < SIM_NODES ? pair_of(process, peer)->end : NULL;
    if (end == NULL || end->epoch != epoch) return false;
    enum link_send_result result = link_send(end->link, words, count);
    if (result == LINK_SEND_NO_ROOM) link_close(end->link, "send buffer full");
    sim_task_ready(process->world, &end->task);
    return result == LINK_SENT;
}

void sim_net_close(struct sim_process *process, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct sim_end *end = peer < SIM_NODES ? pair_of(process, peer)->end : NULL;
    if (end == NULL || (epoch != 0 && end->epoch != epoch)) return;
    link_close(end->link, reason);
    sim_task_ready(process->world, &end->task);
}

void sim_net_allow(struct sim_process *process, uint32_t peer, bool allowed)
{
    if (peer == 0 || peer >= SIM_NODES) return;
    struct sim_world *world = process->world;
    struct sim_pair *pair = pair_of(process, peer);
    pair->allowed = allowed;
    if (!allowed) {
        sim_net_close(process, peer, 0, "not allowed");
        return;
    }
    for (uint32_t i = 0; i < world->route_count; i++) {
        struct sim_route *route = world->route[i];
        if (route->from == process && route->to->id == peer) sim_task_ready(world, &route->task);
    }
}

/* Clients wait until the node lets them in, and again after each link that went down. */
bool sim_net_welcome(const struct sim_world *world, uint32_t peer)
{
    const struct sim_process *process = world->process[peer];
    return process == NULL || process->role == LINK_ROLE_DATA;
}

/* The process is gone; its peers see a prefix of what it had written. */
void sim_net_kill(struct sim_process *process)
{
    struct sim_world *world = process->world;
    for (uint32_t i = 0; i < world->conn_count; i++) {
        struct sim_conn *conn = world->conn[i];
        for (uint32_t side = 0; side < 2 && conn->used; side++) {
            struct sim_end *end = &conn->end[side];
            if (end->process != process || end->link == NULL) continue;
            if (process->exit.stopped)
                write_output(end); /* An orderly end writes what it still has. */
            else
                truncate(world, &conn->stream[side]);
            end_close(end, false);
        }
    }
    for (uint32_t peer = 0; peer < SIM_NODES; peer++)
        *pair_of(process, peer) = (struct sim_pair){.allowed = sim_net_welcome(world, peer)};
}

void sim_net_revive(struct sim_process *process)
{
    struct sim_world *world = process->world;
    for (uint32_t i = 0; i < world->route_count; i++) {
        if (world->route[i]->from == process) sim_task_ready(world, &world->route[i]->task);
    }
}

/* --- Faults. --- */

static struct sim_conn *conn_between(const struct sim_world *world, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < world->conn_count; i++) {
        struct sim_conn *conn = world->conn[i];
        if (!conn->used) continue;
        uint32_t first = conn->end[0].process->id;
        uint32_t second = conn->end[1].process->id;
        if ((first == a && second == b) || (first == b && second == a)) return conn;
    }
    return NULL;
}

void sim_cut(struct sim_world *world, uint32_t a, uint32_t b)
{
    struct sim_conn *conn = conn_between(world, a, b);
    if (conn == NULL) return;
    truncate(world, &conn->stream[0]);
    truncate(world, &conn->stream[1]);
}

void sim_stall(struct sim_world *world, uint32_t from, uint32_t to, uint64_t us)
{
    struct sim_conn *conn = conn_between(world, from, to);
    if (conn == NULL) return;
    conn->stream[conn->end[0].process->id == from ? 0 : 1].stall_until = world->now_us + us;
}

void sim_slow_link(struct sim_world *world, uint32_t a, uint32_t b, uint64_t delay_us,
                   uint64_t bytes_s, uint64_t for_us)
{
    struct sim_conn *conn = conn_between(world, a, b);
    if (conn == NULL || bytes_s == 0) return;
    for (uint32_t side = 0; side < 2; side++) {
        conn->stream[side].slow_until = world->now_us + for_us;
        conn->stream[side].slow_delay_us = delay_us;
        conn->stream[side].slow_bytes_s = bytes_s;
    }
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

bool sim_linked(const struct sim_world *world, uint32_t a, uint32_t b)
{
    return world->pair[a][b].end != NULL && world->pair[b][a].end != NULL;
}

void sim_net_free(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->conn_count; i++) {
        for (uint32_t side = 0; side < 2; side++) {
            link_destroy(world->conn[i]->end[side].link);
            free(world->conn[i]->stream[side].bytes);
        }
        free(world->conn[i]);
    }
    for (uint32_t i = 0; i < world->route_count; i++)
        free(world->route[i]);
    free(world->conn);
    free(world->route);
}
