/* pool.c -- seizes, finds and releases pooled records. */
/* SPDX-License-Identifier: MIT */
#include "kernel/base/pool.h"
#include <string.h>

#define POISON 0xF5

void pool_init(struct pool *pool, struct arena *arena, enum resource_group group,
               uint32_t record_size, uint32_t max)
{
    uint32_t size = (record_size + 7u) & ~7u;
    *pool = (struct pool){
        .arena = arena,
        .group = group,
        .record_size = size,
        .head_size = size,
        .per_page = PAGE_SIZE_BYTES / size,
        .page_factor = ((1ull << 40) + PAGE_SIZE_BYTES / size - 1) / (PAGE_SIZE_BYTES / size),
        .max = max < POOL_INDEX_MAX ? max : POOL_INDEX_MAX,
    };
    page_map_init(&pool->pages, arena, group);
}

void pool_head(struct pool *pool, size_t bytes)
{
    if (bytes >= sizeof(struct pool_record) && bytes < pool->record_size)
        pool->head_size = (uint32_t)bytes;
}

/* Adds one page of free records. */
static bool pool_grow(struct pool *pool)
{
    if (pool->carved >= pool->max) return false;
    uint32_t page_no = pool->carved / pool->per_page;
    void *page = arena_page(pool->arena, pool->group);
    if (page == NULL) return false;
    if (!page_map_set(&pool->pages, page_no, page)) {
        arena_page_release(pool->arena, pool->group, page);
        return false;
    }
    uint32_t room = pool->max - pool->carved;
    uint32_t add = pool->per_page < room ? pool->per_page : room;
    /* Linked so that low indexes are handed out first. */
    for (uint32_t i = add; i > 0; i--) {
        struct pool_record *record =
            (struct pool_record *)(void *)((uint8_t *)page + (size_t)(i - 1) * pool->record_size);
        record->ref = 0;
        record->next_free = pool->free;
        pool->free = pool->carved + i;
    }
    pool->carved += add;
    return true;
}

bool pool_reserve(struct pool *pool, uint32_t records)
{
    while (pool->carved < records && pool->carved < pool->max) {
        if (!pool_grow(pool)) return false;
    }
    return true;
}

bool pools_begin(struct pool *const *pools, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!pool_reserve(pools[i], 1)) return false;
    }
    return true;
}

void *pool_seize(struct pool *pool)
{
    if (pool->fail_next > 0 && --pool->fail_next == 0) {
        pool->failed++;
        return NULL;
    }
    if (pool->free == 0 && !pool_grow(pool)) {
        pool->failed++;
        return NULL;
    }
    uint32_t index = pool->free;
    struct pool_record *record = pool_record_at(pool, index);
    uint32_t generation = record->next_free >> 24;
    pool->free = record->next_free & POOL_INDEX_MAX;
    memset(record, 0, pool->head_size);
    record->ref = index | generation << 24;
    if (pool->free != 0) pool_prefetch(pool, pool->free); /* Whoever seizes one seizes more. */
    pool->in_use++;
    if (pool->in_use > pool->high) pool->high = pool->in_use;
    return record;
}

void pool_release(struct pool *pool, void *record_memory)
{
    struct pool_record *record = record_memory;
    uint32_t index = pool_index(record->ref);
    uint32_t generation = (record->ref >> 24) + 1u;
    memset((uint8_t *)record_memory + sizeof *record, POISON,
           pool->head_size - sizeof *record); /* I-KERNEL-5 */
    record->ref = 0;
    record->next_free = pool->free | generation << 24;
    pool->free = index;
    pool->in_use--;
}

void *pool_next(const struct pool *pool, uint32_t index)
{
    while (index < pool->carved) {
        struct pool_record *record = pool_record_at(pool, ++index);
        if (record->ref != 0) return record;
    }
    return NULL;
}

void pool_drop(struct pool *pool)
{
    for (uint32_t page_no = 0; page_no * pool->per_page < pool->carved; page_no++)
        arena_page_release(pool->arena, pool->group, page_map_at(&pool->pages, page_no));
    page_map_drop(&pool->pages);
    pool->carved = pool->free = pool->in_use = 0;
}
