/* api_dict.h -- the client's dictionary: tables as they were read, the cache of them, and requests
 * that read or change tables. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "kernel/base/signal.h"
#include "signals/dict.h"
#include "values/table_def.h"

struct api_core;
struct api_client;
struct api_table;

/* A table as it was when read; never changes. Shared by reference count. */
const struct table_def *api_table_def(const struct api_table *table);
/* api_core_lives() when it was read, or before: in another life there may be another table of its
 * number. */
uint32_t api_table_lives(const struct api_table *table);
uint32_t api_table_fragments(const struct api_table *table);  /* Copies included. */
uint32_t api_table_partitions(const struct api_table *table); /* Fragments without copies. */
uint32_t api_table_replicas(const struct api_table *table);
uint32_t api_table_buckets(const struct api_table *table);
uint32_t api_table_node(const struct api_table *table, uint32_t fragment, uint32_t replica);
/* Fragment of a KEY section that was made for this table. */
uint32_t api_table_fragment_of(const struct api_table *table, const uint32_t *key, uint32_t words);
/* The same of the key of a unique index, by its number. */
uint32_t api_table_fragment_of_unique(const struct api_table *table, uint32_t unique,
                                      const uint32_t *key, uint32_t words);
/* What the caller has made of the definition, for all who use the table: keeps `made` (malloc'ed)
   if nothing is kept yet, else frees it. Returns what is kept, or NULL. Any thread. */
void *api_table_cached(struct api_table *table, void *made);
struct api_table *api_table_hold(struct api_table *table);
void api_table_release(struct api_table *table);

struct api_dict_result {
    uint32_t error;
    uint32_t master_node;
    uint32_t column;         /* Creation: 1 + column that the error is about; 0 = none. */
    struct api_table *table; /* The table that api_dict_get() asked for: yours to release. */
    uint32_t table_id;
    uint32_t version;
    const uint32_t *list; /* api_dict_list: entries as in LIST_TABLES_CONF, all of them; valid in
                             the callback. */
    uint32_t list_words;
    uint32_t list_count;
};
typedef void (*api_dict_done)(void *context, const struct api_dict_result *result);

/* The cached table (to release), or NULL. `name` is "database/def/table". */
struct api_table *api_dict_cached(struct api_core *core, const char *name);
void api_dict_invalidate(struct api_core *core, const char *name);
/* Forget this very definition: what ERR_SCHEMA_VERSION, ERR_TABLE_DROPPING_TC,
 * ERR_UNKNOWN_TABLE_TC, ERR_INDEX_DROPPING, ERR_TABLE_DROPPING, ERR_SCHEMA_VERSION_LQH and
 * ERR_SCAN_TARGET_INDEX do by themselves. */
void api_dict_invalidate_table(struct api_core *core, const struct api_table *table);

/* Is it an error of a definition that is not the table's any more? */
bool api_error_is_stale(uint32_t error);

/* Forget what is known of this table, unless it is this version. What is asked for and not there
 * yet will not be kept. Any thread. */
void api_dict_changed(struct api_core *core, uint32_t table_id, uint32_t version);

/* Requests: 0 = accepted, else the error number and `done` will not run. Reads are tried at another
   node when their node fails; creation and drop go to the president (and follow ERR_NOT_MASTER). */
uint32_t api_dict_get(struct api_client *client, const char *name, uint32_t timeout_ms,
                      api_dict_done done, void *context);
uint32_t api_dict_create(struct api_client *client, const struct table_def *def,
                         uint32_t timeout_ms, api_dict_done done, void *context);
uint32_t api_dict_drop(struct api_client *client, uint32_t table_id, uint32_t version,
                       uint32_t timeout_ms, api_dict_done done, void *context);
/* How far a change has come: rows of how many. */
typedef void (*api_dict_progress)(void *context, uint64_t rows, uint64_t total);
/* `kind` and `words` as in ALTER_TABLE_REQ. The timeout is counted from the last sign of progress.
   `progress` may be NULL. */
uint32_t api_dict_alter(struct api_client *client, const struct alter_table_req *what,
                        const struct section *words, uint32_t timeout_ms, api_dict_done done,
                        api_dict_progress progress, void *context);
uint32_t api_dict_list(struct api_client *client, uint32_t timeout_ms, api_dict_done done,
                       void *context);
