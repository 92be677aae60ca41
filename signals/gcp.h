/* gcp.h -- epochs and global checkpoints: DIH's master and the DIHs of all nodes. See
 * docs/protocols/gcp.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * epoch = gci_hi << 32 | gci_lo, gci_lo = the life of the cluster << 16 | micro-epoch. The life is
 * the low half of the data's incarnation (system file): a crash gives GCIs back, and the next life
 * uses them again. Without files it is 0.
 *
 * `incarnation` is QMGR's: words of another one are leftovers and are dropped. Priority A
 * throughout: commits are held back meanwhile.
 */
#define EPOCH_NUMBER_MAX 0xFFFFu
static inline uint32_t epoch_lo(uint32_t incarnation, uint32_t number)
{
    return incarnation << 16 | number;
}
static inline uint32_t epoch_life(uint32_t gci_lo)
{
    return gci_lo >> 16;
}
static inline uint32_t epoch_number(uint32_t gci_lo)
{
    return gci_lo & EPOCH_NUMBER_MAX;
}

/* --- Between the master's DIH and all DIHs, its own included. --- */

/* A new epoch is near: no transaction of the node begins to commit until GCP_COMMIT. */
struct gcp_prepare {
    uint32_t incarnation;
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(gcp_prepare, 3);
struct gcp_prepareconf {
    uint32_t incarnation;
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(gcp_prepareconf, 3);

/* From now on commits have this epoch. Answered by GCP_NODEFINISH when no older one is under way.
 */
struct gcp_commit {
    uint32_t incarnation;
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(gcp_commit, 3);
struct gcp_nodefinish {
    uint32_t incarnation;
    uint32_t gci_hi; /* As in GCP_COMMIT: everything older is finished. */
    uint32_t gci_lo;
};
SIGNAL_STRUCT(gcp_nodefinish, 3);

/* Everything of this epoch and of those before it is committed on all replicas. */
struct epoch_complete_rep {
    uint32_t incarnation;
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(epoch_complete_rep, 3);

/* `gci` is complete: bring it to disk in all redo logs of the node. */
struct gcp_node_savereq {
    uint32_t incarnation;
    uint32_t gci;
};
SIGNAL_STRUCT(gcp_node_savereq, 2);
struct gcp_node_saveconf { /* Section 0: where the node's logs end, an entry of log_ends.h. */
    uint32_t incarnation;
    uint32_t gci;
};
SIGNAL_STRUCT(gcp_node_saveconf, 2);

/* All logs have it: write it into the system file. Section 0: the entries of all whose logs have.
 */
struct copy_gcireq {
    uint32_t incarnation;
    uint32_t gci;
    struct node_mask members; /* Nodes whose logs have it: others are not current any more. */
};
SIGNAL_STRUCT(copy_gcireq, 10);
struct copy_gciconf {
    uint32_t incarnation;
    uint32_t gci;
};
SIGNAL_STRUCT(copy_gciconf, 2);

/* All system files say so: `gci` and all before it survive the loss of the whole cluster. */
struct gcp_node_durable_rep {
    uint32_t incarnation;
    uint32_t gci;
};
SIGNAL_STRUCT(gcp_node_durable_rep, 2);

/* The node has held the protocol up for `ms`, longer than the configuration allows: it stops. */
enum gcp_late_what {
    GCP_LATE_HOLD = 1,    /* The node has not held its commits back. */
    GCP_LATE_COMMITS = 2, /* The node has transactions that do not end. */
    GCP_LATE_LOG = 3,     /* The node has not written its log. */
    GCP_LATE_SYSFILE = 4, /* The node has not written its system file. */
};
struct gcp_stop_ord {
    uint32_t incarnation;
    uint32_t what; /* enum gcp_late_what */
    uint32_t ms;
};
SIGNAL_STRUCT(gcp_stop_ord, 3);

/* To the master: somebody waits for `gci` to become durable; do not wait for the timer. */
struct gcp_close_ord {
    uint32_t incarnation;
    uint32_t gci;
};
SIGNAL_STRUCT(gcp_close_ord, 2);

/* --- After the loss of a node, see takeover.h. --- */

/* A new president's DIH to all: where does the node stand? */
struct gcp_state_req {
    uint32_t incarnation;
    uint32_t failure_no;
};
SIGNAL_STRUCT(gcp_state_req, 2);
struct gcp_state_conf {
    uint32_t incarnation;
    uint32_t failure_no;
    uint32_t gci_hi; /* Epoch of the node's TCs. */
    uint32_t gci_lo;
    uint32_t old_hi; /* Epoch before that one. */
    uint32_t old_lo;
    uint32_t next_hi; /* Epoch that is prepared; 0 = none. */
    uint32_t next_lo;
    uint32_t durable; /* Newest durable GCI. */
};
SIGNAL_STRUCT(gcp_state_conf, 9);

/* To the master: the node's TCs have taken over what they had to, up to this failure. */
struct gcp_takeover_rep {
    uint32_t incarnation;
    uint32_t failure_no;
};
SIGNAL_STRUCT(gcp_takeover_rep, 2);

/* --- A node comes back, see rejoin.h. --- */

/* M's DIH to P's, between two epochs and two saves: P takes part from the next ones on. With files
 * section 0: pairs { former incarnation, GCI at its end }. */
struct gcp_include_ord {
    uint32_t incarnation;
    uint32_t gci_hi; /* Epoch that is open. */
    uint32_t gci_lo;
    uint32_t complete_hi; /* Newest epoch that is complete. */
    uint32_t complete_lo;
    uint32_t durable;          /* Newest durable GCI. */
    uint32_t restart_gci;      /* GCI at which the cluster was started. */
    uint32_t data_incarnation; /* Incarnation of the cluster's data; 0 without files. */
};
SIGNAL_STRUCT(gcp_include_ord, 8);

/* P's DIH to M's: it has all rows, and its system files say so: COPY_GCIREQ is to name it. */
struct gcp_whole_rep {
    uint32_t incarnation;
};
SIGNAL_STRUCT(gcp_whole_rep, 1);

/* --- A restart: a system file may be one GCI older than the newest one. --- */

/* To the DIH whose system file counts: where did all logs end? CONF with its GCI; section 0: the
 * list of log_ends.h. */
struct log_ends_req {
    uint32_t incarnation;
};
SIGNAL_STRUCT(log_ends_req, 1);
struct log_ends_conf {
    uint32_t incarnation;
    uint32_t gci;
};
SIGNAL_STRUCT(log_ends_conf, 2);
