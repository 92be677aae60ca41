/* dict_block.h -- the dictionary: tables, and the schema transactions that create and drop them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Makes instance 0 (the only one) on the main thread. Only while the node is being built. */
struct block *dict_create(struct thread *thread, uint32_t instance);

/* Tables that are there in whatever state, and whether a schema transaction runs here. For checks
 * from outside. */
struct dict_usage {
    uint32_t tables;
    uint32_t chunks; /* Pieces of schema memory in use. */
    uint32_t busy;
};
void dict_usage_get(const struct block *block, struct dict_usage *usage);
