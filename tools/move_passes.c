/* move_passes.c -- how often ndb_move_data reads the source: until nothing may be left in it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "tools/move_passes.h"
#include "tools/tool_common.h"
#include "values/errors.h"

/* Waits until all moves are on disk, so that no loss of the cluster undoes them. 1: they are, or the
 * cluster keeps nothing there; 0: ask again, or some are lost, and *error says so; -1: printed. */
static int keep_moves(struct move_passes *passes, ndb_error_t *error)
{
    if (passes->epoch == 0 || ndb_wait_durable(passes->ndb, passes->epoch, 0) == 0) {
        passes->epoch = 0;
        return 1;
    }
    *error = *ndb_error(passes->ndb);
    error->detail = "";
    switch (error->code) {
    case ERR_NO_FILES_NOT_DURABLE:
        passes->epoch = 0;
        return 1;
    case ERR_EPOCH_LOST:
    case ERR_EPOCH_FORGOTTEN:
        passes->epoch = 0;
        return 0;
    case ERR_REQUEST_TIMEOUT:
        return 0;
    default:
        if (error->status == NDB_STATUS_TEMPORARY) return 0;
        tool_print_error(error);
        return -1;
    }
}

/* One scan of the source, and its moves are on disk. 1: it has met no row, and the cluster was not
 * lost meanwhile; 0: there may be more; -1: printed. */
static int whole_pass(struct move_passes *passes)
{
    uint32_t lives = ndb_connection_lives(passes->connection);
    uint64_t before = passes->moved;
    ndb_error_t error = {0};
    int result = passes->pass(passes, &error);

    bool whole = result == 1;
    if (whole) result = keep_moves(passes, &error);
    bool lost = lives != ndb_connection_lives(passes->connection);
    if (lost && result >= 0)
        (void)fprintf(stderr,
                      "All data nodes were lost meanwhile: rows that came back into %s are "
                      "moved, and counted, again\n",
                      passes->source);
    if (result == 0) return passes->pause(passes, &error) ? 0 : -1;
    if (whole && passes->moved != before) passes->busy++;
    return result == 1 && (lost || passes->moved != before) ? 0 : result;
}

bool move_passes_run(struct move_passes *passes)
{
    int result = 0;

    while (result == 0 && passes->busy < MOVE_PASSES_MAX)
        result = whole_pass(passes);
    if (result == 0)
        (void)fprintf(
            stderr,
            "Others insert rows into %s as fast as they are moved; run it again when they do not\n",
            passes->source);
    return result == 1;
}
