/* tc_read.c -- finds the way of a key to its replicas; committed reads, which leave no trace here.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/failure/tc_nodefail.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_read.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_copies.h"
#include "signals/lqhkey.h"
#include "signals/order.h"
#include "values/errors.h"
#include "values/key.h"

static inline const struct table_def *key_def_of(const struct tc_table *table)
{
    return (const struct table_def *)(const void *)table->key_def;
}

uint32_t tc_route(struct tc *tc, const struct signal *sig, struct tc_route *route)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    uint32_t error;
    struct tc_table *table = tc_table_usable(tc, req->table_id, req->schema_version, &error);
    return table == NULL ? error : tc_route_in(table, sig, route);
}

uint32_t tc_route_in(struct tc_table *table, const struct signal *sig, struct tc_route *route)
{
    const struct table_def *def = key_def_of(table);
    const struct section *key = &sig->section[0];
    struct key_parts parts;
    uint32_t error = key_split(def, key->words, key->size, &parts);
    if (error != 0) return error;
    if (sig->section_count > 1 && sig->section[1].size > LQHKEY_ATTR_WORDS_MAX)
        return ERR_TUP_TOO_MUCH_DATA;

    uint64_t hash = key_hash(def, key->words, key->size);
    uint64_t partition = def->partition_key_count == def->key_count
                             ? hash
                             : key_partition_hash(def, key->words, key->size);
    /* The usual size is a constant here, so that the compiler needs no division. */
    uint32_t bucket = table->buckets == HASH_MAP_BUCKETS
                          ? hash_map_bucket(partition, HASH_MAP_BUCKETS)
                          : hash_map_bucket(partition, table->buckets);
    route->table = table;
    route->fragment = table->fragment_of[bucket];
    route->hash = (uint32_t)hash;
    return 0;
}

uint32_t tc_link_error(const struct tc *tc, uint32_t node)
{
    if (node == tc->own_node) return 0;
    if (node == 0) return ERR_NODE_FAILURE; /* No replica is left. */
    if (peer_epoch(&tc->block, node) == 0) return ERR_NODE_FAILURE;
    return peer_level(&tc->block, node) >= LINK_OVERLOAD ? ERR_SEND_BUFFER_FULL : 0;
}

bool tc_client_slow(const struct tc *tc, uint32_t client)
{
    if (ERROR_INSERTED(&tc->block, 8003)) return true;
    return peer_level(&tc->block, ref_node(client)) >= LINK_OVERLOAD;
}

/* The replica for a committed read: the own node's when the table allows it, else the primary, else
 * one that is up. */
uint32_t tc_read_node(const struct tc *tc, const struct tc_table *table, uint32_t fragment)
{
    uint32_t nodes = tc_live_nodes(tc, table->nodes + (size_t)fragment * REPLICAS_MAX);
    uint32_t primary = replica_node(nodes, 0);
    if ((table->flags & TABLE_READ_BACKUP) == 0 || primary == tc->own_node) return primary;
    for (uint32_t i = 1; i < REPLICAS_MAX; i++) {
        if (replica_node(nodes, i) == tc->own_node &&
            tc->fail.ended[tc->own_node].place != PLACE_SLOW)
            return tc->own_node;
    }
    for (uint32_t i = 0; i < REPLICAS_MAX; i++) {
        uint32_t node = replica_node(nodes, i);
        /* A node that came back perhaps does not have all rows yet; a slow one is spared. */
        if (node == 0 || tc->fail.ended[node].place != 0) continue;
        if (peer_epoch(&tc->block, node) != 0) return node;
    }
    return primary;
}

static void refuse(struct tc *tc, const struct signal *sig, uint32_t error)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    struct tckeyref ref = {.api_op = req->api_op,
                           .transid1 = req->transid1,
                           .transid2 = req->transid2,
                           .error = error};
    sig_send(&tc->block, sig->sender, GSN_TCKEYREF, PRIO_B, &ref);
}

/* A client that names its transaction sees what that has changed. Nothing depends on it, so nothing
 * is refused here. */
static uint32_t own_trans(struct tc *tc, const struct signal *sig)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    if (req->tc_connect == REF_NONE) return REF_NONE;
    const struct tc_connect *connect = tc_connect_find(tc, req->tc_connect, sig->sender);
    if (connect == NULL || connect->trans == REF_NONE) return REF_NONE;
    const struct tc_trans *trans = tc_trans_get(tc, connect->trans);
    return trans->transid1 == req->transid1 && trans->transid2 == req->transid2 ? connect->trans
                                                                                : REF_NONE;
}

void tc_read_committed(struct tc *tc, const struct signal *sig)
{
    const struct tckeyreq *req = SIG_PAYLOAD(sig, tckeyreq);
    struct tc_route route;
    uint32_t error = tc_refuse_new(tc, sig->sender);
    if (error == 0 && (req->request_info & KEY_UNIQUE) != 0) error = ERR_TC_INTERNAL_203;
    if (error == 0 && (sig->section_count < 2 || sig->section[1].size == 0))
        error = ERR_READ_NO_COLUMNS;
    if (error == 0) error = tc_route(tc, sig, &route);
    if (error == 0 && tc_client_slow(tc, sig->sender)) error = ERR_SEND_BUFFER_FULL;
    if (error != 0) {
        jam_data(error);
        refuse(tc, sig, error);
        return;
    }
    route.fragment = tc_near_fragment(tc, route.table, route.fragment);
    uint32_t node = tc_read_node(tc, route.table, route.fragment);
    error = tc_link_error(tc, node);
    if (error != 0) {
        jam_data(node);
        refuse(tc, sig, error);
        return;
    }
    struct lqhkeyreq out = {
        .tc_op = REF_NONE,
        .request_info = key_request_info(OP_READ, LOCK_COMMITTED, req->request_info & KEY_PROGRAM),
        .table_id = req->table_id,
        .schema_version = req->schema_version,
        .fragment_id = route.fragment,
        .hash = route.hash,
        .transid1 = req->transid1,
        .transid2 = req->transid2,
        .tc_ref = tc->block.ref,
        .api_ref = sig->sender,
        .api_op = req->api_op,
        .tc_trans = own_trans(tc, sig),
    };
    signal_send(&tc->block, block_ref(node, BLOCK_DBLQH, fragment_instance_key(route.fragment)),
                GSN_LQHKEYREQ, PRIO_B, &out, sizeof out / 4u, sig->section, 2);
}
