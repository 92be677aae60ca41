/* lqh.h -- DBLQH: executes operations and scans on the fragments of one LDM instance. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/*
 * Makes the instance `instance` (1..) in `thread`; DBACC and DBTUP of the same number must be made
 * in the same thread before READ_CONFIG_REQ. Only while the node is being built.
 */
struct block *lqh_create(struct thread *thread, uint32_t instance);

/* How many records an instance holds; all but tables are 0 when no transaction or scan is open. For
 * checks. */
struct lqh_usage {
    uint32_t operations;
    uint32_t scans;
    uint32_t segments; /* Data of operations that wait for a lock. */
    uint32_t tables;
    uint32_t copies; /* Fragments that others copy from here. */
};
void lqh_usage_get(const struct block *block, struct lqh_usage *usage);

/*
 * How much of its thread the return of a node may take now, times the least share that the work in
 * question has: copy_pace.h says which numbers there are. To be called again and again while there
 * is such work: copying from here or to here, or the checkpoint behind a copy. What one has learnt
 * of the transactions the next one goes on with.
 */
uint32_t lqh_copy_pace(struct block *block, uint32_t most);
