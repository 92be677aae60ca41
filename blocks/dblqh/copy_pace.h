/* copy_pace.h -- how fast a node that others use copies rows to one that comes back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * Transactions say by their number whether there is room: while as many are executed as when the
 * copy took its least share, it takes twice as much after each period, and half as much when they
 * have become clearly fewer. So it sees all that a copy costs them, at this node, at the other one,
 * and between. What it costs at its least share does not count: that is a few percent.
 * Of one LDM, used by its thread alone.
 */
#define COPY_PACE_MS  100u /* A period. */
#define COPY_PACE_MAX 32u

struct copy_pace {
    uint32_t pace;     /* 1..COPY_PACE_MAX: times the least share; 0: not begun. */
    uint32_t usual;    /* Requests in a period at pace 1; 0: not known yet. */
    uint32_t requests; /* The count at the period's begin, */
    uint64_t begin_ms; /* which was then. */
};

/* To be called while copies go on among transactions; `requests` counts all that were ever
 * executed, modulo 2^32. After a second without a call all is learnt anew. Returns the pace. */
uint32_t copy_pace_look(struct copy_pace *pace, uint64_t now_ms, uint32_t requests);
