/* tool_durable.c -- waits until what a tool has committed survives the loss of all data nodes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/tool_durable.h"

#include "service/wait_told.h"
#include "values/errors.h"

#define ASK_MS     1000u /* Then it is looked for the reason. */
#define ASKED_MOST 60u

uint64_t tool_newer_epoch(uint64_t kept, uint64_t epoch)
{
    bool newer = epoch > kept || tool_epoch_life(epoch) != tool_epoch_life(kept);

    return epoch != 0 && newer ? epoch : kept;
}

/* 0, or -1 with the error of the ndb_t. */
static int wait_and_tell(const struct tool *tool, uint64_t epoch)
{
    struct wait_told *wait = wait_told_begin(tool->name);
    int result = -1;

    for (uint32_t i = 0; i < ASKED_MOST && result != 0; i++) {
        wait_told_for(wait, ndb_connection_ready_nodes(tool->connection) == 0
                                ? "a data node: none can be reached (ndb_mgm: SHOW)"
                                : "the disks of the data nodes (ndb_mgm: ALL REPORT CHECKPOINT)");
        result = ndb_wait_durable(tool->ndb, epoch, ASK_MS);
        if (result != 0 && ndb_error(tool->ndb)->code != ERR_REQUEST_TIMEOUT) break;
    }
    wait_told_end(wait);
    return result;
}

int tool_durable(const struct tool *tool, uint64_t *epoch, ndb_error_t *error)
{
    if (*epoch == 0 || wait_and_tell(tool, *epoch) == 0) {
        *epoch = 0;
        return 1;
    }
    *error = *ndb_error(tool->ndb);
    error->detail = "";
    switch (error->code) {
    case ERR_NO_FILES_NOT_DURABLE:
        *epoch = 0;
        return 1;
    case ERR_EPOCH_LOST:
    case ERR_EPOCH_FORGOTTEN:
        *epoch = 0;
        return 0;
    case ERR_REQUEST_TIMEOUT:
        return 0;
    default:
        if (error->status == NDB_STATUS_TEMPORARY) return 0;
        tool_print_error(error);
        return -1;
    }
}
