/* dih_lcp_state.h -- private: rounds of local checkpoints, at the president and everywhere. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/lcp.h"

struct dih;

/* The president's part. A round is one for the whole cluster. */
struct lcp_master {
    uint32_t lcp_id; /* Number of the round; 0 = there is none. */
    uint32_t last_id;
    uint32_t wanted; /* enum lcp_reason: another one afterwards. */
    /* Nodes that want another round, of theirs alone, which comes first. */
    struct node_mask wanted_nodes;
    struct node_mask alone; /* The round is one of these nodes; empty: of all. */
    struct node_mask took;  /* Nodes that have a part in the round. */
    struct node_mask waiting;
    uint64_t begin_ms;
    uint32_t fragments;
    uint32_t failed;
    uint32_t kbytes;
    uint32_t pages;
    uint32_t deltas;     /* Delta pages among `pages`. */
    uint64_t delta_rows; /* Rows in these delta pages. */
};

/*
 * IDLE --LCP_NODE_REQ--> WRITING --all LCPWRITERs--> DURABLE_WAIT --end GCI is durable-->
 * CLEANING --all LCPWRITERs--> NAMING --both system files--> IDLE
 */
enum lcp_node_state { LCPN_IDLE = 0, LCPN_WRITING, LCPN_DURABLE_WAIT, LCPN_CLEANING, LCPN_NAMING };

/* What every node does. */
struct lcp_node {
    uint32_t state;  /* enum lcp_node_state */
    uint32_t master; /* Reference of the DIH whose round it is. */
    struct lcp_node_conf result;
    uint32_t end_gci;
    struct node_mask waiting; /* LCPWRITER instances. */
    uint32_t next_master;     /* DIH whose round comes afterwards; 0 = none. */
    struct lcp_node_req next;
    /* The logs' figures when they were last asked. */
    uint32_t logs_asked; /* LQH instances that have not answered. */
    uint32_t write_gci;  /* No newer GCI has records in a log. */
    uint32_t start_gci;  /* Start GCI of the last round; 0 = none since the start. */
    uint32_t fill;
    uint64_t bytes_sum;
    uint64_t bytes;
    uint64_t bytes_then; /* `bytes` when the last round began. */
    uint32_t held;       /* Requests for memory that had been refused till then for want of it. */
    uint64_t again_ms;   /* No round is wanted before this time, because one has failed here. */
    uint32_t pause_ms;   /* Pause after the round that failed; 0: the last one did not. */
    /* For reports. */
    uint64_t begin_ms;
    uint64_t last_ms;          /* When the last round was completed. */
    uint32_t last_duration_ms; /* How long the last round took. */
    struct lcp_node_conf last; /* Result of the last round; lcp_id 0 = none since the start. */
};

/* dih_lcp_master.c */
void lcp_master_stop(struct dih *dih);
void lcp_master_lost(struct dih *dih, const struct node_mask *nodes);
void lcp_master_take(struct dih *dih); /* The former president is lost. */
void dih_exec_LCP_WANTED_ORD(struct block *block, const struct signal *sig);
void dih_exec_LCP_NODE_CONF(struct block *block, const struct signal *sig);

/* dih_lcp_node.c */
void lcp_node_named(struct dih *dih); /* Both system files have been written. */
void lcp_node_lost(struct dih *dih, const struct node_mask *nodes);
void lcp_node_want(struct dih *dih,
                   uint32_t reason); /* Asks the master for a round: enum lcp_reason. */
bool lcp_node_pauses(const struct dih *dih);
void lcp_node_durable(struct dih *dih); /* gcp_node.durable has moved. */
void lcp_node_monitor(struct dih *dih);
void dih_exec_LCP_NODE_REQ(struct block *block, const struct signal *sig);
void dih_exec_LCP_PART_CONF(struct block *block, const struct signal *sig);
void dih_exec_LCP_USABLE_CONF(struct block *block, const struct signal *sig);
void dih_exec_REDO_STATUS_CONF(struct block *block, const struct signal *sig);
void dih_exec_LCP_STATUS_REQ(struct block *block, const struct signal *sig);
