/* copy_pace.c -- how much of a node a return may take while others use it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/failure/copy_pace.h"

#define FORGET_MS 1000u

/* The copy may take more when so many sixteenths of the usual requests are left, and must take less
 * when fewer than LESS_BELOW are. Between them it stays as it is. */
#define MORE_FROM  14u
#define LESS_BELOW 12u

static void listen(struct copy_pace *pace, uint32_t done)
{
    if (done > pace->usual) pace->usual = done;
    if (++pace->listened == COPY_PACE_LISTEN) pace->pace = COPY_PACE_FIRST;
}

/* The least share costs next to nothing: what is done then is usual. A load that has grown is seen
 * at any pace. */
static void learn(struct copy_pace *pace, uint32_t done)
{
    if (pace->pace == 1 || done > pace->usual)
        pace->usual = (uint32_t)((pace->usual * 3ull + done) / 4u);
}

static void adapt(struct copy_pace *pace, uint32_t done)
{
    uint64_t left = done * 16ull;
    if (left >= (uint64_t)pace->usual * MORE_FROM) {
        if (pace->pace < COPY_PACE_MAX) pace->pace *= 2u;
    } else if (left < (uint64_t)pace->usual * LESS_BELOW && pace->pace > 1) {
        pace->pace /= 2u;
    }
    learn(pace, done);
}

static bool is_busy(struct copy_pace *pace, uint64_t now_ms, uint32_t requests)
{
    if (pace->seen != requests) pace->busy_until = now_ms + COPY_PACE_BUSY_MS;
    pace->seen = requests;
    return now_ms < pace->busy_until;
}

/* A period is over, or there was none. */
static void next_period(struct copy_pace *pace, uint64_t now_ms, uint32_t requests)
{
    uint64_t elapsed = now_ms - pace->begin_ms;
    uint32_t done = (uint32_t)((uint64_t)(requests - pace->requests) * COPY_PACE_MS / elapsed);
    if (pace->begin_ms == 0 || elapsed >= FORGET_MS)
        pace->pace = pace->listened = pace->usual = 0;
    else if (pace->pace == 0)
        listen(pace, done);
    else
        adapt(pace, done);
    pace->begin_ms = now_ms;
    pace->requests = requests;
}

uint32_t copy_pace_look(struct copy_pace *pace, uint64_t now_ms, uint32_t requests, uint32_t most)
{
    if (!is_busy(pace, now_ms, requests)) return COPY_PACE_FREE;
    if (now_ms - pace->begin_ms >= COPY_PACE_MS) next_period(pace, now_ms, requests);
    if (pace->pace > most) pace->pace = most;
    return pace->pace;
}
