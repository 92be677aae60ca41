/* tc_copies.h -- copies of fully replicated tables: changed with their rows, read when near. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

struct tc;
struct tc_table;

/* tc_copies.c */
void tc_exec_FIRE_COPY_ORD(struct block *block, const struct signal *sig);
/* The fragment with a partition's rows that the own node has, or the partition itself. */
uint32_t tc_near_fragment(const struct tc *tc, const struct tc_table *table, uint32_t partition);
