/* copy_pace.h -- how much of a node a return may take while others use it: the copy of rows, and
 * the checkpoint behind it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * Transactions say by their number whether there is room: the work listens first how many there are
 * without it. While there are as many it takes twice as much after each period, and half as much
 * when they have become clearly fewer. So it sees all that it costs them, at this node, at the
 * other one, and between, and leaves them about three quarters at least. Each LDM has a pace, which
 * its thread alone uses.
 */
#define COPY_PACE_MS      100u /* Length of a period. */
#define COPY_PACE_LISTEN  2u   /* Number of periods at the beginning in which it listens. */
#define COPY_PACE_FIRST   8u   /* The pace after those. */
#define COPY_PACE_MAX     256u
#define COPY_PACE_FREE    UINT32_MAX /* The pace when there was no request for COPY_PACE_BUSY_MS. */
#define COPY_PACE_BUSY_MS 20u

struct copy_pace {
    uint32_t pace;       /* 1..COPY_PACE_MAX: times the least share; 0: it listens. */
    uint32_t listened;   /* Number of periods in which it has listened. */
    uint32_t usual;      /* Requests that a period usually has. */
    uint32_t requests;   /* Count of requests when the period began. */
    uint64_t begin_ms;   /* When the period began; 0: none has. */
    uint32_t seen;       /* Count of requests at the last look. */
    uint64_t busy_until; /* Time until which the node counts as in use, in milliseconds. */
};

/* To be called again and again while there is such work; `requests` counts all that were ever
 * executed, modulo 2^32. The pace grows no further than `most`, at which the work goes as fast as
 * it can, so that half of it is less. After a second without a call, or without requests, all is
 * learnt anew. Returns the pace, 0: it listens, or COPY_PACE_FREE. */
uint32_t copy_pace_look(struct copy_pace *pace, uint64_t now_ms, uint32_t requests, uint32_t most);
