/* cntr_state.h -- private: struct cntr, made of the records of its stories. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/ndbcntr/cntr_block.h"
#include "blocks/ndbcntr/cntr_decide.h"
#include "blocks/ndbcntr/cntr_order_state.h"
#include "blocks/ndbcntr/cntr_rejoin_state.h"
#include "blocks/ndbcntr/cntr_start_state.h"
#include "blocks/ndbcntr/cntr_stop_state.h"

/*
 *   CONFIG --all READ_CONFIG_CONF--> WAIT_ORDER --START_ORD--> PHASES --the last one--> RUNNING
 *      +--------------- at once without --nostart --------------^
 *   PHASES: a node is lost before anyone is started: phase 1 again
 *   WAIT_ORDER, PHASES, RUNNING --STOP_REQ--> STOPPING
 *   PHASES, RUNNING --this node may not go on--> FAILING
 */
enum cntr_state {
    CNTR_CONFIG = 0,
    CNTR_WAIT_ORDER,
    CNTR_PHASES,
    CNTR_RUNNING,
    CNTR_STOPPING,
    CNTR_FAILING,
    CNTR_STATES
};

struct cntr {
    struct block block;
    uint32_t state; /* enum cntr_state */
    uint32_t level; /* enum start_level */
    uint32_t phase; /* Last start phase that is completed. */

    struct {
        uint32_t wait;     /* enum cntr_wait */
        uint32_t block_at; /* READ_CONFIG: position in the block list. */
        uint32_t instance; /* READ_CONFIG: instance of that block that was asked. */
        uint32_t phase_at; /* Position in the phase table. */
        uint32_t step_at;  /* Position in the phase's steps. */
        uint32_t step;     /* WAIT_STEP: enum cntr_step that is waited for. */
        uint32_t again;    /* A node was lost while a block works on its STTOR. */
        uint32_t type;     /* enum start_type */
    } start;

    struct cntr_data data;
    struct cntr_remains remains;
    struct cntr_plan plan;
    struct cntr_recover recover;
    struct cntr_decision decision;            /* The president's last decision. */
    struct cntr_fact known[DATA_NODE_ID_MAX]; /* What those in sight who stand aside know. */
    uint32_t known_count;
    struct cntr_rejoin rejoin;
    struct cntr_single single;
    struct cntr_permit permit;
    struct cntr_order order;

    uint32_t incarnation; /* Incarnation that this node is a member of; 0 = of none. */
    uint32_t president;
    struct node_mask members;
    struct node_mask started;
    struct node_mask gone; /* Members whose link was lost while the cluster stops. */
    uint32_t taken_no;     /* Failures up to this one have been dealt with at this node. */
    uint64_t failed_ms;    /* When the last failure was reported. */
    uint64_t stuck_ms;     /* When the first of the LCP_STUCK_REPs came that come now; 0 = none. */
    uint64_t stuck_last_ms;
    struct lcp_stuck_rep stuck; /* The last LCP_STUCK_REP. */
    uint64_t mate_ms;           /* Up to then nobody else had the rows of this node's group. */
    struct cntr_peer peer[NODE_ID_MAX + 1];

    struct {
        uint32_t step; /* enum stop_step */
        uint32_t flags;
        uint64_t since_ms;
        struct node_mask waiting_tc;
        uint32_t schema;   /* DICT has not said that no change of the schema is under way. */
        uint32_t flushing; /* DIH has not said that all is durable. */
        uint32_t cut_off;  /* The others have gone on without this node. */
    } stop;

    uint32_t lost_node;            /* FAILING: node whose loss ends this one. */
    uint32_t exit_code;            /* FAILING: exit code of this node. */
    struct cntr_start_ref refusal; /* Why this node cannot start, as the president has said. */
};

enum cntr_work {
    CNTR_BEGIN = 1,
    CNTR_STOP_TICK,
    CNTR_FAIL,
    CNTR_REFUSED,
    CNTR_START_LIMIT,
    CNTR_ORDER_LOOK,
    CNTR_ORDER_LATE
};

static inline struct cntr *cntr_of(struct block *block)
{
    return (struct cntr *)(void *)block;
}
static inline uint32_t cntr_own(const struct cntr *cntr)
{
    return block_config(&cntr->block)->own_node;
}
static inline bool cntr_is_president(const struct cntr *cntr)
{
    return cntr->president == cntr_own(cntr);
}
static inline uint32_t cntr_local(const struct cntr *cntr, uint32_t block_no)
{
    return block_ref(cntr_own(cntr), block_no, 0);
}

/* cntr.c */
void cntr_move(struct cntr *cntr, enum cntr_state state);
void cntr_tell_state(struct cntr *cntr);    /* NODE_STATE_REP to all that want it. */
void cntr_tell_progress(struct cntr *cntr); /* NODE_STATE_REP to CMVMI alone. */
void cntr_work_later(struct cntr *cntr, enum cntr_work work, uint32_t delay_ms);
void cntr_to_members(struct cntr *cntr, uint32_t gsn, const void *payload,
                     uint32_t words); /* To all members but this node. */

/* This node comes back alone into a running cluster. */
static inline bool cntr_rejoins(const struct cntr *cntr)
{
    return cntr->rejoin.running != 0;
}
/* This node comes back alone and has its own rows of an earlier time. */
static inline bool cntr_has_own_rows(const struct cntr *cntr)
{
    return cntr_rejoins(cntr) && cntr->start.type == START_NODE_RESTART;
}
static inline bool cntr_diskless(const struct cntr *cntr)
{
    return block_config(&cntr->block)->diskless != 0;
}
/* This node has data that a start can come back to. */
static inline bool cntr_keeps_data(const struct cntr *cntr)
{
    return cntr->data.has_data != 0 && cntr->data.gci != 0 && cntr->data.aside == 0 &&
           block_config(&cntr->block)->initial_start == 0;
}
