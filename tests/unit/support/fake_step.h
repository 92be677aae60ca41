/* fake_step.h -- a fake cluster signal by signal, so that a node can die after any of its own. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "tests/unit/support/fake_cluster.h"

/* One signal of each of the node's threads; how many there were. */
uint32_t fc_run_one(struct fake_cluster *fc, uint32_t id);

/* Until `victim` has executed so many signals; false: all came to rest before. No time passes. */
bool fc_step(struct fake_cluster *fc, uint32_t nodes, uint32_t victim, uint32_t signals);
