/* plan_file.h -- a run as a text file: seed, what is left out, faults. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdio.h>
#include "tests/sim/modes.h"
#include "tests/sim/run.h"

/* What is run. Zero = as drawn from the seed. */
struct sim_case {
    uint64_t seed;
    uint32_t modes; /* Bits of enum sim_mode. */
    uint32_t jobs, clients, sessions;
    uint32_t without; /* Bits of enum work_no. */
    bool programless; /* A plan of the time before there were programs. */
    bool indexless;   /* A plan of the time before indexes came and went. */
    bool numberless;  /* A plan of the time before numbers were taken. */
    bool changeless;  /* A plan of the time before tables were changed. */
    bool dropless;    /* A plan of the time before unique indexes were dropped. */
    bool ownless;     /* A plan of the time before unique indexes were made on tables in use. */
    bool copyless;    /* A plan of the time before there were fully replicated tables. */
    bool counters;    /* Rows have a counter, although no program moves it. */
    bool planned;     /* `plan` instead of the drawn one. */
    struct sim_plan plan;
};

/*
 * Lines: "seed N", the modes' names, "jobs N", "clients N", "sessions N",
 * "programs", "indexes", "copies", "counters", "without WORK", and events as kernel/sim/sim_plan.h
 * describes. Adds to `test`. False: said why on stderr.
 */
bool plan_read(struct sim_case *test, const char *path);
void plan_print(FILE *file, const struct sim_case *test);

bool case_has(const struct sim_case *test, enum sim_mode mode);
/* Draws the run's swarm and applies what the case says. */
void case_apply(const struct sim_case *test, struct run *run);

/* shrink.c: a smaller case with the same failure, or the case itself. Returns the number of runs.
 */
uint32_t shrink(struct sim_case *test);
