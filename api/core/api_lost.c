/* api_lost.c -- transactions whose node or whose time is lost: what happened, and what is asked
 * elsewhere. */
/* SPDX-License-Identifier: MIT */
#include "api/core/api_durable_state.h"
#include "api/core/api_transaction.h"

#define READ_ATTEMPTS 4u    /* Nodes that a committed read is sent to before it fails. */
#define DOUBT_MS      2000u /* Time to agree on a failure and to end a transaction. */

static bool none_ready(const struct api_core *core)
{
    struct node_mask ready = api_core_ready(core);
    return node_mask_empty(&ready);
}

bool api_tx_row_is_lost(const struct api_tx *tx, struct api_op *op)
{
    return op->state == OP_SENT && op->wants_row && !op->committed_read &&
           api_op_replica_lost(op, &tx->lost);
}

/* The batch goes in parts, and the operation with which the coordinator's answer is asked for still
 * waits. */
static bool answer_to_be_asked(const struct api_tx *tx)
{
    return tx->execute_op != NULL && tx->execute_op->state == OP_DEFINED;
}

/* The rest of the batch does not wait for rows that will perhaps not come. */
static void make_room(struct api_tx *tx)
{
    if (tx->unsent == NULL) return;
    for (struct api_op *op = tx->batch; op != tx->unsent; op = op->next) {
        if (api_tx_row_is_lost(tx, op)) api_row_ended(op);
    }
}

/* Everything is answered except rows that a lost node may have been about to send: they will not
 * come any more. */
void api_tx_give_up_lost_rows(struct api_tx *tx)
{
    bool any = false;
    if (tx->rows_due == 0 || node_mask_empty(&tx->lost)) return;
    if (tx->answer_due || answer_to_be_asked(tx)) {
        make_room(tx);
        return;
    }
    for (struct api_op *op = tx->batch; op != NULL; op = op->next) {
        if (!api_tx_row_is_lost(tx, op)) continue;
        api_op_answered(op, ERR_READ_NODE_FAILURE);
        any = true;
    }
    if (!any) return;
    if (tx->batch_error == 0) tx->batch_error = ERR_READ_NODE_FAILURE;
}

/* The commit may have happened: the take-over tells, unless nothing is left of the transaction. */
static void begin_doubt(struct api_tx *tx)
{
    struct api_client *client = tx->client;
    if (!api_tx_changed(tx)) { /* Nothing can be in doubt. */
        api_tx_fail(tx, ERR_NODE_FAILED_ABORTED, API_ABORTED);
        return;
    }
    if (none_ready(client->core)) {
        api_tx_fail(tx, ERR_CLUSTER_FAILURE, API_UNKNOWN);
        return;
    }
    tx->doubt = true;
    if (tx->deadline_ms > client->now_ms + DOUBT_MS) tx->deadline_ms = client->now_ms + DOUBT_MS;
    api_wake_at(client, tx->deadline_ms);
    api_outcome_doubt(tx);
}

/* The transaction whose commit a take-over has decided on; its record may not be known as lost yet.
 */
static struct api_tx *failed_tx(struct api_client *client, uint64_t transid)
{
    struct api_tx *tx = api_tx_find(client, transid);
    bool waits = tx != NULL && (tx->state == TX_EXECUTING || tx->state == TX_COMMITTING);
    if (!waits || !api_tx_commit_in_flight(tx) || tx->durable_wait != NULL) {
        api_late(client);
        return NULL;
    }
    api_tx_leave_connect(tx);
    return tx;
}

/* The transaction is committed without those that the lost coordinator has refused, and its words
 * about them are lost as well. */
static void doubt_single_operations(struct api_tx *tx)
{
    if (tx->state != TX_EXECUTING) return;
    for (struct api_op *op = tx->batch; op != NULL; op = op->next) {
        if (op->state != OP_SENT || !(op->tolerant || op->may_miss)) continue;
        if (op->wants_row && !op->changes) continue; /* What is read says that it is there. */
        if (op->wants_row) tx->rows_due--;
        api_row_ended(op);
        op->state = OP_DONE;
        op->error = ERR_NO_REPLY;
    }
}

static void settle(struct api_tx *tx, uint64_t epoch, bool durable)
{
    doubt_single_operations(tx);
    tx->answer_due = false;
    tx->doubt = false;
    tx->durable = durable;
    tx->error = 0;
    tx->outcome = API_COMMITTED;
    tx->epoch = epoch;
    if (tx->state == TX_ASKING) { /* The rows of its reads are lost. */
        api_tx_finish(tx);
        return;
    }
    tx->deadline_ms = tx->limit_ms; /* For rows that are still due: the doubt's time is over. */
    api_wake_at(tx->client, tx->deadline_ms);
    api_tx_give_up_lost_rows(tx);
    api_tx_check_complete(tx);
}

void api_tx_leave_durable(struct api_tx *tx)
{
    if (tx->durable_wait != NULL) api_durable_end(tx->durable_wait);
    tx->durable_wait = NULL;
}

static void durability_told(void *context, uint32_t error)
{
    struct api_tx *tx = context;
    tx->durable_wait = NULL;
    if (error == 0)
        settle(tx, tx->told_epoch, true);
    else
        api_tx_fail(tx, error, error == ERR_EPOCH_LOST ? API_ABORTED : API_UNKNOWN);
}

/* The lost coordinator would have answered when the commit was durable, and who tells of it now
 * knows that it is committed. The time for that is not the doubt's any more. */
static void durability_ask(struct api_tx *tx, uint64_t epoch)
{
    tx->doubt = false;
    tx->told_epoch = epoch;
    tx->deadline_ms = tx->limit_ms;
    api_wake_at(tx->client, tx->deadline_ms);
    tx->durable_wait = api_durable_begin(tx->client, epoch, API_NO_TIMEOUT, durability_told, tx);
    if (tx->durable_wait == NULL) api_tx_fail(tx, ERR_API_MEMORY, API_UNKNOWN);
}

void api_tx_was_committed(struct api_tx *tx, uint64_t epoch)
{
    bool durable = api_epoch_is_durable(tx->client, epoch);
    if (tx->want_durable && !durable && tx->state != TX_ASKING)
        durability_ask(tx, epoch);
    else
        settle(tx, epoch, durable);
}

void api_tx_was_aborted(struct api_tx *tx)
{
    api_tx_fail(tx, ERR_NODE_FAILED_ABORTED, API_ABORTED);
}

void api_tx_is_unknown(struct api_tx *tx)
{
    api_tx_fail(tx, ERR_CLUSTER_FAILURE, API_UNKNOWN);
}

void api_exec_TCKEY_FAILCONF(struct api_client *client, const uint32_t *words)
{
    const struct tckey_failconf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_tx *tx = failed_tx(client, api_transid_of(conf->transid1, conf->transid2));
    if (tx != NULL) api_tx_was_committed(tx, (uint64_t)conf->gci_hi << 32 | conf->gci_lo);
}

void api_exec_TCKEY_FAILREF(struct api_client *client, const uint32_t *words)
{
    const struct tckey_failref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_tx *tx = failed_tx(client, api_transid_of(ref->transid1, ref->transid2));
    if (tx == NULL) return;
    api_tx_fail(tx, ref->error == 0 ? ERR_NODE_FAILED_ABORTED : ref->error, API_ABORTED);
}

/* The coordinator's link is gone and with it its record. */
void api_tx_connect_lost(struct api_tx *tx)
{
    uint32_t error;
    tx->connect = NULL;
    switch (tx->state) {
    case TX_IDLE:
        tx->error = ERR_NODE_FAILED_ABORTED;
        tx->outcome = API_ABORTED;
        tx->client->statistics.transactions_aborted++;
        break;
    case TX_SEIZING: /* Nothing was sent: another node will do. */
        error = api_tx_begin_batch(tx);
        if (error != 0) {
            api_tx_leave_connect(tx);
            api_tx_fail(tx, error, API_ABORTED);
        }
        break;
    case TX_ROLLING_BACK:
        api_tx_finish(tx);
        break;
    case TX_ASKING: /* It has none. */
        break;
    case TX_EXECUTING:
    case TX_COMMITTING:
        if (api_tx_commit_in_flight(tx)) {
            begin_doubt(tx);
        } else {
            api_tx_fail(tx, ERR_NODE_FAILED_ABORTED, API_ABORTED);
        }
        break;
    }
}

/* Committed reads change nothing: what the lost node may have been asked is asked again elsewhere.
 */
static void repeat_reads(struct api_tx *tx, uint32_t peer)
{
    struct node_mask lost = {{0}};
    node_mask_add(&lost, peer);
    for (struct api_op *op = tx->batch; op != NULL; op = op->next) {
        if (op->state != OP_SENT || !op->committed_read) continue;
        if (op->node != peer && !api_op_replica_lost(op, &lost)) continue;
        uint32_t node = ++op->attempts < READ_ATTEMPTS ? api_op_node_near(tx->client, op) : 0;
        if (node != 0) tx->train[op->at + 1] = api_op_read_receiver(tx->client, op, node);
        if (node == 0 || !api_send(tx->client, node, tx->train + op->at, op->extent)) {
            api_op_answered(op, ERR_READ_NODE_FAILURE);
            continue;
        }
        op->node = (uint8_t)node;
        tx->client->statistics.retries++;
    }
}

/* All are marked before any completes: the application may execute one again at once. */
void api_tx_link_down(struct api_client *client, uint32_t peer)
{
    struct api_walk walk;
    for (struct api_tx *tx = client->transactions; tx != NULL; tx = tx->next) {
        if (tx->state == TX_EXECUTING || tx->state == TX_COMMITTING) node_mask_add(&tx->lost, peer);
    }
    api_walk_begin(client, &walk);
    for (struct api_tx *tx; (tx = api_walk_next(client, &walk)) != NULL;) {
        if (tx->state != TX_EXECUTING && tx->state != TX_COMMITTING) continue;
        if (!node_mask_has(&tx->lost, peer)) continue;
        bool undecided = tx->doubt || tx->durable_wait != NULL;
        if (undecided && none_ready(client->core)) {
            api_tx_fail(tx, ERR_CLUSTER_FAILURE, API_UNKNOWN); /* Nobody is left who could tell. */
        } else {
            repeat_reads(tx, peer);
            api_tx_give_up_lost_rows(tx);
            api_tx_check_complete(tx);
        }
    }
}

/* It is committed, and not all rows have come. */
static void rows_are_late(struct api_tx *tx)
{
    for (struct api_op *op = tx->batch; op != NULL; op = op->next) {
        if (op->state != OP_DONE && op->wants_row) op->error = ERR_REQUEST_TIMEOUT;
    }
    if (tx->batch_error == 0) tx->batch_error = ERR_REQUEST_TIMEOUT;
    api_tx_finish(tx);
}

static void expire(struct api_tx *tx)
{
    tx->client->statistics.timeouts++;
    if (tx->state == TX_ROLLING_BACK) {
        api_tx_leave_rolling_back(tx);
        api_tx_fail(tx, ERR_REQUEST_TIMEOUT, API_ABORTED);
    } else if (tx->outcome == API_COMMITTED) {
        rows_are_late(tx);
    } else if (tx->state == TX_ASKING) {
        api_tx_fail(tx, ERR_REQUEST_TIMEOUT, API_UNKNOWN);
    } else if (tx->doubt) {
        api_tx_fail(tx, ERR_CLUSTER_FAILURE, API_UNKNOWN);
    } else {
        enum api_outcome outcome =
            tx->state != TX_SEIZING && api_tx_commit_in_flight(tx) && api_tx_changed(tx)
                ? API_UNKNOWN
                : API_ABORTED;
        api_tx_leave_connect(tx);
        api_tx_fail(tx, ERR_REQUEST_TIMEOUT, outcome);
    }
}

void api_tx_expire(struct api_client *client)
{
    struct api_walk walk;
    struct api_tx *tx;
    api_walk_begin(client, &walk);
    while ((tx = api_walk_next(client, &walk)) != NULL) {
        if (tx->state != TX_IDLE && tx->deadline_ms <= client->now_ms) expire(tx);
    }
    for (tx = client->transactions; tx != NULL; tx = tx->next) {
        if (tx->state != TX_IDLE) api_wake_at(client, tx->deadline_ms);
    }
}
