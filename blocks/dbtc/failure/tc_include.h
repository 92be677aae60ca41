/* tc_include.h -- lost nodes come back: they are in the chains. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct node_lost_rep;
struct tc;

/* Lost nodes come back; see docs/protocols/node_restart.md. */
struct tc_include {
    struct node_mask nodes; /* Nodes that wait until all failures have been dealt with. */
};

/* tc_include.c */
void tc_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig);
void tc_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig);
void tc_include_try(struct tc *tc); /* A failure has been dealt with. */
void tc_include_lost(struct tc *tc, const struct node_lost_rep *rep);
void tc_include_absent(struct tc *tc, uint32_t node); /* The dictionary says that it is absent. */
