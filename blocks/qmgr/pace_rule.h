/* pace_rule.h -- decides who is slow, and for how long it has to be. Pure functions. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/limits.h"
#include "kernel/node_config.h"
#include "signals/pace.h"

/* Figures below this are never over: machines with work for all their processes do as much to
 * single ones. */
#define PACE_LEAST_MS  5u
#define PACE_FACTOR    10u   /* Over: so many times the typical figure. */
#define PACE_SLOW_MS   1500u /* Over for so long without a pause: slow. */
#define PACE_WELL_MS   5000u /* Not over for so long without a pause: well again. */
#define PACE_DOUBLED   4u /* After each relapse PACE_WELL_MS is doubled, so many times at most. */
#define PACE_FORGET_MS 600000u /* After so long a well time relapses are forgotten. */
#define PACE_UNKNOWN   UINT32_MAX

/* What the president knows. */
struct pace_map {
    struct node_mask members; /* Members that are judged. */
    struct node_mask known;   /* Members whose rows count. */
    struct node_mask slow;    /* Decided, or over already: over from half the limit on. */
    struct pace_row row[DATA_NODE_ID_MAX + 1];
};

struct pace_figures {
    uint32_t inside_ms; /* How late the node is inside; PACE_UNKNOWN: nobody says. */
    uint32_t reach_ms;  /* How long it takes to reach it; PACE_UNKNOWN: too few say. */
};

struct pace_view {
    struct pace_figures of[DATA_NODE_ID_MAX + 1];
    struct pace_figures typical;
    struct node_mask over;
    /* The slowest link between two members that are not over; 0, 0 = none is. */
    uint32_t link_a, link_b;
    uint32_t link_ms;
};

/* Fills in all of *view. Rows may contain anything. */
void pace_rule(const struct pace_map *map, struct pace_view *view);

/* What is known of one node or link over time. Zeroed: it is well, and was never slow. */
struct pace_state {
    uint32_t turning;  /* Since since_ms what is seen is not what was decided. */
    uint32_t relapses; /* How often it was soon slow again, up to PACE_DOUBLED. */
    uint64_t since_ms;
    uint64_t well_ms; /* When it was last found well again; 0 = never. */
};

/* Called again and again. Returns whether it is slow from now on; it was `slow` until now. */
bool pace_step(struct pace_state *state, bool slow, bool over, uint64_t now_ms);

/* *aside: at most one slow member of each node group that has another one which is not slow. Who
 * stands aside goes on doing so while it may; else the one with the lowest id begins. */
void pace_aside(const struct node_config *config, const struct node_mask *members,
                const struct node_mask *slow, struct node_mask *aside);
