/* tc_table.h -- a table as TC needs it: how to hash its key, where its rows live, who uses it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtc/unique/tc_unique.h"
#include "values/key.h"

/* Fragments whose replicas stand in the table record itself; more take a page. */
#define TC_NODES_INLINE 192u

/*
 * A table as TC needs it: how to hash its key and where its rows live. It is used by operations and
 * scans; the last one answers DICT's DROPPING order.
 */
struct tc_table {
    struct pool_record pool;
    uint32_t state; /* enum table_state: BUILDING, ONLINE, DROPPING */
    uint32_t table_id;
    uint32_t version;
    uint32_t flags; /* enum table_flags */
    uint32_t fragment_count;
    uint32_t partitions; /* Fragments that the hash map names; behind them their copies. */
    uint32_t replicas;
    uint32_t buckets;
    uint32_t users;       /* Operations and scans. */
    uint32_t drop_sender; /* Who waits for users == 0; 0: nobody does. */
    uint32_t drop_data;
    uint32_t base_id; /* The table whose unique index this is; 0 = an ordinary table. */
    uint32_t base_version;
    uint32_t entries;      /* Users that are operations with OP_ENTRY. */
    uint32_t unique_count; /* Number of its unique indexes. */
    struct tc_unique unique[TABLE_UNIQUE_MAX];
    /* REPLICAS_MAX node ids per fragment, as distributed, 0 = none. A page, or nodes_inline. */
    uint8_t *nodes;
    uint8_t nodes_inline[TC_NODES_INLINE * REPLICAS_MAX];
    uint16_t fragment_of[HASH_MAP_BUCKETS];
    _Alignas(8) uint8_t key_def[KEY_DEF_BYTES];
};

static inline bool tc_has_copies(const struct tc_table *table)
{
    return __builtin_expect(table->partitions != table->fragment_count, 0);
}

/* The number of columns of the table's primary key: in a unique index's table that is the id of the
 * column behind them. */
static inline uint32_t tc_key_columns(const struct tc_table *table)
{
    return ((const struct table_def *)(const void *)table->key_def)->key_count;
}

/* tc_schema.c */
void tc_exec_LOCAL_TABLE_ADD_REQ(struct block *block, const struct signal *sig);
void tc_exec_LOCAL_TABLE_STATE_REQ(struct block *block, const struct signal *sig);
/* The table of an own operation or scan. */
struct tc_table *tc_table_get(struct tc *tc, uint32_t table_id);
struct tc_table *tc_table_usable(struct tc *tc, uint32_t table_id, uint32_t version,
                                 uint32_t *error);
void tc_table_leave(struct tc *tc, uint32_t table_id);
