/* schema_again.h -- clients that make their tables while data nodes come back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <time.h>
#include <ndb/ndb.h>

#define SCHEMA_LIMIT_S 60 /* Limit for all changes that a client makes before it begins its work. */

#define SCHEMA_KEPT_OFF 711

/* After a refused change of the schema: whether it may be made again. A node that comes back keeps
 * them off as long as it takes to bring it up; that is no failure, it is over soon. Ends at `end`;
 * every other error ends it at once: a full disk is temporary too. */
static inline bool schema_again(ndb_t *ndb, time_t end)
{
    struct timespec pause = {0, 20000000};
    if (ndb_error(ndb)->code != SCHEMA_KEPT_OFF || time(NULL) > end) return false;
    (void)nanosleep(&pause, NULL);
    return true;
}
