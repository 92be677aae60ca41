/* tc_commit.h -- the trains that commit and complete transactions; what clients are told of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbtc/key/tc_trans.h"
#include "signals/lqhkey.h"

struct tc_connect;

#define TC_TRAINS 8u /* Trains being collected at the same time: two per LQH. */

/* Entries for one destination, until they are sent. */
struct tc_train {
    struct block *block;
    uint32_t gsn;
    uint32_t receiver;
    uint32_t flags;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t count;
    struct train_entry entry[TRAIN_ENTRIES_MAX];
};

/* What a client is told about a commit. */
struct tc_committed {
    uint32_t flags; /* enum tc_trans_flags: which answers are due. */
    uint32_t transid1;
    uint32_t transid2;
    uint32_t gci_hi;
    uint32_t gci_lo;
    uint32_t level; /* KEYCONF_DURABLE, or 0 */
};

/* tc_commit.c */
void tc_op_committed(struct tc *tc, struct tc_op *op); /* All its replicas have committed it. */
void tc_op_completed(struct tc *tc, struct tc_op *op);
void tc_exec_TC_COMMITREQ(struct block *block, const struct signal *sig);
void tc_exec_COMMITTED(struct block *block, const struct signal *sig);
void tc_exec_COMPLETED(struct block *block, const struct signal *sig);
void tc_commit_begin(struct tc *tc, struct tc_trans *trans);
void tc_commit_start(struct tc *tc, struct tc_trans *trans); /* It has the current epoch. */
void tc_commit_answer(struct tc *tc, const struct tc_connect *connect,
                      const struct tc_committed *committed);
void tc_commit_step(struct tc *tc, struct tc_trans *trans);
void tc_complete_step(struct tc *tc, struct tc_trans *trans);
void tc_train_begin(struct tc_train *train, struct tc *tc, uint32_t gsn,
                    const struct tc_trans *trans);
void tc_train_add(struct tc_train *train, const struct tc_op *op, uint32_t transid1,
                  uint32_t flags);
void tc_train_send(struct tc_train *train);
void tc_trains_flush(struct tc *tc);
/* The operation that an entry of an answer names, counted as answered; NULL for a forged one. */
struct tc_op *tc_train_answer(struct tc *tc, const struct signal *sig, uint32_t entry,
                              enum tc_trans_state state, enum tc_op_state op_state);
uint32_t tc_train_count(struct tc *tc, const struct signal *sig); /* 0 for a malformed train. */
