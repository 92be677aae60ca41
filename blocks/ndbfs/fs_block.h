/* fs_block.h -- NDBFS, the node's files: signals in signals/fs.h, helpers for requesters in
 * fs_client.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Makes instance 0 (the only one). Only while the node is being built. */
struct block *fs_create(struct thread *thread, uint32_t instance);
