/* mc_cache_execute.c -- commands on the cache that store and delete. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_cache_private.h"
#include <string.h>

void mc_cache_tell(const struct mc_item *item, struct mc_result *result)
{
    result->cas = item->cas;
    result->expiry = item->expiry;
    result->flags = item->flags;
}

void mc_cache_renew(const struct mc_place *place, const struct mc_request *request,
                    struct mc_item *item)
{
    item->cas =
        request->meta.new_cas_given ? request->meta.new_cas : mc_cache_next_cas(place->cache);
}

/* ---- Storing ---- */

/* A value in the place of another one, or a new item. What was said about the former value is
   void. */
static enum mc_status item_store(const struct mc_place *place, struct mc_request *request,
                                 struct mc_item *item, struct mc_value *value)
{
    if (value->size > place->cache->options.value_max) return MC_TOO_LARGE;
    if (item == NULL) {
        item = mc_item_create(place, value);
        if (item == NULL) return MC_NO_MEMORY;
    } else {
        if (!mc_item_value(place, item, value)) return MC_NO_MEMORY;
        place->shard->figures.items_total++;
    }
    item->fetched = item->stale = item->token_sent = false;
    mc_item_use(place, item);
    mc_cache_renew(place, request, item);
    mc_item_written(place);
    return MC_OK;
}

static struct mc_value *value_of(const struct mc_place *place, const struct mc_request *request)
{
    return request->value != NULL ? request->value : place->cache->empty;
}

/* With the request's flags and expiry. */
static enum mc_status item_set(const struct mc_place *place, struct mc_request *request,
                               struct mc_item *item, uint32_t expiry)
{
    enum mc_status status = item_store(place, request, item, value_of(place, request));
    if (status != MC_OK) return status;
    item = place->shard->newest;
    item->flags = request->flags;
    item->expiry = expiry;
    mc_cache_tell(item, &request->result);
    return MC_OK;
}

/* A set that failed must not leave the old value, as if it had never been meant to be replaced. */
static enum mc_status set_anyway(const struct mc_place *place, struct mc_request *request,
                                 struct mc_item *item)
{
    enum mc_status status = item_set(place, request, item, request->expiry);
    if (status != MC_OK && item != NULL) {
        mc_item_written(place);
        mc_item_remove(place->cache, place->shard, item);
    }
    return status;
}

/* An older CAS number with `invalidate`: better than nothing, but somebody has to bring a new one.
   The item keeps its expiry, and remembers whether somebody has been told so. */
static enum mc_status set_stale(const struct mc_place *place, struct mc_request *request,
                                struct mc_item *item)
{
    bool token_sent = item->token_sent;
    enum mc_status status = item_set(place, request, item, item->expiry);
    if (status != MC_OK) return status;
    item->stale = true;
    item->token_sent = token_sent;
    return MC_OK;
}

/* SET and REPLACE with a CAS number. */
static enum mc_status set_compared(const struct mc_place *place, struct mc_request *request,
                                   struct mc_item *item)
{
    struct mc_cache_figures *figures = &place->shard->figures;
    if (item == NULL) {
        figures->cas_misses++;
        return MC_NOT_FOUND;
    }
    if (item->cas == request->cas) {
        figures->cas_hits++;
        return item_set(place, request, item, request->expiry);
    }
    figures->cas_badval++;
    if (request->meta.invalidate && request->cas != 0 && request->cas < item->cas)
        return set_stale(place, request, item);
    return MC_EXISTS;
}

/* The new value is a new one: somebody may be reading the old one. */
static struct mc_value *joined(const struct mc_value *front, const struct mc_value *back)
{
    struct mc_value *value = mc_value_create(front->size + back->size);
    if (value == NULL) return NULL;
    memcpy(value->bytes, front->bytes, front->size);
    memcpy(value->bytes + front->size, back->bytes, back->size);
    return value;
}

static enum mc_status item_extend(const struct mc_place *place, struct mc_request *request,
                                  struct mc_item *item)
{
    const struct mc_value *more = value_of(place, request);
    bool behind = request->command == MC_APPEND;
    if ((uint64_t)item->value->size + more->size > place->cache->options.value_max)
        return MC_TOO_LARGE;
    struct mc_value *value = behind ? joined(item->value, more) : joined(more, item->value);
    if (value == NULL) return MC_NO_MEMORY;
    enum mc_status status = item_store(place, request, item, value);
    mc_value_release(value);
    request->result.size = item->value->size;
    if (status == MC_OK) mc_cache_tell(item, &request->result);
    return status;
}

/* APPEND and PREPEND. */
static enum mc_status extend(const struct mc_place *place, struct mc_request *request,
                             struct mc_item *item)
{
    if (item == NULL && request->meta.vivify_given) {
        enum mc_status status = item_set(place, request, NULL, request->meta.vivify);
        request->result.created = status == MC_OK;
        request->result.size = value_of(place, request)->size;
        return status;
    }
    if (item == NULL) return MC_NOT_STORED;
    if (request->cas_given && item->cas != request->cas) return MC_EXISTS;
    return item_extend(place, request, item);
}

static enum mc_status store(const struct mc_place *place, struct mc_request *request)
{
    struct mc_item *item = mc_item_find(place, NULL);
    place->shard->figures.sets++;
    switch ((int)request->command) {
    case MC_ADD:
        if (item == NULL) return item_set(place, request, NULL, request->expiry);
        mc_item_use(place, item); /* Somebody wants it: it is in use. */
        return MC_NOT_STORED;
    case MC_REPLACE:
        if (request->cas_given) return set_compared(place, request, item);
        if (item == NULL) return MC_NOT_STORED;
        return item_set(place, request, item, request->expiry);
    case MC_SET:
        if (request->cas_given) return set_compared(place, request, item);
        return set_anyway(place, request, item);
    default:
        return extend(place, request, item);
    }
}

/* ---- Deleting ---- */

static enum mc_status drop_value(const struct mc_place *place, struct mc_item *item)
{
    if (!mc_item_value(place, item, place->cache->empty)) return MC_NO_MEMORY;
    item->flags = 0;
    item->fetched = item->stale = item->token_sent = false;
    return MC_OK;
}

/* `invalidate` and `drop_value`: the item stays. */
static enum mc_status spoil(const struct mc_place *place, struct mc_request *request,
                            struct mc_item *item)
{
    if (request->meta.drop_value) {
        enum mc_status status = drop_value(place, item);
        if (status != MC_OK) return status;
    }
    if (request->meta.invalidate) {
        item->stale = true;
        item->token_sent = false; /* The next one who asks is told to bring a new value. */
    }
    if (request->touch) item->expiry = request->expiry;
    mc_cache_renew(place, request, item);
    mc_item_written(place);
    mc_cache_tell(item, &request->result);
    return MC_OK;
}

static enum mc_status delete (const struct mc_place *place, struct mc_request *request) {
    struct mc_item *item = mc_item_find(place, NULL);
    struct mc_cache_figures *figures = &place->shard->figures;
    if (item == NULL || (request->cas_given && item->cas != request->cas)){
        figures->delete_misses++; return item == NULL ? MC_NOT_FOUND : MC_EXISTS;}
figures->delete_hits++;
if (request->meta.invalidate || request->meta.drop_value) return spoil(place, request, item);
mc_item_written(place);
mc_item_remove(place->cache, place->shard, item);
return MC_OK;
}

/* ---- All of them ---- */

static void execute_at(const struct mc_place *place, struct mc_request *request)
{
    switch ((int)request->command) {
    case MC_GET:
        mc_cache_get(place, request);
        break;
    case MC_INCREMENT:
    case MC_DECREMENT:
        mc_cache_count(place, request);
        break;
    case MC_DELETE:
        request->result.status = delete (place, request);
        break;
    default:
        request->result.status = store(place, request);
        break;
    }
}

void mc_cache_execute(struct mc_cache *cache, struct mc_request *request, uint32_t now)
{
    const struct mc_name name = {.bytes = request->key, .size = request->key_size};
    mc_cache_execute_as(cache, &name, request, now);
}

void mc_cache_execute_as(struct mc_cache *cache, const struct mc_name *name,
                         struct mc_request *request, uint32_t now)
{
    memset(&request->result, 0, sizeof request->result);
    if (request->command >= MC_ENGINE_COMMANDS) {
        request->result.status = MC_NOT_SUPPORTED;
    } else if (request->command == MC_FLUSH_ALL) {
        mc_cache_flush(cache, request->expiry, now);
    } else {
        struct mc_place place = mc_cache_enter(cache, name, now);
        execute_at(&place, request);
        mc_cache_leave(&place);
    }
}
