/* gcp_local.h -- epochs and global checkpoints in one node: DIH and its TCs, LQHs and NDBCNTR. See
 * docs/protocols/gcp.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* --- DIH and the TC instances of its node. --- */

/* Hold commits back from now on. */
struct gcp_hold_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(gcp_hold_req, 1);
struct gcp_hold_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(gcp_hold_conf, 1);

/* Go on with this epoch. CONF when all transactions that began to commit in older ones have
 * committed on all replicas. With the first epoch of a life of a cluster with files section 0:
 * pairs { incarnation, GCI at which it ended } of former lives, oldest first. */
struct tc_epoch_req {
    uint32_t sender_data;
    uint32_t gci_hi;
    uint32_t gci_lo;
};
SIGNAL_STRUCT(tc_epoch_req, 3);
struct tc_epoch_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(tc_epoch_conf, 1);

/* TC to DIH: transactions wait for the durability of `gci`. Once per GCI and TC. */
struct gcp_force_ord {
    uint32_t gci;
};
SIGNAL_STRUCT(gcp_force_ord, 1);

/* --- DIH and the LQH instances of its node. --- */

/*
 * All commits with gci_hi <= gci have been executed here. CONF when their log records are on disk.
 * An LQH that logs nothing answers at once.
 */
struct gcp_savereq {
    uint32_t sender_data; /* Returned unchanged. */
    uint32_t gci;
};
SIGNAL_STRUCT(gcp_savereq, 2);
struct gcp_saveconf {
    uint32_t sender_data;
    uint32_t gci;
    uint32_t lsn_lo; /* Last page of the log that is durable; 0 = nothing is logged. */
    uint32_t lsn_hi;
};
SIGNAL_STRUCT(gcp_saveconf, 4);
struct gcp_saveref { /* A write or sync failed: the node stops. */
    uint32_t sender_data;
    uint32_t gci;
    uint32_t error; /* Error of a file operation: ERR_DISK_FULL, ERR_FILE_IO_FAILED, ... */
    uint32_t os_error;
};
SIGNAL_STRUCT(gcp_saveref, 4);

/* DIH to all TC and LQH instances of its node: this GCI and all before it are durable on all nodes.
 */
struct gcp_durable_rep {
    uint32_t gci;
};
SIGNAL_STRUCT(gcp_durable_rep, 1);

/* --- DIH and NDBCNTR of its node. --- */

/* An orderly stop: all that is committed so far shall be durable. With `rest`, when all nodes have
 * come as far: nothing new begins, CONF when no GCI is being saved and the own system files are
 * written. CONF at once in a diskless cluster. */
struct gcp_flush_req {
    uint32_t sender_data;
    uint32_t rest;
};
SIGNAL_STRUCT(gcp_flush_req, 2);
struct gcp_flush_conf {
    uint32_t sender_data;
};
SIGNAL_STRUCT(gcp_flush_conf, 1);
