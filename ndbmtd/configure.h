/* configure.h -- what the node is, from the cluster's configuration, and whether it fits into the
 * machine. Private to ndbmtd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct process;

/* --- machine_memory.c --- */
/* How much memory there is, in bytes; UINT64_MAX = that sets no limit. */
struct memory_room {
    uint64_t machine; /* Memory of the machine, which all data nodes of the host share. */
    uint64_t shared;  /* What control groups allow that several data nodes may be in. */
    uint64_t own; /* What the control group of a service allows, which is its data node's own. */
};
void machine_memory(struct memory_room *room);
/* The same of control groups: `groups` is /proc/self/cgroup, `mounts` /sys/fs/cgroup. */
void cgroup_memory(const char *groups, const char *mounts, struct memory_room *room);

/* --- configure.c --- */
/* node_config from the cluster's configuration. 0, or -1 with the reason in `why`. */
int configure_node(struct process *process, char *why, size_t why_size);
/* Do DataMemory, and all that the data nodes of the host may use, fit into `room`, NULL: this
 * machine's? 0; -1: DataMemory is more than the machine has; 1: the node works until what is
 * allowed is used up. With a sentence in `why`. */
int memory_fits(const struct process *process, const struct memory_room *room, char *why,
                size_t why_size);
