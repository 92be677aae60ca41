/* memory_ahead.c -- a thread that has memory provided by the system before blocks ask for it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fresh memory costs its first user the time that the system needs to find and clear it: two fifths
 * of the time of reading checkpoints back, measured in a virtual machine. Another CPU does it
 * beside. What is ahead is bounded (ARENA_AHEAD), so an idle node takes little more than it uses.
 */
#include <time.h>
#include "kernel/base/arena.h"
#include "ndbmtd/process.h"

/* How long there may be enough before it looks again: rows come at some 100 MB a second. */
#define REST_NS 20000000L

static void *memory_ahead_main(void *argument)
{
    struct process *process = argument;
    struct arena *arena = node_arena(process->node);
    thread_place_kind(process, THREAD_KIND_IO);
    while (atomic_load(&process->stopping) == 0) {
        const struct timespec rest = {0, REST_NS};
        enum arena_touch touch = arena_touch_ahead(arena);
        if (touch == ARENA_TOUCH_NEVER) break;
        if (touch == ARENA_TOUCH_ENOUGH) nanosleep(&rest, NULL);
    }
    return NULL;
}

int memory_ahead_start(struct process *process)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, memory_ahead_main, process);
    if (error != 0) return error;
    pthread_setname_np(thread, "ndb_memory");
    return pthread_detach(thread);
}
