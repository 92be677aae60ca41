/* mc_order.c -- a client sees its own changes: requests of one connection on one key keep their
 * order. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of a pipeline are under way in the database at the same time. Of one key reads may
 * overtake each other, and nothing may overtake a change. Keys are told apart by a hash: two keys
 * that share it wait for each other without need.
 */
#include <stdlib.h>
#include "servers/memcached/mc_server.h"

#define SLOTS 2048u

struct mc_order {
    uint32_t under_way;
    bool all; /* One of them concerns every key. */
    uint16_t reads[SLOTS], changes[SLOTS];
};

static bool is_change(const struct mc_request *request)
{
    return request->command != MC_GET || request->touch;
}

/* FNV-1a: short keys, and no harm in a bad one. */
static uint32_t slot_of(const struct mc_request *request)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < request->key_size; i++)
        hash = (hash ^ (uint8_t)request->key[i]) * 16777619u;
    return (hash ^ hash >> 16) % SLOTS;
}

bool mc_order_may_begin(struct mc_connection *connection, const struct mc_request *request)
{
    const struct mc_order *order = connection->order;
    if (order == NULL || order->under_way == 0) return true;
    if (order->all || request->command == MC_FLUSH_ALL) return false;
    uint32_t slot = slot_of(request);
    return order->changes[slot] == 0 && (order->reads[slot] == 0 || !is_change(request));
}

bool mc_order_enter(struct mc_connection *connection, const struct mc_request *request)
{
    struct mc_worker *worker = connection->worker;
    if (connection->order == NULL) {
        connection->order = worker->spare_order;
        worker->spare_order = NULL;
    }
    if (connection->order == NULL) connection->order = calloc(1, sizeof *connection->order);
    struct mc_order *order = connection->order;
    if (order == NULL) return false;
    uint32_t slot = slot_of(request);
    order->under_way++;
    order->all = request->command == MC_FLUSH_ALL;
    if (is_change(request))
        order->changes[slot]++;
    else
        order->reads[slot]++;
    return true;
}

void mc_order_leave(struct mc_connection *connection, const struct mc_request *request)
{
    struct mc_worker *worker = connection->worker;
    struct mc_order *order = connection->order;
    uint32_t slot = slot_of(request);
    if (is_change(request))
        order->changes[slot]--;
    else
        order->reads[slot]--;
    order->all = false;
    if (--order->under_way > 0 || worker->spare_order != NULL) return;
    worker->spare_order = order; /* All of it is 0 again. */
    connection->order = NULL;
}
