/* api_near.c -- which data node has work to do: the nearest one of a fragment, of an operation, of
 * a transaction. */
/* SPDX-License-Identifier: MIT */
#include "api/core/api_table_state.h"
#include "api/core/api_transaction.h"

static uint32_t op_fragment(struct api_op *op)
{
    if (op->fragment == UINT32_MAX) {
        const uint32_t *req = op->tx->train + op->at;
        const uint32_t *lengths = req + KEYREQ_WORDS;
        const uint32_t *key = lengths + kind_sections(req[0]);
        op->fragment = op->unique != 0 ? api_table_fragment_of_unique(op->table, op->unique - 1u,
                                                                      key, lengths[0])
                                       : api_table_fragment_of(op->table, key, lengths[0]);
    }
    return op->fragment;
}

/* The primary's node, else one with a backup, else any: every node's TC can do it, the near one
 * saves a hop. A slow one costs more than that. */
uint32_t api_fragment_node_near(struct api_client *client, const struct api_table *table,
                                uint32_t fragment)
{
    struct api_core *core = client->core;
    for (uint32_t replica = 0; replica < table->replicas; replica++) {
        uint32_t node = api_table_node(table, fragment, replica);
        if (api_node_fast(core, node)) return node;
    }
    uint32_t any = api_any_node(client);
    if (any == 0 || api_node_fast(core, any)) return any;
    for (uint32_t replica = 0; replica < table->replicas; replica++) {
        uint32_t node = api_table_node(table, fragment, replica);
        if (api_core_node_ready(core, node)) return node; /* All are slow. */
    }
    return any;
}

uint32_t api_op_node_near(struct api_client *client, struct api_op *op)
{
    return api_fragment_node_near(client, op->table, op_fragment(op));
}

bool api_op_replica_lost(struct api_op *op, const struct node_mask *lost)
{
    if (op->unique != 0) return !node_mask_empty(lost); /* Where the row is, only TC knew. */
    uint32_t fragment = op_fragment(op);
    do {
        for (uint32_t replica = 0; replica < op->table->replicas; replica++) {
            uint32_t node = api_table_node(op->table, fragment, replica);
            if (node != 0 && node_mask_has(lost, node)) return true;
        }
        fragment += op->table->partitions;
    } while (op->committed_read && fragment < op->table->fragments); /* TC may choose a copy. */
    return false;
}

/* Committed reads need no record at the coordinator; spread over the instances like the fragments
 * are. */
uint32_t api_op_read_receiver(struct api_client *client, struct api_op *op, uint32_t node)
{
    uint32_t count = atomic_load_explicit(&client->core->node[node].tc_count, memory_order_relaxed);
    return block_ref(node, BLOCK_DBTC, count <= 1 ? 1 : 1 + op_fragment(op) % count);
}

/*
 * For changes of a row with several replicas each of their nodes is as near: the primary's and the
 * last backup's way to the others is equally long. So transactions that a client begins together go
 * to one of them together: one message, one wake-up and one batch of everything that follows.
 */
uint32_t api_coordinator_near(struct api_client *client, struct api_op *op)
{
    struct api_core *core = client->core;
    bool together = client->pending > 1 && client->company_ms == client->now_ms;
    if (together && op->changes && op->unique == 0 && api_node_fast(core, client->company)) {
        uint32_t fragment = op_fragment(op);
        for (uint32_t replica = 0; replica < op->table->replicas; replica++) {
            if (api_table_node(op->table, fragment, replica) == client->company)
                return client->company;
        }
    }
    client->company = api_op_node_near(client, op);
    client->company_ms = client->now_ms;
    return client->company;
}
