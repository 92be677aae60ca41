/* qmgr_state.h -- private: struct qmgr, made of the records of its stories. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/qmgr/qmgr_client_state.h"
#include "blocks/qmgr/qmgr_failure_state.h"
#include "blocks/qmgr/qmgr_join_state.h"
#include "blocks/qmgr/qmgr_pace_state.h"

struct qmgr {
    struct block block;
    struct qmgr_link link[NODE_ID_MAX + 1];
    struct qmgr_peer peer[NODE_ID_MAX + 1];
    struct qmgr_client client[NODE_ID_MAX + 1];
    struct qmgr_reserved reserved[NODE_ID_MAX + 1];
    struct node_mask linked; /* Data nodes with an open link. */

    /* As a joiner and member. */
    struct {
        uint32_t state; /* enum join_state */
        uint32_t attempt;
        uint32_t incarnation;
        uint32_t president;
        uint32_t dynamic_id;
        struct node_mask members; /* Members; this node is one once it is committed. */
        struct node_mask expected;
        struct node_mask waiting; /* JOINING: members whose NODEINFO has not come. */
        uint32_t prepared;        /* JOINING: CM_ADD PREPARE has come. */
        uint64_t since_ms;        /* When the state was entered. */
        uint64_t election_ms; /* When the node began to look for others: for StartPartialTimeout. */
        uint32_t ticks;
        uint32_t tick_running;
        uint32_t sttor_owed; /* NDBCNTR waits for phase 1. */
        uint32_t sttor_data;
        uint32_t last_cause;           /* Last refusal that was logged. */
        uint32_t first;                /* Node that comes back first, as it was logged; 0 = none. */
        uint32_t has_data;             /* enum cm_data of this node; from NDBCNTR. */
        uint32_t aside;                /* This node waits until the others run; from NDBCNTR. */
        struct cm_known_ord known;     /* What this node knows of data; from NDBCNTR. */
        uint32_t told_aside;           /* It was logged that all of its node group stand aside. */
        uint32_t running;              /* JOINING: the cluster is started. */
        uint32_t told_why;             /* enum start_set: why it waits, as it was logged last. */
        struct node_mask told_missing; /* Nodes that it waits for, as they were logged with that. */
    } join;

    /* As president. */
    struct {
        uint32_t joiner; /* Node being added, 0 = none. */
        uint32_t attempt;
        uint32_t phase; /* enum cm_add_phase */
        uint32_t dynamic_next;
        struct node_mask waiting; /* Nodes that have not answered the phase. */
    } president;

    /* Ring. */
    struct {
        uint32_t left;
        uint32_t right;
        uint32_t missed;
        uint32_t broken; /* A member was lost and NDBCNTR decides: nobody is watched. */
        uint32_t tick_running;
        uint64_t tick_due_ms; /* When the next tick should be. */
        uint64_t heard_ms;    /* When the left neighbour was last heard as such; 0 = never. */
    } ring;

    /* How irregular everything is: what the others and this node do late. */
    struct {
        struct beat_window window;
        uint32_t told_ms[DATA_NODE_ID_MAX + 1];  /* Patience of each, as it has said. */
        uint64_t heard_ms[DATA_NODE_ID_MAX + 1]; /* When each was last heard; 0 = never. */
    } beat;

    struct qmgr_reach reach;
    struct qmgr_failure failure;
    struct qmgr_arbit arbit;
    struct qmgr_pace pace;

    /* Node restart: members of a started cluster. */
    struct {
        uint32_t adding;  /* Node between CM_ADD PREPARE and COMMIT; 0 = none. */
        uint32_t owed;    /* CM_ADD PREPARE is not confirmed. */
        uint32_t guarded; /* Links of data nodes begin restricted. */
        uint64_t since_ms;
        uint64_t started_ms;        /* When this node ceased to be a newcomer. */
        struct node_mask newcomers; /* Members that are not started. */
        /* As a newcomer: members to whom this node is not a full member yet. */
        struct node_mask uncounted;
        struct node_mask leaving; /* Members that have said that they stop. */
        struct node_mask open;    /* Nodes that are no members and whose links may come. */
        uint64_t asked_ms[DATA_NODE_ID_MAX + 1]; /* When each asked to join, or its link came. */
    } rejoin;

    /* From NDBCNTR. */
    uint32_t start_level;
    uint32_t single_user; /* NODE_STATE_REP: a client works alone. */
    uint32_t start_phase;
    uint32_t master;
    uint32_t taken_no;
    struct node_mask started;
};

enum qmgr_work {
    QMGR_JOIN_TICK = 1,
    QMGR_RING_TICK,
    QMGR_CLIENT_TICK,
    QMGR_REACH_TICK,
    QMGR_REACH_NOW,
    QMGR_FENCE,
    QMGR_ARBIT_TICK,
    QMGR_PACE_TICK
};

static inline struct qmgr *qmgr_of(struct block *block)
{
    return (struct qmgr *)(void *)block;
}
static inline uint32_t qmgr_own(const struct qmgr *qmgr)
{
    return block_config(&qmgr->block)->own_node;
}
static inline uint32_t qmgr_local(const struct qmgr *qmgr, uint32_t block_no)
{
    return block_ref(qmgr_own(qmgr), block_no, 0);
}
static inline bool qmgr_is_data(const struct qmgr *qmgr, uint32_t node)
{
    return node <= NODE_ID_MAX && block_config(&qmgr->block)->node[node].type == NODE_DATA;
}
static inline bool qmgr_is_president(const struct qmgr *qmgr)
{
    return qmgr->join.state == JOIN_MEMBER && qmgr->join.president == qmgr_own(qmgr);
}
/* Error insert: this node behaves towards the other QMGRs as if it hung. */
static inline bool qmgr_hangs(const struct qmgr *qmgr)
{
    return ERROR_INSERTED(&qmgr->block, 940);
}

/* qmgr.c */
void qmgr_work_later(struct qmgr *qmgr, enum qmgr_work work, uint32_t delay_ms);
