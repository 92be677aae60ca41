/* sim_route.c -- who connects to whom, and when it is tried again. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include "kernel/sim/sim_net.h"

#define RETRY_FIRST_US 10000u
#define RETRY_LAST_US  1500000u

void sim_route_retry(struct sim_route *route)
{
    struct sim_world *world = route->from->world;
    route->retry_us = route->retry_us == 0 ? RETRY_FIRST_US : route->retry_us * 2;
    if (route->retry_us > RETRY_LAST_US) route->retry_us = RETRY_LAST_US;
    uint64_t jitter = rng_below(sim_net_rng(world), route->retry_us / 4 + 1);
    sim_task_at(world, &route->task, world->now_us + route->retry_us + jitter);
}

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

void sim_run_route(struct sim_world *world, struct sim_route *route)
{
    if (route->conn != NULL || !route->from->alive) return;
    if (!sim_pair_of(route->from, route->to->id)->allowed) return; /* sim_net_allow() wakes it. */
    if (!route->to->alive) {
        sim_route_retry(route);
        return;
    }
    struct sim_conn *conn = conn_new(world);
    conn->used = true;
    conn->route = route;
    route->conn = conn;
    sim_stream_open(&conn->stream[0]);
    sim_stream_open(&conn->stream[1]);
    sim_end_open(&conn->end[0], route->from, route->to);
    sim_end_open(&conn->end[1], route->to, route->from);
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
    sim_task_at(world, &route->task,
                world->now_us + 1 + rng_below(sim_net_rng(world), RETRY_FIRST_US));
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
