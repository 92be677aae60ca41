/* tc_copies.c -- fully replicated tables: a change of a partition becomes one of each of its
 * copies, in the same transaction; reads go to the copy that is near. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A copy's operations are ones like the client's, so commit, abort and take-over know nothing of
 * them. See docs/protocols/fully_replicated.md.
 */
#include "blocks/dbtc/tc_state.h"
#include "blocks/dbtc/key/tc_abort.h"
#include "blocks/dbtc/key/tc_connect.h"
#include "blocks/dbtc/key/tc_read.h"
#include "blocks/dbtc/key/tc_trans.h"
#include "blocks/dbtc/schema/tc_table.h"
#include "blocks/dbtc/unique/tc_copies.h"
#include "blocks/dbtc/unique/tc_unique.h"
#include "signals/lqhkey.h"

uint32_t tc_near_fragment(const struct tc *tc, const struct tc_table *table, uint32_t partition)
{
    if (!tc_has_copies(table)) return partition;
    for (uint32_t f = partition; f < table->fragment_count; f += table->partitions) {
        const uint8_t *nodes = table->nodes + (size_t)f * REPLICAS_MAX;
        for (uint32_t i = 0; i < table->replicas; i++) {
            if (nodes[i] == tc->own_node) return f;
        }
    }
    jam(); /* The own node is in no group. */
    return partition;
}

/* Does to all copies of a row what the primary has done to that of the partition. */
static uint32_t change_copies(struct tc *tc, struct tc_trans *trans, const struct tc_op *op,
                              const struct signal *sig)
{
    const struct fire_copy_ord *ord = SIG_PAYLOAD(sig, fire_copy_ord);
    struct tc_table *table = tc_table_get(tc, op->table_id);
    struct tckeyreq req = {.api_op = op->api_op,
                           .table_id = op->table_id,
                           .schema_version = table->version,
                           .request_info = ord->operation,
                           .transid1 = trans->transid1,
                           .transid2 = trans->transid2};
    struct signal change = {.gsn = GSN_TCKEYREQ,
                            .sender = tc_connect_get(tc, trans->connect)->owner,
                            .words = sizeof req / 4u,
                            .section_count = sig->section_count,
                            .payload = (const uint32_t *)(const void *)&req,
                            .section = {sig->section[0]}};
    if (sig->section_count > 1) change.section[1] = sig->section[1];
    struct tc_route route;
    /* Who has changed the row uses the table, whether others may begin to or not. */
    uint32_t error = tc_route_in(table, &change, &route);
    if (error != 0) return error;
    for (uint32_t f = op->fragment_id + route.table->partitions;
         error == 0 && f < route.table->fragment_count; f += route.table->partitions) {
        struct tc_op *copy;
        route.fragment = f;
        error =
            tc_start_routed(tc, trans, &change, &route, OP_COPY | (op->flags & OP_ENTRY), &copy);
    }
    return error;
}

/* Sent by the primary of the partition, before the last replica's LQHKEYCONF or behind it. */
void tc_exec_FIRE_COPY_ORD(struct block *block, const struct signal *sig)
{
    struct tc *tc = tc_of(block);
    const struct fire_copy_ord *ord = SIG_PAYLOAD(sig, fire_copy_ord);
    struct tc_op *op = tc_fired_op(tc, ord->tc_op, ord->transid1, ord->transid2);
    if (op == NULL) return;
    if (ord->operation == OP_READ || ord->operation > OP_WRITE ||
        !tc_has_copies(tc->table[op->table_id])) {
        jam();
        tc_protocol_error(tc, sig->sender, "FIRE_COPY_ORD of a table without copies");
        return;
    }
    if (!tc_fire_take(tc, op, sig->sender)) return;
    struct tc_trans *trans = tc_trans_get(tc, op->trans);
    uint32_t error = change_copies(tc, trans, op, sig);
    jam_data(error);
    if (error != 0) tc_abort_begin(tc, trans, error, op->api_op);
}
