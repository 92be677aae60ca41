/* mc_cache.h -- the local cache: items in memory, the least recently used go first. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_request.h"

struct mc_cache;

struct mc_cache_options {
    uint64_t bytes_max; /* -m: keys, values and what it costs to keep them. */
    uint32_t value_max; /* -I */
    bool no_eviction;   /* -M: MC_NO_MEMORY instead of eviction. */
    uint64_t cas;       /* Numbers begin above it. */
};

/*
 * What an item is found by. A row has one name of a space, and each shape that is kept of it is an
 * item of its own: all of them share their tokens, and go together when the row is written.
 */
struct mc_name {
    const char *bytes;
    uint32_t size;  /* Up to MC_NAME_MAX. */
    uint32_t space; /* 0: the bytes are a client's key; else those of others mean something else. */
    uint32_t shape; /* 0, if the space is. */
};
#define MC_NAME_MAX 4096u

/* NULL: no memory. All functions: any thread. */
struct mc_cache *mc_cache_create(const struct mc_cache_options *options);
void mc_cache_free(struct mc_cache *cache);

/* Does what an engine command asks for, at once, and fills request->result (not done()). Values are
   held, not copied. `now`: Unix seconds. */
void mc_cache_execute(struct mc_cache *cache, struct mc_request *request, uint32_t now);
/* The same with that item, and not the one with the request's key. */
void mc_cache_execute_as(struct mc_cache *cache, const struct mc_name *name,
                         struct mc_request *request, uint32_t now);

/*
 * For values that stand in the database, too. A copy must not be older than a write that was
 * answered. Who reads a row takes the key's token before, and its copy is kept only if no write of
 * that key has begun or ended since. Who writes a row begins before and ends after; its copy is
 * kept only if no other write has begun or ended in between: the database may have done them in
 * either order.
 */
uint64_t mc_cache_token(struct mc_cache *cache, const struct mc_name *name);
struct mc_copy {
    struct mc_value *value; /* Held by the cache, too. */
    uint32_t flags, expiry;
    uint64_t cas; /* The database's, or 0: the cache makes one. */
    bool fetched; /* A client was told of it. */
};
/* False: somebody has written since. *cas (may be NULL): the copy's number. */
bool mc_cache_fill(struct mc_cache *cache, const struct mc_name *name, uint64_t token,
                   const struct mc_copy *copy, uint32_t now, uint64_t *cas);
/* As mc_cache_execute_as() of a get, if the token holds; else false, and nothing is done. */
bool mc_cache_execute_if(struct mc_cache *cache, const struct mc_name *name,
                         struct mc_request *request, uint64_t token, uint32_t now);
/* The copies that were there go; returns the write's token. */
uint64_t mc_cache_write_begin(struct mc_cache *cache, const struct mc_name *name, uint32_t now);
/* `copy` NULL: what the row is now is not known, or it was not written. As mc_cache_fill(). */
bool mc_cache_write_end(struct mc_cache *cache, const struct mc_name *name, uint64_t token,
                        const struct mc_copy *copy, uint32_t now, uint64_t *cas);
/* The copy as it is, which is no use of it; false: there is none. The value is held for the caller.
 */
bool mc_cache_peek(struct mc_cache *cache, const struct mc_name *name, uint32_t now,
                   struct mc_copy *copy);
/* The copies go, and all their tokens are void. */
void mc_cache_forget(struct mc_cache *cache, const struct mc_name *name);
/* The same of all that is in that space (not 0), at once: their memory is found when it is needed,
   or they are asked for. Another space may suffer the same. */
void mc_cache_forget_space(struct mc_cache *cache, uint32_t space);
/* The same of all spaces but 0. */
void mc_cache_forget_spaces(struct mc_cache *cache);
/* The same of all of which `goes` says so; the tokens of all others are void, too. */
void mc_cache_forget_if(struct mc_cache *cache,
                        bool (*goes)(void *context, const struct mc_name *name), void *context);

struct mc_cache_figures {
    uint64_t items, items_total, bytes, evictions, reclaimed;
    uint64_t gets, hits, misses, expired, sets, touches, touch_hits, touch_misses, flushes;
    uint64_t delete_hits, delete_misses, incr_hits, incr_misses, decr_hits, decr_misses;
    uint64_t cas_hits, cas_misses, cas_badval;
    uint32_t oldest_age; /* Seconds since the oldest access. */
};
void mc_cache_figures(struct mc_cache *cache, uint32_t now, struct mc_cache_figures *figures);
/* What only grows begins anew. */
void mc_cache_figures_reset(struct mc_cache *cache);
