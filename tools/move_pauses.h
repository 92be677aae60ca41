/* move_pauses.h -- how often, and after which pauses, ndb_move_data tries again. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <ndb/error.h>

struct move_pauses {
    uint32_t tries_max; /* 0: no limit. */
    uint32_t delay_min_ms, delay_max_ms;
    bool verbose;      /* Each try is told. */
    uint64_t since_ms; /* When the first try since something was done failed; 0: none has. */
    uint64_t told_ms;  /* When that was told last. */
    int told;          /* The error that was told last; 0: none since something was done. */
};

/* "10,1000,60000": tries, the shortest and the longest pause. False: it is nothing like that; the
 * pauses are as before. */
bool move_pauses_parse(struct move_pauses *pauses, const char *text);
/* Waits before another try, each time twice as long. When that goes on for more than a second, with
 * this pause, it tells of it, and so when the reason changes, but not more than once a second.
 * False: there were enough tries, and *error is printed. */
bool move_pause(struct move_pauses *pauses, const ndb_error_t *error, uint32_t *tries);
/* What was tried again is done. */
void move_pauses_end(struct move_pauses *pauses);
