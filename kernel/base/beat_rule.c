/* beat_rule.c -- how much longer than usual may a living node be silent? Pure functions. */
/* SPDX-License-Identifier: MIT */
#include "kernel/base/beat_rule.h"

#define LATE_MAX_MS 60000u
#define GROWTH      4u /* In each stage the next delay may be so many times the longest. */
/* Starved: one of so many is late by more than this part of an interval, and than timers are. */
#define STARVED_OF      64u
#define STARVED_PART    4u
#define STARVED_LATE_MS 16u
#define STARVED_MIN     8u /* So few are late on any machine. */

/* The newest bucket, with that delay in it. */
static struct beat_bucket *note(struct beat_window *window, uint64_t now_ms, uint64_t late_ms)
{
    uint32_t late = late_ms < LATE_MAX_MS ? (uint32_t)late_ms : LATE_MAX_MS;
    uint64_t number = now_ms / BEAT_BUCKET_MS + 1u;
    if (number > window->newest + BEAT_BUCKETS) window->newest = number - BEAT_BUCKETS;
    while (window->newest < number)
        window->bucket[++window->newest % BEAT_BUCKETS] = (struct beat_bucket){0};
    struct beat_bucket *bucket = &window->bucket[window->newest % BEAT_BUCKETS];
    if (late > bucket->max_ms) bucket->max_ms = late;
    return bucket;
}

void beat_note(struct beat_window *window, uint64_t now_ms, uint64_t late_ms, uint32_t interval_ms)
{
    struct beat_bucket *bucket = note(window, now_ms, late_ms);
    if (bucket->count == UINT16_MAX) return;
    bucket->count++;
    if (late_ms > STARVED_LATE_MS && late_ms > interval_ms / STARVED_PART) bucket->late++;
}

void beat_answer(struct beat_window *window, uint64_t now_ms, uint64_t after_ms)
{
    (void)note(window, now_ms, after_ms);
}

struct beat_figures beat_figures(const struct beat_window *window, uint64_t now_ms)
{
    uint64_t number = now_ms / BEAT_BUCKET_MS + 1u;
    struct beat_figures all = {0};
    for (uint64_t at = window->newest; at > 0 && at + BEAT_BUCKETS > number; at--) {
        if (window->newest - at == BEAT_BUCKETS) break;
        const struct beat_bucket *bucket = &window->bucket[at % BEAT_BUCKETS];
        if (bucket->max_ms > all.spread_ms) all.spread_ms = bucket->max_ms;
        all.count += bucket->count;
        all.late += bucket->late;
    }
    return all;
}

uint32_t beat_patience_max_ms(uint32_t interval_ms)
{
    return interval_ms < BEAT_PATIENCE_MS / BEAT_INTERVALS_MAX ? BEAT_INTERVALS_MAX * interval_ms
                                                               : BEAT_PATIENCE_MS;
}

uint32_t beat_patience_ms(struct beat_figures figures, uint32_t interval_ms)
{
    uint32_t most = beat_patience_max_ms(interval_ms);
    if (figures.late >= STARVED_MIN && figures.late >= figures.count / STARVED_OF) return most;
    if (figures.spread_ms <= interval_ms) return 0;
    uint32_t beyond = figures.spread_ms - interval_ms;
    return beyond < most / GROWTH ? GROWTH * beyond : most;
}
