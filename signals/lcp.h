/* lcp.h -- local checkpoints: DIH's master, the DIHs, and LCPWRITER, LCPREADER, LQH of each LDM. See
 * docs/protocols/checkpoint.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* --- Between the master's DIH and all DIHs, its own included. Priority B. `incarnation` is QMGR's.
 * --- */

/* To the master: a log fills up, or has grown by enough; or an operator wants it. */
struct lcp_wanted_ord {
    uint32_t incarnation;
    uint32_t reason; /* enum lcp_reason */
};
SIGNAL_STRUCT(lcp_wanted_ord, 2);
enum lcp_reason {
    LCP_BY_GROWTH = 1,
    LCP_BY_FILL = 2,
    LCP_BY_OPERATOR = 3,
    LCP_BY_STARTS = 4,
    LCP_BY_NODE = 5 /* A node that comes back has all its rows: a round of the sender alone. */
};

/* Checkpoint all fragments. CONF when the node's checkpoints are usable and its logs' tails have
 * moved. */
struct lcp_node_req {
    uint32_t incarnation;
    uint32_t lcp_id;
};
SIGNAL_STRUCT(lcp_node_req, 2);
struct lcp_node_conf {
    uint32_t incarnation;
    uint32_t lcp_id;
    uint32_t fragments;
    uint32_t failed; /* Fragments that keep their former checkpoint. */
    uint32_t error;  /* Error of the first fragment that failed. */
    uint32_t kbytes; /* KB written to files. */
    uint32_t pages;  /* Pages of rows written. */
    uint32_t deltas; /* Pages among these of which only rows that have changed were written. */
    uint32_t delta_rows_lo; /* Rows written of the `deltas` pages. */
    uint32_t delta_rows_hi;
};
SIGNAL_STRUCT(lcp_node_conf, 10);

/* --- DIH and the LCPWRITER instances of its node. --- */

/* Checkpoint all fragments of the LDM. CONF when all files have been written. */
struct lcp_part_req {
    uint32_t lcp_id;
    uint32_t start_gci; /* All commits of older GCIs have been executed here. */
    uint32_t copied;    /* Rows have come without commits of their own: all that is marked is
                           written, also where the newest GCI is that of the last round. */
};
SIGNAL_STRUCT(lcp_part_req, 3);
struct lcp_part_conf {
    uint32_t lcp_id;
    uint32_t end_gci;   /* The checkpoints are usable once this GCI is durable. */
    uint32_t fragments; /* From here on as in lcp_node_conf. */
    uint32_t failed;
    uint32_t error;
    uint32_t kbytes;
    uint32_t pages;
    uint32_t deltas;
    uint32_t delta_rows_lo;
    uint32_t delta_rows_hi;
};
SIGNAL_STRUCT(lcp_part_conf, 10);

/* end_gci is durable: what has been replaced goes. CONF when it has gone. */
struct lcp_usable_req {
    uint32_t lcp_id;
};
SIGNAL_STRUCT(lcp_usable_req, 1);
struct lcp_usable_conf {
    uint32_t lcp_id;
    /* Records of older GCIs are not needed; 0: a fragment has failed, the tail stays. */
    uint32_t tail_gci;
    uint32_t failed; /* 1: the list could not be written, the one before counts. */
    uint32_t number; /* Number of the LDM's newest list, which the system files name. */
    uint32_t check;  /* Check of that list, which they name too. */
};
SIGNAL_STRUCT(lcp_usable_conf, 5);

/* --- LCPREADER and DIH of its node: is this the list of checkpoints that must be there? --- */

struct lcp_list_req {
    uint32_t number; /* Number of the newest list that is whole; 0: there is none. */
    uint32_t check;  /* Check of that list. */
    uint32_t before; /* Check of the list before it, as it says itself; 0: it does not. */
};
SIGNAL_STRUCT(lcp_list_req, 3);
struct lcp_list_conf {
    uint32_t verdict; /* enum sysfile_list_verdict. DIH names a good list from now on. */
    uint32_t number;  /* Number of the list that the system files name. */
};
SIGNAL_STRUCT(lcp_list_conf, 2);

/* DIH to the own NDBCNTR, about once a second: the last round has failed, and the log is filling
 * up.
 */
struct lcp_stuck_rep {
    uint32_t error;  /* Why the round has failed. */
    uint32_t fill;   /* How full the fullest log is, in percent. */
    uint32_t age_ms; /* Milliseconds since the round began. */
};
SIGNAL_STRUCT(lcp_stuck_rep, 3);

/* --- LQH and LCPREADER of one LDM: one request at a time. --- */

/* Reads the newest checkpoint of an empty fragment that is usable at `gci`. */
struct restore_frag_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
    uint32_t fragment_id;
    uint32_t gci; /* GCI at which the cluster starts. */
};
SIGNAL_STRUCT(restore_frag_req, 5);
struct restore_frag_conf {
    uint32_t sender_data;
    uint32_t found;     /* 0: there has never been a checkpoint. */
    uint32_t start_gci; /* The log's records of this GCI and later ones are all needed. */
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t kbytes;
};
SIGNAL_STRUCT(restore_frag_conf, 6);
struct restore_frag_ref { /* Section 0: the file's name, as in an FS REF. */
    uint32_t sender_data;
    uint32_t error; /* ERR_CHECKPOINT_DAMAGED, or what the file system or DBTUP said. */
    uint32_t fault; /* enum lcp_fault; for the log. */
    uint32_t offset_lo;
    uint32_t offset_hi;
    uint32_t format; /* LCP_OTHER_FORMAT: the file's format number. */
    uint32_t listed; /* 1: a list here is this node's, so a file of somebody else has strayed. */
};
SIGNAL_STRUCT(restore_frag_ref, 7);

/* All fragments have been restored: removes this LDM's files that belong to none. */
struct restore_end_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(restore_end_req, 1);
struct restore_end_conf {
    uint32_t sender_data;
    uint32_t removed;
    /* The log was never told that it may forget records of this GCI or later ones. */
    uint32_t tail_gci;
};
SIGNAL_STRUCT(restore_end_conf, 3);
