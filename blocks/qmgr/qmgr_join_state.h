/* qmgr_join_state.h -- private: how nodes become members, at a start and of a cluster that runs. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/qmgr/qmgr_block.h"
#include "signals/qmgr.h"
#include "signals/start.h"

struct qmgr;

#define JOIN_TICK_MS      20u  /* Pause between the first JOIN_TICKS_FAST questions of a joiner. */
#define JOIN_TICK_SLOW_MS 200u /* Pause between its later ones. */
#define JOIN_TICKS_FAST   250u
#define JOIN_TIMEOUT_MS   3000u /* A join that takes longer starts over. */
/* A join into a running cluster that takes longer starts over: members may have to wait. */
#define NODE_JOIN_TIMEOUT_MS 12000u

/*
 *            STTOR 1             elected, or REGCONF             COMMIT for itself
 *   IDLE ------------> ELECTION ------------------> JOINING ----------------------> MEMBER
 *                        ^  \_________________________________ elected ____________/  |
 *                        |______________ a member was lost before anyone is started __|
 */
enum join_state { JOIN_IDLE = 0, JOIN_ELECTION, JOIN_JOINING, JOIN_MEMBER, JOIN_STATES };

/* May those who are in sight start? */
enum start_set {
    START_SET_READY = 0,
    START_SET_EMPTY,      /* Nobody has data: all nodes are needed. */
    START_SET_GROUP,      /* A node group has no node with data here. */
    START_SET_TIME,       /* It could, after StartPartialTimeout. */
    START_SET_PARTITIONED /* The others could be a cluster of their own. */
};
#define WAIT_TOLD_MS 1000u /* After this time the log says what the node waits for. */

struct qmgr_peer { /* A data node. */
    uint32_t dynamic_id;
    uint32_t ldm_count;
    uint32_t tc_count;
    uint32_t agreed;   /* Candidate that it named in its last word of this election, 0 = none. */
    uint32_t has_data; /* enum cm_data, as it said in the same word. */
    uint32_t aside;    /* It stands aside, as it said on this link; a new election keeps that. */
    struct cm_known_ord known; /* What it knew of data when it said so. */
};

/* qmgr_join.c: the joiner's side. */
void qmgr_join_begin(struct qmgr *qmgr); /* Begins STTOR 1, for the first time or again. */
void qmgr_join_restart(
    struct qmgr *qmgr);                 /* Leaves what was reached and looks for the others anew. */
void qmgr_join_look(struct qmgr *qmgr); /* ELECTION: asks everyone in sight. */
void qmgr_join_tick(struct qmgr *qmgr);
void qmgr_join_check(struct qmgr *qmgr); /* Answers NDBCNTR when all expected nodes are members. */
void qmgr_move(struct qmgr *qmgr, enum join_state state);
struct node_mask qmgr_in_sight(const struct qmgr *qmgr);
uint32_t qmgr_candidate(const struct qmgr *qmgr);
uint32_t qmgr_follows(const struct qmgr *qmgr);
void qmgr_member_lost(struct qmgr *qmgr, uint32_t node, const char *how);
void qmgr_exec_CM_REGCONF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_REGREF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_NODEINFOREQ(struct block *block, const struct signal *sig);
void qmgr_exec_CM_NODEINFOCONF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_NODEINFOREF(struct block *block, const struct signal *sig);
void qmgr_exec_CM_ADD_REQ(struct block *block, const struct signal *sig);
void qmgr_exec_CM_LEAVE_REP(struct block *block, const struct signal *sig);

/* qmgr_president.c */
void qmgr_election(struct qmgr *qmgr);     /* Becomes president if that is this node's place. */
void qmgr_tell_waiting(struct qmgr *qmgr); /* Says once in the log what the start waits for. */
void qmgr_president_reset(struct qmgr *qmgr);
void qmgr_exec_CM_REGREQ(struct block *block, const struct signal *sig);
void qmgr_exec_CM_ADD_CONF(struct block *block, const struct signal *sig);

/* qmgr_rejoin.c: node restart, and the stop of one node. */
bool qmgr_is_newcomer(const struct qmgr *qmgr); /* This node is a newcomer. */
/* As a newcomer: this node is not taken along by this failure. */
bool qmgr_may_stay(const struct qmgr *qmgr, const struct node_mask *leave);
/* Members, and whoever is about to be one, that every failure takes along. */
void qmgr_newcomers(const struct qmgr *qmgr, struct node_mask *nodes);
/* Those of them that do not count themselves: they joined behind this node, so they wait for its
 * word. One that joined before may count itself while that is on its way to here. */
void qmgr_voteless(const struct qmgr *qmgr, struct node_mask *nodes);
void qmgr_rejoin_stops(struct qmgr *qmgr); /* This node stops, in whatever order. */
/* Exit code when the others have declared this node dead. */
uint32_t qmgr_end_code(const struct qmgr *qmgr);
void qmgr_rejoin_open(struct qmgr *qmgr);
void qmgr_rejoin_close(struct qmgr *qmgr, uint32_t node); /* The node is fenced. */
uint32_t qmgr_rejoin_refusal(const struct qmgr *qmgr, uint32_t node, const struct cm_regreq *req);
uint32_t qmgr_rejoin_before(const struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_begin(struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_prepared(struct qmgr *qmgr);
void qmgr_rejoin_added(struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_prepare(struct qmgr *qmgr, const struct cm_add_req *req);
bool qmgr_rejoin_commit(struct qmgr *qmgr, const struct cm_add_req *req);
void qmgr_rejoin_check(struct qmgr *qmgr);
void qmgr_rejoin_linked(struct qmgr *qmgr, uint32_t node);
void qmgr_rejoin_failed(struct qmgr *qmgr, const struct node_mask *nodes);
void qmgr_rejoin_reset(struct qmgr *qmgr);
void qmgr_rejoin_tick(struct qmgr *qmgr);
void qmgr_exec_CM_COUNTED_REP(struct block *block, const struct signal *sig);
void qmgr_exec_CM_STOP_ORD(struct block *block, const struct signal *sig);
