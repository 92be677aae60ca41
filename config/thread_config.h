/* thread_config.h -- the parsed form of a data node's ThreadConfig. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thread_kind {
    THREAD_KIND_MAIN,
    THREAD_KIND_REP,
    THREAD_KIND_LDM,
    THREAD_KIND_TC,
    THREAD_KIND_RECV,
    THREAD_KIND_SEND,
    THREAD_KIND_IO,
    THREAD_KIND_WATCHDOG,
    THREAD_KINDS
};

#define THREAD_CONFIG_ENTRIES_MAX 32
#define THREAD_CONFIG_CPUS_MAX    128 /* CPUs in one list. */
#define THREAD_CONFIG_CPU_LAST    1023

/* One entry of the text: `count` threads of one kind that share these settings. */
struct thread_config_entry {
    enum thread_kind kind;
    uint32_t count;
    bool cpu_each;      /* cpubind: thread i gets cpus[i]; else every thread gets the whole list. */
    bool cpu_exclusive; /* The CPUs are kept from other threads. */
    uint32_t cpu_count; /* CPUs of the list; 0: the threads are not bound. */
    uint16_t cpus[THREAD_CONFIG_CPUS_MAX];
    bool realtime;
    bool nosend;
    bool spintime_set;
    uint32_t spintime_us;
    uint32_t thread_prio; /* 0..10, or THREAD_PRIO_UNSET. */
};
#define THREAD_PRIO_UNSET 255u

struct thread_config {
    uint32_t entry_count;
    struct thread_config_entry entries[THREAD_CONFIG_ENTRIES_MAX];
    uint32_t counts[THREAD_KINDS]; /* Threads of each kind, defaults included. */
};

/* "main", "ldm" and so on. */
const char *thread_kind_name(enum thread_kind kind);

/* Reads `main={cpubind=0},ldm={count=4,cpubind=1-4},recv`. An empty text gives the default counts.
 * 0, or -1 with the reason and the allowed range in `why`. */
int thread_config_parse(const char *text, struct thread_config *config, char *why, size_t why_size);
