/* cntr_decide.h -- what a cluster starts with, decided from what each node has on disk. Pure: no
 * block, no state. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node_config.h"
#include "signals/cntr.h"

/* What one member has said. */
struct cntr_fact {
    uint32_t node;
    uint32_t flags; /* enum cntr_start_flag */
    uint32_t has_data;
    uint32_t gci;         /* Newest GCI that can be restored. */
    uint32_t incarnation; /* Incarnation of the data. */
    uint32_t ldm_data;    /* LDM instances that wrote the data. */
    uint32_t ldm_now;     /* LDM instances that the node has now. */
    uint64_t schema;      /* Sequence of the dictionary's image. */
    struct node_mask members;
};

enum cntr_verdict {
    CNTR_START_NOW = 1,
    CNTR_REFUSE, /* Some cannot start: `refused` says why. The others join anew without them. */
    CNTR_MISSING /* Nodes without which nothing can be started: `missing`. */
};

struct cntr_decision {
    uint32_t verdict;     /* enum cntr_verdict */
    uint32_t start_type;  /* enum start_type */
    uint32_t gci;         /* GCI of the data that the cluster starts with; 0 = none. */
    uint32_t incarnation; /* Greater than all that any member knows. */
    uint32_t newest;      /* Node whose data counts, 0 = none. */
    uint32_t newest_incarnation;
    uint32_t schema_node;
    uint64_t schema;
    /* enum cntr_start_ref_reason of each node; 0 = not refused. */
    uint32_t refused[NODE_ID_MAX + 1];
    struct node_mask missing;
};

/*
 * `facts` of all members, and of those who stand aside and know of data (CNTR_START_ASIDE), at most
 * one per node. The newest data that any of them knows of counts, also when it would be removed
 * (--initial), unless --i-accept-data-loss gives it up. That of the newest incarnation is the
 * newest: those who were in it began with the highest GCI of all. A member's data is current when
 * that incarnation had it, whether its own system file says so yet or not, and when it lacks at
 * most the last GCI, which all logs had before any system file said so.
 */
void cntr_decide(const struct node_config *config, const struct cntr_fact *facts, uint32_t count,
                 struct cntr_decision *decision);
