/* beat_rule.c -- how much longer than usual may a living node be silent? Pure functions. */
/* SPDX-License-Identifier: MIT */
#include "kernel/base/beat_rule.h"

#define LATE_MAX_MS 60000u
#define GROWTH      4u /* In each stage the next delay may be so many times the longest. */

void beat_note(struct beat_window *window, uint64_t now_ms, uint64_t late_ms)
{
    uint32_t late = late_ms < LATE_MAX_MS ? (uint32_t)late_ms : LATE_MAX_MS;
    uint64_t number = now_ms / BEAT_BUCKET_MS + 1u;
    if (number > window->newest + BEAT_BUCKETS) window->newest = number - BEAT_BUCKETS;
    while (window->newest < number)
        window->max_ms[++window->newest % BEAT_BUCKETS] = 0;
    uint32_t *max = &window->max_ms[window->newest % BEAT_BUCKETS];
    if (late > *max) *max = late;
}

uint32_t beat_spread_ms(const struct beat_window *window, uint64_t now_ms)
{
    uint64_t number = now_ms / BEAT_BUCKET_MS + 1u;
    uint32_t max = 0;
    for (uint64_t at = window->newest; at > 0 && at + BEAT_BUCKETS > number; at--) {
        if (window->newest - at == BEAT_BUCKETS) break;
        if (window->max_ms[at % BEAT_BUCKETS] > max) max = window->max_ms[at % BEAT_BUCKETS];
    }
    return max;
}

uint32_t beat_patience_max_ms(uint32_t interval_ms)
{
    return interval_ms < BEAT_PATIENCE_MS / BEAT_INTERVALS_MAX ? BEAT_INTERVALS_MAX * interval_ms
                                                               : BEAT_PATIENCE_MS;
}

uint32_t beat_patience_ms(uint32_t spread_ms, uint32_t interval_ms)
{
    uint32_t most = beat_patience_max_ms(interval_ms);
    if (spread_ms <= interval_ms) return 0;
    uint32_t beyond = spread_ms - interval_ms;
    return beyond < most / GROWTH ? GROWTH * beyond : most;
}
