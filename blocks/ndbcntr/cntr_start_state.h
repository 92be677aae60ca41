/* cntr_start_state.h -- private: the start of a node, with what its files and the cluster have. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/cntr.h"
#include "signals/start.h"

struct cntr;

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

#define POINT_START                                                                                \
    1u /* CNTR_START_REQ; waiting points are numbered by the phase that ends there. */

struct cntr_peer {
    uint32_t incarnation; /* For the president: incarnation of its last word. */
    uint32_t point;       /* For the president: POINT_START, or the phase whose end it waits at. */
    uint32_t stop_level;  /* Level of its last CNTR_STOP_REP; 0 = none has come. */
    uint32_t may_leave;   /* It has asked whether it may stop, and this node has said yes. */
    uint32_t ldm_count;   /* Its LDM instances now. */
    struct cntr_start_req fact;
    struct cntr_ended ended;
};

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

/* cntr_master.c: the president's NDBCNTR. */
void cntr_known_take(struct cntr *cntr, const struct section *list);
void cntr_exec_CNTR_START_REQ(struct block *block, const struct signal *sig);
void cntr_exec_CNTR_WAITREP(struct block *block, const struct signal *sig);

/* cntr_recover.c: the steps of a start with files. */
void cntr_step_begin(struct cntr *cntr, enum cntr_step step);
bool cntr_ended_good(const struct section *list, uint32_t incarnation, uint32_t gci);
bool cntr_ended_agrees(const struct section *list, const struct cntr_data *data);
void cntr_ended_take(struct cntr_ended *ended, const struct section *list);
void cntr_exec_SYSFILE_INFO_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SYSFILE_ENDS_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SCHEMA_INFO_CONF(struct block *block, const struct signal *sig);
void cntr_exec_FSREMOVECONF(struct block *block, const struct signal *sig);
void cntr_exec_FSREMOVEREF(struct block *block, const struct signal *sig);
void cntr_exec_REDO_OPEN_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SCHEMA_RESTART_CONF(struct block *block, const struct signal *sig);
void cntr_exec_RECOVER_CONF(struct block *block, const struct signal *sig);
void cntr_exec_RECOVER_REP(struct block *block, const struct signal *sig);
void cntr_exec_SYSFILE_START_CONF(struct block *block, const struct signal *sig);
void cntr_exec_SCHEMA_ONLINE_CONF(struct block *block, const struct signal *sig);

/* cntr_remains.c: what else is on the disk of a node without system files. */
/* cntr_step_done(STEP_SCHEMA_INFO) follows. */
void cntr_remains_look(struct cntr *cntr);
void cntr_exec_FSLISTCONF(struct block *block, const struct signal *sig);
void cntr_exec_FSLISTREF(struct block *block, const struct signal *sig);
void cntr_exec_FSOPENCONF(struct block *block, const struct signal *sig);
void cntr_exec_FSOPENREF(struct block *block, const struct signal *sig);
void cntr_exec_FSREADCONF(struct block *block, const struct signal *sig);
void cntr_exec_FSREADREF(struct block *block, const struct signal *sig);
void cntr_exec_FSCLOSECONF(struct block *block, const struct signal *sig);
void cntr_exec_FSCLOSEREF(struct block *block, const struct signal *sig);
