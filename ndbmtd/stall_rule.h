/* stall_rule.h -- is a thread that does not finish its round stuck, or starved? Pure function. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* What a check sees of a thread. */
struct stall_seen {
    uint64_t rounds;
    uint64_t cpu_ms; /* That it has used since it began. */
    bool asleep;     /* It says that it sleeps, without work. */
    bool waits;      /* It could run: it has a processor, or waits for one. */
    bool others;     /* Another thread of this process is starved, which may hold what it needs. */
};

/* What is known of it. Zeroed: nothing. */
struct stall {
    uint64_t rounds;
    uint64_t cpu_ms;  /* At the last check. */
    uint64_t used_ms; /* In this round, behind the last check that counted. */
    uint32_t stuck;   /* Checks that counted. */
    uint32_t away;    /* Checks that found it asleep. */
    bool starved;     /* The last check found it without a processor. */
};

enum stall_verdict {
    STALL_NONE = 0, /* It moves, or may sleep. */
    STALL_STARVED,  /* It gets no processor: nothing is wrong with it. */
    STALL_STUCK,
};

/* A check, `interval_ms` behind the last one; `sleep_checks`: so many may find it asleep. */
enum stall_verdict stall_check(struct stall *stall, const struct stall_seen *seen,
                               uint32_t interval_ms, uint32_t sleep_checks);
