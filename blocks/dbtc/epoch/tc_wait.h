/* tc_wait.h -- clients that wait until an epoch is durable. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;

#define TC_WAITS_MAX 8192u /* Clients' waits for durability; a node has 4711 client objects. */

/* A client that waits until a GCI is durable. */
struct tc_wait {
    struct pool_record pool;
    uint32_t owner; /* Block reference of the client. */
    uint32_t sender_data;
    uint32_t gci;
    bool all; /* It waits for all that is committed: the GCI may not have begun. */
};

/* tc_wait.c */
void tc_exec_WAIT_DURABLE_REQ(struct block *block, const struct signal *sig);
void tc_wait_walk(struct tc *tc);
void tc_wait_step(struct tc *tc, uint32_t index);
