/* tool_durable.h -- waits until what a tool has committed survives the loss of all data nodes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/tool_common.h"

/* The life of the cluster that an epoch belongs to (ndb_transaction_epoch). */
static inline uint32_t tool_epoch_life(uint64_t epoch)
{
    return (uint32_t)epoch >> 16; /* Bits 16 to 31 of its lower half. */
}

/* The newer epoch of two; those of different lives of the cluster have no order, and the later told
 * one counts. */
uint64_t tool_newer_epoch(uint64_t kept, uint64_t epoch);

/* Waits a minute at most until the epoch is on disk, and tells why it takes longer than a second.
 * *epoch becomes 0 when there is nothing left to ask for; 0 also
 * means that nothing was committed. 1: it is on disk, or the cluster keeps nothing there; 0: ask
 * again, or it is lost and *epoch is 0, and *error says so; -1: another error, which is printed. */
int tool_durable(const struct tool *tool, uint64_t *epoch, ndb_error_t *error);
