/* sim_net.c -- the network as a whole: what processes ask of it, their ends and new lives, and the
 * faults that a plan brings over its lines. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include "kernel/sim/sim_net.h"

/* --- What processes ask for. --- */

bool sim_net_send(struct sim_process *process, uint32_t peer, uint32_t epoch, const uint32_t *words,
                  uint32_t count)
{
    struct sim_end *end = peer < SIM_NODES ? sim_pair_of(process, peer)->end : NULL;
    if (end == NULL || end->epoch != epoch) return false;
    enum link_send_result result = link_send(end->link, words, count);
    if (result == LINK_SEND_NO_ROOM) link_close(end->link, "send buffer full");
    sim_task_ready(process->world, &end->task);
    return result == LINK_SENT;
}

void sim_net_close(struct sim_process *process, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct sim_end *end = peer < SIM_NODES ? sim_pair_of(process, peer)->end : NULL;
    if (end == NULL || (epoch != 0 && end->epoch != epoch)) return;
    link_close(end->link, reason);
    sim_task_ready(process->world, &end->task);
}

void sim_net_allow(struct sim_process *process, uint32_t peer, bool allowed)
{
    if (peer == 0 || peer >= SIM_NODES) return;
    struct sim_world *world = process->world;
    struct sim_pair *pair = sim_pair_of(process, peer);
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

/* --- Processes that end and begin. --- */

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
                sim_end_write(end); /* An orderly end writes what it still has. */
            else
                sim_stream_truncate(world, &conn->stream[side]);
            sim_end_close(end, false);
        }
    }
    for (uint32_t peer = 0; peer < SIM_NODES; peer++)
        *sim_pair_of(process, peer) = (struct sim_pair){.allowed = sim_net_welcome(world, peer)};
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
    sim_stream_truncate(world, &conn->stream[0]);
    sim_stream_truncate(world, &conn->stream[1]);
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

/* --- Asking. --- */

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
