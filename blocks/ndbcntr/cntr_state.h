/* cntr_state.h -- NDBCNTR's own records. Private to blocks/ndbcntr. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/event.h"
#include "blocks/ndbcntr/cntr_block.h"
#include "blocks/ndbcntr/cntr_decide.h"
#include "signals/cntr.h"
#include "signals/gcp.h"
#include "signals/lcp.h"
#include "signals/order.h"
#include "signals/pace.h"
#include "signals/qmgr.h"
#include "signals/rejoin.h"
#include "signals/schema_trans.h"
#include "signals/start.h"

#define FAIL_DELAY_MS   100u   /* Delay before a failing node ends, for the events to leave it. */
#define STOP_DELAY_MS   50u    /* Delay before an orderly end, for the same reason. */
#define DRAIN_LIMIT_MS  5000u  /* Longest wait for the end of the transactions. */
#define LEAVE_LIMIT_MS  8000u  /* Longest wait for the others: DRAIN_LIMIT_MS and a GCI more. */
#define FLUSH_LIMIT_MS  30000u /* Longest wait until what is committed is durable. */
#define STOP_TICK_MS    20u
#define SINGLE_GRACE_MS 5000u /* Single user mode: what others have under way ends by then. */

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

/* What the start waits for. */
enum cntr_wait { WAIT_NOTHING = 0, WAIT_CONFIG, WAIT_STTORRY, WAIT_STEP, WAIT_START_CONF, WAIT_GO };

/* Work of a phase. The first three are a STTOR to that block; all but QMGR and DIH of phase 6 only
 * in a node with files. */
enum cntr_step {
    STEP_NONE = 0,
    STEP_QMGR,
    STEP_DIH,
    STEP_DICT,
    STEP_SYSFILE_INFO,
    STEP_SCHEMA_INFO,
    STEP_CLEAR,
    STEP_LOG_ENDS,
    STEP_REDO_OPEN,
    STEP_SCHEMA_RESTART,
    STEP_RECOVER,
    STEP_SYSFILE_START,
    STEP_SCHEMA_ONLINE,
    STEP_VOID, /* From here on: node restart. */
    STEP_INCLUDE_SELF,
    STEP_INCLUDE,
    STEP_COPY,
    STEP_COMPLETE
};

#define ENDED_MAX 64u /* Former incarnations that are remembered. */
#define LDM_MAX   64u /* Log parts whose ends are remembered. */

/* Pairs { incarnation, GCI at its end }, oldest first. */
struct cntr_ended {
    uint32_t count;
    uint32_t pair[ENDED_MAX][2];
};

/* What the node has on disk. */
struct cntr_data {
    uint32_t has_data;
    uint32_t gci;
    uint32_t incarnation;
    uint32_t ldm_count;
    uint64_t schema; /* Sequence of the dictionary's image, 0 = none. */
    uint64_t named;  /* Sequence of the image that the system files name, 0 = none. */
    uint32_t aside;  /* What it has is of no use: it waits until the others run. */
    struct node_mask members;
    struct cntr_ended ended;
    uint32_t lsn[LDM_MAX][2];
    bool lsn_older; /* `lsn` are the ends of an older GCI: the logs go on behind them. */
};

/* What the cluster starts with. */
struct cntr_plan {
    uint32_t gci;
    uint32_t incarnation;
    uint32_t schema_node;
    uint64_t schema;
    uint32_t newest; /* System restart: node whose system file has `gci`. */
    struct cntr_ended ended;
};

/* Reading the data back. */
struct cntr_recover {
    struct node_mask waiting;          /* LQH instances. */
    uint32_t percent[NODE_ID_MAX + 1]; /* What each LQH instance has done. */
    uint64_t begin_ms;
    uint32_t percent_now;
    uint32_t left_s;
    uint64_t logged_ms;
    uint32_t fragments;
    uint64_t rows;
    uint64_t kbytes;
    uint64_t applied;
    uint32_t restore_ms; /* How long the slowest instance has restored. */
    uint32_t replay_ms;
    uint32_t cleared; /* STEP_CLEAR: removals begun; at a node restart the system files go first. */
    uint32_t given_up; /* The node's own files are of no use. */
};

/* What is being looked at in phase 0 without system files. */
struct cntr_remains {
    uint32_t part; /* The next log part to be looked at. */
    uint32_t file;
    bool found;
    void *page;
};

enum rejoin_step {
    REJOIN_NONE = 0,
    REJOIN_LOCKING,
    REJOIN_ASKING,
    REJOIN_STARTING,
    REJOIN_INCLUDED
};

/* May the own blocks be told of others that are included? */
enum rejoin_ready { READY_NOT = 0, READY_SOON, READY_NOW };

/* Node restart: cntr_rejoin.c. */
struct cntr_rejoin {
    /* Rank of each member: 0, or the dynamic id it came with. */
    uint32_t rank[DATA_NODE_ID_MAX + 1];
    struct node_mask joined;            /* Members that are not started yet. */
    struct node_mask included;          /* Those of them that are in the chains of writes. */
    uint32_t failure_no;                /* Number of the last failure. */
    uint8_t step[DATA_NODE_ID_MAX + 1]; /* President: how far each has come, enum rejoin_step. */
    /* The node that comes back. */
    uint32_t running; /* It joined a running cluster. */
    uint32_t own_rank;
    uint32_t ready;        /* enum rejoin_ready: its own blocks. */
    uint32_t waiting;      /* Blocks that have not confirmed that they know of the others. */
    struct node_mask late; /* Other nodes that were included meanwhile. */
};

/* The president's part of an order of replicas. */
enum order_master { ORDER_MASTER_IDLE = 0, ORDER_PREPARING, ORDER_DECIDING, ORDER_ASKING };

/* The order of replicas: cntr_order.c. */
struct cntr_order {
    uint32_t place[DATA_NODE_ID_MAX + 1];
    uint32_t state; /* enum order_state */
    struct order_no no;
    struct order_places places;
    uint32_t tcs;      /* TCs that have not confirmed ORDER_HOLD_REQ. */
    uint32_t asked;    /* Reference of a new president that asks for the state; 0 = nobody does. */
    uint32_t asked_no; /* Number of the failure that it asks about, not known here yet. */
    /* The president. */
    uint32_t master; /* enum order_master */
    struct node_mask waiting;
    struct {
        struct order_no no;
        struct order_places places;
    } change;
    struct order_no held;  /* ASKING: the newest change that somebody holds for. */
    struct node_mask slow; /* Nodes that are slow and stand aside, as QMGR has said. */
    uint32_t group;        /* Node group that was tried last. */
    uint32_t again_ms;     /* Pause until the next try when one is given up. */
    uint64_t quiet_ms;     /* No change begins before: somebody was lost, or came back. */
    uint64_t retry_ms;     /* No change begins before: the last one was given up. */
    uint64_t late_ms;      /* PREPARING: when the change is given up. */
    uint64_t look_ms;      /* When CNTR_ORDER_LOOK comes; 0 = it does not. */
    uint32_t done;         /* Changes since the node began. */
    uint32_t given_up;
};

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

struct cntr_peer {
    uint32_t incarnation; /* For the president: incarnation of its last word. */
    uint32_t point;       /* For the president: POINT_START, or the phase whose end it waits at. */
    uint32_t stop_level;  /* Level of its last CNTR_STOP_REP; 0 = none has come. */
    uint32_t may_leave;   /* It has asked whether it may stop, and this node has said yes. */
    uint32_t ldm_count;   /* Its LDM instances now. */
    struct cntr_start_req fact;
    struct cntr_ended ended;
};

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

/* cntr_order.c */
void cntr_order_changed(struct cntr *cntr, uint32_t quiet_ms);
void cntr_order_look(struct cntr *cntr);
void cntr_order_late(struct cntr *cntr);
void cntr_order_give_up(struct cntr *cntr);
void cntr_order_place(struct cntr *cntr, uint32_t node, uint32_t place);
void cntr_order_lost(struct cntr *cntr, const struct node_failrep *rep, bool succeeds);
bool cntr_order_busy(const struct cntr *cntr);
void cntr_exec_NODE_PACE_REP(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_PREPARE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_PREPARE_CONF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_PREPARE_REF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_DECIDE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_DECIDE_CONF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_RELEASE_ORD(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_ABORT_ORD(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_STATE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_STATE_CONF(struct block *block, const struct signal *sig);
void cntr_exec_ORDER_HOLD_CONF(struct block *block, const struct signal *sig);

/* cntr_own_rows.c: a node that comes back keeps what it has on disk, or not. */
const char *cntr_all_rows(
    const struct cntr *cntr); /* Why all rows are to be copied; NULL: they are not. */
bool cntr_ended_has(const struct cntr_ended *ended, uint32_t running, const struct cntr_data *data);
uint32_t cntr_ended_shared(const struct cntr_ended *ended, uint32_t running,
                           const struct cntr_data *data);
bool cntr_would_lose(const struct cntr *cntr);
_Noreturn void cntr_refuse_loss(struct cntr *cntr);
void cntr_void_files(struct cntr *cntr);
void cntr_rows_are_here(struct cntr *cntr, const struct copy_start_conf *conf);
/* Percent of all, from those of the step. */
uint32_t cntr_progress(const struct cntr *cntr, uint32_t percent);
void cntr_exec_RECOVER_REF(struct block *block, const struct signal *sig);
void cntr_exec_SYSFILE_VOID_CONF(struct block *block, const struct signal *sig);

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

/* cntr_recover.c: the steps of a start with files. */
void cntr_step_begin(struct cntr *cntr, enum cntr_step step);
bool cntr_ended_good(const struct section *list, uint32_t incarnation, uint32_t gci);
bool cntr_ended_agrees(const struct section *list, const struct cntr_data *data);
void cntr_ended_take(struct cntr_ended *ended, const struct section *list);
void cntr_exec_SYSFILE_INFO_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SYSFILE_ENDS_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SCHEMA_INFO_CONF(struct block *block, const struct signal *sig);
void cntr_exec_FSLISTCONF(struct block *block, const struct signal *sig);
void cntr_exec_FSLISTREF(struct block *block, const struct signal *sig);
/* cntr_remains.c: ends with cntr_step_done(STEP_SCHEMA_INFO). */
void cntr_remains_look(struct cntr *cntr);
void cntr_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void cntr_exec_FSOPENREF(struct block *block, const struct signal *sig);
void cntr_exec_FSREADCONF(struct block *block, const struct signal *sig);
void cntr_exec_FSREADREF(struct block *block, const struct signal *sig);
void cntr_exec_FSCLOSECONF(struct block *block, const struct signal *sig);
void cntr_exec_FSCLOSEREF(struct block *block, const struct signal *sig);
void cntr_exec_FSREMOVECONF(struct block *block, const struct signal *sig);
void cntr_exec_FSREMOVEREF(struct block *block, const struct signal *sig);
void cntr_exec_REDO_OPEN_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SCHEMA_RESTART_CONF(struct block *block, const struct signal *sig);
void cntr_exec_RECOVER_CONF(struct block *block, const struct signal *sig);
void cntr_exec_RECOVER_REP(struct block *block, const struct signal *sig);
void cntr_exec_SYSFILE_START_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SCHEMA_ONLINE_CONF(struct block *block, const struct signal *sig);

/* cntr_start.c */
void cntr_step_done(struct cntr *cntr, enum cntr_step step);
void cntr_start_limit(struct cntr *cntr);
void cntr_refused(struct cntr *cntr);
void cntr_exec_CNTR_START_REF(struct block *block, const struct signal *sig);
void cntr_read_config(struct cntr *cntr);
void cntr_start_again(struct cntr *cntr);
/* Goes on if the node waits at the last meeting; false: it does not. */
bool cntr_start_ends(struct cntr *cntr);
void cntr_exec_READ_CONFIG_CONF(struct block *block, const struct signal *sig);
void cntr_exec_START_ORD(struct block *block, const struct signal *sig);
void cntr_exec_STTORRY(struct block *block, const struct signal *sig);
void cntr_exec_MEMBERS_REP(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_START_CONF(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_GOREP(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_STARTED_REP(struct block *block, const struct signal *sig);

/* cntr_rejoin.c: node restart. */
struct node_mask cntr_alive(const struct cntr *cntr); /* Members that answer when a node is lost. */
bool cntr_rejoin_asked(struct cntr *cntr);            /* False: the cluster is starting. */
void cntr_rejoin_schema(struct cntr *cntr, const struct schema_info_conf *conf);
bool cntr_rejoin_meets(struct cntr *cntr, uint32_t node, const struct cntr_waitrep *rep);
void cntr_rejoin_started(struct cntr *cntr, uint32_t node);
void cntr_rejoin_lost(struct cntr *cntr, const struct node_failrep *rep);
void cntr_rejoin_member(struct cntr *cntr, const struct members_rep *rep);
bool cntr_rejoin_plan(struct cntr *cntr, const struct cntr_start_conf *conf,
                      const struct signal *sig);
void cntr_rejoin_step(struct cntr *cntr, enum cntr_step step);
void cntr_exec_NODE_JOINED_REP(struct block *block, const struct signal *sig);
void cntr_exec_SCHEMA_LOCK_CONF(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_INCLUDE_REQ(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_INCLUDE_ORD(struct block *block, const struct signal *sig);
void cntr_exec_NODE_INCLUDE_CONF(struct block *block, const struct signal *sig);
void cntr_exec_COPY_PROGRESS_REP(struct block *block, const struct signal *sig);
void cntr_exec_COPY_START_CONF(struct block *block, const struct signal *sig);
void cntr_exec_DIH_COMPLETE_CONF(struct block *block, const struct signal *sig);

/* cntr_master.c: the president's NDBCNTR. */
void cntr_known_take(struct cntr *cntr, const struct section *list);
void cntr_exec_CNTR_START_REQ(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_WAITREP(struct block *block, const struct signal *sig);

#define POINT_START                                                                                \
    1u /* CNTR_START_REQ; waiting points are numbered by the phase that ends there. */

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
