/* api_transaction.c -- transactions: from execute to the one completion. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_connect_state.h"
#include "api/core/api_durable_state.h"
#include "api/core/api_scan_state.h"
#include "api/core/api_table_state.h"
#include "api/core/api_transaction.h"

#define TRAIN_KEPT (1u << 18) /* Words that a recycled transaction may keep. */
#define PART_WORDS (1u << 12) /* So much of a batch is sent at a time. */
#define PART_MS    1u /* Pause until it is looked again whether there is room for the next part. */

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

/* ---- Choosing nodes. ---- */

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

/* ---- Completion. ---- */

bool api_error_is_stale(uint32_t error)
{
    return error == ERR_SCHEMA_VERSION || error == ERR_TABLE_DROPPING_TC ||
           error == ERR_UNKNOWN_TABLE_TC || error == ERR_TABLE_DROPPING ||
           error == ERR_SCHEMA_VERSION_LQH;
}

static void stale_table(struct api_tx *tx, struct api_op *op, uint32_t error)
{
    if (op != NULL && api_error_is_stale(error))
        api_dict_invalidate_table(tx->client->core, op->table);
}

/* Not all that a committed transaction was to read has come. Who changed nothing may do it again
 * and is told why. */
static void committed_in_part(struct api_tx *tx)
{
    tx->error = api_tx_changed(tx) ? ERR_COMMITTED_READS_LOST : tx->batch_error;
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
    stale_table(tx, op, error);
    if (tx->batch_error == 0) {
        tx->batch_error = error;
        tx->batch_error_op = op;
    }
}

/* ---- Executing. ---- */

bool api_tx_commit_in_flight(const struct api_tx *tx)
{
    return tx->type == API_COMMIT && tx->answer_due;
}

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

static uint32_t send_commit(struct api_tx *tx)
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
        error = send_commit(tx);
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

/*
 * For changes of a row with several replicas each of their nodes is as near: the primary's and the
 * last backup's way to the others is equally long. So transactions that a client begins together go
 * to one of them together: one message, one wake-up and one batch of everything that follows.
 */
static uint32_t coordinator_near(struct api_client *client, struct api_op *op)
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

uint32_t api_tx_begin_batch(struct api_tx *tx)
{
    struct api_op *first = tx->batch;
    uint32_t error = 0;
    while (first != NULL && first->committed_read)
        first = first->next;
    if (first == NULL || tx->connect != NULL) return send_batch(tx);
    uint32_t node = api_core_node_ready(tx->client->core, tx->prefer)
                        ? tx->prefer
                        : coordinator_near(tx->client, first);
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

/* ---- Answers. ---- */

/* The transaction that a coordinator's answer is for, or NULL: late or forged. */
static struct api_tx *answered_tx(struct api_client *client, const uint32_t *words, uint32_t ref,
                                  uint64_t transid)
{
    struct api_connect *connect = api_pool_find(&client->connects, ref);
    if (connect == NULL || connect->state != CONNECT_BUSY || connect->tx == NULL ||
        connect->transid != transid || words[2] != connect->tc_ref) {
        api_late(client);
        return NULL;
    }
    return connect->tx;
}

static void free_connect(struct api_tx *tx)
{
    api_connect_free(tx->client, tx->connect);
    tx->connect = NULL;
}

static void committed(struct api_tx *tx, uint32_t gci_hi, uint32_t gci_lo, uint32_t flags)
{
    tx->durable = (flags & KEYCONF_DURABLE) != 0;
    tx->outcome = API_COMMITTED;
    tx->epoch = (uint64_t)gci_hi << 32 | gci_lo;
    if (tx->durable) api_epoch_known(tx->client->core, tx->epoch);
    free_connect(tx);
}

void api_exec_TCKEYCONF(struct api_client *client, const uint32_t *words)
{
    const struct tckeyconf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_tx *tx = answered_tx(client, words, conf->api_connect,
                                    api_transid_of(conf->transid1, conf->transid2));

    if (tx == NULL) return;
    if (tx->state != TX_EXECUTING || !tx->answer_due) {
        api_late(client);
        return;
    }
    tx->answer_due = false;
    if ((conf->flags & KEYCONF_COMMITTED) != 0) {
        committed(tx, conf->gci_hi, conf->gci_lo, conf->flags);
    } else if (tx->type == API_COMMIT) {
        uint32_t error = send_commit(tx);
        if (error != 0) {
            api_tx_leave_connect(tx);
            api_tx_fail(tx, error, API_ABORTED);
            return;
        }
    }
    api_tx_give_up_lost_rows(tx);
    api_tx_check_complete(tx);
}

void api_exec_TC_COMMITCONF(struct api_client *client, const uint32_t *words)
{
    const struct tc_commitconf *conf = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_tx *tx = answered_tx(client, words, conf->api_connect,
                                    api_transid_of(conf->transid1, conf->transid2));

    if (tx == NULL) return;
    if (tx->state != TX_COMMITTING || !tx->answer_due) {
        api_late(client);
        return;
    }
    tx->answer_due = false;
    committed(tx, conf->gci_hi, conf->gci_lo, conf->flags);
    api_tx_give_up_lost_rows(tx);
    api_tx_check_complete(tx);
}

void api_exec_TC_COMMITREF(struct api_client *client, const uint32_t *words)
{
    const struct tc_commitref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_tx *tx =
        answered_tx(client, words, ref->api_connect, api_transid_of(ref->transid1, ref->transid2));

    if (tx == NULL) return;
    if (tx->state != TX_COMMITTING || !tx->answer_due) {
        api_late(client);
        return;
    }
    free_connect(tx);
    api_tx_fail(tx, ref->error == 0 ? ERR_NODE_FAILED_ABORTED : ref->error, API_ABORTED);
}

/* The operation, when the answer is for one that waits for it. */
static struct api_op *answered_op(struct api_client *client, uint32_t ref, uint64_t transid)
{
    struct api_op *op = api_pool_find(&client->ops, ref);
    if (op == NULL || op->state != OP_SENT || op->tx->transid != transid) {
        api_late(client);
        return NULL;
    }
    return op;
}

void api_exec_TCKEYREF(struct api_client *client, const uint32_t *words)
{
    const struct tckeyref *ref = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_op *op =
        answered_op(client, ref->api_op, api_transid_of(ref->transid1, ref->transid2));

    if (op == NULL) return;
    api_op_answered(op, ref->error == 0 ? ERR_REPLY_4215 : ref->error);
    api_tx_check_complete(op->tx);
}

void api_exec_TRANSID_AI(struct api_client *client, const uint32_t *words)
{
    const struct transid_ai *ai = (const void *)(words + SIGNAL_HEAD_WORDS);
    if ((ai->api_op & API_POOL_MARK) != 0) {
        api_scan_rows_in(client, words);
        return;
    }
    struct api_op *op = answered_op(client, ai->api_op, api_transid_of(ai->transid1, ai->transid2));
    if (op == NULL) return;
    if (!op->wants_row) {
        api_late(client);
        return;
    }
    uint32_t at = SIGNAL_HEAD_WORDS + kind_words(words[0]);
    uint32_t size = words[at];
    const uint32_t *row = words + at + 1;
    uint32_t error = ERR_REPLY_4215;
    if (ai->rows == 1 && size >= 1 && row[0] == size - 1)
        error = op->row == NULL ? 0 : op->row(op, row + 1, row[0]);
    if (error == 0) client->statistics.rows_read++;
    api_op_answered(op, error);
    api_tx_check_complete(op->tx);
}

void api_exec_TCROLLBACKREP(struct api_client *client, const uint32_t *words)
{
    const struct tcrollbackrep *rep = (const void *)(words + SIGNAL_HEAD_WORDS);
    struct api_connect *connect = api_pool_find(&client->connects, rep->api_connect);
    uint64_t transid = api_transid_of(rep->transid1, rep->transid2);

    /* While a rollback of ours is on its way, its own answer counts. */
    if (connect != NULL && connect->state == CONNECT_CLEANING && connect->transid == transid)
        return;
    struct api_tx *tx = answered_tx(client, words, rep->api_connect, transid);
    if (tx == NULL || tx->state == TX_ROLLING_BACK) return;
    uint32_t error = rep->error == 0 ? ERR_NODE_FAILED_ABORTED : rep->error;
    struct api_op *op = api_pool_find(&client->ops, rep->api_op);
    tx->error_data = rep->error_data;
    if (op != NULL && op->tx == tx) {
        tx->error_op = op;
        op->error = error;
        stale_table(tx, op, error);
    }
    free_connect(tx);
    if (tx->state ==
        TX_IDLE) { /* It was idle for too long, or its node goes down: the next call tells. */
        tx->error = error;
        tx->outcome = API_ABORTED;
        client->statistics.transactions_aborted++;
        return;
    }
    api_tx_fail(tx, error, API_ABORTED);
}

void api_tx_rolled_back(struct api_tx *tx)
{
    tx->connect = NULL;
    api_tx_finish(tx);
}
