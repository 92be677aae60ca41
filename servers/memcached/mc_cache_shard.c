/* mc_cache_shard.c -- a shard of the cache: its table, its list of use, and who has to go. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_cache_private.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#define SHARD_BITS 6u
_Static_assert(1u << SHARD_BITS == MC_CACHE_SHARDS, "the hash's low bits say which shard it is");

/* ---- The mutex ---- */

/* A delayed flush is done by each shard when it is used for the first time after that. */
static void shard_flush(struct mc_cache *cache, struct mc_shard *shard, uint32_t now)
{
    uint64_t flush = __atomic_load_n(&cache->flush, __ATOMIC_RELAXED);
    uint32_t at = (uint32_t)flush;
    if (at == 0 || at > now || shard->flush == flush) return;
    shard->flush = flush;
    mc_shard_empty(cache, shard);
}

void mc_shard_enter(struct mc_cache *cache, struct mc_shard *shard, uint32_t now)
{
    pthread_mutex_lock(&shard->mutex);
    shard_flush(cache, shard, now);
}

/* Tells the others how old the oldest item is; mostly nothing new, and nobody's line is dirtied. */
static void shard_tell(struct mc_cache *cache, const struct mc_shard *shard)
{
    uint64_t oldest = shard->oldest != NULL ? shard->oldest->used : MC_CACHE_NONE;
    uint64_t *told = &cache->oldest[shard->index];
    if (__atomic_load_n(told, __ATOMIC_RELAXED) != oldest)
        __atomic_store_n(told, oldest, __ATOMIC_RELAXED);
}

void mc_shard_leave(struct mc_cache *cache, struct mc_shard *shard)
{
    shard_tell(cache, shard);
    pthread_mutex_unlock(&shard->mutex);
}

struct mc_place mc_cache_enter(struct mc_cache *cache, const struct mc_name *name, uint32_t now)
{
    struct mc_place place = {.cache = cache, .name = *name, .now = now};
    place.hash = XXH3_64bits_withSeed(name->bytes, name->size, name->space);
    place.shard = &cache->shards[place.hash % MC_CACHE_SHARDS];
    mc_shard_enter(cache, place.shard, now);
    if (name->space != 0)
        place.era = __atomic_load_n(mc_cache_era_at(cache, name->space), __ATOMIC_ACQUIRE);
    return place;
}

/* ---- The table ---- */

static struct mc_item **slot_of(const struct mc_shard *shard, uint64_t hash)
{
    return &shard->slots[(hash >> SHARD_BITS) & (shard->slot_count - 1)];
}

/* Twice the slots, if there is memory for them: with too few, the chains only become longer. */
static void table_grow(struct mc_shard *shard)
{
    struct mc_shard grown = {.slot_count = 2 * shard->slot_count};
    grown.slots = calloc(grown.slot_count, sizeof(struct mc_item *));
    if (grown.slots == NULL) return;
    for (uint64_t i = 0; i < shard->slot_count; i++) {
        struct mc_item *next;
        for (struct mc_item *item = shard->slots[i]; item != NULL; item = next) {
            struct mc_item **slot = slot_of(&grown, item->hash);
            next = item->chain;
            item->chain = *slot;
            *slot = item;
        }
    }
    free(shard->slots);
    shard->slots = grown.slots;
    shard->slot_count = grown.slot_count;
}

static void table_put(struct mc_shard *shard, struct mc_item *item)
{
    if (shard->figures.items >= shard->slot_count) table_grow(shard);
    struct mc_item **slot = slot_of(shard, item->hash);
    item->chain = *slot;
    *slot = item;
    shard->figures.items++;
}

static void table_take(struct mc_shard *shard, const struct mc_item *item)
{
    struct mc_item **at = slot_of(shard, item->hash);
    while (*at != item)
        at = &(*at)->chain;
    *at = item->chain;
    shard->figures.items--;
}

/* ---- The list of use ---- */

static void list_put(struct mc_shard *shard, struct mc_item *item)
{
    item->newer = NULL;
    item->older = shard->newest;
    if (shard->newest != NULL) shard->newest->newer = item;
    shard->newest = item;
    if (shard->oldest == NULL) shard->oldest = item;
}

static void list_take(struct mc_shard *shard, struct mc_item *item)
{
    if (item->newer != NULL)
        item->newer->older = item->older;
    else
        shard->newest = item->older;
    if (item->older != NULL)
        item->older->newer = item->newer;
    else
        shard->oldest = item->newer;
}

static void note_use(const struct mc_place *place, struct mc_item *item)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    item->used = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    item->accessed = place->now;
}

void mc_item_use(const struct mc_place *place, struct mc_item *item)
{
    note_use(place, item);
    if (place->shard->newest == item) return;
    list_take(place->shard, item);
    list_put(place->shard, item);
}

/* ---- Items ---- */

static uint64_t item_cost(uint32_t name_size, const struct mc_value *value)
{
    return MC_ITEM_COST + sizeof(struct mc_item) + name_size + sizeof *value + value->size;
}

/* Takes or gives back bytes; false: there are not so many. */
static bool bytes_take(struct mc_cache *cache, uint64_t more, uint64_t less)
{
    if (more > cache->options.bytes_max) return false;
    uint64_t bytes = __atomic_add_fetch(&cache->bytes, more - less, __ATOMIC_RELAXED);
    if (!cache->options.no_eviction || more <= less || bytes <= cache->options.bytes_max)
        return true;
    __atomic_sub_fetch(&cache->bytes, more - less, __ATOMIC_RELAXED);
    return false;
}

static bool item_expired(const struct mc_item *item, uint32_t now)
{
    return item->expiry != 0 && item->expiry <= now;
}

/* In any shape. */
static bool has_name(const struct mc_item *item, const struct mc_place *place)
{
    return item->hash == place->hash && item->name_size == place->name.size &&
           item->space == place->name.space &&
           memcmp(item->name, place->name.bytes, place->name.size) == 0;
}

static bool is_item(const struct mc_item *item, const struct mc_place *place)
{
    return item->shape == place->name.shape && has_name(item, place);
}

struct mc_item *mc_item_find(const struct mc_place *place, bool *expired)
{
    struct mc_item *item = *slot_of(place->shard, place->hash);
    while (item != NULL && !is_item(item, place))
        item = item->chain;
    bool former = item != NULL && item->era != place->era;
    bool gone = item != NULL && !former && item_expired(item, place->now);
    if (expired != NULL) *expired = gone;
    if (!gone && !former) return item;
    mc_item_remove(place->cache, place->shard, item);
    return NULL;
}

void mc_items_remove(const struct mc_place *place)
{
    struct mc_item *next;
    for (struct mc_item *item = *slot_of(place->shard, place->hash); item != NULL; item = next) {
        next = item->chain;
        if (has_name(item, place)) mc_item_remove(place->cache, place->shard, item);
    }
}

bool mc_item_value(const struct mc_place *place, struct mc_item *item, struct mc_value *value)
{
    uint64_t before = item_cost(item->name_size, item->value);
    if (!bytes_take(place->cache, item_cost(item->name_size, value), before)) return false;
    struct mc_value *former = item->value;
    item->value = mc_value_hold(value);
    mc_value_release(former);
    return true;
}

struct mc_item *mc_item_create(const struct mc_place *place, struct mc_value *value)
{
    uint64_t cost = item_cost(place->name.size, value);
    if (!bytes_take(place->cache, cost, 0)) return NULL;
    struct mc_item *item = calloc(1, sizeof *item + place->name.size);
    if (item == NULL) {
        __atomic_sub_fetch(&place->cache->bytes, cost, __ATOMIC_RELAXED);
        return NULL;
    }
    item->value = mc_value_hold(value);
    item->hash = place->hash;
    note_use(place, item);
    item->era = place->era;
    item->space = place->name.space;
    item->shape = place->name.shape;
    item->name_size = (uint16_t)place->name.size;
    memcpy(item->name, place->name.bytes, place->name.size);
    table_put(place->shard, item);
    list_put(place->shard, item);
    place->shard->figures.items_total++;
    return item;
}

void mc_item_remove(struct mc_cache *cache, struct mc_shard *shard, struct mc_item *item)
{
    table_take(shard, item);
    list_take(shard, item);
    __atomic_sub_fetch(&cache->bytes, item_cost(item->name_size, item->value), __ATOMIC_RELAXED);
    mc_value_release(item->value);
    free(item);
}

void mc_item_written(const struct mc_place *place)
{
    place->shard->writes[(place->hash >> 32) % MC_CACHE_TOKENS]++;
}

void mc_shard_empty(struct mc_cache *cache, struct mc_shard *shard)
{
    shard->emptied++;
    while (shard->oldest != NULL)
        mc_item_remove(cache, shard, shard->oldest);
}

uint64_t mc_cache_next_cas(struct mc_cache *cache)
{
    return __atomic_add_fetch(&cache->cas, 1, __ATOMIC_RELAXED);
}

/* ---- Eviction ---- */

/* The shard with the oldest item. NULL: all are empty. */
static struct mc_shard *oldest_shard(struct mc_cache *cache)
{
    struct mc_shard *found = NULL;
    uint64_t oldest = MC_CACHE_NONE;
    for (uint32_t i = 0; i < MC_CACHE_SHARDS; i++) {
        uint64_t used = __atomic_load_n(&cache->oldest[i], __ATOMIC_RELAXED);
        if (used >= oldest) continue;
        oldest = used;
        found = &cache->shards[i];
    }
    return found;
}

static void evict_one(struct mc_cache *cache, struct mc_shard *shard, uint32_t now)
{
    struct mc_item *item = shard->oldest;
    if (item == NULL) return; /* Somebody was faster. */
    if (item_expired(item, now))
        shard->figures.reclaimed++;
    else
        shard->figures.evictions++;
    mc_item_remove(cache, shard, item);
}

static bool too_much(struct mc_cache *cache)
{
    return __atomic_load_n(&cache->bytes, __ATOMIC_RELAXED) > cache->options.bytes_max;
}

void mc_cache_leave(const struct mc_place *place)
{
    struct mc_cache *cache = place->cache;
    mc_shard_leave(cache, place->shard);
    while (!cache->options.no_eviction && too_much(cache)) {
        struct mc_shard *shard = oldest_shard(cache);
        if (shard == NULL) return;
        mc_shard_enter(cache, shard, place->now);
        if (too_much(cache)) evict_one(cache, shard, place->now);
        mc_shard_leave(cache, shard);
    }
}
