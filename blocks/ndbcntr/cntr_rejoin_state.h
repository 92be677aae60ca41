/* cntr_rejoin_state.h -- private: a lost node comes back: president, node, all others. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/ndbcntr/cntr_start_state.h"
#include "signals/qmgr.h"
#include "signals/rejoin.h"
#include "signals/schema_restart.h"
#include "signals/schema_trans.h"

struct cntr;

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
