/* tc_drain.h -- all work ends, or that of all clients but one. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;

/* Single user mode: the work of all other clients is to end. */
struct tc_clients {
    uint32_t sender; /* Who gave the last order. */
    uint32_t sender_data;
    uint32_t node;     /* The client node whose work goes on. */
    uint64_t until_ms; /* When the work of the others is ended by force. */
    bool walks;        /* TC_WORK_CLIENTS is on its way. */
    bool found;        /* The walk has seen work of the others. */
    bool anew;         /* Another order has come since the walk began. */
};

/* tc_drain.c */
void tc_drain_step(struct tc *tc);
void tc_exec_TC_DRAIN_REQ(struct block *block, const struct signal *sig);
void tc_drain_clients_step(struct tc *tc, uint32_t index);
void tc_exec_DRAIN_CLIENTS_REQ(struct block *block, const struct signal *sig);
