/* tc_unique_state.c -- unique indexes of tables in use come and go: what may be done with entries
 * meanwhile. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DICT orders a state at a time, of all TCs of all nodes; what they mean, and why there are so
 * many, stands in docs/protocols/unique_index.md. An index's own table is not online before all
 * rows have their entries, so nobody but its base table leads to it.
 */
#include <string.h>
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_unique.h"
#include "signals/dict.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "values/errors.h"
#include "values/table_def.h"
#include "values/table_version.h"

static struct tc_unique *find(struct tc_table *base, uint32_t index_id)
{
    for (uint32_t i = 0; i < base->unique_count; i++) {
        if (base->unique[i].table_id == index_id) return &base->unique[i];
    }
    return NULL;
}

const struct tc_unique *tc_unique_find(const struct tc_table *base, uint32_t index_id)
{
    for (uint32_t i = 0; i < base->unique_count; i++) {
        if (base->unique[i].table_id == index_id) return &base->unique[i];
    }
    return NULL;
}

/* NULL: its table has forgotten it. */
static const struct tc_unique *of_index(const struct tc *tc, const struct tc_table *index)
{
    const struct tc_table *base =
        index->base_id < tc->table_count ? tc->table[index->base_id] : NULL;
    return base == NULL ? NULL : tc_unique_find(base, index->table_id);
}

struct tc_table *tc_entry_table(struct tc *tc, uint32_t index_id, uint32_t version, uint32_t *error)
{
    struct tc_table *index = index_id < tc->table_count ? tc->table[index_id] : NULL;
    const struct tc_unique *unique =
        index == NULL || index->base_id == 0 ? NULL : of_index(tc, index);
    if (unique != NULL && unique->entries != ENTRIES_STRICT &&
        index->version == table_version_major(version)) {
        jam();
        return index;
    }
    return tc_table_usable(tc, index_id, version, error);
}

bool tc_entry_forgiven(const struct tc *tc, const struct tc_op *op, uint32_t error)
{
    if ((op->flags & OP_ENTRY) == 0) return false;
    if ((op->flags & OP_CAREFUL) != 0 && error == ERR_ROW_NOT_FOUND) {
        jam(); /* There was none, or it is another row's. */
        return true;
    }
    const struct tc_unique *unique = of_index(tc, tc->table[op->table_id]);
    bool loose = unique == NULL || unique->entries == ENTRIES_LOOSE;
    return loose && (error == ERR_ROW_NOT_FOUND || error == ERR_ROW_EXISTS);
}

bool tc_entry_taken(const struct tc_op *op, uint32_t error)
{
    if ((op->flags & OP_ENTRY) == 0) return false;
    return error == ERR_ROW_EXISTS || ((op->flags & OP_FILL) != 0 && error == ERR_ROW_NOT_FOUND);
}

/* --- DICT's orders. --- */

static void answer(struct tc *tc)
{
    struct tc_unique_order *order = &tc->unique;
    struct local_unique_conf conf = {
        .sender_data = order->sender_data, .table_id = order->table_id, .state = order->state};
    uint32_t receiver = order->sender;
    if (order->state == UNIQUE_CLOSED && order->waits) tc->drops--;
    order->sender = 0;
    jam_data(order->state);
    sig_send(&tc->block, receiver, GSN_LOCAL_UNIQUE_CONF, PRIO_B, &conf);
}

static void refuse(struct tc *tc, uint32_t error)
{
    struct tc_unique_order *order = &tc->unique;
    struct local_unique_ref ref = {
        .sender_data = order->sender_data, .table_id = order->table_id, .error = error};
    uint32_t receiver = order->sender;
    order->sender = 0;
    jam_data(error);
    sig_send(&tc->block, receiver, GSN_LOCAL_UNIQUE_REF, PRIO_B, &ref);
}

/* Nobody is left who looks for rows by it; or who changes its entries. */
static bool is_left(const struct tc_unique_order *order, const struct tc_table *index)
{
    return order->state == UNIQUE_CLOSED ? index->users == index->entries : index->entries == 0;
}

void tc_unique_left(struct tc *tc, const struct tc_table *index)
{
    if (tc->unique.index_id == index->table_id && is_left(&tc->unique, index)) answer(tc);
}

/* A transaction that does nothing is no longer waited for than another one would wait for it. */
static void answer_when_left(struct tc *tc, const struct tc_table *index)
{
    struct tc_unique_order *order = &tc->unique;
    if (index == NULL || is_left(order, index)) {
        answer(tc);
        return;
    }
    jam();
    order->waits = true;
    if (order->state == UNIQUE_CLOSED) tc->drops++;
}

static uint32_t add(struct tc *tc, struct tc_table *base)
{
    const struct tc_unique_order *order = &tc->unique;
    const struct tc_table *index = tc_table_get(tc, order->index_id);
    ndbrequire(index->base_id == base->table_id && find(base, order->index_id) == NULL);
    if (base->unique_count >= TABLE_UNIQUE_MAX) return ERR_INDEXES_TOO_MANY;
    base->unique[base->unique_count++] = (struct tc_unique){
        .table_id = order->index_id, .version = index->version, .entries = ENTRIES_CAREFUL};
    return 0;
}

static void forget(struct tc_table *base, uint32_t index_id)
{
    struct tc_unique *unique = find(base, index_id);
    if (unique == NULL) return; /* Its adding was refused here. */
    *unique = base->unique[--base->unique_count];
}

static void begin(struct tc *tc, struct tc_table *base, struct tc_unique *unique)
{
    struct tc_unique_order *order = &tc->unique;
    struct tc_table *index = tc->table[order->index_id];
    uint32_t error = 0;
    ndbrequire(unique != NULL || order->state == UNIQUE_KNOWN || order->state == UNIQUE_GONE);
    switch (order->state) {
    case UNIQUE_KNOWN:
        error = add(tc, base);
        break;
    case UNIQUE_STRICT:
        unique->entries = ENTRIES_STRICT;
        break;
    case UNIQUE_CLOSED:
        unique->entries = ENTRIES_CLOSED;
        index->state = TABLE_DROPPING;
        answer_when_left(tc, index);
        return;
    case UNIQUE_LOOSE:
        unique->entries = ENTRIES_LOOSE;
        break;
    case UNIQUE_FIRES:
    case UNIQUE_SILENT:
        tc->hurry.table_id = base->table_id;
        tc->hurry.round++;
        break;
    case UNIQUE_GONE:
        forget(base, order->index_id);
        answer_when_left(tc, index);
        return;
    default:
        ndbrequire(false); /* The others are LQH's. */
    }
    if (error != 0)
        refuse(tc, error);
    else
        answer(tc);
}

void tc_exec_LOCAL_UNIQUE_REQ(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct local_unique_req *req = SIG_PAYLOAD(sig, local_unique_req);
    struct tc_table *base = tc_table_get(tc, req->table_id);
    ndbrequire(tc->unique.sender == 0 && req->index_id < tc->table_count);
    tc->unique = (struct tc_unique_order){.sender = sig->sender,
                                          .sender_data = req->sender_data,
                                          .table_id = req->table_id,
                                          .index_id = req->index_id,
                                          .state = req->state};
    begin(tc, base, find(base, req->index_id));
}

/* The transaction began behind the order here, but before the one at that LQH. It counts as older;
 * if the order is still to come here it will be. */
void tc_exec_SCHEMA_WAITS_ORD(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct schema_waits_ord *ord = SIG_PAYLOAD(sig, schema_waits_ord);
    const struct tc_op *op = pool_find(&tc->operations, ord->tc_op);
    struct tc_trans *trans = op == NULL ? NULL : tc_trans_get(tc, op->trans);
    if (trans == NULL || trans->transid1 != ord->transid1 || trans->transid2 != ord->transid2) {
        jam(); /* It has ended meanwhile. */
        return;
    }
    jam();
    trans->round = tc->hurry.round - 1u;
}
