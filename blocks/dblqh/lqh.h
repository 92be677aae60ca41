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

/* How many requests and steps of scans the instance has had, modulo 2^32. */
uint32_t lqh_requests(const struct block *block);
