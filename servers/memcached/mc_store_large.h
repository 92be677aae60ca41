/* mc_store_large.h -- values in parts: how they are cut, read, stored and deleted. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_store.h"

struct mc_work;

#define MC_PARTS_MAX     320u /* Parts of a value of 4.4 MB, in one transaction. -I may say less. */
#define MC_PARTS_AT_ONCE 32u  /* Parts in one round trip. */

/* The parts of a large value on their way: see mc_store_large.c. */
struct mc_large {
    uint32_t id;
    bool fresh;         /* The id is a new one. */
    uint32_t at, end;   /* The next part to be read or written, and the one behind the last. */
    uint32_t first;     /* The part at which `value` begins. */
    uint32_t old_parts; /* Parts that the row had before: those from `end` on are deleted. */
    struct mc_value *value;
    void (*then)(struct mc_work *job);
    struct ndb_operation *read[MC_PARTS_AT_ONCE];
};

bool mc_large_needs_parts(const struct mc_container *container, const char *text, uint32_t size);
/* Longer values are refused. */
uint64_t mc_large_size_max(const struct mc_work *job);
/* The request is a read of a row whose value stands in parts. */
void mc_large_read(struct mc_work *job);
/* Reads so many bytes from the beginning of part `first` on into large->value, and calls `then`. */
void mc_large_fetch(struct mc_work *job, uint32_t first, uint32_t size,
                    void (*then)(struct mc_work *job));
/* The locked row gets job->value, which begins at part `first`, `size` bytes in all; others that it
   has are deleted. `then` defines what happens to the row, and commits. */
void mc_large_store(struct mc_work *job, uint32_t first, uint32_t size,
                    void (*then)(struct mc_work *job));
/* All parts of the locked row are deleted. */
void mc_large_delete(struct mc_work *job, void (*then)(struct mc_work *job));
void mc_large_free(struct mc_work *job);
/* An operation on a part. NULL: it could not be defined. */
struct ndb_operation *mc_part_operation(const struct mc_container *container,
                                        struct ndb_transaction *transaction,
                                        enum ndb_operation_type type, uint32_t id, uint32_t part,
                                        const struct ndb_operation_options *options);
