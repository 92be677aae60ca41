/* mc_config.h -- what the tables of schema ndbmemcache say: which key is which column of which row,
 * and who answers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <ndb/ndb.h>
#include "servers/memcached/mc_request.h"

#define MC_COLUMNS_MAX 32u /* Columns of a key, or of a value. */
#define MC_SCHEMA      "ndbmemcache"

enum mc_policy { MC_DISABLED = 0, MC_CACHE_ONLY, MC_NDB_ONLY, MC_CACHING };

/* How a row is found. */
enum mc_access { MC_BY_PRIMARY_KEY = 0, MC_BY_UNIQUE_INDEX, MC_BY_ORDERED_INDEX };

#define MC_NO_COLUMN UINT32_MAX

/* A table as keys and values see it. Columns are numbers of the table. */
struct mc_container {
    char name[51];
    uint32_t number; /* Number among all containers that this process has had; never 0. */
    /* This number stands for its table and key columns: containers that share it have the same
       names for the same rows, whatever they show of them. Never 0. It is a hash: others may have
       it, too. */
    uint32_t rows;
    /* `rows` of those that lead to the same rows by names that cannot be compared: by other
       columns, or to the parts of this one's large values. */
    uint32_t *others;
    uint32_t other_count;
    bool copied;           /* Some prefix keeps copies of its rows. */
    bool copied_elsewhere; /* Some prefix keeps copies of these rows by another container. */
    struct ndb_table *table;
    enum mc_access access;
    uint32_t index; /* Number of the unique or ordered index. */
    uint32_t key_count, value_count;
    uint32_t key[MC_COLUMNS_MAX];   /* Key columns, in the order of the key's parts. */
    uint32_t value[MC_COLUMNS_MAX]; /* Value columns; none: only increments. */
    uint32_t flags_column; /* The column with the flags, or MC_NO_COLUMN: all rows have `flags`. */
    uint32_t flags;        /* The flags of all rows, if no column has them. */
    uint32_t increment_column, cas_column, expire_column; /* Columns, or MC_NO_COLUMN. */
    bool dup_numbers; /* A number is stored in the increment column, too, or there alone. */
    /* Large values: NULL, or the table with their parts. */
    struct ndb_table *parts;
    uint32_t part_id, part_number, part_content; /* Columns of `parts`. */
    uint32_t part_bytes;                         /* The longest content. */
    uint32_t ext_id_column, ext_size_column;     /* Columns of `table`. */
};

struct mc_prefix {
    char prefix[MC_KEY_MAX + 1];
    uint32_t size;
    enum mc_policy get, set, delete_;
    bool flush_from_db;
    bool refused; /* Its keys are answered by an error: no other prefix may take them. */
    char policy[41];
    uint32_t cluster;               /* Index in config->clusters. */
    struct mc_container *container; /* NULL: cache only. */
};

/* Requests of a prefix, for "stats detail". Atomic. */
struct mc_prefix_figures {
    uint64_t gets, hits, sets, deletes;
};

struct mc_cluster {
    uint32_t id;
    char connect_string[129]; /* "": the primary one. */
    uint32_t microsec_rtt;
};

struct mc_config {
    uint32_t references; /* Atomic: requests that use it. */
    uint32_t number;     /* 1, 2, ... of this process. */
    char role[41];
    uint32_t role_id, max_tps;
    uint32_t cluster_count, container_count, prefix_count;
    uint32_t refused_count; /* How many of the prefixes are refused. */
    bool unreachable;       /* Some prefixes are refused since their cluster cannot be reached. */
    struct mc_cluster *clusters;
    struct mc_container *containers;
    struct mc_prefix *prefixes;        /* Sorted by their bytes; the empty one is always there. */
    struct mc_prefix_figures *figures; /* One for each prefix. */
    uint64_t stamp;                    /* What update_timestamp was, to see that it has changed. */
};

/* The longest prefix that the key begins with. Never NULL. Any thread. */
const struct mc_prefix *mc_config_find(const struct mc_config *config, const char *key,
                                       uint32_t key_size);

/* Why a configuration was not taken: says which row of which table. */
struct mc_config_error {
    char text[512];
};

/* Without any table: every key is in the cache only. NULL: no memory. */
struct mc_config *mc_config_local(const char *role);

/*
 * Reads and checks the configuration of a role. `primary` has the tables, and is cluster 0 of the
 * result. For each other one an ndb_t of this thread is asked of `connect` (NULL: it cannot be
 * reached, and the prefixes of that cluster are refused). A wrong prefix is kept as refused and
 * told to `log`, one line each; NULL with *error when nothing of it can be used: no tables, another
 * version of them, no such role, or no answer of the cluster about one of the tables. Free it by
 * mc_config_release.
 */
struct mc_config_source {
    ndb_t *primary;
    ndb_t *(*connect)(void *context, const struct mc_cluster *cluster);
    void (*log)(void *context, const char *line);
    void *context;
};
struct mc_config *mc_config_load(const struct mc_config_source *source, const char *role,
                                 uint32_t number, struct mc_config_error *error);
/* The role's update_timestamp now, or 0 with *error: whether to load anew. */
uint64_t mc_config_stamp(ndb_t *ndb, const char *role, struct mc_config_error *error);
struct mc_config *mc_config_hold(struct mc_config *config);
void mc_config_release(struct mc_config *config);

/* Creates what is missing of schema ndbmemcache; leaves what is there. Its rows are inserted until
   all have been once: those that are removed later do not come back. 0 or -1. */
int mc_config_bootstrap(ndb_t *ndb, void (*log)(void *context, const char *line), void *context,
                        struct mc_config_error *error);
/* Notes who serves: last_memcached_signon. 0 or -1 with ndb_error(ndb). */
int mc_config_sign_on(ndb_t *ndb, uint32_t node_id, const char *host, const char *role);
