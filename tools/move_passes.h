/* move_passes.h -- how often ndb_move_data reads the source: until nothing may be left in it. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scan that has come to its end has not met what others have inserted behind it, nor what came
 * back there because all data nodes were lost before it was on disk. So the source is scanned again
 * until a whole scan, in one life of the cluster, meets no row, with all moves before it on disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/tool_common.h"

/* So many scans may come to their end and have met rows; more of them, and others insert as fast as
 * they are moved. */
#define MOVE_PASSES_MAX 100u

struct move_passes {
    const struct tool *tool;
    const char *source; /* The table's name, for messages. */
    uint64_t moved;     /* Rows; what a loss of all data nodes brought back counts again. */
    uint64_t epoch;     /* The newest commit; 0 = there is none, or all are on disk. */
    uint32_t busy;      /* Scans that came to their end and have met rows. */

    void *context; /* The caller's. */
    /* One scan, which adds to moved and sets epoch. 1: to the end; 0: a temporary error, in *error;
     * -1: another one, which is printed. */
    int (*pass)(struct move_passes *passes, ndb_error_t *error);
    /* Waits before another try. False: there were enough of them, and *error is printed. */
    bool (*pause)(struct move_passes *passes, const ndb_error_t *error);
};

/* Calls pass() until nothing is left. False: there may be rows in the source, and the reason is
 * printed on standard error. */
bool move_passes_run(struct move_passes *passes);
