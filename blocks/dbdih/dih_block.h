/* dih_block.h -- distribution: node groups, fragments of tables, hash maps. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"

/* Makes instance 0 (the only one) on the main thread. Only while the node is being built. */
struct block *dih_create(struct thread *thread, uint32_t instance);

/* For the process, before there is a node: the names of the system files, NULL behind the last one;
 * and the cluster that one is of, by its first bytes, if it is a whole one of this node; else 0. */
const char *dih_sysfile_name(uint32_t copy);
uint64_t dih_sysfile_cluster(const void *bytes, size_t size, uint32_t copy, uint32_t node);
