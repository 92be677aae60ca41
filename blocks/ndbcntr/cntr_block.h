/* cntr_block.h -- starts and stops the node's blocks, in step with the other nodes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/*
 * Makes instance 0 (the only one) on the main thread. Only while the node is being built. The node
 * begins to start by itself when its threads run; with config->no_start it waits for START_ORD
 * before phase 0.
 */
struct block *cntr_create(struct thread *thread, uint32_t instance);
