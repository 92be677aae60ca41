/* schema_again.h -- clients that make their tables while data nodes come back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <time.h>
#include <ndb/ndb.h>

#define SCHEMA_LIMIT_S 60 /* For all changes that a client makes before it begins its work. */

/* After a refused change of the schema: whether it may be made again. A node that comes back keeps
 * them off (711) as long as it takes to bring it up; that is no failure, it is over soon. Ends at
 * `end`; everything that is not temporary ends it at once. */
static inline bool schema_again(ndb_t *ndb, time_t end)
{
    struct timespec pause = {0, 20000000};
    if (ndb_error(ndb)->status != NDB_STATUS_TEMPORARY || time(NULL) > end) return false;
    (void)nanosleep(&pause, NULL);
    return true;
}
