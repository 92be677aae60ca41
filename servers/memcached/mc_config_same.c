/* mc_config_same.c -- which containers lead to the same rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Containers of one table with the same key columns have the same name for a row. By other columns
 * the row has another name, and nobody can say which: what a request does by one container may
 * concern each row of the other. So may a value that stands in parts, where a container leads to
 * the table of the parts. Tables of two clusters count as one if they are named alike: two connect
 * strings may lead to one cluster, and if they do not, requests wait for each other without need,
 * which is no harm.
 */
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_config_rows.h"

/* FNV-1a. */
static uint32_t hash_more(uint32_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u;
    return hash;
}

static uint32_t rows_of(const struct mc_container *container)
{
    struct ndb_table_info info;
    uint32_t hash = 2166136261u;
    ndb_table_describe(container->table, &info);
    hash = hash_more(hash, info.database, strlen(info.database) + 1);
    hash = hash_more(hash, info.name, strlen(info.name) + 1);
    hash = hash_more(hash, container->key, container->key_count * sizeof(container->key[0]));
    return hash != 0 ? hash : 1;
}

static bool is_one_table(const struct ndb_table *a, const struct ndb_table *b)
{
    struct ndb_table_info one, two;
    if (a == NULL || b == NULL) return false;
    ndb_table_describe(a, &one);
    ndb_table_describe(b, &two);
    return strcmp(one.name, two.name) == 0 && strcmp(one.database, two.database) == 0;
}

/* Ids of large values are never shared: two containers may have their parts in one table. */
static bool may_meet(const struct mc_container *a, const struct mc_container *b)
{
    return is_one_table(a->table, b->table) || is_one_table(a->parts, b->table) ||
           is_one_table(a->table, b->parts);
}

static void add_other(struct mc_container *container, uint32_t rows)
{
    for (uint32_t i = 0; i < container->other_count; i++)
        if (container->others[i] == rows) return;
    container->others[container->other_count++] = rows;
}

static bool relate(struct mc_container *containers, uint32_t count, uint32_t number)
{
    struct mc_container *container = &containers[number];
    for (uint32_t i = 0; i < count; i++) {
        const struct mc_container *other = &containers[i];
        if (i == number || !may_meet(container, other)) continue;
        container->copied_elsewhere = container->copied_elsewhere || other->copied;
        if (other->rows == container->rows) continue;
        if (container->others == NULL) container->others = calloc(count, sizeof(uint32_t));
        if (container->others == NULL) return false;
        add_other(container, other->rows);
    }
    return true;
}

bool mc_containers_relate(struct mc_container *containers, uint32_t count)
{
    bool done = true;
    for (uint32_t i = 0; i < count; i++)
        containers[i].rows = rows_of(&containers[i]);
    for (uint32_t i = 0; done && i < count; i++)
        done = relate(containers, count, i);
    return done;
}
