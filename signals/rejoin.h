/* rejoin.h -- a lost data node comes back: node restart. See docs/protocols/node_restart.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/*
 * P is the node that comes back, M the president. `rank`: a node's place in the chains of all
 * fragments, 0 for those that the cluster started with, for others the dynamic id that they joined
 * with.
 */

/* QMGR to its NDBCNTR, in a running cluster: a node has become a member. It is not started. */
struct node_joined_rep {
    uint32_t incarnation;
    uint32_t node;
    uint32_t dynamic_id;
    uint32_t ldm_count;
    uint32_t tc_count;
};
SIGNAL_STRUCT(node_joined_rep, 5);

/*
 * P's NDBCNTR to its TCs, LQHs, DIH, DICT, before CNTR_INCLUDE_REQ: be ready to take part. Section
 * 0: pairs { node, rank } of those of `alive` and P whose rank is not 0. LQH: every fragment is
 * copying from now on. TC: takes the ranks. DIH: takes members and president and waits for
 * GCP_INCLUDE_ORD. DICT: takes the members. Each answers when it is ready.
 */
struct node_include_req {
    uint32_t sender_data;
    uint32_t node; /* P. */
    uint32_t rank; /* P's rank. */
    uint32_t failure_no;
    uint32_t president;
    struct node_mask alive; /* Started nodes and others that are included, without P. */
    uint32_t gci; /* LQH has all rows as they were at the end of this GCI; 0 = it has none. */
};
SIGNAL_STRUCT(node_include_req, 14);
struct node_include_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(node_include_conf, 1);

/*
 * NDBCNTR of every other started node to its TCs, LQHs, DIH, DICT, priority A: P takes part. TC: P
 * is in the chains from now on; then LQH_INCLUDE_REP. LQH: P is not lost any more. DIH: the master
 * takes P in between two epochs. DICT: P is a member.
 */
struct node_include_rep {
    uint32_t node; /* P. */
    uint32_t rank;
    uint32_t failure_no;
    struct node_mask alive; /* Started nodes and those that are included, P too. */
};
SIGNAL_STRUCT(node_include_rep, 11);

/* TC to all LQHs of all nodes but P, priority B: behind all that the TC has sent without P. */
struct lqh_include_rep {
    uint32_t node; /* P. */
    uint32_t rank;
    uint32_t failure_no; /* Failure number of NODE_INCLUDE_REP: a later loss of P counts more. */
    uint32_t instances;  /* TCs of the sender's node. */
};
SIGNAL_STRUCT(lqh_include_rep, 4);

/* NDBCNTR of M to its DICT: no schema transaction until the unlock, or until `node` is lost. CONF
 * when none runs. */
struct schema_lock_req {
    uint32_t sender_data;
    uint32_t node; /* P. */
};
SIGNAL_STRUCT(schema_lock_req, 2);
struct schema_lock_conf {
    uint32_t sender_data;
    uint32_t node;
};
SIGNAL_STRUCT(schema_lock_conf, 2);
struct schema_unlock_ord {
    uint32_t node;
};
SIGNAL_STRUCT(schema_unlock_ord, 1);

/* P's NDBCNTR to its DICT: get the rows of all tables. */
struct copy_start_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(copy_start_req, 1);
/* Numbers of rows: `own`, those that P had from its files; `copied`, those that it got from the
 * others; `kept`, own ones that it keeps; `removed`, own ones that it did not find at the others.
 */
struct copy_rows {
    uint32_t own_lo;
    uint32_t own_hi;
    uint32_t copied_lo;
    uint32_t copied_hi;
    uint32_t kept_lo;
    uint32_t kept_hi;
    uint32_t removed_lo;
    uint32_t removed_hi;
};
static inline struct copy_rows copy_rows_of(uint64_t own, uint64_t copied, uint64_t kept,
                                            uint64_t removed)
{
    return (struct copy_rows){.own_lo = (uint32_t)own,
                              .own_hi = (uint32_t)(own >> 32),
                              .copied_lo = (uint32_t)copied,
                              .copied_hi = (uint32_t)(copied >> 32),
                              .kept_lo = (uint32_t)kept,
                              .kept_hi = (uint32_t)(kept >> 32),
                              .removed_lo = (uint32_t)removed,
                              .removed_hi = (uint32_t)(removed >> 32)};
}
struct copy_start_conf {
    uint32_t sender_data;
    struct copy_rows rows;
    uint32_t bytes_lo; /* Bytes of the rows that were copied. */
    uint32_t bytes_hi;
};
SIGNAL_STRUCT(copy_start_conf, 11);
/* P's DICT to its NDBCNTR, about once a second: how far the copy is. */
struct copy_progress_rep {
    uint32_t percent;
    uint32_t left_s; /* Seconds that the rest will take, estimated; 0 = not known. */
};
SIGNAL_STRUCT(copy_progress_rep, 2);

/* P's DICT to its LQHs: get the rows of this table's fragments. Section 0: distribution, as in
 * LOCAL_TABLE_ADD_REQ's section 1. */
struct copy_table_req {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t version;
};
SIGNAL_STRUCT(copy_table_req, 3);
struct copy_table_conf {
    uint32_t sender_data;
    uint32_t table_id;
    struct copy_rows rows;
    uint32_t bytes_lo; /* Bytes of the rows that were copied. */
    uint32_t bytes_hi;
};
SIGNAL_STRUCT(copy_table_conf, 12);
struct copy_table_ref {
    uint32_t sender_data;
    uint32_t table_id;
    uint32_t error;
};
SIGNAL_STRUCT(copy_table_ref, 3);

/* P's NDBCNTR to its DIH, after the copy. CONF when P was in an epoch that began after it, and with
 * files when a checkpoint of all its fragments is usable. */
struct dih_complete_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(dih_complete_req, 1);
struct dih_complete_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(dih_complete_conf, 1);

/* P's NDBCNTR to M's: its blocks are ready; M's to all members, P's too. */
struct cntr_include_req {
    uint32_t incarnation;
    uint32_t node;
    uint32_t rank;
};
SIGNAL_STRUCT(cntr_include_req, 3);
struct cntr_include_ord {
    uint32_t incarnation;
    uint32_t node;
    uint32_t rank;
};
SIGNAL_STRUCT(cntr_include_ord, 3);
