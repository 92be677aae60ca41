/* dih_include_state.h -- private: a node comes back into epochs, saves and system files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/rejoin.h"

struct dih;

/*
 * A node that comes back. At the node: NONE --NODE_INCLUDE_REQ--> WAITING --GCP_INCLUDE_ORD-->
 * PARTIAL --DIH_COMPLETE_REQ--> CHECKING --an epoch, a GCI and a checkpoint that began behind it-->
 * WHOLE --SYSFILE_START_REQ--> WRITING --both copies--> UNNAMED --COPY_GCIREQ names it--> NAMED
 * --that GCI is durable--> NONE. Without files from CHECKING to NONE.
 */
enum dih_include_state {
    DIH_INCLUDE_NONE = 0,
    DIH_INCLUDE_WAITING,
    DIH_INCLUDE_PARTIAL,
    DIH_IN_CHECKING,
    DIH_INCLUDE_WHOLE,
    DIH_IN_WRITING,
    DIH_IN_UNNAMED,
    DIH_INCLUDE_NAMED
};

struct dih_include {
    uint32_t state;           /* enum dih_include_state */
    uint32_t complete_sender; /* Sender of DIH_COMPLETE_REQ; 0 = it has not come. */
    uint32_t complete_data;
    uint32_t files_sender; /* Sender of SYSFILE_START_REQ. */
    uint32_t files_data;
    uint32_t floor_hi; /* CHECKING: an epoch newer than this one must be complete. */
    uint32_t floor_lo;
    uint32_t floor_gci; /* CHECKING: this GCI must be durable. */
    bool asked;         /* The master knows that a checkpoint is wanted. */
    bool counts;        /* The round under way began in CHECKING. */
    bool checkpointed;
    uint32_t rounds_failed;
    uint32_t saved; /* Newest GCI of COPY_GCIREQ: all logs have it. */
    uint32_t named_gci;
    /* At the master. */
    struct node_mask joining; /* Nodes that are to be taken in between two epochs. */
    struct node_mask partial; /* Nodes that are taken in, and not named in system files yet. */
};

/* dih_include.c */
void dih_include_reset(struct dih *dih);
void dih_include_complete(struct dih *dih);
void dih_include_monitor(struct dih *dih);
void dih_include_go_on(struct dih *dih);
void dih_include_durable(struct dih *dih);
void dih_include_round_begun(struct dih *dih);
void dih_include_round_ended(struct dih *dih, uint32_t failed);
void dih_include_files(struct dih *dih, const struct signal *sig);
void dih_include_written(struct dih *dih);
bool dih_include_copies(struct dih *dih, uint32_t gci, struct node_mask *members);
void dih_include_lost(struct dih *dih, const struct node_mask *nodes, bool new_master);
void dih_exec_NODE_INCLUDE_REQ(struct block *block, const struct signal *sig);
void dih_exec_NODE_INCLUDE_REP(struct block *block, const struct signal *sig);
void dih_exec_GCP_INCLUDE_ORD(struct block *block, const struct signal *sig);
void dih_exec_GCP_WHOLE_REP(struct block *block, const struct signal *sig);
void dih_exec_DIH_COMPLETE_REQ(struct block *block, const struct signal *sig);
