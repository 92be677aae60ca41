/* trix.h -- TRIX: gives the rows of a table in use their entries in a new unique index. Signals in
 * signals/trix.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Makes instance 0 (the only one) on the main thread. Only while the node is being built. */
struct block *trix_create(struct thread *thread, uint32_t instance);
