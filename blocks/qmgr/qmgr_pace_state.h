/* qmgr_pace_state.h -- private: how fast the members are, and which are slow. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/qmgr/pace_rule.h"
#include "blocks/qmgr/qmgr_block.h"
#include "signals/pace.h"

struct qmgr;

#define PACE_SAMPLES 10u

/* The last measurements of something. */
struct pace_samples {
    uint32_t count; /* Measurements so far; the last PACE_SAMPLES of them are kept. */
    uint32_t ms[PACE_SAMPLES];
};

/* A member that this node asks again and again. */
struct pace_peer {
    uint32_t dynamic_id; /* Dynamic id of the life that is asked; 0 = none is. */
    uint32_t number;     /* Number of the last question to it. */
    uint32_t owed;       /* The last question is not answered. */
    uint64_t asked_ms;
    uint32_t reach_ms; /* How long the last answer took. */
    uint32_t inside_ms;
    struct pace_samples samples;
};

/* Who is slow: pace.md. */
struct qmgr_pace {
    uint32_t tick_running;
    uint64_t due_ms; /* When the next tick should be. */
    uint32_t number; /* Number of the last question or probe. */
    /* The own threads. */
    uint32_t probes; /* Probes of the own threads that are not back. */
    uint64_t probed_ms;
    uint32_t probe_ms; /* How long the last probes took until all were back. */
    struct pace_samples inside;
    struct pace_peer peer[DATA_NODE_ID_MAX + 1];
    /* As all know it. */
    struct node_mask slow;
    struct node_mask aside;
    /* As president. */
    struct pace_map map;
    uint64_t row_ms[DATA_NODE_ID_MAX + 1]; /* When the row of each came; 0 = never. */
    struct pace_state of[DATA_NODE_ID_MAX + 1];
    struct pace_state link;
    uint32_t link_slow;      /* The link between link_a and link_b is slow. */
    uint32_t link_a, link_b; /* Ends of the link that is followed; 0, 0 = none is. */
    uint64_t told_ms;
    uint32_t judges; /* As president this node has begun to judge, and tells everything again. */
};

/* qmgr_pace.c: how fast the others and the own threads are. */
void qmgr_pace_tick(struct qmgr *qmgr);
/* Members that are judged. */
void qmgr_pace_members(const struct qmgr *qmgr, struct node_mask *nodes);
void qmgr_exec_PACE_ASK_REP(struct block *block, const struct signal *sig);
void qmgr_exec_PACE_ANSWER_REP(struct block *block, const struct signal *sig);
void qmgr_exec_PACE_PROBE_CONF(struct block *block, const struct signal *sig);

/* qmgr_pace_judge.c: who is slow, and who hears of it. */
void qmgr_pace_row(struct qmgr *qmgr, uint32_t node, const struct pace_row *row);
void qmgr_pace_judge(struct qmgr *qmgr); /* The president judges, after its own row. */
void qmgr_pace_view(struct qmgr *qmgr);  /* The members have changed. */
void qmgr_exec_PACE_ROW_REP(struct block *block, const struct signal *sig);
void qmgr_exec_PACE_SLOW_REP(struct block *block, const struct signal *sig);
