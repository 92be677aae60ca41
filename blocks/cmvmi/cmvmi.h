/* cmvmi.h -- the node's manager: what management servers ask of a data node. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Tag of an io_request that the host hands to node_io_done() with CMVMI as its receiver: the node
 * shall stop in good order. */
#define CMVMI_HOST_STOP 1u

/* Makes instance 0 (the only one) on the main thread. Only while the node is being built. */
struct block *cmvmi_create(struct thread *thread, uint32_t instance);
