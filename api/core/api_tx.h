/* api_tx.h -- the client's transactions: their operations, their execution, their outcome; and when
 * an epoch is durable. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "signals/tckey.h"

struct api_client;
struct api_table;
struct api_tx;
struct api_op;

/* API_COMMIT_DURABLE: answered when the commit survives the loss of the whole cluster. */
enum api_execute { API_NO_COMMIT = 1, API_COMMIT = 2, API_ROLLBACK = 3, API_COMMIT_DURABLE = 4 };

enum api_outcome {
    API_ACTIVE = 0, /* Not ended; operations may be defined when nothing is in flight. */
    API_COMMITTED,
    API_ABORTED, /* By request or by error: nothing of it is there. */
    API_UNKNOWN  /* A commit was in flight when the link or the time was lost. */
};

struct api_tx *api_tx_start(struct api_client *client); /* NULL: no memory. */
/* Rolls back if needed (unanswered) and frees it with its operations. Its `done`, if due, does not
 * run any more. */
void api_tx_close(struct api_tx *tx);

/* Flag besides KEY_IGNORE_ERROR and KEY_NOWAIT: only ERR_ROW_NOT_FOUND leaves the transaction
 * alive. */
#define API_OP_MAY_MISS (1u << 16)

struct api_op_options {
    struct api_table *table; /* Must stay held until the transaction is closed. */
    enum key_operation operation;
    enum lock_mode lock; /* Lock mode of a read. */
    /* 1 + number of the unique index whose key it is; 0 = the primary key. Reads, updates, deletes;
     * a committed read becomes one with a shared lock. */
    uint32_t unique;
    uint32_t flags; /* KEY_IGNORE_ERROR, KEY_NOWAIT, KEY_PROGRAM (ATTRINFO begins with a program, as
                       docs/protocols/program.md has it), API_OP_MAY_MISS */
    /* A row came for a read, or for the reads of a program: its pairs as in attr.h, without the
       leading word. Returns an error number for the operation, 0 = fine. NULL: the row is thrown
       away. */
    uint32_t (*row)(struct api_op *op, const uint32_t *pairs, uint32_t words);
    void *context; /* For the owner of `row`: api_op_context(), api_op_context2(). */
    void *context2;
};

/*
 * Defines an operation. KEY and ATTRINFO sections are written by the caller where begin says (room
 * for words_max words, key first, ATTRINFO right behind it); end takes the operation over. NULL
 * from begin: transaction ended or in flight, or no memory: see api_tx_error(). No other call on
 * the transaction may stand between the two.
 */
uint32_t *api_op_begin(struct api_tx *tx, uint32_t words_max);
struct api_op *api_op_end(struct api_tx *tx, const struct api_op_options *options,
                          uint32_t key_words, uint32_t attr_words);

void *api_op_context(const struct api_op *op);
void *api_op_context2(const struct api_op *op);
/* 0, or why it was refused: ERR_ROW_NOT_FOUND, ... */
uint32_t api_op_error(const struct api_op *op);
struct api_op *api_op_next(const struct api_op *op); /* In order of definition. */
struct api_tx *api_op_tx(const struct api_op *op);

typedef void (*api_tx_done)(void *context, struct api_tx *tx);
/*
 * Sends the operations defined since the last execute, in parts by and by when there is not room
 * for all of them (api_client_tick() goes on). `done` runs when all answers are there. Returns 0,
 * or an error number when nothing was sent (`done` does not run). When there is nothing to wait
 * for, `done` runs before this returns.
 */
uint32_t api_tx_execute(struct api_tx *tx, enum api_execute type, uint32_t timeout_ms,
                        api_tx_done done, void *context);

/* For an outcome API_UNKNOWN: asks the cluster; `done` runs when it is known or the time is up.
 * Results as above. */
uint32_t api_tx_ask(struct api_tx *tx, uint32_t timeout_ms, api_tx_done done, void *context);

enum api_outcome api_tx_outcome(const struct api_tx *tx);
bool api_tx_in_flight(const struct api_tx *tx);
bool api_tx_changed(const struct api_tx *tx);            /* One of its operations is not a read. */
uint32_t api_tx_error(const struct api_tx *tx);          /* What ended it, 0 = nothing. */
struct api_op *api_tx_error_op(const struct api_tx *tx); /* NULL = no single operation. */
/* ERR_TC_OPERATIONS_LIMIT, ERR_TRANSACTION_TOO_BIG: so many operations, or changes, fit into a
 * transaction; else 0. */
uint32_t api_tx_error_fits(const struct api_tx *tx);
/* ERR_UNIQUE_DUPLICATE: the name of the unique index, else "". Valid as long as the operation's
 * table. */
const char *api_tx_error_index(const struct api_tx *tx);
struct api_op *api_tx_first(const struct api_tx *tx);
uint64_t api_tx_epoch(const struct api_tx *tx);
bool api_tx_durable(
    const struct api_tx *tx); /* Committed, and known to be on disk on all replicas. */
uint64_t api_tx_id(const struct api_tx *tx);
uint32_t api_tx_node(const struct api_tx *tx);
struct api_client *api_tx_client(const struct api_tx *tx);
/* Names the coordinator's node before the first execute (tests); 0 = choose by key. */
void api_tx_prefer(struct api_tx *tx, uint32_t node);

/* ---- Durability ---- */

typedef void (*api_durable_done)(void *context, uint32_t error);
/*
 * Waits until everything up to `epoch` survives the loss of the whole cluster. 0 = accepted, else
 * the error number and `done` will not run. Another node is asked when one is lost; when all are
 * lost, one that comes back: ERR_EPOCH_LOST when the epoch was lost with them.
 */
uint32_t api_wait_durable(struct api_client *client, uint64_t epoch, uint32_t timeout_ms,
                          api_durable_done done, void *context);
/* Known without asking. */
bool api_epoch_is_durable(const struct api_client *client, uint64_t epoch);
