/* mc_order.c -- a client sees its own changes: requests of one connection on one key keep their
 * order. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of a pipeline are under way in the database at the same time. Of one row, however its
 * key is spelled, reads may overtake each other, and nothing may overtake a change. Rows are told
 * apart by a hash of their names: two that share it wait for each other without need. Containers
 * that name the same rows otherwise cannot be told apart by names: what is under way by one of them
 * is for each row of the other ones, and is counted as a whole, too. Names of two configurations
 * cannot be compared: what is under way by one ends before anything begins by another.
 *
 * Most connections have one request under way, or only reads, and need no more than to count them.
 * When something else comes, a table is made of what is under way; it is kept until nothing is.
 */
#include <stdlib.h>
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_engine.h"
#include "servers/memcached/mc_worker.h"

#define SLOTS       2048u
#define TABLES_KEPT 64u

struct mc_order_table {
    struct mc_order_table *next; /* Spare ones. */
    uint16_t reads[SLOTS], changes[SLOTS];
};

static bool is_change(const struct mc_request *request)
{
    return request->command != MC_GET || request->touch;
}

/* FNV-1a: short names, and no harm in a bad one. */
static uint16_t slot_of_name(const struct mc_name *name)
{
    uint32_t hash = 2166136261u ^ name->space;
    for (uint32_t i = 0; i < name->size; i++)
        hash = (hash ^ (uint8_t)name->bytes[i]) * 16777619u;
    return (uint16_t)((hash ^ hash >> 16) % SLOTS);
}

static uint32_t slot_of(struct mc_job *job)
{
    struct mc_name name;
    if (job->slotted) return job->slot;
    if (!mc_engine_name(job, &name))
        name = (struct mc_name){.bytes = job->request.key, .size = job->request.key_size};
    job->slot = slot_of_name(&name);
    job->slotted = true;
    return job->slot;
}

/* The slot stands for all rows that have names of that space. */
static uint32_t slot_of_all(uint32_t space)
{
    return slot_of_name(&(struct mc_name){.space = space});
}

static void count_at(struct mc_order_table *table, const struct mc_job *job, uint32_t slot, int by)
{
    uint16_t *count = is_change(&job->request) ? &table->changes[slot] : &table->reads[slot];
    *count = (uint16_t)(*count + by);
}

static void count(struct mc_order_table *table, struct mc_job *job, int by)
{
    const struct mc_container *container = job->prefix->container;
    count_at(table, job, slot_of(job), by);
    if (container != NULL && container->other_count > 0)
        count_at(table, job, slot_of_all(container->rows), by);
}

static bool is_free(const struct mc_order_table *table, const struct mc_job *job, uint32_t slot)
{
    return table->changes[slot] == 0 && (table->reads[slot] == 0 || !is_change(&job->request));
}

/* The table of all that is under way. NULL: no memory. */
static struct mc_order_table *table_of(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    struct mc_order *order = &connection->order;
    if (order->table != NULL) return order->table;
    order->table = worker->spare_orders;
    if (order->table == NULL) {
        order->table = calloc(1, sizeof *order->table);
        if (order->table == NULL) return NULL;
    } else {
        worker->spare_orders = order->table->next;
        worker->spare_order_count--;
    }
    for (struct mc_job *job = connection->first; job != NULL; job = job->next)
        if (job->ordered) count(order->table, job, 1);
    return order->table;
}

/* All of it is 0 again. */
static void give_table(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    struct mc_order_table *table = connection->order.table;
    connection->order.table = NULL;
    if (worker->spare_order_count == TABLES_KEPT) {
        free(table);
        return;
    }
    table->next = worker->spare_orders;
    worker->spare_orders = table;
    worker->spare_order_count++;
}

bool mc_order_may_begin(struct mc_connection *connection, struct mc_job *job)
{
    const struct mc_order *order = &connection->order;
    const struct mc_request *request = &job->request;
    if (order->under_way == 0) return true;
    if (order->all || request->command == MC_FLUSH_ALL) return false;
    if (order->config_number != job->config->number) return false;
    if (order->changes == 0 && !is_change(request)) return true;
    struct mc_order_table *table = table_of(connection);
    if (table == NULL) return false; /* One after the other needs none. */
    const struct mc_container *container = job->prefix->container;
    bool begins = is_free(table, job, slot_of(job));
    for (uint32_t i = 0; begins && container != NULL && i < container->other_count; i++)
        begins = is_free(table, job, slot_of_all(container->others[i]));
    return begins;
}

void mc_order_enter(struct mc_connection *connection, struct mc_job *job)
{
    struct mc_order *order = &connection->order;
    job->ordered = true;
    order->config_number = job->config->number;
    order->under_way++;
    order->changes += is_change(&job->request);
    order->all = job->request.command == MC_FLUSH_ALL;
    if (order->table != NULL) count(order->table, job, 1);
}

void mc_order_leave(struct mc_connection *connection, struct mc_job *job)
{
    struct mc_order *order = &connection->order;
    job->ordered = false;
    order->under_way--;
    order->changes -= is_change(&job->request);
    order->all = false;
    if (order->table == NULL) return;
    count(order->table, job, -1);
    if (order->under_way == 0) give_table(connection);
}

void mc_order_drop(struct mc_connection *connection)
{
    free(connection->order.table);
    connection->order = (struct mc_order){0};
}

void mc_order_drop_spares(struct mc_worker *worker)
{
    while (worker->spare_orders != NULL) {
        struct mc_order_table *table = worker->spare_orders;
        worker->spare_orders = table->next;
        free(table);
    }
}
