/* copy_pace.c -- how fast a node that others use copies rows to one that comes back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/copy_pace.h"

#define FORGET_MS 1000u

/* What is left of the usual requests, in sixteenths, so that the copy may take more, or must take
 * less. Between them it stays as it is. */
#define MORE_FROM  15u
#define LESS_BELOW 13u

static void begin(struct copy_pace *pace, uint64_t now_ms, uint32_t requests)
{
    pace->begin_ms = now_ms;
    pace->requests = requests;
}

/* At pace 1 it is learnt how much is usual; a load that has grown is seen at any. */
static void learn(struct copy_pace *pace, uint32_t done)
{
    if (pace->usual == 0)
        pace->usual = done;
    else if (pace->pace == 1 || done > pace->usual)
        pace->usual = (uint32_t)((pace->usual * 3ull + done) / 4u);
}

uint32_t copy_pace_look(struct copy_pace *pace, uint64_t now_ms, uint32_t requests)
{
    uint64_t elapsed = now_ms - pace->begin_ms;
    if (pace->pace == 0 || elapsed >= FORGET_MS) {
        *pace = (struct copy_pace){.pace = 1};
        begin(pace, now_ms, requests);
        return 1;
    }
    if (elapsed < COPY_PACE_MS) return pace->pace;
    uint32_t done = (uint32_t)((uint64_t)(requests - pace->requests) * COPY_PACE_MS / elapsed);
    begin(pace, now_ms, requests);
    uint64_t left = done * 16ull;
    if (left >= (uint64_t)pace->usual * MORE_FROM) {
        if (pace->pace < COPY_PACE_MAX) pace->pace *= 2u;
    } else if (left < (uint64_t)pace->usual * LESS_BELOW && pace->pace > 1) {
        pace->pace /= 2u;
    }
    learn(pace, done);
    return pace->pace;
}
