/* lcpr.h -- LCPREADER: reads the local checkpoints of one LDM when the cluster starts. Signals in
 * signals/lcp.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Makes instance 1.. in its LDM's thread. Only while the node is being built. */
struct block *lcpr_create(struct thread *thread, uint32_t instance);

/* Bytes of files that a RESTORE_FRAG_REQ under way has used up, for a report. */
uint64_t lcpr_bytes(const struct block *block);
