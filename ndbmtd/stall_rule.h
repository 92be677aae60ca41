/* stall_rule.h -- tells whether a thread that does not finish its round is stuck or starved. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* What a check sees of a thread. */
struct stall_seen {
    uint64_t rounds;
    uint64_t cpu_ms; /* CPU time that it has used since it began. */
    bool asleep;     /* The thread says that it sleeps, without work. */
    bool waits;      /* It could run: it has a processor, or waits for one. */
    bool others;     /* Another thread of this process is starved, which may hold what it needs. */
};

/* What is known of a thread. Zeroed: nothing is. */
struct stall {
    uint64_t rounds;
    uint64_t cpu_ms; /* `cpu_ms` at the last check. */
    /* CPU time that it has used in this round, since the last check that counted. */
    uint64_t used_ms;
    uint32_t stuck; /* Checks that counted. */
    uint32_t away;  /* Checks that found it asleep. */
    bool starved;   /* The last check found it without a processor. */
};

enum stall_verdict {
    STALL_NONE = 0, /* It moves, or may sleep. */
    STALL_STARVED,  /* It gets no processor: nothing is wrong with it. */
    STALL_STUCK,
};

/* A check, `interval_ms` behind the last one; `sleep_checks`: so many may find it asleep. */
enum stall_verdict stall_check(struct stall *stall, const struct stall_seen *seen,
                               uint32_t interval_ms, uint32_t sleep_checks);
