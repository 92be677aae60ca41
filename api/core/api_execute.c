/* api_execute.c -- executing a transaction: its batch goes to the coordinator, in parts when there
 * is little room; or it is rolled back. */
/* SPDX-License-Identifier: MIT */
#include "api/core/api_connect_state.h"
#include "api/core/api_transaction.h"

#define PART_WORDS (1u << 12) /* So much of a batch is sent at a time. */
#define PART_MS    1u /* Pause until it is looked again whether there is room for the next part. */

bool api_tx_commit_in_flight(const struct api_tx *tx)
{
    return tx->type == API_COMMIT && tx->answer_due;
}

/* ---- The batch on its way. ---- */

static uint32_t send_error(struct api_client *client, uint32_t node)
{
    return atomic_load(&client->core->node[node].epoch) == 0 ? ERR_CLUSTER_UNAVAILABLE
                                                             : ERR_API_SEND_BUFFER_4022;
}

/* Fills in what was not known when the operation was defined. Returns the node, 0 = none is ready.
 */
static uint32_t address_op(struct api_tx *tx, struct api_op *op, uint32_t flags)
{
    uint32_t *out = tx->train + op->at;
    struct tckeyreq *req = (void *)(out + SIGNAL_HEAD_WORDS);
    uint32_t node;

    if (op->committed_read) {
        node = api_op_node_near(tx->client, op);
        if (node == 0) return 0;
        out[1] = api_op_read_receiver(tx->client, op, node);
    } else {
        node = tx->connect->node;
        out[1] = tx->connect->tc_ref;
        req->tc_connect = tx->connect->tc_connect;
        req->request_info |= flags;
    }
    op->node = (uint8_t)node;
    return node;
}

static struct api_op *last_stateful(const struct api_tx *tx)
{
    struct api_op *last = NULL;
    for (struct api_op *op = tx->batch; op != NULL; op = op->next) {
        if (!op->committed_read) last = op;
    }
    return last;
}

static uint32_t commit_flags(const struct api_tx *tx)
{
    if (tx->type != API_COMMIT) return 0;
    return KEY_COMMIT | (tx->want_durable ? KEY_DURABLE : 0);
}

/* The next part of the batch: neighbours with the same destination, not too many, whose rows have
 * room on their way. Returns its node, 0 = none is ready; `end` is behind it, at its beginning when
 * it has to wait for rows that were asked for before. */
static uint32_t next_part(struct api_tx *tx, struct api_op **end, uint32_t *words)
{
    uint32_t node = 0;
    uint64_t rows = 0;
    bool started = tx->started;
    struct api_op *op = tx->unsent;
    for (*words = 0; op != NULL; op = op->next) {
        uint32_t flags = 0;
        rows += op->row_words;
        if (op->row_words > 0 && rows + tx->rows_words > op->row_words && !api_rows_fit(tx, rows))
            break;
        if (!op->committed_read && !started) flags |= KEY_START;
        if (op == tx->execute_op) flags |= KEY_EXECUTE | commit_flags(tx);
        uint32_t to = address_op(tx, op, flags);
        if (node != 0 && (to != node || *words + op->extent > PART_WORDS)) break;
        if (to == 0) {
            *end = op->next;
            return 0;
        }
        node = to;
        *words += op->extent;
        if (!op->committed_read) started = true;
    }
    *end = op;
    return node;
}

static void part_sent(struct api_tx *tx, const struct api_op *end)
{
    bool loses = !node_mask_empty(&tx->lost);
    for (struct api_op *op = tx->unsent; op != end; op = op->next) {
        op->state = OP_SENT;
        if (op->wants_row) tx->rows_due++;
        if (loses && api_tx_row_is_lost(tx, op)) op->row_words = 0; /* Nobody waits for its room. */
        tx->rows_words += op->row_words;
        if (!op->committed_read) tx->started = true;
        if (op == tx->execute_op) tx->answer_due = true;
    }
}

/* There is room for the first part, or the transaction can be tried again. Those behind it leave
 * the room to others that need a little. */
static bool send_part(struct api_tx *tx, uint32_t node, uint32_t words)
{
    const struct api_host *host = &tx->client->core->host;
    if (tx->unsent != tx->batch && host->crowded != NULL && host->crowded(host->context, node))
        return false;
    return api_send(tx->client, node, tx->train + tx->unsent->at, words);
}

/*
 * Sends what is unsent of the batch, in order, as far as there is room, for rows on their way back,
 * too; the rest follows when there is some. Until the last operation that the coordinator answers
 * for has been sent it may do nothing but prepare them. 0, or why nothing of the batch could be
 * sent.
 */
static uint32_t send_train(struct api_tx *tx)
{
    while (tx->unsent != NULL) {
        struct api_op *first = tx->unsent;
        struct api_op *end = NULL;
        uint32_t words;
        uint32_t node = next_part(tx, &end, &words);
        bool waits = end == first;
        if (node == 0 && !waits) { /* It is a committed read, which has no coordinator. */
            if (first == tx->batch) return ERR_CLUSTER_UNAVAILABLE;
            tx->unsent = first->next;
            if (first->wants_row) tx->rows_due++;
            tx->rows_words += first->row_words;
            api_op_answered(first, ERR_READ_NODE_FAILURE);
            continue;
        }
        if (waits || !send_part(tx, node, words)) {
            if (first == tx->batch) return send_error(tx->client, node);
            tx->client->parts = true;
            api_wake_at(tx->client, tx->client->now_ms + PART_MS);
            return 0;
        }
        part_sent(tx, end);
        tx->unsent = end;
    }
    return 0;
}

uint32_t api_tx_send_commit(struct api_tx *tx)
{
    struct tc_commitreq req = {.tc_connect = tx->connect->tc_connect,
                               .transid1 = (uint32_t)tx->transid,
                               .transid2 = (uint32_t)(tx->transid >> 32),
                               .flags = tx->want_durable ? COMMIT_DURABLE : 0};
    if (!api_send_small(tx->client, tx->connect->node, GSN_TC_COMMITREQ, tx->connect->tc_ref, &req,
                        sizeof req / 4u))
        return send_error(tx->client, tx->connect->node);
    tx->state = TX_COMMITTING;
    tx->answer_due = true;
    return 0;
}

/* What is left of the batch, and a commit by itself if there is no operation to go with. */
static uint32_t send_rest(struct api_tx *tx)
{
    uint32_t error = send_train(tx);
    if (error == 0 && tx->unsent == NULL && tx->execute_op == NULL && tx->type == API_COMMIT &&
        tx->started)
        error = api_tx_send_commit(tx);
    return error;
}

/* The record at the coordinator is there, or not needed. An error means that the transaction can
 * only be given up. */
static uint32_t send_batch(struct api_tx *tx)
{
    tx->execute_op = last_stateful(tx);
    tx->unsent = tx->batch;
    tx->state = TX_EXECUTING;
    return send_rest(tx);
}

void api_tx_send_parts(struct api_client *client)
{
    struct api_walk walk;
    if (!client->parts) return;
    client->parts = false; /* Set again by those that still wait. */
    api_walk_begin(client, &walk);
    for (struct api_tx *tx; (tx = api_walk_next(client, &walk)) != NULL;) {
        if (tx->unsent == NULL) continue;
        uint32_t error = send_rest(tx);
        if (error != 0) {
            api_tx_leave_connect(tx);
            api_tx_fail(tx, error, API_ABORTED);
        } else {
            api_tx_check_complete(tx);
        }
    }
}

/* ---- What the application asks for. ---- */

uint32_t api_tx_begin_batch(struct api_tx *tx)
{
    struct api_op *first = tx->batch;
    uint32_t error = 0;
    while (first != NULL && first->committed_read)
        first = first->next;
    if (first == NULL || tx->connect != NULL) return send_batch(tx);
    uint32_t node = api_core_node_ready(tx->client->core, tx->prefer)
                        ? tx->prefer
                        : api_coordinator_near(tx->client, first);
    if (node == 0) return ERR_CLUSTER_UNAVAILABLE;
    struct api_connect *connect = api_connect_get(tx->client, node, &error);
    if (connect == NULL) return error;
    connect->tx = tx;
    connect->transid = tx->transid;
    tx->connect = connect;
    tx->node = node;
    tx->tc_ref = connect->tc_ref;
    if (connect->state != CONNECT_SEIZING) return send_batch(tx);
    tx->state = TX_SEIZING;
    return 0;
}

static uint32_t rollback(struct api_tx *tx)
{
    tx->state = TX_ROLLING_BACK;
    tx->outcome = API_ABORTED;
    if (tx->connect == NULL || !tx->started) {
        api_tx_leave_connect(tx);
        api_tx_finish(tx);
        return 0;
    }
    struct tcrollbackreq req = {.tc_connect = tx->connect->tc_connect,
                                .transid1 = (uint32_t)tx->transid,
                                .transid2 = (uint32_t)(tx->transid >> 32)};
    if (!api_send_small(tx->client, tx->connect->node, GSN_TCROLLBACKREQ, tx->connect->tc_ref, &req,
                        sizeof req / 4u)) {
        api_tx_leave_connect(tx); /* Tries again by itself; nothing of the transaction will stay. */
        api_tx_finish(tx);
    }
    return 0;
}

/* A node may not have noticed yet that its link to us is gone: the rows that it sends now get lost
 * as well. Not one that the others are without: it is fenced, whatever it sends. */
static struct node_mask unlinked_nodes(struct api_core *core)
{
    struct node_mask nodes = {{0}};
    const struct node_mask *all = &core->config.data_nodes;
    for (uint32_t node = node_mask_next(all, 0); node != 0; node = node_mask_next(all, node)) {
        if (atomic_load(&core->node[node].epoch) == 0 && !atomic_load(&core->node[node].gone))
            node_mask_add(&nodes, node);
    }
    return nodes;
}

uint32_t api_tx_execute(struct api_tx *tx, enum api_execute type, uint32_t timeout_ms,
                        api_tx_done done, void *context)
{
    if (tx->state != TX_IDLE) return ERR_API_STATE;
    bool durable = type == API_COMMIT_DURABLE;
    if (durable) type = API_COMMIT;
    if (type != API_NO_COMMIT && type != API_COMMIT && type != API_ROLLBACK) return ERR_PARAMETER;
    if (tx->outcome != API_ACTIVE && !(type == API_ROLLBACK && tx->outcome == API_ABORTED))
        return tx->error != 0 ? tx->error : ERR_TRANSACTION_COMPLETE;
    tx->type = type;
    tx->want_durable = durable;
    tx->done = done;
    tx->context = context;
    tx->lost = unlinked_nodes(tx->client->core);
    tx->client->pending++;
    if (tx->outcome != API_ACTIVE) { /* Aborted before: nothing is left to roll back. */
        tx->client->statistics.transactions_aborted--;
        api_tx_finish(tx);
        return 0;
    }
    tx->deadline_ms = tx->limit_ms = api_deadline(tx->client, timeout_ms);
    if (tx->begin_ms == 0) tx->begin_ms = tx->client->now_ms;
    if (type == API_ROLLBACK) return rollback(tx);
    uint32_t error = api_tx_begin_batch(tx);
    if (error != 0) {
        api_tx_leave_connect(tx);
        tx->done = NULL;
        api_tx_fail(tx, error, API_ABORTED);
        return error;
    }
    api_tx_check_complete(tx);
    return 0;
}

void api_tx_seized(struct api_tx *tx, uint32_t error)
{
    if (error != 0) {
        tx->connect = NULL;
    } else {
        error = send_batch(tx);
    }
    if (error == 0) return;
    api_tx_leave_connect(tx);
    api_tx_fail(tx, error, API_ABORTED);
}
