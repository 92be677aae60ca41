/* node_blocks.h -- makes all block instances of a node on their threads. For ndbmtd and the
 * simulator. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node.h"

/*
 * Every block instance, on the thread that layout.h says. Once, right after node_create(). The
 * node begins to start by itself when its threads run (with config->no_start it waits for
 * START_ORD).
 */
void node_blocks_create(struct node *node);
