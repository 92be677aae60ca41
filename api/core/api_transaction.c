/* api_transaction.c -- a transaction's record, from its start to its close, and the one completion
 * of what it executes. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "api/core/api_connect_state.h"
#include "api/core/api_dict.h"
#include "api/core/api_transaction.h"

#define TRAIN_KEPT (1u << 18) /* Words that a recycled transaction may keep. */

/* ---- Life of a transaction record. ---- */

static struct api_tx **bucket_of(struct api_client *client, uint64_t transid)
{
    return &client->by_transid[transid & (API_TX_BUCKETS - 1u)];
}

struct api_tx *api_tx_find(struct api_client *client, uint64_t transid)
{
    struct api_tx *tx = *bucket_of(client, transid);
    while (tx != NULL && tx->transid != transid)
        tx = tx->same;
    return tx;
}

void api_walk_begin(struct api_client *client, struct api_walk *walk)
{
    *walk = (struct api_walk){.next = client->transactions, .outer = client->walks};
    client->walks = walk;
}

struct api_tx *api_walk_next(struct api_client *client, struct api_walk *walk)
{
    struct api_tx *tx = walk->next;
    if (tx != NULL)
        walk->next = tx->next;
    else
        client->walks = walk->outer;
    return tx;
}

struct api_tx *api_tx_start(struct api_client *client)
{
    struct api_tx *tx = client->tx_free;
    uint32_t *train = NULL;
    uint32_t room = 0;
    if (tx != NULL) {
        client->tx_free = tx->next;
        train = tx->train;
        room = tx->train_room;
    } else {
        tx = malloc(sizeof *tx);
        if (tx == NULL) return NULL;
    }
    *tx = (struct api_tx){
        .client = client, .train = train, .train_room = room, .next = client->transactions};
    tx->transid = api_new_transid(client->core);
    if (tx->next != NULL) tx->next->prev = tx;
    client->transactions = tx;
    struct api_tx **bucket = bucket_of(client, tx->transid);
    tx->same = *bucket;
    *bucket = tx;
    client->statistics.transactions_started++;
    return tx;
}

/* Lets go of the coordinator's record, rolling back what was begun there. */
void api_tx_leave_connect(struct api_tx *tx)
{
    struct api_connect *connect = tx->connect;
    tx->connect = NULL;
    if (connect == NULL) return;
    if (tx->started || connect->state == CONNECT_SEIZING) {
        api_connect_clean(tx->client, connect, tx->transid);
    } else {
        api_connect_free(tx->client, connect);
    }
}

/* The rollback is on its way already: the record only waits for its answer. */
void api_tx_leave_rolling_back(struct api_tx *tx)
{
    struct api_connect *connect = tx->connect;
    tx->connect = NULL;
    if (connect == NULL) return;
    connect->tx = NULL;
    connect->state = CONNECT_CLEANING;
    tx->client->unclean++;
}

void api_tx_close(struct api_tx *tx)
{
    if (tx == NULL) return;
    struct api_client *client = tx->client;
    if (tx->state != TX_IDLE) client->pending--;
    api_tx_leave_durable(tx);
    if (tx->outcome == API_ACTIVE && tx->first != NULL) client->statistics.transactions_aborted++;
    if (tx->state == TX_ROLLING_BACK) {
        api_tx_leave_rolling_back(tx);
    } else {
        api_tx_leave_connect(tx);
    }
    struct api_op *next;
    for (struct api_op *op = tx->first; op != NULL; op = next) {
        next = op->next;
        api_pool_release(&client->ops, op);
    }
    for (struct api_walk *walk = client->walks; walk != NULL; walk = walk->outer) {
        if (walk->next == tx) walk->next = tx->next;
    }
    if (tx->prev != NULL) tx->prev->next = tx->next;
    if (tx->next != NULL) tx->next->prev = tx->prev;
    if (client->transactions == tx) client->transactions = tx->next;
    struct api_tx **at = bucket_of(client, tx->transid);
    while (*at != tx)
        at = &(*at)->same;
    *at = tx->same;
    if (tx->train_room > TRAIN_KEPT) {
        free(tx->train);
        tx->train = NULL;
        tx->train_room = 0;
    }
    tx->next = client->tx_free;
    client->tx_free = tx;
}

void api_tx_drop_all(struct api_client *client)
{
    while (client->transactions != NULL)
        api_tx_close(client->transactions);
    while (client->tx_free != NULL) {
        struct api_tx *tx = client->tx_free;
        client->tx_free = tx->next;
        free(tx->train);
        free(tx);
    }
}

/* ---- Completion. ---- */

void api_tx_stale_table(struct api_tx *tx, struct api_op *op, uint32_t error)
{
    if (op != NULL && api_error_is_stale(error))
        api_dict_invalidate_table(tx->client->core, op->table);
}

/* Not all that a committed transaction was to read has come. Who changed nothing may do it again
 * and is told why: nothing of it is committed. */
static void committed_in_part(struct api_tx *tx)
{
    bool changed = api_tx_changed(tx);
    if (!changed) tx->outcome = API_ABORTED;
    tx->error = changed ? ERR_COMMITTED_READS_LOST : tx->batch_error;
    tx->error_op = tx->batch_error_op;
}

void api_tx_finish(struct api_tx *tx)
{
    struct api_client *client = tx->client;
    for (struct api_op *op = tx->batch; op != NULL; op = op->next) {
        if (op->state != OP_DONE && op->error == 0) op->error = tx->error;
        op->state = OP_DONE;
    }
    if (tx->batch_error != 0 && tx->outcome == API_ACTIVE) {
        tx->outcome = API_ABORTED;
        tx->error = tx->batch_error;
        tx->error_op = tx->batch_error_op;
        api_tx_leave_connect(tx);
    }
    if (tx->outcome == API_ACTIVE && tx->type == API_COMMIT) tx->outcome = API_COMMITTED;
    if (tx->outcome == API_COMMITTED && tx->batch_error != 0) committed_in_part(tx);
    if (tx->outcome == API_COMMITTED) client->statistics.transactions_committed++;
    if (tx->outcome == API_ABORTED) client->statistics.transactions_aborted++;
    if (tx->outcome == API_UNKNOWN) client->statistics.transactions_unknown++;
    tx->state = TX_IDLE;
    tx->batch = NULL;
    tx->unsent = NULL;
    tx->execute_op = NULL;
    tx->train_words = 0;
    tx->rows_due = 0;
    tx->rows_words = 0;
    tx->answer_due = false;
    tx->doubt = false;
    tx->batch_error = 0;
    api_tx_leave_durable(tx);
    client->pending--;
    api_tx_done done = tx->done;
    tx->done = NULL;
    if (done != NULL) done(tx->context, tx);
}

void api_tx_fail(struct api_tx *tx, uint32_t error, enum api_outcome outcome)
{
    tx->error = error;
    tx->outcome = outcome;
    api_tx_finish(tx);
}

void api_tx_check_complete(struct api_tx *tx)
{
    if ((tx->state == TX_EXECUTING || tx->state == TX_COMMITTING) && !tx->answer_due &&
        tx->rows_due == 0 && tx->unsent == NULL)
        api_tx_finish(tx);
}

/* An operation has its own answer: `error` 0 = its row came. */
void api_op_answered(struct api_op *op, uint32_t error)
{
    struct api_tx *tx = op->tx;
    op->state = OP_DONE;
    op->error = error;
    if (op->wants_row) tx->rows_due--;
    api_row_ended(op);
    if (error == 0 || op->tolerant || (op->may_miss && error == ERR_ROW_NOT_FOUND)) return;
    api_tx_stale_table(tx, op, error);
    if (tx->batch_error == 0) {
        tx->batch_error = error;
        tx->batch_error_op = op;
    }
}

void api_tx_rolled_back(struct api_tx *tx)
{
    tx->connect = NULL;
    api_tx_finish(tx);
}
