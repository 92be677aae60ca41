/* tc_outcome.h -- what has become of a transaction whose commit was not answered. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct node_lost_rep;
struct tc;

/* tc_outcome.c */
void tc_outcome_init(struct tc *tc);
void tc_outcome_lost(struct tc *tc, const struct node_lost_rep *rep);
void tc_outcome_joined(struct tc *tc, const struct node_mask *alive);
void tc_outcome_started(struct tc *tc, const struct node_mask *started);
void tc_outcome_step(struct tc *tc, uint32_t ref, uint32_t index);
void tc_exec_OUTCOME_REQ(struct block *block, const struct signal *sig);
void tc_exec_OUTCOME_CONF(struct block *block, const struct signal *sig);
void tc_exec_OUTCOME_REF(struct block *block, const struct signal *sig);
void tc_exec_OUTCOME_ASK_CONF(struct block *block, const struct signal *sig);
