/* api_answer.c -- what a transaction is answered: by its coordinator, by whoever has its rows. */
/* SPDX-License-Identifier: MIT */
#include "api/core/api_connect_state.h"
#include "api/core/api_durable_state.h"
#include "api/core/api_scan_state.h"
#include "api/core/api_transaction.h"

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
        uint32_t error = api_tx_send_commit(tx);
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
        api_tx_stale_table(tx, op, error);
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
