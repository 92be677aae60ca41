/* beat_rule.h -- how much longer than usual may a living node be silent? Pure functions. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdint.h>

#define BEAT_BUCKETS   16u
#define BEAT_BUCKET_MS 1000u
/* More than these does patience never add to one stage: in heartbeat intervals, and in all. */
#define BEAT_INTERVALS_MAX 14u
#define BEAT_PATIENCE_MS   1000u

/* The longest delay of each of the last seconds. Zeroed: none. */
struct beat_window {
    uint64_t newest; /* Number of the newest bucket, from 1; it is at newest % BEAT_BUCKETS. */
    uint32_t max_ms[BEAT_BUCKETS];
};

/* Something came late by `late_ms` (0: in time). */
void beat_note(struct beat_window *window, uint64_t now_ms, uint64_t late_ms);

/* The longest delay of the window: rare ones are what kills, so neither mean nor deviation is asked
 * for. */
uint32_t beat_spread_ms(const struct beat_window *window, uint64_t now_ms);

/* How much longer each stage of the detection takes. 0 as long as nothing is late by more than an
 * interval. */
uint32_t beat_patience_ms(uint32_t spread_ms, uint32_t interval_ms);

/* The most that beat_patience_ms() says. */
uint32_t beat_patience_max_ms(uint32_t interval_ms);
