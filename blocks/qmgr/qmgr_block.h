/* qmgr_block.h -- membership: who is in the cluster, who may speak, who is alive. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Makes instance 0 (the only one) on the main thread. Only while the node is being built. */
struct block *qmgr_create(struct thread *thread, uint32_t instance);
