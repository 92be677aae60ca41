/* mc_cache_private.h -- what the files of the cache share: items, shards, and who evicts. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <pthread.h>
#include "servers/memcached/mc_cache.h"

/*
 * A name's hash says in which shard it is: low bits the shard, further ones the slot of its table,
 * high ones its token. Each shard has its own mutex, table and list of use; nobody ever holds two
 * of the mutexes. The memory limit is one of the whole cache, not a share for each shard: with
 * -m 64 a share would be one megabyte, and a value of that size would fit nowhere. The bytes are
 * one atomic number; who stores lets go of its own shard and then evicts, until the number is below
 * the limit again, from the shard whose oldest item is the oldest: each use is noted by a clock
 * that all shards share, and that costs less than a number that all threads count. What is above
 * the limit for that moment is in memory anyway: the values come with their requests.
 */
#define MC_CACHE_SHARDS 64u
#define MC_CACHE_TOKENS 256u           /* Tokens of each shard. */
#define MC_CACHE_ERAS   256u           /* Eras, which spaces share. */
#define MC_CACHE_SLOTS  64u            /* Slots of a shard's table at its beginning. */
#define MC_CACHE_NONE   UINT64_MAX     /* `oldest` of an empty shard. */
#define MC_ITEM_COST    (8u + 2 * 16u) /* A slot of the table, and what malloc needs for two. */

struct mc_item {
    struct mc_item *chain;         /* The next item in its slot of the table. */
    struct mc_item *newer, *older; /* Neighbours in the order of use. */
    struct mc_value *value;        /* Held; never NULL. */
    uint64_t hash;
    uint64_t cas;
    uint64_t era; /* The era of its space when it was made: in a later one it is none any more. */
    uint32_t flags;
    uint32_t expiry;
    uint64_t used;     /* Nanoseconds of a clock: the order over all shards. */
    uint32_t accessed; /* Seconds, as clients are told. */
    uint32_t space, shape;
    uint16_t name_size;
    bool fetched;
    bool stale;
    bool token_sent; /* Somebody has been told to bring a new value. */
    char name[];
};

struct mc_shard {
    pthread_mutex_t mutex;
    struct mc_item **slots;
    uint64_t slot_count; /* A power of two. */
    struct mc_item *newest, *oldest;
    uint32_t index;
    uint64_t flush;                   /* Number of the last delayed flush that it has done. */
    uint64_t emptied;                 /* Adds to all tokens of the shard. */
    uint64_t writes[MC_CACHE_TOKENS]; /* Writes of the names that share a token. */
    struct mc_cache_figures figures;  /* Without `bytes` and `flushes`; `items` is the table's. */
};

struct mc_cache {
    struct mc_cache_options options;
    struct mc_value *empty;           /* The value of items that have none. */
    uint64_t cas;                     /* Atomic: the last number given. */
    uint64_t bytes;                   /* Atomic. */
    uint64_t flushes;                 /* Atomic. */
    uint64_t flush;                   /* Atomic: a delayed one's number, and in 32 bits its time. */
    uint64_t eras[MC_CACHE_ERAS];     /* Atomic: eras of the spaces that share a number. */
    uint64_t oldest[MC_CACHE_SHARDS]; /* Atomic: `used` of each shard's oldest item. */
    struct mc_shard shards[MC_CACHE_SHARDS];
};

/* A name on its way through the cache. */
struct mc_place {
    struct mc_cache *cache;
    struct mc_shard *shard;
    struct mc_name name;
    uint64_t hash;
    uint64_t era; /* The era of the name's space. */
    uint32_t now;
};

static inline uint64_t *mc_cache_era_at(struct mc_cache *cache, uint32_t space)
{
    return &cache->eras[space % MC_CACHE_ERAS];
}

/* ---- The shards (mc_cache_shard.c) ---- */

/* Finds the name's shard and takes its mutex; a flush whose time has come is done first. */
struct mc_place mc_cache_enter(struct mc_cache *cache, const struct mc_name *name, uint32_t now);
/* Lets go of it, and evicts what is too much. */
void mc_cache_leave(const struct mc_place *place);
/* The same for a shard without a name. Nothing is evicted; `now` 0: nor is it flushed. */
void mc_shard_enter(struct mc_cache *cache, struct mc_shard *shard, uint32_t now);
void mc_shard_leave(struct mc_cache *cache, struct mc_shard *shard);

/* The name's item, or NULL; one that has expired goes, and *expired (may be NULL) says so. */
struct mc_item *mc_item_find(const struct mc_place *place, bool *expired);
/* The item gets that value (held, the former one is released), and its bytes are counted. False:
   -M, and there is no room; or it can never fit. Nothing has changed then. */
bool mc_item_value(const struct mc_place *place, struct mc_item *item, struct mc_value *value);
/* A new item as the newest one of the shard, with everything but name and value 0; NULL: no room.
 */
struct mc_item *mc_item_create(const struct mc_place *place, struct mc_value *value);
void mc_item_remove(struct mc_cache *cache, struct mc_shard *shard, struct mc_item *item);
/* All with the place's name, in whatever shape. */
void mc_items_remove(const struct mc_place *place);
/* It has been used, now. */
void mc_item_use(const struct mc_place *place, struct mc_item *item);
/* All tokens of the name are void. */
void mc_item_written(const struct mc_place *place);
void mc_shard_empty(struct mc_cache *cache, struct mc_shard *shard);
uint64_t mc_cache_next_cas(struct mc_cache *cache);

/* ---- Commands (mc_cache_execute.c, mc_cache_get.c, mc_cache_number.c) ---- */

void mc_cache_get(const struct mc_place *place, struct mc_request *request);
void mc_cache_count(const struct mc_place *place, struct mc_request *request);
/* The item's next CAS number: the one that the request wants, or a new one. */
void mc_cache_renew(const struct mc_place *place, const struct mc_request *request,
                    struct mc_item *item);
/* Flags are done in their order: what stands before T sees the expiry before it. */
bool mc_cache_stands_before(const struct mc_request *request, char first, char second);
/* The expiry of an item that a get or a count makes: each of N and T sets it, in their order. Those
   from flag `end` on do not count: t tells what was set before it. */
uint32_t mc_cache_vivify_expiry(const struct mc_request *request, char end);
/* How much time is left, as a result says it, and the item's CAS number. */
void mc_cache_tell(const struct mc_item *item, struct mc_result *result);

/* ---- Flush (mc_cache.c) ---- */

/* `at`: when; 0, or past: at once. It takes the place of one that is still to come. */
void mc_cache_flush(struct mc_cache *cache, uint32_t at, uint32_t now);
