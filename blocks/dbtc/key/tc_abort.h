/* tc_abort.h -- the end of a transaction that does not commit, and what clients are told of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_connect;
struct tc_trans;

/* What TCROLLBACKREP says. */
struct tc_reason {
    uint32_t error;
    uint32_t api_op;
    uint32_t error_data;
};

/* tc_abort.c */
void tc_exec_TCROLLBACKREQ(struct block *block, const struct signal *sig);
void tc_exec_ABORTED(struct block *block, const struct signal *sig);
void tc_abort_begin(struct tc *tc, struct tc_trans *trans, uint32_t error, uint32_t api_op);
void tc_abort_step(struct tc *tc, struct tc_trans *trans);
/* Ends the transaction if nothing is awaited. */
void tc_abort_done(struct tc *tc, struct tc_trans *trans);
void tc_rollback_rep(struct tc *tc, const struct tc_connect *connect, uint32_t transid1,
                     uint32_t transid2, const struct tc_reason *reason);
