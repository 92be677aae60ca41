/* move_passes.c -- how often ndb_move_data reads the source: until nothing may be left in it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "tools/move_passes.h"
#include "tools/tool_durable.h"
#include "tools/tool_progress.h"

/* One scan of the source, and its moves are on disk. 1: it has met no row, and the cluster was not
 * lost meanwhile; 0: there may be more; -1: printed. */
static int whole_pass(struct move_passes *passes)
{
    uint32_t lives = ndb_connection_lives(passes->tool->connection);
    uint64_t before = passes->moved;
    ndb_error_t error = {0};
    int result = passes->pass(passes, &error);

    bool whole = result == 1;
    if (whole) result = tool_durable(passes->tool, &passes->epoch, &error);
    bool lost = lives != ndb_connection_lives(passes->tool->connection);
    if (lost) tool_progress_end();
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
    tool_progress_end();
    if (result == 0)
        (void)fprintf(
            stderr,
            "Others insert rows into %s as fast as they are moved; run it again when they do not\n",
            passes->source);
    return result == 1;
}
