/* tc_schema.c -- TC's copy of the tables: how keys hash and where fragments live. DICT orders, TC
 * follows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_include.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_unique.h"
#include "signals/dict.h"
#include "signals/local_table.h"
#include "values/errors.h"
#include "values/key.h"
#include "values/table_index.h"
#include "values/table_version.h"

struct tc_table *tc_table_get(struct tc *tc, uint32_t table_id)
{
    ndbrequire(table_id < tc->table_count && tc->table[table_id] != NULL);
    return tc->table[table_id];
}

struct tc_table *tc_table_usable(struct tc *tc, uint32_t table_id, uint32_t version,
                                 uint32_t *error)
{
    struct tc_table *table = table_id < tc->table_count ? tc->table[table_id] : NULL;
    version = table_version_major(version);
    if (__builtin_expect(table != NULL && table->state == TABLE_ONLINE && table->version == version,
                         1))
        return table;
    if (table == NULL || table->state == TABLE_BUILDING)
        *error = ERR_UNKNOWN_TABLE_TC;
    else
        *error = table->version != version ? ERR_SCHEMA_VERSION : ERR_TABLE_DROPPING_TC;
    return NULL;
}

/* Copies the distribution section. The dictionary made it; what does not fit is refused, not
 * believed. */
static uint32_t take_distribution(struct tc *tc, struct tc_table *table,
                                  const struct section *section)
{
    if (section->size < DISTRIBUTION_HEAD_WORDS) return ERR_TABLE_FORMAT;
    uint32_t fragments = section->words[0];
    uint32_t replicas = section->words[1];
    uint32_t buckets = section->words[2];
    if (fragments == 0 || fragments > TABLE_FRAGMENTS_MAX || replicas == 0 ||
        replicas > REPLICAS_MAX) {
        return ERR_TABLE_FORMAT;
    }
    if (buckets == 0 || buckets > HASH_MAP_BUCKETS) return ERR_TABLE_FORMAT;
    if (section->size != DISTRIBUTION_HEAD_WORDS + fragments * replicas + (buckets + 1) / 2)
        return ERR_TABLE_FORMAT;

    table->fragment_count = fragments;
    table->replicas = replicas;
    table->buckets = buckets;
    table->nodes = table->nodes_inline;
    if (fragments > TC_NODES_INLINE) {
        table->nodes = arena_page(block_arena(&tc->block), RG_SCHEMA);
        if (table->nodes == NULL) return ERR_SCHEMA_MEMORY;
        memset(table->nodes, 0, (size_t)fragments * REPLICAS_MAX);
    }
    const uint32_t *from = section->words + DISTRIBUTION_HEAD_WORDS;
    for (uint32_t f = 0; f < fragments; f++) {
        uint8_t *nodes = table->nodes + (size_t)f * REPLICAS_MAX;
        for (uint32_t r = 0; r < replicas; r++) {
            uint32_t node = from[r] & ~DISTRIBUTION_ABSENT;
            if (node > DATA_NODE_ID_MAX || (r == 0 && node == 0)) return ERR_TABLE_FORMAT;
            if (node != from[r]) tc_include_absent(tc, node);
            nodes[r] = (uint8_t)node;
        }
        from += replicas;
    }
    for (uint32_t b = 0; b < buckets; b++) {
        uint32_t fragment = from[b / 2] >> (b % 2 * 16) & 0xFFFFu;
        if (fragment >= fragments) return ERR_TABLE_FORMAT;
        table->fragment_of[b] = (uint16_t)fragment;
    }
    table->partitions = distribution_partitions(table->fragment_of, buckets);
    return fragments % table->partitions == 0 ? 0 : ERR_TABLE_FORMAT;
}

static void free_table(struct tc *tc, struct tc_table *table)
{
    if (table->nodes != NULL && table->nodes != table->nodes_inline)
        arena_page_release(block_arena(&tc->block), RG_SCHEMA, table->nodes);
    tc->table[table->table_id] = NULL;
    pool_release(&tc->tables, table);
}

static uint32_t add_table(struct tc *tc, const struct signal *sig)
{
    const struct local_table_add_req *req = SIG_PAYLOAD(sig, local_table_add_req);
    struct table_def *def;
    if (req->table_id >= tc->table_count) return ERR_TABLE_RECORDS;
    if (tc->table[req->table_id] != NULL) return ERR_TABLE_EXISTS;
    uint32_t error = table_def_decode(sig->section[0].words, sig->section[0].size,
                                      tc->decode_memory, tc->decode_size, &def);
    if (error != 0) return error;
    struct tc_table *table = pool_seize(&tc->tables);
    if (table == NULL) return ERR_SCHEMA_MEMORY; /* There is a record for each table id. */
    table->state = TABLE_BUILDING;
    table->table_id = req->table_id;
    table->version = table_version_major(req->version);
    table->flags = def->flags;
    table->base_id = def->base_id;
    table->base_version = def->base_version;
    table->unique_count = def->unique_count;
    struct table_index index;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++) {
        table->unique[i].table_id = index.table_id;
        table->unique[i].version = index.version;
    }
    tc->table[req->table_id] = table;
    key_def_make((struct table_def *)(void *)table->key_def, def);
    error = take_distribution(tc, table, &sig->section[1]);
    if (error != 0) free_table(tc, table);
    return error;
}

void tc_exec_LOCAL_TABLE_ADD_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct local_table_add_req *req = SIG_PAYLOAD(sig, local_table_add_req);
    uint32_t error = add_table(tc, sig);

    if (error != 0) {
        jam_data(error);
        struct local_table_add_ref ref = {
            .sender_data = req->sender_data, .table_id = req->table_id, .error = error};
        sig_send(block, sig->sender, GSN_LOCAL_TABLE_ADD_REF, PRIO_B, &ref);
        return;
    }
    jam();
    struct local_table_add_conf conf = {.sender_data = req->sender_data, .table_id = req->table_id};
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_ADD_CONF, PRIO_B, &conf);
}

static void state_conf(struct tc *tc, uint32_t receiver, uint32_t sender_data, uint32_t table_id,
                       uint32_t order)
{
    struct local_table_state_conf conf = {
        .sender_data = sender_data, .table_id = table_id, .order = order};
    sig_send(&tc->block, receiver, GSN_LOCAL_TABLE_STATE_CONF, PRIO_B, &conf);
}

void tc_exec_LOCAL_TABLE_STATE_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct local_table_state_req *req = SIG_PAYLOAD(sig, local_table_state_req);
    struct tc_table *table = req->table_id < tc->table_count ? tc->table[req->table_id] : NULL;

    switch ((enum local_table_order)req->order) {
    case LOCAL_TABLE_ONLINE:
        jam();
        ndbrequire(table != NULL && table->state == TABLE_BUILDING);
        table->state = TABLE_ONLINE;
        break;
    case LOCAL_TABLE_DROPPING:
        jam();
        if (table == NULL) break; /* Its adding was refused here. */
        table->state = TABLE_DROPPING;
        if (table->users > 0) {
            jam();
            ndbrequire(table->drop_sender == 0);
            table->drop_sender = sig->sender;
            table->drop_data = req->sender_data;
            tc->drops++;
            return;
        }
        break;
    case LOCAL_TABLE_DROP:
        jam();
        if (table == NULL) break;
        ndbrequire(table->users == 0 && table->state != TABLE_ONLINE); /* I-TC-4 */
        free_table(tc, table);
        break;
    default:
        ndbrequire(false); /* DICT of the own node sends these three. */
    }
    state_conf(tc, sig->sender, req->sender_data, req->table_id, req->order);
}

void tc_table_leave(struct tc *tc, uint32_t table_id)
{
    struct tc_table *table = tc_table_get(tc, table_id);
    ndbrequire(table->users > 0); /* I-TC-4 */
    table->users--;
    if (tc->unique.sender != 0) tc_unique_left(tc, table);
    if (table->users > 0 || table->drop_sender == 0) return;
    jam();
    uint32_t receiver = table->drop_sender;
    table->drop_sender = 0;
    tc->drops--;
    state_conf(tc, receiver, table->drop_data, table_id, LOCAL_TABLE_DROPPING);
}
