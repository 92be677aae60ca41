/* mc_cache.c -- the cache as a whole, and copies of what stands in the database. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_cache_private.h"
#include <stdlib.h>
#include <string.h>

static bool shard_open(struct mc_shard *shard, uint32_t index)
{
    shard->index = index;
    shard->slot_count = MC_CACHE_SLOTS;
    shard->slots = calloc(shard->slot_count, sizeof(struct mc_item *));
    if (shard->slots == NULL) return false;
    if (pthread_mutex_init(&shard->mutex, NULL) == 0) return true;
    free(shard->slots);
    return false;
}

static void shards_close(struct mc_cache *cache, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct mc_shard *shard = &cache->shards[i];
        mc_shard_empty(cache, shard);
        pthread_mutex_destroy(&shard->mutex);
        free(shard->slots);
    }
}

struct mc_cache *mc_cache_create(const struct mc_cache_options *options)
{
    struct mc_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) return NULL;
    cache->options = *options;
    cache->cas = options->cas;
    cache->empty = mc_value_create(0);
    uint32_t count = 0;
    while (count < MC_CACHE_SHARDS && shard_open(&cache->shards[count], count))
        cache->oldest[count++] = MC_CACHE_NONE;
    if (cache->empty != NULL && count == MC_CACHE_SHARDS) return cache;
    shards_close(cache, count);
    mc_value_release(cache->empty);
    free(cache);
    return NULL;
}

void mc_cache_free(struct mc_cache *cache)
{
    if (cache == NULL) return;
    shards_close(cache, MC_CACHE_SHARDS);
    mc_value_release(cache->empty);
    free(cache);
}

/* Each shard is entered before the former flush is forgotten: its time may have come, and not every
   shard has been used since. */
void mc_cache_flush(struct mc_cache *cache, uint32_t at, uint32_t now)
{
    uint64_t number = __atomic_add_fetch(&cache->flushes, 1, __ATOMIC_RELAXED) << 32;
    bool later = at > now;
    for (uint32_t i = 0; i < MC_CACHE_SHARDS; i++) {
        mc_shard_enter(cache, &cache->shards[i], now);
        if (!later) mc_shard_empty(cache, &cache->shards[i]);
        mc_shard_leave(cache, &cache->shards[i]);
    }
    __atomic_store_n(&cache->flush, later ? number | at : 0, __ATOMIC_RELAXED);
}

/* ---- Copies of what stands in the database ---- */

/*
 * Names that share a counter make each other's tokens void, which costs nothing but a copy that is
 * not kept. The numbers only grow: the sum is the same if all are.
 */
static uint64_t token_of(const struct mc_place *place)
{
    return place->shard->emptied + place->era +
           place->shard->writes[(place->hash >> 32) % MC_CACHE_TOKENS];
}

uint64_t mc_cache_token(struct mc_cache *cache, const struct mc_name *name)
{
    struct mc_place place = mc_cache_enter(cache, name, 0);
    uint64_t token = token_of(&place);
    mc_shard_leave(cache, place.shard);
    return token;
}

bool mc_cache_execute_if(struct mc_cache *cache, const struct mc_name *name,
                         struct mc_request *request, uint64_t token, uint32_t now)
{
    struct mc_place place = mc_cache_enter(cache, name, now);
    bool holds = token == token_of(&place);
    if (holds) {
        memset(&request->result, 0, sizeof request->result);
        mc_cache_get(&place, request);
    }
    mc_cache_leave(&place);
    return holds;
}

/* The copy of something that is here already is no change: those who know its number, where that is
   not the database's, shall find it again, and who was told to bring a new value is still at it. */
static bool copy_known(const struct mc_item *item, const struct mc_copy *copy)
{
    return item != NULL && (copy->cas == 0 || copy->cas == item->cas) &&
           item->flags == copy->flags && !item->stale && item->value->size == copy->value->size &&
           memcmp(item->value->bytes, copy->value->bytes, copy->value->size) == 0;
}

/* A copy that finds no room is none, and what was there before must go. */
static uint64_t copy_store(const struct mc_place *place, const struct mc_copy *copy)
{
    struct mc_item *item = mc_item_find(place, NULL);
    bool stored = copy->value->size <= place->cache->options.value_max;
    if (stored && item != NULL) stored = mc_item_value(place, item, copy->value);
    if (!stored && item != NULL) mc_item_remove(place->cache, place->shard, item);
    if (stored && item == NULL) item = mc_item_create(place, copy->value);
    uint64_t cas = copy->cas != 0 ? copy->cas : mc_cache_next_cas(place->cache);
    if (!stored || item == NULL) return cas;
    item->flags = copy->flags;
    item->expiry = copy->expiry;
    item->cas = cas;
    item->fetched = copy->fetched;
    item->stale = item->token_sent = false;
    mc_item_use(place, item);
    return cas;
}

bool mc_cache_fill(struct mc_cache *cache, const struct mc_name *name, uint64_t token,
                   const struct mc_copy *copy, uint32_t now, uint64_t *cas)
{
    struct mc_place place = mc_cache_enter(cache, name, now);
    bool taken = token == token_of(&place);
    if (taken) {
        struct mc_item *item = mc_item_find(&place, NULL);
        bool known = copy_known(item, copy);
        if (known) {
            item->fetched = item->fetched || copy->fetched;
            item->expiry = copy->expiry;
            mc_item_use(&place, item);
        }
        uint64_t number = known ? item->cas : copy_store(&place, copy);
        if (cas != NULL) *cas = number;
    }
    mc_cache_leave(&place);
    return taken;
}

/* All tokens of the name are void, and its copies go. */
static void forget_at(const struct mc_place *place)
{
    mc_item_written(place);
    mc_items_remove(place);
}

uint64_t mc_cache_write_begin(struct mc_cache *cache, const struct mc_name *name, uint32_t now)
{
    struct mc_place place = mc_cache_enter(cache, name, now);
    forget_at(&place);
    uint64_t token = token_of(&place);
    mc_shard_leave(cache, place.shard);
    return token;
}

/* The end voids tokens again: whoever has read the row since the beginning may have the old one. */
bool mc_cache_write_end(struct mc_cache *cache, const struct mc_name *name, uint64_t token,
                        const struct mc_copy *copy, uint32_t now, uint64_t *cas)
{
    struct mc_place place = mc_cache_enter(cache, name, now);
    bool alone = copy != NULL && token == token_of(&place);
    forget_at(&place);
    if (alone) {
        uint64_t number = copy_store(&place, copy);
        if (cas != NULL) *cas = number;
    }
    mc_cache_leave(&place);
    return alone;
}

bool mc_cache_peek(struct mc_cache *cache, const struct mc_name *name, uint32_t now,
                   struct mc_copy *copy)
{
    struct mc_place place = mc_cache_enter(cache, name, now);
    const struct mc_item *item = mc_item_find(&place, NULL);
    *copy = (struct mc_copy){0};
    if (item != NULL)
        *copy = (struct mc_copy){.value = mc_value_hold(item->value),
                                 .flags = item->flags,
                                 .expiry = item->expiry,
                                 .cas = item->cas};
    mc_shard_leave(cache, place.shard);
    return copy->value != NULL;
}

void mc_cache_forget(struct mc_cache *cache, const struct mc_name *name)
{
    struct mc_place place = mc_cache_enter(cache, name, 0);
    forget_at(&place);
    mc_shard_leave(cache, place.shard);
}

/* What was made before is known by its era: a table's rows are too many to look for. */
void mc_cache_forget_space(struct mc_cache *cache, uint32_t space)
{
    (void)__atomic_add_fetch(mc_cache_era_at(cache, space), 1, __ATOMIC_ACQ_REL);
}

void mc_cache_forget_spaces(struct mc_cache *cache)
{
    for (uint32_t space = 0; space < MC_CACHE_ERAS; space++)
        mc_cache_forget_space(cache, space);
}

void mc_cache_forget_if(struct mc_cache *cache,
                        bool (*goes)(void *context, const struct mc_name *name), void *context)
{
    for (uint32_t i = 0; i < MC_CACHE_SHARDS; i++) {
        struct mc_shard *shard = &cache->shards[i];
        struct mc_item *next;
        mc_shard_enter(cache, shard, 0);
        shard->emptied++;
        for (struct mc_item *item = shard->oldest; item != NULL; item = next) {
            const struct mc_name name = {.bytes = item->name,
                                         .size = item->name_size,
                                         .space = item->space,
                                         .shape = item->shape};
            next = item->newer;
            if (goes(context, &name)) mc_item_remove(cache, shard, item);
        }
        mc_shard_leave(cache, shard);
    }
}

/* ---- Figures ---- */

static void figures_add(struct mc_cache_figures *sum, const struct mc_cache_figures *shard)
{
    sum->items += shard->items;
    sum->items_total += shard->items_total;
    sum->evictions += shard->evictions;
    sum->reclaimed += shard->reclaimed;
    sum->gets += shard->gets;
    sum->hits += shard->hits;
    sum->misses += shard->misses;
    sum->expired += shard->expired;
    sum->sets += shard->sets;
    sum->touches += shard->touches;
    sum->touch_hits += shard->touch_hits;
    sum->touch_misses += shard->touch_misses;
    sum->delete_hits += shard->delete_hits;
    sum->delete_misses += shard->delete_misses;
    sum->incr_hits += shard->incr_hits;
    sum->incr_misses += shard->incr_misses;
    sum->decr_hits += shard->decr_hits;
    sum->decr_misses += shard->decr_misses;
    sum->cas_hits += shard->cas_hits;
    sum->cas_misses += shard->cas_misses;
    sum->cas_badval += shard->cas_badval;
}

void mc_cache_figures(struct mc_cache *cache, uint32_t now, struct mc_cache_figures *figures)
{
    uint32_t oldest = now;
    *figures = (struct mc_cache_figures){0};
    for (uint32_t i = 0; i < MC_CACHE_SHARDS; i++) {
        struct mc_shard *shard = &cache->shards[i];
        mc_shard_enter(cache, shard, now);
        figures_add(figures, &shard->figures);
        if (shard->oldest != NULL && shard->oldest->accessed < oldest)
            oldest = shard->oldest->accessed;
        mc_shard_leave(cache, shard);
    }
    figures->bytes = __atomic_load_n(&cache->bytes, __ATOMIC_RELAXED);
    figures->flushes = __atomic_load_n(&cache->flushes, __ATOMIC_RELAXED);
    figures->oldest_age = now - oldest;
}

void mc_cache_figures_reset(struct mc_cache *cache)
{
    for (uint32_t i = 0; i < MC_CACHE_SHARDS; i++) {
        struct mc_shard *shard = &cache->shards[i];
        mc_shard_enter(cache, shard, 0);
        shard->figures = (struct mc_cache_figures){.items = shard->figures.items};
        mc_shard_leave(cache, shard);
    }
}
