/* api_pool.c -- grows and drops the client library's record pools. */
/* SPDX-License-Identifier: MIT */
#include "api/core/api_pool.h"
#include <stdlib.h>

void api_pool_init(struct api_pool *pool, uint32_t record_size, uint32_t mark)
{
    *pool = (struct api_pool){.record_size = (record_size + 15u) & ~15u, .mark = mark};
}

void api_pool_drop(struct api_pool *pool)
{
    for (uint32_t i = 0; i < pool->chunk_count; i++)
        free(pool->chunks[i]);
    free(pool->chunks);
    api_pool_init(pool, pool->record_size, pool->mark);
}

bool api_pool_grow(struct api_pool *pool)
{
    uint32_t first = pool->chunk_count * API_POOL_CHUNK + 1;
    if (first + API_POOL_CHUNK > API_POOL_INDEX_MAX) return false;
    if (pool->chunk_count == pool->chunk_room) {
        uint32_t room = pool->chunk_room == 0 ? 8 : 2 * pool->chunk_room;
        char **chunks = realloc(pool->chunks, room * sizeof *chunks);
        if (chunks == NULL) return false;
        pool->chunks = chunks;
        pool->chunk_room = room;
    }
    char *chunk = calloc(API_POOL_CHUNK, pool->record_size);
    if (chunk == NULL) return false;
    pool->chunks[pool->chunk_count++] = chunk;
    for (uint32_t i = API_POOL_CHUNK; i > 0; i--) {
        struct api_record *record = api_pool_at(pool, first + i - 1);
        record->index = first + i - 1;
        record->link = pool->free;
        pool->free = record->index;
    }
    return true;
}

void *api_pool_next(const struct api_pool *pool, uint32_t index)
{
    uint32_t end = pool->chunk_count * API_POOL_CHUNK;
    for (uint32_t i = index + 1; i <= end; i++) {
        struct api_record *record = api_pool_at(pool, i);
        if (record->ref != 0) return record;
    }
    return NULL;
}
