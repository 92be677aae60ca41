/* api_pool.h -- records of one type, recycled, addressed by references that notice when they have
 * gone stale. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * As kernel/base/pool.h, but grown by malloc: low 23 bits index (from 1), bit 23 the pool's mark,
 * high 8 bits generation; 0 is "none". The mark keeps the references of two pools apart that come
 * back in the same signal. Chunks are never moved or given back before api_pool_drop(). One thread
 * at a time.
 */
#define API_POOL_INDEX_MAX 0x7FFFFFu
#define API_POOL_MARK      0x800000u
#define API_POOL_CHUNK     128u

struct api_record { /* First member of every pooled record. */
    uint32_t ref;   /* Own reference while in use, else 0. */
    uint32_t link;  /* Free: index of the next free record. */
    uint32_t index;
    uint32_t generation;
};

struct api_pool {
    char **chunks;
    uint32_t chunk_count;
    uint32_t chunk_room;
    uint32_t record_size;
    uint32_t mark;
    uint32_t free; /* Index of the first free record, 0 = none. */
    uint32_t in_use;
};

void api_pool_init(struct api_pool *pool, uint32_t record_size, uint32_t mark);
void api_pool_drop(struct api_pool *pool);
/* Makes a chunk of free records. False: no memory or no index left. */
bool api_pool_grow(struct api_pool *pool);

static inline struct api_record *api_pool_at(const struct api_pool *pool, uint32_t index)
{
    char *chunk = pool->chunks[(index - 1) / API_POOL_CHUNK];
    return (struct api_record *)(void *)(chunk + (size_t)((index - 1) % API_POOL_CHUNK) *
                                                     pool->record_size);
}

/* A record whose content behind struct api_record is whatever its last user left (zero at first).
 * NULL: no memory. */
static inline void *api_pool_seize(struct api_pool *pool)
{
    if (pool->free == 0 && !api_pool_grow(pool)) return NULL;
    struct api_record *record = api_pool_at(pool, pool->free);
    pool->free = record->link;
    pool->in_use++;
    record->ref = record->index | pool->mark | (record->generation & 0xFFu) << 24;
    return record;
}

static inline void api_pool_release(struct api_pool *pool, void *any)
{
    struct api_record *record = any;
    record->ref = 0;
    record->generation++;
    record->link = pool->free;
    pool->free = record->index;
    pool->in_use--;
}

/* NULL for a reference that is stale, forged or of another pool. */
static inline void *api_pool_find(const struct api_pool *pool, uint32_t ref)
{
    uint32_t index = ref & API_POOL_INDEX_MAX;
    if (index == 0 || (index - 1) / API_POOL_CHUNK >= pool->chunk_count) return NULL;
    struct api_record *record = api_pool_at(pool, index);
    return record->ref == ref ? record : NULL;
}

/* The first record in use with an index above `index`, or NULL. */
void *api_pool_next(const struct api_pool *pool, uint32_t index);
