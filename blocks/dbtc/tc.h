/* tc.h -- DBTC: coordinates transactions and scans of clients. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/*
 * Makes the instance `instance` (1..) in `thread`. Its pools are made at READ_CONFIG_REQ. The
 * reference that clients use is block_ref(node, BLOCK_DBTC, instance). Only while the node is being
 * built.
 */
struct block *tc_create(struct thread *thread, uint32_t instance);

/* How many records a quiet instance still holds; all 0 when every client has released what it had.
 * For checks. */
struct tc_usage {
    uint32_t connects;
    uint32_t transactions;
    uint32_t operations;
    uint32_t scans;
    uint32_t fragment_scans;
    uint32_t tables;
    uint32_t orphans; /* Transactions of lost TCs, and their operations. */
};
void tc_usage_get(const struct block *block, struct tc_usage *usage);
