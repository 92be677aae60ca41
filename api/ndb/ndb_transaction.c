/* ndb_transaction.c -- transactions as applications see them: from start to close. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "api/ndb/ndb_blame.h"
#include "api/ndb/ndb_operation.h"
#include "api/ndb/ndb_private.h"

/* ---- Life. ---- */

struct ndb_transaction *ndb_transaction_start(ndb_t *ndb)
{
    if (ndb == NULL) return NULL;
    struct ndb_transaction *t = ndb->transaction_free;
    if (t != NULL) {
        ndb->transaction_free = t->next;
    } else {
        t = calloc(1, sizeof *t);
    }
    struct api_tx *tx = t == NULL ? NULL : api_tx_start(ndb->client);
    if (tx == NULL) {
        free(t);
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    memset(t, 0, offsetof(struct ndb_transaction, error));
    t->ndb = ndb;
    t->tx = tx;
    t->error.error.code = 0;
    t->waiting = false;
    t->lent = false;
    t->beginning = false;
    t->untold = false;
    t->batch = 0;
    t->refusal.error.code = 0;
    t->done = false;
    t->callback = NULL;
    t->in_flight_async = false;
    t->next = ndb->transactions;
    if (t->next != NULL) t->next->prev = t;
    ndb->transactions = t;
    return t;
}

struct ndb_transaction *ndb_transaction_start_at(ndb_t *ndb, uint32_t node)
{
    struct ndb_transaction *t = ndb_transaction_start(ndb);
    if (t != NULL) api_tx_prefer(t->tx, node);
    return t;
}

void transactions_wake(ndb_t *ndb)
{
    uint64_t one = 1;
    if (write(ndb->event_fd, &one, sizeof one) < 0) return; /* It is readable already. */
}

static void untold_add(struct ndb_transaction *t)
{
    ndb_t *ndb = t->ndb;
    t->untold = true;
    t->untold_turn = ndb->untold_turn;
    t->next_told = NULL;
    if (ndb->untold_last != NULL)
        ndb->untold_last->next_told = t;
    else
        ndb->untold_first = t;
    ndb->untold_last = t;
    if (ndb->event_fd >= 0) transactions_wake(ndb);
}

static void untold_remove(struct ndb_transaction *t)
{
    ndb_t *ndb = t->ndb;
    struct ndb_transaction *before = NULL;
    for (struct ndb_transaction *at = ndb->untold_first; at != t; at = at->next_told)
        before = at;
    if (before != NULL)
        before->next_told = t->next_told;
    else
        ndb->untold_first = t->next_told;
    if (ndb->untold_last == t) ndb->untold_last = before;
    t->untold = false;
}

void ndb_transaction_close(struct ndb_transaction *t)
{
    if (t == NULL) return;
    ndb_t *ndb = t->ndb;
    if (t->waiting || t->lent) { /* By a callback that runs inside the wait, or by the function. */
        error_set(&ndb->error, ERR_MISUSE_4507,
                  t->waiting ? "ndb_transaction_close of what a call waits for"
                             : "ndb_transaction_close in ndb_run_transaction");
        return;
    }
    if (t->untold) untold_remove(t);
    if (t->in_flight_async) async_completed(ndb, 0);
    api_tx_close(t->tx);
    struct ndb_operation *next;
    for (struct ndb_operation *operation = t->first; operation != NULL; operation = next) {
        next = operation->next;
        operation_free(ndb, operation);
    }
    if (t->prev != NULL) t->prev->next = t->next;
    if (t->next != NULL) t->next->prev = t->prev;
    if (ndb->transactions == t) ndb->transactions = t->next;
    t->next = ndb->transaction_free;
    ndb->transaction_free = t;
}

void transactions_drop(ndb_t *ndb)
{
    while (ndb->transactions != NULL)
        ndb_transaction_close(ndb->transactions);
    while (ndb->transaction_free != NULL) {
        struct ndb_transaction *t = ndb->transaction_free;
        ndb->transaction_free = t->next;
        free(t);
    }
    while (ndb->operation_free != NULL) {
        struct ndb_operation *operation = ndb->operation_free;
        ndb->operation_free = operation->next;
        free(operation->words);
        free(operation->result);
        free(operation);
    }
}

/* ---- Executing. ---- */

static int refuse_call(struct ndb_transaction *t, uint32_t code, const char *text)
{
    error_set(&t->refusal, code, "%s", text);
    return error_set(&t->ndb->error, code, "%s", text);
}

void transaction_forget_refusal(struct ndb_transaction *t)
{
    if (t->refusal.error.code != 0) error_clear(&t->refusal);
}

void transaction_set_error(struct ndb_transaction *t, uint32_t code)
{
    error_set_outcome(&t->error, code, code != 0 && api_tx_outcome(t->tx) == API_UNKNOWN);
    blame_link(&t->error, t->ndb->connection);
}

int transaction_failed(struct ndb_transaction *t)
{
    t->ndb->error = t->error.error.code != 0 ? t->error : t->refusal;
    t->ndb->error.error.detail = t->ndb->error.detail;
    return -1;
}

/* Tells the table, and the column if it can be seen, when the error is about a column. */
static void blame(struct error_slot *slot, uint32_t code, const struct ndb_operation *operation)
{
    if (operation == NULL) return;
    bool inserts = operation->type == NDB_INSERT || operation->type == NDB_WRITE;
    if (operation->table != NULL)
        blame_columns(slot, code, operation);
    else
        blame_record(slot, code, operation->record, NULL, inserts);
}

static int result_of(struct ndb_transaction *t)
{
    uint32_t error = api_tx_error(t->tx);
    transaction_forget_refusal(t);
    if (error == 0) {
        /* What was defined too late, while it was being committed, is nothing that it lacks. */
        if (t->error.error.code != 0 && api_tx_outcome(t->tx) == API_COMMITTED)
            error_clear(&t->error);
        return 0;
    }
    transaction_set_error(t, error);
    if (error == ERR_UNIQUE_DUPLICATE) error_set(&t->error, error, "%s", api_tx_error_index(t->tx));
    blame(&t->error, error, ndb_transaction_error_operation(t));
    uint32_t fits = api_tx_error_fits(t->tx);
    if (fits != 0)
        error_set(&t->error, error, "%u %s fit", fits,
                  error == ERR_TRANSACTION_TOO_BIG ? "changes" : "operations");
    return transaction_failed(t);
}

static void tell(struct ndb_transaction *t)
{
    ndb_t *ndb = t->ndb;
    ndb_callback callback = t->callback;
    t->callback = NULL;
    t->in_flight_async = false;
    async_completed(ndb, 1);
    int result = result_of(t);
    ndb->callback_depth++;
    callback(result, t, t->context);
    ndb->callback_depth--;
}

static void executed(void *context, struct api_tx *tx)
{
    struct ndb_transaction *t = context;
    (void)tx;
    t->done = true;
    if (t->callback == NULL) return;
    if (t->beginning)
        untold_add(t);
    else
        tell(t);
}

void transactions_tell(ndb_t *ndb)
{
    uint32_t turn = ndb->untold_turn++;
    struct ndb_transaction *t;
    while ((t = ndb->untold_first) != NULL && (int32_t)(turn - t->untold_turn) >= 0) {
        untold_remove(t);
        tell(t);
    }
}

bool transaction_in_flight(const struct ndb_transaction *t)
{
    return api_tx_in_flight(t->tx) || t->untold;
}

void transaction_wait(struct ndb_transaction *t)
{
    while (transaction_in_flight(t)) {
        if (t->untold)
            transactions_tell(t->ndb);
        else
            ndb_wait_for(t->ndb, &t->done, UINT64_MAX);
    }
}

static bool is_execute_type(enum ndb_execute_type type)
{
    return type == NDB_NO_COMMIT || type == NDB_COMMIT || type == NDB_ROLLBACK ||
           type == NDB_COMMIT_DURABLE;
}

/* Seals what is open and asks the core. 0, or -1 with the error. What is refused for the call itself
 * says nothing of the transaction. */
static int start(struct ndb_transaction *t, enum ndb_execute_type type, uint32_t timeout_ms)
{
    ndb_t *ndb = t->ndb;
    ndb_now(ndb);
    if (transaction_in_flight(t))
        return refuse_call(t, ERR_API_STATE, "the transaction is being executed");
    if (!is_execute_type(type)) return refuse_call(t, ERR_PARAMETER, "type of the execute");
    transaction_forget_refusal(t);
    if (t->unsealed != NULL) operations_seal(t);
    if (t->error.error.code != 0 && type != NDB_ROLLBACK && api_tx_outcome(t->tx) == API_ACTIVE)
        return transaction_failed(
            t); /* An operation could not be defined: nothing of the batch is sent. */
    t->done = false;
    t->batch++;
    uint32_t error = api_tx_execute(t->tx, (enum api_execute)type,
                                    timeout_of(ndb->connection, timeout_ms), executed, t);
    if (error == 0) return 0;
    if (error == ERR_TRANSACTION_COMPLETE) return refuse_call(t, error, "");
    /* How it has ended stays, with what was known of it. */
    if (t->error.error.code != (int)error) transaction_set_error(t, error);
    return transaction_failed(t);
}

int ndb_execute(struct ndb_transaction *t, enum ndb_execute_type type, uint32_t timeout_ms)
{
    if (t == NULL) return -1;
    if (t->ndb->callback_depth > 0)
        return refuse_call(t, ERR_MISUSE_4507, "ndb_execute in a callback");
    if (start(t, type, timeout_ms) != 0) return -1;
    t->waiting = true;
    if (!t->done) ndb_wait_for(t->ndb, &t->done, UINT64_MAX);
    t->waiting = false;
    return result_of(t);
}

int ndb_execute_async(struct ndb_transaction *t, enum ndb_execute_type type, uint32_t timeout_ms,
                      ndb_callback callback, void *context)
{
    if (t == NULL) return -1;
    if (callback == NULL) return refuse_call(t, ERR_NO_CALLBACK, "");
    if (transaction_in_flight(t) || t->waiting)
        return refuse_call(t, ERR_API_STATE,
                           transaction_in_flight(t) ? "the transaction is being executed"
                                                    : "a call waits for the transaction");
    t->callback = callback;
    t->context = context;
    t->in_flight_async = true;
    async_begun(t->ndb);
    ndb_t *ndb = t->ndb;
    t->beginning = true;
    int result = start(t, type, timeout_ms);
    t->beginning = false;
    if (result != 0) {
        t->callback = NULL;
        t->in_flight_async = false;
        async_completed(ndb, 0);
        return -1;
    }
    async_push(ndb);
    return 0;
}

/* ---- Asking. ---- */

const ndb_error_t *ndb_transaction_error(const struct ndb_transaction *transaction)
{
    struct ndb_transaction *t = (struct ndb_transaction *)(uintptr_t)transaction;
    if (t == NULL) return ndb_error(NULL);
    if (t->refusal.error.code != 0) return &t->refusal.error;
    if (t->error.error.code == 0) transaction_set_error(t, api_tx_error(t->tx));
    return &t->error.error;
}

const ndb_error_t *ndb_operation_error(const struct ndb_operation *constant)
{
    struct ndb_operation *operation = (struct ndb_operation *)(uintptr_t)constant;
    if (operation == NULL) return ndb_error(NULL);
    uint32_t code = operation->define_error;
    if (code == 0 && operation->op != NULL) code = api_op_error(operation->op);
    if (code == 0 && operation->error.error.code == 0) return &operation->error.error;
    const struct api_tx *tx = operation->transaction->tx;
    bool duplicate = code == ERR_UNIQUE_DUPLICATE && operation->op == api_tx_error_op(tx);
    if (operation->define_error != 0 && operation_has_detail(operation, code))
        return &operation->error.error;
    if (duplicate)
        error_set(&operation->error, code, "%s", api_tx_error_index(tx));
    else
        error_set(&operation->error, code, NULL);
    blame(&operation->error, code, operation);
    blame_link(&operation->error, operation->transaction->ndb->connection);
    return &operation->error.error;
}

const struct ndb_operation *ndb_transaction_error_operation(const struct ndb_transaction *t)
{
    if (t == NULL) return NULL;
    const struct api_op *op = api_tx_error_op(t->tx);
    for (const struct ndb_operation *operation = t->first; operation != NULL;
         operation = operation->next) {
        if (operation->define_error != 0 || (op != NULL && operation->op == op)) return operation;
    }
    return NULL;
}

uint64_t ndb_transaction_epoch(const struct ndb_transaction *t)
{
    return t == NULL ? 0 : api_tx_epoch(t->tx);
}
int ndb_transaction_durable(const struct ndb_transaction *t)
{
    return t != NULL && api_tx_durable(t->tx);
}
uint64_t ndb_transaction_id(const struct ndb_transaction *t)
{
    return t == NULL ? 0 : api_tx_id(t->tx);
}
uint32_t ndb_transaction_node(const struct ndb_transaction *t)
{
    return t == NULL ? 0 : api_tx_node(t->tx);
}
static void outcome_known(void *context, struct api_tx *tx)
{
    (void)tx;
    *(volatile bool *)context = true;
}

int ndb_transaction_outcome(struct ndb_transaction *t, uint32_t timeout_ms)
{
    volatile bool done = false;
    if (t == NULL) return -1;
    ndb_t *ndb = t->ndb;
    if (ndb->callback_depth > 0)
        return refuse_call(t, ERR_MISUSE_4507, "ndb_transaction_outcome in a callback");
    if (transaction_in_flight(t))
        return refuse_call(t, ERR_API_STATE, "the transaction has not ended");
    transaction_forget_refusal(t);
    if (api_tx_outcome(t->tx) == API_COMMITTED) return 1;
    if (api_tx_outcome(t->tx) == API_ABORTED) return 0;
    ndb_now(ndb);
    uint32_t error = api_tx_ask(t->tx, timeout_of(ndb->connection, timeout_ms), outcome_known,
                                (void *)(uintptr_t)&done);
    if (error != 0) return refuse_call(t, error, "the transaction has not ended");
    t->waiting = true;
    if (!done) ndb_wait_for(ndb, &done, UINT64_MAX);
    t->waiting = false;
    transaction_forget_refusal(t); /* A callback may have been refused something. */
    transaction_set_error(t, api_tx_error(t->tx));
    if (api_tx_outcome(t->tx) == API_COMMITTED) return 1;
    if (api_tx_outcome(t->tx) == API_ABORTED) return 0;
    error_set_outcome(&ndb->error, api_tx_error(t->tx), true);
    return -1;
}
uint32_t ndb_pending(const ndb_t *ndb)
{
    return ndb == NULL ? 0 : ndb->async_pending;
}
