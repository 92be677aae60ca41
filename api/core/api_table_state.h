/* api_table_state.h -- private: a table as it was read. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdatomic.h>
#include "api/core/api_dict.h"
#include "values/key.h"

#define API_KEY_DEF_BYTES ((KEY_DEF_BYTES + 7u) & ~(size_t)7u)
struct api_table {
    _Atomic uint32_t references;
    _Atomic(void *) cached; /* What the layer above has made of the definition; malloc'ed. */
    struct api_table *next; /* Next table of the cache's bucket. */
    struct table_def *def;
    uint32_t lives; /* api_core_lives() when it was read, or before. */
    uint32_t fragments;
    /* The first fragments are the partitions; behind them are their copies: dict.h. */
    uint32_t partitions;
    uint32_t row_words; /* Words of the longest answer to a read of all columns. */
    uint32_t replicas;
    uint32_t buckets;
    const uint32_t *nodes;         /* fragments * replicas */
    const uint16_t *map;           /* buckets */
    uint8_t *unique_keys;          /* API_KEY_DEF_BYTES for each unique index, see key.h. */
    char name[TABLE_NAME_MAX + 8]; /* "database/def/table" */
};

/* api_table.c */
/* The table of an answer's two sections. NULL and *error: they are malformed, or no memory. */
struct api_table *api_table_decode(const struct section *definition,
                                   const struct section *distribution, uint32_t *error);
