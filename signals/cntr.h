/* cntr.h -- NDBCNTRs start and stop the cluster together. See docs/protocols/start.md. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "signals/gsn.h"

/*
 * After phase 1, to the president's NDBCNTR: may I start? CONF to all when all members have asked.
 * A node that loses a member while starting leaves the incarnation; a request of a left incarnation
 * is not answered any more.
 */
struct cntr_start_req {
    uint32_t incarnation;
};
SIGNAL_STRUCT(cntr_start_req, 1);
struct cntr_start_conf {
    uint32_t incarnation;
    uint32_t start_type; /* enum start_type */
};
SIGNAL_STRUCT(cntr_start_conf, 2);

/* Meeting point: "I have reached the end of phase `point`" to the president; GO to all when all
 * members have. */
struct cntr_waitrep {
    uint32_t incarnation;
    uint32_t point;
};
SIGNAL_STRUCT(cntr_waitrep, 2);
struct cntr_gorep {
    uint32_t incarnation;
    uint32_t point;
};
SIGNAL_STRUCT(cntr_gorep, 2);

/* To all members: the sender is started. */
struct cntr_started_rep {
    uint32_t incarnation;
};
SIGNAL_STRUCT(cntr_started_rep, 1);

/*
 * To all members: the sender stops and has reached this level. With STOP_SYSTEM the receiver stops
 * too; nobody leaves before all have reached START_STOPPING_4 or the time for it is over.
 */
struct cntr_stop_rep {
    uint32_t flags; /* STOP_... of management.h */
    uint32_t level; /* enum start_level */
};
SIGNAL_STRUCT(cntr_stop_rep, 2);
