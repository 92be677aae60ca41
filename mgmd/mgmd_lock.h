/* mgmd_lock.h -- one server for each node id of a configuration directory. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mgmd_lock {
    int fd; /* 0: there is none; standard input is never closed. */
    char path[1200];
};

/* Locks this node's files in `directory`, which ends with a slash, before anything of them is read
 * for a change. A server that is just ending is waited for. 0, and `why` is "" or a warning: the
 * server goes on without a lock; or -1 with the reason: another process has it, or may have it, or
 * what has the name is no lock file. */
int mgmd_lock_take(struct mgmd_lock *lock, const char *directory, uint32_t node, char *why,
                   size_t size);
/* This server ends soon: who starts now waits for that. Nothing happens without a lock. */
void mgmd_lock_ends(struct mgmd_lock *lock);
/* The last that a server does with its directory. Nothing happens without a lock. */
void mgmd_lock_free(struct mgmd_lock *lock);
