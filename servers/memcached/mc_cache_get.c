/* mc_cache_get.c -- gets and touches: what is read, who is told to bring a new value. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_cache_private.h"
#include <string.h>

/* Where a flag stands among those of the request; at the end, if it is not one of them. */
static uint32_t flag_place(const struct mc_request *request, char flag)
{
    const char *at = memchr(request->form.flag, flag, request->form.flag_count);
    return at != NULL ? (uint32_t)(at - request->form.flag) : MC_META_FLAGS_MAX;
}

bool mc_cache_stands_before(const struct mc_request *request, char first, char second)
{
    return flag_place(request, first) < flag_place(request, second) &&
           flag_place(request, second) < MC_META_FLAGS_MAX;
}

static bool wants_recache(const struct mc_request *request, uint32_t expiry)
{
    return request->meta.recache_given && expiry != 0 && expiry < request->meta.recache;
}

/* The first one who finds it stale, or soon to expire, wins; until a new value comes all others are
   told that somebody has. */
static void tell_winner(struct mc_request *request, struct mc_item *item, bool recache)
{
    struct mc_result *result = &request->result;
    result->stale = item->stale;
    result->token_sent = item->token_sent;
    result->won = !item->token_sent && (item->stale || recache);
    if (result->won) item->token_sent = true;
}

static void note_use(const struct mc_place *place, const struct mc_request *request,
                     struct mc_item *item)
{
    if (request->meta.no_bump) return;
    item->fetched = true;
    mc_item_use(place, item);
}

static void count_get(const struct mc_place *place, const struct mc_request *request, bool hit)
{
    struct mc_cache_figures *figures = &place->shard->figures;
    if (request->touch) {
        figures->touches++;
        figures->touch_hits += hit;
        figures->touch_misses += !hit;
    }
    if (request->form.touch_only) return;
    figures->gets++;
    figures->hits += hit;
    figures->misses += !hit;
}

static void tell_value(const struct mc_request *request, const struct mc_item *item,
                       struct mc_result *result)
{
    mc_cache_tell(item, result);
    if (request->want_value) result->value = mc_value_hold(item->value);
}

uint32_t mc_cache_vivify_expiry(const struct mc_request *request, char end)
{
    uint32_t expiry = 0;
    for (uint32_t i = 0; i < request->form.flag_count && request->form.flag[i] != end; i++) {
        if (request->form.flag[i] == 'N') expiry = request->meta.vivify;
        if (request->form.flag[i] == 'T') expiry = request->expiry;
    }
    return expiry;
}

/* The empty item of a miss: this one is to fill it. */
static enum mc_status vivify(const struct mc_place *place, struct mc_request *request)
{
    struct mc_item *item = mc_item_create(place, place->cache->empty);
    if (item == NULL) return MC_NO_MEMORY;
    item->expiry = mc_cache_vivify_expiry(request, '\0');
    item->token_sent = true;
    request->result.won = request->result.created = true;
    mc_cache_renew(place, request, item);
    note_use(place, request, item);
    tell_value(request, item, &request->result);
    request->result.expiry = mc_cache_vivify_expiry(request, 't');
    return MC_OK;
}

static void get_item(const struct mc_place *place, struct mc_request *request, struct mc_item *item)
{
    struct mc_result *result = &request->result;
    uint32_t before = item->expiry;
    uint32_t after = request->touch ? request->expiry : before;
    bool touched = mc_cache_stands_before(request, 'T', 'R');
    result->fetched = item->fetched;
    result->accessed = place->now > item->accessed ? place->now - item->accessed : 0;
    item->expiry = after;
    if (request->form.protocol == MC_META && request->form.opcode != 'e') /* me only looks. */
        tell_winner(request, item, wants_recache(request, touched ? after : before));
    tell_value(request, item, result);
    if (request->touch && mc_cache_stands_before(request, 't', 'T')) result->expiry = before;
    note_use(place, request, item);
}

void mc_cache_get(const struct mc_place *place, struct mc_request *request)
{
    bool expired;
    struct mc_item *item = mc_item_find(place, &expired);
    count_get(place, request, item != NULL);
    place->shard->figures.expired += expired;
    if (item != NULL)
        get_item(place, request, item);
    else if (request->meta.vivify_given)
        request->result.status = vivify(place, request);
    else
        request->result.status = MC_NOT_FOUND;
}
