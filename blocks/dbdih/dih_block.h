/* dih_block.h -- distribution: node groups, fragments of tables, hash maps. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Makes instance 0 (the only one) on the main thread. Only while the node is being built. */
struct block *dih_create(struct thread *thread, uint32_t instance);
