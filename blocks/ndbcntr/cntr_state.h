/* cntr_state.h -- NDBCNTR's own records. Private to blocks/ndbcntr. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/ndbcntr/cntr_block.h"
#include "signals/cntr.h"
#include "signals/gcp.h"
#include "signals/qmgr.h"
#include "signals/start.h"

#define FAIL_DELAY_MS  100u   /* For the events to leave the node before it ends. */
#define STOP_DELAY_MS  50u    /* The same before an orderly end. */
#define DRAIN_LIMIT_MS 5000u  /* Longest wait for the end of the transactions. */
#define LEAVE_LIMIT_MS 5000u  /* Longest wait for the others to get there. */
#define FLUSH_LIMIT_MS 30000u /* Longest wait until what is committed is durable. */
#define STOP_TICK_MS   20u

/*
 *   CONFIG --all READ_CONFIG_CONF--> WAIT_ORDER --> PHASES --phase 8, GO--> PHASES (started) -->
 * RUNNING |  ^ a node is lost before anyone is started: phase 1 again any ----STOP_REQ---->
 * STOPPING;  any ----a started node is lost----> FAILING
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

/* What the start waits for. */
enum cntr_wait { WAIT_NOTHING = 0, WAIT_CONFIG, WAIT_STTORRY, WAIT_START_CONF, WAIT_GO };

enum stop_step { STOP_DRAIN = 1, STOP_FLUSH, STOP_LEAVE, STOP_END };

struct cntr_peer {
    uint32_t incarnation; /* For the master: of its last word... */
    uint32_t point;       /* ...and how far it has come. */
    uint32_t stop_level;  /* 0, or what its CNTR_STOP_REP said. */
};

struct cntr {
    struct block block;
    uint32_t state; /* enum cntr_state */
    uint32_t level; /* enum start_level */
    uint32_t phase; /* Last completed. */

    struct {
        uint32_t wait;     /* enum cntr_wait */
        uint32_t block_at; /* READ_CONFIG: position in the block list... */
        uint32_t instance; /* ...and instance that was asked. */
        uint32_t phase_at; /* Position in the phase table. */
        uint32_t sttor_at; /* Position in the phase's blocks. */
        uint32_t again;    /* A node was lost while a block works on its STTOR. */
        uint32_t type;     /* enum start_type */
    } start;

    uint32_t incarnation; /* 0 = not a member. */
    uint32_t president;
    struct node_mask members;
    struct node_mask started;
    struct node_mask gone; /* Members whose link was lost while the cluster stops. */
    struct cntr_peer peer[NODE_ID_MAX + 1];

    struct {
        uint32_t step; /* enum stop_step */
        uint32_t flags;
        uint64_t since_ms;
        struct node_mask waiting_tc;
        uint32_t flushing; /* DIH has not said that all is durable. */
    } stop;

    uint32_t lost_node; /* FAILING: whose loss ends this node. */
};

enum cntr_work { CNTR_BEGIN = 1, CNTR_STOP_TICK, CNTR_FAIL };

static inline struct cntr *cntr_of(struct block *block)
{
    return (struct cntr *)(void *)block;
}
static inline uint32_t cntr_own(const struct cntr *cntr)
{
    return block_config(&cntr->block)->own_node;
}
static inline uint32_t cntr_local(const struct cntr *cntr, uint32_t block_no)
{
    return block_ref(cntr_own(cntr), block_no, 0);
}

/* cntr.c */
void cntr_move(struct cntr *cntr, enum cntr_state state);
void cntr_tell_state(struct cntr *cntr); /* NODE_STATE_REP to all that want it. */
void cntr_work_later(struct cntr *cntr, enum cntr_work work, uint32_t delay_ms);
void cntr_to_members(struct cntr *cntr, uint32_t gsn, const void *payload,
                     uint32_t words); /* Not to oneself. */

/* cntr_start.c */
void cntr_read_config(struct cntr *cntr);
void cntr_start_again(struct cntr *cntr);
void cntr_exec_READ_CONFIG_CONF(struct block *block, const struct signal *sig);
void cntr_exec_START_ORD(struct block *block, const struct signal *sig);
void cntr_exec_STTORRY(struct block *block, const struct signal *sig);
void cntr_exec_MEMBERS_REP(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_START_CONF(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_GOREP(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_STARTED_REP(struct block *block, const struct signal *sig);

/* cntr_master.c: the president's NDBCNTR. */
void cntr_exec_CNTR_START_REQ(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_WAITREP(struct block *block, const struct signal *sig);

#define POINT_START                                                                                \
    1u /* CNTR_START_REQ; waiting points are numbered by the phase that ends there. */

/* cntr_stop.c */
void cntr_stop_tick(struct cntr *cntr);
void cntr_fail(struct cntr *cntr);
void cntr_exec_STOP_REQ(struct block *block, const struct signal *sig);
void cntr_exec_GCP_FLUSH_CONF(struct block *block, const struct signal *sig);
void cntr_exec_TC_DRAIN_CONF(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_STOP_REP(struct block *block, const struct signal *sig);
void cntr_exec_NODE_FAILREP(struct block *block, const struct signal *sig);
