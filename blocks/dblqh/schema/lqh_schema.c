/* lqh_schema.c -- tables and fragments of this instance: made, and given back, in steps. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/lcpwriter/lcpw.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/failure/lqh_copy_source.h"
#include "blocks/dblqh/failure/lqh_include.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "signals/dict.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "values/errors.h"
#include "values/key.h"
#include "values/table_version.h"

#define ADD_STEP     16u         /* Fragments that are made before others have their turn. */
#define FRAG_TO_BE   0xFFFFFFFFu /* In frags[]: the fragment is to be made here. */
#define ORDER_ADD    0u
#define DROP_LOOK_MS 10u /* Time between two looks whether the operations of lost TCs have ended. */

static_assert(TABLE_FRAGMENTS_MAX <= PAGE_WORDS, "fragment references fit into one page");

struct lqh_table *lqh_table_get(struct lqh *lqh, uint32_t table_id)
{
    ndbrequire(table_id < lqh->table_count && lqh->table[table_id] != NULL);
    return lqh->table[table_id];
}

/*
 * A table can be used here as soon as it is complete: TC, which hears of ONLINE on its own, is the
 * gate. Else the first operation after a create could find an LQH on another node that has not
 * heard yet.
 */
struct lqh_table *lqh_table_usable(struct lqh *lqh, uint32_t table_id, uint32_t version,
                                   uint32_t fragment_id, uint32_t *error)
{
    struct lqh_table *table = table_id < lqh->table_count ? lqh->table[table_id] : NULL;
    *error = 0;
    if (table == NULL || table->state == TABLE_BUILDING)
        *error = ERR_UNKNOWN_TABLE_LQH;
    else if (table->state == TABLE_DROPPING)
        *error = ERR_TABLE_DROPPING;
    else if (table->version != table_version_major(version))
        *error = ERR_SCHEMA_VERSION_LQH;
    else if (fragment_id >= table->fragment_count || table->frags[fragment_id] == REF_NONE)
        *error = ERR_DISTRIBUTION_CHANGED;
    return *error == 0 ? table : NULL;
}

void lqh_table_leave(struct lqh *lqh, uint32_t table_id)
{
    struct lqh_table *table = lqh_table_get(lqh, table_id);
    ndbrequire(table->users > 0); /* I-LQH-3 */
    table->users--;
}

/* --- Adding. --- */

static bool has_replica(const struct lqh *lqh, const uint32_t *nodes, uint32_t replicas)
{
    for (uint32_t r = 0; r < replicas; r++) {
        if (nodes[r] == lqh->own_node) return true;
    }
    return false;
}

/* Marks the fragments that this instance is going to make. */
static uint32_t take_distribution(struct lqh *lqh, struct lqh_table *table,
                                  const struct section *section)
{
    if (section->size < DISTRIBUTION_HEAD_WORDS) return ERR_TABLE_FORMAT;
    uint32_t fragments = section->words[0];
    uint32_t replicas = section->words[1];
    if (fragments == 0 || fragments > TABLE_FRAGMENTS_MAX || replicas == 0 ||
        replicas > REPLICAS_MAX) {
        return ERR_TABLE_FORMAT;
    }
    if (section->size < DISTRIBUTION_HEAD_WORDS + fragments * replicas) return ERR_TABLE_FORMAT;
    table->fragment_count = fragments;
    table->frags = table->frags_inline;
    if (fragments > LQH_FRAGS_INLINE) {
        table->frags = arena_page(block_arena(&lqh->block), RG_SCHEMA);
        if (table->frags == NULL) return ERR_SCHEMA_MEMORY;
        memset(table->frags, 0, PAGE_SIZE_BYTES);
    }
    uint32_t instances = block_instances(&lqh->block, BLOCK_DBLQH);
    uint32_t own = ref_instance(lqh->block.ref);
    const uint32_t *nodes = section->words + DISTRIBUTION_HEAD_WORDS;
    for (uint32_t f = 0; f < fragments; f++, nodes += replicas) {
        bool mine = (fragment_instance_key(f) - 1u) % instances + 1u == own;
        if (mine && has_replica(lqh, nodes, replicas)) table->frags[f] = FRAG_TO_BE;
    }
    return 0;
}

static void free_table(struct lqh *lqh, struct lqh_table *table)
{
    if (table->frags != NULL && table->frags != table->frags_inline)
        arena_page_release(block_arena(&lqh->block), RG_SCHEMA, table->frags);
    lqh_table_copied(lqh, table);
    lqh->table[table->table_id] = NULL;
    pool_release(&lqh->tables, table);
}

static uint32_t add_table(struct lqh *lqh, const struct signal *sig, struct lqh_table **result)
{
    const struct local_table_add_req *req = SIG_PAYLOAD(sig, local_table_add_req);
    struct table_def *def;
    if (req->table_id >= lqh->table_count) return ERR_TABLE_RECORDS;
    if (lqh->table[req->table_id] != NULL) return ERR_TABLE_EXISTS;
    uint32_t error = table_def_decode(sig->section[0].words, sig->section[0].size,
                                      lqh->decode_memory, lqh->decode_size, &def);
    if (error != 0) return error;
    struct lqh_table *table = pool_seize(&lqh->tables);
    if (table == NULL) return ERR_SCHEMA_MEMORY; /* There is a record for each table id. */
    table->state = TABLE_BUILDING;
    table->table_id = req->table_id;
    table->version = table_version_major(req->version);
    lqh->table[req->table_id] = table;
    key_def_make((struct table_def *)(void *)table->key_def, def);
    error = take_distribution(lqh, table, &sig->section[1]);
    if (error == 0) error = tup_table_create(lqh->tup, def, &table->tup_table);
    if (error != 0) {
        free_table(lqh, table);
        return error;
    }
    *result = table;
    return 0;
}

static void send_add_ref(struct lqh *lqh, uint32_t receiver, const struct local_table_add_ref *ref)
{
    jam_data(ref->error);
    sig_send(&lqh->block, receiver, GSN_LOCAL_TABLE_ADD_REF, PRIO_B, ref);
}

void lqh_exec_LOCAL_TABLE_ADD_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct local_table_add_req *req = SIG_PAYLOAD(sig, local_table_add_req);
    struct lqh_table *table = NULL;
    uint32_t error = add_table(lqh, sig, &table);
    if (error != 0) {
        struct local_table_add_ref ref = {
            .sender_data = req->sender_data, .table_id = req->table_id, .error = error};
        send_add_ref(lqh, sig->sender, &ref);
        return;
    }
    jam();
    table->order_sender = sig->sender;
    table->order_data = req->sender_data;
    table->order = ORDER_ADD;
    lqh_table_step(lqh, req->table_id);
}

static void add_step(struct lqh *lqh, struct lqh_table *table)
{
    uint32_t made = 0;
    while (table->fragment_next < table->fragment_count) {
        uint32_t f = table->fragment_next;
        if (table->frags[f] == FRAG_TO_BE) {
            if (made == ADD_STEP) {
                lqh_continue(lqh, LQH_WORK_TABLE, table->table_id);
                return;
            }
            table->frags[f] = REF_NONE;
            table->add_error = tup_frag_create(lqh->tup, table->tup_table, f, &table->frags[f]);
            if (table->add_error != 0) {
                jam(); /* What was made is given back by further steps. */
                lqh_continue(lqh, LQH_WORK_TABLE, table->table_id);
                return;
            }
            made++;
        }
        table->fragment_next++;
    }
    jam();
    table->state = TABLE_ONLINE;
    struct local_table_add_conf conf = {.sender_data = table->order_data,
                                        .table_id = table->table_id};
    uint32_t receiver = table->order_sender;
    table->order_sender = 0;
    sig_send(&lqh->block, receiver, GSN_LOCAL_TABLE_ADD_CONF, PRIO_B, &conf);
}

/* --- Dropping. --- */

static void dropped(struct lqh *lqh, struct lqh_table *table)
{
    uint32_t receiver = table->order_sender;
    uint32_t table_id = table->table_id;
    uint32_t sender_data = table->order_data;
    uint32_t add_error = table->add_error;
    free_table(lqh, table);
    if (add_error != 0) {
        struct local_table_add_ref ref = {
            .sender_data = sender_data, .table_id = table_id, .error = add_error};
        send_add_ref(lqh, receiver, &ref);
        return;
    }
    jam();
    struct local_table_state_conf conf = {
        .sender_data = sender_data, .table_id = table_id, .order = LOCAL_TABLE_DROP};
    sig_send(&lqh->block, receiver, GSN_LOCAL_TABLE_STATE_CONF, PRIO_B, &conf);
}

void lqh_table_step(struct lqh *lqh, uint32_t table_id)
{
    struct lqh_table *table = lqh_table_get(lqh, table_id);
    ndbrequire(table->order_sender != 0);
    if (table->order == ORDER_ADD && table->add_error == 0) {
        add_step(lqh, table);
        return;
    }
    if (table->users > 0) {
        jam(); /* The take-over ends them. */
        lqh_continue_later(lqh, LQH_WORK_TABLE, table_id, DROP_LOOK_MS);
        return;
    }
    if (tup_table_drop_step(lqh->tup, table->tup_table)) {
        dropped(lqh, table);
        return;
    }
    lqh_continue(lqh, LQH_WORK_TABLE, table_id);
}

void lqh_exec_LOCAL_TABLE_STATE_REQ(struct block *block, const struct signal *sig)
{
    struct lqh *lqh = lqh_of(block);
    const struct local_table_state_req *req = SIG_PAYLOAD(sig, local_table_state_req);
    struct lqh_table *table = req->table_id < lqh->table_count ? lqh->table[req->table_id] : NULL;

    ndbrequire(table == NULL ||
               table->order_sender == 0); /* DICT waits for the answer to each order. */
    switch ((enum local_table_order)req->order) {
    case LOCAL_TABLE_ONLINE:
        jam();
        ndbrequire(table != NULL && table->state == TABLE_ONLINE);
        break;
    case LOCAL_TABLE_DROPPING:
        jam();
        if (table == NULL) break;
        table->state = TABLE_DROPPING;
        lqh_copy_table_dropped(lqh, req->table_id);
        break;
    case LOCAL_TABLE_DROP:
        jam();
        if (table == NULL) break; /* Its adding was refused here. */
        /* I-LQH-3: all TCs have said that nobody uses it any more. An operation left is of a lost
         * TC, perhaps not known here yet, or one that no TC of ours sent. */
        if (table->users != 0 && block_config(block)->survive == 0)
            node_fail(EXIT_PEER_PROTOCOL, __FILE__, __LINE__,
                      "a node has operations on a table that is dropped");
        table->state = TABLE_DROPPING;
        table->order_sender = sig->sender;
        table->order_data = req->sender_data;
        table->order = LOCAL_TABLE_DROP;
        if (block_neighbour(block, BLOCK_LCPWRITER) != NULL)
            lcpw_table_dropped(block_neighbour(block, BLOCK_LCPWRITER), req->table_id);
        lqh_table_step(lqh, req->table_id);
        return;
    default:
        ndbrequire(false); /* DICT of the own node sends these three. */
    }
    struct local_table_state_conf conf = {
        .sender_data = req->sender_data, .table_id = req->table_id, .order = req->order};
    sig_send(block, sig->sender, GSN_LOCAL_TABLE_STATE_CONF, PRIO_B, &conf);
}
