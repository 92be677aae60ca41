/* cntr_stop_state.h -- private: a node stops, alone or with all; single user mode. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/management.h"
#include "signals/gcp.h"
#include "signals/lcp.h"
#include "signals/start.h"

struct cntr;

#define FAIL_DELAY_MS   100u   /* Delay before a failing node ends, for the events to leave it. */
#define STOP_DELAY_MS   50u    /* Delay before an orderly end, for the same reason. */
#define DRAIN_LIMIT_MS  5000u  /* Longest wait for the end of the transactions. */
#define LEAVE_LIMIT_MS  8000u  /* Longest wait for the others: DRAIN_LIMIT_MS and a GCI more. */
#define FLUSH_LIMIT_MS  30000u /* Longest wait until what is committed is durable. */
#define STOP_TICK_MS    20u
#define SINGLE_GRACE_MS 5000u /* Single user mode: what others have under way ends by then. */

/* Single user mode: cntr_single.c. */
struct cntr_single {
    /* Number of the newest change: the last failure that its president knew, then `count`. */
    uint32_t failure_no;
    uint32_t count;
    uint32_t node;                       /* Client that may work alone; 0 = all may. */
    uint32_t complete;                   /* All started members are done with it. */
    uint32_t drain;                      /* Number of the last order to drain. */
    uint32_t waiting;                    /* Blocks that have not confirmed that order. */
    uint32_t drained;                    /* All blocks have confirmed that order. */
    uint32_t done[DATA_NODE_ID_MAX + 1]; /* `done` of the last CNTR_SINGLE_REP of each node. */
    uint32_t client; /* Reference that gets the answer; 0 = nobody waits for one. */
    uint32_t client_data;
};

/* MEET and REST come only when all nodes stop. */
enum stop_step { STOP_DRAIN = 1, STOP_FLUSH, STOP_MEET, STOP_REST, STOP_LEAVE, STOP_END };

/* May this node stop alone? cntr_permit.c. */
struct cntr_permit {
    uint32_t serial;
    uint32_t client; /* Reference that gets the answer to the order; 0 = nothing is being asked. */
    uint32_t client_data;
    uint32_t flags;
    uint32_t stuck; /* There is no order: this node cannot free its redo log. */
    struct node_mask asked;
    struct node_mask waiting;
};

/* cntr_single.c */
/* One client works alone, and no other one has anything under way. */
bool cntr_single_on(const struct cntr *cntr);
void cntr_single_joined(struct cntr *cntr, uint32_t node);
void cntr_single_lost(struct cntr *cntr, const struct node_mask *nodes);
void cntr_single_taken(struct cntr *cntr);   /* taken_no has risen. */
void cntr_single_started(struct cntr *cntr); /* The own node is started. */
void cntr_exec_SINGLE_USER_REQ(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_SINGLE_REP(struct block *block, const struct signal *sig);
void cntr_exec_DRAIN_CLIENTS_CONF(struct block *block, const struct signal *sig);

/* cntr_permit.c */
/* The others go on without this node, as far as it knows. */
bool cntr_others_go_on(const struct cntr *cntr);
void cntr_permit_ask(struct cntr *cntr, const struct stop_req *order, uint32_t client);
void cntr_permit_ask_stuck(struct cntr *cntr); /* cntr_stuck_leave() follows, or nothing. */
void cntr_permit_end(struct cntr *cntr, uint32_t error);
void cntr_permit_lost(struct cntr *cntr, const struct node_mask *nodes);
void cntr_exec_CNTR_LEAVE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_LEAVE_CONF(struct block *block, const struct signal *sig);

/* cntr_stop.c */
void cntr_mate_started(struct cntr *cntr, uint32_t node); /* The node will be started. */
void cntr_stop_begin(struct cntr *cntr, uint32_t flags);
void cntr_stuck_leave(struct cntr *cntr);
void cntr_stop_tick(struct cntr *cntr);
void cntr_fail(struct cntr *cntr);
void cntr_exec_STOP_REQ(struct block *block, const struct signal *sig);
void cntr_exec_GCP_FLUSH_CONF(struct block *block, const struct signal *sig);
void cntr_exec_TC_DRAIN_CONF(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_STOP_REP(struct block *block, const struct signal *sig);
void cntr_exec_NODE_FAILREP(struct block *block, const struct signal *sig);
void cntr_exec_LCP_STUCK_REP(struct block *block, const struct signal *sig);
