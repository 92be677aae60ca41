/* beat_rule.h -- how much longer than usual may a living node be silent? Pure functions. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdint.h>

#define BEAT_BUCKETS   16u
#define BEAT_BUCKET_MS 1000u
/* More than these does patience never add to one stage: in heartbeat intervals, and in all. */
#define BEAT_INTERVALS_MAX 14u
#define BEAT_PATIENCE_MS   1000u

/* What came in one second. */
struct beat_bucket {
    uint32_t max_ms; /* The longest delay. */
    uint16_t count;
    uint16_t late; /* So many of them were late enough to tell that processors are wanted. */
};

/* The last seconds. Zeroed: nothing came. */
struct beat_window {
    uint64_t newest; /* Number of the newest bucket, from 1; it is at newest % BEAT_BUCKETS. */
    struct beat_bucket bucket[BEAT_BUCKETS];
};

/* What a window holds. */
struct beat_figures {
    uint32_t spread_ms; /* The longest delay: rare ones are what kills, so no mean is asked for. */
    uint32_t count;
    uint32_t late;
};

/* Something that comes each `interval_ms` came late by `late_ms` (0: in time). */
void beat_note(struct beat_window *window, uint64_t now_ms, uint64_t late_ms, uint32_t interval_ms);

/* An answer came after so long: a delay like others. That many take long says that the network is
 * slow, and not that processors are wanted. */
void beat_answer(struct beat_window *window, uint64_t now_ms, uint64_t after_ms);

struct beat_figures beat_figures(const struct beat_window *window, uint64_t now_ms);

/* How much longer each stage of the detection takes. 0 as long as nothing is late by more than an
 * interval; but the most where many are late by a part of it. That is how it looks where more wants
 * to run than there are processors: whoever has used more than its share of them waits until all
 * others have had theirs, for a second perhaps, and no delay of before has told of that. */
uint32_t beat_patience_ms(struct beat_figures figures, uint32_t interval_ms);

/* The most that beat_patience_ms() says. */
uint32_t beat_patience_max_ms(uint32_t interval_ms);
