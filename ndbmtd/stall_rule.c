/* stall_rule.c -- tells whether a thread that does not finish its round is stuck or starved. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "ndbmtd/stall_rule.h"

#define USED_PART 8u /* Who has a processor uses more than this part of an interval. */

/*
 * Rounds take microseconds of a processor. One that goes on for a part of an interval of what the
 * thread itself used is an endless one, however rarely it gets a processor; one that does not get
 * any is not. A thread that is not able to run waits for something that does not come, unless
 * somebody starved has it.
 */
static bool is_starved(const struct stall *stall, const struct stall_seen *seen,
                       uint32_t interval_ms)
{
    return seen->waits ? stall->used_ms * USED_PART < interval_ms : seen->others;
}

enum stall_verdict stall_check(struct stall *stall, const struct stall_seen *seen,
                               uint32_t interval_ms, uint32_t sleep_checks)
{
    uint64_t used = seen->cpu_ms > stall->cpu_ms ? seen->cpu_ms - stall->cpu_ms : 0;
    stall->cpu_ms = seen->cpu_ms;
    if (seen->rounds != stall->rounds) {
        *stall = (struct stall){.rounds = seen->rounds, .cpu_ms = seen->cpu_ms};
        return STALL_NONE;
    }
    stall->used_ms += used;
    /* A thread with sockets also counts as sleeping while a callback runs: asleep is no excuse for
     * ever. */
    stall->starved = false;
    if (seen->asleep && stall->away < sleep_checks) {
        stall->away++;
        return STALL_NONE;
    }
    if (is_starved(stall, seen, interval_ms)) {
        stall->starved = seen->waits; /* Two that wait do not excuse each other. */
        return STALL_STARVED;
    }
    stall->used_ms = 0;
    stall->stuck++;
    return STALL_STUCK;
}
