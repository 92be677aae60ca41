/* event_text.h -- what an event is called, how important it is, and how it reads. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ndb/mgm.h"

#define EVENT_WORDS 12u

struct event_kind {
    uint32_t type;
    const char *name;
    enum ndb_mgm_category category;
    uint32_t threshold; /* A listener gets it when its level is at least this. */
    enum ndb_mgm_severity severity;
};

/* The type's entry; unknown types read as an InfoEvent. Never NULL. */
const struct event_kind *event_kind(uint32_t type);

/* One line without time and node. `text` is the free text of InfoEvent and WarningEvent, or "". */
void event_format(uint32_t type, const uint32_t data[EVENT_WORDS], const char *text, char *line,
                  size_t size);
