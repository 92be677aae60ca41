/* event_log.h -- what a data node keeps and writes down of its events. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* CMVMI answers with an EVENT_LOG_REP for each event, the oldest first, and then EVENT_LOG_CONF. */
struct event_log_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(event_log_req, 1);
struct event_log_rep {
    uint32_t sender_data;
    /* Milliseconds since the event: hosts have clocks of their own. UINT32_MAX: or longer. */
    uint32_t age_ms;
    uint32_t type; /* From here on the words of EVENT_REP; section 0 is as there, too. */
    uint32_t node;
    uint32_t data[12];
};
SIGNAL_STRUCT(event_log_rep, 16);
struct event_log_conf {
    uint32_t sender_data;
    uint32_t count;
};
SIGNAL_STRUCT(event_log_conf, 2);

/* Events of the category (250..262) up to this threshold (0..15) go to the node's own log, too,
 * until the node ends. */
struct set_loglevel_ord {
    uint32_t category;
    uint32_t level;
};
SIGNAL_STRUCT(set_loglevel_ord, 2);
