/* jam.h -- records where the code went: one pointer into the thread's ring, no branch. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdint.h>

/*
 * Each jam() is a static site in the linker section `jam_sites`, so the sites of the whole program
 * can be listed: the simulator marks the ones reached and uses them as its coverage map.
 */
struct jam_site {
    const char *file;
    uint32_t line;
    uint32_t reached; /* 1: the site was reached; only with JAM_COVERAGE. */
};

#define JAM_RING 1024u /* Power of two: about the last few hundred signals' decisions. */

struct jam_ring {
    const struct jam_site *at[JAM_RING];
    uint32_t data[JAM_RING]; /* Value of jam_data(); else left over from an earlier lap. */
    uint32_t next;
};

/* The ring of the thread that runs now. Set by thread_run_once(); also valid outside of it (a spare
 * ring). */
extern _Thread_local struct jam_ring *this_jam;

#ifdef JAM_COVERAGE
/* Appends "file:line" to the file that the environment's NDB_JAM_FILE names, at the first time. */
void jam_reached(struct jam_site *site);
#define JAM_SITE_CONST_
#define JAM_REACHED_() (jam_here.reached ? (void)0 : jam_reached(&jam_here))
#else
#define JAM_SITE_CONST_ const
#define JAM_REACHED_()  (void)0
#endif

#define JAM_HERE_(value)                                                                           \
    do {                                                                                           \
        static JAM_SITE_CONST_ struct jam_site jam_here                                            \
            __attribute__((section("jam_sites"), used)) = {__FILE__, __LINE__, 0};                 \
        uint32_t jam_at = this_jam->next++ & (JAM_RING - 1);                                       \
        this_jam->at[jam_at] = &jam_here;                                                          \
        JAM_REACHED_();                                                                            \
        value;                                                                                     \
    } while (0)

#define jam() JAM_HERE_((void)0)

/* A jam that keeps one value: for loops and states. */
#define jam_data(x) JAM_HERE_(this_jam->data[jam_at] = (uint32_t)(x))

/* All sites of the program, as an array. */
extern const struct jam_site __start_jam_sites[];
extern const struct jam_site __stop_jam_sites[];
