/* mc_store.h -- requests on rows of the cluster's tables. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_config.h"

struct mc_store;

struct mc_store_options {
    uint32_t deadline_ms;           /* Temporary errors are tried again until then; 0 = 2000. */
    uint32_t value_max;             /* -I: the largest value, in parts. */
    uint32_t (*now)(void *context); /* Unix seconds. */
    void *context;
};

/* What a row is known by, whoever spells its key: two keys of a container have the same name
   exactly when the table takes them for equal. The size of naming->name, or -1: it is no key of the
   table. Any thread, with a `naming` of its own. */
struct mc_naming {
    char name[2048]; /* 32 columns of up to 36 bytes and their sizes, and no more text than a key's.
                      */
    uint8_t stored[32768], form[32768]; /* Room for one column. */
};
int mc_store_name(const struct mc_container *container, const char *key, uint32_t key_size,
                  struct mc_naming *naming);

#define MC_NO_KEY_OF_TABLE "the key is none of the table" /* A message of MC_INVALID. */

struct mc_store_figures {
    uint64_t operations, retries, temporary;
    uint64_t batches; /* Rounds from one tick to the next in which there was something to send. */
};

/* One thread's access: everything runs in callbacks of `ndb`, which belongs to the caller, who
   calls ndb_process(). NULL: no memory. */
struct mc_store *mc_store_open(ndb_t *ndb, const struct mc_store_options *options);
/* Requests under way are dropped: done is not called any more. */
void mc_store_close(struct mc_store *store);

/*
 * Does an engine command on the container's row (of FLUSH_ALL: deletes all rows) without waiting,
 * fills request->result, and calls done(request, context), perhaps before it returns. `key` is the
 * key without its prefix: a part of request->key. Uses request->engine. The container lives until
 * then. A result MC_OK of a set has the row's new CAS number; of append and prepend `value` is not
 * filled.
 */
void mc_store_start(struct mc_store *store, const struct mc_container *container,
                    struct mc_request *request, const char *key, uint32_t key_size,
                    void (*done)(struct mc_request *request, void *context), void *context);
/* What a read of the row would give after that request, which has ended. False: not known here.
   The value is held for the caller. */
struct mc_written {
    struct mc_value *value;
    uint32_t flags, expiry;
};
bool mc_store_written(struct mc_store *store, const struct mc_container *container,
                      const struct mc_request *request, struct mc_written *written);
/* Reads that were begun are gathered: hands them to `ndb`. To be called before each ndb_process(),
   and after it, since what it completes may begin reads; true: there were some, so once more. */
bool mc_store_send(struct mc_store *store);
/* Tries again what waits for that, and sends. Returns milliseconds until it is to be called again,
   at most 1000. */
uint32_t mc_store_tick(struct mc_store *store);
void mc_store_figures(const struct mc_store *store, struct mc_store_figures *figures);
/* How often the cluster has answered with that error, from the highest: *code and count, for
   index 0, 1, ...; false: no more. */
bool mc_store_error(const struct mc_store *store, uint32_t index, int32_t *code, uint64_t *count);
