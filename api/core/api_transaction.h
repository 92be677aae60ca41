/* api_transaction.h -- what the files share that bring a transaction to its one completion: its
 * record (api_transaction.c), its way out (api_near.c, api_execute.c), the answers (api_answer.c)
 * and its mishaps (api_lost.c, api_outcome.c). */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/core/api_tx_state.h"

static inline uint64_t api_transid_of(uint32_t transid1, uint32_t transid2)
{
    return (uint64_t)transid2 << 32 | transid1;
}

/* api_transaction.c */
/* The transaction of this client with that id, or NULL. */
struct api_tx *api_tx_find(struct api_client *client, uint64_t transid);
/* Lets go of the coordinator's record, rolling back what was begun there. */
void api_tx_leave_connect(struct api_tx *tx);
/* The rollback is on its way already: the record only waits for its answer. */
void api_tx_leave_rolling_back(struct api_tx *tx);

/* Meets each transaction that is there now and still when its turn comes; NULL at the end, which
 * must be reached. */
void api_walk_begin(struct api_client *client, struct api_walk *walk);
struct api_tx *api_walk_next(struct api_client *client, struct api_walk *walk);

/* An operation has its own answer: `error` 0 = its row came. */
void api_op_answered(struct api_op *op, uint32_t error);
/* These three call the application's completion, which may close any transaction. */
void api_tx_check_complete(struct api_tx *tx); /* When nothing is awaited any more. */
void api_tx_finish(struct api_tx *tx);
void api_tx_fail(struct api_tx *tx, uint32_t error, enum api_outcome outcome);
/* The operation's error may be that its table is not the same any more: then it is forgotten. */
void api_tx_stale_table(struct api_tx *tx, struct api_op *op, uint32_t error);

/* api_near.c */
/* Node for the operation: the primary's, else one with a backup, else any; 0 = none is ready. */
uint32_t api_op_node_near(struct api_client *client, struct api_op *op);
/* True when one of its row's nodes is among them. */
bool api_op_replica_lost(struct api_op *op, const struct node_mask *lost);
/* The TC instance of `node` that a committed read goes to. */
uint32_t api_op_read_receiver(struct api_client *client, struct api_op *op, uint32_t node);
/* The node that shall coordinate what begins with this operation: as above, or that of what was
 * begun together with it. */
uint32_t api_coordinator_near(struct api_client *client, struct api_op *op);

/* api_execute.c */
/* Sends what is to be executed, from the beginning. Returns an error code, or 0. */
uint32_t api_tx_begin_batch(struct api_tx *tx);
/* True when the commit was asked for and not answered yet. */
bool api_tx_commit_in_flight(const struct api_tx *tx);
/* The commit by itself. Returns why it could not be sent, or 0. */
uint32_t api_tx_send_commit(struct api_tx *tx);

/* api_lost.c */
/* Does not wait any more until its commit, that another node has told of, is durable. */
void api_tx_leave_durable(struct api_tx *tx);
/* Answers the operations whose rows a lost node may have been about to send. */
void api_tx_give_up_lost_rows(struct api_tx *tx);
/* A locked read's row: the link to a node that may have been about to send it is gone. */
bool api_tx_row_is_lost(const struct api_tx *tx, struct api_op *op);
