/* node_blocks.h -- makes all block instances of a node on their threads, and sets it going. For ndbmtd and the simulator. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node.h"

/* Every block instance, on the thread that layout.h says. Once, right after node_create(). */
void node_blocks_create(struct node *node);

/*
 * The first signal: NDBCNTR starts the node. Call on no running thread. `initial`: former data is not wanted;
 * `no_start`: wait for START_ORD.
 */
void node_blocks_start(struct node *node, bool initial, bool no_start);
